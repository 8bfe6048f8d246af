"""Standard output and error of the command line: no line of them is a command to a build's runner.

Whoever names a query, a group or a file could else end a job's masking, or write errors that no
check has found, into a log that a runner reads.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from pqd.errors import RunError
from pqd.reports.escape import inert

# A terminal of fewer cells is none: what has no width shows nothing.
_LEAST_WIDTH, _USUAL_WIDTH = 20, 80
# A width of more digits is none.
_DIGITS = 5


class LostOutputError(RunError):
    """Standard output cannot be written to; ``unread``: its reader has closed it."""

    def __init__(self, message: str, *, unread: bool = False) -> None:
        """Keep what it is."""
        self.unread = unread
        super().__init__(message)


class Inert:
    """A text stream to which only inert text is written; ``plain`` is the stream behind it.

    ``reporting`` is whether it is standard output: LostOutputError is raised where that fails.
    What is lost on standard error has nobody to be told.
    """

    def __init__(self, plain: TextIO, *, reporting: bool) -> None:
        """Stand before ``plain``."""
        self.plain, self._reporting = plain, reporting

    def write(self, text: str) -> int:
        """Write ``text`` with what a runner would obey written out."""
        with self.heard():
            self.plain.write(inert(text))
        return len(text)

    def flush(self) -> None:
        """Write what the stream still holds."""
        with self.heard():
            self.plain.flush()

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Context in which the stream's errors are one of ours, or none."""
        try:
            yield
        except OSError as error:
            if not self._reporting:
                return
            raise LostOutputError(
                f"standard output was lost: {error.strerror}",
                unread=isinstance(error, BrokenPipeError),
            ) from None

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the stream has
        """Attribute of the stream, but not its bytes: nothing is written past this."""
        if name in {"buffer", "detach", "writelines"}:
            raise AttributeError(name)
        return getattr(self.plain, name)


@contextmanager
def inert_streams() -> Iterator[None]:
    """Stand before both streams for a while."""
    streams = sys.stdout, sys.stderr
    sys.stdout = Inert(sys.stdout, reporting=True)
    sys.stderr = Inert(sys.stderr, reporting=False)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


def command_to_runner(text: str, *, aside: bool) -> None:
    """Write lines that the runner is to obey, to standard error if ``aside``."""
    stream: Any = sys.stderr if aside else sys.stdout
    with stream.heard():
        stream.plain.write(text)
        stream.plain.flush()


def mend_width() -> None:
    """State the usual width where a terminal has next to none, or a variable says so."""
    for name, least in (("COLUMNS", _LEAST_WIDTH), ("LINES", 1)):
        stated = os.environ.get(name)
        if stated is not None and not _is_number(stated, least):
            del os.environ[name]
    if shutil.get_terminal_size().columns < _LEAST_WIDTH:
        os.environ["COLUMNS"] = str(_USUAL_WIDTH)


def _is_number(text: str, least: int) -> bool:
    return text.isascii() and text.isdigit() and len(text) < _DIGITS and int(text) >= least
