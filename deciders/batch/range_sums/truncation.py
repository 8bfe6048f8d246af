"""Private choice of a threshold above which values are clamped (Wu 2019, 3.1 and A.1)."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from pqd.deciders.batch.range_sums.workload import Buckets
from pqd.deciders.distributions import Floats, integral, laplace_cdf
from pqd.deciders.errors import ParameterError
from pqd.deciders.exact import Number, as_float, exact, positive, probability
from pqd.deciders.histogram import Integers
from pqd.deciders.noise import Noise

Law = tuple[tuple[int, float], ...]

# For the law of a recursive threshold: the width of a cell on the logarithmic scale, and the number
# of noise scales beyond which the probability is a millionth.
_CELL, _RAREST = 0.1, 14
# The most rungs of a threshold by SVT.
_MOST_RUNGS = 1000
# Exponent for which exp gives a large double.
_LARGE = 700.0
# Level that is above any number of rows.
_HIGHEST = 2.0**62


@dataclass(frozen=True, slots=True, kw_only=True)
class NoTruncation:
    """NOTRUNC: nothing is truncated, and nothing is spent."""

    id: ClassVar[str] = "none"
    key_fields: ClassVar[tuple[str, ...]] = ()

    @property
    def share(self) -> Number:
        """Zero, because no threshold is measured."""
        return 0

    def threshold(
        self, counts: Integers, buckets: Buckets, top: int, budget: Fraction, noise: Noise
    ) -> int:
        """Threshold ``top``."""
        return top

    def largest_scale(self, budget: Fraction) -> Fraction:
        """Zero, because no noise is drawn."""
        return Fraction(0)

    def law(self, counts: Integers, buckets: Buckets, budget: Fraction) -> Law:
        """Single threshold that truncates nothing."""
        return ((buckets.top, 1.0),)


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseVectorTruncation:
    """TRUNC_SVT: the first rung ``s, c s, c^2 s, ...`` that covers a part ``r`` of the rows.

    A rung covers the rows with values of at most the rung.  With ``r = a/b``, rung j is taken if
    ``g_j + Lap(2b / eps) >= Lap(2 max(a, b - a) / eps)``, where
    ``g_j = b #(v <= rung j) - a n``.  If no rung is taken, nothing is truncated.

    Guarantee: budget-DP.  This is AboveThreshold (Dwork and Roth 2014; Lyu et al. 2017), but the
    noise on g_j has scale ``2b / eps`` in place of ``4 max(a, b - a) / eps`` (ours).  For r near 1
    this is about half.

    Proof.  Adding a row moves g_j by -a or by b - a, and the moves ascend with j.  Shift the
    threshold's noise by a whole number d.  Then a rung that is passed over is still passed over if
    d is at least the move of that rung.  A rung that is taken is still taken if d is at most its
    move.

    From the smaller table to the larger, let d be the move of the rung that is taken.  This d works
    for all rungs and costs at most ``eps / 2``.  From the larger table to the smaller the moves
    descend.  Let d be the first move.  Then the noise of the rung that is taken must also be
    shifted, by the difference of the two moves.  The difference is at most b, so this costs another
    ``eps / 2``.
    """

    start: Number
    growth: Number
    kept: Number
    share: Number = Fraction(1, 10)

    id: ClassVar[str] = "svt"
    key_fields: ClassVar[tuple[str, ...]] = ("start", "growth", "kept", "share")

    def __post_init__(self) -> None:
        """Raise ParameterError unless rungs ascend from above 0 and parts lie in (0, 1)."""
        probability(self.kept, "the part of the rows that is kept")
        probability(self.share, "the threshold's share of the budget")
        positive(self.start, "the first rung")
        if exact(self.growth) <= 1:
            raise ParameterError("rungs must grow by a factor above 1")

    def rungs(self, top: int) -> list[int]:
        """Rungs below ``top``, because at ``top`` nothing is truncated.

        Raises
        ------
        ParameterError
            If there are too many.
        """
        growth, rung, thresholds = exact(self.growth), exact(self.start), list[int]()
        most = math.log(max(1.0, as_float(top / rung))) / math.log(as_float(growth))
        if most > _MOST_RUNGS:
            raise ParameterError(
                f"there are {math.ceil(most):,} rungs up to the largest value; at most "
                f"{_MOST_RUNGS:,} are tried: state a larger first rung (s) or growth (c)"
            )
        while rung < top:
            thresholds.append(max(1, math.floor(rung)))
            rung *= growth
        return sorted(set(thresholds))

    def _surpluses(self, counts: Integers, buckets: Buckets, rungs: list[int]) -> list[int]:
        """``g_j`` of each rung."""
        part = exact(self.kept)
        below = np.concatenate(([0], np.cumsum(counts)))
        rows_below = below[np.searchsorted(buckets.ends, rungs, side="right")]
        bar = part.numerator * int(below[-1])
        return [part.denominator * int(rows) - bar for rows in rows_below]

    def _scales(self, budget: Fraction) -> tuple[Fraction, Fraction]:
        """Scales of the threshold's noise, and of the noise of each rung."""
        a, b = exact(self.kept).as_integer_ratio()
        return 2 * max(a, b - a) / budget, 2 * b / budget

    def threshold(
        self, counts: Integers, buckets: Buckets, top: int, budget: Fraction, noise: Noise
    ) -> int:
        """First rung whose noisy surplus reaches the noisy threshold, or else ``top``."""
        rungs = self.rungs(top)
        bar_scale, rung_scale = self._scales(budget)
        bar = noise.laplace(0, bar_scale)
        for rung, surplus in zip(rungs, self._surpluses(counts, buckets, rungs), strict=True):
            if noise.laplace(surplus, rung_scale) >= bar:
                return rung
        return top

    def largest_scale(self, budget: Fraction) -> Fraction:
        """Scale of each rung's noise."""
        return max(self._scales(budget))

    def law(self, counts: Integers, buckets: Buckets, budget: Fraction) -> Law:
        """Probabilities of the rungs: an integral over the threshold's noise."""
        rungs = self.rungs(buckets.top)
        bar_scale, rung_scale = map(as_float, self._scales(budget))
        # Add half a unit: whole numbers are compared, but the integral takes the noise as
        # continuous.
        surpluses = np.array(self._surpluses(counts, buckets, rungs), dtype=np.float64) + 0.5

        def passed(y: Floats) -> Floats:
            going_on = np.cumprod(
                laplace_cdf((bar_scale * y - surpluses[:, None]) / rung_scale), axis=0
            )
            density = np.exp(-np.abs(y)) / 2
            # The first row is the probability of reaching the first rung.
            return np.vstack((density, going_on * density))

        reached = np.append(integral(passed, surpluses / bar_scale), 0.0)
        chances = np.maximum(-np.diff(reached), 0.0)
        return tuple(zip([*rungs, buckets.top], chances.tolist(), strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecursiveTruncation:
    """TRUNC_RECUR: the threshold of the recursive mechanism (Chen and Zhou 2013; Wu 2019, A.5).

    ``Delta = min{theta e^(i beta) : at most i rows lie above theta e^(i beta)}``.  The threshold
    of the paper is ``Delta e^(mu + Lap(beta / eps))`` with ``beta = 2 eps / 5``, where eps is its
    budget.

    Here the noise is added to the least i (ours).  The threshold is ``theta e^(mu + beta J)`` with
    ``J = i + Z``, where Z is discrete Laplace of scale 1/eps.  The *level* of a row is the
    least l >= 0 with ``v <= theta e^(l beta)``.  The level is a public whole number of each
    bucket.  So i is the least number for which at most i rows have a level above i (an h-index).

    Guarantee: budget-DP.  Adding a row raises the number of rows above each level by at most 1,
    and lowers none of these numbers.  So i does not fall.  After the addition at most i + 1 rows
    have a level above i + 1, so i rises by at most 1.  The levels may be rounded, because the
    proof holds for any whole number of each bucket.
    """

    start: Number
    rate: Number = Fraction(2, 5)
    offset: Number = Fraction(1, 2)
    share: Number = Fraction(1, 10)

    id: ClassVar[str] = "recursive"
    key_fields: ClassVar[tuple[str, ...]] = ("start", "rate", "offset", "share")

    def __post_init__(self) -> None:
        """Raise ParameterError unless start, rate and share are positive, the share below 1."""
        positive(self.start, "the first threshold")
        positive(self.rate, "the rate")
        probability(self.share, "the threshold's share of the budget")

    def index(self, counts: Integers, buckets: Buckets, budget: Fraction) -> int:
        """Least i such that at most i rows have a level above i."""
        beta = as_float(exact(self.rate) * budget)
        start = as_float(exact(self.start))
        heights = np.log(np.maximum(buckets.ends, start) / start)
        levels = np.ceil(np.minimum(heights / beta, _HIGHEST)).astype(np.int64)
        rows = counts.sum()
        return int(np.maximum(levels, rows - np.cumsum(counts)).min(initial=rows))

    def at(self, index: float, top: int, budget: Fraction) -> int:
        """Threshold at a noisy index, 1 to ``top``."""
        height = as_float(exact(self.offset) + exact(self.rate) * budget * Fraction(index))
        start = as_float(exact(self.start))
        if height >= math.log(top / start):
            return top
        return max(1, math.floor(start * math.exp(height)))

    def threshold(
        self, counts: Integers, buckets: Buckets, top: int, budget: Fraction, noise: Noise
    ) -> int:
        """Threshold at the noisy index."""
        index = self.index(counts, buckets, budget)
        return self.at(noise.laplace(index, 1 / budget), top, budget)

    def largest_scale(self, budget: Fraction) -> Fraction:
        """Scale of the index's noise."""
        return 1 / budget

    def law(self, counts: Integers, buckets: Buckets, budget: Fraction) -> Law:
        """Thresholds and their probabilities, with indices grouped in cells at their means.

        Probabilities are exact, also the probability of ``top``.  Within a cell the thresholds
        differ by a tenth.  Upwards the cells go on to ``top``, because squares of thresholds grow
        nearly as fast as probabilities fall.  Downwards, one cell contains the last indices, with
        a millionth in total.
        """
        index, rate = self.index(counts, buckets, budget), as_float(budget)
        beta = as_float(exact(self.rate) * budget)
        height = math.log(buckets.top / as_float(exact(self.start))) - as_float(exact(self.offset))
        to_top, width = math.ceil(height / beta) - index, max(1, math.floor(_CELL / beta))
        above, below = max(0, to_top), max(1, 1 - to_top)
        last = below + math.ceil(_RAREST / rate)
        chances = [(buckets.top, _beyond(above, rate) if above else 1 - _beyond(below, rate))]
        chances.append((self.at(index - last, buckets.top, budget), _beyond(last, rate)))
        for sign, first, end in ((1, 0, above), (-1, below, last)):
            for low in range(first, end, width):
                chance, distance = _cell(low, min(low + width, end), rate)
                chances.append((self.at(index + sign * distance, buckets.top, budget), chance))
        return tuple(chances)


# Ways to find a threshold.  ``share`` (the rho of the paper) is the part of a release's budget that
# the threshold spends.  ``law`` is not private: it serves for analysis on public data.
Truncation = NoTruncation | SparseVectorTruncation | RecursiveTruncation


def _beyond(distance: int, rate: float) -> float:
    """``Pr[Z >= distance]``, ``distance >= 0``, Z discrete Laplace of scale ``1 / rate``."""
    return math.exp(-distance * rate) / (1 + math.exp(-rate))


def _cell(low: int, high: int, rate: float) -> tuple[float, float]:
    """``Pr[low <= Z < high]``, ``low >= 0``, and the mean of Z in that range."""
    chance = _beyond(low, rate) * -math.expm1(-(high - low) * rate)
    mean, missing = (n / math.expm1(min(n * rate, _LARGE)) for n in (1, high - low))
    return chance, low + mean - missing
