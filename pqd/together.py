"""Questions that a batch answers: verdicts from released answers (Patwa 2023, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from deciders.batch.tails import Errors, accept, decided, mean_worst, rates, threshold
from deciders.batch.tails import Rehearsed as RehearsedErrors
from pqd.batch import Batch, Public, selection
from pqd.dispatch import AUTO, GAPS, Candidate
from pqd.errors import ParameterError
from pqd.questions import Question
from pqd.rehearsal import Stage

if TYPE_CHECKING:
    from deciders import Decision
    from deciders.effectiveness import ErrorRates
    from pqd.asking import Answers
    from pqd.priced import Priced
    from pqd.problem import Plan

# Rehearsals of a plan whose errors no theory gives.
_RUNS = 20


@dataclass(frozen=True, kw_only=True)
class Together(Question):
    """A question that is drawn and paid for with all others of its batch."""

    batch: Batch
    errors: Errors

    @property
    def draws(self) -> tuple[Priced, ...]:
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

    def decided(self, answers: Answers) -> Decision:
        """Say whether the released answer lies inside the interval: post-processing."""
        released = answers.batched(self.batch).answers[self.batch.places[selection(self.task)]]
        return decided(self.errors, round(released), self.interval)


class Joint(NamedTuple):
    """One way to answer some questions together, and what it is worth on public data.

    ``errors`` and ``rates`` are one per question; ``score`` is the share of verdicts to be expected
    wrong where every query is at the worse of both gaps.
    """

    name: str
    batch: Batch
    errors: tuple[Errors, ...]
    rates: tuple[ErrorRates, ...]
    score: float

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
        curve = tuple(_chance(errors, gap, tau) for gap in GAPS) if asked.terms.detailed else None
        least = threshold(errors, asked.terms.alpha)
        return Candidate(self, least, rates=self.rates[place], curve=curve)

    @property
    def id(self) -> str:
        """The name that reports give it."""
        return f"{self.name}_batch"


def _chance(errors: Errors, gap: Fraction, tau: Fraction) -> float:
    """Return Pr[yes] at a true gap, a multiple of tau: the worse side."""
    off = round(gap * tau)
    return (min if gap < 1 else max)(accept(errors, off, tau), accept(errors, -off, tau))


def joints(public: Public, name: str, asked: Sequence[Question], mechanism: str) -> list[Joint]:
    """Return the ways to answer ``asked`` together, the best first.

    Under ``auto`` those of known noise alone: no other gives its verdicts a p-value.

    Raises
    ------
    PqdError
        If none fits.
    """
    stage = Stage(public.problem, public.cells, public.epsilon)
    plans = [(plan, plan.noise(public.epsilon)) for plan in public.plans(mechanism).values()]
    if mechanism == AUTO:
        plans = [pair for pair in plans if pair[1] is not None]
        if not plans:
            raise ParameterError("no mechanism that fits gives p-values")
    found = [_joint(public.batch(name, plan), asked, noise, stage) for plan, noise in plans]
    return sorted(found, key=lambda joint: joint.score)


def _joint(
    batch: Batch, asked: Sequence[Question], noise: Sequence[Errors] | None, stage: Stage
) -> Joint:
    every = noise or _rehearsed(batch.plan, stage)
    errors = tuple(every[batch.places[selection(one.task)]] for one in asked)
    found = tuple(rates(e, one.interval.tau) for e, one in zip(errors, asked, strict=True))
    return Joint(batch.plan.id, batch, errors, found, mean_worst(found))


def _rehearsed(plan: Plan, stage: Stage) -> list[RehearsedErrors]:
    """Return what each answer erred by."""
    return [RehearsedErrors(tuple(drawn)) for drawn in stage.errors(plan, _RUNS).T.tolist()]
