"""Measurements that decide one query, and the rules that turn an output into a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from pqd.accounting.cache_keys import parameters_of
from pqd.deciders import Decider, Decision, Interval
from pqd.deciders.estimators import EstimatorOutput, LaplaceEstimate
from pqd.deciders.single.base import Estimate
from pqd.deciders.single.inverse_sensitivity import margin_ends
from pqd.deciders.single.noisy_answer import NoisyAnswer
from pqd.run.measurement import Output, QueryMeasurement

if TYPE_CHECKING:
    from pqd.deciders import Histogram, Noise


# Without slots, so that the cache key is computed once.
@dataclass(frozen=True, kw_only=True)
class VerdictMeasurement(QueryMeasurement[Output]):
    """Measurement of one query by a decider."""

    decider: Decider
    interval: Interval
    tau: Fraction

    @cached_property
    def settled(self) -> bool:
        """Whether every table within the bounds has the same verdict, which then costs nothing."""
        return self.decider.settled(self.interval) is not None

    def ledger_facts(self) -> dict[str, Any]:
        """Public facts that the ledger keeps of the charge."""
        return {**super().ledger_facts(), "tau": str(self.tau)}


# Without slots, for the same reason.
@dataclass(frozen=True, kw_only=True)
class DeciderMeasurement(VerdictMeasurement[Decision]):
    """Measurement whose output is a verdict on the one interval."""

    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the decider, and the interval."""
        return {"kind": "verdict", "interval": self.interval, **parameters_of(self.decider)}

    def run(self, counts: Histogram, noise: Noise) -> Decision:
        """Verdict of the decider."""
        return self.decider.decide(counts, self.interval, self.epsilon, noise)


# Without slots, for the same reason.
@dataclass(frozen=True, kw_only=True)
class AnswerMeasurement(VerdictMeasurement[EstimatorOutput]):
    """Measurement whose output is the noisy answer.

    It is one whatever the interval, and one with the estimate of a comparison: another tolerance,
    or another copy, is judged by what was paid for before.
    """

    estimator: LaplaceEstimate

    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the estimator."""
        return {"kind": "release", **parameters_of(self.estimator)}

    def run(self, counts: Histogram, noise: Noise) -> EstimatorOutput:
        """Noisy answer."""
        return self.estimator.release(counts, self.epsilon, noise)


class VerdictRule(Protocol):
    """Post-processing of one measurement's output into a verdict.

    Conformers: DeciderRule, AnswerRule, BatchRule.
    """

    @property
    def identity(self) -> object:
        """Identity of the verdict among those of one measurement."""
        ...

    def decision(self, output: Any) -> Decision:  # noqa: ANN401 - of the measurement's kind
        """Verdict that the output leads to."""
        ...

    def estimate(self, decision: Decision) -> Estimate:
        """Private answer in lattice units, as far as the verdict releases it."""
        ...

    def margin_ends(self, decision: Decision, estimate: Estimate) -> tuple[int, int] | None:
        """Ends that hold the exact margin with probability at least 1 - alpha, if one is known.

        ``estimate`` is that of the decision.
        """
        ...


@dataclass(frozen=True, slots=True)
class DeciderRule:
    """Rule of a measurement that is itself a verdict."""

    decider: Decider
    interval: Interval
    epsilon: Fraction
    alpha: Fraction

    @property
    def identity(self) -> object:
        """None: the interval is part of the measurement."""
        return None

    def decision(self, output: Decision) -> Decision:
        """Verdict itself: the output."""
        return output

    def estimate(self, decision: Decision) -> Estimate:
        """Statistic that the decider releases, if it does."""
        return self.decider.estimated(decision, self.interval, self.epsilon, self.alpha)

    def margin_ends(self, decision: Decision, estimate: Estimate) -> tuple[int, int] | None:
        """Ends from the exact law of the margin's noise."""
        del estimate
        if decision.margin is None:
            return None
        return margin_ends(decision.margin, self.epsilon, self.alpha)


@dataclass(frozen=True, slots=True)
class AnswerRule:
    """Rule of a noisy answer: whether it lies inside the interval."""

    decider: NoisyAnswer
    interval: Interval
    epsilon: Fraction
    alpha: Fraction

    @property
    def identity(self) -> object:
        """Interval, which tells verdicts on one answer apart."""
        return self.interval.lower, self.interval.upper

    def decision(self, output: EstimatorOutput) -> Decision:
        """Verdict: post-processing of the noisy answer."""
        return self.decider.verdict(output, self.interval, self.epsilon)

    def estimate(self, decision: Decision) -> Estimate:
        """Noisy answer and its interval."""
        return self.decider.estimated(decision, self.interval, self.epsilon, self.alpha)

    def margin_ends(self, decision: Decision, estimate: Estimate) -> tuple[int, int] | None:
        """Ends of the margins of the answers within the interval of the noisy one."""
        _, low, high = estimate
        if decision.margin is None or low is None or high is None:
            return None
        return self.decider.margins(low, high, self.interval)
