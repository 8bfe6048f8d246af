"""Format of the cells of delimited text: the signs of numbers, the forms of days, missing cells.

Nobody guesses a format from private rows.  The user states it, or it is the usual one, and it reads
each cell by the cell's own text alone.  Numbers and days are read where a column has a public kind
that needs them: the cell ``1,5`` of a column of texts stays ``1,5``.  A text that means a missing
cell is NULL in columns of every kind.

The stored cells keep their texts.  So a table has one content in a ledger, however it is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pqd.deciders.errors import ParameterError
from pqd.deciders.options import option
from pqd.sql.schema import Kind

# Texts that usually mean a missing cell; spreadsheets, pandas and R write them.
USUAL_MISSING = (
    *("NA", "N/A", "n/a", "<NA>", "#N/A", "#NA", "#NV", "#N/V", "NaN", "nan", "-NaN", "-nan"),
    *("NULL", "null", "None", "-"),
)
DECIMALS = (".", ",")
THOUSANDS = (".", ",", "'", "\u2019", " ", "\u00a0", "\u202f", "_")
# Directives of a form of days, as strptime of Python and of DuckDB reads them alike.
_DIRECTIVES = frozenset("YymdHMSfpIbBj%")
_YEAR = re.compile(r"%[Yy]")
_LONGEST, _MOST = 64, 100
Field = Literal["decimal", "thousands", "dates", "missing"]
FIELDS: tuple[Field, ...] = ("decimal", "thousands", "dates", "missing")


@dataclass(frozen=True, slots=True)
class TextFormat:
    """Format of the cells of a delimited file; JSON lines have its days and missing cells alone.

    A field that is None is not stated: a file of facts may state it, and otherwise it is the usual
    one.

    Attributes
    ----------
    decimal
        Sign before the decimals of a number, ``.`` (the usual one) or ``,``.
    thousands
        Sign between the thousands of a number, such as ``.`` or a blank; an empty text if there is
        none, as is usual.
    dates
        Forms of days and times, such as ``%d.%m.%Y`` or ``%d.%m.%Y %H:%M``.  The first form that
        fits reads a cell, and forms with two digits of a year come first.  ISO (1980-12-24) is read
        beside them.
    missing
        Texts that mean a missing cell, beside the usual ones; an empty text among them sets the
        usual ones aside.  An empty cell is missing in any case.
    """

    decimal: str | None = None
    thousands: str | None = None
    dates: Sequence[str] | None = None
    missing: Sequence[str] | None = None

    def __post_init__(self) -> None:
        """Take a list or a single text for a tuple; ParameterError for what cannot be a format."""
        for name in ("dates", "missing"):
            if (stated := getattr(self, name)) is None:
                continue
            texts = (stated,) if isinstance(stated, str) else stated
            if not isinstance(texts, Iterable) or isinstance(texts, Mapping):
                raise ParameterError(f"{name} {stated!r} is not understood; give a list of texts")
            object.__setattr__(self, name, tuple(dict.fromkeys(texts)))
        if self.decimal is not None and self.decimal not in DECIMALS:
            raise ParameterError(f"the decimal sign is {self.decimal!r}; it must be . or ,")
        if self.thousands and self.thousands not in THOUSANDS:
            raise ParameterError(
                f"the sign of thousands is {self.thousands!r}; it must be . or , or ' or a blank"
            )
        if self.thousands == self.sign:
            raise ParameterError(
                f"{self.sign!r} cannot stand both before decimals and between thousands; "
                f"write 1234.5 as {option('--decimal .')} and 1.234,5 as "
                f"{option('--decimal , --thousands .')}"
            )
        for form in self.dates or ():
            _check_form(form)
        _check_missing(self.missing or ())

    @property
    def sign(self) -> str:
        """Sign before the decimals of a number."""
        return self.decimal or DECIMALS[0]

    @property
    def reads_numbers(self) -> bool:
        """Whether numbers are written in another way than 1234.5."""
        return self.sign != DECIMALS[0] or bool(self.thousands)

    @property
    def missing_texts(self) -> tuple[str, ...]:
        """All texts that mean a missing cell, but the empty text."""
        stated = self.missing or ()
        usual = () if "" in stated else USUAL_MISSING
        return tuple(dict.fromkeys((*usual, *filter(None, stated))))

    @property
    def without_numbers(self) -> TextFormat:
        """Format of a table whose numbers have a form of their own, as those of JSON."""
        return replace(self, decimal=None, thousands=None)

    def over(self, other: TextFormat) -> TextFormat:
        """Format whose fields that are not stated are those of another format.

        Raises
        ------
        ParameterError
            If the sign of decimals would also be that of thousands.
        """
        stated = {name: getattr(self, name) for name in FIELDS}
        own = {name: value for name, value in stated.items() if value is not None}
        return replace(other, **own) if own else other

    def number_sql(self, text: str) -> str:
        """SQL of a ``text`` with a number, written as 1234.5; NULL for a number in another way."""
        if not self.reads_numbers:
            return text
        digits = "[0-9]+"
        plain = text
        if self.thousands:
            digits = f"([0-9]{{1,3}}([{self.thousands}][0-9]{{3}})+|[0-9]+)"
            plain = f"replace({plain}, {_quoted(self.thousands)}, '')"
        if self.sign != ".":
            plain = f"replace({plain}, {_quoted(self.sign)}, '.')"
        sign = f"[{self.sign}]"
        number = rf"\s*[+-]?({digits}({sign}[0-9]*)?|{sign}[0-9]+)([eE][+-]?[0-9]+)?\s*"
        return (
            f"CASE WHEN regexp_full_match({text}, {_quoted(number)}) THEN {plain} "
            f"WHEN regexp_matches({text}, '[0-9]') THEN NULL ELSE {text} END"
        )

    def time_sql(self, text: str) -> str:
        """SQL of the time in a ``text``; NULL if no form reads it."""
        iso = f"TRY_CAST({text} AS TIMESTAMP)"
        if not self.dates:
            return iso
        # %Y would read the year 80 in 24.12.80, so forms with two digits of a year come first.
        ordered = sorted(self.dates, key=lambda form: "%Y" in form)
        forms = ", ".join(map(_quoted, ordered))
        return f"COALESCE(try_strptime(trim({text}), [{forms}]), {iso})"

    def way(self, kind: Kind | str) -> str:
        """Words of a cache key for how cells of a kind are read; empty if they are read as typed.

        The usual missing texts are no number, day or truth in any case.  As texts they are NULL
        here, and values in a Parquet file or a frame with the same cells.
        """
        missing = sorted(self.missing_texts)
        plain = [] if kind == Kind.TEXT else sorted(USUAL_MISSING)
        parts = [] if missing == plain else [f"missing {missing}"]
        if kind == Kind.NUMBER and self.reads_numbers:
            parts.append(f"decimal {self.sign!r} thousands {self.thousands or None!r}")
        if kind == Kind.TIME and self.dates:
            parts.append(f"dates {list(self.dates)}")
        return "".join(f", {part}" for part in parts)


def _check_form(form: object) -> None:
    """Refuse a form of days that DuckDB could not read, or that holds no year."""
    what = f"the form of days {form!r}"
    if not isinstance(form, str) or not form.isprintable() or len(form) > _LONGEST:
        raise ParameterError(f"{what} is no text that can be printed; write it as %d.%m.%Y")
    directives = re.findall(r"%(.?)", form)
    if unknown := [each for each in directives if each not in _DIRECTIVES or not each]:
        raise ParameterError(
            f"{what} has %{unknown[0]}, which pqd does not read; write it as %d.%m.%Y or "
            "%m/%d/%y %H:%M:%S"
        )
    if not _YEAR.search(form.replace("%%", "")):
        raise ParameterError(f"{what} has no year (%Y or %y); write it as %d.%m.%Y")


def _check_missing(texts: Sequence[object]) -> None:
    """Refuse what cannot be texts of missing cells."""
    if len(texts) > _MOST:
        raise ParameterError(f"{len(texts)} texts mean a missing cell; {_MOST} are allowed")
    for text in texts:
        if not isinstance(text, str) or len(text) > _LONGEST or not text.isprintable():
            raise ParameterError(
                f"{text!r} cannot mean a missing cell; give texts of at most {_LONGEST} characters"
            )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


USUAL = TextFormat()
