"""Query: one aggregate over the rows of a table that match a predicate."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Literal, get_args

from sqlglot import Token, TokenType, tokenize
from sqlglot.errors import TokenError

from pqd.deciders.errors import ParameterError
from pqd.deciders.exact import Number, exact
from pqd.deciders.options import option
from pqd.errors import QueryError
from pqd.sql.schema import Schema
from pqd.sql.select import TOO_DEEP, BoundExpression, Select, is_whole, refuse
from pqd.sql.shapes import Conjunction, conjunction
from pqd.sql.tolerance import Tolerance

# A key has a cell for each grouping column, and so names one group; None is NULL.
Cell = str | int | float | bool | Decimal | datetime | None
Key = tuple[Cell, ...]
# Change of depth at a token of SQL.
_DEPTHS = {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}
# Tolerance of a rule that states none: the violations may differ by so many of the rows.
RULE_TOLERANCE = "0.1% of rows"
# Scale of a query: COUNT as a share of all rows, and SUM per row.
Scale = Literal["rows"]
SCALES: tuple[Scale, ...] = get_args(Scale)
# Weights of queries differ by at most this factor squared.
_MOST_WEIGHT = 1_000_000
# Aggregates that grow with the number of rows.
_GROWING = ("COUNT", "SUM")


@dataclass(frozen=True)
class Query:
    """Query, parsed and checked against pqd's form of a query; its names are not yet resolved.

    ``sql`` is DuckDB SQL; ``id`` names the query in reports.  ``aggregate`` is COUNT, COUNT
    DISTINCT, SUM, AVG, MEDIAN or QUANTILE.  ``p`` is that of QUANTILE, None for other aggregates.
    ``attribute`` is the aggregated expression as SQL, None for ``COUNT(*)``.  ``where`` is the
    predicate as SQL, None if there is no WHERE.  ``group_by`` are the grouping columns.

    ``keys`` are the groups to query if the caller states them, one tuple for each group.  If this
    query is a group of another query, ``block`` is the id of that query, ``block_sql`` its SQL as
    written, and ``group`` the group in words.

    ``tau`` is the query's own tolerance (``"5%"``, ``10``), used in place of the run's tolerance.
    With ``bins`` the query runs once for each bin of a number (``"age=0:100:10"``).
    ``weight`` says how much the error of the answer matters in a release; 1 if it is None.

    With the ``scale`` ``"rows"`` a COUNT is a share of all rows and a SUM is divided by the number
    of all rows.  ``per_row`` says that this is so.  Such a query is an AVG over all rows, of which
    a row that does not match counts as 0, and ``aggregate`` is AVG; ``written`` is the aggregate of
    the SQL.  The other aggregates do not grow with the number of rows, so their scale has no
    effect, except that no run answers a COUNT(DISTINCT) then.

    Raises
    ------
    QueryError
        If the text is not of pqd's form; the message marks the place.
    ParameterError
        If ``tau`` is no tolerance, ``weight`` no positive number, or ``scale`` unknown.
    """

    sql: str
    id: str | None = None
    keys: tuple[Key, ...] | None = None
    block: str | None = None
    group: str | None = None
    block_sql: str | None = field(default=None, compare=False)
    tau: Number | None = None
    bins: str | None = None
    scale: Scale | None = None
    weight: Number | None = None
    aggregate: str = field(init=False)
    written: str = field(init=False, repr=False, compare=False)
    per_row: bool = field(init=False, repr=False, compare=False)
    attribute: str | None = field(init=False)
    p: Fraction | None = field(init=False)
    where: str | None = field(init=False)
    group_by: tuple[str, ...] = field(init=False)
    tables: frozenset[str] = field(init=False, repr=False, compare=False)
    _conjunction: Conjunction | None = field(init=False, repr=False, compare=False)

    @classmethod
    def rule(cls, must: str, id: str | None = None, tau: Number = RULE_TOLERANCE) -> Query:  # noqa: A002 - the name of the field
        """Number of rows that violate the rule ``must``, a condition such as ``age >= 18``.

        As with CHECK of SQL, a row for which the rule is NULL does not violate it.
        """
        return cls(rule_sql(must), id, tau=tau)

    def __post_init__(self) -> None:
        """Parse the SQL, and check names, keys and tolerance."""
        self._check_names()
        check_scale(self.scale)
        try:
            self._read()
        except RecursionError:
            refuse(TOO_DEEP, self.sql)
        if self.tau is not None:
            _ = self.tolerance
        _ = self.exact_weight

    @property
    def exact_weight(self) -> Fraction:
        """Weight of the query in a release, exact."""
        return Fraction(1) if self.weight is None else read_weight(self.weight)

    @cached_property
    def tolerance(self) -> Tolerance | None:
        """The query's own tolerance; None if it states no tolerance."""
        return None if self.tau is None else Tolerance.parse(self.tau)

    def _check_names(self) -> None:
        """Refuse names that some report cannot print, before the query costs budget."""
        for name in (self.id, self.block, self.group):
            if name is not None and not (isinstance(name, str) and is_whole(name)):
                raise QueryError(f"the id {name!r} of a query is not text; write a word or a few")

    def _read(self) -> None:
        joined = conjunction(self.sql) if isinstance(self.sql, str) else None
        select = joined.head if joined else self._select
        _set(self, _conjunction=joined, **self._fields(select))
        if joined:
            _set(self, where=joined.where)
        self._check_keys()

    @cached_property
    def _select(self) -> Select:
        """The whole query, parsed without shapes."""
        return Select(self.sql)

    def _fields(self, select: Select) -> dict[str, object]:
        """Fields of a query that are read from its statement, at its scale."""
        names = ("attribute", "p", "where", "group_by", "tables")
        written = select.aggregate
        per_row = self.scale is not None and written in _GROWING
        own = {"aggregate": "AVG" if per_row else written, "written": written, "per_row": per_row}
        return {name: getattr(select, name) for name in names} | own

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
        """Same query with the tolerance ``tau``; the SQL is not parsed again."""
        other = copy(self)
        _set(other, tau=tau)
        other.__dict__.pop("tolerance", None)
        _ = other.tolerance
        return other

    def weighing(self, weight: Number) -> Query:
        """Same query with this ``weight``; the SQL is not parsed again."""
        other = copy(self)
        _set(other, weight=weight)
        _ = other.exact_weight
        return other

    @property
    def grows(self) -> bool:
        """Whether the answer grows in step with the number of rows."""
        return not self.per_row and self.written in _GROWING

    @property
    def counts_rows(self) -> bool:
        """Whether the answer is the number of all rows."""
        return self.grows and self.written == "COUNT" and not (self.attribute or self.where)

    @property
    def mentioned(self) -> frozenset[str]:
        """Names of the columns in the query, as written."""
        return (self._conjunction or self._select).mentioned

    def only(self, condition: str, group: str) -> Query:
        """Query without GROUP BY, on the rows that also meet ``condition`` (SQL)."""
        sql, select = self._select.restricted(condition)
        restricted = copy(self)
        _set(restricted, sql=sql, id=f"{self.id}[{group}]", keys=None, bins=None)
        _set(restricted, block=self.id, group=group, block_sql=self.sql)
        _set(restricted, _select=select, _conjunction=None, **self._fields(select))
        return restricted

    def scaled(self, scale: Scale | None) -> Query:
        """Same query with this scale, unless it states one itself."""
        if self.scale is not None or scale is None:
            return self
        other = copy(self)
        _set(other, scale=scale)
        _set(other, **other._fields(self._conjunction.head if self._conjunction else self._select))
        if self._conjunction:
            _set(other, where=self.where)
        return other

    def resolve(self, schema: Schema) -> BoundExpression:
        """Query in terms of typed columns, after a check of names and kinds against ``schema``."""
        bound = self._conjunction.resolved(schema) if self._conjunction else None
        try:
            return bound or self._select.resolved(schema)
        except RecursionError:
            refuse(TOO_DEEP, self.sql)


def read_weight(stated: Number) -> Fraction:
    """Weight of a query that a caller states.

    Raises
    ------
    ParameterError
        If it is no number from a millionth to a million.
    """
    weight = exact(stated, "the weight of a query", "3")
    if not Fraction(1, _MOST_WEIGHT) <= weight <= _MOST_WEIGHT:
        raise ParameterError(
            f"the weight of a query is {stated}; it must lie between 1e-6 and {_MOST_WEIGHT:,}"
        )
    return weight


def rule_sql(must: str) -> str:
    """SQL of the number of rows that violate a rule.

    Raises
    ------
    ParameterError
        If the text closes a parenthesis that it does not open, so that NOT would hold for a part.
    """
    depth = 0
    for token in _tokens(must):
        depth += _DEPTHS.get(token.token_type, 0)
        if depth < 0:
            raise ParameterError("a rule is one condition; it closes a ( that it does not open")
    return f"SELECT COUNT(*) FROM D WHERE NOT ({must})"


def _tokens(sql: str) -> list[Token]:
    """Tokens of a text as a query reads them; empty if it is no SQL, which the query refuses."""
    try:
        return tokenize(sql, read="duckdb")
    except TokenError:
        return []


def check_scale(scale: object) -> Scale | None:
    """Scale that a caller states; ParameterError if it is unknown."""
    if scale is None or scale in SCALES:
        return scale
    raise ParameterError(
        f"{option('--scale')} is {scale!r}; leave it out, or write {SCALES[0]}, for shares per row"
    )


def _set(query: Query, **values: object) -> None:
    for name, value in values.items():
        object.__setattr__(query, name, value)


def _is_cell(cell: object) -> bool:
    """Whether a stated value can be written as SQL and printed by every report."""
    if isinstance(cell, str):
        return is_whole(cell)
    if isinstance(cell, Decimal):
        return not cell.is_nan()
    return cell is None or isinstance(cell, (bool, int, float, datetime))
