"""Number of threads that read tables; no result depends on this number."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from pqd.errors import ParameterError

VARIABLE, OPTION = "PQD_THREADS", "--threads"
_MOST = 1023
# Number that the command line states for the run in this context; if None, PQD_THREADS decides.
_STATED: ContextVar[int | None] = ContextVar("threads", default=None)


@contextmanager
def stated_threads(stated: str | None) -> Iterator[None]:
    """Context of a run with ``stated`` threads; if None, PQD_THREADS decides.

    Threads that the run starts do not see this context, so call ``thread_count`` before they start.

    Raises
    ------
    ParameterError
        If ``stated`` is not a number from 1 to 1023.
    """
    token = _STATED.set(None if stated is None else _number(stated, OPTION))
    try:
        yield
    finally:
        _STATED.reset(token)


def thread_count() -> int:
    """Number of threads: the stated number, else PQD_THREADS, else the number of cores.

    Raises
    ------
    ParameterError
        If PQD_THREADS is not a number from 1 to 1023.
    """
    number = _STATED.get()
    if number is not None:
        return number
    stated = os.environ.get(VARIABLE, "").strip()
    return _number(stated, VARIABLE) if stated else _cores()


def _number(stated: str, source: str) -> int:
    digits = stated.lstrip("0")
    # Check the length first: Python refuses to convert a text of too many digits.
    short = stated.isascii() and stated.isdigit() and len(digits) <= len(str(_MOST))
    if not short or not 1 <= (number := int(digits or "0")) <= _MOST:
        raise ParameterError(f"{source} is a number of threads from 1 to {_MOST}")
    return number


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
