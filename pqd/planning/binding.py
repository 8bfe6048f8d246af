"""Binding: the synthetic tables are read once, and each query gets its synthetic histograms.

Only the header of the private table is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from pqd.accounting.accountant import Accountant
from pqd.deciders import UnanswerableError
from pqd.deciders.note import Note, note
from pqd.deciders.options import option
from pqd.engine.scan_plan import Measure, PrivacyUnit, ScanPlan, Statistic
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import dry_table
from pqd.errors import PqdError, QueryError, with_all_messages
from pqd.planning.bound_workload import BoundQuery, BoundWorkload, QueryRequest, Refusals
from pqd.planning.lattices import NUMERIC, Bounds, exceeded_bounds
from pqd.planning.query_warnings import (
    Constants,
    amount_warnings,
    header_warnings,
    key_notes,
    warnings_of,
)
from pqd.planning.table_separation import column_names, public_tables, separate_tables
from pqd.sql.grouping import MOST_GROUPS, grouped
from pqd.sql.query import Query
from pqd.sql.schema import Schema, differs_by_blanks, fold_case
from pqd.sql.select import BoundExpression
from pqd.stated.column_facts import (
    Facts,
    check_facts,
    column_name,
    fact_notes,
    stated_kinds,
    unknown_column,
)

if TYPE_CHECKING:
    from pqd.deciders import Histogram


def bind(
    tables: SyntheticTables,
    requests: Sequence[QueryRequest],
    columns: Facts,
    unit: PrivacyUnit | None = None,
    *,
    others: Sequence[Query] = (),
    complete_groups: bool = False,
) -> BoundWorkload:
    """Workload of all queries on the synthetic tables; a grouped query becomes one query per group.

    ``columns`` holds public facts about columns, and about expressions that a query here or in
    ``others`` aggregates.

    Raises
    ------
    PqdError
        TableError or ParameterError for an error that does not belong to a single query.
    """
    return _Binding(tables, columns, unit, complete_groups=complete_groups).of(requests, others)


@contextmanager
def all_mistakes(
    private: object | None,
    copies: Iterable[object],
    facts: Facts,
    accountant: Accountant | None = None,
) -> Iterator[None]:
    """Context in which queries are parsed, and an error tells the mistakes of all of them.

    The columns of the queries that are understood are looked up in the copies.  No row of the
    private table is read; if a copy is private, or cannot be read, nothing is said of its columns.

    Raises
    ------
    QueryError
        If a query is not understood.
    """
    try:
        yield
    except QueryError as error:
        errors: list[PqdError] = [error]
        queries = [query for query in error.understood if isinstance(query, Query)]
        names = column_names(queries)
        with suppress(PqdError):
            tables = (
                public_tables(*copies, names=names)
                if private is None
                else separate_tables(
                    dry_table(private), *copies, accountant=accountant, names=names
                )
            )
            mistakes = column_mistakes(queries, tables, facts)
            errors += [QueryError(f"query {name}: {each}") for name, each in mistakes.items()]
        raise with_all_messages(errors) from None


def column_mistakes(
    queries: Iterable[Query], tables: SyntheticTables, facts: Facts
) -> dict[str, PqdError]:
    """Errors of queries whose columns or kinds do not fit the synthetic tables, by id of query."""
    mistakes = dict[str, PqdError]()
    queries = list(queries)
    schema = tables.schema(column_names(queries), stated_kinds(facts, tables.columns))
    for query in queries:
        try:
            _expression(query, tables, schema)
            for name in query.group_by:
                column_name(schema, name, query)
        except PqdError as error:
            mistakes[query.id or ""] = error
    return mistakes


def _expression(query: Query, tables: SyntheticTables, schema: Schema) -> BoundExpression:
    """Query in terms of typed columns; an error also shows texts that are not numbers."""
    try:
        return query.resolve(schema)
    except QueryError as error:
        names = map(fold_case, sorted(query.mentioned))
        hints = [hint.sentence for name in names if (hint := tables.hints.get(name))]
        error.args = ("\n".join([str(error), *hints]),)
        raise


def unit_notes(tables: SyntheticTables, unit: PrivacyUnit | None) -> Iterator[Note]:
    """Notes on the synthetic tables that lack the column of the unit.

    Raises
    ------
    ParameterError
        If the private table has no such column, or a synthetic table has one whose name differs by
        blanks alone.
    """
    if unit is None:
        return
    private = tables.private
    if private and fold_case(unit.column) not in map(fold_case, private.columns):
        # Name only columns that the copy has too, or that the caller meant: if the header is
        # missing, the private table's column names are the values of a private row.
        public = set(map(fold_case, tables.columns))
        meant = differs_by_blanks(unit.column, private.columns)
        shared = [name for name in private.columns if fold_case(name) in public or name == meant]
        raise unknown_column(unit.column, shared, f"unit of {private.label}")
    for table in tables.tables:
        if fold_case(unit.column) not in map(fold_case, table.columns):
            if differs_by_blanks(unit.column, table.columns):
                raise unknown_column(unit.column, table.columns, f"unit of {table.label}")
            yield note("unit-missing", table=table.label, column=unit.column)


class _Binding:
    """One pass over the queries; a refused query is dropped, and the other queries go on."""

    def __init__(
        self,
        tables: SyntheticTables,
        stated: Facts,
        unit: PrivacyUnit | None,
        *,
        complete_groups: bool,
    ) -> None:
        self._tables, self._stated, self._unit, self._complete_groups = (
            tables,
            stated,
            unit,
            complete_groups,
        )
        self._schema: Schema = {}
        self._refusals = Refusals()
        self._notes: dict[Note, None] = {}
        # Queries whose tolerance reaches beyond stated bounds, by attribute and bounds.
        self._beyond: dict[tuple[str, str], dict[str, None]] = {}

    def of(self, requests: Sequence[QueryRequest], others: Sequence[Query]) -> BoundWorkload:
        queries = [request.query for request in requests]
        names = column_names(queries, self._unit)
        stated = stated_kinds(self._stated, self._tables.columns)
        self._schema = self._tables.schema(names, stated)
        check_facts(self._stated, self._schema, [*queries, *others])
        self._notes.update(self._tables.notes)
        self._notes.update(dict.fromkeys(unit_notes(self._tables, self._unit)))
        self._notes.update(dict.fromkeys(header_warnings(self._tables)))
        self._notes.update(dict.fromkeys(fact_notes(self._stated)))
        self._notes.update(dict.fromkeys(key_notes(self._tables, self._stated, self._unit)))
        self._constants = Constants(self._tables, self._schema)
        self._bounds = Bounds(self._tables, self._schema, self._stated, self._unit)
        single = [each for request in requests for each in self._group_requests(request)]
        statistics = [(each, statistic) for each in single for statistic in self._statistic(each)]
        self._notes.update(dict.fromkeys(self._constants.warnings()))
        plan = ScanPlan(tuple(statistic for _, statistic in statistics), self._unit)
        histograms = self._tables.histograms(self._schema, plan)
        bound = tuple(
            query
            for (request, statistic), synthetic in zip(statistics, histograms, strict=True)
            for query in self._bound(request, statistic, synthetic)
        )
        self._notes.update(dict.fromkeys(amount_warnings(bound)))
        for (attribute, bounds), beyond in self._beyond.items():
            warning = note(
                "tau-beyond-bounds", queries=tuple(beyond), attribute=attribute, bounds=bounds
            )
            self._notes[warning] = None
        if self._complete_groups:
            broken = self._refusals.blocks
            bound = tuple(query for query in bound if query.query.block not in broken)
        return BoundWorkload(
            tables=self._tables,
            schema=self._schema,
            unit=self._unit,
            notes=(*self._bounds.notes(), *self._tables.kind_notes, *self._notes),
            queries=bound,
            refusals=self._refusals.pairs,
            complete_groups=self._complete_groups,
        )

    def _group_requests(self, request: QueryRequest) -> list[QueryRequest]:
        """Requests for one query: the request itself, or one request per group."""
        query = request.query
        if not query.group_by:
            return [request]
        with self._refusals.of(query):
            # Resolve the whole query first: its names and kinds must be right for every group.
            resolved = _expression(query, self._tables, self._schema)
            names = [column_name(self._schema, name, query) for name in query.group_by]
            groups = grouped(
                query, lambda: self._tables.groups(self._schema, names, resolved, MOST_GROUPS + 1)
            )
            return [QueryRequest(group, request.criteria) for group in groups]
        return []

    def _statistic(self, request: QueryRequest) -> Iterator[Statistic]:
        """Yield the statistic of a query, or nothing if the query is refused."""
        query = request.query
        with self._refusals.of(query):
            resolved = _expression(query, self._tables, self._schema)
            self._tables.check(sorted(resolved.columns))
            measure = None
            if resolved.value is not None:
                measure = Measure(resolved.value, None)
                if query.aggregate in NUMERIC:
                    measure = self._bounds.measure(query, resolved)
            self._warn(request, resolved)
            _check_scale(query, resolved)
            yield Statistic(
                resolved.predicate,
                measure,
                resolved.columns,
                collapsed=query.aggregate in {"COUNT", "SUM"},
                per_row=query.per_row,
            )

    def _warn(self, request: QueryRequest, resolved: BoundExpression) -> None:
        """Add warnings about criteria that are allowed but often a mistake; all of it is public."""
        self._constants.look_up(resolved.where)
        warnings = warnings_of(request.criteria)
        self._notes.update(dict.fromkeys(warnings))

    def _bound(
        self, request: QueryRequest, statistic: Statistic, synthetic: tuple[Histogram, ...]
    ) -> Iterator[BoundQuery]:
        """Yield the bound query, or nothing if the query is refused."""
        columns = self._tables.kinds_read(self._schema, statistic.columns, self._unit)
        tolerance = request.criteria.tolerance
        if beyond := exceeded_bounds(request.query, tolerance, statistic, synthetic):
            name, attribute = request.query.block or request.query.id, request.query.attribute
            self._beyond.setdefault((attribute or "", beyond), {})[name or ""] = None
        with self._refusals.of(request.query):
            statistic = self._bounds.for_tolerance(request, statistic, synthetic)
            yield BoundQuery(request, statistic, columns, self._unit, synthetic, self._tables.rows)


def _check_scale(query: Query, resolved: BoundExpression) -> None:
    """Refuse a query that has no meaning per row.

    Raises
    ------
    UnanswerableError
        If the query counts distinct values, or all rows.
    """
    if query.scale is None:
        return
    if query.aggregate == "COUNT DISTINCT":
        raise UnanswerableError(
            "the number of distinct values does not grow in step with the rows, so it has no "
            f"meaning per row; leave the query out, or {option('--scale rows')}"
        )
    if query.written == "COUNT" and resolved.predicate is None:
        raise UnanswerableError(
            "it counts all rows, which are 100 % of the rows of every table; add a WHERE, or "
            f"leave the query out, or {option('--scale rows')}"
        )
