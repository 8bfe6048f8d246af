"""The public half of a question: everything about a query that needs no private table."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from deciders import Interval, Lattice, answer, applicable
from deciders.aggregates import HALF
from deciders.noise import check_scale
from pqd.composition import Cost
from pqd.disjoint import Region, region
from pqd.dispatch import Candidate, Choice, choose
from pqd.errors import QueryError
from pqd.expressions import folded
from pqd.predicate import canonical
from reports.model import CandidateFacts
from reports.numbers import plain

if TYPE_CHECKING:
    from deciders import Histogram
    from pqd.parameters import Terms
    from pqd.query import Query
    from pqd.workload import PrivacyUnit, Task

_COUNTING = Lattice(0, 1)
_COUNTS = ("COUNT", "COUNT DISTINCT")


@dataclass(frozen=True, slots=True)
class Asked:
    """A query, and the terms on which it is asked."""

    query: Query
    terms: Terms


# Without slots, so that the key is hashed once: it is asked for many times.
@dataclass(frozen=True)
class Question:
    """One query made decidable: interval, lattice and decider, all from public data.

    ``answer`` and ``tau`` are in the query's own unit; ``interval`` is in lattice units, of which
    each is ``scale`` of the query's own.  ``kinds`` are those of the columns that it reads.
    ``unit`` is the privacy unit, None where one row is one person.
    """

    query: Query
    terms: Terms
    task: Task
    kinds: tuple[tuple[str, str], ...]
    unit: PrivacyUnit | None
    scale: Fraction
    answer: Fraction
    tau: Fraction
    interval: Interval
    choice: Choice

    @property
    def id(self) -> str:
        """The name of the query."""
        return self.query.id or ""

    @property
    def settled(self) -> bool:
        """Whether every table within the bounds has the same answer, which then costs nothing."""
        return self.choice.decider.settled(self.interval) is not None

    @property
    def cost(self) -> Fraction:
        """What the answer costs by itself: epsilon per row of a person that counts.

        A person who counts once, or by one total, changes the histogram as one row does; one who
        counts by ``max_rows`` rows changes it by that many (group privacy).
        """
        if self.settled:
            return Fraction(0)
        return self._rows * (self.terms.epsilon or Fraction(0))

    @property
    def _rows(self) -> int:
        """How many rows of the histogram one person may change."""
        return self.unit.max_rows if self.unit and not self.task.collapsed else 1

    @property
    def region(self) -> Region | None:
        """The rows that it reads, None where it reads more of a person than those rows."""
        return None if self.unit and self.task.collapsed else region(self.task.predicate)

    @property
    def share(self) -> Cost:
        """What it takes part in the price of a run with."""
        return Cost(self.id, self.cost, self.region)

    @cached_property
    def key(self) -> str:
        """What the answer is a function of, beside the private table and chance, as a hash.

        The synthetic table takes part through its answer, bounds and kinds alone: another one
        that asks the same of the private table asks the same question.
        """
        measured, unit = self.task.measured, self.unit
        lattices = (measured.lattice, measured.total) if measured else ()
        facts = (
            canonical(self.task.predicate) if self.task.predicate else "",
            measured.sql if measured else "",
            [None if x is None else list(map(str, (x.lower, x.upper, x.step))) for x in lattices],
            self.kinds,
            (folded(unit.column), 1 if self.task.collapsed else unit.max_rows) if unit else None,
            self.query.aggregate,
            [str(x) for x in (self.interval.lower, self.interval.upper, self.terms.epsilon)],
            self.choice.decider.id,
            repr(self.choice.decider),
        )
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()

    @property
    def taken(self) -> CandidateFacts:
        """The decider taken, as a report shows it."""
        return _facts_of(self.choice.taken, self.scale)

    def facts(self) -> dict[str, Any]:
        """Return the fields of ``reports.model.QueryFacts``."""
        query, choice = self.query, self.choice
        return {
            "id": self.id,
            "sql": query.sql,
            "aggregate": query.aggregate,
            "attribute": query.attribute,
            "p": None if query.p is None else float(query.p),
            "where": query.where,
            "q_synthetic": plain(self.answer),
            "tau": plain(self.tau),
            "alpha": self.terms.alpha,
            "decider": choice.decider.id,
            "reason": choice.reason,
            "candidates": tuple(_facts_of(c, self.scale) for c in choice.candidates),
            "block": query.block,
            "group": query.group,
            "counted": "rows" if self._rows > 1 else "people",
        }


def question_of(
    query: Query,
    terms: Terms,
    task: Task,
    columns: tuple[tuple[str, str], ...],
    unit: PrivacyUnit | None,
    synthetic: Histogram,
) -> Question:
    """Return the question of one query, given the histogram of the synthetic table.

    Raises
    ------
    PqdError
        If it has no synthetic answer, or no decider fits, or the noise would drown everything.
    """
    measured = task.measured
    lattice = (measured.total or measured.lattice if measured else None) or _COUNTING
    scale = Fraction(1) if query.aggregate in _COUNTS else lattice.unit
    found = answer(query.aggregate, synthetic, query.p or HALF)
    if found is None:
        word = {"AVG": "mean", "MEDIAN": "median"}.get(query.aggregate, "quantile")
        raise QueryError(f"no synthetic row matches, so there is no {word} to compare with")
    tau = terms.tolerance.of(found * scale)
    interval = Interval.around(found, tau / scale)
    parameters = {"p": query.p} if query.aggregate == "QUANTILE" else {}
    fitting = applicable(query.aggregate, lattice, **parameters)
    choice = choose(terms.decider, query.aggregate, fitting, synthetic, interval, terms)
    if terms.epsilon is not None:
        # Here, on public data, and not in the draw: nothing may be refused after it has begun.
        check_scale(choice.decider.largest_scale(terms.epsilon))
    whole = found * scale
    return Question(query, terms, task, columns, unit, scale, whole, tau, interval, choice)


def _facts_of(candidate: Candidate, unit: Fraction) -> CandidateFacts:
    threshold, rates, scale = candidate.threshold, candidate.rates, float(unit)
    curve = candidate.curve
    return CandidateFacts(
        candidate.decider.id,
        tau_min=threshold.tau * scale if threshold else None,
        tau_min_exact=threshold.exact if threshold else None,
        tau_published=None if candidate.published is None else candidate.published * scale,
        false_no=rates.false_no if rates else None,
        false_yes=rates.false_yes if rates else None,
        epsilon_needed=candidate.needed,
        curve=tuple(None if math.isnan(y) else y for y in curve) if curve else None,
    )
