"""What a scan counts: NULL, lattice points, many conditions, many chunks, odd names."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pqd.deciders import Lattice
from pqd.engine.synthetic_table import SyntheticTable
from pqd.engine.tables import open_table

Scan = Callable[..., list[Any]]
CENTS = Lattice("-1.5", "2.5", "0.01")


def count(where: str) -> str:
    return f"SELECT COUNT(*) FROM D WHERE {where}"


@pytest.mark.parametrize("aggregate", ["SUM", "MEDIAN"])
def test_null_is_not_a_value(scan: Scan, aggregate: str) -> None:
    private = pa.table({"age": pa.array([None, 5.0, float("nan"), 7.0])})
    synthetic = pa.table({"age": [2.0, 9.0]})
    assert scan(private, synthetic, f"SELECT {aggregate}(age) FROM D") == [[5, 7]]


@pytest.mark.parametrize(
    ("lattice", "value", "expected"),
    [
        (CENTS, 0.1 + 0.2, "0.3"),
        (CENTS, 0.014, "0.01"),
        (CENTS, 0.016, "0.02"),
        (CENTS, -0.29, "-0.29"),
        (CENTS, -1.5, "-1.5"),
        (CENTS, -7.0, "-1.5"),
        (CENTS, 2.51, "2.5"),
        (CENTS, 1e300, "2.5"),
        (CENTS, float("inf"), "2.5"),
        (CENTS, float("-inf"), "-1.5"),
        (Lattice(-30, -10, 10), -1.0, "-10"),
        (Lattice(-30, -10, 10), -24.0, "-20"),
        (Lattice(1, 10, 3), 0.0, "1"),
        (Lattice(1, 10, 3), 5.0, "4"),
        (Lattice(5, 5), 7.0, "5"),
        (Lattice(0, 2**52), 2.0**52 - 1, str(2**52 - 1)),
        (Lattice(0, 2**52), 3.4, "3"),
    ],
)
def test_values_snap_to_the_lattice_and_stop_at_its_ends(
    scan: Scan, lattice: Lattice, value: float, expected: str
) -> None:
    private, synthetic = pa.table({"x": [value]}), pa.table({"x": [1.0]})
    found = scan(private, synthetic, "SELECT SUM(x) FROM D", lattice=lattice)
    assert found == [[Fraction(expected)]]


@given(
    cents=st.lists(st.integers(-150, 250), min_size=1, max_size=30),
    lattice=st.sampled_from([CENTS, Lattice(-1, 2, "0.01"), Lattice("-0.5", 1, "0.1")]),
)
@settings(max_examples=40)
def test_a_decimal_snaps_to_the_nearest_point(
    scan: Scan, cents: list[int], lattice: Lattice
) -> None:
    private = pa.table({"x": [cent / 100 for cent in cents]})
    (found,) = scan(private, pa.table({"x": [1.0]}), "SELECT SUM(x) FROM D", lattice=lattice)
    clamped = sorted(max(lattice.lower, min(lattice.upper, Fraction(c, 100))) for c in cents)
    for point, value in zip(found, clamped, strict=True):
        assert (point - lattice.lower) % lattice.step == 0
        assert abs(point - value) <= lattice.step / 2


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, 4.0], Lattice(1, 4)),
        ([-2.5, 4.0], Lattice("-2.5", 4, "0.1")),
        ([0.01, 10.0], Lattice("0.01", 10, "0.01")),
        ([1 / 3, 2.0], Lattice("0.333333", 2, "0.000001")),
        ([7.0, None, float("nan"), float("inf")], Lattice(7, 7)),
        ([None, float("nan")], None),
        ([], None),
    ],
)
def test_the_lattice_comes_from_the_synthetic_values(
    values: list[float | None], expected: Lattice | None
) -> None:
    table = open_table(pa.table({"x": pa.array(values, pa.float64())}), "synthetic")
    engine = SyntheticTable()
    schema = engine.schema(table, ["x"], {})
    assert engine.profile(schema, '"x"') == expected


@pytest.mark.parametrize("largest", [2.0**51, 2.0**60, 1e308])
def test_the_lattice_of_huge_values_is_one_that_doubles_can_tell_apart(largest: float) -> None:
    table = open_table(pa.table({"x": [0.0, largest]}), "synthetic")
    engine = SyntheticTable()
    lattice = engine.profile(engine.schema(table, ["x"], {}), '"x"')
    assert lattice is not None
    assert lattice.points <= 2**51
    assert abs(lattice.upper - Fraction(largest)) <= lattice.step


def test_sum_over_an_expression(scan: Scan) -> None:
    private = pa.table({"hours": [1.0, 2.0, None, 50.0], "rate": [10.0, 20.0, 30.0, None]})
    synthetic = pa.table({"hours": [0.0, 3.0], "rate": [0.0, 20.0]})
    # The synthetic lattice is 1 .. 61.
    sql = "SELECT SUM(hours * rate * 2 + 1) FROM D WHERE hours < 60"
    assert scan(private, synthetic, sql) == [[21, 81]]
    assert scan(private, synthetic, "SELECT SUM(hours * rate + 30) FROM D") == [[40, 70]]


def test_arithmetic_saturates_instead_of_raising(scan: Scan) -> None:
    private = pa.table({"x": [1e308, -1e308, 2.0]})
    queries = ["SELECT SUM(x * 10) FROM D", "SELECT SUM(x * 10 - x * 10) FROM D"]
    found = scan(
        private,
        pa.table({"x": [0.0, 3.0]}),
        *queries,
        count("x * 10 > 1e308"),
        lattice=Lattice(0, 50),
    )
    # Infinity less infinity is not a number, hence NULL.
    assert found == [[0, 20, 50], [0], 1]


@pytest.mark.parametrize("function", ["LENGTH(name)", "YEAR(born)"])
def test_whole_numbers_saturate_too(scan: Scan, function: str) -> None:
    moments = np.array(["2020-01-01", "290000-01-01"], dtype="datetime64[us]")
    private = pa.table({"name": ["ab", "x" * 100_000], "born": moments})
    synthetic = pa.table({"name": ["ab", "c"], "born": moments[:1].repeat(2)})
    assert scan(private, synthetic, count(" * ".join([function] * 5) + " > 0")) == [2]


@pytest.mark.parametrize("atoms", [1, 63, 64, 65, 129, 300])
def test_more_conditions_than_one_word_holds(scan: Scan, atoms: int) -> None:
    table = pa.table({"age": np.arange(atoms, dtype=float), "even": np.arange(atoms) % 2 == 0})
    queries = [count(f"age = {n}") for n in range(atoms)]
    queries.append(count(" OR ".join(f"age = {n}" for n in range(atoms))))
    queries.append(count(" AND ".join(f"age <> {n}" for n in range(1, atoms + 1))))
    queries.append(count(" AND ".join(f"(age <> {n} OR even)" for n in range(atoms))))
    assert scan(table, table, *queries) == [1] * atoms + [atoms, 1, (atoms + 1) // 2]


def test_three_thousand_conditions_in_one_query(scan: Scan) -> None:
    table = pa.table({"age": np.arange(3_010, dtype=float)})
    where = " AND ".join(f"age <> {n}" for n in range(3_000))
    assert scan(table, table, count(where)) == [10]


def test_no_predicate_no_match_and_no_rows(scan: Scan) -> None:
    table = pa.table({"age": [1.0] * 5})
    queries = ["SELECT COUNT(*) FROM D", count("age > 9"), "SELECT SUM(age) FROM D WHERE age > 9"]
    assert scan(table, table, *queries) == [5, 0, []]
    assert scan(table.slice(0, 0), table, *queries) == [0, 0, []]


def test_chunks_do_not_show(scan: Scan, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "age": rng.integers(0, 90, 10_000),
            "name": rng.choice(["a", "b", "Zoë"], 10_000),
            "flag": rng.random(10_000) < 0.3,
        }
    )
    queries = [
        "SELECT COUNT(*) FROM D",
        count("flag AND name <> 'a'"),
        "SELECT SUM(age) FROM D WHERE NOT flag",
        "SELECT MEDIAN(age) FROM D WHERE name = 'Zoë' AND age > 88",
    ]
    whole = scan(frame, frame, *queries)
    monkeypatch.setattr("pqd.engine.counting.arrow_sql._CHUNK", 1)
    assert scan(frame, frame, *queries) == whole
    assert whole[:2] == [10_000, len(frame.query("flag and name != 'a'"))]
    assert whole[2:] == [
        sorted(frame.query("not flag")["age"]),
        sorted(frame.query("name == 'Zoë' and age > 88")["age"]),
    ]


def test_columns_may_be_named_like_the_engine_s_own(scan: Scan) -> None:
    table = pd.DataFrame({"b0": [5, 6], "v0": [1, 2], "v": [3, 4], "one": [7, 8], 'a"b': [9, 9]})
    queries = ["SELECT SUM(v0) FROM D WHERE b0 = 5", "SELECT SUM(v) FROM D WHERE one = 8"]
    assert scan(table, table, *queries, 'SELECT SUM("a""b") FROM D') == [[1], [4], [9, 9]]


def test_categories_whose_names_look_like_types_are_text(scan: Scan) -> None:
    table = pd.DataFrame({"shop": pd.Categorical(["PRINTER", "FLOAT", "DECIMAL", "PRINTER"])})
    assert scan(table, table, count("shop = 'PRINTER'")) == [2]


def test_columns_of_other_types_can_still_be_counted(scan: Scan) -> None:
    table = pa.table(
        {
            "span": pa.array([1, None, 3], pa.duration("s")),
            "pair": [{"a": 1}, None, {"a": 2}],
            "many": [[1], None, [2]],
        }
    )
    queries = [f"SELECT COUNT({name}) FROM D" for name in table.column_names]
    assert scan(table, table, *queries) == [2, 2, 2]
