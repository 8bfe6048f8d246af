"""Bytes of a file as text in UTF-8, whatever they are, in blocks that no parser trips over."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

# Two signs that Unicode keeps from any text: what is not UTF-8 becomes them.
NO_TEXT = "\ufffe\uffff"


class Source(Protocol):
    """A file that is open to be read."""

    def read(self, size: int, /) -> bytes:
        """Next bytes, none at the end."""

    def close(self) -> None:
        """Let go of the file."""


def _marked(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)  # noqa: S101 - it decodes and does nothing else
    return NO_TEXT, error.end


codecs.register_error("pqd.no_text", _marked)


class Utf8Stream:
    """Stream of a file's bytes, in which ``NO_TEXT`` stands for what is not UTF-8.

    Signs below 128 stay where they are, so what separates rows and cells does too: an odd byte
    is of its own cell alone.  It is ``marked`` from the first such sign on that was read, whether
    it stands for an odd byte or was in the file: until then no cell has one.
    """

    def __init__(self, source: Source, before: bytes = b"") -> None:
        """Begin with ``before``, and go on where ``source`` stands."""
        self._source = source
        self._decoder = codecs.getincrementaldecoder("utf-8")("pqd.no_text")
        self._ready = before
        self._ended = False
        self.marked = False
        self.closed = False

    def read(self, size: int) -> bytes:
        """Next ``size`` bytes, fewer at the end and where the last is a carriage return.

        Arrow drops a line feed that begins what follows a carriage return at the end of a block,
        even within a cell; and takes a block of nothing else for the end of the file.
        """
        while len(self._ready) < size and not self._ended:
            self._ready += self._decoded(size - len(self._ready))
        taken = self._ready[:size]
        if not self._ended:
            taken = taken.rstrip(b"\r")
            if not taken:
                raise pa.ArrowInvalid("a block is too short for what stands in it")
        self._ready = self._ready[len(taken) :]
        return taken

    def _decoded(self, size: int) -> bytes:
        block = self._source.read(size)
        self._ended = not block
        if block.isascii() and block and not self._decoder.getstate()[0]:
            return block
        text = self._decoder.decode(block, final=self._ended)
        self.marked = self.marked or NO_TEXT[0] in text
        return text.encode()

    def close(self) -> None:
        """Let go of the file."""
        self.closed = True
        self._source.close()

    def readable(self) -> bool:
        """Whether it can be read."""
        return True

    def __enter__(self) -> Self:
        """Use it in a ``with``."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Let go of the file."""
        self.close()
