"""A ledger that loses a charge or an answer during a run: nothing that it paid for is shown."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import pqd.batches.reweighting
import pqd.cli.check
import pqd.cli.outputs
import pqd.commands.release
from pqd.accounting.ledger import Ledger
from pqd.batches.reweighting import reweighted_table
from pqd.cli.outputs import Targets

Ran = tuple[int, str, str]
SQL = "SELECT COUNT(*) FROM D WHERE age > 2"
LEDGER = "ledger.sqlite"
SPEC = f"""
[private]
path = "private.csv"
[synthetic.copy]
path = "copy.csv"
[[check]]
id = "one"
sql = "{SQL}"
tau = 5
epsilon = 1
"""
AUDIT = ("audit", "private.csv", "copy.csv", "-q", SQL, "--tau", "5", "--epsilon", "1")
RELEASE = ("release", "private.csv", "copy.csv", "-q", SQL, "--total-epsilon", "1")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, modulus in (("private", 7), ("copy", 6)):
        rows = "\n".join(str(number % modulus) for number in range(40))
        (tmp_path / f"{name}.csv").write_text(f"age\n{rows}\n", encoding="utf-8")
    (tmp_path / "audit.toml").write_text(SPEC, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(path: Path, content: bytes) -> None:
    """Put bytes into a file that stays the same file."""
    with path.open("r+b") as file:
        file.write(content)
        file.truncate()


def replace(path: Path, content: bytes) -> None:
    """Put another file in a file's place."""
    draft = path.with_name("draft")
    draft.write_bytes(content)
    draft.replace(path)


def meddled(act: Callable[..., Any], meddle: Callable[[], object], *, after: bool) -> Any:
    """Return what does as ``act`` does, and ``meddle`` too, before or after it."""

    def both(*args: Any, **named: Any) -> Any:
        if not after:
            meddle()
        result = act(*args, **named)
        if after:
            meddle()
        return result

    return both


@pytest.fixture
def older(folder: Path, command: Callable[..., Ran]) -> bytes:
    """Bytes of a ledger without a charge."""
    assert command("ledger", "limit", LEDGER, "9")[0] == 0
    return (folder / LEDGER).read_bytes()


def assert_nothing_shown(ran: Ran) -> None:
    code, out, err = ran
    assert (code, out) == (3, "")
    assert "removed or replaced during this run" in err
    written = {"report.json", "report.md", "baseline.json", "table.csv"}
    assert not written & {place.name for place in Path.cwd().iterdir()}


@pytest.mark.parametrize("meddle", [put, replace])
@pytest.mark.parametrize("replayed", [False, True])
@pytest.mark.parametrize("line", [AUDIT, RELEASE])
def test_no_answer_is_shown_that_the_ledger_has_lost(
    line: tuple[str, ...],
    replayed: bool,
    meddle: Callable[[Path, bytes], None],
    folder: Path,
    older: bytes,
    command: Callable[..., Ran],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if replayed:
        assert command(*line)[0] == 0
    lose = partial(meddle, folder / LEDGER, older)
    monkeypatch.setattr(Targets, "finish", meddled(Targets.finish, lose, after=False))
    assert_nothing_shown(command(*line, "--json", "report.json", "--output", "markdown=report.md"))


def test_no_rendering_is_written_that_the_ledger_lost_while_it_was_made(
    folder: Path, older: bytes, command: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    rendering, lose = pqd.cli.outputs.rendering, partial(put, folder / LEDGER, older)
    monkeypatch.setattr(pqd.cli.outputs, "rendering", meddled(rendering, lose, after=True))
    assert_nothing_shown(command(*AUDIT, "--json", "report.json"))
    assert_nothing_shown(command(*AUDIT, "--json", "-"))


@pytest.mark.parametrize("more", [(), ("--explain", "q1")])
def test_no_replayed_answer_is_taken_from_a_ledger_that_was_replaced(
    more: tuple[str, ...],
    folder: Path,
    older: bytes,
    command: Callable[..., Ran],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert command(*AUDIT)[0] == 0
    # The file that is open still has the answer.
    lose = partial(replace, folder / LEDGER, older)
    monkeypatch.setattr(Ledger, "refresh", meddled(Ledger.refresh, lose, after=True))
    assert_nothing_shown(command(*AUDIT, *more))


@pytest.mark.parametrize("replayed", [False, True])
def test_no_result_goes_into_a_baseline_that_the_ledger_has_lost(
    replayed: bool,
    folder: Path,
    older: bytes,
    command: Callable[..., Ran],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if replayed:
        command("check", "audit.toml")
    lose = partial(put, folder / LEDGER, older)
    monkeypatch.setattr(pqd.cli.check, "_run", meddled(pqd.cli.check._run, lose, after=True))
    line = ("check", "audit.toml", "--baseline", "baseline.json", "--update-baseline")
    assert_nothing_shown(command(*line, "--json", "report.json"))


@pytest.mark.parametrize("replayed", [False, True])
def test_no_table_is_made_of_answers_that_the_ledger_has_lost(
    replayed: bool,
    folder: Path,
    older: bytes,
    command: Callable[..., Ran],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if replayed:
        assert command(*RELEASE)[0] == 0
    lose = partial(put, folder / LEDGER, older)
    meddler = meddled(reweighted_table, lose, after=True)
    monkeypatch.setattr(pqd.batches.reweighting, "reweighted_table", meddler)
    assert_nothing_shown(command(*RELEASE, "--table", "table.csv", "--json", "report.json"))
