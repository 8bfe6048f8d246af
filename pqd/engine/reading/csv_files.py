"""Delimited text (CSV, TSV) before it is read: its header, and how much there is of it."""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from io import BufferedReader, StringIO
from pathlib import Path

from pqd.errors import TableError

DELIMITERS = ",;\t|"
_BLOCK = 1 << 24
_LONGEST_HEADER = 1 << 20
_LINE_END = re.compile(rb"[\r\n]")


def is_packed(path: Path) -> bool:
    """Whether the file is compressed, by its name."""
    return path.suffix.lower() == ".gz"


def header_of(path: Path, what: str, delimiter: str | None) -> tuple[list[str], str]:
    """Column names and delimiter: without a given one, the sign that splits them most.

    Nothing is decoded or guessed but the header: what follows must not decide what is found.

    Raises
    ------
    TableError
        If there is no readable header; it names the table as ``what``.
    """
    header = _header_text(path, what)
    try:
        if delimiter is None:
            delimiter = max(DELIMITERS, key=lambda mark: _width(header, mark))
        return _fields(header, delimiter), delimiter
    except csv.Error:
        raise TableError(
            f"the first line of {what} is not a CSV header; check its quotes"
        ) from None


def buffer_for(path: Path) -> int:
    """Size of a buffer that holds the whole of the text."""
    try:
        if not is_packed(path):
            return max(_BLOCK, path.stat().st_size + 1)
        with _opened(path) as file:
            return max(_BLOCK, sum(map(len, iter(lambda: file.read(_BLOCK), b""))) + 1)
    except (OSError, EOFError, zlib.error):
        # The engine fails on it too, and says so without a word of the content.
        return _BLOCK


def _opened(path: Path) -> gzip.GzipFile | BufferedReader:
    return gzip.open(path, "rb") if is_packed(path) else path.open("rb")


def _header_text(path: Path, what: str) -> str:
    try:
        with _opened(path) as file:
            line = _LINE_END.split(file.read(_LONGEST_HEADER), 1)[0]
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TableError(f"{what} is not text in UTF-8; is it a CSV?") from None
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise TableError(f"{what} is cut short, or not compressed; is it a CSV?") from None
    except OSError as error:
        raise TableError(f"{what} cannot be read: {error.strerror or 'its disk fails'}") from None
    if not text.strip():
        raise TableError(f"{what} is empty; its first line must name the columns")
    if "\0" in text or len(line) == _LONGEST_HEADER:
        raise TableError(f"{what} does not begin with a line of column names; is it a CSV?")
    return text


def _width(header: str, delimiter: str) -> int:
    try:
        return len(_fields(header, delimiter))
    except csv.Error:
        return 0


def _fields(header: str, delimiter: str) -> list[str]:
    return next(csv.reader(StringIO(header, newline=""), delimiter=delimiter, strict=True))
