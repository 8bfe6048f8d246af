"""Public bounds of an attribute and truncation rungs, as fields of the mechanisms with bounds."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, Self, TypeVar

from pqd.deciders.errors import DeciderError, ParameterError
from pqd.deciders.exact import Number, budget_of, probability
from pqd.deciders.histogram import HALF, Histogram
from pqd.deciders.interval import Interval
from pqd.deciders.lattice import Lattice

_Exact = TypeVar("_Exact", int, Fraction)


class AnswerRange(NamedTuple):
    """Least and largest answer of any table; each of them is 0 or infinite.

    A released number is cut to this range before anything is derived from it.  The cut moves the
    number no farther from any answer within the range.  So an interval of fixed width around the
    number contains the answer at least as often.
    """

    least: float
    most: float

    @classmethod
    def of_sums(cls, lower: float | None, upper: float | None) -> Self:
        """Range of the sums of values in ``lower .. upper``; for counts both bounds are None."""
        return cls(
            -math.inf if lower is not None and lower < 0 else 0,
            0 if upper is not None and upper <= 0 else math.inf,
        )

    def cut(self, number: _Exact) -> _Exact:
        """Number within the range that is nearest to a released number."""
        return self.capped(self.floored(number))

    def floored(self, number: _Exact) -> _Exact:
        """Released number, raised to the least answer if it is below."""
        return number if number >= self.least else type(number)(0)

    def capped(self, number: _Exact) -> _Exact:
        """Released number, lowered to the largest answer if it is above."""
        return number if number <= self.most else type(number)(0)


@dataclass(frozen=True, slots=True)
class NoBounds:
    """Mix-in of the mechanisms of counts, which need no bounds."""

    @classmethod
    def on(cls, lattice: Lattice) -> Self:
        """Mechanism for any lattice; it takes no parameters from the lattice."""
        return cls()

    @property
    def bounds(self) -> tuple[None, None, int]:
        """No bounds, and a step of 1."""
        return None, None, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueBounds:
    """Mix-in of the mechanisms of sums and means: the public bounds, in lattice units."""

    upper: int
    lower: int = 0
    step: int = 1

    @classmethod
    def on(cls, lattice: Lattice) -> Self:
        """Mechanism for ``lattice``, with the papers' defaults for its other parameters."""
        return cls(lower=lattice.lower_units, upper=lattice.upper_units, step=lattice.step_units)

    @property
    def bounds(self) -> tuple[int, int, int]:
        """Lower bound, upper bound and step of the lattice, in units."""
        return self.lower, self.upper, self.step

    @property
    def global_sensitivity(self) -> int:
        """Largest change of the sum by one row: ``max(|lower|, |upper|)``, at least 1."""
        return max(abs(self.lower), abs(self.upper), 1)

    def noise_scale(self, epsilon: Fraction) -> Fraction:
        """Noise scale of the Laplace mechanism for the whole sum, in units."""
        return self.global_sensitivity / epsilon

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Bound on the noise scale of every mechanism that splits epsilon into at most 64 parts."""
        return 64 * self.noise_scale(budget_of(epsilon))


@dataclass(frozen=True, slots=True, kw_only=True)
class LatticeBounds:
    """Mix-in of the mechanisms of order statistics: the public lattice; None means no bound."""

    lower: int | None = None
    upper: int | None = None
    step: int = 1

    def __post_init__(self) -> None:
        """Raise ParameterError unless the lattice is lower, lower + step, ..., upper."""
        low, high = self.lower, self.upper
        if self.step < 1 or (
            low is not None and high is not None and (high < low or (high - low) % self.step)
        ):
            raise ParameterError(f"{low}..{high} by {self.step} is not a lattice")

    @classmethod
    def on(cls, lattice: Lattice) -> Self:
        """Mechanism for ``lattice``."""
        return cls(lower=lattice.lower_units, upper=lattice.upper_units, step=lattice.step_units)

    @property
    def bounds(self) -> tuple[int | None, int | None, int]:
        """Lower bound, upper bound and step of the lattice, in units."""
        return self.lower, self.upper, self.step

    def reaches(self, interval: Interval) -> bool:
        """Whether a lattice point lies inside ``interval``."""
        first = math.floor(interval.lower) + 1
        if self.lower is not None:
            first = self.lower + max(0, -(-(first - self.lower) // self.step)) * self.step
        return first < interval.upper and (self.upper is None or first <= self.upper)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileBounds(LatticeBounds):
    """Mix-in of the deciders of the p-quantile: the public lattice and ``p``, ``0 < p < 1``."""

    p: Fraction = HALF

    def __post_init__(self) -> None:
        """Raise ParameterError unless ``0 < p < 1`` and the bounds form a lattice."""
        # A class with slots is made anew, so super() without arguments would name another one.
        super(QuantileBounds, self).__post_init__()
        object.__setattr__(self, "p", probability(self.p, "the quantile's p"))

    @classmethod
    def on(cls, lattice: Lattice, p: Number = HALF) -> Self:
        """Decider of the ``p``-quantile on ``lattice``."""
        return cls(
            lower=lattice.lower_units,
            upper=lattice.upper_units,
            step=lattice.step_units,
            p=probability(p, "the quantile's p"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncationRungs(ValueBounds):
    """Mix-in of SUM mechanisms that truncate at rungs ``t_j = 2^j``, ``j = 1 .. ceil(log2 GS)``.

    Truncation at a rung removes the rows above the rung.  Values must be >= 0; GS counts as at
    least 2.
    """

    def __post_init__(self) -> None:
        """Raise DeciderError if the attribute may be negative."""
        if self.lower < 0:
            raise DeciderError(
                f"it needs values >= 0 but the lower bound is {self.lower} units; "
                "use lm_sum, or bounds that start at 0 or above"
            )

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Bound on ``t log2(GS)/epsilon`` for every rung t; the last rung may be up to 2 GS."""
        return 128 * self.noise_scale(budget_of(epsilon))

    @property
    def log_sensitivity(self) -> float:
        """``log2(GS)``, at least 1."""
        return math.log2(max(2, self.global_sensitivity))

    @property
    def rungs(self) -> tuple[int, ...]:
        """Truncation thresholds ``2, 4, ..., 2^ceil(log2 GS)``."""
        return tuple(1 << j for j in range(1, max(1, (self.upper - 1).bit_length()) + 1))

    def truncated_sums(self, histogram: Histogram) -> tuple[int, ...]:
        """Exact ``q(D, t_j)`` for every rung."""
        return tuple(histogram.sum_at_most(rung) for rung in self.rungs)
