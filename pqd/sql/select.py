"""SELECT statements in the form that pqd understands: one aggregate of one table."""

from __future__ import annotations

from fractions import Fraction
from typing import NoReturn

from sqlglot import exp

from pqd.deciders.errors import ParameterError
from pqd.deciders.exact import probability
from pqd.errors import QueryError
from pqd.sql.expressions import SQL_LIMIT, place
from pqd.sql.parser import statements
from pqd.sql.schema import fold_case

AGGREGATES = (
    "COUNT(*), COUNT(column), COUNT(DISTINCT column), SUM(expression), AVG(expression), "
    "MEDIAN(expression) and QUANTILE(expression, p)"
)
_FORM = f"write SELECT one of {AGGREGATES} FROM a table [WHERE predicate] [GROUP BY columns]"
# Aggregates whose answer is one person's value, and the nearest quantile.
_EXTREMES = {exp.Max: "0.99", exp.Min: "0.01"}
_KNOWN = {
    exp.Count: "COUNT",
    exp.Sum: "SUM",
    exp.Avg: "AVG",
    exp.Median: "MEDIAN",
    exp.Quantile: "QUANTILE",
}


def parsed(sql: str) -> exp.Select:
    """Tree of one SELECT without its comments; QueryError with the place for anything else."""
    if not isinstance(sql, str) or not sql.strip():
        raise QueryError("the query is empty; " + _FORM)
    if len(sql) > SQL_LIMIT:
        raise QueryError(f"the query has {len(sql):,} characters; at most {SQL_LIMIT:,} are read")
    if not is_whole(sql):
        raise QueryError("the query holds half a character (a lone surrogate); save it as UTF-8")
    nodes = statements(sql)
    if len(nodes) != 1:
        refuse(f"{len(nodes)} statements were found; write one SELECT a query", sql)
    (node,) = nodes
    for part in node.walk():
        # Comments are no part of the query.
        part.comments = None
    if not isinstance(node, exp.Select):
        refuse(f"{type(node).__name__.upper()} is not a SELECT; {_FORM}", sql, node)
    _check_clauses(sql, node)
    return node


def is_whole(text: str) -> bool:
    """Whether a text has no half character (a lone surrogate), which no file can hold."""
    return text.isprintable() or not any("\ud800" <= sign <= "\udfff" for sign in text)


def _check_clauses(sql: str, select: exp.Select) -> None:
    if not select.expressions:
        refuse("nothing stands between SELECT and FROM; " + _FORM, sql)
    admitted = {"expressions", "from_", "where", "group", "kind"}
    for name, value in select.args.items():
        if value and name not in admitted:
            clause = name.strip("_").upper().replace("JOINS", "JOIN")
            clause = f"{clause} BY" if clause in {"GROUP", "ORDER"} else clause
            node = value[0] if isinstance(value, list) else value
            refuse(f"{clause} is not understood; {_FORM}", sql, node)
    table = select.args["from_"].this if select.args.get("from_") else None
    if table is None:
        refuse("there is no FROM; " + _FORM, sql)
    extra = [k for k, v in table.args.items() if v and k not in {"this", "alias"}]
    named = isinstance(table, exp.Table) and isinstance(table.this, exp.Identifier)
    start = place(table)[0]
    # DuckDB would read a name in single quotes as a file.
    if not named or extra or table.alias_column_names or sql[start : (start or 0) + 1] == "'":
        refuse("FROM takes the name of one table, such as D", sql, table)


def grouping(sql: str, select: exp.Select) -> tuple[str, ...]:
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
    beside = [node.unalias() for node in select.expressions if not aggregates(node)]
    strange = next((x for x in beside if fold_case(x.name) not in lowered), None)
    if len(select.expressions) - len(beside) != 1 or strange is not None:
        count = len(select.expressions)
        refuse(
            f"one aggregate a query, {count} expression{'s' * (count != 1)} found; beside it only "
            "columns of GROUP BY may stand",
            sql,
            strange or select,
        )
    return names


def aggregates(node: exp.Expr) -> bool:
    """Whether a selected expression is more than a bare column."""
    return not isinstance(node.unalias(), exp.Column)


def aggregate_of(sql: str, select: exp.Select) -> tuple[str, exp.Expr | None, Fraction | None]:
    """Aggregate, its operand (None for ``COUNT(*)``), and p for a quantile."""
    node = next(filter(aggregates, select.expressions), select.expressions[0]).unalias()
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
        refuse(f"{shown} is not understood; use {AGGREGATES}", sql, node)
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
