"""Progress of a run, as those who wait for it are told."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Told what a run is at; it must show nothing of the private table, not even its size.

    A stage that is a warning (pqd/planning/query_warnings.py) is to be read, whatever comes after.
    """

    def __call__(self, stage: str, done: int = 0, total: int = 0) -> None:
        """Note that ``done`` of ``total`` public steps of ``stage`` are done."""
        ...


def silent(stage: str, done: int = 0, total: int = 0) -> None:
    """Show nothing."""
