"""Page of a ranking: what its template shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pqd.reports.html.budget import spending
from pqd.reports.html.page import page
from pqd.reports.html.pictures import Scale, band, shares
from pqd.reports.text.cost import spent_cell
from pqd.reports.text.distances import (
    SIMULATED,
    columns_sentence,
    digits_of,
    figure_text,
    left_out_lines,
    level_text,
    names_text,
    ways_text,
)
from pqd.reports.text.numbers import interval_text, percent_text
from pqd.reports.text.ranking import (
    better_sentences,
    cost_lines,
    fresh_text,
    headline,
    noise_sentence,
    paid_lines,
)
from pqd.reports.text.remarks.definitions import RELATIONS, ranking_definitions
from pqd.reports.text.words import rank_text

if TYPE_CHECKING:
    from pqd.reports.models.ranking import RankedCopy, RankedMarginal, RankingReport

# Where shades begin, as shares of the largest distance of the table.
_STEPS = (0.1, 0.25, 0.5, 0.75)


def render(report: RankingReport, command: str | None) -> str:
    """Page of ``ranking.html.j2``."""
    return page("ranking.html.j2", **_context(report, command))


def _context(report: RankingReport, command: str | None) -> dict[str, Any]:
    title, lead = headline(report)
    over = [ways_text(ways) for ways in range(1, report.ways + 1)]
    scale = _scale(report)
    return {
        "kind": "compare",
        "title": title,
        "lead": lead,
        "stamp": SIMULATED if report.simulated else "",
        "tally": [],
        "facts": [
            ("Private table", report.private),
            ("Copies", str(len(report.copies))),
            ("Columns", f"{len(report.columns):,}"),
            ("Marginals", ", ".join(over)),
            ("Epsilon spent", spent_cell(report.cost)),
        ],
        "simulated": report.simulated,
        "level": level_text(report.alpha),
        "scale": f"{percent_text(scale.low, 0).removesuffix(' %')} to {percent_text(1.0, 0)}",
        "copies": _copies(report, scale),
        "ways": over if any(copy.scores for copy in report.copies) else [],
        "better": list(better_sentences(report)),
        "names": [copy.candidate for copy in report.copies],
        "heads": [(copy.candidate, "number") for copy in report.copies],
        "marginals": _marginals(report),
        "noise": noise_sentence(report),
        "kinds": list(dict.fromkeys(ways_text(len(m.columns), 1) for m in report.marginals)),
        "left_out": list(left_out_lines(report.left_out)),
        "split": _split(report),
        "drawings": {},
        "cost": list(cost_lines(report)),
        **spending(report.cost),
        "command": command,
        "replayed": "figures",
        "replays": report.cost.ledger is not None,
        "reading": list(ranking_definitions(report)),
        "relations": RELATIONS,
        "remarks": [columns_sentence(report.columns), *report.notes],
    }


def _scale(report: RankingReport) -> Scale:
    """Scale from somewhat below the worst copy to 100 %, in whole per cent."""
    lowest = min((copy.overall.low or 0.0 for copy in report.copies), default=0.0)
    return Scale(max(0.0, int(100 * lowest - 1) / 100), 1.0)


def _copies(report: RankingReport, scale: Scale) -> list[dict[str, Any]]:
    digits = digits_of(*(copy.overall.estimate for copy in report.copies))
    return [_copy(copy, scale, digits) for copy in report.copies]


def _copy(copy: RankedCopy, scale: Scale, digits: int) -> dict[str, Any]:
    value, low, high = copy.overall.estimate or (0.0, 0.0, 1.0)
    ends, fresh = interval_text(low, high, digits), fresh_text(copy)
    return {
        "name": copy.candidate,
        "file": copy.file,
        "rank": rank_text(copy),
        "rank_sort": str(copy.best_rank),
        "value": percent_text(value, digits),
        "value_sort": repr(value),
        "ends": ends,
        "band": band(scale, low, high),
        "at": scale.place(value),
        "fresh": fresh,
        "fresh_sort": repr(copy.overall.reference),
        "fresh_at": scale.place(copy.overall.reference),
        "label": f"{percent_text(value, digits)}, between {ends}; fresh sample {fresh}",
        "scores": [figure_text(score.estimate) if score.estimate else "" for score in copy.scores],
    }


def _marginals(report: RankingReport) -> list[dict[str, Any]]:
    found = (figure.value for each in report.marginals for figure in each.estimates)
    largest = max(found, default=0.0)
    return [_marginal(each, largest, report) for each in report.marginals]


def _marginal(each: RankedMarginal, largest: float, report: RankingReport) -> dict[str, Any]:
    digits = digits_of(*each.estimates)
    name = names_text(each.columns)
    cells = []
    for copy, figure in zip(report.copies, each.estimates, strict=True):
        step = sum(figure.value >= share * largest for share in _STEPS) if largest else 0
        told = f"{name}, {copy.candidate}: {figure_text(figure, digits)}"
        text = percent_text(figure.value, digits)
        cells.append({"level": f"t{step}", "text": text, "sort": repr(figure.value), "told": told})
    return {"name": name, "cells": cells, "ways": ways_text(len(each.columns), 1)}


def _split(report: RankingReport) -> list[dict[str, Any]]:
    """Parts of the budget as shares of it, with what they paid for."""
    total = sum(float(part.epsilon) for part in report.budget) or 1.0
    boxes = shares(int(10**6 * float(part.epsilon) / total) for part in report.budget)
    lines = zip(boxes, paid_lines(report), strict=True)
    return [{"box": box, "text": text, "place": at} for at, (box, text) in enumerate(lines)]
