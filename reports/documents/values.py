"""Values of the columns of a profile: rare and lost values, and filled rows, worst first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pqd.reports.blocks import Block, Cell, Column, Group, Lines, Row, Section, Table
from pqd.reports.documents.shared import lines
from pqd.reports.models.standings import Standing
from pqd.reports.text.cost import rows_noun
from pqd.reports.text.distances import digits_of, figure_text, level_text
from pqd.reports.text.numbers import number_text, percent_text

if TYPE_CHECKING:
    from pqd.reports.models.profile import CountFacts, ProfileReport, ValuesOfColumn

RARE = (
    "What few rows have weighs little in a distance. A value is NO if the private rows that have "
    "it lie outside what the copy's share allows: a fifth more or less, and chance. Lost values "
    "are values that the copy never has: one private row in a thousand may have them, and chance. "
    "All of these verdicts are right at once with probability 1 - alpha."
)
_OPEN = (Standing.UNDECIDED, Standing.WITHIN)


def _values_table(report: ProfileReport) -> Table:
    """Table of the columns; those without a NO share a line."""
    judged = report.values
    digits = digits_of(*(each.filled for each in judged))
    return Table(
        columns=(
            Column("verdict", "badge"),
            Column("column", "name", fold=12),
            Column("value", fold=12),
            Column("copy", "number"),
            Column("allowed", "number", drop=2),
            Column("private", "number"),
            Column(f"{level_text(report.alpha)} interval", "number", drop=1, below=True),
            Column("filled in the copy", "number", drop=4),
            Column("filled, about", "number", drop=3),
        ),
        groups=[
            Group(
                name=standing,
                badge=standing.badge,
                fate="passed" if standing in _OPEN else standing.fate,
                rows=[_row(report, each, digits) for each in judged if each.standing is standing],
                most=0 if standing in _OPEN else None,
            )
            for standing in (Standing.BEYOND, *_OPEN)
        ],
        between="; ",
    )


def values_section(report: ProfileReport) -> Iterator[Section]:
    """Section with the table and its sentences; nothing in a plan."""
    if report.values:
        sentences = Lines(lines(_values_sentences(report)))
        blocks: list[Block] = [_values_table(report), sentences]
        yield Section(title="Rare and lost values", blocks=blocks)


def _values_sentences(report: ProfileReport) -> Iterator[str]:
    """Sentence on what noise hides."""
    reach = max((each.reach for each in report.values), default=0)
    number, rows = number_text(reach), report.rows
    noun = rows_noun(report.cost)
    every = f" of the {number_text(round(rows.value))}" if rows and rows.value > reach else ""
    yield f"Values of fewer than about {number}{every} {noun} may be lost and not show here."


def _row(report: ProfileReport, each: ValuesOfColumn, digits: int) -> Row:
    worst = _worst(each)
    cells: Sequence[Cell] = [Cell()] * 5
    if worst is not None:
        cells = [
            Cell(worst.name),
            Cell(number_text(worst.copy_rows), worst.copy_rows),
            Cell(_allowed(worst), worst.high),
            Cell(number_text(round(worst.rows.value)), worst.rows.value, strong=True),
            Cell(_ends(worst), worst.rows.high - worst.rows.low),
        ]
    filled = percent_text(each.filled.value, digits)
    return Row(
        id=f"values of {each.column}",
        cells=(
            Cell(badge=each.standing.badge, sort=each.standing),
            Cell(each.column),
            *cells,
            Cell(percent_text(each.filled_copy, digits), each.filled_copy),
            Cell(filled, each.filled.value),
        ),
        marks=("SIMULATED",) if report.simulated else (),
        names=(each.standing,),
        details=lambda: _details(each),
    )


def _worst(each: ValuesOfColumn) -> CountFacts | None:
    """Worst of the counts: a NO before others, lost values first."""
    return min(each.counts, key=lambda own: own.standing is not Standing.BEYOND, default=None)


def _details(each: ValuesOfColumn) -> Iterator[Block]:
    """Sentences on every count of one column."""
    filled = f"{percent_text(each.filled_copy, 2)} of the copy's rows have a value"
    hidden = f"A value of fewer than about {number_text(each.reach)} rows may be missing"
    yield Lines(
        lines(
            (
                f"{filled}, of the private rows about {figure_text(each.filled)}.",
                *(_count_sentence(own) for own in each.counts),
                f"{hidden} and not show.",
            )
        )
    )


def _count_sentence(own: CountFacts) -> str:
    copy, about = number_text(own.copy_rows), number_text(round(own.rows.value))
    return (
        f"{own.standing.badge.text}  {own.name}: {copy} rows of the copy, which allow "
        f"{_allowed(own)} private rows; about {about} ({_ends(own)})."
    )


def _allowed(own: CountFacts) -> str:
    return f"{number_text(own.low)} to {number_text(own.high)}"


def _ends(own: CountFacts) -> str:
    return f"{number_text(round(own.rows.low))} to {number_text(round(own.rows.high))}"
