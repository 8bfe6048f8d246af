"""Plans of a batch: a mechanism, and the rows as it sees them; all of it public."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from deciders.batch.linear.clipped_composition import ClippedComposition
from deciders.batch.linear.dyadic import DyadicMechanism
from deciders.batch.linear.laplace import NoisyClasses
from deciders.batch.linear.normalization import GlobalTruncation, Normalization
from deciders.batch.linear.numerical import Numerical, NumericalInTwoSteps
from deciders.batch.linear.queries import NumericalQueries
from deciders.batch.linear.signed import SignedMechanism
from deciders.errors import ParameterError
from deciders.noise import check_scale
from pqd.accounting.cache_keys import of_batch

if TYPE_CHECKING:
    from deciders import Noise
    from deciders.batch.base import BatchOutput, NoiseLaw
    from deciders.batch.linear.mechanism import LinearMechanism
    from deciders.batch.linear.universe import Rows, Universe
    from pqd.batches.linear_workload import LinearWorkload
    from pqd.batches.row_classes import RowClasses
    from pqd.engine.contingency import ContingencyTable

# Clipped composition draws for every query by itself, and these two once for each query or class.
_MOST_COMPOSED, MOST_DRAWN = 300, 10_000
Maker = Callable[[NumericalQueries], "LinearMechanism"]


# Those that tell classes of rows apart.
MECHANISMS: dict[str, Maker] = {
    NoisyClasses.id: lambda queries: NoisyClasses(queries=queries),
    Numerical.id: lambda queries: Numerical(queries=queries),
    Normalization.id: lambda queries: Normalization(queries=queries),
    GlobalTruncation.id: lambda queries: GlobalTruncation(queries=queries),
    ClippedComposition.id: lambda queries: ClippedComposition(queries=queries),
    NumericalInTwoSteps.id: lambda queries: NumericalInTwoSteps(queries=queries),
    DyadicMechanism.id: lambda queries: DyadicMechanism(queries=queries),
}


# Selections of multiplicative weights allow for rounding by 1/1024, which holds while a noisy size
# is below 2^42.
_IN_DOUBLES = {Numerical.id, NumericalInTwoSteps.id, Normalization.id, GlobalTruncation.id}


_LEAST_IN_DOUBLES = Fraction(1, 2**26)


class BatchPlan(Protocol):
    """One way to answer a batch, all of it public.  Conformers: DirectPlan, Planned, RangePlan."""

    @property
    def id(self) -> str:
        """The name of the mechanism."""
        ...

    @property
    def classes(self) -> RowClasses | None:
        """The classes of rows that it tells apart, None if it knows a row otherwise."""
        ...

    @property
    def quick(self) -> bool:
        """Whether it draws so little that ``auto`` may take it."""
        ...

    def parameters(self) -> Mapping[str, Any]:
        """Return all that answers are a function of beside classes, lattice, epsilon; by name."""
        ...

    @property
    def runs(self) -> int:
        """How often it is rehearsed."""
        ...

    @property
    def note(self) -> str | None:
        """What a reader should know of it beside its name; public."""
        ...

    def noise(self, epsilon: Fraction) -> NoiseLaw | None:
        """Return how far each answer may be from the exact one, None where it depends on rows."""
        ...

    def read(self, contingency: ContingencyTable) -> Any:  # noqa: ANN401 - rows, or a histogram
        """Return the rows as the mechanism sees them: one row is one row there, or none."""
        ...

    def release(self, rows: Any, epsilon: Fraction, noise: Noise) -> BatchOutput:  # noqa: ANN401
        """Return answers that are epsilon-DP in ``rows``."""
        ...


@dataclass(frozen=True, eq=False)
class LinearPlan:
    """A mechanism for numerical queries on a problem."""

    problem: LinearWorkload
    sides: tuple[LinearMechanism, ...]

    @classmethod
    def of(cls, name: str, problem: LinearWorkload, epsilon: Fraction) -> LinearPlan:
        """Return the plan of a mechanism by its id.

        Raises
        ------
        ParameterError
            If the problem does not fit, or epsilon is too small for any noise.
        """
        make = MECHANISMS[name]
        asked = problem.ranges if name == DyadicMechanism.id else problem.queries
        if name in _IN_DOUBLES and epsilon < _LEAST_IN_DOUBLES:
            raise ParameterError(
                f"{name} compares numbers in doubles, which at epsilon {float(epsilon):.1e} are "
                "too coarse; use a larger epsilon, or workload or identity"
            )
        signs = (1, -1) if problem.signed else (1,)
        plan = cls(problem, tuple(make(asked(sign)) for sign in signs))
        # Here, in public: how wide the noise is may depend on the table, and must not be refused.
        check_scale(plan.mechanism.largest_scale(epsilon))
        return plan

    @cached_property
    def mechanism(self) -> LinearMechanism:
        """The mechanism of both sides of 0, or of the only one."""
        if len(self.sides) == 1:
            return self.sides[0]
        positive, negative = self.sides
        return SignedMechanism(positive=positive, negative=negative)

    @property
    def classes(self) -> RowClasses:
        """The classes of rows."""
        return self.problem.classes

    @property
    def runs(self) -> int:
        """How often it is rehearsed: more often for few queries, and where that takes no time."""
        drawn = self.id in {NoisyClasses.id, ClippedComposition.id}
        return max(8, 64 // len(self.problem.classes.matrix)) if drawn else 3

    @property
    def quick(self) -> bool:
        """Whether it draws so little that ``auto`` may take it.

        Two steps of multiplicative weights never erred less than one (docs/experiments.md).
        """
        queries, classes = self.problem.classes.matrix.shape
        layered = 4 * classes * self.problem.top.bit_length()
        drawn = {NoisyClasses.id: classes, DyadicMechanism.id: layered}
        few = drawn.get(self.id, 0) <= MOST_DRAWN
        composed = self.id == ClippedComposition.id and queries > _MOST_COMPOSED
        return few and not composed and self.id != NumericalInTwoSteps.id

    @property
    def id(self) -> str:
        """The name of the mechanism; the same on both sides of 0."""
        return self.mechanism.id

    def parameters(self) -> Mapping[str, Any]:
        """Return the mechanism by its id, and its parameters on each side of 0."""
        sides = [of_batch(side, _universe_of(side)) for side in self.sides]
        return {"id": self.id, "sides": sides}

    @property
    def note(self) -> None:
        """Nothing."""
        return

    def noise(self, epsilon: Fraction) -> NoiseLaw | None:
        """Return the noise of each answer where that is all that is wrong with it."""
        return self.mechanism.noise_law(epsilon)

    def read(self, contingency: ContingencyTable) -> Rows:
        """Return the rows: each that ``contingency`` count is one, or none."""
        return self.problem.rows(contingency)

    def release(self, rows: Rows, epsilon: Fraction, noise: Noise) -> BatchOutput:
        """Return epsilon-DP answers."""
        return self.mechanism.release(rows, epsilon, noise)


def _universe_of(mechanism: Any) -> Universe:  # noqa: ANN401 - any of the mechanisms
    """Return what rows become: all of them ask decomposable queries."""
    queries: NumericalQueries = mechanism.queries
    return queries.universe
