"""Budget split: equal shares of one total epsilon for queries that are answered alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from pqd.accounting.composition import charge_of
from pqd.accounting.disjoint_groups import MeasurementCost, composition_groups
from pqd.deciders.evaluation.effectiveness import WEIGHED, expected_wrong, operating_characteristic
from pqd.deciders.note import Note
from pqd.parameters import Detail, Parameters
from pqd.planning.bound_workload import BoundQuery, BoundWorkload, Refusals
from pqd.planning.choose_decider import Candidate
from pqd.planning.planned_verdict import VerdictMeasurement
from pqd.planning.query_verdict import PlannedQueryVerdict, QueryVerdictPlan, planned_verdict


class SharingQuery(NamedTuple):
    """Query that shares a budget, and the verdict that is planned for this query alone."""

    bound: BoundQuery
    verdict: PlannedQueryVerdict

    def at(self, epsilon: Fraction, detail: Detail | None = None) -> PlannedQueryVerdict:
        """Verdict on the same query at another budget."""
        same = detail is Detail.ERRORS and self.verdict.measurement.epsilon == epsilon
        return self.verdict if same else at_budget(self.bound, epsilon, detail)

    def wrong(self, verdict: PlannedQueryVerdict) -> float:
        """Probability that a verdict on the query is wrong, over true gaps on public stand-ins."""
        synthetic, decider = self.bound.synthetic[0].in_rows, verdict.choice.decider
        epsilon = verdict.measurement.epsilon
        return expected_wrong(
            operating_characteristic(decider, synthetic, verdict.interval, epsilon, WEIGHED)
        )

    @property
    def budget_free_id(self) -> str:
        """Identity that is the same for two queries that are one measurement at every budget.

        It includes criteria and interval, since queries that differ in these may get different
        deciders at another budget.
        """
        criteria, interval = self.bound.criteria, self.verdict.interval
        key = self.verdict.measurement.cache_key
        return f"{key} {criteria.mechanism} {criteria.alpha} {interval.lower} {interval.upper}"


def at_budget(
    bound: BoundQuery, epsilon: Fraction, detail: Detail | None = None
) -> PlannedQueryVerdict:
    """Verdict on one query alone at a budget, as ``planned_verdict`` plans it.

    ``detail`` applies to this evaluation only; the returned verdict keeps the caller's detail.
    """
    verdict = planned_verdict(bound.with_criteria(bound.criteria.at(epsilon, detail)))
    return verdict if detail is None else replace(verdict, criteria=bound.criteria.at(epsilon))


class SharedQueries:
    """Queries of one workload that share a budget, and the verdicts planned so far.

    Attributes
    ----------
    unplanned
        The queries that have no share yet, by their position in the workload.  Their order does
        not depend on the order in which the caller states them.
    planned
        The verdicts on the other queries, by position.
    notes
        Notes on how the queries share.
    rivals
        The batches that could answer a query instead, by position.
    """

    def __init__(self, bound: BoundWorkload, epsilon: Fraction) -> None:
        """Plan each query at ``epsilon``, to find the queries that are refused or cost nothing."""
        self.bound = bound
        self.planned: dict[int, PlannedQueryVerdict] = {}
        self.notes: list[Note] = []
        self.rivals: dict[int, tuple[Candidate, ...]] = {}
        self._refusals = Refusals(bound.refusals)
        unplanned: dict[int, SharingQuery] = {}
        for place, query in enumerate(bound.queries):
            with self._refusals.of(query.query):
                if isinstance(query.criteria, Parameters):
                    self.planned[place] = planned_verdict(query)
                    continue
                sharing = SharingQuery(query, at_budget(query, epsilon, Detail.ERRORS))
                if sharing.verdict.is_constant:
                    self.planned[place] = at_budget(query, epsilon)
                else:
                    unplanned[place] = sharing
        if bound.complete_groups:
            broken = self._refusals.blocks
            complete = {p for p, q in enumerate(bound.queries) if q.query.block not in broken}
            self.planned = {p: verdict for p, verdict in self.planned.items() if p in complete}
            unplanned = {place: query for place, query in unplanned.items() if place in complete}
        keys = {place: query.verdict.measurement.cache_key for place, query in unplanned.items()}
        self.unplanned = {
            place: unplanned[place] for place in sorted(unplanned, key=keys.__getitem__)
        }
        self._shared = set(self.unplanned)

    @property
    def number(self) -> int:
        """Number of different measurements of the unplanned queries."""
        return len(distinct(self.unplanned.values()))

    def plan(self, verdicts: dict[int, PlannedQueryVerdict]) -> None:
        """Add verdicts by position; their queries are planned from then on."""
        self.planned |= verdicts
        self.unplanned = {
            place: query for place, query in self.unplanned.items() if place not in verdicts
        }

    @property
    def epsilon(self) -> Fraction:
        """Epsilon of all sharing queries together, if the ledger has no stored answer."""
        measurements = (self.planned[place].measurement for place in self._shared)
        costs = [m.composition_cost for m in {m.cache_key: m for m in measurements}.values()]
        return charge_of(composition_groups([cost for cost in costs if cost.epsilon])).epsilon

    def _with_rivals(self, place: int) -> PlannedQueryVerdict:
        """Verdict whose candidates include the batches that could answer the query instead."""
        verdict = self.planned[place]
        candidates = (*verdict.choice.candidates, *self.rivals.get(place, ()))
        return replace(verdict, choice=replace(verdict.choice, candidates=candidates))

    def verdict_plan(self) -> QueryVerdictPlan:
        """Plan of all verdicts, in order."""
        places = sorted(self.planned)
        bound = replace(
            self.bound,
            queries=tuple(self.bound.queries[place] for place in places),
            refusals=self._refusals.pairs,
            notes=(*self.bound.notes, *self.notes),
        )
        return QueryVerdictPlan(bound, tuple(self._with_rivals(place) for place in places))


def equal_shares(
    queries: Sequence[SharingQuery], epsilon: Fraction, detail: Detail | None = None
) -> list[PlannedQueryVerdict]:
    """Verdicts that together cost at most ``epsilon``, at equal shares.

    The composition groups depend on the rows that the queries read, not on a budget.  Each query
    gets ``epsilon`` divided by the number of groups.  Each measurement records its group.  So a
    run with fewer queries, or with other queries beside these, never charges these queries more.
    """
    costs: dict[str, MeasurementCost] = {}
    for query in queries:
        name, cost = query.budget_free_id, query.verdict.measurement.composition_cost
        cost = replace(cost, name=name, epsilon=Fraction(query.verdict.measurement.rows))
        costs[name] = costs[name].with_blocks_of(cost) if name in costs else cost
    groups = composition_groups(list(costs.values()))
    numbers = {name: str(number) for number, group in enumerate(groups) for name in group.names}
    share = epsilon / charge_of(groups).epsilon if groups else epsilon
    return [_in_group(each.at(share, detail), numbers[each.budget_free_id]) for each in queries]


def _in_group(verdict: PlannedQueryVerdict, group: str) -> PlannedQueryVerdict:
    measurement = verdict.measurement
    if not isinstance(measurement, VerdictMeasurement):
        raise TypeError(measurement)
    return replace(verdict, measurement=replace(measurement, composition_group=group))


def distinct(queries: Iterable[SharingQuery]) -> list[SharingQuery]:
    """Queries with different measurements; of equal measurements the last query is kept."""
    return list({query.budget_free_id: query for query in queries}.values())
