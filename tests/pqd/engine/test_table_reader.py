"""Tables are read row by row: as Python's csv module does, whatever the blocks, in every form."""

import csv
import gzip
import io
from collections.abc import Callable, Sequence
from datetime import datetime, time
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqd.engine.counting.batch import Batch, column_of, stacked
from pqd.engine.reading import csv_blocks
from pqd.engine.synthetic_table import SyntheticTable
from pqd.engine.tables import Role, open_table
from pqd.errors import PqdError, RunError, TableError
from pqd.sql.schema import Kind
from tests.support.batches import read_batch
from tests.support.drawing import examples

Cells = tuple[object, ...]

ENDS = ("\n", "\r\n", "\r")


def rows_of(columns: Batch) -> list[Cells]:
    """Rows of the columns, in their order."""
    cells = [
        [column.values[int(code)].as_py() for code in column.codes]  # noqa: PD011 - no pandas
        for column in columns.columns.values()
    ]
    return list(zip(*cells, strict=True))


def read(source: object, role: Role = "private", names: Sequence[str] | None = None) -> list[Cells]:
    table = open_table(source, role)
    return rows_of(read_batch(table, table.columns if names is None else names))


def in_blocks(size: int, path: Path) -> list[Cells]:
    """Rows of a file that is read in blocks of ``size`` bytes at first."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_blocks, "BLOCK_SIZE", size)
        return read(path)


def expected(text: str, delimiter: str) -> list[Cells]:
    """Rows as Python's csv module reads them, those as long as the header.

    No cell is empty, and none holds a NUL.
    """
    header, *rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    whole = [row for row in rows if len(row) == len(header)]
    return [tuple(None if not cell or "\0" in cell else cell for cell in row) for row in whole]


def written(path: Path, content: str | bytes) -> Path:
    content = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(content, 1) if path.suffix == ".gz" else content)
    return path


@st.composite
def texts(draw: st.DrawFn, delimiter: str) -> str:
    """Well-formed text of one to three columns, with all that a cell may hold, in any mixture."""
    width = draw(st.integers(1, 3))
    cell = st.text('ab"",;\t\n\r é🦓#\'\\\0', max_size=12) | st.just("z" * 70)
    ends = draw(st.sampled_from([ENDS, *((end,) for end in ENDS)]))
    lines = [delimiter.join("abc"[:width]) + draw(st.sampled_from(ends))]
    rows = st.lists(st.tuples(*[cell] * width), max_size=12)
    for row in draw(rows):
        cells = [
            '"' + text.replace('"', '""') + '"'
            if any(sign in text for sign in '"\n\r,;\t') or draw(st.booleans())
            else text
            for text in row
        ]
        # The one empty cell of a row would make it an empty line.
        line = delimiter.join(cells) or '""'
        lines.append(line + draw(st.sampled_from(ends)))
        lines += [draw(st.sampled_from(ends))] * draw(st.sampled_from([0, 0, 1]))
    text = "".join(lines)
    # An end that is cut off may end a cell in quotes, never a row.
    return text.rstrip("\r\n") if draw(st.booleans()) else text


@examples(60)
@given(st.data())
def test_rows_are_those_of_pythons_csv_module_whatever_the_blocks(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    delimiter = data.draw(st.sampled_from(",;\t"))
    text = data.draw(texts(delimiter))
    mark = data.draw(st.sampled_from(["", "\ufeff"]))
    name = data.draw(st.sampled_from(["t.csv", "t.csv", "t.csv.gz"]))
    path = written(tmp_path_factory.mktemp("rows") / name, mark + text)
    rows = expected(text, delimiter)
    for size in (16, 64, data.draw(st.integers(1, 200)), csv_blocks.BLOCK_SIZE):
        assert in_blocks(size, path) == rows
    assert read(path, "synthetic") == rows
    assert read(path, names=["a"]) == [row[:1] for row in rows]
    assert read_batch(open_table(path, "private"), []).rows == len(rows)


# Rows by which a person might try to sway how others are read.
HOSTILE = [
    b'9,"line\nbreak",9\n',
    b'9,"1,""a"",2\n1,""a"",2\n1,""a"",2\n",9\n',
    b'9,"' + b'\r\n"",' * 400 + b'",9\r\n',
    b'9,"' + b'""' * 700 + b'",9\r',
    b'"","",""\n',
    b'9,"\0\t#;|\'\\",9\n',
    b"9,',9\n",
    b"9\n",
    b"9,9,9,9,9\n",
    b"9,9,\n",
    b",,\n",
    b"\n\r\n\r",
    b"#9,9,9\n",
    b'9,5\' 11,"\xef\xbb\xbf"\n',
    b"\xef\xbb\xbf9,9,9\n",
    b"\xff,9,\xc3\n",
    b"9,\xff\xfe\n",
    b"9,9,9,\xff\n",
    b'9,x""x,5\' 11"\n',
    b'9,"a"b,c\n',
]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("hostile", HOSTILE)
def test_one_more_row_leaves_all_others_as_they_are(
    end: str, hostile: bytes, tmp_path: Path
) -> None:
    """Whatever it holds, wherever it stands, and whatever the blocks."""
    lines = [f'{i},"x{end}""{i}é""",7{end}'.encode() for i in range(60)]
    header = f"a,b,c{end}".encode()
    path = tmp_path / "t.csv"
    others = read(written(path, header + b"".join(lines)))
    assert len(others) == 60
    alone = read(written(path, header + hostile))
    for place in (0, 31, 60):
        written(path, header + b"".join([*lines[:place], hostile, *lines[place:]]))
        rows = [*others[:place], *alone, *others[place:]]
        assert read(path) == in_blocks(64, path) == in_blocks(701, path) == rows


@pytest.mark.parametrize("hostile", [b'9,"\0"\n', b"9,x\0xxx\n", b"9,\0\n"])
@pytest.mark.parametrize("place", [8_000, 20_000, 32_800])
def test_a_nul_in_a_later_block_swallows_no_other_row(
    hostile: bytes, place: int, tmp_path: Path
) -> None:
    """It did so in Arrow before 26, where values are long: to the end of the file after a quote."""
    rows = [b"T," + b"x" * 61 + b"\n"] * 49_000
    rows[place] = hostile
    path = written(tmp_path / "t.csv", b"a,b\n" + b"".join(rows))
    column = read_batch(open_table(path, "private"), ["b"]).columns["b"]
    found = zip(column.values.to_pylist(), column.counts().tolist(), strict=True)  # noqa: PD011
    assert dict(found) == {"x" * 61: 48_999, None: 1}


def test_a_nul_beside_a_quote_at_a_blocks_end_sways_no_other_row(tmp_path: Path) -> None:
    """Arrow's chunker lost its place at it, and read what followed from inside quotes."""
    row, hostile = b'",\n,",x,w\n', b'"a\0",' + b"y" * 700 + b',"p\n"""\n'
    for shift in range(0, 700, 50):
        at = (1 << 20) - shift
        head = row * (at // len(row)) + b"p" * (at % len(row) + 5) + b",x,w\n"
        path = written(tmp_path / "t.csv", b"a,b,c\n" + head + hostile + row * 2000)
        columns = read_batch(open_table(path, "private"), ["b", "c"]).columns
        rows = at // len(row) + 2001
        for name, cell, own in (("b", "x", "y" * 700), ("c", "w", 'p\n"')):
            column = columns[name]
            counts = zip(column.values.to_pylist(), column.counts().tolist(), strict=True)  # noqa: PD011
            assert dict(counts) == {cell: rows, own: 1}


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_a_row_longer_than_several_blocks_is_a_row(suffix: str, tmp_path: Path) -> None:
    giant = '1,"a",2\r\n\n' * 900_000
    assert len(giant) > 8 * csv_blocks.BLOCK_SIZE
    cell = giant.replace('"', '""')
    plain = '5,"a ""quoted""\nline",7\r\n' * 3
    path = written(tmp_path / f"t{suffix}", f'a,b,c\r\n{plain}9,"{cell}",7\r\n{plain}')
    row = ("5", 'a "quoted"\nline', "7")
    assert read(path) == [*[row] * 3, ("9", giant, "7"), *[row] * 3]


MALFORMED: dict[str, tuple[bytes, list[Cells]]] = {
    "too few cells": (b"1,2\n3\n5,6\n", [("1", "2"), ("5", "6")]),
    "too many cells": (b"1,2,3\n4,5\n", [("4", "5")]),
    "too many, with a line break": (b'1,2,"\n",3\n4,5\n', [("4", "5")]),
    "too many, not UTF-8": (b"1,2,\xff\n4,5\n", [("4", "5")]),
    "not UTF-8": (b"1,\xff\n\xc3,4\n5,6\n", [("1", None), (None, "4"), ("5", "6")]),
    "not UTF-8, cut off": (b"1,2\n3,\xe2\x82", [("1", "2"), ("3", None)]),
    "two signs that no text has": (
        "1,2\n3,4\n5,\ufffe\uffff\n6,\ufffe\n".encode(),
        [("1", "2"), ("3", "4"), ("5", None), ("6", "\ufffe")],
    ),
    "a quote within": (b'1,5" long\n2,"3"\n', [("1", '5" long'), ("2", "3")]),
    "quotes that are not doubled": (b'1,"a "b" c"\n3,4\n', [("1", 'a b" c"'), ("3", "4")]),
    "an open quote": (b'1,2\n3,"4\n5,6\n', [("1", "2"), ("3", "4\n5,6\n")]),
    "a zero byte": (b"1,x\0\n3,4\n", [("1", None), ("3", "4")]),
    "UTF-16": (b"1,2\n" + "3,4".encode("utf-16"), [("1", "2"), (None, None)]),
    "another delimiter": (b"1;2\n3,4\n", [("3", "4")]),
    "another quote": (b"'1,2',3\n4,5\n", [("4", "5")]),
}


@pytest.mark.parametrize("fault", MALFORMED)
def test_malformed_private_rows_follow_stated_rules(
    fault: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    content, rows = MALFORMED[fault]
    path = written(tmp_path / "p.csv", b"a,b\n" + content)
    for size in (8, 64, csv_blocks.BLOCK_SIZE):
        assert in_blocks(size, path) == rows
    assert capfd.readouterr() == ("", "")


ODD = ["1\n", "1,2,3\n", "1,2\n3\n", b"1,\xff\n", "1,\0\n"]


@pytest.mark.parametrize("content", ODD)
def test_odd_public_rows_are_an_error(content: str | bytes, tmp_path: Path) -> None:
    content = content.encode() if isinstance(content, str) else content
    table = open_table(written(tmp_path / "s.csv", b"a,b\n" + content), "synthetic")
    with pytest.raises(TableError, match="rows as long as the header, and cells in UTF-8"):
        SyntheticTable().schema(table, ["a", "b"], {})


def test_nested_columns_of_a_parquet_file_are_texts(tmp_path: Path) -> None:
    cells = {"a": [1, 2], "b": [[1], None], "c": [{"d": 1, "e": "x"}, {"d": 2, "e": None}]}
    pq.write_table(pa.table(cells), tmp_path / "p.parquet")
    table = open_table(tmp_path / "p.parquet", "private")
    columns = read_batch(table, ["a", "b", "c"]).columns
    assert [len(columns[name].values) for name in "abc"] == [2, 2, 2]
    texts = columns["c"].values.to_pylist()  # noqa: PD011 - no pandas
    assert all(part in str(text) for part, text in zip("12", texts, strict=True))


def test_odd_cells_of_a_column_are_an_error_only_where_it_is_asked_for(tmp_path: Path) -> None:
    table = open_table(written(tmp_path / "s.csv", b"a,b\n1,\xff\n"), "synthetic")
    engine = SyntheticTable()
    engine.content(table, b"key")
    assert engine.schema(table, ["a"], {}) == {"a": Kind.NUMBER, "b": Kind.TEXT}
    with pytest.raises(TableError, match="a cell is not UTF-8"):
        engine.schema(table, ["b"], {})


@pytest.mark.parametrize("content", ["a,b", "a,b\n", "a,b\r\n\r\n", "\ufeffa,b\r"])
def test_a_header_alone_is_a_table_without_rows(content: str, tmp_path: Path) -> None:
    columns = read_batch(open_table(written(tmp_path / "p.csv", content), "private"), ["b"])
    assert (columns.rows, rows_of(columns)) == (0, [])


BROKEN: dict[str, Callable[[bytes], bytes]] = {
    "p.csv.gz": lambda whole: whole[: len(whole) // 2],
    "q.csv.gz": lambda whole: whole[:-9] + b"12345" + whole[-4:],
    "p.parquet": lambda whole: whole[:4] + b"\xff" * 3000 + whole[3004:],
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("role", ["private", "synthetic"])
def test_a_file_that_breaks_tells_nothing_of_its_content(
    name: str, role: Role, tmp_path: Path
) -> None:
    frame = pd.DataFrame({"a": [f"zebra-{n * 7919 % 100_003}" for n in range(200_000)]})
    path = tmp_path / name
    if path.suffix == ".gz":
        written(path, frame.to_csv(index=False))
    else:
        frame.to_parquet(path)
    path.write_bytes(BROKEN[name](path.read_bytes()))
    with pytest.raises(RunError if role == "private" else TableError) as caught:
        read(path, role, ["a"])
    assert "zebra" not in str(caught.value)
    assert caught.value.__context__ is None


# Frames and Parquet ------------------------------------------------------------------------------

JOBS = pd.CategoricalDtype(["cook", "smith", "unused"])
FRAME = pd.DataFrame(
    {
        "age": pd.array([3, None, 40, 3], dtype="Int64"),
        "pay": [1.5, np.nan, 2.25, -0.0],
        "name": pd.Series(["a", None, "Zoë", 5], dtype=object),
        "job": pd.Series(["cook", "smith", None, "cook"], dtype=JOBS),
        "flag": pd.array([True, None, False, True], dtype="boolean"),
        "born": np.array(
            ["2020-02-29", "NaT", "1999-12-31T23:59:59", "2021-01-01"], dtype="datetime64[us]"
        ),
    }
)
NAMES = pd.Series(["a", None, "Zoë", "5"], dtype=object)
ROWS: list[Cells] = [
    (3, 1.5, "a", "cook", True, datetime.fromisoformat("2020-02-29")),
    (None, None, None, "smith", None, None),
    (40, 2.25, "Zoë", None, False, datetime.fromisoformat("1999-12-31T23:59:59")),
    (3, -0.0, "5", "cook", True, datetime.fromisoformat("2021-01-01")),
]


@pytest.mark.parametrize("form", ["pandas", "pyarrow", "chunks", "parquet", "row groups"])
def test_cells_of_a_frame_are_what_they_are(form: str, tmp_path: Path) -> None:
    table = pa.Table.from_pandas(FRAME.assign(name=NAMES))
    path = tmp_path / "t.parquet"
    pq.write_table(table, path, row_group_size=3 if form == "row groups" else 100)
    sources: dict[str, object] = {
        "pandas": FRAME,
        "pyarrow": table,
        "chunks": pa.concat_tables([table.slice(n, 1) for n in range(4)]),
    }
    table = open_table(sources.get(form, path), "private")
    columns = read_batch(table, tuple(FRAME.columns))
    assert rows_of(columns) == ROWS
    for column in columns.columns.values():
        assert set(column.codes) == set(range(len(column.values))), "no value is without a row"
        assert column.values.null_count <= 1  # noqa: PD011 - no pandas


ODD_CELLS: dict[str, tuple[pa.Array, list[object]]] = {
    "text that is not UTF-8": (
        pa.array([b"a", b"\xff", None, b"\xff"]).view(pa.string()),
        ["a", None, None, None],
    ),
    "times beyond the range": (
        pa.array([0, 1 << 62, -(1 << 62)], pa.timestamp("s")),
        [datetime(1970, 1, 1), None, None],  # noqa: DTZ001 - as Arrow gives it
    ),
    "times of no day": (
        pa.array([0, 86_400 * 10**6 - 1, 86_400 * 10**6, -1], pa.time64("us")),
        [time(0), time(23, 59, 59, 999_999), None, None],
    ),
    "lists": (pa.array([[1, 2], None, [3]]), ["[1, 2]", None, "[3]"]),
    "structures": (pa.array([{"x": 1}, None]), ["{'x': 1}", None]),
    "nothing": (pa.nulls(2), [None, None]),
    "wide decimals": (pa.array([Decimal("1.50")], pa.decimal256(50, 2)), ["1.5"]),
    "a dictionary with a null and twice a value": (
        pa.DictionaryArray.from_arrays([0, 1, 2, None], ["a", None, "a"]),
        ["a", None, "a", None],
    ),
}


@pytest.mark.parametrize("label", ODD_CELLS)
def test_no_cell_of_a_private_frame_ends_a_run(label: str) -> None:
    cells, values = ODD_CELLS[label]
    assert read(pa.table({"a": cells})) == [(value,) for value in values]


def test_a_pandas_text_that_no_file_could_hold_is_its_own_cell_alone() -> None:
    cells = pd.Series(["a", "\ud800", "b"], dtype=object)
    assert read(pd.DataFrame({"a": cells})) == [("a",), ("?",), ("b",)]


def test_a_frame_without_rows() -> None:
    for frame in (FRAME.iloc[:0], pa.Table.from_pandas(FRAME.drop(columns="name").iloc[:0])):
        assert read_batch(open_table(frame, "private"), ["age"]).rows == 0


# Dictionaries ------------------------------------------------------------------------------------


@pytest.mark.parametrize("distinct", [1, 255, 256, 257, 65_536, 65_537, 200_000])
def test_codes_are_as_narrow_as_the_values_are_few(distinct: int) -> None:
    """Blocks of one dictionary each, most values in several, are folded into one."""
    parts, cells = [], []
    for first in range(0, 2 * distinct, 50_000):
        numbers = np.arange(first, min(first + 50_000, 2 * distinct)) * 7 % distinct
        cells.append(numbers)
        parts.append(pa.array(numbers).dictionary_encode())
    every = np.concatenate(cells)
    for column in (column_of(parts), stacked([column_of([part]) for part in parts])):
        assert len(column.values) == len(np.unique(every))
        assert column.codes.dtype == np.min_scalar_type(distinct - 1)
        assert np.array_equal(column.values.to_numpy()[column.codes], every)  # noqa: PD011


def test_what_was_read_does_not_show() -> None:
    columns = read_batch(open_table(pd.DataFrame({"a": ["zebra"]}), "private"), ["a"])
    assert repr(columns) + repr(columns.columns["a"]) == "Batch(...)Column(...)"
    with pytest.raises(PqdError):
        read(Path("absent.csv"))
