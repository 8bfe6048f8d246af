"""Deciders that release the noisy answer of a COUNT, COUNT(DISTINCT) or SUM (ours).

``N = answer + Z`` is released, with ``Z`` two-sided geometric of scale ``sensitivity / epsilon``.
The verdict is yes exactly if ``N`` is inside the interval.  At no further cost, ``N`` also shows
how far off the copy is and in which direction.  It also gives the verdict for every other
tolerance.  An end of the interval is ignored if no answer can lie beyond it, for example an end
below 0 for a count.

Guarantee: epsilon-DP (Ghosh, Roughgarden and Sundararajan 2009), as for ``LaplaceEstimate``, which
makes the release.  Verdict, p-value, margin, estimate and interval are post-processing of ``N``.

Loss: on no table does ``noisy_count`` err more than twice as often as ``inv_count``
(docs/theory.md, Theorem 4).
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from pqd.deciders.bounds import AnswerRange, NoBounds, ValueBounds
from pqd.deciders.distributions import as_probability, noise_tail, rate_tail
from pqd.deciders.estimators.base import EstimatorOutput
from pqd.deciders.estimators.laplace import LaplaceEstimate
from pqd.deciders.evaluation.effectiveness import Threshold
from pqd.deciders.exact import Number, as_float, budget_of, probability
from pqd.deciders.histogram import Histogram
from pqd.deciders.interval import Interval
from pqd.deciders.noise import Noise
from pqd.deciders.single.base import BOTH, DeciderDefaults, Decision, Estimate, estimate_of
from pqd.deciders.single.inverse_sensitivity import least_steps, steps_at


@dataclass(frozen=True, slots=True)
class NoiseLaw:
    """Chance of a yes when the answer is released with noise; not private, for analysis only.

    ``first`` and ``last`` are the ends of ``NoisyAnswer._inside``.  ``constant`` is the verdict if
    every table has the same verdict, else None.  ``range`` holds the possible answers.
    """

    true: int
    first: float
    last: float
    sensitivity: int
    constant: bool | None
    range: AnswerRange

    @property
    def distance(self) -> float:
        """Steps from the answer to just outside the nearer end; >= 1 if the answer is inside."""
        return min(self.true - self.first, self.last - self.true) + 1

    def __call__(self, epsilon: Fraction) -> float:
        """``Pr[Z >= first - q] - Pr[Z > last - q]``."""
        if self.constant is not None:
            return float(self.constant)
        return self._chance(self.first, self.last, epsilon)

    def _chance(self, first: float, last: float, epsilon: Fraction) -> float:
        """``Pr[first <= true + Z <= last]``."""
        true, (numerator, denominator) = self.true, epsilon.as_integer_ratio()
        # Compute from the side with small tails, so that the difference keeps its digits.
        if true > last:
            first, last, true = -last, -first, -true
        rate = numerator, denominator * self.sensitivity
        beyond = 0.0 if math.isinf(last) else rate_tail(int(last) + 1 - true, *rate)
        reached = 1.0 if math.isinf(first) else rate_tail(int(first) - true, *rate)
        return as_probability(reached - beyond)

    def proof_chance(self, epsilon: Fraction, alpha: Number) -> float:
        """Exact chance of a yes with a p-value of at most alpha."""
        if self.constant is not None:
            return float(self.constant)
        far = self._far(epsilon, probability(alpha, "alpha"))
        first, last = self.first + far - 1, self.last - far + 1
        if first > last or first > self.range.most or last < self.range.least:
            return 0.0
        return self._chance(first, last, epsilon)

    def refutation_chance(self, epsilon: Fraction, alpha: Number) -> float:
        """Exact chance of a no with a p-value of at most alpha."""
        if self.constant is not None:
            return 1.0 - self.constant
        level, width = probability(alpha, "alpha"), self.last - self.first
        if not math.isinf(width):
            # The p-value of a no also counts noise beyond the other end (``NoisyAnswer.verdict``).
            rate = as_float(epsilon / self.sensitivity)
            level = Fraction(float(level) / (1 + math.exp(-rate * width)))
        far = self._far(epsilon, level)
        below, above = self.first - far, self.last + far
        chance = 0.0
        if not math.isinf(below) and below >= self.range.least:
            chance += self._chance(-math.inf, below, epsilon)
        if not math.isinf(above) and above <= self.range.most:
            chance += self._chance(above, math.inf, epsilon)
        return as_probability(chance)

    def _far(self, epsilon: Fraction, level: Fraction) -> int:
        """Least number of steps s >= 1 with ``Pr[Z >= s] <= level``."""
        numerator, denominator = epsilon.as_integer_ratio()
        return steps_at(numerator, denominator * self.sensitivity, *level.as_integer_ratio())


class NoisyAnswer(DeciderDefaults, ABC):
    """Mix-in of the deciders of this file; each decider defines ``estimator``."""

    __slots__ = ()

    proves: ClassVar[frozenset[bool]] = BOTH
    releases_answer: ClassVar[bool] = True
    # Whether one row moves the answer by exactly 1; then the gap to an end is a margin.
    counts_rows: ClassVar[bool] = False

    @property
    @abstractmethod
    def estimator(self) -> LaplaceEstimate:
        """Estimator that releases the answer in whole units."""

    def _inside(self, interval: Interval) -> tuple[float, float]:
        """First and last answer inside; an end is infinite if no answer can lie beyond it."""
        least, most = self.estimator.range
        first, last = math.floor(interval.lower) + 1, math.ceil(interval.upper) - 1
        return -math.inf if first <= least else first, math.inf if last >= most else last

    def constant_verdict(self, interval: Interval) -> bool | None:
        """No if no possible answer lies inside the interval, yes if all of them do, else None."""
        return self._constant_verdict(*self._inside(interval))

    def _constant_verdict(self, first: float, last: float) -> bool | None:
        """``constant_verdict`` for an interval whose answers go from ``first`` to ``last``."""
        least, most = self.estimator.range
        if max(least, first) > min(most, last):
            return False
        return True if math.isinf(first) and math.isinf(last) else None

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Scale of the noise."""
        return self.estimator.scale(epsilon)

    def accept(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """Chance of a yes; see ``NoiseLaw``."""
        return self.acceptance(histogram, interval)(budget_of(epsilon))

    def acceptance(self, histogram: Histogram, interval: Interval) -> NoiseLaw:
        """``accept`` as a function of epsilon; the answer is computed once."""
        estimator, (first, last) = self.estimator, self._inside(interval)
        constant = self._constant_verdict(first, last)
        true, sensitivity = estimator.answer(histogram), estimator.sensitivity
        return NoiseLaw(true, first, last, sensitivity, constant, estimator.range)

    def decide(
        self, histogram: Histogram, interval: Interval, epsilon: Number, noise: Noise
    ) -> Decision:
        """One epsilon-DP verdict with its p-value, and the noisy answer."""
        constant = self.constant_verdict(interval)
        if constant is not None:
            return Decision(constant, p_value=0.0)
        return self.verdict(self.estimator.release(histogram, epsilon, noise), interval, epsilon)

    def verdict(self, released: EstimatorOutput, interval: Interval, epsilon: Number) -> Decision:
        """Verdict that follows from a release, by post-processing.

        The p-value is the largest chance, over all answers with the other verdict, of a release at
        least as far on this side.  A yes that is m steps inside the nearer end has the p-value
        ``tail(m)``.  A no that is m steps beyond an end has the p-value ``tail(m)``.  If the
        interval has another end, the tail beyond that end is added (docs/theory.md, Theorem B1).

        ``N`` is first cut to the range of possible answers.  The cut changes no verdict, for two
        reasons.  An interval without a constant verdict holds a possible answer.  Ends beyond all
        possible answers are ignored.  The cut moves ``N`` towards the end that decides, or leaves
        it unchanged.  So no p-value becomes smaller, and every p-value stays valid.
        """
        estimator, (first, last) = self.estimator, self._inside(interval)
        noisy, scale = estimator.range.cut(released.numbers[0]), estimator.scale(epsilon)
        margin = int(min(noisy - first, last - noisy)) + 1
        if margin >= 1:
            p_value = noise_tail(margin, scale)
        else:
            p_value = noise_tail(1 - margin, scale)
            if not math.isinf(last - first):
                p_value = min(1.0, p_value + noise_tail(1 - margin + int(last - first), scale))
        shown = margin if self.counts_rows else None
        return Decision(margin >= 1, p_value, shown, released=released.numbers)

    def answer_estimate(
        self, decision: Decision, interval: Interval, epsilon: Number, alpha: Number
    ) -> Estimate:
        """Noisy answer, and the ends around it, on the side of a decided verdict."""
        if not decision.released:
            return Estimate()
        released = EstimatorOutput(decision.released)
        found = estimate_of(self.estimator, released, epsilon, alpha)
        return found.on_side(decision, interval, alpha)

    def margins(self, low: Fraction, high: Fraction, interval: Interval) -> tuple[int, int]:
        """Least and largest margin over the answers ``low .. high``, for a count."""
        first, last = self._inside(interval)
        ends = [int(min(int(end) - first, last - int(end))) + 1 for end in (low, high)]
        if math.isinf(last - first):
            return min(ends), max(ends)
        # The largest margin is in the middle of the interval, where both ends are equally far.
        middle = min(max((int(first) + int(last)) // 2, int(low)), int(high))
        return min(ends), max(*ends, int(min(middle - first, last - middle)) + 1)

    def tau_min(self, histogram_public: Histogram, epsilon: Number, alpha: Number) -> Threshold:
        """Exact threshold: the least whole tau at which the noise stays on its side of both ends.

        This tau is the least with ``2 a^tau/(1 + a) <= alpha``, where ``a = e^(-1/scale)``.
        If tau reaches beyond the least possible answer, only one end counts, and
        ``a^tau/(1 + a) <= alpha`` is enough.
        """
        rate, level = 1 / self.estimator.scale(epsilon), probability(alpha, "alpha")
        centre, least = self.estimator.answer(histogram_public), self.estimator.range.least
        both, one = least_steps(rate, level / 2), least_steps(rate, level)
        if both <= centre - least:
            return Threshold(both, exact=True)
        return Threshold(max(one, int(centre - least) + 1), exact=True)


_ROWS, _DISTINCT = (LaplaceEstimate(aggregate=name) for name in ("COUNT", "COUNT DISTINCT"))


# The cache is shared by the queries of one column.
@lru_cache(maxsize=64)
def _sum_of(lower: int, upper: int, step: int) -> LaplaceEstimate:
    return LaplaceEstimate(aggregate="SUM", lower=lower, upper=upper, step=step)


@dataclass(frozen=True, slots=True)
class NoisyCount(NoBounds, NoisyAnswer):
    """COUNT decider; it errs more often than ``inv_count`` only by noise beyond the farther end."""

    id: ClassVar[str] = "noisy_count"
    key_fields: ClassVar[tuple[str, ...]] = ()
    aggregate: ClassVar[str] = "COUNT"
    counts_rows: ClassVar[bool] = True

    @property
    def estimator(self) -> LaplaceEstimate:
        """Number of rows plus noise of scale 1/epsilon."""
        return _ROWS


@dataclass(frozen=True, slots=True)
class NoisyDistinct(NoBounds, NoisyAnswer):
    """COUNT(DISTINCT) decider; one row changes the number of distinct values by at most 1."""

    id: ClassVar[str] = "noisy_distinct"
    key_fields: ClassVar[tuple[str, ...]] = ()
    aggregate: ClassVar[str] = "COUNT DISTINCT"

    @property
    def estimator(self) -> LaplaceEstimate:
        """Number of distinct values plus noise of scale 1/epsilon."""
        return _DISTINCT


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisySum(ValueBounds, NoisyAnswer):
    """SUM decider for values in ``lower .. upper``, which may be negative."""

    id: ClassVar[str] = "noisy_sum"
    key_fields: ClassVar[tuple[str, ...]] = ("lower", "upper", "step")
    aggregate: ClassVar[str] = "SUM"

    @property
    def estimator(self) -> LaplaceEstimate:
        """Sum plus noise of scale ``max(|lower|, |upper|)/epsilon``."""
        return _sum_of(self.lower, self.upper, self.step)

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Scale of the noise."""
        return self.noise_scale(budget_of(epsilon))
