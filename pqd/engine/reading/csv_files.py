"""Delimited text (CSV, TSV): its header, and its rows in blocks.

Rows are read one after the other by one lexer, which knows where a block's last row ends since it
has read it: nothing is cut, and nothing is guessed from rows.  LF, CRLF and CR end rows, in any
mixture; an empty line is no row, even of one column; an empty cell, quoted or not, is NULL.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import re
import zlib
from dataclasses import dataclass
from io import BufferedReader, StringIO
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv

from pqd.engine.reading.buffers import no_value, octets
from pqd.engine.reading.utf8 import NO_TEXT, Utf8Stream
from pqd.errors import TableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

DELIMITERS = ",;\t|"
# Bytes of a block.  A row that is longer takes the next size; the last is the most of the parser.
BLOCK_SIZES = (1 << 20, 1 << 23, 1 << 26, 1 << 29, (1 << 31) - 1)
_LONGEST_HEADER = 1 << 20
_NO_TEXT = NO_TEXT.encode()
_LINE_END = re.compile(rb"[\r\n]")
# Marks of the byte order at the beginning of a file, the longer first.
_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


class Odd(Protocol):
    """Listener for what is not as it should be: of whole rows, or of a column's cells."""

    def __call__(self, what: str, column: str | None = None, /) -> object:
        """Hear of it."""
        ...


def _pass_over(what: str, column: str | None = None, /) -> None:
    """Hear of nothing."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """Dialect of a file: its delimiter, and how many bytes its header has without the line end."""

    delimiter: str
    header_size: int


def is_packed(path: Path) -> bool:
    """Whether the file is compressed, by its name."""
    return path.suffix.lower() == ".gz"


def header_of(path: Path, what: str, delimiter: str | None) -> tuple[list[str], Dialect]:
    """Column names and dialect: without a given delimiter, the sign that splits them most.

    Nothing is decoded or guessed but the header: what follows must not decide what is found.

    Raises
    ------
    TableError
        If there is no readable header; it names the table as ``what``.
    """
    line, header = _header_line(path, what)
    try:
        if delimiter is None:
            delimiter = max(DELIMITERS, key=lambda mark: _width(header, mark))
        return _fields(header, delimiter), Dialect(delimiter, len(line))
    except csv.Error:
        raise TableError(
            f"the first line of {what} is not a CSV header; check its quotes"
        ) from None


def csv_blocks(
    file: gzip.GzipFile | BufferedReader,
    names: Sequence[str],
    wanted: Sequence[str],
    dialect: Dialect,
    block_size: int = BLOCK_SIZES[0],
    odd: Odd = _pass_over,
) -> Iterator[Mapping[str, pa.LargeStringArray]]:
    """Rows of a ``file`` in blocks: the text of each cell of the ``wanted`` columns, of ``names``.

    A row that is longer or shorter than the header is left out, and a cell that is not UTF-8 is
    NULL; ``odd`` is told, in words that quote no cell, and with the name of the cell's column.

    Raises
    ------
    pyarrow.ArrowInvalid
        If a row is longer than ``block_size``.
    OSError, EOFError, zlib.error
        If the file breaks.
    """

    def left_out(row: pcsv.InvalidRow) -> str:
        odd(f"a row has {row.actual_columns} cells, and the header has {row.expected_columns}")
        return "skip"

    file.read(dialect.header_size)
    # A line end first: without it a first row could begin with what is taken for a mark of
    # the byte order, and a file without rows would be an error.
    stream = Utf8Stream(file, b"\n")
    with pcsv.open_csv(
        pa.PythonFile(stream, "r"),
        read_options=pcsv.ReadOptions(
            use_threads=False, block_size=block_size, column_names=list(names)
        ),
        parse_options=pcsv.ParseOptions(
            delimiter=dialect.delimiter,
            newlines_in_values=True,
            invalid_row_handler=left_out,
        ),
        convert_options=pcsv.ConvertOptions(
            column_types=dict.fromkeys(wanted, pa.large_string()),
            include_columns=list(wanted),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
            check_utf8=False,
        ),
    ) as reader:
        for batch in reader:
            cells = {name: batch.column(name) for name in wanted}
            if stream.marked:
                cells = {name: _checked(each, name, odd) for name, each in cells.items()}
            yield cells


def _checked(cells: pa.LargeStringArray, name: str, odd: Odd) -> pa.LargeStringArray:
    """Cells of column ``name``, those that are not UTF-8 without a value."""
    # Asked of all of a block's bytes first, since hardly any has it.
    if _NO_TEXT in octets(cells).data.tobytes():
        no_text = pc.match_substring(cells, NO_TEXT)
        if pc.any(no_text).as_py():
            odd("a cell is not UTF-8", name)
            return pc.if_else(no_text, no_value(cells.type), cells)
    return cells


def opened_text(path: Path) -> gzip.GzipFile | BufferedReader:
    """Open a file at its beginning, unpacked where it is compressed."""
    return gzip.open(path, "rb") if is_packed(path) else path.open("rb")


def _header_line(path: Path, what: str) -> tuple[bytes, str]:
    """First line without its end, as bytes and as text."""
    line = b""
    try:
        with opened_text(path) as file:
            line = _LINE_END.split(file.read(_LONGEST_HEADER), 1)[0]
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError:
        name = next((name for mark, name in _MARKS.items() if line.startswith(mark)), None)
        found = (
            "is not text in UTF-8; is it a CSV? If so," if name is None else f"is text in {name};"
        )
        raise TableError(
            f"{what} {found} save it as UTF-8 (in a spreadsheet: CSV UTF-8), or convert it: "
            f"iconv -f {name or 'WINDOWS-1252'} -t UTF-8 FILE > NEW"
        ) from None
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise TableError(f"{what} is cut short, or not compressed; is it a CSV?") from None
    except OSError as error:
        raise TableError(f"{what} cannot be read: {error.strerror or 'its disk fails'}") from None
    if not text.strip():
        raise TableError(f"{what} is empty; its first line must name the columns")
    if "\0" in text or len(line) == _LONGEST_HEADER:
        raise TableError(f"{what} does not begin with a line of column names; is it a CSV?")
    return line, text


def _width(header: str, delimiter: str) -> int:
    try:
        return len(_fields(header, delimiter))
    except csv.Error:
        return 0


def _fields(header: str, delimiter: str) -> list[str]:
    return next(csv.reader(StringIO(header, newline=""), delimiter=delimiter, strict=True))
