"""Estimators: their interface, their output, and what follows from it for one interval.

A *cut* splits the line of answers in two.  An estimator gives, for a cut, the p-values of the two
claims "the answer is below the cut" and "the answer is not": the largest probability, over all
tables for which the claim is false, of a release that speaks for it as much.  An interval lies
between two cuts, so a verdict on it follows:

* *within* needs both claims, so its p-value is the larger of theirs (an intersection-union test);
* *outside* needs either, so its p-value is twice the smaller (Bonferroni), or what an estimator
  knows better (``apart``).

Nothing here reads the private table: all is post-processing of one release.
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
    """Private output of one estimator: whole numbers, all that leaves it about D."""

    numbers: tuple[int, ...]


class Estimator(Protocol):
    """One mechanism that answers for any interval, as a frozen value; lattice units throughout.

    Conformers: LaplaceEstimate, SumAndCount, RankCounts, ExponentialQuantile, RaceEstimate.  Of one
    decider alone: MajorityCounts.
    ``exact`` says that ``below`` and ``at_least`` are p-values that can be small; else one of them,
    or both, are 1, and an outcome is worth what ``accept`` says on public stand-ins.
    """

    id: ClassVar[str]
    exact: ClassVar[bool]

    @property
    def aggregate(self) -> str:
        """Aggregate."""
        ...

    @property
    def bounds(self) -> tuple[int | None, int | None, int]:
        """Lower, upper and step of the attribute, None where no bound is needed."""
        ...

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Largest noise scale that ``release`` draws, or a bound on it; public."""
        ...

    def release(self, histogram: Histogram, epsilon: Number, noise: Noise) -> EstimatorOutput:
        """One epsilon-DP release (guarantee and source in each conformer)."""
        ...

    def span(self, interval: Interval) -> Span:
        """Cuts between which an answer inside ``interval`` lies."""
        ...

    def accept(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """Exact ``Pr[inside]`` on ``histogram``: not private, for analysis only."""
        ...

    def contains(self, released: EstimatorOutput, span: Span) -> bool:
        """Whether the release speaks for an answer between the cuts."""
        ...

    def below(self, released: EstimatorOutput, cut: Cut, epsilon: Number) -> float:
        """P-value of the claim that the answer is below ``cut``."""
        ...

    def at_least(self, released: EstimatorOutput, cut: Cut, epsilon: Number) -> float:
        """P-value of the claim that the answer is not below ``cut``."""
        ...

    def apart(self, released: EstimatorOutput, span: Span, epsilon: Number) -> float:
        """P-value of the claim that the answer is not between the cuts ``span``."""
        ...

    def estimate(self, released: EstimatorOutput) -> Fraction | None:
        """Answer as estimated, None where the release gives none."""
        ...

    def confidence(
        self, released: EstimatorOutput, epsilon: Number, alpha: Number
    ) -> tuple[Fraction | None, Fraction | None]:
        """Ends that hold the answer with probability >= 1 - alpha; None for no bound."""
        ...


class BonferroniClaims:
    """Mix-in of the estimators whose two claims are all that is known: Bonferroni."""

    __slots__ = ()

    def apart(self: Estimator, released: EstimatorOutput, span: Span, epsilon: Number) -> float:
        """Twice the smaller p-value of both claims."""
        low, high = span
        either = self.below(released, low, epsilon), self.at_least(released, high, epsilon)
        return min(1.0, 2 * min(either))


def two_sided(tail: Callable[[int], float], released: int, first: int, last: int) -> float:
    """P-value of "the answer is not in ``first .. last``" from answer plus noise.

    The noise is symmetric with one peak, and ``tail(x)`` is at least its chance of x or more.  The
    p-value is the largest chance, over answers inside, of a release at least as far outside; it is
    that of an answer at an end (docs/theory.md, Theorem B1).  1 for a release inside.
    """
    beyond = max(first - released, released - last)
    return min(1.0, tail(beyond) + tail(beyond + last - first)) if beyond > 0 else 1.0


def whole_span(interval: Interval) -> tuple[int, int]:
    """Span of ``interval`` for answers that are whole numbers: ``a <= q < b``."""
    return math.floor(interval.lower) + 1, math.ceil(interval.upper)


def inside(estimator: Estimator, released: EstimatorOutput, interval: Interval) -> bool:
    """Whether the release speaks for an answer inside ``interval``."""
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
    return clear_of(estimator, released, estimator.span(interval), epsilon)


def clear_of(estimator: Estimator, released: EstimatorOutput, span: Span, epsilon: Number) -> float:
    """P-value of the claim that the answer is not between the cuts ``span``."""
    low, high = span
    return 0.0 if low >= high else estimator.apart(released, span, epsilon)


def claimed(
    estimator: Estimator,
    released: EstimatorOutput,
    interval: Interval,
    epsilon: Number,
    *,
    outcome: bool,
) -> float | None:
    """P-value of an outcome, None where the release has none for it."""
    p_value = (within if outcome else outside)(estimator, released, interval, epsilon)
    return None if p_value >= 1 and not estimator.exact else p_value


def by_cuts(
    estimator: Estimator,
    cuts: Sequence[int],
    released: EstimatorOutput,
    epsilon: Number,
    alpha: Number,
) -> tuple[Fraction | None, Fraction | None]:
    """Cuts up to which, from either side, claims hold at alpha/2 one after another.

    Tested in a fixed order, up to the first that does not hold, so no error adds up.
    """
    level = float(probability(alpha, "alpha")) / 2
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
