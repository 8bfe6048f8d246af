"""Columns: their kinds, their names regardless of case, and their quoting in SQL."""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum

# A number, or a date.
_VALUE = re.compile(r"[+-]?\d+([.,:/-]\d+)*([eE][+-]?\d+)?")


def fold_case(name: str) -> str:
    """Form in which column names are compared: case does not count."""
    return name.lower()


def unquoted(name: str) -> str:
    """Name of a column without double quotes around it; blanks at its ends belong to the name."""
    is_quoted = len(name) > 2 and name[0] == name[-1] == '"'
    return name[1:-1] if is_quoted else name


def listed_names(texts: Iterable[str]) -> list[str]:
    """Names of columns in texts such as ``age, sex``; a text without a comma is one name.

    Blanks around the names of a list are dropped, but those within double quotes.
    """
    return [
        unquoted(part.strip()) if "," in text else unquoted(part)
        for text in texts
        for part in text.split(",")
    ]


def differs_by_blanks(name: str, names: Iterable[str]) -> str | None:
    """First of ``names`` that differs from ``name`` by blanks alone; None without one."""

    def bare(text: str) -> str:
        return "".join(fold_case(text).split())

    return next((each for each in names if bare(each) == bare(name)), None)


def like_values(names: Iterable[str]) -> bool:
    """Whether some column name looks like a cell: a number, or a date."""
    return any(_VALUE.fullmatch(name.strip()) for name in names)


def header_hint(names: Iterable[str]) -> str:
    """Hint for the message on an unknown column; empty unless some names look like cells."""
    if not like_values(names):
        return ""
    return (
        "; some of these names look like values: does the file lack a header? Its first line must "
        "name the columns"
    )


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
