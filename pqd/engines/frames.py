"""Frames as the engine may read them: no column whose type is guessed from its cells.

DuckDB guesses the type of a pandas object column from a sample of its rows and fails on a later
one that differs: an error that would speak of private rows.  Such columns become text, cell by
cell, and are cast to their public kind like those of a CSV.
"""

from collections.abc import Sequence
from typing import Any

_MISSING = ("None", "NaN", "nan", "NaT", "<NA>")


def loosely_typed(frame: object, names: Sequence[str]) -> list[str]:
    """Return which of ``names`` are pandas object columns."""
    dtypes = getattr(frame, "dtypes", None)
    if dtypes is None:
        return []
    found = {str(name): str(dtype) for name, dtype in dtypes.items()}
    return [name for name in names if found.get(name) == "object"]


def readable(frame: Any, names: Sequence[str]) -> object:  # noqa: ANN401 - pandas or pyarrow
    """Return the columns ``names`` of a frame, object columns as text; every row is kept."""
    if not hasattr(frame, "dtypes"):
        return frame.select(list(names)) if names else frame
    chosen = frame.rename(columns=str)
    chosen = chosen[list(names)] if names else chosen.iloc[:, :1]
    loose = loosely_typed(chosen, [str(name) for name in chosen.columns])
    return chosen.assign(**{name: chosen[name].map(_text).astype("str") for name in loose})


def _text(cell: object) -> str | None:
    """Return a cell as text, None for a missing one or one that has no text."""
    try:
        text = str(cell)
    except Exception:  # noqa: BLE001 - no cell may end the run, whatever object it is
        return None
    if text in _MISSING and not isinstance(cell, str):
        return None
    return text.encode("utf-8", "replace").decode()
