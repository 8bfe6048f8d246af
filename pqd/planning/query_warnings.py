"""Warnings of queries that are allowed and seldom meant, shown before anything is spent.

They are part of the report as well.  Nothing here reads the private table.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.errors import SqlglotError

from pqd.parameters import Parameters
from pqd.sql.literals import condition_tree
from pqd.sql.predicate import atoms
from pqd.sql.query import Query
from pqd.sql.schema import Kind, quote_literal
from pqd.stated_budgets import MUCH_EPSILON
from reports.text import notes as words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pqd.engine.synthetic_tables import SyntheticTables
    from pqd.parameters import Criteria
    from pqd.sql.predicate import Predicate
    from pqd.sql.schema import Schema

# Columns of more texts are not listed: a code or a name is seldom mistyped into one of them.
_MOST_TEXTS = 10_000


def warnings_of(query: Query, criteria: Criteria) -> Iterator[str]:
    """Warnings of the criteria of a verdict."""
    tolerance = criteria.tolerance
    if tolerance.relative and tolerance.amount >= 1:
        yield words.wide_tolerance(tolerance.text)
    elif not tolerance.relative and tolerance.amount < 1 and query.aggregate.startswith("COUNT"):
        yield words.narrow_tolerance(tolerance.text)
    if criteria.alpha > Fraction(1, 2):
        yield words.wide_alpha(criteria.alpha)
    if isinstance(criteria, Parameters):
        yield from budget_warnings(criteria.epsilon)


def budget_warnings(epsilon: Fraction) -> Iterator[str]:
    """Warnings of a budget."""
    if epsilon > MUCH_EPSILON:
        yield words.large_budget(epsilon)


class Constants:
    """Texts that conditions compare columns with, looked up in the synthetic tables."""

    def __init__(self, tables: SyntheticTables, schema: Schema) -> None:
        """Read no table yet."""
        self._tables, self._schema = tables, schema
        self._known: dict[str, Sequence[str] | None] = {}

    def unknown_text_warnings(self, predicate: Predicate | None) -> Iterator[str]:
        """Warnings of texts that a column of the synthetic tables never holds."""
        for column, text in dict.fromkeys(_texts(predicate)):
            known = self._texts_of(column)
            if known is None or text in known:
                continue
            near = difflib.get_close_matches(text, known, n=1, cutoff=0.4)
            folded = next((each for each in known if each.lower() == text.lower()), None)
            nearest = folded or next(iter(near), None) or next(iter(known), None)
            names = ", ".join(table.label for table in self._tables.tables[:3])
            quoted = quote_literal(nearest) if nearest else None
            yield words.unknown_text(column, quote_literal(text), names, quoted)

    def _texts_of(self, column: str) -> Sequence[str] | None:
        """Texts of a column; None for a column of another kind, or with too many texts."""
        if self._schema.get(column) is not Kind.TEXT:
            return None
        if column not in self._known:
            every = Query("SELECT COUNT(*) FROM D").resolve(self._schema)
            keys = self._tables.groups(self._schema, [column], every, _MOST_TEXTS + 1)
            texts = [key[0] for key in keys if key[0] is not None]
            self._known[column] = None if len(keys) > _MOST_TEXTS else texts
        return self._known[column]


def _texts(predicate: Predicate | None) -> Iterator[tuple[str, str]]:
    """Columns and the texts that they are compared with by =, <> or IN."""
    for atom in atoms(predicate) if predicate else ():
        yield from _pairs(atom.sql)


@lru_cache(maxsize=4096)
def _pairs(condition: str) -> tuple[tuple[str, str], ...]:
    """Columns and texts of one condition."""
    if "'" not in condition:
        return ()
    try:
        tree = condition_tree(condition)
    except (ValueError, SqlglotError, RecursionError):
        # Nested too deeply to be read again.
        return ()
    pairs: list[tuple[str, str]] = []
    for node in tree.find_all(exp.EQ, exp.NEQ, exp.In):
        sides = [node.this, node.args.get("expression"), *node.expressions]
        bare = [side.unnest() for side in sides if isinstance(side, exp.Expr)]
        columns = [side.name for side in bare if isinstance(side, exp.Column)]
        texts = [s.this for s in bare if isinstance(s, exp.Literal) and s.is_string]
        if len(columns) == 1:
            pairs.extend((columns[0], text) for text in texts)
    return tuple(pairs)
