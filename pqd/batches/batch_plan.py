"""Plans of a batch: a mechanism and its view of a row; all of it public."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from pqd.accounting.cache_keys import parameters_on
from pqd.batches.linear_workload import LinearWorkload
from pqd.batches.mechanisms import linear_mechanism
from pqd.batches.row_classes import RowClasses
from pqd.deciders.batch.base import BatchOutput, NoiseLaw
from pqd.deciders.batch.linear.clipped_composition import ClippedComposition
from pqd.deciders.batch.linear.dyadic import DyadicMechanism
from pqd.deciders.batch.linear.laplace import NoisyClasses
from pqd.deciders.batch.linear.mechanism import DistributionMechanism, LinearMechanism
from pqd.deciders.batch.linear.numerical import NumericalInTwoSteps
from pqd.deciders.batch.linear.queries import NumericalQueries
from pqd.deciders.batch.linear.signed import SignedMechanism
from pqd.deciders.batch.linear.universe import Rows, Universe
from pqd.deciders.errors import ParameterError
from pqd.deciders.noise import check_scale
from pqd.deciders.note import Note
from pqd.engine.contingency import ContingencyTable

if TYPE_CHECKING:
    from pqd.deciders import Noise

# Clipped composition draws for every query by itself, and these two once for each query or class.
_MOST_COMPOSED, MOST_DRAWN = 300, 10_000
# Selections of multiplicative weights allow for rounding by 1/1024, which holds while a noisy size
# is below 2^42.
_LEAST_IN_DOUBLES = Fraction(1, 2**26)


class BatchPlan(Protocol):
    """Plan of a batch, all of it public.  Conformers: WorkloadPlan, LinearPlan, RangePlan."""

    @property
    def id(self) -> str:
        """Name of the mechanism."""
        ...

    @property
    def classes(self) -> RowClasses | None:
        """Row classes of the mechanism, None if it uses none."""
        ...

    @property
    def quick(self) -> bool:
        """Whether it draws so little that ``auto`` may take it."""
        ...

    def parameters(self) -> Mapping[str, Any]:
        """All that answers depend on but row classes, lattice and epsilon, by name."""
        ...

    @property
    def simulation_runs(self) -> int:
        """Number of simulation runs."""
        ...

    @property
    def note(self) -> Note | None:
        """Note for a reader, besides the name; public.  None without one."""
        ...

    def noise(self, epsilon: Fraction) -> NoiseLaw | None:
        """Noise law of each answer, None where its error depends on the rows."""
        ...

    def read(self, contingency: ContingencyTable) -> Any:  # noqa: ANN401 - rows, or a histogram
        """Rows as the mechanism sees them: one row is one row there, or none."""
        ...

    def release(self, rows: Any, epsilon: Fraction, noise: Noise) -> BatchOutput:  # noqa: ANN401
        """Answers that are epsilon-DP in ``rows``."""
        ...


@dataclass(frozen=True, eq=False)
class LinearPlan:
    """Plan of a mechanism for numerical queries, with one side for each sign of the values."""

    workload: LinearWorkload
    sides: tuple[LinearMechanism, ...]

    @classmethod
    def of(cls, name: str, workload: LinearWorkload, epsilon: Fraction) -> LinearPlan:
        """Plan of a mechanism by its id.

        Raises
        ------
        ParameterError
            If the workload does not fit, or epsilon is too small for any noise.
        """
        kind = linear_mechanism(name)
        queries = workload.ranges if issubclass(kind, DyadicMechanism) else workload.queries
        if issubclass(kind, DistributionMechanism) and epsilon < _LEAST_IN_DOUBLES:
            raise ParameterError(
                f"{name} compares numbers in doubles, which at epsilon {float(epsilon):.1e} are "
                "too coarse; use a larger epsilon, or workload or identity"
            )
        signs = (1, -1) if workload.signed else (1,)
        plan = cls(workload, tuple(kind(queries=queries(sign)) for sign in signs))
        # Here, in public: how wide the noise is may depend on the table, and must not be refused.
        check_scale(plan.mechanism.largest_scale(epsilon))
        return plan

    @cached_property
    def mechanism(self) -> LinearMechanism:
        """Mechanism of both signs, or of the only one."""
        if len(self.sides) == 1:
            return self.sides[0]
        positive, negative = self.sides
        return SignedMechanism(positive=positive, negative=negative)

    @property
    def classes(self) -> RowClasses:
        """Row classes of the workload."""
        return self.workload.classes

    @property
    def simulation_runs(self) -> int:
        """Number of simulation runs: more for few queries, and where they take no time."""
        drawn = self.id in {NoisyClasses.id, ClippedComposition.id}
        return max(8, 64 // len(self.workload.classes.matrix)) if drawn else 3

    @property
    def quick(self) -> bool:
        """Whether it draws so little that ``auto`` may take it.

        Two steps of multiplicative weights never erred less than one (docs/experiments.md).
        """
        queries, classes = self.workload.classes.matrix.shape
        layered = 4 * classes * self.workload.top.bit_length()
        drawn = {NoisyClasses.id: classes, DyadicMechanism.id: layered}
        few = drawn.get(self.id, 0) <= MOST_DRAWN
        composed = self.id == ClippedComposition.id and queries > _MOST_COMPOSED
        return few and not composed and self.id != NumericalInTwoSteps.id

    @property
    def id(self) -> str:
        """Name of the mechanism; the same for both signs."""
        return self.mechanism.id

    def parameters(self) -> Mapping[str, Any]:
        """Mechanism by its id, with its parameters for each sign."""
        sides = [parameters_on(side, _universe_of(side)) for side in self.sides]
        return {"id": self.id, "sides": sides}

    @property
    def note(self) -> None:
        """None."""
        return

    def noise(self, epsilon: Fraction) -> NoiseLaw | None:
        """Noise law of each answer, None where noise is not its only error."""
        return self.mechanism.noise_law(epsilon)

    def read(self, contingency: ContingencyTable) -> Rows:
        """Rows by class and level: each that ``contingency`` counts is one, or none."""
        return self.workload.rows(contingency)

    def release(self, rows: Rows, epsilon: Fraction, noise: Noise) -> BatchOutput:
        """Answers that are epsilon-DP in ``rows``."""
        return self.mechanism.release(rows, epsilon, noise)


def _universe_of(mechanism: Any) -> Universe:  # noqa: ANN401 - any of the mechanisms
    """Universe of the queries that a mechanism answers."""
    queries: NumericalQueries = mechanism.queries
    return queries.universe
