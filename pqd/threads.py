"""Threads: how many threads read tables; no result depends on their number."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from pqd.errors import ParameterError

VARIABLE, OPTION = "PQD_THREADS", "--threads"
_MOST = 1023
# Number from the command line for the run in this context; None leaves it to PQD_THREADS.
_STATED: ContextVar[int | None] = ContextVar("threads", default=None)


@contextmanager
def stated_threads(stated: str | None) -> Iterator[None]:
    """Context of a run with ``stated`` threads; None leaves the number to PQD_THREADS.

    Threads that the run starts do not see the context: call ``thread_count`` before they start.

    Raises
    ------
    ParameterError
        If it is no number from 1 to 1023.
    """
    token = _STATED.set(None if stated is None else _number(stated, OPTION))
    try:
        yield
    finally:
        _STATED.reset(token)


def thread_count() -> int:
    """Number of threads: as the run states, else PQD_THREADS, else the number of cores.

    Raises
    ------
    ParameterError
        If PQD_THREADS is no number from 1 to 1023.
    """
    number = _STATED.get()
    if number is not None:
        return number
    stated = os.environ.get(VARIABLE, "").strip()
    return _number(stated, VARIABLE) if stated else _cores()


def _number(stated: str, source: str) -> int:
    digits = stated.lstrip("0")
    # Python refuses to convert very many digits.
    short = stated.isascii() and stated.isdigit() and len(digits) <= len(str(_MOST))
    if not short or not 1 <= (number := int(digits or "0")) <= _MOST:
        raise ParameterError(f"{source} is a number of threads from 1 to {_MOST}")
    return number


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
