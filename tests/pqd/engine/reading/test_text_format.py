"""Formats of text: what each cell reads as, by itself, and what is no format."""

from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqd.deciders.errors import ParameterError
from pqd.engine.reading.text_format import USUAL, USUAL_MISSING, TextFormat
from pqd.sql.schema import Kind
from pqd.stated.text_formats import FileFormat, TextFormats, parse_text_formats, text_formats
from tests.support.drawing import examples


def read(expression: str, *texts: str) -> list[Any]:
    cells = pa.table({"value": pa.array(texts, pa.large_string())})
    rows = duckdb.from_arrow(cells).project(expression).fetchall()
    return [value for (value,) in rows]


def numbers(text_format: TextFormat, *texts: str) -> list[float | None]:
    return read(f"TRY_CAST({text_format.number_sql('value')} AS DOUBLE)", *texts)


def days(text_format: TextFormat, *texts: str) -> list[str | None]:
    return read(f"CAST({text_format.time_sql('value')} AS VARCHAR)", *texts)


@pytest.mark.parametrize(
    ("text_format", "texts", "expected"),
    [
        (USUAL, ("1.5", "1,5", "5,357", "1e3"), (1.5, None, None, 1000)),
        (TextFormat(","), ("1,5", " -0,5 ", ",5", "12"), (1.5, -0.5, 0.5, 12)),
        (TextFormat(","), ("1.5", "1,5e2"), (None, 150)),
        (TextFormat(",", "."), ("1.234,5", "1.234", "1234,5"), (1234.5, 1234, 1234.5)),
        (TextFormat(",", "."), ("12.34", "1.5"), (None, None)),
        (TextFormat(thousands=","), ("5,357", "5,35", "1,234,567.8"), (5357, None, 1234567.8)),
        (TextFormat(thousands="'"), ("1'234.5", "1,5"), (1234.5, None)),
        (TextFormat(",", "\u202f"), ("1\u202f234,5", "1 234,5"), (1234.5, None)),
    ],
)  # fmt: skip
def test_a_number_is_read_in_its_format_alone(
    text_format: TextFormat, texts: tuple[str, ...], expected: tuple[float | None, ...]
) -> None:
    assert numbers(text_format, *texts) == list(expected)


def test_a_day_is_read_by_the_stated_forms_and_by_iso() -> None:
    german = TextFormat(dates=("%d.%m.%Y", "%d.%m.%Y %H:%M", "%d.%m.%y"))
    texts = ("24.12.1980", "24.12.1980 13:45", "24.12.80", "1980-12-24", "31.02.1980", "12/24/1980")
    midnight = "1980-12-24 00:00:00"
    expected = [midnight, "1980-12-24 13:45:00", midnight, midnight, None, None]
    assert days(german, *texts) == expected
    assert days(USUAL, "24.12.1980", "1980-12-24") == [None, midnight]


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ({"decimal": ";"}, r"decimal sign is ';'; it must be \. or ,"),
        ({"decimal": ",", "thousands": ","}, "cannot stand both before decimals and between"),
        ({"thousands": "x"}, "sign of thousands is 'x'"),
        ({"dates": ("%d.%m",)}, "has no year"),
        ({"dates": ("%Y-%Q",)}, "has %Q, which pqd does not read"),
        ({"dates": ("%Y%",)}, "has %, which"),
        ({"dates": (7,)}, "is no text that can be printed"),
        ({"dates": 7}, "give a list of texts"),
        ({"missing": {"NA": 1}}, "give a list of texts"),
        ({"missing": ("x" * 65,)}, "cannot mean a missing cell"),
        ({"missing": tuple(map(str, range(101)))}, "101 texts mean a missing cell"),
    ],
)
def test_what_is_no_format_is_refused(stated: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        TextFormat(**stated)


def test_missing_texts_are_added_to_the_usual_ones_or_take_their_place() -> None:
    assert TextFormat().missing_texts == USUAL_MISSING
    assert TextFormat(missing=("k.A.",)).missing_texts == (*USUAL_MISSING, "k.A.")
    assert TextFormat(missing=("", "k.A.")).missing_texts == ("k.A.",)
    assert TextFormat(missing=("",)).missing_texts == ()


def test_options_are_of_both_tables_or_of_one() -> None:
    both = parse_text_formats({"decimal": [","], "dates": ["%d.%m.%Y"], "missing": ["k.A.,x"]})
    assert both.private == both.synthetic == TextFormat(",", None, ("%d.%m.%Y",), ("k.A.", "x"))
    one = parse_text_formats({"decimal": ["private=,"], "missing": ["", "synthetic=-1"]})
    assert one == TextFormats(TextFormat(",", missing=("",)), TextFormat(missing=("-1",)))
    with pytest.raises(ParameterError, match="--decimal is stated twice for the private table"):
        parse_text_formats({"decimal": [",", "."]})
    assert text_formats(both.private, FileFormat()) == both
    assert text_formats({"private": both.private}, FileFormat()) == TextFormats(both.private)
    for wrong in (7, {"copy": USUAL}, {"private": ","}):
        with pytest.raises(ParameterError, match="text_format"):
            text_formats(wrong, FileFormat())  # type: ignore[arg-type]


def test_a_key_says_how_a_kind_is_read_only_where_it_matters() -> None:
    german = TextFormat(",", ".", ("%d.%m.%Y",))
    assert [kind for kind in Kind if USUAL.way(kind)] == [Kind.TEXT]
    assert TextFormat(missing=("",)).way(Kind.TEXT) == "", "as a Parquet file is read"
    assert german.way(Kind.TEXT) == USUAL.way(Kind.TEXT)
    assert german.way(Kind.BOOLEAN) == ""
    assert len({german.way(kind) for kind in Kind}) == 4
    assert all(TextFormat(missing=("x",)).way(kind) for kind in Kind)


FORMATS = (
    TextFormat(",", "."),
    TextFormat(".", "_"),
    TextFormat(dates=("%d.%m.%Y", "%j %Y", "%d/%m/%y %I:%M:%S.%f %p", "%b %d %Y", "%Y%m%d%%")),
)
EVERY_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
LIKELY = st.text("0123456789.,:/-+% eEJandpmPM'_", max_size=24)


@examples(50)
@given(st.lists(EVERY_TEXT | LIKELY, min_size=1, max_size=20))
def test_no_text_raises_an_error_and_no_text_changes_another(texts: list[str]) -> None:
    for text_format in FORMATS:
        for reader in (numbers, days):
            together = reader(text_format, *texts)
            assert reader(text_format, *texts[::-1]) == together[::-1]
            assert reader(text_format, texts[0]) == together[:1]
