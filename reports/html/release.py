"""Page of a release: what its template shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pqd.reports.documents.shared import budget_bar
from pqd.reports.html import MOST_ROWS
from pqd.reports.html.many import ManyRow, many
from pqd.reports.text.cost import cost_sentences, meaning_sentence, spent_cell
from pqd.reports.text.notes import refused_lines
from pqd.reports.text.numbers import epsilon_text, number_text
from pqd.reports.text.query import query_text
from pqd.reports.text.release import (
    SIMULATED,
    classes_text,
    difference,
    error_text,
    headline,
    how_to_read,
    interval_text,
    level_text,
    noise_text,
    query_sentences,
    query_words,
    runs,
    tables_text,
    truncation_text,
)
from pqd.reports.text.words import counted, gap_text
from pqd.reports.writers.html.frame import page
from pqd.reports.writers.html.pictures import Scale
from pqd.reports.writers.html.views import budget_view

if TYPE_CHECKING:
    from pqd.reports.models.release import ReleasedBatch, ReleasedQuery, ReleaseReport

# Few enough groups to be seen at once.
_FEW = 12
# Beyond as many halves of the interval the synthetic answer leaves the picture.
_FAR = 4.0


def render(report: ReleaseReport, command: str | None) -> str:
    """Page of ``release.html.j2``."""
    context = _context(report, command)
    scripts = ("many.js",) if context["many"] else ()
    return page("release.html.j2", scripts=scripts, **context)


def _context(report: ReleaseReport, command: str | None) -> dict[str, Any]:
    title, lead = headline(report)
    large = len(report.queries) > MOST_ROWS
    return {
        "kind": "release",
        "title": title,
        "lead": lead,
        "stamp": SIMULATED if report.simulated else "",
        "facts": [
            ("Private table", report.private),
            ("Synthetic table", report.synthetic),
            ("Queries", f"{len(report.queries):,}"),
            ("Batches", str(len(report.batches))),
            ("Epsilon spent", spent_cell(report.cost)),
        ],
        "batches": [_batch(batch) for batch in report.batches],
        "rows": [] if large else [_run(members, report) for members in runs(report.queries)],
        "many": _many(report) if large else None,
        "level": level_text(report.alpha),
        **_columns(report.queries),
        "simulated": report.simulated,
        "cost": list(cost_sentences(report.cost, tables_text(report))),
        "budget": budget_view(bar) if (bar := budget_bar(report.cost)) else None,
        "meaning": meaning_sentence(report.cost),
        "day": report.cost.day,
        "command": command,
        "replays": report.cost.ledger is not None,
        "reading": list(how_to_read(report)),
        "refused": list(refused_lines(report.refused)),
        "remarks": list(report.notes),
    }


def _many(report: ReleaseReport) -> dict[str, Any]:
    shown = _columns(report.queries)
    interval = [(f"{level_text(report.alpha)} interval", "number ends")] if shown["bounded"] else []
    noise = [("Noise", "number")] if shown["noisy"] else []
    columns = [("Private answer, noisy", "first number"), ("Query", ""), *interval, *noise]
    columns += [("Synthetic answer", "number"), ("Difference", "number")]
    names = [*(["interval"] if interval else []), *(["noise"] if noise else []), "synthetic", "gap"]
    rows = [_many_row(query, names, report) for query in report.queries]
    return many(rows, columns, [batch.name for batch in report.batches])


def _many_row(query: ReleasedQuery, names: Sequence[str], report: ReleaseReport) -> ManyRow:
    view = _cells(query)
    cells = [(view[name], view[f"{name}_sort"], "") for name in ("answer", *names)]
    return ManyRow(
        id=query.id,
        cells=cells,
        words=query_text(query.aggregate, query.attribute, None, query.where),
        marks=("SIMULATED",) if report.simulated else (),
        standings=(query.batch,),
        lines=[(text, "plain") for text in query_sentences(query, report)],
        code=(("Query", query.sql),),
    )


def _columns(queries: Sequence[ReleasedQuery]) -> dict[str, bool]:
    """Columns that would not be empty."""
    return {
        "bounded": any(query.low is not None for query in queries),
        "noisy": any(query.deviation is not None for query in queries),
    }


def _batch(batch: ReleasedBatch) -> dict[str, Any]:
    return {
        "name": batch.name,
        "queries": counted(batch.queries, "query", "queries"),
        "size": str(batch.queries),
        "mechanism": batch.mechanism,
        "epsilon": epsilon_text(batch.epsilon),
        "epsilon_sort": repr(float(batch.epsilon)),
        "error": error_text(batch.error),
        "error_sort": repr(float(batch.error)),
        "reason": batch.reason,
        "classes": classes_text(batch),
        "replayed": batch.replayed,
        "rivals": [
            {
                "name": rival.mechanism,
                "used": rival.mechanism == batch.mechanism,
                "error": error_text(rival.error),
            }
            for rival in sorted(batch.simulated_errors, key=lambda rival: rival.error)
        ],
    }


def _run(members: Sequence[ReleasedQuery], report: ReleaseReport) -> dict[str, Any]:
    """View of a query, or of the groups of one together."""
    first = members[0]
    shared = {
        "words": query_words(first),
        "sql": first.block_sql or first.sql,
        "batch": first.batch,
    }
    if first.block is None:
        return {
            **shared,
            **_cells(first),
            "groups": [],
            "picture": _picture(first, report),
            "lines": list(query_sentences(first, report)),
        }
    cuts = {truncation_text(query) for query in members}
    return {
        **shared,
        "id": first.block,
        "groups": [_cells(query) for query in members],
        **_columns(members),
        # Where all were cut off at the same place, it is said once.
        "cut": "".join(cuts) if len(cuts) == 1 else "",
        "cuts": len(cuts) > 1,
        "open": len(members) <= _FEW,
    }


def _cells(query: ReleasedQuery) -> dict[str, Any]:
    gap, bounded = difference(query), query.low is not None and query.high is not None
    return {
        "id": query.id,
        "group": query.group or query.id,
        "answer": number_text(query.answer),
        "answer_sort": repr(float(query.answer)),
        "interval": interval_text(query),
        # By how wide it is.
        "interval_sort": repr(float((query.high or 0) - (query.low or 0))) if bounded else "",
        "noise": noise_text(query),
        "noise_sort": "" if query.deviation is None else repr(query.deviation),
        "synthetic": number_text(query.q_synthetic),
        "synthetic_sort": repr(float(query.q_synthetic)),
        "gap": gap_text(gap),
        "gap_sort": repr(float(gap)),
        "cut": truncation_text(query),
    }


def _picture(query: ReleasedQuery, report: ReleaseReport) -> dict[str, Any] | None:
    """Places of the interval and of both answers, None where there is no interval."""
    if query.low is None or query.high is None:
        return None
    answer, synthetic = float(query.answer), float(query.q_synthetic)
    low, high = float(query.low), float(query.high)
    half = max(answer - low, high - answer) or 1.0
    scale_half = max(half, min(abs(synthetic - answer), _FAR * half)) * 1.08
    scale = Scale(answer - scale_half, answer + scale_half)
    level, within = level_text(report.alpha), interval_text(query)
    return {
        "between": scale.box(low, high),
        "answer": scale.place(answer),
        "synthetic": scale.place(synthetic),
        "aside": "left" if synthetic < scale.low else "right" if synthetic > scale.high else "",
        "label": f"Private answer {number_text(query.answer)}, {level} interval {within}; "
        f"synthetic answer {number_text(query.q_synthetic)}",
    }
