"""Batches of range sums (Wu et al. 2019): SUM of one column over ranges of the same column.

An example is SUM(income) over income < 1000 and over income >= 5000.  The value of a row is a place
on the public lattice.  This place alone decides which queries select the row.  The conditions are
evaluated once, on a public table of lattice values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlglot
from sqlglot import exp

from pqd.accounting.cache_keys import parameters_of_range_sums
from pqd.batches.mechanism_fields import (
    OptionValues,
    options_of_ranges,
    stated_truncations,
    strategies,
)
from pqd.batches.mechanisms import NO_TERMS, RANGES, BatchTerms
from pqd.batches.row_classes import Booleans
from pqd.deciders.batch.base import BatchOutput
from pqd.deciders.batch.range_sums.mechanisms import RangeSumMechanism
from pqd.deciders.batch.range_sums.select import MECHANISMS, best
from pqd.deciders.batch.range_sums.workload import Buckets, RangeSums
from pqd.deciders.distributions import Floats
from pqd.deciders.errors import ParameterError
from pqd.deciders.histogram import Histogram, Integers
from pqd.deciders.noise import check_scale
from pqd.deciders.note import Note, note
from pqd.deciders.options import option
from pqd.engine.contingency import ContingencyTable, selections
from pqd.engine.reading.buffers import arrow_of
from pqd.engine.scan_plan import ScanPlan
from pqd.engine.synthetic_table import SyntheticTable
from pqd.engine.tables import open_table
from pqd.sql.regions import exactly
from pqd.sql.schema import Kind, Schema, fold_case

if TYPE_CHECKING:
    from pqd.deciders import Lattice, Noise

_MOST_POINTS, _MOST_QUERIES = 2**20, 10_000
# With at most ``_MOST_BUCKETS`` lattice values each value has a bucket of its own.  With more
# values, buckets end at ``_QUANTILES`` quantiles of the synthetic table's rows and as many of its
# sum.  The values of one bucket differ by at most the factor ``_RATIO``.
_MOST_BUCKETS, _QUANTILES, _RATIO = 2000, 400, Fraction(102, 100)
_UNFIT = (
    "the mechanism ranges is for SUM of a column with values >= 0 whose conditions are ranges of "
    "that same column, and so are sqm, timm and tamm; name another one, or auto"
)


@dataclass(frozen=True, eq=False)
class RangePlan:
    """Plan of a batch with the best of Wu's mechanisms, by expected errors on public data."""

    lattice: Lattice
    mechanism: RangeSumMechanism
    name: str = RANGES

    @property
    def id(self) -> str:
        """Name by which the mechanism is asked for."""
        return self.name

    @property
    def delta(self) -> Fraction:
        """Zero, because the answers are pure epsilon-DP."""
        return Fraction(0)

    @property
    def options(self) -> OptionValues:
        """Options of the mechanism and its truncation."""
        strategy = (("strategy", self.mechanism.id),) if self.name == RANGES else ()
        return (*strategy, *options_of_ranges(self.mechanism, self.lattice.unit))

    @property
    def classes(self) -> None:
        """None, because the value of a row takes the place of its class."""
        return

    @property
    def quick(self) -> bool:
        """True, because ``auto`` may always take this plan."""
        return True

    @property
    def simulation_runs(self) -> int:
        """Number of simulation runs, which is larger for fewer queries."""
        return max(5, 64 // len(self.mechanism.workload.ranges))

    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the mechanism, with its truncation, buckets and ranges.

        They are the same under each name: ``tamm`` replays what ``ranges`` took as the best.
        """
        return {"id": RANGES, "by": parameters_of_range_sums(self.mechanism)}

    @property
    def note(self) -> Note:
        """Note on the mechanism that is taken, and on its buckets."""
        ends = len(self.mechanism.workload.buckets.ends)
        exact = ends == self.lattice.points
        return note(
            "ranges-chosen",
            name=self.name,
            mechanism=self.mechanism.id,
            truncation=self.mechanism.truncation.id,
            buckets=ends,
            overstatement=None if exact else 100 * float(self._overstatements().max()),
        )

    def noise(self, epsilon: Fraction) -> None:  # noqa: ARG002 - that of every plan
        """None, because the errors of truncation and buckets depend on the rows."""
        return

    def read(self, contingency: ContingencyTable) -> Histogram:
        """Values of all rows, in units; a row without a value is left out."""
        (places,) = contingency.places.T
        has_value = places >= 0
        values = self.lattice.units_at(places[has_value])
        return Histogram.weighted(values, contingency.counts[has_value])

    def release(self, rows: Histogram, epsilon: Fraction, noise: Noise) -> BatchOutput:
        """Answers that are epsilon-DP, where one row is one value of the histogram.

        Each deviation combines the noise with the largest error of the buckets, by post-processing.
        """
        output = self.mechanism.release(rows, epsilon, noise)
        bucket_errors = self._overstatements() * np.abs(output.answers)
        deviations = np.hypot(output.deviations or 0.0, bucket_errors)
        return BatchOutput.of(output.answers, output.thresholds, deviations)

    def _overstatements(self) -> Floats:
        """Largest relative error by which the buckets of each range overstate the range's answer.

        A value counts as the upper end of its bucket.  So it is overstated by at most the distance
        from the lowest value of the bucket to the upper end.  A sum is overstated by at most the
        largest such relative distance.
        """
        workload = self.mechanism.workload
        ends = np.array(workload.buckets.ends)
        lowest = np.concatenate((ends[:1], ends[:-1] + self.lattice.step_units))
        shares = (ends - lowest) / np.maximum(ends, 1)
        return np.array([shares[start:stop].max() for start, stop in workload.ranges])


def range_plan(
    workload: ScanPlan,
    contingency: ContingencyTable,
    schema: Schema,
    epsilon: Fraction,
    name: str = RANGES,
    terms: BatchTerms = NO_TERMS,
) -> RangePlan:
    """Plan of a batch by a mechanism of range sums, given the copy's ``contingency`` table.

    Raises
    ------
    ParameterError
        If the queries are no range sums, if an option does not fit the values, or if the sampler
        cannot draw the noise.
    """
    lattice = _lattice(workload)
    stated = stated_truncations(terms.options, lattice.unit, lattice.upper_units)
    ranges = lattice_ranges(workload, lattice, schema)
    public = RangePlan(lattice, None).read(contingency)  # type: ignore[arg-type]
    ends = _ends(lattice, ranges, public)
    buckets = Buckets(tuple(lattice.units_at(ends).tolist()))
    bucket_ranges = [
        (int(np.searchsorted(ends, start)), int(np.searchsorted(ends, stop - 1)) + 1)
        for start, stop in ranges
    ]
    mechanism = best(
        RangeSums(buckets, tuple(bucket_ranges)),
        public,
        epsilon,
        strategies(name, terms.options) or tuple(MECHANISMS),
        stated,
        np.array([float(each) for each in terms.importance]) if terms.importance else None,
    )
    plan = RangePlan(lattice, mechanism, name)
    check_scale(plan.mechanism.largest_scale(epsilon))
    return plan


def _lattice(workload: ScanPlan) -> Lattice:
    """Lattice of the one column of the batch; ParameterError if there is more than one."""
    measure = workload.measures[0] if workload.measures else None
    lattice = measure.lattice if measure else None
    if measure is None or lattice is None or len(workload.statistics) > _MOST_QUERIES:
        raise ParameterError(_UNFIT)
    column = sqlglot.parse_one(measure.sql, read="duckdb")
    mentioned = {fold_case(name) for name in workload.columns}
    single = isinstance(column, exp.Column) and mentioned == {fold_case(column.name)}
    if not single or lattice.lower < 0:
        raise ParameterError(_UNFIT)
    if lattice.points > _MOST_POINTS:
        raise ParameterError(
            f"the mechanism ranges, and so sqm, timm and tamm, take at most {_MOST_POINTS:,} values"
            f" of the summed column, and its bounds and step give {lattice.points:,}; state "
            f"narrower bounds or a larger step ({option('--bounds COLUMN=LOW:HIGH:STEP')}), or "
            "name another mechanism, or auto"
        )
    return lattice


def lattice_ranges(workload: ScanPlan, lattice: Lattice, schema: Schema) -> list[tuple[int, int]]:
    """Range of lattice places that each query selects: first place, and one after the last place.

    Raises
    ------
    ParameterError
        If a query selects no place, or if the selected places are several ranges.
    """
    import pyarrow as pa  # noqa: PLC0415 - a heavy import that only this needs

    (name,) = workload.columns
    places = _turning_places(workload, lattice)
    # Use the nearest double of each lattice value, as DuckDB does when it reads such a literal.
    units = lattice.units_at(places)
    values = units * float(lattice.unit.numerator) / float(lattice.unit.denominator)
    engine = SyntheticTable()
    table = open_table(pa.table({name: arrow_of(values)}), "synthetic")
    kinds = engine.schema(table, {fold_case(name)}, {name: Kind.NUMBER})
    contingency = engine.contingency(table, {**schema, **kinds}, workload)
    (found,) = contingency.places.T
    order = np.argsort(found)
    if not np.array_equal(found[order], places):
        raise ParameterError(_UNFIT)
    selected = selections(workload, list(contingency.words[order].T), places.size)
    return [_range(mask, places) for mask in selected]


def _turning_places(workload: ScanPlan, lattice: Lattice) -> Integers:
    """Ascending places; a condition changes only between two that are neighbours on the lattice.

    The places are both ends of the lattice and the places next to each constant of a condition.  If
    the meaning of a condition is unknown, they are all places.
    """
    known = [exactly(atom) for atom in workload.atoms]
    constants = {value for pair in known if pair for value, _ in pair[1].cuts}
    if not all(known) or not all(isinstance(value, float) for value in constants):
        return np.arange(lattice.points)
    below = [
        math.floor((Fraction(value) / lattice.unit - lattice.lower_units) / lattice.step_units)
        for value in constants
        if isinstance(value, float)
    ]
    # Take two places on either side of a constant, because lattice values are rounded to doubles.
    beside = {place + step for place in below for step in (-1, 0, 1, 2)} | {0, lattice.points - 1}
    return np.array(sorted(place for place in beside if 0 <= place < lattice.points), np.int64)


def _range(selected: Booleans, places: Integers) -> tuple[int, int]:
    """First place of a range, and one after its last; ParameterError for a gap or no place."""
    indices = np.flatnonzero(selected)
    if not indices.size or indices[-1] - indices[0] + 1 != indices.size:
        raise ParameterError(_UNFIT)
    return int(places[indices[0]]), int(places[indices[-1]]) + 1


def _ends(lattice: Lattice, ranges: list[tuple[int, int]], public: Histogram) -> Integers:
    """Last place of each bucket; with few places each place is a bucket.

    With many places a bucket ends at each end of a query, and at quantiles of the synthetic table's
    rows and of its sum.  So a frequent value has a bucket of its own.  Between these ends, further
    buckets end so often that the values of a bucket are near each other.  So no table's
    sums have a large error.
    """
    if lattice.points <= _MOST_BUCKETS:
        return np.arange(lattice.points)
    cuts = np.array([x - 1 for pair in ranges for x in pair if x > 0], np.int64)
    ends = [np.array([0, lattice.points - 1]), cuts, _ladder(lattice)]
    values, rows = public.values, public.counts.astype(float)
    places = (values - lattice.lower_units) // lattice.step_units
    for weights in (rows, rows * values):
        running = np.cumsum(weights)
        if running.size and running[-1] > 0:
            targets = running[-1] * np.arange(1, _QUANTILES) / _QUANTILES
            quantiles = places[np.searchsorted(running, targets).clip(0, places.size - 1)]
            # End a bucket before each quantile too, so that a frequent value has a bucket of its
            # own.
            ends += [quantiles, quantiles - 1]
    distinct = np.unique(np.concatenate(ends))
    return distinct[distinct >= 0]


def _ladder(lattice: Lattice) -> Integers:
    """Last place of each bucket whose values lie within ``_RATIO`` of the bucket's least value."""
    first, step, last = lattice.lower_units, lattice.step_units, lattice.points - 1
    places, place = [0], 0
    while place < last:
        least = first + step * (place + 1)
        place = min(last, max(place + 1, (math.floor(_RATIO * least) - first) // step))
        places.append(place)
    return np.array(places)
