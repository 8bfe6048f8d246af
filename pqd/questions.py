"""The public half of an audit: everything about a query that needs no private table."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from deciders import Interval, Lattice, ParameterError, answer, applicable
from deciders.aggregates import HALF
from deciders.noise import check_scale
from pqd.dispatch import Candidate, Choice, choose
from pqd.errors import PqdError, QueryError, TableError
from pqd.expressions import folded
from pqd.parameters import ColumnFacts, Facts, Terms, bounded_lattice, kinds
from pqd.workload import Workload
from reports.model import CandidateFacts
from reports.numbers import number_text, plain

if TYPE_CHECKING:
    from deciders import Histogram
    from pqd.engines.duckdb import DuckDBEngine
    from pqd.expressions import Schema
    from pqd.query import Query, Resolved
    from pqd.tables import Table

_COUNTING = Lattice(0, 1)
_COUNTS = ("COUNT", "COUNT DISTINCT")


@dataclass(frozen=True, slots=True)
class Question:
    """One query made decidable: interval, lattice and decider, all from public data.

    ``answer`` and ``tau`` are in the query's own unit; ``interval`` is in lattice units, of which
    each is ``unit`` of the query's own.
    """

    query: Query
    unit: Fraction
    answer: Fraction
    tau: Fraction
    interval: Interval
    choice: Choice
    alpha: Fraction

    @property
    def settled(self) -> bool:
        """Whether every table within the bounds has the same answer, which then costs nothing."""
        return self.choice.decider.settled(self.interval) is not None

    @property
    def taken(self) -> CandidateFacts:
        """The decider taken, as a report shows it."""
        return _facts_of(self.choice.taken, self.unit)

    def facts(self) -> dict[str, Any]:
        """Return the fields of ``reports.model.QueryFacts``."""
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
            "alpha": self.alpha,
            "decider": choice.decider.id,
            "reason": choice.reason,
            "candidates": tuple(_facts_of(c, self.unit) for c in choice.candidates),
        }


@dataclass(frozen=True, slots=True)
class Prepared:
    """The questions of one audit, with the schema they were resolved against and notes to show."""

    questions: tuple[Question, ...]
    schema: Schema
    workload: Workload
    notes: tuple[str, ...]


def prepare(
    engine: DuckDBEngine, synthetic: Table, queries: Sequence[Query], terms: Terms
) -> Prepared:
    """Read the synthetic table and make every query decidable, or raise for the first that is not.

    Raises
    ------
    PqdError
        QueryError, TableError, ParameterError or DeciderError; the message names the query.
    """
    schema = engine.schema(synthetic, _columns(queries), kinds(terms.facts, synthetic.columns))
    if not engine.rows():
        raise TableError(f"the synthetic table {synthetic.label} has no rows")
    _check_facts(terms.facts, schema, queries)
    resolved = []
    for query in queries:
        with _naming(query):
            resolved.append(query.resolve(schema))
    lattices, notes = _lattices(engine, schema, list(zip(queries, resolved, strict=True)), terms)
    workload = Workload.of(list(zip(resolved, lattices, strict=True)))
    histograms = engine.histograms(synthetic, schema, workload)
    questions = []
    for query, lattice, histogram in zip(queries, lattices, histograms, strict=True):
        with _naming(query):
            questions.append(_question(query, lattice or _COUNTING, histogram, terms))
    return Prepared(tuple(questions), schema, workload, notes)


@contextmanager
def _naming(query: Query) -> Iterator[None]:
    """Put the query's id before the message of any refusal."""
    try:
        yield
    except PqdError as error:
        error.args = (f"query {query.id}: {error}",)
        raise


def _columns(queries: Sequence[Query]) -> set[str]:
    """Names of every column that a query mentions."""
    return {name for query in queries for name in query.mentioned}


def _lattices(
    engine: DuckDBEngine,
    schema: Schema,
    pairs: Sequence[tuple[Query, Resolved]],
    terms: Terms,
) -> tuple[list[Lattice | None], tuple[str, ...]]:
    """Return each query's lattice (None for a count), and a note where it was not stated."""
    found: dict[str, Lattice] = {}
    notes: dict[str, None] = {}
    lattices: list[Lattice | None] = []
    for query, resolved in pairs:
        if resolved.value is None or query.aggregate == "COUNT DISTINCT":
            lattices.append(None)
            continue
        with _naming(query):
            if resolved.value not in found:
                lattice, note = _lattice(engine, schema, query, resolved, terms)
                found[resolved.value] = lattice
                notes.update(dict.fromkeys(note))
        lattices.append(found[resolved.value])
    return lattices, tuple(notes)


def _lattice(
    engine: DuckDBEngine, schema: Schema, query: Query, resolved: Resolved, terms: Terms
) -> tuple[Lattice, tuple[str, ...]]:
    name = query.attribute or ""
    facts = _facts(terms.facts, name)
    seen = engine.profile(schema, resolved.columns, resolved.value or "")
    lattice = bounded_lattice(facts, seen)
    if lattice is None:
        message = f"{name} has no value in the synthetic table; state its bounds (--bounds)"
        raise ParameterError(message)
    if facts is None or facts.bounds is None:
        return lattice, (f"Bounds of {name} from the synthetic table: {span(lattice)}.",)
    if seen and (seen.lower < lattice.lower or seen.upper > lattice.upper):
        return lattice, (f"Synthetic values of {name} outside {span(lattice)} count as its ends.",)
    return lattice, ()


def _question(query: Query, lattice: Lattice, synthetic: Histogram, terms: Terms) -> Question:
    """Return the question of one query, given the histogram of the synthetic table."""
    unit = Fraction(1) if query.aggregate in _COUNTS else lattice.unit
    found = answer(query.aggregate, synthetic, query.p or HALF)
    if found is None:
        word = {"AVG": "mean", "MEDIAN": "median"}.get(query.aggregate, "quantile")
        raise QueryError(f"no synthetic row matches, so there is no {word} to compare with")
    tau = terms.tolerance.of(found * unit)
    interval = Interval.around(found, tau / unit)
    parameters = {"p": query.p} if query.aggregate == "QUANTILE" else {}
    fitting = applicable(query.aggregate, lattice, **parameters)
    choice = choose(terms.decider, query.aggregate, fitting, synthetic, interval, terms)
    if terms.epsilon is not None:
        # Here, on public data, and not in the draw: nothing may be refused after it has begun.
        check_scale(choice.decider.largest_scale(terms.epsilon))
    return Question(query, unit, found * unit, tau, interval, choice, terms.alpha)


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


def _facts(facts: Facts, attribute: str) -> ColumnFacts | None:
    """Return what the user states of an attribute, found by its canonical SQL."""
    wanted = _canonical(attribute)
    return next((fact for name, fact in facts.items() if wanted in _spellings(name)), None)


def _spellings(name: str) -> set[str]:
    """Return the canonical SQL of a stated name: as a column and as an expression."""
    column = exp.to_identifier(name, quoted=True).sql(dialect="duckdb")
    return {_canonical(column), _canonical(name)}


@lru_cache(maxsize=1024)
def _canonical(sql: str) -> str:
    try:
        node = parse_one(sql, read="duckdb")
    except (SqlglotError, RecursionError):
        return sql
    for identifier in node.find_all(exp.Identifier):
        identifier.set("quoted", True)  # noqa: FBT003 - sqlglot takes the value by place
    return folded(node.sql(dialect="duckdb"))


def _check_facts(facts: Facts, schema: Schema, queries: Sequence[Query]) -> None:
    """Refuse facts about what is neither a column nor aggregated: a typo would go unseen."""
    known = {folded(name) for name in schema}
    aggregated = {_canonical(query.attribute) for query in queries if query.attribute}
    for name in facts:
        if folded(name) not in known and not _spellings(name) & aggregated:
            near = difflib.get_close_matches(name, list(schema), n=3, cutoff=0.5)
            hint = f"; the nearest are {', '.join(near)}" if near else ""
            raise ParameterError(f'bounds or type are given for "{name}", which is no column{hint}')


def span(lattice: Lattice) -> str:
    """Return a lattice in words, such as ``0..99,999 step 1``."""
    low, high, step = (number_text(x) for x in (lattice.lower, lattice.upper, lattice.step))
    return f"{low}..{high} step {step}"
