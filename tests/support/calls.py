"""Calls of functions that a run makes: its work, which no load of the machine changes."""

import sys
from collections.abc import Callable
from types import FrameType


def calls_of(run: Callable[[], object]) -> int:
    """Calls of functions, of Python and of C, while ``run`` runs."""
    counted = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal counted
        counted += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(before)
    return counted
