"""Time of `pqd profile` on a large table, and of a bare read: `python benchmarks/profile_time.py`.

The tables are the census pair of `samples/` at the size of the paper's table, with five additional
columns.  Its 15 columns have 120 marginals.  Every run is a whole process: it starts, imports,
reads both tables and writes the report as JSON.  The programs take turns, and the fastest repeat of
each counts.  Unix only (`os.wait4`).
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.audit_time import FORMATS, PQD, ROWS, SAMPLES, Setting
from benchmarks.processes import Program, in_turn, measured, table_text

READ_ALONE = "pandas reads both files"
READ = "import sys, pandas; [pandas.read_{0}(name) for name in sys.argv[1:]]"


def widen(folder: Path) -> None:
    """Give both tables five additional columns of all kinds; each is a function of the row."""
    for kind in ("private", "synthetic"):
        stem = folder / f"census_{kind}"
        table = pd.read_parquet(stem.with_suffix(".parquet"))
        place, age = np.arange(len(table)), table["age"].to_numpy()
        hours = np.where(age < 16, 0, (age * 7 + place * 13) % 61)
        wide = table.assign(
            hours=hours,
            wage=np.round(table["inctot"] / (hours + 1), 2),
            region=pd.Series(place * 31 % 50).map("region {}".format).to_numpy(),
            owner=(place + age) % 3 == 0,
            moved=pd.Timestamp("2000-01-01") + pd.to_timedelta((place * 37 + age) % 3653, "D"),
        )
        wide.to_parquet(stem.with_suffix(".parquet"), index=False)
        wide.to_csv(stem.with_suffix(".csv"), index=False)


def programs(setting: Setting, extension: str) -> list[Program]:
    """All programs, on the files of one format."""
    files, ledger = setting.tables(extension), setting.ledger(extension)
    report = ("--json", str(setting.folder / "report.json"))
    profile = (*PQD, "profile", *files, *report, "--ledger", str(ledger / "ledger.sqlite"))
    return [
        Program(READ_ALONE, (sys.executable, "-c", READ.format(extension), *files)),
        Program("pqd profile, first run", profile, ledger),
        Program("pqd profile, known file", (*profile, "--fresh")),
        Program("pqd profile, repeated", profile),
        Program("pqd profile, dry run", (*profile, "--dry-run")),
    ]


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description="Time pqd profile against a bare read.")
    parser.add_argument("--rows", type=int, default=ROWS, help="rows per table (%(default)s)")
    parser.add_argument("--repeat", type=int, default=3, help="runs per program (%(default)s)")
    parser.add_argument("--widen", type=Path, help="only give the tables of a folder more columns")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> None:
    """Make the tables, run all programs, and print the times."""
    options = arguments(argv)
    if options.widen:
        widen(options.widen)
        return
    print(f"{options.rows:,} rows per table, 15 columns, best of {options.repeat}")
    print(", ".join(f"{name} {version(name)}" for name in ("duckdb", "pandas", "numpy", "pyarrow")))
    print(f"{os.cpu_count()} cores, load before the start {os.getloadavg()[0]:.2f}", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sizes = ("census", "--rows", str(options.rows), "--format", "both", "--out", name)
        measured((sys.executable, str(SAMPLES / "make.py"), *sizes))
        # Use a process of its own: memory of this process would count as memory of its children.
        measured((sys.executable, __file__, "--widen", name))
        setting = Setting(folder, sys.executable)
        for extension in FORMATS:
            best = in_turn(programs(setting, extension), options.repeat)
            print(f"\n{table_text(extension, best, [READ_ALONE], [])}", flush=True)


if __name__ == "__main__":
    main()
