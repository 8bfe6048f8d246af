"""The public half of a question: everything about a query that needs no private table."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from deciders import Interval, Lattice, ParameterError, answer, applicable
from deciders.aggregates import HALF
from deciders.noise import check_scale
from pqd.accounting.cache_keys import of_decider
from pqd.engine.cut_points import ORDERED, CutPoints, reaching
from pqd.errors import UnanswerableError
from pqd.measurement import Measurement, counted
from pqd.parameters import Criteria, Parameters
from pqd.planning.choose_decider import Candidate, Choice, choose
from reports.models.audit import CandidateFacts
from reports.text.numbers import plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deciders import Decision, Histogram, Noise
    from deciders.single.base import Estimate
    from pqd.accounting.disjoint_groups import Cost
    from pqd.engine.scan_plan import PrivacyUnit, Statistic
    from pqd.execution import Outputs
    from pqd.sql.query import Query

_COUNTING = Lattice(0, 1)
_COUNTS = ("COUNT", "COUNT DISTINCT")
_OUTCOMES = (("yes", True), ("no", False))


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """A query, and the terms on which it is asked; without a budget it is planned, or waits."""

    query: Query
    terms: Criteria

    @property
    def priced(self) -> Parameters:
        """The terms, which must have a budget."""
        return self.terms if isinstance(self.terms, Parameters) else self.terms.at(None)


@dataclass(frozen=True)
class Decidable:
    """One query made decidable: interval, lattice and decider, all from public data.

    ``answer`` and ``tau`` are in the query's own unit; ``interval`` is in lattice units, of which
    each is ``scale`` of the query's own.  It may have no budget: then it can be planned only.
    """

    query: Query
    terms: Criteria
    task: Statistic
    kinds: tuple[tuple[str, str], ...]
    unit: PrivacyUnit | None
    scale: Fraction
    answer: Fraction
    tau: Fraction
    interval: Interval
    choice: Choice

    @property
    def draws(self) -> tuple[Measurement, ...]:
        """Nothing."""
        return ()

    @property
    def taken(self) -> CandidateFacts:
        """The decider taken, as a report shows it."""
        return _facts_of(self.choice.taken, self.scale)

    def facts(self) -> dict[str, Any]:
        """Return the fields of ``reports.models.audit.QueryFacts``."""
        query, choice = self.query, self.choice
        return {
            "id": query.id or "",
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
            "counted": counted(self.task, self.unit),
        }


# Without slots, so that the key is hashed once: it is asked for many times.
@dataclass(frozen=True)
class Question(Measurement, Decidable):
    """A decidable query with a budget: what is drawn and paid for.

    Where questions share a budget, those that are charged once have one ``company``.
    """

    terms: Parameters
    company: str = ""

    @property
    def share(self) -> Cost:
        """What it takes part in the price of a run with."""
        return replace(super().share, company=self.company)

    @property
    def settled(self) -> bool:
        """Whether every table within the bounds has the same answer, which then costs nothing."""
        return self.choice.decider.settled(self.interval) is not None

    def mechanism(self) -> Mapping[str, Any]:
        """Return what is asked of the histogram, as ``Measurement.mechanism`` says."""
        decider = of_decider(self.choice.decider)
        return {"kind": "verdict", "interval": self.interval, **decider}

    def draw(self, histogram: Histogram, noise: Noise) -> Decision:
        """Decide."""
        return self.choice.decider.decide(histogram, self.interval, self.epsilon, noise)

    def decided(self, answers: Outputs) -> Decision:
        """Return the verdict among the answers of a run."""
        return answers.decision(self)

    def estimated(self, decision: Decision) -> Estimate:
        """Return the private answer in lattice units, as far as the verdict tells it."""
        asked = decision, self.interval, self.epsilon, self.terms.alpha
        return self.choice.decider.estimated(*asked)

    def entry(self) -> dict[str, Any]:
        """Return what the ledger keeps of it in public."""
        return {**super().entry(), "tau": str(self.tau)}


def examined(
    asked: QueryRequest,
    task: Statistic,
    columns: tuple[tuple[str, str], ...],
    unit: PrivacyUnit | None,
    found: tuple[Histogram, ...],
) -> Decidable:
    """Return what is public of one query, given the histogram of the one synthetic table.

    Raises
    ------
    PqdError
        If it has no synthetic answer, or no decider fits, or the noise would drown everything.
    """
    (synthetic,), query, terms = found, asked.query, asked.terms
    centre = public_answer(query, synthetic)
    scale = measured_on(query, task)[1]
    tau = terms.tolerance.of(centre * scale)
    interval = Interval.around(centre, tau / scale)
    task = with_room(query, task, [interval])
    lattice = measured_on(query, task)[0]
    parameters = {"p": query.p} if query.aggregate == "QUANTILE" else {}
    fitting = applicable(query.aggregate, lattice, **parameters)
    choice = choose(terms.decider, query.aggregate, fitting, synthetic, interval, terms)
    if isinstance(terms, Parameters):
        # Here, on public data, and not in the draw: nothing may be refused after it has begun.
        check_scale(choice.decider.largest_scale(terms.epsilon))
    if choice.decider.compares:
        task = fenced(task, [interval], scale)
    whole = centre * scale
    return Decidable(query, terms, task, columns, unit, scale, whole, tau, interval, choice)


def asks(
    asked: QueryRequest,
    task: Statistic,
    columns: tuple[tuple[str, str], ...],
    unit: PrivacyUnit | None,
    found: tuple[Histogram, ...],
) -> Question:
    """Return the question of one query, which must have a budget; see ``examined``."""
    terms = asked.priced
    made = examined(asked, task, columns, unit, found)
    values = {field.name: getattr(made, field.name) for field in fields(Decidable)}
    return Question(**{**values, "terms": terms})


def with_room(query: Query, task: Statistic, intervals: Sequence[Interval]) -> Statistic:
    """Return ``task`` on a lattice that reaches beyond ``intervals``, unless bounds are stated.

    Of means and order statistics: what bounds the answer must not be the synthetic table's word.

    Raises
    ------
    UnanswerableError
        If that is too wide a lattice.
    """
    measured = task.measured
    if query.aggregate not in ("AVG", *ORDERED) or measured is None or measured.stated:
        return task
    if measured.lattice is None:
        return task
    try:
        wide = reaching(measured.lattice, intervals)
    except ParameterError as error:
        raise UnanswerableError(f"tau is too wide: {error}") from None
    return replace(task, measured=replace(measured, lattice=wide))


def fenced(task: Statistic, intervals: Sequence[Interval], scale: Fraction) -> Statistic:
    """Return ``task`` with private values compared with the ends of ``intervals`` as they are."""
    measured = task.measured
    if measured is None or measured.lattice is None:
        return task
    lattice = measured.lattice
    bounds = (lattice.lower, lattice.upper) if measured.stated else None
    fences = CutPoints.of(intervals, scale, bounds)
    return replace(task, measured=replace(measured, lattice=None, fences=fences))


def measured_on(query: Query, task: Statistic) -> tuple[Lattice, Fraction]:
    """Return the lattice of what is aggregated, and what one unit of the answer is worth."""
    measured = task.measured
    lattice = (measured.total or measured.lattice if measured else None) or _COUNTING
    return lattice, Fraction(1) if query.aggregate in _COUNTS else lattice.unit


def public_answer(query: Query, synthetic: Histogram) -> Fraction:
    """Return the synthetic answer in lattice units.

    Raises
    ------
    UnanswerableError
        If there is none.
    """
    found = answer(query.aggregate, synthetic, query.p or HALF)
    if found is None:
        word = {"AVG": "mean", "MEDIAN": "median"}.get(query.aggregate, "quantile")
        raise UnanswerableError(
            f"no synthetic row matches, so there is no {word} to compare with; check the WHERE "
            "(text is case-sensitive)"
        )
    return found


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
        proves=tuple(name for name, yes in _OUTCOMES if yes in candidate.decider.proves),
    )
