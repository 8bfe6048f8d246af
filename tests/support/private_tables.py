"""Copies, and private tables of their header that share as little with each other as they can."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from tests.support.likeness import like

CANARY = "zebra-canary"


def nothing_but_null(table: pd.DataFrame) -> pd.DataFrame:
    return table.astype(object).where(np.zeros(table.shape, dtype=bool), None)


# Pay and jobs: seven rows, every type of column ---------------------------------------------------

PAY = pd.DataFrame(
    {
        "age": [20, 30, 40, 50, 60, 35, 45],
        "pay": [0.5, 1.5, 2.0, 0.0, 9.25, 3.0, 7.0],
        "job": ["cook", "cook", "smith", "cook", "smith", "nurse", "nurse"],
        "born": pd.Series(["1990-01-01"] * 7, dtype="datetime64[us]"),
    }
)
OTHER_PAY = PAY.assign(age=PAY["age"] + 3, pay=PAY["pay"][::-1].to_numpy())


def _many(rows: int) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "age": rng.integers(-500, 500, rows),
            "pay": rng.normal(0, 1e6, rows),
            "job": rng.choice(["spy", "cook", "Zoë 🦓", "987654321"], rows),
            "born": pd.Series(["1990-05-05"] * rows, dtype="datetime64[us]"),
        }
    )


PAY_TABLES: dict[str, pd.DataFrame] = {
    "a neighbour": pd.concat([PAY, PAY.iloc[-1:]]),
    "many other rows": _many(5_000),
    "no rows": PAY.iloc[:0],
    "nothing but NULL": nothing_but_null(PAY),
    "texts for numbers": PAY.assign(age=CANARY, pay="?", job=7),
    "extremes": PAY.assign(age=np.inf, pay=[1e308, -1e308, np.nan, *[np.inf] * 4]),
    "long text": PAY.assign(job="x" * 100_000),
}
# What a file of that header may hold instead of a table.
PAY_FILES: dict[str, bytes] = {
    "lines of other lengths": b"age,pay,job,born\n1\n1,2,3,4,5,6\n\n",
    "open quote": b'age,pay,job,born\n1,2,"zebra-canary,4\n5,6,7,8\n',
    "no text": b"age,pay,job,born\n1,2,\xff\xfe,4\n",
    "zero byte": b"age,pay,job,born\n1,2,\0,4\n",
    "long line": b"age,pay,job,born\n1,2," + b"x" * 3_000_000 + b",4\n",
    **{name: table.to_csv(index=False).encode() for name, table in PAY_TABLES.items()},
}

# Ages and jobs: types that a frame may have and a file may not ------------------------------------

AGES = PAY[["age", "job"]]
AGE_TABLES: dict[str, pd.DataFrame] = {
    "the copy": like(AGES),
    "mixed objects": pd.DataFrame(
        {"age": pd.Series([1] * 4_999 + [CANARY], dtype=object), "job": "cook"}
    ),
    "long text": pd.DataFrame({"age": 1, "job": ["x" * 100_000]}),
    "lists": pd.DataFrame({"age": [[1], [2]], "job": [["a"], ["b"]]}),
    "bytes": pd.DataFrame({"age": [b"\xff", b"1"], "job": [b"\xff", b"a"]}),
    "huge numbers": pd.DataFrame({"age": [10**40, -(10**40)], "job": [10**40, 1]}),
    "categories": pd.DataFrame(
        {"age": pd.Categorical(["1", "zebra"]), "job": pd.Categorical([1, 2])}
    ),
    "other times": pd.DataFrame(
        {"age": pd.to_datetime(["2020-01-01"]), "job": pd.to_timedelta([1], unit="s")}
    ),
}

# Persons with several rows ------------------------------------------------------------------------

PERSONS = pd.DataFrame(
    {
        "pid": ["p1", "p1", "p2", None, "p3", "p4", "p4"],
        "age": [20, 30, 40, 50, 60, 35, 45],
        "capital-gain": [0.5, 1.5, 2.0, 0.0, 9.25, 3.0, 7.0],
        "job": ["cook", "cook", "smith", None, "smith", "nurse", "it's"],
        "retired": [True, False, None, True, False, False, True],
    }
)


def many_persons(rows: int) -> pd.DataFrame:
    rng = np.random.default_rng(8)
    return pd.DataFrame(
        {
            "pid": rng.choice([*(f"{CANARY} {n}" for n in range(50)), "p1"], rows),
            "age": rng.integers(-500, 500, rows),
            "capital-gain": rng.normal(0, 1e6, rows),
            "job": rng.choice([CANARY, "cook", "Zoë 🦓", "987654321"], rows),
            "retired": rng.choice([True, False], rows),
        }
    )


PERSON_TABLES: dict[str, pd.DataFrame] = {
    "a neighbour": pd.concat([PERSONS, PERSONS.iloc[-1:]]),
    "many other rows": many_persons(3_000),
    "no rows": PERSONS.iloc[:0],
    "nothing but NULL": nothing_but_null(PERSONS),
    "only keys that are not public": PERSONS.assign(
        job=CANARY, age=77_777, retired="perhaps", pid=CANARY
    ),
    "one person": pd.concat([PERSONS.assign(pid=CANARY)] * 40),
    "keys of other kinds": PERSONS.assign(job=range(len(PERSONS)), retired=7, age=CANARY),
    "extremes": PERSONS.assign(age=np.inf, pid=1e308, retired=np.nan),
    "long text": PERSONS.assign(job="x" * 50_000, pid="y" * 50_000),
}

# Workers: rows enough for mechanisms that answer many queries together ----------------------------


def workers(seed: int, rows: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(0, 80, rows),
            "pay": rng.integers(0, 9, rows),
            "debt": rng.integers(-50, 51, rows),
            "job": rng.choice(["cook", "smith", "nurse"], rows),
        }
    )


WORKERS, _SECRET = workers(1), workers(2)
WORKER_TABLES: dict[str, pd.DataFrame] = {
    "as many other rows": _SECRET,
    "many other rows": workers(9, 3_000).assign(job="spy", pay=7),
    "no rows": _SECRET.iloc[:0],
    "nothing but NULL": nothing_but_null(_SECRET),
    "texts for numbers": _SECRET.assign(age=CANARY, pay="?", debt="", job=7),
    "extremes": _SECRET.assign(age=np.inf, pay=1e308, debt=-1e308),
}


def named(tables: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The tables of these names."""
    return {name: tables[name] for name in names}


def csv_of(tables: Mapping[str, pd.DataFrame]) -> dict[str, bytes]:
    """The tables as files."""
    return {name: table.to_csv(index=False).encode() for name, table in tables.items()}
