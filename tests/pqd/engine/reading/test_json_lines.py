"""JSON lines: each line is read by itself, as texts; no line of a private file names a column."""

from __future__ import annotations

import gzip
import re
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqd.engine.reading.json_lines import LINE, cells_of, json_batches
from pqd.engine.sources.locations import location_of
from pqd.engine.tables import open_table
from pqd.errors import TableError
from tests.support.drawing import examples

NAMES = ("a", "B", LINE)


def rows(content: bytes, names: tuple[str, ...] = NAMES) -> list[tuple[str | None, ...]]:
    batches = json_batches(BytesIO(content), names, None)
    return [
        row
        for batch in batches
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)
    ]


@pytest.mark.parametrize(
    ("line", "a", "b"),
    [
        ('{"a": 1.50, "b": -3e2}', "1.50", "-3e2"),
        ('{"a": true, "B": null}', "true", None),
        ('{"A": "x", "a": "y"}', "y", None),
        ('{"a": "", "b": "NaN"}', None, "NaN"),
        ('{"a": NaN, "b": -Infinity}', "NaN", "-Infinity"),
        ('{"a": [1, {"y": 2, "x": "é"}], "b": {}}', '["1",{"x":"é","y":"2"}]', "{}"),
        (r'{"a": "\u0000", "b": "\ud800"}', None, None),
        (r'{"a": "line\nfeed", "b": "\u00e9"}', "line\nfeed", "é"),
        ('{"a": 123456789012345678901234567890}', "123456789012345678901234567890", None),
        ('  {"a": "x"}\r', "x", None),
        ("[1, 2]", None, None),
        ('{"a": "x"', None, None),
        ("[" * 100_000, None, None),
    ],
)
def test_values_are_texts(line: str, a: str | None, b: str | None) -> None:
    ((found, other, _),) = rows(line.encode() + b"\n")
    assert (found, other) == (a, b)


def test_bytes_that_are_not_utf8_are_null_in_their_cell_alone() -> None:
    ((a, b, _),) = rows(b'{"a": "x\xff", "b": "y"}')
    assert (a, b) == (None, "y")


def test_lines_end_with_a_line_feed_and_blank_lines_are_no_rows() -> None:
    content = '\ufeff{"a": "x\u2028\u0085"}\r\n\n \t\n{"a": "\v"}\n{"a": "z"}'.encode()
    assert [a for a, _, _ in rows(content)] == ["x\u2028\u0085", None, "z"]
    assert rows(b"") == []


def test_the_whole_line_is_one_text_for_each_order_of_keys() -> None:
    lines = b'{"a": 1, "b": "x"}\n{"b":"x","a":1}\n{"a": 2, "b": "x"}\n'
    first, second, third = (line for _, _, line in rows(lines))
    assert first == second != third


@pytest.mark.parametrize(
    ("line", "cells"),
    [
        ('{"b": 1.50, "a": null, "C": ""}', [("C", ""), ("a", ""), ("b", "1.50")]),
        ('{"a": 1, "A": 2}', [("A", "2")]),
        (r'{"a\u0000b": 1, "c": "\u0000", "\ud800": 2}', [("c", "")]),
        ('{"": "x"}', [("", "x")]),
        ("{}", []),
        ("7", []),
    ],
)
def test_the_whole_line_has_every_cell_that_it_names(
    line: str, cells: list[tuple[str, str]]
) -> None:
    ((_, _, whole),) = rows(line.encode())
    assert [*cells_of(whole or "")] == cells


TEXTS = st.sampled_from(
    ['{"a": 1}', '{"a": "1,5"}', '{"b": "x"', "[]", '"', "{}", "", '{"a": "\\n"}', "\r", '{"a"']
) | st.binary(max_size=12).map(lambda each: each.replace(b"\n", b"").decode("latin-1"))


@examples(200)
@given(st.lists(TEXTS, max_size=8))
def test_each_line_is_read_as_if_it_stood_alone(lines: list[str]) -> None:
    content = [line.encode("latin-1") + b"\n" for line in lines]
    # A mark may stand at the beginning of a file alone.
    content = [line for line in content if not line.startswith(b"\xef\xbb\xbf")]
    assert rows(b"".join(content)) == [row for line in content for row in rows(line)]


def test_a_public_file_has_all_its_keys_as_columns(tmp_path: Path) -> None:
    path = tmp_path / "copy.jsonl"
    path.write_text('{"b": 1}\n{"a": 2, "B": 3}\n', encoding="utf-8")
    assert open_table(path, "synthetic").columns == ("b", "a")
    packed = tmp_path / "copy.ndjson.gz"
    packed.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    assert open_table(packed, "synthetic").columns == ("b", "a")
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "1.jsonl").write_text('{"b": 1}\n', encoding="utf-8")
    (parts / "2.jsonl").write_text('{"c": 1}\n', encoding="utf-8")
    assert open_table(parts, "synthetic").columns == ("b", "c")
    (parts / "3.csv").write_text("b,c\n1,2\n", encoding="utf-8")
    with pytest.raises(TableError, match="parts of several formats"):
        open_table(parts, "synthetic")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"a": 1}\n\n{"a": 2\n', "line 3 of the synthetic table .* is no JSON object"),
        (b'[{"a": 1}]\n', "line 1 of .* each line must be one"),
        (b"\xff\xfe{\0}\0", "line 1 of"),
        (b"{}\n", "has no columns"),
        (b"\n\n", "has no columns"),
        (b"", "is empty: it holds not one byte"),
    ],
)
def test_a_broken_public_file_is_refused_by_place(
    content: bytes, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "copy.jsonl"
    path.write_bytes(content)
    with pytest.raises(TableError, match=words):
        open_table(path, "synthetic")


def test_an_array_of_objects_is_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "copy.json"
    path.write_text("[]", encoding="utf-8")
    with pytest.raises(TableError, match=re.escape("if each line is an object of its own")):
        open_table(path, "synthetic")


@pytest.mark.parametrize("content", ['{"a": 1}\n', '{"secret": 1, "b": 2}\n', "[]\n", "x"])
def test_a_private_file_names_no_column(content: str, tmp_path: Path) -> None:
    path = tmp_path / "private.jsonl"
    path.write_text(content, encoding="utf-8")
    table = open_table(location_of(path).path, "private")
    assert table.columns == ()
    looked_up = table.looking_up(["Age", "sex", "AGE"])
    assert looked_up.columns == ("Age", "sex")
    assert looked_up.memory is table.memory
