"""Column facts: public facts that a caller states about columns and expressions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeAlias

from sqlglot import exp

from pqd.deciders import Lattice, ParameterError
from pqd.deciders.exact import exact, positive
from pqd.deciders.names import names_and_more, near_hint, nearest_names, suggestion
from pqd.deciders.note import Note
from pqd.deciders.numbers import number_text
from pqd.errors import QueryError, for_all
from pqd.sql.query import Query
from pqd.sql.schema import Kind, Schema, differs_by_blanks, fold_case, unquoted
from pqd.sql.select import statements
from pqd.stated.text_formats import FileFormat

# Bounds that a caller takes from the synthetic table.
COPY_BOUNDS = "copy"
# A bound of two that is not stated.
OPEN = ""
# Lower and upper bound; one of them may be None.
Bounds: TypeAlias = tuple[Fraction | None, Fraction | None]
# The most cells that can be stated for one column.
MOST_STATED = 1000


def facts_of_attribute(facts: Facts, attribute: str) -> ColumnFacts | None:
    """Stated facts of an attribute, looked up by its canonical SQL; None without facts."""
    sql = _canonical(attribute)
    return next((fact for name, fact in facts.items() if sql in _spellings(name)), None)


def _spellings(name: str) -> set[str]:
    """Canonical SQL of a stated name, read both as a column and as an expression."""
    column = exp.to_identifier(name, quoted=True).sql(dialect="duckdb")
    return {_canonical(column), _canonical(name)}


@lru_cache(maxsize=1024)
def _canonical(sql: str) -> str:
    try:
        parsed = statements(sql)
    except QueryError:
        return sql
    if len(parsed) != 1:
        return sql
    (node,) = parsed
    for identifier in node.find_all(exp.Identifier):
        identifier.set("quoted", True)  # noqa: FBT003 - sqlglot takes the value by place
    return fold_case(node.sql(dialect="duckdb"))


def check_facts(facts: Facts, schema: Schema, queries: Sequence[Query]) -> None:
    """Refuse facts of a name that is neither a column nor an aggregated expression (a typo).

    A column that is stated as not judged may be missing.
    """
    known = {fold_case(name) for name in schema}
    aggregated = {_canonical(query.attribute) for query in queries if query.attribute}

    def check(name: str) -> None:
        if fold_case(name) not in known and not _spellings(name) & aggregated:
            raise unknown_column(name, schema, facts[name].source or "bounds or type")

    for_all(check, [name for name, fact in facts.items() if fact.judge is not False])


def span(lattice: Lattice) -> str:
    """Bounds and step of a lattice as text, such as ``0..99,999 step 1``."""
    low, high, step = (number_text(x) for x in (lattice.lower, lattice.upper, lattice.step))
    return f"{low}..{high} step {step}"


def row_lattice(total: Lattice) -> Lattice:
    """Lattice of the values of single rows, whose sum is a person's total on ``total``.

    A value is a whole number of steps, and at most the largest total.  It may be negative only if a
    total may be negative.
    """
    most = -(-max(abs(total.lower), abs(total.upper)) // total.step) * total.step
    return Lattice(Fraction(0) if total.lower >= 0 else -most, most, total.step)


def column_name(schema: Schema, name: str, query: Query) -> str:
    """Name of a GROUP BY column as the schema spells it; QueryError for an unknown column."""
    column = next((column for column in schema if fold_case(column) == fold_case(name)), None)
    if column is None:
        raise QueryError(str(unknown_column(name, schema, "GROUP BY")), query.sql)
    return column


# The most columns that a message names.
_MOST_COLUMNS = 8


def unknown_column(name: str, columns: Iterable[str], use: str) -> ParameterError:
    """Error for a column that does not exist; the message gives the nearest names, or the first."""
    names = list(columns)
    several = [each.strip() for each in name.split(";")]
    if other := differs_by_blanks(name, names):
        hint = f', but "{other}": the names differ only by blanks'
    elif len(several) > 1 and set(map(fold_case, several)) <= set(map(fold_case, names)):
        hint = f"; separate names by commas: {','.join(several)}"
    elif near := nearest_names(name, names):
        hint = near_hint([f'"{each}"' for each in near])
    else:
        hint = f"; there are {names_and_more(names, _MOST_COLUMNS)}" if names else ""
    return ParameterError(f'{use}: there is no column "{name}"{hint}')


@dataclass(frozen=True, slots=True)
class StatedCells:
    """Cells of a column that the caller states; exactly one of the three fields is set.

    ``number`` is the number of bins between quantiles, of texts in their order.  ``edges`` are the
    ascending edges of bins, as text.  ``values`` are the values that have a cell, as text.
    """

    number: int | None = None
    edges: tuple[str, ...] = ()
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """Public facts of one column or expression; the synthetic table gives a fact that is None.

    One of the two ``bounds`` may be None, too.  ``takes_copy``: the caller takes the bounds of the
    synthetic table, so a verdict within them counts.  ``judge`` is True for a column that is judged
    even if it looks like an identifier, and False for a column that is never judged.  ``source`` is
    the place in a file of metadata that states the facts; empty if the caller states them.
    """

    bounds: Bounds | None = None
    step: Fraction | None = None
    kind: Kind | None = None
    cells: StatedCells | None = None
    takes_copy: bool = False
    judge: bool | None = None
    source: str = field(default="", compare=False)

    @property
    def stated(self) -> tuple[bool, bool]:
        """Whether the lower and the upper bound are stated."""
        low, high = self.bounds or (None, None)
        return low is not None, high is not None


Facts = Mapping[str, ColumnFacts]
# Facts by column as a caller writes them, or read.
StatedColumns: TypeAlias = Mapping[str, Mapping[str, Any] | ColumnFacts]


class FileFacts(dict[str, ColumnFacts]):
    """Facts of which some come from a file of metadata.

    ``notes`` say where they come from.  ``persons`` are columns whose values may be persons.
    ``cells_of_file`` are the names, in small letters, of columns whose cells the file gives.
    ``text_format`` is the format of cells that the file states.
    """

    def __init__(
        self,
        stated: Facts,
        of_file: Facts,
        notes: Iterable[Note] = (),
        persons: Iterable[str] = (),
        text_format: FileFormat | None = None,
    ) -> None:
        """Join the facts; a stated fact goes before the file's fact of the same sort.

        Raises
        ------
        ParameterError
            If a stated step does not fit the bounds of the file.
        """
        self.notes, self.persons = tuple(notes), tuple(persons)
        self.text_format = text_format or FileFormat()
        self.cells_of_file: set[str] = set()
        super().__init__(stated)
        names = {fold_case(name): name for name in stated}
        for name, fact in of_file.items():
            own = names.get(fold_case(name))
            self[own or name] = joined = _joined(stated[own], fact) if own else fact
            if joined.cells is not None and joined.cells is fact.cells:
                self.cells_of_file.add(fold_case(name))


def _joined(stated: ColumnFacts, of_file: ColumnFacts) -> ColumnFacts:
    """Stated facts of a column, and facts of a file where nothing is stated."""
    if stated.kind not in {None, of_file.kind}:
        # Bounds and cells of the file are those of another kind.
        of_file = ColumnFacts(judge=of_file.judge)
    own_bounds = stated.bounds is not None or stated.takes_copy
    joined = replace(
        stated,
        bounds=stated.bounds if own_bounds else of_file.bounds,
        kind=stated.kind or of_file.kind,
        cells=stated.cells or of_file.cells,
        judge=of_file.judge if stated.judge is None else stated.judge,
    )
    check_lattice(joined)
    return joined


def cells_of_facts(facts: Facts) -> dict[str, StatedCells]:
    """Cells by column, of the columns whose cells are stated."""
    return {name: each.cells for name, each in facts.items() if each.cells is not None}


def fact_notes(facts: Facts) -> tuple[Note, ...]:
    """Notes on the file that some of the facts come from."""
    return facts.notes if isinstance(facts, FileFacts) else ()


def format_of_file(facts: Facts) -> FileFormat:
    """Format of cells in the file that some of the facts come from; the usual one without a file.

    A run reads both tables in it, as ``text_formats`` joins it with a stated format.
    """
    return facts.text_format if isinstance(facts, FileFacts) else FileFormat()


def parse_columns(columns: StatedColumns | None) -> Facts:
    """Facts by column: ``{"capital-gain": {"bounds": (0, 99_999), "step": 1, "type": "number"}}``.

    Facts that were read before are returned as they are.

    Raises
    ------
    ParameterError
        If a key or a kind is unknown, or bounds are not two ascending numbers.
    """
    if isinstance(columns, FileFacts):
        return columns
    if columns is not None and not isinstance(columns, Mapping):
        raise ParameterError('columns must be a mapping such as {"age": {"bounds": (0, 120)}}')
    stated = {str(name): each for name, each in (columns or {}).items()}
    return dict(zip(stated, for_all(lambda name: _facts(name, stated[name]), stated), strict=True))


def _facts(name: str, stated: Mapping[str, Any] | ColumnFacts) -> ColumnFacts:
    if isinstance(stated, ColumnFacts):
        return stated
    known = ("bounds", "step", "type", "cells", "judge")
    if not isinstance(stated, Mapping):
        raise ParameterError(f'columns["{name}"] must be a mapping such as {{"bounds": (0, 100)}}')
    for key in stated:
        if key not in known:
            hint = suggestion(str(key), known)
            raise ParameterError(f'columns["{name}"] has the unknown key {key!r}; {hint}')
    bounds, kind = stated.get("bounds"), stated.get("type")
    takes_copy = bounds == COPY_BOUNDS
    judge = stated.get("judge")
    if judge is not None and not isinstance(judge, bool):
        raise ParameterError(f'columns["{name}"]: judge is {judge!r}; use true or false')
    if kind is not None and kind not in list(Kind):
        raise ParameterError(f'columns["{name}"]: type is {kind!r}; use {", ".join(Kind)}')
    facts = ColumnFacts(
        None if bounds is None or takes_copy else _read_bounds(bounds, name),
        positive(stated["step"], "step") if stated.get("step") is not None else None,
        Kind(kind) if kind else None,
        None if stated.get("cells") is None else read_cells(stated["cells"], name),
        takes_copy,
        judge,
    )
    check_lattice(facts)
    return facts


def _read_bounds(bounds: object, name: str) -> Bounds:
    """Bounds of ``(0, 100)``, or of ``(0, None)`` with one open end."""
    if isinstance(bounds, (tuple, list)) and len(bounds) == 2:
        ends = ("lower bound", "upper bound")
        low, high = (
            None if bound is None or bound == OPEN else exact(bound, what)
            for bound, what in zip(bounds, ends, strict=True)
        )
        if low is not None or high is not None:
            return low, high
    raise ParameterError(
        f'columns["{name}"]: bounds are two numbers, such as (0, 100), one of them open, such as '
        '(0, None), or "copy"'
    )


def read_cells(stated: object, column: str) -> StatedCells:
    """Cells of a value such as ``20``, ``[0, 18, 65, 120]`` or ``["cook", "smith"]``.

    Raises
    ------
    ParameterError
        For any other value, and for a number or a list that cannot define cells.
    """
    what = f"cells of {column}"
    if isinstance(stated, StatedCells):
        return stated
    if isinstance(stated, (list, tuple)):
        return _listed_cells(what, list(stated))
    number = exact(stated, what) if isinstance(stated, (int, float, Fraction, Decimal)) else None
    if number is None or number.denominator != 1 or not 1 <= number <= MOST_STATED:
        raise ParameterError(
            f"{what} are {stated}; state a whole number from 1 to {MOST_STATED:,}, edges such as "
            '[0, 18, 65, 120], or values such as ["cook", "smith"]'
        )
    return StatedCells(number=int(number))


def _listed_cells(what: str, items: list[Any]) -> StatedCells:
    """Cells of a list: edges for numbers or dates, values for texts."""
    if len(items) > MOST_STATED:
        raise ParameterError(f"{what} are {len(items):,}; state at most {MOST_STATED:,}")
    if items and all(isinstance(item, str) for item in items):
        if not all(items) or len(set(items)) < len(items):
            raise ParameterError(f"{what} hold an empty value, or one twice; write each once")
        return StatedCells(values=tuple(items))
    for item in items:
        if isinstance(item, bool) or not isinstance(item, (int, float, Fraction, Decimal, date)):
            raise ParameterError(
                f"{what} hold {item!r}; write numbers only (edges), or texts only (values)"
            )
    dates = [item for item in items if isinstance(item, date)]
    ends = [exact(item, what) for item in items if not isinstance(item, date)]
    ascending = all(low < high for low, high in pairwise(ends))
    if len(items) < 2 or not ascending or (dates and ends):
        raise ParameterError(
            f"{what} are the edges {', '.join(map(str, items)) or 'of an empty list'}; state two "
            "or more, ascending, all of them numbers or all of them dates"
        )
    return StatedCells(edges=tuple(map(str, items)))


def parse_bounds(text: str) -> tuple[str, dict[str, Any]]:
    """Name and bounds of ``price=0:10:0.01`` (lower:upper[:step]), or ``pay=0:`` (an open end).

    ``pay=0..`` is the same as ``pay=0:``.
    """
    name, equals, numbers = text.rpartition("=")
    if equals and name.strip() and numbers.strip() == COPY_BOUNDS:
        return unquoted(name.strip()), {"bounds": COPY_BOUNDS}
    parts = numbers.replace("..", ":").split(":")
    is_open = len(parts) > 1 and not (parts[0].strip() or parts[1].strip())
    if not equals or not name.strip() or len(parts) not in {2, 3} or is_open:
        raise ParameterError(
            f'bounds {text!r} are not understood; write "column=lower:upper", '
            '"column=lower:upper:step", such as "capital-gain=0:99999", with one open end, such '
            'as "capital-gain=0:", or "column=copy"'
        )
    facts: dict[str, Any] = {"bounds": tuple(part if part.strip() else OPEN for part in parts[:2])}
    if len(parts) == 3:
        facts["step"] = parts[2]
    return unquoted(name.strip()), facts


def parse_type(text: str) -> tuple[str, dict[str, Any]]:
    """Name and type of a text such as ``zip=text``."""
    name, equals, kind = text.rpartition("=")
    if not equals or not name.strip():
        raise ParameterError(f'type {text!r} is not understood; write "column=text"')
    return unquoted(name.strip()), {"type": kind.strip()}


def stated_kinds(facts: Facts, columns: tuple[str, ...]) -> Schema:
    """Kinds that the caller states, by the names of the columns in the table."""
    stated = {fold_case(name): fact.kind for name, fact in facts.items() if fact.kind}
    return {name: stated[fold_case(name)] for name in columns if fold_case(name) in stated}


def bounded_lattice(facts: ColumnFacts | None, synthetic: Lattice | None) -> Lattice | None:
    """Lattice of stated facts; bounds or a step not stated come from the synthetic table's lattice.

    None if neither has bounds.
    """
    if facts is None or (facts.bounds is None and facts.step is None):
        return synthetic
    if all(facts.stated):
        return _lattice_of(facts, synthetic)
    if synthetic is None:
        return None
    low, high = facts.bounds or (None, None)
    if low is None and high is None:
        step = exact(facts.step or 1)
        low, high = synthetic.lower // step * step, -(-synthetic.upper // step) * step
        return Lattice(low, high, step)
    # The open end is whole steps away from the stated one, and holds all values of the copy.
    step = facts.step or _common_step(synthetic.step, synthetic.lower - (low or high or 0))
    if low is not None:
        return Lattice(low, low + max(0, -(-(synthetic.upper - low) // step)) * step, step)
    high = high or Fraction(0)
    return Lattice(high - max(0, -(-(high - synthetic.lower) // step)) * step, high, step)


def check_lattice(facts: ColumnFacts) -> None:
    """Raise ParameterError if two stated bounds, and the step, make no lattice."""
    if all(facts.stated):
        _lattice_of(facts, None)


def _lattice_of(facts: ColumnFacts, synthetic: Lattice | None) -> Lattice:
    """Lattice of facts that state both bounds."""
    low, high = facts.bounds or (None, None)
    if low is None or high is None:
        raise ValueError("both bounds are stated")
    return Lattice(low, high, facts.step or _fitting_step((low, high), synthetic))


def _common_step(step: Fraction, offset: Fraction) -> Fraction:
    """Largest step of which ``step`` and ``offset`` are whole multiples."""
    common = math.lcm(step.denominator, offset.denominator)
    return Fraction(math.gcd(int(step * common), int(offset * common)), common)


def _fitting_step(bounds: tuple[Fraction, Fraction], synthetic: Lattice | None) -> Fraction:
    """Step for stated bounds: the synthetic table's step if it fits, else the largest that fits."""
    low, high = bounds
    if synthetic is not None and (high - low) % synthetic.step == 0:
        return synthetic.step
    return _finest_step(bounds)


def _finest_step(bounds: tuple[Fraction, Fraction]) -> Fraction:
    """Largest step among 1, 0.1, 0.01 and so on that fits the bounds."""
    step = Fraction(1)
    while (bounds[1] - bounds[0]) % step and step > Fraction(1, 10**12):
        step /= 10
    return step
