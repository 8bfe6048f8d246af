"""Reports of thousands of verdicts: what is cut says so, what matters is kept, nothing is slow."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from pqd.reports.github import github_text
from pqd.reports.models.refusals import QueryRefusal
from pqd.reports.text.numbers import LISTED, MOST_IN_FULL, first_of
from pqd.reports.writers.terminal import terminal_text
from pqd.reports.writers.terminal.layout import Extent
from pqd.reports.writers.terminal.table import PASSES
from tests.support.audit_reports import audit_of, many_queries, plan_of
from tests.support.check_reports import FAIL, PASS, many_checks, report_of
from tests.support.large_reports import LARGE

QUIET = Extent.QUIET
MORE = re.compile(r"([\d,]+) more   \(--all lists them\)")


@pytest.mark.parametrize("kind", LARGE)
@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_terminal_lists_the_worst_of_many_and_says_where_all_are(kind: str, width: int) -> None:
    text = terminal_text(LARGE[kind](1000), width)
    assert len(text.splitlines()) < 180
    assert max(map(len, text.splitlines())) <= width
    assert MORE.search(text)


@pytest.mark.parametrize("kind", LARGE)
def test_up_to_a_limit_all_but_passes_have_a_line(kind: str) -> None:
    # A check may have several verdicts.
    number = MOST_IN_FULL if kind != "check" else MOST_IN_FULL - 5
    passed = ("OK ", "yes ", "PASS ", "PLAN ", "\u2713 ")
    for line in terminal_text(LARGE[kind](number)).splitlines():
        assert not MORE.search(line) or line.lstrip().startswith(passed)
    assert MORE.search(terminal_text(LARGE[kind](4 * MOST_IN_FULL)))


@pytest.mark.parametrize("kind", LARGE)
@pytest.mark.parametrize("extent", [Extent.ALL, Extent.VERBOSE])
def test_all_and_verbose_leave_nothing_out(kind: str, extent: Extent) -> None:
    text = terminal_text(LARGE[kind](70), 200, extent)
    assert not MORE.search(text)
    assert len(text.splitlines()) >= (2 * 70 if extent is Extent.VERBOSE else 70)


@pytest.mark.parametrize("kind", LARGE)
def test_quiet_shows_failures_and_the_last_line(kind: str) -> None:
    brief, quiet = (terminal_text(LARGE[kind](1000), 80, each) for each in (Extent.BRIEF, QUIET))
    assert len(quiet) < len(brief)
    assert not re.search(r"^ *(yes|OK|PASS|WARN) ", quiet, re.MULTILINE)
    assert quiet.rstrip().rpartition("\n")[2].endswith(".")


def test_what_is_not_trusted_comes_first_the_surest_before_others() -> None:
    text = terminal_text(audit_of(*many_queries(400)), 120)
    listed = re.findall(r"^ *(NO|\?|yes) +query-(\d+) ", text, re.MULTILINE)
    assert listed[:LISTED] == [("NO", str(4 * place + 2)) for place in range(LISTED)]
    assert [badge for badge, _ in listed] == ["NO"] * LISTED + ["?"] * LISTED + ["yes"] * PASSES
    folded = re.findall(r"^ *(NO|\?|yes) +(query.*) and (\d+) more  ", text, re.MULTILINE)
    sizes = {badge: names.count("query") + int(more) for badge, names, more in folded}
    assert sizes == {"NO": 100 - LISTED, "?": 100 - LISTED, "yes": 200 - PASSES}
    assert "200 trusted, 100 not, 100 undecided; by inv_count." in text
    assert "400 answers of copy.csv" in text


def test_where_all_is_fine_ten_are_listed() -> None:
    text = terminal_text(report_of(*(replace(PASS, id=f"c{n}") for n in range(60))))
    assert len(re.findall("^ *PASS ", text, re.MULTILINE)) == PASSES + 1
    assert "c59" not in text
    assert "60 passed" in text


def test_a_pass_that_is_left_alone_has_a_line() -> None:
    text = terminal_text(report_of(*(replace(PASS, id=f"c{n}") for n in range(PASSES + 1))))
    assert "c10" in text
    assert not MORE.search(text)


def test_a_simulation_is_stamped_at_any_size() -> None:
    verdicts = [replace(verdict, simulated=True) for verdict in many_queries(100)]
    text = terminal_text(audit_of(*verdicts))
    assert text.startswith("SIMULATED: ")
    assert text.count("SIMULATED") == 1 + 2 * LISTED + PASSES


@pytest.mark.parametrize("kind", LARGE)
def test_markdown_fits_in_a_comment_and_says_what_it_leaves_out(kind: str) -> None:
    text = LARGE[kind](3000).to_markdown()
    assert len(text) < 65_536
    assert "more: the page and the JSON report have all of them" in text


def test_markdown_of_many_verdicts_has_the_worst() -> None:
    text = LARGE["audit"](3000).to_markdown()
    table = text.partition("\nand ")[0]
    assert "**NO**" in table
    assert "**yes**" not in table
    # Where groups of several queries stand together, each has its whole name.
    assert "<code>by-x&#91;x = 1&#93;</code>" in LARGE["audit-groups"](3000).to_markdown()


def test_an_output_for_github_names_the_worst_alone() -> None:
    broken = many_checks(1200)
    lines = github_text(broken, "audit.toml").splitlines()
    assert len(lines) == 50 + 1
    assert all(line.startswith("::error ") and "ERROR" in line for line in lines[:-1])
    assert "%0A950 more have no line here" in lines[-1]
    few = github_text(report_of(*(replace(FAIL, id=str(n)) for n in range(50))), "audit.toml")
    assert len(few.splitlines()) == 50 + 1
    assert "no line here" not in few


def test_of_many_refusals_the_first_are_named_and_the_last() -> None:
    refused = tuple(QueryRefusal(id=f"q{n}", sql="x", reason=f"because {n}") for n in range(500))
    report = replace(audit_of(), refused=refused)
    for text in (str(report), report.to_markdown(), report._repr_html_()):
        assert "because 3" in text
        assert "because 499" in text
        assert "because 300" not in text
        assert "480 more" in text
    assert "because 300" in terminal_text(report, extent=Extent.VERBOSE)


def test_refusals_of_one_reason_share_a_line() -> None:
    refused = tuple(QueryRefusal(id=f"q{n}", sql="x", reason=f"because {n % 2}") for n in range(20))
    text = terminal_text(replace(audit_of(), refused=refused))
    assert "q0, q2, q4, q6, q8, q10 and 4 more: because 0\n" in text
    assert text.count("because") == 2
    every = terminal_text(replace(audit_of(), refused=refused), extent=Extent.ALL)
    assert every.count("because") == 20


def test_a_cut_keeps_the_last_line_which_may_be_a_warning() -> None:
    assert [*first_of(map(str, range(LISTED)))] == [*map(str, range(LISTED))]
    assert [*first_of(map(str, range(1000)))][-2:] == ["... 980 more ...", "999"]


def test_a_notebook_begins_with_the_worst() -> None:
    for report in (audit_of(*many_queries(200)), plan_of(*many_queries(200))):
        text = report._repr_html_()
        assert "and 140 more" in text
    audit = audit_of(*many_queries(200))._repr_html_()
    assert audit.index(">query-2<") < audit.index(">query-198<") < audit.index(">query-3<")
    assert ">query-0<" not in audit
