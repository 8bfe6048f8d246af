"""Cells of a copy that do not fit their kind: refused if none does, warned of if some do not."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pqd
from pqd.commands.audit import run_audit
from pqd.deciders import SimulatedNoise
from pqd.deciders.note import WARNING
from pqd.errors import PqdError, QueryError, TableError
from pqd.parameters import Parameters
from pqd.sql.workload_files import as_queries

COUNT = "SELECT COUNT(*) FROM D"
ROWS = 40


def written(path: Path, income: list[str], born: list[str]) -> Path:
    rows = "".join(f"{a};{b}\n" for a, b in zip(income, born, strict=True))
    path.write_text(f"income;born\n{rows}", encoding="utf-8")
    return path


@pytest.fixture
def german(tmp_path: Path) -> Path:
    """File as a spreadsheet writes it in many countries."""
    days = [f"{n % 28 + 1:02}.03.19{n + 40}" for n in range(ROWS)]
    return written(tmp_path / "copy.csv", [f"{n}.234,5" for n in range(1, ROWS + 1)], days)


@pytest.mark.parametrize("kind", ["number", "text", "boolean"])
def test_days_that_python_lacks_are_of_another_kind(kind: str, tmp_path: Path) -> None:
    """Days after the year 9999."""
    days = pa.array([5_000_000, 6_000_000], pa.int32()).view(pa.date32())
    pq.write_table(pa.table({"born": days}), tmp_path / "copy.parquet")
    facts = {"born": {"type": kind}}

    def plan() -> object:
        return pqd.plan(
            tmp_path / "copy.parquet", "SELECT COUNT(born) FROM D", tau=1, columns=facts
        )

    if kind == "text":
        assert plan() is not None
    else:
        with pytest.raises(TableError, match=r"reads as .*'15659-07-15'"):
            plan()


STATED = {"income": {"type": "number"}, "born": {"type": "time"}}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("income", r"no.* 40 cells .*reads as a number.*'1\.234,5' with a decimal comma"),
        ("born", r"no.* 40 cells .*reads as a day or time.*'01\.03\.1940' with the day first"),
    ],
)
def test_a_kind_that_no_cell_of_the_copy_fits_is_refused(
    name: str, words: str, german: Path, tmp_path: Path
) -> None:
    """Such a column is NULL in both tables: whatever is asked of it would be trusted."""
    private = written(tmp_path / "private.csv", ["7,5"] * ROWS, ["13.05.1972"] * ROWS)
    facts, ledger = {name: STATED[name]}, tmp_path / "ledger.sqlite"
    sql = f"SELECT COUNT({name}) FROM D"
    runs: list[Callable[[], object]] = [
        lambda: pqd.plan(german, sql, tau=5, columns=facts),
        lambda: pqd.audit(private, german, sql, tau=5, epsilon=1, columns=facts, ledger=ledger),
        lambda: pqd.profile(private, german, facts=facts, ledger=ledger),
        lambda: pqd.compare(
            private, {"a": german}, sql, tau=5, epsilon=1, columns=facts, ledger=ledger
        ),
        lambda: pqd.release(private, german, sql, total_epsilon=1, columns=facts, ledger=ledger),
    ]
    for run in runs:
        with pytest.raises(TableError, match=words):
            run()
    assert not ledger.exists()


def test_some_cells_that_do_not_fit_are_warned_of_before_anything_is_spent(tmp_path: Path) -> None:
    income = [str(n) for n in range(ROWS - 2)] + ["7,5", "x"]
    copy = written(tmp_path / "copy.csv", income, ["1980-12-24"] * ROWS)
    private = written(tmp_path / "private.csv", ["7"] * ROWS, ["1980-12-24"] * ROWS)
    told: list[str] = []
    report = run_audit(
        private,
        copy,
        as_queries(f"{COUNT} WHERE income > 3"),
        Parameters.parse(tau=5, epsilon=1, alpha=0.05, columns={"income": {"type": "number"}}),
        SimulatedNoise(1),
        lambda stage, *_: told.append(str(stage)),
    )
    (warning,) = [note for note in map(str, report.notes) if note.startswith("Warning")]
    assert warning in told
    assert (
        '"income" counts as number, but 2 of its 40 cells in copy.csv read as no number' in warning
    )


def test_a_copy_whose_column_is_empty_is_no_mistake_of_a_kind(tmp_path: Path) -> None:
    copy = written(tmp_path / "copy.csv", [""] * ROWS, ["x"] * ROWS)
    report = pqd.plan(
        copy, f"{COUNT} WHERE income > 3", tau=5, columns={"income": {"type": "number"}}
    )
    assert not [note for note in map(str, report.notes) if note.startswith(WARNING)]


def test_numbers_and_days_that_are_text_are_named(german: Path) -> None:
    with pytest.raises(QueryError, match=r"SUM needs a number(?s:.*)'1\.234,5'; state .*decimal="):
        pqd.plan(german, "SELECT SUM(income) FROM D", tau=5)
    with pytest.raises(QueryError, match=r"born is text(?s:.*)state .*%d\.%m\.%Y"):
        pqd.plan(german, f"{COUNT} WHERE born > DATE '1980-01-01'", tau=5)
    (note,) = map(str, pqd.plan(german, f"{COUNT} WHERE born LIKE '%1940'", tau=5).notes)
    assert note.startswith(
        'Warning: "born" is text in copy.csv: its days are written in another form'
    )


@pytest.mark.parametrize("income", ["1.5.3", "0012", "a,5", "1,5,", "1,5.2", "x"])
def test_other_texts_are_not_named(income: str, tmp_path: Path) -> None:
    copy = written(tmp_path / "copy.csv", [*[income] * (ROWS - 1), "word"], ["1"] * ROWS)
    report = pqd.plan(copy, f"{COUNT} WHERE income = 'word'", tau=5)
    assert not [note for note in map(str, report.notes) if note.startswith(WARNING)]


def test_a_candidate_none_of_whose_cells_fit_the_first_ones_kind_is_refused(
    german: Path, tmp_path: Path
) -> None:
    numbers = written(tmp_path / "numbers.csv", list(map(str, range(ROWS))), ["x"] * ROWS)
    private = written(tmp_path / "private.csv", list(map(str, range(ROWS))), ["y"] * ROWS)
    with pytest.raises(PqdError, match="none of its 40 cells in b reads as a number"):
        pqd.compare(
            private,
            {"a": numbers, "b": german},
            "SELECT COUNT(income) FROM D",
            tau=5,
            epsilon=1,
            ledger=tmp_path / "ledger.sqlite",
        )
