"""Partitions: the public cells of one column, and the cell of each value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# Compared as objects: one is made for each column and use, and may hold many ends.
@dataclass(frozen=True, eq=False)
class Partition(ABC):
    """Cells of one column; every value has exactly one, and a NULL has one of its own.

    ``column`` is its name in the synthetic table.
    """

    column: str

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """Text of each cell."""

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.labels)

    @property
    @abstractmethod
    def unseen(self) -> int | None:
        """Cell of values that the copy never has, None if there is no such cell."""

    @property
    @abstractmethod
    def sql(self) -> str:
        """SQL, over the typed column, of what the scan gives for each row."""

    @abstractmethod
    def codes(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Cell of each row, ``0 .. size - 1``, from what the scan gives; row by row."""

    @abstractmethod
    def facts(self) -> Any:  # noqa: ANN401 - JSON values
        """All that the cell of a value is a function of, for a cache key."""
