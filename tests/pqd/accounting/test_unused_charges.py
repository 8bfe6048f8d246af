"""Charges of runs that broke before their first draw: used again once, by the same questions."""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from pqd.accounting.accountant import Accountant
from pqd.accounting.accounts import Budget
from pqd.accounting.charge_report import run_charges
from pqd.accounting.hash_chain import HashChain
from pqd.accounting.ledger import Ledger
from pqd.commands.audit import run_audit
from pqd.deciders.note import Note
from pqd.errors import LedgerError, LostLedgerError, RunError
from pqd.parameters import Parameters
from pqd.progress import Step
from pqd.reports.models.audit import AuditReport
from pqd.sql.workload_files import as_queries
from tests.support.noises import Watched

SPENT = "Epsilon 1/3 .0.333. was charged and stays charged .pqd ledger show.; a repeated run"


class Files:
    """A private table in a file, its copy, and a ledger."""

    def __init__(self, folder: Path) -> None:
        self.private, self.copy, self.path = folder / "p.csv", folder / "c.csv", folder / "l.sqlite"
        self.rows = [f"{age},1" for age in range(50)]
        self.write(self.rows)
        self.copy.write_text("\n".join(["age", *map(str, range(50))]), encoding="utf-8")

    def write(self, rows: Sequence[str]) -> None:
        self.private.write_text("\n".join(["age,aside", *rows]) + "\n", encoding="utf-8")

    def audit(
        self,
        queries: int = 1,
        *,
        reading: Callable[[], object] = bool,
        drawing: Callable[[], object] = bool,
        **accountant: Any,
    ) -> AuditReport:
        """Audit; ``reading`` is called once the charge is there, ``drawing`` at the first draw."""

        def progress(stage: Step | Note, done: int = 0, total: int = 0) -> None:
            del done, total
            if stage == Step.READING_PRIVATE:
                reading()

        workload = [f"SELECT COUNT(*) FROM D WHERE age > {number}" for number in range(queries)]
        terms = Parameters.parse(tau=5, epsilon="1/3", alpha="0.05", mechanism="auto", columns=None)
        return run_audit(
            str(self.private),
            str(self.copy),
            as_queries(workload),
            terms,
            Watched(drawing),
            progress,
            accountant=Accountant(self.path, **accountant),
        )

    def touch(self) -> None:
        """Write the same rows anew."""
        self.write(self.rows)

    def kinds(self) -> list[str]:
        with closing(Ledger(self.path)) as ledger:
            return [entry.body["kind"] for entry in ledger.entries]

    def spent(self) -> list[Fraction]:
        with closing(Ledger(self.path)) as ledger:
            return [account.epsilon for account in ledger.accounts]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


UNUSED = r"Epsilon 1/3 .0.333. was charged and stays charged \(pqd ledger show\), but nothing was"


def interrupt() -> None:
    raise KeyboardInterrupt


def test_a_charge_of_which_nothing_was_drawn_is_used_by_the_same_questions(files: Files) -> None:
    with pytest.raises(RunError, match=f"table changed while it was read.*{UNUSED}"):
        files.audit(reading=files.touch)
    assert files.kinds() == ["dataset", "table", "charge", "unused"]
    # And again, however often, at a limit that reaches for one charge.
    limit = Budget(Fraction(1, 3))
    with pytest.raises(RunError, match=f"table changed while it was read.*{UNUSED}"):
        files.audit(reading=files.touch, budget=limit)
    report = files.audit(budget=limit)
    assert files.kinds() == [
        "dataset",
        "table",
        "charge",
        "unused",
        "used",
        "unused",
        "used",
        "answers",
    ]
    assert files.spent() == [Fraction(1, 3)] == [report.cost.total]
    assert report.spent == 0
    (earlier,) = report.cost.earlier
    assert (earlier.number, earlier.epsilon) == (1, Fraction(1, 3))
    assert not report.verdicts[0].replayed
    # Drawn, the charge pays for nothing more.
    again = files.audit(fresh=True)
    assert again.spent == Fraction(1, 3)
    assert files.spent() == [Fraction(2, 3)]


def test_an_interrupt_before_the_first_draw_leaves_the_charge_unused(files: Files) -> None:
    with pytest.raises(KeyboardInterrupt):
        files.audit(reading=interrupt)
    assert files.kinds() == ["dataset", "table", "charge", "unused"]
    assert files.audit().spent == 0


@pytest.mark.parametrize(
    ("statement", "done", "charged"),
    [("INSERT", True, False), ("COMMIT", False, True), ("COMMIT", True, True)],
)
def test_an_interrupt_of_the_charge_tells_of_it_if_it_may_be_there(
    statement: str, done: bool, charged: bool, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute = HashChain._execute

    def interrupted(chain: HashChain, sql: str, *values: object) -> sqlite3.Cursor:
        if done or not sql.startswith(statement):
            cursor = execute(chain, sql, *values)
        if sql.startswith(statement):
            raise KeyboardInterrupt
        return cursor

    with monkeypatch.context() as patch:
        patch.setattr(HashChain, "_execute", interrupted)
        with pytest.raises(KeyboardInterrupt):
            files.audit()
    assert run_charges().epsilon == Fraction(int(charged), 3)
    assert files.spent() == [Fraction(1, 3)] * (statement == "COMMIT" and done)


def test_a_charge_stays_spent_from_the_first_draw_on(files: Files) -> None:
    with pytest.raises(KeyboardInterrupt):
        files.audit(queries=3, drawing=interrupt)
    assert files.kinds() == ["dataset", "table", "charge"]
    assert files.audit(queries=3).spent == 1
    assert files.spent() == [2]


def test_other_questions_do_not_use_an_unused_charge(files: Files) -> None:
    with pytest.raises(RunError):
        files.audit(queries=2, reading=files.touch)
    for queries in (1, 3):
        assert files.audit(queries=queries, fresh=True).spent == Fraction(queries, 3)
    assert files.spent() == [2]


def test_a_changed_table_is_charged_anew(files: Files) -> None:
    with pytest.raises(RunError, match="table changed while it was read"):
        files.audit(reading=lambda: files.write([*files.rows, "7,1"]))
    assert files.audit().spent == Fraction(1, 3)
    assert files.spent() == [Fraction(1, 3), Fraction(1, 3)]
    # The first table is still what was paid for.
    files.touch()
    assert files.audit().spent == 0
    assert files.spent() == [Fraction(1, 3), Fraction(1, 3)]


def test_a_charge_without_that_record_stays_spent(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "record_unused", no_record)
        with pytest.raises(RunError, match=SPENT):
            files.audit(reading=files.touch)
    assert files.kinds() == ["dataset", "table", "charge"]
    assert files.audit().spent == Fraction(1, 3)
    assert files.spent() == [Fraction(2, 3)]


def no_record(*_: object) -> None:
    raise LedgerError("the disk is full")


def test_two_runs_cannot_use_one_charge(files: Files) -> None:
    with pytest.raises(RunError):
        files.audit(reading=files.touch)
    second: list[AuditReport] = []
    # While the first has taken it, another asks the same and pays.
    first = files.audit(reading=lambda: second.append(files.audit()))
    assert [first.spent, second[0].spent] == [0, Fraction(1, 3)]
    assert files.spent() == [Fraction(2, 3)]


def test_a_ledger_put_back_while_a_run_draws_is_found_out(files: Files) -> None:
    files.audit()
    before = files.path.read_bytes()

    def put_back() -> None:
        with files.path.open("r+b") as file:
            file.write(before)
            file.truncate()

    with pytest.raises(LostLedgerError, match=r"no record. Nothing that it drew is shown"):
        files.audit(queries=2, drawing=put_back)
