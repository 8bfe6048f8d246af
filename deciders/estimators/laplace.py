"""COUNT, COUNT DISTINCT and SUM by the discrete Laplace mechanism."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from pqd.deciders.bounds import AnswerRange
from pqd.deciders.distributions import as_probability, noise_tail
from pqd.deciders.errors import ParameterError
from pqd.deciders.estimators.base import Cut, EstimatorOutput, Span, two_sided, whole_span
from pqd.deciders.exact import Number, as_float, budget_of, probability
from pqd.deciders.histogram import Histogram
from pqd.deciders.interval import Interval
from pqd.deciders.lattice import Lattice
from pqd.deciders.noise import Noise, fineness


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceEstimate:
    """Answer plus discrete Laplace noise of scale ``sensitivity / epsilon``.

    Guarantee: epsilon-DP (Ghosh, Roughgarden and Sundararajan 2009; Dwork et al. 2006).  One row
    changes a count, or a number of distinct values, by at most 1.  It changes a sum of values in
    ``lower .. upper`` by at most ``max(|lower|, |upper|)``.  All these are whole numbers.  The
    noise may be on a finer grid, with ``fineness`` grid points for each unit.  Then the answer is
    a whole number of grid points, and its sensitivity and the scale are both ``fineness`` times as
    large.  So the guarantee is the same.

    The p-values are exact tails of the noise.  On any single interval, a verdict is right as often
    as a verdict of ``inv_count`` with the same budget.  The only difference is the noise beyond
    the farther end.

    Estimate, interval and p-values use the released number, cut to the answers that a table can
    have (``AnswerRange``).  No cut makes a p-value smaller.  "Below" uses the number cut only from
    below, and "at least" uses the number cut only from above.  "Apart" uses a number that is no
    farther from any interval that contains a possible answer.  So each p-value is as valid as
    without the cut.
    """

    aggregate: str
    lower: int | None = None
    upper: int | None = None
    step: int = 1
    fineness: int = 1

    id: ClassVar[str] = "laplace"
    key_fields: ClassVar[tuple[str, ...]] = ("aggregate", "lower", "upper", "step", "fineness")
    exact: ClassVar[bool] = True

    @classmethod
    def on(cls, aggregate: str, lattice: Lattice) -> "LaplaceEstimate":
        """Estimator of ``aggregate`` for an attribute on ``lattice``."""
        if aggregate != "SUM":
            return cls(aggregate=aggregate)
        return cls(
            aggregate=aggregate,
            lower=lattice.lower_units,
            upper=lattice.upper_units,
            step=lattice.step_units,
        )

    def __post_init__(self) -> None:
        """Raise ParameterError for an aggregate of unbounded sensitivity."""
        bounded = self.lower is not None and self.upper is not None
        if self.aggregate not in {"COUNT", "COUNT DISTINCT"} and not (
            self.aggregate == "SUM" and bounded
        ):
            raise ParameterError(f"no Laplace estimate of {self.aggregate} without bounds")

    @property
    def bounds(self) -> tuple[int | None, int | None, int]:
        """Lower bound, upper bound and step of the lattice, in units."""
        return self.lower, self.upper, self.step

    @property
    def range(self) -> AnswerRange:
        """Answers that a table can have."""
        return AnswerRange.of_sums(self.lower, self.upper)

    @property
    def sensitivity(self) -> int:
        """Largest change of the answer by one row, at least 1."""
        return max(abs(self.lower or 0), abs(self.upper or 0), 1)

    def scale(self, epsilon: Number) -> Fraction:
        """Noise scale."""
        return self.sensitivity / budget_of(epsilon)

    largest_scale = scale

    def finely(self, epsilon: Number) -> "LaplaceEstimate":
        """Same estimator with noise on the fine grid, like the real-valued noise of the papers."""
        return replace(self, fineness=fineness(self.scale(epsilon)))

    def _steps(self, epsilon: Number) -> Fraction:
        """Noise scale in grid points."""
        return self.scale(epsilon) * self.fineness

    def answer(self, histogram: Histogram) -> int:
        """Exact answer; not private."""
        return int(histogram.total if self.aggregate == "SUM" else histogram.mass)

    def release(self, histogram: Histogram, epsilon: Number, noise: Noise) -> EstimatorOutput:
        """Noisy answer, in grid points."""
        true = self.answer(histogram) * self.fineness
        return EstimatorOutput((noise.laplace(true, self._steps(epsilon)),))

    def span(self, interval: Interval) -> Span:
        """First whole number inside, and the first number above the interval."""
        return whole_span(interval)

    def accept(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """``Pr[Z >= a - q] - Pr[Z >= b - q]`` for the cuts a and b."""
        low, high = (cut * self.fineness for cut in whole_span(interval))
        if low >= high:
            return 0.0
        true, scale = self.answer(histogram) * self.fineness, self._steps(epsilon)
        # Compute from the side with small tails, so that the difference keeps its digits.
        if true >= high:
            low, high, true = 1 - high, 1 - low, -true
        return as_probability(noise_tail(low - true, scale) - noise_tail(high - true, scale))

    def contains(self, released: EstimatorOutput, span: Span) -> bool:
        """Whether the noisy answer lies between the cuts."""
        return span[0] * self.fineness <= released.numbers[0] < span[1] * self.fineness

    def below(self, released: EstimatorOutput, cut: Cut, epsilon: Number) -> float:
        """``Pr[Z <= noisy - cut]``, since the least answer that is not below the cut is the cut."""
        least = math.ceil(cut) * self.fineness
        return noise_tail(least - self.range.floored(released.numbers[0]), self._steps(epsilon))

    def at_least(self, released: EstimatorOutput, cut: Cut, epsilon: Number) -> float:
        """``Pr[Z >= noisy - (cut - 1)]``."""
        most = (math.ceil(cut) - 1) * self.fineness
        return noise_tail(self.range.capped(released.numbers[0]) - most, self._steps(epsilon))

    def apart(self, released: EstimatorOutput, span: Span, epsilon: Number) -> float:
        """Chance that an answer at an end is released as far outside (Theorem B1)."""
        first, last = (math.ceil(span[0]), math.ceil(span[1]) - 1)
        steps, grid = self._steps(epsilon), self.fineness
        return two_sided(
            lambda x: noise_tail(x, steps),
            self.range.cut(released.numbers[0]),
            first * grid,
            last * grid,
        )

    def estimate(self, released: EstimatorOutput) -> Fraction:
        """Noisy answer, cut to the possible answers."""
        return self.range.cut(self.noisy(released))

    def noisy(self, released: EstimatorOutput) -> Fraction:
        """Noisy answer as it was released, which is unbiased."""
        return Fraction(released.numbers[0], self.fineness)

    def confidence(
        self, released: EstimatorOutput, epsilon: Number, alpha: Number
    ) -> tuple[Fraction | None, Fraction | None]:
        """Possible answers within the reach of the noise, at least 1, around the cut number."""
        noisy, grid = self.range.cut(released.numbers[0]), self.fineness
        # With a reach of at least 1 the interval contains two whole numbers, even with finer noise.
        reach = max(_reach(self._steps(epsilon), probability(alpha, "alpha")), grid)
        low, high = -(-(noisy - reach) // grid), (noisy + reach) // grid
        return Fraction(self.range.floored(low)), Fraction(self.range.capped(high))


@lru_cache(maxsize=64)
def _reach(scale: Fraction, alpha: Fraction) -> int:
    """Least reach with ``Pr[Z > reach] = a^(reach + 1)/(1 + a) <= alpha``, a = e^(-1/scale)."""
    a = math.exp(-as_float(1 / scale))
    return max(0, math.ceil(as_float(scale) * math.log(1 / (float(alpha) * (1 + a)))) - 1)
