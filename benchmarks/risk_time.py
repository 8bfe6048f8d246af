"""Time and memory of ``pqd risk`` on tables of many rows.

    python -m benchmarks.risk_time DATA [--rows 50000 200000 1000000] [--csv docs/experiments]

The private table has so many rows, and the copy has as many, of 15 columns: rows of Adult, in each
of which one cell is taken from another row.  Whole processes are measured, without held-out rows.
"""

import argparse
import multiprocessing
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.processes import measured
from benchmarks.result_tables import ResultTable, add_csv_option

SEED = 46


def table(data: pd.DataFrame, rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """Rows of ``data``, each with one cell of another row."""
    drawn = data.iloc[rng.integers(0, len(data), rows)].reset_index(drop=True)
    places = rng.integers(0, len(data.columns), rows)
    for place, name in enumerate(data.columns):
        changed = places == place
        other = data[name].to_numpy()[rng.integers(0, len(data), int(changed.sum()))]
        drawn.loc[changed, name] = other
    return drawn


def write(data: Path, rows: int, paths: Sequence[Path]) -> None:
    """Write two tables of so many rows."""
    whole, rng = (
        pd.read_parquet(data / "adult_private.parquet"),
        np.random.default_rng([SEED, rows]),
    )
    for path in paths:
        table(whole, rows, rng).to_parquet(path)


def main() -> None:
    """Measure one report for each number of rows."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--rows", type=int, nargs="+", default=[50_000, 200_000, 1_000_000])
    add_csv_option(parser)
    given = parser.parse_args()
    with ResultTable("risk-time", given.csv, keys=("rows",)) as results:
        for rows in given.rows:
            with tempfile.TemporaryDirectory() as folder:
                paths = [Path(folder) / f"{name}.parquet" for name in ("private", "copy")]
                # Another process makes the tables: the peak of this one counts as its child's.
                maker = multiprocessing.get_context("spawn").Process(
                    target=write, args=(given.data, rows, paths)
                )
                maker.start()
                maker.join()
                ledger = ("--ledger", str(Path(folder) / "ledger.jsonl"), "--row-is-person")
                usage = measured([sys.executable, "-m", "pqd", "risk", *map(str, paths), *ledger])
            results.add(
                rows=rows,
                seconds=usage.seconds,
                cpu_seconds=usage.cpu_seconds,
                peak_mb=usage.peak_mb,
            )


if __name__ == "__main__":
    main()
