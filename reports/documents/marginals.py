"""Marginals of a profile: columns, pairs and so on, worst first, and a heat map of all pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import permutations
from typing import TYPE_CHECKING

from pqd.reports.blocks import (
    NO_BADGE,
    PAGE,
    Block,
    Cell,
    Column,
    Group,
    Heat,
    HeatCell,
    Key,
    Line,
    Lines,
    Picture,
    Row,
    Section,
    Table,
)  # fmt: skip
from pqd.reports.documents.cells import cell_blocks
from pqd.reports.documents.shared import (
    lines,
)  # fmt: skip
from pqd.reports.models.profile import DistanceFacts
from pqd.reports.models.standings import COLUMNS, DISTANCES, OUTLOOKS, Standing
from pqd.reports.text.distances import (
    INDEPENDENT,
    NAMES,
    SHORT,
    TERMS,
    cells_text,
    chance_text,
    digits_of,
    estimate_text,
    figure_text,
    level_text,
    names_text,
    reference_text,
    tolerance_text,
    ways_text,
)  # fmt: skip
from pqd.reports.text.numbers import (
    counted,
    interval_text,
    number_text,
    p_value_text,
    percent_text,
)

if TYPE_CHECKING:
    from pqd.reports.models.profile import DistanceId, ProfileReport
    from pqd.reports.models.refusals import LeftOut

Marginal = Sequence[DistanceFacts]

_LEGEND = "chance: what an independent real sample of this size would have"
# Largest numbers of listed marginals of several columns, and of columns in a comment.
_WORST, _COLUMNS = 10, 20
# Distances at which the next shade begins, in tolerances; those from 1.0 on exceed tau.
_STEPS = (0.25, 0.5, 1.0, 2.0)


def marginals_table(report: ProfileReport, rows: Sequence[Marginal], ways: int) -> Table:
    """Table of the marginals of ``ways`` columns; in a plan, it shows which can be decided."""
    others = list(dict.fromkeys(each.distance for row in rows for each in row[1:]))
    top = min(1.0, max([*(row[0].high or 0.0 for row in rows), 2 * rows[0][0].tau]) * 1.04) or 1.0
    groups = (
        _planned_groups(report, rows) if report.dry else _groups(report, rows, others, top, ways)
    )
    columns = _columns(report, rows, others, ways, top)
    absent = _absent_groups(report, columns) if ways == 1 else ()
    return Table(
        columns=columns,
        groups=[*groups, *absent],
        find="name of a column" if ways == 2 else "",
        between="; ",
        most=_COLUMNS if ways == 1 else _WORST,
        keys=_keys(report) if ways == 1 and not report.dry else (),
    )


def _planned_groups(report: ProfileReport, rows: Sequence[Marginal]) -> Iterator[Group]:
    for standing in OUTLOOKS:
        badge = standing.badge
        planned = [_planned(report, row) for row in rows if row[0].planned is standing]
        yield Group(name=badge.text, badge=badge, rows=planned, fate=standing.fate)


def _groups(
    report: ProfileReport,
    rows: Sequence[Marginal],
    others: Sequence[DistanceId],
    top: float,
    ways: int,
) -> Iterator[Group]:
    digits, room = digits_of(*(each.estimate for row in rows for each in row)), _WORST
    about = {column.name: cells_text(column) for column in report.columns} if ways == 1 else {}
    repeats = report.repeats
    for standing in DISTANCES:
        own = [row for row in rows if _worst(row) is standing]
        own.sort(key=lambda row: not any(each.is_fault for each in row))
        measured = [
            _measured(report, row, others, digits, top, about)
            for row in own
            if row[0].columns not in repeats
        ]
        yield Group(
            name=standing,
            badge=standing.badge,
            rows=measured,
            fate=standing.fate,
            most=None if ways == 1 else room,
        )
        room = max(0, room - len(measured))
        for name in dict.fromkeys(filter(None, (repeats.get(row[0].columns) for row in own))):
            again = [row for row in own if repeats.get(row[0].columns) == name]
            yield Group(
                name=f"repeating {name}",
                badge=standing.badge,
                rows=[_measured(report, row, others, digits, top, about) for row in again],
                fate=standing.fate,
                most=0,
                fold=repeats_text(len(again), ways, name),
            )


def repeats_text(number: int, ways: int, name: str) -> str:
    """Sentence on marginals that only repeat a column, such as ``14 pairs only repeat note``."""
    verb = "repeats" if number == 1 else "repeat"
    return f"{counted(number, ways_text(ways, 1), ways_text(ways))} only {verb} {name}"


def _absent_groups(report: ProfileReport, columns: Sequence[Column]) -> Iterator[Group]:
    """Groups of the columns that have no distance, by the reason."""
    for standing in COLUMNS:
        rows = [_absent(each, columns) for each in report.left_out if each.standing is standing]
        yield Group(name=standing, badge=standing.badge, rows=rows, fate=standing.fate)


def _absent(left_out: LeftOut, columns: Sequence[Column]) -> Row:
    """Row of a column without a distance."""
    badge = left_out.standing.badge if left_out.standing else NO_BADGE
    order = len(DISTANCES) + COLUMNS.index(left_out.standing or Standing.NOT_JUDGED)
    name = names_text(left_out.columns)
    lead = {"badge": Cell(badge=badge, sort=order), "name": Cell(name, under=left_out.reason)}
    return Row(
        id=name,
        cells=tuple(lead.get(column.kind, Cell()) for column in columns),
        names=(badge.text,),
        details=lambda: [Lines([Line(left_out.reason)])],
    )


def _keys(report: ProfileReport) -> list[Key]:
    return [
        Key(
            [("dot", "")],
            f"distance and its {level_text(report.alpha)} interval; all intervals hold at once",
        ),
        Key([("limit", "")], f"tolerance of {report_tolerance(report)}"),
        Key([("fresh", "")], INDEPENDENT),
    ]


def _columns(
    report: ProfileReport,
    rows: Sequence[Marginal],
    others: Sequence[DistanceId],
    ways: int,
    top: float,
) -> tuple[Column, ...]:
    name = Column(ways_text(ways, 1), "name", fold=14)
    legend = _LEGEND if ways == 1 else ""
    if report.dry:
        cells = Column("cells", "number", drop=2)
        least = Column("reliable from", "number")
        return (
            Column("budget", "badge"),
            name,
            cells,
            least,
            Column("chance", "number", 1, 0, legend),
        )
    first = rows[0][0].distance if rows else "tv"
    return (
        Column("verdict", "badge"),
        name,
        Column(f"0 to {percent_text(top, 0)}", "picture", drop=PAGE),
        Column(SHORT[first], "number", term=TERMS[first]),
        Column(f"{level_text(report.alpha)} interval", "number", drop=1, below=True),
        Column("chance", "number", drop=2, legend=legend),
        *(Column(SHORT[distance], "number", drop=3, term=TERMS[distance]) for distance in others),
        Column("sure?", term="p"),
    )


def _planned(report: ProfileReport, row: Marginal) -> Row:
    each, badge = row[0], row[0].planned.badge
    chance = chance_text(each.reference, None, 1)
    name = names_text(each.columns)
    cells = (
        Cell(badge=badge, sort=int(each.planned is Standing.DECIDABLE)),
        Cell(name),
        Cell(f"{each.cells:,}", each.cells),
        Cell(_least_text(each), each.tau_min),
        Cell(chance, each.reference),
    )
    return Row(
        id=name,
        cells=cells,
        names=(badge.text,),
        aliases=tuple(_spellings(each.columns)),
        details=lambda: _details(report, row),
    )


def _measured(
    report: ProfileReport,
    row: Marginal,
    others: Sequence[DistanceId],
    digits: int,
    top: float,
    about: dict[str, str],
) -> Row:
    each, beside = row[0], {one.distance: one for one in row[1:]}
    value, low, high = each.estimate or (0.0, 0.0, 1.0)
    ends = interval_text(low, high, digits)
    text = estimate_text(each.estimate, digits) if each.estimate else ""
    name, badge = names_text(each.columns), each.standing.badge
    chance = chance_text(each.reference, each.chance, digits)
    picture = Picture(
        (0, top),
        value,
        low,
        high,
        limit=each.tau,
        mark=each.reference,
        tone=badge.tone,
        label=f"{text}, between {ends}, tolerance {report_tolerance(report)}",
    )
    return Row(
        id=name,
        cells=(
            Cell(badge=badge, sort=DISTANCES.index(each.standing)),
            Cell(name, under=about.get(each.columns[0], "")),
            Cell(picture=picture, sort=value),
            Cell(text, value, strong=True),
            Cell(ends, high - low),
            Cell(chance, each.reference),
            *(_beside(beside.get(distance), digits) for distance in others),
            _sure(each),
        ),
        marks=("SIMULATED",) if report.simulated else (),
        names=(_worst(row),),
        aliases=tuple(_spellings(each.columns)),
        details=lambda: _details(report, row),
    )


def _sure(each: DistanceFacts) -> Cell:
    """Cell with the p-value of a verdict; the details alone have that of an open one."""
    if each.standing.is_open:
        return Cell()
    return Cell(p_value_text(each.p_value, each.alpha), each.p_value)


def _beside(each: DistanceFacts | None, digits: int) -> Cell:
    """Cell for another distance of the same marginal, with a verdict of its own."""
    if each is None or each.estimate is None:
        return Cell()
    return Cell(estimate_text(each.estimate, digits), each.value, each.standing.badge)


def _details(report: ProfileReport, row: Marginal) -> Iterator[Block]:
    """Blocks on one marginal: its distances, the partitions of its columns, and its worst cells."""
    for each in row:
        standing = each.planned if report.dry else each.standing
        sentences = lines(_distance_sentences(each, report.alpha))
        yield Lines([Line(f"{standing.badge.text}  {SHORT[each.distance]}", "strong"), *sentences])
    names = row[0].columns
    about = [f"{c.name}: {cells_text(c)}" for c in report.columns if c.name in names]
    yield Lines(lines(about, "detail"))
    for marginal in report.zoomed:
        if set(marginal.columns) == set(names):
            title = f"{names_text(names)}: worst cells"
            yield Section(title=title, blocks=list(cell_blocks(report, marginal)))


def _spellings(columns: Sequence[str]) -> Iterator[str]:
    """Spellings of a marginal: its columns in any order, with or without a blank after commas."""
    for order in permutations(columns):
        yield ",".join(order)
        yield ", ".join(order)


def _worst(row: Marginal) -> Standing:
    return min((each.standing for each in row), key=DISTANCES.index)


def marginal_rows(report: ProfileReport, ways: int) -> list[list[DistanceFacts]]:
    """Distances of each marginal of ``ways`` columns, worst first; total variation leads each row.

    In a plan, the worst marginals are those that need the largest tolerance.
    """
    rows: dict[tuple[str, ...], list[DistanceFacts]] = {}
    for each in report.marginals:
        if len(each.columns) == ways:
            rows.setdefault(each.columns, []).append(each)
    marginals = [sorted(row, key=lambda each: each.distance != "tv") for row in rows.values()]
    return sorted(
        marginals, key=lambda row: -(row[0].tau_min if report.dry else row[0].value or 0.0)
    )


def pair_heat(report: ProfileReport) -> Heat | None:
    """Triangular heat map of all pairs, with single columns on the diagonal; None without pairs."""
    distances = {frozenset(each.columns): each for each in (*report.of_ways(1), *report.of_ways(2))}
    if not report.of_ways(2):
        return None
    names = [column.name for column in report.columns]
    full = shuffled_distance(report)
    digits, tau = (
        digits_of(*(each.estimate for each in distances.values())),
        report_tolerance(report),
    )
    rows = []
    for place, name in enumerate(names, 1):
        pairs = [distances.get(frozenset((name, other))) for other in names[:place]]
        cells = [None if each is None else _heat_cell(each, digits, full) for each in pairs]
        rows.append((name, [*cells, *[None] * (len(names) - place)]))
    caption = "Every pair of columns; on the long side the columns themselves"
    return Heat(names, rows, caption, "Column", _pair_keys(report, tau))


def _pair_keys(report: ProfileReport, tau: str) -> list[Key]:
    if report.dry:
        able = f"can be decided at {tau}; reliable from the tolerance in it, in per cent"
        low = [Key([("t1", "1.3")], able), Key([("hatched", "?")], "cannot be decided")]
        if any(each.is_out_of_reach for each in report.marginals):
            sign = ("t3", Standing.BEYOND.sign)
            low.append(Key([sign], f"chance alone is beyond {tau}, whatever the copy"))
        return low
    return [
        Key([], "Total variation in per cent:"),
        Key([("t0", "0"), ("t1", "·"), ("t2", "·")], f"up to the tolerance of {tau}"),
        Key([("t3", "✗")], "beyond it, or as far off as shuffled columns"),
        Key([("t4", "✗")], "beyond twice the tolerance"),
        Key([("hatched", "?")], "undecided"),
    ]


def _heat_cell(each: DistanceFacts, digits: int, full: float | None) -> HeatCell:
    name = names_text(each.columns)
    if each.estimate is None:
        least = _least_text(each)
        shade, sign = ("t1", "") if each.decidable else ("hatched", "?")
        if each.is_out_of_reach:
            shade, sign = "t3", Standing.BEYOND.sign
        return HeatCell(shade, least.removesuffix(" %"), f"{name}: reliable from {least}", sign)
    odds = p_value_text(each.p_value, each.alpha)
    words = f"{name}: {figure_text(each.estimate)}, {each.standing}, {odds}"
    text = estimate_text(each.estimate, digits).removesuffix(" %").replace(" ", "")
    standing = each.standing
    shade, tone = distance_shade(each, full), standing.badge.tone
    return HeatCell(shade, text, words, standing.sign, standing, tone)


def shuffled_distance(report: ProfileReport) -> float | None:
    """Mean distance of pairs that shuffled columns would have; None if it is not known."""
    facts = report.relations
    if facts is None or facts.estimate is None or facts.relations is None:
        return None
    return facts.relations.value


def distance_shade(each: DistanceFacts, full: float | None = None) -> str:
    """Shade of a distance: a larger distance has a stronger shade; hatched if undecided.

    A pair as far off as shuffled columns, ``full``, has at least the shade of one at the tolerance.
    """
    if each.standing is Standing.UNDECIDED:
        return "hatched"
    unit = each.tau if full is None or len(each.columns) < 2 else min(each.tau, full)
    share = (each.value or 0.0) / unit if unit else 0.0
    return f"t{sum(share >= step for step in _STEPS)}"


def _distance_sentences(each: DistanceFacts, alpha: Fraction) -> Iterator[str]:
    """Sentences on one distance: the figure, the verdict, and the reliable tolerances."""
    tau = tolerance_text(each.tau)
    if each.estimate is not None:
        digits = digits_of(each.estimate)
        ends = f"{interval_text(each.estimate.low, each.estimate.high, digits)} %"
        yield (
            f"{NAMES[each.distance]} {percent_text(each.estimate.value, digits)}; "
            f"{ends} with probability {level_text(alpha)} for all at once"
        )
        of = "of" if each.standing.answer else "at a tolerance of"
        odds = p_value_text(each.p_value, each.alpha)
        yield f"{each.standing.words} {of} {tau}: {odds}"
    if each.reference is not None:
        side = "" if each.chance is None else f": {each.chance} all at once"
        yield f"{INDEPENDENT} would have {reference_text(each.reference, 1)}{side}"
    yield f"reliable for tolerances of {_least_text(each)} or more; {each.cells:,} cells"


def _least_text(each: DistanceFacts) -> str:
    """Effectiveness threshold in per cent; ``none`` if no tolerance is reliable."""
    return "none" if each.tau_min >= 1 else f"{number_text(100 * each.tau_min, 2)} %"


def report_tolerance(report: ProfileReport) -> str:
    """Tolerance of a report, in per cent if the report has distances."""
    return tolerance_text(report.marginals[0].tau) if report.marginals else report.tolerance
