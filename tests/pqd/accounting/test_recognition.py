"""Recognition of a private table: once in a run, anew when it was written, by every text it has."""

import copy
import json
import os
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

from pqd.accounting.accountant import Accountant
from pqd.accounting.composition import Charge
from pqd.accounting.ledger import Ledger
from pqd.engine.counting import batch, facts
from pqd.engine.counting.recognition import Content
from pqd.engine.reading import csv_blocks, json_lines, parquet_files
from pqd.engine.sources.files import DelimitedFile
from pqd.engine.synthetic_table import SyntheticTable
from pqd.engine.tables import Table, open_table
from pqd.errors import LedgerError, NotPublicError
from pqd.planning.table_separation import separate_tables
from tests.support.custodian import Custodian

KEY = b"k" * 32


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the tables whose content was read."""
    read: list[str] = []
    content = SyntheticTable.content

    def watched(engine: SyntheticTable, table: Table, key: bytes) -> Content:
        read.append(table.label)
        return content(engine, table, key)

    monkeypatch.setattr(SyntheticTable, "content", watched)
    return read


def recogniser(accountant: Accountant, source: object) -> Callable[[], str]:
    def recognise() -> str:
        table = open_table(source, "private")
        engine = SyntheticTable()
        return accountant.recognise(engine, table).fingerprint

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


def content(values: Sequence[object], names: tuple[str, ...] = ("v",)) -> str:
    table = open_table(pd.DataFrame(dict.fromkeys(names, values)), "private")
    return SyntheticTable().content(table, KEY).text


# Told apart by what cells are written as, all but the last two.
TABLES: list[list[object]] = [
    [0.0, -0.0, -0.0],
    [0.0, 0.0, -0.0],
    [0.0, 0.0, 0.0],
    ["0", "0", "0.0"],
    [0.0, 0.0, None],
    [0.0, 0.0],
]


@pytest.mark.parametrize("names", [("v",), ("n",), ("h",), ("v", "n")])
def test_a_column_is_known_by_its_texts_and_how_often_each_is_there(names: tuple[str, ...]) -> None:
    """Grouped by value, 0 and -0 would be one, and a table known by either."""
    strict = [content(values, names) for values in TABLES]
    assert len(set(strict)) == len(TABLES)
    assert content([-0.0, 0.0, -0.0], names) == strict[0]


@pytest.mark.parametrize("place", range(6))
def test_likeness_passes_over_how_numbers_are_written(place: int) -> None:
    one, other = (open_table(pd.DataFrame({"v": TABLES[n], "w": 1}), "private") for n in (0, place))
    for names in ([], ["V"], ["w"]):
        assert SyntheticTable().same_rows(one, other, names) == (place < 4)


def test_the_content_of_a_table_is_what_it_was() -> None:
    """Ledgers hold fingerprints of it: another number would make a new table of every old one.

    The second text is the one that ledgers of the earlier rule hold.
    """
    table = pa.table({"b": ["x", "y", None], "A": [1, 2, 2], "c": [0.1, 1e300, -0.0]})
    times = pa.array([0, 1, None], pa.timestamp("us"))
    table = table.append_column("t", times).append_column("f", [[True, False, None]])
    found = SyntheticTable().content(open_table(table, "private"), KEY)
    assert found.text == "[3, 1665696231, 2041003138, 170585261, 166768771]"
    assert found.earlier(KEY) == (
        '[["a", "b", "c", "f", "t"], "3", "1183696893", "1206990082", "595637234", "1199253527"]'
    )


Row = dict[str, object]
PEOPLE: list[Row] = [
    {"Age": 3, "pay": 3.0, "name": 'Zoë, "x"', "born": "1980-12-24", "fit": True, "none": None},
    {"Age": 4, "pay": None, "name": "06680", "born": None, "fit": False, "none": None},
    {"Age": 4, "pay": None, "name": "06680", "born": None, "fit": False, "none": None},
    {"Age": None, "pay": 2.5, "name": None, "born": "2001-01-01", "fit": None, "none": None},
    {"Age": None, "pay": None, "name": None, "born": None, "fit": None, "none": None},
]


def in_kinds(rows: Sequence[Row], folder: Path) -> dict[str, Path | str]:
    """Files of every kind that hold ``rows``, as DuckDB writes them."""
    folder.mkdir(exist_ok=True)
    found: dict[str, Path | str] = {"store": f"{folder / 'store.duckdb'}::people"}
    with duckdb.connect(folder / "store.duckdb") as store:
        store.execute(
            "CREATE TABLE people (Age INT, pay DOUBLE, name VARCHAR, born DATE, fit BOOL, none INT)"
        )
        store.executemany(
            "INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)", [[*r.values()] for r in rows]
        )
        for kind in ("csv", "parquet", "jsonl", "tsv"):
            found[kind] = folder / f"people.{kind}"
            mark = " (DELIMITER '\t')" if kind == "tsv" else ""
            store.execute(f"COPY people TO '{found[kind]}'{mark}")
    # As Spark writes it: a missing cell has no key; here in another order, and other capitals.
    found["keys"] = keys = folder / "keys.jsonl"
    lines = [{k.upper(): v for k, v in [*row.items()][::-1] if v is not None} for row in rows[::-1]]
    keys.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    return found


def test_the_same_rows_are_one_table_in_every_kind_of_file(tmp_path: Path) -> None:
    found = in_kinds(PEOPLE, tmp_path / "one") | {
        f"shuffled {kind}": file for kind, file in in_kinds(PEOPLE[::-1], tmp_path / "two").items()
    }
    texts = {kind: of_file(file).text for kind, file in found.items()}
    assert texts == dict.fromkeys(found, texts["csv"])


def of_file(source: object) -> Content:
    return SyntheticTable().content(open_table(source, "private"), KEY)


# Tables that are nearly the people: what is changed in a row.
NEARLY: dict[str, Row] = {
    "another number": {"Age": 5},
    "another text": {"name": "Zoe"},
    "a lost cell": {"pay": None},
    "a cell more": {"none": 7},
    "a day for no day": {"born": "1980-12-25"},
    "values that two columns have swapped": {"name": "1980-12-24", "born": None},
    "a cell under the name of another": {"Age": None, "none": 3},
}


@pytest.mark.parametrize("change", NEARLY)
def test_one_changed_row_is_another_table(change: str, tmp_path: Path) -> None:
    people = of_file(in_kinds(PEOPLE, tmp_path / "one")["csv"]).text
    changed: list[Row] = [PEOPLE[0] | NEARLY[change], *PEOPLE[1:]]
    texts = {of_file(file).text for file in in_kinds(changed, tmp_path / "two").values()}
    assert len(texts) == 1
    assert people not in texts


def test_cells_of_two_rows_do_not_change_places(tmp_path: Path) -> None:
    """Nor do two columns with each other."""
    lines = {
        "own": '{"a": "x", "b": "y"}\n{"a": "u", "b": "v"}\n',
        "crossed": '{"a": "x", "b": "v"}\n{"a": "u", "b": "y"}\n',
        "swapped": '{"a": "y", "b": "x"}\n{"a": "v", "b": "u"}\n',
        "parted": '{"a": "x"}\n{"b": "y"}\n{"a": "u", "b": "v"}\n',
        "one row": '{"a": "x", "b": "y"}\n',
        "twice": '{"a": "x", "b": "y"}\n{"a": "u", "b": "v"}\n{"a": "u", "b": "v"}\n',
        "joined": '{"a": "xb", "b": "y"}\n{"a": "u", "b": "v"}\n',
        "no object": '{"a": "x", "b": "y"}\n{"a": "u", "b": "v"}\n7\n',
    }
    texts = []
    for name, text in lines.items():
        path = tmp_path / f"{name}.jsonl"
        path.write_text(text, "utf-8")
        texts.append(of_file(path).text)
    assert len(set(texts)) == len(lines)


@pytest.mark.parametrize("cached", [1, 1 << 20])
def test_json_lines_too_large_to_keep_are_the_same_table(
    cached: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In batches of one line, and whatever is remembered of lines."""
    files = in_kinds(PEOPLE, tmp_path / "files")
    whole = of_file(files["csv"]).text
    monkeypatch.setattr(json_lines, "_LINES", 1)
    monkeypatch.setattr(batch, "ROWS", 1)
    monkeypatch.setattr(facts, "MOST", cached)
    assert of_file(files["jsonl"]).text == of_file(files["keys"]).text == whole


def by_earlier_rule(ledger: Ledger, engine: SyntheticTable, table: Table) -> tuple[str, ...]:
    """Fingerprint as ledgers of the earlier rule have it."""
    key = ledger.key("rows")
    return (ledger.fingerprint(engine.content(table, key).earlier(key), "rows:"),)


def by_rule_alone(ledger: Ledger, engine: SyntheticTable, table: Table) -> tuple[str, ...]:
    """Fingerprint of the rule of today, whatever the earlier one has opened."""
    return (ledger.fingerprint(engine.content(table, ledger.key("rows")).text),)


def twice_charged(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Custodian, object]:
    """Custodian whose ledger has accounts of the same rows by both rules, and a third file."""
    custodian = Custodian(folder)
    kinds = [in_kinds(PEOPLE, folder / name) for name in ("one", "two", "three")]
    for files, rule in zip(kinds, (by_earlier_rule, by_rule_alone), strict=False):
        with monkeypatch.context() as patch:
            patch.setattr(Ledger, "fingerprints_of", rule)
            custodian.charge(files["csv"])
    return custodian, kinds[2]["store"]


def test_accounts_of_the_same_rows_by_either_rule_are_united(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The spending of neither is lost; broken twin: a ledger that prefers the new account."""
    custodian, store = twice_charged(tmp_path, monkeypatch)
    assert [each.spent.epsilon for each in custodian.data_sets()] == [1, 1]
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "fingerprints_of", by_rule_alone)
        assert custodian.spent_on(store) == 1, "the broken twin sees one of the two"
    assert custodian.spent_on(store) == 2
    custodian.charge(store)
    (data_set,) = custodian.data_sets()
    assert data_set.spent.epsilon == 3
    assert [a.fingerprint.partition(":")[0] for a in data_set.versions] == ["rows", "cells"]


def test_a_copy_is_refused_if_any_account_of_its_rows_is_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    custodian, store = twice_charged(tmp_path, monkeypatch)
    custodian.act(lambda ledger: ledger.declare(2, "a slip", public=True))
    other = tmp_path / "other.csv"
    other.write_text("age,city\n1,Ulm\n2,Bonn\n", "utf-8")
    accountant = Accountant(custodian.path)
    with pytest.raises(NotPublicError, match=r"as a private table \(number 1 there\)"):
        separate_tables(other, store, accountant=accountant, names=None)
    accountant.ledger.close()


def test_a_ledger_of_the_earlier_rule_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For the rows in every kind of file, where each key of JSON lines comes in a line."""
    custodian = Custodian(tmp_path)
    people, others = in_kinds(PEOPLE, tmp_path / "one"), in_kinds(PEOPLE[:3], tmp_path / "two")

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "fingerprints_of", by_earlier_rule)
        custodian.charge(people["parquet"])
    for kind in ("csv", "store", "jsonl"):
        assert custodian.charge(people[kind]).number == 1, kind
    (data_set,) = custodian.data_sets()
    (account,) = data_set.versions
    assert account.fingerprint.startswith("rows:")
    assert data_set.spent.epsilon == 4
    other = custodian.charge(others["csv"])
    assert other.number == 2
    assert other.versions[0].fingerprint.startswith("cells:")
    assert custodian.charge(others["keys"]).number == 2


def test_a_new_ledger_takes_the_key_that_was_drawn_for_it(tmp_path: Path) -> None:
    accountant = Accountant(tmp_path / "ledger.sqlite")
    key = accountant.row_key
    assert accountant.row_key == key
    assert not accountant.path.exists(), "no file before there is something to write"
    assert accountant.ledger.key("rows") == key == accountant.row_key
    assert Accountant(accountant.path).row_key == key, "as the file has it"
    other = Accountant(tmp_path / "other.sqlite")
    assert other.row_key != key
    assert other.ledger.key("rows") != key
    for each in (accountant, other):
        each.ledger.close()


def test_a_key_is_of_the_process_and_the_place_that_it_was_drawn_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    accountant = Accountant(tmp_path / "ledger.sqlite")
    key = accountant.row_key
    moved = copy.copy(accountant)
    moved.path = tmp_path / "other.sqlite"
    assert moved.row_key != key
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert accountant.row_key != key, "forked"


def test_where_another_process_makes_the_ledger_first_its_key_counts(tmp_path: Path) -> None:
    path = tmp_path / "private.csv"
    path.write_text("age\n1\n2\n", "utf-8")
    late, first = Accountant(tmp_path / "ledger.sqlite"), Accountant(tmp_path / "ledger.sqlite")
    table, engine = open_table(path, "private"), SyntheticTable()
    engine.read(table, (), [late.row_key])
    fingerprint = recogniser(first, path)()
    assert late.recognise(engine, table).fingerprint == fingerprint
    assert late.row_key == first.row_key
    for each in (late, first):
        each.ledger.close()


def test_a_key_makes_one_ledger_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the ledger is lost after it was made, and is made again."""
    accountant = Accountant(tmp_path / "ledger.sqlite")
    key = accountant.row_key

    def lost(ledger: Ledger) -> bool:
        ledger.close()
        ledger.path.unlink()
        raise LedgerError("lost")

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "refresh", lost)
        with pytest.raises(LedgerError, match="lost"):
            _ = accountant.ledger
    assert accountant.row_key != key
    assert accountant.ledger.key("rows") == accountant.row_key != key
    accountant.ledger.close()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1 << 18])
def test_the_content_is_the_same_whatever_is_read_with_it(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of CSV and Parquet, in blocks and parts of any size."""
    monkeypatch.setattr(batch, "ROWS", size)
    monkeypatch.setattr(facts, "MOST", size)
    monkeypatch.setattr(csv_blocks, "BLOCK_SIZE", 64)
    monkeypatch.setattr(parquet_files, "_ROWS", 5)
    rows = {"a": [n % 7 for n in range(40)], "b": [f"{n * n % 5}" for n in range(40)]}
    sources = [tmp_path / "private.csv", tmp_path / "private.parquet"]
    pd.DataFrame(rows).to_csv(sources[0], index=False)
    pd.DataFrame(rows).to_parquet(sources[1])
    found = set()
    for source in sources:
        for names in ((), ("a",), ("b", "a")):
            engine, table = SyntheticTable(), open_table(source, "private")
            engine.read(table, names, [KEY])
            assert sorted(table.memory.columns) == sorted(names)
            found.add(engine.content(table, KEY))
    assert found == {SyntheticTable().content(open_table(pd.DataFrame(rows), "private"), KEY)}


def test_a_digest_is_taken_once_of_each_version_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the first reading of the private table, or before it, where a ledger knows a table."""
    taken, digest = [], DelimitedFile.digest

    def watched(file: DelimitedFile) -> bytes | None:
        taken.append(file.path.stem)
        return digest(file)

    monkeypatch.setattr(DelimitedFile, "digest", watched)
    paths = [tmp_path / f"{name}.csv" for name in ("private", "synthetic")]
    for number, path in enumerate(paths):
        path.write_text(f"age\n1\n{number}\n", "utf-8")
    for roles in (["private"], ["private", "synthetic"]):
        accountant = Accountant(tmp_path / "ledger.sqlite")
        tables = separate_tables(*paths, accountant=accountant, names=("age",))
        private = tables.private or pytest.fail("it is lost")
        table = accountant.recognise(tables.engine, private)
        assert sorted(taken) == roles
        measured = {"key": {"id": "q1"}}
        accountant.ledger.reserve(
            table,
            measured,
            lambda _: Charge(Fraction(1)),
            fresh=True,
        )
        taken.clear()
    old = private.digest()
    paths[0].write_text("age\n1\n22\n", "utf-8")
    assert private.digest() != old
    assert taken == ["private"]
    accountant.ledger.close()
