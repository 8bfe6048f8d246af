"""Names of columns that are cells: a copy without a header is suspected by every command."""

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import pqd
from pqd.deciders.note import Note
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.planning.query_warnings import header_warnings

Ran = tuple[int, str, str]
ROWS = [[f"{20 + n % 7}", "xyz"[n % 3], f"{n * n % 11}"] for n in range(200)]


def tables_of(copy: dict[str, list[Any]]) -> SyntheticTables:
    return SyntheticTables([open_table(pd.DataFrame(copy), "synthetic")], None)


@pytest.mark.parametrize(
    ("copy", "examples"),
    [
        ({"Ulm": ["Ulm", "Bonn"], "78": [12, 78], "a": ["b", "c"]}, "('Ulm', '78')"),
        ({"Ulm": ["Bonn", "Ulm"]}, "('Ulm')"),
        ({"2019": [7.5, 2019.0], "town": ["Ulm", "Bonn"], "job": ["a", "b"]}, None),
        ({"2019": [7, 8], "2020": [9, 10]}, None),
        ({"yes": [True, False], "true": [True, False]}, None),
        ({"1": [None, None]}, None),
    ],
)
@pytest.mark.parametrize("named", [True, False], ids=["columns that were read", "first rows"])
def test_a_copy_without_a_header_is_suspected(
    copy: dict[str, list[Any]], examples: str | None, named: bool
) -> None:
    tables = tables_of(copy)
    if named:
        tables.schema(tables.columns, {})
    elif not any(name.isdigit() for name in copy):
        examples = None
    warnings = list(header_warnings(tables, tables.columns if named else ()))
    assert [str(text).partition("theirs ")[2].partition(":")[0] for text in warnings] == (
        [examples] if examples else []
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Private table, and a copy with a header and one without."""
    header = ["age", "job", "square"]
    for name, rows in {
        "private": [header, *ROWS[1:]],
        "copy": [header, *ROWS],
        "bare": ROWS,
    }.items():
        with (tmp_path / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(rows)
    monkeypatch.chdir(tmp_path)
    return tmp_path


COUNT = ["-q", "SELECT COUNT(*) FROM D", "--tau", "5%"]
COMMANDS = {
    "audit": ["audit", "private.csv", "bare.csv", *COUNT, "--epsilon", "1"],
    "compare": ["compare", "private.csv", "a=copy.csv", "b=bare.csv", *COUNT, "--epsilon", "1"],
    "plan": ["plan", "bare.csv", *COUNT],
    "plan of a profile": ["plan", "bare.csv", "--tau", "5%"],
    "release": ["release", "private.csv", "bare.csv", *COUNT[:2], "--total-epsilon", "1"],
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_warns_before_anything_is_spent(
    name: str, command: Callable[..., Ran]
) -> None:
    options = [] if name.startswith("plan") else ["--ledger", "here.sqlite"]
    code, _, err = command(*COMMANDS[name], *options, "--strict")
    assert code == 2
    assert "does the file lack a header? The first line of every table must" in err
    assert not Path("here.sqlite").exists()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("private", "copy"), [("private", "bare"), ("bare", "copy")])
def test_a_profile_of_no_shared_column_names_the_header(
    private: str, copy: str, command: Callable[..., Ran]
) -> None:
    """Of the private table's names none is told: they may be a row of cells."""
    files = f"{private}.csv", f"{copy}.csv"
    code, _, err = command("profile", *files, "--ledger", "here.sqlite")
    assert code == 5
    assert "irst line" in err
    assert private == "private" or not {"20:", "x:"} & set(err.split())
    assert not Path("here.sqlite").exists()


def kinds_notes(notes: Sequence[Note]) -> list[str]:
    return [note for note in map(str, notes) if note.startswith("Kinds of columns come from")]


@pytest.mark.usefixtures("folder")
def test_kinds_that_were_taken_from_the_copy_are_noted() -> None:
    query = "SELECT COUNT(*) FROM D WHERE age > 21 AND job = 'x' AND square < 5"
    (note,) = kinds_notes(pqd.plan("copy.csv", query, tau=5).notes)
    assert note == (
        "Kinds of columns come from copy.csv: age, square (number). Private cells that do not fit "
        "their kind count as missing."
    )
    stated = pqd.plan("copy.csv", query, tau=5, columns={"AGE": {"type": "number"}})
    assert ": square (number)." in kinds_notes(stated.notes)[0]
    texts = pqd.plan("copy.csv", "SELECT COUNT(*) FROM D WHERE job = 'x'", tau=5)
    assert not kinds_notes(texts.notes)


@pytest.mark.usefixtures("folder")
def test_every_rendering_says_which_kinds_were_taken() -> None:
    report = pqd.profile("private.csv", "copy.csv", anyway=True, ledger="here.sqlite")
    for text in (str(report), report.to_html(), report.to_markdown(), report.to_json()):
        assert "Kinds of columns come from copy.csv" in " ".join(text.split())


SPEC = """[private]
path = "private.csv"
[synthetic.one]
path = "copy.csv"
[defaults]
tau = "10%"
epsilon = 1
[columns.square]
type = "number"
[[check]]
id = "count"
sql = "SELECT COUNT(*) FROM D WHERE age > 3 AND square > 2"
[[check]]
id = "distance"
marginal = ["age", "job"]
tau = 0.1
"""


def test_a_check_notes_the_kinds_of_a_copy_once(folder: Path) -> None:
    """Its queries and its distances are read apart."""
    (folder / "audit.toml").write_text(SPEC, encoding="utf-8")
    (note,) = kinds_notes(pqd.check("audit.toml", dry_run=True).notes)
    assert "come from copy.csv: age (number)." in note


def test_of_many_columns_the_first_are_named(folder: Path) -> None:
    pd.DataFrame({f"c{n}": [n, n + 1.5] for n in range(9)}).to_csv(folder / "wide.csv", index=False)
    query = f"SELECT COUNT(*) FROM D WHERE {' AND '.join(f'c{n} > 0' for n in range(9))}"
    (note,) = kinds_notes(pqd.plan("wide.csv", query, tau=5).notes)
    assert ": c0, c1, c2, c3, c4, c5 and 3 more (number)." in note
