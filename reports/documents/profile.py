"""Document of a profile: one figure, columns and pairs worst first, cells, a target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import TYPE_CHECKING

from pqd.reports.blocks import (
    PAGE,
    Block,
    Cell,
    Closing,
    Column,
    Definitions,
    Document,
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
    budget_bar,
    budget_shares,
    first_names,
    lines,
    omitted_columns,
    on_page,
)  # fmt: skip
from pqd.reports.documents.target import target_blocks
from pqd.reports.models.profile import DistanceFacts
from pqd.reports.models.standings import DISTANCES, PLANS, Standing
from pqd.reports.text.cost import (
    account_sentences,
    budget_sentence,
    meaning_sentence,
    spent_cell,
    spent_text,
)  # fmt: skip
from pqd.reports.text.distances import (
    SHORT,
    SIMULATED,
    cells_text,
    columns_sentence,
    digits_of,
    figure_text,
    level_text,
    names_text,
    reference_text,
    ways_text,
)  # fmt: skip
from pqd.reports.text.numbers import epsilon_text, interval_text, p_value_text, percent_text
from pqd.reports.text.profile import (
    at_once_sentences,
    cost_lines,
    counts_text,
    distance_sentences,
    headline,
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
)  # fmt: skip
from pqd.reports.text.remarks.definitions import RELATIONS, profile_definitions
from pqd.reports.text.words import counted, listed

if TYPE_CHECKING:
    from pqd.reports.models.profile import (
        DistanceId,
        ProfileReport,
        Score,
    )

Marginal = Sequence[DistanceFacts]

_FRESH = "fresh: what a fresh sample of the copy's own distribution would have"
_EXACT = "These tools read the private table as it is; their figures are exact and not protected."
# Marginals of several columns that are listed, and columns that a comment has room for.
_WORST, _COLUMNS = 10, 20
_ZOOMED = (
    "All cells of the worst marginals: how many of a hundred rows they hold, in the copy and in "
    "the private table. A difference is the private share less the copy's, in percentage points."
)
_HOLDER = "Whoever holds the private table can take the next step: "
# Where shades of a distance begin, in tolerances: the last two are beyond.
_STEPS = (0.25, 0.5, 1.0, 2.0)


def document(report: ProfileReport) -> Document:
    """Document of ``report``, measured or planned."""
    title, lead = headline(report)
    answers = [report.replayed] if report.replayed else []
    price = f"nothing spent; a run costs epsilon {epsilon_text(report.cost.epsilon)}"
    accounts = account_sentences(report.cost, report.private, answers, dry=report.dry)
    return Document(
        kind="profile",
        title=title,
        lead=lead,
        subject=_subject(report),
        spent=price if report.dry else spent_text(report.cost, answers),
        banner=[Line(SIMULATED, "warning")] if report.simulated else [],
        facts=[
            *([("Private table", report.private)] if report.private else []),
            ("Synthetic table", report.synthetic),
            ("Columns", f"{len(report.columns):,}"),
            ("Tolerance", report.tolerance),
            ("Price" if report.dry else "Epsilon spent", spent_cell(report.cost)),
        ],
        meaning="" if report.dry else meaning_sentence(report.cost),
        body=list(_body(report)),
        omitted=omitted_columns(report.left_out),
        notes=lines(report.notes),
        account=lines(accounts),
        budget=None if report.dry else budget_bar(report.cost),
        cost=[Lines(lines(cost_lines(report))), budget_shares(report.budget, paid_lines(report))],
        reading=_reading(report),
        closing=_closing(report),
        made=report.cost.day or "",
        replays="figures" if report.cost.ledger is not None and not report.dry else "",
        unknown="there is no column or pair {}; write a pair as its columns, such as age,sex",
    )


def _reading(report: ProfileReport) -> list[Block]:
    columns = [f"{column.name}: {cells_text(column)}" for column in report.columns]
    return [
        Definitions(list(profile_definitions(report))),
        Lines([*lines(columns, "detail"), Line(columns_sentence(report.columns))]),
        on_page(Lines([Line(_EXACT)]), Definitions(RELATIONS), title="The same figures elsewhere"),
    ]


def _subject(report: ProfileReport) -> str:
    sizes = Counter(len(columns) for columns in {each.columns for each in report.marginals})
    number = listed([f"{sizes[ways]:,} {ways_text(ways, sizes[ways])}" for ways in sorted(sizes)])
    tau = report_tolerance(report)
    return f"{number or 'nothing'} of {report.synthetic}, tolerance {tau}"


def _body(report: ProfileReport) -> Iterator[Block]:
    if report.marginals:
        yield Section(title="Quality", blocks=[_scores(report)], brief=False)
    for ways in range(1, report.ways + 1):
        if ways == 2 and (heat := pair_heat(report)):
            yield Section(title="Pairs", blocks=[heat], brief=False)
        if rows := marginal_rows(report, ways):
            title = counted(len(rows), ways_text(ways, 1), ways_text(ways))
            yield Section(title=title, blocks=[_marginals(report, rows, ways)])
    if not report.dry and report.marginals:
        yield Lines(lines((*at_once_sentences(report), *table_sentences(report))))
    if report.zoomed:
        yield on_page(Lines([Line(_ZOOMED)]), title="Where it is wrong")
    for marginal in report.zoomed:
        title = f"{names_text(marginal.columns)}: worst cells"
        yield Section(title=title, blocks=list(cell_blocks(report, marginal)), folded=True)
    if (target := report.target) is not None:
        title = f"Target {target.column}"
        yield Section(title=title, blocks=list(target_blocks(target)), folded=True)
    if step := next_step(report):
        # A terminal ends with it; all else goes to others than those who can take it.
        told = Lines([Line(step.replace("Next: ", _HOLDER, 1))])
        yield Section(title="", blocks=[told], brief=False, drop=2)


def _scores(report: ProfileReport) -> Table:
    """Scores as bars from 0 to 100 %; a terminal tells the same in two sentences."""
    several = report.scores if len(report.scores) > 1 else ()
    told = [Line(overall_sentence(report), "strong"), Line(scores_sentence(report))]
    words = lines(plan_sentences(report)) if report.dry else told
    fresh = Key([("fresh", "")], "a fresh sample of the copy's own distribution")
    full = Key([("full", "")], "quality: 100 % minus the mean distance")
    return Table(
        columns=(
            Column("marginals", "name"),
            Column("0 to 100 %", "picture", drop=PAGE),
            *([] if report.dry else [Column("quality", "number")]),
            Column("fresh sample", "number"),
        ),
        groups=[Group(rows=[_score(score) for score in (report.overall, *several)], fate="always")],
        words=[line for line in words if line.text],
        keys=[fresh] if report.dry else [full, fresh],
    )


def _score(score: Score) -> Row:
    name = "Overall" if score.ways is None else ways_text(score.ways).capitalize()
    digits = digits_of(score.estimate)
    fresh = reference_text(score.reference, digits)
    picture = Picture((0, 1), mark=score.reference, style="bar")
    if score.estimate is None:
        picture = picture._replace(label=f"{name}: a fresh sample would score {fresh}")
        return Row(id=name, cells=(Cell(name), Cell(picture=picture), Cell(fresh)))
    value, low, high = score.estimate
    text, ends = percent_text(value, digits), interval_text(low, high, digits)
    label = f"{name}: {text}, between {ends}; fresh sample {fresh}"
    picture = picture._replace(value=value, low=low, high=high, label=label)
    quality = Cell(text, value, under=ends, strong=True)
    return Row(id=name, cells=(Cell(name), Cell(picture=picture), quality, Cell(fresh)))


def _marginals(report: ProfileReport, rows: Sequence[Marginal], ways: int) -> Table:
    """Table of the marginals of as many columns; of a plan what can be told of them."""
    others = list(dict.fromkeys(each.distance for row in rows for each in row[1:]))
    top = min(1.0, max([*(row[0].high or 0.0 for row in rows), 2 * rows[0][0].tau]) * 1.04) or 1.0
    groups = (
        _planned_groups(report, rows) if report.dry else _groups(report, rows, others, top, ways)
    )
    return Table(
        columns=_columns(report, rows, others, ways, top),
        groups=list(groups),
        find="name of a column" if ways == 2 else "",
        between="; ",
        most=_COLUMNS if ways == 1 else _WORST,
        keys=_keys(report) if ways == 1 and not report.dry else (),
    )


def _planned_groups(report: ProfileReport, rows: Sequence[Marginal]) -> Iterator[Group]:
    for standing in PLANS:
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
    digits, left = digits_of(*(each.estimate for row in rows for each in row)), _WORST
    about = {column.name: cells_text(column) for column in report.columns} if ways == 1 else {}
    for standing in DISTANCES:
        measured = [
            _measured(report, row, others, digits, top, about)
            for row in rows
            if _worst(row) is standing
        ]
        yield Group(
            name=standing,
            badge=standing.badge,
            rows=measured,
            fate=standing.fate,
            most=None if ways == 1 else left,
        )
        left = max(0, left - len(measured))


def _keys(report: ProfileReport) -> list[Key]:
    return [
        Key([("dot", "")], f"distance and its {level_text(report.alpha)} interval"),
        Key([("limit", "")], f"tolerance of {report_tolerance(report)}"),
        Key([("fresh", "")], "a fresh sample of the copy's own distribution"),
    ]


def _worst(row: Marginal) -> Standing:
    return min((each.standing for each in row), key=DISTANCES.index)


def _columns(
    report: ProfileReport,
    rows: Sequence[Marginal],
    others: Sequence[DistanceId],
    ways: int,
    top: float,
) -> tuple[Column, ...]:
    name = Column(ways_text(ways, 1), "name", fold=14)
    legend = _FRESH if ways == 1 else ""
    if report.dry:
        cells = Column("cells", "number", drop=2)
        least = Column("threshold", "number")
        return (
            Column("budget", "badge"),
            name,
            cells,
            least,
            Column("fresh", "number", 1, 0, legend),
        )
    first = rows[0][0].distance if rows else "tv"
    return (
        Column("verdict", "badge"),
        name,
        Column(f"0 to {percent_text(top, 0)}", "picture", drop=PAGE),
        Column(SHORT[first], "number"),
        Column(f"{level_text(report.alpha)} interval", "number", drop=1, below=True),
        Column("fresh", "number", drop=3, legend=legend),
        *(Column(SHORT[distance], "number", drop=2) for distance in others),
        Column("sure?"),
    )


def _planned(report: ProfileReport, row: Marginal) -> Row:
    each, badge = row[0], row[0].planned.badge
    fresh = "" if each.reference is None else reference_text(each.reference, 1)
    name = names_text(each.columns)
    cells = (
        Cell(badge=badge, sort=int(bool(each.decidable))),
        Cell(name),
        Cell(f"{each.cells:,}", each.cells),
        Cell(least_text(each), each.tau_min),
        Cell(fresh, each.reference),
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
    text, ends = percent_text(value, digits), interval_text(low, high, digits)
    name, badge = names_text(each.columns), each.standing.badge
    fresh = "" if each.reference is None else reference_text(each.reference, digits)
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
            Cell(fresh, each.reference),
            *(_beside(beside.get(distance), digits) for distance in others),
            Cell(p_value_text(each.p_value, each.alpha), each.p_value),
        ),
        marks=("SIMULATED",) if report.simulated else (),
        names=(_worst(row),),
        aliases=tuple(_spellings(each.columns)),
        details=lambda: _details(report, row),
    )


def _spellings(columns: Sequence[str]) -> Iterator[str]:
    """Names that a marginal goes by: its columns in any order, with or without blanks between."""
    for order in permutations(columns):
        yield ",".join(order)
        yield ", ".join(order)


def _beside(each: DistanceFacts | None, digits: int) -> Cell:
    """Another distance of the same column, with its own verdict."""
    if each is None or each.value is None:
        return Cell()
    return Cell(percent_text(each.value, digits), each.value, each.standing.badge)


def _details(report: ProfileReport, row: Marginal) -> Iterator[Block]:
    """Each distance in sentences, how its columns were cut, and its cells."""
    for each in row:
        standing = each.planned if report.dry else each.standing
        told = lines(distance_sentences(each, report.alpha))
        yield Lines([Line(f"{standing.badge.text}  {SHORT[each.distance]}", "strong"), *told])
    names = row[0].columns
    about = [f"{c.name}: {cells_text(c)}" for c in report.columns if c.name in names]
    yield Lines(lines(about, "detail"))
    for marginal in report.zoomed:
        if set(marginal.columns) == set(names):
            title = f"{names_text(names)}: worst cells"
            yield Section(title=title, blocks=list(cell_blocks(report, marginal)))


def pair_heat(report: ProfileReport) -> Heat | None:
    """One triangle of all pairs, the columns themselves on its long side."""
    found = {frozenset(each.columns): each for each in (*report.of_ways(1), *report.of_ways(2))}
    if not report.of_ways(2):
        return None
    names = [column.name for column in report.columns]
    digits, tau = digits_of(*(each.estimate for each in found.values())), report_tolerance(report)
    rows = []
    for place, name in enumerate(names, 1):
        pairs = [found.get(frozenset((name, other))) for other in names[:place]]
        cells = [None if each is None else _heat_cell(each, digits) for each in pairs]
        rows.append((name, [*cells, *[None] * (len(names) - place)]))
    caption = "Every pair of columns; on the long side the columns themselves"
    return Heat(names, rows, caption, "Column", _pair_keys(report, tau))


def _pair_keys(report: ProfileReport, tau: str) -> list[Key]:
    if report.dry:
        able = f"can be decided at {tau}; the number is the threshold in per cent"
        return [Key([("t1", "1.3")], able), Key([("t3", "?")], "cannot be decided")]
    return [
        Key([], "Total variation in per cent:"),
        Key([("t0", "0"), ("t1", "·"), ("t2", "·")], f"up to the tolerance of {tau}"),
        Key([("t3", "✗")], "beyond it"),
        Key([("t4", "✗")], "beyond twice the tolerance"),
        Key([("", "?")], "undecided"),
    ]


def _heat_cell(each: DistanceFacts, digits: int) -> HeatCell:
    name = names_text(each.columns)
    if each.estimate is None:
        least = least_text(each)
        shade, sign = ("t1", "") if each.decidable else ("t3", "?")
        return HeatCell(shade, least.removesuffix(" %"), f"{name}: threshold {least}", sign)
    odds = p_value_text(each.p_value, each.alpha)
    told = f"{name}: {figure_text(each.estimate)}, {each.standing}, {odds}"
    text = percent_text(each.estimate.value, digits).removesuffix(" %").replace(" ", "")
    standing = each.standing
    shade, tone = distance_shade(each), standing.badge.tone
    return HeatCell(shade, text, told, standing.sign, standing, tone)


def distance_shade(each: DistanceFacts) -> str:
    """Shade of a distance: the farther, the stronger."""
    share = (each.value or 0.0) / each.tau if each.tau else 0.0
    return f"t{sum(share >= step for step in _STEPS)}"


def _closing(report: ProfileReport) -> Closing:
    failed = [
        each
        for each in report.marginals
        if (not each.decidable if report.dry else each.standing.fate == "failed")
    ]
    names = dict.fromkeys(names_text(each.columns) for each in failed)
    title = "LOW" if report.dry else "Beyond the tolerance"
    dry = " ".join(cost_lines(report)) if report.dry else ""
    return Closing(
        failed=f"{title}: {first_names(names, '; ')}." if names else "",
        counts=f"{_counts(report)}.",
        step=next_step(report).removeprefix("Next: ").removesuffix("."),
        budget=dry or budget_sentence(report.cost, report.private),
    )


def _counts(report: ProfileReport) -> str:
    """Verdicts of all distances, which are more than marginals where columns have two."""
    counts = plan_counts(report.marginals) if report.dry else counts_text(report.marginals)
    number = len(report.marginals)
    several = number > len({each.columns for each in report.marginals})
    of = f"Of {number:,} distances" if several else ""
    judged = "each judged by itself" if number > 1 and not report.dry else ""
    told = ", ".join(filter(None, (of, judged)))
    return f"{told[:1].upper()}{told[1:]}: {counts}" if told else counts
