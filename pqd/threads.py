"""Threads: how many read and evaluate at a time."""

from __future__ import annotations

import os

from pqd.errors import ParameterError

VARIABLE = "PQD_THREADS"


def thread_count() -> int:
    """Number that PQD_THREADS states, by default that of the cores there are.

    No result depends on it.

    Raises
    ------
    ParameterError
        If it states no positive whole number.
    """
    stated = os.environ.get(VARIABLE, "").strip()
    if not stated:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else _cores()
    if not (stated.isascii() and stated.isdigit() and 0 < int(stated) < 1 << 10):
        raise ParameterError(f"{VARIABLE} is a number of threads from 1 to 1023")
    return int(stated)


def _cores() -> int:
    return os.cpu_count() or 1
