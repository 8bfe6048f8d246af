"""Progress in the cell of a notebook: one output, written again, emptied at the end."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

import pqd
from pqd.commands import cell_progress as progress_home
from pqd.commands.cell_progress import cell_progress
from pqd.deciders.note import note
from pqd.progress import Step, silent

Messages = list[dict[str, str]]


class Handle:
    """Output of a cell that can be written again."""

    def __init__(self, messages: Messages) -> None:
        self.messages = messages

    def update(self, data: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.messages.append(data)


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> Messages:
    """What a kernel is given to show."""
    found: Messages = []

    def display(data: dict[str, str], *, raw: bool, display_id: bool) -> Handle:
        assert raw
        assert display_id
        assert not found, "one output is enough"
        found.append(data)
        return Handle(found)

    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    monkeypatch.setattr(progress_home, "_SOON", 0.0)
    return found


def test_stages_are_one_output_that_is_empty_in_the_end(messages: Messages) -> None:
    with cell_progress() as progress:
        progress(Step.READING_COPY)
        progress(Step.MEASURING, 3, 20)
    assert messages == [
        {
            "text/plain": "Reading the synthetic table",
            "text/html": "<progress></progress> Reading the synthetic table",
        },
        {
            "text/plain": "Measuring",
            "text/html": '<progress value="3" max="20"></progress> Measuring',
        },
        {"text/plain": "", "text/html": ""},
    ]


def test_a_run_that_is_soon_done_shows_nothing(
    messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An output that is emptied stays in the notebook, so none is made."""
    now = iter([10.0, 10.5, 10.9, 11.5, 11.6])
    monkeypatch.setattr(progress_home, "_SOON", 1.0)
    monkeypatch.setattr(progress_home, "time", SimpleNamespace(monotonic=lambda: next(now)))
    with cell_progress() as progress:
        progress(Step.READING_COPY)
        progress(Step.MEASURING, 1, 20)
        assert messages == []
        progress(Step.MEASURING, 2, 20)
        assert len(messages) == 1


def test_an_error_leaves_nothing_behind_either(messages: Messages) -> None:
    def run() -> None:
        with cell_progress() as progress:
            progress(Step.MEASURING)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run()
    assert messages[-1] == {"text/plain": "", "text/html": ""}


def test_thousands_of_steps_are_few_messages(messages: Messages) -> None:
    with cell_progress() as progress:
        for done in range(30_001):
            progress(Step.MEASURING, done, 30_000)
    assert len(messages) == 50 + 1 + 1


def test_a_run_without_stages_and_a_warning_show_nothing(messages: Messages) -> None:
    """Warnings are in the report, which the cell shows."""
    with cell_progress() as progress:
        progress(note("epsilon-large", epsilon=20))
    assert messages == []


def test_a_notebook_that_is_gone_ends_no_run(
    messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object, **__: object) -> None:
        raise OSError("the socket is closed")

    monkeypatch.setattr(Handle, "update", gone)
    with cell_progress() as progress:
        progress(Step.READING_COPY)
        progress(Step.MEASURING)
    assert len(messages) == 1


@pytest.mark.parametrize("shell", [None, SimpleNamespace()], ids=["a script", "a prompt"])
def test_elsewhere_nothing_is_shown(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    with cell_progress() as progress:
        assert progress is silent
    monkeypatch.delitem(sys.modules, "IPython")
    with cell_progress() as progress:
        assert progress is silent


TABLES = "samples/census_private.parquet", "samples/census_synthetic.parquet"
COUNT = "SELECT COUNT(*) FROM D WHERE age > 64"
RUNS: dict[str, Any] = {
    "audit": lambda: pqd.audit(*TABLES, COUNT, tau="10%", epsilon=0.5),
    "check": lambda: pqd.check("samples/audit.toml"),
    "compare": lambda: pqd.compare(TABLES[0], {"a": TABLES[1]}, COUNT, tau="10%", epsilon=0.5),
    "ranking": lambda: pqd.compare(TABLES[0], {"a": TABLES[1]}, total_epsilon=0.5),
    "profile": lambda: pqd.profile(*TABLES, ways=1),
    "plan": lambda: pqd.plan(TABLES[1], COUNT, tau="10%", epsilon=0.5),
    "plan, shared": lambda: pqd.plan(TABLES[1], COUNT, tau="10%", total_epsilon=0.5),
    "profile, planned": lambda: pqd.profile(None, TABLES[1], ways=1, dry_run=True),
    "profile, dry": lambda: pqd.profile(*TABLES, ways=1, dry_run=True),
    "release": lambda: pqd.release(*TABLES, COUNT, total_epsilon=1),
}


@pytest.mark.parametrize("run", RUNS)
def test_every_run_tells_its_stages(run: str, messages: Messages) -> None:
    RUNS[run]()
    assert len(messages) >= 2
    assert messages[-1] == {"text/plain": "", "text/html": ""}
