"""Histograms of a workload: the counts of one batch of rows for each statistic.

Each atom becomes a bitmap of the batch: bit ``i`` depends on row ``i`` alone.  AND and OR combine
whole words of bitmaps.  The value of each matching row is then counted by its place on a public
lattice, or between public cut points.  For distinct values only equality matters, so they are
counted by a keyed hash.
"""

from __future__ import annotations

import hashlib
import os
from functools import cached_property, lru_cache, partial, reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pqd.deciders import Histogram
from pqd.deciders.histogram import PackedHistogram
from pqd.engine.counting.batch import occurrences
from pqd.engine.counting.combinations import as_codes, at_codes
from pqd.engine.counting.facts import OCTET, Facts, is_true, truth_octets
from pqd.engine.counting.persons import PARTS, mixed, row_weights
from pqd.engine.counting.tally import Counts, Tally, run_starts
from pqd.engine.reading.buffers import arrow_of, filled, numpy_of
from pqd.engine.scan_plan import Measure, place_sql
from pqd.sql.predicate import Atom, atoms

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pqd.deciders import Lattice
    from pqd.engine.counting.batch import Batch, Names
    from pqd.engine.counting.facts import FactArrays, TypedSQL
    from pqd.engine.scan_plan import ScanPlan, Statistic
    from pqd.sql.predicate import Predicate

    Bitmap = NDArray[np.uint64]
    Truths = NDArray[np.bool_]
    Integers = NDArray[np.int64]

# Distinct atoms whose bitmaps are in memory together: for a batch of 2^21 rows they take 128 MB.
_ATOMS = 1 << 9
# Number of histograms of a scan that stay unpacked: those that were used last.
_UNPACKED = 1 << 6
# Rows are counted by key if there are at most this many keys for each row; else they are sorted.
_SPARSE = 16
# Place of a row without a value.
NULL = -1
# Mask of the low 32 bits of a person's total, and a limit of its high bits beyond every lattice.
_LOW, _HIGH = (1 << 32) - 1, 1 << 30


class HistogramCounter:
    """Counter of the statistics of ``plan``; the hashes of distinct values use ``key``."""

    def __init__(self, sql: TypedSQL, plan: ScanPlan, key: bytes | None = None) -> None:
        """Prepare the facts; no SQL is evaluated yet."""
        self._plan = plan
        # With persons, hashes choose the values that count, so they are the same in every scan.
        key = key or (b"" if plan.unit else os.urandom(32))
        self._measures = {each: _measure_facts(sql, each, key) for each in plan.measures}
        self._groups = [_Group(sql, each) for each in _groups(plan.statistics)]

    @property
    def distinct(self) -> frozenset[int]:
        """Statistics that count distinct values."""
        every = enumerate(self._plan.statistics)
        return frozenset(n for n, one in every if one.measure and is_distinct(one.measure))

    def count(self, batch: Batch) -> Counts:
        """Rows or persons of ``batch``, by their measured value, for each statistic."""
        measured = _Measured(batch, self._measures)
        tallies = (pair for group in self._groups for pair in group.tallies(measured))
        return Counts(dict(tallies))

    def whole(self, counts: Counts) -> tuple[Histogram, ...]:
        """Histogram of each statistic: a count at value 0, a distinct count by multiplicity."""
        statistics, totalled = self._plan.statistics, self._plan.unit is not None

        def histogram(number: int) -> Histogram:
            return _histogram(statistics[number], counts[number], totalled=totalled)

        # A histogram is unpacked only while it is used: thousands would need much memory.
        unpacked = lru_cache(_UNPACKED)(histogram)
        return tuple(
            PackedHistogram(partial(unpacked, n)) if counts[n].packed else histogram(n)
            for n in range(len(statistics))
        )

    def __repr__(self) -> str:
        """Name of the type alone: the object holds a key, and cached values may be private."""
        return "HistogramCounter(...)"


def is_distinct(measure: Measure) -> bool:
    """Whether only equality of values matters, as in COUNT DISTINCT."""
    return not measure.number


def _histogram(statistic: Statistic, tally: Tally, *, totalled: bool) -> Histogram:
    histogram = _of_tally(statistic, tally, totalled=totalled)
    return histogram.in_parts(PARTS) if totalled and statistic.weighted else histogram


def _of_tally(statistic: Statistic, tally: Tally, *, totalled: bool) -> Histogram:
    measure = statistic.measure
    if measure is None and statistic.per_row:
        return Histogram.ascending(tally.keys, tally.counts)
    if measure is None:
        return Histogram.of_mass(int(tally.counts.sum()))
    if measure.cut_points:
        marks = np.array(measure.cut_points.marks, np.int64)
        return Histogram.ascending(marks[tally.keys], tally.counts)
    lattice = measure.total if totalled and statistic.collapsed else measure.lattice
    if lattice is None:
        return Histogram.ascending(tally.keys, tally.counts)
    if not measure.beyond:
        return Histogram.ascending(lattice.units_at(tally.keys), tally.counts)
    places, has_value, changed = _decoded(tally.keys, lattice)
    if statistic.per_row:
        places = np.where(has_value, places, statistic.zero)
        has_value = np.ones(places.size, np.bool_)
    units, counts = lattice.units_at(places[has_value]), tally.counts[has_value]
    return Histogram.weighted(units, counts).with_beyond(int(tally.counts[changed].sum()))


def _decoded(keys: Integers, lattice: Lattice) -> tuple[Integers, Truths, Truths]:
    """Places of ``keys`` (``place_sql``), whether each has a value, and whether it was changed."""
    changed = keys >= lattice.points
    return keys - np.where(changed, lattice.points, 0), keys < 2 * lattice.points, changed


def _groups(statistics: Sequence[Statistic]) -> Iterator[dict[int, Statistic]]:
    """Statistics by number, in groups that have few distinct atoms each."""
    group: dict[int, Statistic] = {}
    held: set[Atom] = set()
    for number, statistic in enumerate(statistics):
        own = set(atoms(statistic.predicate)) if statistic.predicate else set()
        if group and len(held | own) > _ATOMS:
            yield group
            group, held = {}, set()
        group[number] = statistic
        held |= own
    yield group


class _Group:
    """Group of statistics; the bitmaps of all their atoms are in memory together."""

    def __init__(self, sql: TypedSQL, statistics: Mapping[int, Statistic]) -> None:
        self._statistics = statistics
        by_names: dict[Names, dict[Atom, None]] = {}
        for predicate in (one.predicate for one in statistics.values() if one.predicate):
            for atom in atoms(predicate):
                by_names.setdefault(sql.names(atom.sql), {})[atom] = None
        self._atoms = [
            (list(own), Facts(sql, names, is_true(own), truth_octets))
            for names, own in by_names.items()
        ]

    def tallies(self, measured: _Measured) -> Iterator[tuple[int, Tally]]:
        """Tally of each statistic by its number."""
        batch = measured.batch
        bitmaps = dict(self._bitmaps(batch))
        every = _packed(np.ones(batch.rows, np.bool_))
        for number, one in self._statistics.items():
            rows = _matching(one.predicate, bitmaps) if one.predicate else every
            if batch.person is None:
                yield number, self._of_rows(measured, one, rows)
            elif one.collapsed:
                yield number, _persons(measured, one.measure, _places(rows, batch.rows))
            elif one.weighted:
                yield number, _weighted(measured, one, _places(rows, batch.rows))
            else:
                yield number, _few_values(measured, one, _places(rows, batch.rows))

    def _of_rows(self, measured: _Measured, one: Statistic, rows: Bitmap) -> Tally:
        """Rows by their measured value."""
        batch = measured.batch
        if one.measure:
            tally = measured.of(one.measure).tally(_places(rows, batch.rows))
        else:
            tally = Tally.of_cells(np.array([0] * one.per_row + [_rows(rows)]))
        return _with_zeros(tally, one, batch.rows) if one.per_row else tally

    def _bitmaps(self, batch: Batch) -> Iterator[tuple[Atom, Bitmap]]:
        """Bitmap of the rows on which each atom is true; eight atoms share one look-up."""
        for own, facts in self._atoms:
            codes, octets = facts.of(batch)
            for place, octet in enumerate(octets):
                truths = at_codes(octet, codes)
                for bit, atom in enumerate(own[place * OCTET : (place + 1) * OCTET]):
                    yield atom, _packed(truths & np.uint8(1 << bit))

    def __repr__(self) -> str:
        """Name of the type alone, since cached values may be private."""
        return "_Group(...)"


def _packed(rows: NDArray[Any]) -> Bitmap:
    """Bitmap of the rows that are not 0; a word has 64 rows."""
    words = np.zeros(-(-rows.size // 64), np.uint64)
    words.view(np.uint8)[: -(-rows.size // 8)] = np.packbits(rows)
    return words


def _places(rows: Bitmap, size: int) -> Integers:
    """Ascending places of the rows whose bit is set, of ``size`` rows."""
    return np.flatnonzero(np.unpackbits(rows.view(np.uint8), count=size).view(np.bool_))


def _matching(predicate: Predicate, bitmaps: Mapping[Atom, Bitmap]) -> Bitmap:
    """Bitmap of the rows that match ``predicate``."""
    if isinstance(predicate, Atom):
        return bitmaps[predicate]
    join = np.bitwise_and if predicate.how == "and" else np.bitwise_or
    return reduce(join, (_matching(part, bitmaps) for part in predicate.parts))


def _rows(rows: Bitmap) -> int:
    """Number of rows whose bit is set."""
    return int(np.bitwise_count(rows).sum())


def _mass(rows: int) -> Tally:
    """Tally of ``rows`` rows, all at place 0."""
    return Tally.of(np.zeros(1, np.int64), np.array([rows]))


class _Coded(NamedTuple):
    """Key of each row for one measure: row ``i`` has ``keys[codes[i]]``.

    Keys are places or hashes, and ascend.  A row whose code is beyond the keys has no value.
    """

    codes: NDArray[Any]
    keys: Integers

    def tally(self, rows: Integers) -> Tally:
        """Tally of the keys that ``rows`` have."""
        codes, size = self.codes.take(rows), self.keys.size
        if codes.size * _SPARSE >= size:
            return Tally.among(self.keys, occurrences(codes, size + 1)[:size])
        every = Tally.of(codes)
        held = every.keys[: np.searchsorted(every.keys, size)]
        return Tally(self.keys[held], every.counts[: held.size])

    def __repr__(self) -> str:
        """Name of the type alone: a traceback may show the repr, and the content may be private."""
        return "_Coded(...)"


class _Measured:
    """Keys of the rows of a batch for each measure."""

    def __init__(self, batch: Batch, facts: Mapping[Measure, Facts]) -> None:
        self.batch, self._facts = batch, facts
        self._known: dict[Measure, _Coded] = {}

    @cached_property
    def weights(self) -> Integers:
        """Weight of each row in parts, where persons are told apart."""
        if self.batch.person is None:
            raise ValueError("no persons are told apart")
        return row_weights(self.batch.person, self.batch.max_rows)

    def of(self, measure: Measure) -> _Coded:
        """Place or hash of each row's value."""
        if measure in self._known:
            return self._known[measure]
        codes, (found,) = self._facts[measure.scanned].of(self.batch)
        if measure.cut_points:
            # Each of these measures has cut points of its own, so the result is not cached.
            size = len(measure.cut_points.marks)
            passed = np.where(np.isnan(found), size, measure.cut_points.passed(found))
            return _Coded(at_codes(as_codes(passed, size + 1), codes), np.arange(size))
        keys, ranks = np.unique(found, return_inverse=True)
        if keys.size and keys[0] == NULL:
            keys, ranks = keys[1:], np.where(ranks, ranks - 1, keys.size - 1)
        by_row = at_codes(as_codes(ranks, keys.size + 1), codes)
        self._known[measure] = _Coded(by_row, keys.astype(np.int64))
        return self._known[measure]

    def __repr__(self) -> str:
        """Name of the type alone: a traceback may show the repr, and the content may be private."""
        return "_Measured(...)"


def _with_zeros(tally: Tally, one: Statistic, every: int) -> Tally:
    """Tally of ``every`` row: those that ``tally`` does not have count as 0."""
    rest = every - int(tally.counts.sum())
    return tally + Tally.of(np.full(min(rest, 1), one.zero), np.full(min(rest, 1), rest))


def _weighted(measured: _Measured, one: Statistic, rows: Integers) -> Tally:
    """Weights of the ``rows`` that match, in parts, by their measured value."""
    weights = measured.weights
    keys = np.ones(rows.size, np.int64)
    if one.measure:
        coded = measured.of(one.measure)
        rows = rows[coded.codes.take(rows) < coded.keys.size]
        keys = coded.keys[coded.codes.take(rows)]
    tally = Tally.of(keys, weights.take(rows))
    return _with_zeros(tally, one, int(weights.sum())) if one.per_row else tally


def _few_values(measured: _Measured, one: Statistic, rows: Integers) -> Tally:
    """Distinct values of each person among ``rows``, at most ``max_rows`` of each, by their hash.

    The values that count depend on the person's own values alone: they are the first in the order
    of their hashes, mixed with the sum of all of the person's hashes.  So different persons take
    different values, and the values that many have are not the only ones that count.
    """
    batch = measured.batch
    if batch.person is None or one.measure is None:
        raise ValueError("no values of persons are told apart")
    coded = measured.of(one.measure)
    rows = rows[coded.codes.take(rows) < coded.keys.size]
    person, hashes = batch.person.take(rows), coded.keys[coded.codes.take(rows)]
    order = np.lexsort((hashes, person))
    person, hashes = person[order], hashes[order]
    first = np.ones(person.size, np.bool_)
    first[1:] = (person[1:] != person[:-1]) | (hashes[1:] != hashes[:-1])
    person, hashes = person[first], hashes[first]
    starts = run_starts(person)
    own = hashes.view(np.uint64)
    sums = np.add.reduceat(own, starts) if starts.size else own
    seeds = np.repeat(mixed(sums), np.diff(starts, append=person.size))
    order = np.lexsort((mixed(own ^ seeds), person))
    place = np.arange(person.size) - np.repeat(starts, np.diff(starts, append=person.size))
    return Tally.of(hashes[order[place < batch.max_rows]])


def _persons(measured: _Measured, measure: Measure | None, rows: Integers) -> Tally:
    """Persons with a row among ``rows``; with a measure, persons by the total of their values.

    Totals are exact: each value is a whole number of steps below 2^53, and its high and low 32 bits
    are added up separately.
    """
    person = measured.batch.person
    if person is None:
        raise ValueError("no persons are told apart")
    if measure is None:
        return _mass(run_starts(person.take(rows)).size)
    coded = measured.of(measure)
    held = rows[coded.codes.take(rows) < coded.keys.size]
    starts = run_starts(person.take(held))
    lattice, total = measure.lattice, measure.total
    if lattice is None or total is None:
        raise ValueError("a total needs the lattices of rows and of totals")
    if not starts.size:
        return Tally.of(starts)
    keys = coded.keys[coded.codes.take(held)]
    places, has_value, changed = _decoded(keys, lattice)
    steps = np.where(has_value, places + int(lattice.lower / lattice.step), 0)
    high, low = np.add.reduceat(steps >> 32, starts), np.add.reduceat(steps & _LOW, starts)
    high = np.clip(high + (low >> 32), -_HIGH, _HIGH - 1)
    totals = (high << 32) + (low & _LOW)
    clamped = _clamped(totals, total)
    if not measure.beyond:
        return Tally.of(clamped)
    # A person counts beyond if one of the rows does, or if the total does.
    is_cut = clamped != totals - round(total.lower / total.step)
    person_changed = np.logical_or.reduceat(changed, starts) | is_cut
    person_has_value = np.logical_or.reduceat(has_value, starts)
    keys = clamped + np.where(person_changed, total.points, 0)
    return Tally.of(np.where(person_has_value, keys, 2 * total.points))


def _clamped(steps: Integers, lattice: Lattice) -> Integers:
    """Place on ``lattice`` of each total in steps; a total outside is at the nearer end."""
    places: Integers = np.clip(steps - round(lattice.lower / lattice.step), 0, lattice.points - 1)
    return places


def _measure_facts(sql: TypedSQL, measure: Measure, key: bytes) -> Facts:
    """Facts of a measured value: its hash, its place, or (for cut points) the number itself."""
    if is_distinct(measure):
        return Facts(sql, sql.names(measure.sql), [measure.sql], partial(_hashes, sql, key))
    place = place_sql(measure, sql.unreadable(measure.sql))
    numbers = _whole_numbers if measure.lattice else _numbers
    return Facts(sql, sql.names(measure.sql), [place], numbers)


def place_facts(sql: TypedSQL, value: str, lattice: Lattice) -> Facts:
    """Facts: the place of ``value`` (SQL) on ``lattice``; a value of NULL has the place NULL."""
    place = place_sql(Measure(value, lattice))
    return Facts(sql, sql.names(place), [place], _whole_numbers)


def _numbers(values: Sequence[pa.Array]) -> FactArrays:
    return [numpy_of(values[0])]


def _whole_numbers(values: Sequence[pa.Array]) -> FactArrays:
    return [filled(values[0], NULL)]


def _hashes(sql: TypedSQL, key: bytes, values: Sequence[pa.Array]) -> FactArrays:
    """Hash of 63 bits of each value's text under ``key``: a fixed map, so a row has one place.

    Two of 10^7 values share a hash with a chance of about 5e-6, which would only cost accuracy.
    """
    held = _canonical(values[0])
    distinct = held.dictionary_encode()
    texts = sql.sql.texts(distinct.dictionary)
    hashes = [_hash(text or "", key) for text in texts]
    lookup = np.array([*hashes, NULL], np.int64)
    return [lookup.take(filled(distinct.indices, len(hashes)))]


def _hash(text: str, key: bytes) -> int:
    digest = hashlib.blake2b(text.encode(), key=key[:64], digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def _canonical(values: pa.Array) -> pa.Array:
    """Values with -0 replaced by 0, so that equal values have equal texts."""
    if not pa.types.is_floating(values.type):
        return values
    return pc.add(values.cast(pa.float64()), arrow_of(np.zeros(1))[0])
