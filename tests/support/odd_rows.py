"""Rows of every type with what is odd in each, and statistics of every aggregate on them."""

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from pqd.deciders import Interval, Lattice
from pqd.engine.cut_points import CutPoints
from pqd.engine.scan_plan import Measure, Statistic
from pqd.sql.query import Query
from pqd.sql.schema import Kind

KEY = b"k" * 32
SCHEMA = {
    **dict.fromkeys(("n", "x", "d"), Kind.NUMBER),
    "s": Kind.TEXT,
    "b": Kind.BOOLEAN,
    "t": Kind.TIME,
    "p": Kind.NUMBER,
    "q": Kind.TEXT,
}
QUERIES = [
    "SELECT COUNT(*) FROM t",
    "SELECT COUNT(*) FROM t WHERE n > 2 AND s <> 'a'",
    "SELECT COUNT(*) FROM t WHERE s LIKE 'A%' OR b IS NULL",
    "SELECT COUNT(x) FROM t WHERE t >= '2020-02-01'",
    "SELECT SUM(n) FROM t WHERE NOT b",
    "SELECT SUM(n + x) FROM t WHERE s ILIKE 'a'",
    "SELECT AVG(x) FROM t",
    "SELECT MEDIAN(n) FROM t WHERE n <> 3",
    "SELECT COUNT(DISTINCT s) FROM t",
    "SELECT COUNT(DISTINCT x) FROM t WHERE b",
    "SELECT COUNT(DISTINCT n + x) FROM t",
    "SELECT COUNT(DISTINCT t) FROM t WHERE n < 9",
    "SELECT COUNT(DISTINCT d) FROM t",
]
NO_VALUE = (None, float("nan"))


def odd_rows(rows: int = 400) -> pa.Table:
    """Rows of every type, with what is odd in each; persons have many rows, few, or one."""
    at = np.arange(rows)

    def taken(cells: Sequence[Any], places: Any, kind: pa.DataType) -> pa.Array:
        return pa.array([cells[place % len(cells)] for place in places], kind, from_pandas=False)

    days = [dt.datetime(2020, month, 3, tzinfo=dt.UTC) for month in range(1, 6)]
    persons = [None, float("nan"), 0.0, -0.0, *map(float, range(1, 40))]
    return pa.table(
        {
            "n": taken([None, 1, 2, 3, -(2**63), 2**63 - 1, *range(20)], at * 7, pa.int64()),
            "x": taken(
                [*NO_VALUE, -0.0, 0.0, 0.5, 2.5, float("inf")], at * 3 + at // 5, pa.float64()
            ),
            "d": taken([None, Decimal("1.50"), Decimal("-3.25")], at // 2, pa.decimal128(9, 2)),
            "s": taken(
                [None, "", "a", "A", "Ab", "é", "x\0y", "100%"], at * 5 + at // 11, pa.string()
            ),
            "b": taken([None, True, False], at // 3, pa.bool_()),
            "t": taken([None, *days], at // 7 + at, pa.timestamp("us", "UTC")),
            "p": taken(persons, at * at % 101, pa.float64()),
            "q": taken([None, "", "3", "3.0", *map(str, range(30))], at * at % 53, pa.string()),
        }
    )


def statistics(queries: Sequence[str], *, total: bool = False) -> tuple[Statistic, ...]:
    found = []
    for sql in queries:
        query = Query(sql)
        resolved = query.resolve(SCHEMA)
        measure = None
        if resolved.value is not None:
            lattice = None if "DISTINCT" in query.aggregate else Lattice(-3, 12, "0.5")
            cuts = None
            if query.aggregate == "MEDIAN":
                lattice, cuts = (
                    None,
                    CutPoints.of([Interval(0, 9)], Fraction(1), (Fraction(-5), Fraction(30))),
                )
            wide = Lattice(-300, 400, "0.5") if total and query.aggregate == "SUM" else None
            measure = Measure(resolved.value, lattice, wide, cuts)
        if query.aggregate == "COUNT" and resolved.value is not None:
            measure = None
        collapsed = query.aggregate in {"COUNT", "SUM"}
        found.append(Statistic(resolved.predicate, measure, resolved.columns, collapsed))
    return tuple(found)
