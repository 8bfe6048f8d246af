"""Tables of Spark, by Spark itself: what it counts is what is counted of the same rows in Parquet.

One session serves all tests, and ends with them.
"""

import logging
import os
import signal
import sys
from collections.abc import Callable
from contextlib import nullcontext
from logging.handlers import BufferingHandler
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pqd
from pqd.accounting.ledger import Ledger
from pqd.deciders.errors import ParameterError
from pqd.engine.counting.arrow_sql import ArrowSQL
from pqd.engine.counting.batch import Batch
from pqd.engine.counting.tally import Counts
from pqd.engine.scan_plan import PrivacyUnit, ScanPlan
from pqd.engine.spark import sessions
from pqd.engine.spark.sessions import Quiet, session
from pqd.engine.spark_scanner import SparkScanner
from pqd.engine.synthetic_table import SyntheticTable
from pqd.engine.tables import Table, open_table
from pqd.errors import BudgetError, NotPublicError, PqdError, RunError, TableError
from tests.support.custodian import Custodian
from tests.support.odd_rows import KEY, QUERIES, SCHEMA, odd_rows, statistics

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.usefixtures("spark")]
FACTS = {"hours": {"bounds": (0, 99), "step": 1}}
ASKED = [
    "SELECT COUNT(*) FROM t WHERE sex = 'm' AND hours > 40",
    "SELECT SUM(hours) FROM t WHERE sex <> 'f'",
    "SELECT COUNT(DISTINCT hours) FROM t",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spark")


def plain_rows(number: int, shift: int) -> pa.Table:
    at = range(shift, number + shift)
    return pa.table(
        {
            "hours": pa.array([None if i % 31 == 0 else i * i % 80 for i in at], pa.int64()),
            "sex": pa.array([("m", "f", None, "M")[i % 7 % 4] for i in at], pa.string()),
            "who": pa.array([i % 211 for i in at], pa.int32()),
        }
    )


def written(rows: pa.Table, path: Path, parts: int) -> Path:
    """Rows as one file, and as a folder of several beside it."""
    path.mkdir()
    size = -(-rows.num_rows // parts)
    for part in range(parts):
        pq.write_table(rows.slice(part * size, size), path / f"{part}.parquet")
    pq.write_table(rows, path.with_suffix(".parquet"))
    return path


@pytest.fixture(scope="module")
def private(folder: Path) -> Path:
    return written(plain_rows(1500, 0), folder / "private", 3)


@pytest.fixture(scope="module")
def copy(folder: Path) -> Path:
    return written(plain_rows(1400, 17), folder / "copy", 2)


@pytest.fixture(scope="module")
def odd(folder: Path) -> Path:
    return written(odd_rows(), folder / "odd", 3)


def two_ways(path: Path) -> tuple[Table, Table]:
    """Private table as Spark reads it, and as Parquet is read."""
    return open_table(f"spark://{path}", "private"), open_table(
        path.with_suffix(".parquet"), "private"
    )


@pytest.mark.parametrize("unit", [None, "p"])
def test_histograms(odd: Path, unit: str | None) -> None:
    engine = SyntheticTable()
    given = PrivacyUnit(unit, 2) if unit else None
    plan = ScanPlan(statistics(QUERIES, total=unit is not None), given)
    spread, whole = (engine.histograms(each, SCHEMA, plan) for each in two_ways(odd))
    for sql, one, other in zip(QUERIES, spread, whole, strict=True):
        assert one.values.tolist() == other.values.tolist(), sql
        assert one.counts.tolist() == other.counts.tolist(), sql


def test_content(odd: Path) -> None:
    """The same rows are the same table to a ledger, in Spark and in a file; types are kept."""
    engine = SyntheticTable()
    spread, whole = (engine.content(each, KEY) for each in two_ways(odd))
    assert spread == whole
    public = open_table(f"spark://{odd}", "synthetic")
    assert engine.content(public, KEY) == engine.content(two_ways(odd)[0], KEY)


def test_a_run_knows_the_table_again(private: Path, copy: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    first = audited(f"spark://{private}", copy.with_suffix(".parquet"), ledger)
    again = audited(private.with_suffix(".parquet"), f"spark://{copy}", ledger)
    frame = audited(session().read.parquet(str(private)), session().read.parquet(str(copy)), ledger)
    assert [one.replayed for one in first.verdicts] == [False] * 3
    assert [one.replayed for one in again.verdicts] == [True] * 3
    assert [one.replayed for one in frame.verdicts] == [True] * 3


def test_other_commands(private: Path, copy: Path, tmp_path: Path) -> None:
    table, synthetic = f"spark://{private}", f"spark://{copy}"
    ledger = tmp_path / "ledger.sqlite"
    assert pqd.profile(table, synthetic, unit="who", max_rows=2, anyway=True, ledger=ledger).overall
    assert pqd.plan(synthetic, ASKED, tau="5%", epsilon=1, columns=FACTS).queries
    ledger = tmp_path / "other.sqlite"
    copies = {"a": synthetic, "b": copy.with_suffix(".parquet")}
    compared = pqd.compare(table, copies, ASKED, tau="5%", epsilon=1, columns=FACTS, ledger=ledger)
    assert len(compared.leaderboard) == 2
    released = pqd.release(
        table, synthetic, ASKED[:2], total_epsilon=2, columns=FACTS, ledger=ledger
    )
    assert len(released.queries) == 2


@pytest.mark.usefixtures("noiseless")
def test_persons_are_counted_alike(private: Path, copy: Path, tmp_path: Path) -> None:
    """Where noise rounds to nothing, a release of persons has the answers of the file's rows."""
    synthetic = copy.with_suffix(".parquet")
    every: dict[str, Any] = {
        "unit": "who",
        "max_rows": 3,
        "columns": {"hours": {"bounds": (0, 500), "step": 1}},
    }
    queries, told = [*ASKED[:2], "SELECT COUNT(*) FROM t WHERE hours < 9"], []
    more = [*queries, "SELECT MEDIAN(hours) FROM t"]
    for number, table in enumerate((f"spark://{private}", private.with_suffix(".parquet"))):
        every["ledger"] = tmp_path / f"{number}.sqlite"
        report = pqd.release(table, synthetic, queries, total_epsilon=10**7, **every)
        audit = pqd.audit(table, synthetic, more, total_epsilon=90, tau="50%", **every)
        gate = pqd.gate(table, synthetic, more, epsilon=90, tau="50%", **every)
        outcomes = [one.outcome for one in audit.verdicts]
        told.append(([one.answer for one in report.queries], outcomes, gate.exit_code))
    assert told[0] == told[1]
    rows = plain_rows(1500, 0).to_pandas()
    held = [rows[(rows.sex == "m") & (rows.hours > 40)], rows[rows.hours < 9]]
    answers = told[0][0]
    assert [answers[0], answers[2]] == [each.who.nunique() for each in held]


def audited(private: object, synthetic: object, ledger: Path) -> Any:
    return pqd.audit(private, synthetic, ASKED, tau="5%", epsilon=1, columns=FACTS, ledger=ledger)


def test_the_same_rows_are_not_public(private: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    table, file = f"spark://{private}", private.with_suffix(".parquet")
    frame = session().read.parquet(str(private))
    for one, other in ((table, table), (frame, frame), (table, file), (file, frame)):
        with pytest.raises(NotPublicError):
            audited(one, other, ledger)
    # With a row more it is another table.
    more = pa.concat_tables([plain_rows(1500, 0), plain_rows(1, 3)])
    assert audited(frame, more, ledger).verdicts


def test_what_reads_files_of_the_private_table_is_not_public(private: Path, tmp_path: Path) -> None:
    ledger, spark = tmp_path / "ledger.sqlite", session()
    frame = spark.read.parquet(str(private))
    frame.createOrReplaceTempView("all_people")
    part = private / "1.parquet"
    for one, other in (
        (f"spark://{private}", part),
        (private, f"spark://{part}"),
        (frame, spark.read.parquet(str(part))),
        ("spark://all_people", frame.filter("hours > 3")),
    ):
        with pytest.raises(NotPublicError, match=r"shares a part with|is the private table itself"):
            audited(one, other, ledger)
    assert not ledger.exists()


def test_command_line(
    private: Path, copy: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    query = ["-q", ASKED[0], "--tau", "5%", "--epsilon", "1"]
    code, out, err = command("audit", f"spark://{private}", f"spark://{copy}", *query)
    assert (code, err) == (0, "")
    assert "1 answer of copy" in out


def test_a_spec(
    private: Path, copy: Path, tmp_path: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    spec = tmp_path / "audit.toml"
    code, _, _ = command("init", f"spark://{private}", f"spark://{copy}", "--file", str(spec))
    assert code == 0
    assert f'path = "spark://{private}"' in spec.read_text("utf-8")
    code, out, err = command("check", str(spec), "--dry-run")
    assert (code, err) == (0, "")
    assert "one test of whether all" in out


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("spark://no_such_table", "is not known to Spark"),
        ("spark:///no/such/folder", "does not exist where Spark looks"),
        ("spark://odd table!", "has a name that Spark cannot read"),
        ("spark://localhost:7077", "is the address of a cluster"),
        ("spark://", "names no table"),
        ("spark:///a?format=csv", "the format of a path that Spark reads is one of"),
        ("spark:///a?header=1", "has a part too many: header; write .* such as CSV, make a table"),
        ("spark:///a.csv?format=csv&header=true", "has a part too many: header; write"),
        ("spark://a.b/c", "has a part too many: /c, after the name of the table a.b"),
        ("spark+s3a://bucket/a#b", "has a part too many: #..."),
        ("spark+s3a://key:secret@bucket/a", "holds a password"),
    ],
)
def test_bad_addresses(given: str, words: str) -> None:
    with pytest.raises(TableError, match=words):
        open_table(given, "private")


def test_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(ParameterError, match=r'pip install "pqd\[spark\]"'):
        open_table("spark://t", "private")


def test_no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    handler = signal.getsignal(signal.SIGINT)
    with sessions.no_warnings(), pytest.raises(TableError, match="it needs Java 17"):
        sessions._started()
    assert signal.getsignal(signal.SIGINT) is handler


def test_spark_connect() -> None:
    kind = type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe"})
    with pytest.raises(TableError, match="is of Spark Connect"):
        open_table(kind(), "private")


def test_the_log_is_off_meanwhile(spark: Any) -> None:
    spark.sparkContext.setLogLevel("WARN")
    quiet = Quiet(spark)
    with quiet:
        with Quiet(spark.newSession()):
            assert quiet._level() == "OFF"
        assert quiet._level() == "OFF"
        assert logging.getLogger("SQLQueryContextLogger").disabled
    assert quiet._level() == "WARN"
    assert not logging.getLogger("SQLQueryContextLogger").disabled
    spark.sparkContext.setLogLevel("OFF")


def test_a_shell_shows_no_more_than_before(spark: Any) -> None:
    """A shell filters what is below a level of its own, until Spark is told one."""
    spark.sparkContext.setLogLevel("INFO")
    java = spark._jvm.org.apache
    shell = getattr(getattr(java.spark.internal, "Logging$"), "MODULE$")
    getattr(shell, "sparkShellThresholdLevel_$eq")(java.logging.log4j.Level.ERROR)
    quiet = Quiet(spark)
    with quiet:
        assert quiet._level() == "OFF"
    assert quiet._level() == "INFO"
    assert str(shell.sparkShellThresholdLevel()) == "ERROR"
    spark.sparkContext.setLogLevel("OFF")


def test_a_stream_is_refused(spark: Any) -> None:
    with pytest.raises(TableError, match="the private frame is a stream, which has no end"):
        open_table(spark.readStream.format("rate").load(), "private")


def refused(frame: Any, copy: Path, tmp_path: Path) -> tuple[str, list[Any]]:
    """Message of a run that breaks, and what the ledger holds then."""
    ledger = tmp_path / "ledger.sqlite"
    with pytest.raises(PqdError) as raised:
        audited(frame, copy.with_suffix(".parquet"), ledger)
    assert isinstance(raised.value, RunError)
    assert raised.value.__context__ is None
    assert raised.value.__cause__ is None
    return str(raised.value), [account.epsilon for account in Ledger(ledger).accounts]


def test_a_cell_that_spark_cannot_cast(
    private: Path,
    copy: Path,
    tmp_path: Path,
    spark: Any,
    spark_folder: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Spark's own error quotes the cell, and so do its loggers in Java and in Python."""
    frame = spark.read.parquet(str(private)).selectExpr("CAST(sex AS INT) AS hours", "sex", "who")
    log, words = spark_folder / "log", b"CAST_INVALID_INPUT"
    spark.sparkContext.setLogLevel("ERROR")
    message, spent = refused(frame, copy, tmp_path)
    assert message == (
        "the private frame could not be read to its end; "
        "check whether Spark runs, and that no row makes a view or a cast fail"
    )
    assert spent == []
    assert words not in log.read_bytes()
    assert capfd.readouterr() == ("", "")
    # What is silent then speaks again.
    told = logging.getLogger("SQLQueryContextLogger")
    records = BufferingHandler(9)
    monkeypatch.setattr(told, "handlers", [records])
    with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
        frame.collect()
    assert words in log.read_bytes()
    assert len(records.buffer) == 1
    log.write_bytes(b"")
    spark.sparkContext.setLogLevel("OFF")


def second_scan(change: Callable[[Any], Any], marks: Path) -> Callable[[Any], Any]:
    """Function of ``mapInArrow`` that changes the rows of one partition from its second run on."""

    def changed(batches: Any) -> Any:
        first = not marks.exists()
        marks.touch()
        yield from batches if first else map(change, batches)

    return changed


def killed(batch: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)
    return batch


def shortened(batch: Any) -> Any:
    return batch.slice(1)


@pytest.mark.parametrize(
    ("change", "words"),
    [(killed, "a worker of Spark was lost"), (shortened, "changed while it was read")],
)
def test_a_scan_that_breaks(
    change: Callable[[Any], Any],
    words: str,
    private: Path,
    copy: Path,
    tmp_path: Path,
    spark: Any,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """What was reserved for it is spent, as for any private table that breaks."""
    by_value()
    frame = spark.read.parquet(str(private)).coalesce(1)
    schema = "hours bigint, sex string, who int"
    frame = sessions.mapped(frame, second_scan(change, tmp_path / "marks"), schema)
    message, spent = refused(frame, copy, tmp_path)
    assert words in message
    assert spent == [3]
    assert capfd.readouterr() == ("", "")


def by_value() -> None:
    """Send what this module defines to the workers, which do not import it."""
    from pyspark import cloudpickle  # noqa: PLC0415 - an extra

    register: Any = cloudpickle.register_pickle_by_value
    register(sys.modules[__name__])


class Poisoned:
    """Work that fails on a cell and says it."""

    columns = ("sex",)
    persons = None
    distinct: frozenset[int] = frozenset()

    def counts(self, batch: Batch) -> Counts:
        raise ValueError(batch.columns["sex"].values.to_pylist())


def test_a_kernel_that_fails_on_a_cell(private: Path, capfd: pytest.CaptureFixture[str]) -> None:
    by_value()
    table = open_table(f"spark://{private}", "private")
    scanner = table.scanner(table, ArrowSQL())
    assert isinstance(scanner, SparkScanner)
    with pytest.raises(RunError) as raised:
        scanner._counted(Poisoned())
    assert str(raised.value) == (
        "the private table private could not be read to its end; check the table"
    )
    assert raised.value.__context__ is None
    assert capfd.readouterr() == ("", "")


def test_versions_at_an_address_are_one_data_set(tmp_path: Path) -> None:
    """Their files have other names each night; a DataFrame of them, or a folder, is no other."""
    custodian, folder = Custodian(tmp_path), tmp_path / "nightly"
    folder.mkdir()
    address = f"spark://{folder}?format=parquet"
    custodian.limit(4)
    for number in range(6):
        for old in folder.iterdir():
            old.unlink()
        pq.write_table(pa.table({"age": range(number + 1)}), folder / f"part-{number}.parquet")
        sources = address, str(folder), session().read.parquet(str(folder))
        source = sources[number % 3]
        with nullcontext() if number < 4 else pytest.raises(BudgetError):
            custodian.charge(source)
    assert custodian.spent() == [4]
