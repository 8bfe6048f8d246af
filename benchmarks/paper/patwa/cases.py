"""Cases of DP-PQD: the paper's 60 queries on tables that can be had.

The paper's private tables are not public, but its Tables 5 and 6 print ``q(D)`` and ``q(Ds)`` of
every query, and its appendix D the downward sensitivity of every SUM.  So there are three kinds of
case.  ``printed`` has the printed answers: its values are those of the generated table of the
paper's size, taken until their sum and their largest value are the printed ones, or shifted until
their median is.  ``generated`` is the generated table with its own copy and its own answers.
``real`` is a real table with a copy that is made of it.
"""

import csv
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd

import pqd
from benchmarks.paper.record import Setting
from pqd.deciders import Histogram
from pqd.deciders.histogram import Integers

ROOT = Path(__file__).resolve().parents[3]
SAMPLES = ROOT / "samples"
# Rows of the paper's tables (section 7.1), and of a quick run.
ROWS = {"census": 1_340_703, "taxi": 2_177_719}
QUICK_ROWS = 100_000
SEED, COPY_EPSILON = 7, 10.0
# Domain of each attribute (section 7.1, appendix D); a SUM adds up values from 0.
DOMAINS = {
    ("SUM", "inctot"): (0, 500_000),
    ("MEDIAN", "age"): (0, 85),
    ("SUM", "total_amount"): (0, 377),
    ("MEDIAN", "trip_distance"): (1, 100),
}


@dataclass(frozen=True, slots=True)
class Case:
    """One query on one private table: the values of the matching rows, and the copy's answer."""

    answers: str
    id: str
    aggregate: str
    histogram: Histogram
    synthetic: int
    lower: int = 0
    upper: int = 1

    @property
    def private(self) -> int:
        """``q(D)``; the median is the lower one."""
        return answer_of(self.aggregate, self.histogram)


def answer_of(aggregate: str, histogram: Histogram) -> int:
    """Answer of a COUNT, SUM or MEDIAN; 0 for the median of no row."""
    if aggregate == "COUNT":
        return histogram.mass
    if aggregate == "SUM":
        return int(histogram.values @ histogram.counts)  # noqa: PD011 - no frame
    running = np.cumsum(histogram.counts)
    if not histogram.mass:
        return 0
    middle = np.searchsorted(running, (histogram.mass + 1) // 2)
    return int(histogram.values[middle])  # noqa: PD011 - no frame


@dataclass(frozen=True, slots=True)
class Printed:
    """Row of the paper's Table 5 or 6."""

    id: str
    table: str
    aggregate: str
    private: int
    synthetic: int
    downward: int | None


@cache
def printed_answers() -> dict[str, Printed]:
    """The paper's answers of all 60 queries, by the id of the query."""
    with (SAMPLES / "paper_answers.csv").open(encoding="utf-8", newline="") as file:
        return {
            row["id"]: Printed(
                row["id"],
                row["table"],
                row["aggregate"],
                int(row["q_private"]),
                int(row["q_synthetic"]),
                int(row["downward_sensitivity"]) if row["downward_sensitivity"] else None,
            )
            for row in csv.DictReader(file)
        }


@contextmanager
def importable_samples() -> Iterator[None]:
    """Block in which the scripts of ``samples/`` can be imported: the folder is no package."""
    sys.path.insert(0, str(SAMPLES))
    try:
        yield
    finally:
        sys.path.remove(str(SAMPLES))


@cache
def generated(name: str, rows: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Generated private table and its copy, as ``samples/make.py`` makes them."""
    with importable_samples():
        from make import make  # noqa: PLC0415 - the folder of the script is no package
    return make(name, rows, SEED, COPY_EPSILON)


def matching(frame: pd.DataFrame, queries: Sequence[pqd.Query]) -> Iterator[Integers]:
    """Values of the rows that each query selects; ones for a COUNT."""
    texts = frame.select_dtypes(exclude="number").columns
    columns = ", ".join(f'"{c}"::VARCHAR AS "{c}"' if c in texts else f'"{c}"' for c in frame)
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE d AS SELECT {columns} FROM frame")
        for query in queries:
            wanted = "1" if query.aggregate == "COUNT" else query.attribute
            where = f" WHERE {query.where}" if query.where else ""
            sql = f"SELECT {wanted}::BIGINT AS v FROM d{where}"
            (values,) = connection.execute(sql).fetchnumpy().values()
            yield np.ma.compressed(values)


def generated_cases(aggregate: str, *, quick: bool) -> Iterator[tuple[Case, Integers]]:
    """Generated cases of an aggregate, each with the values of its matching rows."""
    for name, rows in ROWS.items():
        private, synthetic = generated(name, QUICK_ROWS if quick else rows)
        every = pqd.read_queries(SAMPLES / f"{name}.sql")
        queries = [query for query in every if query.aggregate == aggregate]
        found = zip(queries, matching(private, queries), matching(synthetic, queries), strict=True)
        for query, values, copied in found:
            lower, upper = DOMAINS.get((aggregate, query.attribute or ""), (0, 1))
            clipped = np.clip(values, lower, upper)
            centre = answer_of(aggregate, Histogram.from_values(np.clip(copied, lower, upper)))
            histogram = Histogram.from_values(clipped)
            case = Case("generated", query.id or "", aggregate, histogram, centre, lower, upper)
            yield case, clipped


def answers(setting: Setting) -> pd.DataFrame:
    """Answers of the 60 queries (Tables 2, 5 and 6): the printed ones, and those of our tables."""
    lines = []
    for aggregate in ("COUNT", "SUM", "MEDIAN"):
        for case, values in generated_cases(aggregate, quick=setting.quick):
            row = printed_answers()[case.id]
            lines.append(
                {
                    "query": case.id,
                    "aggregate": aggregate,
                    "printed private": row.private,
                    "printed synthetic": row.synthetic,
                    "printed largest": row.downward,
                    "generated private": case.private,
                    "generated synthetic": case.synthetic,
                    "generated largest": int(values.max()) if aggregate == "SUM" else None,
                    "generated rows": values.size,
                }
            )
    return pd.DataFrame(lines).convert_dtypes()


def of_sum(values: Integers, total: int, largest: int, rng: np.random.Generator) -> Histogram:
    """Histogram of rows drawn from ``values``, with this sum and this largest value.

    Rows are drawn until their sum would exceed ``total - largest``; one row of the largest value
    and one of what is left make up the rest.
    """
    usable = values[(values > 0) & (values <= largest)]
    if not usable.size:
        raise ValueError(f"no value lies in 1..{largest}")
    left, parts = total - largest, [np.array([largest], np.int64)]
    while left > 0:
        drawn = rng.choice(usable, size=min(1 << 20, 2 + int(2 * left / usable.mean())))
        running = np.cumsum(drawn)
        kept = int(np.searchsorted(running, left, side="right"))
        parts.append(drawn[:kept])
        left -= int(running[kept - 1]) if kept else 0
        if kept < drawn.size:
            # The next row would be too much, so a last row has exactly what is left.
            parts.append(np.array([left], np.int64) if left else np.array([], np.int64))
            break
    return Histogram.from_values(np.concatenate(parts))


def printed_cases(aggregate: str, *, quick: bool) -> Iterator[Case]:
    """Cases with the paper's printed answers; see the module."""
    answers = printed_answers()
    if aggregate == "COUNT":
        for row in answers.values():
            if row.aggregate == "COUNT":
                mass = Histogram.of_mass(row.private)
                yield Case("printed", row.id, "COUNT", mass, row.synthetic)
        return
    for place, (case, values) in enumerate(generated_cases(aggregate, quick=quick)):
        row = answers[case.id]
        if aggregate == "SUM":
            rng = np.random.default_rng([SEED, place])
            histogram = of_sum(values, row.private, row.downward or case.upper, rng)
        else:
            shifted = np.clip(values + row.private - case.private, case.lower, case.upper)
            histogram = Histogram.from_values(shifted)
        yield Case("printed", row.id, aggregate, histogram, row.synthetic, case.lower, case.upper)
