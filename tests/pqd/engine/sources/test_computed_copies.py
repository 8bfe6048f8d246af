"""A synthetic table that is computed as it is read is bounded; the private one never is."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import pqd
from pqd.engine.sources import computed_copies
from pqd.engine.sources.computed_copies import Limits, bounded
from pqd.engine.sources.source import Role, UnreadableError
from pqd.engine.tables import open_table
from pqd.errors import TableError
from tests.support.batches import read_batch
from tests.support.postgres_server import PostgresServer

ROWS = 5_000
ENDLESS = "SELECT count(*) AS a FROM range(10000000000000) t(x) WHERE x % 3 = 5"


@pytest.fixture(params=["view", "relation", "lazy frame"])
def computed(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "relation":
        return duckdb.sql(f"SELECT range AS a FROM range({ROWS})")
    if request.param == "lazy frame":
        return pl.LazyFrame({"a": range(ROWS)})
    with duckdb.connect(str(tmp_path / "store.duckdb")) as connection:
        connection.execute(f"CREATE VIEW computed AS SELECT range AS a FROM range({ROWS})")
        connection.execute("CREATE TABLE stored AS SELECT * FROM computed")
    return f"{tmp_path}/store.duckdb::computed"


def limit(monkeypatch: pytest.MonkeyPatch, **limits: float) -> None:
    monkeypatch.setattr(computed_copies, "LIMITS", Limits(**limits))  # type: ignore[arg-type]


def rows(given: object, role: Role) -> int:
    return read_batch(open_table(given, role), ["a"]).rows


LIMITED: list[tuple[dict[str, float], str]] = [
    ({"rows": ROWS - 1}, "more than 4,999 rows; write it as a Parquet file"),
    ({"size": ROWS * 8 - 1}, "more than 0 MB of values; write it as a Parquet file"),
    ({"seconds": -60}, "longer than -1 minutes; write it as a Parquet file"),
]


@pytest.mark.parametrize(("limits", "told"), LIMITED)
def test_a_computed_copy_is_bounded(
    limits: dict[str, float], told: str, computed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert rows(computed, "synthetic") == ROWS
    limit(monkeypatch, **limits)
    with pytest.raises(TableError, match=told):
        pqd.plan(computed, "SELECT COUNT(*) FROM D WHERE a < 9", tau=5, epsilon=1)


def test_the_private_table_is_not_bounded(computed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    limit(monkeypatch, rows=1, size=1, seconds=-1)
    assert rows(computed, "private") == ROWS


def test_a_view_of_a_server_is_bounded(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(monkeypatch, rows=1)
    view = open_table(server.url("some_people"), "private")
    assert read_batch(view, ["id"]).rows > 1
    with pytest.raises(TableError, match="more than 1 rows"):
        read_batch(open_table(server.url("some_people"), "synthetic"), ["id"])
    stored = open_table(server.url("people"), "synthetic")
    assert read_batch(stored, ["id"]).rows > 1


def test_rows_that_are_stored_are_not_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(monkeypatch, rows=1, size=1, seconds=-1)
    with duckdb.connect(str(tmp_path / "store.duckdb")) as connection:
        connection.execute("CREATE TABLE stored AS SELECT 7 AS a FROM range(9)")
    assert rows(f"{tmp_path}/store.duckdb::stored", "synthetic") == 9
    assert rows(ds.dataset(pa.table({"a": [1, 2]})), "synthetic") == 2


def test_a_view_that_gives_no_row_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with duckdb.connect(str(tmp_path / "store.duckdb")) as connection:
        connection.execute(f"CREATE VIEW endless AS {ENDLESS}")
    limit(monkeypatch, seconds=0)
    with pytest.raises(TableError, match="takes longer than 0 minutes"):
        rows(f"{tmp_path}/store.duckdb::endless", "synthetic")


def batches() -> Iterator[pa.RecordBatch]:
    yield from (pa.record_batch({"a": [number]}) for number in range(9))


@pytest.mark.parametrize(("each", "taken"), [(60, 9), (75, 8), (200, 3)])
def test_time_is_that_of_the_copy_alone(each: int, taken: int) -> None:
    """Each look at the clock is ``each`` seconds after the last: between two is one batch."""
    clock: Callable[[], float] = count(0, each).__next__
    got: list[object] = []
    try:
        got.extend(bounded(batches(), clock=clock))
    except UnreadableError:
        assert taken < 9
    assert len(got) == taken


def test_an_error_within_the_limits_is_the_sources_own() -> None:
    def broken() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"a": [1]})
        raise LookupError

    with pytest.raises(LookupError):
        list(bounded(broken(), stop=lambda: None))
