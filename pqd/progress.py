"""Progress of a run, as those who wait for it are told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from pqd.deciders.errors import ParameterError

if TYPE_CHECKING:
    from pqd.deciders.note import Note

_STRICT: ContextVar[bool] = ContextVar("strict", default=False)


class Step(StrEnum):
    """What a run is at; none of it depends on the private table."""

    PLANNING = "Planning"
    READING_COPY = "Reading the synthetic table"
    READING_COPIES = "Reading the synthetic tables"
    SIMULATING = "Simulating errors on the synthetic table"
    SHARING = "Choosing how to share the budget"
    TRAINING = "Training a classifier on the synthetic table"
    RECOGNISING = "Recognising the private table"
    WAITING = "Waiting for another process that measures the same"
    READING_PRIVATE = "Reading the private table"
    MEASURING = "Measuring"
    REWEIGHTING = "Drawing the table"


class Progress(Protocol):
    """Told what a run is at; it must show nothing of the private table, not even its size.

    A warning (pqd/planning/query_warnings.py) is to be read, whatever comes after.
    """

    def __call__(self, stage: Step | Note, done: int = 0, total: int = 0) -> None:
        """Note that ``done`` of ``total`` public steps of ``stage`` are done."""
        ...


def silent(stage: Step | Note, done: int = 0, total: int = 0) -> None:
    """Show nothing."""


@contextmanager
def strict(*, stated: bool) -> Iterator[None]:
    """Context in which warnings are errors, if it is so ``stated``."""
    token = _STRICT.set(stated)
    try:
        yield
    finally:
        _STRICT.reset(token)


def warn(warnings: Iterable[Note], progress: Progress) -> None:
    """Tell warnings, which are about public facts, before anything is spent.

    Raises
    ------
    ParameterError
        If there is one, in a context where warnings are errors.
    """
    distinct = tuple(dict.fromkeys(warnings))
    for each in distinct:
        progress(each)
    if distinct and _STRICT.get():
        one = len(distinct) == 1
        raise ParameterError(
            f"{len(distinct):,} warning{'' if one else 's'}, which --strict makes "
            f"{'an error' if one else 'errors'}; nothing was spent"
        )
