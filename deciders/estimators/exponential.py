"""MEDIAN and QUANTILE by the exponential mechanism over the lattice, with a tight sensitivity."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, NamedTuple

import numpy as np

from pqd.deciders.bounds import LatticeBounds
from pqd.deciders.distributions import Floats, sigmoid
from pqd.deciders.errors import ParameterError
from pqd.deciders.estimators.base import BonferroniClaims, Cut, EstimatorOutput, Span, whole_span
from pqd.deciders.exact import Number, as_float, budget_of, probability
from pqd.deciders.histogram import HALF, Histogram, Integers
from pqd.deciders.interval import Interval
from pqd.deciders.noise import Noise, exponential_choice, log_sum


class _Runs(NamedTuple):
    """Runs of lattice points with equal scores: first point, number of points, log-weight.

    A log-weight is the logarithm of the weight of the whole run.
    """

    first: Integers
    points: Integers
    weights: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialQuantile(BonferroniClaims, LatticeBounds):
    """Lattice point e, drawn with weight ``exp(-epsilon u(e) / (2 max(a, b - a)))``; p is a/b.

    The distance u(e) is the largest of 0, ``a #(v > e) - (b - a) #(v <= e)`` and
    ``(b - a) #(v < e) - a #(v >= e) + 1``.  It is 0 exactly if e is the p-quantile, so equal values
    tie as they should.  For the median, u(e) is the number of rows to add or remove until e is the
    median.  This is twice the distance of ranks, so the rank score has sensitivity 1/2;
    ``em_median`` (Patwa 2023) uses 1.

    Guarantee: epsilon-DP (McSherry and Talwar 2007), since one row changes u by at most
    ``max(a, b - a)``.  The weights are doubles (docs/limitations.md); the draw is a sequence of
    exact yes/no choices.  The release gives no p-value, because the distance from e to the
    quantile depends on how dense D is there.
    """

    p: Fraction = HALF
    aggregate: str = "MEDIAN"

    id: ClassVar[str] = "exponential"
    key_fields: ClassVar[tuple[str, ...]] = ("aggregate", "lower", "upper", "step", "p")
    exact: ClassVar[bool] = False
    compares: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Raise ParameterError unless both bounds are given and form a lattice."""
        LatticeBounds.__post_init__(self)
        probability(self.p, "the quantile's p")
        self._ends()

    def _ends(self) -> tuple[int, int]:
        if self.lower is None or self.upper is None:
            raise ParameterError(
                "the exponential mechanism chooses among lattice points: no bounds"
            )
        return self.lower, self.upper

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Scale of one count at this budget; it serves only to refuse a tiny budget."""
        return 1 / budget_of(epsilon)

    def release(self, histogram: Histogram, epsilon: Number, noise: Noise) -> EstimatorOutput:
        """Lattice point that was drawn."""
        runs = self._runs(histogram, epsilon)
        chosen = exponential_choice(runs.weights, noise)
        first, points = int(runs.first[chosen]), int(runs.points[chosen])
        while points > 1:
            lesser = points // 2
            if noise.choose(math.log(lesser) - math.log(points - lesser)):
                points = lesser
            else:
                first, points = first + lesser * self.step, points - lesser
        return EstimatorOutput((first,))

    def _runs(self, histogram: Histogram, epsilon: Number) -> _Runs:
        """Runs in ascending order: each value of the table, and the points between two values."""
        lower, upper = self._ends()
        part, rest = self.p.numerator, self.p.denominator - self.p.numerator
        values, ranks = histogram.values, histogram.cumulative_counts
        edges = np.concatenate(([lower - self.step], values, [upper + self.step]))
        gaps = np.diff(edges) // self.step - 1
        under = np.empty(2 * values.size + 1, np.int64)
        upto = np.empty_like(under)
        first, points = np.empty_like(under), np.empty_like(under)
        first[0::2], points[0::2] = edges[:-1] + self.step, gaps
        first[1::2], points[1::2] = values, 1
        under[0::2] = upto[0::2] = ranks
        under[1::2], upto[1::2] = ranks[:-1], ranks[1:]
        mass = histogram.mass
        # Products beyond 64 bits would wrap around and break the guarantee.
        if max(part, rest) * (mass + 1) >= 2**62:
            under, upto = under.astype(object), upto.astype(object)
        distance = np.maximum(
            np.maximum(part * (mass - upto) - rest * upto, 0),
            rest * under - part * (mass - under) + 1,
        )
        nonempty = points > 0
        distance -= distance[nonempty].min()
        rate = as_float(budget_of(epsilon) / (2 * max(part, rest)))
        weights = np.log(points[nonempty]) - rate * distance[nonempty].astype(np.float64)
        return _Runs(first[nonempty], points[nonempty], weights)

    def span(self, interval: Interval) -> Span:
        """First lattice unit inside, and the first unit above the interval."""
        return whole_span(interval)

    def accept(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """Share of the weight that lies inside the interval."""
        return sigmoid(self.logit(histogram, interval, epsilon))

    def logit(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """Log-odds that the chosen point lies inside the interval; -inf if no point does."""
        lower, upper = self._ends()
        low, high = (min(max(cut, lower), upper + 1) for cut in whole_span(interval))
        runs = self._runs(histogram, epsilon)
        # Number of a run's points below a cut; the points are first, first + step, ...
        upto = [np.clip(-((runs.first - cut) // self.step), 0, runs.points) for cut in (low, high)]
        points_inside = upto[1] - upto[0]
        with np.errstate(divide="ignore"):
            inner = log_sum(runs.weights + np.log(points_inside / runs.points))
            outer = log_sum(runs.weights + np.log((runs.points - points_inside) / runs.points))
        return inner - outer

    def contains(self, released: EstimatorOutput, span: Span) -> bool:
        """Whether the chosen point lies between the cuts."""
        return span[0] <= released.numbers[0] < span[1]

    def below(self, released: EstimatorOutput, cut: Cut, epsilon: Number) -> float:
        """1, because the release gives no p-value."""
        return 1.0

    def at_least(self, released: EstimatorOutput, cut: Cut, epsilon: Number) -> float:
        """1, because the release gives no p-value."""
        return 1.0

    def estimate(self, released: EstimatorOutput) -> Fraction | None:
        """Chosen point."""
        return Fraction(released.numbers[0])

    def confidence(
        self, released: EstimatorOutput, epsilon: Number, alpha: Number
    ) -> tuple[Fraction | None, Fraction | None]:
        """No bound."""
        return None, None
