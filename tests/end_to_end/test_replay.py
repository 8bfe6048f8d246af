"""A question is paid for once: asked again it is replayed, whatever it is called or spelled."""

import csv
import json
from collections.abc import Callable, Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import pqd
from pqd.accounting.accounts import Budget
from pqd.accounting.ledger import Ledger
from pqd.accounting.ledger_location import FILE_NAME
from pqd.engine.duckdb import DuckDBEngine
from pqd.engine.tables import Table
from pqd.errors import BudgetError, RunError
from tests.support.likeness import like

Ran = tuple[int, str, str]
Report = dict[str, Any]
Rows = Sequence[tuple[str, ...]]

NAMES = ("age", "sex", "pay")
PRIVATE = [(str(n % 60), "fm"[n % 2], str(n * 7 % 40)) for n in range(120)]
SYNTHETIC = [(str(n % 55), "mf"[n % 2], str(n * 3 % 40)) for n in range(120)]
SQL = "SELECT COUNT(*) FROM D WHERE age > 30 AND sex = 'f' AND pay < 35"
SUM = "SELECT SUM(pay) FROM D"
# What --epsilon says, exactly.
PRICE = Fraction(1, 3)


def written(path: Path, rows: Rows, names: tuple[str, ...] = NAMES) -> str:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([names, *rows])
    return str(path)


class Asking:
    """The command line on one pair of tables and one ledger."""

    def __init__(self, folder: Path, command: Callable[..., Ran]) -> None:
        self._command = command
        self.path = folder / "ledger.sqlite"
        self.private = written(folder / "private.csv", PRIVATE)
        self.synthetic = written(folder / "synthetic.csv", SYNTHETIC)

    def arguments(self, *sql: str, **options: str) -> list[str]:
        """Return a command; ``private`` and ``synthetic`` are files, the rest are options.

        What begins with ``--`` is no query.
        """
        flags = [text for text in sql if text.startswith("--")]
        sql = tuple(text for text in sql if text not in flags)
        tables = [options.pop(name, getattr(self, name)) for name in ("private", "synthetic")]
        terms = {"tau": "5", "epsilon": "1/3", "decider": "inv_count", "json": "-"} | options
        texts = [part for text in sql or (SQL,) for part in ("-q", text)]
        pairs = (part for name, value in terms.items() for part in (f"--{name}", value))
        return ["audit", *tables, *texts, *pairs, *flags]

    def run(self, *arguments: str) -> Ran:
        return self._command(*arguments)

    def __call__(self, *sql: str, **options: str) -> Report:
        code, out, err = self.run(*self.arguments(*sql, **options))
        assert (code, err) == (0, "")
        return dict(json.loads(out))

    @property
    def spent(self) -> Fraction:
        with closing(Ledger(self.path)) as ledger:
            return sum((account.epsilon for account in ledger.accounts), Fraction(0))

    @property
    def entries(self) -> int:
        with closing(Ledger(self.path)) as ledger:
            return len(ledger.entries)


@pytest.fixture
def ask(tmp_path: Path, command: Callable[..., Ran]) -> Asking:
    return Asking(tmp_path, command)


def drawn(report: Report) -> list[tuple[Any, ...]]:
    """Return what chance took part in."""
    return [(v["outcome"], v["p_value"], v["margin"]) for v in report["verdicts"]]


def replayed(report: Report) -> list[bool]:
    return [verdict["replayed"] for verdict in report["verdicts"]]


def test_two_processes_give_one_verdict(ask: Asking, process: Callable[..., Ran]) -> None:
    runs = [process("-m", "pqd", *ask.arguments()) for _ in range(2)]
    assert [(code, err) for code, _, err in runs] == [(0, "")] * 2
    first, second = (json.loads(out) for _, out, _ in runs)
    assert (replayed(first), replayed(second)) == ([False], [True])
    assert drawn(first) == drawn(second)
    assert [report["spent_epsilon"] for report in (first, second)] == [float(PRICE), 0]
    assert [report["cost"]["total"] for report in (first, second)] == [float(PRICE)] * 2
    # All else of the verdict is the same too.
    for report in (first, second):
        del report["verdicts"][0]["replayed"]
    assert first["verdicts"] == second["verdicts"]
    assert ask.spent == PRICE


def test_a_replay_writes_nothing_and_says_so(ask: Asking) -> None:
    ask()
    before = ask.path.read_bytes()
    code, out, err = ask.run(*ask.arguments()[:-2])
    assert (code, err) == (0, "")
    assert "replayed" in out
    assert "Spent epsilon 0" in " ".join(out.split())
    assert ask.path.read_bytes() == before


REWRITTEN = {
    "small letters": SQL.lower(),
    "spacing": SQL.replace(" ", "\n\t "),
    "another order": "SELECT COUNT(*) FROM D WHERE pay < 35 AND age > 30 AND sex = 'f'",
    "quoted": SQL.replace("age", '"AGE"'),
    "another name of D": SQL.replace("FROM D", "FROM people"),
    "twice the same": f"{SQL} AND age > 30",
    "nested": "SELECT COUNT(*) FROM D WHERE age > 30 AND (pay < 35 AND sex = 'f')",
    "a comment": f"{SQL} -- again",
}


@pytest.mark.parametrize("how", REWRITTEN)
def test_a_rewritten_question_is_replayed(ask: Asking, how: str) -> None:
    first, second = ask(), ask(REWRITTEN[how])
    assert replayed(second) == [True]
    assert drawn(second) == drawn(first)
    assert ask.spent == PRICE


@pytest.mark.parametrize("options", [{"alpha": "0.2"}, {"epsilon": "2/6"}, {"tau": "5.0"}])
def test_terms_that_mean_the_same_are_replayed(ask: Asking, options: dict[str, str]) -> None:
    first, second = ask(), ask(**options)
    assert replayed(second) == [True]
    assert drawn(second) == drawn(first)
    assert ask.spent == PRICE


def test_another_id_is_replayed(ask: Asking, tmp_path: Path) -> None:
    first = ask()
    file = tmp_path / "queries.sql"
    file.write_text(f"-- id: women\n{SQL};\n", encoding="utf-8")
    code, out, _ = ask.run(
        *("audit", ask.private, ask.synthetic, "--queries", str(file), "--tau", "5"),
        *("--epsilon", "1/3", "--decider", "inv_count", "--json", "-"),
    )
    second = json.loads(out)
    assert code == 0
    assert second["verdicts"][0]["id"] == "women"
    assert (replayed(second), drawn(second)) == ([True], drawn(first))
    assert ask.spent == PRICE


@pytest.fixture
def copies(tmp_path: Path) -> dict[str, str]:
    """Private tables that hold the same rows."""
    folder = tmp_path / "copies"
    folder.mkdir()
    turned = [(pay, age, sex) for age, sex, pay in PRIVATE]
    frame = pd.DataFrame(PRIVATE, columns=list(NAMES))
    frame.to_parquet(folder / "as.parquet")
    frame.to_csv(folder / "packed.csv.gz", index=False)
    return {
        "renamed": written(folder / "renamed.csv", PRIVATE),
        "reordered": written(folder / "reordered.csv", PRIVATE[::-1]),
        "turned": written(folder / "turned.csv", turned, ("pay", "age", "sex")),
        "Parquet": str(folder / "as.parquet"),
        "packed": str(folder / "packed.csv.gz"),
    }


def test_a_copy_of_the_private_table_is_replayed(ask: Asking, copies: dict[str, str]) -> None:
    first = ask()
    for name, path in copies.items():
        second = ask(private=path)
        assert (replayed(second), drawn(second)) == ([True], drawn(first)), name
    assert ask.spent == PRICE


def test_a_synthetic_table_that_answers_alike_is_replayed(ask: Asking, tmp_path: Path) -> None:
    first = ask()
    alike = written(tmp_path / "alike.csv", [*SYNTHETIC[::-1], ("0", "m", "0")])
    assert (replayed(second := ask(synthetic=alike)), drawn(second)) == ([True], drawn(first))
    assert ask.spent == PRICE


DIFFERENT: dict[str, dict[str, str]] = {
    "tau": {"tau": "6"},
    "epsilon": {"epsilon": "0.3333"},
    "decider": {"decider": "lm_count"},
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_other_terms_are_paid(ask: Asking, what: str) -> None:
    ask()
    other = ask(**DIFFERENT[what])
    assert replayed(other) == [False]
    assert ask.spent == PRICE + Fraction(DIFFERENT[what].get("epsilon", PRICE))
    # Both are known from now on.
    assert replayed(ask()) == replayed(ask(**DIFFERENT[what])) == [True]


def test_another_question_is_paid(ask: Asking) -> None:
    ask()
    for number, sql in enumerate((SQL.replace("30", "31"), SQL.replace("AND", "OR"), f"{SQL} + 0")):
        assert replayed(ask(sql)) == [False]
        assert ask.spent == (number + 2) * PRICE


def test_other_bounds_are_paid(ask: Asking) -> None:
    terms = {"decider": "inv_sum", "tau": "100"}
    assert replayed(ask(SUM, bounds="pay=0:40", **terms)) == [False]
    assert replayed(ask(SUM, bounds="pay=0:40", **terms)) == [True]
    for number, bounds in enumerate(("pay=0:41", "pay=-1:40", "pay=0:40:1/2")):
        assert replayed(ask(SUM, bounds=bounds, **terms)) == [False]
        assert ask.spent == (number + 2) * PRICE


def test_another_synthetic_answer_is_paid(ask: Asking, tmp_path: Path) -> None:
    ask()
    other = written(tmp_path / "other.csv", [*SYNTHETIC, ("50", "f", "1")])
    assert replayed(ask(synthetic=other)) == [False]
    assert ask.spent == 2 * PRICE


def test_another_private_table_is_paid_by_itself(ask: Asking, tmp_path: Path) -> None:
    ask()
    changed = [*PRIVATE[:-1], (*PRIVATE[-1][:2], "41")]
    other = written(tmp_path / "other.csv", changed)
    assert replayed(found := ask(private=other)) == [False]
    assert found["cost"]["total"] == float(PRICE)
    with closing(Ledger(ask.path)) as ledger:
        assert [account.epsilon for account in ledger.accounts] == [PRICE, PRICE]


def test_fresh_pays_again(ask: Asking) -> None:
    ask()
    fresh = ask("--fresh")
    assert replayed(fresh) == [False]
    assert fresh["spent_epsilon"] == float(PRICE)
    assert ask.spent == 2 * PRICE
    # From now on the newer verdict is the one that is known.
    assert drawn(ask()) == drawn(fresh)
    assert ask.spent == 2 * PRICE


def test_one_question_twice_in_one_run_is_paid_once(ask: Asking) -> None:
    report = ask(SQL, SQL.lower(), SQL)
    assert replayed(report) == [False, True, True]
    assert len(set(drawn(report))) == 1
    assert ask.spent == PRICE
    assert replayed(fresh := ask(SQL, SQL, "--fresh")) == [False, True]
    assert len(set(drawn(fresh))) == 1
    assert ask.spent == 2 * PRICE


def test_only_what_is_new_is_paid(ask: Asking) -> None:
    first = ask()
    both = ask(SQL, SUM, decider="auto", tau="5")
    assert replayed(both) == [True, False]
    assert drawn(both)[0] == drawn(first)[0]
    assert ask.spent == 2 * PRICE


def test_a_replay_needs_no_budget(ask: Asking) -> None:
    first = ask()
    for limit in ("1/3", "0.1"):
        assert ask.run("ledger", "limit", str(ask.path), limit)[0] == 0
        before = ask.path.read_bytes()
        assert (replayed(again := ask()), drawn(again)) == ([True], drawn(first))
        for sql in ((SUM,), (SQL, SUM)):
            code, out, err = ask.run(*ask.arguments(*sql, decider="auto"))
            assert (code, out) == (4, "")
            assert "0 left" in err
        code, out, err = ask.run(*ask.arguments("--fresh"))
        assert (code, out) == (4, "")
        assert ask.path.read_bytes() == before
    assert ask.run("ledger", "limit", str(ask.path), "2/3")[0] == 0
    ask(SUM, decider="auto")
    assert ask.spent == 2 * PRICE


def test_a_settled_question_costs_nothing(ask: Asking) -> None:
    # Within these bounds every sum is 0.
    report = ask("SELECT SUM(pay) FROM D", bounds="pay=0:0", decider="inv_sum", tau="1")
    assert report["spent_epsilon"] == 0
    assert [verdict["epsilon"] for verdict in report["verdicts"]] == [0]
    assert [verdict["outcome"] for verdict in report["verdicts"]] == ["yes"]
    assert ask.spent == ask.entries == 0
    assert ask.run("ledger", "limit", str(ask.path), "1e-9")[0] == 0
    assert drawn(ask(SUM, bounds="pay=0:0", decider="inv_sum", tau="1")) == drawn(report)


def test_check_and_audit_share_what_is_known(ask: Asking, tmp_path: Path) -> None:
    first = ask()
    spec = tmp_path / "audit.toml"
    spec.write_text(
        f"""
        [private]
        path = "private.csv"
        [synthetic.copy]
        path = "synthetic.csv"
        [budget]
        epsilon = "1/3"
        [[check]]
        id = "women"
        sql = "{SQL}"
        tau = 5
        epsilon = "1/3"
        decider = "inv_count"
        """,
        encoding="utf-8",
    )
    before = ask.path.read_bytes()
    report = pqd.check(spec, ledger=ask.path)
    verdicts = [verdict for entry in report.checks for verdict in entry.verdicts]
    assert [(v.replayed, (v.outcome, v.p_value, v.margin)) for v in verdicts] == [
        (True, drawn(first)[0])
    ]
    assert ask.path.read_bytes() == before
    spec.write_text(spec.read_text(encoding="utf-8").replace("30", "29"), encoding="utf-8")
    assert ask.run("check", str(spec))[0] == 4
    assert ask.path.read_bytes() == before


# In Python ---------------------------------------------------------------------------------------


def frame(rows: Rows) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(NAMES))


def test_python_and_the_command_line_share_what_is_known(ask: Asking, tmp_path: Path) -> None:
    first = ask()
    terms: dict[str, Any] = {"tau": 5, "epsilon": PRICE, "decider": "inv_count"}
    for private, ledger in (
        (ask.private, str(ask.path)),
        (frame(PRIVATE), ask.path),
        (frame(PRIVATE), None),
    ):
        report = pqd.audit(private, ask.synthetic, SQL, ledger=ledger, **terms)
        (verdict,) = report.verdicts
        assert verdict.replayed
        assert [(verdict.outcome, verdict.p_value, verdict.margin)] == drawn(first)
        assert report.spent == 0
    # Another ledger knows nothing of it; a custodian keeps one.
    other = tmp_path / "other.sqlite"
    assert (
        not pqd.audit(ask.private, ask.synthetic, SQL, ledger=other, **terms).verdicts[0].replayed
    )
    assert ask.spent == PRICE


def test_the_ledger_lies_beside_the_table_by_default(
    ask: Asking, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PQD_LEDGER")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    ask()
    assert (tmp_path / FILE_NAME).exists()
    assert not any(elsewhere.iterdir())
    link = elsewhere / "link.csv"
    link.symlink_to(ask.private)
    assert replayed(ask(private=str(link))) == [True]
    pqd.audit(frame(PRIVATE), ask.synthetic, SQL, tau=5, epsilon=1)
    assert sorted(path.name for path in elsewhere.iterdir()) == ["link.csv", FILE_NAME]


def test_fresh_in_python(ask: Asking) -> None:
    terms: dict[str, Any] = {"tau": 5, "epsilon": PRICE, "ledger": ask.path}
    for fresh, known in ((False, False), (False, True), (True, False), (False, True)):
        report = pqd.audit(ask.private, ask.synthetic, SQL, fresh=fresh, **terms)
        assert [verdict.replayed for verdict in report.verdicts] == [known]
    assert ask.spent == 2 * PRICE


# What must not cost ------------------------------------------------------------------------------

WRONG: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "no SQL": (("SELECT",), {}),
    "a join": (("SELECT COUNT(*) FROM D JOIN E USING (a)",), {}),
    "one bad of two": ((SQL, "SELECT COUNT(*) FROM D WHERE random() > 0.5"), {}),
    "a missing column": ((SQL, "SELECT COUNT(*) FROM D WHERE wage > 1"), {}),
    "a wrong kind": (("SELECT SUM(sex) FROM D",), {}),
    "no tau": ((SQL,), {"tau": "much"}),
    "a negative tau": ((SQL,), {"tau": "-1"}),
    "no epsilon": ((SQL,), {"epsilon": "0"}),
    "no alpha": ((SQL,), {"alpha": "2"}),
    "no decider": ((SQL,), {"decider": "best"}),
    "a decider of others": ((SQL,), {"decider": "inv_sum"}),
    "no bounds": ((SUM,), {"bounds": "pay=9:1"}),
    "no private table": ((SQL,), {"private": "missing.csv"}),
    "no synthetic table": ((SQL,), {"synthetic": "missing.csv"}),
    "no unit": ((SQL,), {"unit": "person"}),
    "no place for the report": ((SQL,), {"json": "missing/report.json"}),
}


@pytest.mark.parametrize("what", WRONG)
def test_an_error_of_use_makes_no_ledger_and_no_charge(ask: Asking, what: str) -> None:
    texts, options = WRONG[what]
    code, out, err = ask.run(*ask.arguments(*texts, **options))
    assert (code, out) == (2, ""), err
    assert not ask.path.exists()
    ask()
    before = ask.path.read_bytes()
    assert ask.run(*ask.arguments(*texts, **options))[0] == 2
    assert ask.path.read_bytes() == before


def test_a_missing_private_column_makes_no_charge(ask: Asking, tmp_path: Path) -> None:
    narrow = written(tmp_path / "narrow.csv", [row[:2] for row in PRIVATE], NAMES[:2])
    code, out, err = ask.run(*ask.arguments(private=narrow))
    assert (code, out) == (2, "")
    assert '"pay" is in the synthetic table but not in the private one' in err
    assert not ask.path.exists()


def test_over_budget_is_refused_as_a_whole(ask: Asking) -> None:
    with closing(Ledger(ask.path)) as ledger:
        ledger.set_limit(Budget(2 * PRICE))
    texts = [SQL.replace("30", str(age)) for age in (30, 31, 32)]
    code, out, err = ask.run(*ask.arguments(*texts))
    assert (code, out) == (4, "")
    assert "Nothing was spent." in err
    assert [ask.spent, ask.entries] == [0, 1]
    assert replayed(ask(*texts[:2])) == [False, False]
    assert ask.spent == 2 * PRICE


def test_a_table_that_cannot_be_read_makes_no_charge(ask: Asking, tmp_path: Path) -> None:
    broken = tmp_path / "broken.parquet"
    frame(PRIVATE).to_parquet(broken)
    whole = broken.read_bytes()
    ask()
    before = ask.path.read_bytes()
    # The footer stands, the rows do not.
    broken.write_bytes(bytes(4) + b"\xff" * 400 + whole[404:])
    code, out, err = ask.run(*ask.arguments(private=str(broken)))
    assert (code, out) == (3, "")
    assert "could not be read to its end" in err
    assert ask.path.read_bytes() == before


def test_planning_makes_no_ledger(ask: Asking) -> None:
    code, _, err = ask.run("plan", ask.synthetic, "-q", SQL, "--tau", "5", "--epsilon", "1/3")
    assert (code, err) == (0, "")
    assert not ask.path.exists()
    code, _, err = ask.run("ledger", "show", str(ask.path))
    assert code == 2
    assert "nothing was charged there yet" in err
    assert not ask.path.exists()


def test_a_table_that_changes_while_it_is_recognised_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the digest of one table would be bound to the account of another."""
    private, copy = tmp_path / "private.csv", tmp_path / "copy.csv"
    for path, end in ((private, ",1"), (copy, "")):
        rows = (f"{age}{end}\n" for age in ("age", *(n % 60 for n in range(500))))
        path.write_text("".join(rows), encoding="utf-8")
    before = DuckDBEngine.content

    def swapped(engine: DuckDBEngine, table: Table, key: bytes) -> str:
        found = before(engine, table, key)
        private.write_text("age\n1\n2\n", encoding="utf-8")
        return found

    monkeypatch.setattr(DuckDBEngine, "content", swapped)
    ledger = tmp_path / "own.sqlite"
    asked = ("SELECT COUNT(*) FROM D WHERE age > 3",)
    with pytest.raises(RunError, match="changed while it was read"):
        pqd.audit(private, copy, asked, tau=5, epsilon=1, ledger=ledger)
    assert not Ledger(ledger).accounts, "nothing was spent"
    monkeypatch.setattr(DuckDBEngine, "content", before)
    report = pqd.audit(private, copy, asked, tau=5, epsilon=1, ledger=ledger)
    assert report.verdicts[0].outcome == "no"
    assert report.spent == 1


def test_a_table_that_changes_after_the_charge_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private, copy = tmp_path / "private.csv", tmp_path / "copy.csv"
    private.write_text("age\n1\n2\n4\n", encoding="utf-8")
    copy.write_text("age\n1\n2\n3\n", encoding="utf-8")
    before = DuckDBEngine.histograms

    def swapped(engine: DuckDBEngine, table: Table, *rest: Any) -> Any:
        found = before(engine, table, *rest)
        if table.role == "private":
            private.write_text("age\n7\n8\n9\n", encoding="utf-8")
        return found

    monkeypatch.setattr(DuckDBEngine, "histograms", swapped)
    ledger = tmp_path / "own.sqlite"
    with pytest.raises(RunError, match="changed while it was read"):
        pqd.audit(private, copy, "SELECT COUNT(*) FROM D", tau=5, epsilon=1, ledger=ledger)
    (account,) = Ledger(ledger).accounts
    assert account.epsilon == 1, "the charge stays"
    assert not account.answers, "no answer is kept"


def test_one_account_protects_rows_or_persons_not_both(tmp_path: Path) -> None:
    table = pd.DataFrame({"id": [n // 3 for n in range(300)], "age": [n % 60 for n in range(300)]})
    private, ledger = like(table), tmp_path / "own.sqlite"
    asked: dict[str, Any] = {"tau": 5, "epsilon": 1, "ledger": ledger}
    sql = "SELECT COUNT(*) FROM D WHERE age > 3"
    pqd.audit(private, table, sql, **asked)
    with pytest.raises(BudgetError, match='protects per row, and this run would protect per "id"'):
        pqd.audit(private, table, sql, unit="id", **asked)
    assert Ledger(ledger).accounts[0].epsilon == 1
    other = asked | {"ledger": tmp_path / "other.sqlite"}
    pqd.audit(private, table, sql, unit="id", **other)
    pqd.audit(private, table, "SELECT AVG(age) FROM D", unit="ID", max_rows=2, **other)
    with pytest.raises(BudgetError, match='protects per "ID", and this run would protect per row'):
        pqd.audit(private, table, sql, **other)


def test_cells_that_read_otherwise_in_every_process_do_not_count(tmp_path: Path) -> None:
    class Odd:
        pass

    def frame() -> pd.DataFrame:
        cells = [{"a", "b", "c"}, Odd(), [Odd()], object(), [1, "x"]]
        return pd.DataFrame({"age": range(5), "odd": pd.Series(cells, dtype=object)})

    asked: dict[str, Any] = {"tau": 5, "epsilon": 1, "ledger": tmp_path / "own.sqlite"}
    first = pqd.audit(frame(), like(frame()), "SELECT COUNT(*) FROM D", **asked)
    second = pqd.audit(frame(), like(frame()), "SELECT COUNT(*) FROM D", **asked)
    assert first.spent == 1
    assert second.spent == 0
