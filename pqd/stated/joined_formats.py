"""The one format in which a table is read, from the formats that columns of a file state.

A table has one sign of decimals, one of thousands, and forms of days of which at most one reads a
cell.  Where columns of a file state more than that, a caller must choose.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from pqd.deciders.errors import ParameterError
from pqd.deciders.options import option
from pqd.engine.reading.text_format import DECIMALS, USUAL, Field, TextFormat
from pqd.stated.text_formats import FileFormat

# A sign or a form with the place of the column that states it; None where none is stated.
Placed = tuple[str | None, str]
# ISO is read beside every form.
DAYS = "%Y-%m-%d"
_ISO = re.compile(rf"{DAYS}([ T]%H:%M(:%S(\.%f)?)?(Z|%z)?)?")
_WORDS: Mapping[Field, str] = {
    "decimal": "the sign of decimals",
    "thousands": "the sign of thousands",
    "dates": "the form of days",
}


def is_form(form: str) -> bool:
    """Whether days of a form are read; a form that begins as ISO does is read as ISO at least."""
    return form.startswith(DAYS) or _is_stated(form)


def _is_stated(form: str) -> bool:
    """Whether a format can state the form, and must, since it is not ISO."""
    if _ISO.fullmatch(form):
        return False
    try:
        TextFormat(dates=[form])
    except ParameterError:
        return False
    return True


def joined_format(
    decimals: Iterable[Placed],
    thousands: Iterable[Placed],
    days: Iterable[Placed],
    missing: tuple[str, ...] | None,
    label: str,
) -> FileFormat:
    """Format that columns state together, and the fields in which they contradict each other.

    ``days`` are those of all columns of times; None stands for ISO.
    """
    formats, conflicts = TextFormat(missing=missing), dict[Field, str]()
    points, groups, forms = map(_places, (decimals, thousands, days))
    if len(points) > 1:
        conflicts["decimal"] = _conflict("decimal", points)
    elif points and (sign := next(iter(points))) != DECIMALS[0]:
        # A point is the usual sign, and is that of a number whose sign nobody states.
        formats = replace(formats, decimal=sign)
    if len(groups) > 1:
        conflicts["thousands"] = _conflict("thousands", groups)
    elif groups and (sign := next(iter(groups))) == formats.sign:
        points = {sign: points.get(sign, "a number without another sign of decimals")}
        conflicts["thousands"] = (
            f"{groups[sign]} has {sign!r} between thousands, and {points[sign]} has it before "
            f"decimals; state both signs, as {option('--decimal , --thousands .')}"
        )
    elif groups:
        formats = replace(formats, thousands=sign)
    own = [form for form in forms if _is_stated(form)]
    if _are_ambiguous(own, with_iso=len(own) < len(forms)):
        conflicts["dates"] = _conflict("dates", forms)
    elif own:
        formats = replace(formats, dates=own)
    return FileFormat(formats if formats != TextFormat() else USUAL, conflicts, label)


def _are_ambiguous(forms: list[str], *, with_iso: bool) -> bool:
    """Whether a cell may be read in two ways.

    A form is read from the left.  So ``%d.%m.%Y %H:%M`` reads no cell of ``%d.%m.%Y``, with which
    it begins.  Of other forms it reads some, and ``%Y-%d-%m`` reads days in ISO.
    """
    longest = max(forms, key=len, default="")
    reads_iso = re.match(r"%Y-(?!%m-%d)", longest) is not None
    return not all(map(longest.startswith, forms)) or (with_iso and reads_iso)


def _places(stated: Iterable[Placed]) -> dict[str, str]:
    """First place of each sign or form that is stated."""
    places: dict[str, str] = {}
    for value, place in stated:
        if value:
            places.setdefault(value, place)
    return places


def _conflict(field: Field, places: Mapping[str, str]) -> str:
    """Sentence on columns that differ in a field, and what a caller can do."""
    (one, first), (other, second), *_ = places.items()
    return (
        f"{_WORDS[field]} is {one!r} in {first} and {other!r} in {second}, but a table is read in "
        f"one format, in which a cell of the other column may mean something else; correct the "
        f"file, or state {option(f'--{field}')} for the whole table"
    )
