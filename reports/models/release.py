"""Model of ``pqd release``: private answers to a workload of COUNT and SUM queries."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from pqd.reports.models.report import Report, data_frame

if TYPE_CHECKING:
    import pandas as pd

    from pqd.deciders.note import Note
    from pqd.reports.models.audit import Cost
    from pqd.reports.models.refusals import QueryRefusal


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedQuery:
    """One query and its private answer, in the query's own unit.

    Only ``answer``, ``low``, ``high``, ``threshold``, ``lower_threshold`` and ``deviation`` depend
    on the private table, through the release of the ``batch``.  The exact answer lies in
    ``low .. high`` with probability ``1 - alpha``; None where the theory gives no such ends.
    Values beyond a threshold count as the threshold; None for a count, or where there is none.
    ``deviation`` is the standard deviation of the noise around the sum so truncated, None where the
    theory gives none.  ``error`` is how far the mechanism's answers to this query lie from the
    exact one on average, simulated on the synthetic table; what is cut off counts.
    ``q_synthetic`` is the synthetic table's answer.
    """

    id: str
    sql: str
    aggregate: str
    attribute: str | None
    where: str | None
    batch: str
    q_synthetic: int | float
    answer: int | float
    low: int | float | None = None
    high: int | float | None = None
    threshold: int | float | None = None
    lower_threshold: int | float | None = None
    deviation: float | None = None
    error: float | None = None
    block: str | None = None
    group: str | None = None
    block_sql: str | None = None


@dataclass(frozen=True, slots=True)
class SimulatedError:
    """A mechanism and its mean absolute error on the synthetic table, in the queries' unit."""

    mechanism: str
    error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedBatch:
    """Queries that were answered together: how, why so, and at which budget.

    ``classes`` is how many kinds of rows the mechanism tells apart, None where it counts query by
    query; ``simulated_errors`` are those of the mechanisms
    that could have answered, from public data.  ``replayed``: asked and paid for before.
    """

    name: str
    queries: int
    epsilon: Fraction
    mechanism: str
    reason: str
    classes: int | None
    simulated_errors: tuple[SimulatedError, ...]
    replayed: bool = False

    @property
    def error(self) -> float:
        """The mean absolute error of the mechanism taken, on the synthetic table."""
        return next(r.error for r in self.simulated_errors if r.mechanism == self.mechanism)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ReleaseReport(Report):
    """Private answers to a workload: all that leaves a release about the private table."""

    kind: ClassVar[str] = "release"

    queries: tuple[ReleasedQuery, ...]
    batches: tuple[ReleasedBatch, ...]
    private: str
    synthetic: str
    total_epsilon: Fraction
    alpha: Fraction
    cost: Cost
    simulated: bool = False
    notes: tuple[Note, ...] = ()
    refused: tuple[QueryRefusal, ...] = ()

    def computed(self) -> dict[str, Any]:
        """Budget spent."""
        return {"spent_epsilon": self.cost.epsilon}

    def to_frame(self) -> pd.DataFrame:
        """Frame of one row per query; one not asked has a reason and no answer."""
        names = ReleasedQuery.__slots__
        rows = [{name: getattr(query, name) for name in names} for query in self.queries]
        rows += [asdict(each) for each in self.refused]
        columns = [*names, *(["reason"] if self.refused else [])]
        return data_frame(rows, columns=columns).assign(simulated=self.simulated)
