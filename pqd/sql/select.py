"""SELECT statements: pqd parses a text into a tree of its own form, or raises QueryError."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NoReturn

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError

from pqd.deciders.errors import ParameterError
from pqd.deciders.exact import probability
from pqd.deciders.options import by_reader
from pqd.errors import QueryError
from pqd.sql.expressions import SQL_LIMIT, ExpressionChecker, place
from pqd.sql.hints import (
    AGGREGATES,
    CLAUSES,
    found_hint,
    malformed,
    other_aggregate,
    unclosed_quote,
)
from pqd.sql.predicate import Atom, Predicate, combined, normal_form
from pqd.sql.schema import Schema, fold_case

_FORM = f"write SELECT one of {AGGREGATES} FROM a table [WHERE predicate] [GROUP BY columns]"
# MAX and MIN, whose answer is one person's value, and the p of the nearest quantile.
_EXTREMES = {exp.Max: "0.99", exp.Min: "0.01"}
_KNOWN = {
    exp.Count: "COUNT",
    exp.Sum: "SUM",
    exp.Avg: "AVG",
    exp.Median: "MEDIAN",
    exp.Quantile: "QUANTILE",
}
TOO_DEEP = "the query is nested too deeply; write it with fewer parentheses"


@contextmanager
def quiet() -> Iterator[None]:
    """Context in which sqlglot logs nothing: pqd reports unsupported SQL by its own refusal."""
    logger = logging.getLogger("sqlglot")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


@dataclass(frozen=True)
class BoundExpression:
    """Query in terms of typed columns: its predicate, the SQL of its operand, its columns.

    ``where`` is the predicate without the condition that COUNT(column) adds to it.
    """

    predicate: Predicate | None
    value: str | None
    columns: frozenset[str]
    where: Predicate | None


class Select:
    """SELECT statement in the form that pqd understands; names are not yet resolved.

    ``aggregate``, ``attribute``, ``p``, ``where`` and ``group_by`` are as in ``Query``;
    ``tables`` are the names, in lower case, that may qualify a column.

    Raises
    ------
    QueryError
        If the text has another form; the message marks the place.
    """

    @quiet()
    def __init__(self, sql: str, tree: exp.Select | None = None) -> None:
        """Parse and check ``sql``; ``tree`` is its tree if the caller has parsed it."""
        self._sql, self._tree = sql, _parsed(sql) if tree is None else tree
        self.aggregate, self._operand, self.p = _aggregate(sql, self._tree)
        self.attribute = self._operand.sql(dialect="duckdb") if self._operand is not None else None
        where = self._tree.args.get("where")
        self._where: exp.Expr | None = where.this if where else None
        self.where = self._where.sql(dialect="duckdb") if self._where is not None else None
        self.group_by = _grouping(sql, self._tree)
        self._last: tuple[Schema, BoundExpression] | None = None
        table = self._tree.args["from_"].this
        self.tables = frozenset(name.lower() for name in (table.name, table.alias) if name)

    @cached_property
    def mentioned(self) -> frozenset[str]:
        """Names of the columns in the statement, as written."""
        return frozenset(column.name for column in self._tree.find_all(exp.Column))

    @quiet()
    def restricted(self, condition: str) -> tuple[str, Select]:
        """SQL and Select of this statement, ungrouped, on rows that also meet ``condition``.

        The tree is not printed and parsed again: a printed predicate may parse differently.
        """
        tree = self._tree.copy()
        tree.set("group", None)
        tree.set("expressions", [next(filter(_aggregates, tree.expressions))])
        both: exp.Condition = exp.paren(sqlglot.parse_one(condition, read="duckdb"))
        if where := tree.args.get("where"):
            both = exp.and_(exp.paren(where.this), both, copy=False)
        tree.set("where", exp.Where(this=both))
        for node in tree.walk():
            # The places in the nodes belong to the SQL before this change.
            node.meta.clear()
        sql = tree.sql(dialect="duckdb")
        return sql, Select(sql, tree)

    def resolved(self, schema: Schema) -> BoundExpression:
        """Statement in terms of typed columns; the result for the last schema is cached.

        Raises
        ------
        QueryError
            If a name or a kind does not fit ``schema``.
        """
        if self._last is None or self._last[0] != schema:
            self._last = dict(schema), self._resolved(schema)
        return self._last[1]

    @quiet()
    def _resolved(self, schema: Schema) -> BoundExpression:
        checker = ExpressionChecker(self._sql, schema, self.tables)
        where = self._where
        matching = predicate = normal_form(checker.predicate(where)) if where is not None else None
        measured: str | None = None
        if self._operand is not None and self.aggregate == "COUNT":
            null = exp.Is(this=checker.scalar(self._operand), expression=exp.Null())
            present = Atom(exp.Not(this=null).sql(dialect="duckdb"))
            predicate = combined("and", (predicate, present)) if predicate else present
        elif self._operand is not None:
            is_number = self.aggregate != "COUNT DISTINCT"
            measured = (
                checker.number(self._operand, self.aggregate)
                if is_number
                else checker.scalar(self._operand)
            ).sql(dialect="duckdb")
        return BoundExpression(predicate, measured, frozenset(checker.columns), matching)


def _parsed(sql: str) -> exp.Select:
    """Tree of one SELECT without its comments; QueryError, with the place, for other text."""
    if not isinstance(sql, str) or not sql.strip():
        raise QueryError("the query is empty; " + _FORM)
    if len(sql) > SQL_LIMIT:
        raise QueryError(f"the query has {len(sql):,} characters; at most {SQL_LIMIT:,} are read")
    if not is_whole(sql):
        raise QueryError("the query holds half a character (a lone surrogate); save it as UTF-8")
    nodes = statements(sql)
    if len(nodes) != 1:
        several = by_reader(
            "with a -q for each", 'and several as a list of texts, or pqd.read_queries("q.sql")'
        )
        refuse(f"{len(nodes)} statements were found; write one SELECT a query, {several}", sql)
    (node,) = nodes
    for part in node.walk():
        # Comments are no part of the query.
        part.comments = None
    if not isinstance(node, exp.Select):
        if isinstance(node, (exp.Predicate, exp.Connector)):
            refuse(f"a query is more than a condition: SELECT COUNT(*) FROM D WHERE {sql}", sql)
        if hint := found_hint(sql):
            refuse(hint.message, sql, node)
        refuse(f"{type(node).__name__.upper()} is not a SELECT; {_FORM}", sql, node)
    _check_clauses(sql, node)
    return node


def is_whole(text: str) -> bool:
    """Whether a text has no lone surrogate (half a character), which no file can hold."""
    return text.isprintable() or not any("\ud800" <= sign <= "\udfff" for sign in text)


def statements(sql: str) -> list[exp.Expr]:
    """Statements in a text, each a tree that can be printed again.

    Raises
    ------
    QueryError
        If the text is not SQL; the message marks the place if it is known.
    """
    try:
        with quiet():
            parsed = filter(None, sqlglot.parse(sql, read="duckdb"))
            # A comment after the last semicolon is a node of its own.
            nodes = [node for node in parsed if not isinstance(node, exp.Semicolon)]
            # Some odd texts give broken trees, and an error only when the tree is printed.
            for node in nodes:
                node.sql(dialect="duckdb")
    except ParseError as error:
        raise _malformed(sql, error) from None
    except RecursionError:
        raise QueryError(TOO_DEEP, sql) from None
    except Exception:  # noqa: BLE001 - sqlglot fails on odd texts by whatever its own code raises
        if (start := unclosed_quote(sql)) is not None:
            raise QueryError("this quote is not closed; close it", sql, start, start + 1) from None
        raise QueryError("this is not SQL; check quotes and parentheses", sql) from None
    return nodes


def _malformed(sql: str, error: ParseError) -> QueryError:
    if hint := found_hint(sql):
        return QueryError(f"malformed SQL: {hint.message}", sql, hint.start, hint.stop)
    first = error.errors[0] if error.errors else {}
    highlight, before = first.get("highlight") or "", first.get("start_context") or ""
    start = len(before) if before and sql.startswith(before) else sql.find(highlight)
    reason = malformed(sql, start, highlight, str(first.get("description")))
    if start < 0 or not highlight:
        return QueryError(f"malformed SQL: {reason}", sql)
    return QueryError(f"malformed SQL: {reason}", sql, start, start + len(highlight))


def _check_clauses(sql: str, select: exp.Select) -> None:
    if not select.expressions:
        refuse("nothing stands between SELECT and FROM; " + _FORM, sql)
    admitted = {"expressions", "from_", "where", "group", "kind"}
    for name, value in select.args.items():
        if value and name not in admitted:
            clause = name.strip("_").upper().replace("JOINS", "JOIN")
            clause = f"{clause} BY" if clause in {"GROUP", "ORDER"} else clause
            node = value[0] if isinstance(value, list) else value
            refuse(f"{clause} is not understood; {CLAUSES.get(clause, _FORM)}", sql, node)
    table = select.args["from_"].this if select.args.get("from_") else None
    if table is None:
        whole = select.copy()
        whole.set("expressions", [node.unalias() for node in whole.expressions])
        refuse(f"there is no FROM D; write {whole.from_('D').sql(dialect='duckdb')}", sql)
    extra = [k for k, v in table.args.items() if v and k not in {"this", "alias"}]
    named = isinstance(table, exp.Table) and isinstance(table.this, exp.Identifier)
    start = place(table)[0]
    # DuckDB would read a name in single quotes as a file.
    if not named or extra or table.alias_column_names or sql[start : (start or 0) + 1] == "'":
        refuse("FROM takes the name of one table, such as D", sql, table)


def _grouping(sql: str, select: exp.Select) -> tuple[str, ...]:
    """Columns of GROUP BY; only these may be selected beside the aggregate."""
    group = select.args.get("group")
    columns = group.expressions if group else []
    extra = [k for k, v in group.args.items() if v and k != "expressions"] if group else []
    if group and (extra or not columns or not all(isinstance(x, exp.Column) for x in columns)):
        refuse("GROUP BY takes names of columns, such as GROUP BY sex, race", sql, group)
    names = tuple(column.name for column in columns)
    lowered = [fold_case(name) for name in names]
    if len(set(lowered)) < len(lowered):
        refuse("GROUP BY names a column twice", sql, group)
    beside = [node.unalias() for node in select.expressions if not _aggregates(node)]
    strange = next((x for x in beside if fold_case(x.name) not in lowered), None)
    if strange is not None:
        name = strange.sql(dialect="duckdb")
        message = f"{name} stands beside the aggregate; add GROUP BY {name}, or leave it out"
        refuse(message, sql, strange)
    if len(select.expressions) - len(beside) > 1:
        refuse(f"one aggregate a query; write {_apart(select)}", sql, select)
    return names


def _apart(select: exp.Select) -> str:
    """Queries, one for each of the first two aggregates of a statement."""
    queries = []
    for aggregate in list(filter(_aggregates, select.expressions))[:2]:
        query = select.copy()
        columns = [node.copy() for node in select.expressions if not _aggregates(node)]
        query.set("expressions", [*columns, aggregate.copy()])
        queries.append(query.sql(dialect="duckdb"))
    return "; and ".join(queries)


def _aggregates(node: exp.Expr) -> bool:
    """Whether a selected expression is more than a bare column."""
    return not isinstance(node.unalias(), exp.Column)


def _aggregate(sql: str, select: exp.Select) -> tuple[str, exp.Expr | None, Fraction | None]:
    """Aggregate, its operand (None for ``COUNT(*)``), and p for a quantile."""
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
        shown = node.sql(dialect="duckdb")
        if type(node) in _EXTREMES:
            share = _EXTREMES[type(node)]
            of = node.this.sql(dialect="duckdb")
            refuse(
                f"{shown} is not understood: one person decides it, so noise would have to hide "
                f"all of it; a quantile near the end can be answered: QUANTILE({of}, {share})",
                sql,
                node,
            )
        refuse(
            f"{shown} is not understood; {other_aggregate(node) or f'use {AGGREGATES}'}", sql, node
        )
    return name, operand, _quantile(sql, node) if name == "QUANTILE" else None


def _quantile(sql: str, node: exp.Expr) -> Fraction:
    p = node.args.get("quantile")
    text = p.this if isinstance(p, exp.Literal) and not p.is_string else ""
    try:
        return probability(text, "the p of QUANTILE")
    except ParameterError:
        refuse("QUANTILE takes a p strictly between 0 and 1, such as 0.9", sql, p or node)


def refuse(message: str, sql: str, node: exp.Expr | None = None) -> NoReturn:
    """Raise QueryError, which marks the place of ``node`` in ``sql``."""
    raise QueryError(message, sql, *(place(node) if node is not None else (None, None)))
