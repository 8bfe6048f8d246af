"""Kind of a column, found from its type or its texts; and its values, cast to a public kind."""

from __future__ import annotations

from contextlib import suppress
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pqd.engine.counting.typed_sql import cast_sql
from pqd.engine.reading.buffers import numpy_of, octets, true_in, whole
from pqd.engine.reading.text_format import USUAL, TextFormat
from pqd.engine.reading.values import doubles_of, is_number, plain_values
from pqd.sql.schema import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from pqd.engine.counting.arrow_sql import ArrowSQL

_TIMES = {"DATE", *(f"TIMESTAMP{unit}" for unit in ("", "_S", "_MS", "_NS", " WITH TIME ZONE"))}
_NUMBERS = {
    *(f"{sign}{size}INT" for sign in ("", "U") for size in ("TINY", "SMALL", "BIG", "HUGE")),
    *("INTEGER", "UINTEGER", "DOUBLE", "FLOAT", "DECIMAL", "BIGNUM"),
}
_FIRST = 2048
# A code, such as the ZIP code 06680: a number would lose the zero in front.
_CODE = r"^\s*0[0-9]+\s*$"
_FLOATS = {"float", "double"}
# Arrow's types of texts.
TEXTS = {"string", "large_string"}
# For each kind, whether an Arrow type has values of this kind without a conversion.
_OF_KIND: Mapping[Kind, Callable[[pa.DataType], bool]] = {
    Kind.NUMBER: lambda held: is_number(held) or bool(pt.is_boolean(held)),
    Kind.TEXT: lambda _: False,
    Kind.BOOLEAN: lambda held: bool(pt.is_boolean(held)),
    Kind.TIME: lambda held: bool(pt.is_timestamp(held) or pt.is_date(held)),
}


def kind_of(stored: str) -> Kind:
    """Kind of a DuckDB type."""
    name = stored.partition("(")[0]
    if name == "BOOLEAN":
        return Kind.BOOLEAN
    if name in _TIMES:
        return Kind.TIME
    return Kind.NUMBER if name in _NUMBERS else Kind.TEXT


def text_kinds(
    sql: ArrowSQL, columns: Mapping[str, pa.Array], text_format: TextFormat = USUAL
) -> dict[str, Kind]:
    """Kind of each column of texts in ``text_format``: the first that all values but NULL fit.

    A column with a code such as 06680 (digits after a zero) holds texts, not numbers.

    One statement tests the first values of all columns, which rules out most kinds.  Only the
    remaining kinds are tested on all values.
    """
    kinds = _fitting_kinds(sql, columns, text_format)
    numbers = [name for name, kind in kinds.items() if kind is Kind.NUMBER]
    return kinds | {name: Kind.TEXT for name in numbers if len(codes_of(columns[name]))}


def codes_of(texts: pa.Array) -> pa.Array:
    """Distinct ``texts`` that are codes: two or more digits, the first of which is 0."""
    return texts.filter(pc.match_substring_regex(texts, _CODE))


def _fitting_kinds(
    sql: ArrowSQL, columns: Mapping[str, pa.Array], text_format: TextFormat
) -> dict[str, Kind]:
    """Kind of each column of texts: the first kind that all values but NULL fit."""
    every = {name: values.drop_null() for name, values in columns.items()}
    # Whole numbers fit no earlier kind, so DuckDB need not test them.
    numbers = {
        name
        for name, each in every.items()
        if not text_format.dates and len(each) and _whole_numbers(each) is not None
    }
    kinds = {name: Kind.NUMBER if name in numbers else Kind.TEXT for name in every}
    held = {name: values for name, values in every.items() if name not in numbers}
    firsts = [values[:_FIRST] for values in held.values()]
    if not sum(map(len, firsts)):
        return kinds
    tests = kind_tests(text_format)
    fits = _fits(sql, pa.concat_arrays(firsts), [*tests.values()])
    ends = np.cumsum([len(values) for values in firsts])
    for (name, values), fit in zip(held.items(), np.split(fits, ends[:-1]), strict=True):
        kinds[name] = _kind(sql, values, fit, tests)
    return kinds


def kind_tests(text_format: TextFormat) -> dict[Kind, str]:
    """SQL of whether a text, named value, reads as a kind, by kind, in the order of the tests.

    If forms of days are stated, a text such as 24122020 is a day rather than a number.
    """
    boolean = "lower(value) IN ('true', 'false')"
    number = f"TRY_CAST({text_format.number_sql('value')} AS DOUBLE) IS NOT NULL"
    time = f"{text_format.time_sql('value')} IS NOT NULL"
    if text_format.dates:
        return {Kind.BOOLEAN: boolean, Kind.TIME: time, Kind.NUMBER: number}
    return {Kind.BOOLEAN: boolean, Kind.NUMBER: number, Kind.TIME: time}


def _kind(
    sql: ArrowSQL, values: pa.Array, first: NDArray[np.bool_], tests: Mapping[Kind, str]
) -> Kind:
    """Kind of ``values``; ``first`` (values, kinds) says which kinds the first values fit."""
    if not len(values):
        return Kind.TEXT
    kinds = list(compress(tests, np.all(first, axis=0)))
    rest = np.all(_fits(sql, values[_FIRST:], [tests[kind] for kind in kinds]), axis=0)
    return next(compress(kinds, rest), Kind.TEXT)


def _fits(sql: ArrowSQL, values: pa.Array, tests: Sequence[str]) -> NDArray[np.bool_]:
    """Whether each value passes each of ``tests`` (values, tests)."""
    if not len(values) or not tests:
        return np.ones((len(values), len(tests)), np.bool_)
    parts = sql.evaluated(pa.table({"value": values}), tests)
    return np.concatenate([np.column_stack([numpy_of(fit) for fit in part]) for part in parts])


def typed_values(
    sql: ArrowSQL, values: pa.Array, kind: Kind, text_format: TextFormat | None = None
) -> pa.Array:
    """Values cast to a public ``kind``; a value that does not convert is NULL.

    Texts of a table that has a ``text_format`` are read in this format, each by itself.
    Values of another type are cast from their texts, as in a column of mixed types, since the type
    of a column may depend on the cells of other rows.
    """
    numbers = plain_numbers(values) if kind is Kind.NUMBER else None
    if numbers is not None:
        return numbers
    if pt.is_timestamp(values.type) or not _fits_as_it_is(values.type, kind):
        values = plain_values(values)
    if not _fits_as_it_is(values.type, kind):
        values = sql.of_values(values, "CAST(value AS VARCHAR)").combine_chunks()
    if kind is Kind.TEXT:
        return values
    cast = cast_sql("value", kind, text_format or USUAL)
    return sql.of_values(values, cast).combine_chunks()


def _fits_as_it_is(held: pa.DataType, kind: Kind) -> bool:
    """Whether values of a type are texts, or are of ``kind`` already."""
    return str(held) in TEXTS or _OF_KIND[kind](held)


def plain_numbers(values: pa.Array) -> pa.DoubleArray | None:
    """Doubles to which DuckDB casts ``values``, null for null; None if DuckDB must do the cast.

    A statement of DuckDB takes longer than all other work on the values.
    """
    if pa.types.is_large_string(values.type):
        return _whole_numbers(values)
    if pt.is_decimal(values.type):
        return doubles_of(values)
    if not pa.types.is_integer(values.type) and str(values.type) not in _FLOATS:
        return None
    # The error is for a number that no double equals, and quotes the number.
    with suppress(pa.ArrowInvalid):
        numbers = values.cast(pa.float64())
        if not true_in(pc.is_nan(numbers)).any():
            return numbers
    return None


def _whole_numbers(texts: pa.LargeStringArray) -> pa.DoubleArray | None:
    """Whole numbers in ``texts``, as doubles; None if a text holds none, or no double equals it.

    The first texts are tested first, since they decide most columns.
    """
    for some in (texts[:_FIRST], texts):
        signs = octets(some.drop_null())
        if signs.size and (signs.min() < ord("-") or signs.max() > ord("9")):
            return None
    numbers = None
    # The error is dropped, since it quotes a cell.
    with suppress(pa.ArrowInvalid):
        numbers = texts.cast(pa.int64())
    if numbers is None:
        return None
    zeros = texts.filter(pc.equal(numbers, whole(0)))
    # DuckDB reads "-0" as -0, Arrow as 0.
    if true_in(pc.starts_with(zeros, "-")).any():
        return None
    with suppress(pa.ArrowInvalid):
        return numbers.cast(pa.float64())
    return None
