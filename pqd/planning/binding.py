"""Binding: queries on the synthetic tables, which are read once; the private one is not read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from deciders import UnanswerableError
from pqd.columns import Facts, check_facts, column_name, stated_kinds, unknown_column
from pqd.engine.scan_plan import Measure, PrivacyUnit, ScanPlan, Statistic
from pqd.measurement import Kinds, Measurement, MeasurementSet
from pqd.parameters import Criteria, Parameters
from pqd.planning.bounds import NUMERIC, Bounds, beyond_bounds_warnings
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
    """Query with the criteria of its verdict; without a budget it is planned, or shares one."""

    query: Query
    criteria: Criteria


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """Query, or one group of it, that the synthetic tables can answer; all of it public.

    Attributes
    ----------
    request
        The query and its criteria.
    statistic
        The statistic that the engine counts.
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
        """Query, or one group of it."""
        return self.request.query

    @property
    def criteria(self) -> Criteria:
        """Criteria of the verdict, perhaps without a budget."""
        return self.request.criteria

    @property
    def parameters(self) -> Parameters:
        """Criteria with their budget; ParameterError if there is none."""
        criteria = self.criteria
        return criteria if isinstance(criteria, Parameters) else criteria.at(None)

    def with_criteria(self, criteria: Criteria) -> BoundQuery:
        """The same query with other criteria."""
        return replace(self, request=QueryRequest(self.query, criteria))


@dataclass(frozen=True, slots=True)
class BoundWorkload:
    """Queries of one run, bound, in their order.

    Attributes
    ----------
    tables
        The synthetic tables, and the private one if there is any.
    queries
        The queries that can be answered.
    refusals
        The queries, or single groups of them, that cannot be answered, with their errors.
    schema
        The columns and their kinds.
    unit
        The privacy unit.
    notes
        Remarks to show.
    complete_groups
        Whether a grouped query of which a group is refused is refused as a whole.
    """

    tables: SyntheticTables
    queries: tuple[BoundQuery, ...]
    refusals: tuple[Refusal, ...]
    schema: Schema
    unit: PrivacyUnit | None
    notes: tuple[str, ...]
    complete_groups: bool = False

    @property
    def private(self) -> Table:
        """Private table; TypeError if there is none."""
        if self.tables.private is None:
            raise TypeError("nothing can be measured without a private table")
        return self.tables.private

    @property
    def warnings(self) -> tuple[str, ...]:
        """Notes that are shown before anything is spent."""
        return tuple(note for note in self.notes if note.startswith(WARNING))

    @property
    def left_out(self) -> tuple[QueryRefusal, ...]:
        """Refusals as a report shows them."""
        return refusal_facts(self.refusals)

    def check(self) -> None:
        """Raise the first refusal that stops a run; it names the query.

        An error in a query stops it.  A query without a synthetic answer does so only where no
        query is left, and then with the warnings, which may say why; else it is in ``left_out``.
        """
        for query, error in self.refusals:
            unanswerable = isinstance(error, UnanswerableError)
            if not (self.queries and unanswerable):
                warnings = self.warnings if unanswerable else ()
                error.args = (". ".join([f"query {query.id}: {error}", *warnings]),)
                raise error

    def select(
        self, rule: Callable[[BoundQuery], Selected]
    ) -> tuple[BoundWorkload, tuple[Selected, ...]]:
        """Results of ``rule`` for every query; a query that it refuses joins the refusals."""
        refusals = Refusals(self.refusals)
        pairs: list[tuple[BoundQuery, Selected]] = []
        for bound in self.queries:
            with refusals.of(bound.query):
                pairs.append((bound, rule(bound)))
        if self.complete_groups:
            broken = refusals.blocks
            pairs = [pair for pair in pairs if pair[0].query.block not in broken]
        queries = tuple(bound for bound, _ in pairs)
        return (
            replace(self, queries=queries, refusals=refusals.every),
            tuple(selected for _, selected in pairs),
        )

    def measurement_set(self, measurements: Sequence[Measurement[Any]]) -> MeasurementSet:
        """``measurements`` with the engine, the tables and the unit that they need."""
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
    complete_groups: bool = False,
) -> BoundWorkload:
    """Workload of every query on the synthetic tables, once per group where it is grouped.

    ``columns`` are the caller's facts about columns and about what is aggregated here or in
    ``others``; of the private table the header alone is used.

    Raises
    ------
    PqdError
        TableError or ParameterError for what concerns no single query.
    """
    return _Binding(tables, columns, unit, complete_groups=complete_groups).of(requests, others)


class _Binding:
    """One pass over the queries; a query that is refused drops out, and the others go on."""

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
        self._notes: dict[str, None] = {}

    def of(self, requests: Sequence[QueryRequest], others: Sequence[Query]) -> BoundWorkload:
        queries = [request.query for request in requests]
        names = {name for query in queries for name in query.mentioned}
        if self._unit:
            names.add(self._unit.column)
        stated = stated_kinds(self._stated, self._tables.columns)
        self._schema = self._tables.schema(names, stated)
        check_facts(self._stated, self._schema, [*queries, *others])
        self._notes.update(self._tables.notes)
        self._check_unit()
        self._constants = Constants(self._tables, self._schema)
        self._bounds = Bounds(self._tables, self._schema, self._stated, self._unit)
        single = [each for request in requests for each in self._ungrouped(request)]
        statistics = [(each, statistic) for each in single for statistic in self._statistic(each)]
        plan = ScanPlan(tuple(statistic for _, statistic in statistics), self._unit)
        histograms = self._tables.histograms(self._schema, plan)
        bound = tuple(
            self._bound(request, statistic, synthetic)
            for (request, statistic), synthetic in zip(statistics, histograms, strict=True)
        )
        if self._complete_groups:
            broken = self._refusals.blocks
            bound = tuple(query for query in bound if query.query.block not in broken)
        return BoundWorkload(
            self._tables,
            bound,
            self._refusals.every,
            self._schema,
            self._unit,
            tuple(self._notes),
            self._complete_groups,
        )

    def _check_unit(self) -> None:
        if self._unit is None:
            return
        private = self._tables.private
        if private and fold_case(self._unit.column) not in map(fold_case, private.columns):
            # Only names that the copy has too: a table without a header has a row in their place.
            public = set(map(fold_case, self._tables.columns))
            shared = [name for name in private.columns if fold_case(name) in public]
            raise unknown_column(self._unit.column, shared, f"unit of {private.label}")
        for table in self._tables.tables:
            if fold_case(self._unit.column) not in map(fold_case, table.columns):
                self._notes[unit_note(table.label, self._unit.column)] = None

    def _ungrouped(self, request: QueryRequest) -> list[QueryRequest]:
        """Request of a query as it is, or one per group."""
        query = request.query
        if not query.group_by:
            return [request]
        with self._refusals.of(query):
            # Resolved as a whole first: its names and kinds must be right whatever the keys.
            resolved = query.resolve(self._schema)
            names = [column_name(self._schema, name, query) for name in query.group_by]
            groups = grouped(
                query, lambda: self._tables.groups(self._schema, names, resolved, MOST_GROUPS + 1)
            )
            return [QueryRequest(group, request.criteria) for group in groups]
        return []

    def _statistic(self, request: QueryRequest) -> Iterator[Statistic]:
        """Statistic of a query, none if it is refused."""
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
        """Add notes on what is allowed and seldom meant; all of it is public."""
        warnings = [
            *warnings_of(request.query, request.criteria),
            *self._constants.unknown_text_warnings(resolved.where),
        ]
        self._notes.update(dict.fromkeys(f"{WARNING}{warning}" for warning in warnings))

    def _bound(
        self, request: QueryRequest, statistic: Statistic, synthetic: tuple[Histogram, ...]
    ) -> BoundQuery:
        columns = tuple((name, str(self._schema[name])) for name in sorted(statistic.columns))
        tolerance = request.criteria.tolerance
        warnings = beyond_bounds_warnings(request.query, tolerance, statistic, synthetic)
        self._notes.update(dict.fromkeys(warnings))
        return BoundQuery(request, statistic, columns, self._unit, synthetic)
