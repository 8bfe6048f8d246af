"""Ways to run the command line and the engine, shared by the test packages."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import pqd.cli
from pqd.accounting.charge_report import begin_charges
from pqd.deciders import Histogram, Lattice
from pqd.engine.scan_plan import Measure, ScanPlan, Statistic
from pqd.engine.synthetic_table import SyntheticTable
from pqd.engine.tables import open_table
from pqd.sql.query import Query
from tests.support import drawing, one_command_line, seeded_noise, skipped, spark_session
from tests.support.one_database import databases, one_database

__all__ = ["databases", "one_database"]

if TYPE_CHECKING:
    from tests.support.postgres_server import PostgresServer

Ran = tuple[int, str, str]

drawing.load()

# A ledger waits for the disk several times in every run: in memory, if there is room, it need not.
MEMORY, ROOM = Path("/dev/shm"), 2**30  # noqa: S108 - pytest makes a folder of its own there
if (
    MEMORY.is_dir()
    and os.access(MEMORY, os.W_OK)
    and shutil.disk_usage(MEMORY).free > ROOM
    and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC
):
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)


# What changes how a terminal is written to, or where a report goes, on the machine of the tests.
SURROUNDINGS = (
    *("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "PY_COLORS", "COLORTERM", "TTY_COMPATIBLE"),
    *("TTY_INTERACTIVE", "JUPYTER_COLUMNS", "JUPYTER_LINES", "CI", "GITHUB_ACTIONS"),
    *("GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE", "PYTHONIOENCODING", "PYTHONUTF8"),
)
# What ``make test`` leaves to ``make test-thorough``: guarantees enumerated, simulated or fuzzed at
# length, whole runs repeated for every way to cut a table, examples of the documents, and builds.
THOROUGH = (
    *("statistics", "privacy", "packaging", "conformance"),
    *("test_small_batches", "test_swap", "test_kill", "test_race", "test_interrupt"),
    *("test_fuzz_check", "test_duckdb", "test_large", "test_many", "test_schema", "test_fold"),
    *("test_row_by_row", "test_slow_twin", "test_leaderboard", "test_noise", "test_mechanisms"),
    *("test_composition", "test_linear_work", "test_snapping", "test_startup"),
    *("test_documents", "test_extending", "test_site", "test_jupyter", "test_pytest_plugin"),
    *("test_mechanism", "test_multiplicative_weights", "test_cube_noise", "test_ranks"),
    *("test_reference_tables", "test_typed_texts", "test_table_reader", "test_shapes"),
    *("test_postgres", "test_audit_batch", "test_profile_shortfall", "test_versions"),
    *("test_commands_unit", "test_persons"),
    *("spark", "test_csv_blocks", "test_duckdb_tables", "test_cut_points", "test_row_classes"),
    *("test_chance", "test_ranking", "test_target", "test_profile_target", "test_samples"),
    *("test_first_report", "test_audit_gate_compare", "test_stand_ins", "test_noisy_answer"),
    *("test_regions", "test_planned_comparison", "test_grouping", "test_shared_budget"),
    "test_other_size",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for marker in markers_of(item.path):
            item.add_marker(marker)
    gather_groups(items)


@cache
def markers_of(path: Path) -> tuple[str, ...]:
    """Markers of all tests in a file, by its name and its folders."""
    within = path.relative_to(Path(__file__).parent)
    names = {*within.parts, within.stem}
    members = {"thorough": THOROUGH, "browser": ("browser",)}
    return tuple(marker for marker, those in members.items() if not names.isdisjoint(those))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped.tell(terminalreporter)


def gather_groups(items: list[pytest.Item]) -> None:
    """Move the tests of an xdist group to its last one, so that one worker starts what they share.

    Else the border between two workers' shares may fall among them: ``worksteal`` knows no groups.
    """
    groups: dict[str, list[pytest.Item]] = {}
    for item in items:
        if marker := item.get_closest_marker("xdist_group"):
            groups.setdefault(marker.args[0], []).append(item)
    for members in groups.values():
        first = items.index(members[-1]) - len(members) + 1
        for item in members:
            items.remove(item)
        items[first:first] = members


@pytest.fixture(scope="session", autouse=True)
def the_same_surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the machine's settings out, and the account of wider fixtures away from the samples."""
    with pytest.MonkeyPatch.context() as patch:
        for name in SURROUNDINGS:
            patch.delenv(name, raising=False)
        # The day that reports bear.
        patch.setenv("SOURCE_DATE_EPOCH", "1700000000")
        patch.setenv("PQD_LEDGER", str(tmp_path_factory.mktemp("ledger") / "ledger.sqlite"))
        seeded_noise.take_place(patch)
        one_command_line.take_place(patch)
        yield


def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object]) -> None:
    # What tests share is drawn alike, whichever of them comes first.
    if fixturedef.scope != "function":
        seeded_noise.begin_anew()


@pytest.fixture(autouse=True)
def noise_of_its_own(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw the noise of every test from the start of a seed, where it is not the test's subject."""
    seeded_noise.begin_anew()
    if request.node.get_closest_marker("secure_noise"):
        seeded_noise.give_back(monkeypatch)


@pytest.fixture(autouse=True)
def ledger_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the account of every test in a file of its own, not beside the samples.

    Each begins without a charge, as every process does.
    """
    begin_charges()
    monkeypatch.setenv("PQD_LEDGER", str(tmp_path / "ledger.sqlite"))


@pytest.fixture(scope="session")
def postgres_server() -> Iterator["PostgresServer"]:
    """A PostgreSQL server of the tests' own."""
    from tests.support.postgres_server import running  # noqa: PLC0415 - the driver

    with running() as server:
        yield server


@pytest.fixture(scope="session")
def spark_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of Spark's, with its log."""
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="session")
def spark(spark_folder: Path) -> Iterator[Any]:
    """A session of Spark, as pqd starts it."""
    with spark_session.running(spark_folder) as session:
        yield session


@pytest.fixture
def noiseless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Admit budgets at which the noise is nothing, so that an answer shows what was computed."""
    monkeypatch.setattr("pqd.stated.budgets.MOST_EPSILON", 10**9)


@pytest.fixture
def command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Ran]:
    """Run ``pqd`` in this process; return its exit code, stdout and stderr."""

    def run(*arguments: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["pqd", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            pqd.cli.main()
        captured = capsys.readouterr()
        code = stopped.value.code
        # Else its frames, and the ledger that they opened, wait for the collector, which may run
        # in another thread: there SQLite refuses to close it.
        del stopped
        return (code if isinstance(code, int) else 0), captured.out, captured.err

    return run


@pytest.fixture
def process() -> Callable[..., Ran]:
    """Run Python with arguments as a process of its own; return its exit code and streams."""

    def run(*arguments: str, cwd: Path | None = None, **environment: str) -> Ran:
        done = subprocess.run(  # noqa: S603 - the arguments are the tests' own
            [sys.executable, *arguments],
            cwd=cwd,
            env=os.environ | environment,
            capture_output=True,
            encoding="utf-8",
            # Ends what hangs: a busy machine may take many times the usual second or four.
            timeout=300,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.fixture(scope="session")
def scan() -> Callable[..., list[Any]]:
    """Answer queries on a private table: the count, or the sorted values of a number.

    Numbers live on ``lattice``, else on the one that the synthetic table gives.
    """

    def answers(
        private: object, synthetic: object, *queries: str, lattice: Lattice | None = None
    ) -> list[Any]:
        parsed = [Query(sql) for sql in queries]
        tables = open_table(synthetic, "synthetic"), open_table(private, "private")
        engine = SyntheticTable()
        public, secret = (table for table in tables)
        schema = engine.schema(public, {name for q in parsed for name in q.mentioned}, {})
        resolved = [query.resolve(schema) for query in parsed]
        lattices = [
            (lattice or engine.profile(schema, r.value))
            if r.value is not None and query.aggregate != "COUNT DISTINCT"
            else None
            for query, r in zip(parsed, resolved, strict=True)
        ]
        statistics = (
            Statistic(
                r.predicate,
                Measure(r.value, known) if r.value else None,
                r.columns,
                collapsed=query.aggregate in {"COUNT", "SUM"},
            )
            for query, r, known in zip(parsed, resolved, lattices, strict=True)
        )
        workload = ScanPlan(tuple(statistics))
        # As in an audit: what the engine cannot evaluate is refused on the public table.
        engine.histograms(public, schema, workload)
        found = engine.histograms(secret, schema, workload)
        return [_answer(h, known) for h, known in zip(found, lattices, strict=True)]

    return answers


def _answer(histogram: Histogram, lattice: Lattice | None) -> Any:
    if lattice is None:
        return histogram.mass
    counted = zip(histogram.values.tolist(), histogram.counts.tolist(), strict=True)
    return [value * lattice.unit for value, count in counted for _ in range(count)]
