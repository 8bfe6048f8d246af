"""Noisy answers with OpenDP that are compared by hand, without a decider.

The noise is OpenDP's: discrete Laplace noise on counts and sums, and report-noisy-max with
exponential noise for quantiles.  An AVG is a noisy sum, divided by a noisy count, each at half of
epsilon.  The benchmark draws the same laws from seeded noise.
"""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from benchmarks.quality.entrants import Answer, Chances, tried
from benchmarks.quality.problems import DrawnQuery, Problem
from pqd.deciders import Noise
from pqd.deciders.distributions import noise_tail
from pqd.deciders.estimators import LaplaceEstimate
from pqd.deciders.histogram import Integers

# Chance that the noise reaches beyond its interval.
_LEVEL = Fraction(1, 20)
# Ranks of the copy whose values are candidates of a quantile.
_CANDIDATES = 501
_LAPLACE = frozenset({"COUNT", "SUM", "COUNT DISTINCT"})


class NoisyAnswer(NamedTuple):
    """Released answer with the ends of its 95 % interval, None where OpenDP gives none."""

    value: Fraction
    low: Fraction | None = None
    high: Fraction | None = None


def reach(scale: Fraction, level: Fraction) -> int:
    """Least w such that discrete Laplace noise is beyond -w .. w with probability <= ``level``."""
    # Pr[|Z| > w] = 2 a^(w + 1) / (1 + a) with a = exp(-1/scale).
    width = float(scale)
    w = max(0, math.ceil(width * math.log(2 / (float(level) * (1 + math.exp(-1 / width))))) - 1)
    # Rounding may leave w one step off.
    return w if 2 * noise_tail(w + 1, scale) <= level else w + 1


def release(query: DrawnQuery, epsilon: Fraction, noise: Noise) -> NoisyAnswer:
    """One epsilon-DP answer: Laplace noise (Ghosh et al. 2009), or a noisy quantile (Smith 2011).

    The answer to an AVG is two releases at epsilon/2, which compose to epsilon.
    """
    if query.aggregate in _LAPLACE:
        estimate = LaplaceEstimate.on(query.aggregate, query.lattice)
        return _noisy(estimate, query, epsilon, _LEVEL, noise)
    if query.aggregate == "AVG":
        half, level = epsilon / 2, _LEVEL / 2
        total = _noisy(LaplaceEstimate.on("SUM", query.lattice), query, half, level, noise)
        rows = _noisy(LaplaceEstimate.on("COUNT", query.lattice), query, half, level, noise)
        return _ratio(total, rows, query)
    # One row moves a score by at most max(p, 1 - p); scores are whole multiples of 1/denominator.
    points = candidates(query)
    parts = max(query.p.numerator, query.p.denominator - query.p.numerator)
    place = noise.least_place(scores(query, points), 2 * parts / epsilon)
    return NoisyAnswer(Fraction(int(points[place])))


def candidates(query: DrawnQuery) -> Integers:
    """Candidates of a quantile, which are public: the copy's own quantiles, and the bounds.

    The copy's selected values at 501 evenly spaced ranks are closer together where rows are.
    """
    ranks = np.linspace(1, query.copy.mass, _CANDIDATES).round().astype(np.int64)
    values = query.copy.values[np.searchsorted(query.copy.cumulative_counts[1:], ranks)]
    ends = query.lattice.lower_units, query.lattice.upper_units
    return np.unique(np.concatenate([values, ends]))


def scores(query: DrawnQuery, points: Integers) -> tuple[int, ...]:
    """Distance of each candidate from the quantile: |(1 - p) #below - p #above|, times p's whole.

    It is the score of OpenDP's ``make_private_quantile`` (Smith 2011).
    """
    table, (part, whole) = query.private, query.p.as_integer_ratio()
    below = table.cumulative_counts[np.searchsorted(table.values, points, "left")]
    above = table.mass - table.cumulative_counts[np.searchsorted(table.values, points, "right")]
    return tuple(np.abs((whole - part) * below - part * above).tolist())


def _noisy(
    estimate: LaplaceEstimate, query: DrawnQuery, epsilon: Fraction, level: Fraction, noise: Noise
) -> NoisyAnswer:
    value = estimate.release(query.private, epsilon, noise).numbers[0]
    far = reach(estimate.scale(epsilon), level)
    return NoisyAnswer(*map(Fraction, (value, value - far, value + far)))


def _ratio(total: NoisyAnswer, rows: NoisyAnswer, query: DrawnQuery) -> NoisyAnswer:
    """Noisy mean, cut to the domain; its interval is that of both parts together."""
    ends = query.lattice.lower, query.lattice.upper

    def cut(value: Fraction) -> Fraction:
        return min(max(value, ends[0]), ends[1])

    if total.low is None or total.high is None or rows.low is None or rows.high is None:
        raise TypeError("a noisy count and a noisy sum have intervals")
    value = cut(total.value / max(rows.value, Fraction(1)))
    if rows.low < 1:
        return NoisyAnswer(value, *ends)
    corners = [s / n for s in (total.low, total.high) for n in (rows.low, rows.high)]
    return NoisyAnswer(value, cut(min(corners)), cut(max(corners)))


class ComparedByHand:
    """Release a noisy answer at epsilon; say yes exactly if it is within the tolerance.

    ``with_interval``: say nothing where the answer's 95 % interval holds an end of the tolerance.
    """

    private = True

    def __init__(self, *, with_interval: bool) -> None:
        """Name the entrant."""
        self._with_interval = with_interval
        self.name = f"OpenDP by hand{', with interval' if with_interval else ''}"

    def fits(self, problem: Problem) -> bool:
        """Whether there is an answer; OpenDP's quantile has no interval."""
        return not self._with_interval or problem.query.aggregate not in {"MEDIAN", "QUANTILE"}

    def verdict(self, problem: Problem, epsilon: Fraction, noise: Noise) -> Answer:
        """One answer, compared."""
        return self.compared(release(problem.query, epsilon, noise), problem)

    def compared(self, answer: NoisyAnswer, problem: Problem) -> Answer:
        """What one says of a released answer."""
        interval = problem.interval
        says_yes = interval.contains(answer.value)
        if not self._with_interval:
            return Answer(says_yes, conclusive=True)
        if answer.low is None or answer.high is None:
            return Answer(says_yes, conclusive=False)
        inside = interval.lower < answer.low and answer.high < interval.upper
        outside = answer.high <= interval.lower or interval.upper <= answer.low
        return Answer(says_yes, conclusive=inside or outside)

    def chances(self, problem: Problem, epsilon: Fraction) -> Chances:
        """Exact chances with Laplace noise; else shares of trials."""
        query = problem.query
        if query.aggregate not in _LAPLACE:
            return tried(self, problem, epsilon)
        estimate = LaplaceEstimate.on(query.aggregate, query.lattice)
        true, scale = estimate.answer(query.private), estimate.scale(epsilon)
        # First and last whole number within the tolerance.
        first = math.floor(problem.interval.lower) + 1
        last = math.ceil(problem.interval.upper) - 1
        says_yes = _chance(true, first, last, scale)
        if not self._with_interval:
            return Chances(says_yes, says_yes, 1 - says_yes)
        far = reach(scale, _LEVEL)
        beyond = 1 - _chance(true, first - far, last + far, scale)
        return Chances(says_yes, _chance(true, first + far, last - far, scale), beyond)


def _chance(true: int, first: int, last: int, scale: Fraction) -> float:
    """``Pr[first <= true + Z <= last]``."""
    if first > last:
        return 0.0
    return max(0.0, noise_tail(first - true, scale) - noise_tail(last + 1 - true, scale))


BY_HAND = (ComparedByHand(with_interval=False), ComparedByHand(with_interval=True))
