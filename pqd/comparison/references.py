"""References of a comparison: measured and added before the candidates are judged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from pqd.accounting.accountant import Accountant
from pqd.comparison.candidates import Candidates
from pqd.comparison.comparison_parameters import ComparisonParameters
from pqd.deciders.estimators import LaplaceEstimate
from pqd.deciders.note import Note, note
from pqd.deciders.numbers import number_text
from pqd.deciders.options import option
from pqd.engine.scan_plan import PrivacyUnit
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.errors import ParameterError
from pqd.planning.bound_workload import BoundQuery, BoundWorkload, QueryRequest
from pqd.planning.lattices import lattice_of
from pqd.planning.planned_comparison import ComparisonPlan, EstimatorMeasurement
from pqd.progress import Progress, silent, warn
from pqd.reports.models.audit import Cost
from pqd.run.costs import cost_of
from pqd.run.execution import Outputs, measure, quote_sets
from pqd.run.measurement import MeasurementSet
from pqd.sql.grouping import grouped
from pqd.sql.query import Query
from pqd.sql.schema import Kind, Schema, fold_case, quote_identifier
from pqd.stated.column_facts import stated_kinds

if TYPE_CHECKING:
    import pandas as pd

    from pqd.deciders import Noise


@dataclass(frozen=True, slots=True)
class ReferenceRun:
    """Cost of the references, notes on them, and the comparison's plan before the marginals."""

    cost: Cost
    notes: tuple[Note, ...]
    plan: ComparisonPlan


def add_references(  # noqa: PLR0913 - those of a comparison
    candidates: Candidates,
    queries: Sequence[Query],
    parameters: ComparisonParameters,
    epsilon: Fraction,
    noise: Noise,
    progress: Progress = silent,
    *,
    accountant: Accountant | None = None,
    unit: PrivacyUnit | None = None,
) -> ReferenceRun:
    """References, which are added to the candidates; ``epsilon`` is the cost of all marginals.

    A run that will be refused is refused before the marginals are paid for.  So the budget must
    cover both the marginals and the comparison.

    Raises
    ------
    PqdError
        As ``pqd.compare``.
    """
    if unit:
        raise ParameterError(
            f"the references are made of single rows, and with a unit ({option('--unit')}) queries "
            "are about persons, who may have several; compare without "
            f"{option('--with-references')}"
        )
    first = candidates.names[0]
    columns, rows = _columns(candidates, queries, parameters)
    candidates.add(f"{first} resampled", resampled(rows), "bootstrap")
    candidates.check_free(MARGINALS)
    plan = _marginals(candidates, queries, parameters, columns, epsilon)
    later = candidates.plan(queries, parameters, unit, progress)
    warn((*plan.measurements.warnings, *later.measurements.warnings), progress)
    charge = quote_sets([plan.measurements], accountant, progress).charge
    # With one more candidate a constant output may no longer be constant, and would then cost.
    constants = [each for each in later.comparisons if each.measurement.is_constant]
    more = sum((each.parameters.epsilon for each in constants), Fraction(0))
    after = replace(charge, epsilon=charge.epsilon + more)
    quote_sets([later.measurements], accountant, progress, after=after)

    outputs = measure([plan.measurements], accountant, noise, progress, command="compare")
    candidates.add(MARGINALS, marginals(columns, plan, outputs, len(rows)), "marginals")
    notes = (note("references-made", marginals=MARGINALS, epsilon=epsilon, first=first),)
    return ReferenceRun(cost_of(outputs.quote, accountant, unit), notes, later)


def _columns(
    candidates: Candidates, queries: Sequence[Query], parameters: ComparisonParameters
) -> tuple[tuple[Column, ...], pd.DataFrame]:
    """Columns of the marginals, and the rows of the first candidate."""
    tables = candidates.public
    names = sorted({name for query in queries for name in query.mentioned})
    return columns_of(tables, names, stated_kinds(parameters.parameters.columns, tables.columns))


def _marginals(
    candidates: Candidates,
    queries: Sequence[Query],
    parameters: ComparisonParameters,
    columns: Sequence[Column],
    epsilon: Fraction,
) -> GroupCountPlan:
    share = parameters.parameters.at(epsilon / max(1, len(columns)))
    requests = [QueryRequest(query, share) for column in columns for query in column.queries]
    plan = select_group_counts(candidates.bind(requests, share.columns, None, queries))
    plan.bound.check()
    return plan


MARGINALS = "independent marginals"
_SEED = 0
# A column with more numbers than this is cut into bins; a value as frequent as a bin has its own.
_MOST_NUMBERS, _BINS = 100, 32
_MOST_KEYS = 1000


# Bin: its condition in SQL, its label, and the values from which its rows are drawn.
_Bin = tuple[str, str, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Column:
    """Column of the marginals: its groups of values, and the queries that count the groups."""

    name: str
    groups: tuple[Sequence[Any], ...]
    queries: tuple[Query, ...]


def columns_of(
    tables: SyntheticTables, names: Sequence[str], facts: Schema
) -> tuple[tuple[Column, ...], pd.DataFrame]:
    """Columns of the marginals, from public data alone, and the rows of the first candidate.

    Raises
    ------
    ParameterError
        If a column has too many values, or no column is named.
    """
    schema = tables.schema(names, facts)
    known = {fold_case(name): name for name in schema}
    columns = sorted({known[fold_case(name)] for name in names if fold_case(name) in known})
    if not columns:
        raise ParameterError("the references are made of the columns that queries name: none does")
    first = tables.engine.loaded()
    return tuple(_column(tables, schema, first, name) for name in columns), first


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
    groups: list[Sequence[Any]] = [(None,)]
    queries = [whole.only(f"{column} IS NULL", "NULL")]
    for condition, label, values in _binned(column, _numbers(first, name)):
        groups.append(values)
        queries.append(whole.only(condition, label))
    return Column(name, tuple(groups), tuple(queries))


def _numbers(first: pd.DataFrame, name: str) -> list[float]:
    """Numbers of a column, ascending; texts of a CSV that are not numbers are left out."""
    import pandas as pd  # noqa: PLC0415 - a heavy import that only this needs

    numbers = pd.to_numeric(first[name], errors="coerce").to_numpy(np.float64, na_value=math.nan)
    return sorted(numbers[np.isfinite(numbers)].tolist())


def _binned(column: str, ascending: list[float]) -> list[_Bin]:
    """Bins: one for each frequent value, then ranges that together hold all other numbers."""
    values, counts = np.unique(ascending, return_counts=True)
    frequent = values[counts * _BINS >= len(ascending)].tolist()
    bins: list[_Bin] = [(f"{column} = {_sql(v)}", number_text(v), (v,)) for v in frequent]
    others = np.array([v for v in ascending if v not in set(frequent)])
    if not others.size:
        return bins
    inner = np.unique(np.quantile(others, np.arange(1, _BINS) / _BINS, method="higher"))
    edges = [-math.inf, *inner[inner > others[0]].tolist(), math.inf]
    rest = f" AND {column} NOT IN ({', '.join(map(_sql, frequent))})" if frequent else ""
    for low, high in pairwise(edges):
        above = [f"{column} >= {_sql(low)}"] if low > -math.inf else []
        below = [f"{column} < {_sql(high)}"] if high < math.inf else []
        # A bin without edges holds all numbers, but not NULL, which has a bin of its own.
        condition = " AND ".join([*above, *below]) or f"{column} IS NOT NULL"
        values_between = others[(others >= low) & (others < high)]
        label = f"others in [{number_text(low)}, {number_text(high)})"
        bins.append((condition + rest, label, tuple(values_between.tolist())))
    return bins


def _sql(number: float) -> str:
    return repr(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)


class GroupCount(EstimatorMeasurement):
    """Measurement of the count of one group of a marginal.

    Its noise is never that of an estimate of the comparison.  A table that is made from noisy
    counts, and judged by an estimate with the same noise, would look better than it is.
    """

    kind = "marginal"


@dataclass(frozen=True, slots=True)
class GroupCountPlan:
    """Counts of all marginals, with their measurements."""

    bound: BoundWorkload
    marginals: tuple[GroupCount, ...]

    @property
    def measurements(self) -> MeasurementSet:
        """Measurements: one for each count."""
        return self.bound.measurement_set(self.marginals)


def select_group_counts(bound: BoundWorkload) -> GroupCountPlan:
    """Plan to count every group of every marginal."""
    return GroupCountPlan(*bound.select(_group_count))


def _group_count(bound: BoundQuery) -> GroupCount:
    lattice, _ = lattice_of(bound.query, bound.statistic)
    return GroupCount(
        query=bound.query,
        statistic=bound.statistic,
        kinds=bound.kinds,
        unit=bound.unit,
        epsilon=bound.parameters.epsilon,
        estimator=LaplaceEstimate.on("COUNT", lattice),
    )


def marginals(
    columns: Sequence[Column], plan: GroupCountPlan, outputs: Outputs, rows: int
) -> pd.DataFrame:
    """Table with ``rows`` rows; each column is drawn independently, by its released counts.

    Guarantee: post-processing of the measurements.
    """
    import pandas as pd  # noqa: PLC0415 - a heavy import that only this needs

    rng = np.random.default_rng(_SEED)
    counts = {marginal.id: outputs[marginal].numbers[0] for marginal in plan.marginals}
    drawn = {}
    for column in columns:
        sizes = np.array([max(0, counts[query.id or ""]) for query in column.queries], float)
        chances = sizes / sizes.sum() if sizes.sum() else np.full(sizes.size, 1 / sizes.size)
        places = rng.choice(sizes.size, size=rows, p=chances)
        shares = rng.random(rows)
        groups = [column.groups[place] for place in places]
        drawn[column.name] = [
            values[math.floor(share * len(values))]
            for values, share in zip(groups, shares, strict=True)
        ]
    return pd.DataFrame(drawn)


def resampled(first: pd.DataFrame) -> pd.DataFrame:
    """Sample with replacement of the first candidate's rows, as many as the candidate has."""
    rows = len(first)
    return first.iloc[np.random.default_rng(_SEED).integers(0, rows, rows)].reset_index(drop=True)
