"""Frames as the engine may read them: no column whose type is guessed from its cells.

DuckDB guesses the type of a pandas object column from a sample of its rows and fails on a later
one that differs: an error that would speak of private rows.  Such columns become text, cell by
cell, and are cast to their public kind like those of a CSV.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

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
_COARSE = ("timestamp[s", "timestamp[ms", "time32", "time64", "duration[")
# Where types come from whose values read the same in every process.
_LASTING = {"datetime", "decimal", "fractions", "numpy", "pandas", "uuid"}
_PLAIN = (str, int, float, complex, bytes)
_MISSING = ("None", "NaN", "nan", "NaT", "<NA>")


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
    return chosen.assign(**{name: chosen[name].map(_text).astype("str") for name in loose})


def _arrow(table: Any, used: Sequence[str]) -> object:  # noqa: ANN401 - a pyarrow Table
    """Pyarrow Table whose coarse times that nobody asks for are whole numbers.

    The engine's range of times is less than theirs, and a cell beyond it would end the run.
    """
    for place, field in enumerate(table.schema):
        if str(field.type).startswith(_COARSE) and field.name not in used:
            column = table.column(place).cast("int32" if field.type.bit_width == 32 else "int64")
            table = table.set_column(place, field.name, column)
    return table


def _text(cell: object) -> str | None:
    """Cell as text, None for a missing one or one whose text is not its value's alone."""
    try:
        text = str(cell) if _lasting(cell) else "None"
    except Exception:  # noqa: BLE001 - no cell may end the run, whatever object it is
        return None
    if text in _MISSING and not isinstance(cell, str):
        return None
    return text.encode("utf-8", "replace").decode()


def _lasting(cell: object) -> bool:
    """Whether a cell reads the same in every process: no address, no order of a set."""
    if isinstance(cell, (list, tuple)):
        return all(map(_lasting, cell))
    if isinstance(cell, dict):
        return all(_lasting(part) for pair in cell.items() for part in pair)
    home = type(cell).__module__.partition(".")[0]
    return cell is None or isinstance(cell, _PLAIN) or home in _LASTING


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
