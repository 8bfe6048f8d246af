"""Model of ``pqd release``: private answers to a workload of COUNT and SUM queries."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from pqd.reports.models.report import IndexedReport, data_frame

if TYPE_CHECKING:
    import pandas as pd

    from pqd.deciders.note import Note
    from pqd.reports.models.audit import Condition, Cost
    from pqd.reports.models.refusals import QueryRefusal


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedQuery:
    """One query and its private answer, in the unit of the query.

    Only ``answer``, ``unadjusted``, ``low``, ``high``, ``threshold``, ``lower_threshold`` and
    ``deviation`` depend on the private table, only through the release of the ``batch``.  The exact
    answer lies in ``low .. high`` with probability ``1 - alpha``; the ends are None if the theory
    gives none.  Values above ``threshold`` count as ``threshold``, and values below
    ``lower_threshold`` count as ``lower_threshold``.  Both are None for a count, and if nothing is
    cut off.  ``deviation`` is the standard deviation of the noise around the sum of these cut
    values, or None if the theory gives none.  ``error`` is the mean distance between the
    mechanism's answers to this query and the exact answer.  It is simulated on the synthetic table,
    and it includes the effect of the cut.  ``q_synthetic`` is the answer of the synthetic table.
    ``max_rows`` is that of ``QueryFacts``.  ``weight`` says how much the error of the answer
    mattered where budgets were shared and mechanisms chosen.  ``unadjusted`` is the released answer
    where ``answer`` was made to fit the order of nested queries, and None elsewhere; ``low``,
    ``high`` and ``deviation`` are those of this released answer.
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
    condition: Condition | None = None
    max_rows: int | None = None
    weight: int | float = 1
    unadjusted: int | float | None = None


@dataclass(frozen=True, slots=True)
class SimulatedError:
    """Mechanism and its mean absolute error on the synthetic table, in the unit of the queries."""

    mechanism: str
    error: float


@dataclass(frozen=True, slots=True)
class MechanismOption:
    """Option of a mechanism and its value, stated or not; amounts are in the queries' unit."""

    name: str
    value: int | float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedBatch:
    """Queries that one mechanism answered together at one (epsilon, delta).

    ``reason`` says why the mechanism was chosen.  ``classes`` is the number of row classes that the
    mechanism tells apart, or None if it works query by query.  ``simulated_errors`` has every
    mechanism that could have answered, with its error from public data.  If ``relative``, the batch
    is about several measures, and these errors are multiples of those of a batch for each measure.
    ``replayed`` says that the batch was asked and paid for before.  ``options`` has every option of
    the mechanism, except delta.
    """

    name: str
    queries: int
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    mechanism: str
    options: tuple[MechanismOption, ...] = ()
    reason: str
    classes: int | None
    simulated_errors: tuple[SimulatedError, ...]
    relative: bool = False
    replayed: bool = False

    @property
    def error(self) -> float:
        """Mean absolute error of the chosen mechanism on the synthetic table."""
        return next(r.error for r in self.simulated_errors if r.mechanism == self.mechanism)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ReleaseReport(IndexedReport[ReleasedQuery]):
    """Private answers to a workload; a release tells nothing more about the private table."""

    kind: ClassVar[str] = "release"
    _question: ClassVar[str] = "report[0].answer"

    queries: tuple[ReleasedQuery, ...]
    batches: tuple[ReleasedBatch, ...]
    private: str
    synthetic: str
    total_epsilon: Fraction
    total_delta: Fraction = Fraction(0)
    alpha: Fraction
    cost: Cost
    simulated: bool = False
    notes: tuple[Note, ...] = ()
    refused: tuple[QueryRefusal, ...] = ()

    def computed(self) -> dict[str, Any]:
        """Epsilon that was spent."""
        return {"spent_epsilon": self.cost.spent}

    def to_frame(self) -> pd.DataFrame:
        """Frame with one row per query; a refused query has a reason and no answer."""
        names = ReleasedQuery.__slots__
        rows = [{name: getattr(query, name) for name in names} for query in self.queries]
        rows += [asdict(each) for each in self.refused]
        columns = [*names, *(["reason"] if self.refused else [])]
        return data_frame(rows, columns=columns).assign(simulated=self.simulated)

    @property
    def _items(self) -> tuple[ReleasedQuery, ...]:
        return self.queries

    def _name(self, item: ReleasedQuery) -> str:
        return item.id
