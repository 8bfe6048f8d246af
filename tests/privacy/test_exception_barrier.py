"""No traceback, whatever shows its variables, holds a count of the private table."""

import io
import re
import threading
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from rich.console import Console
from rich.traceback import Traceback

import pqd.accounting.accountant as accountant_home
import pqd.planning.table_separation as separation_home
import pqd.run.execution as execution_home
from pqd.accounting.accountant import Accountant
from pqd.accounting.ledger import Ledger
from pqd.commands.audit import run_audit
from pqd.commands.release import run_release
from pqd.deciders import Histogram
from pqd.deciders.batch.linear.universe import Rows
from pqd.deciders.histogram import PackedHistogram
from pqd.engine import contingency as contingency_home
from pqd.engine import histograms as histograms_home
from pqd.engine import synthetic_table as engine
from pqd.engine.contingency import ContingencyCounter, ContingencyTable
from pqd.engine.counting import batch as batch_home
from pqd.engine.counting.arrow_sql import worker_sql
from pqd.engine.counting.batch import Batch, Column
from pqd.engine.counting.combinations import combined
from pqd.engine.counting.facts import ByValue, Facts, TypedSQL
from pqd.engine.counting.persons import PersonCodes
from pqd.engine.counting.recognition import CellNumbers, Content, ContentCounter, RowHash
from pqd.engine.counting.tally import Counts, Tally
from pqd.engine.histograms import HistogramCounter
from pqd.engine.marginals import MarginalCounter, MarginalPlan
from pqd.engine.scan_plan import ScanPlan
from pqd.engine.table import TableMemory
from pqd.engine.tables import Table, open_table
from pqd.errors import ParameterError, RunError
from pqd.exception_barrier import sealed
from pqd.parameters import Parameters
from pqd.sql.schema import Kind
from pqd.sql.workload_files import as_queries
from tests.support.noises import LaplaceAlone

ROWS, MATCHING, VALUE, HELD = 79193, 48311, 86028, 61357
PRIVATE = pd.DataFrame({"age": [40.0] * MATCHING + [20.0] * (ROWS - MATCHING)})
PRIVATE["pay"] = [float(VALUE)] * HELD + [1.0] * (ROWS - HELD)
COPY = pd.DataFrame({"age": [40.0, 20.0] * 30, "pay": [float(n) for n in range(60)]})
COLUMNS = {"pay": {"bounds": (0, 100_000)}}
# What can be counted of the rows, and what is summed up of them.
NUMBERS = (ROWS, MATCHING, ROWS - MATCHING, VALUE, HELD, ROWS - HELD, VALUE * HELD + ROWS - HELD)
COUNT = "SELECT COUNT(*) FROM D WHERE age > 30"
SUM = "SELECT SUM(pay) FROM D"
MEDIAN = "SELECT MEDIAN(pay) FROM D WHERE age > 30"


class InjectedError(Exception):
    """What goes wrong."""


class TimedOutError(BaseException):
    """What a timeout raises in whatever runs, so that nothing goes on: it is no Exception."""


class Breaking(LaplaceAlone):
    """Noise that fails when it is drawn for the private table."""

    simulated = False

    def __init__(self, failure: type[BaseException] | None) -> None:
        self._failure = failure

    def laplace(self, statistic: int, _: object) -> int:
        if self._failure:
            raise self._failure
        return round(statistic, -9)

    def choose(self, _: float) -> bool:
        if self._failure:
            raise self._failure
        return True


def after(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, failure: type[BaseException]
) -> None:
    """Let a function do its work, keep what came of it in a variable, and fail."""
    original, recognised, begun = getattr(owner, name), Accountant.recognise, []
    read, this_thread = engine.SyntheticTable.read, threading.local()

    def begin(*args: Any) -> Any:
        begun.append(True)
        return recognised(*args)

    def reading(self: engine.SyntheticTable, table: Table, *args: Any, **named: Any) -> None:
        this_thread.private = table.role == "private"
        read(self, table, *args, **named)

    def broken(*args: Any, **named: Any) -> Any:
        found = original(*args, **named)
        if begun or getattr(this_thread, "private", False):
            raise failure
        return found

    # What came before is public, but for the columns of the private table.
    monkeypatch.setattr(Accountant, "recognise", begin)
    monkeypatch.setattr(engine.SyntheticTable, "read", reading)
    static = isinstance(vars(owner).get(name), classmethod)
    monkeypatch.setattr(owner, name, staticmethod(broken) if static else broken)


def auditing(path: Path, noise: Any, private: object) -> None:
    terms = Parameters.parse(tau=5, epsilon=1, alpha=0.05, columns=COLUMNS)
    queries = as_queries([COUNT, SUM, MEDIAN])
    run_audit(private, COPY, queries, terms, noise, accountant=Accountant(path))


def releasing(path: Path, noise: Any, private: object) -> None:
    terms = Parameters.parse(tau=1, epsilon=1, alpha=0.05, mechanism="workload", columns=COLUMNS)
    run_release(private, COPY, as_queries([COUNT, SUM]), terms, noise, accountant=Accountant(path))


# Per stage of a run: what fails there.  A NULL in the path of a frame shows nothing.
STAGES: dict[str, tuple[Any, str] | None] = {
    "recognise": (engine.SyntheticTable, "content"),
    "hash": (RowHash, "hashes"),
    "content": (ContentCounter, "whole"),
    "read": (batch_home, "column_of"),
    "rows": (histograms_home, "_places"),
    "scan": (engine.SyntheticTable, "_scanned"),
    "counted": (HistogramCounter, "whole"),
    "draw": None,
    "record": (Ledger, "record"),
}
BATCHED: dict[str, tuple[Any, str] | None] = {
    "scan": (engine.SyntheticTable, "contingency"),
    "join": (contingency_home, "combined"),
    "draw": None,
    "record": (Ledger, "record"),
}
CASES = [(auditing, name) for name in STAGES] + [(releasing, name) for name in BATCHED]
FAILURES = [InjectedError, ParameterError, KeyboardInterrupt, TimedOutError]


def chained(error: BaseException | None, seen: set[int] | None = None) -> Iterator[BaseException]:
    """Yield an error and all that hangs on it, shown or not."""
    seen = set() if seen is None else seen
    if error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        yield from chained(error.__cause__, seen)
        yield from chained(error.__context__, seen)


def frames(failure: BaseException) -> Iterator[tuple[BaseException, Any]]:
    """Yield every error with its frames below those of this file."""
    for error in chained(failure):
        trace = error.__traceback__
        while trace and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next
        yield error, trace


def rendered(failure: BaseException) -> str:
    """Every frame with its variables, by their reprs."""
    shown = (
        traceback.TracebackException(type(error), error, trace, capture_locals=True)
        for error, trace in frames(failure)
    )
    return "".join(line for one in shown for line in one.format())


def enriched(failure: BaseException) -> str:
    """Frames as rich shows them, which looks into containers and dataclasses."""
    console = Console(file=io.StringIO(), width=300, record=True)
    for error, trace in frames(failure):
        limits: dict[str, Any] = {"extra_lines": 0, "locals_max_string": 10_000}
        kind = type(error)
        console.print(Traceback.from_exception(kind, error, trace, show_locals=True, **limits))
    return console.export_text()


def leaked(text: str) -> list[int]:
    bare = re.sub(r"(?<=\d)[,_](?=\d)|0x[0-9a-f]+|[0-9a-f]{32,}", "", text)
    return [number for number in NUMBERS if re.search(rf"(?<![\d.]){number}(?!\d)", bare)]


def failed(
    how: Callable[..., None],
    stage: str,
    failure: type[BaseException],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> BaseException:
    """Error of a run that fails at a stage."""
    path = tmp_path / "private.parquet"
    PRIVATE.to_parquet(path)
    place = (STAGES if how is auditing else BATCHED)[stage]
    if place:
        after(monkeypatch, *place, failure)
    noise = Breaking(None if place else failure)
    return interrupted(how, tmp_path / "ledger.sqlite", noise, path)


def interrupted(
    how: Callable[..., None], ledger: Path, noise: Breaking, private: Path
) -> BaseException:
    """Error of a run that fails."""
    try:
        how(ledger, noise, private)
    except BaseException as error:  # noqa: BLE001 - of any kind
        return error
    raise AssertionError("nothing failed")


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize(("how", "stage"), CASES)
def test_no_traceback_shows_a_count(
    how: Callable[..., None],
    stage: str,
    failure: type[BaseException],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if failure is ParameterError:
        # An error of pqd's own has a message that may be shown.
        monkeypatch.setattr(ParameterError, "__str__", lambda _: "told")
        monkeypatch.setattr(ParameterError, "__repr__", lambda _: "told")
    error = failed(how, stage, failure, tmp_path, monkeypatch)
    assert type(error) is (RunError if failure is InjectedError else failure)
    assert list(chained(error)) == [error]
    assert leaked(rendered(error)) == []


@pytest.mark.parametrize("failure", [InjectedError, KeyboardInterrupt])
def test_no_traceback_shows_a_count_while_tables_are_held_against_each_other(
    failure: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = engine.SyntheticTable.content

    def broken(self: engine.SyntheticTable, table: Table, *args: Any, **named: Any) -> Content:
        found = content(self, table, *args, **named)
        if table.role == "private":
            raise failure
        return found

    monkeypatch.setattr(engine.SyntheticTable, "content", broken)
    path = tmp_path / "private.parquet"
    PRIVATE.to_parquet(path)
    error = interrupted(auditing, tmp_path / "ledger.sqlite", Breaking(None), path)
    assert type(error) is (RunError if failure is InjectedError else failure)
    assert list(chained(error)) == [error]
    assert leaked(rendered(error)) == []


def test_rich_shows_no_count_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    error = failed(releasing, "draw", InjectedError, tmp_path, monkeypatch)
    assert leaked(enriched(error)) == []


@pytest.mark.parametrize("shown", [rendered, enriched])
@pytest.mark.parametrize(("how", "stage"), [(releasing, "draw"), (auditing, "read")])
def test_the_check_sees_what_is_not_sealed(
    how: Callable[..., None],
    stage: str,
    shown: Callable[[BaseException], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The twin: where frames are kept, the same check finds counts in their variables."""
    for home in (accountant_home, execution_home, separation_home):
        monkeypatch.setattr(home, "sealed", lambda work: work())
    error = failed(how, stage, InjectedError, tmp_path, monkeypatch)
    assert isinstance(error, InjectedError)
    assert leaked(shown(error))


def test_an_error_is_told_by_kind_and_place() -> None:
    def work() -> None:
        raise InjectedError(f"{ROWS} rows")

    with pytest.raises(
        RunError, match=r"internal error, InjectedError at test_exception_barrier.py:\d+;"
    ) as told:
        sealed(work)
    assert told.value.exit_code == 3
    assert list(chained(told.value)) == [told.value]
    assert str(ROWS) not in str(told.value)


def test_what_counts_rows_has_no_content_to_show() -> None:
    numbers = np.array([1, 5, 9])
    sql = TypedSQL(worker_sql(), {"age": Kind.NUMBER})
    plan = ScanPlan(())
    held: list[object] = [
        Histogram.from_values(numbers),
        PackedHistogram(partial(Histogram.from_values, numbers)),
        ContingencyTable(numbers.view(np.uint64), numbers, numbers),
        combined([(numbers, 10)], 3),
        Batch(3, {}, numbers),
        Column(numbers, pa.array(["a"])),
        ContentCounter(("age",), b"79193", worker_sql().texts),
        *(RowHash(("age",), b"79193", worker_sql().texts), TableMemory()),
        *(CellNumbers("age", b"79193"), Content(("age",), 79193, (1, 5, 9))),
        Tally(numbers, numbers),
        Tally.among(numbers, numbers),
        Counts({0: Tally(numbers, numbers)}),
        PersonCodes(numbers, 5),
        Rows(numbers, numbers),
        *(sql, ByValue(lambda _: [numbers]), Facts(sql, ("age",), [], lambda _: [numbers])),
        *(HistogramCounter(sql, plan, b"79193"), ContingencyCounter(sql, plan)),
        *(MarginalCounter(sql, MarginalPlan(())),),
    ]
    for each in held:
        assert repr(each) == str(each) == f"{type(each).__name__}(...)"
    table = open_table(PRIVATE, "private")
    assert leaked(repr(table)) == []
    assert "frame" not in repr(table).replace("private_frame", "").replace("private frame", "")
