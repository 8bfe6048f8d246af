"""Questions that a batch answers: verdicts from released answers (Patwa 2023, Algorithm 1)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from deciders.batch.verdicts import (
    Errors,
    SimulatedErrors,
    accept,
    decided,
    rates,
    reach,
    threshold,
)
from deciders.distribution_sums import NoiseSum
from deciders.errors import ParameterError
from deciders.evaluation.effectiveness import WEIGHED, expected_wrong
from deciders.single.base import BOTH, NEITHER, Estimate
from pqd.batches.batch import BatchMeasurement, BatchProblem, selection
from pqd.batches.simulation import ErrorSimulation
from pqd.planning.choose_decider import AUTO, GAPS, Candidate
from pqd.planning.decisions import Question
from pqd.sql.predicate import Atom
from pqd.sql.regions import exactly

if TYPE_CHECKING:
    from deciders import Decision
    from deciders.evaluation.effectiveness import ErrorRates, Threshold
    from pqd.batches.linear_workload import Plan
    from pqd.execution import Outputs
    from pqd.measurement import Measurement

# How often a plan is rehearsed whose errors no theory gives.
_REHEARSED = 20
# Ways whose expected errors agree to so many digits are weighed by their thresholds.
DIGITS = 9


@dataclass(frozen=True, kw_only=True)
class Together(Question):
    """A question that is drawn and paid for with all others of its batch."""

    batch: BatchMeasurement
    errors: Errors

    @property
    def draws(self) -> tuple[Measurement, ...]:
        """The batch."""
        return (self.batch,)

    @property
    def settled(self) -> bool:
        """No batch is answered without noise."""
        return False

    @property
    def cost(self) -> Fraction:
        """What the batch costs, whole: its answers cannot be bought one by one."""
        return self.batch.cost

    def mechanism(self) -> Mapping[str, Any]:
        """Return what tells it apart from others of the batch."""
        decider = self.choice.taken.decider.id
        return {"kind": "part", "id": decider, "batch": self.batch.key, "interval": self.interval}

    def decided(self, answers: Outputs) -> Decision:
        """Say whether the released answer lies inside the interval: post-processing."""
        released = answers.batched(self.batch).answers[self.batch.places[selection(self.task)]]
        return decided(self.errors, round(released), self.interval)

    def estimated(self, decision: Decision) -> Estimate:
        """Return the released answer, and its interval where the noise is known."""
        (released,) = map(Fraction, decision.released)
        if not isinstance(self.errors, NoiseSum):
            return Estimate(released)
        far = reach(self.errors, self.terms.alpha)
        return Estimate(released, released - far, released + far)


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

    def question(self, place: int, asked: Question, reason: str, *others: Candidate) -> Together:
        """Return a question that this answers; ``others`` could have."""
        taken = self.candidate(place, asked)
        choice = replace(asked.choice, taken=taken, reason=reason, candidates=(taken, *others))
        values = {field.name: getattr(asked, field.name) for field in fields(Question)}
        errors = self.errors[place]
        return Together(**{**values, "choice": choice}, batch=self.batch, errors=errors)

    def candidate(self, place: int, asked: Question) -> Candidate:
        """Return what it is worth to one question."""
        errors, tau = self.errors[place], asked.interval.tau
        curve = _chances(errors, tau, GAPS) if asked.terms.detailed else None
        return Candidate(self, self.least[place], rates=self.rates[place], curve=curve)

    @property
    def proves(self) -> frozenset[bool]:
        """The outcomes that have a p-value: both where the noise is known."""
        return BOTH if all(isinstance(errors, NoiseSum) for errors in self.errors) else NEITHER

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


def joints(
    public: BatchProblem, name: str, asked: Sequence[Question], mechanism: str
) -> list[BatchCandidate]:
    """Return the ways to answer ``asked`` together, the best first; for ``auto`` of known noise.

    Raises
    ------
    PqdError
        If none fits.
    """
    stage = ErrorSimulation(public.workload, public.cells, public.epsilon)
    found: list[BatchCandidate] = []
    untold: UntoldError | None = None
    for plan in public.plans(mechanism).values():
        if plan.classes and plan.classes.unsure:
            untold = UntoldError(plan.id, plan.classes.unsure)
            continue
        noise = plan.noise(public.epsilon)
        # Where it is not known a verdict has no p-value.
        if noise or mechanism != AUTO:
            found.append(_joint(public.batch(name, plan), asked, noise, stage))
    if untold and not found:
        raise untold
    if not found:
        raise ParameterError("no mechanism whose noise is known fits these queries")

    def place(joint: BatchCandidate) -> tuple[float, float]:
        pairs = zip(joint.least, asked, strict=True)
        return round(math.fsum(joint.wrong), DIGITS), math.fsum(relative(*pair) for pair in pairs)

    return sorted(found, key=place)


def relative(least: Threshold, asked: Question) -> float:
    """Return a threshold as a multiple of the tolerance."""
    return least.tau / float(asked.interval.tau)


def _joint(
    batch: BatchMeasurement,
    asked: Sequence[Question],
    noise: Sequence[Errors] | None,
    stage: ErrorSimulation,
) -> BatchCandidate:
    answers = batch.places
    every = noise or _rehearsed(batch.plan, stage)
    errors = tuple(every[answers[selection(one.task)]] for one in asked)
    pairs = [(e, one.interval.tau) for e, one in zip(errors, asked, strict=True)]
    return BatchCandidate(
        batch.plan.id,
        batch,
        errors,
        tuple(rates(e, tau) for e, tau in pairs),
        tuple(threshold(e, one.terms.alpha) for e, one in zip(errors, asked, strict=True)),
        tuple(expected_wrong(_chances(e, tau, WEIGHED)) for e, tau in pairs),
    )


def _rehearsed(plan: Plan, stage: ErrorSimulation) -> list[SimulatedErrors]:
    """Return what each answer erred by."""
    drawn = stage.errors(plan, _REHEARSED)
    return [SimulatedErrors(tuple(column)) for column in drawn.T.tolist()]
