"""A profile as Markdown: the one figure, the worst columns and pairs, and all else folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pqd.reports.text.distances import (
    SHORT,
    SIMULATED,
    cells_text,
    columns_sentence,
    digits_of,
    left_out_lines,
    level_text,
    reference_text,
    ways_text,
)
from pqd.reports.text.numbers import interval_text, p_cell, percent_text
from pqd.reports.text.profile import (
    BADGES,
    at_once_sentences,
    class_words,
    copy_share,
    cost_lines,
    headline,
    least_text,
    marginal_rows,
    next_step,
    paid_lines,
    points,
    rest_sentence,
    scores_sentence,
    table_sentences,
    target_sentences,
    zoom_digits,
)
from pqd.reports.text.remarks.definitions import profile_definitions
from pqd.reports.text.remarks.worst_cells import different_cells, noise_sentence
from pqd.reports.writers.markup import code, folded, items, markdown, sentence, table

if TYPE_CHECKING:
    from pqd.reports.models.profile import DistanceFacts, DistanceId, ProfileReport, ZoomedMarginal

# A comment has room for so many columns, marginals of several columns, cells, and definitions.
_COLUMNS, _WORST, _CELLS, _LISTED = 20, 10, 8, 60

Row = Sequence["DistanceFacts"]


def render(report: ProfileReport) -> Iterator[str]:
    """Parts of a profile."""
    title, lead = headline(report)
    yield f"## pqd profile: {markdown(title)}"
    if report.simulated:
        yield f"**{SIMULATED}**"
    yield sentence(lead)
    for ways in range(1, report.ways + 1):
        yield from _marginals(report, ways)
    if not report.dry:
        told = (scores_sentence(report), *at_once_sentences(report), *table_sentences(report))
        yield items(filter(None, told))
    for marginal in report.zoomed:
        title = f"{_names(marginal.columns)}: worst cells"
        yield folded(title, _zoomed(marginal, report))
    if report.target is not None:
        lines = (*target_sentences(report.target), *map(class_words, report.target.classes))
        yield folded(f"Target {code(report.target.column)}", [items(lines)])
    if report.left_out:
        yield folded(
            f"{len(report.left_out):,} left out",
            [items(_fitting([*left_out_lines(report.left_out)]))],
        )
    yield folded("Cost", [items([*cost_lines(report), *paid_lines(report)])])
    yield folded("How to read this", [items(_reading(report))])
    if step := next_step(report):
        yield sentence(step)


def _marginals(report: ProfileReport, ways: int) -> Iterator[str]:
    rows = marginal_rows(report, ways)
    shown = rows[: _COLUMNS if ways == 1 else _WORST]
    others = list(dict.fromkeys(each.distance for row in shown for each in row[1:]))
    name = ways_text(ways, 1)
    if report.dry:
        columns = [("", ":---:"), (name, "---"), ("cells", "---:"), ("threshold", "---:")]
        yield table([*columns, ("fresh sample", "---:")], (_planned(row[0]) for row in shown))
    else:
        first = shown[0][0].distance
        titles = [SHORT[first], f"{level_text(report.alpha)} interval", "fresh sample"]
        titles += [*(SHORT[distance] for distance in others), "p"]
        columns = [("", ":---:"), (name, "---"), *((markdown(title), "---:") for title in titles)]
        digits = digits_of(*(each.estimate for row in shown for each in row))
        yield table(columns, (_measured(row, others, digits) for row in shown))
    if rest := [each for row in rows[len(shown) :] for each in row]:
        yield sentence(rest_sentence(rest, ways))


def _planned(each: DistanceFacts) -> list[str]:
    fresh = "" if each.reference is None else reference_text(each.reference, 1)
    badge = "**OK**" if each.decidable else "**LOW**"
    cells = [f"{each.cells:,}", least_text(each), markdown(fresh)]
    return [badge, _names(each.columns), *cells]


def _measured(row: Row, others: Sequence[DistanceId], digits: int) -> list[str]:
    first, beside = row[0], {each.distance: each for each in row[1:]}
    value, low, high = first.estimate or (0.0, 0.0, 1.0)
    fresh = "" if first.reference is None else reference_text(first.reference, digits)
    return [
        f"**{BADGES[first.standing]}**",
        _names(first.columns),
        markdown(percent_text(value, digits)),
        interval_text(low, high, digits),
        markdown(fresh),
        *(_beside(beside.get(distance), digits) for distance in others),
        markdown(p_cell(first.p_value, first.alpha)),
    ]


def _beside(each: DistanceFacts | None, digits: int) -> str:
    if each is None or each.value is None:
        return ""
    return f"{markdown(percent_text(each.value, digits))} **{BADGES[each.standing]}**"


def _names(columns: Sequence[str]) -> str:
    return ", ".join(map(code, columns))


def _zoomed(marginal: ZoomedMarginal, report: ProfileReport) -> Iterator[str]:
    digits = zoom_digits(marginal)
    titles = ("copy", "private", f"{level_text(report.alpha)} interval", "points")
    rows = []
    for cell in different_cells(report, marginal)[:_CELLS]:
        value, low, high = cell.private
        figures = (percent_text(value, digits), interval_text(low, high, digits))
        texts = (copy_share(cell, digits), *figures, points(cell, digits))
        rows.append([_names(cell.labels), *map(markdown, texts)])
    if rows:
        yield table([("cell", "---"), *((markdown(title), "---:") for title in titles)], rows)
    yield sentence(noise_sentence(report, marginal))


def _reading(report: ProfileReport) -> Iterator[str]:
    for name, text in profile_definitions(report):
        yield f"{name}: {text}"
    yield columns_sentence(report.columns)
    yield from _fitting([f"{column.name}: {cells_text(column)}" for column in report.columns])
    yield from report.notes


def _fitting(lines: Sequence[str]) -> Iterator[str]:
    """First lines, as many as there is room for."""
    yield from lines[:_LISTED]
    if len(lines) > _LISTED:
        left = len(lines) - _LISTED
        yield f"and {left:,} more: the page and the JSON report have all of them"
