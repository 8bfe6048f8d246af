"""Choice of partitions: the cells of a column, from the synthetic tables and stated cells.

All of it is public: the private table is not read.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pqd.deciders.exact import as_float
from pqd.engine.marginals import ValueCounts
from pqd.engine.partitions import (
    Bins,
    Categories,
    Heaps,
    Lacking,
    Ordered,
    Partition,
    Points,
    Steps,
    TextBins,
    beyond,
)
from pqd.errors import ParameterError
from pqd.reports.models.profile import ProfiledColumn
from pqd.sql.schema import Kind
from pqd.stated.cells import edges_of
from pqd.stated.column_facts import StatedCells

# Default cells: numbers with at most FEW_VALUES values have a cell for each value, others have
# BINS bins; texts with at most TEXTS values have a cell for each value, others have TEXTS bins.
FEW_VALUES, BINS, TEXTS = 20, 10, 50
# The list of a column's texts is closed if at most one row in so many has a text of its own.
_CLOSED = 1_000
# The most values at which the Kolmogorov-Smirnov distance compares both tables.
MOST_ORDERED = 4_000
# The most equal steps between the bounds of a column, for the earth mover's distance.
MOST_STEPS = 1_000
# The most decimal places of numbers whose roundness is compared.
MOST_DECIMALS = 6

How = Literal["values", "quantiles", "stated", "missing"]


def choose_partition(
    name: str,
    kind: Kind,
    summary: ValueCounts,
    stated: StatedCells | None = None,
    *,
    singles: int,
) -> tuple[Partition, ProfiledColumn]:
    """Cells of a column, and how they were chosen; ``summary`` has the values that give cells.

    ``singles`` is the number of rows with a value that one row or person alone has.

    Numbers and times with at most 20 values have a cell for each value.  With more values they have
    ten bins between quantiles, and a value that occurs in a tenth of the rows has a bin of its own.
    Texts with at most 50 values have a cell for each value.  With more values they have 50 bins
    between quantiles, in the order of the texts, and a text that two fiftieths of the rows have has
    a bin of its own.  If at most one row in 1,000 has a text of its own, the list of texts is taken
    as closed (Good 1953: so many private rows have a text that the copy lacks), and a text that is
    not in it has a cell of its own.

    Raises
    ------
    ParameterError
        If the stated cells do not fit the kind of the column.
    """
    values, counts = summary.values, summary.counts
    if kind in {Kind.NUMBER, Kind.TIME}:
        partition, how = _ordered_cells(name, kind, values, counts, stated)
    else:
        closed = _CLOSED * singles <= int(counts.sum())
        partition, how = _category_cells(name, kind, values, counts, stated, closed=closed)
    facts = ProfiledColumn(
        name=name,
        kind=str(kind),
        cells=partition.size,
        how=how,
        merged=len(partition.merged) if isinstance(partition, Categories) else 0,
        constant=len(values) <= 1,
    )
    return partition, facts


def lacking_partition(name: str, kind: Kind) -> tuple[Partition, ProfiledColumn]:
    """Cells of a column that the copy lacks; every marginal with it is 100 % off."""
    partition = Lacking(name, kind)
    facts = ProfiledColumn(name=name, kind=str(kind), cells=partition.size, how="missing")
    return partition, facts


def _ordered_cells(
    name: str,
    kind: Kind,
    values: NDArray[Any],
    counts: NDArray[np.int64],
    stated: StatedCells | None,
) -> tuple[Partition, How]:
    if stated and stated.number is None:
        return Bins(name, kind, edges_of(stated, name, kind), stated=True), "stated"
    number = stated.number if stated else None
    few, bins = number or FEW_VALUES, number or BINS
    if len(values) <= few or len(values) < 2:
        return Points(name, kind, tuple(map(float, values))), "values"
    heavy = [float(value) for value in values[counts * bins >= counts.sum()]]
    edges = {*map(float, quantiles(values, counts, bins + 1)), *heavy, *map(beyond, heavy)}
    return Bins(name, kind, tuple(sorted(edges))), "quantiles"


def _category_cells(
    name: str,
    kind: Kind,
    values: NDArray[Any],
    counts: NDArray[np.int64],
    stated: StatedCells | None,
    *,
    closed: bool,
) -> tuple[Partition, How]:
    # In descending order of frequency; ties are in ascending order of the values.
    frequent = [str(values[place]) for place in np.argsort(-counts, kind="stable")]
    if kind is Kind.BOOLEAN:
        if stated:
            raise ParameterError(
                f'the column "{name}" is true or false: its cells are set; state none'
            )
        return Categories(name, kind, tuple(sorted(frequent))), "values"
    if stated and stated.edges:
        raise ParameterError(
            f'the column "{name}" holds texts, which have no edges; state its values '
            f'("{name}=cook|smith"), or the number of their bins ({name}=20)'
        )
    if stated and stated.values:
        others = tuple(value for value in frequent if value not in set(stated.values))
        return Categories(name, kind, stated.values, others), "stated"
    most = TEXTS if stated is None or stated.number is None else stated.number
    if len(frequent) <= most:
        return Categories(name, kind, tuple(frequent)), "values"
    known = frozenset(frequent) if closed else frozenset[str]()
    return TextBins(name, kind, tuple(_text_bins(values, counts, most)), known), "quantiles"


def _text_bins(
    values: NDArray[Any], counts: NDArray[np.int64], number: int
) -> Iterator[tuple[str, str]]:
    """Yield the first and the last of the ascending texts in each of about ``number`` bins.

    A bin ends where the rows pass a multiple of their ``number``-th part, and around a text with
    two of these parts: twice what a bin has, so that luck does not choose which texts stand alone.
    """
    total = int(counts.sum())
    passed = np.cumsum(counts) * number // total
    alone = counts * number >= 2 * total
    ends = (np.diff(passed, prepend=0) > 0) | alone | np.append(alone[1:], True)
    first = 0
    for last in np.flatnonzero(ends).tolist():
        yield str(values[first]), str(values[last])
        first = last + 1


def known_partition(name: str, kind: Kind, summary: ValueCounts) -> Categories:
    """Cells that tell the values of a column from those that are new, without a cell for each."""
    return Categories(name, kind, (), tuple(map(str, summary.values)))


def ordered_partition(name: str, kind: Kind, summary: ValueCounts) -> Ordered:
    """Ordered cells for the Kolmogorov-Smirnov distance: at each value, and between two values.

    With more than 4,000 values the cells are at 4,000 quantiles; the distance is then a lower bound
    of the largest difference over all values.
    """
    values, counts = summary.values, summary.counts
    if len(values) > MOST_ORDERED:
        values = np.unique(quantiles(values, counts, MOST_ORDERED))
    return Ordered(name, kind, tuple(map(float, values)))


def steps_partition(
    name: str,
    kind: Kind,
    summary: ValueCounts,
    bounds: tuple[Fraction, Fraction] | None = None,
) -> Steps:
    """Equal steps for the earth mover's distance, between the stated bounds or the copy's bounds.

    A step is 1 if all values are whole and the bounds are at most 1,000 apart.  Otherwise there are
    1,000 steps.
    """
    values = summary.values
    finite = values[np.isfinite(values)] if len(values) else np.zeros(1)
    ends = [float(finite.min()), float(finite.max())] if finite.size else [0.0, 1.0]
    lower, upper = [as_float(bound) for bound in bounds] if bounds else ends
    if not lower < upper:
        # Keep ``lower`` below the largest double: otherwise ``upper``, and each step, could be
        # infinite.
        lower = min(lower, math.nextafter(sys.float_info.max, 0.0))
        upper = max(lower + 1.0, math.nextafter(lower, math.inf))
    whole = all(float(end).is_integer() for end in (lower, upper))
    if whole and upper - lower <= MOST_STEPS and bool(np.all(finite == np.rint(finite))):
        return Steps(name, kind, lower, upper, int(upper - lower) + 1)
    return Steps(name, kind, lower, upper, MOST_STEPS + 1)


def heaps_partition(name: str, kind: Kind, summary: ValueCounts) -> Heaps | None:
    """Cells by roundness, whose step is the least decimal place of the copy's numbers.

    The step is 1 if numbers have more than six decimal places.  None for times and texts, and for
    numbers that have a cell for each value.
    """
    values = summary.values
    if kind is not Kind.NUMBER or len(values) <= FEW_VALUES:
        return None
    finite = values[np.isfinite(values)]
    for decimals in range(MOST_DECIMALS + 1):
        heaps = Heaps(name, kind, decimals)
        if bool(np.all(heaps.codes(finite) > 1)):
            return heaps
    return Heaps(name, kind, 0)


def quantiles(values: NDArray[Any], counts: NDArray[np.int64], number: int) -> NDArray[np.float64]:
    """``number`` evenly spread quantiles of the rows, from the least value to the largest.

    A quantile is always a value that occurs: the least value up to which there are enough rows.
    """
    up_to = np.cumsum(counts)
    total, last = int(up_to[-1]), number - 1
    # Ranks are whole numbers of rows, so that rounding cannot move a quantile.
    ranks = [-(-place * total // last) for place in range(number)]
    return values[np.searchsorted(up_to, np.maximum(ranks, 1))].astype(np.float64)
