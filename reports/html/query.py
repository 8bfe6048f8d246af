"""One query as a page shows it when it is opened: pictures, sentences, candidates, its SQL."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pqd.reports.html.curves import curve_notes
from pqd.reports.html.pictures import interval_picture, shares
from pqd.reports.models.audit import Verdict
from pqd.reports.text.audit import off_by_text
from pqd.reports.text.numbers import budget_text, number_text, p_cell, share_text
from pqd.reports.text.query import (
    amount_text,
    grouped_text,
    instead_sentence,
    marks,
    query_text,
    sentences,
    tolerance,
    verdict_words,
    worth_sentence,
)
from pqd.reports.text.words import tally, worst_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pqd.reports.html.curves import Curves
    from pqd.reports.models.query import CandidateFacts, QueryFacts


class _Grouped(Protocol):
    """Query that may be a group of one."""

    @property
    def id(self) -> str: ...

    @property
    def block(self) -> str | None: ...


Member = TypeVar("Member", bound=_Grouped)
WORDS = {
    "trusted": "yes",
    "not trusted": "no",
    "undecided": "open",
    "decidable": "yes",
    "too little": "open",
}
_CLAIMS = {"trusted": "inside", "not trusted": "outside", "undecided": "open"}
# Few enough groups to be seen at once.
_FEW = 12


def panel(facts: QueryFacts, stated: str, curves: Curves) -> dict[str, Any]:
    """View of a query that is opened."""
    if isinstance(facts, Verdict):
        ends, claim = (facts.lower, facts.upper), _CLAIMS[facts.standing]
    else:
        ends, claim = (facts.q_synthetic - facts.tau, facts.q_synthetic + facts.tau), "none"
    least = facts.chosen.tau_min
    return {
        # A distance has one end.
        "picture": None
        if facts.is_distance
        else interval_picture(facts.q_synthetic, ends, least, claim),
        "least": amount_text(facts, least),
        "lines": [*told(facts, stated), *curve_notes(facts)],
        "curve": curves.add(facts),
        "candidates": [_candidate(c, facts) for c in facts.candidates if c.shown],
        "budgeted": any(c.tau_min is not None for c in facts.candidates),
        "sql": facts.sql,
    }


def told(facts: QueryFacts, stated: str) -> list[tuple[str, str]]:
    """Sentences on a query, each with its role; what stands above or in a table is left out."""
    if isinstance(facts, Verdict):
        instead = instead_sentence(facts)
        lines = list(sentences(facts, stated, "±"))[1:-1]
        return [*lines, *([(instead, "advice")] if instead else [])]
    return list(_planned(facts, stated))


CANDIDATES = ("Decider", "Threshold", "False no", "False yes", "Epsilon needed, about")


def candidate_rows(facts: QueryFacts) -> list[list[str]]:
    """Deciders that fit, as rows under ``CANDIDATES``."""
    rows = []
    for candidate in facts.candidates:
        view = _candidate(candidate, facts)
        name = f"{view['name']} (taken)" if view["used"] else str(view["name"])
        rows.append([name, *(str(view[n]) for n in ("least", "false_no", "false_yes", "needed"))])
    return rows


def _planned(facts: QueryFacts, stated: str) -> Iterator[tuple[str, str]]:
    amount = tolerance(facts.tau, facts.tolerance or stated, "±")
    yield f"synthetic answer {number_text(facts.q_synthetic)}, {amount}", "plain"
    if facts.chosen.tau_min is not None:
        text, enough = worth_sentence(facts)
        yield text, "plain" if enough else "warning"
    yield f"{facts.decider} would decide: {facts.reason}", "detail"


def _candidate(candidate: CandidateFacts, facts: QueryFacts) -> dict[str, Any]:
    return {
        "name": candidate.decider,
        "used": candidate.decider == facts.decider,
        "least": amount_text(facts, candidate.tau_min),
        "false_no": share_text(candidate.false_no),
        "false_yes": share_text(candidate.false_yes),
        "needed": budget_text(candidate.epsilon_needed),
    }


def query_words(facts: QueryFacts) -> str:
    """Query in words."""
    return query_text(facts.aggregate, facts.attribute, facts.p, facts.where)


def verdict_cells(verdict: Verdict) -> dict[str, Any]:
    """Badge and numbers of a verdict, and what a column is sorted by."""
    badge, words = verdict_words(verdict)
    p, gap = verdict.p_value, verdict.gap
    return {
        "badge": badge,
        "kind": WORDS[verdict.standing],
        "words": words,
        "standing": verdict.standing,
        "marks": list(marks(verdict)),
        "p": p_cell(p, verdict.alpha),
        "p_sort": "" if p is None else repr(float(p)),
        "answer": "" if verdict.is_distance else number_text(verdict.q_synthetic),
        "answer_sort": repr(float(verdict.q_synthetic)),
        "tau": amount_text(verdict, verdict.tau)
        if verdict.is_distance
        else f"±{number_text(verdict.tau, 4)}",
        "tau_sort": repr(float(verdict.tau)),
        "least": amount_text(verdict, verdict.tau_min),
        "off": off_by_text(verdict, "±"),
        "off_sort": "" if gap is None else repr(abs(float(gap))),
        "counted": verdict.counted,
    }


def worst_runs(queries: Sequence[Member], worst: Sequence[Member]) -> list[list[Member]]:
    """Queries in runs, the groups of one together; in the order of ``worst``, then as they were.

    A run stands where the worst of it does.
    """
    places = {query.id: place for place, query in enumerate(worst)}
    runs = groupby(queries, key=lambda query: (query.block is None, query.block or query.id))
    members = [list(run) for _, run in runs]
    return sorted(members, key=lambda run: min(places.get(q.id, len(places)) for q in run))


def block(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """View of a grouped query: how its groups stand, and a table of them, the worst first."""
    deciders = ", ".join(sorted({verdict.decider for verdict in verdicts}))
    return {
        **blocked(verdicts, [(verdict.standing, _group(verdict)) for verdict in verdicts]),
        "kind": WORDS[worst_first([verdict.standing for verdict in verdicts])],
        "tally": tally_view(tally(verdict.standing for verdict in verdicts)),
        "columns": ("p", "Synthetic", "Tolerance", "Threshold", "Off by"),
        "deciders": f"decided by {deciders}",
        "marks": sorted({mark for verdict in verdicts for mark in marks(verdict)}),
    }


def _group(verdict: Verdict) -> dict[str, Any]:
    cells = verdict_cells(verdict)
    names = ("p", "answer", "tau", "least", "off")
    return {**cells, "group": _named(verdict), "numbers": [cells[name] for name in names]}


def blocked(
    members: Sequence[QueryFacts], rows: Sequence[tuple[str, dict[str, Any]]]
) -> dict[str, Any]:
    """View of any grouped query: its groups by standing, many good ones folded away."""
    first = members[0]
    parts = []
    for standing in ("not trusted", "too little", "undecided", "trusted", "decidable"):
        standing_rows = [row for stands, row in rows if stands == standing]
        folded = standing in {"trusted", "decidable"} and len(rows) > _FEW
        if standing_rows:
            parts.append({"standing": standing, "rows": standing_rows, "open": not folded})
    return {
        "words": grouped_text(first.aggregate, first.attribute, first.p, first.block_sql),
        "groups": len(members),
        "parts": parts,
        "sql": first.block_sql or first.sql,
    }


def _named(facts: QueryFacts) -> str:
    return facts.group or facts.id


def tally_view(counts: Sequence[tuple[str, int]]) -> list[dict[str, Any]]:
    """Counts of standings, with boxes for a bar."""
    boxes = shares(number for _, number in counts)
    return [
        {"name": name, "kind": WORDS[name], "number": number, "box": box}
        for (name, number), box in zip(counts, boxes, strict=True)
    ]
