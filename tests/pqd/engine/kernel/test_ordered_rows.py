"""Histograms by blocks of values: those that are held, and one row changes them by one."""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from pqd.deciders import Histogram, Interval, Lattice
from pqd.deciders.blocked_histogram import BlockedHistogram
from pqd.engine.cut_points import CutPoints
from pqd.engine.histograms import histograms_of
from pqd.engine.kernel import ordered_rows
from pqd.engine.kernel.arrow_sql import ArrowSQL
from pqd.engine.kernel.evaluator import Evaluator
from pqd.engine.kernel.ordered_rows import OrderedRows, Packing, pays
from pqd.engine.kernel.persons import Persons
from pqd.engine.reading.columns import Column, Columns
from pqd.engine.scan_plan import Measure, ScanPlan, Statistic
from pqd.sql.query import Query
from pqd.sql.schema import Kind
from tests.pqd.engine.kernel import test_row_by_row as row_by_row

SCHEMA = {"x": Kind.NUMBER, "y": Kind.NUMBER, "s": Kind.TEXT}
CONDITIONS = [None, "s = 'a'", "s <> 'b' AND y > 2", "y > 1 OR s = 'c'", "y > 100", "x > 0"]
LATTICES = [Lattice(-50, 50), Lattice(-20, 30, "0.5"), Lattice(0, 2**52)]
ROWS = 400


@pytest.fixture(autouse=True, params=["all rows", "rows that are matched"])
def _blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pqd.engine.histograms._MASKED", 1 << 20)
    monkeypatch.setattr("pqd.engine.kernel.cells._DENSE", -1 if request.param == "all rows" else 1)
    monkeypatch.setattr("pqd.engine.kernel.ordered_rows._BLOCKS", 3)
    monkeypatch.setattr("pqd.engine.kernel.ordered_rows._HELD", 0)
    # A table of blocks is made wherever enough queries share it.
    monkeypatch.setattr("pqd.engine.kernel.block_tallies._PLACES", np.inf)


def plan(*measured: tuple[Lattice | None, CutPoints | None]) -> ScanPlan:
    statistics = []
    for lattice, cuts in measured:
        for condition in CONDITIONS:
            where = f" WHERE {condition}" if condition else ""
            bound = Query(f"SELECT SUM(x) FROM D{where}").resolve(SCHEMA)
            measure = Measure(bound.value or "", lattice, cut_points=cuts)
            statistics.append(Statistic(bound.predicate, measure, bound.columns, collapsed=False))
    return ScanPlan(tuple(statistics))


PLAN = plan(*((lattice, None) for lattice in LATTICES))
CUTS = [CutPoints.of([Interval(low, low + 7)], Fraction(1, 2), None) for low in (-31, 0, 3, 90)]
CUT_PLAN = plan(*((None, cuts) for cuts in CUTS))


def rows_of(seed: int, number: int = ROWS) -> dict[str, list[Any]]:
    """Random rows: negative values, one that many have, NULLs."""
    random = np.random.default_rng(seed)
    values = (random.integers(-60, 60, number) / 2).tolist()
    held = random.random(number)
    x = [None if p < 0.1 else 0.0 if p < 0.4 else v for p, v in zip(held, values, strict=True)]
    x[:1] = [2.0**50] * min(1, number)
    y, s = random.integers(0, 5, number).astype(float).tolist(), random.choice(list("abc"), number)
    return {"x": x, "y": y, "s": s.tolist()}


@cache
def plain_database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def scanned(
    rows: dict[str, list[Any]], persons: Persons | None = None, scan: ScanPlan = PLAN
) -> tuple[Histogram, ...]:
    columns = {}
    for name, cells in rows.items():
        coded = pa.array(cells).dictionary_encode("encode")
        columns[name] = Column(coded.indices.to_numpy().astype(np.uint16), coded.dictionary)
    names = {name: name for name in SCHEMA}
    read = Columns(len(rows["x"]), columns)
    evaluator = Evaluator(ArrowSQL(plain_database().cursor()), read, SCHEMA, names)
    return histograms_of(evaluator, scan, persons)


def entries(histograms: Sequence[Histogram]) -> list[dict[int, int]]:
    return [dict(zip(h.values.tolist(), h.counts.tolist(), strict=True)) for h in histograms]


def looked_up(histograms: Sequence[Histogram]) -> list[list[tuple[int, int]]]:
    """Rows and sums up to each value of interest."""
    bounds = [*range(-50, 60, 3), 2**60]
    return [[(h.count_below(b), h.sum_at_most(b)) for b in bounds] for h in histograms]


def held(monkeypatch: pytest.MonkeyPatch, *given: Any) -> tuple[Histogram, ...]:
    """Histograms of which all values are held: the slow twin."""
    with monkeypatch.context() as patched:
        patched.setattr("pqd.engine.histograms.pays", lambda *_: False)
        found = scanned(*given)
    assert not any(isinstance(each, BlockedHistogram) for each in found)
    return found


@pytest.mark.parametrize(("shared", "packed"), [(0, True), (0, False), (1 << 30, False)])
@pytest.mark.parametrize("number", [0, 1, ROWS])
def test_histograms_by_blocks_are_those_that_are_held(
    number: int, shared: int, packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pqd.engine.kernel.block_tallies._SHARED", shared)
    if not packed:
        monkeypatch.setattr(Packing, "of", lambda _: None)
    rows = rows_of(number, number)
    blocked, whole = scanned(rows), held(monkeypatch, rows)
    assert entries(blocked) == entries(whole)
    assert looked_up(blocked) == looked_up(whole)
    by_blocks = [isinstance(each, BlockedHistogram) for each in blocked]
    # Sums on the last lattice are beyond what is exact.
    assert by_blocks == [number == ROWS] * 12 + [False] * 6


def test_histograms_by_blocks_are_those_of_all_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Held by blocks they are of all rows; the others are added up from batches."""
    rows = rows_of(ROWS)
    whole = scanned(rows)
    monkeypatch.setattr("pqd.engine.reading.columns.BATCH", 100)
    parts = scanned(rows)
    assert entries(parts) == entries(whole)
    assert [type(each) for each in parts] == [type(each) for each in whole]
    assert entries(held(monkeypatch, rows)) == entries(whole)


@pytest.mark.parametrize("shared", [0, 1 << 30])
def test_rows_of_persons_that_are_not_kept_do_not_count(
    shared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pqd.engine.kernel.block_tallies._SHARED", shared)
    random = np.random.default_rng(3)
    persons = Persons(random.integers(0, 50, ROWS), 50, random.random(ROWS) < 0.4)
    rows = rows_of(3)
    blocked, whole = scanned(rows, persons), held(monkeypatch, rows, persons)
    assert entries(blocked) == entries(whole)
    assert looked_up(blocked) == looked_up(whole)
    assert isinstance(blocked[0], BlockedHistogram)
    assert blocked[0].mass < persons.kept.sum() < ROWS


@pytest.mark.parametrize("shared", [0, 1 << 30])
def test_values_between_cut_points_are_counted_by_blocks(
    shared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, whole = rows_of(5), held(monkeypatch, rows_of(5), None, CUT_PLAN)
    monkeypatch.setattr("pqd.engine.kernel.block_tallies._SHARED", shared)
    # Nothing else counts them.
    monkeypatch.delattr("pqd.engine.histograms.tally_of")
    blocked = scanned(rows, scan=CUT_PLAN)
    assert entries(blocked) == entries(whole)
    assert {len(each.values) for each in blocked} == {0, 1, 2, 3}


@pytest.mark.parametrize("shared", [0, 1 << 30])
@pytest.mark.parametrize("small", [0, 1, 8, 9, 1 << 16])
def test_rows_without_a_value_move_no_cell(
    small: int, shared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where they alone hold a combination of classes, of all that there are."""
    rows = rows_of(11)
    alone = [s == "a" and y < 2 for s, y in zip(rows["s"], rows["y"], strict=True)]
    rows["x"] = [None if only else x for only, x in zip(alone, rows["x"], strict=True)]
    fewer = {
        name: [cell for cell, only in zip(cells, alone, strict=True) if not only]
        for name, cells in rows.items()
    }
    whole = looked_up(held(monkeypatch, rows))
    monkeypatch.setattr("pqd.engine.kernel.block_tallies._SHARED", shared)
    # Few combinations are numbered whether they are held or not, more than that are renumbered.
    monkeypatch.setattr("pqd.engine.kernel.combinations._SMALL", small)
    assert sum(alone) > 10
    assert looked_up(scanned(rows)) == whole
    assert looked_up(scanned(fewer)) == whole


@pytest.mark.parametrize("by_blocks", [True, False])
@pytest.mark.parametrize(("first", "shared"), [(0.0, True), (2.0**50, False)])
def test_cut_points_share_the_codes_of_a_lattice_where_all_rows_have_the_same(
    first: float, shared: bool, by_blocks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = rows_of(7)
    # Beyond the first lattice, on which it is 30 as well.
    rows["x"][:2] = [first, 30.0]
    lattices = [(Lattice(-30, 30, "0.5"), None), (Lattice(-20, 30, "0.5"), None)]
    terms = [*lattices, *((None, cuts) for cuts in CUTS)]
    alone = [each for term in terms for each in entries(scanned(rows, scan=plan(term)))]
    monkeypatch.setattr("pqd.engine.histograms.pays", lambda *_: by_blocks)
    made: list[OrderedRows] = []

    def noted(*given: Any) -> OrderedRows:
        made.append(OrderedRows(*given))
        return made[-1]

    monkeypatch.setattr("pqd.engine.histograms.OrderedRows", noted)
    assert entries(scanned(rows, scan=plan(*terms))) == alone
    assert len(made) == by_blocks * (2 if shared else 3)
    if not by_blocks:
        # The broken twin takes the first lattice's codes for those of the values.
        monkeypatch.setattr("pqd.engine.histograms.alike", lambda *_: True)
        assert (entries(scanned(rows, scan=plan(*terms))) == alone) == shared


def test_one_byte_numbers_all_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those of values that many rows hold, each a block of its own."""
    monkeypatch.undo()
    codes = np.arange(3000).repeat(np.arange(3000) % 7 // 6 * 20 + 1)
    ordered = OrderedRows(codes, np.arange(3000))
    in_order = ordered.ordered(codes)
    places = [in_order[start:stop] for start, stop in pairwise(ordered.starts)]
    assert ordered.blocks == len(places) > ordered_rows._BLOCKS
    for own, (first, last) in zip(places, pairwise(ordered.edges), strict=True):
        assert set(own.tolist()) <= set(range(first, last))
    assert sorted(np.concatenate(places)) == codes.tolist()


@pytest.mark.parametrize("bits", [1, 8, 20, 30, 40, 45])
def test_rows_and_sums_are_packed_where_a_double_holds_them(bits: int) -> None:
    """The last block's values differ most; a value that many rows hold is a block of its own."""
    random = np.random.default_rng(bits)
    units = np.unique(random.integers(-(1 << bits), 1 << bits, 900))
    codes = np.concatenate([random.integers(0, units.size, 1500), np.full(500, units.size // 2)])
    ordered = OrderedRows(codes, units)
    packing = ordered.packing
    assert (packing is None) == (bits >= 40)
    if packing is None:
        return
    chosen = random.random(codes.size) < 0.5
    for mask in (chosen, ~chosen, chosen | True):
        parts = [mask[start:stop] for start, stop in pairwise(ordered.starts)]
        own = [ordered.codes[start:stop] for start, stop in pairwise(ordered.starts)]
        weights = [packing.weights[codes] for codes in own]
        packed = np.array([w[m].sum() for w, m in zip(weights, parts, strict=True)])
        assert np.array_equal(packed, packed.astype(np.int64))
        rows, sums = packing.both(packed.astype(np.int64))
        values = [units[codes] for codes in own]
        assert rows.tolist() == [int(m.sum()) for m in parts]
        assert sums.tolist() == [int(v[m].sum()) for v, m in zip(values, parts, strict=True)]


@pytest.mark.parametrize("removed", [0, 5, 17, 123, ROWS - 1])
def test_one_row_changes_what_it_matches_by_one(removed: int) -> None:
    rows = rows_of(9)
    fewer = {name: cells[:removed] + cells[removed + 1 :] for name, cells in rows.items()}
    alone = {name: [cells[removed]] for name, cells in rows.items()}
    all_rows, others = scanned(rows), scanned(fewer)
    own = entries(scanned(alone))
    for one, other, row in zip(entries(all_rows), entries(others), own, strict=True):
        assert one == {v: other.get(v, 0) + row.get(v, 0) for v in other | row}
    for ends, others_ends, row in zip(looked_up(all_rows), looked_up(others), own, strict=True):
        steps = {a[0] - b[0] for a, b in zip(ends, others_ends, strict=True)}
        assert steps <= ({0, 1} if row else {0})


@pytest.mark.parametrize("shared", [0, 1 << 30])
def test_odd_cells_by_blocks_are_those_of_each_row(
    shared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pqd.engine.kernel.block_tallies._SHARED", shared)
    monkeypatch.setattr("pqd.engine.kernel.ordered_rows._BLOCKS", 2)
    row_by_row.check(150)


def test_few_values_and_few_queries_are_held() -> None:
    few, many = np.arange(6), np.arange(7)
    assert pays(many, 100, 1)
    assert not pays(few, 100, 1)
    assert not pays(many * 2**53, 100, 1)


def test_small_workloads_hold_their_histograms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pqd.engine.kernel.ordered_rows._HELD", 4)
    many = np.arange(1000)
    assert not pays(many, 10_000, 40)
    assert pays(many, 10_000, 41)


def test_no_repr_shows_what_is_held() -> None:
    blocked = scanned(rows_of(1))[0]
    ordered = OrderedRows(np.array([0, 1]), np.array([86028, 86029]))
    assert repr(blocked) + repr(ordered) == "Histogram(...)OrderedRows(...)"
    assert repr(ordered.packing) == "Packing(...)"
    assert repr(vars(blocked)["_blocks"]) == "MatchingRows(...)"
