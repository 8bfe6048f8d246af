"""Terminal rendering of ``pqd profile``: one figure, columns and pairs worst first, details."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from pqd.deciders.errors import ParameterError
from pqd.reports.documents.shared import first_names
from pqd.reports.terminal.frame import (
    Standing,
    closing,
    heading,
    notes_lines,
    stamp,
    table,
)
from pqd.reports.terminal.zoom import target_lines, zoom_lines
from pqd.reports.text.cost import budget_sentence, spent_text
from pqd.reports.text.distances import (
    SHORT,
    SIMULATED,
    cells_text,
    columns_sentence,
    digits_of,
    left_out_lines,
    level_text,
    names_text,
    reference_text,
    ways_text,
)
from pqd.reports.text.escape import visible
from pqd.reports.text.numbers import epsilon_text, interval_text, p_value_text, percent_text
from pqd.reports.text.profile import (
    BADGES,
    STANDINGS,
    at_once_sentences,
    cost_lines,
    counts_text,
    distance_sentences,
    least_text,
    marginal_rows,
    next_step,
    overall_sentence,
    paid_lines,
    plan_counts,
    plan_sentences,
    report_tolerance,
    scores_sentence,
    table_sentences,
)
from pqd.reports.text.words import counted, listed
from pqd.reports.writers.terminal.grid import Cells, Column
from pqd.reports.writers.terminal.layout import Extent

if TYPE_CHECKING:
    from rich.console import RenderResult

    from pqd.reports.models.profile import (
        DistanceFacts,
        DistanceId,
        ProfileReport,
    )
    from pqd.reports.writers.terminal.layout import Screen

_STYLES = {"within": "bold green", "beyond": "bold red", "undecided": "bold yellow"}
_FATES = {"beyond": (True, False), "undecided": (False, False), "within": (False, True)}
_OK, _LOW = Text("OK", style="bold green"), Text("LOW", style="bold yellow")
# So many marginals of several columns have a line, those with the largest distances.
_WORST = 10
_FRESH = "fresh: what a fresh sample of the copy's own distribution would have"

Row = Sequence["DistanceFacts"]


def render(report: ProfileReport, screen: Screen, extent: Extent) -> RenderResult:
    """Lines of a profile; in full also how columns were cut into cells, and what each part cost."""
    yield from stamp(SIMULATED, screen, shown=report.simulated)
    quiet, full = extent is Extent.QUIET, extent is Extent.VERBOSE
    if not quiet:
        yield from _head(report, screen)
    for ways in range(1, report.ways + 1):
        yield from _marginals(report, ways, screen, extent)
    if not quiet:
        yield from _details(report, screen, extent)
    # Notes come first, since few are shown.
    left_out = (f"Left out: {line}" for line in left_out_lines(report.left_out))
    yield from notes_lines((*report.notes, *left_out), screen, extent)
    if full:
        yield from _costs(report, screen)
    beyond = [names_text(each.columns) for each in _failed(report)]
    title = "LOW" if report.dry else "Beyond the tolerance"
    failures = f"{title}: {first_names(dict.fromkeys(beyond), '; ')}." if beyond else ""
    counts = Text(f"{_counts(report)}.", style="bold")
    step = next_step(report).removeprefix("Next: ").removesuffix(".")
    yield from closing(failures, counts, step, _budget(report, full=full), screen, extent)


def explain(report: ProfileReport, name: str, screen: Screen) -> RenderResult:
    """Lines on one column, pair or triple, such as ``age,sex``: its distances, cells and verdicts.

    Raises
    ------
    ParameterError
        The report has no such marginal.
    """
    parts = {part.strip() for part in name.split(",")}
    wanted = [{name}, parts]
    found = [each for each in report.marginals if set(each.columns) in wanted]
    if not found:
        raise ParameterError(
            f"there is no column or pair {name!r}; write a pair as its columns, such as age,sex"
        )
    yield from stamp(SIMULATED, screen, shown=report.simulated)
    yield from screen.wrapped(names_text(found[0].columns), "bold")
    for each in found:
        yield from screen.indented(_badge(each).append(f"  {SHORT[each.distance]} ", "default"))
        for line in distance_sentences(each, report.alpha):
            yield from screen.indented(line)
    for column in report.columns:
        if column.name in found[0].columns:
            yield from screen.indented(f"{visible(column.name)}: {cells_text(column)}", "dim")
    for marginal in report.zoomed:
        if set(marginal.columns) == set(found[0].columns):
            yield Text()
            yield from zoom_lines(report, marginal, screen, every=True)


def _head(report: ProfileReport, screen: Screen) -> Iterator[Text]:
    sizes = Counter(len(columns) for columns in {each.columns for each in report.marginals})
    number = listed([f"{sizes[ways]:,} {ways_text(ways, sizes[ways])}" for ways in sorted(sizes)])
    subject = f"{number or 'nothing'} of {visible(report.synthetic)}, tolerance "
    subject += report_tolerance(report)
    answers = [report.replayed] if report.replayed else []
    price = f"nothing spent; a run costs epsilon {epsilon_text(report.cost.epsilon)}"
    spent = price if report.dry else spent_text(report.cost, answers)
    yield from heading(subject, spent, "", screen)
    if not report.dry and report.marginals:
        yield from screen.wrapped(overall_sentence(report), "bold")
    yield from screen.paragraphs(plan_sentences(report) if report.dry else ())
    yield from screen.paragraphs(filter(None, [scores_sentence(report)]))
    yield Text()


def _failed(report: ProfileReport) -> list[DistanceFacts]:
    """Distances that are beyond the tolerance; in a plan those that cannot be told."""
    if report.dry:
        return [each for each in report.marginals if not each.decidable]
    return [each for each in report.marginals if each.standing == "beyond"]


def _counts(report: ProfileReport) -> str:
    """Verdicts of all distances, which are more than marginals where columns have two."""
    counts = plan_counts(report.marginals) if report.dry else counts_text(report.marginals)
    number = len(report.marginals)
    several = number > len({each.columns for each in report.marginals})
    of = f"Of {number:,} distances" if several else ""
    judged = "each judged by itself" if number > 1 and not report.dry else ""
    told = ", ".join(filter(None, (of, judged)))
    return f"{told[:1].upper()}{told[1:]}: {counts}" if told else counts


def _budget(report: ProfileReport, *, full: bool) -> str:
    if report.dry:
        return " ".join(cost_lines(report))
    return "" if full else budget_sentence(report.cost, report.private)


def _marginals(report: ProfileReport, ways: int, screen: Screen, extent: Extent) -> Iterator[Text]:
    """Table of the marginals of as many columns; in a plan of what can be told of them."""
    rows: Sequence[Row] = marginal_rows(report, ways)
    if extent is not Extent.QUIET:
        number = counted(len(rows), ways_text(ways, 1), ways_text(ways))
        yield Text(number, style="bold")
    standings: tuple[Standing[Row], ...]
    if report.dry:
        low = [row for row in rows if not row[0].decidable]
        enough = [row for row in rows if row[0].decidable]
        standings = Standing(_LOW, low, failed=True), Standing(_OK, enough, passed=True)
    else:
        by_standing: dict[str, list[Row]] = {name: [] for name in STANDINGS}
        for row in rows:
            worst = min((each.standing for each in row), key=STANDINGS.index)
            by_standing[worst].append(row)
        left, found = _WORST, []
        for name in STANDINGS:
            badge, listed = Text(BADGES[name], _STYLES[name]), None if ways == 1 else left
            found.append(Standing(badge, by_standing[name], *_FATES[name], listed))
            left = max(0, left - len(by_standing[name]))
        standings = tuple(found)
    digits = digits_of(*(each.estimate for row in rows for each in row))
    others = list(dict.fromkeys(each.distance for row in rows for each in row[1:]))

    def lines(rows: Sequence[Row]) -> Iterator[Cells]:
        for row in rows:
            yield _planned(row[0]) if report.dry else _measured(row, others, digits)

    columns = _plan_columns(ways) if report.dry else _columns(report, rows, others, ways)
    yield from table(columns, standings, lines, _name, screen, extent, between="; ")


def _name(row: Row) -> str:
    return names_text(row[0].columns)


def _plan_columns(ways: int) -> tuple[Column, ...]:
    return (
        Column("budget"),
        Column(ways_text(ways, 1), least=14),
        Column("cells", right=True, spare=2),
        Column("threshold", right=True),
        Column("fresh", right=True, spare=1, legend=_FRESH if ways == 1 else ""),
    )


def _columns(
    report: ProfileReport, rows: Sequence[Row], others: Sequence[DistanceId], ways: int
) -> tuple[Column, ...]:
    first = rows[0][0].distance if rows else "tv"
    return (
        Column("verdict"),
        Column(ways_text(ways, 1), least=14),
        Column(SHORT[first], right=True),
        Column(f"{level_text(report.alpha)} interval", right=True, spare=1),
        Column("fresh", right=True, spare=3, legend=_FRESH if ways == 1 else ""),
        *(Column(SHORT[distance], right=True, spare=2) for distance in others),
        Column("sure?"),
    )


def _planned(each: DistanceFacts) -> Cells:
    badge = _OK if each.decidable else _LOW
    fresh = "" if each.reference is None else reference_text(each.reference, 1)
    return badge, names_text(each.columns), f"{each.cells:,}", least_text(each), fresh


def _measured(row: Row, others: Sequence[DistanceId], digits: int) -> Cells:
    each, beside = row[0], {one.distance: one for one in row[1:]}
    value, low, high = each.estimate or (0.0, 0.0, 1.0)
    fresh = "" if each.reference is None else reference_text(each.reference, digits)
    figures = percent_text(value, digits), interval_text(low, high, digits), fresh
    more = (_beside(beside.get(distance), digits) for distance in others)
    return (
        _badge(each),
        names_text(each.columns),
        *figures,
        *more,
        p_value_text(each.p_value, each.alpha),
    )


def _badge(each: DistanceFacts) -> Text:
    if each.estimate is None:
        return (_OK if each.decidable else _LOW).copy()
    return Text(BADGES[each.standing], _STYLES[each.standing])


def _beside(each: DistanceFacts | None, digits: int) -> Text:
    """Another distance of the same column, with its own verdict."""
    if each is None or each.value is None:
        return Text()
    text = Text(percent_text(each.value, digits))
    return text.append(f" {BADGES[each.standing]:>3}", _STYLES[each.standing])


def _details(report: ProfileReport, screen: Screen, extent: Extent) -> RenderResult:
    """What is known beside the verdicts: of all at once, of the rows, of cells, of a target."""
    if not report.dry and report.marginals:
        yield from screen.paragraphs(at_once_sentences(report))
        yield from screen.paragraphs(table_sentences(report))
        yield Text()
    for marginal in report.zoomed:
        yield from zoom_lines(
            report, marginal, screen, every=extent in {Extent.ALL, Extent.VERBOSE}
        )
        yield Text()
    yield from target_lines(report, screen)


def _costs(report: ProfileReport, screen: Screen) -> Iterator[Text]:
    for column in report.columns:
        yield from screen.wrapped(f"{visible(column.name)}: {cells_text(column)}", "dim")
    yield from screen.wrapped(columns_sentence(report.columns))
    yield from screen.paragraphs(cost_lines(report) if not report.dry else ())
    for line in paid_lines(report):
        yield from screen.indented(line)
