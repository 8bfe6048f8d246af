"""Document of a comparison: the leaderboard, and each query with one sign per candidate."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from pqd.deciders.names import names_and_more
from pqd.reports.blocks import (
    PAGE,
    Badge,
    Block,
    Cell,
    Closing,
    Code,
    Column,
    Definitions,
    Document,
    Group,
    Grouping,
    Heat,
    HeatCell,
    Key,
    Line,
    Lines,
    Picture,
    Row,
    Section,
    Table,
)
from pqd.reports.documents.queries import omitted_queries
from pqd.reports.documents.shared import (
    budget_bar,
    explain_step,
    first_names,
    lines,
    on_page,
    rank_text,
    undecided_title,
)
from pqd.reports.escape import visible
from pqd.reports.models.standings import LEGEND, VERDICTS, Standing, legend, passes_first
from pqd.reports.text.cost import (
    account_sentences,
    budget_sentence,
    cost_sentences,
    meaning_sentence,
    spent_cell,
    spent_text,
)
from pqd.reports.text.notes import refused_lead
from pqd.reports.text.numbers import (
    counted,
    end_text,
    epsilon_text,
    gap_text,
    listed,
    number_text,
    p_cell,
    p_value_text,
    percent,
    percent_range,
    share_text,
    spaced,
    threshold_text,
)
from pqd.reports.text.query import (
    SIMULATED,
    distance_text,
    grouped_text,
    persons_sentence,
    query_text,
)

if TYPE_CHECKING:
    from pqd.reports.models.compare import Cell as Judged
    from pqd.reports.models.compare import ComparedQuery, CompareReport, LeaderboardRow

# Limits of strong shades, in tolerances: a no is strong above its limit, a yes up to its limit.
_CLEAR = {"no": 2.0, "yes": 0.5}
# A candidate that is more tolerances away than this does not widen the picture.
_FAR = 4.0
_HEAT = "Every query on every candidate"
_KINDS = {"marginals": "reference: independent marginals", "bootstrap": "reference: resampled rows"}
_SIGNS = f"{Standing.TRUSTED.sign} within tolerance, {Standing.NOT_TRUSTED.sign} outside"
_WIDEST = 9
_UNRELATED = (
    "The ranking is of these queries alone, and tells nothing of the relations between columns, "
    "which a copy of shuffled columns has lost: a comparison without queries judges them."
)
# Largest number of queries that a sentence names.
_NAMED = 6


def document(report: CompareReport) -> Document:
    """Document of ``report``."""
    title, lead = _headline(report)
    replayed = [query.replayed for query in report.queries]
    number = len(report.leaderboard)
    queries, names = counted(len(report.queries), "query", "queries"), counted(number, "candidate")
    tables = f"{report.private}, whatever the number of candidates"
    return Document(
        kind="compare",
        title=title,
        lead=lead,
        subject=f"{queries} on {names}, tolerance {spaced(report.tolerance)}",
        spent=spent_text(report.cost, replayed),
        banner=[Line(SIMULATED, "warning")] if report.simulated else [],
        facts=[
            ("Private table", report.private),
            ("Candidates", str(number)),
            ("Queries", str(len(report.queries))),
            ("Tolerance", spaced(report.tolerance)),
            ("Epsilon spent", spent_cell(report.cost)),
        ],
        meaning=meaning_sentence(report.cost),
        body=[
            Section(title="Leaderboard", blocks=list(_board(report)), brief=False),
            *(
                [Section(title=_HEAT, blocks=list(_queries(report)), brief=False)]
                if report.queries
                else []
            ),
        ],
        omitted=omitted_queries(report.refused),
        notes=lines(map(str, report.notes)),
        account=lines(account_sentences(report.cost, report.private, replayed)),
        budget=budget_bar(report.cost),
        cost=[Lines(lines(_compare_costs(report, tables)))],
        reading=[Lines(lines(_how_to_read(report))), on_page(Definitions(_terms(report)))],
        closing=_closing(report),
        made=report.cost.day or "",
        replays="verdicts" if report.cost.ledger is not None else "",
        unknown="there is no query {}; its id stands in the report's lines",
    )


def _board(report: CompareReport) -> Iterator[Block]:
    leaders = [_leader(report, row) for row in report.leaderboard]
    yield Table(
        columns=(
            Column("rank"),
            Column("candidate", "name", fold=14),
            Column("within", "number"),
            Column("0 to 100 %", "picture", drop=2),
            Column("true share"),
            *(Column(title, "number", drop=1) for title in ("yes", "no", "?")),
        ),
        groups=[Group(rows=leaders, most=len(leaders))],
        keys=[Key([("dot", "")], "share within tolerance, and what the true share lies in")],
        empty="Nothing was compared.",
    )
    references = [
        f"{row.candidate} is a {_KINDS[row.kind]}."
        for row in report.leaderboard
        if row.kind in _KINDS
    ]
    yield Lines(lines(_apart_sentences(report), "warning"))
    yield Lines(lines((*tie_sentences(report), *_named_sentence(report), *references)))
    if report.queries:
        yield Lines([Line(_UNRELATED, "detail")])


def _terms(report: CompareReport) -> list[tuple[str, str]]:
    """Terms of the tables, each with its meaning."""
    level = number_text(float(report.alpha) * 100, 3)
    sure = number_text(100 - float(report.alpha) * 100, 4)
    return [
        (
            "Trusted",
            (
                "The private answer lies within the tolerance of the candidate's answer. All "
                "candidates are judged by one estimate per query, so more candidates cost nothing "
                "more."
            ),
        ),
        (
            "Undecided",
            (
                f"p above {level} %, or, without a p, an estimator that is wrong more often than "
                "that on test tables made from the copies. The lean is given."
            ),
        ),
        (
            "Share",
            (
                "The share of the queries, by weight, whose verdict is yes or leans to it. Queries "
                "that can be decided on no candidate take no part. With probability at "
                f"least {sure} % the true shares of all candidates lie within their bands at once."
            ),
        ),
        (
            "Rank",
            (
                "The ranks that a candidate may have, given what is established. Candidates that "
                "cannot be told apart share ranks."
            ),
        ),
        (
            "Gap",
            (
                "The private answer minus the synthetic one, as estimated, and what it lies in: "
                f"each end holds with probability at least {sure} %, like a decided verdict."
            ),
        ),
    ]


def _leader(report: CompareReport, row: LeaderboardRow) -> Row:
    share, between = percent(row.share), percent_range(row.low, row.high)
    label = f"{share}, between {between}"
    kind = _KINDS.get(row.kind, report.candidates.get(row.candidate, ""))
    cells = (
        Cell(rank_text(row), row.best_rank),
        Cell(row.candidate, under=kind, strong=True),
        Cell(share, float(row.share), strong=True),
        Cell(
            sort=float(row.share),
            picture=Picture((0, 1), float(row.share), row.low, row.high, label=label),
        ),
        Cell(between, row.low),
        *(Cell(str(n), n) for n in (row.trusted, row.not_trusted, row.undecided)),
    )
    marks = ("SIMULATED",) if report.simulated else ()
    return Row(id=row.candidate, cells=cells, marks=marks)


def _queries(report: CompareReport) -> Iterator[Block]:
    columns = column_names(report)
    lead = f"{_SIGNS}, in brackets if undecided: it leans that way"
    yield Lines(lines((lead, *columns.legend), "detail"))
    standings = {query.id: _standing(query) for query in report.queries}
    passes = [query for query in report.queries if standings[query.id].fate == "passed"]
    ordered = [*worst_compared(report.queries), *passes]
    yield on_page(_heat(ordered, columns.candidates))
    groups = [
        Group(
            name=standing,
            badge=standing.badge,
            rows=[
                _row(query, columns.candidates)
                for query in ordered
                if standings[query.id] is standing
            ],
            fate=standing.fate,
        )
        for standing in legend(set(standings.values()))
    ]
    signs = (Column(title, foreign=True) for title in columns.titles)
    numbers = (Column(title, "number", drop=PAGE) for title in ("private answer", "reliable from"))
    yield Table(
        columns=(*signs, Column("query", "name", fold=14), *numbers),
        groups=groups,
        find="id or words of a query",
        in_full=True,
        beside=True,
    )


def _standing(query: ComparedQuery) -> Standing:
    """Standing of a query on the candidate where the standing is worst."""
    standings = (cell.standing for cell in query.cells)
    return min(standings, key=VERDICTS.index, default=Standing.UNDECIDED)


def _row(query: ComparedQuery, names: Sequence[str]) -> Row:
    judged = [query.cell(name) for name in names]
    marks = ("SIMULATED", query.simulated), ("replayed", query.replayed)
    standings = {cell.candidate: cell.standing for cell in query.cells}
    return Row(
        id=query.id,
        cells=(
            *map(_sign, judged),
            Cell(query.id),
            Cell(_estimate(query), None if query.estimate is None else float(query.estimate)),
            Cell(threshold_text(query.tau_min), query.tau_min),
        ),
        asks=query_text(query),
        marks=tuple(mark for mark, present in marks if present),
        names=(
            *dict.fromkeys(standings.values()),
            *(f"{name}: {standing}" for name, standing in standings.items()),
        ),
        grouping=_grouping(query),
        member=query.group or query.id,
        details=lambda: _details(query),
    )


def _sign(cell: Judged) -> Cell:
    return Cell(sort=cell.strain, badge=Badge(_cell_sign(cell), cell.standing.badge.tone))


def _estimate(query: ComparedQuery) -> str:
    return "not released" if query.estimate is None else number_text(query.estimate, 6)


def _grouping(query: ComparedQuery) -> Grouping | None:
    if query.block is None:
        return None
    asks = grouped_text(query, query.block_sql)
    return Grouping(query.block, asks, asks, query.block_sql or "")


def _heat(queries: Sequence[ComparedQuery], names: Sequence[str]) -> Heat:
    """Heat map of the gaps in tolerances; a grouped query shows the share of trusted groups."""
    first: dict[str, int] = {}
    for place, query in enumerate(queries):
        first.setdefault(query.block or query.id, place)
    ordered = sorted(queries, key=lambda query: first[query.block or query.id])
    rows: list[tuple[str, list[HeatCell | None]]] = []
    for (block, _), run in groupby(ordered, key=lambda q: (q.block, q.block or q.id)):
        members = list(run)
        if block is None:
            rows.append((members[0].id, [_gap(members[0].cell(name)) for name in names]))
        else:
            rows.append((block, [_passes([q.cell(name) for q in members]) for name in names]))
    keys = [
        *(Key([(_clear(each), each.sign)], each) for each in passes_first(LEGEND)),
        Key([], "A number is the estimated gap in tolerances; above 1 is outside."),
    ]
    if any(query.block for query in queries):
        keys.append(Key([], "A share is that of the groups which are trusted."))
    return Heat(names, rows, _HEAT, "Query", keys)


def _gap(cell: Judged) -> HeatCell:
    standing, strain = cell.standing, cell.strain
    clear = strain is not None and (
        strain > _CLEAR["no"] if standing.answer == "no" else strain <= _CLEAR["yes"]
    )
    text = "" if strain is None else _short(strain)
    words = f"{cell.candidate}: {cell.standing}" + (f", gap of {text} tolerances" if text else "")
    shade = _clear(standing) if clear else standing.badge.tone
    return HeatCell(shade, text, words, standing.sign, standing)


def _clear(standing: Standing) -> str:
    """Shade of a clear case: strong for a yes or a no, but not for an open standing."""
    return f"{standing.badge.tone} strong" if standing.answer else standing.badge.tone


def _short(strain: float) -> str:
    """Gap in tolerances as a short text; only a gap of exactly one tolerance reads ``1.0``."""
    if strain >= 100:
        return "99+"
    if strain >= 10:
        return f"{strain:.0f}"
    # A gap that is a little above or below 1 must not be rounded to 1.0.
    return f"{max(strain, 1.1) if strain > 1 else min(strain, 0.9 if strain < 1 else 1):.1f}"


def _passes(cells: Sequence[Judged]) -> HeatCell:
    passes = sum(cell.standing.fate == "passed" for cell in cells)
    shade = "yes strong" if passes == len(cells) else "" if passes else "no"
    text = percent(passes / (len(cells) or 1))
    words = f"{cells[0].candidate}: {passes} of {len(cells)} groups trusted"
    return HeatCell(shade, text, words, "", f"of {len(cells)} groups trusted")


def _details(query: ComparedQuery) -> Iterator[Block]:
    """Blocks on one query: the estimate, and each candidate compared with it."""
    scale = _scale(query)
    estimate = () if query.estimate is None else (
        Key([("between", "")], "private answer, as estimated, and what it is known to lie in"),
    )  # fmt: skip
    yield Table(
        columns=(
            Column("candidate", "name"),
            Column("verdict"),
            Column("tolerance and private answer", "picture", drop=PAGE),
            Column("answer"),
            *(Column(title, "number") for title in ("gap", "p")),
        ),
        groups=[Group(rows=[_judged(query, cell, scale) for cell in query.cells], fate="always")],
        label="Candidates",
        words=[Line(f"{cell.candidate}: {cell_sentence(cell, query)}") for cell in query.cells],
        keys=[Key([("inside", "")], "synthetic answer and its tolerance"), *estimate],
    )
    yield Lines(lines(list(_query_sentences(query))[1:]))
    cost = epsilon_text(query.epsilon)
    price = f"weight {number_text(query.weight)}; costs epsilon {cost} by itself"
    yield on_page(Lines(lines([price])), *_estimators(query))
    yield Code("Query", query.sql)


def _estimators(query: ComparedQuery) -> Iterator[Table]:
    """Table of the estimators that fit, with the used one marked; nothing if only one fits."""
    if len(query.estimators) < 2:
        return
    rows = []
    for facts in query.estimators:
        exact = Cell("yes" if facts.exact else "no")
        cells = (Cell(facts.estimator), Cell(share_text(facts.error), facts.error), exact)
        marks = ("used",) if facts.estimator == query.estimator else ()
        rows.append(Row(id=facts.estimator, cells=cells, marks=marks))
    yield Table(
        columns=(Column("estimator", "name"), Column("wrong at most", "number"), Column("gives p")),
        groups=[Group(rows=rows, fate="always")],
        label="Estimators that fit",
    )


def _judged(query: ComparedQuery, cell: Judged, scale: tuple[float, float]) -> Row:
    between = "" if cell.gap is None else _between_text(cell.gap_low, cell.gap_high)
    answer, picture = "no answer, as no row of it matches", None
    badge = cell.standing.badge
    leans = "" if cell.standing.answer else f"leans {cell.leaning.badge.text}"
    margin = "" if cell.margin is None else f"margin {cell.margin:,}"
    if cell.q_synthetic is not None:
        answer = f"{number_text(cell.q_synthetic)} ±{number_text(cell.tau, 4)}"
        estimated = query.estimate is not None
        picture = Picture(
            scale,
            None if query.estimate is None else float(query.estimate),
            (scale[0] if query.low is None else float(query.low)) if estimated else None,
            (scale[1] if query.high is None else float(query.high)) if estimated else None,
            limit=float(cell.tau),
            mark=float(cell.q_synthetic),
            style="strip",
            tone=badge.tone,
            label=f"{cell.candidate}: {answer}",
        )
    cells = (
        Cell(cell.candidate),
        Cell(badge=badge, under=leans),
        Cell(picture=picture),
        Cell(answer),
        Cell("" if cell.gap is None else gap_text(cell.gap), under=between),
        Cell(p_cell(cell.p_value, cell.alpha) or "none", under=margin),
    )
    marks = ("closest",) if cell.candidate in query.closest else ()
    return Row(id=cell.candidate, cells=cells, marks=marks)


def _scale(query: ComparedQuery) -> tuple[float, float]:
    """Scale of a picture of the answers; it holds all candidates except those far off."""
    cells = [cell for cell in query.cells if cell.q_synthetic is not None]
    answers = sorted(float(cell.q_synthetic or 0) for cell in cells)
    middle = answers[len(answers) // 2] if answers else 0.0
    if query.estimate is not None:
        middle = float(query.estimate)
    widest = max((float(cell.tau) for cell in cells), default=0.0) or 1.0
    reaches = (abs(float(cell.q_synthetic or 0) - middle) + float(cell.tau) for cell in cells)
    far = max((min(reach, _FAR * widest) for reach in reaches), default=1.0) or 1.0
    ends = [float(end) for end in (query.low, query.high) if end is not None]
    half = max([far, *(abs(end - middle) for end in ends)]) * 1.08
    return middle - half, middle + half


def _closing(report: CompareReport) -> Closing:
    worst = worst_compared(report.queries)
    outside = [query.id for query in worst if _standing(query).fate == "failed"]
    first = next(iter((*worst, *report.queries)), None)
    return Closing(
        failed=f"Outside on some candidate: {first_names(outside)}." if outside else "",
        counts=f"{_headline(report)[0]}.",
        step=explain_step("pqd compare ...", first.id) if first else "",
        budget=budget_sentence(report.cost, report.private),
    )


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns of a table with one sign per candidate, in the order of the leaderboard."""

    candidates: tuple[str, ...]
    titles: tuple[str, ...]
    legend: tuple[str, ...]


def column_names(report: CompareReport) -> Columns:
    """Short titles of the candidates: their names, or letters if the names are long or many."""
    names = tuple(row.candidate for row in report.leaderboard)
    texts = tuple(visible(name) for name in names)
    if all(len(name) <= _WIDEST and " " not in name for name in texts) and len(names) <= 5:
        return Columns(names, texts, ())
    letters = tuple(_letter(place) for place in range(len(names)))
    legend = ", ".join(f"{a} {name}" for a, name in zip(letters, texts, strict=True))
    return Columns(names, letters, (legend,))


def _letter(place: int) -> str:
    return chr(ord("A") + place) if place < 26 else f"#{place + 1}"


def _cell_sign(cell: Judged) -> str:
    """Sign of a verdict, in brackets if the verdict is undecided."""
    return cell.standing.sign if cell.standing.answer else f"({cell.leaning.sign})"


def _apart_sentences(report: CompareReport) -> Iterator[str]:
    """Sentence on the queries that do not count in the ranking, and why; nothing if all count."""
    apart = [query for query in report.queries if not query.decidable]
    if not apart:
        return
    level = number_text(float(report.alpha) * 100, 3)
    why = (
        f"at this epsilon noise decides too often, on every candidate: it is wrong more than "
        f"{level} % of the time on test tables made from the copies"
    )
    if len(apart) == len(report.queries):
        yield f"No query can be decided, so nothing can be ranked: {why}. Take more epsilon."
        return
    names = list(_parts_of(apart, report.queries))
    verb = "takes" if len(apart) == 1 else "take"
    told = listed(names) if len(names) <= _NAMED else names_and_more(names, _NAMED)
    yield f"{told} {verb} no part in the ranking: {why}."


def _parts_of(apart: Sequence[ComparedQuery], queries: Sequence[ComparedQuery]) -> Iterator[str]:
    """Names of the queries; groups are counted together, such as ``sales (3 of 12 groups)``."""
    every = Counter(query.block for query in queries)
    for block, number in Counter(query.block for query in apart).items():
        if block is None:
            yield from (query.id for query in apart if query.block is None)
        else:
            yield f"{block} ({number:,} of {every[block]:,} groups)"


def tie_sentences(report: CompareReport) -> Iterator[str]:
    """Sentences on which candidate is better than which, and which cannot be told apart."""
    names = [row.candidate for row in report.leaderboard]
    if len(names) < 2:
        return
    if not report.better:
        yield f"{listed(names)} cannot be told apart at this epsilon."
        return
    for name in names:
        worse = [other for other in names if (name, other) in report.better]
        if worse:
            yield f"{name} is better than {listed(worse)}."
    for run in report.tied:
        yield f"{listed(run)} cannot be told apart at this epsilon."


def _named_sentence(report: CompareReport) -> Iterator[str]:
    """Sentence per candidate: the queries where it is closest, and where it is farthest off."""
    for row in report.leaderboard:
        parts = []
        if row.wins:
            parts.append(f"closest on {names_and_more(row.wins, 3)}")
        if 0 < len(row.worst) < len(report.queries):
            parts.append(f"farthest off on {', '.join(row.worst)}")
        if parts:
            yield f"{row.candidate}: {'; '.join(parts)}."


def _query_sentences(query: ComparedQuery) -> Iterator[str]:
    """Sentences on one query that hold for all its candidates."""
    yield query_text(query)
    if persons := persons_sentence(query):
        yield persons
    if query.estimate is not None:
        yield f"private answer about {number_text(query.estimate)}{_ends(query.low, query.high)}"
    yield f"estimated by {query.estimator}: {query.reason}"
    others = ", ".join(f"{facts.estimator} {share_text(facts.error)}" for facts in query.estimators)
    yield f"wrong at most, on test tables made from the copies: {others}"
    if query.tau_min is not None:
        yield _reliable_text(query.tau_min)
    if query.replayed:
        yield "replayed: it was paid for before"


def worst_compared(queries: Sequence[ComparedQuery]) -> list[ComparedQuery]:
    """Queries on which not all candidates are trusted; those with the most failures first."""

    def badness(query: ComparedQuery) -> tuple[int, int]:
        fates = [cell.standing.fate for cell in query.cells]
        return -fates.count("failed"), fates.count("passed")

    return sorted((q for q in queries if badness(q)[1] < len(q.cells)), key=badness)


def _reliable_text(threshold: float) -> str:
    """Words on the tolerances at which an estimator is reliable."""
    if math.isinf(threshold):
        return "reliable at no tolerance at this epsilon"
    return f"reliable for tolerances of {threshold_text(threshold)} or more"


def cell_sentence(cell: Judged, query: ComparedQuery) -> str:
    """Sentence on the verdict for one candidate, and on how far it is off."""
    standing = cell.standing
    verdict = f"{standing.badge.text}, {standing.words}"
    if not standing.answer:
        verdict = f"{standing.words}, leans {cell.leaning.badge.text}"
    parts = [verdict]
    parts[0] += f" ({p_value_text(cell.p_value, cell.alpha)})"
    if cell.q_synthetic is None:
        return f"{verdict}: it has no answer, since no row of it matches"
    parts.append(f"answer {number_text(cell.q_synthetic)} ±{number_text(cell.tau, 3)}")
    if cell.gap is not None:
        parts.append(f"gap about {number_text(cell.gap, 4)}{_ends(cell.gap_low, cell.gap_high)}")
    elif cell.margin is not None:
        distance = distance_text(cell.margin, cell.outcome, query.counted)
        parts.append(f"about {distance} away from the opposite verdict")
    return "; ".join(parts)


def _ends(low: float | None, high: float | None) -> str:
    if low is None and high is None:
        return ""
    if high is None:
        return f" (at least {end_text(low or 0, up=False)})"
    if low is None:
        return f" (at most {end_text(high, up=True)})"
    return f" ({end_text(low, up=False)} to {end_text(high, up=True)})"


def _how_to_read(report: CompareReport) -> Iterator[str]:
    """Sentences on the meaning of signs, ranges and ranks."""
    level = number_text(float(report.alpha) * 100, 3)
    yield (
        f"{_SIGNS}. Brackets mark an undecided "
        f"verdict (p above {level} %) and show which way it leans; the share counts it that way."
    )
    sure = number_text(100 - float(report.alpha) * 100, 4)
    yield (
        f"The true shares lie in all their ranges at once with probability {sure} % or more. Ranks "
        "and 'better' hold for all candidates at once in the same sense."
    )


def _headline(report: CompareReport) -> tuple[str, str]:
    """Title and lead: the candidate most often within tolerance, and how sure its rank is."""
    ranked = [row for row in report.leaderboard if row.kind == "candidate"] or list(
        report.leaderboard
    )
    if not ranked or not report.queries:
        return "Nothing was compared", "There is nothing to tell."
    first = ranked[0]
    lead = _share_sentence(first, report.ranked)
    others = [row.candidate for row in ranked[1:]]
    rivals = [name for name in others if (first.candidate, name) not in report.better]
    if len(ranked) == 1:
        number = counted(len(report.ranked), "query", "queries")
        title = (
            f"{first.trusted:,} of {number} {'holds' if len(report.ranked) == 1 else 'hold'} on "
        )
        title += first.candidate
        if first.undecided:
            title += f", {first.undecided:,} left open"
    elif rivals:
        title = undecided_title([first.candidate, *rivals])
        lead += f" It cannot be told apart from {listed(rivals)} at this epsilon."
    else:
        title = f"{first.candidate} is the best of {counted(len(ranked), 'candidate')}"
        lead += " It is established that it is better than each of the others."
    return title, lead + refused_lead(report.refused)


def _share_sentence(row: LeaderboardRow, queries: Sequence[ComparedQuery]) -> str:
    """Sentence on the verdicts for one candidate, and on the range of its true share."""
    weighed = " by weight" if len({query.weight for query in queries}) > 1 else ""
    between = percent_range(row.low, row.high, "and")
    true = f"is {between}" if row.low == row.high else f"lies between {between}"
    number = counted(len(queries), "query", "queries")
    return (
        f"{row.candidate} is within tolerance on {row.trusted:,} of {number} and outside on "
        f"{row.not_trusted:,}; {row.undecided:,} {'is' if row.undecided == 1 else 'are'} left "
        f"open. The true share{weighed} {true}."
    )


def _compare_costs(report: CompareReport, tables: str) -> Iterator[str]:
    """Sentences on what a comparison cost, and on the tables that are taken as public."""
    for sentence in cost_sentences(report.cost, tables):
        yield sentence.replace(", taken as public", "; candidates are taken as public")


def _between_text(low: float | None, high: float | None) -> str:
    """Interval in words, such as ``between 3 and 5``, or ``at least 3`` if one end is unknown."""
    if low is None and high is None:
        return "nothing bounds it"
    if low is None:
        return f"at most {end_text(high or 0, up=True)}"
    if high is None:
        return f"at least {end_text(low, up=False)}"
    return f"between {end_text(low, up=False)} and {end_text(high, up=True)}"
