"""What notebooks show: a piece of HTML that is safe, stamped, and not too long."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

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
    ("report", "what"),
    [(audit_reports.SIMULATED, "verdicts"), (check_reports.SIMULATED, "verdicts"),
     (compare_reports.SIMULATED, "verdicts"), (release_reports.SIMULATED, "answers"),
     (profile_reports.SIMULATED, "distances"), (ranking_reports.SIMULATED, "distances")],
)  # fmt: skip
def test_simulation_is_stamped(report: Any, what: str) -> None:
    text = report._repr_html_()
    assert f"SIMULATED: these {what} come from seeded noise" in text
    assert text.count("SIMULATED") >= 4


def test_a_fragment_has_the_summary_and_the_table() -> None:
    text = AUDIT._repr_html_()
    assert "4 of 9 answers can be trusted" in text
    assert '<span class="pqd-mark pqd-yes">YES</span>' in text
    assert "LOW" in PLAN._repr_html_()
    assert "KNOWN" in BASED._repr_html_()
    assert "tree comes first" in compare_reports.LARGE._repr_html_()
    text = release_reports.RELEASE._repr_html_()
    assert "20 private answers for epsilon 1" in text
    assert '<td class="pqd-number">106 to 168</td>' in text


def test_a_long_table_is_cut_and_says_so() -> None:
    text = many_groups(200)._repr_html_()
    assert text.count("<tr>") == 61
    assert "and 140 more" in text


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
