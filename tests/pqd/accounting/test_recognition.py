"""Recognition of a private table: once in a run, anew when it was written, by every text it has."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import pytest

from pqd.accounting.accountant import Accountant
from pqd.engine.duckdb import DuckDBEngine
from pqd.engine.tables import Table, open_table

KEY = b"k" * 32


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the tables whose content was read."""
    read: list[str] = []
    content = DuckDBEngine.content

    def watched(engine: DuckDBEngine, table: Table, key: bytes) -> str:
        read.append(table.label)
        return content(engine, table, key)

    monkeypatch.setattr(DuckDBEngine, "content", watched)
    return read


def recogniser(accountant: Accountant, source: object) -> Callable[[], str]:
    def recognise() -> str:
        table = open_table(source, "private")
        engine = DuckDBEngine(table)
        return accountant.recognise(engine, engine.described(table)).fingerprint

    return recognise


def test_a_file_is_read_once_until_it_is_written(tmp_path: Path, scans: list[str]) -> None:
    path = tmp_path / "private.csv"
    path.write_text("age\n1\n2\n", "utf-8")
    accountant = Accountant(tmp_path / "ledger.sqlite")
    recognise = recogniser(accountant, path)
    first = recognise()
    assert recognise() == first
    assert scans == ["private.csv"]
    path.write_text("age\n1\n3\n3\n", "utf-8")
    assert recognise() != first
    path.write_text("age\n2\n1\n", "utf-8")
    assert recognise() == first
    assert scans == ["private.csv"] * 3
    accountant.ledger.close()


def test_a_frame_is_read_each_time_since_it_may_have_changed(
    tmp_path: Path, scans: list[str]
) -> None:
    frame = pd.DataFrame({"age": [1, 2]})
    accountant = Accountant(tmp_path / "ledger.sqlite")
    recognise = recogniser(accountant, frame)
    first = recognise()
    frame.loc[0, "age"] = 7
    assert recognise() != first
    assert len(scans) == 2
    accountant.ledger.close()


def content(
    values: Sequence[object], names: tuple[str, ...] = ("v",), *, loosely: bool = False
) -> str:
    frame = pd.DataFrame(dict.fromkeys(names, values))
    table = open_table(frame, "private")
    engine = DuckDBEngine(table)
    return engine.content(engine.described(table), KEY, loosely=loosely)


@pytest.mark.parametrize("names", [("v",), ("n",), ("h",), ("v", "n")])
def test_a_column_is_known_by_its_texts_and_how_often_each_is_there(names: tuple[str, ...]) -> None:
    """Grouped by value, 0 and -0 would be one, and a table known by either."""
    tables: list[list[object]] = [
        [0.0, -0.0, -0.0],
        [0.0, 0.0, -0.0],
        [0.0, 0.0, 0.0],
        [0.0, 0.0],
        [0.0, 0.0, None],
        ["0", "0", "0.0"],
    ]
    strict = [content(values, names) for values in tables]
    assert len(set(strict)) == len(tables)
    assert content([-0.0, 0.0, -0.0], names) == strict[0]
    # Loosely, these are the same numbers.
    alike = {content(tables[place], names, loosely=True) for place in (0, 1, 2, 5)}
    assert len(alike) == 1


def test_the_content_of_a_column_is_what_it_was() -> None:
    """Ledgers hold fingerprints of it: another number would make a new table of every old one."""
    assert content([1, 2, 2, None]) == (
        '[["v"], "4", "28730531112908486370", "46957520745059798814"]'
    )
    assert content(["x"][:0]) == '[["v"], "0", "None", "None"]'
