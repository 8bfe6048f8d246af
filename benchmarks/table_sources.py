"""Time and memory of one audit by where its tables are: python -m benchmarks.table_sources.

Two Parquet files are stored in every way that needs no server.  Each audit is a process of its own,
with a new ledger; the histograms of the private table are compared between all.  Tables elsewhere
are added by ``--also NAME PRIVATE SYNTHETIC``, such as two URLs of PostgreSQL with the same rows.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.processes import Program, in_turn, table_text

ROOT = Path(__file__).parents[1]
TABLES = [str(ROOT / "samples" / f"census_{role}.parquet") for role in ("private", "synthetic")]
RUN = (sys.executable, "-m", "benchmarks.sourced_audit")
# Names of places, and of functions that make a frame of Parquet files: that time counts, too.
PLACES = {
    "Parquet": "{role}.parquet",
    "Parquet, 8 parts": "{role}/*.parquet",
    "CSV": "{role}.csv",
    "CSV, 8 parts": "{role}/*.csv",
    "DuckDB file": "store.duckdb::{role}",
    "DuckDB relation": "{role}.parquet duckdb.read_parquet",
    "polars LazyFrame": "{role}.parquet polars.scan_parquet",
    "polars DataFrame": "{role}.parquet polars.read_parquet",
    "pyarrow Dataset": "{role}.parquet pyarrow.dataset.dataset",
    "pyarrow Table": "{role}.parquet pyarrow.parquet.read_table",
    "pandas DataFrame": "{role}.parquet pandas.read_parquet",
}


def main() -> None:
    """Store the tables, audit them wherever they are, print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=TABLES, help="both, as Parquet")
    parser.add_argument("--repeat", type=int, default=3, help="runs of which the fastest counts")
    parser.add_argument("--queries", default=str(ROOT / "samples" / "census.sql"))
    parser.add_argument("--also", nargs=3, action="append", default=[], metavar="TEXT")
    given = parser.parse_args()
    files = [str(Path(each).resolve()) for each in (*given.tables, given.queries)]
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        # In a process of its own: what it holds would count as its children's memory.
        subprocess.run([*RUN, "store", folder, *files[:2]], check=True)  # noqa: S603
        stated = {
            name: [f"{folder}/{place.format(role=role)}" for role in ("private", "synthetic")]
            for name, place in PLACES.items()
        } | {name: places for name, *places in given.also}
        fresh = Path(folder, "ledger")
        os.environ["PQD_LEDGER"] = str(fresh / "ledger.sqlite")
        programs = [
            Program(name, (*RUN, "audit", files[2], *each), fresh) for name, each in stated.items()
        ]
        print(table_text("tables in", in_turn(programs, given.repeat), ["Parquet"], ["Parquet"]))
        asked = ([*RUN, "histograms", files[2], *each] for each in stated.values())
        if len({subprocess.check_output(each) for each in asked}) > 1:  # noqa: S603
            raise SystemExit("the histograms of the private table are not the same everywhere")
    print("\nAll histograms of the private table are the same.")


if __name__ == "__main__":
    main()
