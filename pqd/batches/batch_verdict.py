"""Verdicts that are derived from the answers of a batch (Patwa 2023, Algorithm 1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from pqd.batches.batch_measurement import (
    BatchMeasurement,
    BatchPlanner,
    possible_answers,
    selection,
)
from pqd.batches.batch_plan import BatchPlan
from pqd.batches.mechanisms import NOISE_KNOWN
from pqd.batches.simulation import ErrorSimulation
from pqd.deciders.batch.base import BatchOutput
from pqd.deciders.batch.decision_rule import (
    Errors,
    SimulatedErrors,
    answer_verdict,
    decision_chance,
    estimate,
    on_either_side,
    proved_outcomes,
    rates,
    threshold,
)
from pqd.deciders.bounds import AnswerRange
from pqd.deciders.errors import ParameterError
from pqd.deciders.evaluation.effectiveness import WEIGHED, ErrorRates, Threshold, expected_wrong
from pqd.deciders.note import Note
from pqd.deciders.single.base import Estimate
from pqd.parameters import Detail
from pqd.planning.choose_decider import GAPS, Candidate
from pqd.planning.lattices import condition_of
from pqd.planning.query_verdict import PlannedQueryVerdict, plan_fields
from pqd.sql.predicate import Atom
from pqd.sql.regions import exactly

if TYPE_CHECKING:
    from pqd.deciders import Decision, Interval

# Number of simulation runs for a plan whose errors no theory gives.
_SIMULATION_RUNS = 20
# Expected errors that agree to this number of digits are ties.
DIGITS = 9


@dataclass(frozen=True, slots=True)
class BatchRule:
    """Rule for one query of a batch: yes if its answer lies inside the interval.

    ``place`` is the place of the query among the answers.  ``errors`` is the law of the error of
    the query's answer.  ``possible`` is the range of answers that a table can have.
    """

    place: int
    errors: Errors
    interval: Interval
    alpha: Fraction
    possible: AnswerRange

    @property
    def identity(self) -> object:
        """Place and interval, which distinguish the verdicts of one batch."""
        return self.place, self.interval.lower, self.interval.upper

    def decision(self, output: BatchOutput) -> Decision:
        """Verdict, by post-processing of the batch's output."""
        return answer_verdict(
            self.errors, round(output.answers[self.place]), self.interval, self.possible
        )

    def estimate(self, decision: Decision) -> Estimate:
        """Released answer, and its interval if the noise is known."""
        (released,) = decision.released
        found = estimate(self.errors, released, self.alpha, self.possible)
        return found.on_side(decision, self.interval, self.alpha)

    def margin_ends(self, decision: Decision, estimate: Estimate) -> None:
        """None, because a batch gives no margins."""
        del decision, estimate


class BatchCandidate(NamedTuple):
    """Batch that could answer a group of queries, evaluated on public data.

    ``errors``, ``rates``, ``thresholds`` and ``wrong`` have one item per query.  ``wrong`` is the
    probability of a wrong verdict.
    """

    name: str
    batch: BatchMeasurement
    errors: tuple[Errors, ...]
    rates: tuple[ErrorRates, ...]
    thresholds: tuple[Threshold, ...]
    wrong: tuple[float, ...]

    def verdict(
        self, place: int, single: PlannedQueryVerdict, reason: Note, *others: Candidate
    ) -> PlannedQueryVerdict:
        """Verdict of this batch on the query of ``single``; ``others`` are its rival candidates."""
        taken = self.candidate(place, single)
        choice = replace(single.choice, taken=taken, reason=reason, candidates=(taken, *others))
        among_answers = self.batch.places[selection(single.statistic)]
        possible = possible_answers(self.batch.statistic.measure)
        rule = BatchRule(
            among_answers, self.errors[place], single.interval, single.criteria.alpha, possible
        )
        fields = {**plan_fields(single), "choice": choice}
        condition = condition_of(single.query, single.statistic)
        return PlannedQueryVerdict(**fields, measurement=self.batch, rule=rule, condition=condition)

    def candidate(self, place: int, single: PlannedQueryVerdict) -> Candidate:
        """Evaluation of the batch for one query."""
        errors, tau = self.errors[place], single.interval.tau
        curve = _chances(errors, tau, GAPS) if single.criteria.detail is Detail.CURVES else None
        possible = possible_answers(self.batch.statistic.measure)
        chance = decision_chance(errors, single.interval, single.criteria.alpha, possible)
        return Candidate(
            self, self.thresholds[place], rates=self.rates[place], chance=chance, curve=curve
        )

    @property
    def proves(self) -> frozenset[bool]:
        """Outcomes that can have a p-value: both if the noise is known."""
        return proved_outcomes(self.errors)

    @property
    def id(self) -> str:
        """Name in reports."""
        return f"{self.name}_batch"


def _chances(errors: Errors, tau: Fraction, gaps: Sequence[Fraction]) -> tuple[float, ...]:
    """``Pr[yes]`` at each true gap, a multiple of tau; the worse of the two sides.

    A gap is rounded up to the next whole answer.  The result is NaN if a gap below 1 is rounded up
    to the end of the interval.
    """
    curve = []
    for gap in gaps:
        distance = math.ceil(gap * tau)
        chances = on_either_side(errors, distance, tau)
        worse = (min if gap < 1 else max)(chances)
        curve.append(math.nan if gap < 1 and distance >= tau else worse)
    return tuple(curve)


class OpenConditionsError(ParameterError):
    """Error for open conditions, for which public data do not tell which rows can meet them."""

    def __init__(self, mechanism: str, open_conditions: Sequence[str]) -> None:
        """Name the mechanism and one of the conditions."""
        unread = [name for name in open_conditions if exactly(Atom(name)) is None]
        super().__init__(
            f"{mechanism} does not take {(unread or open_conditions)[0]}, only comparisons of one "
            "column with constants; use workload, or alone"
        )


def batch_candidates(
    planner: BatchPlanner, name: str, single: Sequence[PlannedQueryVerdict], mechanism: str
) -> list[BatchCandidate]:
    """Batches that could answer the queries of ``single``, from best to worst.

    ``auto`` considers only mechanisms with known noise, since other verdicts have no p-value.

    Raises
    ------
    PqdError
        If no mechanism fits.
    """
    candidates: list[BatchCandidate] = []
    refusal: OpenConditionsError | None = None
    for plan in planner.plans(mechanism, NOISE_KNOWN).values():
        if plan.classes and plan.classes.open_conditions:
            refusal = OpenConditionsError(plan.id, plan.classes.open_conditions)
            continue
        errors = plan.noise(planner.epsilon) or _simulated_errors(plan, planner)
        candidates.append(_candidate(planner.measurement(name, plan), single, errors))
    if refusal and not candidates:
        raise refusal
    if not candidates:
        raise ParameterError("no mechanism whose noise is known fits these queries")

    def place(candidate: BatchCandidate) -> tuple[float, float]:
        pairs = zip(candidate.thresholds, single, strict=True)
        thresholds = math.fsum(relative(*pair) for pair in pairs)
        return round(math.fsum(candidate.wrong), DIGITS), thresholds

    return sorted(candidates, key=place)


def relative(threshold: Threshold, verdict: PlannedQueryVerdict) -> float:
    """Threshold of a verdict as a multiple of its tolerance."""
    return threshold.tau / float(verdict.interval.tau)


def _candidate(
    batch: BatchMeasurement, single: Sequence[PlannedQueryVerdict], every: Sequence[Errors]
) -> BatchCandidate:
    errors = tuple(every[batch.places[selection(verdict.statistic)]] for verdict in single)
    pairs = [(e, verdict.interval.tau) for e, verdict in zip(errors, single, strict=True)]
    return BatchCandidate(
        batch.plan.id,
        batch,
        errors,
        tuple(rates(e, tau) for e, tau in pairs),
        tuple(threshold(e, v.criteria.alpha) for e, v in zip(errors, single, strict=True)),
        tuple(expected_wrong(_chances(e, tau, WEIGHED)) for e, tau in pairs),
    )


def _simulated_errors(plan: BatchPlan, planner: BatchPlanner) -> list[SimulatedErrors]:
    """Simulated errors of each answer of a plan."""
    simulation = ErrorSimulation(planner.workload, planner.counts, planner.epsilon)
    drawn = simulation.errors(plan, _SIMULATION_RUNS)
    return [SimulatedErrors(tuple(column)) for column in drawn.T.tolist()]
