"""Pages: they are whole, load and run nothing else, say what must be said, and can be read."""

from __future__ import annotations

import html
import importlib.resources
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import jinja2
import pytest
from hypothesis import given

from pqd.reports import plots
from pqd.reports.documents.compare import worst_compared
from pqd.reports.escape import visible
from pqd.reports.models.audit import AuditReport
from pqd.reports.models.check import CheckReport
from pqd.reports.models.compare import CompareReport
from pqd.reports.models.ledger import StatementReport
from pqd.reports.models.lint import LintReport
from pqd.reports.models.plan import PlanReport
from pqd.reports.models.profile import ProfileReport
from pqd.reports.models.ranking import RankingReport
from pqd.reports.models.release import ReleaseReport
from pqd.reports.models.risk import RiskReport
from pqd.reports.writers.html import frame, html_text
from tests.support import (
    audit_reports,
    check_reports,
    compare_reports,
    ledger_reports,
    lint_reports,
    profile_reports,
    ranking_reports,
    release_reports,
    risk_reports,
)
from tests.support.audit_reports import (
    AUDIT,
    AUDITS,
    PLAN,
    PLANS,
    audit_of,
    many_groups,
    many_queries,
    plan_of,
    quoting_audit,
    quoting_plan,
)
from tests.support.check_reports import BASED, YES, hostile
from tests.support.compare_reports import GROUPED, LARGE, SMALL
from tests.support.drawing import examples
from tests.support.pages import Page, contrast, digest, themes
from tests.support.profile_reports import ADULT_PROFILE
from tests.support.ranking_reports import DETAILED
from tests.support.release_reports import RELEASE

AS_WRITTEN = replace(
    GROUPED,
    queries=tuple(
        replace(query, block_sql="SELECT COUNT(*)\n  FROM D GROUP BY age" if query.block else None)
        for query in GROUPED.queries
    ),
)
Report = (
    AuditReport
    | CheckReport
    | CompareReport
    | PlanReport
    | ProfileReport
    | RankingReport
    | ReleaseReport
    | LintReport
    | RiskReport
    | StatementReport
)
REPORTS: tuple[Report, ...] = (
    *AUDITS, *PLANS, *check_reports.REPORTS, *compare_reports.REPORTS, *release_reports.REPORTS,
    *profile_reports.REPORTS, *ranking_reports.REPORTS, lint_reports.LINT, lint_reports.CLEAN,
    risk_reports.RISK, risk_reports.ALONE, risk_reports.PLAN,
    ledger_reports.STATEMENT, ledger_reports.STATEMENT_OF_NOTHING,
    audit_of(*many_queries(301)), plan_of(*many_queries(301)), check_reports.many_checks(301),
    compare_reports.many_compared(301),
)  # fmt: skip
QUOTING: dict[str, Callable[[str], Report]] = {
    "audit": quoting_audit,
    "plan": quoting_plan,
    "check": check_reports.quoting,
    "compare": compare_reports.quoting,
    "release": release_reports.quoting,
    "profile": profile_reports.quoting,
    "ranking": ranking_reports.quoting,
}
SCRIPT = "</script><script>alert(1)</script>"
# A short name of a candidate is the title of a column, a long one stands in a legend.
LONG_NAME = "x" * 12


@pytest.fixture(scope="module", autouse=True)
def _pictures_drawn_once() -> Iterator[None]:
    """Keep what is drawn of the same curves: hundreds of pages differ in texts alone."""
    scale, curves = plots.frame_svg, plots.curves_svg
    one = cache(lambda picture: next(curves([picture])))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plots, "frame_svg", cache(scale))
        patch.setattr(plots, "curves_svg", lambda pictures: map(one, pictures))
        yield


@pytest.fixture
def _fresh_templates() -> Iterator[None]:
    frame._environment.cache_clear()
    yield
    frame._environment.cache_clear()


def shape(page: Page) -> list[tuple[str, tuple[str, ...]]]:
    """Tags of a page; a class may depend on how long a text is."""
    return [(tag, tuple(name for name in names if name != "class")) for tag, names in page.tags]


@cache
def plain_shape(quoting: Callable[[str], Report]) -> list[tuple[str, tuple[str, ...]]]:
    return shape(Page(html_text(quoting(LONG_NAME), command="x")))


def stays_text(quoting: Callable[[str], Report], text: str) -> None:
    page = Page(html_text(quoting(text), command=text))
    assert shape(page) == plain_shape(quoting)
    place = "html body main section table tbody tr th"
    shown = "".join(t for where, t in page.texts if where == place)
    assert any(visible(text, keep=kept) in shown for kept in ("", "\n"))


@pytest.mark.parametrize("kind", QUOTING)
@examples(40)
@given(hostile)
def test_hostile_text_stays_text(kind: str, text: str) -> None:
    # A command is set word by word.
    stays_text(QUOTING[kind], f"{LONG_NAME}{text}".replace(" ", "_"))


@pytest.mark.usefixtures("_fresh_templates")
@pytest.mark.parametrize("kind", QUOTING)
def test_a_twin_without_escaping_is_caught(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stays_text(QUOTING[kind], SCRIPT)
    real = jinja2.Environment

    def careless(**options: Any) -> jinja2.Environment:
        return real(**(options | {"autoescape": False}))

    monkeypatch.setattr(jinja2, "Environment", careless)
    frame._environment.cache_clear()
    with pytest.raises(AssertionError):
        stays_text(QUOTING[kind], SCRIPT)


@cache
def written(number: int) -> tuple[str, Page]:
    """Page of a report, and what a browser reads of it."""
    text = html_text(REPORTS[number], "pqd again")
    return text, Page(text)


@pytest.mark.parametrize("number", range(len(REPORTS)))
def test_every_page_is_whole(number: int) -> None:
    text, page = written(number)
    tags = [tag for tag, _ in page.tags]
    assert text.startswith('<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">')
    assert [tags.count(tag) for tag in ("h1", "main", "title", "style")] == [1] * 4
    # A page of very many rows has a block of data beside its script.
    assert tags.count("script") == 1 + text.count('<script type="application/json"')
    assert html_text(REPORTS[number], "pqd again") == text
    ids = page.values("id")
    assert len(set(ids)) == len(ids)
    for name in ("aria-labelledby", "href"):
        for target in page.values(name):
            assert target.removeprefix("#") in ids
    assert not re.search(r"\bnan\b|[>\"]None[<\"]|inf%|nan%|Undefined", text)


@pytest.mark.parametrize("number", range(len(REPORTS)))
def test_every_page_loads_and_runs_nothing_else(number: int) -> None:
    text, page = written(number)
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy == (
        f"default-src 'none'; style-src {digest(style)}; script-src {digest(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    assert not {"link", "img", "iframe", "object", "base", "embed"} & {tag for tag, _ in page.tags}
    assert not {"src", "style", "srcset", "action"} & {
        name for _, names in page.tags for name in names
    }
    assert not [name for _, names in page.tags for name in names if name.startswith("on")]
    assert not re.search(r"https?:|url\(|@import|fetch\(|eval\(|innerHTML|localStorage", text)
    assert all(target.startswith("#") for target in page.values("href"))


@pytest.mark.parametrize("number", range(len(REPORTS)))
def test_no_head_section_or_control_is_empty(number: int) -> None:
    text = html_text(REPORTS[number], command="pqd again")
    assert not re.search(r'<th role="columnheader"[^>]*>\s*</th>', text)
    assert not re.search(r"<section[^>]*>\s*<h2[^>]*>[^<]*</h2>\s*</section>", text)
    # The script drives one form; a choice of all or all is none.
    assert text.count('<form class="controls') <= 1
    choices = len(re.findall("<option", text))
    assert ("<label hidden>Show" in text) is (choices == 1)


def test_a_changed_script_is_not_taken() -> None:
    whole = html_text(AUDIT)
    changed = whole.replace("form.hidden = false", "form.hidden = 1")
    assert changed != whole
    (script,) = re.findall(r"<script>(.*?)</script>", changed, re.DOTALL)
    assert digest(script) not in changed


@pytest.mark.parametrize(
    "report",
    [AUDIT, PLAN, BASED, SMALL, RELEASE, ADULT_PROFILE, DETAILED],
    ids=["audit", "plan", "check", "compare", "release", "profile", "ranking"],
)
def test_without_a_script_all_is_there_and_no_control_is(report: Report) -> None:
    text = html_text(report, "pqd again --and again")
    assert text.count('<form class="controls" hidden>') == 1
    body = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    assert "<button" not in re.sub(r"<form.*?</form>", "", body, flags=re.DOTALL)
    assert "aria-sort" not in body.partition("</style>")[2]
    shown = "".join(t for place, t in Page(body).texts if "pre" in place)
    assert "pqd again --and again" in shown


def test_without_a_command_there_is_none() -> None:
    assert "Make it again" not in html_text(AUDIT)


@pytest.mark.parametrize(
    "simulated",
    [audit_reports.SIMULATED, check_reports.SIMULATED,
     compare_reports.SIMULATED, release_reports.SIMULATED,
     profile_reports.SIMULATED, ranking_reports.SIMULATED],
)  # fmt: skip
def test_simulation_is_stamped_at_the_top_and_at_each_verdict(simulated: Report) -> None:
    text = html_text(simulated)
    assert "SIMULATED: the noise of this report has a seed" in text.partition("<section")[0]
    assert text.count(">SIMULATED<") >= 3
    for report in (AUDIT, BASED, SMALL, PLAN, RELEASE, ADULT_PROFILE, DETAILED):
        assert "SIMULATED" not in html_text(report)


# What pages say in words is held by golden files (test_golden.py).


def test_titles_marks_and_blanks_stand_where_they_belong() -> None:
    text = html.unescape(html_text(AUDIT))
    for words in (
        "<title>4 of 12 answers can be trusted: pqd audit</title>",
        'within tolerance</span> <span class="mark">replayed</span>',
    ):
        assert words in text, words
    text = html.unescape(html_text(BASED))
    for words in ("<title>BROKEN: pqd check", "             ^^^^^^^"):
        assert words in text, words


def test_a_plan_without_a_budget_has_no_thresholds() -> None:
    assert "Reliable from</th>" in html_text(PLAN)
    assert "Reliable from</th>" not in html_text(PLANS[-1])


def test_what_went_wrong_is_open() -> None:
    assert len(re.findall(r"<td [^>]*>\s*<details open>", html_text(BASED))) == 6


def test_what_is_certain_is_no_tie() -> None:
    assert "cannot be told apart" in html_text(LARGE).partition("How to read this")[0]
    certain = html_text(compare_reports.CERTAIN)
    assert "cannot be told apart" not in certain.partition("How to read this")[0]
    assert "99+" in html_text(LARGE)


def test_a_colour_never_stands_alone() -> None:
    """Every shaded cell says its standing in words and by a sign."""
    text = html_text(LARGE)
    cells = re.findall(r'<td class="cell (?:yes|no|open)[^>]*>(.*?)</td>', text)
    assert len(cells) == 300
    for cell in cells:
        assert re.match(
            r'<i aria-hidden="true">[✓✗?]</i>[\d.+]*<span class="sr"> (not )?(trusted|undecided)',
            cell,
        )


# Of a comparison: its queries, its candidates, and one row of cost.
@pytest.mark.parametrize(
    ("report", "rows"),
    [(many_groups(200), 1), (GROUPED, 2 + 5 + 1)],
    ids=["audit", "compare"],
)
def test_many_groups_are_one_row(report: AuditReport | CompareReport, rows: int) -> None:
    text = html_text(report)
    assert "200 groups" in text
    assert text.count('data-answers="200"') == 1
    assert text.count('<tbody role="rowgroup"') == rows
    assert len(text) < 400_000


def test_many_good_groups_are_folded_and_bad_ones_are_open() -> None:
    text = html_text(many_groups(200))
    assert re.search(r'<details class="groups" open>\s*<summary>67 not trusted', text)
    assert re.search(r'<details class="groups" open>\s*<summary>66 undecided', text)
    assert re.search(r'<details class="groups">\s*<summary>67 trusted', text)
    few = html_text(many_groups(3))
    assert '<details class="groups">' not in few


def test_a_large_comparison_is_a_small_page() -> None:
    assert len(html_text(LARGE)) < 700_000


def test_equal_curves_are_drawn_once() -> None:
    one = html_text(audit_of(audit_reports.VERDICTS[0]))
    both = html_text(audit_of(*audit_reports.VERDICTS[:2]))
    assert one.count('<g id="curve-') == both.count('<g id="curve-') == 2
    assert both.count('href="#curve-1"') == 2
    assert "curve-scale" not in html_text(audit_of(replace(YES, candidates=audit_reports.BARE)))


def test_very_long_sql_is_quoted_whole() -> None:
    long = "SELECT COUNT(*) FROM D WHERE " + " OR ".join(f"x = '{n}'" for n in range(3000))
    text = html.unescape(html_text(audit_of(replace(YES, sql=long, where=long[29:]))))
    assert long in text


def test_every_colour_can_be_read() -> None:
    found = themes(html_text(AUDIT))
    assert len(found) == 3
    for theme in found:
        for name in ("ink", "dim", "good", "bad", "care", "accent"):
            assert contrast(theme[name], theme["paper"]) >= 4.5
            assert contrast(theme[name], theme["soft"]) >= 4.5
        for name in ("good", "bad", "care"):
            assert contrast(theme[name], theme[f"{name}-soft"]) >= 4.5
        for name in ("good-soft", "good-deep", "bad-soft", "bad-deep", "care-soft", "accent-soft"):
            assert contrast(theme["ink"], theme[name]) >= 4.5
        for name in ("t0", "t1", "t2", *(f"{s}{n}" for s in ("less", "more") for n in (1, 2, 3))):
            assert contrast(theme["ink"], theme[name]) >= 4.5, name
        for number in (3, 4):
            assert contrast(theme[f"on-t{number}"], theme[f"t{number}"]) >= 4.5
        assert contrast(theme["dim"], theme["soft"]) >= 4.5
        for name in ("good-bar", "bad-bar", "care-bar", "edge", "other"):
            assert contrast(theme[name], theme["paper"]) >= 3
    assert contrast("999999", "ffffff") < 4.5


@pytest.mark.parametrize(
    "name",
    [
        *("page.css", "page.js", "notebook.html.j2"),
        *("document.html.j2", "blocks.html.j2", "pictures.html.j2", "pages.js"),
    ],
)
def test_templates_travel_with_the_package(name: str) -> None:
    assert importlib.resources.files("pqd.reports").joinpath("templates", name).is_file()


def test_rows_are_worst_first_and_groups_stand_where_the_worst_of_them_does() -> None:
    good, bad, unsure = (
        replace(given, id=name)
        for given, name in (
            (check_reports.YES, "good"),
            (check_reports.NO, "bad"),
            (check_reports.OPEN, "unsure"),
        )
    )
    text = html_text(audit_of(good, unsure, *many_groups(3).verdicts, bad))
    places = [text.index(f"data-find>{name}</th>") for name in ("by-x", "bad", "unsure", "good")]
    assert places == sorted(places)
    text = html_text(replace(SMALL, queries=SMALL.queries[::-1]))
    worst = [query.id for query in worst_compared(SMALL.queries[::-1])]
    places = [text.index(f"data-find>{name}</th>") for name in worst]
    assert places == sorted(places)


@pytest.mark.parametrize("report", [many_groups(3), RELEASE, AS_WRITTEN], ids=lambda r: r.kind)
def test_a_grouped_query_is_shown_as_it_was_written(
    report: AuditReport | ReleaseReport | CompareReport,
) -> None:
    queries = report.verdicts if isinstance(report, AuditReport) else report.queries
    written = {query.block_sql for query in queries if query.block_sql}
    assert written
    text = html.unescape(html_text(report))
    for sql in written:
        assert f"{sql}</pre>" in text
        assert f"data-find>{' '.join(sql.split())}</span>" in text


def test_a_row_of_groups_counts_as_its_answers() -> None:
    """The page says how many are shown: as many as its title has."""
    text = html_text(many_groups(22))
    assert re.search(r"<h1>.*of 22 answers", text)
    rows = re.findall(r'<tbody role="rowgroup"(?: data-answers="(\d+)")?>', text)
    assert sum(int(answers or 1) for answers in rows) == 22
