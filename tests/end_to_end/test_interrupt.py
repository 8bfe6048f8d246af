"""Ctrl-C, SIGTERM and SIGHUP, at whatever moment: one line that says what was spent."""

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
from pqd.accounting.ledger import Ledger
from pqd.deciders import SecureNoise
from pqd.engine.synthetic_table import SyntheticTable
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
    "reading the copy": (SyntheticTable, "schema", False),
    "recognising": (SyntheticTable, "content", False),
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


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("moment", [m for m in MOMENTS if m not in {"recording", "writing"}])
def test_an_internal_error_tells_of_the_charge_too(
    moment: str,
    tmp_path: Path,
    command: Callable[..., Ran],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("secret")

    owner, name, spent = MOMENTS[moment]
    monkeypatch.setattr(owner, name, broken)
    path = tmp_path / "here.sqlite"
    options = ["--tau", "5", "--epsilon", "1/2", "--ledger", str(path)]
    code, _, err = command("audit", "private.csv", "copy.csv", "-q", SQL, *options)
    assert code == 3
    assert err.startswith("pqd: internal error, ZeroDivisionError at test_interrupt.py:")
    assert len(err.splitlines()) == 1
    assert "secret" not in err
    told = "Epsilon 0.5 was charged and stays charged (pqd ledger show); a repeated run"
    assert (told in err) == spent


@pytest.mark.parametrize("module", ["typer", "pqd.cli.audit", "pqd.cli"])
def test_an_interrupt_while_it_loads(module: str, process: Callable[..., Ran]) -> None:
    code, out, err = process(
        "-c",
        "import runpy, sys\n"
        "class Interrupted:\n"
        "    def find_spec(name, *_):\n"
        f"        if name == {module!r}:\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted)\n"
        "sys.argv[1:] = ['audit']\n"
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
        "from pqd.accounting.charge_report import run_charges\n"
        "def again(*_):\n"
        "    run_charges().spent.append(Charge(Fraction(1, 2), Fraction(1, 10**6), 'sequential'))\n"
        "    raise KeyboardInterrupt\n"
        "pqd.cli.command_line = pqd.cli._fail = again\n"
        "runpy.run_module('pqd', run_name='__main__')\n",
    )
    assert (code, out) == (130, "")
    assert err == (
        "pqd: interrupted; epsilon 1 and delta 2e-06 was charged and stays charged "
        "(pqd ledger show); a repeated run pays nothing for what this run has answered\n"
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
    reading = SyntheticTable.schema

    def pressed(engine: SyntheticTable, *given: Any) -> Any:
        if lost:
            with suppress(KeyboardInterrupt):
                noted(signal.SIGINT, None)
        else:
            stopped = SimpleNamespace(
                **dict.fromkeys(["register", "unregister"], nothing),
                **dict.fromkeys(["execute", "sql"], engines_own),
            )
            monkeypatch.setattr(engine._sql, "_opened", stopped)
        return reading(engine, *given)

    monkeypatch.setattr(SyntheticTable, "schema", pressed)
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

    def pressed(ledger: Ledger, *given: Any, **named: Any) -> Any:
        with suppress(KeyboardInterrupt):
            noted(signal.SIGINT, None)
        return check_budget(ledger, *given, **named)

    monkeypatch.setattr(Ledger, "check_budget", pressed)
    path = tmp_path / "here.sqlite"
    options = ["--tau", "5", "--epsilon", "1/2", "--ledger", str(path)]
    code, _, err = command("audit", "private.csv", "copy.csv", "-q", SQL, *options)
    assert (code, err) == (130, "pqd: interrupted; nothing was spent\n")
    with closing(Ledger(path)) as ledger:
        assert not ledger.accounts


# Runs the command line, and sends a signal at the n-th function that is called after it began.
AT = """
import signal, sys
import pqd.__main__
sent, at, sys.argv = signal.Signals[sys.argv[1]], int(sys.argv[2]), ["pqd", *sys.argv[3:]]
# Who started the tests may have it ignored, as nohup does.
signal.signal(sent, signal.default_int_handler if sent == signal.SIGINT else signal.SIG_DFL)
calls = 0
def count(frame, event, _):
    global calls
    calls += event in ("call", "c_call")
    if calls == at:
        sys.setprofile(None)
        signal.raise_signal(sent)
sys.setprofile(count)
pqd.__main__.main()
"""


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("call", [3, 30, 300, 3_000, 30_000, 120_000, 200_000, 300_000])
def test_an_interrupt_at_any_call_is_one_line(call: int, process: Callable[..., Ran]) -> None:
    options = ["--tau", "5", "--epsilon", "1/2", "--ledger", "here.sqlite"]
    arguments = ["audit", "private.csv", "copy.csv", "-q", SQL, *options]
    code, _, err = process("-c", AT, "SIGINT", str(call), *arguments)
    assert code == 130
    assert err.startswith("pqd: interrupted; ")
    assert len(err.splitlines()) == 1


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("sent", "expected", "call"),
    [("SIGTERM", 143, 30), ("SIGHUP", 129, 3_000), ("SIGTERM", 143, 120_000)],
)
def test_a_signal_that_ends_a_run_is_told_as_ctrl_c_is(
    sent: str, expected: int, call: int, process: Callable[..., Ran]
) -> None:
    options = ["--tau", "5", "--epsilon", "1/2", "--ledger", "here.sqlite"]
    arguments = ["audit", "private.csv", "copy.csv", "-q", SQL, *options]
    code, _, err = process("-c", AT, sent, str(call), *arguments)
    assert code == expected
    assert err.startswith("pqd: terminated; ")
    assert len(err.splitlines()) == 1


# Sends the signal to itself where the first noise is drawn, and again while the first is told of.
TWICE = """
import os, signal, sys
import pqd.__main__, pqd.cli
from pqd.deciders import SecureNoise
sent, sys.argv = signal.Signals[sys.argv[1]], ["pqd", *sys.argv[2:]]
def send(*_):
    os.kill(os.getpid(), sent)
SecureNoise.laplace = send
pqd.cli._fail = send
pqd.__main__.main()
"""


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("sent", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_after_the_charge_tells_of_it(
    sent: str, code: int, tmp_path: Path, process: Callable[..., Ran]
) -> None:
    """Also where a second one comes while the first is told of, it is the first that is told."""
    options = ["--tau", "5", "--epsilon", "1/2", "--ledger", "here.sqlite", "--json", "r.json"]
    arguments = ["audit", "private.csv", "copy.csv", "-q", SQL, *options]
    ended, out, err = process("-c", TWICE, sent, *arguments)
    assert (ended, out) == (code, "")
    word = {"SIGINT": "interrupted", "SIGTERM": "terminated"}[sent]
    assert err.startswith(f"pqd: {word}; epsilon 0.5 was charged and stays charged")
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "r.json").exists()
    assert not list(tmp_path.glob(".pqd-*"))
    with closing(Ledger(tmp_path / "here.sqlite")) as ledger:
        assert [each.epsilon for each in ledger.accounts] == [Fraction(1, 2)]


@pytest.mark.usefixtures("folder")
def test_a_signal_that_is_ignored_stays_so(process: Callable[..., Ran]) -> None:
    """As by nohup."""
    ignoring = AT.replace(
        "pqd.__main__.main()",
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\npqd.__main__.main()",
    )
    arguments = ["plan", "copy.csv", "-q", SQL, "--tau", "5"]
    code, out, err = process("-c", ignoring, "SIGHUP", "3000", *arguments)
    assert (code, err, bool(out)) == (0, "", True)


def test_a_library_leaves_signals_alone(process: Callable[..., Ran]) -> None:
    code, out, _ = process(
        "-c",
        "import signal\n"
        "names = 'SIGINT', 'SIGTERM', 'SIGHUP'\n"
        "before = [signal.getsignal(getattr(signal, name)) for name in names]\n"
        "import pqd, pqd.interrupts, pqd.cli\n"
        "pqd.audit, pqd.check, pqd.release\n"
        "print(before == [signal.getsignal(getattr(signal, name)) for name in names])\n",
    )
    assert (code, out) == (0, "True\n")


def test_before_it_listens_nothing_is_loaded_but_what_python_has(
    process: Callable[..., Ran],
) -> None:
    """Until then Ctrl-C is a traceback; pathlib and typing alone took 20 ms."""
    _, out, _ = process(
        "-c",
        "import sys\n"
        "before = set(sys.modules)\n"
        "import pqd.__main__\n"
        "print(*sorted(set(sys.modules) - before))\n",
    )
    assert out.split() == ["pqd", "pqd.__main__"]


def test_an_interrupt_that_becomes_another_error_while_it_loads(
    process: Callable[..., Ran],
) -> None:
    """Python makes a RuntimeError of what ``__set_name__`` raises, some modules an ImportError."""
    code, out, err = process(
        "-c",
        "import builtins, runpy, signal, pqd.interrupts\n"
        "original = builtins.__import__\n"
        "def loading(name, *rest, **named):\n"
        "    if name == 'typer':\n"
        "        try:\n"
        "            signal.raise_signal(signal.SIGINT)\n"
        "        except KeyboardInterrupt:\n"
        "            raise ImportError(name)\n"
        "    return original(name, *rest, **named)\n"
        "builtins.__import__ = loading\n"
        "runpy.run_module('pqd', run_name='__main__')\n",
    )
    assert (code, out, err) == (130, "", "pqd: interrupted; nothing was spent\n")


def test_an_error_while_it_loads_is_no_interrupt(process: Callable[..., Ran]) -> None:
    code, _, err = process(
        "-c",
        "import pqd.__main__, sys\nsys.modules['pqd.cli'] = None\npqd.__main__.main()\n",
    )
    assert code == 1
    assert "ModuleNotFoundError" in err
    assert "pqd: interrupted" not in err


@pytest.mark.usefixtures("folder")
def test_an_interrupt_that_python_cannot_raise(process: Callable[..., Ran]) -> None:
    """In ``__del__`` it would be shown with its traceback, and the run go on and spend."""
    code, out, err = process(
        "-c",
        "import signal, sys\n"
        "import pqd.__main__, pqd.engine.synthetic_table\n"
        "class Last:\n"
        "    def __del__(self):\n"
        "        signal.raise_signal(signal.SIGINT)\n"
        "schema = pqd.engine.synthetic_table.SyntheticTable.schema\n"
        "def loaded(*given):\n"
        "    last = Last()\n"
        "    del last\n"
        "    return schema(*given)\n"
        "pqd.engine.synthetic_table.SyntheticTable.schema = loaded\n"
        "pqd.__main__.main()\n",
        *["audit", "private.csv", "copy.csv", "-q", SQL, "--tau", "5", "--epsilon", "1/2"],
        *["--ledger", "here.sqlite"],
    )
    assert (code, out, err) == (130, "", "pqd: interrupted; nothing was spent\n")


def test_what_else_python_cannot_raise_is_shown_as_ever(process: Callable[..., Ran]) -> None:
    _, _, err = process(
        "-c",
        "from pqd.interrupts import listen\n"
        "listen()\n"
        "class Last:\n"
        "    def __del__(self):\n"
        "        raise ValueError('seen')\n"
        "Last()\n",
    )
    assert "ValueError: seen" in err
