"""A query is paid for once: repeated it is replayed, whatever it is called or spelled."""

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
from pqd.engine.counting.recognition import Content
from pqd.engine.synthetic_table import SyntheticTable
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
NUMBERS = "SELECT COUNT(*) FROM D WHERE age > 30 AND pay < 35"
SUM = "SELECT SUM(pay) FROM D"
# What --epsilon says, exactly.
PRICE = Fraction(1, 3)


def written(path: Path, rows: Rows, names: tuple[str, ...] = NAMES) -> str:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([names, *rows])
    return str(path)


class AuditRunner:
    """The command line on one pair of tables and one ledger."""

    def __init__(self, folder: Path, command: Callable[..., Ran]) -> None:
        self._command = command
        self.path = folder / "ledger.sqlite"
        self.private = written(folder / "private.csv", PRIVATE)
        self.synthetic = written(folder / "synthetic.csv", SYNTHETIC)

    def arguments(self, *sql: str, **options: str) -> list[str]:
        """Words of a command; ``private`` and ``synthetic`` are files, the rest are options.

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
def audit(tmp_path: Path, command: Callable[..., Ran]) -> AuditRunner:
    return AuditRunner(tmp_path, command)


def drawn(report: Report) -> list[tuple[Any, ...]]:
    """Facts in which chance took part."""
    return [(v["outcome"], v["p_value"], v["margin"]) for v in report["verdicts"]]


def replayed(report: Report) -> list[bool]:
    return [verdict["replayed"] for verdict in report["verdicts"]]


def test_two_processes_give_one_verdict(audit: AuditRunner, process: Callable[..., Ran]) -> None:
    runs = [process("-m", "pqd", *audit.arguments()) for _ in range(2)]
    assert [(code, err) for code, _, err in runs] == [(0, "")] * 2
    first, second = (json.loads(out) for _, out, _ in runs)
    assert (replayed(first), replayed(second)) == ([False], [True])
    assert drawn(first) == drawn(second)
    assert [report["spent_epsilon"] for report in (first, second)] == [float(PRICE), 0]
    assert [report["cost"]["total"] for report in (first, second)] == [float(PRICE)] * 2
    # All else of the verdict is the same too.
    for report in (first, second):
        del report["verdicts"][0]["replayed"]
    assert first["cost"]["earlier"] == []
    (paid,) = second["cost"]["earlier"]
    assert (paid["number"], paid["epsilon"]) == (1, float(PRICE))
    assert first["verdicts"] == second["verdicts"]
    assert audit.spent == PRICE


def test_a_replay_writes_nothing_and_says_so(audit: AuditRunner) -> None:
    audit()
    before = audit.path.read_bytes()
    code, out, err = audit.run(*audit.arguments()[:-2])
    assert (code, err) == (0, "")
    assert "nothing spent: all replayed" in " ".join(out.split())
    assert audit.path.read_bytes() == before


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
def test_a_rewritten_query_is_replayed(audit: AuditRunner, how: str) -> None:
    first, second = audit(), audit(REWRITTEN[how])
    assert replayed(second) == [True]
    assert drawn(second) == drawn(first)
    assert audit.spent == PRICE


@pytest.mark.parametrize("options", [{"alpha": "0.2"}, {"epsilon": "2/6"}, {"tau": "5.0"}])
def test_terms_that_mean_the_same_are_replayed(audit: AuditRunner, options: dict[str, str]) -> None:
    first, second = audit(), audit(**options)
    assert replayed(second) == [True]
    assert drawn(second) == drawn(first)
    assert audit.spent == PRICE


def test_another_id_is_replayed(audit: AuditRunner, tmp_path: Path) -> None:
    first = audit()
    file = tmp_path / "queries.sql"
    file.write_text(f"-- id: women\n{SQL};\n", encoding="utf-8")
    code, out, _ = audit.run(
        *("audit", audit.private, audit.synthetic, "--queries", str(file), "--tau", "5"),
        *("--epsilon", "1/3", "--decider", "inv_count", "--json", "-"),
    )
    second = json.loads(out)
    assert code == 0
    assert second["verdicts"][0]["id"] == "women"
    assert (replayed(second), drawn(second)) == ([True], drawn(first))
    assert audit.spent == PRICE


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


def test_a_copy_of_the_private_table_is_replayed(
    audit: AuditRunner, copies: dict[str, str]
) -> None:
    texts, numbers = audit(), audit(NUMBERS)
    for name, path in copies.items():
        second = audit(NUMBERS, private=path)
        assert (replayed(second), drawn(second)) == ([True], drawn(numbers)), name
        if name != "Parquet":
            second = audit(private=path)
            assert (replayed(second), drawn(second)) == ([True], drawn(texts)), name
    assert audit.spent == 2 * PRICE
    # A text such as NA is a missing cell in CSV and a value in Parquet: the answers may differ.
    assert replayed(audit(private=copies["Parquet"])) == [False]
    assert audit.spent == 3 * PRICE


def test_a_synthetic_table_that_answers_alike_is_replayed(
    audit: AuditRunner, tmp_path: Path
) -> None:
    first = audit()
    alike = written(tmp_path / "alike.csv", [*SYNTHETIC[::-1], ("0", "m", "0")])
    assert (replayed(second := audit(synthetic=alike)), drawn(second)) == ([True], drawn(first))
    assert audit.spent == PRICE


DIFFERENT: dict[str, dict[str, str]] = {
    "tau": {"tau": "6"},
    "epsilon": {"epsilon": "0.3333"},
    "decider": {"decider": "lm_count"},
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_other_terms_are_paid(audit: AuditRunner, what: str) -> None:
    audit()
    other = audit(**DIFFERENT[what])
    assert replayed(other) == [False]
    assert audit.spent == PRICE + Fraction(DIFFERENT[what].get("epsilon", PRICE))
    # Both are known from now on.
    assert replayed(audit()) == replayed(audit(**DIFFERENT[what])) == [True]


def test_another_query_is_paid(audit: AuditRunner) -> None:
    audit()
    for number, sql in enumerate((SQL.replace("30", "31"), SQL.replace("AND", "OR"), f"{SQL} + 0")):
        assert replayed(audit(sql)) == [False]
        assert audit.spent == (number + 2) * PRICE


def test_other_bounds_are_paid(audit: AuditRunner) -> None:
    terms = {"decider": "inv_sum", "tau": "100"}
    assert replayed(audit(SUM, bounds="pay=0:40", **terms)) == [False]
    assert replayed(audit(SUM, bounds="pay=0:40", **terms)) == [True]
    for number, bounds in enumerate(("pay=0:41", "pay=-1:40", "pay=0:40:1/2")):
        assert replayed(audit(SUM, bounds=bounds, **terms)) == [False]
        assert audit.spent == (number + 2) * PRICE


def test_another_synthetic_answer_is_paid(audit: AuditRunner, tmp_path: Path) -> None:
    audit()
    other = written(tmp_path / "other.csv", [*SYNTHETIC, ("50", "f", "1")])
    assert replayed(audit(synthetic=other)) == [False]
    assert audit.spent == 2 * PRICE


def test_another_private_table_is_paid_by_itself(audit: AuditRunner, tmp_path: Path) -> None:
    audit()
    changed = [*PRIVATE[:-1], (*PRIVATE[-1][:2], "41")]
    other = written(tmp_path / "other.csv", changed)
    assert replayed(found := audit(private=other)) == [False]
    assert found["cost"]["total"] == float(PRICE)
    with closing(Ledger(audit.path)) as ledger:
        assert [account.epsilon for account in ledger.accounts] == [PRICE, PRICE]


def test_fresh_pays_again(audit: AuditRunner) -> None:
    audit()
    fresh = audit("--fresh")
    assert replayed(fresh) == [False]
    assert fresh["spent_epsilon"] == float(PRICE)
    assert audit.spent == 2 * PRICE
    # From now on the newer verdict is the one that is known.
    assert drawn(audit()) == drawn(fresh)
    assert audit.spent == 2 * PRICE


def test_one_query_twice_in_one_run_is_paid_once(audit: AuditRunner) -> None:
    report = audit(SQL, SQL.lower(), SQL)
    assert replayed(report) == [False, True, True]
    assert len(set(drawn(report))) == 1
    assert audit.spent == PRICE
    assert replayed(fresh := audit(SQL, SQL, "--fresh")) == [False, True]
    assert len(set(drawn(fresh))) == 1
    assert audit.spent == 2 * PRICE


def test_only_what_is_new_is_paid(audit: AuditRunner) -> None:
    first = audit()
    both = audit(SQL, SUM, decider="auto", tau="5")
    assert replayed(both) == [True, False]
    assert drawn(both)[0] == drawn(first)[0]
    assert audit.spent == 2 * PRICE


def test_a_replay_needs_no_budget(audit: AuditRunner) -> None:
    first = audit()
    for limit in ("1/3", "0.1"):
        assert audit.run("ledger", "limit", str(audit.path), limit)[0] == 0
        before = audit.path.read_bytes()
        assert (replayed(again := audit()), drawn(again)) == ([True], drawn(first))
        for sql in ((SUM,), (SQL, SUM)):
            code, out, err = audit.run(*audit.arguments(*sql, decider="auto"))
            assert (code, out) == (4, "")
            assert "0 left" in err
        code, out, err = audit.run(*audit.arguments("--fresh"))
        assert (code, out) == (4, "")
        assert audit.path.read_bytes() == before
    assert audit.run("ledger", "limit", str(audit.path), "2/3", "--raise")[0] == 0
    audit(SUM, decider="auto", tau="20")
    assert audit.spent == 2 * PRICE


def test_a_settled_query_costs_nothing(audit: AuditRunner) -> None:
    # Within these bounds every sum is 0.
    report = audit("SELECT SUM(pay) FROM D", bounds="pay=0:0", decider="inv_sum", tau="1")
    assert report["spent_epsilon"] == 0
    assert [verdict["epsilon"] for verdict in report["verdicts"]] == [0]
    assert [verdict["outcome"] for verdict in report["verdicts"]] == ["yes"]
    assert audit.spent == audit.entries == 0
    assert audit.run("ledger", "limit", str(audit.path), "1e-9")[0] == 0
    assert drawn(audit(SUM, bounds="pay=0:0", decider="inv_sum", tau="1")) == drawn(report)


def test_check_and_audit_share_what_is_known(audit: AuditRunner, tmp_path: Path) -> None:
    first = audit()
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
    before = audit.path.read_bytes()
    report = pqd.check(spec, ledger=audit.path)
    verdicts = [verdict for entry in report.checks for verdict in entry.verdicts]
    assert [(v.replayed, (v.outcome, v.p_value, v.margin)) for v in verdicts] == [
        (True, drawn(first)[0])
    ]
    assert audit.path.read_bytes() == before
    spec.write_text(spec.read_text(encoding="utf-8").replace("30", "29"), encoding="utf-8")
    assert audit.run("check", str(spec))[0] == 4
    assert audit.path.read_bytes() == before


# In Python ---------------------------------------------------------------------------------------


def frame(rows: Rows) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(NAMES))


def test_python_and_the_command_line_share_what_is_known(
    audit: AuditRunner, tmp_path: Path
) -> None:
    first = audit(NUMBERS)
    terms: dict[str, Any] = {"tau": 5, "epsilon": PRICE, "decider": "inv_count"}
    for private, ledger in (
        (audit.private, str(audit.path)),
        (frame(PRIVATE), audit.path),
        (frame(PRIVATE), None),
    ):
        report = pqd.audit(private, audit.synthetic, NUMBERS, ledger=ledger, **terms)
        (verdict,) = report.verdicts
        assert verdict.replayed
        assert [(verdict.outcome, verdict.p_value, verdict.margin)] == drawn(first)
        assert report.spent == 0
    # Another ledger knows nothing of it; a custodian keeps one.
    other = tmp_path / "other.sqlite"
    assert (
        not pqd.audit(audit.private, audit.synthetic, NUMBERS, ledger=other, **terms)
        .verdicts[0]
        .replayed
    )
    assert audit.spent == PRICE


def test_the_ledger_lies_beside_the_table_by_default(
    audit: AuditRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PQD_LEDGER")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    audit()
    assert (tmp_path / FILE_NAME).exists()
    assert not any(elsewhere.iterdir())
    link = elsewhere / "link.csv"
    link.symlink_to(audit.private)
    assert replayed(audit(private=str(link))) == [True]
    pqd.audit(frame(PRIVATE), audit.synthetic, SQL, tau=5, epsilon=1)
    assert sorted(path.name for path in elsewhere.iterdir()) == ["link.csv", FILE_NAME]


def test_fresh_in_python(audit: AuditRunner) -> None:
    terms: dict[str, Any] = {"tau": 5, "epsilon": PRICE, "ledger": audit.path}
    for fresh, known in ((False, False), (False, True), (True, False), (False, True)):
        report = pqd.audit(audit.private, audit.synthetic, SQL, fresh=fresh, **terms)
        assert [verdict.replayed for verdict in report.verdicts] == [known]
    assert audit.spent == 2 * PRICE


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
def test_an_error_of_use_makes_no_ledger_and_no_charge(audit: AuditRunner, what: str) -> None:
    texts, options = WRONG[what]
    code, out, err = audit.run(*audit.arguments(*texts, **options))
    assert (code, out) == (2, ""), err
    assert not audit.path.exists()
    audit()
    before = audit.path.read_bytes()
    assert audit.run(*audit.arguments(*texts, **options))[0] == 2
    assert audit.path.read_bytes() == before


def test_a_missing_private_column_makes_no_charge(audit: AuditRunner, tmp_path: Path) -> None:
    narrow = written(tmp_path / "narrow.csv", [row[:2] for row in PRIVATE], NAMES[:2])
    code, out, err = audit.run(*audit.arguments(private=narrow))
    assert (code, out) == (2, "")
    assert '"pay" is in the synthetic table but not in the private one' in err
    assert not audit.path.exists()


def test_over_budget_is_refused_as_a_whole(audit: AuditRunner) -> None:
    with closing(Ledger(audit.path)) as ledger:
        ledger.set_limit(Budget(2 * PRICE))
    texts = [SQL.replace("30", str(age)) for age in (30, 31, 32)]
    code, out, err = audit.run(*audit.arguments(*texts))
    assert (code, out) == (4, "")
    assert "Nothing was spent." in err
    assert [audit.spent, audit.entries] == [0, 1]
    assert replayed(audit(*texts[:2])) == [False, False]
    assert audit.spent == 2 * PRICE


def test_a_table_that_cannot_be_read_makes_no_charge(audit: AuditRunner, tmp_path: Path) -> None:
    broken = tmp_path / "broken.parquet"
    frame(PRIVATE).to_parquet(broken)
    whole = broken.read_bytes()
    audit()
    before = audit.path.read_bytes()
    # The footer stands, the rows do not.
    broken.write_bytes(bytes(4) + b"\xff" * 400 + whole[404:])
    code, out, err = audit.run(*audit.arguments(private=str(broken)))
    assert (code, out) == (3, "")
    assert "could not be read to its end" in err
    assert audit.path.read_bytes() == before


def test_planning_makes_no_ledger(audit: AuditRunner) -> None:
    code, _, err = audit.run("plan", audit.synthetic, "-q", SQL, "--tau", "5", "--epsilon", "1/3")
    assert (code, err) == (0, "")
    assert not audit.path.exists()
    code, _, err = audit.run("ledger", "show", str(audit.path))
    assert code == 2
    assert "nothing was charged there yet" in err
    assert not audit.path.exists()


def test_a_table_that_changes_while_it_is_recognised_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the digest of one table would be bound to the account of another."""
    private, copy = tmp_path / "private.csv", tmp_path / "copy.csv"
    for path, end in ((private, ",1"), (copy, "")):
        rows = (f"{age}{end}\n" for age in ("age", *(n % 60 for n in range(500))))
        path.write_text("".join(rows), encoding="utf-8")
    before = SyntheticTable.content

    def swapped(engine: SyntheticTable, table: Table, key: bytes) -> Content:
        found = before(engine, table, key)
        private.write_text("age\n1\n2\n", encoding="utf-8")
        return found

    monkeypatch.setattr(SyntheticTable, "content", swapped)
    ledger = tmp_path / "own.sqlite"
    queries = ("SELECT COUNT(*) FROM D WHERE age > 3",)
    with pytest.raises(RunError, match="changed while it was read"):
        pqd.audit(private, copy, queries, tau=5, epsilon=1, ledger=ledger)
    assert not Ledger(ledger).accounts, "nothing was spent"
    monkeypatch.setattr(SyntheticTable, "content", before)
    report = pqd.audit(private, copy, queries, tau=5, epsilon=1, ledger=ledger)
    assert report.verdicts[0].outcome == "no"
    assert report.spent == 1


def test_a_table_that_changes_after_the_charge_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private, copy = tmp_path / "private.csv", tmp_path / "copy.csv"
    private.write_text("age\n1\n2\n4\n", encoding="utf-8")
    copy.write_text("age\n1\n2\n3\n", encoding="utf-8")
    before = SyntheticTable.histograms

    def swapped(engine: SyntheticTable, table: Table, *rest: Any) -> Any:
        found = before(engine, table, *rest)
        if table.role == "private":
            private.write_text("age\n7\n8\n9\n", encoding="utf-8")
        return found

    monkeypatch.setattr(SyntheticTable, "histograms", swapped)
    ledger = tmp_path / "own.sqlite"
    with pytest.raises(RunError, match="changed while it was read"):
        pqd.audit(private, copy, "SELECT COUNT(*) FROM D", tau=5, epsilon=1, ledger=ledger)
    (account,) = Ledger(ledger).accounts
    assert account.epsilon == 1, "the charge stays"
    assert not account.answers, "no answer is kept"


def test_one_account_protects_rows_or_persons_not_both(tmp_path: Path) -> None:
    table = pd.DataFrame({"id": [n // 3 for n in range(300)], "age": [n % 60 for n in range(300)]})
    private, ledger = like(table), tmp_path / "own.sqlite"
    options: dict[str, Any] = {"tau": 5, "epsilon": 1, "ledger": ledger}
    sql = "SELECT COUNT(*) FROM D WHERE age > 3"
    pqd.audit(private, table, sql, **options)
    with pytest.raises(BudgetError, match='protects per row, and this run would protect per "id"'):
        pqd.audit(private, table, sql, unit="id", **options)
    assert Ledger(ledger).accounts[0].epsilon == 1
    other = options | {"ledger": tmp_path / "other.sqlite"}
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

    options: dict[str, Any] = {"tau": 5, "epsilon": 1, "ledger": tmp_path / "own.sqlite"}
    first = pqd.audit(frame(), like(frame()), "SELECT COUNT(*) FROM D", **options)
    second = pqd.audit(frame(), like(frame()), "SELECT COUNT(*) FROM D", **options)
    assert first.spent == 1
    assert second.spent == 0


def test_a_replayed_run_keeps_its_place_so_a_later_version_there_has_no_second_budget(
    tmp_path: Path,
) -> None:
    ledger, copy = tmp_path / "ledger.sqlite", written(tmp_path / "copy.csv", SYNTHETIC)
    parts = tmp_path / "parts"
    parts.mkdir()
    halves = PRIVATE[:60], PRIVATE[60:]
    (first, _) = (written(parts / f"{k}.csv", rows) for k, rows in enumerate(halves))

    def spent(private: object, **options: Any) -> Fraction:
        report = pqd.audit(
            private, copy, queries=SQL, tau=10, epsilon="0.25", ledger=ledger, **options
        )
        return report.cost.spent

    def places() -> list[int]:
        with closing(Ledger(ledger)) as opened:
            return [len(each.places) for each in opened.data_sets]

    assert spent(written(tmp_path / "private.csv", PRIVATE)) == Fraction(1, 4)
    assert len(places()) == 1
    # The same rows elsewhere cost nothing, and the place is kept once.
    assert spent(parts) == 0
    kept = places()
    assert spent(parts) == 0
    assert places() == kept
    # What lies there later is a version of the same data set.
    assert spent(first) == Fraction(1, 4)
    with closing(Ledger(ledger)) as opened:
        (data_set,) = opened.data_sets
        assert data_set.spent.epsilon == Fraction(1, 2)
        opened.verify()
