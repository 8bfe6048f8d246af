"""Batches: queries that sum up one thing, answered together at their share of the budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from pqd.batches.linear_workload import LinearWorkload, Plan, Planned
from pqd.batches.mechanisms import RANGES, TOGETHER, WORKLOAD
from pqd.batches.range_sums import ranges_of
from pqd.batches.row_classes import RowClasses
from pqd.batches.workload_laplace import DirectPlan
from pqd.engine.scan_plan import ScanPlan
from pqd.errors import ParameterError, PqdError
from pqd.measurement import Measurement
from pqd.planning.choose_decider import AUTO
from pqd.sql.predicate import canonical

if TYPE_CHECKING:
    from deciders import Noise
    from deciders.batch.base import BatchOutput
    from pqd.engine.contingency import ContingencyTable
    from pqd.engine.scan_plan import Statistic
    from pqd.engine.tables import Table
    from pqd.execution import Part
    from pqd.parameters import Criteria
    from pqd.sql.query import Query


def selection(task: Statistic) -> str:
    """Return which rows a task selects, as text that is the same for the same predicate."""
    return canonical(task.predicate) if task.predicate else ""


def name_of(query: Query) -> str:
    """Return what a batch is called: what its queries sum up."""
    return f"SUM({query.attribute})" if query.aggregate == "SUM" else "COUNT"


# Without slots, so that the key is hashed once.
@dataclass(frozen=True, eq=False)
class BatchMeasurement(Measurement):
    """Queries that one mechanism answers together: what is drawn and paid for.

    ``query`` and ``task`` are the first of them; ``terms`` have the budget of all.
    """

    name: str
    sql: tuple[str, ...]
    tasks: tuple[Statistic, ...]
    plan: Plan

    @property
    def id(self) -> str:
        """What is summed up."""
        return self.name

    @property
    def settled(self) -> bool:
        """No batch is answered without noise."""
        return False

    @property
    def joint(self) -> tuple[Statistic, ...]:
        """All tasks: their cells are counted."""
        return self.tasks

    @property
    def cost(self) -> Fraction:
        """What the answers cost by themselves."""
        return self.epsilon

    @property
    def region(self) -> None:
        """Whatever rows are read: no batch is charged together with another."""
        return

    @property
    def workload(self) -> ScanPlan:
        """What the engine scans for it."""
        return ScanPlan(self.tasks)

    @cached_property
    def places(self) -> dict[str, int]:
        """The place among the answers of each selection of rows."""
        return {selection(task): place for place, task in enumerate(self.tasks)}

    def mechanism(self) -> Mapping[str, Any]:
        """Return what is asked of the cells, as ``Measurement.mechanism`` says."""
        return {"kind": "batch", **self.plan.parameters()}

    def draw(self, histogram: ContingencyTable, noise: Noise) -> BatchOutput:
        """Release, ``epsilon``-DP in the rows that the cells count."""
        return self.plan.release(self.plan.read(histogram), self.epsilon, noise)

    def entry(self) -> dict[str, Any]:
        """Return what the ledger keeps of it in public."""
        asked = {"id": self.name, "sql": "; ".join(self.sql), "epsilon": str(self.epsilon)}
        return {**asked, "decider": self.plan.id, "unit": None}

    @cached_property
    def key(self) -> str:
        """What the answers are a function of, beside the private table and chance, as a hash."""
        rows, classes = [selection(task) for task in self.tasks], self.plan.classes
        return self.keyed({"rows": rows, "classes": classes.digest if classes else None})


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Begin the message of a refusal with ``name``."""
    try:
        yield
    except PqdError as error:
        error.args = (f"{name}: {error}",)
        raise


class Asking(Protocol):
    """A query made ready, as a batch needs it.  Conformers: Member, Question."""

    @property
    def query(self) -> Query:
        """The query."""
        ...

    @property
    def terms(self) -> Criteria:
        """The terms on which it is asked."""
        ...

    @property
    def task(self) -> Statistic:
        """What the engine must do for it."""
        ...

    @property
    def kinds(self) -> tuple[tuple[str, str], ...]:
        """The kinds of the columns that it reads."""
        ...


class BatchProblem:
    """What is public of queries that sum up one thing and may be answered together.

    ``passed`` says why ``auto`` passed over all mechanisms that tell classes of rows apart.
    """

    def __init__(
        self, asked: Sequence[Asking], part: Part[Any], synthetic: Table, epsilon: Fraction
    ) -> None:
        """Count the synthetic table's cells."""
        self.asked, self.epsilon, self._schema = asked, epsilon, part.prepared.schema
        self.workload = ScanPlan(tuple(one.task for one in asked))
        self.cells = part.engine.cells(synthetic, self._schema, self.workload)
        self.passed: PqdError | None = None

    @cached_property
    def problem(self) -> LinearWorkload:
        """The same as numerical queries over classes of rows; ParameterError if they do not fit."""
        measured = self.asked[0].task.measured
        classes = RowClasses.of(self.workload, self.cells.words)
        return LinearWorkload(classes, measured.lattice if measured else None)

    def plans(self, mechanism: str) -> dict[str, Plan]:
        """Return the plan of a mechanism, or for ``auto`` all that fit and are quick enough.

        Raises
        ------
        PqdError
            If none fits: the first reason.
        """
        if mechanism != AUTO:
            return {mechanism: self._plan(mechanism)}
        names: Sequence[str] = TOGETHER
        try:
            self.problem  # noqa: B018 - once for all that need it
        except ParameterError as error:
            names, self.passed = (WORKLOAD, RANGES), error
        made: dict[str, Plan] = {}
        refusal: PqdError | None = None
        for name in names:
            try:
                plan = self._plan(name)
            except PqdError as error:
                refusal = refusal or error
                continue
            if plan.quick:
                made[name] = plan
        if refusal and not made:
            raise refusal
        return made

    def _plan(self, name: str) -> Plan:
        """Return the plan of a mechanism."""
        if name == WORKLOAD:
            return DirectPlan.of(self.workload, self.epsilon)
        if name == RANGES:
            return ranges_of(self.workload, self.cells, self._schema, self.epsilon)
        try:
            problem = self.problem
        except ParameterError as error:
            raise ParameterError(
                f"{name} must know what a row can meet, and {error}; or use workload, which counts "
                "query by query"
            ) from None
        return Planned.of(name, problem, self.epsilon)

    def batch(self, name: str, plan: Plan) -> BatchMeasurement:
        """Return the batch of all of them, answered as ``plan`` says."""
        first = self.asked[0]
        return BatchMeasurement(
            query=first.query,
            terms=first.terms.at(self.epsilon),
            task=first.task,
            kinds=tuple(sorted({pair for one in self.asked for pair in one.kinds})),
            unit=None,
            name=name,
            sql=tuple(one.query.sql for one in self.asked),
            tasks=self.workload.tasks,
            plan=plan,
        )
