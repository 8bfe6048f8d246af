"""Rare rows of a copy, against their definition, and the attack on copied rows."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from pqd.attacks.outcomes import are_rare, attacks_on
from pqd.engine.partitions import Categories, Partition
from pqd.sql.schema import Kind

SIZES = (9, 4, 3, 30)
COLUMNS = tuple(
    Categories(f"c{place}", Kind.TEXT, tuple(map(str, range(size))))
    for place, size in enumerate(SIZES)
)


def rows(number: int, seed: int) -> np.ndarray:
    """Codes of rows, of which some are equal."""
    rng = np.random.default_rng(seed)
    return np.column_stack([1 + rng.integers(0, size, number) for size in SIZES])


def expected(codes: np.ndarray) -> list[bool]:
    """Whether each row is rare, as it is defined."""
    distinct = {tuple(map(int, row)) for row in codes}

    def by_chance(row: tuple[int, ...], column: int) -> float:
        agree = sum(
            other[column] != row[column]
            and other[:column] + other[column + 1 :] == row[:column] + row[column + 1 :]
            for other in distinct
        )
        alike = sum(other[column] == row[column] for other in distinct) - 1
        return agree * alike / len(distinct)

    return [
        max(by_chance(tuple(map(int, row)), column) for column in range(len(SIZES))) <= 0.1
        for row in codes
    ]


@pytest.mark.parametrize("number", [1, 20, 300])
def test_rare_rows_are_by_the_definition(number: int) -> None:
    copy = rows(number, number)
    rare = are_rare(copy)
    assert rare.tolist() == expected(copy)
    assert number < 300 or 0 < rare.mean() < 1


def test_copies_of_rows_and_their_order_change_nothing() -> None:
    copy = rows(300, 1)
    rare = are_rare(copy)
    order = np.random.default_rng(2).permutation(len(copy))
    assert np.array_equal(are_rare(np.vstack([copy, copy, copy[order]]))[:300], rare)
    assert np.array_equal(are_rare(copy[order]), rare[order])


def test_a_row_is_rare_by_a_value_of_its_own() -> None:
    """However many rows agree in the other columns, as with an amount of money."""
    pay = np.arange(1, 401)
    copy = np.column_stack([1 + pay % 2, np.ones(400, np.int64), np.ones(400, np.int64), pay])
    assert are_rare(copy).all()
    # Each of 20 amounts is to be expected with both values of the first column.
    copy[:, 0], copy[:, 3] = 1 + pay // 20 % 2, 1 + pay % 20
    assert not are_rare(copy).any()


def test_copied_rows_are_the_rare_ones() -> None:
    """On the copy itself a row needs a twin; a text that was merged into others equals nothing."""
    copy = np.vstack([rows(300, 1), rows(40, 1)])
    rare = are_rare(copy)
    attacks, trial = attacks_on(COLUMNS, copy, (), None, ("copied",))
    other = rows(300, 5)
    own = {row.tobytes() for row in copy[rare]}

    def share(table: np.ndarray) -> float:
        codes: dict[Partition, np.ndarray] = dict(zip(COLUMNS, table.T, strict=True))
        return float(attacks.attacks[0].cells[attacks.cells(codes)].mean())

    assert share(copy) == rare.mean()
    assert share(other) == np.mean([row.tobytes() in own for row in other])
    numbers = Counter(row.tobytes() for row in copy)
    twins = [numbers[row.tobytes()] > 1 for row in copy]
    assert trial.rates == (float(np.mean(rare & twins)),)
    merged = replace(COLUMNS[3], values=COLUMNS[3].values[:9], merged=("x",))
    codes = np.minimum(copy, (99, 99, 99, 10))
    attacks, _ = attacks_on((*COLUMNS[:3], merged), codes, (), None, ("copied",))
    values = {int(np.frombuffer(row, "<i4")[3]) for row in attacks.rare}
    assert values
    assert values <= set(range(1, 10))
