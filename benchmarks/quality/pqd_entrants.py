"""Deciders and dispatchers of pqd as entrants, with the exact chances of their verdicts."""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any, cast

import numpy as np

from benchmarks.quality.entrants import Answer, Chances, tried
from benchmarks.quality.problems import DrawnQuery, Problem
from pqd.deciders import (
    DECIDERS,
    Decider,
    Decision,
    Histogram,
    Noise,
    applicable,
    for_lattice,
)
from pqd.deciders.distributions import budget_tail
from pqd.deciders.single.base import BOTH, NEITHER
from pqd.deciders.single.inverse_sensitivity import StatedEnd, least_margin, two_sided
from pqd.planning.choose_decider import PAPER
from pqd.planning.query_verdict import DeciderPlan, PlannedQueryVerdict, planned_verdict
from pqd.stated.budgets import AUTO


def answer_of(decision: Decision, alpha: Fraction) -> Answer:
    """Answer by pqd's rule: a verdict is conclusive if its p-value is at most alpha."""
    p_value = decision.p_value
    return Answer(decision.outcome, p_value is not None and p_value <= alpha)


def chances_on(
    decider: Decider,
    histogram: Histogram,
    problem: Problem,
    epsilon: Fraction,
    trial: Callable[[], Chances],
) -> Chances:
    """Chances of a decider's verdicts.

    They are exact, but for a decider that knows p-values of one outcome alone: then ``trial`` gives
    the chances of conclusive verdicts.
    """
    constant = decider.constant_verdict(problem.interval)
    if constant is not None:
        return Chances(float(constant), float(constant), float(not constant))
    law: Any = decider.acceptance(histogram, problem.interval)
    says_yes = float(law(epsilon))
    if decider.proves == NEITHER:
        return Chances(says_yes, 0.0, 0.0)
    if decider.proves != BOTH:
        return trial()._replace(says_yes=says_yes)
    terms = epsilon, problem.alpha
    return Chances(says_yes, law.proof_chance(*terms), law.refutation_chance(*terms))


class SingleDecider:
    """One decider of the registry."""

    private = True

    def __init__(self, name: str) -> None:
        """Name the decider by its id."""
        self.name = name

    def fits(self, problem: Problem) -> bool:
        """Whether the decider is for the aggregate, and for the column's domain."""
        query = problem.query
        if DECIDERS[self.name].aggregate != query.aggregate:
            return False
        known = applicable(query.aggregate, query.lattice, **_shape(query))
        return self.name in {decider.id for decider in known}

    def decider(self, problem: Problem) -> Decider:
        """Decider for the column's domain."""
        query = problem.query
        return for_lattice(self.name, query.aggregate, query.lattice, **_shape(query))

    def verdict(self, problem: Problem, epsilon: Fraction, noise: Noise) -> Answer:
        """One verdict, conclusive if its p-value is at most alpha."""
        decision = self.decider(problem).decide(
            problem.query.private, problem.interval, epsilon, noise
        )
        return answer_of(decision, problem.alpha)

    def chances(self, problem: Problem, epsilon: Fraction) -> Chances:
        """Chances as of ``chances_on``."""
        return chances_on(
            self.decider(problem),
            problem.query.private,
            problem,
            epsilon,
            lambda: tried(self, problem, epsilon),
        )


def _shape(query: DrawnQuery) -> dict[str, Fraction]:
    return {"p": query.p} if query.aggregate == "QUANTILE" else {}


class Dispatcher:
    """Choice of a decider on public data, by `pqd audit --decider auto` or `paper`."""

    private = True

    def __init__(self, name: str) -> None:
        """Name the dispatcher as the command line does."""
        self.name = name

    def fits(self, problem: Problem) -> bool:
        """Whether the dispatcher knows the aggregate; the paper has no decider of DISTINCT."""
        return self.name != PAPER or problem.query.aggregate != "COUNT DISTINCT"

    def plan(self, problem: Problem, epsilon: Fraction) -> PlannedQueryVerdict:
        """Verdict that a run plans: its decider, its statistic and its condition."""
        return _plan(self.name, problem, epsilon)

    def verdict(self, problem: Problem, epsilon: Fraction, noise: Noise) -> Answer:
        """One verdict of the decider that is taken.

        A verdict with a condition, such as "NO or beyond", is undecided.
        """
        plan = self.plan(problem, epsilon)
        decision = plan.rule.decision(plan.measurement.run(histogram_on(plan, problem), noise))
        answer = answer_of(decision, problem.alpha)
        holds = plan.condition is None or decision.by_stated_bound
        return answer._replace(conclusive=answer.conclusive and holds)

    def chances(self, problem: Problem, epsilon: Fraction) -> Chances:
        """Chances of the decider that is taken."""
        plan = self.plan(problem, epsilon)
        decider, table = plan.choice.decider, histogram_on(plan, problem)

        def trial() -> Chances:
            return tried(self, problem, epsilon)

        chances = chances_on(decider, table, problem, epsilon, trial)
        if plan.condition is None:
            return chances
        return chances._replace(yes=0.0, no=_stated_side(decider, table, problem, epsilon))


def _stated_side(decider: Decider, table: Histogram, problem: Problem, epsilon: Fraction) -> float:
    """Chance of a conclusive no on the side of the stated bound; values are cut at the other one.

    Such a no has a noisy margin M of at most ``-floor - m``, where m is the least margin at alpha,
    divided by ``two_sided`` (Theorem 1c).
    """
    floor = getattr(decider, "floor", None)
    if floor is None or decider.constant_verdict(problem.interval) is not None:
        return 0.0
    margin = cast("StatedEnd", decider).margin(table, problem.interval)
    least = least_margin(epsilon, problem.alpha / two_sided(floor, epsilon))
    return budget_tail(least + floor + int(margin), epsilon)


# The trials of one problem share its plan.
@lru_cache(maxsize=64)
def _plan(mechanism: str, problem: Problem, epsilon: Fraction) -> PlannedQueryVerdict:
    plan = planned_verdict(problem.bound(mechanism, epsilon))
    if plan.interval != problem.interval or plan.outside_epsilon:
        raise ValueError(f"{problem.key} is not planned as it is stated")
    return plan


def histogram_on(plan: DeciderPlan, problem: Problem) -> Histogram:
    """Private histogram on the lattice of a plan: values are cut to it, and those beyond counted.

    The engine counts the same, by one more scan.
    """
    private, measure = problem.query.private, plan.statistic.measure
    lattice = measure and measure.lattice
    if not lattice or problem.query.aggregate not in {"SUM", "AVG"}:
        return private
    ends = int(lattice.lower), int(lattice.upper)
    values = np.clip(private.values, *ends)
    beyond = int(private.counts[values != private.values].sum())
    if not beyond:
        return private
    return Histogram.weighted(values, private.counts).with_beyond(beyond)


DISPATCHERS = (Dispatcher(AUTO), Dispatcher(PAPER))
SINGLE = tuple(SingleDecider(name) for name in DECIDERS)
