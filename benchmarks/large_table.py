"""Memory and time of an audit by the size of its tables: python benchmarks/large_table.py.

The script makes two CSV files of the given length in a temporary folder, and removes them.  Each
audit is a process of its own.  The script prints its seconds and its peak of resident memory.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HEADER = ("id", "age", "job", "pay", "city", "born", "note")
QUERIES = """SELECT COUNT(*) FROM D WHERE age > 40;
SELECT SUM(pay) FROM D WHERE job = 'job 3';
SELECT MEDIAN(age) FROM D WHERE city <> 'city 7';
"""
PARAMETERS = ("--tau", "5%", "--epsilon", "0.1")


def main() -> None:
    """Make and audit tables of each size, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the least table")
    parser.add_argument("--times", type=int, nargs="+", default=[1, 10, 30])
    given = parser.parse_args()
    print("| rows | size of a file | peak memory | seconds | seconds per million rows |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for times in given.times:
        print(measured(given.rows * times), flush=True)


def measured(rows: int) -> str:
    """Line of the printed table on an audit of two files of ``rows`` rows."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "queries.sql").write_text(QUERIES, "utf-8")
        for seed, name in enumerate(("private.csv", "synthetic.csv")):
            write(home / name, rows, seed)
        size = (home / "private.csv").stat().st_size
        seconds, peak = audited(home)
    return (
        f"| {rows:,} | {size / 1e6:,.0f} MB | {peak / 1e6:,.0f} MB | {seconds:.1f} "
        f"| {seconds / rows * 1e6:.2f} |"
    )


def write(path: Path, rows: int, seed: int) -> None:
    """Write rows whose cells repeat, as in tables of people; only the first column is unique."""
    rng = random.Random(seed)
    texts = [f'"a note of some length, number {n}"' for n in range(50)]
    block = [
        (
            rng.randrange(100),
            f"job {rng.randrange(20)}",
            rng.randrange(10**5),
            f"city {n % 300}",
            f"{1940 + n % 70}-0{1 + n % 9}-1{n % 10}",
            rng.choice(texts),
        )
        for n in range(10_000)
    ]
    tails = [",".join(map(str, row)) + "\r\n" for row in block]
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(",".join(HEADER) + "\r\n")
        for first in range(0, rows, len(tails)):
            lines = enumerate(tails[: rows - first], first)
            file.write("".join([f"{n},{tail}" for n, tail in lines]))


def audited(home: Path) -> tuple[float, float]:
    """Seconds and peak memory in bytes of an audit in ``home``."""
    command = (
        *(sys.executable, "-m", "pqd", "audit", "private.csv", "synthetic.csv"),
        *("--queries", "queries.sql", *PARAMETERS),
    )
    begun = time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    with subprocess.Popen(  # noqa: S603 - the command is stated above
        command, cwd=home, env=environment, stdout=subprocess.DEVNULL
    ) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"the audit ended with exit code {process.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024
    return time.perf_counter() - begun, used.ru_maxrss * unit


if __name__ == "__main__":
    main()
