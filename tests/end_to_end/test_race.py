"""Many processes at one ledger: not an epsilon too much, not a charge lost."""

import json
import os
from collections.abc import Callable, Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from pqd.accounting.accounts import Budget
from pqd.accounting.ledger import Ledger

Ran = tuple[int, str, str]
Race = Callable[[Sequence[Sequence[str]]], list[Ran]]

# Six of these are 4.2 as fractions; added up as floats they are more.
PRICE = Fraction("0.7")

# One process loads everything and forks the others, which start when it opens the gate: so they
# meet, and forty of them take seconds.  Each is the real command line in a process of its own.
FORKING = """
import contextlib, gc, importlib, json, os, sys
for name in ("pqd.commands.audit", "pqd.cli.progress", "pqd.reports.documents.audit",
             "opendp.measurements", "opendp.domains", "opendp.metrics", "pandas",
             "sqlglot.dialects.duckdb", "pyarrow.pandas_compat", "typer._adapters"):
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
import pqd.cli
gc.freeze()
folder, commands = sys.argv[1], json.loads(sys.argv[2])
gate, latch = os.pipe()

def run(number):
    os.close(latch)
    for descriptor, name in ((1, "out"), (2, "err")):
        file = os.open(f"{folder}/{number}.{name}", os.O_CREAT | os.O_WRONLY, 0o600)
        os.dup2(file, descriptor)
    sys.argv = ["pqd", *commands[number]]
    os.read(gate, 1)
    try:
        pqd.cli.main()
    except SystemExit as stopped:
        sys.stdout.flush()
        os._exit(stopped.code or 0)

children = []
for number in range(len(commands)):
    child = os.fork()
    if not child:
        run(number)
    children.append(child)
os.close(latch)
codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
print(json.dumps(codes), flush=True)
# What is frozen cannot be torn down.
os._exit(0)
"""


@pytest.fixture
def race(tmp_path_factory: pytest.TempPathFactory, process: Callable[..., Ran]) -> Race:
    """Run commands as processes that start at one moment; return what each said, in order."""
    if not hasattr(os, "fork"):
        pytest.skip("needs a system that can fork")
    folder = tmp_path_factory.mktemp("race")

    def run(commands: Sequence[Sequence[str]]) -> list[Ran]:
        arguments = str(folder), json.dumps(commands)
        # Warnings of the libraries about forking are not the command line's.
        code, out, err = process(
            "-W", "ignore", "-c", FORKING, *arguments, OPENBLAS_NUM_THREADS="1"
        )
        assert (code, err) == (0, "")
        return [
            (code, *((folder / f"{number}.{name}").read_text("utf-8") for name in ("out", "err")))
            for number, code in enumerate(json.loads(out))
        ]

    return run


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "private.csv"
    rows = [str(age) for age in range(60)]
    path.write_text("\n".join(["age", *rows, ""]), encoding="utf-8")
    # It answers as the private table does, and is another by a column of its own.
    beside = ["age,more", *(f"{row},1" for row in rows)]
    path.with_name("copy.csv").write_text("\n".join(beside), encoding="utf-8")
    return str(path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


def audit_command(table: str, age: int) -> list[str]:
    sql = f"SELECT COUNT(*) FROM D WHERE age > {age}"
    terms = ["--tau", "5", "--epsilon", "0.7", "--decider", "inv_count", "--json", "-"]
    return ["audit", table, str(Path(table).with_name("copy.csv")), "-q", sql, *terms]


def charged(path: Path) -> list[str]:
    """SQL of every charge, oldest first, after checking the whole chain."""
    with closing(Ledger(path)) as ledger:
        ledger.verify()
        bodies = [entry.body for entry in ledger.entries]
    return [q["sql"] for body in bodies if body["kind"] == "charge" for q in body["questions"]]


def spent(path: Path) -> Fraction:
    with closing(Ledger(path)) as ledger:
        return sum((account.epsilon for account in ledger.accounts), Fraction(0))


def test_sixteen_for_the_last_five(
    race: Race, command: Callable[..., Ran], table: str, path: Path
) -> None:
    assert command(*audit_command(table, 0))[0] == 0
    with closing(Ledger(path)) as ledger:
        ledger.set_limit(Budget(6 * PRICE))
    ran = race([audit_command(table, age) for age in range(1, 17)])
    assert sorted(code for code, _, _ in ran) == [0] * 5 + [4] * 11
    assert spent(path) == 6 * PRICE
    shown = []
    for code, out, err in ran:
        assert (code == 0) == bool(out)
        assert (code == 0) == (err == "")
        assert code == 0 or "Nothing was spent." in err
        shown += [verdict["sql"] for verdict in json.loads(out)["verdicts"]] if out else []
    # Those that were shown are those that were paid for.
    assert sorted(charged(path)[1:]) == sorted(shown)
    assert len(set(shown)) == 5


def test_eight_with_one_query(
    race: Race, command: Callable[..., Ran], table: str, path: Path
) -> None:
    ran = race([audit_command(table, 30)] * 8)
    assert [(code, err) for code, _, err in ran] == [(0, "")] * 8
    verdicts = [json.loads(out)["verdicts"][0] for _, out, _ in ran]
    drawn = [verdict for verdict in verdicts if not verdict["replayed"]]
    # Whoever comes while the first is at work waits for its verdict.
    assert len(drawn) == len(charged(path)) == 1
    assert spent(path) == PRICE
    code, out, _ = command(*audit_command(table, 30))
    (again,) = json.loads(out)["verdicts"]
    assert (code, again["replayed"]) == (0, True)
    assert {**again, "replayed": False} == drawn[0]
    assert all({**verdict, "replayed": False} == drawn[0] for verdict in verdicts)
    assert spent(path) == PRICE


def test_sixteen_make_one_ledger(race: Race, path: Path) -> None:
    limits = [str(number) for number in range(1, 17)]
    ran = race([["ledger", "limit", str(path), limit, "--raise"] for limit in limits])
    assert [(code, err) for code, _, err in ran] == [(0, "")] * 16
    with closing(Ledger(path)) as ledger:
        ledger.verify()
        found = [entry.body["epsilon"] for entry in ledger.entries]
        assert ledger.limit.epsilon == Fraction(found[-1])
    assert sorted(found, key=int) == limits
    # No draft of a loser is left behind.
    assert [*path.parent.iterdir()] == [path]


@pytest.mark.parametrize("way", ["a name", "parts"])
def test_thirty_two_versions_for_the_last_five(
    way: str, race: Race, command: Callable[..., Ran], table: str, path: Path, tmp_path: Path
) -> None:
    """Each run has a version of its own of one data set, which is found while it is charged."""
    rows = Path(table).read_text("utf-8")
    versions = [tmp_path / "people" / f"{number}.csv" for number in range(33)]
    versions[0].parent.mkdir()
    for number, version in enumerate(versions):
        version.write_text(f"{rows}{number + 60}\n", "utf-8")
    commands = []
    for number, version in enumerate(versions):
        _, _, copy, *rest = audit_command(table, number)
        named = ["--dataset", "people"] if way == "a name" else []
        commands.append(["audit", str(version), copy, *rest, *named])
    if way == "parts":
        commands[0][1] = str(versions[0].parent)
    assert command(*commands[0])[0] == 0
    with closing(Ledger(path)) as ledger:
        ledger.set_limit(Budget(6 * PRICE))
    ran = race(commands[1:])
    assert sorted(code for code, _, _ in ran) == [0] * 5 + [4] * 27
    assert spent(path) == 6 * PRICE
    with closing(Ledger(path)) as ledger:
        (data_set,) = ledger.data_sets
        assert data_set.spent.epsilon == 6 * PRICE
        assert len(data_set.versions) == 6


def test_thirty_two_that_open_a_data_set_at_once(
    race: Race, table: str, path: Path, tmp_path: Path
) -> None:
    """Nothing was charged before, and one name makes one data set."""
    rows = Path(table).read_text("utf-8")
    with closing(Ledger(path)) as ledger:
        ledger.set_limit(Budget(5 * PRICE))
    commands = []
    for number in range(32):
        version = tmp_path / f"version-{number}.csv"
        version.write_text(f"{rows}{number + 60}\n", "utf-8")
        _, _, copy, *rest = audit_command(table, number)
        commands.append(["audit", str(version), copy, *rest, "--dataset", "people"])
    assert sorted(code for code, _, _ in race(commands)) == [0] * 5 + [4] * 27
    with closing(Ledger(path)) as ledger:
        assert [each.spent.epsilon for each in ledger.data_sets] == [5 * PRICE]
