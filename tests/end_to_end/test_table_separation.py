"""The private table given as the synthetic one is refused before a word is said of either.

Whatever way it is given in, and whichever command it is given to: the same file under another name,
the same rows in another format, arguments swapped after a first run.
"""

import ast
import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as pds
import pyarrow.parquet as pq
import pytest

import pqd
from pqd.accounting.accountant import Accountant
from pqd.accounting.accounts import NO_LIMIT, Budget
from pqd.accounting.ledger import Ledger
from pqd.accounting.ledger_location import FILE_NAME
from pqd.commands.audit import run_audit
from pqd.commands.compare import run_compare
from pqd.commands.release import run_release
from pqd.comparison.comparison_parameters import ComparisonParameters
from pqd.deciders import SecureNoise
from pqd.deciders.note import Note
from pqd.engine.synthetic_table import SyntheticTable
from pqd.engine.tables import open_table
from pqd.errors import LedgerError, NotPublicError, ParameterError, TableError
from pqd.parameters import Parameters
from pqd.planning.table_separation import separate_tables
from pqd.progress import Step
from pqd.pytest_plugin import Trust
from pqd.sql.workload_files import as_queries

Ran = tuple[int, str, str]
Command = Callable[..., Ran]

ROOT = Path(__file__).resolve().parents[2]
CANARY = "zebra-canary"
SQL = "SELECT COUNT(*) FROM D WHERE age > 3"
ASKED: dict[str, Any] = {"tau": 5, "epsilon": 1}
TERMS = ("-q", SQL, "--tau", "5", "--epsilon", "1")


def private() -> pd.DataFrame:
    numbers = np.arange(40)
    return pd.DataFrame(
        {
            "age": numbers % 9,
            "name": [f"{CANARY}-{n % 3}" for n in numbers],
            "pay": numbers / 8 - 1,
            "born": pd.Timestamp("1990-01-01") + pd.to_timedelta(numbers, "D"),
            "here": numbers % 2 == 0,
        }
    )


def copy() -> pd.DataFrame:
    return private().assign(age=7, name="b")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, without a ledger: both tables, and a spec that may name either."""
    monkeypatch.delenv("PQD_LEDGER")
    monkeypatch.chdir(tmp_path)
    private().to_csv("private.csv", index=False)
    copy().to_csv("copy.csv", index=False)
    Path("link.csv").symlink_to("private.csv")
    Path("folder").mkdir()
    os.link("private.csv", "folder/other.csv")
    Path("queries.sql").write_text(SQL, encoding="utf-8")
    Path("audit.toml").write_text(
        '[private]\npath = "private.csv"\n[synthetic.good]\npath = "copy.csv"\n'
        '[synthetic.bad]\npath = "link.csv"\n[defaults]\ntau = 5\nepsilon = 1\n'
        f'[release]\nqueries = "queries.sql"\nsynthetic = "bad"\ntotal_epsilon = 1\n'
        f'[[check]]\nid = "one"\nsql = "{SQL}"\n',
        encoding="utf-8",
    )
    return tmp_path


def shuffled() -> pd.DataFrame:
    return private().iloc[::-1, ::-1].rename(columns=str.upper)


def in_parquet() -> Path:
    private().to_parquet("other.parquet")
    return Path("other.parquet")


def semicolons() -> Path:
    shuffled().to_csv("other.csv", sep=";", index=False)
    return Path("other.csv")


# The private table by other names, and the same rows in other forms.
FORMS: dict[str, Callable[[], object]] = {
    "the same path": lambda: "private.csv",
    "another spelling of it": lambda: Path("folder/../private.csv"),
    "a symbolic link": lambda: "link.csv",
    "a hard link": lambda: "folder/other.csv",
    "Parquet": in_parquet,
    "rows and columns in another order": semicolons,
    "a frame": private,
    "a frame of texts": lambda: private().astype(str),
    "a frame of objects": lambda: private().astype(object),
    "other numbers and times": lambda: private().astype({"age": float, "born": "datetime64[s]"}),
    "a frame in another order": shuffled,
    "a frame of polars": lambda: pl.DataFrame(private()),
    "a relation": lambda: duckdb.from_df(private()),
    "Arrow": lambda: pa.Table.from_pandas(private(), preserve_index=False),
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("form", FORMS)
def test_the_private_table_in_any_form_is_refused(form: str) -> None:
    with pytest.raises(NotPublicError, match="the private table") as caught:
        pqd.audit("private.csv", FORMS[form](), SQL, **ASKED)
    assert CANARY not in str(caught.value)
    assert caught.value.exit_code == 2
    assert not Path(FILE_NAME).exists(), "nothing was spent"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("form", list(FORMS)[:4])
def test_one_file_is_not_even_read(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("pqd.engine.synthetic_tables.SyntheticTables.read")
    with pytest.raises(NotPublicError, match="is the private table itself"):
        pqd.audit("private.csv", FORMS[form](), SQL, **ASKED)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("form", FORMS)
def test_a_private_frame_in_any_form_is_refused(form: str) -> None:
    with pytest.raises(NotPublicError, match="holds the same rows"):
        pqd.audit(private(), FORMS[form](), SQL, **ASKED)


@pytest.mark.usefixtures("folder")
def test_one_object_is_refused() -> None:
    for table in (private(), pa.Table.from_pandas(private()), pl.DataFrame(private())):
        with pytest.raises(NotPublicError, match="is the private table itself"):
            pqd.audit(table, table, SQL, **ASKED)


def rotated() -> pd.DataFrame:
    """Each column holds what the private one does, but no row is the same."""
    return private().assign(age=np.roll(private()["age"], 1))


OTHERS: dict[str, Callable[[], pd.DataFrame]] = {
    "one cell": lambda: private().assign(age=[8, *private()["age"][1:]]),
    "one row more": lambda: pd.concat([private(), private().iloc[:1]]),
    "a column more": lambda: private().assign(more=1),
    "a column less": lambda: private().drop(columns="pay"),
    "equal columns but not rows": rotated,
    "a name": lambda: private().rename(columns={"pay": "paid"}),
    "missing cells": lambda: private().assign(name=None),
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("other", OTHERS)
def test_a_table_that_differs_is_another(other: str) -> None:
    assert pqd.audit("private.csv", OTHERS[other](), SQL, **ASKED).spent == 1


def unreadable(form: str, name: str, positive: int) -> str:
    """Copy with a number of positive rows, and a column beside them that cannot be read."""
    hiv = [1] * positive + [0] * (100 - positive)
    if form == "text":
        Path(name := f"{name}.csv").write_bytes(
            b"hiv,name\n" + b"".join(b"%d,\xff\n" % each for each in hiv)
        )
        return name
    noise = np.random.default_rng(0).bytes(4_000).hex()
    cells = {"nested": [[each] for each in hiv], "page": [noise[n:] for n in range(100)]}[form]
    table = pa.table({"hiv": hiv, "name": cells})
    pq.write_table(table, name := f"{name}.parquet", compression=None)
    if form == "page":
        whole, start = bytearray(Path(name).read_bytes()), noise[:40].encode()
        place = whole.index(start) - 20
        whole[place : place + 16] = bytes(16)
        Path(name).write_bytes(whole)
    return name


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("form", ["text", "nested", "page"])
def test_what_is_not_asked_for_never_tells_that_a_private_column_is_as_in_a_copy(form: str) -> None:
    """Only where the columns that are asked for agree are all others read."""
    frame = pd.DataFrame({"hiv": [1] * 37 + [0] * 63, "name": [f"n{n}" for n in range(100)]})
    frame.to_csv("hiv.csv", index=False)
    plans = []
    for positive in (36, 37):
        copied = unreadable(form, f"of-{positive}", positive)
        if form != "nested":
            with pytest.raises(TableError):
                SyntheticTable().schema(open_table(copied, "synthetic"), ["name"], {})
        plan = pqd.profile("hiv.csv", copied, columns=["hiv"], total_epsilon=1, dry_run=True)
        plans.append(str(plan).replace(copied, ""))
    assert plans[0].splitlines()[0] == plans[1].splitlines()[0]


@pytest.mark.usefixtures("folder")
def test_a_private_table_that_cannot_be_read_whole_tells_nothing_either() -> None:
    hidden = Path(unreadable("page", "hiv", 37))
    for positive in (36, 37):
        frame = pd.DataFrame({"hiv": [1] * positive + [0] * (100 - positive), "name": "a"})
        separate_tables(hidden, frame, names={"hiv"})


def test_only_that_they_are_the_same_is_told(folder: Path) -> None:
    """Tables without a row in common, each beside its own copy in another format: one message."""
    said = set()
    for number, table in enumerate([private(), private().iloc[:3], private().assign(name="x")]):
        place = folder / f"place{number}"
        place.mkdir()
        table.to_csv(place / "p.csv", index=False)
        table.to_parquet(place / "s.parquet")
        with pytest.raises(NotPublicError) as caught:
            pqd.audit(place / "p.csv", place / "s.parquet", SQL, **ASKED)
        said.add(str(caught.value))
    assert len(said) == 1


# Every way in ------------------------------------------------------------------------------------

COMMANDS: dict[str, list[str]] = {
    "audit": ["audit", "private.csv", "link.csv", *TERMS],
    "audit of a hard link": ["audit", "private.csv", "folder/other.csv", *TERMS],
    "audit with a total": [
        *("audit", "private.csv", "link.csv", "-q", SQL, "--tau", "5", "--total-epsilon", "1")
    ],
    "compare": ["compare", "private.csv", "a=copy.csv", "b=link.csv", *TERMS],
    "release": ["release", "private.csv", "link.csv", "-q", SQL, "--total-epsilon", "1"],
    "release of a spec": ["release", "audit.toml"],
    "check": ["check", "audit.toml"],
    "dry run": ["check", "audit.toml", "--dry-run"],
    "spec": ["init", "private.csv", "link.csv", "--file", "-"],
}


def check_refused(ran: Ran) -> None:
    code, out, err = ran
    assert (code, out) == (2, ""), err
    (line,) = err.splitlines()
    assert line.startswith("pqd: the synthetic table ")
    assert "private table" in line
    assert CANARY not in err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("label", COMMANDS)
def test_every_command_refuses(label: str, command: Command) -> None:
    check_refused(command(*COMMANDS[label]))
    assert not Path(FILE_NAME).exists()


@pytest.mark.usefixtures("folder")
def test_the_pytest_fixture_refuses() -> None:
    with pytest.raises(NotPublicError):
        Trust(Path("audit.toml")).assert_trusted("one", synthetic="good")


def test_nothing_is_shown_before_not_even_progress(folder: Path) -> None:
    def show(stage: Step | Note, done: int = 0, total: int = 0) -> None:
        raise AssertionError((stage, done, total))

    terms = Parameters.parse(tau=5, epsilon=1, alpha="0.05")
    asked, noise = as_queries(SQL), SecureNoise()
    bad = folder / "link.csv"
    for refused in (
        lambda: run_audit(folder / "private.csv", bad, asked, terms, noise, show),
        lambda: run_release(folder / "private.csv", bad, asked, terms, noise, show),
        lambda: run_compare(
            folder / "private.csv",
            {"a": bad},
            asked,
            ComparisonParameters.parse(terms),
            noise,
            show,
        ),
    ):
        with pytest.raises(NotPublicError):
            refused()


# Each command, and what opens its tables: that is where the check is made.
OPENS = {
    "audit": "separate_tables",
    "plan": "public_tables",
    "release": "separate_tables",
    "compare": "Candidates",
    "check": "BoundChecks",
}


def calls_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}


def test_whoever_reads_a_public_table_asks_first() -> None:
    """A new way in that forgets the check is found here."""
    opening = set()
    for path in (ROOT / "pqd").rglob("*.py"):
        calls = calls_of(path)
        if calls & {"SyntheticTables", "SyntheticTable"}:
            opening.add(path.stem)
            # What reads tables that others have opened.
            below = {"synthetic_tables", "range_sums"}
            assert "check_separation" in calls or path.stem in below, path
    assert opening >= {"table_separation", "candidates", "spec_checks", "template"}
    for command, opens in OPENS.items():
        assert opens in calls_of(ROOT / "pqd" / "commands" / f"{command}.py")


# What a ledger knows -----------------------------------------------------------------------------

SWAPPED: dict[str, list[str]] = {
    "audit": ["audit", "copy.csv", "private.csv", *TERMS],
    "audit of a link": ["audit", "copy.csv", "link.csv", *TERMS],
    "audit of Parquet": ["audit", "copy.csv", "same.parquet", *TERMS],
    "compare": ["compare", "copy.csv", "a=private.csv", *TERMS],
    "release": ["release", "copy.csv", "private.csv", "-q", SQL, "--total-epsilon", "1"],
    "plan": ["plan", "private.csv", *TERMS],
    "plan of a link": ["plan", "link.csv", *TERMS],
    "spec": ["init", "copy.csv", "private.csv", "--file", "-"],
}


@pytest.fixture
def spent(folder: Path) -> Path:
    """The ledger beside a private table that was asked once."""
    # Whole numbers and texts, which read alike in CSV and in Parquet.
    plain = private()[["age", "name"]]
    plain.to_csv("private.csv", index=False)
    plain.to_parquet("same.parquet")
    pqd.audit("private.csv", "copy.csv", SQL, **ASKED)
    return folder / FILE_NAME


@pytest.mark.parametrize("label", SWAPPED)
def test_what_the_ledger_knows_as_private_is_never_public(
    label: str, spent: Path, command: Command
) -> None:
    before = Ledger(spent).head
    ran = command(*SWAPPED[label])
    check_refused(ran)
    assert f"known to the ledger {FILE_NAME} as a private table (number 1 there)" in ran[2]
    assert Ledger(spent).head == before


@pytest.mark.parametrize("how", ["beside", "stated", "variable"])
def test_whichever_ledger_knows_it(
    how: str, spent: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside the file that is given as public, as --ledger says, as PQD_LEDGER says."""
    other = spent.parent / "folder"
    arguments = ["audit", "copy.csv", "folder/other.csv", *TERMS]
    if how == "beside":
        arguments[1], arguments[2] = "folder/copy.csv", "private.csv"
        (other / "copy.csv").write_bytes(Path("copy.csv").read_bytes())
    else:
        (other / "other.csv").write_bytes(Path("private.csv").read_bytes())
        kept = spent.rename(other / "kept.sqlite")
        if how == "stated":
            arguments += ["--ledger", str(kept)]
        else:
            monkeypatch.setenv("PQD_LEDGER", str(kept))
    check_refused(command(*arguments))


def test_a_ledger_that_cannot_be_read_does_not_pass_for_one_that_knows_nothing(
    folder: Path, command: Command
) -> None:
    (folder / FILE_NAME).write_bytes(b"damaged")
    code, out, err = command("plan", "private.csv", *TERMS)
    assert (code, out) == (3, "")
    assert FILE_NAME in err
    with pytest.raises(LedgerError):
        pqd.plan("private.csv", SQL, **ASKED)


# Limits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", [None, "1"])
def test_a_limit_beside_the_table_binds_whoever_names_another_ledger(
    table: str | None, spent: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = ["--table", table] if table else []
    assert command("ledger", "limit", "private.csv", "1", *one)[0] == 0
    before = Ledger(spent).head
    text = Path("audit.toml").read_text(encoding="utf-8").replace("link.csv", "copy.csv")
    Path("audit.toml").write_text(text + '[ledger]\npath = "mine.sqlite"\n', encoding="utf-8")
    audit = ["audit", "private.csv", "copy.csv", *TERMS]
    for arguments in (
        ["check", "audit.toml"],
        ["check", "audit.toml", "--dry-run"],
        ["release", "audit.toml"],
        [*audit, "--ledger", "mine.sqlite"],
        ["audit", "link.csv", "copy.csv", *TERMS, "--ledger", "mine.sqlite"],
        ["compare", "private.csv", "a=copy.csv", *TERMS, "--ledger", "mine.sqlite"],
        [
            "release",
            "private.csv",
            "copy.csv",
            "-q",
            SQL,
            "--total-epsilon",
            "1",
            "--ledger",
            "mine.x",
        ],
    ):
        code, out, err = command(*arguments)
        assert (code, out) == (2, ""), err
        assert f"the ledger {FILE_NAME} beside the private table states a limit" in err
    with pytest.raises(ParameterError, match="states a limit"):
        pqd.audit("private.csv", "copy.csv", SQL, ledger="mine.sqlite", **ASKED)
    with pytest.raises(ParameterError, match="states a limit"):
        Trust(Path("audit.toml")).assert_trusted("one", synthetic="good")
    monkeypatch.setenv("PQD_LEDGER", "mine.sqlite")
    assert command(*audit)[0] == 2
    monkeypatch.delenv("PQD_LEDGER")
    assert not Path("mine.sqlite").exists()
    assert Ledger(spent).head == before
    # Where it is kept, the limit holds, and what is known is replayed.
    other = SQL.replace("3", "4")
    assert command(*audit, "--ledger", str(spent))[0] == 0
    assert command("audit", "private.csv", "copy.csv", "-q", other, *TERMS[2:])[0] == 4


def test_a_limit_binds_whoever_names_the_file_by_a_pattern_or_a_dataset(spent: Path) -> None:
    Ledger(spent).set_limit(Budget(Fraction(9)))
    folder = spent.parent
    private = pds.dataset(str(folder / "private.csv"), format="csv")
    pattern = folder.parent / f"{folder.name[:-1]}[{folder.name[-1]}]" / "private.csv"
    for given in (private, pattern):
        with pytest.raises(ParameterError, match="states a limit"):
            pqd.audit(given, "copy.csv", SQL, ledger="mine.sqlite", **ASKED)
    assert not Path("mine.sqlite").exists()


def test_without_a_limit_any_ledger_may_be_named(spent: Path) -> None:
    asked = pqd.audit("private.csv", "copy.csv", SQL, ledger="mine.sqlite", **ASKED)
    assert asked.spent == 1
    assert Ledger(spent).accounts[0].epsilon == 1


def test_whoever_makes_a_purse_is_bound_too(spent: Path) -> None:
    terms, asked = Parameters.parse(tau=5, epsilon=1, alpha="0.05"), as_queries(SQL)
    accountant = Accountant(Path("mine.sqlite"))
    ledger = Ledger(spent)
    ledger.set_limit(NO_LIMIT, 1)
    report = run_audit(
        "private.csv", "copy.csv", asked, terms, SecureNoise(), accountant=accountant
    )
    assert report.spent == 1, "no limit is no limit"
    ledger.set_limit(Budget(Fraction(9)))
    with pytest.raises(ParameterError, match="states a limit"):
        run_audit("private.csv", "copy.csv", asked, terms, SecureNoise(), accountant=accountant)


# Query files -------------------------------------------------------------------------------------

ASKING: dict[str, list[str]] = {
    "audit": ["audit", "private.csv", "copy.csv", *TERMS[2:]],
    "compare": ["compare", "private.csv", "a=copy.csv", *TERMS[2:]],
    "release": ["release", "private.csv", "copy.csv", "--total-epsilon", "1"],
    "plan": ["plan", "private.csv", *TERMS[2:]],
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("label", [*ASKING, "spec"])
@pytest.mark.parametrize("queries", ["private.csv", "link.csv", "rows.sql", "link.sql"])
def test_a_private_table_given_as_queries_is_not_quoted(
    label: str, queries: str, command: Command
) -> None:
    # A table that pqd cannot know, and one that the name of a link hides.
    Path("rows.sql").write_text(private().to_csv(index=False), encoding="utf-8")
    Path("link.sql").symlink_to("private.csv")
    arguments = [*ASKING.get(label, []), "--queries", queries]
    if label == "spec":
        text = Path("audit.toml").read_text(encoding="utf-8").replace('"bad"', '"good"')
        Path("audit.toml").write_text(text.replace("queries.sql", queries), encoding="utf-8")
        arguments = ["release", "audit.toml"]
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert CANARY not in err
    words = "something else than queries" if queries == "rows.sql" else "is a table of this run"
    assert words in err
    assert not Path(FILE_NAME).exists()
