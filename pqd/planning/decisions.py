"""Decisions: the decider of a query, its evaluation, and the verdict that it leads to."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from pqd.deciders import Interval, applicable
from pqd.deciders.noise import check_scale
from pqd.deciders.numbers import plain
from pqd.deciders.single.base import Estimate
from pqd.deciders.single.noisy_answer import NoisyAnswer
from pqd.engine.scan_plan import PrivacyUnit, Statistic
from pqd.parameters import Criteria, Parameters
from pqd.planning.bound_workload import BoundQuery, BoundWorkload
from pqd.planning.choose_decider import Candidate, Choice, LateCandidate, choose_decider
from pqd.planning.rules import (
    AnswerMeasurement,
    AnswerRule,
    DeciderMeasurement,
    DeciderRule,
    VerdictMeasurement,
    VerdictRule,
)
from pqd.planning.statistics import lattice_of, on_cut_points, synthetic_answer, with_wider_lattice
from pqd.reports.models.query import CandidateFacts, LateFacts
from pqd.run.execution import Outputs
from pqd.run.measurement import Measurement, MeasurementSet, counted_noun
from pqd.sql.query import Query

if TYPE_CHECKING:
    from pqd.deciders import Decision

_OUTCOMES = (("yes", True), ("no", False))


@dataclass(frozen=True)
class DeciderPlan:
    """Decider of one query, chosen on public data; without a budget it can only be shown.

    Attributes
    ----------
    query
        The query.
    criteria
        The criteria of the verdict.
    statistic
        The statistic that the engine counts, on a lattice or cut points that fit the interval.
    unit
        The privacy unit.
    scale
        The size of one lattice unit in the query's own unit.
    answer, tau
        The synthetic answer and the tolerance, in the query's own unit.
    interval
        The answers within the tolerance, in lattice units.
    choice
        The decider that is taken, and the other candidates.
    """

    query: Query
    criteria: Criteria
    statistic: Statistic
    unit: PrivacyUnit | None
    scale: Fraction
    answer: Fraction
    tau: Fraction
    interval: Interval
    choice: Choice

    @property
    def taken(self) -> CandidateFacts:
        """Decider that is taken, as a report shows it."""
        return _facts_of(self.choice.taken, self.scale)

    @property
    def candidates(self) -> tuple[CandidateFacts, ...]:
        """Every candidate, as a report shows it."""
        return tuple(_facts_of(candidate, self.scale) for candidate in self.choice.candidates)

    @property
    def late(self) -> bool:
        """Whether what a report shows of candidates is computed when it is first read."""
        return isinstance(self.choice.taken, LateCandidate)

    def facts(self) -> dict[str, Any]:
        """Fields of ``pqd.reports.models.audit.QueryFacts`` but for the candidates."""
        query, choice = self.query, self.choice
        return {
            "id": query.id or "",
            "sql": query.sql,
            "aggregate": query.aggregate,
            "attribute": query.attribute,
            "p": None if query.p is None else float(query.p),
            "where": query.where,
            "q_synthetic": plain(self.answer),
            "tau": plain(self.tau),
            "alpha": self.criteria.alpha,
            "decider": choice.decider.id,
            "reason": str(choice.reason),
            "block": query.block,
            "group": query.group,
            "block_sql": query.block_sql,
            "counted": counted_noun(self.statistic, self.unit),
            "tolerance": self.criteria.tolerance.text,
        }


_PLAN_FIELDS = tuple(field.name for field in fields(DeciderPlan))


@dataclass(frozen=True)
class PlannedVerdict(DeciderPlan):
    """Verdict that is planned: a rule, and the measurement it refers to, its own or a batch's."""

    measurement: Measurement[Any]
    rule: VerdictRule

    @property
    def settled(self) -> bool:
        """Whether every table within the bounds has the same verdict, which then costs nothing."""
        return self.measurement.settled

    @property
    def synthetic_answer(self) -> Fraction:
        """Answer of the copy, in the query's own unit."""
        return self.answer

    @property
    def check(self) -> str:
        """Name of the check that it is a verdict of: the query's, or the block's."""
        return self.query.block or self.query.id or ""

    @property
    def identity(self) -> tuple[object, ...]:
        """Identity: two verdicts with the same one are one verdict."""
        return self.measurement.cache_key, self.rule.identity

    def decision(self, outputs: Outputs) -> Decision:
        """Verdict, given the outputs of a run."""
        return self.rule.decision(outputs[self.measurement])

    def estimate(self, decision: Decision) -> Estimate:
        """Private answer in lattice units, as far as the verdict releases it."""
        return self.rule.estimate(decision)

    def margin_ends(self, decision: Decision, estimate: Estimate) -> tuple[int, int] | None:
        """Ends that hold the exact margin with probability at least 1 - alpha, if one is known.

        ``estimate`` is that of the decision.
        """
        return self.rule.margin_ends(decision, estimate)


@dataclass(frozen=True, slots=True)
class VerdictPlan:
    """Verdicts of one run against one synthetic table, with their measurements."""

    bound: BoundWorkload
    verdicts: tuple[PlannedVerdict, ...]

    @property
    def measurements(self) -> MeasurementSet:
        """Measurements of the verdicts; a batch has one for all of its verdicts."""
        return self.bound.measurement_set([verdict.measurement for verdict in self.verdicts])


def select_deciders(bound: BoundWorkload) -> VerdictPlan:
    """Plan of a verdict for every query, which must have a budget of its own."""
    return VerdictPlan(*bound.select(planned_verdict))


def planned_verdict(bound: BoundQuery) -> PlannedVerdict:
    """Verdict of one query by itself, which must have a budget; see ``decider_plan``."""
    parameters = bound.parameters
    plan = decider_plan(bound)
    decider = plan.choice.decider
    facts: dict[str, Any] = {
        "query": plan.query,
        "statistic": plan.statistic,
        "kinds": bound.kinds,
        "unit": plan.unit,
        "epsilon": parameters.epsilon,
        "decider": decider,
        "interval": plan.interval,
        "tau": plan.tau,
    }
    measurement: VerdictMeasurement[Any]
    rule: VerdictRule
    terms = plan.interval, parameters.epsilon, parameters.alpha
    if isinstance(decider, NoisyAnswer) and decider.settled(plan.interval) is None:
        measurement = AnswerMeasurement(**facts, estimator=decider.estimator)
        rule = AnswerRule(decider, *terms)
    else:
        measurement, rule = DeciderMeasurement(**facts), DeciderRule(decider, *terms)
    return PlannedVerdict(**plan_fields(plan), measurement=measurement, rule=rule)


def plan_fields(plan: DeciderPlan) -> dict[str, Any]:
    """Fields of the plan, by name."""
    return {name: getattr(plan, name) for name in _PLAN_FIELDS}


def decider_plan(bound: BoundQuery) -> DeciderPlan:
    """Decider of one query, given the histogram of the one synthetic table.

    Raises
    ------
    PqdError
        If it has no synthetic answer, no decider fits, or the noise would be beyond the sampler.
    """
    (synthetic,), query, criteria = bound.synthetic, bound.query, bound.criteria
    centre = synthetic_answer(query, synthetic)
    scale = lattice_of(query, bound.statistic)[1]
    answer = centre * scale
    tau = criteria.tolerance.of(answer)
    interval = Interval.around(centre, tau / scale)
    statistic = with_wider_lattice(query, bound.statistic, [interval])
    lattice = lattice_of(query, statistic)[0]
    shape = {"p": query.p} if query.aggregate == "QUANTILE" else {}
    deciders = applicable(query.aggregate, lattice, **shape)
    choice = choose_decider(criteria, query.aggregate, deciders, synthetic, interval)
    if isinstance(criteria, Parameters):
        # Here, on public data, and not in the draw: nothing may be refused after it has begun.
        check_scale(choice.decider.largest_scale(criteria.epsilon))
    if choice.decider.compares:
        statistic = on_cut_points(statistic, [interval], scale)
    return DeciderPlan(query, criteria, statistic, bound.unit, scale, answer, tau, interval, choice)


def _facts_of(candidate: Candidate, unit: Fraction) -> CandidateFacts:
    """Candidate as a report shows it, in the query's own unit."""
    decider, scale = candidate.decider, float(unit)
    known: dict[str, Any] = {"decider": decider.id, "proves": _names_of(decider.proves)}
    late: dict[str, Callable[[], Any]] = {}
    unread = candidate.late if isinstance(candidate, LateCandidate) else ()
    for name, (source, figure) in _FIGURES.items():
        if source in unread:
            late[name] = partial(figure, candidate, scale)
        else:
            known[name] = figure(candidate, scale)
    return LateFacts.made(known, late) if late else CandidateFacts(**known)


@cache
def _names_of(outcomes: frozenset[bool]) -> tuple[str, ...]:
    return tuple(name for name, yes in _OUTCOMES if yes in outcomes)


# Fields of a candidate's facts: the field of the candidate, and what is made of it at a scale.
_FIGURES: dict[str, tuple[str, Callable[[Candidate, float], Any]]] = {
    "tau_published": (
        "published",
        lambda c, scale: None if c.published is None else c.published * scale,
    ),
    "false_no": ("rates", lambda c, _: c.rates and c.rates.false_no),
    "false_yes": ("rates", lambda c, _: c.rates and c.rates.false_yes),
    "tau_min": ("threshold", lambda c, scale: c.threshold and c.threshold.tau * scale),
    "tau_min_exact": ("threshold", lambda c, _: c.threshold and c.threshold.exact),
    "epsilon_needed": ("needed", lambda c, _: c.needed),
    "curve": ("curve", lambda c, _: _drawn(c.curve)),
}


def _drawn(curve: Sequence[float] | None) -> tuple[float | None, ...] | None:
    """Curve with None where it has no point."""
    return tuple(None if math.isnan(y) else y for y in curve) if curve else None
