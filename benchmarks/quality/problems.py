"""Problems of the benchmark: whether a private answer is within a tolerance of the copy's.

A query is drawn from the columns and values of the copy alone, by a seeded rule.  Its tolerances
are shares of the copy's answer.  *Hard* problems have half and twice the true gap as their
tolerance: the test is made from the truth, but no entrant learns it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd

from benchmarks.drawn_queries import LEAST_ROWS, Selection, numeric_columns, selections
from pqd.deciders import Histogram, Interval, Lattice, answer
from pqd.deciders.histogram import HALF
from pqd.engine.scan_plan import ScanPlan
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.parameters import Criteria, Parameters
from pqd.planning.binding import bind
from pqd.planning.bound_workload import BoundQuery, QueryRequest
from pqd.planning.lattices import lattice_of
from pqd.sql.query import Query

ALPHA = Fraction(1, 20)
AGGREGATES = ("COUNT", "SUM", "AVG", "MEDIAN", "QUANTILE", "COUNT DISTINCT")
HARD = {"half the gap": HALF, "twice the gap": Fraction(2)}
_QUANTILES = Fraction(1, 4), Fraction(9, 10)
# Digits to which the ends of a column's domain are rounded outwards.
_DIGITS = 2


@dataclass(frozen=True, eq=False)
class Tables:
    """Private table and copy of one entry, as drawn for one seed; both have the same columns."""

    name: str
    seed: int
    private: pd.DataFrame
    copy: pd.DataFrame

    @cached_property
    def domains(self) -> Mapping[str, Mapping[str, Any]]:
        """Bounds of each column of numbers, as a custodian states them, with a step of 1.

        A domain is public knowledge.  Here it is the range of both tables, rounded outwards to two
        digits.
        """
        return {
            name: {"bounds": outwards(*_ends(self.private[name], self.copy[name])), "step": 1}
            for name in numeric_columns(self.copy)
        }


@dataclass(frozen=True, eq=False)
class DrawnQuery:
    """One query on a private table and a copy, with both histograms."""

    tables: Tables
    number: int
    selection: Selection
    bound: BoundQuery
    private: Histogram

    @property
    def sql(self) -> str:
        """Query as SQL; D is either table."""
        return self.bound.query.sql

    @property
    def aggregate(self) -> str:
        """One of ``AGGREGATES``."""
        return self.bound.query.aggregate

    @property
    def turn(self) -> int:
        """Place of the query among those of its aggregate."""
        return self.number // len(AGGREGATES)

    @property
    def p(self) -> Fraction:
        """Share of rows of a QUANTILE; one half for other aggregates."""
        return self.bound.query.p or HALF

    @property
    def copy(self) -> Histogram:
        """Histogram of the copy's selected rows."""
        return self.bound.synthetic[0]

    @property
    def lattice(self) -> Lattice:
        """Public domain of the aggregated column."""
        return lattice_of(self.bound.query, self.bound.statistic)[0]

    @cached_property
    def answers(self) -> tuple[Fraction | None, Fraction]:
        """Answers on the private table and on the copy; the first is None without rows."""
        private, copy = (
            answer(self.aggregate, table, self.p) for table in (self.private, self.copy)
        )
        if copy is None:
            raise ValueError(f"{self.sql} has no answer on the copy of {self.tables.name}")
        return private, copy


@dataclass(frozen=True, eq=False)
class Problem:
    """One query with one tolerance.  ``stratum`` names the tolerance; ``tau`` is in its unit.

    An entrant may read everything but ``truth``; only one that calls itself not private may read
    the private table without noise.
    """

    query: DrawnQuery
    stratum: str
    tau: Fraction
    alpha: Fraction = ALPHA

    @property
    def is_hard(self) -> bool:
        """Whether the tolerance was made from the true gap."""
        return self.stratum in HARD

    @property
    def key(self) -> str:
        """Name of the problem: entry, seed, query and tolerance."""
        query = self.query
        return f"{query.tables.name}, seed {query.tables.seed}, {query.number}, {self.stratum}"

    @cached_property
    def interval(self) -> Interval:
        """Answers within the tolerance: an open interval around the copy's answer."""
        return Interval.around(self.query.answers[1], self.tau)

    @cached_property
    def truth(self) -> bool:
        """Whether ``|q(D) - q(Ds)| < tau``; a private table without an answer is not within."""
        private = self.query.answers[0]
        return private is not None and self.interval.contains(private)

    def bound(self, mechanism: str, epsilon: Fraction) -> BoundQuery:
        """Query with the criteria of a run of pqd."""
        criteria = self.query.bound.criteria
        stated = Criteria.of(tau=self.tau, alpha=self.alpha, mechanism=mechanism)
        return self.query.bound.with_criteria(
            Parameters(
                tolerance=stated.tolerance,
                alpha=self.alpha,
                mechanism=mechanism,
                columns=criteria.columns,
                epsilon=epsilon,
            )
        )


def outwards(low: int, high: int) -> tuple[int, int]:
    """Ends of a domain, rounded outwards to two digits."""
    down, up = (Context(_DIGITS, rounding=way) for way in (ROUND_FLOOR, ROUND_CEILING))
    return int(down.plus(Decimal(low))), int(up.plus(Decimal(high)))


def _ends(*columns: pd.Series) -> tuple[int, int]:
    return int(min(c.min() for c in columns)), int(max(c.max() for c in columns))


def drawn_queries(tables: Tables, number: int) -> list[DrawnQuery]:
    """Up to ``number`` queries of an entry; the aggregates take turns.

    Raises
    ------
    SystemExit
        The copy has no column of numbers, or no column of categories.
    """
    drawn = dict(_texts(tables, number))
    criteria = Criteria.of(tau="5%", alpha=ALPHA, columns=tables.domains)
    requests = [
        QueryRequest(Query(sql, f"q{place}"), criteria) for place, sql in enumerate(drawn, start=1)
    ]
    read = SyntheticTables(
        [open_table(tables.copy, "synthetic")], open_table(tables.private, "private")
    )
    bound = bind(read, requests, criteria.columns)
    bound.check()
    scan = ScanPlan(tuple(query.statistic for query in bound.queries))
    histograms = read.engine.histograms(bound.private, bound.schema, scan)
    return [
        DrawnQuery(tables, place, drawn[query.query.sql], query, private)
        for place, (query, private) in enumerate(zip(bound.queries, histograms, strict=True))
    ]


def _texts(tables: Tables, number: int) -> Iterator[tuple[str, Selection]]:
    """Yield the SQL of distinct queries that the copy answers, and not with 0."""
    copy, seen = tables.copy, set[str]()
    rng = np.random.default_rng([crc32(tables.name.encode()), tables.seed])
    if not numeric_columns(copy) or all(copy[c].nunique() > 20 for c in copy):
        raise SystemExit(
            f"{tables.name}: a query needs a column of whole numbers with more than 12 distinct "
            "values, and a column with at most 20; name another copy"
        )
    for selection in selections(copy, number, rng):
        if len(seen) == number:
            return
        aggregate = AGGREGATES[len(seen) % len(AGGREGATES)]
        values = selection.of(copy)
        drawn, place = _QUANTILES[rng.integers(2)], rng.random()
        p = drawn if aggregate == "QUANTILE" else HALF
        if len(values) < LEAST_ROWS or not answer(aggregate, Histogram.from_values(values), p):
            continue
        least = int(np.sort(values)[int(place * len(values))])
        sql = _sql(aggregate, selection, p, least)
        if sql not in seen:
            seen.add(sql)
            yield sql, selection


def _sql(aggregate: str, selection: Selection, p: Fraction, least: int) -> str:
    """SQL of a query; a COUNT has ``least`` as a second condition."""
    column = f'"{selection.column}"'
    value = selection.value
    text = "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)
    where = f'FROM D WHERE "{selection.by}" = {text}'
    if aggregate == "COUNT":
        return f"SELECT COUNT(*) {where} AND {column} >= {least}"
    if aggregate == "COUNT DISTINCT":
        return f"SELECT COUNT(DISTINCT {column}) {where}"
    share = f", {float(p)}" if aggregate == "QUANTILE" else ""
    return f"SELECT {aggregate}({column}{share}) {where}"


def problems_of(query: DrawnQuery, taus: Sequence[Fraction]) -> Iterator[Problem]:
    """Yield the problems of a query: one for each share in ``taus``, and two hard ones.

    A query without a gap, or without a private answer, has no hard problem.
    """
    private, copy = query.answers
    for share in taus:
        yield Problem(query, f"{float(100 * share):g} %", abs(copy) * share)
    if private is not None and private != copy:
        for name, times in HARD.items():
            yield Problem(query, name, abs(private - copy) * times)
