"""SDMetrics' quality report of a copy: `python benchmarks/sdmetrics_report.py PRIVATE COPY`.

It needs the environment of `benchmarks/others.txt`.  It reads the same files as `pqd audit`.
"""

import importlib
import sys
from pathlib import Path

import pandas as pd


def read(path: str) -> pd.DataFrame:
    """Table of a CSV or Parquet file."""
    return pd.read_csv(path) if Path(path).suffix == ".csv" else pd.read_parquet(path)


if __name__ == "__main__":
    private, copy = map(read, sys.argv[1:])
    numbers = set(private.select_dtypes("number").columns)
    kinds = {
        name: {"sdtype": "numerical" if name in numbers else "categorical"} for name in private
    }
    report = importlib.import_module("sdmetrics.reports.single_table").QualityReport()
    report.generate(private, copy, {"columns": kinds}, verbose=False)
    print(report.get_score())
