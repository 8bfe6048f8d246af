"""Threads: how many read tables at a time; no result depends on it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from pqd.errors import ParameterError

VARIABLE, OPTION = "PQD_THREADS", "--threads"
_MOST = 1023
# Number that the command line states for the run in this context, None for the variable's.
_STATED: ContextVar[int | None] = ContextVar("threads", default=None)


@contextmanager
def stated_threads(stated: str | None) -> Iterator[None]:
    """Context of a run by ``stated`` threads, which win over PQD_THREADS; None leaves it to that.

    Threads that the run starts are outside of the context: ask for the number before.

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
    """Number that the run states, else PQD_THREADS, by default that of the cores there are.

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
    # Python makes no number of very many digits.
    short = stated.isascii() and stated.isdigit() and len(digits) <= len(str(_MOST))
    if not short or not 1 <= (number := int(digits or "0")) <= _MOST:
        raise ParameterError(f"{source} is a number of threads from 1 to {_MOST}")
    return number


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
