"""Rows of a terminal's table: what is told of how far off, and how many have a line."""

from dataclasses import replace

import pytest
from rich.console import Console

from reports.terminal.frame import fold_text
from reports.terminal.grid import Cells, Column, grid_lines
from reports.terminal.layout import Screen
from reports.terminal.rows import NUMBERS
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


COLUMNS = (Column("verdict"), Column("query", least=20), *NUMBERS)
WIDE = ("NO", "gain", "234,903,306", "±11,745,165", "-181,700,000 ±1,300,000", "p < 0.001")
LONG = ("NO", "marital-status = Married-civ-spouse, sex = Male", "40.13", "±2", "> 2", "p = 0.01")


def lines_at(width: int, *rows: Cells) -> list[str]:
    screen = Screen(Console(width=width), width, unicode=True)
    return [line.plain for line in grid_lines(COLUMNS, rows, screen, indent="  ")]


def test_how_far_off_is_told_beside_long_names_and_large_numbers() -> None:
    head, first, second, *_ = lines_at(80, WIDE, LONG)
    assert head.split() == ["verdict", "query", "copy", "off", "by", "sure?"]
    assert first.split() == ["NO", "gain", "234,903,306", "-181,700,000", "p", "<", "0.001"]
    assert second.split() == ["±1,300,000"]
    assert second.endswith("±1,300,000")
    assert len(second) == first.index("-181,700,000") + len("-181,700,000")


def test_no_number_is_broken() -> None:
    huge = (*WIDE[:4], "about 99,999,999,999,978", "p < 0.001")
    assert "99,999,999,999,978" in " ".join(lines_at(80, huge, LONG)).split()
    assert lines_at(70, huge, LONG)[0].split() == ["verdict", "query", "copy", "sure?"]


def test_where_no_table_has_room_numbers_stand_below_with_their_titles() -> None:
    assert lines_at(40, WIDE, LONG)[1:4] == [
        "     copy 234,903,306  tolerance",
        "     ±11,745,165  off by -181,700,000",
        "     ±1,300,000  p < 0.001",
    ]


def test_what_lists_the_others_is_named_where_it_can_be_given() -> None:
    names = [f"q{number}" for number in range(20)]
    assert fold_text(names, 60).endswith(" and 14 more   (--all lists them)")
    assert fold_text(names, 60, lister="").endswith(" and 14 more")
    assert fold_text(["x" * 70, "y"], 20) == "2 more"
