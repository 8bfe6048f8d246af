"""Notebook rendering of a profile: the one figure, a row per column, the matrix of pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pqd.reports.text.cost import account_sentences
from pqd.reports.text.distances import (
    SHORT,
    SIMULATED,
    digits_of,
    left_out_lines,
    level_text,
    reference_text,
)
from pqd.reports.text.escape import visible
from pqd.reports.text.numbers import interval_text, p_cell, percent_text
from pqd.reports.text.profile import (
    BADGES,
    KINDS,
    SIGNS,
    at_once_sentences,
    headline,
    least_text,
    marginal_rows,
    next_step,
    scores_sentence,
    table_sentences,
)
from pqd.reports.text.words import first_of
from pqd.reports.writers.summary import Summary, Table, numbers, table_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pqd.reports.models.profile import DistanceFacts, DistanceId, ProfileReport
    from pqd.reports.writers.summary import CellText

# A matrix with more columns has no room in a cell of a notebook; the page has them all.
_WIDEST = 20


def render(report: ProfileReport) -> Summary:
    """Title, what holds at once, a row per column, and the matrix of pairs."""
    title, lead = headline(report)
    lines: list[str] = []
    if not report.dry:
        lines += filter(None, [scores_sentence(report)])
        lines += [*at_once_sentences(report), *table_sentences(report)]
    lines += first_of(f"Left out: {line}" for line in left_out_lines(report.left_out))
    lines += [*first_of(map(visible, report.notes)), *filter(None, [next_step(report)])]
    tables = [_planned(report)] if report.dry else [_columns(report), *_pairs(report)]
    replayed = [report.replayed] if report.replayed else []
    account = account_sentences(report.cost, report.private, replayed, dry=report.dry)
    stamp = SIMULATED if report.simulated else ""
    return Summary(title, lead, tables, stamp, list(account), lines)


def _columns(report: ProfileReport) -> Table:
    found = marginal_rows(report, 1)
    others = list(dict.fromkeys(each.distance for row in found for each in row[1:]))
    digits = digits_of(*(each.estimate for row in found for each in row))
    first = found[0][0].distance if found else "tv"
    titles = (SHORT[first], f"{level_text(report.alpha)} interval", "fresh sample")
    more = (SHORT[distance] for distance in others)
    heads = (("verdict", ""), ("column", ""), *numbers((*titles, *more, "p")))
    return table_of(heads, found, lambda row: _row(row, others, digits, report))


def _row(
    row: Sequence[DistanceFacts], others: Sequence[DistanceId], digits: int, report: ProfileReport
) -> list[CellText]:
    each, beside = row[0], {other.distance: other for other in row[1:]}
    value, low, high = each.estimate or (0.0, 0.0, 1.0)
    simulated = " SIMULATED" if report.simulated else ""
    return [
        (BADGES[each.standing], KINDS[each.standing]),
        (f"{', '.join(each.columns)}{simulated}", "name"),
        (percent_text(value, digits), "number"),
        (interval_text(low, high, digits), "number"),
        ("" if each.reference is None else reference_text(each.reference, digits), "number"),
        *((_beside(beside.get(name), digits), "number") for name in others),
        (p_cell(each.p_value, each.alpha), "number"),
    ]


def _beside(each: DistanceFacts | None, digits: int) -> str:
    if each is None or each.value is None:
        return ""
    return f"{percent_text(each.value, digits)} {BADGES[each.standing]}"


def _pairs(report: ProfileReport) -> list[Table]:
    """Matrix of the pairs' total variation: one triangle of it."""
    pairs = {frozenset(each.columns): each for each in report.of_ways(2)}
    names = [column.name for column in report.columns]
    if not pairs or len(names) > _WIDEST:
        return []
    digits = digits_of(*(each.estimate for each in pairs.values()))
    rows = []
    for place, name in enumerate(names[1:], 1):
        cells = [_pair(pairs.get(frozenset((name, other))), digits) for other in names[:place]]
        rows.append([(name, "name"), *cells])
    return [Table((("pairs", ""), *((name, "") for name in names[:-1])), rows)]


def _pair(each: DistanceFacts | None, digits: int) -> CellText:
    if each is None or each.value is None:
        return "", ""
    # A sign beside the colour, which not every eye tells apart.
    sign = f"{SIGNS[each.standing]} " if SIGNS[each.standing] else ""
    return f"{sign}{percent_text(each.value, digits)}", KINDS[each.standing]


def _planned(report: ProfileReport) -> Table:
    def row(each: DistanceFacts) -> list[CellText]:
        return [
            ("OK" if each.decidable else "LOW", "yes" if each.decidable else "open"),
            (", ".join(each.columns), "name"),
            (f"{each.cells:,}", "number"),
            (least_text(each), "number"),
        ]

    ways = range(1, report.ways + 1)
    planned = [each for number in ways for each, *_ in marginal_rows(report, number)]
    heads = (("budget", ""), ("marginal", ""), *numbers(("cells", "threshold")))
    return table_of(heads, planned, row)
