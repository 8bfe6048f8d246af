"""Public tables that pqd makes, written to new files."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING

from pqd.errors import ParameterError
from pqd.paths import draft_of, told_as_unwritten, writable

if TYPE_CHECKING:
    import pandas as pd

_SUFFIXES = (".parquet", ".csv")
_REASONS = tuple(map(os.strerror, errno.errorcode))


def check_new(path: str | Path) -> Path:
    """Path of a table to be written, checked before any budget is spent.

    Raises
    ------
    ParameterError
        If the file cannot be made, ends in neither .parquet nor .csv, or exists: no table is ever
        overwritten.
    """
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


def write_frame(frame: pd.DataFrame, path: Path) -> None:
    """Write ``frame`` in the format of the file's suffix, as a whole or not at all.

    Raises
    ------
    RunError
        If the file cannot be written, or exists by now.
    """
    import duckdb  # noqa: PLC0415 - a heavy import that only this needs

    with told_as_unwritten(path):
        check_new(path)
        with draft_of(path) as draft:
            if path.suffix.lower() == ".csv":
                frame.to_csv(draft, index=False)
                return
            try:
                with duckdb.connect(":memory:") as connection:
                    connection.from_df(frame).write_parquet(str(draft))
            except duckdb.Error as error:
                # DuckDB's message is long; only the system's reason in it is kept.
                found = (reason for reason in _REASONS if reason in str(error))
                raise OSError(0, next(found, "see to the disk and the folder")) from None
