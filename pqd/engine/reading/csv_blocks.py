"""Rows of delimited text in blocks, each of which is proved to begin where the one before ended.

LF, CRLF and CR end rows, in any mixture; an empty line is no row, even of one column.  A cell is
NULL if it is empty, quoted or not, if it is not UTF-8, and if it holds a NUL.

A *fresh* reader of Arrow's parses a block in one piece, with a sentinel behind it: a row of a
secret random text.  The block counts only if the reader gives the sentinel back as a row of its
own.  If it does not, the block is cut at another line end; if no cut is right, the block grows.

The rows are those of one parse of the whole text, wherever it is cut.  Proof by induction: every
block begins at the beginning of a row.

* The first block does, since it begins behind the header.
* Take a block that does.  A parser remembers nothing from row to row, so the fresh one reads the
  block as the parser of the whole text does.  The block ends with a line end.  Behind a line end a
  parser is at the beginning of a row, or within quotes.  Were it within quotes, it would take the
  sentinel, which has no quote, for a part of a cell that began before it, and no cell would be the
  secret text alone.  One cell was.  So the next block begins at the beginning of a row.
* The last block ends where the text does, which ends the last row, even within quotes.

A wrong guess where to cut therefore costs time, and no row.  A parser never sees a NUL, nor bytes
that are not UTF-8: ``Utf8Reader`` has put other signs in their place.
"""

from __future__ import annotations

import codecs
import os
import re
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv

from pqd.engine.reading.buffers import no_value, octets

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from io import BufferedIOBase

    from pqd.engine.reading.csv_files import Odd

# Bytes of a block; where a row is longer, it grows.
BLOCK_SIZE = 1 << 20
# Most bytes of a row.  Arrow counts them in 31 bits, and a block may be longer by those of a
# sentinel, which is no longer than a header, and of what was read at a time.
LONGEST_ROW = (1 << 31) - (1 << 24)
# Bytes at the end of a block in which a cut is looked for first.
_TAIL = 1 << 15
_LF, _CR, _QUOTE = b'\n\r"'
# Two signs that Unicode keeps from any text: what is not UTF-8 becomes them, and a NUL does.
NO_TEXT = "\ufffe\uffff"
_NO_TEXT = NO_TEXT.encode()


def _marked(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)  # noqa: S101 - it decodes and does nothing else
    return NO_TEXT, error.end


codecs.register_error("pqd.no_text", _marked)


class LongRowError(Exception):
    """A row that is longer than the most that is read of one."""


def csv_blocks(
    file: BufferedIOBase,
    names: Sequence[str],
    wanted: Sequence[str],
    delimiter: str,
    longest: int,
    odd: Odd,
) -> Iterator[pa.RecordBatch]:
    """Rows of a ``file`` in blocks: the text of each cell of the ``wanted`` columns, of ``names``.

    The file stands behind its header, and no row of it has more than ``longest`` bytes.  A row that
    is longer or shorter than the header is left out; ``odd`` is told of it, once for each such
    width of a block, and of cells that are not text, with the name of their column.

    Raises
    ------
    LongRowError
        If a row has more than ``longest`` bytes, where an odd byte counts as six.
    pyarrow.ArrowException, OSError, EOFError, zlib.error
        If the file breaks.
    """
    reader, parser = Utf8Reader(file), _Parser(names, wanted, delimiter, odd)
    # A line end comes first, in later blocks that of the row before: else a first row could begin
    # with what is taken for a mark of the byte order, and a text without rows would be an error.
    rest, size = memoryview(b"\n"), min(BLOCK_SIZE, longest)
    while True:
        block = bytearray(rest)
        # The block before is let go of.
        rest = memoryview(b"")
        while len(block) < size and (more := reader.read(min(size - len(block), BLOCK_SIZE))):
            block += more
        end = len(block)
        if end < size:
            yield parser.last_rows(block)
            return
        block += parser.sentinel
        for cut in _cuts(block, end, delimiter):
            rows = parser.rows(block, cut)
            if rows is not None:
                yield rows
                rest, size = memoryview(block)[cut - 1 : end], BLOCK_SIZE
                break
        else:
            if end >= longest:
                raise LongRowError
            rest, size = memoryview(block)[:end], 2 * end
        # What is read again is at most as much as what is new, so all takes linear time.
        size = min(max(size, 2 * len(rest)), longest)


def _cuts(block: bytearray, size: int, delimiter: str) -> Iterator[int]:
    """Places behind line ends in ``block[:size]`` at which its last row may end, likely ones first.

    Without quotes it is the last.  With them, the first two are guessed from the block's tail: the
    last line end behind an even number of quotes, and the last behind an odd number.  The third is
    found by reading row by row.  The line end at the beginning is of the block before.
    """
    last = max(block.rfind(b"\n", 1, size), block.rfind(b"\r", 1, size)) + 1
    if not last:
        return
    if block.find(b'"', 0, size) < 0:
        yield last
        return
    start = max(1, size - _TAIL)
    tail = np.frombuffer(block, np.uint8, size)[start:]
    ends = np.flatnonzero((tail == _LF) | (tail == _CR))
    quotes = np.searchsorted(np.flatnonzero(tail == _QUOTE), ends)
    odd = (block.count(b'"', 0, start) + quotes) % 2
    for parity in (0, 1):
        likely = ends[odd == parity]
        if likely.size:
            yield start + int(likely[-1]) + 1
    end = _end_of_rows(block, size, delimiter)
    if end > 1:
        yield end


def _end_of_rows(block: bytearray, size: int, delimiter: str) -> int:
    """Place behind the last row that ends in ``block[:size]``, read as Arrow's parser reads."""
    row = _row(delimiter)
    end = 0
    with memoryview(block) as view:
        while found := row.match(view, end, size):
            end = found.end()
    return end


def _row(delimiter: str) -> re.Pattern[bytes]:
    """Pattern of a row: a quote opens a cell only at its beginning, and text may follow the last.

    It never goes back, so it takes time in proportion to the row, also where it does not match.
    """
    plain = f"[^{re.escape(delimiter)}\r\n]*+"
    quoted = '"[^"]*+(?:""[^"]*+)*+"'
    cell = f'(?:{quoted}{plain}|(?!"){plain})'
    return re.compile(f"(?:{cell}{re.escape(delimiter)})*+{cell}[\r\n]".encode())


class Utf8Reader:
    """Reader of a file's bytes, in which ``NO_TEXT`` stands for a NUL and for what is not UTF-8.

    Other signs below 128 stay where they are, so what separates rows and cells does too: an odd
    byte is of its own cell alone.
    """

    def __init__(self, file: BufferedIOBase) -> None:
        """Go on where ``file`` stands."""
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8")("pqd.no_text")
        self._ended = False

    def read(self, size: int) -> bytes:
        """Text of the next ``size`` bytes, of more where they are part of a sign; none at the end.

        It may be six times as long.
        """
        text = b""
        while not text and not self._ended:
            held = self._file.read(size)
            self._ended = not held
            if held.isascii() and b"\0" not in held and not self._decoder.getstate()[0]:
                return held
            decoded = self._decoder.decode(held, final=self._ended)
            text = decoded.replace("\0", NO_TEXT).encode()
        return text


class _Parser:
    """Parser of blocks, which tells whether a block ends where a row does."""

    def __init__(
        self, names: Sequence[str], wanted: Sequence[str], delimiter: str, odd: Odd
    ) -> None:
        """Draw the sentinel, of which one cell is read at least."""
        self._wanted, self._odd = wanted, odd
        self._odd_rows: dict[str, None] = {}
        read = list(wanted or names[:1])
        self._column, self._secret = read[0], os.urandom(16).hex().encode()
        cells = [self._secret if name == self._column else b"" for name in names]
        self.sentinel = b"\n" + delimiter.encode().join(cells) + b"\n"
        self._names = list(names)
        self._parsing = pcsv.ParseOptions(
            delimiter=delimiter, newlines_in_values=True, invalid_row_handler=self._left_out
        )
        self._converting = pcsv.ConvertOptions(
            column_types=dict.fromkeys(read, pa.large_string()),
            include_columns=read,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
            check_utf8=False,
        )

    def _left_out(self, row: pcsv.InvalidRow) -> str:
        """Note a row that is left out: whether the block counts, and the row, is not known yet."""
        width = f"a row has {row.actual_columns} cells, and the header has {row.expected_columns}"
        self._odd_rows[width] = None
        return "skip"

    def rows(self, block: bytearray, end: int) -> pa.RecordBatch | None:
        """Rows of ``block[:end]``, None unless its last one ends there; behind it is room."""
        last = end + len(self.sentinel)
        behind, block[end:last] = block[end:last], self.sentinel
        table = self._parsed(block, last)
        block[end:last] = behind
        rows = table.num_rows - 1
        if rows < 0 or _octets_of(table.column(self._column)[rows]) != self._secret:
            return None
        return self._record_batch(table.slice(0, rows))

    def last_rows(self, block: bytearray) -> pa.RecordBatch:
        """Rows of a block that ends where the text does."""
        return self._record_batch(self._parsed(block, len(block)))

    def _parsed(self, block: bytearray, end: int) -> pa.Table:
        self._odd_rows.clear()
        return pcsv.read_csv(
            pa.BufferReader(memoryview(block)[:end]),
            # A block larger than the text: nothing is cut.
            read_options=pcsv.ReadOptions(
                use_threads=False, block_size=end + 1, column_names=self._names
            ),
            parse_options=self._parsing,
            convert_options=self._converting,
        )

    def _record_batch(self, table: pa.Table) -> pa.RecordBatch:
        """Wanted cells of a block; ``odd`` hears of its rows and cells that are odd."""
        for width in self._odd_rows:
            self._odd(width)
        cells = [self._texts(name, table.column(name)) for name in self._wanted]
        return pa.RecordBatch.from_arrays(cells, names=list(self._wanted))

    def _texts(self, name: str, column: pa.ChunkedArray) -> pa.LargeStringArray:
        """Cells of column ``name``, those that are not text without a value."""
        cells = column.chunk(0) if column.num_chunks else pa.nulls(0, column.type)
        # Asked of a block's bytes first, since hardly any has it.
        held = octets(cells).tobytes()
        if held.isascii() or _NO_TEXT not in held:
            return cells
        self._odd("a cell is not UTF-8, or holds a NUL", name)
        return pc.if_else(pc.match_substring(cells, NO_TEXT), no_value(cells.type), cells)


def _octets_of(cell: pa.Scalar) -> bytes | None:
    """Bytes of a text, which need not be UTF-8."""
    held = cell.as_buffer()
    return None if held is None else bytes(held)
