"""Answers of a release: its queries are put in batches.

There is one batch for each measure, or one batch for several measures where this errs less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from pqd.batches.batch_measurement import BatchMeasurement, BatchPlanner, name_of, naming, selection
from pqd.batches.batch_of_measures import ENOUGH, MeasureErrors, WeighedBatch, one_batch
from pqd.batches.mechanisms import SEVERAL_MEASURES, BatchTerms
from pqd.batches.simulation import SimulatedChoice, choose_mechanism
from pqd.deciders import answer
from pqd.deciders.note import Note, note
from pqd.deciders.numbers import plain
from pqd.engine.scan_plan import Measure
from pqd.errors import PqdError
from pqd.parameters import Parameters
from pqd.planning.bound_workload import BoundQuery, BoundWorkload
from pqd.planning.lattices import lattice_of
from pqd.reports.models.release import MechanismOption, ReleasedBatch, SimulatedError
from pqd.run.measurement import MeasurementSet
from pqd.stated.budgets import AUTO
from pqd.stated.column_facts import span
from pqd.stated.mechanism_options import NO_OPTIONS, MechanismOptions


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """Batch, with the choice of its mechanism.

    ``scales`` has the size of one unit of the answers of each measure, by the name of its queries.
    ``linear_refusal`` says why no mechanism with row classes fits.  It is None if such mechanisms
    were considered.
    """

    batch: BatchMeasurement
    choice: SimulatedChoice
    scales: Mapping[str, tuple[Measure | None, Fraction]]
    linear_refusal: PqdError | None = None

    @property
    def is_relative(self) -> bool:
        """Whether there are several measures, so that errors are multiples of other errors."""
        return len(self.scales) > 1

    @property
    def places(self) -> dict[tuple[Measure | None, str], int]:
        """Place of the answer, by the measure and the selection of rows."""
        return self.batch.places_by_measure

    def places_of(self, measure: Measure | None) -> list[int]:
        """Places of the answers about a measure."""
        return [place for (each, _), place in self.places.items() if each == measure]

    @property
    def open_conditions(self) -> tuple[str, ...]:
        """Conditions that a private row may meet in a way that no row class covers."""
        classes = self.batch.plan.classes
        return classes.open_conditions if classes else ()

    def facts(self, *, replayed: bool) -> ReleasedBatch:
        """Batch as a report shows it."""
        classes, scale = self.batch.plan.classes, 1.0
        if not self.is_relative:
            ((_, unit),) = self.scales.values()
            scale = float(unit)
        return ReleasedBatch(
            name=self.batch.name,
            queries=len(self.batch.statistics),
            epsilon=self.batch.epsilon,
            delta=self.batch.plan.delta,
            mechanism=self.batch.plan.id,
            options=tuple(
                MechanismOption(name, value if isinstance(value, str) else plain(value))
                for name, value in self.batch.plan.options
            ),
            reason=str(self.choice.reason),
            classes=classes.size if classes else None,
            simulated_errors=tuple(
                SimulatedError(n, e * scale) for n, e in self.choice.errors.items()
            ),
            relative=self.is_relative,
            replayed=replayed,
        )


@dataclass(frozen=True, slots=True)
class ReleasePlan:
    """Plan of a release: its queries, the batches that answer them, and notes on the batches."""

    bound: BoundWorkload
    batches: tuple[PlannedBatch, ...]
    notes: tuple[Note, ...] = ()

    @property
    def measurements(self) -> MeasurementSet:
        """Measurements of the run: one per batch."""
        return self.bound.measurement_set([planned.batch for planned in self.batches])

    def batch_of(self, query: BoundQuery) -> tuple[PlannedBatch, int]:
        """Batch that answers a query, and the place of the query's answer in the batch."""
        asked = query.statistic.measure, selection(query.statistic)
        planned = next(each for each in self.batches if asked in each.places)
        return planned, planned.places[asked]


def select_batches(
    bound: BoundWorkload, parameters: Parameters, options: MechanismOptions = NO_OPTIONS
) -> ReleasePlan:
    """Plan with one batch per measure, where each batch has its share of epsilon and delta.

    The share is that of the weights of the batch's queries.  ``options`` are those of the
    mechanism that ``parameters`` name.

    If one batch of several measures errs less (pqd/batches/batch_of_measures.py), it has their
    shares together.

    Raises
    ------
    PqdError
        If no mechanism fits a batch.
    """
    groups: dict[Measure | None, dict[str, BoundQuery]] = {}
    every: dict[str, list[BoundQuery]] = {}
    for query in bound.queries:
        queries = groups.setdefault(query.statistic.measure, {})
        queries.setdefault(selection(query.statistic), query)
    weights = _weights(bound)
    total = sum(weights.values(), Fraction(0))
    batches = []
    names: set[str] = set()
    for measure, queries in groups.items():
        # Sort the queries, so that the batch does not depend on their order.
        ordered = [queries[text] for text in sorted(queries)]
        own = tuple(weights[measure, selection(query.statistic)] for query in ordered)
        share = sum(own, Fraction(0)) / total
        terms = BatchTerms(options, share * Fraction(options.get("delta", 0)), own)
        name = name_of(ordered[0].query)
        if name in names and measure and measure.lattice:
            # Ends of the WHERE beyond the copy's values are bounds of their own.
            name = f"{name} in {span(measure.lattice)}"
        names.add(name)
        every[name] = ordered
        epsilon = parameters.epsilon * share
        batches.append(_planned_batch(bound, name, ordered, parameters.mechanism, epsilon, terms))
    return _with_one_batch(ReleasePlan(bound, tuple(batches)), every, parameters, weights)


def _with_one_batch(
    plan: ReleasePlan,
    queries: Mapping[str, Sequence[BoundQuery]],
    parameters: Parameters,
    weights: Mapping[tuple[Measure | None, str], Fraction],
) -> ReleasePlan:
    """Plan with one batch of several measures if it errs less than ``plan``, or else ``plan``.

    The batch of all measures is weighed.  Then the measure that errs most in it is left out, as
    long as there is one that errs more than at equal shares.  The batch that lowers the errors of
    all queries most is taken.  ``queries`` are those of each batch, by its name.  No mechanism of
    several measures has options.
    """
    if parameters.mechanism not in {AUTO, *SEVERAL_MEASURES}:
        return plan
    # Sort the measures, so that the batch does not depend on the order of the queries.
    together = sorted(plan.batches, key=lambda each: each.batch.name)
    options: list[tuple[float, WeighedBatch, list[PlannedBatch]]] = []
    while len(together) > 1:
        found = _weighed(plan.bound, together, queries, parameters.mechanism, weights)
        if found is None:
            break
        gain = (ENOUGH - found.choice.error) * found.weight
        options.append((gain, found, together))
        worst = max(range(len(together)), key=found.multiples.__getitem__)
        if found.multiples[worst] <= 1:
            break
        together = [each for place, each in enumerate(together) if place != worst]
    if not options:
        return plan
    gain, found, together = max(options, key=lambda option: option[0])
    if gain <= 0:
        _, found, _ = options[0]
        kept = note("measures-apart", mechanism=found.batch.plan.id, error=found.choice.error)
        return replace(plan, notes=(kept,))
    scales = {name: pair for each in together for name, pair in each.scales.items()}
    planned = PlannedBatch(found.batch, found.choice, scales, found.refusal)
    rest = (each for each in plan.batches if each not in together)
    return replace(plan, batches=(planned, *rest))


def _weighed(
    bound: BoundWorkload,
    together: Sequence[PlannedBatch],
    queries: Mapping[str, Sequence[BoundQuery]],
    mechanism: str,
    weights: Mapping[tuple[Measure | None, str], Fraction],
) -> WeighedBatch | None:
    """One batch of the queries of several batches, at their epsilons together."""
    shares = [
        MeasureErrors(
            name,
            each.choice.by_query,
            scale,
            tuple(
                weights[query.statistic.measure, selection(query.statistic)]
                for query in queries[each.batch.name]
            ),
        )
        for each in together
        for name, (_, scale) in each.scales.items()
    ]
    every = [query for each in together for query in queries[each.batch.name]]
    epsilon = sum((each.batch.epsilon for each in together), Fraction(0))
    return one_batch(bound, every, mechanism, epsilon, shares)


def _weights(bound: BoundWorkload) -> dict[tuple[Measure | None, str], Fraction]:
    """Weight of each answer, by its measure and its selection of rows.

    If several queries have the same answer, the largest of their weights counts.
    """
    weights: dict[tuple[Measure | None, str], Fraction] = {}
    for query in bound.queries:
        key = query.statistic.measure, selection(query.statistic)
        weights[key] = max(weights.get(key, Fraction(0)), query.query.exact_weight)
    return weights


def _planned_batch(
    bound: BoundWorkload,
    name: str,
    queries: Sequence[BoundQuery],
    mechanism: str,
    epsilon: Fraction,
    terms: BatchTerms,
) -> PlannedBatch:
    scale = scale_of(queries[0])
    with naming(name):
        planner = BatchPlanner(queries, bound, epsilon, terms)
        plans = planner.plans(mechanism)
        choice = choose_mechanism(
            plans, planner.workload, planner.counts, epsilon, scale, terms.importance
        )
    batch = planner.measurement(name, choice.plan)
    scales = {name: (queries[0].statistic.measure, scale)}
    return PlannedBatch(batch, choice, scales, planner.linear_refusal)


def scale_of(query: BoundQuery) -> Fraction:
    """Size of one unit of a query's answer."""
    return lattice_of(query.query, query.statistic)[1]


def synthetic_sum(query: BoundQuery) -> Fraction:
    """Synthetic answer of a COUNT or SUM in the query's own unit; 0 if no row matches."""
    centre = answer(query.query.aggregate, query.synthetic[0]) or Fraction(0)
    return centre * scale_of(query)
