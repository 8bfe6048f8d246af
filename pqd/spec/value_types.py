"""Types of values in a spec file: how each is read, and its JSON Schema."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from typing import Any

from pqd.deciders import ParameterError
from pqd.deciders.exact import budget_of, exact, positive, probability
from pqd.spec.problems import Code, SpecValueError, printable
from pqd.sql.tolerance import Tolerance
from pqd.stated.budgets import MOST_EPSILON, stated_budget
from pqd.stated.column_facts import MOST_STATED, read_cells

_SIZE = r"(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?|[0-9]+/0*[1-9][0-9]*)"
_ANY_SIZE = rf"^\s*[+-]?{_SIZE}\s*$"
_ABOVE_ZERO = rf"^\s*\+?(?=[0-9.]*[1-9]){_SIZE}\s*$"
_SHARE = rf"^\s*\+?(?=[0-9.]*[1-9]){_SIZE}\s*%?\s*$"
# Limit beyond every double; longer whole numbers are slow to print.
_MOST_BITS = 1100


@dataclass(frozen=True, slots=True)
class ValueType:
    """Type of a value.

    ``read`` takes the value as TOML gives it, and the key's name.  It returns the value as ``Spec``
    holds it, or raises ParameterError: ``SpecValueError`` for rules that the library does not
    check.  ``schema`` states the same rules in JSON Schema.
    """

    schema: dict[str, Any]
    read: Callable[[Any, str], Any]


def quoted(text: str) -> str:
    """Name or text of the file as a message may show it: on one line, in quotes."""
    short = text if len(text) <= 60 else text[:57] + "..."
    return f'"{printable(short)}"'


def closest_name(name: str, known: Iterable[str]) -> str | None:
    """Name among the ``known`` names that was probably meant; None if none is near."""
    lowered = {other.lower(): other for other in known}
    near = get_close_matches(name.lower(), lowered, n=1)
    return lowered[near[0]] if near else None


def suggestion(name: str, known: Collection[str]) -> str:
    """Hint for a name that is not among the ``known`` names."""
    near = closest_name(name, known)
    return f"did you mean {near}?" if near else f"use {', '.join(known)}"


def value_text(value: object) -> str:
    """Value of the file in words."""
    if isinstance(value, str):
        return f"the text {quoted(value)}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"the number {value}" if value.bit_length() < _MOST_BITS else "a huge number"
    if isinstance(value, Decimal):
        return f"the number {value}"
    if isinstance(value, list):
        return "a list"
    return "a table" if isinstance(value, dict) else "a date or time"


def _check_type(value: object, name: str, wanted: str, *types: type) -> None:
    """Refuse a value of another type; true and false are not numbers."""
    if type(value) not in types:
        raise SpecValueError(Code.WRONG_TYPE, f"{name} is {value_text(value)}; {wanted} is needed")
    if type(value) is int and value.bit_length() >= _MOST_BITS:
        message = f"{name} is beyond 1.79e308; no such number is of use here"
        raise SpecValueError(Code.INVALID_VALUE, message)


def _number(
    parse: Callable[[Any, str], Any], wanted: str, number: dict[str, Any], text: str
) -> ValueType:
    """Type of a number, or of a text that holds a number such as ``"1/3"``."""

    def read(value: Any, name: str) -> Any:  # noqa: ANN401 - whatever stands in the file
        _check_type(value, name, wanted, int, Decimal, str)
        return parse(value, name)

    both = [{"type": "number", **number}, {"type": "string", "pattern": text}]
    return ValueType({"anyOf": both}, read)


def _tolerance(value: Any, _: str) -> Any:  # noqa: ANN401 - kept as it was written
    Tolerance.parse(value)
    return value


def _share(value: Any, name: str) -> Fraction:  # noqa: ANN401 - whatever stands in the file
    number = exact(value, name)
    if not 0 <= number < 1:
        message = f"{name} is {value}; it must be at least 0 and less than 1"
        raise SpecValueError(Code.INVALID_VALUE, message)
    return number


def _quality(value: Any, name: str) -> Any:  # noqa: ANN401 - kept as it was written
    try:
        least = Tolerance.parse(value).amount
    except ParameterError:
        least = Fraction(1)
    if least >= 1:
        message = f'{name} is {value}; it must be more than 0 and less than 1, such as "90%"'
        raise SpecValueError(Code.INVALID_VALUE, message)
    return value


def _step(value: Any, name: str) -> Any:  # noqa: ANN401 - kept as it was written
    positive(value, name)
    return value


TAU = _number(
    _tolerance,
    'an amount such as 10, or a share such as "5%",',
    {"exclusiveMinimum": 0},
    _SHARE,
)
BUDGET = _number(
    budget_of,
    "a number such as 0.25",
    {"minimum": 1e-12, "maximum": 1e12},
    _ABOVE_ZERO,
)
PRICE = _number(
    stated_budget,
    "a number such as 0.25",
    {"minimum": 1e-12, "maximum": int(MOST_EPSILON)},
    _ABOVE_ZERO,
)
ALPHA = _number(
    probability,
    "a number such as 0.05",
    {"exclusiveMinimum": 0, "exclusiveMaximum": 1},
    _ABOVE_ZERO,
)
DELTA = _number(_share, "a number such as 1e-6", {"minimum": 0, "exclusiveMaximum": 1}, _ANY_SIZE)
AT_LEAST = _number(
    _quality,
    'a share such as "90%"',
    {"exclusiveMinimum": 0, "exclusiveMaximum": 1},
    _SHARE,
)
STEP = _number(_step, "a number such as 1", {"exclusiveMinimum": 0}, _ABOVE_ZERO)


def _text(wanted: str, pattern: str = r"\S") -> ValueType:
    def read(value: Any, name: str) -> str:  # noqa: ANN401 - whatever stands in the file
        _check_type(value, name, wanted, str)
        if not value.strip():
            raise SpecValueError(Code.EMPTY_VALUE, f"{name} is empty; {wanted} is needed")
        return str(value)

    return ValueType({"type": "string", "pattern": pattern}, read)


def _read_id(value: Any, name: str) -> str:  # noqa: ANN401 - whatever stands in the file
    wanted = 'a text such as "employed-women"'
    _check_type(value, name, wanted, str)
    if not value or value != value.strip() or not value.isprintable():
        raise SpecValueError(
            Code.INVALID_VALUE if value else Code.EMPTY_VALUE,
            f"{name} is {quoted(value)}; it must be a printable text without spaces at its ends",
        )
    return str(value)


def _read_rows(value: Any, name: str) -> int:  # noqa: ANN401 - whatever stands in the file
    _check_type(value, name, "a whole number of 1 or more", int)
    if value < 1:
        raise SpecValueError(Code.INVALID_VALUE, f"{name} is {value}; it must be 1 or more")
    return int(value)


def _read_ways(value: Any, name: str) -> int:  # noqa: ANN401 - whatever stands in the file
    wanted = "1 (columns), 2 (and pairs) or 3 (and triples)"
    _check_type(value, name, wanted, int)
    if not 1 <= value <= 3:
        raise SpecValueError(Code.INVALID_VALUE, f"{name} is {value}; it must be {wanted}")
    return int(value)


TEXT = _text("a text in quotes")
SQL = _text('a query such as "SELECT COUNT(*) FROM D"')
BINS = _text('a text such as "age=0:100:10"')
ID = ValueType({"type": "string", "pattern": r"^\S(.*\S)?$"}, _read_id)
ROWS = ValueType({"type": "integer", "minimum": 1}, _read_rows)
WAYS = ValueType({"type": "integer", "minimum": 1, "maximum": 3}, _read_ways)


def one_of(*words: str) -> ValueType:
    """Type of a text that is one of ``words``."""
    allowed = ", ".join(words)

    def read(value: Any, name: str) -> str:  # noqa: ANN401 - whatever stands in the file
        _check_type(value, name, f"one of the texts {allowed}", str)
        if value not in words:
            message = f"{name} is {quoted(value)}; {suggestion(value, words)}"
            raise SpecValueError(Code.UNKNOWN_NAME, message)
        return str(value)

    return ValueType({"enum": list(words)}, read)


def _names(example: str) -> ValueType:
    """Type of a list of different names."""

    def read(value: Any, name: str) -> tuple[str, ...]:  # noqa: ANN401 - whatever stands in the file
        _check_type(value, name, f"a list of names such as {example}", list)
        for item in value:
            _check_type(item, f"an item of {name}", "a text", str)
        _check_distinct(value, name)
        return tuple(value)

    items = {"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": True}
    return ValueType(items, read)


def _check_distinct(items: list[Any], name: str) -> None:
    """Refuse a list that is empty, or that holds an item twice; true differs from 1."""
    if not items:
        message = f"{name} is an empty list; name at least one, or leave the key out"
        raise SpecValueError(Code.EMPTY_VALUE, message)
    seen = set()
    for item in items:
        mark = repr(_identity(item))
        if mark in seen:
            message = f"{name} holds {value_text(item)} twice; write it once"
            raise SpecValueError(Code.DUPLICATE, message)
        seen.add(mark)


def _identity(item: Any) -> object:  # noqa: ANN401 - whatever stands in the file
    if isinstance(item, list):
        return [_identity(part) for part in item]
    return item if isinstance(item, (str, bool)) else exact(item)


_SCALAR = {"type": ["string", "number", "boolean"]}
_WANTED_KEY = "a text, a number, true or false"


def _read_keys(value: Any, name: str) -> tuple[Any, ...]:  # noqa: ANN401 - from the file
    _check_type(value, name, 'a list of values such as ["HS", "BA"]', list)
    several = any(isinstance(item, list) for item in value)
    for item in value:
        if several:
            _check_type(item, f"an item of {name}", "a list, as the others are,", list)
        for part in item if several else [item]:
            _check_type(part, f"an item of {name}", _WANTED_KEY, str, int, Decimal, bool)
            if type(part) in {int, Decimal}:
                exact(part, f"an item of {name}")
    widths = {len(item) for item in value if several}
    if several and (0 in widths or len(widths) > 1):
        raise SpecValueError(
            Code.INVALID_VALUE,
            f"{name} holds lists of different lengths, or empty ones; write one value per column",
        )
    _check_distinct(value, name)
    return tuple(tuple(item) for item in value) if several else tuple(value)


NAMES = _names('["tree"]')
MARGINAL = _names('["age", "sex"]')
KEYS = ValueType(
    {
        "type": "array",
        "minItems": 1,
        "uniqueItems": True,
        "anyOf": [
            {"items": _SCALAR},
            {"items": {"type": "array", "items": _SCALAR, "minItems": 1}},
        ],
    },
    _read_keys,
)


def _read_bounds(value: Any, name: str) -> list[Any]:  # noqa: ANN401 - from the file
    wanted = f"two numbers are needed, such as {name} = [0, 100]"
    if not isinstance(value, list) or len(value) != 2:
        what = f"a list of {len(value)}" if isinstance(value, list) else value_text(value)
        raise SpecValueError(Code.WRONG_TYPE, f"{name} is {what}; {wanted}")
    for bound in value:
        _check_type(bound, f"an item of {name}", "a number", int, Decimal, str)
    low, high = exact(value[0], "lower bound"), exact(value[1], "upper bound")
    if low > high:
        message = f"{name} are reversed; write [{value[1]}, {value[0]}]"
        raise SpecValueError(Code.INVALID_VALUE, message)
    return list(value)


BOUNDS = ValueType(
    {
        "type": "array",
        "items": {"anyOf": [{"type": "number"}, {"type": "string", "pattern": _ANY_SIZE}]},
        "minItems": 2,
        "maxItems": 2,
    },
    _read_bounds,
)


def _read_cells(value: Any, name: str) -> Any:  # noqa: ANN401 - whatever stands in the file
    wanted = f'a number such as {name} = 20, edges such as [0, 18, 65], or values such as ["cook"]'
    _check_type(value, name, wanted, int, list)
    for item in value if isinstance(value, list) else []:
        _check_type(item, f"an item of {name}", "a number or a text", int, Decimal, str)
    read_cells(value, "the column")
    return value


CELLS = ValueType(
    {
        "anyOf": [
            {"type": "integer", "minimum": 1, "maximum": MOST_STATED},
            {
                "type": "array",
                "items": {"type": "number"},
                "minItems": 2,
                "maxItems": MOST_STATED,
                "uniqueItems": True,
            },
            {
                "type": "array",
                "items": {"type": "string", "minLength": 1},
                "minItems": 1,
                "maxItems": MOST_STATED,
                "uniqueItems": True,
            },
        ]
    },
    _read_cells,
)
