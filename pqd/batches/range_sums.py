"""Batches of range sums (Wu et al. 2019): SUM of one column over ranges of that same column.

A row is then known by its value alone: its place on the public lattice, which also says which
queries select it.  The conditions are evaluated once, on a public table of all lattice values.
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
from pqd.batches.mechanisms import RANGES
from pqd.batches.row_classes import Booleans
from pqd.deciders.batch.base import BatchOutput
from pqd.deciders.batch.range_sums.mechanisms import RangeSumMechanism
from pqd.deciders.batch.range_sums.select import best
from pqd.deciders.batch.range_sums.workload import Buckets, RangeSums
from pqd.deciders.distributions import Floats
from pqd.deciders.errors import ParameterError
from pqd.deciders.histogram import Histogram, Integers
from pqd.deciders.noise import check_scale
from pqd.deciders.note import Note, note
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
# One bucket per lattice value up to the first; beyond that, that many quantiles of the synthetic
# table's rows, as many of its sum, and no bucket with values more than the third apart.
_MOST_BUCKETS, _QUANTILES, _RATIO = 2000, 400, Fraction(102, 100)
_UNFIT = (
    "the mechanism ranges is for SUM of a column with values >= 0 whose conditions are ranges of "
    "that same column; name another one, or auto"
)


@dataclass(frozen=True, eq=False)
class RangePlan:
    """Plan of the best of Wu's mechanisms for one batch, by expected errors on public data."""

    lattice: Lattice
    mechanism: RangeSumMechanism

    @property
    def id(self) -> str:
        """Name of all of these mechanisms."""
        return RANGES

    @property
    def classes(self) -> None:
        """None: a row is known by its value alone."""
        return

    @property
    def quick(self) -> bool:
        """True: ``auto`` may always take it."""
        return True

    @property
    def simulation_runs(self) -> int:
        """Number of simulation runs: more for few queries."""
        return max(5, 64 // len(self.mechanism.workload.ranges))

    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the mechanism, its truncation, its buckets and ranges."""
        return {"id": self.id, "by": parameters_of_range_sums(self.mechanism)}

    @property
    def note(self) -> Note:
        """Note on the mechanism that was chosen, and on how values count."""
        ends = len(self.mechanism.workload.buckets.ends)
        exact = ends == self.lattice.points
        return note(
            "ranges-chosen",
            mechanism=self.mechanism.id,
            truncation=self.mechanism.truncation.id,
            buckets=ends,
            overstatement=None if exact else 100 * float(self._overstatements().max()),
        )

    def noise(self, epsilon: Fraction) -> None:  # noqa: ARG002 - that of every plan
        """None: the errors of truncation and buckets depend on the rows."""
        return

    def read(self, contingency: ContingencyTable) -> Histogram:
        """Values of all rows, in units; a row without a value is left out."""
        valued = contingency.places >= 0
        values = self.lattice.units_at(contingency.places[valued])
        return Histogram.weighted(values, contingency.counts[valued])

    def release(self, rows: Histogram, epsilon: Fraction, noise: Noise) -> BatchOutput:
        """Answers that are epsilon-DP: a row is one value of the histogram.

        A deviation is that of the noise and, at most, what buckets add: post-processing.
        """
        output = self.mechanism.release(rows, epsilon, noise)
        added = self._overstatements() * np.abs(output.answers)
        deviations = np.hypot(output.deviations or 0.0, added)
        return BatchOutput.of(output.answers, output.thresholds, deviations)

    def _overstatements(self) -> Floats:
        """Largest share, per range, of an answer that is due to its buckets.

        In each bucket a value counts as the upper end, by at most the end's distance from the
        lowest value: so does a sum of such values, by the largest of these shares.
        """
        workload = self.mechanism.workload
        ends = np.array(workload.buckets.ends)
        lowest = np.concatenate((ends[:1], ends[:-1] + self.lattice.step_units))
        shares = (ends - lowest) / np.maximum(ends, 1)
        return np.array([shares[start:stop].max() for start, stop in workload.ranges])


def range_plan(
    workload: ScanPlan, contingency: ContingencyTable, schema: Schema, epsilon: Fraction
) -> RangePlan:
    """Plan of a batch, given the synthetic table's ``contingency`` table.

    Raises
    ------
    ParameterError
        If the queries are no range sums, or their noise would be too large.
    """
    lattice = _lattice(workload)
    ranges = lattice_ranges(workload, lattice, schema)
    public = RangePlan(lattice, None).read(contingency)  # type: ignore[arg-type]
    ends = _ends(lattice, ranges, public)
    buckets = Buckets(tuple(lattice.units_at(ends).tolist()))
    bucket_ranges = [
        (int(np.searchsorted(ends, start)), int(np.searchsorted(ends, stop - 1)) + 1)
        for start, stop in ranges
    ]
    plan = RangePlan(lattice, best(RangeSums(buckets, tuple(bucket_ranges)), public, epsilon))
    check_scale(plan.mechanism.largest_scale(epsilon))
    return plan


def _lattice(workload: ScanPlan) -> Lattice:
    """Lattice of the one column that the batch is about."""
    measure = workload.measures[0] if workload.measures else None
    lattice = measure.lattice if measure else None
    if measure is None or lattice is None or len(workload.statistics) > _MOST_QUERIES:
        raise ParameterError(_UNFIT)
    column = sqlglot.parse_one(measure.sql, read="duckdb")
    mentioned = {fold_case(name) for name in workload.columns}
    alone = isinstance(column, exp.Column) and mentioned == {fold_case(column.name)}
    if not alone or lattice.lower < 0 or lattice.points > _MOST_POINTS:
        raise ParameterError(_UNFIT)
    return lattice


def lattice_ranges(workload: ScanPlan, lattice: Lattice, schema: Schema) -> list[tuple[int, int]]:
    """First place on the lattice that each query selects, and the one after its last.

    Raises
    ------
    ParameterError
        If a query selects no place, or leaves a gap.
    """
    import pyarrow as pa  # noqa: PLC0415 - a heavy import that only this needs

    (name,) = workload.columns
    places = _turning_places(workload, lattice)
    # The double nearest to each lattice value, which is what a literal of that value reads as.
    units = lattice.units_at(places)
    values = units * float(lattice.unit.numerator) / float(lattice.unit.denominator)
    engine = SyntheticTable()
    table = open_table(pa.table({name: arrow_of(values)}), "synthetic")
    kinds = engine.schema(table, {fold_case(name)}, {name: Kind.NUMBER})
    contingency = engine.contingency(table, {**schema, **kinds}, workload)
    order = np.argsort(contingency.places)
    if not np.array_equal(contingency.places[order], places):
        raise ParameterError(_UNFIT)
    selected = selections(workload, list(contingency.words[order].T), places.size)
    return [_range(one, places) for one in selected]


def _turning_places(workload: ScanPlan, lattice: Lattice) -> Integers:
    """Ascending places between which no condition changes but from one to the very next.

    The ends, and those beside each constant; every place where a condition's meaning is not known.
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
    # Two on either side, since lattice values are rounded to doubles.
    beside = {place + step for place in below for step in (-1, 0, 1, 2)} | {0, lattice.points - 1}
    return np.array(sorted(place for place in beside if 0 <= place < lattice.points), np.int64)


def _range(selected: Booleans, places: Integers) -> tuple[int, int]:
    """First place of a range and the one after its last; ParameterError for gaps or no place."""
    held = np.flatnonzero(selected)
    if not held.size or held[-1] - held[0] + 1 != held.size:
        raise ParameterError(_UNFIT)
    return int(places[held[0]]), int(places[held[-1]]) + 1


def _ends(lattice: Lattice, ranges: list[tuple[int, int]], public: Histogram) -> Integers:
    """Last place of each bucket: every place if they are few.

    Else the ends of the queries, quantiles of the synthetic table's rows and of its sum, so that
    where it has most a bucket holds one value, and between them places of values so near each
    other that no table's sums are far off.
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
            # A value that is frequent has a bucket of its own.
            ends += [quantiles, quantiles - 1]
    every = np.unique(np.concatenate(ends))
    return every[every >= 0]


def _ladder(lattice: Lattice) -> Integers:
    """Ascending places, each the last within ``_RATIO`` of its bucket's least value."""
    first, step, last = lattice.lower_units, lattice.step_units, lattice.points - 1
    places, place = [0], 0
    while place < last:
        least = first + step * (place + 1)
        place = min(last, max(place + 1, (math.floor(_RATIO * least) - first) // step))
        places.append(place)
    return np.array(places)
