"""Frames as the engine may read them: no column whose type is guessed from its cells.

DuckDB guesses the type of a pandas object column from a sample of its rows and fails on a later
one that differs: an error that would speak of private rows.  Such columns become text, cell by
cell, and are cast to their public kind like those of a CSV.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pqd.engine.reading.object_texts import text_of
from pqd.engine.reading.values import encoded

if TYPE_CHECKING:
    import pandas as pd

# Kinds of pandas columns that the engine guesses the type of, or cannot hold all values of.
_LOOSE = (
    "object",
    "datetime64[s",
    "datetime64[ms",
    "timedelta64[",
    "period[",
    "interval[",
    "complex",
)
# Rows of a block.
_ROWS = 1 << 17
_COARSE = ("timestamp[s", "timestamp[ms", "time32", "time64", "duration[")


def loosely_typed(frame: object, names: Sequence[str]) -> list[str]:
    """Names, of ``names``, of the pandas columns that are read as text."""
    dtypes = getattr(frame, "dtypes", None)
    if dtypes is None:
        return []
    types = {str(name): str(dtype) for name, dtype in dtypes.items()}
    return [name for name in names if types.get(name, "").startswith(_LOOSE)]


def readable(
    frame: Any,  # noqa: ANN401 - pandas or pyarrow
    names: Sequence[str],
    *,
    used: Sequence[str] | None = None,
    afresh: bool = False,
) -> object:
    """Columns ``names`` of a frame, loose ones as text; every row is kept.

    Only those ``used`` need keep their meaning, all by default.  ``afresh`` copies them, which
    makes any layout a plain one.
    """
    if not hasattr(frame, "dtypes"):
        chosen = frame.select(list(names)) if names else frame
        return chosen if used is None else _arrow(chosen, used)
    if afresh:
        frame = frame.copy()
    chosen = frame.rename(columns=str)
    chosen = chosen[list(names)] if names else chosen.iloc[:, :1]
    loose = loosely_typed(chosen, [str(name) for name in chosen.columns])
    return chosen.assign(**{name: chosen[name].map(text_of).astype("str") for name in loose})


def _arrow(table: Any, used: Sequence[str]) -> object:  # noqa: ANN401 - a pyarrow Table
    """Pyarrow Table whose coarse times that nobody asks for are whole numbers.

    The engine's range of times is less than theirs, and a cell beyond it would end the run.
    """
    for place, field in enumerate(table.schema):
        if str(field.type).startswith(_COARSE) and field.name not in used:
            column = table.column(place).cast("int32" if field.type.bit_width == 32 else "int64")
            table = table.set_column(place, field.name, column)
    return table


def numbered(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Public frame of texts, with columns that are numbers throughout read as numbers."""
    import pandas as pd  # noqa: PLC0415 - a heavy import that only this needs

    columns = {}
    for name in frame.columns:
        try:
            columns[name] = pd.to_numeric(frame[name])
        except (ValueError, TypeError):
            columns[name] = frame[name]
    return pd.DataFrame(columns)


def frame_blocks(
    frame: Any,  # noqa: ANN401 - pandas or pyarrow
    wanted: Sequence[str],
) -> Iterator[Mapping[str, pa.DictionaryArray]]:
    """Rows of a frame in blocks: the cells of the ``wanted`` columns.

    A pandas column of loose type is read as text, cell by cell; so is one with a cell that Arrow
    cannot hold, where text says the same.
    """
    if hasattr(frame, "dtypes"):
        places = {str(name): place for place, name in enumerate(frame.columns)}
        loose = set(loosely_typed(frame, wanted))
        columns = [_arrow_cells(frame.iloc[:, places[n]], loose=n in loose) for n in wanted]
        table = pa.Table.from_arrays(columns, names=list(wanted))
    else:
        table = frame.select(list(wanted))
    for batch in table.to_batches(max_chunksize=_ROWS):
        yield {name: encoded(batch.column(name)) for name in wanted}


def _arrow_cells(
    cells: Any,  # noqa: ANN401 - a pandas Series
    *,
    loose: bool,
) -> pa.Array | pa.ChunkedArray:
    """Cells of a pandas column."""
    if not loose:
        with suppress(pa.ArrowException, ValueError, TypeError, OverflowError):
            return pa.array(cells, from_pandas=True)
    return pa.array(map(text_of, cells), pa.large_string())
