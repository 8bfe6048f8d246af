"""Tables that pqd makes: public ones, written to new files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from deciders.extras import needed
from pqd.engine.sources.locations import location_of
from pqd.errors import ParameterError, RunError
from pqd.paths import writable

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

_SUFFIXES = (".parquet", ".csv")


def check_new(path: str | Path) -> Path:
    """Path of a table that is to be written, checked before anything is spent.

    Raises
    ------
    ParameterError
        Unless it can be made there, ends in .parquet or .csv, and is not there yet: no table is
        ever overwritten.  Or pandas, which writes it, is not installed.
    """
    with needed("frames", "a table made of the synthetic one"):
        import pandas as _  # noqa: F401, ICN001, PLC0415 - a heavy import that only this needs
    place = Path(path)
    try:
        exists = place.resolve().exists() or place.is_symlink()
        has_folder = place.absolute().parent.is_dir()
    except (OSError, RuntimeError, ValueError):
        exists, has_folder = False, False
    if place.suffix.lower() not in _SUFFIXES:
        raise ParameterError(f"the table {place} must end in .parquet or .csv")
    if exists:
        raise ParameterError(f"{place} exists, and no table is overwritten; name a new file")
    if not has_folder:
        raise ParameterError(f"the table {place} cannot be made: there is no such folder")
    return writable(place)


def check_no_part(path: Path, tables: Iterable[object]) -> None:
    """Refuse a table that is to be written where it would be a part of another.

    Raises
    ------
    ParameterError
        Before anything is spent.
    """
    for given in tables:
        if isinstance(given, (str, Path)) and location_of(given).takes(path):
            raise ParameterError(
                f"the table {path} would be a part of {location_of(given).text}, a table of this "
                "run; name a file in another folder. Nothing was spent"
            )


def write_frame(frame: pd.DataFrame, path: Path) -> None:
    """Write ``frame`` as the file's name says.

    Raises
    ------
    RunError
        If it cannot be written.
    """
    import duckdb  # noqa: PLC0415 - a heavy import that only this needs

    try:
        if path.suffix.lower() == ".csv":
            frame.to_csv(path, index=False)
        else:
            with duckdb.connect(":memory:") as connection:
                connection.from_df(frame).write_parquet(str(path))
    except (OSError, duckdb.Error):
        raise RunError(
            f"the table {path} was not written; see to the disk and the folder"
        ) from None
