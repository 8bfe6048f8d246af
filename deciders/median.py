"""Deciders of MEDIAN queries (Patwa 2023, section 6); the median is the lower one."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np

from deciders.decider import Decision, OnLattice
from deciders.errors import ParameterError
from deciders.exact import Number, as_float, budget_of
from deciders.exponential import ChosenByOdds
from deciders.histogram import Histogram, Integers
from deciders.interval import Interval
from deciders.laplace import Floats, as_probability
from deciders.noise import Noise, noisy_value

_LOWEST = -(2**62)
_HIGHEST = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialMedian(ChosenByOdds, OnLattice):
    """Algorithm 1 with the exponential mechanism over the lattice (Cormode et al. 2011).

    The score of ``e`` is ``-|rank(e) - n/2|``, ``rank(e) = #(A < e)``.  All lattice points between
    two neighbouring data values share a score, so the mechanism is evaluated on runs: a lattice
    of 10^9 points costs no more than the distinct values.

    Guarantee: epsilon-DP (Patwa 2023, Observation 6.1, with sensitivity 1 for the score).  Only
    whether the chosen point lies inside the interval is released, so one yes/no choice with the
    exact odds is drawn, by OpenDP (``SecureNoise.choose``).  The odds are a ratio of sums of
    exponentials in double precision: this decider cannot do without floating point
    (docs/limitations.md).
    """

    id: ClassVar[str] = "em_median"
    aggregate: ClassVar[str] = "MEDIAN"
    compares: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Raise ParameterError unless both bounds are given and are a lattice."""
        OnLattice.__post_init__(self)
        self._ends()

    def _ends(self) -> tuple[int, int]:
        if self.lower is None or self.upper is None:
            raise ParameterError("em_median chooses among lattice points: give lower and upper")
        return self.lower, self.upper

    def logit(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """Return the log-odds of a lattice point inside (Prop. C.1)."""
        lower, upper = self._ends()
        runs = np.concatenate(([_LOWEST], histogram.values, [_HIGHEST]))
        first, last = math.floor(interval.lower) + 1, math.ceil(interval.upper) - 1
        inside = self._points(runs, max(first, lower), min(last, upper))
        every = self._points(runs, lower, upper)
        doubled = -np.abs(2 * histogram.cumulative_counts - histogram.mass)
        # The best score is taken off first, in integers, so that no size of epsilon loses the rest.
        exponents = as_float(budget_of(epsilon)) * (doubled - doubled.max()) / 4
        return _log_weight(inside, exponents) - _log_weight(every - inside, exponents)

    def _points(self, runs: Integers, first: int, last: int) -> Floats:
        """Lattice points within ``first .. last`` in each run ``(runs[i], runs[i+1]]``."""
        if first > last:
            return np.zeros(runs.size - 1)
        clipped = np.clip(runs, first - 1, last)
        index = (clipped - self._ends()[0]) // self.step
        return np.diff(index).astype(np.float64)


def _log_weight(points: Floats, exponents: Floats) -> float:
    """Return ``ln sum points * exp(exponents)``, -inf for no points."""
    present = points > 0
    if not present.any():
        return -math.inf
    return float(np.logaddexp.reduce(np.log(points[present]) + exponents[present]))


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramMedian(OnLattice):
    """Algorithm 3: yes unless one side of the interval holds a noisy majority.

    No, if ``q1 + Lap(2/epsilon)`` or ``q2 + Lap(2/epsilon)`` reaches ``ceil(n~/2)``, where ``q1``
    counts values <= l, ``q2`` counts values >= r and ``n~ = n + Lap(2/epsilon)``.

    Guarantee: epsilon-DP (Patwa 2023, Prop. 6.2): half for n, half for the two disjoint counts.
    """

    id: ClassVar[str] = "hist_median"
    aggregate: ClassVar[str] = "MEDIAN"

    def _counts(self, histogram: Histogram, interval: Interval) -> tuple[int, int]:
        below = histogram.count_at_most(interval.lower)
        above = histogram.mass - histogram.count_below(interval.upper)
        return below, above

    def accept(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """Return ``sum_k Pr[ceil(n~/2) = k] F(k - q1) F(k - q2)``."""
        scale = as_float(2 / budget_of(epsilon))
        below, above = self._counts(histogram, interval)
        return as_probability(_majority_probability(histogram.mass, below, above, scale))

    def decide(
        self, histogram: Histogram, interval: Interval, epsilon: Number, noise: Noise
    ) -> Decision:
        """Return one epsilon-DP verdict."""
        scale = 2 / budget_of(epsilon)
        majority = math.ceil(noisy_value(histogram.mass, scale, noise) / 2)
        below, above = self._counts(histogram, interval)
        if noisy_value(below, scale, noise) >= majority:
            return Decision(outcome=False)
        return Decision(noisy_value(above, scale, noise) < majority)


# coef * exp(rate * (k - anchor) / scale): one exponential piece of a function of k.
_Piece = tuple[float, int, float]


def _majority_probability(mass: int, below: int, above: int, scale: float) -> float:
    """Return ``sum_k Pr[ceil((mass + Lap)/2) = k] F(k - below) F(k - above)``, all of ``scale``.

    Between a few whole numbers k every factor is a sum of exponentials, so the series is a sum of
    finite geometric ones: no loop over k, no truncation.
    """
    half, odd = divmod(mass, 2)
    cuts = sorted({below, above, half + 1, half + 1 + odd})
    starts = [-math.inf, *map(float, cuts)]
    stops = [*(float(cut - 1) for cut in cuts), math.inf]
    total = 0.0
    for first, last in zip(starts, stops, strict=True):
        if first > last:
            continue
        inner = last if math.isfinite(last) else first
        factors = (
            _half_mass_pieces(inner, half, odd, scale),
            _cdf_pieces(inner, below),
            _cdf_pieces(inner, above),
        )
        total += sum(_geometric_sum(pieces, first, last, scale) for pieces in product(*factors))
    return total


def _cdf_pieces(k: float, centre: int) -> tuple[_Piece, ...]:
    """``F(k - centre)`` on the side of ``centre`` where ``k`` lies."""
    if k < centre:
        return ((0.5, 1, centre),)
    return (1.0, 0, centre), (-0.5, -1, centre)


def _half_mass_pieces(k: float, half: int, odd: int, scale: float) -> tuple[_Piece, ...]:
    """``Pr[ceil((n + Lap)/2) = k]`` for ``n = 2 half + odd``, near ``k``."""
    mass = 2 * half + odd
    spread = -math.expm1(-2 / scale) / 2
    if k <= half:
        return ((spread, 2, mass / 2),)
    if odd and k == half + 1:
        return ((-math.expm1(-1 / scale), 0, k),)
    return ((spread, -2, mass / 2 + 1),)


def _geometric_sum(pieces: Iterable[_Piece], first: float, last: float, scale: float) -> float:
    """Sum the product of ``pieces`` over the whole numbers ``first .. last``."""
    factors = tuple(pieces)
    coefficient = math.prod(factor[0] for factor in factors)
    rate = sum(factor[1] for factor in factors)
    peak = last if rate > 0 or math.isinf(first) else first
    exponent = sum(slope * (peak - anchor) for _, slope, anchor in factors) / scale
    terms = last - first + 1
    if rate == 0:
        return coefficient * math.exp(exponent) * terms
    decay = abs(rate) / scale
    return coefficient * math.exp(exponent) * math.expm1(-decay * terms) / math.expm1(-decay)
