"""Bytes of a file as text in UTF-8, whatever they are: what no parser trips over."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from io import BufferedIOBase

# Two signs that Unicode keeps from any text: what is not UTF-8 becomes them, and a NUL does.
NO_TEXT = "\ufffe\uffff"


def _marked(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)  # noqa: S101 - it decodes and does nothing else
    return NO_TEXT, error.end


codecs.register_error("pqd.no_text", _marked)


class Utf8Reader:
    """Reader of a file's bytes, in which ``NO_TEXT`` stands for a NUL and for what is not UTF-8.

    Other signs below 128 stay where they are, so what separates rows and cells does too: an odd
    byte is of its own cell alone.
    """

    def __init__(self, file: BufferedIOBase) -> None:
        """Go on where ``file`` stands."""
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8")("pqd.no_text")
        self._ended = False

    def read(self, size: int) -> bytes:
        """Text of the next ``size`` bytes, of more where they are part of a sign; none at the end.

        It may be six times as long.
        """
        text = b""
        while not text and not self._ended:
            held = self._file.read(size)
            self._ended = not held
            if held.isascii() and b"\0" not in held and not self._decoder.getstate()[0]:
                return held
            decoded = self._decoder.decode(held, final=self._ended)
            text = decoded.replace("\0", NO_TEXT).encode()
        return text
