"""Time `pqd audit` on one table wherever it lies: `python benchmarks/source_time.py`.

Every run is a whole process with a new ledger; the copy is a Parquet file.  Before, the histograms
of the private table are compared: all must be the same.  `--postgres` names a database in which
tables may be made, `--spark` how many cores Spark's local mode takes, one run for each.  Unix only.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb

from benchmarks.processes import Program, in_turn, measured, table_text

HERE = Path(__file__).resolve().parent
SAMPLES = HERE.parent / "samples"
CENSUS = str(SAMPLES / "census.sql")
STATED = ("--queries", CENSUS, "--tau", "3.2%", "--epsilon", "0.25")
ROWS, PARTS = 1_340_703, 16
DEFAULT = "Parquet file"
TABLE = "pqd_benchmark"
STORED = """
import sys
import adbc_driver_postgresql.dbapi as driver
import pyarrow.parquet as pq
with driver.connect(sys.argv[1]) as connection, connection.cursor() as cursor:
    cursor.adbc_ingest(sys.argv[3], pq.read_table(sys.argv[2]), mode="replace")
    connection.commit()
"""


def tables(folder: Path, rows: int) -> dict[str, str]:
    """Private table by where it lies, made of the census sample."""
    sizes = ("--rows", str(rows), "--format", "both", "--out", str(folder))
    measured((sys.executable, str(SAMPLES / "make.py"), "census", *sizes))
    whole, parts = folder / "census_private.parquet", folder / "parts"
    parts.mkdir()
    with duckdb.connect(str(folder / "store.duckdb")) as connection:
        connection.execute("SET threads = 1")
        connection.execute(f"CREATE TABLE census AS FROM '{whole}'")
        step = -(-rows // PARTS)
        for number in range(PARTS):
            within = f"FROM '{whole}' LIMIT {step} OFFSET {number * step}"
            connection.execute(f"COPY ({within}) TO '{parts}/{number:02}.parquet'")
    return {
        DEFAULT: str(whole),
        "CSV file": str(folder / "census_private.csv"),
        f"{PARTS} parts of Parquet": str(parts),
        "DuckDB file": f"{folder}/store.duckdb::census",
    }


def stored(database: str, whole: str) -> str:
    """Address of the table in PostgreSQL, where it is written anew."""
    # In a process of its own: the peak of one that is started counts that of its parent.
    measured((sys.executable, "-c", STORED, database, whole, TABLE))
    return f"{database}{'&' if '?' in database else '?'}table=public.{TABLE}"


def with_cores(cores: int) -> Mapping[str, str]:
    """Environment in which Spark's local mode takes so many cores."""
    stated = f"--master local[{cores}] --driver-memory 2g pyspark-shell"
    return os.environ | {"PYSPARK_SUBMIT_ARGS": stated, "PYSPARK_PYTHON": sys.executable}


def audit(name: str, source: str, copy: str, folder: Path, cores: int = 0) -> Program:
    """First audit of a source, in an environment of its own for Spark."""
    ledger = folder / f"ledger of {name}"
    where = ("--ledger", str(ledger / "ledger.sqlite"))
    command = (sys.executable, "-m", "pqd", "audit", source, copy, *STATED, *where)
    return Program(name, command if not cores else in_environment(cores, command), ledger)


def in_environment(cores: int, command: Sequence[str]) -> tuple[str, ...]:
    """Command with the environment of so many cores for Spark."""
    added = {k: v for k, v in with_cores(cores).items() if os.environ.get(k) != v}
    return ("env", *(f"{name}={value}" for name, value in added.items()), *command)


def digest(source: str, copy: str, cores: int = 0) -> str:
    """Digest of the private table's histograms, counted by the source's engine."""
    command = (sys.executable, "-m", "benchmarks.source_histograms", source, copy, CENSUS)
    found = subprocess.run(  # noqa: S603 - our own script
        in_environment(cores, command) if cores else command,
        capture_output=True,
        check=False,
        text=True,
        cwd=HERE.parent,
    )
    if found.returncode:
        raise SystemExit(f"{source} could not be counted:\n{found.stderr}")
    return found.stdout.strip()


def main(argv: Sequence[str] | None = None) -> None:
    """Make the tables, compare what is counted of them, time the audits, print."""
    parser = argparse.ArgumentParser(description="Time pqd audit wherever the table lies.")
    parser.add_argument("--rows", type=int, default=ROWS, help="rows per table (%(default)s)")
    parser.add_argument("--repeat", type=int, default=3, help="runs per source (%(default)s)")
    parser.add_argument("--postgres", default="", help="URL of a database, as pqd takes it")
    parser.add_argument("--spark", type=int, nargs="*", default=[], help="cores of local mode")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sources = {each: (source, 0) for each, source in tables(folder, options.rows).items()}
        whole, copy = sources[DEFAULT][0], str(folder / "census_synthetic.parquet")
        if options.postgres:
            sources["PostgreSQL"] = stored(options.postgres, whole), 0
        for cores in options.spark:
            sources[f"Spark, local[{cores}]"] = f"spark+file://{whole}?format=parquet", cores
        counted = {each: digest(source, copy, cores) for each, (source, cores) in sources.items()}
        odd = [each for each, found in counted.items() if found != counted[DEFAULT]]
        if odd:
            raise SystemExit(f"the histograms differ from those of a {DEFAULT}: {', '.join(odd)}")
        programs = [
            audit(each, source, copy, folder, cores) for each, (source, cores) in sources.items()
        ]
        best = in_turn(programs, options.repeat)
        print(table_text("30 queries", best, [DEFAULT], [DEFAULT]))
        print(f"\nThe histograms of {len(counted)} sources are the same.")


if __name__ == "__main__":
    main()
