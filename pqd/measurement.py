"""What a run pays for: anything that is drawn from one private histogram under one budget."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from deciders.exact import positive
from pqd.accounting.cache_keys import digest
from pqd.accounting.disjoint_groups import Cost
from pqd.sql.predicate import canonical
from pqd.sql.regions import Region, region
from pqd.sql.schema import fold_case

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deciders import Noise
    from pqd.accounting.stored_answers import Answer
    from pqd.engine.scan_plan import PrivacyUnit, Statistic
    from pqd.parameters import Parameters
    from pqd.sql.query import Query


def rows_changed(task: Statistic, unit: PrivacyUnit | None) -> int:
    """Return how many rows of a task's histogram one person may change."""
    return unit.max_rows if unit and not task.collapsed else 1


def counted(task: Statistic, unit: PrivacyUnit | None) -> str:
    """Return what changes of a task's histogram are changes of: people, or rows of people."""
    return "rows" if rows_changed(task, unit) > 1 else "people"


# Without slots, so that the key is hashed once: it is asked for many times.
@dataclass(frozen=True)
class Measurement(ABC):
    """A query, the terms on which it is asked, and what the engine must do for it; all public.

    ``kinds`` are those of the columns that it reads; ``unit`` is the privacy unit, None where one
    row is one person.  There is none without a budget: ``Parameters`` have one, ``Criteria``
    have not.
    """

    query: Query
    terms: Parameters
    task: Statistic
    kinds: tuple[tuple[str, str], ...]
    unit: PrivacyUnit | None

    def __post_init__(self) -> None:
        """Raise ParameterError unless there is a budget to draw at."""
        positive(self.epsilon, "epsilon")

    @property
    def epsilon(self) -> Fraction:
        """The budget that it is drawn at."""
        return self.terms.epsilon

    @property
    def id(self) -> str:
        """The name of the query."""
        return self.query.id or ""

    @property
    def draws(self) -> tuple[Measurement, ...]:
        """What must be drawn for it: itself."""
        return (self,)

    @property
    @abstractmethod
    def settled(self) -> bool:
        """Whether every table within the bounds has the same answer, which then costs nothing."""

    @abstractmethod
    def mechanism(self) -> Mapping[str, Any]:
        """Return the mechanism by ``id``, its parameters, and what it is asked.

        The names are those of pqd/accounting/cache_keys.py.

        ``kind`` tells apart what is stored and used in different ways.
        """

    @property
    def joint(self) -> tuple[Statistic, ...]:
        """The tasks whose rows are told apart together, as cells; none: a histogram of its own."""
        return ()

    @abstractmethod
    def draw(self, histogram: Any, noise: Noise) -> Answer:  # noqa: ANN401 - or cells
        """Return the private output, ``epsilon``-DP in the rows of what was scanned."""

    def entry(self) -> dict[str, Any]:
        """Return what the ledger keeps of it in public."""
        return {
            "id": self.id,
            "sql": self.query.sql,
            "epsilon": str(self.epsilon),
            "decider": self.mechanism()["id"],
            "unit": self.unit.column if self.unit else None,
        }

    @property
    def cost(self) -> Fraction:
        """What the answer costs by itself: epsilon per row of a person that counts.

        A person who counts once, or by one total, changes the histogram as one row does; one who
        counts by ``max_rows`` rows changes it by that many (group privacy).
        """
        return Fraction(0) if self.settled else self.largest

    @property
    def largest(self) -> Fraction:
        """What the answer costs by itself unless it is settled."""
        return self.rows * self.epsilon

    @property
    def rows(self) -> int:
        """How many rows of the histogram one person may change."""
        return rows_changed(self.task, self.unit)

    @property
    def counted(self) -> str:
        """What changes of the histogram are changes of."""
        return counted(self.task, self.unit)

    @property
    def region(self) -> Region | None:
        """The rows that it reads, None where it reads more of a person than those rows."""
        return None if self.unit and self.task.collapsed else region(self.task.predicate)

    @property
    def share(self) -> Cost:
        """What it takes part in the price of a run with."""
        block = self.query.block
        return Cost(self.id, self.cost, self.region, blocks=frozenset([block] if block else []))

    @cached_property
    def key(self) -> str:
        """What the answer is a function of, beside the private table and chance, as a hash.

        A synthetic table takes part through what is asked, bounds and kinds alone: another one
        that asks the same of the private table asks the same question.
        """
        unit = self.unit
        people = (fold_case(unit.column), rows_changed(self.task, unit)) if unit else None
        rows = canonical(self.task.predicate) if self.task.predicate else None
        return self.keyed({"rows": rows, "aggregate": self.query.aggregate, "unit": people})

    def keyed(self, asked: Mapping[str, Any]) -> str:
        """Return the key of what is ``asked`` of the rows: with what is measured, how and at what.

        ``kinds`` say how cells are read, and the lattices what becomes of a value.
        """
        measured = self.task.measured
        facts: dict[str, Any] = {
            "measured": [measured.sql, measured.lattice, measured.total] if measured else None,
            "kinds": self.kinds,
            "epsilon": self.epsilon,
            "mechanism": self.mechanism(),
        }
        if measured and measured.fences:
            facts["fences"] = measured.fences.facts
        return digest({**asked, **facts})
