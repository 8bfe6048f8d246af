"""Blocks of a CSV hold the rows of one parse of the whole text, wherever it is cut."""

import gzip
import io
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pcsv
import pytest

from pqd.engine.counting.batch import Batch
from pqd.engine.reading import csv_blocks as module
from pqd.engine.reading.csv_blocks import (
    LONGEST_ROW,
    NO_TEXT,
    LongRowError,
    Utf8Reader,
    csv_blocks,
)
from pqd.engine.sources import files
from pqd.engine.tables import Role, open_table
from pqd.errors import TableError
from tests.support.batches import read_batch

Rows = list[tuple[str | None, ...]]
Told = Counter[tuple[str, str | None]]
Reader = Callable[[bytes, Sequence[str], int], Rows]

ENDS = (b"\n", b"\r\n", b"\r")
PIECES = (
    *(b'"', b'"', b",", b"\n", b"\r", b"\r\n", b"\0", b"x", b'""', b"ab", b" ", b"\n\n", b'"a"'),
    *(b'",', b',"', b'"\n', b'\n"', b"\xff", b"\xc3", "é".encode(), b"\xef\xbb\xbf", b"z" * 40),
    *(bytes([sign]) for sign in range(32)),
)


def read(
    body: bytes | io.BufferedIOBase,
    names: Sequence[str],
    size: int,
    *,
    wanted: Sequence[str] | None = None,
    longest: int = LONGEST_ROW,
    told: Told | None = None,
) -> Rows:
    """Rows of a text without a header in blocks of ``size`` bytes."""
    heard: Told = Counter() if told is None else told
    rows: Rows = []
    file = io.BytesIO(body) if isinstance(body, bytes) else body
    read = names if wanted is None else wanted

    def odd(what: str, column: str | None = None, /) -> None:
        heard[what, column] += 1

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK_SIZE", size)
        for block in csv_blocks(file, names, read, ",", longest, odd):
            rows += zip(*(block[name].to_pylist() for name in read), strict=True)
    return rows


def text_of(body: bytes) -> bytes:
    """Text in UTF-8, with signs that no text has in place of what is none."""
    return body.decode("utf-8", "pqd.no_text").replace("\0", NO_TEXT).encode()


def parsed(body: bytes, names: Sequence[str], size: int) -> list[tuple[bytes | None, ...]]:
    """Cells of a text that Arrow cuts into blocks of ``size`` bytes, as pqd once had it."""
    with pcsv.open_csv(
        pa.BufferReader(b"\n" + body),
        read_options=pcsv.ReadOptions(use_threads=False, block_size=size, column_names=names),
        parse_options=pcsv.ParseOptions(
            newlines_in_values=True, invalid_row_handler=lambda _: "skip"
        ),
        convert_options=pcsv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.large_binary()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    ) as reader:
        columns = reader.read_all().columns
    return list(zip(*(column.to_pylist() for column in columns), strict=True))


def whole(body: bytes, names: Sequence[str]) -> Rows:
    """Rows of a text that is parsed in one piece."""
    text = text_of(body)
    cells = parsed(text, names, len(text) + 2)
    mark = NO_TEXT.encode()
    return [
        tuple(None if cell is None or mark in cell else cell.decode() for cell in row)
        for row in cells
    ]


def some_text(draw: random.Random, width: int) -> bytes:
    """Text of any pieces, or of cells most of which are in quotes."""
    if draw.random() < 0.4:
        return b"".join(draw.choices(PIECES, k=draw.randrange(1, 80)))
    rows = []
    for _ in range(draw.randrange(1, 14)):
        cells = [
            well_formed(draw)
            if draw.random() < 0.85
            else draw.choice((b"", b'a"b', b'"z"w', b"5' 11\"", b'"q"r"s', b'"\xe2\x82"', b"5\xff"))
            for _ in range(width)
        ]
        rows.append(b",".join(cells) + draw.choice(ENDS))
    return b"".join(rows)


def well_formed(draw: random.Random) -> bytes:
    """Cell of any signs, in quotes where it must be or by chance."""
    signs = ["a", '"', '"', "\n", "\r", ",", "é", "🦓", *map(chr, range(32))]
    text = "".join(draw.choices(signs, k=draw.choice((0, 1, 2, 4, 6, 60))))
    if draw.random() < 0.5 or any(sign in text for sign in '"\n\r,'):
        return b'"' + text.replace('"', '""').encode() + b'"'
    return text.encode()


def texts(seed: int, number: int) -> Iterator[tuple[bytes, list[str], int]]:
    """Random texts, their columns, and sizes of blocks."""
    draw = random.Random(seed)  # noqa: S311 - seeded
    for _ in range(number):
        width = draw.choice((1, 2, 3))
        size = draw.choice((1, 2, 3, 5, 9, 17, 40, 64, 300))
        yield some_text(draw, width), list("abc"[:width]), size


def differing(reader: Reader, number: int) -> int:
    """How many of some random texts are read otherwise than in one piece."""
    return sum(reader(*each) != whole(*each[:2]) for each in texts(7, number))


def test_rows_are_those_of_one_parse_of_the_whole_text() -> None:
    assert differing(read, 300) == 0


def test_a_reader_that_takes_every_block_to_end_where_a_row_does_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def trusting(self: Any, block: bytearray, end: int) -> object:
        return self._record_batch(self._parsed(block[:end], end))

    monkeypatch.setattr(module._Parser, "rows", trusting)
    assert differing(read, 100) > 10


def test_each_row_counts_alone_as_it_does_among_all_others() -> None:
    draw = random.Random(11)  # noqa: S311 - seeded
    for _ in range(60):
        names = list("abc"[: draw.choice((1, 2, 3))])
        rows = [
            (b",".join(well_formed(draw) for _ in names) or b'""') + draw.choice(ENDS)
            for _ in range(draw.randrange(1, 10))
        ]
        size = draw.choice((1, 3, 9, 40, 64))
        alone = [read(row, names, size) for row in rows]
        assert all(len(each) == 1 or not row.strip() for each, row in zip(alone, rows, strict=True))
        assert read(b"".join(rows), names, size) == [row for each in alone for row in each]


# A row with a NUL beside a quote: where it stood at a block's end, what followed it was lost.
SIZE = 1500
ATTACK = b'"a\0",' + b"y" * 700 + b',"p\n"""\n'
ROW = b'",\n,",x,w\n'


def attacked(shift: int, blocks: int = 1) -> bytes:
    """Text with the attack as far before the end of a block."""
    at = blocks * SIZE - shift - 1
    head = ROW * ((at - 5) // len(ROW))
    return head + b"p" * (at - len(head) - 5) + b",x,w\n" + ATTACK + ROW * 40


@pytest.mark.parametrize("raw", [False, True], ids=["text", "raw bytes"])
def test_no_row_sways_others_wherever_it_stands(raw: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a NUL would reach the parser."""
    if raw:
        monkeypatch.setattr(Utf8Reader, "read", lambda self, size: self._file.read(size))
    for shift in range(len(ATTACK) + 12):
        body = attacked(shift)
        rows = read(body, list("abc"), SIZE)
        assert [row[1:] for row in rows if row[1:] != ("x", "w")] == [("y" * 700, 'p\n"')]
        assert len(rows) == body.count(ROW) + 2


def test_blocks_that_arrow_cuts_are_swayed() -> None:
    swayed = 0
    for shift in range(0, len(ATTACK), 7):
        body = attacked(shift)
        swayed += parsed(body, list("abc"), SIZE) != parsed(body, list("abc"), len(body) + 2)
    assert swayed > 10


def test_a_text_longer_than_any_row_may_be_is_read_to_its_end() -> None:
    """With the attack at each block's end; a row that is too long is known by itself."""
    body = b"".join(attacked(shift, blocks=2) for shift in range(0, 700, 20))
    longest = 4 * SIZE
    assert len(body) > 20 * longest
    assert read(body, list("abc"), SIZE, longest=longest) == whole(body, list("abc"))


@pytest.mark.parametrize("size", [1, 7, 100])
def test_a_row_that_is_too_long_is_refused_and_no_shorter_one(size: int) -> None:
    for length in range(50, 60):
        row = b'"' + b"\n" * (length - 5) + b'",2\n'
        for body in (row, b"1,2\n" * 9 + row + b"3,4\n", row * 9):
            if length < 55:
                expected = whole(body, ["a", "b"])
                assert read(body, ["a", "b"], size, longest=55) == expected
            elif length > 55:
                with pytest.raises(LongRowError):
                    read(body + b"5,6\n" * 30, ["a", "b"], size, longest=55)


@pytest.mark.parametrize("size", [1, 2, 5, 16, 1 << 20])
@pytest.mark.parametrize("end", ENDS)
def test_a_nul_makes_its_cell_null_and_no_other(size: int, end: bytes) -> None:
    rows = [b'"1 ""x""",22,"3\r\n,"', b'"",55,"6"']
    text = end.join(rows) + end
    for place in range(len(text)):
        if text[place : place + 1].isalnum():
            body = text[:place] + b"\0" + text[place + 1 :]
            found = [cell for row in read(body, list("abc"), size) for cell in row]
            sound = [cell for row in read(text, list("abc"), size) for cell in row]
            changed = [new for new, old in zip(found, sound, strict=True) if new != old]
            assert changed == [None]


CASES: dict[str, tuple[bytes, Rows]] = {
    "a carriage return before what ends the next block": (
        b"1,2\r\n3,4\r\r\n5,6\r",
        [("1", "2"), ("3", "4"), ("5", "6")],
    ),
    "a carriage return in a cell": (b'"1\r\n",2\r\n"\r",3', [("1\r\n", "2"), ("\r", "3")]),
    "an end within quotes": (b'1,2\n3,"4\n5,6', [("1", "2"), ("3", "4\n5,6")]),
    "an end behind a quote": (b'1,2\n3,"4"', [("1", "2"), ("3", "4")]),
    "an open quote": (b'1,2\n"3,4\n5,6\n7,8\n', [("1", "2")]),
    "an open quote that another closes": (
        b'1,2\n"3,4\n5,6"",\n7,8",9\n0,1\n',
        [("1", "2"), ('3,4\n5,6",\n7,8', "9"), ("0", "1")],
    ),
    "quotes within": (
        b'1,5" 3\'\n6" "",2\n"a"b",3\n',
        [("1", "5\" 3'"), ('6" ""', "2"), ('ab"', "3")],
    ),
    "no row": (b"", []),
    "empty lines": (b"\n\r\n\r\r\n\n", []),
    "a mark of the byte order": (b"\xef\xbb\xbf1,2\n", [("\ufeff1", "2")]),
}


@pytest.mark.parametrize("case", CASES)
def test_odd_texts(case: str) -> None:
    body, rows = CASES[case]
    for size in range(1, 30):
        assert read(body, ["a", "b"], size) == rows
        packed = io.BytesIO(gzip.compress(body))
        with gzip.open(packed) as file:
            assert read(file, ["a", "b"], size) == rows


@pytest.mark.parametrize("wanted", ["", "a", "b", "c", "ca", "cba"])
def test_only_wanted_columns_are_given(wanted: str) -> None:
    body = b'"1\n,",,3\n4,\xff,6\n' * 20
    rows = whole(body, list("abc"))
    for size in (1, 10, 100):
        found = read(body, list("abc"), size, wanted=list(wanted))
        assert found == (
            [tuple(row["abc".index(name)] for name in wanted) for row in rows] if wanted else []
        )


def test_what_is_odd_is_told_once_whatever_was_tried() -> None:
    """Of blocks that did not count nothing is told, though rows were left out of them."""
    odd = b'1,"2\n3\n4\n5,"\n6\n7,\0\n'
    short = ("a row has 1 cells, and the header has 2", None)
    cell = ("a cell is not UTF-8, or holds a NUL", "b")
    for size in (1, 2, 3, 8, 1 << 20):
        told: Told = Counter()
        assert read(odd, ["a", "b"], size, told=told) == [("1", "2\n3\n4\n5,"), ("7", None)]
        assert told == {short: 1, cell: 1}
        told.clear()
        assert read(b'1,"\n2\n3\n"\n' * 9, ["a", "b"], size, told=told) == [("1", "\n2\n3\n")] * 9
        assert not told
        read(odd, ["a", "b"], size, wanted=["a"], told=told)
        assert told == {short: 1}


def test_the_last_cut_is_at_the_last_row_that_ends() -> None:
    """So a block grows only where no row ends in it."""
    for body, names, _ in texts(13, 60):
        block = bytearray(b"\n" + text_of(body))
        size = len(block)
        parser = module._Parser(names, names, ",", lambda *_: None)
        block += parser.sentinel
        ends = [place + 1 for place in range(1, size) if block[place] in b"\r\n"]
        right = [end for end in ends if parser.rows(block, end) is not None]
        assert max(right, default=1) == max(module._end_of_rows(block, size, ","), 1)


SLOW = {
    "a long row": b'1,"' + b'x,\n""' * 40_000 + b'"\n',
    "a quote that is never closed": b'1,"2\n' + b"3,4\n" * 50_000,
    "quotes that are never doubled": b'1,"2\n3,4"" "\n1,5" 3\n' * 10_000,
    "long rows among short ones": (b"1,2\n" * 7 + b'3,"' + b"\n" * 5_000 + b'"\n') * 40,
}


@pytest.mark.parametrize("case", SLOW)
def test_a_text_is_parsed_a_few_times_at_most(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = 0
    parse = module._Parser._parsed

    def counted(self: Any, block: bytearray, end: int) -> pa.Table:
        nonlocal seen
        seen += end
        return parse(self, block, end)

    monkeypatch.setattr(module._Parser, "_parsed", counted)
    body = SLOW[case]
    assert read(body, ["a", "b"], 4096) == whole(body, ["a", "b"])
    assert seen < 13 * len(body)


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_a_row_of_a_copy_has_a_most_length(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stated, whatever the file is packed to; of a private table nothing is told by it."""
    monkeypatch.setattr(files, "_LONGEST_PUBLIC_ROW", 1 << 21)
    path = tmp_path / name

    def columns(length: int, role: Role) -> Batch:
        body = b"a,b\n1,2\n3," + b"x" * length + b"\n5,6\n"
        path.write_bytes(gzip.compress(body) if name.endswith(".gz") else body)
        return read_batch(open_table(path, role), ["a"])

    assert columns(1 << 20, "synthetic").rows == columns(1 << 22, "private").rows == 3
    with pytest.raises(
        TableError,
        match=f"{name} could not be read to its end; a row of it has more than 64 MB; look",
    ):
        columns(1 << 22, "synthetic")
