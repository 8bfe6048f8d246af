"""Frames of pandas, polars, pyarrow and others, which are in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pqd.engine.reading.frames import arrow_frame, frame_batches, is_pandas, loosely_typed
from pqd.engine.sources.source import Place, Role, TypedSource, checked_names

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    import pyarrow as pa

    from pqd.engine.reading.csv_files import Odd


@dataclass(frozen=True)
class Frame(TypedSource):
    """Frame of pandas or pyarrow, which is in memory."""

    label: str
    columns: tuple[str, ...] = field(repr=False)
    frame: object = field(repr=False)

    @property
    def ordered(self) -> bool:
        """True: rows stay in their order."""
        return True

    @property
    def catalogued(self) -> bool:
        """False: the library may have taken the names from a row."""
        return False

    @property
    def places(self) -> tuple[Place, ...]:
        """No place: the rows are in memory."""
        return ()

    def batches(self, wanted: Sequence[str], odd: Odd) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """Cells of the ``wanted`` columns."""
        return frame_batches(self.frame, wanted)

    def loose(self, names: Sequence[str]) -> Collection[str]:
        """Columns without a single type, which are read as text."""
        return loosely_typed(self.frame, names)


def open_frame(given: object, role: Role) -> Frame:
    """Frame that is ``given``; a frame that is not of pandas is converted to Arrow here, once.

    Raises
    ------
    TableError
        If it is no frame, cannot be converted, or has unusable names.
    """
    if is_pandas(given):
        frame, names = given, [str(name) for name in getattr(given, "columns", ())]
    else:
        frame = table = arrow_frame(given, f"the {role} table")
        names = table.column_names
    return Frame(f"{role} frame", checked_names(f"the {role} frame", names), frame)
