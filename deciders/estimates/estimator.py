"""What an estimator is, and what follows from its release for one interval.

A *cut* splits the line of answers in two.  An estimator gives, for a cut, the p-values of the two
claims "the answer is below the cut" and "the answer is not": the largest probability, over all
tables for which the claim is false, of a release that speaks for it as much.  An interval lies
between two cuts, so a verdict on it follows:

* *within* needs both claims, so its p-value is the larger of theirs (an intersection-union test);
* *outside* needs either, so its p-value is twice the smaller (Bonferroni).

Nothing here reads the private table: all is post-processing of one release.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol

from deciders.exact import Number
from deciders.histogram import Histogram
from deciders.interval import Interval
from deciders.noise import Noise

Cut = int | Fraction
Span = tuple[Cut, Cut]


@dataclass(frozen=True, slots=True)
class Released:
    """The private output of one estimator: whole numbers, all that leaves it about D."""

    numbers: tuple[int, ...]


class Estimator(Protocol):
    """One mechanism that answers for any interval, as a frozen value; lattice units throughout.

    Conformers: LaplaceEstimate, SumAndCount, RankCounts, ExponentialQuantile, RaceEstimate.
    ``exact`` says that ``below`` and ``at_least`` are p-values that can be small; else one of them,
    or both, are 1, and an outcome is worth what ``accept`` says on public stand-ins.
    """

    id: ClassVar[str]
    exact: ClassVar[bool]

    @property
    def aggregate(self) -> str:
        """What it estimates."""
        ...

    @property
    def bounds(self) -> tuple[int | None, int | None, int]:
        """Lower, upper and step of the attribute, None where no bound is needed."""
        ...

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Return the largest noise scale that ``release`` draws, or a bound on it; public."""
        ...

    def release(self, histogram: Histogram, epsilon: Number, noise: Noise) -> Released:
        """Return one epsilon-DP release (guarantee and source in each conformer)."""
        ...

    def span(self, interval: Interval) -> Span:
        """Return the cuts between which an answer inside ``interval`` lies."""
        ...

    def accept(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """Return the exact ``Pr[inside]`` on ``histogram``: not private, for analysis only."""
        ...

    def contains(self, released: Released, span: Span) -> bool:
        """Say whether the release speaks for an answer between the cuts."""
        ...

    def below(self, released: Released, cut: Cut, epsilon: Number) -> float:
        """Return the p-value of the claim that the answer is below ``cut``."""
        ...

    def at_least(self, released: Released, cut: Cut, epsilon: Number) -> float:
        """Return the p-value of the claim that the answer is not below ``cut``."""
        ...

    def estimate(self, released: Released) -> Fraction | None:
        """Return the answer as estimated, None where the release gives none."""
        ...

    def confidence(
        self, released: Released, epsilon: Number, alpha: Number
    ) -> tuple[Fraction | None, Fraction | None]:
        """Return ends that hold the answer with probability >= 1 - alpha; None for no bound."""
        ...


def whole_span(interval: Interval) -> tuple[int, int]:
    """Return the span of ``interval`` for answers that are whole numbers: ``a <= q < b``."""
    return math.floor(interval.lower) + 1, math.ceil(interval.upper)


def inside(estimator: Estimator, released: Released, interval: Interval) -> bool:
    """Say whether the release speaks for an answer inside ``interval``."""
    return estimator.contains(released, estimator.span(interval))


def within(estimator: Estimator, released: Released, interval: Interval, epsilon: Number) -> float:
    """Return the p-value of the claim that the answer is inside ``interval``."""
    low, high = estimator.span(interval)
    return max(estimator.at_least(released, low, epsilon), estimator.below(released, high, epsilon))


def outside(estimator: Estimator, released: Released, interval: Interval, epsilon: Number) -> float:
    """Return the p-value of the claim that the answer is not inside ``interval``."""
    return clear_of(estimator, released, estimator.span(interval), epsilon)


def clear_of(estimator: Estimator, released: Released, span: Span, epsilon: Number) -> float:
    """Return the p-value of the claim that the answer is not between the cuts ``span``."""
    low, high = span
    if low >= high:
        return 0.0
    either = estimator.below(released, low, epsilon), estimator.at_least(released, high, epsilon)
    return min(1.0, 2 * min(either))
