"""Page of a comparison: what its template shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from reports.html.budget import budget
from reports.html.page import page
from reports.html.pictures import EstimatePicture, band, estimate_picture
from reports.html.pictures import Scale as Share
from reports.html.query import WORDS
from reports.text.audit import SIMULATED
from reports.text.compare import KINDS, headline, rank_text, reliable_text
from reports.text.cost import cost_sentences
from reports.text.escape import visible
from reports.text.numbers import (
    epsilon_text,
    number_text,
    p_cell,
    percent,
    share_text,
    threshold_text,
)
from reports.text.query import question
from reports.text.refusals import refused_lines
from reports.text.words import STANDINGS, between_text, counted, gap_text, listed

if TYPE_CHECKING:
    from reports.models.compare import Cell, ComparedQuery, CompareReport, LeaderboardRow

_SYMBOLS = {"trusted": "✓", "not trusted": "✗", "undecided": "?"}
_WHOLE = Share(0.0, 1.0)


def render(report: CompareReport, command: str | None) -> str:
    """Page of ``compare.html.j2``."""
    return page("compare.html.j2", **_context(report, command))


def _context(report: CompareReport, command: str | None) -> dict[str, Any]:
    title, lead = headline(report)
    anchors = _anchors(report.queries)
    names = [standing.candidate for standing in report.leaderboard]
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
            ("Epsilon spent", epsilon_text(report.cost.epsilon)),
        ],
        "leaders": [_leader(report, standing, anchors) for standing in report.leaderboard],
        "ties": list(_ties(report)),
        "candidates": names,
        "rows": list(_rows(report.queries, names)),
        "standings": STANDINGS,
        "strained": any(cell.strain is not None for q in report.queries for cell in q.cells),
        "blocks": any(query.block is not None for query in report.queries),
        "drawings": {},
        "cost": list(cost_sentences(report.cost, tables)),
        "budget": budget(report.cost),
        "command": command,
        "replays": report.cost.ledger is not None,
        "level": level,
        "alpha": number_text(float(report.alpha) * 100, 3),
        "refused": list(refused_lines(report.refused)),
        "remarks": list(report.notes),
    }


def _leader(
    report: CompareReport, standing: LeaderboardRow, anchors: Mapping[str, str]
) -> dict[str, Any]:
    counts = (standing.trusted, standing.not_trusted, standing.undecided)
    return {
        "name": standing.candidate,
        "kind": KINDS.get(standing.kind, ""),
        "file": report.candidates.get(standing.candidate, ""),
        "rank": rank_text(standing),
        "rank_sort": str(standing.best_rank),
        "share": percent(standing.share),
        "share_sort": repr(float(standing.share)),
        "between": f"{percent(standing.low)} to {percent(standing.high)}",
        "band": band(_WHOLE, standing.low, standing.high),
        "dot": _WHOLE.place(standing.share),
        "counts": list(zip(STANDINGS, _SYMBOLS.values(), counts, strict=True)),
        "told": _told(standing),
        "wins": _wins(report, standing, anchors),
        "worst": [(name, anchors.get(name)) for name in standing.worst],
        "closest": len(standing.wins),
        "beats": [other for name, other in report.better if name == standing.candidate],
    }


def _ties(report: CompareReport) -> Iterator[str]:
    """Yield which candidates cannot be told apart; what is established stands in each row."""
    for run in report.tied:
        yield f"{listed(run)} cannot be told apart at this epsilon."
    if len(report.leaderboard) > 1 and not report.tied:
        yield "Each candidate can be told apart from the next."


def _wins(
    report: CompareReport, standing: LeaderboardRow, anchors: Mapping[str, str]
) -> list[tuple[str, str | None]]:
    """Return where a candidate is closest, the groups of one query together."""
    blocks = {query.id: query.block for query in report.queries}
    found = Counter(blocks.get(name) or name for name in standing.wins)
    places = {blocks.get(name) or name: anchors.get(name) for name in standing.wins}
    return [
        (name if number == 1 else f"{name} ({number} groups)", places[name])
        for name, number in found.items()
    ]


def _told(standing: LeaderboardRow) -> str:
    """Return where a candidate is best and worst, in a line."""
    closest = f"closest on {counted(len(standing.wins), 'query', 'queries')}"
    if not standing.worst:
        return closest
    return f"{closest}; furthest off on {visible(listed(standing.worst[:3]))}"


def _runs(queries: Sequence[ComparedQuery]) -> list[list[ComparedQuery]]:
    """Return the queries, the groups of one together."""

    def owner(query: ComparedQuery) -> tuple[bool, str]:
        return (True, query.block) if query.block is not None else (False, query.id)

    return [list(found) for _, found in groupby(queries, key=owner)]


def _anchor(place: int) -> str:
    return f"query-{place}"


def _anchors(queries: Sequence[ComparedQuery]) -> dict[str, str]:
    """Return where each query stands on the page."""
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
    """Return what the groups of one query have in common: how many hold on each candidate."""
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
    question_ = question(first.aggregate, first.attribute, first.p, None)
    return {
        "question": f"{question_} per group",
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
        "question": question(query.aggregate, query.attribute, query.p, query.where),
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
            for word, held in (("SIMULATED", query.simulated), ("replayed", query.replayed))
            if held
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
        "leans": f"leans {cell.outcome}" if cell.standing == "undecided" else "",
        "level": _level(cell),
        "strain": "" if strain is None else _strain(strain),
        "strain_sort": "" if strain is None else repr(strain),
        "closest": cell.candidate in query.closest,
        "picture": picture.candidate(cell),
        "answer": _answer(cell),
        "gap": "" if cell.gap is None else gap_text(cell.gap),
        "between": "" if cell.gap is None else between_text(cell.gap_low, cell.gap_high),
        "p": p_cell(p),
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
    """Return the shade of a cell: the stronger, the clearer."""
    strain = cell.strain
    if cell.standing == "undecided":
        return "open"
    if cell.standing == "trusted":
        return "yes strong" if strain is not None and strain <= 0.5 else "yes"
    return "no strong" if strain is not None and strain > 2 else "no"


def _strain(strain: float) -> str:
    """Return a gap in tolerances, short enough for a small cell."""
    if strain >= 100:
        return "99+"
    return f"{strain:.0f}" if strain >= 10 else f"{strain:.1f}"
