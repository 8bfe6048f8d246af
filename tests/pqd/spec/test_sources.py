"""Where a table comes from must not show: files of every form, frames of every kind."""

import gzip
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from pqd.errors import TableError

Scan = Callable[..., list[Any]]

ASKED = [
    "SELECT COUNT(*) FROM D",
    "SELECT SUM(age) FROM D WHERE name <> 'q'",
    "SELECT COUNT(name) FROM D",
]


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.fixture
def public(tmp_path: Path) -> Path:
    return written(tmp_path / "synthetic.csv", "name,age\na,0\nb,100\n")


FORMS: dict[str, tuple[str, str | bytes]] = {
    "comma": ("p.csv", 'name,age\n"x, y",1\n"say ""hi""",2\nz,4\n'),
    "semicolon": ("p.csv", 'name;age\n"x; y";1\ny,y;2\nz;4\n'),
    "bar": ("p.csv", "name|age\nx|1\ny|2\nz|4\n"),
    "tab in .csv": ("p.csv", "name\tage\nx\t1\ny\t2\nz\t4\n"),
    ".tsv": ("p.tsv", 'name\tage\n"x\ty"\t1\ny,y\t2\nz\t4\n'),
    ".csv.gz": ("p.csv.gz", gzip.compress(b"name,age\nx,1\ny,2\nz,4\n")),
    ".tsv.gz": ("p.TSV.GZ", gzip.compress(b"name\tage\nx\t1\ny\t2\nz\t4\n")),
    "quoted newline": ("p.csv", 'name,age\n"x\ny",1\n"\n\n",2\nz,4\n'),
    "BOM": ("p.csv", b"\xef\xbb\xbfname,age\nx,1\ny,2\nz,4\n"),
    "CRLF": ("p.csv", "name,age\r\nx,1\r\ny,2\r\nz,4\r\n"),
    "no last newline": ("p.csv", "name,age\nx,1\ny,2\nz,4"),
    "quoted header": ("p.csv", '"name","age"\nx,1\ny,2\nz,4\n'),
    "other order and case": ("p.csv", "AGE,more,Name\n1,9,x\n2,9,y\n4,9,z\n"),
    "unicode": ("p.csv", "name,age\nZoë,1\n🦓,2\nß,4\n"),
    "quote in the file's name": ("it's.csv", "name,age\nx,1\ny,2\nz,4\n"),
    "brackets in the file's name": ("p[1].csv", "name,age\nx,1\ny,2\nz,4\n"),
    "star in the file's name": ("p*.csv", "name,age\nx,1\ny,2\nz,4\n"),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_delimited_text(scan: Scan, form: str, tmp_path: Path, public: Path) -> None:
    name, content = FORMS[form]
    written(tmp_path / "p1.csv", "name,age\nwrong,77\n")
    assert scan(written(tmp_path / name, content), public, *ASKED) == [3, [1, 2, 4], 3]


def test_a_cell_that_does_not_convert_is_null(scan: Scan, tmp_path: Path, public: Path) -> None:
    private = written(tmp_path / "p.csv", "name,age\na,1\nb,abc\nc,\n,4\nnan,nan\nd, 8 \n")
    # The name nan is one of the usual texts of a missing cell.
    assert scan(private, public, *ASKED, "SELECT COUNT(age) FROM D") == [6, [1, 8], 4, 3]


MALFORMED: dict[str, tuple[bytes, list[object]]] = {
    "too few cells": (b"short\n", [2, [1, 4], 2]),
    "too many cells": (b"long,2,3\n", [2, [1, 4], 2]),
    # A cell that is not UTF-8 is NULL, and its row stays.
    "not UTF-8": (b"\xff\xfe,2\n", [3, [1, 4], 2]),
}


@pytest.mark.parametrize("fault", MALFORMED)
def test_malformed_private_lines_follow_a_rule_of_their_own(
    scan: Scan, fault: str, tmp_path: Path, public: Path
) -> None:
    line, found = MALFORMED[fault]
    for lines in ([line, b"x,1\n", b"z,4\n"], [b"x,1\n", line, b"z,4\n"]):
        private = written(tmp_path / "p.csv", b"name,age\n" + b"".join(lines))
        assert scan(private, public, *ASKED) == found


@pytest.mark.parametrize(
    "content", ["name,age\nx,1\nshort\n", "name,age\nx,1\nlong,2,3\n", b"name,age\n\xff,1\n"]
)
def test_a_malformed_synthetic_line_is_an_error(
    scan: Scan, content: str | bytes, tmp_path: Path, public: Path
) -> None:
    with pytest.raises(TableError, match="synthetic"):
        scan(public, written(tmp_path / "s.csv", content), *ASKED)


def test_the_kinds_of_text_columns(scan: Scan, tmp_path: Path) -> None:
    table = written(
        tmp_path / "t.csv",
        "b,t,n,e,z\ntrue,2020-01-31, 1e1,,007\nFALSE,2021-01-01 10:00:00,2,,x\n,,,,\n",
    )
    queries = [
        "SELECT COUNT(*) FROM D WHERE b",
        "SELECT COUNT(*) FROM D WHERE YEAR(t) = 2020",
        "SELECT SUM(n) FROM D",
        "SELECT COUNT(e) FROM D",
        "SELECT COUNT(*) FROM D WHERE e = 'text' OR z = '007'",
    ]
    assert scan(table, table, *queries) == [1, 1, [2, 10], 0, 1]


FRAME = pd.DataFrame(
    {
        "age": pd.array([3, None, 40, 3], dtype="Int64"),
        "pay": [1.5, np.nan, 2.25, -1.0],
        "name": pd.Series(["a", None, "Zoë", "it's"], dtype=object),
        "job": pd.Categorical(["cook", "smith", None, "cook"]),
        "flag": pd.array([True, None, False, True], dtype="boolean"),
        "born": np.array(
            ["2020-02-29", "NaT", "1999-12-31T23:59:59", "2021-01-01"], dtype="datetime64[us]"
        ),
    }
)
ON_FRAME: dict[str, Any] = {
    "SELECT COUNT(*) FROM D": 4,
    "SELECT COUNT(age) FROM D": 3,
    "SELECT SUM(age) FROM D WHERE flag": [3, 3],
    "SELECT SUM(pay) FROM D WHERE job = 'cook' OR name = 'Zoë'": [-1, 1.5, 2.25],
    "SELECT MEDIAN(pay) FROM D WHERE born > '2000-01-01'": [-1, 1.5],
    "SELECT COUNT(*) FROM D WHERE name IS NULL OR NOT flag": 2,
    "SELECT COUNT(*) FROM D WHERE YEAR(born) = 1999 AND job IS NULL": 1,
}


@pytest.mark.parametrize("source", ["pandas", "object", "pyarrow", "dictionary", "parquet", "csv"])
def test_sources_are_equal(scan: Scan, source: str, tmp_path: Path) -> None:
    made = pa.Table.from_pandas(FRAME)
    path = tmp_path / f"t.{source}"
    tables: dict[str, Callable[[], object]] = {
        "pandas": lambda: FRAME,
        "object": lambda: FRAME.astype({"age": object, "flag": object, "job": object}),
        "dictionary": lambda: made,
        "pyarrow": lambda: made.set_column(3, "job", made["job"].cast(pa.string())),
        "parquet": lambda: (pyarrow.parquet.write_table(made, path), path)[1],
        "csv": lambda: (FRAME.to_csv(path, index=False), path)[1],
    }
    table = tables[source]()
    assert scan(table, table, *ON_FRAME) == list(ON_FRAME.values())


@pytest.mark.parametrize("rows", [1, 2, 10])
def test_what_is_not_a_number_in_parquet_is_null(scan: Scan, rows: int, tmp_path: Path) -> None:
    table = pa.table({"x": [1.0, float("nan"), 7.0, None, float("inf")]})
    path = tmp_path / "t.parquet"
    # One row group has statistics of its own, which must not decide what another row counts.
    pyarrow.parquet.write_table(table, path, row_group_size=rows)
    queries = [
        "SELECT SUM(x) FROM D",
        "SELECT COUNT(x) FROM D",
        "SELECT COUNT(*) FROM D WHERE x > 2",
    ]
    assert scan(path, table, *queries) == [[1, 7, 7], 3, 2]
    assert scan(table, path, *queries) == [[1, 7, 7], 3, 2]


def test_a_frame_and_a_file_may_be_compared(scan: Scan, public: Path) -> None:
    private = pd.DataFrame({"NAME": ["x", "y"], "Age": [Fraction(1), 5]})
    assert scan(private, public, *ASKED) == [2, [1, 5], 2]


def test_mixed_objects_in_a_private_frame_are_null_and_no_error(scan: Scan) -> None:
    cells: list[object] = [1] * 4_999 + ["zebra-canary"]
    private = pd.DataFrame({"age": pd.Series(cells, dtype=object)})
    (values,) = scan(private, pd.DataFrame({"age": [1, 2]}), "SELECT SUM(age) FROM D")
    assert values == [1] * 4_999


def test_other_rows_do_not_decide_whether_nan_is_a_value(scan: Scan, tmp_path: Path) -> None:
    """Row-group statistics of a Parquet file must not be used to fold isnan() away."""
    public = pa.table({"n": [1.0, 9.0]})
    for ends, expected in (([5.0], 1), ([5.0, 6.0], 2)):
        path = tmp_path / f"p{expected}.parquet"
        pyarrow.parquet.write_table(pa.table({"n": [float("nan")] * 1000 + ends}), path)
        assert scan(path, public, "SELECT COUNT(n) FROM D") == [expected]


def test_a_folder_named_like_a_column_does_not_override_it(scan: Scan, tmp_path: Path) -> None:
    folder = tmp_path / "age=5"
    folder.mkdir()
    public = pa.table({"age": [1.0, 99.0]})
    table = pa.table({"age": [99.0] * 7})
    pyarrow.parquet.write_table(table, folder / "p.parquet")
    private = written(folder / "p.csv", "age\n" + "99\n" * 7)
    for path in (folder / "p.parquet", private):
        assert scan(path, public, "SELECT COUNT(*) FROM D WHERE age > 10") == [7]
