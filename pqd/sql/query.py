"""A query: one aggregate over the rows of one table that match a predicate."""

from __future__ import annotations

from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache

import sqlglot
from sqlglot import exp

from pqd.deciders.exact import Number
from pqd.errors import QueryError
from pqd.sql.conjunctions import Conjunction, conjunction
from pqd.sql.expressions import ExpressionChecker
from pqd.sql.parser import TOO_DEEP, quiet
from pqd.sql.predicate import Atom, Predicate, combined, normal_form
from pqd.sql.schema import Schema
from pqd.sql.select import aggregate_of, aggregates, grouping, is_whole, parsed, refuse
from pqd.sql.tolerance import Tolerance

# The values of the grouping columns that make one group; None is NULL.
Cell = str | int | float | bool | Decimal | datetime | None
Key = tuple[Cell, ...]

# Fields of a query that are read from its SQL.
_Parts = tuple[str, str | None, Fraction | None, str | None, tuple[str, ...]]
_READ = ("aggregate", "attribute", "p", "where", "group_by", "_head", "_conjunction")


@dataclass(frozen=True)
class Query:
    """One query, parsed and checked against the form that pqd understands; names not yet resolved.

    ``sql`` is DuckDB SQL; ``id`` names the query in reports.  ``aggregate`` is COUNT, COUNT
    DISTINCT, SUM, AVG, MEDIAN or QUANTILE.  ``p`` is the quantile's, None otherwise.
    ``attribute`` is the aggregated expression as SQL, None for ``COUNT(*)``.  ``where`` is the
    predicate as SQL, None without one.  ``group_by`` are the grouping columns.

    ``keys`` are the groups to query if the caller states them, one tuple for each group.  If this
    query is a group of another query, ``block`` is the id of that query, ``block_sql`` its SQL as
    written, and ``group`` the group in words.

    ``tau`` is the query's own tolerance (``"5%"``, ``10``), which takes precedence over that of
    the run.  With ``bins`` the query runs once for each bin of a number (``"age=0:100:10"``).

    Raises
    ------
    QueryError
        If the text is not of that form; the message marks the place.
    ParameterError
        If ``tau`` is no tolerance.
    """

    sql: str
    id: str | None = None
    keys: tuple[Key, ...] | None = None
    block: str | None = None
    group: str | None = None
    block_sql: str | None = field(default=None, compare=False)
    tau: Number | None = None
    bins: str | None = None
    aggregate: str = field(init=False)
    attribute: str | None = field(init=False)
    p: Fraction | None = field(init=False)
    where: str | None = field(init=False)
    group_by: tuple[str, ...] = field(init=False)
    _head: Head | None = field(init=False, repr=False, compare=False)
    _conjunction: Conjunction | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Parse and check the shape."""
        self._check_names()
        try:
            self._read()
        except RecursionError:
            refuse(TOO_DEEP, self.sql)
        if self.tau is not None:
            _ = self.tolerance

    @cached_property
    def tolerance(self) -> Tolerance | None:
        """The query's own tolerance; None without one."""
        return None if self.tau is None else Tolerance.parse(self.tau)

    def _check_names(self) -> None:
        """Refuse names that some report cannot print: found later, they would cost budget."""
        for name in (self.id, self.block, self.group):
            if name is not None and not (isinstance(name, str) and is_whole(name)):
                raise QueryError(f"the id {name!r} of a query is not text; write a word or a few")

    def _read(self) -> None:
        joined = conjunction(self.sql) if isinstance(self.sql, str) else None
        head = _head(joined.head) if joined else None
        parts: _Parts
        if joined and head:
            query = head.query
            parts = query.aggregate, query.attribute, query.p, joined.where, ()
        else:
            head, joined, parts = None, None, self._parts()
        for name, part in zip(_READ, (*parts, head, joined), strict=True):
            object.__setattr__(self, name, part)
        self._check_keys()

    @quiet()
    def _parts(self) -> _Parts:
        """Aggregate, attribute, p, where and grouping, parsed from the whole text."""
        aggregate, value, p = aggregate_of(self.sql, self._select)
        attribute = value.sql(dialect="duckdb") if value is not None else None
        where = self._select.args.get("where")
        printed = where.this.sql(dialect="duckdb") if where else None
        return aggregate, attribute, p, printed, grouping(self.sql, self._select)

    @cached_property
    @quiet()
    def _select(self) -> exp.Select:
        """Tree of the whole query."""
        return parsed(self.sql)

    def _check_keys(self) -> None:
        """Refuse stated keys that do not fit the grouping columns."""
        if self.keys is None:
            return
        columns = len(self.group_by)
        if not columns:
            refuse("keys are given, but there is no GROUP BY", self.sql)
        for key in self.keys if isinstance(self.keys, tuple) else (self.keys,):
            if not isinstance(key, tuple) or len(key) != columns:
                refuse(
                    f"the key {key!r} has not one value for each of {columns} columns of GROUP BY",
                    self.sql,
                )
            strange = [cell for cell in key if not _is_cell(cell)]
            if strange:
                refuse(
                    f"the key {key!r} holds {strange[0]!r} ({type(strange[0]).__name__}); "
                    "write text, a number, True, False, a datetime or None",
                    self.sql,
                )

    def within(self, tau: Number) -> Query:
        """Same query with its own tolerance ``tau``; it is not parsed again."""
        other = copy(self)
        object.__setattr__(other, "tau", tau)
        other.__dict__.pop("tolerance", None)
        _ = other.tolerance
        return other

    @property
    def mentioned(self) -> frozenset[str]:
        """Names of the columns in the query, as written."""
        if self._head and self._conjunction:
            return self._head.mentioned | self._conjunction.mentioned
        return frozenset(column.name for column in self._select.find_all(exp.Column))

    @quiet()
    def only(self, condition: str, group: str) -> Query:
        """Query, ungrouped, on the rows that also meet ``condition`` (SQL).

        The tree is kept and not parsed again: a printed predicate may parse differently.
        """
        select = self._select.copy()
        select.set("group", None)
        select.set("expressions", [next(filter(aggregates, select.expressions))])
        both: exp.Condition = exp.paren(sqlglot.parse_one(condition, read="duckdb"))
        if where := select.args.get("where"):
            both = exp.and_(exp.paren(where.this), both, copy=False)
        select.set("where", exp.Where(this=both))
        for node in select.walk():
            # The nodes' places refer to another text.
            node.meta.clear()
        restricted = copy(self)
        for name, value in (
            ("sql", select.sql(dialect="duckdb")),
            ("id", f"{self.id}[{group}]"),
            ("keys", None),
            ("bins", None),
            ("block", self.id),
            ("group", group),
            ("block_sql", self.sql),
            ("where", both.sql(dialect="duckdb")),
            ("group_by", ()),
            ("_select", select),
            ("_head", None),
            ("_conjunction", None),
        ):
            object.__setattr__(restricted, name, value)
        return restricted

    def resolve(self, schema: Schema) -> BoundExpression:
        """Query in terms of typed columns, after a check of names and kinds against ``schema``."""
        if self._head and self._conjunction:
            head = self._head.resolved(schema)
            matching = head and self._conjunction.resolved(schema, self.tables)
            if head and matching:
                return head.on_rows(*matching)
        try:
            return self._resolved(ExpressionChecker(self.sql, schema, self.tables))
        except RecursionError:
            refuse(TOO_DEEP, self.sql)

    @cached_property
    def tables(self) -> frozenset[str]:
        """Names that may qualify a column, in lower case."""
        if self._head:
            return self._head.query.tables
        table = self._select.args["from_"].this
        return frozenset(name.lower() for name in (table.name, table.alias) if name)

    @quiet()
    def _resolved(self, checker: ExpressionChecker) -> BoundExpression:
        where = self._select.args.get("where")
        matching = predicate = normal_form(checker.predicate(where.this)) if where else None
        value = aggregate_of(self.sql, self._select)[1]
        if value is None:
            return BoundExpression(predicate, None, frozenset(checker.columns), matching)
        if self.aggregate == "COUNT":
            counted = exp.Not(this=exp.Is(this=checker.scalar(value), expression=exp.Null()))
            present = Atom(counted.sql(dialect="duckdb"))
            predicate = combined("and", (predicate, present)) if predicate else present
            return BoundExpression(predicate, None, frozenset(checker.columns), matching)
        if self.aggregate == "COUNT DISTINCT":
            measured = checker.scalar(value)
        else:
            measured = checker.number(value, self.aggregate)
        columns = frozenset(checker.columns)
        return BoundExpression(predicate, measured.sql(dialect="duckdb"), columns, matching)


@dataclass(frozen=True)
class BoundExpression:
    """Query in terms of typed columns: its predicate, the SQL of its operand, its columns.

    ``where`` is the predicate without the condition that COUNT(column) adds to it.
    """

    predicate: Predicate | None
    value: str | None
    columns: frozenset[str]
    where: Predicate | None

    def on_rows(self, matching: Predicate, columns: frozenset[str]) -> BoundExpression:
        """Query on the matching rows only; its own predicate may only be that of COUNT(column)."""
        both = combined("and", (matching, self.predicate)) if self.predicate else matching
        return BoundExpression(both, self.value, self.columns | columns, matching)


class Head:
    """Query without WHERE, which many queries share as their beginning; resolved once in a run."""

    def __init__(self, query: Query) -> None:
        """Take an ungrouped query."""
        self.query, self.mentioned = query, query.mentioned
        self._last: tuple[Schema, BoundExpression | None] | None = None

    def resolved(self, schema: Schema) -> BoundExpression | None:
        """Result of ``Query.resolve``; None if that refuses."""
        last = self._last
        if last is None or last[0] != schema:
            self._last = last = dict(schema), self._read(schema)
        return last[1]

    def _read(self, schema: Schema) -> BoundExpression | None:
        with suppress(QueryError):
            return self.query.resolve(schema)
        return None


@lru_cache(1024)
def _head(sql: str) -> Head | None:
    try:
        query = Query(sql)
    except QueryError:
        return None
    return None if query.where or query.group_by else Head(query)


def _is_cell(cell: object) -> bool:
    """Whether a stated value can be written as SQL and printed by every report."""
    if isinstance(cell, str):
        return is_whole(cell)
    if isinstance(cell, Decimal):
        return not cell.is_nan()
    return cell is None or isinstance(cell, (bool, int, float, datetime))
