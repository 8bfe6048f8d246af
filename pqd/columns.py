"""What a caller states of an attribute (a column or an expression), found by its SQL."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from deciders import Lattice, ParameterError
from deciders.exact import exact, positive
from pqd.errors import QueryError
from pqd.sql.parser import statements
from pqd.sql.schema import Kind, Schema, fold_case
from reports.text.numbers import number_text

if TYPE_CHECKING:
    from pqd.sql.query import Query
    from pqd.sql.schema import Schema


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
    return fold_case(node.sql(dialect="duckdb"))


def check_stated(facts: Facts, schema: Schema, queries: Sequence[Query]) -> None:
    """Refuse facts about what is neither a column nor aggregated: a typo would go unseen."""
    known = {fold_case(name) for name in schema}
    aggregated = {_canonical(query.attribute) for query in queries if query.attribute}
    for name in facts:
        if fold_case(name) not in known and not _spellings(name) & aggregated:
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
    found = next((column for column in schema if fold_case(column) == fold_case(name)), None)
    if found is None:
        raise QueryError(str(no_column(name, schema, "GROUP BY")), query.sql)
    return found


def no_column(name: str, columns: Iterable[str], use: str) -> ParameterError:
    """Return the refusal of a column that is not there, with the nearest that are."""
    near = difflib.get_close_matches(name, list(columns), n=3, cutoff=0.5)
    hint = f"; the nearest are {', '.join(near)}" if near else ""
    return ParameterError(f'{use}: there is no column "{name}"{hint}')


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """Public facts of one column or expression; what is None is taken from the synthetic table."""

    bounds: tuple[Fraction, Fraction] | None = None
    step: Fraction | None = None
    kind: Kind | None = None


Facts = Mapping[str, ColumnFacts]


def parse_columns(columns: Mapping[str, Mapping[str, Any]] | None) -> Facts:
    """Read ``{"capital-gain": {"bounds": (0, 99_999), "step": 1, "type": "number"}}``.

    Raises
    ------
    ParameterError
        For an unknown key, kind, or bounds that are not two ascending numbers.
    """
    if columns is not None and not isinstance(columns, Mapping):
        raise ParameterError('columns must be a mapping such as {"age": {"bounds": (0, 120)}}')
    return {str(name): _facts(str(name), given) for name, given in (columns or {}).items()}


def _facts(name: str, given: Mapping[str, Any]) -> ColumnFacts:
    known = ("bounds", "step", "type")
    if not isinstance(given, Mapping):
        raise ParameterError(f'columns["{name}"] must be a mapping such as {{"bounds": (0, 100)}}')
    for key in given:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1)
            hint = f"; did you mean {near[0]}?" if near else f"; use {', '.join(known)}"
            raise ParameterError(f'columns["{name}"] has the unknown key {key!r}{hint}')
    bounds, kind = given.get("bounds"), given.get("type")
    if bounds is not None and not (isinstance(bounds, (tuple, list)) and len(bounds) == 2):
        raise ParameterError(f'columns["{name}"]: bounds are two numbers, such as (0, 100)')
    if kind is not None and kind not in list(Kind):
        raise ParameterError(f'columns["{name}"]: type is {kind!r}; use {", ".join(Kind)}')
    facts = ColumnFacts(
        (exact(bounds[0], "lower bound"), exact(bounds[1], "upper bound")) if bounds else None,
        positive(given["step"], "step") if given.get("step") is not None else None,
        Kind(kind) if kind else None,
    )
    if facts.bounds:
        Lattice(*facts.bounds, facts.step or _finest(facts.bounds))
    return facts


def parse_bounds(text: str) -> tuple[str, dict[str, Any]]:
    """Read ``capital-gain=0:99999`` or ``price=0:10:0.01`` (lower:upper[:step])."""
    name, found, numbers = text.rpartition("=")
    parts = numbers.split(":")
    if not found or not name.strip() or len(parts) not in {2, 3}:
        raise ParameterError(
            f'bounds {text!r} are not understood; write "column=lower:upper" or '
            '"column=lower:upper:step", such as "capital-gain=0:99999"'
        )
    facts: dict[str, Any] = {"bounds": (parts[0], parts[1])}
    if len(parts) == 3:
        facts["step"] = parts[2]
    return name.strip().strip('"'), facts


def parse_type(text: str) -> tuple[str, dict[str, Any]]:
    """Read ``zip=text``."""
    name, found, kind = text.rpartition("=")
    if not found or not name.strip():
        raise ParameterError(f'type {text!r} is not understood; write "column=text"')
    return name.strip().strip('"'), {"type": kind.strip()}


def kinds(facts: Facts, columns: tuple[str, ...]) -> Schema:
    """Return the kinds that the user states, by the columns' own names."""
    stated = {fold_case(name): fact.kind for name, fact in facts.items() if fact.kind}
    return {name: stated[fold_case(name)] for name in columns if fold_case(name) in stated}


def bounded_lattice(facts: ColumnFacts | None, synthetic: Lattice | None) -> Lattice | None:
    """Return the lattice of stated facts, the rest taken from the synthetic table's."""
    if facts is None or (facts.bounds is None and facts.step is None):
        return synthetic
    if facts.bounds is None:
        if synthetic is None:
            return None
        step = exact(facts.step or 1)
        low, high = synthetic.lower // step * step, -(-synthetic.upper // step) * step
        return Lattice(low, high, step)
    return Lattice(*facts.bounds, facts.step or _fitting(facts.bounds, synthetic))


def _fitting(bounds: tuple[Fraction, Fraction], synthetic: Lattice | None) -> Fraction:
    """Return a step that fits stated bounds: the synthetic table's if it does."""
    low, high = bounds
    if synthetic is not None and (high - low) % synthetic.step == 0:
        return synthetic.step
    return _finest(bounds)


def _finest(bounds: tuple[Fraction, Fraction]) -> Fraction:
    """Return 1, or the finest decimal place that the bounds are written to."""
    step = Fraction(1)
    while (bounds[1] - bounds[0]) % step and step > Fraction(1, 10**12):
        step /= 10
    return step
