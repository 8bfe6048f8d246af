"""Predicate as a tree of AND and OR over atoms.

NOT is pushed down into the atoms (De Morgan's laws hold in SQL's three-valued logic), so the tree
has only AND and OR.  A row matches exactly if the tree is true.  An atom counts as true where its
SQL is TRUE; where its SQL is unknown, the atom counts as false.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from sqlglot import exp


# A named tuple has a cheaper hash than a dataclass.
class Atom(NamedTuple):
    """One condition on a row, as DuckDB SQL; unknown counts as false."""

    sql: str


class Combined(NamedTuple):
    """AND (``and``) or OR (``or``) of the parts; there are at least two parts."""

    how: Literal["and", "or"]
    parts: tuple["Predicate", ...]


Predicate = Atom | Combined


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
    """``parts`` under one AND or OR; parts that are the same AND or OR are merged into it."""
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
    """Text that is equal for two predicates that differ only in the order of their parts."""
    if isinstance(predicate, Atom):
        return predicate.sql
    parts = sorted(map(canonical, predicate.parts))
    return f"({f' {predicate.how} '.join(parts)})"
