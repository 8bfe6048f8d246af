"""Verdict on a query: its decider, chosen on public data, and the measurement that decides it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cache
from typing import Any

from pqd.deciders import DECIDERS, Histogram, Interval, Lattice, applicable, with_options
from pqd.deciders.errors import DeciderError
from pqd.deciders.evaluation.tails import largest_error
from pqd.deciders.exact import exceeds
from pqd.deciders.noise import check_scale
from pqd.deciders.note import note
from pqd.deciders.numbers import plain
from pqd.deciders.options import option
from pqd.deciders.single.base import BOTH
from pqd.deciders.single.inverse_sensitivity import End, StatedEnd, most_rows_beyond
from pqd.deciders.single.noisy_answer import NoisyAnswer
from pqd.deciders.single.registered import RegisteredDecider, registered
from pqd.engine.scan_plan import RANGE, PrivacyUnit, Statistic
from pqd.parameters import OUTSIDE_SHARE, Criteria, Parameters
from pqd.planning.bound_workload import BoundQuery, BoundWorkload
from pqd.planning.choose_decider import (
    PAPER,
    Candidate,
    Choice,
    VerdictMechanism,
    choose_decider,
    likely_choice,
)
from pqd.planning.lattices import (
    answer_of_all_rows,
    condition_of,
    is_conditional,
    lattice_of,
    on_cut_points,
    synthetic_answer,
    with_wider_lattice,
)
from pqd.planning.planned_verdict import (
    AnswerMeasurement,
    AnswerRule,
    DeciderMeasurement,
    DeciderRule,
    PlannedVerdict,
    VerdictMeasurement,
    VerdictPlan,
    VerdictRule,
)
from pqd.reports.models.query import PER_ROW, CandidateFacts, DeciderOption
from pqd.run.measurement import counted_noun
from pqd.sql.query import Query
from pqd.stated.budgets import AUTO
from pqd.stated.column_facts import row_lattice

_OUTCOMES = (("yes", True), ("no", False))


@dataclass(frozen=True)
class DeciderPlan:
    """Decider of one query, chosen on public data; a plan without a budget only shows the decider.

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
        The interval of answers within the tolerance, in lattice units.
    is_likely
        Whether an answer without a p-value errs with at most alpha on all public stand-ins.
    outside_epsilon
        The part of the budget that pays for the number of rows beyond the bounds; 0 without it.
    copy_rows
        The number of rows of the copy that the query selects, without those that are NULL.
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
    copy_rows: int
    is_likely: bool = field(default=False, kw_only=True)
    outside_epsilon: Fraction = field(default=Fraction(0), kw_only=True)

    @property
    def taken(self) -> CandidateFacts:
        """Decider that is taken, as a report shows it."""
        return _facts_of(self.choice.taken, self.scale)

    @property
    def candidates(self) -> tuple[CandidateFacts, ...]:
        """Every candidate, as a report shows it."""
        return tuple(_facts_of(candidate, self.scale) for candidate in self.choice.candidates)

    def facts(self) -> dict[str, Any]:
        """Fields of ``pqd.reports.models.audit.QueryFacts`` except the candidates."""
        query, choice = self.query, self.choice
        return {
            "id": query.id or "",
            "sql": query.sql,
            "aggregate": PER_ROW.get(query.written if query.per_row else "", query.aggregate),
            "scale": query.scale if query.per_row else None,
            "attribute": query.attribute,
            "p": None if query.p is None else float(query.p),
            "where": query.where,
            "q_synthetic": plain(self.answer),
            "tau": plain(self.tau),
            "alpha": self.criteria.alpha,
            "decider": choice.decider.id,
            "decider_options": options_of(choice.decider),
            "reason": str(choice.reason),
            "block": query.block,
            "group": query.group,
            "block_sql": query.block_sql,
            "counted": counted_noun(self.statistic, self.unit),
            "max_rows": self.unit.max_rows if self.unit else None,
            "tolerance": self.criteria.tolerance.text,
            "copy_rows": self.copy_rows,
            "likely": self.is_likely,
        }


_PLAN_FIELDS = tuple(field.name for field in fields(DeciderPlan))


@dataclass(frozen=True)
class PlannedQueryVerdict(DeciderPlan, PlannedVerdict):
    """Planned verdict on a query: its decider, its measurement and its rule."""

    @property
    def check(self) -> str:
        """Name of the check: the id of the query, or for one group the id of its whole query."""
        return self.query.block or self.query.id or ""


@dataclass(frozen=True)
class QueryVerdictPlan(VerdictPlan):
    """Plan of the verdicts on the queries of a workload, against one synthetic table."""

    bound: BoundWorkload
    verdicts: tuple[PlannedQueryVerdict, ...]


def select_deciders(bound: BoundWorkload) -> QueryVerdictPlan:
    """Plan of one verdict per query; each query must have a budget of its own."""
    return QueryVerdictPlan(*bound.select(planned_verdict))


def planned_verdict(bound: BoundQuery) -> PlannedQueryVerdict:
    """Verdict on one query alone, which has its budget; raises the errors of ``decider_plan``."""
    plan = decider_plan(bound)
    parameters = plan.criteria if isinstance(plan.criteria, Parameters) else bound.parameters
    outside = plan.outside_epsilon
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
    end = _stated_end(plan.statistic)
    is_drawn = not outside and decider.constant_verdict(plan.interval) is None
    if isinstance(decider, NoisyAnswer) and is_drawn:
        measurement = AnswerMeasurement(**facts, estimator=decider.estimator)
        rule = AnswerRule(parameters.epsilon, parameters.alpha, decider, plan.interval, end)
    else:
        drawn = DeciderMeasurement(
            **facts | {"epsilon": parameters.epsilon + outside}, outside_epsilon=outside
        )
        known_end = end if decider.releases_answer else None
        terms = drawn.drawn_epsilon, parameters.alpha
        measurement, rule = drawn, DeciderRule(*terms, decider, plan.interval, known_end)
    rows_beyond = getattr(decider, "most_beyond", None)
    condition = condition_of(plan.query, plan.statistic, rows_beyond)
    return PlannedQueryVerdict(
        **plan_fields(plan),
        measurement=measurement,
        rule=rule,
        condition=condition,
    )


def options_of(mechanism: VerdictMechanism) -> tuple[DeciderOption, ...]:
    """Options of a decider with their values, stated or not; a batch has none."""
    names: tuple[str, ...] = getattr(mechanism, "options", ())
    return tuple(DeciderOption(name, float(getattr(mechanism, name))) for name in names)


def _stated_end(statistic: Statistic) -> End | None:
    """Bound that is stated, if only the other one is not."""
    lower, upper = statistic.measure.stated if statistic.measure else (False, False)
    return "lower" if lower and not upper else "upper" if upper and not lower else None


def plan_fields(plan: DeciderPlan) -> dict[str, Any]:
    """Fields of the plan, by name."""
    return {name: getattr(plan, name) for name in _PLAN_FIELDS}


def decider_plan(bound: BoundQuery) -> DeciderPlan:
    """Decider of one query, given the histogram of the synthetic table.

    If the caller asks for the number of rows beyond bounds that nobody stated, the decider has what
    is left of the budget.

    Raises
    ------
    PqdError
        If the query has no synthetic answer, no decider fits, or the sampler cannot draw the noise.
    """
    plan, criteria = _plan_of(bound), bound.criteria
    if not (isinstance(criteria, Parameters) and criteria.outside):
        return plan
    if not is_conditional(plan.statistic) or _is_constant(plan):
        return plan
    outside = OUTSIDE_SHARE * criteria.epsilon
    plan = _plan_of(bound.with_criteria(replace(criteria, epsilon=criteria.epsilon - outside)))
    check_scale(1 / outside)
    return replace(plan, outside_epsilon=outside) if is_conditional(plan.statistic) else plan


def _is_constant(plan: DeciderPlan) -> bool:
    """Whether every table within the bounds has the same verdict, which then costs nothing."""
    return plan.choice.decider.constant_verdict(plan.interval) is not None


def _plan_of(bound: BoundQuery) -> DeciderPlan:
    """Decider of one query at the whole budget."""
    measure = bound.statistic.measure
    if measure and measure.alone:
        bound = replace(bound, statistic=replace(bound.statistic, measure=measure.alone))
    (synthetic,), query, criteria = bound.synthetic, bound.query, bound.criteria
    _check_decider(query, criteria.mechanism)
    centre = synthetic_answer(query, synthetic)
    scale = lattice_of(query, bound.statistic)[1]
    answer = centre * scale
    tau = criteria.tolerance.of(answer, answer_of_all_rows(query, bound.rows[0]))
    interval = Interval.around(centre, tau / scale)
    plan = _plan_on(bound, bound.statistic, answer, tau, interval)
    if not (plan.choice.is_reliable(criteria.alpha) or is_conditional(plan.statistic)):
        plan = _second_plan(bound, plan) or plan
    decider = plan.choice.decider
    if isinstance(criteria, Parameters):
        # Check the noise here, on public data, since no error may occur after the first draw.
        check_scale(decider.largest_scale(criteria.epsilon / synthetic.row_parts))
        # The chances of a registered decider are its own statement, so it is never likely.
        if decider.proves != BOTH and not isinstance(decider, RegisteredDecider):
            error = largest_error(decider, synthetic.in_rows, interval, criteria.epsilon)
            plan = replace(plan, is_likely=not exceeds(error, criteria.alpha))
    if decider.compares:
        plan = replace(plan, statistic=on_cut_points(plan.statistic, [interval], scale))
    return plan


def _check_decider(query: Query, name: str) -> None:
    """Refuse a named decider of a COUNT or a SUM for a query per row.

    Raises
    ------
    DeciderError
        If the decider is not one of a mean.
    """
    known = None if name in {AUTO, PAPER} else DECIDERS.get(name) or registered(name)
    if query.per_row and known and known.aggregate != "AVG":
        fitting = [each for each, decider in DECIDERS.items() if decider.aggregate == "AVG"]
        raise DeciderError(
            f"{name} decides {known.aggregate}; per row ({option('--scale rows')}) a "
            f"{query.written} is a mean over all rows: use {AUTO} or {', '.join(fitting)}"
        )


def _own_decider(name: str, aggregate: str) -> type[RegisteredDecider] | None:
    """Registered decider of this name; None if there is none.

    Raises
    ------
    DeciderError
        If it decides another aggregate.
    """
    own = None if name in {AUTO, PAPER, *DECIDERS} else registered(name)
    if own and own.aggregate != aggregate:
        raise DeciderError(f"{own.id} decides {own.aggregate}, not {aggregate}; use {AUTO}")
    return own


def _second_plan(bound: BoundQuery, first: DeciderPlan) -> DeciderPlan | None:
    """Plan of ``auto`` where no decider with p-values is reliable; None if there is no better one.

    It cuts values to the copy's, if a verdict about these can be decided.  Else it takes a decider
    without p-values that is likely right.
    """
    (synthetic,), query, criteria = bound.synthetic, bound.query, bound.criteria
    if not isinstance(criteria, Parameters) or criteria.mechanism != AUTO:
        return None
    if narrow := _cut_at_copy(query, bound.statistic, synthetic):
        within = _plan_on(bound, narrow, first.answer, first.tau, first.interval)
        if within.choice.decides:
            return replace(within, choice=replace(within.choice, reason=note("cut-at-copy")))
    likely = likely_choice(first.choice, criteria, synthetic.in_rows, first.interval)
    return replace(first, choice=likely) if likely else None


def _plan_on(
    bound: BoundQuery, statistic: Statistic, answer: Fraction, tau: Fraction, interval: Interval
) -> DeciderPlan:
    """Plan with the decider that is chosen for ``statistic``, on its lattice."""
    query, criteria, synthetic = bound.query, bound.criteria, bound.synthetic[0].in_rows
    statistic = with_wider_lattice(query, statistic, [interval])
    lattice, scale = lattice_of(query, statistic)
    shape = {"p": query.p} if query.aggregate == "QUANTILE" else {}
    deciders = tuple(
        with_options(each, criteria.options) if each.id == criteria.mechanism else each
        for each in applicable(query.aggregate, lattice, **shape)
    )
    if own := _own_decider(criteria.mechanism, query.aggregate):
        deciders = (*deciders, own.on(lattice, **shape))
        criteria = replace(criteria, mechanism=own.id)
    conditional = is_conditional(statistic)
    if conditional:
        end, most_beyond = _stated_end(statistic), None
        if isinstance(criteria, Parameters):
            most_beyond = most_rows_beyond(
                criteria.epsilon, criteria.alpha, one_stated=end is not None
            )
        deciders = tuple(
            replace(each, most_beyond=most_beyond, stated_end=end)
            if isinstance(each, StatedEnd)
            else each
            for each in deciders
        )
    choice = choose_decider(
        criteria, query.aggregate, deciders, synthetic, interval, conditional=conditional
    )
    rows = synthetic.total if query.aggregate == "COUNT DISTINCT" else synthetic.mass
    unit = bound.unit
    return DeciderPlan(
        query, criteria, statistic, unit, scale, answer, tau, interval, choice, int(rows)
    )


def _cut_at_copy(query: Query, statistic: Statistic, synthetic: Histogram) -> Statistic | None:
    """Statistic whose values are cut to those of the copy, and whose rows beyond are counted.

    A stated lower bound of a SUM stays if it is at least 0.  None if nothing would be cut.
    """
    measure = statistic.measure
    if query.aggregate not in {"SUM", "AVG"} or measure is None or not synthetic.size:
        return None
    lattice = measure.total or measure.lattice
    if lattice is None:
        return None
    low, high = (Fraction(each) * lattice.unit for each in synthetic.ends)
    if query.per_row:
        low, high = min(low, Fraction(0)), max(high, Fraction(0))
    if query.aggregate == "SUM" and lattice.lower >= 0:
        low = lattice.lower
    if (low, high) == (lattice.lower, lattice.upper):
        return None
    narrow = Lattice(low, high, lattice.step)
    kept = low == lattice.lower, high == lattice.upper
    stated = measure.stated[0] and kept[0], measure.stated[1] and kept[1]
    if measure.total and low < 0:
        # As in ``Bounds.measure``.
        stated = False, False
    return replace(
        statistic,
        measure=replace(
            measure,
            lattice=row_lattice(narrow) if measure.total else narrow,
            total=narrow if measure.total else None,
            stated=stated,
            beyond=tuple(
                side for side, is_known in zip(RANGE, stated, strict=True) if not is_known
            ),
        ),
    )


def _facts_of(candidate: Candidate, unit: Fraction) -> CandidateFacts:
    """Candidate as a report shows it, in the query's own unit."""
    scale, rates, threshold = float(unit), candidate.rates, candidate.threshold
    return CandidateFacts(
        decider=candidate.mechanism.id,
        proves=_names_of(candidate.mechanism.proves),
        tau_published=None if candidate.published is None else candidate.published * scale,
        false_no=rates and rates.false_no,
        false_yes=rates and rates.false_yes,
        tau_min=None if threshold is None else threshold.tau * scale,
        tau_min_exact=None if threshold is None else threshold.exact,
        decision_chance=candidate.chance,
        epsilon_needed=candidate.needed,
        curve=_points(candidate.curve),
    )


@cache
def _names_of(outcomes: frozenset[bool]) -> tuple[str, ...]:
    return tuple(name for name, yes in _OUTCOMES if yes in outcomes)


def _points(curve: Sequence[float] | None) -> tuple[float | None, ...] | None:
    """Points of a curve; NaN becomes None."""
    return tuple(None if math.isnan(y) else y for y in curve) if curve else None
