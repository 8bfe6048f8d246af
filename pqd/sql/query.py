"""A query: one aggregate over the rows of one table that match a predicate."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp

from deciders.errors import ParameterError
from deciders.exact import probability
from pqd.errors import QueryError
from pqd.sql.expressions import SQL_LIMIT, ExpressionChecker, place
from pqd.sql.parser import TOO_DEEP, quiet, statements
from pqd.sql.predicate import Atom, Predicate, combined, normal_form
from pqd.sql.schema import Schema, fold_case

if TYPE_CHECKING:
    from typing import NoReturn

AGGREGATES = (
    "COUNT(*), COUNT(column), COUNT(DISTINCT column), SUM(expression), AVG(expression), "
    "MEDIAN(expression) and QUANTILE(expression, p)"
)
_FORM = f"write SELECT one of {AGGREGATES} FROM a table [WHERE predicate] [GROUP BY columns]"
# The values of the grouping columns that make one group; None is NULL.
Cell = str | int | float | bool | Decimal | datetime | None
Key = tuple[Cell, ...]

_KNOWN = {
    exp.Count: "COUNT",
    exp.Sum: "SUM",
    exp.Avg: "AVG",
    exp.Median: "MEDIAN",
    exp.Quantile: "QUANTILE",
}


@dataclass(frozen=True)
class Query:
    """One query, parsed and held to the form that pqd understands; names are not yet resolved.

    ``sql`` is DuckDB SQL; ``id`` names the query in reports.  ``aggregate`` is COUNT, COUNT
    DISTINCT, SUM, AVG, MEDIAN or QUANTILE; ``p`` is the quantile's, None otherwise; ``attribute``
    is the aggregated expression as SQL, None for ``COUNT(*)``; ``where`` is the predicate as SQL,
    None without one; ``group_by`` are the columns that it is grouped by.

    ``keys`` are the groups to ask for where the caller states them, one tuple a group; ``block`` is
    the id of the query that this one is a group of, ``group`` that group in words.

    Raises
    ------
    QueryError
        If the text is not such a query; the message marks the place.
    """

    sql: str
    id: str | None = None
    keys: tuple[Key, ...] | None = None
    block: str | None = None
    group: str | None = None
    aggregate: str = field(init=False)
    attribute: str | None = field(init=False)
    p: Fraction | None = field(init=False)
    where: str | None = field(init=False)
    group_by: tuple[str, ...] = field(init=False)
    _select: exp.Select = field(init=False, repr=False, compare=False)
    _operand: exp.Expr | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Parse and check the shape."""
        self._check_names()
        try:
            self._read()
        except RecursionError:
            _refuse(TOO_DEEP, self.sql)

    def _check_names(self) -> None:
        """Hold the names to what every report can print: found later, they would cost budget."""
        for name in (self.id, self.block, self.group):
            if name is not None and not (isinstance(name, str) and _whole(name)):
                raise QueryError(f"the id {name!r} of a query is not text; write a word or a few")

    @quiet()
    def _read(self) -> None:
        select = _parsed(self.sql)
        aggregate, value, p = _aggregate(self.sql, select)
        where = select.args.get("where")
        for name, part in (
            ("aggregate", aggregate),
            ("attribute", value.sql(dialect="duckdb") if value is not None else None),
            ("p", p),
            ("_operand", value),
            ("where", where.this.sql(dialect="duckdb") if where else None),
            ("group_by", _grouping(self.sql, select)),
            ("_select", select),
        ):
            object.__setattr__(self, name, part)
        self._check_keys()

    def _check_keys(self) -> None:
        """Hold stated keys to the columns that they are values of."""
        if self.keys is None:
            return
        columns = len(self.group_by)
        if not columns:
            _refuse("keys are given, but there is no GROUP BY", self.sql)
        for key in self.keys if isinstance(self.keys, tuple) else (self.keys,):
            if not isinstance(key, tuple) or len(key) != columns:
                _refuse(
                    f"the key {key!r} has not one value for each of {columns} columns of GROUP BY",
                    self.sql,
                )
            strange = [cell for cell in key if not _is_cell(cell)]
            if strange:
                _refuse(
                    f"the key {key!r} holds {strange[0]!r} ({type(strange[0]).__name__}); "
                    "write text, a number, True, False, a datetime or None",
                    self.sql,
                )

    @property
    def mentioned(self) -> frozenset[str]:
        """Names of the columns in the query, as written."""
        return frozenset(column.name for column in self._select.find_all(exp.Column))

    @quiet()
    def only(self, condition: str, group: str) -> Query:
        """Query, ungrouped, on the rows that also meet ``condition`` (SQL).

        The tree is kept and not parsed again: a printed predicate may read otherwise.
        """
        select = self._select.copy()
        select.set("group", None)
        select.set("expressions", [next(filter(_aggregates, select.expressions))])
        both: exp.Condition = exp.paren(sqlglot.parse_one(condition, read="duckdb"))
        if where := select.args.get("where"):
            both = exp.and_(exp.paren(where.this), both, copy=False)
        select.set("where", exp.Where(this=both))
        for node in select.walk():
            # Places in the text that was parsed are none in this one.
            node.meta.clear()
        restricted = copy(self)
        for name, value in (
            ("sql", select.sql(dialect="duckdb")),
            ("id", f"{self.id}[{group}]"),
            ("keys", None),
            ("block", self.id),
            ("group", group),
            ("where", both.sql(dialect="duckdb")),
            ("group_by", ()),
            ("_select", select),
        ):
            object.__setattr__(restricted, name, value)
        return restricted

    def resolve(self, schema: Schema) -> BoundExpression:
        """Check names and kinds against ``schema`` (public) and return what the engine needs."""
        table = self._select.args["from_"].this
        names = frozenset(name.lower() for name in (table.name, table.alias) if name)
        checker = ExpressionChecker(self.sql, schema, names)
        try:
            return self._resolved(checker)
        except RecursionError:
            _refuse(TOO_DEEP, self.sql)

    @quiet()
    def _resolved(self, checker: ExpressionChecker) -> BoundExpression:
        where = self._select.args.get("where")
        matching = predicate = normal_form(checker.predicate(where.this)) if where else None
        value = self._operand
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
    """A query in terms of typed columns: its predicate, the SQL of its operand, its columns.

    ``where`` is the predicate without what COUNT(column) adds to it.
    """

    predicate: Predicate | None
    value: str | None
    columns: frozenset[str]
    where: Predicate | None


def _parsed(sql: str) -> exp.Select:
    if not isinstance(sql, str) or not sql.strip():
        raise QueryError("the query is empty; " + _FORM)
    if len(sql) > SQL_LIMIT:
        raise QueryError(f"the query has {len(sql):,} characters; at most {SQL_LIMIT:,} are read")
    if not _whole(sql):
        raise QueryError("the query holds half a character (a lone surrogate); save it as UTF-8")
    nodes = statements(sql)
    if len(nodes) != 1:
        _refuse(f"{len(nodes)} statements were found; write one SELECT a query", sql)
    (node,) = nodes
    for part in node.walk():
        # A comment says nothing that is asked.
        part.comments = None
    if not isinstance(node, exp.Select):
        _refuse(f"{type(node).__name__.upper()} is not a SELECT; {_FORM}", sql, node)
    _check_clauses(sql, node)
    return node


def _whole(text: str) -> bool:
    """Whether a text has no half character (a lone surrogate), which no file can hold."""
    return text.isprintable() or not any("\ud800" <= sign <= "\udfff" for sign in text)


def _is_cell(cell: object) -> bool:
    """Whether SQL can be written for a stated value, and every report print it."""
    if isinstance(cell, str):
        return _whole(cell)
    if isinstance(cell, Decimal):
        return not cell.is_nan()
    return cell is None or isinstance(cell, (bool, int, float, datetime))


def _check_clauses(sql: str, select: exp.Select) -> None:
    if not select.expressions:
        _refuse("nothing stands between SELECT and FROM; " + _FORM, sql)
    admitted = {"expressions", "from_", "where", "group", "kind"}
    for name, value in select.args.items():
        if value and name not in admitted:
            clause = name.strip("_").upper().replace("JOINS", "JOIN")
            clause = f"{clause} BY" if clause in {"GROUP", "ORDER"} else clause
            node = value[0] if isinstance(value, list) else value
            _refuse(f"{clause} is not understood; {_FORM}", sql, node)
    table = select.args["from_"].this if select.args.get("from_") else None
    if table is None:
        _refuse("there is no FROM; " + _FORM, sql)
    extra = [k for k, v in table.args.items() if v and k not in {"this", "alias"}]
    named = isinstance(table, exp.Table) and isinstance(table.this, exp.Identifier)
    start = place(table)[0]
    # A name in single quotes would be a file to DuckDB.
    if not named or extra or table.alias_column_names or sql[start : (start or 0) + 1] == "'":
        _refuse("FROM takes the name of one table, such as D", sql, table)


def _grouping(sql: str, select: exp.Select) -> tuple[str, ...]:
    """Columns of GROUP BY; beside the aggregate nothing else may be selected."""
    group = select.args.get("group")
    columns = group.expressions if group else []
    extra = [k for k, v in group.args.items() if v and k != "expressions"] if group else []
    if group and (extra or not columns or not all(isinstance(x, exp.Column) for x in columns)):
        _refuse("GROUP BY takes names of columns, such as GROUP BY sex, race", sql, group)
    names = tuple(column.name for column in columns)
    lowered = [fold_case(name) for name in names]
    if len(set(lowered)) < len(lowered):
        _refuse("GROUP BY names a column twice", sql, group)
    beside = [node.unalias() for node in select.expressions if not _aggregates(node)]
    strange = next((x for x in beside if fold_case(x.name) not in lowered), None)
    if len(select.expressions) - len(beside) != 1 or strange is not None:
        count = len(select.expressions)
        _refuse(
            f"one aggregate a query, {count} expression{'s' * (count != 1)} found; beside it only "
            "columns of GROUP BY may stand",
            sql,
            strange or select,
        )
    return names


def _aggregates(node: exp.Expr) -> bool:
    return not isinstance(node.unalias(), exp.Column)


def _aggregate(sql: str, select: exp.Select) -> tuple[str, exp.Expr | None, Fraction | None]:
    """Aggregate, its operand (None for ``COUNT(*)``) and the quantile's p."""
    node = next(filter(_aggregates, select.expressions), select.expressions[0]).unalias()
    name = _KNOWN.get(type(node))
    extra = [k for k, v in node.args.items() if v and k not in {"this", "big_int", "quantile"}]
    operand = node.this if name else None
    if name == "COUNT" and isinstance(operand, exp.Star) and not extra:
        return name, None, None
    if name == "COUNT" and isinstance(operand, exp.Distinct) and not extra:
        name, columns = "COUNT DISTINCT", operand.expressions
        extra = [k for k, v in operand.args.items() if v and k != "expressions"]
        operand = columns[0] if len(columns) == 1 else None
    if name is None or extra or not isinstance(operand, exp.Expr) or isinstance(operand, exp.Star):
        _refuse(f"{node.sql(dialect='duckdb')} is not understood; use {AGGREGATES}", sql, node)
    return name, operand, _quantile(sql, node) if name == "QUANTILE" else None


def _quantile(sql: str, node: exp.Expr) -> Fraction:
    p = node.args.get("quantile")
    text = p.this if isinstance(p, exp.Literal) and not p.is_string else ""
    try:
        return probability(text, "the p of QUANTILE")
    except ParameterError:
        _refuse("QUANTILE takes a p strictly between 0 and 1, such as 0.9", sql, p or node)


def _refuse(message: str, sql: str, node: exp.Expr | None = None) -> NoReturn:
    raise QueryError(message, sql, *(place(node) if node is not None else (None, None)))
