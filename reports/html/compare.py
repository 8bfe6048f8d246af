"""Page of a comparison: what its template shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pqd.reports.html import MOST_ROWS
from pqd.reports.html.budget import spending
from pqd.reports.html.many import CellView, ManyRow, many
from pqd.reports.html.page import page
from pqd.reports.html.pictures import EstimatePicture, band, estimate_picture
from pqd.reports.html.pictures import Scale as Share
from pqd.reports.html.query import WORDS, worst_runs
from pqd.reports.text.audit import SIMULATED
from pqd.reports.text.compare import KINDS, headline, reliable_text, worst_compared
from pqd.reports.text.cost import cost_sentences, spent_cell
from pqd.reports.text.escape import visible
from pqd.reports.text.notes import refused_lines
from pqd.reports.text.numbers import (
    epsilon_text,
    number_text,
    p_cell,
    percent,
    percent_range,
    share_text,
    threshold_text,
)
from pqd.reports.text.query import grouped_text, query_text
from pqd.reports.text.words import (
    ANSWERS,
    STANDINGS,
    between_text,
    counted,
    gap_text,
    listed,
    rank_text,
)

if TYPE_CHECKING:
    from pqd.reports.models.compare import Cell, ComparedQuery, CompareReport, LeaderboardRow

_SYMBOLS = {"trusted": "✓", "not trusted": "✗", "undecided": "?"}
_ESTIMATES = ("Candidate", "Verdict", "Answer", "Gap", "p")
_WHOLE = Share(0.0, 1.0)


def render(report: CompareReport, command: str | None) -> str:
    """Page of ``compare.html.j2``."""
    return page("compare.html.j2", **_context(report, command))


def _context(report: CompareReport, command: str | None) -> dict[str, Any]:
    title, lead = headline(report)
    large = len(report.queries) > MOST_ROWS
    anchors = {} if large else _anchors(report.queries)
    names = [row.candidate for row in report.leaderboard]
    tables = f"{visible(report.private)}, compared with {len(report.candidates)} synthetic tables"
    level = number_text(100 - float(report.alpha) * 100, 4)
    return {
        "kind": "compare",
        "title": title,
        "lead": lead,
        "stamp": SIMULATED if report.simulated else "",
        "tally": [],
        "facts": [
            ("Private table", report.private),
            ("Candidates", str(len(report.leaderboard))),
            ("Queries", str(len(report.queries))),
            ("Tolerance", report.tolerance),
            ("Epsilon spent", spent_cell(report.cost)),
        ],
        "leaders": [_leader(report, row, anchors) for row in report.leaderboard],
        "ties": list(_ties(report)),
        "candidates": names,
        "rows": [] if large else list(_rows(report.queries, names)),
        "many": _many(report, names) if large else None,
        "standings": STANDINGS,
        "strained": any(cell.strain is not None for q in report.queries for cell in q.cells),
        "blocks": any(query.block is not None for query in report.queries),
        "drawings": {},
        "cost": list(cost_sentences(report.cost, tables)),
        **spending(report.cost),
        "command": command,
        "replays": report.cost.ledger is not None,
        "level": level,
        "alpha": number_text(float(report.alpha) * 100, 3),
        "refused": list(refused_lines(report.refused)),
        "remarks": list(report.notes),
    }


def _many(report: CompareReport, names: Sequence[str]) -> dict[str, Any]:
    """Every query, a column for each candidate; those that are trusted least first."""
    worst = worst_compared(report.queries)
    seen = {query.id for query in worst}
    queries = (*worst, *(query for query in report.queries if query.id not in seen))
    columns = [("Trusted", "first"), ("Query", ""), *((name, "cell") for name in names)]
    found = [f"{name}: {standing}" for name in names for standing in STANDINGS]
    rows = [_many_row(query, names) for query in queries]
    return many(rows, columns, [*STANDINGS, *found], _ESTIMATES)


def _many_row(query: ComparedQuery, names: Sequence[str]) -> ManyRow:
    view = _row(query, names, "")
    standings = [f"{cell['name']}: {cell['standing']}" for cell in view["cells"]]
    trusted = f"{view['trusted']} of {len(view['cells'])}"
    return ManyRow(
        id=query.id,
        cells=((trusted, str(view["trusted"]), view["kind"]), *map(_many_cell, view["heat"])),
        words=view["words"],
        kind="yes" if view["kind"] == "yes" else "open",
        marks=view["marks"],
        standings=(*{cell["standing"]: None for cell in view["cells"]}, *standings),
        lines=[(line, "plain") for line in view["lines"]],
        table=[
            [
                cell["name"],
                f"{cell['symbol']} {cell['standing']}",
                cell["answer"],
                f"{cell['gap']} {cell['between']}".strip(),
                cell["p"],
            ]
            for cell in view["cells"]
        ],
        code=(("Query", query.sql),),
    )


def _many_cell(cell: Mapping[str, Any] | None) -> CellView:
    """Sign of a candidate, with the estimated gap in tolerances."""
    if cell is None:
        return ("", "", "")
    return (f"{cell['symbol']} {cell['strain']}".strip(), cell["strain_sort"], cell["level"])


def _leader(
    report: CompareReport, row: LeaderboardRow, anchors: Mapping[str, str]
) -> dict[str, Any]:
    counts = (row.trusted, row.not_trusted, row.undecided)
    return {
        "name": row.candidate,
        "kind": KINDS.get(row.kind, ""),
        "file": report.candidates.get(row.candidate, ""),
        "rank": rank_text(row),
        "rank_sort": str(row.best_rank),
        "share": percent(row.share),
        "share_sort": repr(float(row.share)),
        "between": percent_range(row.low, row.high),
        "band": band(_WHOLE, row.low, row.high),
        "dot": _WHOLE.place(row.share),
        "counts": list(zip(STANDINGS, _SYMBOLS.values(), counts, strict=True)),
        "extremes": _extremes(row),
        "wins": _wins(report, row, anchors),
        "worst": [(name, anchors.get(name)) for name in row.worst],
        "closest": len(row.wins),
        "beats": [other for name, other in report.better if name == row.candidate],
    }


def _ties(report: CompareReport) -> Iterator[str]:
    """Candidates that cannot be told apart; what is established stands in each row."""
    for run in report.tied:
        yield f"{listed(run)} cannot be told apart at this epsilon."
    if len(report.leaderboard) > 1 and not report.tied:
        yield "Each candidate can be told apart from the next."


def _wins(
    report: CompareReport, row: LeaderboardRow, anchors: Mapping[str, str]
) -> list[tuple[str, str | None]]:
    """Queries on which a candidate is closest, the groups of one together, each with its anchor."""
    blocks = {query.id: query.block for query in report.queries}
    wins = Counter(blocks.get(name) or name for name in row.wins)
    places = {blocks.get(name) or name: anchors.get(name) for name in row.wins}
    return [
        (name if number == 1 else f"{name} ({number} groups)", places[name])
        for name, number in wins.items()
    ]


def _extremes(row: LeaderboardRow) -> str:
    """Line on where a candidate is best and worst."""
    closest = f"closest on {counted(len(row.wins), 'query', 'queries')}"
    if not row.worst:
        return closest
    return f"{closest}; farthest off on {visible(listed(row.worst[:3]))}"


def _runs(queries: Sequence[ComparedQuery]) -> list[list[ComparedQuery]]:
    """Queries in runs, the groups of one together, those first that are trusted least."""
    return worst_runs(queries, worst_compared(queries))


def _anchor(place: int) -> str:
    return f"query-{place}"


def _anchors(queries: Sequence[ComparedQuery]) -> dict[str, str]:
    """Anchor of each query on the page."""
    runs = enumerate(_runs(queries), 1)
    return {query.id: _anchor(place) for place, run in runs for query in run}


def _rows(queries: Sequence[ComparedQuery], names: Sequence[str]) -> Iterator[dict[str, Any]]:
    for place, members in enumerate(_runs(queries), 1):
        rows = [_row(query, names, _anchor(place)) for query in members]
        block = members[0].block
        if block is None:
            yield {**rows[0], "groups": []}
        else:
            yield {**rows[0], "id": block, "groups": rows, **_together(members, rows, names)}


def _together(
    members: Sequence[ComparedQuery], rows: Sequence[Mapping[str, Any]], names: Sequence[str]
) -> dict[str, Any]:
    """Cells of a grouped query: how many of its groups hold on each candidate."""
    first, heat = members[0], []
    for place, name in enumerate(names):
        standings = [row["heat"][place]["standing"] for row in rows if row["heat"][place]]
        held = standings.count("trusted")
        level = "yes strong" if held == len(standings) else "no" if not held else ""
        text = percent(held / (len(standings) or 1))
        kinds = sorted(set(standings))
        heat.append(
            {
                "name": name,
                "level": level,
                "text": text,
                "held": held,
                "groups": len(standings),
                "kinds": kinds,
            }
        )
    return {
        "words": grouped_text(first.aggregate, first.attribute, first.p, first.block_sql),
        "sql": first.block_sql or first.sql,
        "heat": heat,
        "answered": f"estimated by {listed(sorted({query.estimator for query in members}))}",
        "marks": sorted({mark for row in rows for mark in row["marks"]}),
    }


def _row(query: ComparedQuery, names: Sequence[str], anchor: str) -> dict[str, Any]:
    picture = estimate_picture(query)
    cells = {cell.candidate: cell for cell in query.cells}
    views = [_cell(query, cells[name], picture) for name in names if name in cells]
    standings = [cell.standing for cell in query.cells]
    return {
        "id": query.id,
        "anchor": anchor,
        "group": query.group or query.id,
        "words": query_text(query.aggregate, query.attribute, query.p, query.where),
        "heat": [next((v for v in views if v["name"] == name), None) for name in names],
        "cells": views,
        "kind": {len(standings): "yes", 0: "no"}.get(standings.count("trusted"), "none"),
        "trusted": standings.count("trusted"),
        "estimate": _estimate(query),
        "estimate_sort": "" if query.estimate is None else repr(float(query.estimate)),
        "closest": query.closest,
        "least": threshold_text(query.tau_min),
        "least_sort": "" if query.tau_min is None else repr(float(query.tau_min)),
        "picture": picture,
        "lines": list(_lines(query)),
        "estimators": [
            {
                "name": facts.estimator,
                "used": facts.estimator == query.estimator,
                "error": share_text(facts.error),
                "exact": "yes" if facts.exact else "no",
            }
            for facts in query.estimators
        ],
        "marks": [
            word
            for word, present in (("SIMULATED", query.simulated), ("replayed", query.replayed))
            if present
        ],
        "sql": query.sql,
    }


def _estimate(query: ComparedQuery) -> str:
    return "not released" if query.estimate is None else number_text(query.estimate, 6)


def _lines(query: ComparedQuery) -> list[str]:
    lines = [f"estimated by {query.estimator}: {visible(query.reason)}"]
    if query.estimate is not None:
        known = between_text(query.low, query.high)
        lines.insert(0, f"private answer, as estimated: {_estimate(query)}; {known}")
    if query.tau_min is not None:
        lines.append(reliable_text(query.tau_min))
    cost = epsilon_text(query.epsilon)
    lines.append(f"weight {number_text(query.weight)}; costs epsilon {cost} by itself")
    return lines


def _cell(query: ComparedQuery, cell: Cell, picture: EstimatePicture) -> dict[str, Any]:
    p, strain = cell.p_value, cell.strain
    return {
        "name": cell.candidate,
        "symbol": _SYMBOLS[cell.standing],
        "standing": cell.standing,
        "kind": WORDS[cell.standing],
        "leans": f"leans {ANSWERS[cell.outcome]}" if cell.standing == "undecided" else "",
        "level": _level(cell),
        "strain": "" if strain is None else _strain(strain),
        "strain_sort": "" if strain is None else repr(strain),
        "closest": cell.candidate in query.closest,
        "picture": picture.candidate(cell),
        "answer": _answer(cell),
        "gap": "" if cell.gap is None else gap_text(cell.gap),
        "between": "" if cell.gap is None else between_text(cell.gap_low, cell.gap_high),
        "p": p_cell(p, cell.alpha),
        "margin": "" if cell.margin is None else f"{cell.margin:,}",
        "error": share_text(cell.error),
        "label": f"{cell.candidate}: {_ends(cell)}",
    }


def _answer(cell: Cell) -> str:
    if cell.q_synthetic is None:
        return "no answer, as no row of it matches"
    return f"{number_text(cell.q_synthetic)} ±{number_text(cell.tau, 4)}"


def _ends(cell: Cell) -> str:
    if cell.lower is None or cell.upper is None:
        return "no answer"
    return f"tolerance from {number_text(cell.lower, 6)} to {number_text(cell.upper, 6)}"


def _level(cell: Cell) -> str:
    """Shade of a cell: the stronger, the clearer."""
    strain = cell.strain
    if cell.standing == "undecided":
        return "open"
    if cell.standing == "trusted":
        return "yes strong" if strain is not None and strain <= 0.5 else "yes"
    return "no strong" if strain is not None and strain > 2 else "no"


def _strain(strain: float) -> str:
    """Gap in tolerances, short enough for a small cell."""
    if strain >= 100:
        return "99+"
    return f"{strain:.0f}" if strain >= 10 else f"{strain:.1f}"
