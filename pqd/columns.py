"""What a caller states of an attribute (a column or an expression), found by its SQL."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from sqlglot import exp

from deciders import Lattice, ParameterError
from pqd.errors import QueryError
from pqd.sql.expressions import folded
from pqd.sql.parser import statements
from reports.text.numbers import number_text

if TYPE_CHECKING:
    from pqd.parameters import ColumnFacts, Facts
    from pqd.sql.expressions import Schema
    from pqd.sql.query import Query


def stated_of(facts: Facts, attribute: str) -> ColumnFacts | None:
    """Return what the user states of an attribute, found by its canonical SQL."""
    wanted = _canonical(attribute)
    return next((fact for name, fact in facts.items() if wanted in _spellings(name)), None)


def _spellings(name: str) -> set[str]:
    """Return the canonical SQL of a stated name: as a column and as an expression."""
    column = exp.to_identifier(name, quoted=True).sql(dialect="duckdb")
    return {_canonical(column), _canonical(name)}


@lru_cache(maxsize=1024)
def _canonical(sql: str) -> str:
    try:
        found = statements(sql)
    except QueryError:
        return sql
    if len(found) != 1:
        return sql
    (node,) = found
    for identifier in node.find_all(exp.Identifier):
        identifier.set("quoted", True)  # noqa: FBT003 - sqlglot takes the value by place
    return folded(node.sql(dialect="duckdb"))


def check_stated(facts: Facts, schema: Schema, queries: Sequence[Query]) -> None:
    """Refuse facts about what is neither a column nor aggregated: a typo would go unseen."""
    known = {folded(name) for name in schema}
    aggregated = {_canonical(query.attribute) for query in queries if query.attribute}
    for name in facts:
        if folded(name) not in known and not _spellings(name) & aggregated:
            raise no_column(name, schema, "bounds or type")


def span(lattice: Lattice) -> str:
    """Return a lattice in words, such as ``0..99,999 step 1``."""
    low, high, step = (number_text(x) for x in (lattice.lower, lattice.upper, lattice.step))
    return f"{low}..{high} step {step}"


def rows_of(total: Lattice) -> Lattice:
    """Return the lattice of the rows that a person's total on ``total`` is added up from.

    Rows are whole steps.  They may be as large as the largest total; below 0 only if it may.
    """
    most = -(-max(abs(total.lower), abs(total.upper)) // total.step) * total.step
    return Lattice(Fraction(0) if total.lower >= 0 else -most, most, total.step)


def known(schema: Schema, name: str, query: Query) -> str:
    """Return the schema's name of a column that ``query`` groups by."""
    found = next((column for column in schema if folded(column) == folded(name)), None)
    if found is None:
        raise QueryError(str(no_column(name, schema, "GROUP BY")), query.sql)
    return found


def no_column(name: str, columns: Iterable[str], use: str) -> ParameterError:
    """Return the refusal of a column that is not there, with the nearest that are."""
    near = difflib.get_close_matches(name, list(columns), n=3, cutoff=0.5)
    hint = f"; the nearest are {', '.join(near)}" if near else ""
    return ParameterError(f'{use}: there is no column "{name}"{hint}')
