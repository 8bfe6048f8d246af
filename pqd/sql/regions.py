"""Regions: proofs that no row can match both of two queries, each proof from one column.

Queries with pairwise disjoint predicates compose in parallel: together they cost the maximum of
their budgets, not the sum (McSherry 2009, Theorem 4).  A wrong claim of disjointness would break
privacy; a disjointness that is missed only costs budget.  So a region may be too large but never
too small: it over-approximates a predicate column by column, and a condition that is not recognised
restricts nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Literal, NamedTuple

from sqlglot import exp
from sqlglot.errors import SqlglotError

from pqd.sql.predicate import Atom, Predicate
from pqd.sql.schema import quote_identifier, quote_literal
from pqd.sql.shapes import condition_tree
from pqd.sql.value_sets import (
    ANYTHING,
    NOTHING,
    NULL,
    PRESENT,
    Cut,
    Value,
    ValueSet,
    combination,
    disjoint,
    one_type,
)

Region = Mapping[str, ValueSet]


def region(predicate: Predicate | None) -> Region:
    """Region that contains all matching rows, as an over-approximation column by column.

    Returns
    -------
    Region
        For each column of the schema the values that a matching row may hold; a missing column
        may hold anything.  **Guarantee** (soundness): every row on which ``predicate`` is TRUE
        lies in the region; other rows may lie there too.
    """
    if predicate is None:
        return {}
    if isinstance(predicate, Atom):
        return dict(_constraints(predicate.sql))
    parts = [region(part) for part in predicate.parts]
    named = [part.keys() for part in parts]
    # A branch of OR that does not mention a column admits all values of the column.
    columns = set().union(*named) if predicate.how == "and" else set(named[0]).intersection(*named)
    return {
        column: combination(predicate.how, [part[column] for part in parts if column in part])
        for column in sorted(columns)
    }


def separating(first: Region, second: Region) -> str | None:
    """Column on which the regions have no value and no NULL in common.

    Returns
    -------
    str or None
        The alphabetically first of these columns.  **Guarantee**: a name proves, for every table,
        that no row lies in both regions; None proves nothing.
    """
    for column in sorted(first.keys() | second.keys()):
        if disjoint(first.get(column, ANYTHING), second.get(column, ANYTHING)):
            return column
    return None


def describe(column: str, region: Region) -> str:
    """Short text for the values that ``region`` admits on ``column``, to show a proof."""
    name, admitted = quote_identifier(column), region.get(column, ANYTHING)
    fixed = {
        ANYTHING: f"{name} is anything",
        PRESENT: f"{name} is not NULL",
        NULL: f"{name} is NULL",
        NOTHING: f"{name} admits no value",
    }
    if admitted in fixed:
        return fixed[admitted]
    return f"{name} {_words(admitted)}{' or NULL' if admitted.null else ''}"


class _Truth(NamedTuple):
    """Values of one column for which a condition may be TRUE, and values where it may be FALSE.

    If ``exact``, the condition is TRUE on all of ``true`` and FALSE on all of ``false``.
    """

    column: str
    true: ValueSet
    false: ValueSet
    exact: bool = True


def exactly(atom: Atom) -> tuple[str, ValueSet] | None:
    """Column of a condition, and exactly the values for which the condition is TRUE.

    None if the condition is on several columns, or its meaning is not known exactly.
    """
    truth = _read(atom.sql)
    return (truth.column, truth.true) if truth and truth.exact else None


def _constraints(sql: str) -> tuple[tuple[str, ValueSet], ...]:
    truth = _read(sql)
    return ((truth.column, truth.true),) if truth else ()


@lru_cache(maxsize=4096)
def _read(sql: str) -> _Truth | None:
    try:
        return _truth(condition_tree(sql))
    except (ValueError, RecursionError, SqlglotError):
        # The condition is not recognised, or nested too deeply to be parsed again.
        return None


def _truth(node: exp.Expr) -> _Truth:
    """Truth of a condition; ValueError if the form of the condition is not recognised."""
    node = node.unnest()
    if isinstance(node, exp.Column):
        return _compared(exp.EQ, _column(node), value=True)
    if any(value for name, value in node.args.items() if name not in _ARGUMENTS):
        raise ValueError(node)
    if isinstance(node, exp.Not):
        column, true, false, exact = _truth(node.this)
        return _Truth(column, false, true, exact)
    if isinstance(node, exp.Between):
        column, ends = _column(node.this), ((exp.GTE, "low"), (exp.LTE, "high"))
        return _joined("and", [_compared(o, column, _constant(node.args[e])) for o, e in ends])
    if isinstance(node, exp.In) and node.expressions:
        column, values = _column(node.this), [_constant(value) for value in node.expressions]
        return _joined("or", [_compared(exp.EQ, column, value) for value in values])
    if type(node) not in _OPERATORS:
        raise ValueError(node)
    operator, left, right = type(node), node.this, node.expression
    if operator in _MIRRORED and not isinstance(left.unnest(), exp.Column):
        operator, left, right = _MIRRORED[operator], right, left
    return _compared(operator, _column(left), _constant(right))


def _joined(how: Literal["and", "or"], truths: Sequence[_Truth]) -> _Truth:
    """Truth of an AND or OR of conditions on one column."""
    false = combination("or" if how == "and" else "and", [truth.false for truth in truths])
    # Values of two types have no common order, so their sets are not exact.
    exact = all(truth.exact for truth in truths) and one_type(truth.true for truth in truths)
    return _Truth(
        truths[0].column, combination(how, [truth.true for truth in truths]), false, exact
    )


def _compared(operator: type[exp.Expr], column: str, value: Value | None) -> _Truth:
    """Truth of ``column operator value``; a value of None is NULL."""
    if operator in _NEGATED:
        _, true, false, exact = _compared(_NEGATED[operator], column, value)
        return _Truth(column, false, true, exact)
    if operator in {exp.Is, exp.NullSafeEQ}:
        true = NULL if value is None else _constants_only(value)
        return _Truth(column, true, ValueSet(not true.null, not true.start, true.cuts))
    # With the operators below, a comparison with NULL is unknown: neither TRUE nor FALSE.
    if value is None:
        return _Truth(column, NOTHING, NOTHING)
    wild = isinstance(value, str) and not {"%", "_"}.isdisjoint(value)
    if operator is exp.ILike or (operator is exp.Like and wild):
        return _Truth(column, PRESENT, PRESENT, exact=False)
    if operator not in _HALF_LINES:
        true = _constants_only(value)
    elif isinstance(value, (str, bool)):
        return _Truth(column, PRESENT, PRESENT, exact=False)
    else:
        start, above = _HALF_LINES[operator]
        true = ValueSet(null=False, start=start, cuts=((value, above),))
    return _Truth(column, true, ValueSet(null=False, start=not true.start, cuts=true.cuts))


def _constants_only(value: Value) -> ValueSet:
    if isinstance(value, bool):
        # One cut separates FALSE from TRUE, so each is the complement of the other.
        return ValueSet(null=False, start=not value, cuts=((True, False),))
    return ValueSet(null=False, start=False, cuts=((value, False), (value, True)))


def _column(node: exp.Expr) -> str:
    node = node.unnest()
    if not isinstance(node, exp.Column) or [k for k, v in node.args.items() if v] != ["this"]:
        raise ValueError(node)
    return node.name


def _constant(node: exp.Expr) -> Value | None:
    """Value of a constant as the engine reads it; None for NULL."""
    node = node.unnest()
    if isinstance(node, exp.Null):
        return None
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Literal):
        return str(node.this) if node.is_string else float(node.this)
    if isinstance(node, exp.Neg):
        number = _constant(node.this)
        if isinstance(number, float):
            return -number
    if isinstance(node, exp.Cast) and node.this.is_string and node.to.this in _MOMENTS:
        moment = datetime.fromisoformat(node.this.this)
        if moment.tzinfo is None:
            return moment
    raise ValueError(node)


_MOMENTS = {exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ}
_ARGUMENTS = frozenset({"this", "expression", "expressions", "low", "high"})
_NEGATED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.NEQ: exp.EQ,
    exp.NullSafeNEQ: exp.NullSafeEQ,
}
# Whether values below the cut are admitted, and whether the cut lies above the constant.
_HALF_LINES: dict[type[exp.Expr], tuple[bool, bool]] = {
    exp.LT: (True, False),
    exp.LTE: (True, True),
    exp.GT: (False, True),
    exp.GTE: (False, False),
}
# Operator to use when ``constant operator column`` is turned round; LIKE and IS have none.
_MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {
    **dict(zip(_HALF_LINES, (exp.GT, exp.GTE, exp.LT, exp.LTE), strict=True)),
    **{same: same for same in (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ)},
}
_OPERATORS = frozenset({*_MIRRORED, exp.Like, exp.ILike, exp.Is})


def _words(admitted: ValueSet) -> str:
    if isinstance(admitted.cuts[0][0], bool):
        return "= FALSE" if admitted.start else "= TRUE"
    pieces = list(_pieces(admitted))
    gaps = list(_pieces(ValueSet(null=False, start=not admitted.start, cuts=admitted.cuts)))
    for words, word, several in ((pieces, "=", "in"), (gaps, "<>", "not in")):
        points = [low[0] for low, high in words if low and high and low[0] == high[0]]
        if len(points) == len(words):
            listed = _listed([_literal(point) for point in points], ", ")
            return f"{word} {listed}" if len(points) == 1 else f"{several} ({listed})"
    return "in " + _listed([_interval(*piece) for piece in pieces], " or ")


def _pieces(admitted: ValueSet) -> Iterator[tuple[Cut | None, Cut | None]]:
    """Intervals as pairs of cuts; None is an end at infinity."""
    ends: list[Cut | None] = [None, *admitted.cuts] if admitted.start else [*admitted.cuts]
    ends += [None] * (len(ends) % 2)
    yield from zip(ends[::2], ends[1::2], strict=True)


def _interval(low: Cut | None, high: Cut | None) -> str:
    left = f"{'(' if low[1] else '['}{_literal(low[0])}" if low else "(-inf"
    right = f"{_literal(high[0])}{']' if high[1] else ')'}" if high else "inf)"
    return f"{left}, {right}"


def _listed(words: Sequence[str], between: str) -> str:
    listed = words if len(words) <= 4 else [*words[:3], f"... ({len(words)} in all)"]
    return between.join(listed)


def _literal(value: Value) -> str:
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    text = value if isinstance(value, str) else str(value).removesuffix(" 00:00:00")
    short = text if len(text) <= 40 else text[:37] + "..."
    return quote_literal(short)
