"""Dry runs and plans read no private row: with and without a ledger, in Python and on a command."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd
import pytest

import pqd
from pqd.accounting.accounts import Budget
from pqd.accounting.ledger import Ledger
from pqd.engine import scan
from pqd.engine.sources import files
from pqd.engine.synthetic_table import SyntheticTable
from pqd.engine.table import Table
from pqd.engine.tables import dry_table
from pqd.errors import BudgetError

Ran = tuple[int, str, str]

COUNT = "SELECT COUNT(*) FROM D WHERE age > 30"
SPEC = """[private]
path = "private.csv"

[synthetic.copy]
path = "copy.csv"

[defaults]
epsilon = 1
tau = "20%"

[[check]]
id = "old"
sql = "SELECT COUNT(*) FROM D WHERE age > 30"

[[check]]
id = "ages"
marginal = ["age"]
"""
# Commands that read nothing private: their options, and the same in Python.
RUNS: dict[str, tuple[list[str], Callable[[], object]]] = {
    "profile": (
        ["profile", "private.csv", "copy.csv", "--dry-run"],
        lambda: pqd.profile("private.csv", "copy.csv", dry_run=True),
    ),
    "zoom": (
        ["profile", "private.csv", "copy.csv", "--zoom", "1", "--dry-run"],
        lambda: pqd.profile("private.csv", "copy.csv", zoom=1, dry_run=True),
    ),
    "gate of a table": (
        ["profile", "private.csv", "copy.csv", "--gate", "3", "--dry-run"],
        lambda: pqd.gate("private.csv", "copy.csv", epsilon=3, dry_run=True),
    ),
    "gate of queries": (
        [],
        lambda: pqd.gate("private.csv", "copy.csv", COUNT, epsilon=1, tau="20%", dry_run=True),
    ),
    "check": (["check", "audit.toml", "--dry-run"], lambda: pqd.check("audit.toml", dry_run=True)),
    "gate of checks": (
        ["check", "audit.toml", "--gate", "1", "--dry-run"],
        lambda: pqd.check("audit.toml", gate=1, dry_run=True),
    ),
    "plan": (
        ["plan", "copy.csv", "-q", COUNT, "--tau", "20%"],
        lambda: pqd.plan("copy.csv", COUNT, tau="20%"),
    ),
    "risk": (
        ["risk", "private.csv", "copy.csv", "--held-out", "others.csv", "--dry-run"],
        lambda: pqd.risk("private.csv", "copy.csv", held_out="others.csv", dry_run=True),
    ),
    "ranking": (
        ["compare", "private.csv", "a=copy.csv", "--total-epsilon", "1", "--dry-run"],
        lambda: pqd.compare("private.csv", {"a": "copy.csv"}, total_epsilon=1, dry_run=True),
    ),
    "ranking with attacks": (
        [
            *("compare", "private.csv", "a=copy.csv", "--total-epsilon", "1", "--dry-run"),
            *("--risk", "1", "--held-out", "others.csv"),
        ],
        lambda: pqd.compare(
            "private.csv",
            {"a": "copy.csv"},
            total_epsilon=1,
            risk=1,
            held_out="others.csv",
            dry_run=True,
        ),
    ),
    "lint": (["lint", "copy.csv"], lambda: pqd.lint("copy.csv")),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, step in (("private", 1), ("copy", 2), ("others", 7)):
        rows = [{"age": n * step % 90, "sex": "fm"[n % 2]} for n in range(4000)]
        pd.DataFrame(rows).to_csv(f"{name}.csv", index=False)
    Path("audit.toml").write_text(SPEC, encoding="utf-8")
    return tmp_path


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Break whatever reads the rows or the bytes of the private table, from now on."""
    one_pass, digest = scan._in_one_pass, files.file_digest

    def of_rows(table: Table, *rest: Any, **named: Any) -> Any:
        assert table.role == "synthetic", "a private row would be read"
        return one_pass(table, *rest, **named)

    def of_bytes(path: Path) -> bytes:
        assert path.name not in {"private.csv", "others.csv"}, "private bytes would be read"
        return digest(path)

    def broken() -> None:
        monkeypatch.setattr(scan, "_in_one_pass", of_rows)
        monkeypatch.setattr(files, "file_digest", of_bytes)

    return broken


def charged() -> None:
    pqd.audit("private.csv", "copy.csv", COUNT, tau="20%", epsilon=1)


@pytest.mark.parametrize("account", ["none", "known", "other"])
@pytest.mark.parametrize("run", RUNS)
def test_no_private_row_is_read(
    run: str, account: str, folder: Path, unread: Callable[[], None], command: Callable[..., Ran]
) -> None:
    """Whether there is no ledger, one that knows the table, or one that knows others alone."""
    if account != "none":
        charged()
    if account == "other":
        (folder / "moved").mkdir()
        for name in ("private.csv", "others.csv", "copy.csv", "audit.toml"):
            (folder / name).rename(folder / "moved" / name)
    place = folder / "moved" if account == "other" else folder
    options, call = RUNS[run]
    unread()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        ledger = Path(os.environ["PQD_LEDGER"])
        before = ledger.exists()
        report = call()
        if options:
            code, out, err = command(*options)
            assert code == 0, out + err
        assert ledger.exists() == before, "no ledger is made"
    notes = {note.code for note in getattr(report, "notes", ())}
    about_account = notes & {"account-unseen", "taken-as-unchanged"}
    if run in {"plan", "lint"} or account == "none":
        assert not about_account
    elif account == "other":
        assert about_account == {"account-unseen"}


@pytest.mark.usefixtures("folder")
def test_the_break_would_be_seen(unread: Callable[[], None]) -> None:
    unread()
    with pytest.raises((AssertionError, pqd.PqdError)):
        charged()


def test_what_is_known_by_place_is_priced_as_if_it_were_unchanged(folder: Path) -> None:
    def price(**options: Any) -> tuple[float, float, set[str]]:
        report = pqd.check("audit.toml", only="old", dry_run=True, **options)
        total = float(report.cost.total or 0)
        return float(report.cost.epsilon), total, {note.code for note in report.notes}

    assert price()[:2] == (1, 0)
    pqd.check("audit.toml", only="old")
    epsilon, total, codes = price()
    assert (epsilon, total) == (0, 1)
    assert "taken-as-unchanged" in codes
    epsilon, total, codes = price(fresh=True)
    assert (epsilon, total) == (1, 1)
    assert "taken-as-unchanged" not in codes
    # Of a changed table a dry run has the same price: it would have to read its rows.
    (folder / "private.csv").write_text("age,sex\n1,f\n", encoding="utf-8")
    assert price()[0] == 0


def test_a_known_name_at_a_new_place_is_priced_as_new_rows(folder: Path) -> None:
    def price(table: object) -> tuple[float, float]:
        cost = pqd.profile(table, "copy.csv", dataset="people", dry_run=True).cost
        return float(cost.epsilon), float(cost.total or 0)

    pqd.profile("private.csv", "copy.csv", dataset="people")
    assert price("private.csv") == (0, 1)
    (folder / "next.csv").write_text("age,sex\n1,f\n", encoding="utf-8")
    assert price("next.csv") == (1, 1), "the data set pays for a version that was never charged"
    # A frame has no place: it is taken to be the version that its name tells.
    frame = pd.read_csv("private.csv")
    pqd.profile(frame, "copy.csv", dataset="people")
    assert price(frame)[0] == 0


def test_a_limit_holds_in_a_dry_run_as_far_as_the_account_is_known(folder: Path) -> None:
    charged()
    with closing(Ledger(Path(os.environ["PQD_LEDGER"]))) as ledger:
        ledger.set_limit(Budget(Fraction("1.5")))
    with pytest.raises(BudgetError, match=r"0\.5"):
        pqd.check("audit.toml", only="ages", dry_run=True)
    # A table that no place leads to may be a version of another: the run asks for its name.
    elsewhere = folder / "elsewhere.csv"
    elsewhere.write_bytes((folder / "private.csv").read_bytes())
    terms: dict[str, Any] = {"tau": "20%", "ledger": os.environ["PQD_LEDGER"]}
    report = pqd.gate(elsewhere, "copy.csv", COUNT, epsilon=1, dry_run=True, **terms)
    assert "account-unseen" in {note.code for note in report.notes}
    named = pqd.gate(
        elsewhere, "copy.csv", COUNT, epsilon="0.5", dry_run=True, dataset="1", **terms
    )
    assert named.cost.total == 1
    with pytest.raises(BudgetError):
        pqd.gate(elsewhere, "copy.csv", COUNT, epsilon=1, dry_run=True, dataset="1", **terms)
    with pytest.raises(BudgetError):
        pqd.gate(elsewhere, "copy.csv", COUNT, epsilon=2, dry_run=True, **terms)


def test_a_mistake_of_pqd_reads_no_row_either(folder: Path) -> None:
    """The table of a dry run has no scanner at all."""

    def act() -> NoReturn:
        SyntheticTable().content(dry_table(folder / "private.csv"), b"key")
        raise AssertionError("it was read")

    with pytest.raises(ValueError, match="a dry run would read the private table"):
        act()
    assert dry_table(folder / "private.csv").digest() is None
