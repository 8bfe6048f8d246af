"""Model of ``pqd plan``: how reliable verdicts would be, before any budget is spent."""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from pqd.reports.models.query import CandidateFacts, QueryFacts
from pqd.reports.models.report import CurvedReport, IndexedReport, data_frame
from pqd.reports.models.standings import Standing

if TYPE_CHECKING:
    import pandas as pd

    from pqd.deciders.note import Note
    from pqd.reports.models.refusals import QueryRefusal


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedQuery(QueryFacts):
    """One query of a plan; ``decider`` is the decider that an audit would take.

    ``epsilon`` is the budget of this query, if the plan chose it for a stated accuracy.
    """

    epsilon: Fraction | None = None

    @property
    def standing(self) -> Standing:
        """Standing at the planned budget; without a budget it is ``undecided``."""
        if self.decidable is None:
            return Standing.UNDECIDED
        if self.decidable:
            return Standing.DECIDABLE
        return Standing.PLAUSIBLE if self.likely else Standing.TOO_LITTLE


@dataclass(frozen=True, slots=True, repr=False)
class PlanReport(IndexedReport[PlannedQuery], CurvedReport):
    """Plan of an audit; no private table was read and nothing was spent.

    ``price`` is what an audit of all queries would cost, or None without a budget.  ``day`` is the
    day of the run (UTC).  The budget is ``epsilon`` for each query or ``total_epsilon`` for all
    queries.  With ``total_epsilon``, ``total_needed`` is roughly the total that decides all
    queries, or None if that total is not known.  With ``sure``, each query has an epsilon of its
    own, and ``at_most`` is the most that the caller would pay for all of them.
    """

    kind: ClassVar[str] = "plan"
    _question: ClassVar[str] = "report[0].decidable"

    queries: tuple[PlannedQuery, ...]
    synthetic: str
    tolerance: str
    epsilon: Fraction | None
    alpha: Fraction
    notes: tuple[Note, ...] = ()
    price: Fraction | None = None
    refused: tuple[QueryRefusal, ...] = ()
    day: str | None = None
    total_epsilon: Fraction | None = None
    total_needed: float | None = None
    sure: Fraction | None = None
    at_most: Fraction | None = None

    @property
    def budgeted(self) -> bool:
        """Whether the plan has a budget."""
        return self.epsilon is not None or self.total_epsilon is not None

    def to_frame(self) -> pd.DataFrame:
        """Frame with one row per query and candidate; a refused query has a row with its reason."""
        names = [field.name for field in fields(CandidateFacts) if field.name != "curve"]
        rows = []
        for query in self.queries:
            public = {"id": query.id, "q_synthetic": query.q_synthetic, "tau": query.tau}
            for candidate in query.candidates:
                facts = {name: getattr(candidate, name) for name in names}
                rows.append({**public, **facts, "chosen": candidate.decider == query.decider})
        rows += [{"id": refused.id, "reason": refused.reason} for refused in self.refused]
        return data_frame(rows)

    def _curved_queries(self) -> tuple[QueryFacts, ...]:
        return self.queries

    @property
    def _items(self) -> tuple[PlannedQuery, ...]:
        return self.queries

    def _name(self, item: PlannedQuery) -> str:
        return item.id
