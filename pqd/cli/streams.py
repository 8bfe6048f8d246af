"""Standard output and error of the command line: no line is a command to the runner of a build.

The runner of a build obeys commands that it finds in the log.  A name of a query, a group or a file
could hold such a command, for example to unmask secrets or to report false errors.  So commands in
texts are escaped.
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

# A terminal with fewer columns than the first number is treated as if it had the second number.
_LEAST_WIDTH, _USUAL_WIDTH = 20, 80
# A width with more digits than this is ignored.
_DIGITS = 5


class LostOutputError(RunError):
    """Standard output cannot be written; ``unread`` means that its reader has closed it."""

    def __init__(self, message: str, *, unread: bool = False) -> None:
        """Store ``unread``."""
        self.unread = unread
        super().__init__(message)


class Inert:
    """Text stream that makes text inert and passes it to ``plain``, the stream behind it.

    ``reporting`` is True for standard output, whose failures raise LostOutputError.  Failures of
    standard error are dropped, since no stream is left for a message about them.
    """

    def __init__(self, plain: TextIO, *, reporting: bool) -> None:
        """Store the stream behind this stream."""
        self.plain, self._reporting = plain, reporting

    def write(self, text: str) -> int:
        """Write ``text``, in which commands to a runner are escaped."""
        with self.heard():
            self.plain.write(inert(text))
        return len(text)

    def flush(self) -> None:
        """Write all text that the stream still holds."""
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
        """Attribute of the stream behind; AttributeError for attributes that give direct access."""
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
    """Write commands that the runner must obey; to standard error if ``aside``."""
    stream: Any = sys.stderr if aside else sys.stdout
    with stream.heard():
        stream.plain.write(text)
        stream.plain.flush()


def mend_width() -> None:
    """Set the usual width if the terminal, or the variable COLUMNS, states an unusable width."""
    for name, least in (("COLUMNS", _LEAST_WIDTH), ("LINES", 1)):
        stated = os.environ.get(name)
        if stated is not None and not _is_number(stated, least):
            del os.environ[name]
    if shutil.get_terminal_size().columns < _LEAST_WIDTH:
        os.environ["COLUMNS"] = str(_USUAL_WIDTH)


def _is_number(text: str, least: int) -> bool:
    return text.isascii() and text.isdigit() and len(text) < _DIGITS and int(text) >= least
