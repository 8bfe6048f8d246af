"""Estimators: their interface, their output, and the verdicts that follow for one interval.

A *cut* splits the line of answers in two.  For each cut an estimator gives the p-values of two
claims: "the answer is below the cut" and "the answer is not below it".  For each table there is a
probability that a release supports a claim at least as strongly as the observed release does.  The
p-value of the claim is the largest of these probabilities over all tables for which the claim is
false.  An interval lies between two cuts, so a verdict on it follows:

* *within* needs both claims, so its p-value is the larger of the two (an intersection-union test);
* *outside* needs one claim, so its p-value is twice the smaller (Bonferroni), or a better p-value
  that the estimator knows (``apart``).

Nothing here reads the private table, because everything is post-processing of one release.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol

from pqd.deciders.exact import Number, probability
from pqd.deciders.histogram import Histogram
from pqd.deciders.interval import Interval
from pqd.deciders.noise import Noise

Cut = int | Fraction
Span = tuple[Cut, Cut]


@dataclass(frozen=True, slots=True)
class EstimatorOutput:
    """Private output of one estimator: whole numbers, which are all that it reveals about D."""

    numbers: tuple[int, ...]


class Estimator(Protocol):
    """One mechanism that answers for any interval, as a frozen value; everything in lattice units.

    Conformers: LaplaceEstimate, SumAndCount, SumOverCount, RankCounts, ExponentialQuantile,
    RaceEstimate.  MajorityCounts serves deciders only.
    ``exact``: both p-values, ``below`` and ``at_least``, can be small.  Otherwise at least one of
    them is always 1, and only ``accept`` on public stand-ins tells how reliable an outcome is.
    """

    id: ClassVar[str]
    exact: ClassVar[bool]

    @property
    def aggregate(self) -> str:
        """Aggregate."""
        ...

    @property
    def bounds(self) -> tuple[int | None, int | None, int]:
        """Lower, upper and step of the attribute; None where no bound is needed."""
        ...

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Largest noise scale that ``release`` draws, or a bound on that scale; public."""
        ...

    def release(self, histogram: Histogram, epsilon: Number, noise: Noise) -> EstimatorOutput:
        """One epsilon-DP release; each conformer states its guarantee and source."""
        ...

    def span(self, interval: Interval) -> Span:
        """Cuts between which every answer inside ``interval`` lies."""
        ...

    def accept(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """Exact ``Pr[inside]`` on ``histogram``; not private, for analysis only."""
        ...

    def contains(self, released: EstimatorOutput, span: Span) -> bool:
        """Whether the release supports an answer between the cuts."""
        ...

    def below(self, released: EstimatorOutput, cut: Cut, epsilon: Number) -> float:
        """P-value of the claim that the answer is below ``cut``."""
        ...

    def at_least(self, released: EstimatorOutput, cut: Cut, epsilon: Number) -> float:
        """P-value of the claim that the answer is not below ``cut``."""
        ...

    def apart(self, released: EstimatorOutput, span: Span, epsilon: Number) -> float:
        """P-value of the claim that the answer is not between the two cuts of ``span``."""
        ...

    def estimate(self, released: EstimatorOutput) -> Fraction | None:
        """Estimated answer; None if the release gives none."""
        ...

    def confidence(
        self, released: EstimatorOutput, epsilon: Number, alpha: Number
    ) -> tuple[Fraction | None, Fraction | None]:
        """Ends of the answers that no claim rules out at alpha; None means no bound.

        Each end is wrong with probability at most alpha, so both hold with probability at least
        ``1 - 2 alpha``.  A verdict with a p-value of at most alpha is such a claim, so the ends are
        on its side.
        """
        ...


class BonferroniClaims:
    """Mix-in of the estimators that know only the two claims, which Bonferroni combines."""

    __slots__ = ()

    def apart(self: Estimator, released: EstimatorOutput, span: Span, epsilon: Number) -> float:
        """Twice the smaller p-value of the two claims."""
        low, high = span
        either = self.below(released, low, epsilon), self.at_least(released, high, epsilon)
        return min(1.0, 2 * min(either))


def two_sided(tail: Callable[[int], float], released: int, first: int, last: int) -> float:
    """P-value of "the answer is not in ``first .. last``", given the answer plus noise.

    The noise must be symmetric with one peak, and ``tail(x)`` must be at least the chance of x or
    more.  The p-value is the largest chance, over answers inside, of a release at least as far
    outside.  The chance is largest for an answer at an end (docs/theory.md, Theorem B1).  The
    p-value is 1 for a release inside.
    """
    beyond = max(first - released, released - last)
    return min(1.0, tail(beyond) + tail(beyond + last - first)) if beyond > 0 else 1.0


def whole_span(interval: Interval) -> tuple[int, int]:
    """Span of ``interval`` for answers that are whole numbers: ``a <= q < b``."""
    return math.floor(interval.lower) + 1, math.ceil(interval.upper)


def inside(estimator: Estimator, released: EstimatorOutput, interval: Interval) -> bool:
    """Whether the release supports an answer inside ``interval``."""
    return estimator.contains(released, estimator.span(interval))


def within(
    estimator: Estimator, released: EstimatorOutput, interval: Interval, epsilon: Number
) -> float:
    """P-value of the claim that the answer is inside ``interval``."""
    low, high = estimator.span(interval)
    if low >= high:
        return 1.0
    return max(estimator.at_least(released, low, epsilon), estimator.below(released, high, epsilon))


def outside(
    estimator: Estimator, released: EstimatorOutput, interval: Interval, epsilon: Number
) -> float:
    """P-value of the claim that the answer is not inside ``interval``."""
    return outside_span(estimator, released, estimator.span(interval), epsilon)


def outside_span(
    estimator: Estimator, released: EstimatorOutput, span: Span, epsilon: Number
) -> float:
    """P-value of the claim that the answer is not between the two cuts of ``span``."""
    low, high = span
    return 0.0 if low >= high else estimator.apart(released, span, epsilon)


def outcome_p_value(
    estimator: Estimator,
    released: EstimatorOutput,
    interval: Interval,
    epsilon: Number,
    *,
    outcome: bool,
) -> float | None:
    """P-value of an outcome; None if the release gives no p-value for it."""
    p_value = (within if outcome else outside)(estimator, released, interval, epsilon)
    return None if p_value >= 1 and not estimator.exact else p_value


def by_cuts(
    estimator: Estimator,
    cuts: Sequence[int],
    released: EstimatorOutput,
    epsilon: Number,
    alpha: Number,
) -> tuple[Fraction | None, Fraction | None]:
    """Cuts up to which, from either side, the claims hold at level alpha, one after another.

    Claims are tested in a fixed order, up to the first claim that fails, so errors do not add up.
    """
    level = float(probability(alpha, "alpha"))
    low = high = None
    for cut in cuts:
        if estimator.at_least(released, cut, epsilon) > level:
            break
        low = Fraction(cut)
    for cut in reversed(cuts):
        if estimator.below(released, cut, epsilon) > level:
            break
        high = Fraction(cut - 1)
    return low, high
