"""Many different queries on the census: `python benchmarks/mixed_queries.py COPY.parquet 3000 OUT`.

Half of the queries count rows.  The others are SUM, AVG, MEDIAN and QUANTILE of an income or an
age.  Each query has a condition on the age, and up to two conditions on other columns.  All runs
make the same queries, and a smaller workload is the beginning of a larger one.
"""

import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

SEED = 5
COLUMNS = ("relate", "sex", "race", "marst", "citizen", "workly", "classwkr", "educ")
VALUES = (
    *["COUNT(*)"] * 10,
    *["SUM(inctot)"] * 4,
    *("SUM(age)", "AVG(age)", "AVG(inctot)"),
    *("MEDIAN(inctot)", "MEDIAN(age)", "QUANTILE(inctot, 0.9)"),
)
CONDITIONS = (0, 1, 1, 2)
AGES = range(16, 70)


def queries(known: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Endless stream of different queries; ``known`` has the values of each column.

    About ten million different queries are possible.
    """
    chance, seen = random.Random(SEED), set[str]()
    while True:
        named = chance.sample(list(known), chance.choice(CONDITIONS))
        where = [f"{name} = '{chance.choice(known[name])}'" for name in named]
        low = chance.choice(AGES)
        between = f"age BETWEEN {low} AND {low + chance.randrange(1, 20)}"
        where.append(chance.choice([f"age >= {low}", f"age < {low}", between]))
        sql = f"SELECT {chance.choice(VALUES)} FROM D WHERE {' AND '.join(where)}"
        if sql not in seen:
            seen.add(sql)
            yield sql


def workload(known: Mapping[str, Sequence[str]], number: int) -> str:
    """Text of a workload file with ``number`` queries."""
    found = islice(queries(known), number)
    return "\n".join(f"-- id: q{place}\n{sql};\n" for place, sql in enumerate(found, start=1))


def ranges(number: int) -> str:
    """Text of a workload file with ``number`` COUNT queries on two columns, for a shared budget."""
    chance, marst = random.Random(SEED), ("Divorced", "Widowed", "Separated")
    where = []
    for _ in range(number):
        low = chance.randrange(80)
        married = chance.choice(["", *(f" AND marst = '{status}'" for status in marst)])
        where.append(f"age BETWEEN {low} AND {low + chance.randrange(1, 15)}{married}")
    return "\n".join(f"SELECT COUNT(*) FROM D WHERE {each};" for each in where)


def prefixes(number: int) -> str:
    """Text of a workload file with ``number`` prefix sums: counts of rows below rising incomes."""
    return "\n".join(f"SELECT COUNT(*) FROM D WHERE inctot < {100 * n};" for n in range(number))


def values_of(copy: str) -> dict[str, list[str]]:
    """Values of the columns of a copy, as texts that can stand within quotes."""
    import pandas as pd  # noqa: PLC0415 - what a benchmark holds would count as its programs' memory

    frame = pd.read_parquet(copy, columns=list(COLUMNS))
    return {
        name: sorted(str(value).replace("'", "''") for value in frame[name].unique())
        for name in COLUMNS
    }


if __name__ == "__main__":
    source, size, out = sys.argv[1:]
    Path(out).write_text(workload(values_of(source), int(size)), encoding="utf-8")
