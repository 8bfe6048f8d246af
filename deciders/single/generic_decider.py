"""GenericDecider (Patwa 2023, Algorithm 1): estimate, then compare."""

from abc import ABC, abstractmethod
from typing import ClassVar

from pqd.deciders.estimators.base import Estimator, EstimatorOutput, claimed
from pqd.deciders.estimators.laplace import LaplaceEstimate
from pqd.deciders.exact import Number
from pqd.deciders.histogram import Histogram
from pqd.deciders.interval import Interval
from pqd.deciders.noise import Noise
from pqd.deciders.single.base import BOTH, Decision, Estimate


class GenericDecider(ABC):
    """Mix-in of a decider that is an estimator and a rule; a subclass defines the estimator.

    Guarantee: epsilon-DP, like the estimator: the verdict, its p-value, the estimate and its
    interval are functions of one release.  The p-value is that of the estimator's claim.  It
    holds for every rule and every D: the probability that a verdict is wrong
    and has a p-value of at most alpha is at most alpha.
    """

    __slots__ = ()

    proves: ClassVar[frozenset[bool]] = BOTH

    @abstractmethod
    def estimator(self, interval: Interval, epsilon: Number) -> Estimator:
        """Estimator that releases the statistic."""

    def says(self, estimator: Estimator, released: EstimatorOutput, interval: Interval) -> bool:
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
        outcome = self.says(estimator, released, interval)
        p_value = claimed(estimator, released, interval, epsilon, outcome=outcome)
        return Decision(outcome, p_value, released=released.numbers)

    def estimated(
        self, decision: Decision, interval: Interval, epsilon: Number, alpha: Number
    ) -> Estimate:
        """Estimate, and its confidence interval at level alpha."""
        if not decision.released:
            return Estimate()
        estimator, released = self.estimator(interval, epsilon), EstimatorOutput(decision.released)
        ends = estimator.confidence(released, epsilon, alpha)
        return Estimate(estimator.estimate(released), *ends)


class LaplaceRule(GenericDecider):
    """Mix-in of the deciders that compare the noisy answer exactly as it was released."""

    __slots__ = ()

    def says(self, estimator: Estimator, released: EstimatorOutput, interval: Interval) -> bool:
        """Verdict of Algorithm 1 on the answer before it is cut, as ``accept`` assumes."""
        if not isinstance(estimator, LaplaceEstimate):
            raise TypeError("the rule is that of a Laplace estimate")
        return interval.contains(estimator.noisy(released))
