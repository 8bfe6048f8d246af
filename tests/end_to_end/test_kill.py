"""Runs killed at any moment: no verdict was ever shown that the ledger does not hold.

Run as a program, this file is the server of the trials: it loads everything once and forks, for
each trial, a child that is the real command line, so that a trial takes a tenth of a second.
"""

import contextlib
import gc
import importlib
import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import IO, Any, NoReturn

import pytest

import pqd.cli
from pqd.accounting.accounts import Reservation
from pqd.accounting.composition import Charge
from pqd.accounting.ledger import Ledger
from tests.support import one_command_line

ROOT = Path(__file__).resolve().parents[2]
PRELOADED = (
    *("pqd.cli.progress", "pqd.commands.audit", "pqd.commands.profile", "pqd.stated.queries"),
    *("pqd.sql.workload_files", "pqd.sql.file_statements"),
    *("pqd.reports.json", "pqd.reports.documents.audit", "pqd.reports.text.notes"),
    *("opendp._data", "opendp.measurements", "opendp.domains", "opendp.metrics", "pandas"),
    *("sqlglot.dialects.duckdb", "pyarrow.pandas_compat", "typer._adapters"),
)
# All of them fall where a run can go wrong: what comes before, its imports, is loaded already.
KILLS = 60
# Each of them alone tells the right program from the wrong one.
AT_SIGHT = 5
# Seconds by which the wrong program charges too late: longer than a kill takes under any load.
LATE = 300
LEDGERS = 4

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that can fork")


@dataclass(frozen=True)
class Trial:
    """A command to run, and the seconds after which it is killed.

    It is killed ``at_sight`` of its first output, or else left to its end.
    """

    command: Sequence[str]
    delay: float | None = None
    at_sight: bool = False
    late: bool = False


@dataclass(frozen=True)
class Ran:
    """What a trial gave: its output, its exit status as the system tells it, its seconds."""

    out: str
    status: int
    seconds: float


# The server --------------------------------------------------------------------------------------


def serve() -> None:
    """Run the trials that come as JSON lines; say, per line, what came of it."""
    for name in PRELOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    one_command_line.take_place(pytest.MonkeyPatch())
    for name in ("audit", "profile"):
        one_command_line.OURS(pqd.cli.command_line(name))
    # The children then write to fewer of the pages that they share.
    gc.freeze()
    for line in sys.stdin:
        sys.stdout.write(json.dumps(asdict(tried(Trial(**json.loads(line))))) + "\n")
        sys.stdout.flush()
    # What is frozen cannot be torn down.
    os._exit(0)


def tried(trial: Trial) -> Ran:
    reading, writing = os.pipe()
    started = time.perf_counter()
    child = os.fork()
    if not child:
        os.close(reading)
        perform(trial, writing)
    os.close(writing)
    if trial.delay is not None:
        time.sleep(trial.delay)
        os.kill(child, signal.SIGKILL)
    if trial.at_sight:
        select.select([reading], [], [])
        os.kill(child, signal.SIGKILL)
    with os.fdopen(reading, encoding="utf-8") as file:
        out = file.read()
    status = os.waitpid(child, 0)[1]
    return Ran(out, status, time.perf_counter() - started)


def perform(trial: Trial, writing: int) -> NoReturn:
    """Be the command line, with all that it says on one pipe, as it says it."""
    sys.stdout = sys.stderr = os.fdopen(writing, "w", encoding="utf-8")
    sys.argv = ["pqd", *trial.command]
    afterwards = shown_first() if trial.late else []
    code: object = 0
    try:
        pqd.cli.main()
    except SystemExit as stopped:
        code = stopped.code
    sys.stdout.flush()
    if afterwards and trial.at_sight:
        # The kill falls between the sight and the charge, however fast either is.
        time.sleep(LATE)
    for act in afterwards:
        act()
    os._exit(code if isinstance(code, int) else 0)


def shown_first() -> list[Callable[[], object]]:
    """Make this process the wrong program: it charges when the verdict has been shown."""
    reserve, late = Ledger.reserve, list[Callable[[], object]]()

    def promised(
        ledger: Ledger, table: Any, measurements: Any, price: Any, **rest: Any
    ) -> tuple[Reservation, Charge]:
        late.append(partial(reserve, ledger, table, measurements, price, **rest))
        return Reservation(1, 1, Charge()), ledger.check_budget(table, price)

    def recorded(*_: object) -> None:
        """Leave the answers out, too."""

    patch = pytest.MonkeyPatch()
    patch.setattr(Ledger, "reserve", promised)
    patch.setattr(Ledger, "record", recorded)
    return late


# The tests ---------------------------------------------------------------------------------------


@dataclass
class Bench:
    """The server, a table, and the ledgers that the trials share."""

    server: "subprocess.Popen[str]"
    folder: Path
    trials: int = 0
    before: dict[Path, list[str]] = field(default_factory=dict)

    def run(self, trial: Trial) -> Ran:
        sending, receiving = self._pipes
        sending.write(json.dumps(asdict(trial)) + "\n")
        sending.flush()
        return Ran(**json.loads(receiving.readline()))

    @property
    def _pipes(self) -> tuple[IO[str], IO[str]]:
        assert self.server.stdin is not None
        assert self.server.stdout is not None
        return self.server.stdin, self.server.stdout

    def audit(self, ledger: str, **how: Any) -> "Audit":
        """Audit of a query that was never answered before."""
        self.trials += 1
        sql = f"SELECT COUNT(*) FROM D WHERE age > {self.trials}.5"
        table, path = str(self.folder / "private.csv"), self.folder / ledger
        terms = ["--tau", "5", "--epsilon", "1/3", "--decider", "inv_count"]
        tables = [table, str(self.folder / "copy.csv")]
        command = ["audit", *tables, "-q", sql, *terms, "--ledger", str(path), "--json", "-"]
        return Audit(sql, path, self.run(Trial(command, **how)))

    def profile(self, ledger: str, **how: Any) -> tuple[Path, Ran]:
        """Profile in cells that were never measured before."""
        self.trials += 1
        path = self.folder / ledger
        tables = [str(self.folder / name) for name in ("private.csv", "copy.csv")]
        terms = [
            "--total-epsilon",
            "1/3",
            "--cells",
            f"age=0,{self.trials}.5,100000",
            "--columns",
            "age",
            "--anyway",
        ]
        command = ["profile", *tables, *terms, "--ledger", str(path), "--json", "-"]
        return path, self.run(Trial(command, **how))


@dataclass(frozen=True)
class Audit:
    """Audit of one query: where it was charged, and what its run gave."""

    sql: str
    path: Path
    ran: Ran

    @property
    def shown(self) -> bool:
        """Whether anything was shown: part of a report may tell the verdict."""
        return bool(self.ran.out)

    @property
    def verdict(self) -> Mapping[str, Any] | None:
        """The verdict, if the whole report was shown."""
        with contextlib.suppress(json.JSONDecodeError):
            return dict(json.loads(self.ran.out)["verdicts"][0])
        return None


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder = tmp_path_factory.mktemp("kill")
    rows = "\n".join(str(age) for age in range(0, 300, 3))
    (folder / "private.csv").write_text(f"age\n{rows}\n", encoding="utf-8")
    # It answers as the private table does, and is another by a column of its own.
    beside = rows.replace("\n", ",1\n")
    (folder / "copy.csv").write_text(f"age,aside\n{beside},1\n", encoding="utf-8")
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    quiet = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "OPENBLAS_NUM_THREADS": "1"}
    # Warnings of the libraries about forking are not the command line's.
    with subprocess.Popen(  # noqa: S603 - this very file
        [sys.executable, "-W", "ignore", __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        env=os.environ | quiet,
    ) as server:
        yield Bench(server, folder)


def entries_of(path: Path) -> list[str]:
    """Texts of a ledger's entries, after checking their chain, if it was made yet."""
    if not path.exists():
        return []
    with closing(Ledger(path)) as ledger:
        ledger.verify()
        assert sum(account.epsilon for account in ledger.accounts) == Fraction(
            sum(entry.body["kind"] == "charge" for entry in ledger.entries), 3
        )
        return [entry.text for entry in ledger.entries]


def paid(audit: Audit, entries: Sequence[str]) -> bool:
    """Say whether the ledger holds the charge of what was shown, and its answer."""
    bodies = [json.loads(text) for text in entries]
    measurements = [q for body in bodies if body["kind"] == "charge" for q in body["questions"]]
    keys = {measurement["key"] for measurement in measurements if measurement["sql"] == audit.sql}
    answers = {
        key: answer
        for body in bodies
        if body["kind"] == "answers"
        for key, answer in body["answers"].items()
        if key in keys
    }
    (answer,) = answers.values() or [None]
    verdict = audit.verdict
    if verdict and answer:
        assert answer["yes"] == (verdict["leans"] == "yes")
        assert (answer["p_value"], answer["margin"]) == (verdict["p_value"], verdict["margin"])
    return answer is not None


def charged(audit: Audit, entries: Sequence[str]) -> bool:
    """Say whether the ledger holds the charge of a query."""
    return any(f'"sql":{json.dumps(audit.sql)}' in text for text in entries)


def settle(bench: Bench, audit: Audit) -> list[str]:
    """Check a ledger after a trial: it is whole and has lost nothing; return its entries."""
    entries, before = entries_of(audit.path), bench.before.get(audit.path, [])
    assert entries[: len(before)] == before
    bench.before[audit.path] = entries
    return entries


def seconds_of(bench: Bench) -> float:
    """Measure a run that is left alone, and see that it works."""
    audit = bench.audit("measured.sqlite")
    assert audit.ran.status == 0, audit.ran.out
    assert audit.verdict is not None
    assert paid(audit, settle(bench, audit))
    return audit.ran.seconds


def test_no_verdict_is_shown_unpaid_wherever_the_run_is_killed(bench: Bench) -> None:
    seconds_of(bench)
    seconds = 0.0
    rng = random.Random(11)  # noqa: S311 - no secret comes of it
    stages = Counter[str]()
    number = 0
    # Other work on the machine may make runs far faster or slower than those measured: then more
    # are killed, until kills fell before the charge, between it and the verdict, and after that.
    while number < KILLS or (number < 6 * KILLS and len(stages) < 3):
        if not number % 20:
            # Measured again and again, since other work on the machine comes and goes.
            seconds = seconds_of(bench)
        share = rng.uniform(0, 1.1) if number < KILLS else 2 ** rng.uniform(-4, 3)
        audit = bench.audit(f"ledger-{number % LEDGERS}.sqlite", delay=share * seconds)
        number += 1
        entries = settle(bench, audit)
        assert not audit.shown or paid(audit, entries), audit
        wasted = charged(audit, entries) and not audit.shown
        stages["shown" if audit.shown else "wasted" if wasted else "before"] += 1
    assert len(stages) == 3


def test_no_verdict_is_shown_unpaid_when_killed_at_its_sight(bench: Bench) -> None:
    for _ in range(AT_SIGHT):
        audit = bench.audit("sight.sqlite", at_sight=True)
        assert audit.shown
        assert paid(audit, settle(bench, audit))


def test_no_figure_is_shown_unpaid_when_a_profile_is_killed_at_its_sight(bench: Bench) -> None:
    for number in range(1, 4):
        path, ran = bench.profile("profile.sqlite", at_sight=True)
        assert ran.out
        kinds = [json.loads(text)["kind"] for text in entries_of(path)]
        assert kinds.count("charge") == kinds.count("answers") == number
    unpaid = 0
    for _ in range(3):
        path, ran = bench.profile("late-profile.sqlite", at_sight=True, late=True)
        assert ran.out
        unpaid += '"kind":"charge"' not in "".join(entries_of(path))
    assert unpaid == 3


def test_a_program_that_shows_first_is_caught(bench: Bench) -> None:
    whole = bench.audit("late.sqlite", late=True)
    assert whole.shown
    # Left alone, it charges as well as the right one does.
    assert charged(whole, settle(bench, whole))
    unpaid = 0
    for _ in range(AT_SIGHT):
        audit = bench.audit("late.sqlite", at_sight=True, late=True)
        assert audit.shown
        unpaid += not charged(audit, settle(bench, audit))
    assert unpaid == AT_SIGHT


def test_a_ledger_is_made_whole_or_not_at_all(bench: Bench) -> None:
    def make(name: str, delay: float | None = None) -> tuple[Path, Ran]:
        path = bench.folder / name
        return path, bench.run(Trial(["ledger", "limit", str(path), "7"], delay=delay))

    make("made.sqlite")
    seconds = max(make(f"made-{number}.sqlite")[1].seconds for number in range(2))
    rng = random.Random(12)  # noqa: S311 - no secret comes of it
    lengths: set[int] = set()
    number = 0
    # Other work on the machine may make runs many times as fast or slow as those measured: then
    # more of them are killed, far earlier and later, until kills fell before and after the making.
    while number < 20 or (number < 120 and not {-1, 1} <= lengths):
        delay = rng.uniform(0, 1.3) if number < 20 else 2 ** rng.uniform(-4, 5)
        path, ran = make(f"limit-{number}.sqlite", delay * seconds)
        number += 1
        assert os.WIFSIGNALED(ran.status) or path.exists()
        if path.exists():
            with closing(Ledger(path)) as ledger:
                lengths.add(len(ledger.entries))
                assert ledger.limit.epsilon in {None, Fraction(7)}
        else:
            lengths.add(-1)
    assert {-1, 1} <= lengths <= {-1, 0, 1}


if __name__ == "__main__":
    serve()
