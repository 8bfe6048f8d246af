"""Batches: queries that sum up one thing, answered together at their share of the budget."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from deciders import answer
from pqd.classes import Classes
from pqd.errors import PqdError
from pqd.predicate import canonical
from pqd.preparation import Prepared
from pqd.priced import Priced
from pqd.problem import MECHANISMS, Plan, Planned, Problem
from pqd.questions import Asked, measured_on
from pqd.ranges import RANGES, ranges_of
from pqd.rehearsal import AUTO, Chosen, chosen
from pqd.workload import Workload
from reports.release import Rehearsed, ReleasedBatch

if TYPE_CHECKING:
    from deciders import Histogram, Noise
    from pqd.accounts import Batched
    from pqd.asking import Part
    from pqd.engines.cells import Cells
    from pqd.parameters import Terms
    from pqd.query import Query
    from pqd.tables import Table
    from pqd.workload import Measured, PrivacyUnit, Task


# Without slots, so that the key is hashed once.
@dataclass(frozen=True, eq=False)
class Batch(Priced):
    """Queries that one mechanism answers together, at ``epsilon``: what is drawn and paid for.

    ``query`` and ``task`` are the first of them.
    """

    name: str
    sql: tuple[str, ...]
    tasks: tuple[Task, ...]
    classes: Classes
    plan: Plan
    epsilon: Fraction

    @property
    def id(self) -> str:
        """What is summed up."""
        return self.name

    @property
    def settled(self) -> bool:
        """No batch is answered without noise."""
        return False

    @property
    def joint(self) -> tuple[Task, ...]:
        """All tasks: their cells are counted."""
        return self.tasks

    @property
    def cost(self) -> Fraction:
        """What the answers cost by themselves."""
        return self.epsilon

    @property
    def region(self) -> None:
        """Whatever rows are read: no batch is charged together with another."""
        return

    def mechanism(self) -> tuple[str, list[str], str]:
        """Return what is asked of the cells, as ``Priced.mechanism`` says."""
        return self.plan.id, ["batch", str(self.epsilon)], self.plan.description

    def draw(self, histogram: Cells, noise: Noise) -> Batched:
        """Release, ``epsilon``-DP in the rows that the cells count."""
        return self.plan.release(self.plan.read(histogram), self.epsilon, noise)

    def entry(self) -> dict[str, Any]:
        """Return what the ledger keeps of it in public."""
        asked = {"id": self.name, "sql": "; ".join(self.sql), "epsilon": str(self.epsilon)}
        return {**asked, "decider": self.plan.id, "unit": None}

    @cached_property
    def key(self) -> str:
        """What the answers are a function of, beside the private table and chance, as a hash."""
        measured = self.task.measured
        lattice = measured.lattice if measured else None
        facts = (
            [canonical(task.predicate) if task.predicate else "" for task in self.tasks],
            measured.sql if measured else "",
            list(map(str, (lattice.lower, lattice.upper, lattice.step))) if lattice else None,
            self.kinds,
            self.classes.digest,
            *self.mechanism(),
        )
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Member:
    """One query made ready; it is drawn as part of a batch."""

    query: Query
    terms: Terms
    task: Task
    kinds: tuple[tuple[str, str], ...]
    scale: Fraction
    synthetic: Fraction

    @classmethod
    def of(
        cls,
        asked: Asked,
        task: Task,
        columns: tuple[tuple[str, str], ...],
        _unit: PrivacyUnit | None,
        found: tuple[Histogram, ...],
    ) -> Member:
        """Return the member, given the histogram of the one synthetic table."""
        query = asked.query
        scale = measured_on(query, task)[1]
        centre = answer(query.aggregate, found[0]) or Fraction(0)
        return cls(query, asked.terms, task, columns, scale, centre * scale)

    @property
    def draws(self) -> tuple[Priced, ...]:
        """Nothing by itself."""
        return ()

    @property
    def asks(self) -> str:
        """Which rows it selects: members of one batch that select the same are one question."""
        return canonical(self.task.predicate) if self.task.predicate else ""


@dataclass(frozen=True, slots=True)
class Made:
    """A batch, and how its mechanism was chosen."""

    batch: Batch
    choice: Chosen
    scale: Fraction

    @property
    def measured(self) -> Measured | None:
        """What is summed up; None for a count."""
        return self.batch.task.measured

    @property
    def places(self) -> dict[str, int]:
        """The place of each question among the answers."""
        tasks = enumerate(self.batch.tasks)
        return {canonical(t.predicate) if t.predicate else "": place for place, t in tasks}

    def facts(self, *, replayed: bool) -> ReleasedBatch:
        """Return what a report says of it."""
        scale = float(self.scale)
        return ReleasedBatch(
            name=self.batch.name,
            queries=len(self.batch.tasks),
            epsilon=self.batch.epsilon,
            mechanism=self.batch.plan.id,
            reason=self.choice.reason,
            classes=self.batch.classes.size,
            rehearsed=tuple(Rehearsed(n, e * scale) for n, e in self.choice.errors.items()),
            replayed=replayed,
        )


def batches(
    members: Sequence[Member], part: Part[Member], synthetic: Table, terms: Terms
) -> list[Made]:
    """Return a batch for each thing that is summed up, at its share of epsilon."""
    groups: dict[Measured | None, dict[str, Member]] = {}
    for member in members:
        groups.setdefault(member.task.measured, {}).setdefault(member.asks, member)
    whole = sum(map(len, groups.values()))
    epsilon = terms.epsilon or Fraction(1)
    made = []
    for measured, asked in groups.items():
        # In an order of their own: asked in another order, they are the same batch.
        ordered = [asked[text] for text in sorted(asked)]
        name = f"SUM({ordered[0].query.attribute})" if measured else "COUNT"
        try:
            made.append(_made(name, ordered, part, synthetic, epsilon * len(asked) / whole))
        except PqdError as error:
            error.args = (f"{name}: {error}",)
            raise
    return made


def _made(
    name: str, members: Sequence[Member], part: Part[Member], synthetic: Table, epsilon: Fraction
) -> Made:
    first, tasks = members[0], tuple(member.task for member in members)
    workload = Workload(tasks)
    cells = part.engine.cells(synthetic, part.prepared.schema, workload)
    classes = Classes.of(workload, cells.words)
    lattice = first.task.measured.lattice if first.task.measured else None
    problem = Problem(classes, lattice)
    plans = _plans(first.terms.decider, problem, epsilon)
    if first.terms.decider in {AUTO, RANGES}:
        try:
            plans[RANGES] = ranges_of(workload, cells, part.prepared.schema, epsilon)
        except PqdError:
            if first.terms.decider == RANGES:
                raise
    choice = chosen(plans, problem, cells, epsilon, first.scale)
    kinds = tuple(sorted({pair for member in members for pair in member.kinds}))
    batch = Batch(
        query=first.query,
        terms=first.terms,
        task=first.task,
        kinds=kinds,
        unit=None,
        name=name,
        sql=tuple(member.query.sql for member in members),
        tasks=tasks,
        classes=classes,
        plan=choice.plan,
        epsilon=epsilon,
    )
    return Made(batch, choice, first.scale)


def _plans(asked: str, problem: Problem, epsilon: Fraction) -> dict[str, Plan]:
    """Return the plans to rehearse: the one that is named, or all that fit and are quick enough."""
    if asked == RANGES:
        return {}
    if asked != AUTO:
        return {asked: Planned.of(asked, problem, epsilon)}
    made: dict[str, Plan] = {}
    refusal: PqdError | None = None
    for name in MECHANISMS:
        try:
            plan = Planned.of(name, problem, epsilon)
        except PqdError as error:
            refusal = refusal or error
            continue
        if plan.quick:
            made[name] = plan
    if refusal and not made:
        raise refusal
    return made


def asking(part: Part[Member], batches: tuple[Batch, ...]) -> Prepared[Batch]:
    """Return the same preparation, with batches for questions."""
    prepared = part.prepared
    return Prepared(batches, (), prepared.schema, None, prepared.notes)
