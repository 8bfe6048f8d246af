"""Hundreds of versions of one table under a limit: the sum of their charges never exceeds it."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pqd.errors import BudgetError
from tests.support.custodian import Custodian, written

VERSIONS, LIMIT = 300, Fraction(7)


@pytest.fixture
def custodian(tmp_path: Path) -> Custodian:
    (tmp_path / "data").mkdir()
    return Custodian(tmp_path)


# Three hundred versions under a limit ------------------------------------------------------------


def rewritten(folder: Path, number: int) -> object:
    return written(folder / "people.csv", *range(number + 2))


def replaced(folder: Path, number: int) -> object:
    written(folder / "draft.csv", *range(number + 2)).replace(folder / "people.csv")
    return folder / "people.csv"


def part(folder: Path, number: int, name: str) -> None:
    """Write a part, and remove one of three nights before: reading hundreds takes long."""
    written(folder / "parts" / name.format(number), number)
    (folder / "parts" / name.format(number - 3)).unlink(missing_ok=True)


def of_a_new_part(folder: Path, number: int) -> object:
    part(folder, number, "{:03}.csv")
    return folder / "parts"


def of_one_part_alone(folder: Path, number: int) -> object:
    if not number:
        written(folder / "parts" / "000.csv", 1)
        return folder / "parts"
    return written(folder / "parts" / f"{number:03}.csv", number)


def of_a_pattern(folder: Path, number: int) -> object:
    part(folder, number, "2026-{:03}.csv")
    return f"{folder}/parts/2026-*.csv"


def of_a_deep_pattern(folder: Path, number: int) -> object:
    part(folder, number, "day={:03}/part.csv")
    return f"{folder}/parts/**/*.csv"


def of_a_link(folder: Path, number: int) -> object:
    """A link leads to another file each night."""
    link = folder / "today.csv"
    link.unlink(missing_ok=True)
    link.symlink_to(written(folder / f"{number}.csv", number))
    return link


def below_a_link(folder: Path, number: int) -> object:
    """A link leads to another folder each night."""
    link = folder / "today"
    link.unlink(missing_ok=True)
    link.symlink_to(written(folder / f"{number}" / "people.csv", number).parent)
    return link / "people.csv"


def of_duckdb(folder: Path, number: int) -> object:
    with duckdb.connect(str(folder / "store.duckdb")) as connection:
        if not number:
            connection.execute("CREATE TABLE people (age int)")
            connection.execute("CREATE VIEW seen AS SELECT age FROM people")
        connection.execute("INSERT INTO people VALUES (?)", [number])
    # The table, a view of it, and another spelling.
    return f"{folder}/store.duckdb::{('people', 'seen', 'main.People')[number % 3]}"


def of_a_dataset(folder: Path, number: int) -> object:
    pq.write_table(pa.table({"age": range(number + 1)}), folder / "people.parquet")
    return pa.dataset.dataset(folder / "people.parquet")


WAYS = [
    *(rewritten, replaced, of_a_new_part, of_one_part_alone, of_a_pattern, of_a_deep_pattern),
    *(of_a_link, below_a_link, of_duckdb, of_a_dataset),
]


@pytest.mark.parametrize("version", WAYS)
def test_three_hundred_versions_never_exceed_a_limit(
    version: Callable[[Path, int], object], tmp_path: Path, custodian: Custodian
) -> None:
    custodian.limit(LIMIT)
    price = Fraction(7, 200)
    refused = 0
    for number in range(VERSIONS):
        try:
            custodian.charge(version(tmp_path / "data", number), epsilon=price)
        except BudgetError:
            refused += 1
        if number % 50 == 49:
            assert custodian.sum_of_charges() <= LIMIT
    assert custodian.sum_of_charges() == LIMIT == sum(custodian.spent())
    assert refused == VERSIONS // 3
    assert len(custodian.data_sets()) == 1
