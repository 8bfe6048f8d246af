"""A batch of COUNT or SUM queries as numerical queries (Qiu et al. 2022), and who answers them.

All queries of a batch add up one number ``g``: 1 for COUNT, else on a public lattice.  They differ
in which classes of rows they select (pqd/batches/row_classes.py), so they are decomposable queries.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from deciders.batch.linear.clipped_composition import Composition
from deciders.batch.linear.conditions import Ranges, Subsets
from deciders.batch.linear.dyadic import RangeMechanism
from deciders.batch.linear.laplace import NoisyClasses
from deciders.batch.linear.normalization import GlobalTruncation, Normalization
from deciders.batch.linear.numerical import Numerical, NumericalInTwoSteps
from deciders.batch.linear.queries import Decomposable
from deciders.batch.linear.signed import Signed
from deciders.batch.linear.universe import Bits, Rows, Universe, Whole
from deciders.distribution_sums import NoiseSum
from deciders.errors import ParameterError
from deciders.noise import check_scale
from pqd.accounting.cache_keys import of_batch
from pqd.accounting.stored_answers import Batched

if TYPE_CHECKING:
    from deciders import Lattice, Noise
    from deciders.batch.base import Mechanism
    from pqd.batches.row_classes import RowClasses
    from pqd.engine.contingency import ContingencyTable
    from pqd.engine.histograms import Integers

Maker = Callable[[Decomposable], "Mechanism"]
# Those that tell classes of rows apart.
MECHANISMS: dict[str, Maker] = {
    NoisyClasses.id: lambda queries: NoisyClasses(queries=queries),
    Numerical.id: lambda queries: Numerical(queries=queries),
    Normalization.id: lambda queries: Normalization(queries=queries),
    GlobalTruncation.id: lambda queries: GlobalTruncation(queries=queries),
    Composition.id: lambda queries: Composition(queries=queries),
    NumericalInTwoSteps.id: lambda queries: NumericalInTwoSteps(queries=queries),
    RangeMechanism.id: lambda queries: RangeMechanism(queries=queries),
}
# Composition draws for every query by itself, and these two once for each query or class.
_MOST_COMPOSED, MOST_DRAWN = 300, 10_000
# Dyadic intervals over the classes have at most so many layers.
_MOST_LAYERS = 20
_LARGEST_WHOLE, _LARGEST_BITS = 2**18, 2**22
# Multiplicative weights and what goes with them draw at no scale beyond this over epsilon.
_WIDEST = 2**20
# Their selections allow for rounding by 1/1024, which holds while a noisy size is below 2^42.
_IN_DOUBLES = {Numerical.id, NumericalInTwoSteps.id, Normalization.id, GlobalTruncation.id}
_LEAST_IN_DOUBLES = Fraction(1, 2**26)
_ONE = Whole(1, np.ones((1, 1), np.int64))


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

    def noise(self, epsilon: Fraction) -> tuple[NoiseSum, ...] | None:
        """Return how far each answer may be from the exact one, None where it depends on rows."""
        ...

    def read(self, cells: ContingencyTable) -> Any:  # noqa: ANN401 - rows, or a histogram
        """Return the rows as the mechanism sees them: one row is one row there, or none."""
        ...

    def release(self, rows: Any, epsilon: Fraction, noise: Noise) -> Batched:  # noqa: ANN401
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

    def queries(self, sign: int = 1) -> Decomposable:
        """Return the queries about ``g``, or about ``-g`` where that is positive.

        Raises
        ------
        ParameterError
            If the universe does not fit.
        """
        return Decomposable(Subsets(self.classes.matrix), self._universe(sign))

    def ranges(self, sign: int = 1) -> Decomposable:
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
        return Decomposable(Ranges((intervals,)), self._universe(sign))

    def _universe(self, sign: int) -> Universe:
        classes, lattice = self.classes.size, self.lattice
        if lattice is None:
            return Whole(classes, _ONE.weights)
        if self.signed:
            upper = max(1, lattice.upper_units if sign > 0 else -lattice.lower_units)
            if classes * (upper + 1) <= _LARGEST_WHOLE:
                return Whole.up_to(classes, upper)
        else:
            upper = lattice.upper_units
            if classes * lattice.points <= _LARGEST_WHOLE:
                return Whole(classes, self._values(np.arange(lattice.points))[None])
        reduced = Bits(classes, upper)
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
        dense = not self.signed and isinstance(self._universe(1), Whole)
        levels = places if dense else self._values(places)
        counts = cells.counts[held]
        return Rows(np.repeat(classes, counts), np.repeat(levels, counts))


@dataclass(frozen=True, eq=False)
class Planned:
    """A mechanism for numerical queries on a problem."""

    problem: LinearWorkload
    mechanism: Mechanism

    @classmethod
    def of(cls, name: str, problem: LinearWorkload, epsilon: Fraction) -> Planned:
        """Return the plan of a mechanism by its id.

        Raises
        ------
        ParameterError
            If the problem does not fit, or epsilon is too small for any noise.
        """
        # Here, in public: how wide the noise is may depend on the table, and must not be refused.
        widest = 4 * max(len(problem.classes.matrix), _MOST_LAYERS) * problem.top
        check_scale(max(_WIDEST, widest) / epsilon)
        make = MECHANISMS[name]
        asked = problem.ranges if name == RangeMechanism.id else problem.queries
        if name in _IN_DOUBLES and epsilon < _LEAST_IN_DOUBLES:
            raise ParameterError(
                f"{name} compares numbers in doubles, which at epsilon {float(epsilon):.1e} are "
                "too coarse; use a larger epsilon, or workload or identity"
            )
        if problem.signed:
            sides = (make(asked(sign)) for sign in (1, -1))
            return cls(problem, Signed(positive=next(sides), negative=next(sides)))
        return cls(problem, make(asked()))

    @property
    def classes(self) -> RowClasses:
        """The classes of rows."""
        return self.problem.classes

    @property
    def runs(self) -> int:
        """How often it is rehearsed: more often for few queries, and where that takes no time."""
        drawn = self.id in {NoisyClasses.id, Composition.id}
        return max(8, 64 // len(self.problem.classes.matrix)) if drawn else 3

    @property
    def quick(self) -> bool:
        """Whether it draws so little that ``auto`` may take it.

        Two steps of multiplicative weights never erred less than one (docs/experiments.md).
        """
        queries, classes = self.problem.classes.matrix.shape
        layered = 4 * classes * self.problem.top.bit_length()
        drawn = {NoisyClasses.id: classes, RangeMechanism.id: layered}
        few = drawn.get(self.id, 0) <= MOST_DRAWN
        composed = self.id == Composition.id and queries > _MOST_COMPOSED
        return few and not composed and self.id != NumericalInTwoSteps.id

    @property
    def _sides(self) -> tuple[Mechanism, ...]:
        found = self.mechanism
        return (found.positive, found.negative) if isinstance(found, Signed) else (found,)

    @property
    def id(self) -> str:
        """The name of the mechanism; the same on both sides of 0."""
        return self._sides[0].id

    def parameters(self) -> Mapping[str, Any]:
        """Return the mechanism by its id, and its parameters on each side of 0."""
        sides = [of_batch(side, _universe_of(side)) for side in self._sides]
        return {"id": self.id, "sides": sides}

    @property
    def note(self) -> None:
        """Nothing."""
        return

    def noise(self, epsilon: Fraction) -> tuple[NoiseSum, ...] | None:
        """Return the noise of each answer where that is all that is wrong with it.

        The sides of 0 add up, each taken at the larger scale of both: symmetric noise with one
        peak reaches farther with every part that does, so tails stay upper bounds.
        """
        sides = [side for side in self._sides if isinstance(side, NoisyClasses)]
        if not sides:
            return None
        scale = max(side.norm for side in sides) / epsilon
        counts = np.sum([side.draws for side in sides], axis=0).tolist()
        # One of each: a sum's distribution is found when it is first asked for.
        noise = {count: NoiseSum(count, scale) for count in counts}
        return tuple(noise[count] for count in counts)

    def read(self, cells: ContingencyTable) -> Rows:
        """Return the rows: each that ``cells`` count is one, or none."""
        return self.problem.rows(cells)

    def release(self, rows: Rows, epsilon: Fraction, noise: Noise) -> Batched:
        """Return epsilon-DP answers."""
        released = self.mechanism.release(rows, epsilon, noise)
        found = None if released.thresholds is None else tuple(map(int, released.thresholds))
        return Batched(tuple(map(float, released.answers)), found, self._deviations(found, epsilon))

    def _deviations(
        self, thresholds: tuple[int, ...] | None, epsilon: Fraction
    ) -> tuple[float, ...] | None:
        """Return the standard deviations of the noise, None where it is not added to answers.

        Composition adds Laplace noise of scale ``2 tau / share``; sides of 0 are independent.
        """
        sides = [m for m in self._sides if isinstance(m, NoisyClasses)]
        if sides:
            squares = sum(side.deviations(epsilon) ** 2 for side in sides)
            return tuple(np.sqrt(squares).tolist())
        if self.id != Composition.id or thresholds is None:
            return None
        queries = len(self.problem.classes.matrix)
        per_unit = math.sqrt(2) * float(2 * queries / epsilon)
        bounds = np.array(thresholds, np.float64).reshape(-1, queries)
        return tuple((per_unit * np.sqrt((bounds**2).sum(axis=0))).tolist())


def _universe_of(mechanism: Any) -> Universe:  # noqa: ANN401 - any of the mechanisms
    """Return what rows become: all of them ask decomposable queries."""
    queries: Decomposable = mechanism.queries
    return queries.universe
