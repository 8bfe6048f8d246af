"""Text of a Python object in a cell; no object may end a run with an error.

The type that pandas gives to a column depends on the cells of other rows.  So a number, a truth, a
time or bytes in a column of objects have the same text as in a column of their own type.
"""

import math
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

# Modules of the types whose values have the same text in every process.
_LASTING = {"datetime", "decimal", "fractions", "numpy", "pandas", "uuid"}
_PLAIN = (str, int, float, complex, bytes)
_MISSING = ("None", "NaN", "nan", "NaT", "<NA>")
_NUMBERS = (int, float, Decimal, np.integer, np.floating)
_COMPLEX = (complex, np.complexfloating)
# NumPy's own times occur in a column where another cell is no time.
_TIMES = (datetime, timedelta, np.datetime64, np.timedelta64)
# Doubles hold every whole number below this number.
_EXACT = 1 << 53
# Microseconds of the engine's first moment, and of infinity.
_FIRST_TICK, _INFINITE = -9_223_372_022_400_000_000, (1 << 63) - 1
# Attoseconds of NumPy's units; pandas takes a unit without a name as a nanosecond.
_SECOND = 10**18
_LENGTHS = {unit: 1000**place for place, unit in enumerate(("as", "fs", "ps", "ns", "us", "ms"))}
_LENGTHS |= {"generic": _LENGTHS["ns"], "s": _SECOND, "m": 60 * _SECOND, "h": 3600 * _SECOND}
_LENGTHS |= {"D": 86_400 * _SECOND, "W": 604_800 * _SECOND}
_MONTHS = {"M": 1, "Y": 12}
# Most months before or after 1970 for which NumPy gives a day; the engine's range is smaller.
_MOST_MONTHS = 12 * 10**6


def text_of(cell: object) -> str | None:
    """Cell as text; None if it is missing, or its text depends on more than its value."""
    if type(cell) is str:
        return cell.encode("utf-8", "replace").decode()
    try:
        text = _written(cell) if _lasting(cell) else "None"
    except Exception:  # noqa: BLE001 - no cell may end the run, whatever object it is
        return None
    if text is None or (text in _MISSING and not isinstance(cell, str | bytes)):
        return None
    return text.encode("utf-8", "replace").decode()


def number_text(number: float) -> str:
    """Text of a double: 3, not 3.0, since pandas turns 3 into 3.0 if another cell is missing."""
    exact = abs(number) < _EXACT and number.is_integer()
    return str(int(number)) if exact else repr(number)


def _written(cell: object) -> str | None:
    """Text of a cell, perhaps the text of a missing cell."""
    if isinstance(cell, str):
        return str(cell)
    if isinstance(cell, bool | np.bool_):
        return "true" if cell else "false"
    if isinstance(cell, _TIMES) and str(cell) != "NaT":
        return _time_text(cell)
    if isinstance(cell, _COMPLEX) and cell.imag == 0:
        # If one cell has an imaginary part, pandas makes all numbers of the column complex.
        cell = cell.real
    if isinstance(cell, _NUMBERS):
        return number_text(_double(cell))
    return _other_text(cell)


def _other_text(cell: Any) -> str:  # noqa: ANN401 - any object
    """Text of a time of day, bytes, an interval, or any other cell."""
    if isinstance(cell, time) and cell.tzinfo is None:
        return _without_zeros(cell.isoformat("microseconds"))
    if isinstance(cell, bytes):
        return cell.decode()
    if not hasattr(cell, "closed_left"):
        return str(cell)
    first, last = "[" if cell.closed_left else "(", "]" if cell.closed_right else ")"
    return f"{first}{text_of(cell.left)}, {text_of(cell.right)}{last}"


def _time_text(cell: Any) -> str | None:  # noqa: ANN401 - of Python, NumPy, or pandas' own
    """Text of a moment or span."""
    if isinstance(cell, np.datetime64):
        ticks = _moment_ticks(cell)
        return None if ticks is None else moment_text(ticks, zoned=False)
    if isinstance(cell, np.timedelta64):
        # Pandas has no span of months, since months differ in length.
        return str(cell) if np.datetime_data(cell.dtype)[0] in _MONTHS else span_text(_ticks(cell))
    if isinstance(cell, timedelta):
        return span_text(_microseconds(cell, "to_timedelta64"))
    return moment_text(_microseconds(cell, "to_datetime64"), zoned=cell.tzinfo is not None)


def _moment_ticks(moment: Any) -> int | None:  # noqa: ANN401 - of NumPy, in any unit
    """Microseconds since 1970; None for a moment beyond the engine's range."""
    unit, step = np.datetime_data(moment.dtype)
    if unit not in _MONTHS:
        return _ticks(moment)
    months = int(moment.astype(np.int64)) * step * _MONTHS[unit]
    if abs(months) > _MOST_MONTHS:
        return None
    return _ticks(np.datetime64(months, "M").astype("M8[D]"))


def _microseconds(time: Any, of_pandas: str) -> int:  # noqa: ANN401 - as above
    """Microseconds of a span, or since 1970; a fraction is cut off."""
    if not hasattr(time, of_pandas):
        span = time
        if isinstance(time, datetime):
            span = time - datetime(1970, 1, 1, tzinfo=time.tzinfo and UTC)
        return int(span // timedelta(microseconds=1))
    return _ticks(getattr(time, of_pandas)())


def _ticks(held: Any) -> int:  # noqa: ANN401 - of NumPy, in a unit of fixed length
    """Microseconds of a span, or since 1970; a fraction is cut off, towards 0."""
    unit, step = np.datetime_data(held.dtype)
    length = int(held.astype(np.int64)) * step * _LENGTHS[unit]
    ticks: int = abs(length) // _LENGTHS["us"]
    return ticks if length > 0 else -ticks


def _double(cell: Any) -> float:  # noqa: ANN401 - a number of any type
    """Nearest double of a number."""
    try:
        return float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf


def moment_text(ticks: int, *, zoned: bool) -> str | None:
    """Text of a moment, in microseconds since 1970, as DuckDB writes it; None if DuckDB cannot."""
    if abs(ticks) == _INFINITE:
        return "infinity" if ticks > 0 else "-infinity"
    if not _FIRST_TICK <= ticks < _INFINITE:
        return None
    day, _, clock = str(np.datetime64(ticks, "us")).rpartition("T")
    year, month, date = day.rsplit("-", 2)
    era = "" if int(year) > 0 else " (BC)"
    year = year if int(year) > 0 else f"{1 - int(year):04}"
    return f"{year}-{month}-{date}{era} {_without_zeros(clock)}{'+00' if zoned else ''}"


def span_text(ticks: int) -> str | None:
    """Text of a span of time, in microseconds, as DuckDB writes it; None if DuckDB cannot."""
    if abs(ticks) > _INFINITE:
        return None
    seconds, part = divmod(abs(ticks), 10**6)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{part:06}"
    return f"{'-' if ticks < 0 else ''}{_without_zeros(clock)}"


def _without_zeros(clock: str) -> str:
    """Time of day without the zeros at the end of its fraction."""
    return clock.rstrip("0").removesuffix(".") if "." in clock else clock


def _lasting(cell: object) -> bool:
    """Whether a cell has the same text in every process: it has no memory address and no set."""
    if isinstance(cell, (list, tuple)):
        return all(map(_lasting, cell))
    if isinstance(cell, dict):
        return all(_lasting(part) for pair in cell.items() for part in pair)
    home = type(cell).__module__.partition(".")[0]
    return cell is None or isinstance(cell, _PLAIN) or home in _LASTING
