"""Planned verdict: a measurement, and the rule that turns its output into a verdict."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from pqd.accounting.cache_keys import digest, parameters_of
from pqd.deciders import Decider, Decision, Interval
from pqd.deciders.estimators import EstimatorOutput, LaplaceEstimate
from pqd.deciders.exact import exceeds
from pqd.deciders.single.base import Estimate
from pqd.deciders.single.inverse_sensitivity import (
    End,
    InverseSensitivity,
    StatedEnd,
    margin_ends,
)
from pqd.deciders.single.noisy_answer import NoisyAnswer
from pqd.parameters import Criteria
from pqd.reports.models.audit import Condition
from pqd.reports.models.query import CandidateFacts
from pqd.run.execution import Outputs
from pqd.run.measurement import (
    BoundTables,
    Measurement,
    MeasurementSet,
    Output,
    QueryMeasurement,
    law_of_rows,
)
from pqd.sql.predicate import canonical
from pqd.sql.schema import fold_case

if TYPE_CHECKING:
    from pqd.deciders import Histogram, Noise
    from pqd.deciders.distances.noise_laws import NoiseLaw


# Without slots, so that the cache key is computed once.
@dataclass(frozen=True, kw_only=True)
class VerdictMeasurement(QueryMeasurement[Output]):
    """Measurement of one query by a decider."""

    decider: Decider
    interval: Interval
    tau: Fraction

    @cached_property
    def is_constant(self) -> bool:
        """Whether every table within the bounds has the same verdict, which then costs nothing."""
        return self.constant_answer is not None

    @property
    def constant_answer(self) -> bool | None:
        """Verdict that every table within the bounds has; None if verdicts differ."""
        return self.decider.constant_verdict(self.interval)

    def ledger_facts(self) -> dict[str, Any]:
        """Public facts that the ledger keeps of the charge."""
        return {**super().ledger_facts(), "tau": str(self.tau), "question": self.question}

    @cached_property
    def question(self) -> str:
        """Hash of the rows, the measure and the interval in the query's own unit."""
        predicate, measure, unit = self.statistic.predicate, self.statistic.measure, self.unit
        scale, interval = self.tau / self.interval.tau, self.interval
        return digest(
            {
                "rows": canonical(predicate) if predicate else None,
                "aggregate": [self.query.aggregate, self.query.p],
                "measured": measure.sql if measure else None,
                "unit": (fold_case(unit.column), self.rows) if unit else None,
                "interval": [scale * interval.lower, scale * interval.upper],
                **({"scale": self.query.scale} if self.statistic.per_row else {}),
            }
        )


# Without slots, for the same reason.
@dataclass(frozen=True, kw_only=True)
class DeciderMeasurement(VerdictMeasurement[Decision]):
    """Measurement whose output is a verdict on one interval.

    A margin is one of rows, also where the rows of a person share a weight.  Any other decider then
    works on the parts of rows, at ``drawn_epsilon`` for each.  A person changes ``rows`` times
    ``parts`` of them, so the verdict costs the same (group privacy).

    With ``outside_epsilon`` this part of epsilon pays for the number of rows beyond the bounds,
    which one row moves by at most 1, with two-sided geometric noise.  The decider has the rest.
    Guarantee: epsilon-DP, by basic composition of the two.
    """

    outside_epsilon: Fraction = Fraction(0)

    @property
    def needs_rows(self) -> bool:
        """False: the interval is one of answers."""
        return False

    def private_rows(self, counts: Histogram) -> int:
        """Raise TypeError: the number of private rows is not counted."""
        raise TypeError(type(counts))

    def margin(self, counts: Histogram, rows: int, *, expected: bool = True) -> int:
        """Exact margin of "the answer is within the interval", or of "it is not"; private.

        The decider must be an ``InverseSensitivity``.
        """
        del rows
        decider = self.decider
        if not isinstance(decider, InverseSensitivity):
            raise TypeError(decider.id)
        margin = decider.margin if expected else decider.opposite_margin
        return int(margin(counts, self.interval))

    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the decider, and the interval."""
        parameters = {"kind": "verdict", "interval": self.interval, **parameters_of(self.decider)}
        if getattr(self.decider, "most_beyond", None) is not None and self.statistic.measure:
            parameters["beyond"] = list(self.statistic.measure.beyond)
        if self.outside_epsilon and self.statistic.measure:
            parameters["beyond"] = list(self.statistic.measure.beyond)
            parameters["outside"] = self.outside_epsilon
        return parameters

    @property
    def drawn_epsilon(self) -> Fraction:
        """Budget of the decider: for each row, or for each part of a row."""
        parts = 1 if isinstance(self.decider, InverseSensitivity) else self.parts
        return (self.epsilon - self.outside_epsilon) / parts

    def run(self, counts: Histogram, noise: Noise) -> Decision:
        """Verdict of the decider."""
        by_margin = isinstance(self.decider, InverseSensitivity)
        counted = counts if by_margin else counts.in_parts(1)
        decision = self.decider.decide(counted, self.interval, self.drawn_epsilon, noise)
        if not self.outside_epsilon or self.is_constant:
            return decision
        # The number is one of rows in any case, rounded up.
        rows_beyond = noise.laplace(counts.rows_beyond, 1 / self.outside_epsilon)
        return replace(decision, rows_beyond=rows_beyond)


# Without slots, for the same reason.
@dataclass(frozen=True, kw_only=True)
class AnswerMeasurement(VerdictMeasurement[EstimatorOutput]):
    """Measurement whose output is the noisy answer.

    The measurement does not depend on the interval.  So an answer that was paid for before also
    judges another tolerance or another copy.  The estimate of a comparison is the same measurement.
    """

    estimator: LaplaceEstimate

    @property
    def rows_law(self) -> NoiseLaw | None:
        """Law of the noise of the answer, if it is the number of private rows."""
        return law_of_rows(self.query, self.estimator, self.epsilon)

    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the estimator."""
        return {"kind": "release", **parameters_of(self.estimator)}

    def run(self, counts: Histogram, noise: Noise) -> EstimatorOutput:
        """Noisy answer."""
        return self.estimator.release(counts, self.epsilon, noise)


class VerdictRule(Protocol):
    """Post-processing of one measurement's output into a verdict.

    Conformers: MarginRule, DeciderRule, AnswerRule, BatchRule.
    """

    @property
    def identity(self) -> object:
        """Identity that tells the verdicts of one measurement apart."""
        ...

    def decision(self, output: Any) -> Decision:  # noqa: ANN401 - of the measurement's kind
        """Verdict that follows from the output."""
        ...

    def estimate(self, decision: Decision) -> Estimate:
        """Private answer in lattice units and its interval, if the verdict releases the answer."""
        ...

    def margin_ends(self, decision: Decision, estimate: Estimate) -> tuple[int, int] | None:
        """Ends of the exact margin, each wrong with probability at most alpha; None if unknown.

        ``estimate`` is the estimate of the same decision.
        """
        ...


@dataclass(frozen=True, slots=True)
class MarginRule:
    """Rule of a measurement whose output is a verdict, in some cases with its margin."""

    epsilon: Fraction
    alpha: Fraction

    @property
    def identity(self) -> object:
        """None: the tolerance is part of the measurement."""
        return None

    def decision(self, output: Decision) -> Decision:
        """Verdict: the output itself."""
        return output

    def estimate(self, decision: Decision) -> Estimate:
        """Empty estimate, because a margin alone gives no bound on the private answer."""
        del decision
        return Estimate()

    def margin_ends(self, decision: Decision, estimate: Estimate) -> tuple[int, int] | None:
        """Ends from the exact law of the margin's noise."""
        del estimate
        if decision.margin is None:
            return None
        return margin_ends(decision.margin, self.epsilon, self.alpha)


def _on_stated_side(
    decision: Decision, estimate: Estimate, interval: Interval, stated_end: End | None
) -> Decision:
    """Decision; a no whose estimate is beyond the interval, on the side of the stated bound, is so.

    Values beyond the other bound were cut, which cannot have moved the answer to this side.  The
    p-value of a no counts both sides, so it is also one of this side alone.
    """
    value = estimate.value
    if decision.outcome or stated_end is None or value is None:
        return decision
    too_large = value >= interval.upper
    beyond = too_large if stated_end == "lower" else value <= interval.lower
    return replace(decision, by_stated_bound=beyond)


@dataclass(frozen=True, slots=True)
class DeciderRule(MarginRule):
    """Rule of a verdict on a query, for deciders that may also release the answer."""

    decider: Decider
    interval: Interval
    stated_end: End | None = None

    def decision(self, output: Decision) -> Decision:
        """Verdict: the output, by its p-value on the side of the stated bound if that decides.

        Below its floor the margin of any other no is no number of changes, so it is left out.
        """
        if not isinstance(self.decider, StatedEnd) or self.decider.floor is None or output.outcome:
            return _on_stated_side(output, self.estimate(output), self.interval, self.stated_end)
        if output.margin is None:
            return output
        p_value = self.decider.side_p_value(output.margin, self.epsilon)
        if exceeds(p_value, self.alpha):
            return replace(output, margin=None)
        return replace(output, p_value=p_value, by_stated_bound=True)

    def estimate(self, decision: Decision) -> Estimate:
        """Estimate from the statistic that the decider releases; empty if it releases none."""
        return self.decider.answer_estimate(decision, self.interval, self.epsilon, self.alpha)


@dataclass(frozen=True, slots=True)
class AnswerRule:
    """Rule of a noisy answer: yes if it lies inside the interval."""

    epsilon: Fraction
    alpha: Fraction
    decider: NoisyAnswer
    interval: Interval
    stated_end: End | None = None

    @property
    def identity(self) -> object:
        """Ends of the interval, which distinguish the verdicts on one answer."""
        return self.interval.lower, self.interval.upper

    def decision(self, output: EstimatorOutput) -> Decision:
        """Verdict: post-processing of the noisy answer."""
        decision = self.decider.verdict(output, self.interval, self.epsilon)
        return _on_stated_side(decision, self.estimate(decision), self.interval, self.stated_end)

    def estimate(self, decision: Decision) -> Estimate:
        """Noisy answer and its interval."""
        return self.decider.answer_estimate(decision, self.interval, self.epsilon, self.alpha)

    def margin_ends(self, decision: Decision, estimate: Estimate) -> tuple[int, int] | None:
        """Ends of the margins of all answers in the confidence interval."""
        _, low, high = estimate
        if decision.margin is None or low is None or high is None:
            return None
        return self.decider.margins(low, high, self.interval)


@dataclass(frozen=True, eq=False, kw_only=True)
class PlannedVerdict(ABC):
    """Plan of a verdict on a query or on a distance; everything in it is public.

    Attributes
    ----------
    criteria
        The criteria of the verdict.
    scale
        The size of one lattice unit in the unit of the answer.
    answer
        The answer of the synthetic table, in its own unit.
    interval
        The interval of answers within the tolerance, in lattice units.
    measurement
        The measurement that is drawn: the verdict's own, or the measurement of a batch.
    rule
        The rule that turns the output of the measurement into the verdict.
    condition
        The bounds to which private values are cut, where nobody stated them.
    is_likely
        Whether a verdict without a p-value errs with at most alpha on all public stand-ins.
    outside_epsilon
        The part of the budget that pays for the number of rows beyond the bounds; 0 without it.
    """

    criteria: Criteria
    scale: Fraction
    answer: Fraction
    interval: Interval
    measurement: Measurement[Any]
    rule: VerdictRule
    condition: Condition | None = None
    is_likely: bool = False
    outside_epsilon: Fraction = Fraction(0)

    @property
    @abstractmethod
    def check(self) -> str:
        """Name of the check that this verdict belongs to."""

    @property
    @abstractmethod
    def taken(self) -> CandidateFacts:
        """Decider that is taken, as a report shows it."""

    @property
    @abstractmethod
    def candidates(self) -> tuple[CandidateFacts, ...]:
        """Every candidate, as a report shows it."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """Fields of ``pqd.reports.models.audit.QueryFacts`` except the candidates."""

    @property
    def is_constant(self) -> bool:
        """Whether every table within the bounds has the same verdict, which then costs nothing."""
        return self.measurement.is_constant

    @property
    def is_conditional(self) -> bool:
        """Whether both answers hold within bounds alone that nobody stated or accepted; public.

        If one bound is stated, a no on its side may hold without the other one.
        """
        if self.condition is None or self.condition.accepted:
            return False
        rule = self.rule
        if not isinstance(rule, DeciderRule | AnswerRule):
            return True
        by_floor = isinstance(rule.decider, StatedEnd) and rule.decider.floor is not None
        return rule.stated_end is None and not by_floor

    @property
    def identity(self) -> tuple[object, ...]:
        """Identity of the verdict: two verdicts with the same identity are the same verdict."""
        return self.measurement.cache_key, self.rule.identity

    def decision(self, outputs: Outputs) -> Decision:
        """Verdict, given the outputs of a run."""
        return self.rule.decision(outputs[self.measurement])


@dataclass(frozen=True)
class VerdictPlan:
    """Plan of the verdicts of one run, against one synthetic table."""

    bound: BoundTables
    verdicts: tuple[PlannedVerdict, ...]

    @property
    def measurements(self) -> MeasurementSet:
        """Measurements of the verdicts; all verdicts of a batch share one."""
        return self.bound.measurement_set([verdict.measurement for verdict in self.verdicts])
