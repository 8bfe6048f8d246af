"""Batch: queries that one mechanism answers in one measurement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pqd.accounting.disjoint_groups import MeasurementCost
from pqd.batches.batch_plan import BatchPlan, LinearPlan
from pqd.batches.linear_workload import LinearWorkload
from pqd.batches.mechanisms import (
    BY_QUERY,
    JOINT,
    LINEAR,
    NO_TERMS,
    RANGE_SUMS,
    TOGETHER,
    BatchTerms,
)
from pqd.batches.range_sums import range_plan
from pqd.batches.row_classes import RowClasses
from pqd.batches.workload_laplace import BatchCounts, WorkloadPlan
from pqd.deciders.batch.base import BatchOutput
from pqd.deciders.bounds import AnswerRange
from pqd.deciders.options import option
from pqd.engine.contingency import ContingencyTable
from pqd.engine.scan_plan import Measure, ScanPlan, Statistic
from pqd.errors import ParameterError, PqdError
from pqd.planning.bound_workload import BoundQuery, BoundWorkload
from pqd.run.measurement import QueryMeasurement, bounds_of
from pqd.sql.predicate import canonical
from pqd.sql.query import Query
from pqd.sql.schema import fold_case
from pqd.stated.budgets import AUTO

if TYPE_CHECKING:
    from pqd.deciders import Noise

COUNTS_ROWS = (
    "{0} counts rows by what they meet, and with a unit ({1}) COUNT is of persons, whose rows "
    "may meet different conditions; use auto, joint or workload, which count query by query"
)


def selection(statistic: Statistic) -> str:
    """Selection of rows of a statistic, as canonical text: equal predicates have equal texts."""
    return canonical(statistic.predicate) if statistic.predicate else ""


def possible_answers(measure: Measure | None) -> AnswerRange:
    """Range of answers that a table can have: counts, or sums of ``measure``."""
    lattice = (measure.total or measure.lattice) if measure else None
    if lattice is None:
        return AnswerRange.of_sums(None, None)
    return AnswerRange.of_sums(float(lattice.lower), float(lattice.upper))


def name_of(query: Query) -> str:
    """Name of a batch: the aggregate of its queries, such as ``SUM(income)``."""
    return f"SUM({query.attribute})" if query.aggregate == "SUM" else "COUNT"


# Without slots, so that the cache key is computed once.
@dataclass(frozen=True, eq=False, kw_only=True)
class BatchMeasurement(QueryMeasurement[BatchOutput]):
    """Measurement of all queries of a batch by one mechanism.

    ``query`` and ``statistic`` belong to the first query.  ``epsilon`` is the budget of all queries
    together.
    """

    name: str
    sql: tuple[str, ...]
    statistics: tuple[Statistic, ...]
    plan: BatchPlan

    @property
    def id(self) -> str:
        """Name of the batch."""
        return self.name

    @property
    def joint_statistics(self) -> tuple[Statistic, ...]:
        """Statistics of all queries, which are counted in one contingency table.

        With a unit each of them has a histogram of persons.
        """
        return self.statistics

    @cached_property
    def cost(self) -> Fraction:
        """Budget of the batch for one person; without a unit one row is one person."""
        return self.epsilon

    @cached_property
    def region(self) -> None:
        """None, because a batch is in no composition group with other measurements."""
        return

    @property
    def composition_cost(self) -> MeasurementCost:
        """Cost to be composed with the costs of other batches, with the delta of the mechanism."""
        return replace(super().composition_cost, delta=self.plan.delta)

    @property
    def workload(self) -> ScanPlan:
        """Scan plan of the batch."""
        return ScanPlan(self.statistics, self.unit)

    @cached_property
    def places(self) -> dict[str, int]:
        """Place of the answer, by the selection of rows, in a batch of one measure."""
        return {selection(statistic): place for place, statistic in enumerate(self.statistics)}

    @cached_property
    def places_by_measure(self) -> dict[tuple[Measure | None, str], int]:
        """Place of the answer, by the measure and the selection of rows."""
        pairs = ((statistic.measure, selection(statistic)) for statistic in self.statistics)
        return {pair: place for place, pair in enumerate(pairs)}

    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the mechanism."""
        return {"kind": "batch", **self.plan.parameters()}

    def run(self, counts: BatchCounts, noise: Noise) -> BatchOutput:
        """Answers that are (``epsilon``, delta of the plan)-DP in the rows or persons counted."""
        return self.plan.release(self.plan.read(counts), self.epsilon, noise)

    def ledger_facts(self) -> dict[str, Any]:
        """Public facts of the charge that the ledger keeps."""
        own = {"sql": "; ".join(self.sql), "decider": self.plan.id}
        return {**super().ledger_facts(), **own, "bounds": bounds_of(self.statistics)}

    @cached_property
    def cache_key(self) -> str:
        """Cache key of the ledger, from all selections of rows and from the row classes."""
        rows: list[Any] = [selection(each) for each in self.statistics]
        classes = self.plan.classes
        if len({each.measure for each in self.statistics}) > 1:
            pairs = zip(rows, (each.measure for each in self.statistics), strict=True)
            rows = [[text, m and [m.sql, m.lattice, m.total]] for text, m in pairs]
        unit = {"unit": fold_case(self.unit.column)} if self.unit else {}
        return self.key_of({"rows": rows, "classes": classes.digest if classes else None, **unit})


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Context that puts ``name`` at the beginning of the message of a refusal."""
    try:
        yield
    except PqdError as error:
        error.args = (f"{name}: {error}",)
        raise


class BatchPlanner:
    """Planner of a batch, which finds the mechanisms that fit its queries on public data alone.

    ``linear_refusal`` says why ``auto`` considered no mechanism with row classes.  It is None if
    ``auto`` considered them.
    """

    def __init__(
        self,
        queries: Sequence[BoundQuery],
        bound: BoundWorkload,
        epsilon: Fraction,
        terms: BatchTerms = NO_TERMS,
    ) -> None:
        """Count the rows of the synthetic table; with a unit its persons are counted already."""
        self.queries, self.epsilon, self._bound, self.terms = queries, epsilon, bound, terms
        self.workload = ScanPlan(tuple(query.statistic for query in queries), bound.unit)
        self.counts: BatchCounts = (
            [query.synthetic[0] for query in queries] if bound.unit else self._contingency
        )
        self.linear_refusal: PqdError | None = None

    @cached_property
    def _contingency(self) -> ContingencyTable:
        """Contingency table of the synthetic table."""
        tables = self._bound.tables
        return tables.engine.contingency(tables.tables[0], self._bound.schema, self.workload)

    @cached_property
    def classes(self) -> RowClasses | ParameterError:
        """Row classes of all queries, or the error if they do not fit."""
        try:
            return RowClasses.of(self.workload, self._contingency.words)
        except ParameterError as error:
            return error

    @cached_property
    def _linear(self) -> LinearWorkload | ParameterError:
        """Numerical queries over row classes, or the error if they do not fit."""
        measure = self.queries[0].statistic.measure
        if isinstance(self.classes, ParameterError):
            return self.classes
        return LinearWorkload(self.classes, measure.lattice if measure else None)

    def plans(self, mechanism: str, among: Sequence[str] = TOGETHER) -> dict[str, BatchPlan]:
        """Plans by mechanism: the named mechanism, or for ``auto`` all quick ones of ``among``.

        With a unit only the mechanisms ``BY_QUERY`` fit, since the others sort rows into classes,
        and the rows of one person may lie in many.

        Raises
        ------
        PqdError
            If no mechanism fits; the first reason is raised.
        """
        if self.workload.unit:
            if mechanism not in {AUTO, *BY_QUERY}:
                raise ParameterError(COUNTS_ROWS.format(mechanism, option("--unit")))
            among = BY_QUERY
        if mechanism != AUTO:
            return {mechanism: self._plan(mechanism)}
        if not self.workload.unit and isinstance(self._linear, ParameterError):
            among = [name for name in among if name not in LINEAR]
            self.linear_refusal = self._linear
        plans: dict[str, BatchPlan] = {}
        refusal: PqdError | None = None
        for name in among:
            try:
                plan = self._plan(name)
            except PqdError as error:
                refusal = refusal or error
                continue
            if plan.quick:
                plans[name] = plan
        if refusal and not plans:
            raise refusal
        return plans

    def _plan(self, name: str) -> BatchPlan:
        """Plan of one mechanism."""
        if name in BY_QUERY:
            return WorkloadPlan.of(self.workload, self.epsilon, joint=name == JOINT)
        if name in RANGE_SUMS:
            counts, schema = self._contingency, self._bound.schema
            return range_plan(self.workload, counts, schema, self.epsilon, name, self.terms)
        if isinstance(self._linear, ParameterError):
            raise ParameterError(
                f"{name} must know what a row can meet, and {self._linear}; or use workload, which "
                "counts query by query"
            )
        return LinearPlan.of(name, self._linear, self.epsilon, self.terms)

    def measurement(self, name: str, plan: BatchPlan) -> BatchMeasurement:
        """Measurement of all queries by ``plan``."""
        first = self.queries[0]
        return BatchMeasurement(
            query=first.query,
            statistic=first.statistic,
            kinds=tuple(sorted({pair for query in self.queries for pair in query.kinds})),
            unit=self.workload.unit,
            epsilon=self.epsilon,
            name=name,
            sql=tuple(query.query.sql for query in self.queries),
            statistics=self.workload.statistics,
            plan=plan,
        )
