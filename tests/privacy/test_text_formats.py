"""A private cell is read by its own text: each row counts by itself, whatever the other rows hold.

A reader that guessed a format from the rows would let one row change what others count.  Such a
broken twin must fail here.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pqd.engine.counting import facts
from pqd.engine.counting.batch import Batch
from pqd.engine.counting.column_types import typed_values
from pqd.engine.reading.text_format import TextFormat
from pqd.engine.scan_plan import ScanPlan, Statistic
from pqd.engine.synthetic_table import SyntheticTable
from pqd.engine.tables import open_table
from pqd.sql.query import Query
from pqd.sql.schema import Kind, Schema
from pqd.stated.column_facts import format_of_file
from pqd.stated.metadata_files import stated_facts
from pqd.stated.text_formats import TextFormats, text_formats

SCHEMA: Schema = {"n": Kind.NUMBER, "d": Kind.TIME, "t": Kind.TEXT}
CONDITIONS = (
    *("n > 2", "n > 200", "n IS NULL", "d < DATE '2000-06-01'", "d IS NULL", "YEAR(d) = 80"),
    *("t = 'NA'", "t IS NULL", "t = '1,5'"),
)
MISSING = ("NA", "k.A.", "", " NA ", "-", "x", "nan")
TEXTS = (
    ("1,5", "1.5", "1.234", "1,234", "1.234,5", "12", "1e3", *MISSING),
    ("01.08.2000", "08/01/2000", "2000-08-01", "13.02.2000", "02.13.2000", "01.02.80", *MISSING),
    ("1,5", "a", "1e3", *MISSING),
)
FORMATS = (
    TextFormat(),
    TextFormat(",", ".", ("%d.%m.%Y", "%d.%m.%y"), ("k.A.",)),
    TextFormat(thousands=",", dates=("%m/%d/%Y",), missing=("", "x")),
)
# Formats that files of metadata state.
FILES: dict[str, dict[str, Any]] = {
    "frictionless": {
        "fields": [
            {"name": "n", "type": "number", "decimalChar": ",", "groupChar": "."},
            {"name": "d", "type": "date", "format": "%d.%m.%Y"},
            {"name": "t", "type": "string"},
        ],
        "missingValues": ["", "x"],
    },
    "sdv": {"columns": {"d": {"sdtype": "datetime", "datetime_format": "%m/%d/%Y"}}},
}
Row = tuple[str, ...]


def counted(rows: list[Row], text_format: TextFormat, folder: Path) -> list[int]:
    """Private rows that meet each condition."""
    path = folder / "private.csv"
    path.write_text("\n".join(["n;d;t", *map(";".join, rows), ""]), encoding="utf-8")
    private = open_table(path, "private", text_format)
    queries = [Query(f"SELECT COUNT(*) FROM D WHERE {each}", "q") for each in CONDITIONS]
    bound = [query.resolve(SCHEMA) for query in queries]
    plan = ScanPlan(
        tuple(Statistic(each.predicate, None, each.columns, collapsed=True) for each in bound)
    )
    return [each.mass for each in SyntheticTable().histograms(private, SCHEMA, plan)]


def interplay(text_format: TextFormat, folder: Path) -> int:
    """Number of tables whose counts are not the sums of those of their parts."""
    drawn = random.Random(5)  # noqa: S311 - no secret
    found = 0
    for _ in range(25):
        rows = [tuple(map(drawn.choice, TEXTS)) for _ in range(3)]
        rows = [(*row[:2], row[2] or "a") for row in rows]
        one, others = rows[:1], rows[1:]
        parts = zip(*(counted(each, text_format, folder) for each in (one, others)), strict=True)
        found += counted(rows, text_format, folder) != [sum(each) for each in parts]
    return found


@pytest.mark.parametrize("text_format", FORMATS)
def test_each_row_is_read_by_itself(text_format: TextFormat, tmp_path: Path) -> None:
    assert interplay(text_format, tmp_path) == 0


@pytest.mark.parametrize("name", FILES)
def test_each_row_is_read_by_itself_in_the_format_of_a_file(name: str, tmp_path: Path) -> None:
    file = format_of_file(stated_facts(None, FILES[name], None, ()))
    stated = text_formats(None, file).private
    assert stated != TextFormat()
    assert interplay(stated, tmp_path) == 0


def test_a_file_beside_the_private_table_states_no_format(tmp_path: Path) -> None:
    """Such a file may have been made from private rows, even where the copy lies beside it."""
    private, copy = tmp_path / "private.csv", tmp_path / "copy.csv"
    for table in (private, copy):
        table.write_text("n;d;t\n1,5;01.02.2000;a\n", encoding="utf-8")
        file = table.with_name(f"{table.stem}.metadata.json")
        file.write_text(json.dumps(FILES["frictionless"]), encoding="utf-8")
    facts = stated_facts(None, None, private, [copy])
    assert text_formats(None, format_of_file(facts)) == TextFormats()
    released = tmp_path / "released"
    released.mkdir()
    moved = copy.rename(released / "copy.csv")
    assert text_formats(None, format_of_file(stated_facts(None, None, private, [moved]))) == (
        TextFormats()
    )


def sniffed_numbers(sql: Any, values: pa.Array, kind: Kind, text_format: TextFormat | None) -> Any:
    """Broken twin: reads a decimal comma where some cell has one."""
    comma = kind is Kind.NUMBER and pc.any(pc.match_substring(values, ",")).as_py()
    return typed_values(sql, values, kind, TextFormat(",") if comma else text_format)


def sniffed_days(sql: Any, values: pa.Array, kind: Kind, text_format: TextFormat | None) -> Any:
    """Broken twin: reads days first unless some cell shows that months are."""
    first = pc.any(pc.match_substring_regex(values, r"\.(1[3-9]|2\d|3[01])\.")).as_py()
    form = "%m.%d.%Y" if first else "%d.%m.%Y"
    stated = TextFormat(dates=(form,)) if kind is Kind.TIME else text_format
    return typed_values(sql, values, kind, stated)


def sniffed_missing(rows: Batch, texts: tuple[str, ...]) -> Batch:
    """Broken twin: takes texts for missing only where the column has a number."""
    held = {
        name: WITHOUT(Batch(rows.rows, {name: each}), texts).columns[name]
        if pc.any(pc.match_substring_regex(each.values, r"^1e3$")).as_py()
        else each
        for name, each in rows.columns.items()
    }
    return Batch(rows.rows, held)


WITHOUT = Batch.without
TWINS: dict[str, tuple[object, str, Callable[..., Any]]] = {
    "numbers": (facts, "typed_values", sniffed_numbers),
    "days": (facts, "typed_values", sniffed_days),
    "missing": (Batch, "without", sniffed_missing),
}


@pytest.mark.parametrize("twin", TWINS)
def test_a_reader_that_guesses_from_the_rows_is_caught(
    twin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*TWINS[twin])
    assert interplay(FORMATS[0], tmp_path) > 0
