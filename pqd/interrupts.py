"""Interrupts: Ctrl-C, SIGTERM and SIGHUP end a run, even if a library catches or loses them.

DuckDB may turn an interrupt into an error of its own; the run would then end as broken.  DuckDB may
also lose an interrupt while it imports a module; the run would then go on and spend.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

# Numbers of the signals that have come since the run began; ``noted`` adds them.
PRESSED: list[int] = []
# Words for a run that a signal ended.  Windows lacks SIGHUP, which comes when a terminal ends.
_ENDED = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "terminated"}
_SIGNALS = {getattr(signal, name): word for name, word in _ENDED.items() if hasattr(signal, name)}
# The exit code of a process that a signal ended is this number plus the number of the signal.
_BEYOND = 128
_ENGINES_OWN = "Query interrupted"


def listen(*replaced: object) -> None:
    """From now on note each signal that ends a run, and raise KeyboardInterrupt.

    Only the default handlers, and the handlers in ``replaced``, are replaced.  So an ignored signal
    stays ignored.  Only the command line calls this; in the Python interface signals belong to the
    calling program.
    """
    for number in _SIGNALS:
        if signal.getsignal(number) in {signal.default_int_handler, signal.SIG_DFL, *replaced}:
            signal.signal(number, noted)
    sys.unraisablehook = partial(_unraisable, sys.unraisablehook)


def _unraisable(before: Callable[[Any], object], lost: Any) -> None:  # noqa: ANN401 - as Python calls it
    """Drop Python's message about an interrupt that it cannot raise, such as in ``__del__``."""
    if not (PRESSED and issubclass(lost.exc_type, KeyboardInterrupt)):
        before(lost)


def noted(number: int, _frame: Any) -> None:  # noqa: ANN401 - as signal calls it
    """Note a signal and raise KeyboardInterrupt."""
    PRESSED.append(number)
    raise KeyboardInterrupt


def ignore() -> None:
    """Ignore further signals, so that none interrupts the message about the first signal."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def exit_code() -> int:
    """Exit code of an interrupted run: the code that a shell gives after the first signal."""
    return _BEYOND + (PRESSED[0] if PRESSED else signal.SIGINT)


def interruption() -> str:
    """Message of an interrupted run: which signal ended it, and what it had charged."""
    word = _SIGNALS[signal.Signals(PRESSED[0] if PRESSED else signal.SIGINT)]
    return f"pqd: {word}; {charged_so_far() or 'nothing was spent'}"


def charged_so_far() -> str:
    """Sentence about what the run has charged; empty if the run has charged nothing."""
    # As long as the module is not loaded, nothing is charged.
    module = sys.modules.get("pqd.accounting.charge_report")
    return str(module.run_charges().text) if module else ""


def heed() -> None:
    """Raise KeyboardInterrupt if a signal was noted, since a library may have lost the first."""
    if PRESSED:
        raise KeyboardInterrupt


@contextmanager
def heeded() -> Iterator[None]:
    """Context that raises KeyboardInterrupt if a library has lost it or raised another error."""
    own = False
    try:
        yield
    except Exception as error:
        own = isinstance(error, RuntimeError) and str(error) == _ENGINES_OWN
        if not own and not PRESSED:
            raise
    # Raise outside the handler: inside, Python would chain this error to the engine's error.
    if own or PRESSED:
        raise KeyboardInterrupt
