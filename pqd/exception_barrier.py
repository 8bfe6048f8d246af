"""Work on private rows, out of which nothing comes but what it returns.

An error on the way is raised anew: its frames hold private counts in their variables, and so does
whatever shows a traceback with those (``pytest -l``, error trackers).  The message of an error that
is not pqd's own may quote a value, so it is withheld as well.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pqd.errors import PqdError, RunError

Result = TypeVar("Result")
# What the words for an error begin with that nobody foresaw.
INTERNAL = "internal error"


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
    place = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"{INTERNAL}, {type(error).__name__} at {Path(place.filename).name}:{place.lineno}; "
        "its message is withheld since it may hold a private value. "
        "Please report it with the command you ran."
    )
