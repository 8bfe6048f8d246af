"""Nearest rows of a copy, against distances written as they are defined."""

import itertools

import numpy as np
import pytest

from pqd.attacks import nearest_rows
from pqd.attacks.nearest_rows import NearestRows, scale_of
from pqd.engine.partitions import Categories, Ordered, Partition
from pqd.sql.schema import Kind

PARTITIONS: tuple[Partition, ...] = (
    Ordered("age", Kind.NUMBER, (20.0, 30.0, 40.0, 50.0)),
    Categories("job", Kind.TEXT, ("cook", "smith")),
    Ordered("pay", Kind.NUMBER, (0.0, 1.0)),
    Categories("sex", Kind.TEXT, ("f", "m", "x")),
    Categories("town", Kind.TEXT, tuple("abcdefg")),
)


def rows(number: int, seed: int, *, copy: bool) -> np.ndarray:
    """Codes of rows; those of a copy have none of the cells that a copy never has."""
    rng = np.random.default_rng(seed)
    columns = []
    for each in PARTITIONS:
        if isinstance(each, Ordered):
            at = 2 * rng.integers(0, len(each.values) + 1, number)
            columns.append(at if copy else rng.integers(0, each.size, number))
        else:
            columns.append(rng.integers(0, each.size - copy, number))
    return np.column_stack(columns)


COPY, PRIVATE = rows(70, 1, copy=True), rows(50, 2, copy=False)


def apart(place: int, row: np.ndarray, other: np.ndarray, steps: int) -> int:
    """Distance by one column."""
    each, a, b = PARTITIONS[place], int(row[place]), int(other[place])
    if isinstance(each, Categories):
        return steps * (a != b)
    if (a == 0) != (b == 0):
        return steps
    if a == b == 0:
        return 0
    filled = [int(code) for code in COPY[:, place] if code]

    def rank(code: int) -> int:
        below = sum(each < code for each in filled)
        return (2 * below + filled.count(code)) * steps // (2 * len(filled))

    return abs(rank(a) - rank(b))


def expected(
    row: np.ndarray,
    secrets: tuple[int, ...],
    known: tuple[int, ...] | None,
    steps: int,
    own: int | None = None,
) -> tuple[int, bool, list[int]]:
    """Least distance, whether both halves are nearest at one row, and the guessing rows."""
    places = [place for place in range(len(COPY)) if place != own]
    table = {p: [apart(c, row, COPY[p], steps) for c in range(5)] for p in places}
    least = min(sum(each) for each in table.values())
    halves = [min(sum(each[half::2]) for each in table.values()) for half in range(2)]
    guesses = []
    for secret in secrets:
        columns = [c for c in (range(5) if known is None else known) if c != secret]
        guesses.append(min(places, key=lambda p: (sum(table[p][c] for c in columns), p)))
    return least, sum(halves) == least, guesses


@pytest.mark.parametrize("known", [None, (0, 3), (1, 3)])
@pytest.mark.parametrize("parts", [1, 10, 1000])
def test_search_is_by_the_definition(
    known: tuple[int, ...] | None, parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nearest_rows, "_PARTS", parts)
    secrets = (1, 2)
    nearest = NearestRows(PARTITIONS, COPY, secrets, known)
    found = nearest.search(PRIVATE)
    for place, row in enumerate(PRIVATE):
        least, linked, guesses = expected(row, secrets, known, nearest.steps)
        assert found.distance[place] == least
        assert found.linked[place] == linked
        assert found.guesses[place].tolist() == guesses
        # Each part of the copy has as many rows, but for the last.
        size = -(-len(COPY) // parts)
        each_part = sorted(
            min(
                sum(apart(c, row, other, nearest.steps) for c in range(5))
                for other in COPY[first : first + size]
            )
            for first in range(0, len(COPY), size)
        )
        usual = each_part[(len(each_part) - 1) // 2]
        assert found.closeness[place] == 1_000 * (least + 1) // (usual + 1)


@pytest.mark.parametrize("known", [None, (0, 3)])
def test_a_row_of_the_copy_is_not_near_to_itself(known: tuple[int, ...] | None) -> None:
    nearest = NearestRows(PARTITIONS, COPY, (1,), known)
    own = np.arange(0, len(COPY), 3)
    found = nearest.search(COPY[own], own)
    for place, each in enumerate(own):
        least, linked, guesses = expected(COPY[each], (1,), known, nearest.steps, int(each))
        assert (found.distance[place], found.linked[place]) == (least, linked)
        assert found.guesses[place].tolist() == guesses


def test_a_result_depends_on_its_row_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    nearest = NearestRows(PARTITIONS, COPY, (1, 2), None)
    whole = nearest.search(PRIVATE)
    order = np.random.default_rng(3).permutation(len(PRIVATE))
    for threads in ("1", "2"):
        monkeypatch.setenv("PQD_THREADS", threads)
        shuffled = nearest.search(PRIVATE[order])
        for part, every in zip(shuffled, whole, strict=True):
            assert np.array_equal(part, every[order])
    for place in range(0, len(PRIVATE), 9):
        alone = nearest.search(PRIVATE[place : place + 1])
        for part, every in zip(alone, whole, strict=True):
            assert np.array_equal(part[0], every[place])


def test_no_rows_have_no_results() -> None:
    found = NearestRows(PARTITIONS, COPY, (), None).search(PRIVATE[:0])
    assert found.distance.shape == (0,)
    assert found.guesses.shape == (0, 0)


def test_distances_fit_into_sixteen_bits() -> None:
    """The largest distance of many columns, with a row that is taken out, does not overflow."""
    for number in (1, 15, 300, 600):
        partitions = tuple(Categories(f"c{n}", Kind.TEXT, ("a", "b")) for n in range(number))
        copy = np.ones((3, number), np.int64)
        nearest = NearestRows(partitions, copy, (0,), None)
        found = nearest.search(np.full((1, number), 2))
        assert found.distance[0] == nearest.whole == number * nearest.steps
        assert nearest.search(copy[:1], np.zeros(1, np.int64)).distance[0] == 0


def test_numbers_stand_at_the_middle_of_their_ranks() -> None:
    partition = Ordered("x", Kind.NUMBER, (1.0, 2.0))
    # NULL, below 1, 1, between, 2, above: three rows of 1, one of 2, one without a number.
    places = scale_of(partition, np.array([2, 2, 2, 4, 0]), 100)
    assert places.tolist() == [200, 0, 37, 75, 87, 100]
    assert scale_of(partition, np.array([0, 0]), 100).tolist() == [200, 0, 0, 0, 0, 0]


def test_texts_of_many_values_differ() -> None:
    many = Categories("x", Kind.TEXT, tuple(map(str, range(300))))
    assert len(set(scale_of(many, np.array([1]), 10).tolist())) == many.size
    for (a, b), size in itertools.product([(1, 257), (5, 5)], [300]):
        copy = np.array([[a, 1]])
        pair = (many, Categories("y", Kind.TEXT, ("z",)))
        nearest = NearestRows(pair, copy, (), None)
        assert (nearest.search(np.array([[b, 1]])).distance[0] > 0) == (a != b), size
