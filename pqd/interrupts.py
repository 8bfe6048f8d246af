"""Ctrl-C, SIGTERM and SIGHUP are interrupts whatever a library on the way makes of them.

DuckDB turns an interrupt into an error of its own, or loses it while it imports a module; then the
run would end as broken, or go on and spend.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

# Numbers of the signals since the run began, as noted by ``listen``.
PRESSED: list[int] = []
# What a run that a signal ended is called.  Windows has no SIGHUP, the end of a terminal.
_ENDED = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "terminated"}
_SIGNALS = {getattr(signal, name): word for name, word in _ENDED.items() if hasattr(signal, name)}
# Shells add the number of the signal to it.
_BEYOND = 128
_ENGINES_OWN = "Query interrupted"


def listen(*replaced: object) -> None:
    """Note every signal that ends a run before it is raised; one that is ignored stays so.

    Handlers that are replaced are Python's own, and those of ``replaced``.
    The command line alone listens: a library leaves signals to the program that uses it.
    """
    for number in _SIGNALS:
        if signal.getsignal(number) in {signal.default_int_handler, signal.SIG_DFL, *replaced}:
            signal.signal(number, noted)
    sys.unraisablehook = partial(_unraisable, sys.unraisablehook)


def _unraisable(before: Callable[[Any], object], lost: Any) -> None:  # noqa: ANN401 - as Python calls it
    """Say nothing of a signal where Python cannot raise it, as in ``__del__``; it was noted."""
    if not (PRESSED and issubclass(lost.exc_type, KeyboardInterrupt)):
        before(lost)


def noted(number: int, _frame: Any) -> None:  # noqa: ANN401 - as signal calls it
    """Handle the signal."""
    PRESSED.append(number)
    raise KeyboardInterrupt


def ignore() -> None:
    """Let no further signal in: what is told of the first must be told to its end."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def exit_code() -> int:
    """Exit code of a run that was interrupted, as a shell gives it of the first signal."""
    return _BEYOND + (PRESSED[0] if PRESSED else signal.SIGINT)


def interruption() -> str:
    """Message of a run that was interrupted: what it had charged."""
    word = _SIGNALS[signal.Signals(PRESSED[0] if PRESSED else signal.SIGINT)]
    return f"pqd: {word}; {charged_so_far() or 'nothing was spent'}"


def charged_so_far() -> str:
    """What the run has charged, and that it stays charged; empty if it has charged nothing."""
    # Without that module there is no charge.
    module = sys.modules.get("pqd.accounting.run_charges")
    return str(module.run_charges().text) if module else ""


def heed() -> None:
    """Raise an interrupt that was lost on the way."""
    if PRESSED:
        raise KeyboardInterrupt


@contextmanager
def heeded() -> Iterator[None]:
    """Raise KeyboardInterrupt where a library made another error of it, or none."""
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
