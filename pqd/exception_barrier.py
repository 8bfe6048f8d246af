"""Exception barrier: errors of work on private rows disclose no private value.

The variables in an error's frames hold private counts, and tools such as ``pytest -l`` and error
trackers show them.  So an error is raised anew without its frames.  The message of an error that is
not pqd's own may quote a private value, so the message is withheld too.
"""

from __future__ import annotations

import errno
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pqd.deciders.options import option
from pqd.errors import PqdError, RunError

Result = TypeVar("Result")
# First words of the message for an unexpected error.
INTERNAL = "internal error"
NO_MEMORY = "memory ran out"
_TO_DO = (
    "give the process more (ulimit -v, or the limit of its container), or take fewer threads "
    "({0}), columns or queries"
)
# Parts of messages; they mean that memory ran out while a library was loaded.
_UNLOADED = ("failed to map segment", "annot allocate memory")
_SAID: dict[type, str] = {
    RuntimeError: "can't start new thread",
    SystemError: "error return without exception set",
}


def sealed(work: Callable[[], Result]) -> Result:
    """Result of ``work``; an error is raised without its frames and its cause.

    Raises
    ------
    PqdError
        As raised by ``work``.
    RunError
        For any other error; the message gives only the type and place of that error.
    BaseException
        Unchanged, if the work is ended from outside: Ctrl-C, a timeout, the end of the process.
    """
    failure: BaseException
    try:
        return work()
    except PqdError as error:
        failure = error
    except Exception as error:  # noqa: BLE001 - whatever it is, it may hold a private value
        failure = RunError(withheld(error))
    except BaseException as error:  # noqa: BLE001 - from outside, which knows no value
        failure = error
    # Raise outside the handlers: inside, Python would chain the new error to the first error.
    failure.__cause__ = failure.__context__ = None
    raise failure.with_traceback(None)


def withheld(error: Exception) -> str:
    """Message for an unexpected error: its type and place, without its own message."""
    if of_memory(error):
        return f"{NO_MEMORY}; {_TO_DO.format(option('--threads 1'))}"
    place = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"{INTERNAL}, {type(error).__name__} at {Path(place.filename).name}:{place.lineno}; "
        "its message is withheld since it may hold a private value. "
        "Please report it with the command you ran."
    )


def of_memory(error: BaseException | None) -> bool:
    """Whether an error, or its cause, means that memory ran out."""
    return error is not None and (
        isinstance(error, MemoryError)
        or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
        or type(error).__name__ == "OutOfMemoryException"
        # Only these messages are read, since any other message may quote a private value.
        or (isinstance(error, ImportError) and any(sign in str(error) for sign in _UNLOADED))
        or str(error) == _SAID.get(type(error))
        or of_memory(error.__cause__ or error.__context__)
    )
