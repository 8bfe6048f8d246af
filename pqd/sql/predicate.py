"""A predicate as a tree over distinct atomic conditions, ready for bitmaps.

NOT is pushed down to the atoms (De Morgan's laws hold in SQL's three-valued logic), so only AND and
OR stand above them.  A row matches exactly if the tree is true with each atom read as "is TRUE":
unknown counts as false.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, Self

from sqlglot import exp

# Doubles as typed SQL prints them: negative doubles in parentheses.
_POSITIVE = r"[0-9]+(?:\.[0-9]+)?e[+-]?[0-9]+"
_DOUBLE = rf"{_POSITIVE}|\(-{_POSITIVE}\)"
# Texts, except those that no table holds (with NUL, or a lone surrogate); patterns that are texts.
_NOT_PLAIN = r"'\0\ud800-\udfff"
_TEXT = rf"'((?:[^{_NOT_PLAIN}]|'')*)'"
_PATTERN = rf"'((?:[^%_\\{_NOT_PLAIN}]|'')*)'"
_COMPARISON = re.compile(
    rf'"((?:[^"]|"")+)" (?:(=|<>|<|<=|>|>=) ({_DOUBLE})|BETWEEN ({_DOUBLE}) AND ({_DOUBLE})'
    rf"|(=|<>) {_TEXT}|LIKE {_PATTERN})"
)


# Named tuples: their hash is cheaper than that of a dataclass.
class Atom(NamedTuple):
    """One condition on a row, as DuckDB SQL; unknown counts as false."""

    sql: str


class Combined(NamedTuple):
    """AND (``and``) or OR (``or``) of the parts; there are at least two parts."""

    how: Literal["and", "or"]
    parts: tuple["Predicate", ...]


Predicate = Atom | Combined


class Comparison(NamedTuple):
    """Comparison of a column with a text or a double, or BETWEEN two doubles if ``last`` is given.

    Texts are compared for equality (``=``, or LIKE without wildcards) or inequality (``<>``),
    never for order.
    """

    column: str
    sign: str
    first: float | str
    last: float | None = None

    @classmethod
    def of(cls, sql: str) -> Self | None:
        """Comparison that an atom's SQL plainly is, else None; the SQL is not parsed for that."""
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
    """Text that is the same for predicates that differ only in the order of their parts."""
    if isinstance(predicate, Atom):
        return predicate.sql
    parts = sorted(map(canonical, predicate.parts))
    return f"({f' {predicate.how} '.join(parts)})"
