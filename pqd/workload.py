"""A workload: queries that share one scan of a table."""

from collections.abc import Sequence
from dataclasses import dataclass

from deciders import Lattice
from pqd.predicate import Atom, Predicate, atoms
from pqd.query import Resolved


@dataclass(frozen=True, slots=True)
class Measured:
    """What is aggregated of a row: its SQL over typed columns, and its public lattice.

    Without a lattice only equality matters (COUNT DISTINCT).
    """

    sql: str
    lattice: Lattice | None


@dataclass(frozen=True, slots=True)
class Task:
    """What one query needs from the scan: the rows it matches, and what to count of them."""

    predicate: Predicate | None
    measured: Measured | None


@dataclass(frozen=True, slots=True)
class Workload:
    """Tasks over one table; distinct atoms and numbers are evaluated once."""

    tasks: tuple[Task, ...]
    columns: tuple[str, ...]

    @classmethod
    def of(cls, queries: Sequence[tuple[Resolved, Lattice | None]]) -> "Workload":
        """Gather resolved queries, each with the lattice of its number (None if it has none)."""
        tasks = tuple(
            Task(q.predicate, Measured(q.value, lattice) if q.value else None)
            for q, lattice in queries
        )
        return cls(tasks, tuple(sorted({name for q, _ in queries for name in q.columns})))

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """Every distinct atomic condition."""
        every = (atom for task in self.tasks if task.predicate for atom in atoms(task.predicate))
        return tuple(dict.fromkeys(every))

    @property
    def measured(self) -> tuple[Measured, ...]:
        """Everything distinct that is aggregated."""
        return tuple(dict.fromkeys(task.measured for task in self.tasks if task.measured))
