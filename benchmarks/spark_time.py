"""Time of audits within one session of Spark's local mode: python -m benchmarks.spark_time.

The script times the start of the session and several audits.  The first audit also starts Python
workers and Java's compiler; the second one does not.  For comparison, the script times the same
audit of the Parquet file by the embedded engine.  With ``--rows``, it makes tables of that many
rows of numbers and texts, in parts of a million rows, and does not use the embedded engine.  The
peak is the sampled memory of all processes together.  Unix only.
"""

import argparse
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).resolve().parent
SAMPLES = HERE.parent / "samples"
CENSUS = [SAMPLES / f"census_{role}.parquet" for role in ("private", "synthetic")]
PART = 1_000_000
QUERIES = [
    "SELECT COUNT(*) FROM D WHERE age > 40 AND job = 'job 3'",
    "SELECT SUM(pay) FROM D WHERE job = 'job 3'",
    "SELECT MEDIAN(age) FROM D WHERE city <> 'city 7'",
    "SELECT COUNT(DISTINCT city) FROM D",
]
FACTS = {"pay": {"bounds": (0, 10_000), "step": 1}}


def made(folder: Path, rows: int, seed: int) -> None:
    """Write ``rows`` random rows into a new folder, at most a million rows in each file."""
    folder.mkdir()
    generator = np.random.default_rng(seed)
    jobs, cities = (pa.array([f"{what} {n}" for n in range(99)]) for what in ("job", "city"))
    for number, first in enumerate(range(0, rows, PART)):
        size = min(PART, rows - first)
        part = {
            "id": pa.array(np.arange(first, first + size)),
            "age": pa.array(generator.integers(0, 100, size)),
            "job": jobs.take(pa.array(generator.integers(0, 99, size))),
            "pay": pa.array(generator.integers(0, 9_999, size)),
            "city": cities.take(pa.array(generator.integers(0, 99, size))),
        }
        pq.write_table(pa.table(part), folder / f"{number}.parquet")


class Peak:
    """Peak memory in MB of this process and all processes that it starts.

    Memory that several processes share is divided among them.
    """

    def __init__(self) -> None:
        """Begin to sample."""
        self.megabytes = 0.0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def _sample(self) -> None:
        while not self._end.wait(0.5):
            self.megabytes = max(self.megabytes, sum(map(memory_of, descendants(os.getpid()))))

    def end(self) -> float:
        """Stop sampling, and return the peak."""
        self._end.set()
        self._thread.join()
        return self.megabytes


def descendants(root: int) -> list[int]:
    """Ids of a process, of its children, of their children, and so on."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    every = [root]
    for process in every:
        every += [child for child, parent in parents.items() if parent == process]
    return every


def memory_of(process: int) -> float:
    """Memory of a process in MB."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)


def cpu_seconds() -> float:
    """CPU seconds of this process and all processes that it started."""
    ticks = 0
    for process in descendants(os.getpid()):
        try:
            numbers = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, numbers[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def timed(name: str, work: Callable[[], object]) -> None:
    """Do ``work``, and print its seconds as a line of the table."""
    begin, worked = time.perf_counter(), cpu_seconds()
    work()
    seconds, cpu = time.perf_counter() - begin, cpu_seconds() - worked
    print(f"| {name} | {seconds:.1f} | {cpu:.1f} |", flush=True)


def main() -> None:
    """Make tables if ``--rows`` is stated, audit them, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cores", type=int, default=2, help="of local mode")
    parser.add_argument("--heap", default="1g", help="memory of Java's own")
    parser.add_argument("--rows", type=int, help="rows to make; else those of --tables")
    parser.add_argument("--tables", nargs=2, default=CENSUS, help="both, of Parquet")
    parser.add_argument("--audits", type=int, default=3, help="in Spark")
    parser.add_argument("--queries", type=Path, default=SAMPLES / "census.sql")
    given = parser.parse_args()
    stated = f"--master local[{given.cores}] --driver-memory {given.heap} pyspark-shell"
    os.environ |= {"PYSPARK_SUBMIT_ARGS": stated, "PYSPARK_PYTHON": sys.executable}

    import pqd  # noqa: PLC0415 - what is stated comes first
    from pqd.engine.spark.sessions import session  # noqa: PLC0415

    peak = Peak()
    with tempfile.TemporaryDirectory() as folder:
        if given.rows:
            private, synthetic = f"{folder}/private", f"{folder}/synthetic"
            made(Path(private), given.rows, 1)
            made(Path(synthetic), min(given.rows, PART), 2)
            asked: Any = QUERIES
        else:
            private, synthetic = (str(Path(name).resolve()) for name in given.tables)
            asked = pqd.read_queries(given.queries)

        def audited(table: str, number: int) -> list[str]:
            report = pqd.audit(
                table,
                synthetic,
                asked,
                tau="3.2%",
                epsilon=0.25,
                columns=FACTS if given.rows else None,
                ledger=f"{folder}/{number}.sqlite",
            )
            return [verdict.outcome for verdict in report.verdicts]

        print(f"| local[{given.cores}] | seconds | CPU s |\n| --- | ---: | ---: |")
        timed("start of a session", session)
        for number in range(given.audits):
            timed(f"audit {number + 1} in Spark", partial(audited, f"spark://{private}", number))
        print(f"| peak of all processes, MB | {peak.end():,.0f} | |")
        if not given.rows:
            for number in range(given.audits, given.audits + 2):
                timed("audit by the embedded engine", partial(audited, private, number))


if __name__ == "__main__":
    main()
