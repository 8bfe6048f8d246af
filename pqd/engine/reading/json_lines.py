"""Rows of JSON lines: one object on each line, whose values are read as texts.

A line feed alone ends a line, and a line of blanks is no row.  Each line is parsed by itself, so no
line changes how another is read.  The name of a column is a key, whatever its case; of two such
keys in a line the last one counts.  A key that a line lacks is NULL there.

A number is its own text (1.50 stays 1.50), a truth is ``true`` or ``false``, and a list or an
object is its JSON in one text.  An empty text is NULL, as in a CSV, and so is a text that is not
UTF-8 or holds a NUL.  A line that is no object is a row of NULLs.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from pqd.engine.reading.csv_blocks import NO_TEXT, LongRowError
from pqd.sql.schema import fold_case

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from io import BufferedIOBase

# Name of a column that no key has: all cells of a line, the same for each order of its keys.
LINE = "\0line"
# Sign between names and texts of the cells of a line: no cell holds it, and no column's name.
_BETWEEN = "\0"
# Lines of a batch.
_LINES = 1 << 14
_PARSED = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
_WRITTEN = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def json_batches(
    file: BufferedIOBase, wanted: Sequence[str], longest: int | None
) -> Iterator[pa.RecordBatch]:
    """Texts of the ``wanted`` columns in batches, at least one.

    Raises
    ------
    LongRowError
        If a line has more than ``longest`` bytes.
    OSError, EOFError, zlib.error
        If the file cannot be read to its end.
    """
    lines = _lines(file, longest)
    read = _Columns(wanted)
    first = True
    while (batch := list(islice(lines, _LINES))) or first:
        yield read.batch(batch)
        first = False


def json_keys(file: BufferedIOBase, longest: int) -> tuple[list[str], int | None]:
    """Keys of a public file in the order in which they come, and the first line that is no object.

    Keys that differ by their case alone are one.

    Raises
    ------
    LongRowError, OSError, EOFError, zlib.error
        As ``json_batches``.
    """
    keys: dict[str, str] = {}
    for number, line in _lines(file, longest):
        found = _object(line)
        if found is None:
            return [*keys.values()], number
        for key in found:
            if "\0" not in key and _encodes(key):
                keys.setdefault(fold_case(key), key)
    return [*keys.values()], None


def _lines(file: BufferedIOBase, longest: int | None) -> Iterator[tuple[int, bytes]]:
    """Number, from 1 on, and bytes of each line that is not blank."""
    number = 0
    while line := file.readline(-1 if longest is None else longest + 1):
        number += 1
        if longest is not None and len(line) > longest:
            raise LongRowError
        if number == 1:
            line = line.removeprefix(BOM_UTF8)
        if not line.isspace() and line:
            yield number, line


def _object(line: bytes) -> dict[str, Any] | None:
    """Object of a line, with numbers as texts; None if the line is no object."""
    try:
        held = _PARSED.decode(line.decode("utf-8", "pqd.no_text"))
    except (ValueError, RecursionError):
        return None
    return held if isinstance(held, dict) else None


class _Key(NamedTuple):
    """Key of a line: its folded case, the place of its column if that is read.

    ``is_name`` says that it may be the name of a column.
    """

    folded: str
    place: int | None
    is_name: bool


class _Columns:
    """Columns that are read: the place of each, by the folded case of its name."""

    def __init__(self, wanted: Sequence[str]) -> None:
        self._wanted = wanted
        self._places = {fold_case(name): place for place, name in enumerate(wanted)}
        self._line = self._places.get(LINE)

    def batch(self, lines: Sequence[tuple[int, bytes]]) -> pa.RecordBatch:
        """Texts of some lines."""
        cells: list[list[str | None]] = [[None] * len(lines) for _ in self._wanted]
        # What a key names is looked up once for all lines of a batch.
        keys: dict[str, _Key] = {}
        for row, (_, line) in enumerate(lines):
            named: dict[str, tuple[str, str]] = {}
            for key, value in (_object(line) or {}).items():
                known = keys.get(key)
                if known is None:
                    known = keys[key] = self._key(key)
                text = _text(value)
                if known.place is not None:
                    cells[known.place][row] = text
                if known.is_name:
                    # Of two keys that differ by case the last one counts.
                    named[known.folded] = (key, text or "")
            if self._line is not None:
                # Any order of keys gives the same text.
                cells[self._line][row] = _BETWEEN.join(chain.from_iterable(sorted(named.values())))
        columns = [pa.array(each, pa.large_string()) for each in cells]
        if not columns:
            none = pa.nulls(len(lines), pa.large_string())
            return pa.RecordBatch.from_arrays([none], names=[LINE]).select([])
        return pa.RecordBatch.from_arrays(columns, names=list(self._wanted))

    def _key(self, key: str) -> _Key:
        """Column and cell of a key; one with a NUL, or that is no Unicode, names no cell."""
        folded = fold_case(key)
        place = self._places.get(folded)
        is_name = _BETWEEN not in key and _encodes(key)
        return _Key(folded, None if place == self._line else place, is_name)


def _text(value: Any) -> str | None:  # noqa: ANN401 - a value of JSON
    """Text of a value; None for an empty text and for one that cannot be kept."""
    if value is True or value is False:
        return "true" if value else "false"
    text = value if value is None or isinstance(value, str) else _written(value)
    if not text or "\0" in text or NO_TEXT in text:
        return None
    return text if _encodes(text) else None


def _encodes(text: str) -> bool:
    """Whether a text is Unicode, without halves of surrogate pairs."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def cells_of(line: str) -> Iterator[tuple[str, str]]:
    """Name and text of each cell of a line, as the column ``LINE`` has it; empty for NULL."""
    parts = line.split(_BETWEEN) if line else []
    return zip(parts[::2], parts[1::2], strict=True)


def _written(value: Any) -> str | None:  # noqa: ANN401 - a value of JSON
    try:
        return _WRITTEN.encode(value)
    except RecursionError:
        return None
