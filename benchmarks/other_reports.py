"""Scores of SDMetrics and mostlyai-qa for pairs of a private table and a copy, as JSON.

`python benchmarks/other_reports.py PRIVATE NAME=FILE... --out other_reports.json`

Both tools read the private table without protection.  They are not among pqd's dependencies, and
need an environment of their own:

    pip install sdmetrics==0.32.0 mostlyai-qa==1.10.11 pandas==2.3.3 pyarrow

Of mostlyai-qa's report, the script computes only the accuracy, by the functions that the report
calls.  The rest of that report needs a language model from the network.  Each tool runs on each
pair in a process of its own, so that its time and peak memory can be measured.  The time is that of
the scores, without reading the tables.
"""

import argparse
import contextlib
import importlib
import json
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pandas as pd

MOSTLY_BINS = 10
PREFIX = "tgt::"


def sdmetrics_scores(private: pd.DataFrame, copy: pd.DataFrame) -> dict[str, Any]:
    """Scores of SDMetrics' QualityReport with its defaults, and the mean score of all pairs."""
    report = importlib.import_module("sdmetrics.reports.single_table").QualityReport()
    numbers = set(private.select_dtypes("number").columns)
    kinds = {
        name: {"sdtype": "numerical" if name in numbers else "categorical"} for name in private
    }
    start = time.perf_counter(), time.process_time()
    report.generate(private, copy, {"columns": kinds}, verbose=False)
    used = since(start)
    columns = report.get_details("Column Shapes")
    pairs = report.get_details("Column Pair Trends")
    plain = pairs_without_threshold(private, copy, {"columns": kinds})
    return {
        "overall": report.get_score(),
        "columns": dict(zip(columns["Column"], columns["Score"], strict=True)),
        "metrics": dict(zip(columns["Column"], columns["Metric"], strict=True)),
        "pairs": [
            {"columns": [a, b], "metric": metric, "score": score, "counts": bool(counts)}
            for a, b, metric, score, counts in plain.assign(
                counts=pairs["Meets Threshold?"].fillna(value=False).to_numpy()
            )[["Column 1", "Column 2", "Metric", "Score", "counts"]].itertuples(index=False)
        ],
        "pairs_mean": float(plain["Score"].mean()),
        **used,
    }


def since(start: tuple[float, float]) -> dict[str, float]:
    """Seconds of the clock and of the processor since ``start``, the earlier times of both."""
    clock, processor = start
    return {
        "seconds": time.perf_counter() - clock,
        "cpu_seconds": time.process_time() - processor,
    }


def pairs_without_threshold(
    private: pd.DataFrame, copy: pd.DataFrame, metadata: dict[str, Any]
) -> pd.DataFrame:
    """Scores of all pairs of columns.

    By default, SDMetrics scores only the pairs that are associated in the private table.
    """
    report = importlib.import_module("sdmetrics.reports.single_table").QualityReport()
    report.real_correlation_threshold = report.real_association_threshold = 0
    report.generate(private, copy, metadata, verbose=False)
    details: pd.DataFrame = report.get_details("Column Pair Trends")
    return details


def mostly_scores(private: pd.DataFrame, copy: pd.DataFrame) -> dict[str, Any]:
    """Accuracies of columns, pairs and triples as in mostlyai-qa's report, with its bins."""
    accuracy = importlib.import_module("mostlyai.qa._accuracy")
    private, copy = private.add_prefix(PREFIX), copy.add_prefix(PREFIX)
    binned, bins = accuracy.bin_data(private, MOSTLY_BINS)
    copied, _ = accuracy.bin_data(copy, bins)
    columns = accuracy.calculate_univariates(binned, copied)
    pairs = accuracy.calculate_bivariates(binned, copied)
    triples = accuracy.calculate_trivariates(binned, copied)
    pairs = pairs[pairs["col1"] < pairs["col2"]]
    means = [float(each["accuracy"].mean()) for each in (columns, pairs, triples)]
    most = [float(each["accuracy_max"].mean()) for each in (columns, pairs, triples)]
    return {
        "overall": sum(means) / 3,
        "overall_max": sum(most) / 3,
        "ways": means,
        "ways_max": most,
        "columns": {
            name.removeprefix(PREFIX): score
            for name, score in zip(columns["column"], columns["accuracy"], strict=True)
        },
        "pairs": [
            {"columns": [a.removeprefix(PREFIX), b.removeprefix(PREFIX)], "score": score}
            for a, b, score in pairs[["col1", "col2", "accuracy"]].itertuples(index=False)
        ],
    }


TOOLS = {"sdmetrics": sdmetrics_scores, "mostlyai-qa": mostly_scores}


def run(tool: str, private: Path, copy: Path) -> dict[str, Any]:
    """Scores of one tool for one pair, with the time and memory of this process."""
    frames = pd.read_parquet(private), pd.read_parquet(copy)
    start = time.perf_counter(), time.process_time()
    with warnings.catch_warnings(), contextlib.redirect_stdout(sys.stderr):
        warnings.simplefilter("ignore")
        scores = TOOLS[tool](*frames)
    used = since(start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {**used, **scores, "peak_mb": peak}


def main() -> None:
    """Run every tool on every pair, and write all results to one JSON file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("private", type=Path)
    parser.add_argument("copies", nargs="+", metavar="NAME=FILE")
    parser.add_argument("--out", type=Path, default=Path("other_reports.json"))
    parser.add_argument("--tool", choices=TOOLS, help="one tool, one pair, to the standard output")
    options = parser.parse_args()
    if options.tool:
        copy = Path(options.copies[0].partition("=")[2])
        print(json.dumps(run(options.tool, options.private, copy)))
        return
    found: dict[str, dict[str, Any]] = {}
    for stated in options.copies:
        name, _, _ = stated.partition("=")
        for tool in TOOLS:
            command = [sys.executable, __file__, str(options.private), stated, "--tool", tool]
            shown = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
            found.setdefault(name, {})[tool] = json.loads(shown.stdout)
            print(name, tool, f"{found[name][tool]['overall']:.4f}")
    options.out.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
