"""Text of a Python object that is a cell, whatever it is: no cell may end a run."""

# Where types come from whose values read the same in every process.
_LASTING = {"datetime", "decimal", "fractions", "numpy", "pandas", "uuid"}
_PLAIN = (str, int, float, complex, bytes)
_MISSING = ("None", "NaN", "nan", "NaT", "<NA>")


def text_of(cell: object) -> str | None:
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
