"""Codes of a column's rows, in parts; what a table has beyond its share of memory is on disk.

The file on disk has no name and can be opened by nobody else, and holds nothing in the clear: each
part is combined with a stream of SHAKE128 under a key that is only ever in memory.  Where no file
can be written, memory holds all parts.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import IO, TYPE_CHECKING, Any
from weakref import finalize

import numpy as np

from pqd.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Codes = NDArray[np.unsignedinteger]

# Rows of a part, and bytes of parts that memory holds of one table.
PART = 1 << 20
_HELD = 1 << 26
_SHORT = "the disk is full"
_BROKEN = (
    "a temporary file of this run could not be read again; check the disk of the folder for "
    "temporary files (TMPDIR), and run it again"
)


@dataclass(frozen=True, slots=True, eq=False)
class _Stored:
    """Part in the ``file`` of ``store``: so many bytes from ``first`` on."""

    store: CodeStore
    file: IO[bytes]
    first: int
    size: int
    dtype: np.dtype[Any]


class CodeStore:
    """Store of the parts of one table's columns; several threads may use it."""

    def __init__(self) -> None:
        """Nothing is held, and there is no file."""
        self._lock = Lock()
        self._key = os.urandom(32)
        self._file: IO[bytes] | None = None
        self._held = self._written = 0
        self._writable = True

    def __repr__(self) -> str:
        """Name of the type alone."""
        return "CodeStore(...)"

    def kept(self, part: Codes) -> Codes | _Stored:
        """``part`` as it is kept: itself, or its place in the file."""
        with self._lock:
            if self._writable and self._held + part.nbytes > _HELD:
                try:
                    return self._write(part)
                except OSError:
                    # No space, or no folder for temporary files.
                    self._writable = False
            self._held += part.nbytes
            return part

    def _write(self, part: Codes) -> _Stored:
        if self._file is None:
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - lasts as the store
            finalize(self, self._file.close)
        first = self._written
        self._file.seek(first)
        if self._file.write(self._veiled(part.view(np.uint8), first).data) < part.nbytes:
            raise OSError(_SHORT)
        self._written += part.nbytes
        return _Stored(self, self._file, first, part.nbytes, part.dtype)

    def read(self, stored: _Stored) -> Codes:
        """Part that was written.

        Raises
        ------
        RunError
            If the disk fails.
        """
        held = b""
        with self._lock, suppress(OSError):
            stored.file.seek(stored.first)
            held = stored.file.read(stored.size)
        if len(held) < stored.size:
            # Raised outside the handler: what the system says is of no use to anyone.
            raise RunError(_BROKEN)
        return self._veiled(np.frombuffer(held, np.uint8), stored.first).view(stored.dtype)

    def _veiled(self, octets: NDArray[np.uint8], first: int) -> NDArray[np.uint8]:
        """Bytes at ``first`` in the file from those in memory, and the other way round."""
        stream = hashlib.shake_128(self._key + first.to_bytes(16, "big")).digest(octets.size)
        return octets ^ np.frombuffer(stream, np.uint8)


class RowCodes:
    """Codes of the rows of one column, which are added at the end; they may become wider."""

    def __init__(self, store: CodeStore) -> None:
        """No rows."""
        self._store = store
        self._parts: list[Codes | _Stored] = []
        self._open: list[Codes] = []
        self._open_rows = 0
        self._places: Codes | None = None

    def __repr__(self) -> str:
        """Name of the type alone: what it holds may be private, and a traceback may show this."""
        return "RowCodes(...)"

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._parts) * PART + self._open_rows

    @property
    def in_memory(self) -> bool:
        """Whether no part is in the file."""
        return not any(isinstance(part, _Stored) for part in self._parts)

    def add(self, codes: Codes) -> None:
        """Add rows."""
        self._open.append(codes)
        self._open_rows += codes.size
        while self._open_rows >= PART:
            waiting = np.concatenate(self._open)
            self._parts.append(self._store.kept(waiting[:PART].copy()))
            self._open, self._open_rows = [waiting[PART:].copy()], waiting.size - PART

    def between(self, first: int, last: int) -> Codes:
        """Codes of the rows ``first .. last``, in one array.

        Raises
        ------
        RunError
            If the disk fails.
        """
        inside = range(first // PART, min(-(-last // PART), len(self._parts)))
        parts: Sequence[Codes] = [self._part(number) for number in inside]
        if last > len(self._parts) * PART:
            parts = [*parts, *self._open]
        begun = min(first // PART, len(self._parts)) * PART
        codes = np.concatenate([np.empty(0, np.uint8), *parts])[first - begun : last - begun]
        return codes if self._places is None else self._places[codes]

    def _part(self, number: int) -> Codes:
        part = self._parts[number]
        return part.store.read(part) if isinstance(part, _Stored) else part

    def renumber(self, places: Codes) -> None:
        """Give each code the number that ``places`` has for it."""
        self._places = places
