"""Time and memory of one audit by the source of the private table.

Run it as `python -m benchmarks.source_time`.  The script stores the same rows in each kind of
source.  Each source counts the histograms of the rows, and all histograms must be equal.  Then the
audits of the sources take turns.  Each audit is a whole process with a new ledger, and its copy is
a Parquet file.  `--postgres` is the URL of a database in which the script may make a table.
`--spark` are numbers of cores for Spark's local mode; each number is one source.  Unix only.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.processes import Program, in_turn, measured, table_text

ROOT = Path(__file__).parents[1]
TABLES = [str(ROOT / "samples" / f"census_{role}.parquet") for role in ("private", "synthetic")]
CENSUS = str(ROOT / "samples" / "census.sql")
RUN = (sys.executable, "-m", "benchmarks.sourced_audit")
DEFAULT = "Parquet"
# Place of each source in a folder.  If a function follows the place, it makes a frame of the file,
# and its time counts too.
PLACES = {
    DEFAULT: "t.parquet",
    "Parquet, 8 parts": "parts/*.parquet",
    "CSV": "t.csv",
    "CSV, 8 parts": "parts/*.csv",
    "DuckDB file": "store.duckdb::t",
    "DuckDB relation": "t.parquet duckdb.read_parquet",
    "polars LazyFrame": "t.parquet polars.scan_parquet",
    "polars DataFrame": "t.parquet polars.read_parquet",
    "pyarrow Dataset": "t.parquet pyarrow.dataset.dataset",
    "pyarrow Table": "t.parquet pyarrow.parquet.read_table",
    "pandas DataFrame": "t.parquet pandas.read_parquet",
}


def sources(folder: str, postgres: str, spark: Sequence[int]) -> dict[str, tuple[str, ...]]:
    """Sources of the private table by their names.

    A source is a tuple: the environment variables that its process needs, then its place.
    """
    found: dict[str, tuple[str, ...]]
    found = {name: (f"{folder}/{place}",) for name, place in PLACES.items()}
    if postgres:
        sign = "&" if "?" in postgres else "?"
        found["PostgreSQL"] = (f"{postgres}{sign}table=public.pqd_benchmark",)
    for cores in spark:
        found[f"Spark, local[{cores}]"] = (
            f"PYSPARK_SUBMIT_ARGS=--master local[{cores}] --driver-memory 2g pyspark-shell",
            f"PYSPARK_PYTHON={sys.executable}",
            f"spark+file://{folder}/t.parquet?format=parquet",
        )
    return found


def command(what: str, source: tuple[str, ...], queries: str, copy: str) -> tuple[str, ...]:
    """Command that does ``what`` with a source, such as ``audit``."""
    *added, place = source
    return ("env", *added, *RUN, what, queries, place, copy)


def main(argv: Sequence[str] | None = None) -> None:
    """Store the table, compare the histograms, time the audits, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=TABLES, help="private and copy, as Parquet")
    parser.add_argument("--repeat", type=int, default=3, help="runs of which the fastest counts")
    parser.add_argument("--queries", default=CENSUS, help="%(default)s")
    parser.add_argument("--postgres", default="", help="URL of a database, as pqd takes it")
    parser.add_argument("--spark", type=int, nargs="*", default=[], help="cores of local mode")
    options = parser.parse_args(argv)
    private, copy, queries = (
        str(Path(each).resolve()) for each in (*options.tables, options.queries)
    )
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        # Use a process of its own: memory of this process would count as memory of its children.
        measured((*RUN, "store", folder, private, options.postgres))
        given = sources(folder, options.postgres, options.spark)
        counted = {
            name: subprocess.check_output(command("histograms", source, queries, copy))  # noqa: S603
            for name, source in given.items()
        }
        odd = [name for name, found in counted.items() if found != counted[DEFAULT]]
        if odd:
            raise SystemExit(f"the histograms differ from those of {DEFAULT}: {', '.join(odd)}")
        fresh = Path(folder, "ledger")
        os.environ["PQD_LEDGER"] = str(fresh / "ledger.sqlite")
        programs = [
            Program(name, command("audit", source, queries, copy), fresh)
            for name, source in given.items()
        ]
        best = in_turn(programs, options.repeat)
        print(table_text("private table in", best, [DEFAULT], [DEFAULT]))
        print(f"\nThe histograms of {len(counted)} sources are the same.")


if __name__ == "__main__":
    main()
