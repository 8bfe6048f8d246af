"""What SDMetrics' two reports say of damaged copies, as JSON.

    python -m benchmarks.damages run DATA --out results.jsonl --keep PAIRS
    python benchmarks/damages_sdmetrics.py PAIRS > sdmetrics.json

It needs the environment of `benchmarks/others.txt`.  SDMetrics has scores and no verdicts.  So a
damage counts as flagged where a score of a column, of a pair or of the whole table is lower than
that of the good copy (`copy00`) by more than a tenth.  Its reports read the private table without
protection.
"""

import argparse
import importlib
import json
import math
import sys
import warnings
from pathlib import Path
from typing import Any

import pandas as pd

LOWER = 0.1
BROKEN = -1.0
GOOD = "copy00"


def read(place: Path) -> pd.DataFrame:
    """Table of a CSV or Parquet file; texts that are dates become dates."""
    table = pd.read_csv(place) if place.suffix == ".csv" else pd.read_parquet(place)
    for name in table.select_dtypes(["object", "string"]):
        dates = pd.to_datetime(table[name], errors="coerce", format="ISO8601")
        if dates.notna().any() and (dates.notna() == table[name].notna()).all():
            table[name] = dates
    return table


def kinds_of(table: pd.DataFrame) -> dict[str, dict[str, str]]:
    """SDMetrics' metadata of a table: what its user would write by hand."""
    kinds = {}
    for name in table:
        column = table[name]
        if pd.api.types.is_bool_dtype(column):
            kind = "boolean"
        elif pd.api.types.is_numeric_dtype(column):
            kind = "numerical"
        elif pd.api.types.is_datetime64_any_dtype(column):
            kind = "datetime"
        else:
            kind = "categorical" if column.nunique() < 0.9 * column.notna().sum() else "unknown"
        kinds[str(name)] = {"sdtype": kind}
    return kinds


def scores(private: pd.DataFrame, copy: pd.DataFrame) -> dict[str, float]:
    """Scores of columns, pairs and whole-table properties, by their names."""
    single = importlib.import_module("sdmetrics.reports.single_table")
    metadata = {"columns": kinds_of(private)}
    found: dict[str, float] = {}
    for report in (single.DiagnosticReport(), single.QualityReport()):
        try:
            report.generate(private, copy, metadata, verbose=False)
        except KeyError as lacking:
            found[f"{type(report).__name__} breaks on {lacking}"] = BROKEN
            continue
        properties = report.get_properties()
        found |= dict(zip(properties["Property"], properties["Score"], strict=True))
        for name in properties["Property"]:
            found |= detailed(report.get_details(name), name)
    return found


def detailed(details: Any, of: str) -> dict[str, float]:  # noqa: ANN401 - a frame of SDMetrics
    """Scores of one property, by the columns that they are of."""
    if of == "Data Structure" or "Score" not in details:
        return {}
    columns = [name for name in ("Column", "Column 1", "Column 2") if name in details]
    names = details[columns].astype(str).agg(" with ".join, axis=1)
    return {f"{of}: {name}": score for name, score in zip(names, details["Score"], strict=True)}


def flagged(found: dict[str, float], good: dict[str, float]) -> list[str]:
    """Names whose score is lower than that of the good copy by more than a tenth."""
    broken = [name for name, score in found.items() if score == BROKEN]
    lower = {
        name: 1.0 if math.isnan(found[name]) else score - found[name]
        for name, score in good.items()
        if name in found and not math.isnan(score)
    }
    names = sorted((name for name, by in lower.items() if by > LOWER), key=lambda n: -lower[n])
    return [*broken, *(f"{name} (-{lower[name]:.2f})" for name in names)]


def main() -> None:
    """Print the flags of all copies of all tables of a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs", type=Path)
    warnings.simplefilter("ignore")
    found: dict[str, dict[str, list[str]]] = {}
    for folder in sorted(each for each in parser.parse_args().pairs.iterdir() if each.is_dir()):
        private = read(next(folder.glob("private.*")))
        good: dict[str, float] = {}
        for place in sorted([*folder.glob("copy*.csv"), *folder.glob("copy*.parquet")]):
            result = scores(private, read(place))
            good = good or result
            found.setdefault(folder.name, {})[place.name] = flagged(result, good)
            print(folder.name, place.name, file=sys.stderr)
    json.dump(found, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
