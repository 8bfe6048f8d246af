"""Progress of a run: its steps and warnings, which a callback shows to the user."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from pqd.deciders.errors import ParameterError
from pqd.deciders.options import option

if TYPE_CHECKING:
    from pqd.deciders.note import Note

_STRICT: ContextVar[bool] = ContextVar("strict", default=False)


class Step(StrEnum):
    """Step of a run; the steps do not depend on the private table."""

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
    """Callback for the steps of a run; it must show nothing of the private table, even its size.

    A warning (pqd/planning/query_warnings.py) must stay readable while later steps are shown.
    """

    def __call__(self, stage: Step | Note, done: int = 0, total: int = 0) -> None:
        """Show that ``done`` of ``total`` public parts of ``stage`` are done."""
        ...


def silent(stage: Step | Note, done: int = 0, total: int = 0) -> None:
    """Show nothing."""


@contextmanager
def strict(*, stated: bool) -> Iterator[None]:
    """Context in which warnings are errors, if ``stated`` is True."""
    token = _STRICT.set(stated)
    try:
        yield
    finally:
        _STRICT.reset(token)


def is_strict() -> bool:
    """True if the context makes warnings errors."""
    return _STRICT.get()


def warn(warnings: Iterable[Note], progress: Progress) -> None:
    """Show warnings, which are about public facts, before anything is spent.

    Raises
    ------
    ParameterError
        If there is a warning and the context makes warnings errors.
    """
    distinct = tuple(dict.fromkeys(warnings))
    for each in distinct:
        progress(each)
    if distinct and is_strict():
        one = len(distinct) == 1
        raise ParameterError(
            f"{len(distinct):,} warning{'' if one else 's'}, which {option('--strict')} makes "
            f"{'an error' if one else 'errors'}; nothing was spent"
        )
