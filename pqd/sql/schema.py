"""Columns: their kinds, their names without regard to capitals, and how SQL quotes them."""

from collections.abc import Mapping
from enum import StrEnum


def fold_case(name: str) -> str:
    """Form in which column names are compared: case does not count."""
    return name.lower()


class Kind(StrEnum):
    """The four kinds of value; a column's kind comes from the synthetic table or the user."""

    NUMBER = "number"
    TEXT = "text"
    BOOLEAN = "boolean"
    TIME = "time"


Schema = Mapping[str, Kind]


def quote_literal(value: object) -> str:
    """``value`` as a SQL text literal."""
    return "'" + str(value).replace("'", "''") + "'"


def quote_identifier(name: str) -> str:
    """``name`` as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
