"""Tables of results: printed in Markdown row by row, and written as CSV files of the documents.

``docs/experiments`` has these files.  Its pages and pictures are made from them alone, by
``python -m benchmarks.experiments``.
"""

import argparse
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from types import TracebackType
from typing import Self

import pandas as pd

# Digits of a number in a CSV file.
DIGITS = "%.6g"


def add_csv_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--csv FOLDER``, which says where a benchmark also writes its tables."""
    parser.add_argument(
        "--csv",
        type=Path,
        metavar="FOLDER",
        help="also write the tables as CSV files into this folder, such as docs/experiments",
    )


def csv_text(frame: pd.DataFrame) -> str:
    """CSV text of a table."""
    return frame.to_csv(index=False, float_format=DIGITS, lineterminator="\n")


def read_table(path: Path) -> pd.DataFrame:
    """Table of a CSV file; only an empty cell is a missing value."""
    return pd.read_csv(path, keep_default_na=False, na_values=[""])


class ResultTable:
    """Table that grows by rows: each is printed, and ``<name>.csv`` is written at the end.

    A benchmark may measure one part of a table in each run.  ``keys`` name the columns that say
    which part a row belongs to: rows of an earlier file that belong to other parts stay.
    """

    def __init__(self, name: str, folder: Path | None, keys: Sequence[str] = ()) -> None:
        """Begin a table; no file is written if ``folder`` is None."""
        self._path = folder and folder / f"{name}.csv"
        self._keys = list(keys)
        self._rows: list[dict[str, object]] = []

    def __enter__(self) -> Self:
        """Table itself."""
        return self

    def add(self, **row: object) -> None:
        """Print a row, after the header if it is the first one, and keep it for the file."""
        if not self._rows:
            print(f"\n| {' | '.join(row)} |")
            print(f"| {' | '.join('---' for _ in row)} |")
        print(f"| {' | '.join(_cell(value) for value in row.values())} |", flush=True)
        self._rows.append(row)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Write the file, unless the benchmark has failed."""
        if self._path is None or kind is not None:
            return
        frame = _texts(StringIO(csv_text(pd.DataFrame(self._rows))))
        if self._keys and self._path.is_file():
            earlier = _texts(self._path)
            measured = set(map(tuple, frame[self._keys].to_numpy().tolist()))
            parts = map(tuple, earlier[self._keys].to_numpy().tolist())
            others = earlier[[part not in measured for part in parts]]
            frame = pd.concat([others, frame], ignore_index=True)
        self._path.write_text(csv_text(frame), encoding="utf-8")


def _texts(source: Path | StringIO) -> pd.DataFrame:
    """Cells of a CSV file as they are written."""
    return pd.read_csv(source, dtype=str, keep_default_na=False)


def _cell(value: object) -> str:
    """Text of a value in a printed table."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
