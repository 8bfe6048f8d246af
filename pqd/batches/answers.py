"""Answers of a release: its queries are put in batches, one batch for each measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from pqd.batches.batch_measurement import BatchMeasurement, BatchPlanner, name_of, naming, selection
from pqd.batches.mechanisms import BatchTerms
from pqd.batches.simulation import SimulatedChoice, choose_mechanism
from pqd.deciders import answer
from pqd.deciders.numbers import plain
from pqd.engine.scan_plan import Measure
from pqd.errors import PqdError
from pqd.parameters import Parameters
from pqd.planning.bound_workload import BoundQuery, BoundWorkload
from pqd.planning.lattices import lattice_of
from pqd.reports.models.release import MechanismOption, ReleasedBatch, SimulatedError
from pqd.run.measurement import MeasurementSet
from pqd.stated.column_facts import span
from pqd.stated.mechanism_options import NO_OPTIONS, MechanismOptions


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """Batch, with the choice of its mechanism.

    ``scale`` is the size of one unit of the answers.  ``linear_refusal`` says why no mechanism with
    row classes fits.  It is None if such mechanisms were considered.
    """

    batch: BatchMeasurement
    choice: SimulatedChoice
    scale: Fraction
    linear_refusal: PqdError | None = None

    @property
    def measure(self) -> Measure | None:
        """Measure that the queries sum up; None for counts."""
        return self.batch.statistic.measure

    @property
    def places(self) -> dict[str, int]:
        """Place of the answer, by the selection of rows."""
        return self.batch.places

    @property
    def open_conditions(self) -> tuple[str, ...]:
        """Conditions that a private row may meet in a way that no row class covers."""
        classes = self.batch.plan.classes
        return classes.open_conditions if classes else ()

    def facts(self, *, replayed: bool) -> ReleasedBatch:
        """Batch as a report shows it."""
        scale, classes = float(self.scale), self.batch.plan.classes
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
            replayed=replayed,
        )


@dataclass(frozen=True, slots=True)
class ReleasePlan:
    """Plan of a release: its queries, and the batches that answer them."""

    bound: BoundWorkload
    batches: tuple[PlannedBatch, ...]

    @property
    def measurements(self) -> MeasurementSet:
        """Measurements of the run: one per batch."""
        return self.bound.measurement_set([planned.batch for planned in self.batches])

    def batch_of(self, query: BoundQuery) -> tuple[PlannedBatch, int]:
        """Batch that answers a query, and the place of the query's answer in the batch."""
        measure = query.statistic.measure
        planned = next(each for each in self.batches if each.measure == measure)
        return planned, planned.places[selection(query.statistic)]


def select_batches(
    bound: BoundWorkload, parameters: Parameters, options: MechanismOptions = NO_OPTIONS
) -> ReleasePlan:
    """Plan with one batch per measure, where each batch has its share of epsilon and delta.

    The share is that of the weights of the batch's queries.  ``options`` are those of the
    mechanism that ``parameters`` name.

    Raises
    ------
    PqdError
        If no mechanism fits a batch.
    """
    groups: dict[Measure | None, dict[str, BoundQuery]] = {}
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
        epsilon = parameters.epsilon * share
        batches.append(_planned_batch(bound, name, ordered, parameters.mechanism, epsilon, terms))
    return ReleasePlan(bound, tuple(batches))


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
    return PlannedBatch(batch, choice, scale, planner.linear_refusal)


def scale_of(query: BoundQuery) -> Fraction:
    """Size of one unit of a query's answer."""
    return lattice_of(query.query, query.statistic)[1]


def synthetic_sum(query: BoundQuery) -> Fraction:
    """Synthetic answer of a COUNT or SUM in the query's own unit; 0 if no row matches."""
    centre = answer(query.query.aggregate, query.synthetic[0]) or Fraction(0)
    return centre * scale_of(query)
