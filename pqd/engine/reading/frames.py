"""Frames for the engine: no column gets a type that is guessed from its cells.

Libraries such as polars and DuckDB hand on their columns as Arrow (the PyCapsule interface).  A
frame of pandas is read column by column.  The type of an object column could only be guessed from
its rows, and a row of another type would raise an error that tells of private rows.  So an object
column becomes text, cell by cell, and is cast to its public kind like a column of a CSV.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pqd.engine.reading.object_texts import text_of
from pqd.engine.reading.values import at_least_one
from pqd.errors import TableError

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES = ".csv, .tsv, .jsonl, .ndjson (also with .gz) and .parquet"
FORMATS = (
    ".csv, .tsv, .jsonl (also with .gz), .parquet, a folder or pattern of such parts, "
    "FILE.duckdb::TABLE, postgresql://user@host/db?table=schema.name, spark://schema.table, a "
    "pandas, polars or Spark DataFrame, a LazyFrame, a DuckDB relation, a pyarrow Table or "
    "Dataset, or any frame with __arrow_c_stream__"
)
# Types of pandas columns whose cells Arrow always holds.  Columns of other types are read cell by
# cell: their cells have no common type, or the engine cannot hold all their values.
_TYPED = re.compile(
    r"bool(ean)?|u?int(8|16|32|64)|float(16|32|64)|str(ing)?|datetime64\[[un]s(, .*)?\]",
    re.IGNORECASE,
)
# Rows of a batch.
_ROWS = 1 << 17


def is_pandas(source: object) -> bool:
    """Whether ``source`` is a frame of pandas, or of a library that derives its own from it."""
    return any(
        kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] == "pandas"
        for kind in type(source).__mro__
    )


def arrow_frame(source: object, what: str) -> pa.Table:
    """Frame as a table of Arrow, from its Arrow interface; messages call the frame ``what``.

    Raises
    ------
    TableError
        If it is no frame, can be read only once, or has a type that Arrow lacks; no cell is quoted.
    """
    kind = type(source).__name__
    if not hasattr(source, "__arrow_c_stream__"):
        raise TableError(f"{what} is a {kind}; pqd reads {FORMATS}")
    if not hasattr(source, "__len__"):
        raise TableError(
            f"{what} is a {kind}, which can be read but once; give pyarrow.table(...) of it"
        )
    if _has_objects(source):
        # From a Python object, Arrow gets a memory address, which differs in each run.
        raise TableError(f"{what} has a column of the type Object; cast it, to text for example")
    with suppress(Exception):
        return pa.table(source)
    # Raised outside the handler, since the library's own error may quote a cell.
    raise TableError(
        f"{what} is a {kind} that cannot be taken over as a table of Arrow; give its columns types "
        f"that Arrow has, or write it as Parquet; pqd reads {FORMATS}"
    )


def _has_objects(source: object) -> bool:
    """Whether a frame of polars has a column of Python's objects."""
    kinds: object = ()
    # To give the types, a library may evaluate a frame, and fail on a cell.
    with suppress(Exception):
        kinds = getattr(source, "dtypes", ())
    return isinstance(kinds, list) and "Object" in map(str, kinds)


def loosely_typed(frame: object, names: Sequence[str]) -> list[str]:
    """Pandas columns among ``names`` whose kinds are found from their texts."""
    dtypes = getattr(frame, "dtypes", None)
    if dtypes is None:
        return []
    types = {str(name): dtype for name, dtype in dtypes.items()}
    return [name for name in names if name in types and _is_loose(types[name])]


def _is_loose(dtype: Any) -> bool:  # noqa: ANN401 - a type of pandas
    """Whether cells of this pandas type become text, since Arrow may not hold them all."""
    if hasattr(dtype, "categories"):
        # Texts that are categories stay texts.
        return _is_loose(dtype.categories.dtype) and not all(
            isinstance(category, str) for category in dtype.categories
        )
    return not hasattr(dtype, "pyarrow_dtype") and not _TYPED.fullmatch(str(dtype))


def numbered(frame: "pd.DataFrame", names: Sequence[str]) -> "pd.DataFrame":
    """Public frame, in which the columns ``names`` are numbers, if all their texts are."""
    import pandas as pd  # noqa: PLC0415 - a heavy import that only this needs

    columns = {name: frame[name] for name in frame.columns}
    for name in names:
        with suppress(ValueError, TypeError):
            columns[name] = pd.to_numeric(frame[name])
    return pd.DataFrame(columns)


def frame_batches(
    frame: Any,  # noqa: ANN401 - pandas or pyarrow
    wanted: Sequence[str],
) -> Iterator[pa.RecordBatch]:
    """Rows of a frame in batches: the cells of the ``wanted`` columns.

    A column of pandas is read by its type alone: no cell changes how other cells are read.
    """
    if hasattr(frame, "dtypes"):
        places = {str(name): place for place, name in enumerate(frame.columns)}
        columns = [_arrow_cells(frame.iloc[:, places[name]].array) for name in wanted]
        table = pa.Table.from_arrays(columns, names=list(wanted))
    else:
        table = frame.select(list(wanted))
    return at_least_one(table.to_batches(max_chunksize=_ROWS), table.schema, wanted)


def _arrow_cells(
    cells: Any,  # noqa: ANN401 - an array of pandas
) -> pa.Array | pa.ChunkedArray:
    """Cells of a pandas column, or of its categories."""
    dtype = cells.dtype
    if hasattr(dtype, "categories"):
        codes = pa.array(cells.codes, pa.int32(), mask=cells.codes < 0)
        held = _arrow_cells(dtype.categories.array)
        values = held.combine_chunks() if isinstance(held, pa.ChunkedArray) else held
        return pa.DictionaryArray.from_arrays(codes, values)
    if hasattr(dtype, "pyarrow_dtype"):
        return pa.array(cells)
    if _TYPED.fullmatch(str(dtype)):
        # Only texts can fail, if a text is not UTF-8; read cell by cell, the others stay the same.
        with suppress(ValueError):
            return pa.array(cells, from_pandas=True)
    with suppress(Exception):
        return pa.array(map(text_of, cells), pa.large_string())
    # Pandas fails to make an object of some cell, such as a time that its zone puts out of range.
    return pa.array((_text_at(cells, place) for place in range(len(cells))), pa.large_string())


def _text_at(cells: Any, place: int) -> str | None:  # noqa: ANN401 - an array of pandas
    """Text of the cell at ``place``; None if pandas cannot make an object of the cell."""
    with suppress(Exception):
        return text_of(cells[place])
    return None
