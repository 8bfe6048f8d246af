"""Entries of the benchmark: private tables with their copies, as drawn for one seed."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd
from pandas.api import types

from benchmarks.drawn_queries import Pair, adult_pairs, made_pairs, real_table, whole_numbers
from benchmarks.quality.problems import Tables

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
_GENERATED = {"census": ("synthetic", "coarse", "flat"), "taxi": ("synthetic",)}
_REAL = ("bank", "cps", "taxi", "blood")


def generated_pairs() -> Iterator[Pair]:
    """Yield the generated tables of ``samples`` with their copies."""
    for name, copies in _GENERATED.items():
        private = pd.read_parquet(SAMPLES / f"{name}_private.parquet")
        for copy in copies:
            file = SAMPLES / f"{name}_{copy}.parquet"
            yield f"generated {name}/{copy}", private, pd.read_parquet(file)


def real_pairs(data: Path, seed: int) -> Iterator[Pair]:
    """Yield Adult with its generators' copies, and copies made of four other real tables."""
    yield from adult_pairs(data)
    for name in _REAL:
        yield from made_pairs(name, real_table(data, name), seed)


def stated_pairs(private: Path, copies: Sequence[str], seed: int) -> Iterator[Pair]:
    """Yield the table that a caller names, with each NAME=COPY, or without any with made copies.

    Raises
    ------
    SystemExit
        A copy has no name, or a file cannot be read.
    """
    table = read_table(private)
    if not copies:
        yield from made_pairs(private.stem, table, seed)
    for stated in copies:
        name, _, file = stated.partition("=")
        if not (name and file):
            raise SystemExit(f"{stated!r} names no copy; write NAME=COPY, a Parquet or CSV file")
        yield f"{private.stem}/{name}", table, read_table(Path(file))


def read_table(path: Path) -> pd.DataFrame:
    """Complete rows of a Parquet or CSV file, in its columns of whole numbers and of texts."""
    try:
        read = pd.read_csv if path.suffix.lower() == ".csv" else pd.read_parquet
        table = whole_numbers(read(path))
    except (OSError, ValueError) as error:
        raise SystemExit(f"{path} is no table: {error}; name a Parquet or CSV file") from None
    return table[[name for name in table if _is_plain(table[name])]].reset_index(drop=True)


def _is_plain(column: pd.Series) -> bool:
    return types.is_integer_dtype(column) or types.is_string_dtype(column)


def tables_of(pair: Pair, seed: int) -> Tables:
    """Entry for one seed, with the columns that both tables have in the same kind."""
    name, private, copy = pair
    shared = [c for c in copy if c in private and private[c].dtype.kind == copy[c].dtype.kind]
    both = (table[shared].reset_index(drop=True) for table in (private, copy))
    return Tables(name, seed, *both)
