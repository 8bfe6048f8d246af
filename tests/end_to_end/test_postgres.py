"""Every command on tables of PostgreSQL says what it says on the same rows in Parquet."""

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pqd
from pqd.errors import RunError
from pqd.reports.models.audit import AuditReport
from tests.support import seeded_noise
from tests.support.postgres_server import PASSWORD, STOP, PostgresServer, break_scan

Command = Callable[..., tuple[int, str, str]]
COUNT = "SELECT COUNT(*) FROM D WHERE age >= 40 AND town <> 'b';"
SUM = "SELECT SUM(pay) FROM D WHERE town = 'a';"
SPEC = """
[private]
path = "{private}"
[synthetic.copy]
path = "{copy}"
[[check]]
id = "old"
sql = "SELECT COUNT(*) FROM D WHERE age >= 40"
tau = "10%"
epsilon = 0.5
"""
CRITERIA = ("--tau", "10%", "--epsilon", "0.5")
# Arguments after the tables.
COMMANDS = {
    "audit": ("-q", COUNT, "-q", SUM, *CRITERIA),
    "compare": ("-q", COUNT, *CRITERIA),
    "release": ("-q", COUNT, "-q", SUM, "--total-epsilon", "1"),
    "profile": ("--total-epsilon", "1", "--anyway"),
    "plan": ("-q", COUNT, "-q", SUM, *CRITERIA),
}
COLUMNS = "visit int, town text, age smallint, pay numeric(9, 2)"


def rows(shift: int) -> pa.Table:
    numbers = range(400)
    pay = [Decimal(n % 90 * 10 + shift) for n in numbers]
    return pa.table(
        {
            "visit": pa.array([n // 3 for n in numbers], pa.int32()),
            "town": ["abc"[(n + n * shift // 7) % 3] for n in numbers],
            "age": pa.array([(n * 7 + shift) % 80 for n in numbers], pa.int16()),
            "pay": pa.array(pay, pa.decimal128(9, 2)),
        }
    )


@pytest.fixture(scope="session")
def sources(
    postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[str, str]]:
    """Private table and copy, in PostgreSQL and in Parquet."""
    folder = tmp_path_factory.mktemp("tables")
    made: dict[str, list[str]] = {"postgres": [], "parquet": []}
    for shift, name in enumerate(("wages", "wages_copy")):
        table = rows(shift)
        cells = ", ".join(
            f"({row['visit']}, '{row['town']}', {row['age']}, {row['pay']})"
            for row in table.to_pylist()
        )
        statements = (f"CREATE TABLE {name} ({COLUMNS})", f"INSERT INTO {name} VALUES {cells}")
        postgres_server.run(*statements)
        pq.write_table(table, folder / f"{name}.parquet")
        made["postgres"].append(postgres_server.url(f"public.{name}"))
        made["parquet"].append(str(folder / f"{name}.parquet"))
    return {kind: (private, copy) for kind, (private, copy) in made.items()}


@pytest.fixture(scope="session")
def server_of_crowd(postgres_server: PostgresServer) -> PostgresServer:
    """Server with a table of more than one batch, and its copy."""
    numbers = "SELECT i AS id, 'n' || i % 7 AS name FROM generate_series({}) i"
    postgres_server.run(
        f"CREATE TABLE many AS {numbers.format('1, 100000')}",
        f"CREATE TABLE many_copy AS {numbers.format('2, 2001')}",
    )
    return postgres_server


@pytest.fixture
def secrets(postgres_server: PostgresServer) -> Callable[[str], list[str]]:
    """What of the address of a table stands in a text."""
    parts = (PASSWORD, "host=", str(postgres_server.folder), postgres_server.folder.name)
    return lambda text: [part for part in parts if part in text]


def same(report: dict[str, Any]) -> str:
    """Report without the names of tables, which differ in where they lie."""
    text = json.dumps(report)
    for name in ("wages_copy", "wages"):
        text = text.replace(f"public.{name}", name).replace(f"{name}.parquet", name)
    return text


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_says_the_same_of_the_same_rows(
    sources: dict[str, tuple[str, str]],
    command: Command,
    secrets: Callable[[str], list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    reports, outputs = {}, []
    for kind, (private, copy) in sources.items():
        folder = tmp_path / kind
        folder.mkdir()
        monkeypatch.setenv("PQD_LEDGER", str(folder / "ledger.sqlite"))
        seeded_noise.begin_anew()
        tables = (
            [copy] if name == "plan" else [private, f"copy={copy}" if name == "compare" else copy]
        )
        written = [str(folder / "report.json"), str(folder / "report.html")]
        code, out, err = command(
            *(name, *tables, *COMMANDS[name], "--json", written[0]),
            *(["--html", written[1]] if name != "plan" else []),
        )
        assert code in {0, 1}, err
        reports[kind] = same(json.loads(Path(written[0]).read_text()))
        outputs += [out, err, *(path.read_bytes().decode("latin-1") for path in folder.iterdir())]

    assert reports["postgres"] == reports["parquet"]
    assert not secrets("".join(outputs))


def test_the_account_is_that_of_the_rows_wherever_they_lie(
    sources: dict[str, tuple[str, str]], tmp_path: Path
) -> None:
    ledger = tmp_path / "ledger.sqlite"
    query = "SELECT COUNT(*) FROM D WHERE age >= 40"

    reports = [
        pqd.audit(*sources[kind], query, tau="10%", epsilon=1, ledger=ledger)
        for kind in ("postgres", "postgres", "parquet")
    ]

    assert [report.verdicts[0].replayed for report in reports] == [False, True, True]
    assert len({report.verdicts[0].p_value for report in reports}) == 1


def test_a_ledger_is_named_where_the_table_has_no_folder(
    sources: dict[str, tuple[str, str]],
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PQD_LEDGER")
    monkeypatch.chdir(tmp_path)
    query = "SELECT COUNT(*) FROM D WHERE age >= 40"

    for given in (
        ("audit", *sources["postgres"], "-q", query, *CRITERIA),
        ("ledger", "show", sources["postgres"][0]),
    ):
        code, _, err = command(*given)
        assert (code, "name a file that lasts, always the same one: --ledger FILE" in err) == (
            2,
            True,
        )
    assert not list(tmp_path.iterdir())
    # One that is in the working folder was begun there on purpose.
    named = ("--ledger", "pqd-ledger.sqlite")
    assert command("audit", *sources["postgres"], "-q", query, *CRITERIA, *named)[0] == 0
    code, out, err = command("audit", *sources["postgres"], "-q", query, *CRITERIA)

    assert code == 0, err
    assert "kept in pqd-ledger.sqlite, in the working folder" in " ".join(out.split())
    assert (tmp_path / "pqd-ledger.sqlite").exists()
    code, out, _ = command("ledger", "show", sources["postgres"][0])
    assert (code, "table 1: public.wages" in out) == (0, True)


def test_a_spec_has_tables_of_a_server(
    sources: dict[str, tuple[str, str]],
    command: Command,
    secrets: Callable[[str], list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    private, copy = sources["postgres"]
    monkeypatch.setenv("WAGES", private)
    spec = tmp_path / "audit.toml"
    spec.write_text(SPEC.format(private="${WAGES}", copy=copy.replace(PASSWORD, "${PASSWORD}")))
    monkeypatch.setenv("PASSWORD", PASSWORD)

    code, out, err = command("check", str(spec), "--json", str(tmp_path / "report.json"))

    assert code in {0, 1}, err
    report = (tmp_path / "report.json").read_text()
    assert "public.wages_copy" in report
    assert not secrets(out + err + report)


def test_a_spec_to_begin_with_has_no_password(
    sources: dict[str, tuple[str, str]], command: Command, tmp_path: Path
) -> None:
    written = tmp_path / "audit.toml"

    code, _, err = command("init", *sources["postgres"], "--file", str(written))

    assert code == 0, err
    text = written.read_text()
    assert "postgresql://owner@/postgres?host=" in text
    assert "[synthetic.wages-copy]" in text
    assert PASSWORD not in text


BREAKS = {
    "killed": ("SELECT pg_terminate_backend({backend})", "the server ended the connection; run"),
    "stopped": (STOP, "the server has been silent for 0.05 seconds; see whether it runs and is"),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_broken_backend_is_told_and_nothing_is_spent(
    server_of_crowd: PostgresServer,
    command: Command,
    secrets: Callable[[str], list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    statement, told = BREAKS[name]
    break_scan(server_of_crowd, monkeypatch, "many", statement, patience=0.05)
    tables = server_of_crowd.url("many"), server_of_crowd.url("many_copy")
    query = "SELECT COUNT(*) FROM D WHERE name = 'n3'"

    code, out, err = command("audit", *tables, "-q", query, *CRITERIA)

    assert (code, out) == (3, "")
    assert " ".join(err.split()).startswith(
        f"pqd: the private table public.many could not be read to its end; {told}"
    )
    assert err.count("\n") == 1
    assert not secrets(err)
    assert not (tmp_path / "ledger.sqlite").exists()


@pytest.mark.parametrize("name", BREAKS)
def test_a_backend_broken_after_the_charge_leaves_the_charge(
    server_of_crowd: PostgresServer,
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    tables = server_of_crowd.url("many"), server_of_crowd.url("many_copy")
    ledger = tmp_path / "ledger.sqlite"

    def asked() -> AuditReport:
        query = "SELECT COUNT(*) FROM D WHERE id > 9"
        return pqd.audit(*tables, query, tau="10%", epsilon=1, unit="name", ledger=ledger)

    # A table that is too large to be kept is read again after the charge.
    monkeypatch.setattr("pqd.engine.scan._KEPT", 0)
    statement, told = BREAKS[name]
    break_scan(server_of_crowd, monkeypatch, "many", statement, number=3, patience=0.05)

    with pytest.raises(RunError, match=told):
        asked()

    monkeypatch.undo()
    _, shown, _ = command("ledger", "show", str(ledger))
    assert "table 1: public.many" in shown
    assert "spent epsilon 1\n" in shown
    # Nothing was drawn for that charge, so that it pays for the same run now.
    report = asked()
    assert not report.verdicts[0].replayed
    assert report.spent == 0
    assert report.cost.total == 1
