"""Memory of a table: what was read of it, so that nothing is read twice."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import Future

    import numpy as np
    from numpy.typing import NDArray

    from pqd.engine.reading.columns import Column


class TableMemory:
    """Columns of a table, hashes of its rows by key, and of its content by key, once it is made.

    ``version`` is the source's when it was read, None of a frame, and ``digest`` is kept with that
    of its own; ``odd`` says, without a cell, what is not as it should be: of a column's cells by
    its name, of whole rows under None.
    """

    def __init__(self) -> None:
        """Nothing was read."""
        self.lock, self.digest_lock = Lock(), Lock()
        self.digest: tuple[tuple[int | str, ...], bytes | None] | None = None
        self.forget(None)

    def forget(self, version: tuple[int | str, ...] | None) -> None:
        """Begin anew: the file is another ``version``."""
        self.version = version
        self.rows = 0
        self.columns: dict[str, Column] = {}
        self.ranks: dict[bytes, NDArray[np.uint64]] = {}
        self.contents: dict[bytes, Future[tuple[int, ...]]] = {}
        self.odd: dict[str | None, str] = {}

    def note(self, odd: str, column: str | None = None) -> None:
        """Note what is odd of a column's cells, or of whole rows."""
        self.odd[column] = odd

    def __repr__(self) -> str:
        """Name of the type alone: what it holds may be private."""
        return "TableMemory(...)"
