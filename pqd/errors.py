"""Errors of pqd; each message tells the mistake, what is allowed, and what to do next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from pqd.deciders.errors import DeciderError, ParameterError, PqdError, UnanswerableError

if TYPE_CHECKING:
    from pqd.reports.models.release import ReleaseReport

__all__ = [
    "MOST_MISTAKES",
    "NO_PERMISSION",
    "NO_RECORD",
    "BaselineError",
    "BudgetError",
    "DeciderError",
    "LedgerError",
    "LostLedgerError",
    "NotPublicError",
    "NothingSelectedError",
    "ParameterError",
    "PqdError",
    "QueryError",
    "RunError",
    "TableError",
    "UnanswerableError",
    "UnknownAnswerError",
    "UnwrittenTableError",
    "for_all",
    "overtaken",
    "with_all_messages",
]

# Advice for a file that the system does not let pqd read.
NO_PERMISSION = (
    "permission denied; ask its owner for the right to read it, or run as a user who has it"
)


# Words about a charge that is in no ledger.
NO_RECORD = "is on no record"


Item = TypeVar("Item")
Result = TypeVar("Result")
# Of more mistakes than this, a message names the first ones and the number of the others.
MOST_MISTAKES = 20


def for_all(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Results of ``function`` for all ``items``, whose errors are raised as one.

    Raises
    ------
    PqdError
        If ``function`` raises some: the first of them, with the messages of all, one below the
        other.  A QueryError has the results of the other items as its ``understood``.
    """
    results, errors = list[Result](), list[PqdError]()
    for item in items:
        try:
            results.append(function(item))
        except PqdError as error:
            errors.append(error)
    if errors:
        first = with_all_messages(errors)
        if isinstance(first, QueryError):
            first.understood = tuple(results)
        raise first
    return results


def with_all_messages(errors: Sequence[PqdError]) -> PqdError:
    """First of several errors, with the messages of all; each message is told once."""
    messages = list(dict.fromkeys(map(str, errors)))
    more = len(messages) - MOST_MISTAKES
    last = [f"and {more:,} more mistakes"] if more > 0 else []
    first = errors[0]
    first.args = ("\n".join([*messages[:MOST_MISTAKES], *last]),)
    return first


class QueryError(PqdError, ValueError):
    """A query that pqd does not understand or does not admit.

    ``start`` and ``stop`` are the offsets in ``sql`` of the part at fault; None means the whole
    text.  The message marks the part.  ``understood`` are the other queries of a workload, whose
    columns are not looked up yet.
    """

    understood: tuple[object, ...] = ()

    def __init__(
        self, message: str, sql: str = "", start: int | None = None, stop: int | None = None
    ) -> None:
        """Store the parts; ``stop`` is exclusive."""
        self.sql, self.start, self.stop = sql, start, stop
        super().__init__(message if not sql else f"{message}\n{_marked(sql, start, stop)}")


class TableError(PqdError, ValueError):
    """A table that cannot be used: it is missing, unreadable, or lacks a needed column."""


class NotPublicError(TableError):
    """A table that is stated as public, but is this private table or another private table."""


class NothingSelectedError(PqdError, ValueError):
    """There is no query to answer."""

    exit_code = 5


class UnknownAnswerError(PqdError, ValueError):
    """The ledger lacks the stored answer that the caller wants to see; nothing was spent."""


class RunError(PqdError, RuntimeError):
    """The run broke before its end; the message never holds a value of the private table."""

    exit_code = 3


class UnwrittenTableError(RunError):
    """The table of a release could not be written; ``report`` has the answers, already paid for."""

    def __init__(self, message: str, report: ReleaseReport) -> None:
        """Store the report."""
        self.report = report
        super().__init__(message)


class BaselineError(PqdError, ValueError):
    """A baseline that is missing or cannot be understood."""


class LedgerError(RunError):
    """The ledger cannot be read or written; nothing was spent."""


class LostLedgerError(LedgerError):
    """The ledger was removed or replaced during a run, and with it the record of the charge."""


class BudgetError(PqdError, ValueError):
    """The budget does not cover the whole run; nothing was spent."""

    exit_code = 4


def overtaken(paid: str, error: BudgetError, advice: str = "") -> RunError:
    """Error of a run that has paid for ``paid``, if another run then took the remaining budget."""
    reason = str(error).replace(" Nothing was spent.", "")
    return RunError(f"{paid} were paid for, and then {reason}{advice}")


def _marked(sql: str, start: int | None, stop: int | None) -> str:
    """Line of ``sql`` with the offset ``start``, and carets under the part at fault."""
    if start is None:
        return "\n".join(f"  {line[:100]}" for line in sql.strip().splitlines()[:8])
    begin = sql.rfind("\n", 0, start) + 1
    end = sql.find("\n", start)
    line = sql[begin : end if end >= 0 else len(sql)].replace("\t", " ")
    offset = start - begin
    width = max(1, min(stop or start + 1, begin + len(line)) - start)
    first = max(0, offset - 50)
    excerpt = line[first : first + 100]
    carets = " " * (offset - first) + "^" * min(width, max(1, len(excerpt) - (offset - first)))
    return f"  {excerpt}\n  {carets}"
