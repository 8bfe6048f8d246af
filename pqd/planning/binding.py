"""Binding: queries meet the synthetic tables, which are read once; the private one is not read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from deciders import UnanswerableError
from pqd.columns import Facts, check_stated, kinds, known, no_column
from pqd.engine.scan_plan import Measure, PrivacyUnit, ScanPlan, Statistic
from pqd.measurement import Kinds, Measurement, MeasurementSet
from pqd.parameters import Criteria, Parameters
from pqd.planning.bounds import NUMERIC, Bounds, beyond_bounds
from pqd.planning.query_warnings import Constants, warnings_of
from pqd.planning.refusals import Refusal, Refusals, refusal_facts
from pqd.sql.grouping import MOST_GROUPS, grouped
from pqd.sql.schema import fold_case
from reports.text.notes import WARNING, unit_note

if TYPE_CHECKING:
    from deciders import Histogram
    from pqd.engine.synthetic_tables import SyntheticTables
    from pqd.engine.tables import Table
    from pqd.sql.query import BoundExpression, Query
    from pqd.sql.schema import Schema
    from reports.models.refusals import QueryRefusal

Selected = TypeVar("Selected")


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """A query, and on what terms a verdict is wanted; without a budget it is planned, or shares."""

    query: Query
    criteria: Criteria


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """A query, or one group of it, that the synthetic tables can answer; all of it public.

    Attributes
    ----------
    request
        The query and its terms.
    statistic
        What the engine counts for it.
    kinds
        The columns that it reads, with their kinds.
    unit
        The privacy unit.
    synthetic
        The histogram of each synthetic table.
    """

    request: QueryRequest
    statistic: Statistic
    kinds: Kinds
    unit: PrivacyUnit | None
    synthetic: tuple[Histogram, ...]

    @property
    def query(self) -> Query:
        """The query, or one group of it."""
        return self.request.query

    @property
    def criteria(self) -> Criteria:
        """The terms, perhaps without a budget."""
        return self.request.criteria

    @property
    def parameters(self) -> Parameters:
        """The terms with their budget; ParameterError if there is none."""
        criteria = self.criteria
        return criteria if isinstance(criteria, Parameters) else criteria.at(None)

    def on(self, criteria: Criteria) -> BoundQuery:
        """The same query on other terms."""
        return replace(self, request=QueryRequest(self.query, criteria))


@dataclass(frozen=True, slots=True)
class BoundWorkload:
    """The queries of one run, bound, in their order.

    Attributes
    ----------
    tables
        The synthetic tables, and the private one if there is any.
    queries
        What can be answered.
    refusals
        The queries, or single groups of them, that cannot, and why.
    schema
        What they were bound to.
    unit
        The privacy unit.
    notes
        Remarks to show.
    whole
        Whether a grouped query is asked with all of its groups or not at all.
    """

    tables: SyntheticTables
    queries: tuple[BoundQuery, ...]
    refusals: tuple[Refusal, ...]
    schema: Schema
    unit: PrivacyUnit | None
    notes: tuple[str, ...]
    whole: bool = False

    @property
    def private(self) -> Table:
        """The private table; TypeError if there is none."""
        if self.tables.private is None:
            raise TypeError("nothing can be measured without a private table")
        return self.tables.private

    @property
    def warnings(self) -> tuple[str, ...]:
        """Those of the notes that are to be told before anything is spent."""
        return tuple(note for note in self.notes if note.startswith(WARNING))

    @property
    def left_out(self) -> tuple[QueryRefusal, ...]:
        """What is refused, as a report shows it."""
        return refusal_facts(self.refusals)

    def check(self) -> None:
        """Raise the first refusal that stops a run; it names the query.

        What is wrong with a query stops it.  What the synthetic table gives no answer to does so
        only where nothing is left to answer, and then with the warnings, which may tell why; else
        it is among ``left_out``.
        """
        for query, error in self.refusals:
            unanswerable = isinstance(error, UnanswerableError)
            if not (self.queries and unanswerable):
                told = [f"query {query.id}: {error}", *(self.warnings if unanswerable else ())]
                error.args = (". ".join(told),)
                raise error

    def select(
        self, rule: Callable[[BoundQuery], Selected]
    ) -> tuple[BoundWorkload, tuple[Selected, ...]]:
        """Apply ``rule`` to every query; what it refuses joins the refusals."""
        refusals = Refusals(self.refusals)
        pairs: list[tuple[BoundQuery, Selected]] = []
        for bound in self.queries:
            with refusals.of(bound.query):
                pairs.append((bound, rule(bound)))
        if self.whole:
            broken = refusals.blocks
            pairs = [pair for pair in pairs if pair[0].query.block not in broken]
        queries = tuple(bound for bound, _ in pairs)
        return (
            replace(self, queries=queries, refusals=refusals.every),
            tuple(made for _, made in pairs),
        )

    def measurement_set(self, measurements: Sequence[Measurement[Any]]) -> MeasurementSet:
        """``measurements`` with all that it takes to make them."""
        return MeasurementSet(
            self.tables.engine,
            self.private,
            self.schema,
            self.unit,
            tuple(measurements),
            self.warnings,
        )


def bind(
    tables: SyntheticTables,
    requests: Sequence[QueryRequest],
    columns: Facts,
    unit: PrivacyUnit | None = None,
    *,
    others: Sequence[Query] = (),
    whole: bool = False,
) -> BoundWorkload:
    """Bind every query to the synthetic tables, once per group where it is grouped.

    ``columns`` are what the caller states of columns and of what is aggregated here or in
    ``others``; of the private table the header is used.

    Raises
    ------
    PqdError
        TableError or ParameterError for what concerns no single query.
    """
    return _Binding(tables, columns, unit, whole=whole).of(requests, others)


class _Binding:
    """One pass over the queries; a query that is refused drops out, and the others go on."""

    def __init__(
        self, tables: SyntheticTables, stated: Facts, unit: PrivacyUnit | None, *, whole: bool
    ) -> None:
        self._tables, self._stated, self._unit, self._whole = tables, stated, unit, whole
        self._schema: Schema = {}
        self._refusals = Refusals()
        self._notes: dict[str, None] = {}

    def of(self, requests: Sequence[QueryRequest], others: Sequence[Query]) -> BoundWorkload:
        queries = [request.query for request in requests]
        names = {name for query in queries for name in query.mentioned}
        if self._unit:
            names.add(self._unit.column)
        stated = kinds(self._stated, self._tables.columns)
        self._schema = self._tables.schema(names, stated)
        check_stated(self._stated, self._schema, [*queries, *others])
        self._notes.update(self._tables.notes)
        self._check_unit()
        self._constants = Constants(self._tables, self._schema)
        self._bounds = Bounds(self._tables, self._schema, self._stated, self._unit)
        single = [one for request in requests for one in self._ungrouped(request)]
        statistics = [(one, statistic) for one in single for statistic in self._statistic(one)]
        plan = ScanPlan(tuple(statistic for _, statistic in statistics), self._unit)
        histograms = self._tables.histograms(self._schema, plan)
        bound = tuple(
            self._bound(request, statistic, synthetic)
            for (request, statistic), synthetic in zip(statistics, histograms, strict=True)
        )
        if self._whole:
            broken = self._refusals.blocks
            bound = tuple(query for query in bound if query.query.block not in broken)
        return BoundWorkload(
            self._tables,
            bound,
            self._refusals.every,
            self._schema,
            self._unit,
            tuple(self._notes),
            self._whole,
        )

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
                self._notes[unit_note(table.label, self._unit.column)] = None

    def _ungrouped(self, request: QueryRequest) -> list[QueryRequest]:
        """A query as it is, or once per group."""
        query = request.query
        if not query.group_by:
            return [request]
        with self._refusals.of(query):
            # Resolved as a whole first: its names and kinds must be right whatever the keys.
            resolved = query.resolve(self._schema)
            names = [known(self._schema, name, query) for name in query.group_by]
            groups = grouped(
                query, lambda: self._tables.groups(self._schema, names, resolved, MOST_GROUPS + 1)
            )
            return [QueryRequest(group, request.criteria) for group in groups]
        return []

    def _statistic(self, request: QueryRequest) -> Iterator[Statistic]:
        """What the engine must count for a query, if it is not refused."""
        query = request.query
        with self._refusals.of(query):
            resolved = query.resolve(self._schema)
            self._tables.check(sorted(resolved.columns))
            measure = None
            if resolved.value is not None:
                measure = Measure(resolved.value, None)
                if query.aggregate in NUMERIC:
                    measure = self._bounds.measure(query, resolved)
                    self._notes.update(self._bounds.notes)
            self._warn(request, resolved)
            collapsed = query.aggregate in {"COUNT", "SUM"}
            yield Statistic(resolved.predicate, measure, resolved.columns, collapsed)

    def _warn(self, request: QueryRequest, resolved: BoundExpression) -> None:
        """Note what is seldom meant; all of it is public."""
        warnings = [
            *warnings_of(request.query, request.criteria),
            *self._constants.slips(resolved.where),
        ]
        self._notes.update(dict.fromkeys(f"{WARNING}{warning}" for warning in warnings))

    def _bound(
        self, request: QueryRequest, statistic: Statistic, synthetic: tuple[Histogram, ...]
    ) -> BoundQuery:
        columns = tuple((name, str(self._schema[name])) for name in sorted(statistic.columns))
        tolerance = request.criteria.tolerance
        warnings = beyond_bounds(request.query, tolerance, statistic, synthetic)
        self._notes.update(dict.fromkeys(warnings))
        return BoundQuery(request, statistic, columns, self._unit, synthetic)
