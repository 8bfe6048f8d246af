"""Progress of a run, as those who wait for it are told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from pqd.deciders.errors import ParameterError
from pqd.reports.text.words import counted

_STRICT: ContextVar[bool] = ContextVar("strict", default=False)


class Progress(Protocol):
    """Told what a run is at; it must show nothing of the private table, not even its size.

    A stage that is a warning (pqd/planning/query_warnings.py) is to be read, whatever comes after.
    """

    def __call__(self, stage: str, done: int = 0, total: int = 0) -> None:
        """Note that ``done`` of ``total`` public steps of ``stage`` are done."""
        ...


def silent(stage: str, done: int = 0, total: int = 0) -> None:
    """Show nothing."""


@contextmanager
def strict(*, stated: bool) -> Iterator[None]:
    """Context in which warnings are errors, if it is so ``stated``."""
    token = _STRICT.set(stated)
    try:
        yield
    finally:
        _STRICT.reset(token)


def warn(warnings: Iterable[str], progress: Progress) -> None:
    """Tell warnings, which are about public facts, before anything is spent.

    Raises
    ------
    ParameterError
        If there is one, in a context where warnings are errors.
    """
    told = tuple(dict.fromkeys(warnings))
    for each in told:
        progress(each)
    if told and _STRICT.get():
        made = "an error" if len(told) == 1 else "errors"
        raise ParameterError(
            f"{counted(len(told), 'warning')}, which --strict makes {made}; nothing was spent"
        )
