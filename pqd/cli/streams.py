"""Standard output and error of the command line: no line of them is a command to a build's runner.

Whoever names a query, a group or a file could else end a job's masking, or write errors that no
check has found, into a log that a runner reads.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from reports.text.escape import inert


class Inert:
    """A text stream to which only inert text is written; ``plain`` is the stream behind it."""

    def __init__(self, plain: TextIO) -> None:
        """Stand before ``plain``."""
        self.plain = plain

    def write(self, text: str) -> int:
        """Write ``text`` with what a runner would obey written out."""
        return self.plain.write(inert(text))

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the stream has
        """Attribute of the stream, but not its bytes: nothing is written past this."""
        if name in {"buffer", "detach", "writelines"}:
            raise AttributeError(name)
        return getattr(self.plain, name)


@contextmanager
def inert_streams() -> Iterator[None]:
    """Stand before both streams for a while."""
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = map(Inert, streams)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


def command_to_runner(text: str, *, aside: bool) -> None:
    """Write lines that the runner is to obey, to standard error if ``aside``."""
    stream = sys.stderr if aside else sys.stdout
    plain: TextIO = getattr(stream, "plain", stream)
    plain.write(text)
    plain.flush()
