"""From queries to questions: synthetic tables are read once, the private one not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeAlias, TypeVar

from deciders import Lattice, ParameterError, UnanswerableError
from pqd.attributes import check_stated, known, no_column, rows_of, span, stated_of
from pqd.errors import PqdError
from pqd.expressions import folded
from pqd.groups import MOST_GROUPS, grouped
from pqd.parameters import Facts, bounded_lattice, kinds
from pqd.questions import Asked
from pqd.workload import Measured, PrivacyUnit, Task, Workload
from reports.refused import Refused

if TYPE_CHECKING:
    from deciders import Histogram
    from pqd.expressions import Schema
    from pqd.priced import Priced
    from pqd.query import Query, Resolved
    from pqd.synthetics import Synthetics

_NUMERIC = ("SUM", "AVG", "MEDIAN", "QUANTILE")


class Drawable(Protocol):
    """A query made ready, and what must be drawn for it."""

    @property
    def query(self) -> Query:
        """The query, or one group of it."""
        ...

    @property
    def draws(self) -> tuple[Priced, ...]:
        """What must be drawn."""
        ...


Made = TypeVar("Made", bound=Drawable)
Refusal: TypeAlias = tuple["Query", PqdError]
# Makes a query ready, given its columns with their kinds and a histogram per synthetic table.
Maker = Callable[
    [
        Asked,
        Task,
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

    def demand(self) -> tuple[Made, ...]:
        """Return the questions, or raise the first refusal that stops a run; it names the query.

        What is wrong with a query stops it.  What the synthetic table gives no answer to does so
        only where nothing is left to ask; else it is among ``left_out``.
        """
        alone = bool(self.questions)
        for query, error in self.refused:
            if not (alone and isinstance(error, UnanswerableError)):
                error.args = (f"query {query.id}: {error}",)
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
    tables: Synthetics,
    asked: Sequence[Asked],
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
        tables: Synthetics,
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

    def of(self, asked: Sequence[Asked], others: Sequence[Query]) -> Prepared[Made]:
        queries = [each.query for each in asked]
        names = {name for query in queries for name in query.mentioned}
        if self._unit:
            names.add(self._unit.column)
        stated = kinds(self._given, self._tables.columns)
        self._schema = self._tables.schema(names, stated)
        check_stated(self._given, self._schema, [*queries, *others])
        self._notes.update(self._tables.notes)
        self._check_unit()
        single = [one for each in asked for one in self._ungrouped(each)]
        tasks = [(each, task) for each in single for task in self._task(each)]
        workload = Workload(tuple(task for _, task in tasks), self._unit)
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
        if private and folded(self._unit.column) not in map(folded, private.columns):
            raise no_column(self._unit.column, private.columns, f"unit of {private.label}")
        for table in self._tables.tables:
            if folded(self._unit.column) not in map(folded, table.columns):
                note = f'{table.label} has no "{self._unit.column}": each of its rows counts'
                self._notes[f"{note} as one person."] = None

    def _ungrouped(self, asked: Asked) -> list[Asked]:
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
            return [Asked(one, asked.terms) for one in made]
        return []

    def _task(self, asked: Asked) -> Iterator[Task]:
        """Yield what the engine must do for a query, if it is not refused."""
        query = asked.query
        with self._refusing(query):
            resolved = query.resolve(self._schema)
            self._tables.check(sorted(resolved.columns))
            collapsed = query.aggregate in {"COUNT", "SUM"}
            measured = None
            if resolved.value is not None:
                lattice = self._lattice(query, resolved) if query.aggregate in _NUMERIC else None
                measured = Measured(resolved.value, lattice)
                if self._unit and query.aggregate == "SUM" and lattice:
                    measured = Measured(resolved.value, rows_of(lattice), lattice)
            yield Task(resolved.predicate, measured, resolved.columns, collapsed)

    def _lattice(self, query: Query, resolved: Resolved) -> Lattice:
        totalled = self._unit if query.aggregate == "SUM" else None
        place = resolved.value or "", totalled is not None
        if place not in self._lattices:
            lattice, notes = self._bounded(query, resolved, totalled)
            self._lattices[place] = lattice
            self._notes.update(dict.fromkeys(notes))
        return self._lattices[place]

    def _bounded(
        self, query: Query, resolved: Resolved, totalled: PrivacyUnit | None
    ) -> tuple[Lattice, tuple[str, ...]]:
        name = query.attribute or ""
        facts = stated_of(self._given, name)
        try:
            seen = self._tables.profile(
                self._schema, resolved.columns, resolved.value or "", totalled
            )
            lattice = bounded_lattice(facts, seen)
        except ParameterError as error:
            raise UnanswerableError(f"{name} in the synthetic table: {error}") from None
        what = f"a person's total of {name}" if totalled else name
        if lattice is None:
            message = f"{name} has no value in the synthetic table; state its bounds (--bounds)"
            raise UnanswerableError(message)
        if facts is None or facts.bounds is None:
            return lattice, (f"Bounds of {what} from the synthetic table: {span(lattice)}.",)
        if seen and (seen.lower < lattice.lower or seen.upper > lattice.upper):
            return lattice, (
                f"Synthetic values of {what} outside {span(lattice)} count as its ends.",
            )
        return lattice, ()

    def _question(self, asked: Asked, task: Task, found: tuple[Histogram, ...]) -> Iterator[Made]:
        """Yield one query made ready, if it is not refused."""
        with self._refusing(asked.query):
            columns = tuple((name, str(self._schema[name])) for name in sorted(task.columns))
            yield self._make(asked, task, columns, self._unit, found)


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
