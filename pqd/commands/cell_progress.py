"""Progress of a run in the cell of a notebook; outside a notebook nothing is shown.

The cell gets one output, which is rewritten at each step and emptied at the end.  So no widget is
needed.  A run that is soon done shows nothing, since the emptied output stays in the notebook.
"""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from pqd.deciders.note import Note
from pqd.progress import Progress, Step, silent
from pqd.reports.escape import visible

# Seconds after which a run shows its steps.
_SOON = 1.0
# The most messages about one step that are sent to the notebook.
_STEPS = 50


@contextmanager
def cell_progress() -> Iterator[Progress]:
    """Callback that shows the steps of a run in the cell; at the end the cell is cleared."""
    if not _in_kernel():
        yield silent
        return
    cell = _Cell()
    try:
        yield cell.show
    finally:
        cell.clear()


def _in_kernel() -> bool:
    """Whether the code runs in the kernel of a notebook, not in a script or at a prompt."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module else None
    return getattr(shell, "kernel", None) is not None


class _Cell:
    """One output of the cell that runs."""

    def __init__(self) -> None:
        """Show nothing yet."""
        self._handle: Any = None
        self._shown: tuple[str, int] | None = None
        self._begun = time.monotonic()

    def show(self, stage: Step | Note, done: int = 0, total: int = 0) -> None:
        """Show a step, and how much of it is done; warnings are left to the report."""
        step = done * _STEPS // total if total else 0
        soon = self._handle is None and time.monotonic() - self._begun < _SOON
        if soon or isinstance(stage, Note) or self._shown == (stage, step):
            return
        self._shown = stage, step
        of = f' value="{done}" max="{total}"' if total else ""
        text = visible(stage)
        self._write(
            {"text/plain": text, "text/html": f"<progress{of}></progress> {html.escape(text)}"}
        )

    def clear(self) -> None:
        """Empty the output, if there is one."""
        if self._handle is not None:
            self._write({"text/plain": "", "text/html": ""})

    def _write(self, data: dict[str, str]) -> None:
        from IPython.display import display  # noqa: PLC0415 - it runs, so it is there

        # A run whose notebook is gone must go on, since the run may be paid for.
        with suppress(Exception):
            if self._handle is None:
                self._handle = display(data, raw=True, display_id=True)  # type: ignore[no-untyped-call]
            else:
                self._handle.update(data, raw=True)
