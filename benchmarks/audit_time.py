"""Time `pqd audit` on the census pair against plain pandas: `python benchmarks/audit_time.py`.

Every run is a whole process: start, imports, both tables, 30 verdicts.  The programs take turns,
the best of the repeats counts.  Both must agree on all synthetic answers.  Unix only (`os.wait4`).
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
SAMPLES = HERE.parent / "samples"
ROWS = 1_340_703
FORMATS = ("csv", "parquet")
QUERY_OPTIONS = (
    "--queries",
    str(SAMPLES / "census.sql"),
    "--tau",
    "3.2%",
    "--epsilon",
    "0.25",
)
PANDAS = str(HERE / "pandas_pqd.py")
PROGRAMS: dict[str, tuple[str, ...]] = {
    "pqd audit": ("-m", "pqd", "audit"),
    "pqd audit, replayed": ("-m", "pqd", "audit"),
    "pandas": (PANDAS,),
    "pandas, text as categories": (PANDAS, "--categories"),
}
# A ledger that knows the file after the first run: all is paid for again, or all is replayed.
FRESH = {"pqd audit": ("--fresh",), "pqd audit, replayed": ()}
EVERY_DECIDER = {"pandas, all deciders": (PANDAS, "--all")}


class Usage(NamedTuple):
    """Time and memory of one process."""

    seconds: float
    cpu_seconds: float
    peak_mb: float


@dataclass(frozen=True)
class Case:
    """One program on one pair of files."""

    program: str
    extension: str
    command: tuple[str, ...]
    answers: Path


def measured(command: Sequence[str]) -> Usage:
    """Run a command to its end; its output is only shown if it fails."""
    with tempfile.TemporaryFile() as output:
        begin = time.perf_counter()
        process = subprocess.Popen(command, stdout=output, stderr=output)  # noqa: S603
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            raise SystemExit(f"{' '.join(command)} failed:\n{output.read().decode()}")
    # Linux counts kilobytes, macOS bytes.
    peak = used.ru_maxrss * 1024 if sys.platform == "linux" else used.ru_maxrss
    return Usage(seconds, used.ru_utime + used.ru_stime, peak / 1e6)


def tables(folder: Path, extension: str) -> tuple[str, str]:
    """The private and the synthetic file."""
    private, synthetic = (
        folder / f"census_{kind}.{extension}" for kind in ("private", "synthetic")
    )
    return str(private), str(synthetic)


def cases(folder: Path, programs: Mapping[str, tuple[str, ...]]) -> list[Case]:
    """Every program on every format."""
    found: list[Case] = []
    for extension in FORMATS:
        for name, program in programs.items():
            answers = folder / f"{len(found)}.json"
            files = tables(folder, extension)
            ledger = folder / f"{len(found)}.sqlite" if "pqd" in program else None
            rest = ("--ledger", str(ledger), *FRESH[name]) if ledger else ()
            command = (
                sys.executable,
                *program,
                *files,
                *QUERY_OPTIONS,
                "--json",
                str(answers),
                *rest,
            )
            found.append(Case(name, extension, command, answers))
    return found


def synthetic_answers(path: Path) -> dict[str, float]:
    """``q(Ds)`` per query from either program's JSON."""
    report = json.loads(path.read_text(encoding="utf-8"))
    return {verdict["id"]: float(verdict["q_synthetic"]) for verdict in report["verdicts"]}


def check_agreement(every: Sequence[Case]) -> int:
    """Number of queries on which all programs give one synthetic answer, or exit."""
    first, *others = (synthetic_answers(case.answers) for case in every)
    for case, answers in zip(every[1:], others, strict=True):
        if answers != first:
            differing = sorted(k for k in first | answers if first.get(k) != answers.get(k))
            raise SystemExit(f"{case.program} ({case.extension}) differs on {', '.join(differing)}")
    return len(first)


def phases(folder: Path, extension: str) -> dict[str, float]:
    """Seconds per phase of one audit."""
    command = (
        sys.executable,
        str(HERE / "audit_phases.py"),
        *tables(folder, extension),
        *QUERY_OPTIONS,
    )
    found: dict[str, float] = json.loads(subprocess.check_output(command))  # noqa: S603
    return found


def best_runs(
    every: Sequence[Case], folder: Path, repeat: int
) -> tuple[dict[Case, Usage], dict[str, dict[str, float]]]:
    """Run all in turns; return the fastest run of each case and, per format, its phases."""
    runs: dict[Case, list[Usage]] = {case: [] for case in every}
    splits: dict[str, list[dict[str, float]]] = {extension: [] for extension in FORMATS}
    for _ in range(repeat):
        for case in every:
            runs[case].append(measured(case.command))
        for extension in FORMATS:
            splits[extension].append(phases(folder, extension))
    fastest = {name: min(found, key=lambda s: sum(s.values())) for name, found in splits.items()}
    return {case: min(usages) for case, usages in runs.items()}, fastest


def show_runs(best: Mapping[Case, Usage]) -> None:
    """Print the table of whole processes; the ratio is to pqd on the same files."""
    print(f"\n{'format':8} {'program':28} {'seconds':>8} {'/ pqd':>6} {'CPU s':>6} {'peak MB':>8}")
    base = {case.extension: usage for case, usage in best.items() if case.program == "pqd audit"}
    for case, (seconds, cpu, peak) in best.items():
        ratio = seconds / base[case.extension].seconds
        label = f"{case.extension:8} {case.program:28}"
        print(f"{label} {seconds:8.2f} {ratio:6.2f} {cpu:6.2f} {peak:8.0f}")


def show_phases(found: Mapping[str, Mapping[str, float]]) -> None:
    """Print seconds per phase, one column per format."""
    print(f"\n{'pqd by phase, seconds':52}" + "".join(f"{name:>9}" for name in found))
    for phase in next(iter(found.values())):
        print(f"{phase:52}" + "".join(f"{column[phase]:9.2f}" for column in found.values()))


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description="Time pqd audit against plain pandas.")
    parser.add_argument("--rows", type=int, default=ROWS, help="rows per table (%(default)s)")
    parser.add_argument("--repeat", type=int, default=3, help="runs per program (%(default)s)")
    parser.add_argument("--all", action="store_true", help="also time all the paper's deciders")
    options = parser.parse_args(argv)
    if options.rows < 1 or options.repeat < 1:
        parser.error("--rows and --repeat must be positive")
    return options


def main(argv: Sequence[str] | None = None) -> None:
    """Make the tables, run everything, print."""
    options = arguments(argv)
    names = ("pqd", "duckdb", "opendp", "pandas", "pyarrow", "numpy")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    print(f"{options.rows:,} rows per table, 30 queries, best of {options.repeat}")
    print(f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}")
    print(versions)
    print(f"load before the start {os.getloadavg()[0]:.2f} (an idle machine is near 0)", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sizes = ("census", "--rows", str(options.rows), "--format", "both", "--out", name)
        measured((sys.executable, str(SAMPLES / "make.py"), *sizes))
        every = cases(folder, PROGRAMS | (EVERY_DECIDER if options.all else {}))
        best, by_phase = best_runs(every, folder, options.repeat)
        agreed = check_agreement(every)
    show_runs(best)
    show_phases(by_phase)
    print(f"\nAll programs agree on the {agreed} synthetic answers.")


if __name__ == "__main__":
    main()
