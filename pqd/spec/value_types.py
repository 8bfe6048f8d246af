"""Types of values in a spec file; each type can read a value and has a JSON Schema."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from pqd.deciders import ParameterError
from pqd.deciders.exact import budget_of, exact, positive, probability
from pqd.deciders.names import suggestion
from pqd.engine.reading.text_format import TextFormat
from pqd.parameters import MOST_PRIVATE_ROWS
from pqd.spec.problems import Code, SpecValueError, printable
from pqd.sql.tolerance import Tolerance
from pqd.stated.budgets import MOST_EPSILON, stated_budget
from pqd.stated.column_facts import COPY_BOUNDS, MOST_STATED, OPEN, read_cells

_SIZE = r"(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?|[0-9]+/0*[1-9][0-9]*)"
_ANY_SIZE = rf"^\s*[+-]?{_SIZE}\s*$"
_ABOVE_ZERO = rf"^\s*\+?(?=[0-9.]*[1-9]){_SIZE}\s*$"
_SHARE = rf"^\s*\+?(?=[0-9.]*[1-9]){_SIZE}\s*%?\s*$"
_TOLERANCE = rf"{_SHARE[:-1]}([oO][fF]\s+([tT][hH][eE]\s+)?[rR][oO][wW][sS]\s*)?$"
# Bits of a whole number at which it is refused: no double is as large, and it is slow to print.
_MOST_BITS = 1100


def quoted(text: str) -> str:
    """Name or text of the file in the form for messages: on one line, in quotes."""
    short = text if len(text) <= 60 else text[:57] + "..."
    return f'"{printable(short)}"'


def value_text(value: object) -> str:
    """Value of the file in words for a message."""
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


@dataclass(frozen=True, slots=True)
class ValueType:
    """Type of a value: ``types`` are its Python types, ``wanted`` describes it in messages.

    ``parse`` takes a value of these types, and the key's name.  It returns the value in the form
    that ``Spec`` holds, or raises ParameterError; rules that hold only for specs raise its subclass
    ``SpecValueError``.  ``schema`` states the same rules in JSON Schema.
    """

    types: tuple[type, ...]
    wanted: str
    parse: Callable[[Any, str], Any]
    schema: dict[str, Any]

    def read(self, value: object, name: str) -> Any:  # noqa: ANN401 - as parse returns it
        """Value of the key ``name`` in the form that ``Spec`` holds; ParameterError if wrong."""
        _check_type(value, name, self.wanted, *self.types)
        return self.parse(value, name)


def _check_type(value: object, name: str, wanted: str, *types: type) -> None:
    """Refuse a value of another type; true and false are not numbers."""
    if type(value) not in types:
        raise SpecValueError(Code.WRONG_TYPE, f"{name} is {value_text(value)}; {wanted} is needed")
    if type(value) is int and value.bit_length() >= _MOST_BITS:
        message = f"{name} is beyond 1.79e308; no such number is of use here"
        raise SpecValueError(Code.INVALID_VALUE, message)


def _check_items(items: list[Any], name: str, wanted: str, *types: type) -> None:
    """Refuse a list with an item of another type."""
    for item in items:
        _check_type(item, f"an item of {name}", wanted, *types)


def _number(parse: Callable[[Any, str], Any], wanted: str, text: str, **limits: float) -> ValueType:
    """Type of a number, or of a text that holds a number such as ``"1/3"``."""
    both = [{"type": "number", **limits}, {"type": "string", "pattern": text}]
    return ValueType((int, Decimal, str), wanted, parse, {"anyOf": both})


def _tolerance(value: Any, _: str) -> Any:  # noqa: ANN401 - kept as it was written
    if isinstance(value, str) and not any(sign.isdigit() for sign in value):
        # An amount is of queries alone.
        text = f'tau is {value!r}; write a share such as "5%", or for a query an amount such as 10'
        raise ParameterError(text)
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
        stated = Tolerance.parse(value)
        least = Fraction(1) if stated.of_rows else stated.amount
    except ParameterError:
        least = Fraction(1)
    if least >= 1:
        message = f'{name} is {value}; it must be more than 0 and less than 1, such as "90%"'
        raise SpecValueError(Code.INVALID_VALUE, message)
    return value


def _step(value: Any, name: str) -> Any:  # noqa: ANN401 - kept as it was written
    positive(value, name)
    return value


_AMOUNT, _BUDGET = 'an amount such as 10, or a share such as "5%",', "a number such as 0.25"
TAU = _number(_tolerance, _AMOUNT, _TOLERANCE, exclusiveMinimum=0)
BUDGET = _number(budget_of, _BUDGET, _ABOVE_ZERO, minimum=1e-12, maximum=1e12)
PRICE = _number(stated_budget, _BUDGET, _ABOVE_ZERO, minimum=1e-12, maximum=int(MOST_EPSILON))
_UNIT = {"exclusiveMinimum": 0, "exclusiveMaximum": 1}
ALPHA = _number(probability, "a number such as 0.05", _ABOVE_ZERO, **_UNIT)
AT_LEAST = _number(_quality, 'a share such as "90%"', _SHARE, **_UNIT)
DELTA = _number(_share, "a number such as 1e-6", _ANY_SIZE, minimum=0, exclusiveMaximum=1)
STEP = _number(_step, "a number such as 1", _ABOVE_ZERO, exclusiveMinimum=0)


def _text(wanted: str) -> ValueType:
    def parse(value: str, name: str) -> str:
        if not value.strip():
            raise SpecValueError(Code.EMPTY_VALUE, f"{name} is empty; {wanted} is needed")
        return value

    return ValueType((str,), wanted, parse, {"type": "string", "pattern": r"\S"})


def _id(value: str, name: str) -> str:
    if not value or value != value.strip() or not value.isprintable():
        raise SpecValueError(
            Code.INVALID_VALUE if value else Code.EMPTY_VALUE,
            f"{name} is {quoted(value)}; it must be a printable text without spaces at its ends",
        )
    return value


def _whole(wanted: str, **limits: int) -> ValueType:
    """Type of a whole number of 1 or more."""

    def parse(value: int, name: str) -> int:
        if not 1 <= value <= limits.get("maximum", value):
            raise SpecValueError(Code.INVALID_VALUE, f"{name} is {value}; it must be {wanted}")
        return value

    return ValueType((int,), wanted, parse, {"type": "integer", "minimum": 1, **limits})


TEXT = _text("a text in quotes")
SQL = _text('a query such as "SELECT COUNT(*) FROM D"')
BINS = _text('a text such as "age=0:100:10"')
ID = ValueType(
    (str,), 'a text such as "employed-women"', _id, {"type": "string", "pattern": r"^\S(.*\S)?$"}
)
ROWS = _whole("a whole number of 1 or more")
PRIVATE_ROWS = _whole(f"a whole number from 1 to {MOST_PRIVATE_ROWS:,}", maximum=MOST_PRIVATE_ROWS)
WAYS = _whole("1 (columns), 2 (and pairs) or 3 (and triples)", maximum=3)


def one_of(*words: str, blanks: bool = False) -> ValueType:
    """Type of a text that is one of ``words``; with ``blanks`` these may stand for hyphens."""
    spelled = [*words, *(each.replace("-", " ") for each in words if blanks and "-" in each)]

    def parse(value: str, name: str) -> str:
        value = value.replace(" ", "-") if value in spelled else value
        if value not in words:
            message = f"{name} is {quoted(value)}; {suggestion(value, words)}"
            raise SpecValueError(Code.UNKNOWN_NAME, message)
        return value

    return ValueType((str,), f"one of the texts {', '.join(words)}", parse, {"enum": spelled})


FLAG = ValueType((bool,), "true or false", lambda value, _: value, {"type": "boolean"})


def _check_distinct(items: list[Any], name: str) -> None:
    """Refuse an empty list, and a list with two equal items; true and 1 are not equal here."""
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


_LIST = {"type": "array", "minItems": 1, "uniqueItems": True}
_SCALAR = {"type": ["string", "number", "boolean"]}


def _distinct_names(value: list[Any], name: str) -> tuple[str, ...]:
    _check_items(value, name, "a text", str)
    _check_distinct(value, name)
    return tuple(value)


def _keys(value: list[Any], name: str) -> tuple[Any, ...]:
    several = any(isinstance(item, list) for item in value)
    if several:
        _check_items(value, name, "a list, as the others are,", list)
    for parts in value if several else [value]:
        _check_items(parts, name, "a text, a number, true or false", str, int, Decimal, bool)
        for number in parts:
            if type(number) in {int, Decimal}:
                exact(number, f"an item of {name}")
    if several and (not all(value) or len(set(map(len, value))) > 1):
        raise SpecValueError(
            Code.INVALID_VALUE,
            f"{name} holds lists of different lengths, or empty ones; write one value per column",
        )
    _check_distinct(value, name)
    return tuple(tuple(item) for item in value) if several else tuple(value)


def _filled(value: dict[str, Any], name: str) -> dict[str, Any]:
    if not value:
        message = f"{name} is an empty table; name an option, or leave the key out"
        raise SpecValueError(Code.EMPTY_VALUE, message)
    return value


def _options(value: dict[str, Any], name: str) -> dict[str, Any]:
    for option, number in _filled(value, name).items():
        _check_type(number, f"{quoted(option)} of {name}", "a number such as 0.05", *ALPHA.types)
        probability(number, f"{quoted(option)} of {name}")
    return value


def _worded_options(value: dict[str, Any], name: str) -> dict[str, Any]:
    for option, each in _filled(value, name).items():
        _check_type(each, f"{quoted(option)} of {name}", "a number or a text", int, Decimal, str)
    return value


def _bounds(value: list[Any] | str, name: str) -> list[Any] | str:
    if isinstance(value, str):
        if value != COPY_BOUNDS:
            message = f'{name} is the text "{value}"; {BOUNDS.wanted}, is needed'
            raise SpecValueError(Code.WRONG_TYPE, message)
        return value
    if len(value) != 2:
        message = f"{name} is a list of {len(value)}; {BOUNDS.wanted} is needed"
        raise SpecValueError(Code.WRONG_TYPE, message)
    _check_items(value, name, "a number", int, Decimal, str)
    if value.count(OPEN) == 2:
        message = f"{name} are open on both sides; leave the key out, or state one end"
        raise SpecValueError(Code.INVALID_VALUE, message)
    if OPEN in value:
        exact(next(bound for bound in value if bound != OPEN), "bound")
    elif exact(value[0], "lower bound") > exact(value[1], "upper bound"):
        message = f"{name} are reversed; write [{value[1]}, {value[0]}]"
        raise SpecValueError(Code.INVALID_VALUE, message)
    return value


def _cells(value: Any, name: str) -> Any:  # noqa: ANN401 - kept as it was written
    if isinstance(value, list):
        _check_items(value, name, "a number or a text", int, Decimal, str)
    read_cells(value, "the column")
    return value


def _names(example: str) -> ValueType:
    """Type of a list of different names."""
    wanted, items = f"a list of names such as {example}", {"type": "string"}
    return ValueType((list,), wanted, _distinct_names, {**_LIST, "items": items})


def _texts(value: list[Any], name: str) -> tuple[str, ...]:
    _check_items(value, name, "a text", str)
    texts = tuple(value)
    # A text that cannot be part of a format is refused.
    _ = TextFormat(dates=texts) if name == "dates" else TextFormat(missing=texts)
    return texts


TEXTS = ValueType(
    (list,),
    'a list of texts such as ["k.A.", "unknown"]',
    _texts,
    {"type": "array", "items": {"type": "string"}},
)
NAMES = _names('["tree"]')
MARGINAL = _names('["age", "sex"]')
KEYS = ValueType(
    (list,),
    'a list of values such as ["HS", "BA"]',
    _keys,
    {
        **_LIST,
        "anyOf": [
            {"items": _SCALAR},
            {"items": {"type": "array", "items": _SCALAR, "minItems": 1}},
        ],
    },
)
OPTIONS = ValueType(
    (dict,),
    "a table such as { beta = 0.05 }",
    _options,
    {
        "type": "object",
        "minProperties": 1,
        "additionalProperties": {
            "anyOf": [
                {"type": "number", **_UNIT},
                {"type": "string", "pattern": _ABOVE_ZERO},
            ]
        },
    },
)
WORDED_OPTIONS = ValueType(
    (dict,),
    'a table such as { rounds = 20, radius = "private" }',
    _worded_options,
    {
        "type": "object",
        "minProperties": 1,
        "additionalProperties": {"type": ["number", "string"]},
    },
)
BOUNDS = ValueType(
    (list, str),
    'a list of two numbers such as [0, 100], one of them "" where it is open, or "copy"',
    _bounds,
    {
        "anyOf": [
            {
                "type": "array",
                "items": {
                    "anyOf": [
                        {"type": "number"},
                        {"type": "string", "pattern": _ANY_SIZE},
                        {"const": OPEN},
                    ]
                },
                "minItems": 2,
                "maxItems": 2,
            },
            {"const": COPY_BOUNDS},
        ]
    },
)
_MANY = {**_LIST, "maxItems": MOST_STATED}
CELLS = ValueType(
    (int, list),
    'a number such as cells = 20, edges such as [0, 18, 65], or values such as ["cook"]',
    _cells,
    {
        "anyOf": [
            {"type": "integer", "minimum": 1, "maximum": MOST_STATED},
            {**_MANY, "minItems": 2, "items": {"type": "number"}},
            {**_MANY, "items": {"type": "string", "minLength": 1}},
        ]
    },
)
