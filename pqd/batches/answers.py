"""The members of a release: queries that become batches, one for each thing that is summed up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from deciders import answer
from pqd.batches.batch import BatchMeasurement, BatchProblem, name_of, naming, selection
from pqd.batches.simulation import Chosen, chosen
from pqd.planning.binding import Prepared
from pqd.planning.decisions import QueryRequest, measured_on
from reports.models.release import ReleasedBatch, SimulatedError

if TYPE_CHECKING:
    from deciders import Histogram
    from pqd.engine.scan_plan import Measure, PrivacyUnit, Statistic
    from pqd.engine.tables import Table
    from pqd.errors import PqdError
    from pqd.execution import Part
    from pqd.measurement import Measurement
    from pqd.parameters import Parameters
    from pqd.sql.query import Query


@dataclass(frozen=True, slots=True)
class Member:
    """One query made ready; it is drawn as part of a batch."""

    query: Query
    terms: Parameters
    task: Statistic
    kinds: tuple[tuple[str, str], ...]
    scale: Fraction
    synthetic: Fraction

    @classmethod
    def of(
        cls,
        asked: QueryRequest,
        task: Statistic,
        columns: tuple[tuple[str, str], ...],
        _unit: PrivacyUnit | None,
        found: tuple[Histogram, ...],
    ) -> Member:
        """Return the member, given the histogram of the one synthetic table."""
        query = asked.query
        scale = measured_on(query, task)[1]
        centre = answer(query.aggregate, found[0]) or Fraction(0)
        return cls(query, asked.priced, task, columns, scale, centre * scale)

    @property
    def draws(self) -> tuple[Measurement, ...]:
        """Nothing by itself."""
        return ()

    @property
    def asks(self) -> str:
        """Which rows it selects: members of one batch that select the same are one question."""
        return selection(self.task)


@dataclass(frozen=True, slots=True)
class Made:
    """A batch, and how its mechanism was chosen; ``passed`` says why others were passed over."""

    batch: BatchMeasurement
    choice: Chosen
    scale: Fraction
    passed: PqdError | None = None

    @property
    def measured(self) -> Measure | None:
        """What is summed up; None for a count."""
        return self.batch.task.measured

    @property
    def places(self) -> dict[str, int]:
        """The place of each question among the answers."""
        return self.batch.places

    def facts(self, *, replayed: bool) -> ReleasedBatch:
        """Return what a report says of it."""
        scale, classes = float(self.scale), self.batch.plan.classes
        return ReleasedBatch(
            name=self.batch.name,
            queries=len(self.batch.tasks),
            epsilon=self.batch.epsilon,
            mechanism=self.batch.plan.id,
            reason=self.choice.reason,
            classes=classes.size if classes else None,
            simulated_errors=tuple(
                SimulatedError(n, e * scale) for n, e in self.choice.errors.items()
            ),
            replayed=replayed,
        )


def batches(
    members: Sequence[Member], part: Part[Member], synthetic: Table, terms: Parameters
) -> list[Made]:
    """Return a batch for each thing that is summed up, at its share of the terms' epsilon."""
    groups: dict[Measure | None, dict[str, Member]] = {}
    for member in members:
        groups.setdefault(member.task.measured, {}).setdefault(member.asks, member)
    whole = sum(map(len, groups.values()))
    made = []
    for asked in groups.values():
        # In an order of their own: asked in another order, they are the same batch.
        ordered = [asked[text] for text in sorted(asked)]
        name = name_of(ordered[0].query)
        with naming(name):
            public = BatchProblem(ordered, part, synthetic, terms.epsilon * len(asked) / whole)
            plans = public.plans(terms.decider)
            choice = chosen(plans, public.workload, public.cells, public.epsilon, ordered[0].scale)
        batch = public.batch(name, choice.plan)
        made.append(Made(batch, choice, ordered[0].scale, public.passed))
    return made


def asking(part: Part[Member], batches: tuple[BatchMeasurement, ...]) -> Prepared[BatchMeasurement]:
    """Return the same preparation, with batches for questions."""
    prepared = part.prepared
    return Prepared(batches, (), prepared.schema, None, prepared.notes)
