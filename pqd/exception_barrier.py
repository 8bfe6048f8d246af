"""Work on private rows, out of which nothing comes but what it returns.

An error on the way is raised anew: its frames hold private counts in their variables, and so does
whatever shows a traceback with those (``pytest -l``, error trackers).  The message of an error that
is not pqd's own may quote a value, so it is withheld as well.
"""

from __future__ import annotations

import errno
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pqd.errors import PqdError, RunError

Result = TypeVar("Result")
# What the words for an error begin with that nobody foresaw.
INTERNAL = "internal error"
NO_MEMORY = "memory ran out"
_TO_DO = (
    "give the process more (ulimit -v, or the limit of its container), or take fewer threads "
    "(--threads 1), columns or queries"
)
# What is said where a library is not loaded, or Python goes on without: for want of memory.
_UNLOADED = ("failed to map segment", "annot allocate memory")
_SAID: dict[type, str] = {
    RuntimeError: "can't start new thread",
    SystemError: "error return without exception set",
}


def sealed(work: Callable[[], Result]) -> Result:
    """Result of ``work``; an error has neither its frames nor what it arose from.

    Raises
    ------
    PqdError
        As ``work`` does.
    RunError
        For any other error: its kind and place alone.
    BaseException
        What ends the work from outside, as it is: Ctrl-C, a timeout, the end of the process.
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
    # Outside the handlers, which would chain it to the first.
    failure.__cause__ = failure.__context__ = None
    raise failure.with_traceback(None)


def withheld(error: Exception) -> str:
    """Words that may be told of an error that nobody foresaw."""
    if of_memory(error):
        return f"{NO_MEMORY}; {_TO_DO}"
    place = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"{INTERNAL}, {type(error).__name__} at {Path(place.filename).name}:{place.lineno}; "
        "its message is withheld since it may hold a private value. "
        "Please report it with the command you ran."
    )


def of_memory(error: BaseException | None) -> bool:
    """Whether memory ran out, as an error or what it arose from says."""
    return error is not None and (
        isinstance(error, MemoryError)
        or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
        or type(error).__name__ == "OutOfMemoryException"
        # No other message is looked into: it may quote a private value.
        or (isinstance(error, ImportError) and any(sign in str(error) for sign in _UNLOADED))
        or str(error) == _SAID.get(type(error))
        or of_memory(error.__cause__ or error.__context__)
    )
