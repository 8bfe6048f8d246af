"""A batch of COUNT or SUM queries as numerical queries (Qiu et al. 2022), and who answers them.

All queries of a batch add up one number ``g``: 1 for COUNT, else on a public lattice.  They differ
in which classes of rows they select (pqd/batches/row_classes.py), so they are decomposable queries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from deciders.batch.linear.clipped_composition import ClippedComposition
from deciders.batch.linear.conditions import Ranges, Subsets
from deciders.batch.linear.dyadic import DyadicMechanism
from deciders.batch.linear.laplace import NoisyClasses
from deciders.batch.linear.normalization import GlobalTruncation, Normalization
from deciders.batch.linear.numerical import Numerical, NumericalInTwoSteps
from deciders.batch.linear.queries import NumericalQueries
from deciders.batch.linear.signed import SignedMechanism
from deciders.batch.linear.universe import DigitUniverse, LevelUniverse, Rows, Universe
from deciders.errors import ParameterError
from deciders.noise import check_scale
from pqd.accounting.cache_keys import of_batch

if TYPE_CHECKING:
    from deciders import Lattice, Noise
    from deciders.batch.base import BatchOutput, NoiseLaw
    from deciders.batch.linear.mechanism import LinearMechanism
    from pqd.batches.row_classes import RowClasses
    from pqd.engine.contingency import ContingencyTable
    from pqd.engine.histograms import Integers

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
# Clipped composition draws for every query by itself, and these two once for each query or class.
_MOST_COMPOSED, MOST_DRAWN = 300, 10_000
_LARGEST_WHOLE, _LARGEST_BITS = 2**18, 2**22
# Selections of multiplicative weights allow for rounding by 1/1024, which holds while a noisy size
# is below 2^42.
_IN_DOUBLES = {Numerical.id, NumericalInTwoSteps.id, Normalization.id, GlobalTruncation.id}
_LEAST_IN_DOUBLES = Fraction(1, 2**26)
_ONE = LevelUniverse(1, np.ones((1, 1), np.int64))


class Plan(Protocol):
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

    def read(self, cells: ContingencyTable) -> Any:  # noqa: ANN401 - rows, or a histogram
        """Return the rows as the mechanism sees them: one row is one row there, or none."""
        ...

    def release(self, rows: Any, epsilon: Fraction, noise: Noise) -> BatchOutput:  # noqa: ANN401
        """Return answers that are epsilon-DP in ``rows``."""
        ...


@dataclass(frozen=True, eq=False)
class LinearWorkload:
    """The queries of a batch as numerical queries, on each side of 0 that the lattice has."""

    classes: RowClasses
    lattice: Lattice | None

    @property
    def signed(self) -> bool:
        """Whether values may be negative."""
        return self.lattice is not None and self.lattice.lower < 0

    @property
    def top(self) -> int:
        """The most that a row adds to an answer, in units."""
        if self.lattice is None:
            return 1
        return max(abs(self.lattice.lower_units), abs(self.lattice.upper_units), 1)

    def queries(self, sign: int = 1) -> NumericalQueries:
        """Return the queries about ``g``, or about ``-g`` where that is positive.

        Raises
        ------
        ParameterError
            If the universe does not fit.
        """
        return NumericalQueries(Subsets(self.classes.matrix), self._universe(sign))

    def ranges(self, sign: int = 1) -> NumericalQueries:
        """Return the same as intervals of one column.

        Raises
        ------
        ParameterError
            If they are not, or the universe does not fit.
        """
        intervals = self.classes.intervals
        if intervals is None:
            raise ParameterError(
                "the mechanism dyadic is for queries that each select one range of one and the "
                "same column, compared with constants; name another one, or auto"
            )
        return NumericalQueries(Ranges((intervals,)), self._universe(sign))

    def _universe(self, sign: int) -> Universe:
        classes, lattice = self.classes.size, self.lattice
        if lattice is None:
            return LevelUniverse(classes, _ONE.weights)
        if self.signed:
            upper = max(1, lattice.upper_units if sign > 0 else -lattice.lower_units)
            if classes * (upper + 1) <= _LARGEST_WHOLE:
                return LevelUniverse.up_to(classes, upper)
        else:
            upper = lattice.upper_units
            if classes * lattice.points <= _LARGEST_WHOLE:
                return LevelUniverse(classes, self._values(np.arange(lattice.points))[None])
        reduced = DigitUniverse(classes, upper)
        cells = classes * upper.bit_length()
        if cells > _LARGEST_BITS:
            raise ParameterError(
                f"these queries tell {classes:,} classes of rows apart, and with the digits of up "
                f"to {upper:,} units that makes {cells:,} cells; at most {_LARGEST_BITS:,} fit: "
                "ask fewer queries at once, or give tighter bounds or a wider step (--bounds)"
            )
        return reduced

    def _values(self, places: Integers) -> Integers:
        """Return ``g`` in units at places on the lattice."""
        return places + 1 if self.lattice is None else self.lattice.units_at(places)

    def rows(self, cells: ContingencyTable) -> Rows:
        """Return the class and the level of every row; a row without a value adds nothing."""
        held = cells.places >= 0
        classes, places = self.classes.of_words(cells.words[held]), cells.places[held]
        dense = not self.signed and isinstance(self._universe(1), LevelUniverse)
        levels = places if dense else self._values(places)
        counts = cells.counts[held]
        return Rows(np.repeat(classes, counts), np.repeat(levels, counts))


@dataclass(frozen=True, eq=False)
class Planned:
    """A mechanism for numerical queries on a problem."""

    problem: LinearWorkload
    sides: tuple[LinearMechanism, ...]

    @classmethod
    def of(cls, name: str, problem: LinearWorkload, epsilon: Fraction) -> Planned:
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

    def read(self, cells: ContingencyTable) -> Rows:
        """Return the rows: each that ``cells`` count is one, or none."""
        return self.problem.rows(cells)

    def release(self, rows: Rows, epsilon: Fraction, noise: Noise) -> BatchOutput:
        """Return epsilon-DP answers."""
        return self.mechanism.release(rows, epsilon, noise)


def _universe_of(mechanism: Any) -> Universe:  # noqa: ANN401 - any of the mechanisms
    """Return what rows become: all of them ask decomposable queries."""
    queries: NumericalQueries = mechanism.queries
    return queries.universe
