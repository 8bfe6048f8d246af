"""Runs the experiments of the three papers, draws them, and writes the page of the documents.

    python -m benchmarks.paper [--data FOLDER] [--quick] [--out docs] [--only NAME ...] [--times]

Writes ``papers.md`` and the folder ``papers`` (a CSV file of each experiment, an SVG of each
figure) into ``--out``.  An experiment whose real tables are missing is left out, and its earlier
file stays.  All noise is seeded, so this protects nobody: use public tables only.
"""

import argparse
import os
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pandas as pd

from benchmarks.paper.page import FOLDER, SECONDS, draw, page, read_seconds, read_tables
from benchmarks.paper.papers import PAPERS
from benchmarks.paper.record import Experiment, Setting

ROOT = Path(__file__).resolve().parents[2]
# Digits of a number in a CSV file.
_DIGITS = "%.6g"


def timed(name: str, setting: Setting) -> tuple[pd.DataFrame, float]:
    """Rows of an experiment, and the seconds that it took."""
    (experiment,) = (each for paper in PAPERS for each in paper.experiments if each.name == name)
    start = time.perf_counter()
    frame = experiment.run(setting)
    return frame, time.perf_counter() - start


def chosen(setting: Setting, only: list[str], *, times: bool) -> list[Experiment]:
    """Experiments to run: those of ``only``, or all, without those whose tables are missing.

    Timed experiments run only with ``times``, or if they are named.
    """
    known = [experiment for paper in PAPERS for experiment in paper.experiments]
    unknown = set(only) - {experiment.name for experiment in known}
    if unknown:
        names = ", ".join(experiment.name for experiment in known)
        raise SystemExit(f"no experiment {', '.join(sorted(unknown))}; there are {names}")
    return [
        experiment
        for experiment in known
        if (experiment.name in only or (not only and (times or not experiment.timed)))
        and setting.has(experiment.needs)
    ]


def main() -> None:
    """Run, draw and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder of the real tables (Parquet files)")
    parser.add_argument("--quick", action="store_true", help="few seeds and small tables")
    parser.add_argument("--out", type=Path, default=ROOT / "docs")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="experiments to run")
    parser.add_argument("--redraw", action="store_true", help="run nothing; draw and write again")
    parser.add_argument("--times", action="store_true", help="record the seconds of this run")
    options = parser.parse_args()
    folder = options.out / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    setting = Setting(options.data, options.quick)
    experiments = [] if options.redraw else chosen(setting, options.only, times=options.times)
    seconds = read_seconds(folder)
    start = time.perf_counter()
    with ProcessPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        running = [(each, pool.submit(timed, each.name, setting)) for each in experiments]
        for experiment, future in running:
            frame, spent = future.result()
            frame.to_csv(
                folder / f"{experiment.name}.csv", index=False, float_format=_DIGITS,
                lineterminator="\n",
            )  # fmt: skip
            print(
                f"{spent:8.1f} s  {FOLDER}/{experiment.name}.csv  {len(frame):,} rows", flush=True
            )
            if options.times or experiment.name not in seconds:
                seconds[experiment.name] = round(spent, 1)
    known = [each.name for paper in PAPERS for each in paper.experiments if each.name in seconds]
    pd.DataFrame({"experiment": known, "seconds": [seconds[name] for name in known]}).to_csv(
        folder / f"{SECONDS}.csv", index=False, lineterminator="\n"
    )
    for path in draw(folder, PAPERS, read_tables(folder, PAPERS)):
        print(f"            {FOLDER}/{path.name}")
    (options.out / "papers.md").write_text(page(folder, PAPERS), encoding="utf-8")
    print(f"{time.perf_counter() - start:8.1f} s  papers.md")


if __name__ == "__main__":
    main()
