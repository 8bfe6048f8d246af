"""One query for each group: GROUP BY over keys, or bins of a number.

Keys come from the synthetic table or from the caller, never from the private table: private
keys would reveal which groups exist there.  A key that the private table lacks counts 0 rows.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

from pqd.deciders.errors import ParameterError
from pqd.deciders.exact import exact, positive
from pqd.deciders.numbers import number_text
from pqd.errors import QueryError, UnanswerableError
from pqd.sql.query import Cell, Key, Query
from pqd.sql.schema import quote_identifier, quote_literal, unquoted

MOST_GROUPS = 1000
BINS_OR_GROUPS = "bins and GROUP BY do not go together; use one of them"
# A text that needs no quotes: it begins with a letter and cannot be taken for another label.
_PLAIN = re.compile(r"[^\W\d_](?:[^=\n\r\"\[\]]*[^\s=\"\[\]])?")
_ENDLESS = (float("inf"), float("-inf"))
_WORDS = ("NULL", "TRUE", "FALSE", "NAN", "INFINITE")


@dataclass(frozen=True, slots=True)
class Bins:
    """``column`` cut into ``[lower, lower + width)``, ...; the last bin includes its upper end."""

    column: str
    lower: Fraction
    upper: Fraction
    width: Fraction

    @classmethod
    def parse(cls, text: str) -> "Bins":
        """Read ``capital-gain=0:1000:200`` (lower:upper:width).

        Raises
        ------
        ParameterError
            If the text has another form, or does not cut the range into 1 to 1,000 equal bins.
        """
        name, sign, numbers = text.rpartition("=")
        parts = numbers.split(":")
        if not sign or not name.strip() or len(parts) != 3:
            raise ParameterError(
                f'bins {text!r} are not understood; write "column=lower:upper:width", such as '
                '"age=0:100:10"'
            )
        low, high = (
            exact(parts[0], "lower end of the bins"),
            exact(parts[1], "upper end of the bins"),
        )
        width = positive(parts[2], "width of the bins")
        if low >= high or (high - low) % width or (high - low) / width > MOST_GROUPS:
            raise ParameterError(
                f"bins {text!r} do not cut the range into 1 to {MOST_GROUPS:,} bins of one width; "
                "change the upper end or the width"
            )
        return cls(unquoted(name.strip()), low, high, width)

    def of(self, query: Query) -> tuple[Query, ...]:
        """``query`` once for each bin, ascending.

        Raises
        ------
        QueryError
            If the query is grouped already.
        """
        if query.group_by:
            raise QueryError(BINS_OR_GROUPS, query.sql)
        column = quote_identifier(self.column)
        binned = []
        for number in range(int((self.upper - self.lower) / self.width)):
            low = self.lower + number * self.width
            high = low + self.width
            last = high == self.upper
            ends = (
                f"{column} >= {_number(low)} AND {column} {'<=' if last else '<'} {_number(high)}"
            )
            range_text = f"[{number_text(low)}, {number_text(high)}{']' if last else ')'}"
            binned.append(query.only(ends, f"{self.column} in {range_text}"))
        return tuple(binned)


def grouped(query: Query, synthetic_keys: Callable[[], Sequence[Key]]) -> tuple[Query, ...]:
    """``query`` once for each group: its own keys if it has any, else ``synthetic_keys``.

    Raises
    ------
    UnanswerableError
        If there are no groups, or too many, or a key is infinite.
    QueryError
        If a key is stated twice, or lacks a value for a grouping column.
    """
    keys: Sequence[Key] = synthetic_keys() if query.keys is None else query.keys
    names = query.group_by
    if not keys:
        raise UnanswerableError(
            "no synthetic row matches, so there is no group; state the keys in a spec"
        )
    if len(keys) > MOST_GROUPS:
        raise UnanswerableError(
            f"GROUP BY {', '.join(names)} makes more than {MOST_GROUPS:,} groups; use bins, or "
            "state the keys in a spec"
        )
    for key in keys:
        endless = next((n for n, c in zip(names, key, strict=False) if c in _ENDLESS), None)
        if endless is not None:
            raise UnanswerableError(f"GROUP BY {endless}: a key is infinite; use bins")
    if len({tuple(map(_same, key)) for key in keys}) < len(keys):
        raise QueryError("a key of GROUP BY is stated twice", query.sql)
    return tuple(_of_key(query, names, key) for key in keys)


def _of_key(query: Query, names: Sequence[str], key: Key) -> Query:
    pairs = list(zip(names, key, strict=True))
    condition = " AND ".join(
        f"{quote_identifier(n)} " + ("IS NULL" if cell is None else f"= {_literal(cell)}")
        for n, cell in pairs
    )
    return query.only(condition, ", ".join(f"{n} = {_shown(cell)}" for n, cell in pairs))


def _literal(cell: Cell) -> str:
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, (int, float, Decimal)):
        return _number(exact(cell))
    text = cell.isoformat(" ") if isinstance(cell, datetime) else str(cell)
    return quote_literal(text)


def _number(number: Fraction) -> str:
    """Double nearest to ``number``, as SQL; neighbouring bins have the same double as their end."""
    return repr(float(number))


def _same(cell: Cell) -> str:
    """Text that is the same for cells with the same value."""
    return "NULL" if cell is None else _literal(cell)


def _shown(cell: Cell) -> str:
    """Cell for a label; a text that looks like another label is quoted."""
    if cell is None:
        return "NULL"
    if isinstance(cell, str):
        return cell if _PLAIN.fullmatch(cell) and cell.upper() not in _WORDS else _literal(cell)
    if isinstance(cell, bool):
        return str(cell)
    return cell.isoformat(" ") if isinstance(cell, datetime) else number_text(exact(cell))
