"""Rows of a terminal's table: what is told of how far off, and how many have a line."""

from dataclasses import replace

import pytest

from reports.terminal.frame import fold_text
from reports.text.audit import off_by_text
from tests.support.audit_reports import VERDICTS

ABOVE = replace(VERDICTS[0], q_synthetic=500.0, tau=600.0, low=590.0, high=690.0, conclusive=True)


@pytest.mark.parametrize(
    ("outcome", "low", "high", "told"),
    [
        ("yes", 590.0, 690.0, "< 190"),
        ("yes", 310.0, 410.0, "< 190"),
        ("no", 1590.0, 1690.0, "> 1,000"),
        ("no", -690.0, -590.0, "> 1,000"),
    ],
)
def test_a_pass_is_at_most_so_far_off_and_a_failure_at_least(
    outcome: str, low: float, high: float, told: str
) -> None:
    verdict = replace(ABOVE, outcome=outcome, p_value=0.001, low=low, high=high)
    assert verdict.standing == ("trusted" if outcome == "yes" else "not trusted")
    assert off_by_text(verdict, "+-") == told


def test_what_lists_the_others_is_named_where_it_can_be_given() -> None:
    names = [f"q{number}" for number in range(20)]
    assert fold_text(names, 60).endswith(" and 14 more   (--all lists them)")
    assert fold_text(names, 60, lister="").endswith(" and 14 more")
    assert fold_text(["x" * 70, "y"], 20) == "2 more"
