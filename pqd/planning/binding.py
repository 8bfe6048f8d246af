"""From queries to questions: synthetic tables are read once, the private one not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeAlias, TypeVar

from deciders import Lattice, ParameterError, UnanswerableError, answer
from deciders.aggregates import HALF
from pqd.columns import (
    Facts,
    bounded_lattice,
    check_stated,
    kinds,
    known,
    no_column,
    rows_of,
    span,
    stated_of,
)
from pqd.engine.cut_points import ORDERED
from pqd.engine.scan_plan import Measure, PrivacyUnit, ScanPlan, Statistic
from pqd.errors import PqdError
from pqd.planning.decisions import QueryRequest
from pqd.planning.query_warnings import WARNING, Constants, warnings_of
from pqd.sql.grouping import MOST_GROUPS, grouped
from pqd.sql.schema import fold_case
from reports.models.refusals import Refused

if TYPE_CHECKING:
    from deciders import Histogram
    from pqd.engine.synthetic_tables import SyntheticTables
    from pqd.measurement import Measurement
    from pqd.sql.query import BoundExpression, Query
    from pqd.sql.schema import Schema

_CLAMPED = ("SUM", "AVG")
_NUMERIC = (*_CLAMPED, *ORDERED)


class Drawable(Protocol):
    """A query made ready, and what must be drawn for it."""

    @property
    def query(self) -> Query:
        """The query, or one group of it."""
        ...

    @property
    def draws(self) -> tuple[Measurement, ...]:
        """What must be drawn."""
        ...


Made = TypeVar("Made", bound=Drawable)
Refusal: TypeAlias = tuple["Query", PqdError]
# Makes a query ready, given its columns with their kinds and a histogram per synthetic table.
Maker = Callable[
    [
        QueryRequest,
        Statistic,
        tuple[tuple[str, str], ...],
        PrivacyUnit | None,
        tuple["Histogram", ...],
    ],
    Made,
]


@dataclass(frozen=True, slots=True)
class Prepared(Generic[Made]):
    """The questions of one run, in the order of the queries, and what else is public of it.

    ``schema`` is what they were resolved against; ``refused`` are the queries, or single groups of
    them, that could not be made decidable, and why; ``notes`` are remarks to show.  ``whole`` says
    that a grouped query is asked with all of its groups or not at all.
    """

    questions: tuple[Made, ...]
    refused: tuple[Refusal, ...]
    schema: Schema
    unit: PrivacyUnit | None
    notes: tuple[str, ...]
    whole: bool = False

    @property
    def warnings(self) -> tuple[str, ...]:
        """Those of the notes that are to be told before anything is spent."""
        return tuple(note for note in self.notes if note.startswith(WARNING))

    def demand(self) -> tuple[Made, ...]:
        """Return the questions, or raise the first refusal that stops a run; it names the query.

        What is wrong with a query stops it.  What the synthetic table gives no answer to does so
        only where nothing is left to ask, and then with the warnings, which may tell why; else it
        is among ``left_out``.
        """
        others = bool(self.questions)
        for query, error in self.refused:
            unanswerable = isinstance(error, UnanswerableError)
            if not (others and unanswerable):
                told = [f"query {query.id}: {error}", *(self.warnings if unanswerable else ())]
                error.args = (". ".join(told),)
                raise error
        return self.questions

    @property
    def left_out(self) -> tuple[Refused, ...]:
        """What is refused, as a report shows it."""
        return tuple(
            Refused(id=q.id or "", sql=q.sql, reason=str(error), block=q.block, group=q.group)
            for q, error in self.refused
        )


def prepare(
    tables: SyntheticTables,
    asked: Sequence[QueryRequest],
    facts: Facts,
    make: Maker[Made],
    *,
    unit: PrivacyUnit | None = None,
    others: Sequence[Query] = (),
    whole: bool = False,
) -> Prepared[Made]:
    """Read the synthetic tables and make every query ready, once per group where it is grouped.

    ``facts`` are what the caller states of columns and of what is aggregated here or in ``others``;
    of the private table the header is used.  ``whole`` leaves a grouped query out if one of its
    groups is refused.

    Raises
    ------
    PqdError
        TableError or ParameterError for what concerns no single query.
    """
    return _Preparation(tables, facts, unit, make, whole=whole).of(asked, others)


class _Preparation(Generic[Made]):
    """One pass over the queries; a query that is refused drops out, and the others go on."""

    def __init__(
        self,
        tables: SyntheticTables,
        facts: Facts,
        unit: PrivacyUnit | None,
        make: Maker[Made],
        *,
        whole: bool,
    ) -> None:
        self._tables, self._given, self._unit, self._make = tables, facts, unit, make
        self._whole = whole
        self._schema: Schema = {}
        self._refused: dict[str, tuple[Query, PqdError]] = {}
        self._lattices: dict[tuple[str, bool], Lattice] = {}
        self._notes: dict[str, None] = {}

    def of(self, asked: Sequence[QueryRequest], others: Sequence[Query]) -> Prepared[Made]:
        queries = [each.query for each in asked]
        names = {name for query in queries for name in query.mentioned}
        if self._unit:
            names.add(self._unit.column)
        stated = kinds(self._given, self._tables.columns)
        self._schema = self._tables.schema(names, stated)
        check_stated(self._given, self._schema, [*queries, *others])
        self._notes.update(self._tables.notes)
        self._check_unit()
        self._constants = Constants(self._tables, self._schema)
        single = [one for each in asked for one in self._ungrouped(each)]
        tasks = [(each, task) for each in single for task in self._task(each)]
        workload = ScanPlan(tuple(task for _, task in tasks), self._unit)
        histograms = self._tables.histograms(self._schema, workload)
        questions = [
            question
            for (each, task), found in zip(tasks, histograms, strict=True)
            for question in self._question(each, task, found)
        ]
        refused = tuple(self._refused.values())
        return Prepared(
            tuple(kept(questions, refused) if self._whole else questions),
            refused,
            self._schema,
            self._unit,
            tuple(self._notes),
            self._whole,
        )

    def _refusing(self, query: Query) -> AbstractContextManager[None, bool]:
        """Keep the first refusal of a query, or of one of its groups."""
        return _Refusing(query, self._refused)

    def _check_unit(self) -> None:
        if self._unit is None:
            return
        private = self._tables.private
        if private and fold_case(self._unit.column) not in map(fold_case, private.columns):
            # Only names that the copy has too: a table without a header has a row in their place.
            public = set(map(fold_case, self._tables.columns))
            shared = [name for name in private.columns if fold_case(name) in public]
            raise no_column(self._unit.column, shared, f"unit of {private.label}")
        for table in self._tables.tables:
            if fold_case(self._unit.column) not in map(fold_case, table.columns):
                note = f'{table.label} has no "{self._unit.column}": each of its rows counts'
                self._notes[f"{note} as one person."] = None

    def _ungrouped(self, asked: QueryRequest) -> list[QueryRequest]:
        """Return a query as it is, or once per group."""
        query = asked.query
        if not query.group_by:
            return [asked]
        with self._refusing(query):
            # Resolved as a whole first: its names and kinds must be right whatever the keys.
            resolved = query.resolve(self._schema)
            names = [known(self._schema, name, query) for name in query.group_by]
            made = grouped(
                query, lambda: self._tables.groups(self._schema, names, resolved, MOST_GROUPS + 1)
            )
            return [QueryRequest(one, asked.terms) for one in made]
        return []

    def _task(self, asked: QueryRequest) -> Iterator[Statistic]:
        """Yield what the engine must do for a query, if it is not refused."""
        query = asked.query
        with self._refusing(query):
            resolved = query.resolve(self._schema)
            self._tables.check(sorted(resolved.columns))
            collapsed = query.aggregate in {"COUNT", "SUM"}
            measured = None
            if resolved.value is not None:
                measured = Measure(resolved.value, None)
                if query.aggregate in _NUMERIC:
                    measured = self._on_lattice(query, resolved)
            self._warn(asked, resolved)
            yield Statistic(resolved.predicate, measured, resolved.columns, collapsed)

    def _warn(self, asked: QueryRequest, resolved: BoundExpression) -> None:
        """Note what is seldom meant; all of it is public."""
        found = [*warnings_of(asked.query, asked.terms), *self._constants.slips(resolved.where)]
        self._notes.update(dict.fromkeys(f"{WARNING}{slip}" for slip in found))

    def _on_lattice(self, query: Query, resolved: BoundExpression) -> Measure:
        """Return what is aggregated on its public lattice, and note whose bounds these are."""
        totalled = self._unit if query.aggregate == "SUM" else None
        place = resolved.value or "", totalled is not None
        facts = stated_of(self._given, query.attribute or "")
        if place not in self._lattices:
            self._lattices[place] = self._bounded(query, resolved, totalled)
        lattice = self._lattices[place]
        stated = facts is not None and facts.bounds is not None
        what = f"a person's total of {query.attribute}" if totalled else query.attribute
        if stated:
            snapped = query.aggregate in _CLAMPED
            between = ", and between two steps as the nearer one" if snapped else ""
            self._notes[
                f"Values of {what} outside {span(lattice)}, as stated, count as its ends{between}."
            ] = None
        elif query.aggregate in _CLAMPED:
            if query.aggregate == "SUM" and lattice.lower == lattice.upper == 0:
                raise UnanswerableError(
                    f"{what} is 0 throughout in the synthetic table, so that its bounds leave "
                    "nothing to add up; state its bounds (--bounds)"
                )
            self._notes[
                f"SUM and AVG are of {what} within {span(lattice)}, which are the bounds of the "
                "synthetic table: values outside count as its ends, and between two steps as the "
                "nearer one. State --bounds (LOW:HIGH:STEP) if there may be any."
            ] = None
        if totalled:
            return Measure(resolved.value or "", rows_of(lattice), lattice, stated=stated)
        return Measure(resolved.value or "", lattice, stated=stated)

    def _bounded(
        self, query: Query, resolved: BoundExpression, totalled: PrivacyUnit | None
    ) -> Lattice:
        name = query.attribute or ""
        facts = stated_of(self._given, name)
        try:
            seen = self._tables.profile(
                self._schema, resolved.columns, resolved.value or "", totalled
            )
            lattice = bounded_lattice(facts, seen)
        except ParameterError as error:
            raise UnanswerableError(f"{name} in the synthetic table: {error}") from None
        if lattice is None:
            message = f"{name} has no value in the synthetic table; state its bounds (--bounds)"
            raise UnanswerableError(message)
        return lattice

    def _question(
        self, asked: QueryRequest, task: Statistic, found: tuple[Histogram, ...]
    ) -> Iterator[Made]:
        """Yield one query made ready, if it is not refused."""
        with self._refusing(asked.query):
            columns = tuple((name, str(self._schema[name])) for name in sorted(task.columns))
            for note in _beyond(asked, task, found):
                self._notes[note] = None
            yield self._make(asked, task, columns, self._unit, found)


def _beyond(asked: QueryRequest, task: Statistic, found: Sequence[Histogram]) -> Iterator[str]:
    """Yield a warning if a tolerance reaches beyond bounds that the caller states."""
    query, measured = asked.query, task.measured
    if measured is None or measured.lattice is None or not measured.stated:
        return
    if query.aggregate not in ("AVG", *ORDERED):
        return
    lattice = measured.lattice
    for histogram in found:
        centre = answer(query.aggregate, histogram, query.p or HALF)
        tolerance = asked.terms.tolerance
        if centre is None or (tolerance.relative and not centre):
            continue
        middle = centre * lattice.unit
        tau = tolerance.of(middle)
        if middle - tau < lattice.lower or middle + tau > lattice.upper:
            yield (
                f"{query.block or query.id}: the tolerance reaches beyond the stated bounds of "
                f"{query.attribute}, {span(lattice)}; an answer beyond them looks like one at them."
            )


class _Refusing(AbstractContextManager[None, bool]):
    """Notes a refusal of ``query`` and goes on after the block."""

    def __init__(self, query: Query, refused: dict[str, tuple[Query, PqdError]]) -> None:
        self._query, self._refused = query, refused

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, PqdError):
            return False
        self._refused.setdefault(self._query.id or "", (self._query, error))
        return True


def kept(questions: Iterable[Made], refused: Iterable[Refusal]) -> list[Made]:
    """Return the questions but those of grouped queries of which a group is refused."""
    broken = {query.block for query, _ in refused if query.block}
    return [question for question in questions if question.query.block not in broken]
