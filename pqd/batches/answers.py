"""Answers of a release: its queries gathered into batches, one for each thing that is summed up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from deciders import answer
from pqd.batches.batch import BatchMeasurement, BatchProblem, name_of, naming, selection
from pqd.batches.simulation import SimulatedChoice, choose_mechanism
from pqd.planning.statistics import lattice_of
from reports.models.release import ReleasedBatch, SimulatedError

if TYPE_CHECKING:
    from pqd.engine.scan_plan import Measure
    from pqd.errors import PqdError
    from pqd.measurement import MeasurementSet
    from pqd.parameters import Parameters
    from pqd.planning.binding import BoundQuery, BoundWorkload


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """A batch, and how its mechanism was chosen; ``passed`` says why others were passed over.

    ``scale`` is what one unit of its answers is worth.
    """

    batch: BatchMeasurement
    choice: SimulatedChoice
    scale: Fraction
    passed: PqdError | None = None

    @property
    def measure(self) -> Measure | None:
        """What is summed up; None for a count."""
        return self.batch.statistic.measure

    @property
    def places(self) -> dict[str, int]:
        """Place of each selection of rows among the answers."""
        return self.batch.places

    @property
    def unsure(self) -> tuple[str, ...]:
        """Conditions that a private row may meet as no row class does."""
        classes = self.batch.plan.classes
        return classes.unsure if classes else ()

    def facts(self, *, replayed: bool) -> ReleasedBatch:
        """The batch as a report shows it."""
        scale, classes = float(self.scale), self.batch.plan.classes
        return ReleasedBatch(
            name=self.batch.name,
            queries=len(self.batch.statistics),
            epsilon=self.batch.epsilon,
            mechanism=self.batch.plan.id,
            reason=self.choice.reason,
            classes=classes.size if classes else None,
            simulated_errors=tuple(
                SimulatedError(n, e * scale) for n, e in self.choice.errors.items()
            ),
            replayed=replayed,
        )


@dataclass(frozen=True, slots=True)
class ReleasePlan:
    """The queries of a release, and the batches that answer them."""

    bound: BoundWorkload
    batches: tuple[PlannedBatch, ...]

    @property
    def measurements(self) -> MeasurementSet:
        """What is measured: every batch."""
        return self.bound.measurement_set([planned.batch for planned in self.batches])

    def batch_of(self, query: BoundQuery) -> tuple[PlannedBatch, int]:
        """The batch that answers a query, and the query's place among its answers."""
        measure = query.statistic.measure
        planned = next(each for each in self.batches if each.measure == measure)
        return planned, planned.places[selection(query.statistic)]


def select_batches(bound: BoundWorkload, parameters: Parameters) -> ReleasePlan:
    """Choose a mechanism for each thing that is summed up, at its share of the total epsilon.

    Raises
    ------
    PqdError
        If none fits.
    """
    groups: dict[Measure | None, dict[str, BoundQuery]] = {}
    for query in bound.queries:
        members = groups.setdefault(query.statistic.measure, {})
        members.setdefault(selection(query.statistic), query)
    number = sum(map(len, groups.values()))
    batches = []
    for members in groups.values():
        # In an order of their own: in another order, they are the same batch.
        ordered = [members[text] for text in sorted(members)]
        epsilon = parameters.epsilon * len(members) / number
        batches.append(_planned(bound, ordered, parameters.mechanism, epsilon))
    return ReleasePlan(bound, tuple(batches))


def _planned(
    bound: BoundWorkload, queries: Sequence[BoundQuery], mechanism: str, epsilon: Fraction
) -> PlannedBatch:
    name, scale = name_of(queries[0].query), scale_of(queries[0])
    with naming(name):
        problem = BatchProblem(queries, bound, epsilon)
        plans = problem.plans(mechanism)
        choice = choose_mechanism(plans, problem.workload, problem.contingency, epsilon, scale)
    return PlannedBatch(problem.measurement(name, choice.plan), choice, scale, problem.passed)


def scale_of(query: BoundQuery) -> Fraction:
    """What one unit of a query's answer is worth."""
    return lattice_of(query.query, query.statistic)[1]


def synthetic_sum(query: BoundQuery) -> Fraction:
    """Synthetic answer of a COUNT or SUM in the query's own unit; 0 where no row matches."""
    centre = answer(query.query.aggregate, query.synthetic[0]) or Fraction(0)
    return centre * scale_of(query)
