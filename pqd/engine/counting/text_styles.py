"""Styles of a copy's texts that are numbers or days in all but their form; all of it is public.

A column of such texts would be compared as text, so that 24.12.1980 is greater than 02.01.2020, and
nobody could sum it up.  A run that would spend stops there, and names the option that reads it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from pqd.engine.counting.column_types import codes_of
from pqd.engine.reading.buffers import arrow_of, numpy_of
from pqd.engine.reading.text_format import USUAL, TextFormat

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from pqd.engine.counting.arrow_sql import ArrowSQL
    from pqd.engine.counting.batch import Column

# Distinct texts that are looked at.
_LOOKED_AT = 2048
# Share of the cells that a style must read.
_MOSTLY = 0.9
# A few texts without a digit, among at least so many numbers, are no values of their own.
_MOST_ODD, _LEAST_NUMBERS = 3, 10
# Signs before decimals and between thousands; if several read a column, the first is taken.
_NUMBERS = (
    (".", None),
    (".", ","),
    (",", None),
    (",", "."),
    (".", "'"),
    (".", "\u2019"),
    (",", " "),
    (",", "\u00a0"),
    (",", "\u202f"),
    (".", " "),
)
_DAYS = tuple(
    f"{day}{time}"
    for day in (
        *("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y"),
        *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%y"),
    )
    for time in ("", " %H:%M", " %H:%M:%S")
)
_SIGN = r"[$%€£¥]|EUR|Euro|USD|GBP|CHF"
_BARE = rf"regexp_replace(regexp_replace(value, '^\s*({_SIGN})\s*', ''), '\s*({_SIGN})\s*$', '')"
_DIGIT = re.compile(r"\d")
# Signs of which all texts consist that some style reads: others are not tried with each style.
_STYLED = re.compile(rf"(?:[\s\d.,'\u2019_/:eE+-]|{_SIGN})*")


class TextStyle(NamedTuple):
    """Style of the texts of a column: what they are, and the options that read them.

    ``way`` is ``numbers``, ``days``, ``signs`` (numbers with a sign such as % or €) or ``odd``
    (numbers, and few other texts).  Each of ``options`` reads the column; several if the texts do
    not tell which is right.  ``example`` is one text.
    """

    way: str
    example: str
    options: tuple[str, ...]


def text_style(
    sql: ArrowSQL, column: Column, text_format: TextFormat | None, *, loose: bool
) -> TextStyle | None:
    """Style of a column that counts as text; None for texts that are no numbers and no days.

    Without a ``text_format`` the column is in a table with types.  In a ``loose`` column the texts
    alone say what the kind is.
    """
    if not pa.types.is_large_string(column.values.type):
        return None
    held = numpy_of(column.values.is_valid())[:_LOOKED_AT]
    values = column.values[:_LOOKED_AT].filter(arrow_of(held))
    rows = column.counts()[:_LOOKED_AT][held]
    texts: list[str] = values.to_pylist()
    styled = [bool(_DIGIT.search(text) and _STYLED.fullmatch(text)) for text in texts]
    if not texts or rows[np.array(styled, np.bool_)].sum() < _MOSTLY * rows.sum():
        return None
    return _style(_Texts(sql, values, rows, texts), text_format or USUAL, loose=loose)


class _Texts(NamedTuple):
    """Distinct texts and the number of rows with each."""

    sql: ArrowSQL
    values: pa.Array
    rows: NDArray[np.int64]
    texts: list[str]

    def fits(self, tests: Iterable[str]) -> list[NDArray[np.bool_]]:
        """Whether each text passes each test."""
        wanted = list(tests)
        parts = self.sql.evaluated(pa.table({"value": self.values}), wanted)
        columns = zip(*parts, strict=True)
        return [np.concatenate([numpy_of(each) for each in column]) for column in columns]

    def best(self, tests: Mapping[str, str]) -> dict[str, NDArray[np.bool_]]:
        """Tests that most rows pass, if nearly all do; empty if no test is passed by as many."""
        fits = dict(zip(tests, self.fits(tests.values()), strict=True))
        passed = {name: int(self.rows[fit].sum()) for name, fit in fits.items()}
        most = max(passed.values())
        if most < _MOSTLY * self.rows.sum():
            return {}
        return {name: fits[name] for name, number in passed.items() if number == most}


def _style(texts: _Texts, stated: TextFormat, *, loose: bool) -> TextStyle | None:
    (own,) = texts.fits([_number(stated)])
    if own.all() or len(codes_of(texts.values)):
        # Codes such as 06680 are texts.
        return None
    if texts.rows[own].sum() >= _MOSTLY * texts.rows.sum():
        return _odd(texts, own) if loose else None
    formats = {_number_option(*each): _with_numbers(stated, *each) for each in _NUMBERS}
    if numbers := texts.best({option: _number(each) for option, each in formats.items()}):
        # 1,5 is read alike with and without a sign of thousands; 5,357 may be either.
        options = tuple(numbers)[: 2 if _is_either(tuple(numbers)) else 1]
        return TextStyle("numbers", _example(texts, numbers[options[0]] & ~own), options)
    if days := texts.best({_day_option(form): _day(form) for form in _DAYS}):
        return TextStyle("days", _example(texts, next(iter(days.values()))), tuple(days)[:2])
    bare = {option: _number(each, _BARE) for option, each in formats.items()}
    if signs := texts.best(bare):
        return TextStyle("signs", _example(texts, next(iter(signs.values())) & ~own), ())
    return None


def _odd(texts: _Texts, own: NDArray[np.bool_]) -> TextStyle | None:
    """Style of numbers with a few other texts, which have no digit."""
    odd = [text for text, fits in zip(texts.texts, own, strict=True) if not fits]
    if len(odd) > _MOST_ODD or own.sum() < _LEAST_NUMBERS or any(map(_DIGIT.search, odd)):
        return None
    if any("," in text or not text.isprintable() for text in odd):
        return None
    return TextStyle("odd", odd[0], (f"--missing {_pasted(','.join(odd))}",))


def _number(text_format: TextFormat, text: str = "value") -> str:
    """SQL of whether a text is a number in a format."""
    return f"COALESCE(TRY_CAST({text_format.number_sql(text)} AS DOUBLE) IS NOT NULL, FALSE)"


def _day(form: str) -> str:
    """SQL of whether a text is a day in a form whose year has as many digits as the text's."""
    year = "[0-9]{4}" if "%Y" in form else "[./-][0-9]{2}( |$)"
    fits = f"try_strptime(trim(value), '{form}') IS NOT NULL"
    return f"({fits} AND regexp_matches(trim(value), '{year}'))"


def _with_numbers(stated: TextFormat, decimal: str, thousands: str | None) -> TextFormat:
    return replace(stated, decimal=decimal, thousands=thousands)


def _number_option(decimal: str, thousands: str | None) -> str:
    parts = [f"--decimal {decimal}"] if decimal != "." or thousands is None else []
    parts += [] if thousands is None else [f"--thousands {_pasted(thousands)}"]
    return " ".join(parts)


def _day_option(form: str) -> str:
    return f"--dates {_pasted(form)}"


def _pasted(text: str) -> str:
    """Text as it can be pasted into a command."""
    plain = re.fullmatch(r"[A-Za-z0-9%.,:/_+-]+", text)
    return text if plain else f'"{text}"'


def _is_either(options: tuple[str, ...]) -> bool:
    """Whether a comma may be the sign of decimals or of thousands."""
    return options[:2] == (_number_option(".", ","), _number_option(",", None))


def _example(texts: _Texts, fits: NDArray[np.bool_]) -> str:
    return texts.texts[int(np.flatnonzero(fits)[0])]


def joined_options(options: Iterable[str]) -> str:
    """Options of several columns as one text; empty if one option is enough, or some contradict."""
    parts = dict.fromkeys(part for option in options for part in re.split(r" (?=--)", option))
    signs = [part.split()[1] for part in parts if part.startswith(("--decimal", "--thousands"))]
    names = [part.split()[0] for part in parts if not part.startswith(("--dates", "--missing"))]
    contradict = len({*signs}) < len(signs) or len({*names}) < len(names)
    return "" if contradict or len(parts) < 2 else " ".join(parts)
