"""``pqd ledger``: what a custodian sees of it, and what it tells of one that was meddled with."""

import json
import shutil
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from pqd.accounting.composition import Charge
from pqd.accounting.data_sets import RecognisedTable
from pqd.accounting.ledger import Ledger

Ran = tuple[int, str, str]
Command = Callable[..., Ran]
SAMPLES = Path(__file__).resolve().parents[2] / "samples"
TABLES = [str(SAMPLES / f"census_{kind}.parquet") for kind in ("private", "synthetic")]


@pytest.fixture
def ledger(tmp_path: Path, command: Command) -> Path:
    """A ledger with one charge of 1/2 for two sexes and one of 1/4."""
    grouped = ["-q", "SELECT COUNT(*) FROM D GROUP BY sex", "--tau", "10%", "--epsilon", "0.5"]
    assert command("audit", *TABLES, *grouped)[0] == 0
    assert command("audit", *TABLES, "-q", "SELECT AVG(age) FROM D", "--tau=2", "--epsilon=1/4")
    return tmp_path / "ledger.sqlite"


def test_show_says_what_was_spent_for_what(ledger: Path, command: Command) -> None:
    code, out, err = command("ledger", "show", str(ledger))
    assert (code, err) == (0, "")
    for words in (
        "data set 1   census_private.parquet",
        "spent epsilon 0.75",
        "3 measurements stored",
        "SELECT AVG(age) FROM D",
        """SELECT COUNT(*) FROM D WHERE ("sex" = 'Female')""",
    ):
        assert words in " ".join(out.split()).replace("data set 1 ", "data set 1   ")
    runs = [line.split() for line in out.splitlines() if "audit" in line]
    assert [(run[2], run[3], run[4], run[5]) for run in runs] == [
        ("audit", "census_synthetic.parquet", "0.25", "sequential"),
        ("audit", "census_synthetic.parquet", "0.5", "parallel"),
    ]
    facts = json.loads(command("ledger", "show", str(ledger), "--json", "-")[1])
    assert facts["kind"] == "ledger"
    (data_set,) = facts["data_sets"]
    assert data_set["epsilon"] == 0.75
    first, second = data_set["versions"][0]["runs"]
    assert (first["rule"], second["rule"]) == ("parallel", "sequential")
    assert (first["command"], first["copies"]) == ("audit", ["census_synthetic.parquet"])
    (mean,) = second["measurements"]
    assert (mean["sql"], mean["epsilon"], mean["bounds"]) == (
        "SELECT AVG(age) FROM D",
        0.25,
        "copy",
    )


def test_show_folds_all_but_the_last_runs(ledger: Path, command: Command) -> None:
    private, copy = (Path(table).name for table in TABLES)
    with closing(Ledger(ledger)) as opened:
        (account,) = opened.accounts
        table = RecognisedTable(private, account.fingerprint)
        for number in range(60):
            facts = {
                str(number): {"id": "q1", "sql": f"SELECT COUNT(*) FROM D WHERE age > {number}"}
            }
            run = {"command": "check", "copies": [copy]}
            assert opened.reserve(table, facts, lambda _: Charge(Fraction(1, 100)), run=run)
    brief, every = (command("ledger", "show", str(ledger), *all_)[1] for all_ in ([], ["--all"]))
    assert brief.count("check") == 20
    assert "age > 59" in brief
    assert "36 more   (--all lists them)" in brief
    assert every.count("check") == 60


def test_all_shows_the_queries_of_a_run_whole(ledger: Path, command: Command) -> None:
    ages = " OR ".join(f"age = {number}" for number in range(20, 50))
    queries = [f"SELECT COUNT(*) FROM D WHERE ({ages}) AND age > {n}" for n in range(6)]
    with closing(Ledger(ledger)) as opened:
        (account,) = opened.accounts
        facts = {sql: {"id": "q", "sql": sql} for sql in queries}
        table = RecognisedTable(account.label, account.fingerprint)
        assert opened.reserve(table, facts, lambda _: Charge(Fraction(1, 100)))
    brief, every = (command("ledger", "show", str(ledger), *all_)[1] for all_ in ([], ["--all"]))
    assert "and 2 more" in " ".join(brief.split())
    told = " ".join(every.split())
    for sql in queries:
        assert sql in told


def test_a_statement_is_one_page_and_machine_readable(
    ledger: Path, tmp_path: Path, command: Command
) -> None:
    assert command("ledger", "limit", str(ledger), "2")[0] == 0
    assert command("ledger", "limit", str(ledger), "1", "--period", "month")[0] == 0
    outputs = [f"--{kind}={tmp_path / f's.{kind}'}" for kind in ("html", "json", "markdown")]
    code, out, err = command("ledger", "statement", str(ledger), *outputs)
    assert (code, err) == (0, "")
    with closing(Ledger(ledger)) as opened:
        head, entries = opened.head, len(opened.entries)
    page, markdown = ((tmp_path / f"s.{kind}").read_text() for kind in ("html", "markdown"))
    for text in (" ".join(out.split()), page, markdown):
        assert head in text
        assert "At most epsilon 2 in all runs together" in text
        assert "At most epsilon 1 in each month" in text
        assert "Not every run states that it is so" in text
        assert "inv_mean" in text
    assert str(tmp_path) not in page
    facts = json.loads((tmp_path / "s.json").read_text())
    assert (facts["kind"], facts["head"], facts["entries"]) == ("statement", head, entries)
    (data_set,) = facts["data_sets"]
    assert (data_set["limit"], data_set["periods"][0]["limit"]) == (2, 1)
    assert data_set["periods"][0]["epsilon"] == data_set["months"][0]["epsilon"] == 0.75
    assert {each["mechanism"] for each in data_set["mechanisms"]} == {"inv_mean", "laplace"}
    assert [limit["period"] for limit in facts["limits"]] == [None, "month"]
    assert command("ledger", "verify", str(ledger), "--head", head)[0] == 0


def test_every_report_says_what_all_versions_have_cost(tmp_path: Path, command: Command) -> None:
    private = tmp_path / "private.csv"
    rows = "".join(f"{age}\n" for age in range(20, 60))
    private.write_text(f"age\n{rows}")
    (tmp_path / "copy.csv").write_text(f"age\n{rows}30\n")
    arguments = ["audit", str(private), str(tmp_path / "copy.csv"), "-q", "SELECT COUNT(*) FROM D"]
    terms = ["--tau=5", "--epsilon=1"]
    out = command(*arguments, *terms)[1]
    assert "In all epsilon 1 spent on private.csv so far. No limit is set" in " ".join(out.split())
    private.write_text(f"age\n{rows}44\n")
    out = " ".join(command(*arguments, *terms)[1].split())
    told = (
        "In all epsilon 2 spent on 2 versions of private.csv: whoever is in each has paid it, in 2"
    )
    assert f"{told} runs since " in out
    shown = " ".join(command("ledger", "show", str(tmp_path / "ledger.sqlite"))[1].split())
    assert "Whoever is in every version since" in shown
    assert (
        command("ledger", "limit", str(tmp_path / "ledger.sqlite"), "3", "--period=month")[0] == 0
    )
    out = " ".join(command(*arguments, *terms, "--fresh")[1].split())
    assert "In the month from " in out
    assert ": epsilon 3 of 3." in out


def test_a_limit_is_shown_before_anything_is_charged(tmp_path: Path, command: Command) -> None:
    path = str(tmp_path / "ledger.sqlite")
    assert command("ledger", "limit", path, "2")[0] == 0
    shown = command("ledger", "show", path)[1]
    assert "Nothing was ever charged.\nAt most epsilon 2 on every data set." in shown
    assert json.loads(command("ledger", "show", path, "--json", "-")[1])["limit"] == 2


def test_a_limit_is_kept_and_shown(ledger: Path, command: Command) -> None:
    assert command("ledger", "limit", str(ledger), "1")[0] == 0
    assert "spent epsilon 0.75 of 1, 0.25 left" in command("ledger", "show", str(ledger))[1]
    options = ["-q", "SELECT COUNT(*) FROM D", "--tau", "10%", "--epsilon"]
    code, _, err = command("audit", *TABLES, *options, "0.5")
    assert code == 4
    assert "needs epsilon 0.5; of 1 for this data set 0.75 are spent and 0.25 left" in err
    assert command("audit", *TABLES, *options, "0.25")[0] == 0


def test_a_limit_says_what_it_was_and_is_raised_only_on_request(
    tmp_path: Path, command: Command
) -> None:
    path = tmp_path / "ledger.sqlite"

    def limit(*arguments: str) -> Ran:
        return command("ledger", "limit", str(path), *arguments)

    pure = "A run that needs a delta is refused (--delta grants one).\n"
    assert limit("5") == (0, f"At most epsilon 5 on every data set from now on. {pure}", "")
    assert limit("5") == (0, f"At most epsilon 5 on every data set from now on. {pure}", "")
    before = "Before: at most epsilon 5."
    assert limit("0.3")[1] == f"At most epsilon 0.3 on every data set from now on. {before} {pure}"
    entries = path.read_bytes()
    code, out, err = limit("5")
    assert (code, out) == (2, "")
    assert "the limit is epsilon 0.3, and 5 would raise it. Nothing was changed." in err
    assert "--raise" in err
    assert limit("0.1", "--delta", "1e-6")[0] == 2, "delta is raised"
    assert path.read_bytes() == entries
    assert limit("5", "--raise")[0] == 0
    granted = "At most epsilon 5 and delta 1e-06 on every data set from now on."
    assert limit("5", "--delta", "1e-6", "--raise")[1].startswith(granted)
    assert limit("4")[1].startswith("At most epsilon 4 and delta 1e-06 on"), "delta stays"
    assert limit("none")[0] == 2
    assert limit("none", "--raise")[1].startswith(
        "No limit on every data set from now on. Before: "
    )


def test_a_limit_of_each_month(ledger: Path, command: Command) -> None:
    def limit(*arguments: str) -> Ran:
        return command("ledger", "limit", str(ledger), *arguments)

    assert limit("9", "--delta", "1e-6")[0] == 0
    told = "At most epsilon 1 and delta 1e-06 on the data set of table 1 in each month from now on."
    assert limit("1", "--period", "month", "--table", "1")[1].startswith(told)
    code, _, err = limit("2", "--period", "month", "--table", "1")
    assert code == 2
    assert "the limit is epsilon 1, and 2 would raise it" in err
    options = ["-q", "SELECT COUNT(*) FROM D", "--tau", "10%", "--epsilon"]
    code, _, err = command("audit", *TABLES, *options, "0.5")
    assert code == 4
    assert "of 1 for this data set 0.75 are spent in the month from " in err
    assert "The next month begins on " in err
    assert command("audit", *TABLES, *options, "0.25")[0] == 0
    assert limit("1", "--period", "decade")[0] == 2


@pytest.mark.parametrize("arguments", [["0"], ["x"], ["1", "--delta", "1"], ["1", "--delta=-1"]])
def test_a_limit_that_is_none(arguments: list[str], ledger: Path, command: Command) -> None:
    before = ledger.read_bytes()
    assert command("ledger", "limit", str(ledger), *arguments)[0] == 2
    assert ledger.read_bytes() == before


def test_verify_finds_an_older_copy(ledger: Path, tmp_path: Path, command: Command) -> None:
    shutil.copy(ledger, tmp_path / "old.sqlite")
    assert command("ledger", "limit", str(ledger), "5")[0] == 0
    code, out, _ = command("ledger", "verify", str(ledger))
    assert code == 0
    head = out.split()[-1]
    export = tmp_path / "kept.jsonl"
    for _ in ("new", "over itself"):
        assert command("ledger", "export", str(ledger), str(export))[0] == 0
    table = tmp_path / "people.jsonl"
    table.write_text('{"age": 3}\n', encoding="utf-8")
    code, _, err = command("ledger", "export", str(ledger), str(table))
    assert (code, table.read_text("utf-8")) == (2, '{"age": 3}\n')
    assert "is named like a table" in err
    for kept in (["--head", head], ["--export", str(export)]):
        assert command("ledger", "verify", str(ledger), *kept)[0] == 0
    shutil.copy(tmp_path / "old.sqlite", ledger)
    assert command("ledger", "verify", str(ledger))[0] == 0, "an old copy is whole by itself"
    for kept in (["--head", head], ["--export", str(export)]):
        code, _, err = command("ledger", "verify", str(ledger), *kept)
        assert code == 3
        assert "begun anew, put back to an older copy, or rewritten" in err
    code, _, err = command("ledger", "verify", str(ledger), "--head", head[:4])
    assert code == 2
    assert "a head has 64 digits" in err


def test_a_place_is_a_ledger_a_folder_or_a_table(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PQD_LEDGER")
    table = tmp_path / "private.parquet"
    shutil.copy(TABLES[0], table)
    options = ["-q", "SELECT COUNT(*) FROM D", "--tau", "10%", "--epsilon", "0.5"]
    assert command("audit", str(table), TABLES[1], *options)[0] == 0
    shown = {command("ledger", "show", str(p))[1] for p in (table, tmp_path)}
    shown.add(command("ledger", "show", str(tmp_path / "pqd-ledger.sqlite"))[1])
    assert len(shown) == 1
    code, _, err = command("ledger", "show", str(tmp_path / "typo.parquet"))
    assert code == 2
    assert "does not exist" in err
    assert command("ledger", "limit", str(tmp_path / "typo.parquet"), "3")[0] == 2


@pytest.mark.parametrize("address", ["postgresql://me:pw@host/db?table=a", "spark://hr.a"])
def test_the_ledger_of_an_address_is_named_or_in_the_working_folder_already(
    address: str, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PQD_LEDGER")
    monkeypatch.chdir(tmp_path)
    code, _, err = command("ledger", "limit", address, "3")
    assert (code, "name a file that lasts" in err, list(tmp_path.iterdir())) == (2, True, [])
    assert command("ledger", "limit", "pqd-ledger.sqlite", "3")[0] == 0
    assert "At most epsilon 3" in command("ledger", "show", address)[1]


def test_nothing_was_charged_yet(tmp_path: Path, command: Command) -> None:
    code, _, err = command("ledger", "show", str(tmp_path))
    assert code == 2
    assert "there is no ledger" in err
