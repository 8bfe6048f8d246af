"""Number of threads: as stated, else that of the cores; no result depends on it."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest

from pqd.engine.counting.arrow_sql import ArrowSQL
from pqd.engine.synthetic_table import SyntheticTable
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.errors import ParameterError
from pqd.threads import VARIABLE, stated_threads, thread_count

WRONG = ["0", "-1", "two", "1.5", "²", "1024", ""]


@pytest.mark.parametrize("stated", WRONG[:-1])
def test_what_is_no_number_of_threads_is_refused(
    stated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, stated)
    with pytest.raises(ParameterError, match="is a number of threads"):
        thread_count()


@pytest.mark.parametrize("stated", WRONG)
def test_what_a_run_states_is_refused_by_its_own_name(stated: str) -> None:
    with pytest.raises(ParameterError, match="--threads is a number"), stated_threads(stated):
        raise AssertionError


def test_what_a_run_states_wins_until_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "5")
    with stated_threads("1023"):
        assert thread_count() == 1023
        with stated_threads(None):
            assert thread_count() == 5
    assert thread_count() == 5


@pytest.mark.parametrize("stated", ["1", "3", " 2 ", ""])
def test_threads_change_no_result(
    stated: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pd.DataFrame({"a": [n % 7 for n in range(500)], "b": "x"})
    for name in ("s.csv", "t.csv"):
        frame.to_csv(tmp_path / name, index=False)
    monkeypatch.setenv(VARIABLE, stated)
    assert thread_count() >= 1
    copies = [open_table(tmp_path / name, "synthetic") for name in ("s.csv", "t.csv")]
    tables = SyntheticTables(copies, open_table(frame, "private"))
    tables.read(["A"], {0: [b"key"], 2: [b"key"]})
    assert tables.private
    contents = {SyntheticTable().content(table, b"key") for table in (*copies, tables.private)}
    assert len(contents) == 1
    schema = tables.schema(["a"], {})
    assert tables.engine.profile(schema, '"a"') is not None
    connection = tables.engine._sql._connection
    asked = connection.execute("SELECT current_setting('threads')").fetchall()
    assert asked == [(thread_count(),)]


@pytest.mark.parametrize("opens", [True, False], ids=["another thread", "this thread"])
def test_a_database_has_the_threads_of_the_run_that_made_it(
    opens: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a thread of the run, which is outside of its context, needs it first."""
    monkeypatch.setenv(VARIABLE, "2")
    with stated_threads("1"):
        sql = ArrowSQL()
    with ThreadPoolExecutor(1) as pool:
        connection = pool.submit(sql.open).result() if opens else sql.open()
    assert connection is sql.open()
    asked = connection.execute("SELECT current_setting('threads')").fetchall()
    assert asked == [(1,)]
