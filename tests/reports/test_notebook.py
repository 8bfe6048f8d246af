"""What notebooks show: a piece of HTML that is safe, stamped, and not too long."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pqd.reports.models.report import document_of
from pqd.reports.writers.terminal import terminal_text
from tests.support import (
    audit_reports,
    check_reports,
    compare_reports,
    profile_reports,
    ranking_reports,
    release_reports,
)
from tests.support.audit_reports import AUDIT, AUDITS, PLAN, PLANS, many_groups
from tests.support.check_reports import BASED
from tests.support.pages import Page, contrast

if TYPE_CHECKING:
    from pqd.reports.models.audit import LedgerPlace

ALL: tuple[Any, ...] = (
    *AUDITS, *PLANS, *check_reports.REPORTS, *compare_reports.REPORTS, *release_reports.REPORTS,
    *profile_reports.REPORTS, *ranking_reports.REPORTS,
)  # fmt: skip
SCRIPT = "</style></td><script>alert(1)</script>"


@pytest.mark.parametrize("number", range(len(ALL)))
def test_a_fragment_is_no_page_and_runs_nothing(number: int) -> None:
    text = ALL[number]._repr_html_()
    tags = {tag for tag, _ in Page(text).tags}
    assert tags <= {"div", "style", "p", "table", "thead", "tbody", "tr", "th", "td", "span"}
    assert text == ALL[number]._repr_html_()
    assert not re.search(r"https?:|url\(|@import", text)
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    for rule in style.replace("}", "}\n").splitlines():
        assert not rule.strip() or rule.strip().startswith(".pqd-report")


@pytest.mark.parametrize(
    "quoting",
    [audit_reports.quoting_audit, audit_reports.quoting_plan, check_reports.quoting,
     compare_reports.quoting, release_reports.quoting,
     profile_reports.quoting, ranking_reports.quoting],
)  # fmt: skip
def test_hostile_text_stays_text(quoting: Callable[[str], Any]) -> None:
    assert Page(quoting(SCRIPT)._repr_html_()).tags == Page(quoting("x")._repr_html_()).tags


@pytest.mark.parametrize(
    "report",
    [audit_reports.SIMULATED, check_reports.SIMULATED,
     compare_reports.SIMULATED, release_reports.SIMULATED,
     profile_reports.SIMULATED, ranking_reports.SIMULATED],
)  # fmt: skip
def test_simulation_is_stamped(report: Any) -> None:
    text = report._repr_html_()
    assert "SIMULATED: the noise of this report has a seed" in text
    assert text.count("SIMULATED") >= 4


def test_a_fragment_has_the_summary_and_the_table() -> None:
    text = AUDIT._repr_html_()
    assert "4 of 12 answers can be trusted" in text
    assert '<span class="pqd-mark pqd-yes">yes</span>' in text
    assert "LOW" in PLAN._repr_html_()
    assert "KNOWN" in BASED._repr_html_()
    assert (
        "Which is the best is undecided between tree and copula"
        in compare_reports.LARGE._repr_html_()
    )
    text = release_reports.RELEASE._repr_html_()
    assert "20 private answers for epsilon 1" in text
    assert '<td class="pqd-number">106 to 168</td>' in text


def test_a_long_table_is_cut_and_says_so() -> None:
    text = many_groups(200)._repr_html_()
    assert text.count("<tr>") == 61
    assert "and 140 more" in text


def test_the_worst_stand_first_as_in_the_terminal() -> None:
    shown = re.findall(r'<th scope="row">([^<]*)</th>', AUDIT._repr_html_())
    lines = re.findall(r"^ +(?:NO|\?|yes) +(\S+) ", str(AUDIT), re.MULTILINE)
    assert shown == lines
    assert shown != [verdict.id for verdict in AUDIT.verdicts]


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("working folder", "The account is kept in pqd-ledger.sqlite, in the working folder."),
        ("beside the table", "in pqd-ledger.sqlite, beside the private table."),
        (None, "The account is kept in pqd-ledger.sqlite."),
    ],
)
def test_the_view_and_the_repr_say_what_was_spent_and_where_that_stands(
    place: LedgerPlace | None, words: str
) -> None:
    report = replace(AUDIT, cost=replace(AUDIT.cost, ledger_place=place))
    for text in (report._repr_html_(), repr(report)):
        assert "Epsilon 0.75 spent, 1 replayed. In all epsilon 1.25 of 2 spent" in text
        assert words in text


def test_the_terminal_names_the_ledger_of_a_frame() -> None:
    """Of a file it lies beside it, or where it was stated."""
    words = "The account is kept in pqd-ledger.sqlite, in the working folder."
    for place in ("working folder", "beside the table", None):
        report = replace(AUDIT, cost=replace(AUDIT.cost, ledger_place=place))
        assert (words in " ".join(str(report).split())) == (place == "working folder")


def test_notes_are_shown() -> None:
    assert "Bounds of x from the synthetic table." in AUDIT._repr_html_()


@pytest.mark.parametrize("number", range(len(ALL)))
def test_a_repr_is_a_few_lines(number: int) -> None:
    report = ALL[number]
    lines = repr(report).splitlines()
    stamped = int(bool(document_of(report).banner))
    assert len(lines) == 3 + stamped
    assert ("SIMULATED: " in lines[0]) == getattr(report, "simulated", False)
    assert lines[stamped].startswith(f"{type(report).__name__}: ")
    assert len(repr(report)) < 1_000


def test_a_repr_obeys_nothing() -> None:
    lines = repr(audit_reports.quoting_audit("\x1b[2J\n::error::")).splitlines()
    assert len(lines) == 3
    assert all(line.isprintable() for line in lines)


def test_marks_can_be_read_on_any_ground() -> None:
    colours = re.findall(r"background: #(\w+)", AUDIT._repr_html_())
    assert len(colours) == 4
    assert all(contrast("ffffff", colour) >= 4.5 for colour in colours)


def test_a_check_is_a_frame_with_a_row_per_verdict() -> None:
    frame = BASED.to_frame()
    assert len(frame) == sum(len(entry.verdicts) or 1 for entry in BASED.checks)
    assert list(frame.columns[:5]) == ["check", "status", "gate", "expect", "message"]
    assert set(frame.loc[frame["check"] == "by-sex", "outcome"]) == {"yes", "no"}
    broken = frame.loc[frame["check"] == "capital"].iloc[0]
    assert (broken["status"], broken["gate"]) == ("broken", "error")
    assert str(frame["epsilon"].dtype) == "float64"
    assert check_reports.report_of().to_frame().empty


@pytest.mark.parametrize("report", [AUDIT, PLAN, BASED, compare_reports.SMALL, release_reports.ONE])
def test_methods_give_what_the_renderings_give(report: Any) -> None:
    assert "pqd again" in report.to_html("pqd again").replace('</span> <span class="word">', " ")
    assert report.to_markdown().startswith("## pqd ")


def test_every_kind_says_how_far_off() -> None:
    """A noisy answer is told with its sign and its interval wherever a verdict is."""
    assert "-339 ±12" in AUDIT._repr_html_()
    assert "-339 ±12" in AUDIT.to_html()
    assert "-339 ±12" in AUDIT.to_markdown()
    assert "-339 ±12" in terminal_text(AUDIT, width=120)
    far = next(v for v in json.loads(AUDIT.to_json())["verdicts"] if v["id"] == "far")
    assert (far["gap"], far["gap_low"], far["gap_high"]) == (-339, -351, -327)
    assert (far["margin_low"], far["margin_high"]) == (-273, -249)


@pytest.mark.parametrize("kind", ["audit", "check", "compare", "plan", "profile", "release"])
def test_no_notebook_names_an_option(kind: str) -> None:
    folder = Path(__file__).parent / "golden"
    for page in folder.glob(f"{kind}*.notebook.html"):
        assert not re.search(r"--(total-epsilon|zoom|bounds|cells|tau)", page.read_text("utf-8"))


def test_a_verdict_is_a_line_that_says_whether_it_is_simulated() -> None:
    one = AUDIT.verdicts[0]
    assert repr(one).startswith(f"<Verdict {one.id}: {one.standing.badge.text}, ")
    assert repr(one).endswith(f"by {one.decider}>")
    assert repr(replace(one, simulated=True)).startswith(f"<Verdict {one.id}: SIMULATED, ")


@pytest.mark.parametrize(
    ("report", "name", "near"),
    [
        (profile_reports.REPORTS[0], "score", "it has overall.score, "),
        (profile_reports.REPORTS[0], "all_within", "it has p_value_all_within"),
        (AUDIT, "outcome", "it has verdicts[0].outcome"),
        (AUDIT, "verdict", "it has verdicts"),
        (AUDIT, "zzz", "it has verdicts, private, synthetic, "),
        (PLAN, "decider", "it has queries[0].decider"),
        (profile_reports.REPORTS[0], "pairs", "it has marginals"),
        (AUDIT, "explain", "it has open"),
    ],
)
def test_an_unknown_attribute_gets_the_nearest(report: Any, name: str, near: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(f"has no {name!r}; {near}")):
        getattr(report, name)


def test_an_unknown_hook_of_a_notebook_is_refused_in_few_words() -> None:
    with pytest.raises(AttributeError, match=r"^AuditReport has no '_repr_png_'$"):
        _ = AUDIT._repr_png_  # type: ignore[attr-defined]
    assert pickle.loads(pickle.dumps(AUDIT)) == AUDIT  # noqa: S301 - of its own making
    assert copy(AUDIT) == AUDIT
