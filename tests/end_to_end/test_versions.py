"""Hundreds of versions of one table under a limit: the sum of their charges never exceeds it."""

import os
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.dataset as pds
import pyarrow.parquet as pq
import pytest

from pqd.accounting.composition import Charge
from pqd.accounting.data_sets import Accounts, DataSet, RecognisedTable
from pqd.errors import BudgetError, ParameterError
from tests.support.custodian import Custodian, written
from tests.support.postgres_server import PostgresServer

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
    return pds.dataset(folder / "people.parquet")


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


def test_three_hundred_versions_of_a_table_of_postgresql(
    postgres_server: PostgresServer, custodian: Custodian
) -> None:
    """By the table, a view and a partition of it, and by URLs of two spellings."""
    postgres_server.run(
        "CREATE TABLE nightly (age int) PARTITION BY RANGE (age)",
        "CREATE TABLE nightly_all PARTITION OF nightly FOR VALUES FROM (0) TO (1000)",
        "CREATE VIEW nightly_seen AS SELECT age FROM nightly",
    )
    urls = [postgres_server.url(name) for name in ("nightly", "nightly_seen", "public.nightly_all")]
    urls.append(urls[0].replace("postgresql://", "postgres://"))
    custodian.limit(LIMIT)
    refused = 0
    for number in range(VERSIONS):
        postgres_server.run(f"INSERT INTO nightly VALUES ({number})")
        try:
            custodian.charge(urls[number % len(urls)], epsilon=Fraction(7, 200))
        except BudgetError:
            refused += 1
    assert refused == 100
    assert custodian.spent() == [LIMIT] == [custodian.sum_of_charges()]


# Kills -------------------------------------------------------------------------------------------

KILLED = """
import os, random, signal, sys, time
from pathlib import Path
from tests.support.custodian import Custodian, written
folder = Path(sys.argv[1])
custodian, rng, done = Custodian(folder), random.Random(42), 0
for trial in range(25):
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        for number in range(10**6):
            custodian.charge(written(folder / "data" / "people.csv", trial, number), epsilon="1/7")
            os.write(writing, b".")
    os.close(writing)
    time.sleep(rng.uniform(0, 0.2))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as pipe:
        done += len(pipe.read())
print(done)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that can fork")
def test_kills_between_versions_lose_nothing(
    tmp_path: Path, custodian: Custodian, process: Callable[..., tuple[int, str, str]]
) -> None:
    root = str(Path(__file__).resolve().parents[2])
    code, out, err = process("-W", "ignore", "-c", KILLED, str(tmp_path), PYTHONPATH=root)
    assert (code, err) == (0, "")
    # Whatever was told is on the disk; a kill may leave a charge that nobody was told.
    (data_set,) = custodian.data_sets()
    assert int(out) <= len(data_set.runs) <= int(out) + 25
    assert data_set.spent.epsilon == custodian.sum_of_charges() == Fraction(len(data_set.runs), 7)
    custodian.limit(data_set.spent.epsilon)
    with pytest.raises(BudgetError):
        custodian.charge(written(tmp_path / "data" / "people.csv", "new"), epsilon="1e-9")


# Wrong programs ----------------------------------------------------------------------------------


def spent_under_a_limit(custodian: Custodian, folder: Path) -> Fraction:
    """Sum of what is granted, limit 2, to versions at a place, by names, and of a folder."""
    custodian.limit(2)
    one, other = folder / "a.csv", folder / "b.csv"
    tries: list[tuple[Callable[[], object], str | None]] = [
        (lambda: written(one, 1), None),
        (lambda: written(other, 2), "b"),
        (lambda: folder, None),
        (lambda: written(one, 3), None),
        (lambda: written(one, 4), "a"),
        (lambda: written(one, 5), None),
    ]
    for version, name in tries:
        with suppress(BudgetError, ParameterError):
            custodian.charge(version(), name)
    return custodian.sum_of_charges()


def test_the_right_program_grants_the_limit_of_two_data_sets(
    tmp_path: Path, custodian: Custodian
) -> None:
    """The folder unites them, with 2 spent: nothing more is granted."""
    assert spent_under_a_limit(custodian, tmp_path / "data") == 2 + 1


def test_a_limit_of_each_version_is_caught(
    tmp_path: Path, custodian: Custodian, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DataSet, "spent", property(lambda _: Charge()))
    assert spent_under_a_limit(custodian, tmp_path / "data") > 3


def test_a_name_that_splits_is_caught(
    tmp_path: Path, custodian: Custodian, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Accounts.found

    def by_name_alone(accounts: Accounts, table: RecognisedTable) -> tuple[DataSet, ...]:
        named = [d for d in accounts.data_sets.values() if d.has_name(table.name or "")]
        return tuple(named) if table.name else found(accounts, table)

    monkeypatch.setattr(Accounts, "found", by_name_alone)
    assert spent_under_a_limit(custodian, tmp_path / "data") > 3


def test_a_union_that_forgets_charges_is_caught(
    tmp_path: Path, custodian: Custodian, monkeypatch: pytest.MonkeyPatch
) -> None:
    custodian.charge(written(tmp_path / "data" / "a.csv", 1))
    custodian.charge(written(tmp_path / "data" / "b.csv", 2))
    custodian.charge(tmp_path / "data")
    assert sum(custodian.spent()) == custodian.sum_of_charges() == 3
    monkeypatch.setattr(DataSet, "united", lambda self, other: min(self, other, key=str))
    assert sum(custodian.spent()) < custodian.sum_of_charges()
