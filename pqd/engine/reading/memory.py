"""Memory of a table: what was read of it, so that nothing is read twice."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pqd.engine.reading.columns import Column


class TableMemory:
    """Columns of a table, hashes of its rows by key, and of its content by key.

    ``version`` is the file's when it was read, None of a frame, and ``digest`` is kept with that of
    its own; ``odd`` says, without a cell, that
    rows or cells are not as they should be.
    """

    def __init__(self) -> None:
        """Nothing was read."""
        self.lock = Lock()
        self.digest: tuple[tuple[int, ...], bytes | None] | None = None
        self.forget(None)

    def forget(self, version: tuple[int, ...] | None) -> None:
        """Begin anew: the file is another ``version``."""
        self.version = version
        self.rows = 0
        self.columns: dict[str, Column] = {}
        self.ranks: dict[bytes, NDArray[np.uint64]] = {}
        self.contents: dict[bytes, str] = {}
        self.odd: str | None = None

    def note(self, odd: str) -> None:
        """Note what is odd."""
        self.odd = odd

    def __repr__(self) -> str:
        """Name of the type alone: what it holds may be private."""
        return "TableMemory(...)"
