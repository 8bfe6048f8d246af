"""Rows of a terminal's table: what is told of how far off, and how many have a line."""

from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from pqd.reports.documents.queries import off_by_text, verdict_row
from pqd.reports.models.audit import Verdict
from pqd.reports.models.standings import Leaning
from pqd.reports.text.numbers import in_millions
from pqd.reports.writers.terminal import terminal_text
from pqd.reports.writers.terminal.grid import Cells, Column, grid_lines
from pqd.reports.writers.terminal.layout import Extent, Screen
from pqd.reports.writers.terminal.table import fold_text
from tests.support.audit_reports import VERDICTS, audit_of

ABOVE = replace(VERDICTS[0], q_synthetic=500.0, tau=600.0, low=590.0, high=690.0, evidence="proof")


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
    outcome: Leaning, low: float, high: float, told: str
) -> None:
    verdict = replace(ABOVE, leans=outcome, p_value=0.001, low=low, high=high)
    assert verdict.standing == ("trusted" if outcome == "yes" else "not trusted")
    assert off_by_text(verdict) == told


@pytest.mark.parametrize(
    ("outcome", "low", "high", "told"),
    [("yes", 590.0, 1103.2, "< 604"), ("no", 1109.1, 1690.0, "> 609")],
)
def test_a_bound_of_the_gap_is_on_the_verdict_s_side_of_the_tolerance(
    outcome: Leaning, low: float, high: float, told: str
) -> None:
    """Two digits would be 610 and 600, beside a tolerance of 605."""
    verdict = replace(ABOVE, leans=outcome, p_value=0.001, tau=605.0, low=low, high=high)
    assert off_by_text(verdict) == told


@pytest.mark.parametrize(("outcome", "told"), [("yes", "< 320"), ("no", "> 319")])
def test_a_tolerance_in_place_of_a_gap_is_a_bound_of_it(outcome: Leaning, told: str) -> None:
    """If nothing else is known, the tolerance is rounded to the side that holds."""
    names = ("low", "high", "gap", "gap_low", "gap_high", "margin", "estimate")
    nothing: dict[str, Any] = dict.fromkeys(names)
    verdict = replace(ABOVE, leans=outcome, p_value=0.001, tau=319.3, **nothing)
    assert off_by_text(verdict) == told


COLUMNS = (
    Column("verdict", stacked="leads"),
    Column("query", least=20, stacked="leads"),
    Column("copy", right=True, stacked="titled"),
    Column("tolerance", right=True, spare=3, stacked="titled"),
    Column("off by", right=True, least=12, stacked="titled"),
    Column("sure?", least=13),
)
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
    stacked = " ".join(" ".join(lines_at(70, huge, LONG)).split())
    assert "off by about 99,999,999,999,978 p < 0.001" in stacked


def test_where_no_table_has_room_numbers_stand_below_with_their_titles() -> None:
    # A number stays beside its title.
    assert lines_at(40, WIDE, LONG)[1:5] == [
        "     copy 234,903,306",
        "     tolerance ±11,745,165",
        "     off by -181,700,000 ±1,300,000",
        "     p < 0.001",
    ]


def test_what_lists_the_others_is_named_where_it_can_be_given() -> None:
    names = [f"q{number}" for number in range(20)]
    assert fold_text(names, 60, hint="   (--all lists them)").endswith(
        " and 14 more   (--all lists them)"
    )
    assert fold_text(names, 60, hint="").endswith(" and 14 more")
    assert fold_text(["x" * 70, "y"], 20) == "2 more"


LARGE = replace(
    VERDICTS[0], aggregate="SUM", q_synthetic=139_240_955_123, tau=6_962_048_123, leans="no",
    lower=132_278_907_000, upper=146_203_003_246, low=179_240_000_000, high=185_440_000_000,
    gap=43_100_123_456, gap_low=40_000_000_000, gap_high=46_200_000_000, evidence="proof",
)  # fmt: skip


def numbers_of(verdict: Verdict) -> tuple[str, ...]:
    return tuple(cell.text for cell in verdict_row(verdict, "5%", mixed=False).cells[2:])


def test_thousands_of_millions_are_told_in_millions() -> None:
    assert numbers_of(LARGE)[:4] == ("139,241 M", "±6,962 M", "±10", "+43,100 M ±3,100 M")
    # A tolerance below says more of the copy's answer than whole millions do.
    narrow = replace(LARGE, tau=99_999_999)
    assert numbers_of(narrow)[:2] == ("139,240,955,123", "±99,999,999")
    # Of an answer that is far below its tolerance, whole millions would say that it is 0.
    assert numbers_of(replace(LARGE, q_synthetic=1013))[:2] == ("1,013", "±6,962 M")


@pytest.mark.parametrize(
    ("plain", "short"),
    [
        ("+43,100,000,000 ±3,100,000", "+43,100,000,000 ±3,100,000"),
        ("+43,100,000,000 ±31,000,000", "+43,100 M ±31 M"),
        ("> 1,000,000,000", "> 1,000 M"),
        ("> 999,000,000", "> 999,000,000"),
        ("about 99,999,999,999,978", "about 100,000,000 M"),
        ("about 34", "about 34"),
        ("1,000,000,001", "1,000,000,001"),
        ("?", "?"),
        ("2.5e+30", "2.5e+30"),
    ],
)
def test_no_digit_that_means_something_is_lost(plain: str, short: str) -> None:
    assert in_millions(plain) == short


def shown(*given: Verdict, width: int, extent: Extent = Extent.BRIEF) -> str:
    return terminal_text(audit_of(*given), width=width, extent=extent)


NAMELESS = [replace(VERDICTS[0], id=f"q{n}", where=f"age > {n}") for n in range(1, 15)]


def test_a_query_without_a_name_shows_what_it_asks() -> None:
    """Beside its name where every line has room; else below, and of many the first."""
    wide = shown(*NAMELESS[:2], width=120)
    assert "q1  COUNT(*) where age > 1  1,122" in wide
    assert wide.count("where age > 1") == 1
    longer = [replace(each, where=f"{each.where} AND {'x' * 60} = 1") for each in NAMELESS]
    cut = shown(*longer[:2], width=120)
    assert all(len(line) <= 120 for line in cut.splitlines())
    (first,) = [line for line in cut.splitlines() if "q1  COUNT(*) where age > 1 AND xx" in line]
    assert "1,122" in first
    whole = shown(*longer[:2], width=120, extent=Extent.ALL)
    assert f"where age > 1 AND {'x' * 60} = 1" in whole
    long = [replace(each, where=f"{each.where} AND {'x' * 90} = 1") for each in NAMELESS]
    narrow = shown(*long[:2], width=80)
    assert narrow.count("where age") == 2
    (line,) = [line for line in narrow.splitlines() if "q1 " in line and "where" in line]
    assert line.startswith("  q1  COUNT(*) where age > 1 AND xxx")
    assert len(line) <= 80
    failing = [replace(each, leans="no") for each in long]
    many = shown(*failing, width=80)
    assert many.count("where age") == 10
    assert "4 more   (--all tells what they ask)" in many
    assert shown(*failing, width=80, extent=Extent.ALL).count("where age") == 14
    assert "where age" not in shown(*failing, width=80, extent=Extent.QUIET)


def test_a_query_with_a_name_shows_it_alone() -> None:
    assert "where age" not in shown(replace(NAMELESS[0], id="quarter"), width=120)
