"""Page of a profile: what its template shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pqd.reports.html.budget import spending
from pqd.reports.html.heat_maps import difference_map, matrix
from pqd.reports.html.page import page
from pqd.reports.html.pictures import Scale, band, shares
from pqd.reports.html.target import target_view
from pqd.reports.text.cost import spent_cell
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
from pqd.reports.text.numbers import epsilon_text, interval_text, p_cell, percent_text
from pqd.reports.text.profile import (
    BADGES,
    KINDS,
    STANDINGS,
    at_once_sentences,
    copy_share,
    cost_lines,
    counts_text,
    headline,
    least_text,
    marginal_rows,
    next_step,
    paid_lines,
    points,
    report_tolerance,
    table_sentences,
    zoom_digits,
)
from pqd.reports.text.remarks.definitions import RELATIONS, profile_definitions
from pqd.reports.text.remarks.worst_cells import (
    different_cells,
    differs,
    noise_bound,
    noise_sentence,
)
from pqd.reports.text.words import listed

if TYPE_CHECKING:
    from pqd.reports.models.profile import (
        CellFacts,
        DistanceFacts,
        ProfileReport,
        Score,
        ZoomedMarginal,
    )

_WHOLE = Scale(0.0, 1.0)
# Cells of a marginal that are listed, and bars of a single column.
_CELLS, _BARS = 12, 60

Row = Sequence["DistanceFacts"]


def render(report: ProfileReport, command: str | None) -> str:
    """Page of ``profile.html.j2``."""
    return page("profile.html.j2", **_context(report, command))


def _context(report: ProfileReport, command: str | None) -> dict[str, Any]:
    title, lead = headline(report)
    price = "Price" if report.dry else "Epsilon spent"
    tables = [("Private table", report.private)] if report.private else []
    return {
        "kind": "profile",
        "title": title,
        "lead": lead,
        "stamp": SIMULATED if report.simulated else "",
        "tally": [],
        "facts": [
            *tables,
            ("Synthetic table", report.synthetic),
            ("Columns", f"{len(report.columns):,}"),
            ("Tolerance", report.tolerance),
            (price, spent_cell(report.cost)),
        ],
        "dry": report.dry,
        "simulated": report.simulated,
        "level": level_text(report.alpha),
        "tau": report_tolerance(report),
        "scores": [_score(score) for score in (report.overall, *_several(report.scores))],
        "told": [] if report.dry else [*at_once_sentences(report), *table_sentences(report)],
        "columns": _columns(report),
        "matrix": matrix(report),
        "marginals": _marginals(report),
        "standings": [] if report.dry else STANDINGS,
        "zoomed": [_zoomed(report, marginal, at) for at, marginal in enumerate(report.zoomed, 1)],
        "target": None if report.target is None else target_view(report.target),
        "left_out": list(left_out_lines(report.left_out)),
        "split": _split(report),
        "next": _for_the_holder(next_step(report)),
        "drawings": {},
        "cost": list(cost_lines(report)),
        **spending(report.cost, dry=report.dry),
        "command": command,
        "replayed": "figures",
        "replays": report.cost.ledger is not None and not report.dry,
        "reading": list(profile_definitions(report)),
        "relations": RELATIONS,
        "remarks": [columns_sentence(report.columns), *report.notes],
    }


def _for_the_holder(step: str) -> str:
    """Next step, which only those can take who hold the private table: a page goes to others."""
    return step.replace("Next: ", "Whoever holds the private table can take the next step: ", 1)


def _several(scores: Sequence[Score]) -> Sequence[Score]:
    """Scores by ways, none where there is but one, which is the overall score."""
    return scores if len(scores) > 1 else ()


def _score(score: Score) -> dict[str, Any]:
    """Bar of a score from 0 to 100 %, with its interval and the fresh sample's mark."""
    name = "Overall" if score.ways is None else ways_text(score.ways).capitalize()
    digits = digits_of(score.estimate)
    fresh = reference_text(score.reference, digits)
    shared = {"name": name, "fresh": fresh, "fresh_at": _WHOLE.place(score.reference)}
    if score.estimate is None:
        return {**shared, "value": "", "label": f"{name}: a fresh sample would score {fresh}"}
    value, low, high = score.estimate
    ends = interval_text(low, high, digits)
    return {
        **shared,
        "value": percent_text(value, digits),
        "ends": ends,
        "band": band(_WHOLE, low, high),
        "at": _WHOLE.place(value),
        "label": f"{name}: {percent_text(value, digits)}, between {ends}; fresh sample {fresh}",
    }


def _columns(report: ProfileReport) -> dict[str, Any]:
    """Rows of single columns, the worst first."""
    rows = marginal_rows(report, 1)
    others = list(dict.fromkeys(each.distance for row in rows for each in row[1:]))
    about = {column.name: cells_text(column) for column in report.columns}
    listing = _listing(report, rows, "Column", [SHORT[name] for name in others])
    for shown, row in zip(listing["rows"], rows, strict=True):
        beside = {each.distance: each for each in row[1:]}
        shown["about"] = about.get(row[0].columns[0], "")
        shown["others"] = [_beside(beside.get(distance)) for distance in others]
    return listing


def _marginals(report: ProfileReport) -> dict[str, Any]:
    """Rows of pairs, and of marginals of more columns, the worst first."""
    ways = range(2, report.ways + 1)
    rows = [row for number in ways for row in marginal_rows(report, number)]
    counts = "" if report.dry else counts_text([each for row in rows for each in row])
    kinds = listed([ways_text(number) for number in ways if report.of_ways(number)])
    title = f"{len(rows):,} {kinds}, worst first"
    return {**_listing(report, rows, "Columns", []), "title": title, "counts": counts}


def _listing(
    report: ProfileReport, rows: Sequence[Row], name: str, others: Sequence[str]
) -> dict[str, Any]:
    """Table whose rows share their digits and the scale of their pictures."""
    ends = [row[0].high or 0.0 for row in rows]
    tau = rows[0][0].tau if rows else 0.0
    top = min(1.0, max([*ends, 2 * tau]) * 1.04) or 1.0
    digits = digits_of(*(row[0].estimate for row in rows))
    first = SHORT[rows[0][0].distance] if rows else ""
    fresh = ("Fresh sample", "number")
    if report.dry:
        heads = [
            ("Budget", "first"),
            (name, ""),
            ("Cells", "number"),
            ("Threshold", "number"),
            fresh,
        ]
    else:
        shown = (f"0 to {percent_text(top, 0)}", "band")
        beside = [(other, "number") for other in others]
        heads = [("Verdict", "first"), (name, ""), shown, (first, "number"), *beside, fresh]
        heads.append(("p", "number"))
    views = [_view(row[0], report, Scale(0.0, top), digits) for row in rows]
    return {"heads": heads, "rows": views, "first": first, "others": others}


def _view(each: DistanceFacts, report: ProfileReport, scale: Scale, digits: int) -> dict[str, Any]:
    fresh = "" if each.reference is None else reference_text(each.reference, digits)
    shared = {
        "name": ", ".join(each.columns),
        "cells": f"{each.cells:,}",
        "cells_sort": str(each.cells),
        "fresh": fresh,
        "fresh_sort": "" if each.reference is None else repr(each.reference),
        "fresh_at": None if each.reference is None else scale.place(each.reference),
        "least": least_text(each),
        "least_sort": repr(each.tau_min),
        "about": "",
        "others": (),
    }
    if each.estimate is None:
        kind = "yes" if each.decidable else "open"
        badge, order = ("OK", "1") if each.decidable else ("LOW", "0")
        return {**shared, "kind": kind, "badge": badge, "standing": "", "order": order}
    value, low, high = each.estimate
    ends = interval_text(low, high, digits)
    tau = report_tolerance(report)
    return {
        **shared,
        "kind": KINDS[each.standing],
        "badge": BADGES[each.standing],
        "standing": each.standing,
        "order": str(STANDINGS.index(each.standing)),
        "value": percent_text(value, digits),
        "value_sort": repr(value),
        "ends": ends,
        "band": band(scale, low, high),
        "at": scale.place(value),
        "tau_at": scale.place(each.tau),
        "p": p_cell(each.p_value, each.alpha),
        "p_sort": "" if each.p_value is None else repr(each.p_value),
        "label": f"{percent_text(value, digits)}, between {ends}, tolerance {tau}",
    }


def _beside(each: DistanceFacts | None) -> dict[str, str] | None:
    """Another distance of the same column, with its own verdict."""
    if each is None or each.estimate is None:
        return None
    return {
        "value": percent_text(each.estimate.value, digits_of(each.estimate)),
        "value_sort": repr(each.estimate.value),
        "standing": each.standing,
        "badge": BADGES[each.standing],
    }


def _zoomed(report: ProfileReport, marginal: ZoomedMarginal, place: int) -> dict[str, Any]:
    digits, bound = zoom_digits(marginal), noise_bound(report, marginal)
    single = len(marginal.columns) == 1 and len(marginal.cells) <= _BARS
    shown = marginal.cells if single else different_cells(report, marginal)[:_CELLS]
    if single:
        order = {label: at for at, label in enumerate(marginal.axes[0])}
        shown = sorted(shown, key=lambda cell: order.get(cell.labels[0], len(order)))
    widest = max((max(cell.copy, cell.private.high) for cell in shown), default=1.0)
    scale = Scale(0.0, widest * 1.02 or 1.0)
    return {
        "id": f"zoom-{place}",
        "name": names_text(marginal.columns),
        "axes": [names_text([name]) for name in marginal.columns],
        "epsilon": epsilon_text(marginal.epsilon),
        "map": difference_map(marginal, bound),
        "single": single,
        "rows": [_bars(cell, scale, digits, bound) for cell in shown],
        "noise": noise_sentence(report, marginal),
    }


def _bars(cell: CellFacts, scale: Scale, digits: int, bound: float) -> dict[str, Any]:
    """Bars of the copy's share and of the private one, with its interval."""
    value, low, high = cell.private
    return {
        "name": names_text(cell.labels),
        "copied": copy_share(cell, digits),
        "copied_at": scale.place(cell.copy),
        "private": percent_text(value, digits),
        "private_at": scale.place(value),
        "ends": interval_text(low, high, digits),
        "band": band(scale, low, high),
        "points": points(cell, digits),
        "sure": differs(cell, bound),
    }


def _split(report: ProfileReport) -> list[dict[str, Any]]:
    """Parts of the budget as shares of it, with what they paid for."""
    total = report.total_epsilon or 1
    boxes = shares(int(10**6 * part.epsilon / total) for part in report.budget)
    lines = zip(boxes, paid_lines(report), strict=True)
    return [{"box": box, "text": text, "place": at} for at, (box, text) in enumerate(lines)]
