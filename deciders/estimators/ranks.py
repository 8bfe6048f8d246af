"""MEDIAN and QUANTILE by noisy counts between public cuts (ours)."""

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from pqd.deciders.bounds import LatticeBounds
from pqd.deciders.distributions import (
    Terms,
    WeightedNoiseSum,
    as_probability,
    circle_of,
    mean_of,
    weighted_noise_sum,
)
from pqd.deciders.errors import ParameterError
from pqd.deciders.estimators.base import (
    BonferroniClaims,
    Cut,
    EstimatorOutput,
    Span,
    by_cuts,
    whole_span,
)
from pqd.deciders.exact import Number, budget_of, probability
from pqd.deciders.histogram import HALF, Histogram
from pqd.deciders.interval import Interval
from pqd.deciders.noise import Noise


@dataclass(frozen=True, slots=True, kw_only=True)
class RankCounts(BonferroniClaims, LatticeBounds):
    """Noisy counts of the rows in the bins between ``cuts``.

    With ``p = a/b``, the p-quantile is below a cut exactly if ``(b - a) L - a H >= 0``.  L is the
    number of rows below the cut, and H is the number of the other rows.  Both are sums of bins.
    The release gives the left side with an error that is a sum of discrete Laplace noises of known
    weights, whose tails are exact.

    Guarantee: epsilon-DP by parallel composition (McSherry 2009).  A row lies in one bin and
    changes its count by 1, and every bin has noise of scale 1/epsilon.  The cuts are public.
    """

    cuts: tuple[int, ...]
    p: Fraction = HALF
    aggregate: str = "MEDIAN"

    id: ClassVar[str] = "rank_counts"
    key_fields: ClassVar[tuple[str, ...]] = ("aggregate", "lower", "upper", "step", "p", "cuts")
    exact: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Raise ParameterError unless there are ascending cuts, and ``0 < p < 1``."""
        LatticeBounds.__post_init__(self)
        probability(self.p, "the quantile's p")
        if not self.cuts or any(x >= y for x, y in zip(self.cuts, self.cuts[1:], strict=False)):
            raise ParameterError("the cuts must ascend, and there must be one")

    def release(self, histogram: Histogram, epsilon: Number, noise: Noise) -> EstimatorOutput:
        """Noisy counts, beginning with the lowest bin."""
        ranks = [0, *(histogram.count_below(cut) for cut in self.cuts), histogram.mass]
        scale = 1 / budget_of(epsilon)
        return EstimatorOutput(tuple(noise.laplace(int(n), scale) for n in np.diff(ranks)))

    def span(self, interval: Interval) -> Span:
        """First lattice unit inside, and the first unit above the interval."""
        return whole_span(interval)

    def _weights(self) -> tuple[int, int]:
        """Weights of a row below a cut, which supports the claim, and of any other row."""
        return self.p.denominator - self.p.numerator, self.p.numerator

    def accept(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """Sum over the noise Y of the middle: ``-(b - a) (y + Y) <= V < a (y + Y)``.

        V is ``(b - a)`` times the rows below the interval, minus ``a`` times the rows above it.  A
        cut that is not in ``cuts`` is treated as if it were beside its neighbours in ``cuts``.
        """
        low, high = whole_span(interval)
        if low >= high:
            return 0.0
        scale = 1 / budget_of(epsilon)
        gain, loss = self._weights()
        under = histogram.count_below(low)
        middle = histogram.count_below(high) - under
        over = histogram.mass - under - middle
        bins_under = bisect_left(self.cuts, low) + 1
        bins_over = len(self.cuts) - bisect_right(self.cuts, high) + 1
        between = bisect_left(self.cuts, high) - bisect_right(self.cuts, low) + 1
        inner = weighted_noise_sum(((1, between),), scale)
        outer = weighted_noise_sum(((gain, bins_under), (loss, bins_over)), scale)
        rows, apart = middle + inner.support, gain * under - loss * over
        chances = outer.at_least(-gain * rows - apart) - outer.at_least(loss * rows - apart)
        return as_probability(mean_of(np.maximum(chances, 0.0), inner.chances))

    def contains(self, released: EstimatorOutput, span: Span) -> bool:
        """Whether the noisy counts place the quantile between the cuts."""
        return self._surplus(released, span[0]) < 0 <= self._surplus(released, span[1])

    def _surplus(self, released: EstimatorOutput, cut: Cut) -> int:
        place = self._place(cut)
        gain, loss = self._weights()
        return gain * sum(released.numbers[:place]) - loss * sum(released.numbers[place:])

    def _place(self, cut: Cut) -> int:
        """Number of bins below ``cut``."""
        if cut not in self.cuts:
            raise ParameterError(f"{cut} is none of the cuts of this release")
        return self.cuts.index(int(cut)) + 1

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Noise scale of every bin.

        Raises
        ------
        ParameterError
            If the tails of a claim cannot be computed; this is raised here, where all data are
            public.
        """
        scale = 1 / budget_of(epsilon)
        for cut in self.cuts:
            circle_of(self._terms(cut), scale)
        return scale

    def _terms(self, cut: Cut) -> Terms:
        place = self._place(cut)
        gain, loss = self._weights()
        return (gain, place), (loss, len(self.cuts) + 1 - place)

    def _noise(self, cut: Cut, epsilon: Number) -> WeightedNoiseSum:
        return weighted_noise_sum(self._terms(cut), 1 / budget_of(epsilon))

    def below(self, released: EstimatorOutput, cut: Cut, epsilon: Number) -> float:
        """Chance of noise that raises a surplus of -1 to the observed surplus."""
        surplus = self._surplus(released, cut)
        return as_probability(float(self._noise(cut, epsilon).at_least(surplus + 1)))

    def at_least(self, released: EstimatorOutput, cut: Cut, epsilon: Number) -> float:
        """Chance of noise that lowers a surplus of 0 to the observed surplus."""
        surplus = self._surplus(released, cut)
        return as_probability(float(self._noise(cut, epsilon).at_least(-surplus)))

    def estimate(self, released: EstimatorOutput) -> Fraction | None:
        """Point where the surplus crosses 0, linear between the cuts; None without bounds."""
        if self.lower is None or self.upper is None:
            return None
        gain, loss = self._weights()
        count, top = sum(released.numbers), self.upper + self.step
        ends = [(self.lower, min(-1, -loss * count)), (top, max(0, gain * count))]
        # A cut stands for the first lattice point that is not below it.
        for cut in self.cuts:
            point = self.lower - (self.lower - cut) // self.step * self.step
            ends.append((point, self._surplus(released, cut)))
        ordered = sorted((min(max(x, self.lower), top), y) for x, y in ends)
        first = next(k for k, (_, surplus) in enumerate(ordered) if k and surplus >= 0)
        (x0, y0), (x1, y1) = ordered[first - 1], ordered[first]
        crossing = x0 + Fraction((x1 - x0) * -y0, y1 - y0)
        floored = self.lower + math.floor((crossing - self.lower) / self.step) * self.step
        return Fraction(max(self.lower, min(floored, x1 - self.step)))

    def confidence(
        self, released: EstimatorOutput, epsilon: Number, alpha: Number
    ) -> tuple[Fraction | None, Fraction | None]:
        """Cuts that the claims reach from either side; never the bounds, which D may exceed."""
        return by_cuts(self, self.cuts, released, epsilon, alpha)
