"""Standard output and error of the command line: no line is a command to the runner of a build.

Otherwise whoever names a query, a group or a file could write commands into a log that a runner
reads: end the masking of secrets, or report errors that no check has found.
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

# A terminal of fewer columns is treated as one of the usual width.
_LEAST_WIDTH, _USUAL_WIDTH = 20, 80
# A longer number is not taken as a width.
_DIGITS = 5


class LostOutputError(RunError):
    """Standard output cannot be written; ``unread`` says that its reader has closed it."""

    def __init__(self, message: str, *, unread: bool = False) -> None:
        """Keep whether the reader has closed the stream."""
        self.unread = unread
        super().__init__(message)


class Inert:
    """Text stream that passes only inert text to ``plain``, the stream behind it.

    ``reporting`` is True for standard output, whose failures raise LostOutputError.  Failures of
    standard error are dropped: nobody could read a message on them.
    """

    def __init__(self, plain: TextIO, *, reporting: bool) -> None:
        """Take the stream behind this one."""
        self.plain, self._reporting = plain, reporting

    def write(self, text: str) -> int:
        """Write ``text`` with the commands to a runner escaped."""
        with self.heard():
            self.plain.write(inert(text))
        return len(text)

    def flush(self) -> None:
        """Write what the stream still holds."""
        with self.heard():
            self.plain.flush()

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Context in which an error of the stream becomes LostOutputError, or is dropped."""
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
        """Attribute of the stream, except those that would write past this class."""
        if name in {"buffer", "detach", "writelines"}:
            raise AttributeError(name)
        return getattr(self.plain, name)


@contextmanager
def inert_streams() -> Iterator[None]:
    """Context in which standard output and error pass only inert text."""
    streams = sys.stdout, sys.stderr
    sys.stdout = Inert(sys.stdout, reporting=True)
    sys.stderr = Inert(sys.stderr, reporting=False)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


def command_to_runner(text: str, *, aside: bool) -> None:
    """Write lines that the runner must obey; to standard error if ``aside``."""
    stream: Any = sys.stderr if aside else sys.stdout
    with stream.heard():
        stream.plain.write(text)
        stream.plain.flush()


def mend_width() -> None:
    """Set the usual width if the terminal, or the variable COLUMNS, states an unusable one."""
    for name, least in (("COLUMNS", _LEAST_WIDTH), ("LINES", 1)):
        stated = os.environ.get(name)
        if stated is not None and not _is_number(stated, least):
            del os.environ[name]
    if shutil.get_terminal_size().columns < _LEAST_WIDTH:
        os.environ["COLUMNS"] = str(_USUAL_WIDTH)


def _is_number(text: str, least: int) -> bool:
    return text.isascii() and text.isdigit() and len(text) < _DIGITS and int(text) >= least
