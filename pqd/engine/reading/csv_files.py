"""Delimited text (CSV, TSV): its header, and its dialect, which the header alone decides."""

from __future__ import annotations

import codecs
import csv
import gzip
import re
import zlib
from dataclasses import dataclass
from io import BufferedReader, StringIO
from typing import TYPE_CHECKING, Protocol

from pqd.errors import TableError

if TYPE_CHECKING:
    from pathlib import Path

DELIMITERS = ",;\t|"
_LONGEST_HEADER = 1 << 20
_LINE_END = re.compile(rb"[\r\n]")
# Byte order marks at the beginning of a file, the longer marks first.
_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


class Odd(Protocol):
    """Listener for defects of rows, or of a column's cells."""

    def __call__(self, what: str, column: str | None = None, /) -> object:
        """Take a sentence on a defect of cells of ``column``, or of rows if it is None."""
        ...


@dataclass(frozen=True, slots=True)
class Dialect:
    """Dialect of a file: its delimiter, and how many bytes its header has without the line end."""

    delimiter: str
    header_size: int


def is_packed(path: Path) -> bool:
    """Whether the file is compressed, by its name."""
    return path.suffix.lower() == ".gz"


def header_of(path: Path, what: str, delimiter: str | None) -> tuple[list[str], Dialect]:
    """Column names and dialect; the default delimiter is the sign that gives most names.

    Only the header is read, since no row may decide the names or the dialect.

    Raises
    ------
    TableError
        If there is no readable header; the message names the table as ``what``.
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


def opened_text(path: Path) -> gzip.GzipFile | BufferedReader:
    """File opened at its beginning; a compressed file is unpacked."""
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
