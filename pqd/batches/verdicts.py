"""Verdicts derived from the answers of a batch (Patwa 2023, Algorithm 1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from deciders.batch.verdicts import (
    Errors,
    SimulatedErrors,
    accept,
    decided,
    estimate,
    proved_outcomes,
    rates,
    threshold,
)
from deciders.errors import ParameterError
from deciders.evaluation.effectiveness import WEIGHED, expected_wrong
from pqd.batches.batch import BatchMeasurement, BatchProblem, selection
from pqd.batches.simulation import ErrorSimulation
from pqd.parameters import Detail
from pqd.planning.choose_decider import AUTO, GAPS, Candidate
from pqd.planning.decisions import PlannedVerdict, plan_fields
from pqd.sql.predicate import Atom
from pqd.sql.regions import exactly

if TYPE_CHECKING:
    from deciders import Decision, Interval
    from deciders.batch.base import BatchOutput
    from deciders.evaluation.effectiveness import ErrorRates, Threshold
    from deciders.single.base import Estimate
    from pqd.batches.batch_plan import BatchPlan

# How often a plan is rehearsed whose errors no theory gives.
_REHEARSED = 20
# Ways whose expected errors agree to so many digits are weighed by their thresholds.
DIGITS = 9


@dataclass(frozen=True, slots=True)
class BatchRule:
    """Rule of one query of a batch: whether its answer lies inside the interval.

    ``place`` is that of the query among the answers, ``errors`` is how far these may be off.
    """

    place: int
    errors: Errors
    interval: Interval
    alpha: Fraction

    @property
    def identity(self) -> object:
        """Place and interval."""
        return self.place, self.interval.lower, self.interval.upper

    def decision(self, output: BatchOutput) -> Decision:
        """The verdict: post-processing of the batch."""
        return decided(self.errors, round(output.answers[self.place]), self.interval)

    def estimate(self, decision: Decision) -> Estimate:
        """The released answer, and its interval where the noise is known."""
        (released,) = decision.released
        return estimate(self.errors, released, self.alpha)


class BatchCandidate(NamedTuple):
    """One way to answer some questions together, and what it is worth on public data.

    ``errors``, ``rates``, ``least`` (thresholds) and ``wrong`` (how likely the verdict is wrong)
    are one per question.
    """

    name: str
    batch: BatchMeasurement
    errors: tuple[Errors, ...]
    rates: tuple[ErrorRates, ...]
    least: tuple[Threshold, ...]
    wrong: tuple[float, ...]

    def verdict(
        self, place: int, single: PlannedVerdict, reason: str, *others: Candidate
    ) -> PlannedVerdict:
        """Verdict that this gives in place of a ``single`` one; ``others`` could have given it."""
        taken = self.candidate(place, single)
        choice = replace(single.choice, taken=taken, reason=reason, candidates=(taken, *others))
        where = self.batch.places[selection(single.statistic)]
        rule = BatchRule(where, self.errors[place], single.interval, single.criteria.alpha)
        fields = {**plan_fields(single), "choice": choice}
        return PlannedVerdict(**fields, measurement=self.batch, rule=rule)

    def candidate(self, place: int, single: PlannedVerdict) -> Candidate:
        """What it is worth to one query."""
        errors, tau = self.errors[place], single.interval.tau
        curve = _chances(errors, tau, GAPS) if single.criteria.detail is Detail.CURVES else None
        return Candidate(self, self.least[place], rates=self.rates[place], curve=curve)

    @property
    def proves(self) -> frozenset[bool]:
        """The outcomes that have a p-value: both where the noise is known."""
        return proved_outcomes(self.errors)

    @property
    def id(self) -> str:
        """The name that reports give it."""
        return f"{self.name}_batch"


def _chances(errors: Errors, tau: Fraction, gaps: Sequence[Fraction]) -> tuple[float, ...]:
    """Return Pr[yes] at each true gap, a multiple of tau, or the next that an answer can have.

    The worse side; NaN where no answer lies between the gap and the end of the interval.
    """
    found = []
    for gap in gaps:
        off = math.ceil(gap * tau)
        chances = accept(errors, off, tau), accept(errors, -off, tau)
        worse = (min if gap < 1 else max)(chances)
        found.append(math.nan if gap < 1 and off >= tau else worse)
    return tuple(found)


class UntoldError(ParameterError):
    """What a private row may meet of these conditions cannot be told in public."""

    def __init__(self, mechanism: str, unsure: Sequence[str]) -> None:
        """Name the mechanism that would have to know it, and a condition."""
        strange = [name for name in unsure if exactly(Atom(name)) is None]
        super().__init__(
            f"{mechanism} does not take {(strange or unsure)[0]}, only comparisons of one column "
            "with constants; use workload, or alone"
        )


def batch_candidates(
    problem: BatchProblem, name: str, single: Sequence[PlannedVerdict], mechanism: str
) -> list[BatchCandidate]:
    """Ways to answer ``single`` together, the best first; for ``auto`` of known noise.

    Raises
    ------
    PqdError
        If none fits.
    """
    simulation = ErrorSimulation(problem.workload, problem.contingency, problem.epsilon)
    candidates: list[BatchCandidate] = []
    untold: UntoldError | None = None
    for plan in problem.plans(mechanism).values():
        if plan.classes and plan.classes.unsure:
            untold = UntoldError(plan.id, plan.classes.unsure)
            continue
        noise = plan.noise(problem.epsilon)
        # Where it is not known a verdict has no p-value.
        if noise or mechanism != AUTO:
            errors = noise or _simulated(plan, simulation)
            candidates.append(_candidate(problem.measurement(name, plan), single, errors))
    if untold and not candidates:
        raise untold
    if not candidates:
        raise ParameterError("no mechanism whose noise is known fits these queries")

    def place(candidate: BatchCandidate) -> tuple[float, float]:
        pairs = zip(candidate.least, single, strict=True)
        thresholds = math.fsum(relative(*pair) for pair in pairs)
        return round(math.fsum(candidate.wrong), DIGITS), thresholds

    return sorted(candidates, key=place)


def relative(least: Threshold, verdict: PlannedVerdict) -> float:
    """Threshold as a multiple of the tolerance."""
    return least.tau / float(verdict.interval.tau)


def _candidate(
    batch: BatchMeasurement, single: Sequence[PlannedVerdict], every: Sequence[Errors]
) -> BatchCandidate:
    errors = tuple(every[batch.places[selection(one.statistic)]] for one in single)
    pairs = [(e, one.interval.tau) for e, one in zip(errors, single, strict=True)]
    return BatchCandidate(
        batch.plan.id,
        batch,
        errors,
        tuple(rates(e, tau) for e, tau in pairs),
        tuple(threshold(e, one.criteria.alpha) for e, one in zip(errors, single, strict=True)),
        tuple(expected_wrong(_chances(e, tau, WEIGHED)) for e, tau in pairs),
    )


def _simulated(plan: BatchPlan, simulation: ErrorSimulation) -> list[SimulatedErrors]:
    """Errors of each answer, in simulation."""
    drawn = simulation.errors(plan, _REHEARSED)
    return [SimulatedErrors(tuple(column)) for column in drawn.T.tolist()]
