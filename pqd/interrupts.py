"""Interrupts: Ctrl-C, SIGTERM and SIGHUP end a run, whatever a library makes of them.

DuckDB turns an interrupt into an error of its own, or loses it while it imports a module.  Without
this module the run would then end as broken, or go on and spend.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

# Numbers of the signals since the run began; ``noted`` adds them.
PRESSED: list[int] = []
# Word for a run that a signal ended.  Windows has no SIGHUP (the end of a terminal).
_ENDED = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "terminated"}
_SIGNALS = {getattr(signal, name): word for name, word in _ENDED.items() if hasattr(signal, name)}
# A shell adds the number of the signal to this exit code.
_BEYOND = 128
_ENGINES_OWN = "Query interrupted"


def listen(*replaced: object) -> None:
    """Note each signal that ends a run and raise KeyboardInterrupt; ignored signals stay ignored.

    Only Python's own handlers, and the handlers in ``replaced``, are replaced.  Only the command
    line listens: a library leaves signals to the program that uses it.
    """
    for number in _SIGNALS:
        if signal.getsignal(number) in {signal.default_int_handler, signal.SIG_DFL, *replaced}:
            signal.signal(number, noted)
    sys.unraisablehook = partial(_unraisable, sys.unraisablehook)


def _unraisable(before: Callable[[Any], object], lost: Any) -> None:  # noqa: ANN401 - as Python calls it
    """Drop Python's message on a signal that it cannot raise, as in ``__del__``: it is noted."""
    if not (PRESSED and issubclass(lost.exc_type, KeyboardInterrupt)):
        before(lost)


def noted(number: int, _frame: Any) -> None:  # noqa: ANN401 - as signal calls it
    """Handle the signal."""
    PRESSED.append(number)
    raise KeyboardInterrupt


def ignore() -> None:
    """Ignore further signals, so that the message about the first signal is written whole."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def exit_code() -> int:
    """Exit code of an interrupted run: the code that a shell gives for the first signal."""
    return _BEYOND + (PRESSED[0] if PRESSED else signal.SIGINT)


def interruption() -> str:
    """Message of an interrupted run: which signal ended it, and what it had charged."""
    word = _SIGNALS[signal.Signals(PRESSED[0] if PRESSED else signal.SIGINT)]
    return f"pqd: {word}; {charged_so_far() or 'nothing was spent'}"


def charged_so_far() -> str:
    """Sentence on what the run has charged, and that this stays charged; empty if nothing."""
    # If the module is not loaded, nothing is charged.
    module = sys.modules.get("pqd.accounting.charge_report")
    return str(module.run_charges().text) if module else ""


def heed() -> None:
    """Raise KeyboardInterrupt if a library lost it."""
    if PRESSED:
        raise KeyboardInterrupt


@contextmanager
def heeded() -> Iterator[None]:
    """Context that raises KeyboardInterrupt where a library raised another error, or none."""
    own = False
    try:
        yield
    except Exception as error:
        own = isinstance(error, RuntimeError) and str(error) == _ENGINES_OWN
        if not own and not PRESSED:
            raise
    # Outside the handler, which would chain it to the engine's error.
    if own or PRESSED:
        raise KeyboardInterrupt
