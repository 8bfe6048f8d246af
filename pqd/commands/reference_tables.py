"""Reference candidates, so that a share means something: what little, or what luck, would give.

* **Independent marginals**: every column that the queries name, released by itself under
  differential privacy and drawn independently.  A column of few values is released value by value;
  a number of many in bins of the first candidate's values, its frequent ones and NULL apart, and
  drawn from those values.  What a synthesizer gains over this, it gains by knowing how columns go
  together.
* **Resampled**: rows of the first candidate drawn anew with replacement.  Where it differs from the
  candidate itself, the difference is sampling noise.

Both are drawn with a fixed seed: the first from what was released, the second from public data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from deciders.estimators import LaplaceEstimate
from pqd.errors import ParameterError
from pqd.planning.estimates import EstimatorMeasurement
from pqd.planning.statistics import lattice_of
from pqd.sql.grouping import grouped
from pqd.sql.query import Query
from pqd.sql.schema import Kind, fold_case, quote_identifier
from reports.text.numbers import number_text

if TYPE_CHECKING:
    import pandas as pd

    from pqd.engine.synthetic_tables import SyntheticTables
    from pqd.execution import Outputs
    from pqd.measurement import MeasurementSet
    from pqd.planning.binding import BoundQuery, BoundWorkload
    from pqd.sql.schema import Schema

MARGINALS = "independent marginals"
_SEED = 0
# A number of more values is cut into so many bins; a value held by as large a part is its own.
_MOST_NUMBERS, _BINS = 100, 32
_MOST_KEYS = 1000


# A condition in SQL, in words, and the values that a row of the bin is drawn from.
_Bin = tuple[str, str, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the marginals: its cells in groups, and the query that counts each group."""

    name: str
    cells: tuple[Sequence[Any], ...]
    queries: tuple[Query, ...]


def columns_of(
    tables: SyntheticTables, names: Sequence[str], facts: Schema
) -> tuple[tuple[Column, ...], pd.DataFrame]:
    """Return the columns to release, all from public data, and the first candidate's rows.

    Raises
    ------
    ParameterError
        If a column has too many values, or there is none.
    """
    schema = tables.schema(names, facts)
    known = {fold_case(name): name for name in schema}
    held = sorted({known[fold_case(name)] for name in names if fold_case(name) in known})
    if not held:
        raise ParameterError("the references are made of the columns that queries name: none does")
    first = tables.engine.loaded()
    return tuple(_column(tables, schema, first, name) for name in held), first


def _column(tables: SyntheticTables, schema: Schema, first: pd.DataFrame, name: str) -> Column:
    whole = Query("SELECT COUNT(*) FROM D", f"marginal of {name}")
    sql = f"SELECT COUNT(*) FROM D GROUP BY {quote_identifier(name)}"
    query = Query(sql, f"marginal of {name}")
    number = schema[name] is Kind.NUMBER
    most = _MOST_NUMBERS if number else _MOST_KEYS
    keys = tables.groups(schema, [name], query.resolve(schema), most + 1)
    if len(keys) <= most:
        return Column(name, tuple(keys), grouped(query, lambda: keys))
    if not number:
        raise ParameterError(
            f'the independent marginals cannot hold "{name}": it has more than {most:,} values; '
            "compare without the references"
        )
    column = quote_identifier(name)
    cells: list[Sequence[Any]] = [(None,)]
    queries = [whole.only(f"{column} IS NULL", "NULL")]
    for condition, label, values in _binned(column, _numbers(first, name)):
        cells.append(values)
        queries.append(whole.only(condition, label))
    return Column(name, tuple(cells), tuple(queries))


def _numbers(first: pd.DataFrame, name: str) -> list[float]:
    """Return the numbers of a column, ascending; a text of a CSV that is none is left out."""
    import pandas as pd  # noqa: PLC0415 - a heavy import that only this needs

    read = pd.to_numeric(first[name], errors="coerce").to_numpy(np.float64, na_value=math.nan)
    return sorted(read[np.isfinite(read)].tolist())


def _binned(column: str, ascending: list[float]) -> list[_Bin]:
    """Return frequent values by themselves, then bins of the others that cover the whole line."""
    values, counts = np.unique(ascending, return_counts=True)
    frequent = values[counts * _BINS >= len(ascending)].tolist()
    made: list[_Bin] = [(f"{column} = {_sql(v)}", number_text(v), (v,)) for v in frequent]
    others = np.array([v for v in ascending if v not in set(frequent)])
    if not others.size:
        return made
    inner = np.unique(np.quantile(others, np.arange(1, _BINS) / _BINS, method="higher"))
    edges = [-math.inf, *inner[inner > others[0]].tolist(), math.inf]
    apart = f" AND {column} NOT IN ({', '.join(map(_sql, frequent))})" if frequent else ""
    for low, high in pairwise(edges):
        above = [f"{column} >= {_sql(low)}"] if low > -math.inf else []
        below = [f"{column} < {_sql(high)}"] if high < math.inf else []
        # Without an edge, NULL must still be left to its own bin.
        condition = " AND ".join([*above, *below]) or f"{column} IS NOT NULL"
        held = others[(others >= low) & (others < high)]
        label = f"others in [{number_text(low)}, {number_text(high)})"
        made.append((condition + apart, label, tuple(held.tolist())))
    return made


def _sql(number: float) -> str:
    return repr(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)


class Marginal(EstimatorMeasurement):
    """Measurement of one group's count of a marginal.

    It never shares its draw with an estimate of the comparison: a candidate that was made from the
    noise that it is judged by would look better than it is.
    """

    kind = "marginal"


@dataclass(frozen=True, slots=True)
class MarginalPlan:
    """The counts of all marginals, and how they are measured."""

    bound: BoundWorkload
    marginals: tuple[Marginal, ...]

    @property
    def measurements(self) -> MeasurementSet:
        """What is measured: every count."""
        return self.bound.measurement_set(self.marginals)


def select_marginals(bound: BoundWorkload) -> MarginalPlan:
    """Plan the count of every group."""
    return MarginalPlan(*bound.select(_marginal))


def _marginal(bound: BoundQuery) -> Marginal:
    lattice, _ = lattice_of(bound.query, bound.statistic)
    return Marginal(
        bound.query,
        bound.statistic,
        bound.kinds,
        bound.unit,
        bound.parameters.epsilon,
        LaplaceEstimate.on("COUNT", lattice),
    )


def marginals(
    columns: Sequence[Column], plan: MarginalPlan, outputs: Outputs, rows: int
) -> pd.DataFrame:
    """Table of ``rows`` rows, each column drawn by itself from its released counts.

    Guarantee: post-processing of the measurements.
    """
    import pandas as pd  # noqa: PLC0415 - a heavy import that only this needs

    rng = np.random.default_rng(_SEED)
    counts = {marginal.id: outputs[marginal].numbers[0] for marginal in plan.marginals}
    drawn = {}
    for column in columns:
        held = np.array([max(0, counts[query.id or ""]) for query in column.queries], float)
        chances = held / held.sum() if held.sum() else np.full(held.size, 1 / held.size)
        groups = rng.choice(held.size, size=rows, p=chances)
        within = rng.random(rows)
        cells = [column.cells[g] for g in groups]
        drawn[column.name] = [
            some[math.floor(share * len(some))] for some, share in zip(cells, within, strict=True)
        ]
    return pd.DataFrame(drawn)


def resampled(first: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the first candidate drawn anew, as many, with replacement."""
    rows = len(first)
    return first.iloc[np.random.default_rng(_SEED).integers(0, rows, rows)].reset_index(drop=True)
