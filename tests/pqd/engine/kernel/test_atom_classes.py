"""Comparisons that are made without DuckDB, against DuckDB, which says what they mean."""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqd.engine.kernel.arrow_sql import ArrowSQL
from pqd.engine.kernel.atom_classes import atom_classes, compared
from pqd.engine.kernel.evaluator import Evaluator
from pqd.engine.reading.buffers import numpy_of
from pqd.engine.reading.columns import Column, Columns
from pqd.sql.literals import as_double
from pqd.sql.predicate import Atom, Comparison
from pqd.sql.schema import Kind, quote_literal

SIGNS = ("=", "<>", "<", "<=", ">", ">=")
ODD = [0.0, -0.0, 0.1, 5e-324, -5e-324, 2.0**53, 2.0**53 + 2, 1e300, math.inf, -math.inf, None]
SQL = ArrowSQL()

numbers = st.one_of(
    st.sampled_from([each for each in ODD if each is not None and math.isfinite(each)]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-3, 3).map(float),
)
cells = st.one_of(st.sampled_from(ODD), numbers)


def literal(number: float) -> str:
    """Number as it stands in typed SQL."""
    text = as_double(repr(abs(number))) or ""
    return f"(-{text})" if number < 0 else text


def atoms_of(first: float, last: float) -> list[str]:
    between = f'"a ""b" BETWEEN {literal(first)} AND {literal(last)}'
    return [f'"a ""b" {sign} {literal(first)}' for sign in SIGNS] + [between]


def differs(
    values: list[float | None], atom: str, change: Callable[[Comparison], Comparison]
) -> bool:
    column = pa.array(values, pa.float64())
    ((expected,),) = SQL.evaluated(pa.table({'a "b': column}), [f"COALESCE({atom}, FALSE)"])
    found = Comparison.of(atom)
    assert found is not None
    assert found.column == 'a "b'
    return not np.array_equal(compared(numpy_of(column), change(found)), numpy_of(expected))


# Texts that are alike to the eye, to a collation or to a careless reader; no two to the byte.
ALIKE = [
    *("", " ", "a", "A", "a ", " a", "à", "a\u0300", "A\u0300", "ß", "ss", "\u017f", "İ", "i"),
    *("\u0131", "%", "a%", "_", "'", "''", '"', "\\", "\\'", "\n", "\r\n", "\t", "1", "1.0", "1e0"),
    *("\U0001d7cf", "\ufeffa", "a\u200b", "\ufffd", "\U0010ffff", "x" * 13, "x" * 12 + "y"),
]
texts = st.sampled_from(ALIKE) | st.text(st.characters(codec="utf-8", exclude_characters="\0"))


@given(st.lists(texts | st.none(), max_size=8), texts)
def test_texts_compare_as_in_duckdb(values: list[str | None], text: str) -> None:
    for kind in (pa.string(), pa.large_string()):
        column = pa.array([*values, text, None], kind)
        signs = {"=": "=", "<>": "<>"} | ({"LIKE": "="} if {*"%_\\"}.isdisjoint(text) else {})
        for written, sign in signs.items():
            atom = f'"x" {written} {quote_literal(text)}'
            ((expected,),) = SQL.evaluated(pa.table({"x": column}), [f"COALESCE({atom}, FALSE)"])
            found = Comparison("x", sign, text)
            assert Comparison.of(atom) == found
            assert np.array_equal(compared(column, found), numpy_of(expected))


@pytest.mark.parametrize("text", ALIKE)
def test_no_two_texts_are_one(text: str) -> None:
    found = compared(pa.array(ALIKE, pa.large_string()), Comparison("x", "=", text))
    assert [each for each, same in zip(ALIKE, found, strict=True) if same] == [text]


@given(st.lists(cells, min_size=1, max_size=8), numbers, numbers)
def test_numpy_compares_as_duckdb_does(
    values: list[float | None], first: float, last: float
) -> None:
    for atom in atoms_of(first, last):
        assert not differs([*values, first, last], atom, lambda found: found)


@pytest.mark.parametrize("place", range(len(SIGNS) + 1))
def test_another_comparison_is_told_from_it(place: int) -> None:
    """What the test above would catch: the ends counted otherwise."""
    other = {"=": "<>", "<>": "=", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "BETWEEN": "<"}
    atom = atoms_of(2.0, 5.0)[place]
    assert differs([1.0, 2.0, 5.0, None], atom, lambda c: c._replace(sign=other[c.sign], last=None))


@pytest.mark.parametrize(
    "sql",
    [
        '"x" = 3',
        '"x" < 0.5',
        "\"x\" < '3.0e0'",
        "\"x\" = 'a' OR \"x\" = 'b'",
        "\"x\" = 'a''",
        "\"x\" LIKE 'a%'",
        "\"x\" LIKE '_'",
        "\"x\" LIKE 'a\\b'",
        "\"x\" LIKE 'a' ESCAPE 'a'",
        "\"x\" ILIKE 'a'",
        "'a' = \"x\"",
        "\"x\" = E'a'",
        "\"x\" = 'a' || 'b'",
        "\"x\" = 'a\0b'",
        "\"x\" = 'a\ud800'",
        "\"x\" IN ('a', 'b')",
        '3.0e0 < "x"',
        '"x" < "y"',
        '("x" + 1.0e0) < 2.0e0',
        'NOT ("x" < 2.0e0)',
        '"x" IN (1.0e0, 2.0e0)',
        '"x" < 1.0e0 OR "y" < 1.0e0',
        '"x" BETWEEN 1.0e0 AND "y"',
        '"x" IS NULL',
    ],
)
def test_all_else_is_evaluated_by_duckdb(sql: str) -> None:
    assert Comparison.of(sql) is None


def classes_of(values: list[float | None], atoms: list[str]) -> list[list[bool]]:
    """Truth of each atom on each row, by the classes of rows that hold these values."""
    codes = np.arange(len(values), dtype=np.uint16)
    columns = Columns(codes.size, {"x": Column(codes, pa.array(values, pa.float64()))})
    evaluator = Evaluator(SQL, columns, {"x": Kind.NUMBER}, {"x": "x"})
    (found,) = atom_classes(evaluator, map(Atom, atoms)).values()
    words = found.words[found.codes]
    return [
        (words[:, bit // 64] >> np.uint64(bit % 64) & np.uint64(1)).astype(bool).tolist()
        for bit in range(len(atoms))
    ]


@pytest.mark.parametrize("chunk", [1, 7, 1 << 18])
@pytest.mark.parametrize("rows", [0, 1, 30])
def test_chunks_hold_comparisons_and_all_else(
    chunk: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than one word, of comparisons alone and between others."""
    monkeypatch.setattr("pqd.engine.kernel.arrow_sql._CHUNK", chunk)
    values = [None if n == 4 else float(n) for n in range(rows)]
    plain = [f'"x" >= {n}.0e0' for n in range(70)]
    expected = [[x is not None and x >= n for x in values] for n in range(70)]
    assert classes_of(values, plain) == expected
    others = [f'"x" < {n}.0e0 OR "x" IS NULL' for n in range(0, 70, 3)]
    mixed = [*plain[:9], *others, *plain[9:]]
    below = [[x is None or x < n for x in values] for n in range(0, 70, 3)]
    assert classes_of(values, mixed) == [*expected[:9], *below, *expected[9:]]


def test_a_comparison_of_another_type_is_duckdbs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers are compared with numbers, and texts with texts."""
    asked: list[str] = []
    evaluated = ArrowSQL.evaluated

    def told(
        self: ArrowSQL, table: pa.Table, expressions: Sequence[str]
    ) -> Iterator[list[pa.ChunkedArray]]:
        asked.extend(expressions)
        return evaluated(self, table, expressions)

    monkeypatch.setattr(ArrowSQL, "evaluated", told)
    atoms = ["\"x\" = '1.0'", '"x" = 1.0e0']
    assert classes_of([1.0, None, 2.0], atoms) == [[True, False, False]] * 2
    assert asked[-1:] == ["COALESCE(\"x\" = '1.0', FALSE)"]
