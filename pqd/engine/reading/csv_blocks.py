"""Rows of delimited text in blocks; each block is proved to begin at the beginning of a row.

LF, CRLF and CR end rows, in any mixture; an empty line is no row, even if there is one column.  A
cell is NULL if it is empty (quoted or not), is not UTF-8, or holds a NUL.

Behind each block, pqd puts a sentinel: a row with a secret random text.  A *fresh* reader of Arrow
parses the block and the sentinel in one piece.  The block is accepted only if the reader returns
the sentinel as a row of its own.  If not, the block is cut at another line end; if no cut is right,
the block grows.

Wherever the text is cut, the rows are those of one parse of the whole text.  Proof by induction:
every block begins at the beginning of a row.

* The first block begins behind the header, and so at the beginning of a row.
* Suppose that a block begins at the beginning of a row.  A parser remembers nothing from row to
  row, so the fresh parser reads this block as the parser of the whole text does.  The block ends
  with a line end.  Behind a line end a parser is at the beginning of a row, or within quotes.
  Within quotes it would read the sentinel, which has no quote, as part of a cell that began before,
  and no cell would be the secret text alone.  But one cell is the secret text alone.  So the next
  block begins at the beginning of a row.
* The last block ends with the text, and the end of the text ends the last row, even within quotes.

So a wrong guess of a cut costs time, but no row.  A parser never sees a NUL or bytes that are not
UTF-8: ``Utf8Reader`` replaces them by other characters.
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

# Bytes of a block; if a row is longer, the block grows.
BLOCK_SIZE = 1 << 20
# Most bytes of a row.  Arrow counts the bytes of a block in 31 bits.  A block may be longer than a
# row by a sentinel, which is no longer than a header, and by the bytes that are read at a time.
LONGEST_ROW = (1 << 31) - (1 << 24)
# Bytes at the end of a block that are searched first for a cut.
_TAIL = 1 << 15
_LF, _CR, _QUOTE = b'\n\r"'
# Two characters that no Unicode text may hold; they replace a NUL, and bytes that are not UTF-8.
NO_TEXT = "\ufffe\uffff"
_NO_TEXT = NO_TEXT.encode()


def _marked(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)  # noqa: S101 - it decodes and does nothing else
    return NO_TEXT, error.end


codecs.register_error("pqd.no_text", _marked)


class LongRowError(Exception):
    """Error of a row that is longer than the limit."""


def csv_blocks(
    file: BufferedIOBase,
    names: Sequence[str],
    wanted: Sequence[str],
    delimiter: str,
    longest: int,
    odd: Odd,
) -> Iterator[pa.RecordBatch]:
    """Rows of a ``file`` in blocks: the text of each cell of the ``wanted`` columns.

    ``names`` are all columns of the file, which is read from behind its header.  A row with more or
    fewer cells than the header is left out.  For each block, ``odd`` is called once for each wrong
    number of cells, and once for each column with cells that are not text.

    Raises
    ------
    LongRowError
        If a row has more than ``longest`` bytes; a byte that is replaced counts as six.
    pyarrow.ArrowException, OSError, EOFError, zlib.error
        If the file cannot be read to its end.
    """
    reader, parser = Utf8Reader(file), _Parser(names, wanted, delimiter, odd)
    # Each block begins with a line end, in later blocks with that of the row before.  Without it,
    # Arrow might take the start of a row for a byte order mark, and would refuse a text of no rows.
    rest, size = memoryview(b"\n"), min(BLOCK_SIZE, longest)
    while True:
        block = bytearray(rest)
        # The block before is freed.
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
        # At most half of a block is read again, so the time for all blocks is linear.
        size = min(max(size, 2 * len(rest)), longest)


def _cuts(block: bytearray, size: int, delimiter: str) -> Iterator[int]:
    """Places behind line ends in ``block[:size]`` where its last row may end, likely places first.

    Without quotes, the only place is the last line end.  With quotes, the first two places are
    guessed from the block's tail: the last line end behind an even number of quotes, and the last
    line end behind an odd number.  The third place is found by reading row by row.  The line end at
    the beginning belongs to the block before.
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
    """Pattern of a row; a cell that begins with a quote may have text behind its closing quote.

    The pattern never backtracks, so its time is linear in the row, even if it does not match.
    """
    plain = f"[^{re.escape(delimiter)}\r\n]*+"
    quoted = '"[^"]*+(?:""[^"]*+)*+"'
    cell = f'(?:{quoted}{plain}|(?!"){plain})'
    return re.compile(f"(?:{cell}{re.escape(delimiter)})*+{cell}[\r\n]".encode())


class Utf8Reader:
    """Reader of a file's bytes; ``NO_TEXT`` replaces a NUL and bytes that are not UTF-8.

    Other bytes below 128 stay, and with them all that separates rows and cells.  So a replaced byte
    changes its own cell alone.
    """

    def __init__(self, file: BufferedIOBase) -> None:
        """Read from the current place of ``file``."""
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8")("pqd.no_text")
        self._ended = False

    def read(self, size: int) -> bytes:
        """Text of the next ``size`` bytes, or more to complete a character; empty at the end.

        The text may be six times as long as the bytes.
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
    """Parser of blocks, which also tells whether a block ends at the end of a row."""

    def __init__(
        self, names: Sequence[str], wanted: Sequence[str], delimiter: str, odd: Odd
    ) -> None:
        """Draw the sentinel; at least one column is read, to look for the sentinel in it."""
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
        """Note a row that is left out; it is reported only if its block is accepted."""
        width = f"a row has {row.actual_columns} cells, and the header has {row.expected_columns}"
        self._odd_rows[width] = None
        return "skip"

    def rows(self, block: bytearray, end: int) -> pa.RecordBatch | None:
        """Rows of ``block[:end]``; None if no row ends there; ``block`` has room for a sentinel."""
        last = end + len(self.sentinel)
        behind, block[end:last] = block[end:last], self.sentinel
        table = self._parsed(block, last)
        block[end:last] = behind
        rows = table.num_rows - 1
        if rows < 0 or _octets_of(table.column(self._column)[rows]) != self._secret:
            return None
        return self._record_batch(table.slice(0, rows))

    def last_rows(self, block: bytearray) -> pa.RecordBatch:
        """Rows of the last block, which ends with the text."""
        return self._record_batch(self._parsed(block, len(block)))

    def _parsed(self, block: bytearray, end: int) -> pa.Table:
        self._odd_rows.clear()
        return pcsv.read_csv(
            pa.BufferReader(memoryview(block)[:end]),
            # Arrow's block is larger than the text, so Arrow does not cut the text.
            read_options=pcsv.ReadOptions(
                use_threads=False, block_size=end + 1, column_names=self._names
            ),
            parse_options=self._parsing,
            convert_options=self._converting,
        )

    def _record_batch(self, table: pa.Table) -> pa.RecordBatch:
        """Wanted cells of a block; ``odd`` is called for its odd rows and cells."""
        for width in self._odd_rows:
            self._odd(width)
        cells = [self._texts(name, table.column(name)) for name in self._wanted]
        return pa.RecordBatch.from_arrays(cells, names=list(self._wanted))

    def _texts(self, name: str, column: pa.ChunkedArray) -> pa.LargeStringArray:
        """Cells of column ``name``; a cell that is not text becomes NULL."""
        cells = column.chunk(0) if column.num_chunks else pa.nulls(0, column.type)
        # All bytes are searched at once first, since hardly any block has such a cell.
        held = octets(cells).tobytes()
        if held.isascii() or _NO_TEXT not in held:
            return cells
        self._odd("a cell is not UTF-8, or holds a NUL", name)
        return pc.if_else(pc.match_substring(cells, NO_TEXT), no_value(cells.type), cells)


def _octets_of(cell: pa.Scalar) -> bytes | None:
    """Bytes of a text, which need not be UTF-8."""
    held = cell.as_buffer()
    return None if held is None else bytes(held)
