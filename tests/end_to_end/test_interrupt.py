"""Ctrl-C, at whatever moment: one line that says what was spent, exit code 130, no traceback."""

import signal
from collections.abc import Callable
from contextlib import closing, suppress
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

import pqd.cli.display
import pqd.cli.options
import pqd.cli.outputs
import pqd.planning.table_separation
from deciders import SecureNoise
from pqd.accounting.ledger import Ledger
from pqd.engine.duckdb import DuckDBEngine
from pqd.interrupts import noted

Ran = tuple[int, str, str]
SQL = "SELECT COUNT(*) FROM D WHERE age > 2"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, modulus in (("private", 7), ("copy", 6)):
        frame = pd.DataFrame({"age": [float(n % modulus) for n in range(40)]})
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def interrupt(*_: Any, **__: Any) -> Any:
    raise KeyboardInterrupt


# Where the interrupt comes, and whether it is after the charge.
MOMENTS: dict[str, tuple[Any, str, bool]] = {
    "reading the options": (pqd.cli.options, "criteria", False),
    "opening": (pqd.planning.table_separation, "open_table", False),
    "reading the copy": (DuckDBEngine, "schema", False),
    "recognising": (DuckDBEngine, "content", False),
    "before the charge": (Ledger, "check_budget", False),
    "drawing": (SecureNoise, "laplace", True),
    "recording": (Ledger, "record", True),
    "showing": (pqd.cli.display.DisplayOptions, "show", True),
    "writing": (pqd.cli.outputs, "write_text", True),
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("moment", MOMENTS)
def test_an_interrupt_is_one_line(
    moment: str,
    tmp_path: Path,
    command: Callable[..., Ran],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    owner, name, spent = MOMENTS[moment]
    monkeypatch.setattr(owner, name, interrupt)
    path = tmp_path / "here.sqlite"
    options = ["--tau", "5", "--epsilon", "1/2", "--ledger", str(path), "--html", "report.html"]
    code, _, err = command("audit", "private.csv", "copy.csv", "-q", SQL, *options)
    assert code == 130
    assert len(err.splitlines()) == 1
    assert ("epsilon 0.5 was charged" if spent else "nothing was spent") in err
    monkeypatch.undo()
    with closing(Ledger(path)) as ledger:
        assert [each.epsilon for each in ledger.accounts] == [Fraction(1, 2)] * spent


@pytest.mark.parametrize("module", ["typer", "pqd.cli.audit", "pqd.cli"])
def test_an_interrupt_while_it_loads(module: str, process: Callable[..., Ran]) -> None:
    code, out, err = process(
        "-c",
        "import builtins, runpy\n"
        "original = builtins.__import__\n"
        "def loading(name, *rest, **named):\n"
        f"    if name == {module!r}:\n"
        "        raise KeyboardInterrupt\n"
        "    return original(name, *rest, **named)\n"
        "builtins.__import__ = loading\n"
        "runpy.run_module('pqd', run_name='__main__')\n",
    )
    assert (code, out) == (130, "")
    assert err == "pqd: interrupted; nothing was spent\n"


def test_a_second_interrupt_tells_of_the_charge_too(process: Callable[..., Ran]) -> None:
    """It comes while the first is told of, and must neither be a traceback nor deny the charge."""
    code, out, err = process(
        "-c",
        "import runpy, sys\n"
        "from fractions import Fraction\n"
        "import pqd.cli\n"
        "from pqd.accounting.composition import Charge\n"
        "from pqd.accounting.ledger import CHARGED\n"
        "def again(*_):\n"
        "    CHARGED.append(Charge(Fraction(1, 2), Fraction(1, 10**6), 'sequential'))\n"
        "    raise KeyboardInterrupt\n"
        "pqd.cli.app = pqd.cli._fail = again\n"
        "runpy.run_module('pqd', run_name='__main__')\n",
    )
    assert (code, out) == (130, "")
    assert err == (
        "pqd: interrupted; epsilon 1 and delta 2e-06 was charged and stays so (pqd ledger show); "
        "what was answered before costs nothing in a repeated run\n"
    )


def nothing(*_: Any) -> None:
    pass


def engines_own(*_: Any, **__: Any) -> Any:
    raise RuntimeError("Query interrupted")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("lost", [False, True], ids=["the engine's own error", "lost"])
def test_an_interrupt_inside_the_engine(
    lost: bool,
    tmp_path: Path,
    command: Callable[..., Ran],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """DuckDB makes a RuntimeError of Ctrl-C, or swallows it where it imports pandas."""
    reading = DuckDBEngine.schema

    def pressed(engine: DuckDBEngine, *given: Any) -> Any:
        if lost:
            with suppress(KeyboardInterrupt):
                noted(signal.SIGINT, None)
        else:
            stopped = SimpleNamespace(
                **dict.fromkeys(["register", "unregister"], nothing),
                **dict.fromkeys(["execute", "sql"], engines_own),
            )
            monkeypatch.setattr(engine._sql, "_connection", stopped)
        return reading(engine, *given)

    monkeypatch.setattr(DuckDBEngine, "schema", pressed)
    path = tmp_path / "here.sqlite"
    options = ["--tau", "5", "--epsilon", "1/2", "--ledger", str(path)]
    ended = command("audit", "private.csv", "copy.csv", "-q", SQL, *options)
    assert ended == (130, "", "pqd: interrupted; nothing was spent\n")
    with closing(Ledger(path)) as ledger:
        assert not ledger.accounts


@pytest.mark.usefixtures("folder")
def test_a_lost_interrupt_is_heeded_before_the_charge(
    tmp_path: Path, command: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    check_budget = Ledger.check_budget

    def pressed(ledger: Ledger, *given: Any) -> Any:
        with suppress(KeyboardInterrupt):
            noted(signal.SIGINT, None)
        return check_budget(ledger, *given)

    monkeypatch.setattr(Ledger, "check_budget", pressed)
    path = tmp_path / "here.sqlite"
    options = ["--tau", "5", "--epsilon", "1/2", "--ledger", str(path)]
    code, _, err = command("audit", "private.csv", "copy.csv", "-q", SQL, *options)
    assert (code, err) == (130, "pqd: interrupted; nothing was spent\n")
    with closing(Ledger(path)) as ledger:
        assert not ledger.accounts
