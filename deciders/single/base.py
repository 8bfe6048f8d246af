"""Deciders: their interface, their output, and the mix-ins that most of them share."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar, NamedTuple, Protocol

from pqd.deciders.bounds import AnswerRange
from pqd.deciders.distributions import as_probability, laplace_cdf, probability_inside, sigmoid
from pqd.deciders.estimators.base import (
    Estimator,
    EstimatorOutput,
    outcome_p_value,
    whole_span,
)
from pqd.deciders.estimators.laplace import LaplaceEstimate
from pqd.deciders.evaluation.effectiveness import Threshold, searched_threshold
from pqd.deciders.evaluation.needed_budget import searched_epsilon
from pqd.deciders.evaluation.trials import Trial
from pqd.deciders.exact import Number, as_float, budget_of, exceeds, probability
from pqd.deciders.histogram import Histogram
from pqd.deciders.interval import Interval
from pqd.deciders.noise import Noise


@dataclass(frozen=True, slots=True)
class Decision:
    """Private output of one decider: everything that it reveals about the private table D.

    ``outcome`` is True for yes ("within tolerance").  ``p_value`` is an upper bound on the chance
    of this outcome, on every table for which the outcome is wrong.  It is None if the released
    numbers give no bound.  ``margin`` is the noisy margin.  ``released`` is the noisy statistic,
    from which the rest follows, for deciders that show the statistic.  ``by_stated_bound``: one of
    the two bounds of the values is stated, and it alone proves this no.  ``rows_beyond`` is a noisy
    number of rows beyond the bounds, which is released beside the verdict.
    """

    outcome: bool
    p_value: float | None = None
    margin: int | None = None
    released: tuple[int, ...] = ()
    by_stated_bound: bool = False
    rows_beyond: int | None = None


class Estimate(NamedTuple):
    """Private answer as far as a release reveals it, in lattice units; unknown parts are None.

    Each end is wrong with probability at most alpha, like a verdict with a p-value of at most
    alpha: both hold with probability at least 1 - 2 alpha.
    """

    value: Fraction | None = None
    low: Fraction | None = None
    high: Fraction | None = None

    def on_side(self, decision: Decision, interval: Interval, alpha: Number) -> "Estimate":
        """Estimate whose ends do not pass an end of ``interval`` that a decided verdict rules out.

        This is for answers that are whole numbers, released with one noise.  The claims of such a
        release are nested, so the answers that no claim at alpha rules out are on the verdict's
        side.  Only ends that were moved further outwards are moved back: by a least reach of 1, or
        by a reach that was searched roughly.
        """
        value, low, high = self
        if value is None or low is None or high is None or decision.p_value is None:
            return self
        if exceeds(decision.p_value, probability(alpha, "alpha")):
            return self
        first, beyond = map(Fraction, whole_span(interval))
        if decision.outcome:
            low, high = max(low, min(value, first)), min(high, max(value, beyond - 1))
        elif value >= beyond:
            low = max(low, beyond)
        elif value < first:
            high = min(high, first - 1)
        return Estimate(value, low, high)


def estimate_of(
    estimator: Estimator, released: EstimatorOutput, epsilon: Number, alpha: Number
) -> Estimate:
    """Estimate of a release, and its confidence interval, which contains the estimate.

    An estimate outside its own interval moves to the nearer end: Race-to-the-Top falls short of
    the answer by design, so its claims may lie just above its estimate.
    """
    value, (low, high) = (
        estimator.estimate(released),
        estimator.confidence(released, epsilon, alpha),
    )
    if value is not None and low is not None:
        value = max(value, low)
    if value is not None and high is not None:
        value = min(value, high)
    return Estimate(value, low, high)


# Sets of the outcomes to which a decider can give a p-value.
BOTH, NO_ALONE, NEITHER = frozenset({True, False}), frozenset({False}), frozenset[bool]()


class Decider(Protocol):
    """One mechanism of one paper, as a frozen value; everything is in lattice units.

    Conformers: LaplaceCount, NaiveExponentialCount, ExponentialCount (count.py); LaplaceSum,
    RaceToTheTopSum, TightRaceToTheTopSum, PlainSparseVectorSum, SparseVectorSum (sum.py);
    LaplaceMean (mean.py); ExponentialMedian, CorrectedExponentialMedian, ExponentialQuantileRank,
    HistogramMedian, HistogramQuantile (median.py); InverseCount, InverseSum, InverseMean,
    InverseMedian, InverseQuantile, InverseDistinct (inverse_sensitivity.py); NoisyCount,
    NoisyDistinct, NoisySum (noisy_answer.py).

    ``on(lattice)`` makes the decider for a column's lattice (registry.py calls it).
    ``accept`` and ``decide`` take the private histogram; every other argument is public.
    ``epsilon`` is any positive number and is used exactly.  ``compares`` is True if the decider
    only asks whether each value lies beyond an end of the interval, so it needs no bounds.
    ``proves`` is the set of outcomes to which the decider can give a p-value; a verdict without a
    p-value is never decided.  ``releases_answer`` is True if the decider releases the noisy answer.
    That answer does not depend on the interval, so one release gives the verdict for every
    tolerance.
    ``options`` are the names of the fields that a caller may state, each between 0 and 1; by
    default they are the paper's.
    """

    id: ClassVar[str]
    aggregate: ClassVar[str]
    compares: ClassVar[bool]
    proves: ClassVar[frozenset[bool]]
    releases_answer: ClassVar[bool]
    options: ClassVar[tuple[str, ...]]

    @property
    def bounds(self) -> tuple[int | None, int | None, int]:
        """Lower, upper and step of the attribute; None where the decider needs no bound."""
        ...

    def constant_verdict(self, interval: Interval) -> bool | None:
        """Verdict that every table has, which costs nothing; None if verdicts differ."""
        ...

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Largest noise scale that ``decide`` draws, or a bound on that scale; public."""
        ...

    def accept(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """Exact ``Pr[yes]`` on ``histogram``; not private, for analysis only."""
        ...

    def acceptance(self, histogram: Histogram, interval: Interval) -> Callable[[Fraction], float]:
        """``accept`` as a function of epsilon, for a search."""
        ...

    def decide(
        self, histogram: Histogram, interval: Interval, epsilon: Number, noise: Noise
    ) -> Decision:
        """One epsilon-DP verdict; each conformer states its guarantee and source."""
        ...

    def answer_estimate(
        self, decision: Decision, interval: Interval, epsilon: Number, alpha: Number
    ) -> Estimate:
        """Private answer as far as ``decision`` reveals it, by post-processing."""
        ...

    def tau_min(self, histogram_public: Histogram, epsilon: Number, alpha: Number) -> Threshold:
        """Effectiveness threshold (Def. 3.4) on public data."""
        ...

    def least_epsilon(self, trials: Iterable[Trial], alpha: Number) -> Fraction | float:
        """Approximate least epsilon that decides every trial (needed_budget.py)."""
        ...


class DeciderDefaults:
    """Mix-in with the defaults: no constant verdict, p-value or estimate; thresholds by search.

    A conformer that releases more than its verdict overrides the defaults.
    """

    __slots__ = ()

    compares: ClassVar[bool] = False
    proves: ClassVar[frozenset[bool]] = NEITHER
    releases_answer: ClassVar[bool] = False
    options: ClassVar[tuple[str, ...]] = ()

    def constant_verdict(self, interval: Interval) -> bool | None:
        """None, because the published deciders spend their budget on every query."""
        return None

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Bound ``9/epsilon``, which holds for every decider except the deciders of sums."""
        return 9 / budget_of(epsilon)

    def acceptance(
        self: Decider, histogram: Histogram, interval: Interval
    ) -> Callable[[Fraction], float]:
        """``accept`` as a function of epsilon."""
        return partial(self.accept, histogram, interval)

    def answer_estimate(
        self,
        decision: Decision,
        interval: Interval,
        epsilon: Number,
        alpha: Number,
    ) -> Estimate:
        """Estimate without a value or an interval."""
        return Estimate()

    def tau_min(
        self: Decider, histogram_public: Histogram, epsilon: Number, alpha: Number
    ) -> Threshold:
        """Threshold on public stand-ins, by search (docs/theory.md, section 4)."""
        return searched_threshold(self, histogram_public, epsilon, alpha)

    def least_epsilon(self: Decider, trials: Iterable[Trial], alpha: Number) -> Fraction | float:
        """Epsilon by search (docs/theory.md, section 4)."""
        return searched_epsilon(self, trials, alpha)


class ExponentialDecider(ABC):
    """Mix-in of the exponential mechanism on {no, yes}, which releases only the chosen verdict.

    A subclass defines the log-odds of yes.
    """

    __slots__ = ()

    @abstractmethod
    def logit(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """Log-odds of yes under the exponential mechanism."""

    def accept(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """``sigmoid(logit)``, which is numerically stable for large and for small odds."""
        return sigmoid(self.logit(histogram, interval, epsilon))

    def decide(
        self, histogram: Histogram, interval: Interval, epsilon: Number, noise: Noise
    ) -> Decision:
        """One epsilon-DP verdict, drawn by OpenDP (``SecureNoise.choose``)."""
        return Decision(noise.choose(self.logit(histogram, interval, epsilon)))


class GenericDecider(ABC):
    """Mix-in of Algorithm 1 (Patwa 2023): estimate, then compare; a subclass defines the estimator.

    Guarantee: epsilon-DP, as for the estimator, because the verdict, its p-value, the estimate and
    its interval are functions of one release.  The p-value is the p-value of the estimator's
    claim.  It is valid for every rule and every D.  That is: with probability at most alpha, a
    verdict is wrong and has a p-value of at most alpha.
    """

    __slots__ = ()

    proves: ClassVar[frozenset[bool]] = BOTH

    @abstractmethod
    def estimator(self, interval: Interval, epsilon: Number) -> Estimator:
        """Estimator that releases the statistic."""

    def rule(self, estimator: Estimator, released: EstimatorOutput, interval: Interval) -> bool:
        """Verdict of Algorithm 1: whether the estimate lies inside the interval."""
        estimate = estimator.estimate(released)
        return estimate is not None and interval.contains(estimate)

    def decide(
        self, histogram: Histogram, interval: Interval, epsilon: Number, noise: Noise
    ) -> Decision:
        """One epsilon-DP verdict, its p-value, and the released numbers."""
        released = self.estimator(interval, epsilon).release(histogram, epsilon, noise)
        return self.verdict(released, interval, epsilon)

    def verdict(self, released: EstimatorOutput, interval: Interval, epsilon: Number) -> Decision:
        """Verdict that follows from a release, by post-processing."""
        estimator = self.estimator(interval, epsilon)
        outcome = self.rule(estimator, released, interval)
        p_value = outcome_p_value(estimator, released, interval, epsilon, outcome=outcome)
        return Decision(outcome, p_value, released=released.numbers)

    def answer_estimate(
        self, decision: Decision, interval: Interval, epsilon: Number, alpha: Number
    ) -> Estimate:
        """Estimate, and its confidence interval at level alpha."""
        if not decision.released:
            return Estimate()
        released = EstimatorOutput(decision.released)
        return estimate_of(self.estimator(interval, epsilon), released, epsilon, alpha)


@dataclass(frozen=True, slots=True)
class LaplaceLaw:
    """Chances of a noisy answer that is compared as released; not private, for analysis only.

    The noise counts as real-valued: the grid on which it is drawn has 2^40 points in a scale.
    """

    true: int
    interval: Interval
    sensitivity: int
    range: AnswerRange

    def __call__(self, epsilon: Fraction) -> float:
        """``Pr[yes]``."""
        return probability_inside(self.true, self.interval, self.sensitivity / epsilon)

    def proof_chance(self, epsilon: Fraction, alpha: Number) -> float:
        """Chance of a yes with a p-value of at most alpha."""
        low, high = whole_span(self.interval)
        if low >= high:
            return 0.0
        far = self._far(epsilon, float(probability(alpha, "alpha")))
        # Each end is an answer that is not inside, from which noise must have come so far.
        first, last = max(low - 1 + far, self.interval.lower), min(high - far, self.interval.upper)
        if first >= last or first > self.range.most or last < self.range.least:
            return 0.0
        return probability_inside(self.true, Interval(first, last), self.sensitivity / epsilon)

    def refutation_chance(self, epsilon: Fraction, alpha: Number) -> float:
        """Chance of a no with a p-value of at most alpha."""
        low, high = whole_span(self.interval)
        if low >= high:
            return 1 - self(epsilon)
        scale = self.sensitivity / epsilon
        # Noise as far beyond the other end counts too (docs/theory.md, Theorem B1).
        both = 1 + math.exp(-as_float((high - 1 - low) / scale))
        far = self._far(epsilon, float(probability(alpha, "alpha")) / both)
        below = min(low - far, self.interval.lower)
        above = max(high - 1 + far, self.interval.upper)
        chance = 0.0
        if below >= self.range.least:
            chance += float(laplace_cdf(as_float((below - self.true) / scale)))
        if above <= self.range.most:
            chance += float(laplace_cdf(as_float((self.true - above) / scale)))
        return as_probability(chance)

    def _far(self, epsilon: Fraction, level: float) -> Fraction:
        """Distance that the noise passes with probability ``level`` on one side."""
        return max(Fraction(0), self.sensitivity / epsilon * Fraction(-math.log(2 * level)))


class LaplaceRule(GenericDecider):
    """Mix-in of the deciders that compare the noisy answer as released, before it is cut."""

    __slots__ = ()

    @property
    @abstractmethod
    def answer(self) -> LaplaceEstimate:
        """Estimator of the answer, with noise in whole units."""

    def estimator(self, interval: Interval, epsilon: Number) -> LaplaceEstimate:
        """Noisy answer on the fine grid."""
        return self.answer.finely(epsilon)

    def answer_estimate(
        self, decision: Decision, interval: Interval, epsilon: Number, alpha: Number
    ) -> Estimate:
        """Noisy answer, and the ends around it, on the side of a decided verdict."""
        found = super().answer_estimate(decision, interval, epsilon, alpha)
        return found.on_side(decision, interval, alpha)

    def rule(self, estimator: Estimator, released: EstimatorOutput, interval: Interval) -> bool:
        """Verdict of Algorithm 1 on the answer before it is cut, which ``accept`` assumes too."""
        if not isinstance(estimator, LaplaceEstimate):
            raise TypeError("the rule is that of a Laplace estimate")
        return interval.contains(estimator.noisy(released))

    def accept(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """``F(r - q) - F(l - q)`` (Prop. 4.2, exactly)."""
        return self.acceptance(histogram, interval)(budget_of(epsilon))

    def acceptance(self, histogram: Histogram, interval: Interval) -> LaplaceLaw:
        """``accept`` as a function of epsilon; the answer is computed once."""
        answer = self.answer
        return LaplaceLaw(answer.answer(histogram), interval, answer.sensitivity, answer.range)
