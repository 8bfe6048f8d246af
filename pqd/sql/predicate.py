"""A predicate as a tree over distinct atomic conditions, ready for bitmaps.

NOT is pushed down to the atoms (De Morgan holds in SQL's three-valued logic), so the tree has only
AND and OR above them: a row matches exactly if the tree is true of "this atom is TRUE".
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, Self

from sqlglot import exp

# Doubles as they stand in typed SQL: those below 0 in parentheses.
_POSITIVE = r"[0-9]+(?:\.[0-9]+)?e[+-]?[0-9]+"
_DOUBLE = rf"{_POSITIVE}|\(-{_POSITIVE}\)"
# Texts, but those that no table holds: with a NUL, or with half of a sign; patterns that are texts.
_NOT_PLAIN = r"'\0\ud800-\udfff"
_TEXT = rf"'((?:[^{_NOT_PLAIN}]|'')*)'"
_PATTERN = rf"'((?:[^%_\\{_NOT_PLAIN}]|'')*)'"
_COMPARISON = re.compile(
    rf'"((?:[^"]|"")+)" (?:(=|<>|<|<=|>|>=) ({_DOUBLE})|BETWEEN ({_DOUBLE}) AND ({_DOUBLE})'
    rf"|(=|<>) {_TEXT}|LIKE {_PATTERN})"
)


# Both are tuples, whose hash costs a tenth of that of a dataclass.
class Atom(NamedTuple):
    """One condition on a row, as DuckDB SQL; unknown counts as false."""

    sql: str


class Combined(NamedTuple):
    """All (``and``) or any (``or``) of the parts; there are at least two."""

    how: Literal["and", "or"]
    parts: tuple["Predicate", ...]


Predicate = Atom | Combined


class Comparison(NamedTuple):
    """Comparison of a column with a text, a double, or two: BETWEEN, where ``last`` is not None.

    Texts are equal (``=``, or a LIKE without wildcards) or not (``<>``); none comes before another.
    """

    column: str
    sign: str
    first: float | str
    last: float | None = None

    @classmethod
    def of(cls, sql: str) -> Self | None:
        """Comparison that the SQL of an atom plainly is, else None; it is not parsed for that."""
        match = _COMPARISON.fullmatch(sql)
        if match is None:
            return None
        name, sign, *doubles, equality, text, pattern = match.groups()
        column = name.replace('""', '"')
        found = pattern if text is None else text
        if found is not None:
            return cls(column, equality or "=", found.replace("''", "'"))
        numbers = [float(double.strip("()")) for double in doubles if double]
        return cls(column, sign or "BETWEEN", *numbers)


def normal_form(node: exp.Expr, *, negated: bool = False) -> Predicate:
    """Negation normal form of a checked boolean expression, duplicates removed."""
    if isinstance(node, exp.Paren):
        return normal_form(node.this, negated=negated)
    if isinstance(node, exp.Not):
        return normal_form(node.this, negated=not negated)
    if isinstance(node, (exp.And, exp.Or)):
        how: Literal["and", "or"] = "and" if isinstance(node, exp.And) != negated else "or"
        parts = dict.fromkeys(normal_form(part, negated=negated) for part in node.flatten())
        return combined(how, tuple(parts))
    return Atom((exp.Not(this=exp.paren(node)) if negated else node).sql(dialect="duckdb"))


def combined(how: Literal["and", "or"], parts: tuple[Predicate, ...]) -> Predicate:
    """``parts`` under one AND or OR, flattened."""
    flat: dict[Predicate, None] = {}
    for part in parts:
        same = isinstance(part, Combined) and part.how == how
        flat.update(dict.fromkeys(part.parts if same and isinstance(part, Combined) else (part,)))
    return next(iter(flat)) if len(flat) == 1 else Combined(how, tuple(flat))


def atoms(predicate: Predicate) -> Iterator[Atom]:
    """Atoms of the tree."""
    if isinstance(predicate, Atom):
        yield predicate
    else:
        for part in predicate.parts:
            yield from atoms(part)


def canonical(predicate: Predicate) -> str:
    """One text for predicates that differ in the order of their parts alone."""
    if isinstance(predicate, Atom):
        return predicate.sql
    parts = sorted(map(canonical, predicate.parts))
    return f"({f' {predicate.how} '.join(parts)})"
