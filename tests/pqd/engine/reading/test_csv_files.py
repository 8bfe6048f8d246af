"""Delimited text is read row by row: as Python's csv module does, and no row sways another."""

import csv
import gzip
import io
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pqd.engine.duckdb import DuckDBEngine
from pqd.engine.reading import csv_files as delimited
from pqd.engine.tables import Role, Table, open_table
from pqd.errors import TableError

Scan = Callable[..., list[Any]]
Cells = tuple[str | None, ...]

ENDS = ("\n", "\r\n", "\r")
ROLES: tuple[Role, ...] = ("private", "synthetic")
# Rows by which a person might try to sway how others are read.
HOSTILE = [
    '9,"line\nbreak",9\n',
    '9,"1,""a"",2\n1,""a"",2\n1,""a"",2\n",9\n',
    '9,"' + '\r\n"",' * 400 + '",9\r\n',
    '9,"' + '""' * 700 + '",9\r',
    '"","",""\n',
    '9,"\0\t#;|\'\\",9\n',
    "9,',9\n",
    "9\n",
    "9,9,9,9,9\n",
    "9,9,\n",
    ",,\n",
    "\n\r\n\r",
    "#9,9,9\n",
    '9,5\' 11,"\ufeff"\n',
]


CONNECTION = duckdb.connect()


def described(path: Path, role: Role = "private") -> Table:
    return open_table(path, role)


def rows_of(path: Path, role: Role = "private", chosen: str = "*") -> list[Any]:
    """The rows as the engine reads them, in their order."""
    sql = f"SELECT {chosen} FROM {described(path, role).relation}"
    return CONNECTION.execute(sql).fetchall()


def expected(text: str, delimiter: str = ",") -> list[Cells]:
    """The rows as Python's csv module reads them, those as long as the header; no cell is empty."""
    header, *rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    whole = (row[: len(header)] for row in rows if len(row) >= len(header))
    return [tuple(cell or None for cell in row) for row in whole]


def written(path: Path, text: str) -> Path:
    content = text.encode()
    path.write_bytes(gzip.compress(content, 1) if path.suffix == ".gz" else content)
    return path


def quoted_cell(text: str, delimiter: str, rng: random.Random, alone: bool) -> str:
    special = any(sign in text for sign in ('"', "\n", "\r", delimiter))
    if special or (alone and not text) or rng.random() < 0.3:
        return '"' + text.replace('"', '""') + '"'
    return text


def made(rng: random.Random, longest: int, ends: Sequence[str], delimiter: str, most: int) -> str:
    """Well-formed text of one to three columns, with all that a cell may hold."""
    width = rng.choice([1, 2, 3])
    lines = [delimiter.join("abc"[:width]) + rng.choice(ends)]
    for _ in range(rng.randrange(most // 2, most)):
        texts = (
            "".join(rng.choices('ab"",;\t\n\r é🦓#\'\\\0', k=rng.randrange(longest)))
            for _ in range(width)
        )
        cells = [quoted_cell(text, delimiter, rng, width == 1) for text in texts]
        lines.append(delimiter.join(cells) + rng.choice(ends))
        if rng.random() < 0.05:
            lines.append(rng.choice(ends))
    text = "".join(lines)
    return text.rstrip("\r\n") if rng.random() < 0.4 else text


@pytest.mark.parametrize("ends", [ENDS, *((end,) for end in ENDS)])
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_rows_are_those_of_pythons_csv_module(
    suffix: str, ends: Sequence[str], tmp_path: Path
) -> None:
    rng = random.Random(1)  # noqa: S311 - texts to try
    # The last is longer than the engine's vectors of 2,048 rows.
    for most in (*[60] * 6, 2_500):
        delimiter = rng.choice(",;")
        text = made(rng, rng.choice([3, 40]), ends, delimiter, most)
        if rng.random() < 0.3:
            text = "\ufeff" + text
        path = written(tmp_path / f"t{suffix}", text)
        rows = expected(text.removeprefix("\ufeff"), delimiter)
        # Mixed line ends in a public table are an error.
        for role in ROLES if len(ends) == 1 else ROLES[:1]:
            assert rows_of(path, role) == rows
            assert rows_of(path, role, "a") == [row[:1] for row in rows]
            assert rows_of(path, role, "count(*)") == [(len(rows),)]


@pytest.mark.parametrize("end", ENDS)
def test_one_more_row_leaves_all_others_as_they_are(end: str, tmp_path: Path) -> None:
    lines = [f'{i},"x{end}""{i}""",7{end}' for i in range(60)]
    header = f"a,b,c{end}"
    for hostile in HOSTILE:
        alone = expected("a,b,c\n" + hostile)
        for place in (0, 31, 60):
            rows = expected(header + "".join(lines))
            rows[place:place] = alone
            text = header + "".join([*lines[:place], hostile, *lines[place:]])
            path = written(tmp_path / "t.csv", text)
            assert rows_of(path) == rows
    table = described(path)
    assert json.loads(DuckDBEngine(table).content(table, b"key"))[1] == str(len(rows))


def test_a_row_beyond_the_chunks_of_threads_counts_as_one(scan: Scan, tmp_path: Path) -> None:
    """The file by which a count moved by 185,000 for one row."""
    lines = ["age,note,inctot\n", *(f"{i % 90},plain text,7\n" for i in range(700_000))]
    public = written(tmp_path / "s.csv", "age,note,inctot\n5,x,7\n")
    queries = ["SELECT COUNT(*) FROM D", "SELECT COUNT(*) FROM D WHERE age >= 45"]
    assert scan(written(tmp_path / "p.csv", "".join(lines)), public, *queries) == [700_000, 349_990]
    lines.insert(450_001, '99,"' + '1,""a"",2\n' * 150_000 + '",7\n')
    assert scan(written(tmp_path / "p.csv", "".join(lines)), public, *queries) == [700_001, 349_991]


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_rows_beyond_every_size_of_the_engine_are_rows(suffix: str, tmp_path: Path) -> None:
    """By default its buffers are of 32 MB, its lines of 2 MB, its chunks for threads of 8 MB."""
    plain = '5,"a ""quoted""\nline",7\r\n' * 400_000
    giant = '9,"' + '1,""a"",2\r\n\n' * 3_400_000 + '",7\r\n'
    assert len(giant) > 1 << 25
    path = written(tmp_path / f"t{suffix}", f"a,b,c\r\n{plain}{giant}{plain}")
    chosen = "count(*), sum(CAST(a AS INT)), sum(CAST(c AS INT)), max(length(b))"
    length = len('1,"a",2\r\n\n') * 3_400_000
    assert rows_of(path, chosen=chosen) == [(800_001, 4_000_009, 5_600_007, length)]


def test_a_buffer_holds_all_of_the_text(tmp_path: Path) -> None:
    """At the cut between two buffers the engine loses rows beside empty lines."""
    text = "a,b\n" + "1,2\n" * 5_000_000
    for name in ("t.csv", "t.csv.gz"):
        assert delimited.buffer_for(written(tmp_path / name, text)) > len(text)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text.encode(), 1) * 2)
    assert delimited.buffer_for(tmp_path / "t.csv.gz") > 2 * len(text)


MALFORMED: dict[str, tuple[bytes, list[Cells]]] = {
    "too few cells": (b"1,2\n3\n5,6\n", [("1", "2"), ("5", "6")]),
    "too many cells": (b"1,2,3\n4,5\n", [("1", "2"), ("4", "5")]),
    "too many, with a line break": (b'1,2,"\n",3\n4,5\n', [("1", "2"), ("4", "5")]),
    "too many, not UTF-8": (b"1,2,\xff\n4,5\n", [("1", "2"), ("4", "5")]),
    "not UTF-8": (b"1,\xff\n\xc3,4\n5,6\n", [("5", "6")]),
    "a quote within": (b'1,5" long\n2,"3"\n', [("1", '5" long'), ("2", "3")]),
    "quotes that are not doubled": (b'1,"a "b" c"\n3,4\n', [("1", "a b c"), ("3", "4")]),
    "an open quote": (b'1,2\n3,"4\n5,6\n', [("1", "2"), ("3", "4\n5,6")]),
    "a zero byte": (b"1,\0\n3,4\n", [("1", "\0"), ("3", "4")]),
    "UTF-16": (b"1,2\n" + "3,4".encode("utf-16"), [("1", "2")]),
    "another delimiter": (b"1;2\n3,4\n", [("3", "4")]),
    "another quote": (b"'1,2',3\n4,5\n", [("'1", "2'"), ("4", "5")]),
}


@pytest.mark.parametrize("fault", MALFORMED)
def test_malformed_private_rows_follow_stated_rules(fault: str, tmp_path: Path) -> None:
    content, rows = MALFORMED[fault]
    path = tmp_path / "p.csv"
    path.write_bytes(b"a,b\n" + content)
    assert rows_of(path) == rows


def test_a_cell_that_is_not_utf_8_drops_its_row_where_its_column_is_read(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * 5_000 + b"3,\xff\n" + b"1,2\n" * 5_000)
    assert rows_of(path, chosen="count(a)") == rows_of(path, chosen="count(*)") == [(10_001,)]
    assert rows_of(path, chosen="count(b)") == [(10_000,)]
    assert rows_of(path, chosen="count(a), count(b)") == [(10_000, 10_000)]


@pytest.mark.parametrize("content", ["1\n", "1,2,3\n", "1,2\n3\n", '1,"2"3\n', "1,2\n3,4\r\n"])
def test_odd_public_rows_are_an_error(content: str, tmp_path: Path) -> None:
    table = described(written(tmp_path / "s.csv", "a,b\n" + content), "synthetic")
    with pytest.raises(TableError, match="line ends of one kind"):
        DuckDBEngine(table).schema(table, ["a"], {})


@pytest.mark.parametrize("end", ENDS)
def test_only_the_first_line_is_the_header(end: str, tmp_path: Path) -> None:
    path = written(tmp_path / "p.csv", f"a,b{end}1;2;3;4,5{end}")
    assert described(path).columns == ("a", "b")
    # What follows is neither decoded nor looked into for quotes.
    path.write_bytes(f'a,b{end}"'.encode() + b"\xff\0")
    assert described(path).columns == ("a", "b")
    for follows in ('1,2"', "1,2"):
        with pytest.raises(TableError, match="not a CSV header"):
            described(written(path, f'"a,b{end}{follows}{end}'))


def test_a_line_without_end_is_no_header(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="does not begin with a line of column names"):
        described(written(tmp_path / "p.csv", "x" * (1 << 21)))
