"""The engine against two independent evaluations of the same SQL: plain DuckDB, and sqlite.

Both get the typed table (a cell that is not of its column's public kind is NULL) and the SQL text
as it was written; the engine's own rewriting, packing and counting are what they check.
"""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from datetime import datetime
from fractions import Fraction
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqd.deciders import Lattice
from tests.support.drawing import examples

Row = tuple[Any, ...]
Scan = Callable[..., list[Any]]

MOMENTS = ("2020-02-29 00:00:00", "1999-12-31 23:59:59", "2021-01-01 10:30:00")
TEXTS = ("a", "A", "ab", "b%", "_", "", "Zoë", "İß", "it's", "5", "true", " a ", "other")
NUMBERS = (0.0, -0.0, 1.0, 2.0, -1.5, 0.25, 7.0, 99.75, -100.0, 100.0)
TYPES = pa.schema(
    [
        ("age", pa.float64()),
        ("gain-2", pa.float64()),
        ("name", pa.string()),
        ("other", pa.string()),
        ("flag", pa.bool_()),
        ("f2", pa.bool_()),
        ("born", pa.timestamp("us")),
    ]
)
LATTICE = Lattice(-100, 100, "0.25")


def arrow(rows: Iterable[Row]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(TYPES)
    return pa.table(dict(zip(TYPES.names, columns, strict=True)), schema=TYPES)


# It lacks most categories, has no NULL, and other extremes than the private tables below.
SYNTHETIC = arrow(
    [
        (1.0, 0.0, "a", "a", True, True, datetime.fromisoformat(MOMENTS[0])),
        (2.5, 10.0, "ab", "a", False, True, datetime.fromisoformat(MOMENTS[1])),
    ]
)


@cache
def plain_database() -> duckdb.DuckDBPyConnection:
    """DuckDB as it comes, opened once."""
    return duckdb.connect()


def plain_duckdb(rows: Sequence[Row]) -> duckdb.DuckDBPyConnection:
    """DuckDB with the typed table ``D``."""
    connection = plain_database().cursor()
    connection.register("given", arrow(rows))
    typed = ", ".join(
        f'CASE WHEN isnan("{field.name}") THEN NULL ELSE "{field.name}" END AS "{field.name}"'
        if field.type == pa.float64()
        else field.name
        for field in TYPES
    )
    connection.execute(f"CREATE OR REPLACE TABLE D AS SELECT {typed} FROM given")
    return connection


def plain_sqlite(rows: Sequence[Row]) -> sqlite3.Connection:
    """SQLite with the table ``D``; it stores NaN as NULL, moments as ISO text."""
    connection = sqlite3.connect(":memory:")
    connection.execute("PRAGMA case_sensitive_like = true")
    names = ", ".join(f'"{name}"' for name in TYPES.names)
    connection.execute(f"CREATE TABLE D ({names})")
    connection.executemany(
        f"INSERT INTO D VALUES ({', '.join('?' * len(TYPES))})",
        [(*row[:-1], None if row[-1] is None else row[-1].isoformat(" ")) for row in rows],
    )
    return connection


numbers = st.none() | st.just(float("nan")) | st.sampled_from(NUMBERS)
texts = st.none() | st.sampled_from(TEXTS) | st.text("aAbë%_'", max_size=3)
booleans = st.none() | st.booleans()
moments = st.none() | st.sampled_from([datetime.fromisoformat(moment) for moment in MOMENTS])
tables = st.lists(
    st.tuples(numbers, numbers, texts, texts, booleans, booleans, moments), max_size=12
)

number_literal = st.sampled_from(["0", "1", "2", "-1.5", "0.25", "7", "99.75", "-100", "1e2"])
number = st.recursive(
    st.sampled_from(["age", '"gain-2"', 'D."gain-2"', "AGE", "NULL"]) | number_literal,
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), inner),
        st.builds("ABS({})".format, inner),
        st.builds("COALESCE({}, {})".format, inner, inner),
        st.builds("CASE WHEN flag THEN {} ELSE {} END".format, inner, inner),
        st.builds("CASE {} WHEN 1 THEN {} END".format, inner, inner),
    ),
    max_leaves=4,
)
text_literal = st.sampled_from(TEXTS).map(lambda text: "'" + text.replace("'", "''") + "'")
text = st.sampled_from(["name", "other", "NAME", "NULL"]) | text_literal
wide_text = text | st.one_of(
    st.builds("({} || {})".format, text, text),
    st.builds("COALESCE({}, {})".format, text, text),
    st.builds("CASE WHEN f2 THEN {} ELSE {} END".format, text, text),
)
compare = st.sampled_from(["=", "<>", "!=", "<", "<=", ">", ">="])
maybe_not = st.sampled_from(["", "NOT "])
pattern = st.sampled_from(["a%", "%b", "_", "%", "", "Zo_", "b!%", "it''s"]).map("'{}'".format)

shared_atom = st.one_of(
    st.builds("{} {} {}".format, number, compare, number),
    st.builds("{} {} {}".format, wide_text, compare, wide_text),
    st.builds("born {} '{}'".format, compare, st.sampled_from(MOMENTS)),
    st.builds("{} {}IN ({}, {})".format, number, maybe_not, number, number),
    st.builds("{} {}IN ({}, {})".format, wide_text, maybe_not, text, text),
    st.builds("{} {}BETWEEN {} AND {}".format, number, maybe_not, number, number),
    st.builds("{} {}LIKE {}".format, wide_text, maybe_not, pattern),
    st.builds("name {}LIKE {} ESCAPE '!'".format, maybe_not, pattern),
    st.builds("{} IS {}NULL".format, number | wide_text | st.just("born"), maybe_not),
    st.sampled_from(["flag", "f2", "NULL", "flag = f2", "flag <> f2", "flag IS NULL"]),
)
# What sqlite lacks or reads in another way.
duckdb_atom = st.one_of(
    shared_atom,
    st.builds("{} {}ILIKE {}".format, wide_text, maybe_not, pattern),
    st.builds("name {}LIKE other".format, maybe_not),
    st.builds("{} IS {}DISTINCT FROM {}".format, number, maybe_not, number),
    st.builds("{} IS {}DISTINCT FROM {}".format, wide_text, maybe_not, wide_text),
    st.builds("flag IS {}{}".format, maybe_not, st.sampled_from(["TRUE", "FALSE"])),
    st.builds("LOWER({}) {} UPPER({})".format, text, compare, text),
    st.builds("LENGTH(TRIM({})) {} {}".format, text, compare, number_literal),
    st.builds("SUBSTRING({}, 1, 1) = {}".format, text, text_literal),
    st.builds("YEAR(born) - MONTH(born) * DAY(born) {} {}".format, compare, number),
    st.builds("born IN ('{}', NULL)".format, st.sampled_from(MOMENTS)),
    st.just("born BETWEEN DATE '2000-01-01' AND '2020-12-31'"),
    st.just("COALESCE(born, '2020-02-29') = '2020-02-29'"),
)


def trees(atom: st.SearchStrategy[str], node: str = "({})") -> st.SearchStrategy[str]:
    """AND, OR, NOT above atoms; ``node`` says what stands around each."""
    return st.recursive(
        atom.map(node.format),
        lambda inner: st.one_of(
            st.builds(node.format("{} AND {}").format, inner, inner),
            st.builds(node.format("{} OR {}").format, inner, inner),
            st.builds(node.format("NOT {}").format, inner),
        ),
        max_leaves=6,
    )


# Without parentheses the meaning hangs on how the parsers of sqlglot and DuckDB bind.
flat_predicate = trees(
    duckdb_atom
    | st.builds("name {}LIKE {} < f2".format, maybe_not, pattern)
    | st.builds("age {}IN (1, 2) >= flag".format, maybe_not)
    | st.builds("age {}BETWEEN 0 AND 2 <> f2".format, maybe_not)
    | st.builds("name {}LIKE {} IS {}NULL".format, maybe_not, pattern, maybe_not),
    "{}",
)


def count(where: str) -> str:
    return f"SELECT COUNT(*) FROM D WHERE {where}"


def check_against_duckdb(scan: Scan, rows: Sequence[Row], queries: Sequence[str]) -> None:
    found = scan(arrow(rows), SYNTHETIC, *queries)
    with plain_duckdb(rows) as oracle:
        expected = [(oracle.execute(sql).fetchone() or (None,))[0] for sql in queries]
    assert dict(zip(queries, found, strict=True)) == dict(zip(queries, expected, strict=True))


some = examples(40)


@some
@given(rows=tables, queries=st.lists(trees(duckdb_atom).map(count), min_size=1, max_size=8))
def test_counts_equal_plain_duckdb(scan: Scan, rows: list[Row], queries: list[str]) -> None:
    check_against_duckdb(scan, rows, queries)


@some
@given(rows=tables, queries=st.lists(flat_predicate.map(count), min_size=1, max_size=8))
def test_predicates_without_parentheses_mean_what_duckdb_says(
    scan: Scan, rows: list[Row], queries: list[str]
) -> None:
    check_against_duckdb(scan, rows, queries)


counted = st.builds(
    "SELECT COUNT({}{}) FROM D WHERE {}".format,
    st.sampled_from(["", "DISTINCT "]),
    number | wide_text | trees(duckdb_atom) | flat_predicate | st.just("born"),
    trees(shared_atom),
)


@some
@given(rows=tables, queries=st.lists(counted, min_size=1, max_size=8))
def test_counts_of_an_expression_equal_plain_duckdb(
    scan: Scan, rows: list[Row], queries: list[str]
) -> None:
    check_against_duckdb(scan, rows, queries)


@some
@given(rows=tables, predicates=st.lists(trees(shared_atom), min_size=1, max_size=8))
def test_counts_and_sums_equal_sqlite(scan: Scan, rows: list[Row], predicates: list[str]) -> None:
    counts = [count(where) for where in predicates]
    sums = [f'SELECT SUM("gain-2") FROM D WHERE {where}' for where in predicates]
    found = scan(arrow(rows), SYNTHETIC, *counts, *sums, lattice=LATTICE)
    answers = found[: len(counts)] + [sum(values) for values in found[len(counts) :]]
    with closing(plain_sqlite(rows)) as oracle:
        expected = [oracle.execute(sql).fetchone()[0] or 0 for sql in counts + sums]
    assert answers == expected


def snapped(value: float, lattice: Lattice) -> Fraction:
    """The lattice point of a value by exact arithmetic, halves towards the upper end."""
    if value in {float("inf"), float("-inf")}:
        return lattice.upper if value > 0 else lattice.lower
    steps = int((Fraction(value) - lattice.lower) / lattice.step + Fraction(1, 2))
    return lattice.lower + lattice.step * max(0, min(steps, lattice.points - 1))


@some
@given(
    rows=tables,
    measured=st.lists(st.tuples(number, trees(duckdb_atom)), min_size=1, max_size=6),
    lattice=st.sampled_from([LATTICE, Lattice(0, 7), Lattice("-1.5", "2.5", "0.5")]),
)
def test_values_of_a_sum_equal_plain_duckdb(
    scan: Scan, rows: list[Row], measured: list[tuple[str, str]], lattice: Lattice
) -> None:
    queries = [f"SELECT SUM({value}) FROM D WHERE {where}" for value, where in measured]
    found = scan(arrow(rows), SYNTHETIC, *queries, lattice=lattice)
    with plain_duckdb(rows) as oracle:
        for (value, where), values in zip(measured, found, strict=True):
            sql = f"SELECT v FROM (SELECT ({value})::DOUBLE AS v FROM D WHERE {where})"
            held = [v for (v,) in oracle.execute(sql).fetchall() if v is not None]
            assert values == sorted(snapped(v, lattice) for v in held), sql


SPELLINGS = [
    "name NOT LIKE 'a%' < flag",
    "name NOT LIKE 'a!%' ESCAPE '!' < flag",
    "age NOT IN (1, 2) < flag",
    "age NOT BETWEEN 1 AND 2 < flag",
    "NOT age = 1 IS NULL",
    "flag = f2 IS NULL",
    "age - -1 - - 1 > 2",
    "- - age > 1 -- a comment",
    "/* a */ age /* b */ > 1",
    "name = 'it''s' OR name = '--' OR name = '/*'",
    "born > TIMESTAMP '2020-02-28 10:00:00'",
    "\"NAME\" = 'Zoë'",
]
EVERY_MIX = [
    (age, age, name, name, flag, f2, datetime.fromisoformat(MOMENTS[0]))
    for age in (None, 0.0, 1.0, 2.0)
    for name in (None, *TEXTS)
    for flag in (None, True, False)
    for f2 in (None, True, False)
]


@pytest.mark.parametrize("where", SPELLINGS)
def test_spellings_mean_what_duckdb_says(scan: Scan, where: str) -> None:
    check_against_duckdb(scan, EVERY_MIX, [count(where)])


@pytest.mark.parametrize(
    "expression", ["flag OR f2", "flag AND f2", "NOT flag", "age = 1", "name NOT LIKE 'a'", "-age"]
)
def test_count_of_an_expression_counts_what_is_not_null(scan: Scan, expression: str) -> None:
    check_against_duckdb(scan, EVERY_MIX, [f"SELECT COUNT({expression}) FROM D"])


def test_distinct_values_are_counted_without_null(scan: Scan) -> None:
    columns = ["age", "name", "flag", "born", "flag OR f2", "LOWER(name)", "age * 0"]
    check_against_duckdb(scan, EVERY_MIX, [f"SELECT COUNT(DISTINCT {c}) FROM D" for c in columns])


def test_private_categories_that_the_synthetic_table_lacks_are_themselves(scan: Scan) -> None:
    wheres = ["name <> 'a'", "name = 'Zoë'", "name LIKE 'Zo%'", "name NOT IN ('a', 'ab')"]
    found = scan(arrow(EVERY_MIX), SYNTHETIC, *map(count, wheres))
    each = len(EVERY_MIX) // (len(TEXTS) + 1)
    assert found == [each * (len(TEXTS) - 1), each, each, each * (len(TEXTS) - 2)]
