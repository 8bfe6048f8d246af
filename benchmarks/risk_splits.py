"""Risk reports of clean splits and of planted rows: false alarms, and power.

    python -m benchmarks.risk_splits clean --data ../shared/data --out risk.jsonl [--runs 1000]
    python -m benchmarks.risk_splits planted --data ../shared/data --out risk.jsonl [--runs 50]
    python -m benchmarks.risk_splits show risk.jsonl [--csv docs/experiments]

A split draws private rows, held-out rows and the rows of the copy from Adult, without a row twice.
In ``clean`` splits the copy has independent rows, so every established excess is a false alarm.  In
``planted`` splits a share of the private rows stands in the copy, as it is or with one cell taken
from another row.  Each run appends a line to the file.  Noise is seeded, which protects nobody.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.result_tables import ResultTable, add_csv_option
from pqd.attacks.parameters import RiskParameters
from pqd.commands.risk import run_risk
from pqd.deciders import SimulatedNoise

SEED, LEVEL = 42, 0.05
# Rows of the private table, of the held-out table and of the copy.
CLEAN, PLANTED = (1000, 1000, 1000), (20_000, 5_000, 20_000)
KEY = "fnlwgt"
SHARES, CHANGES, COLUMNS = (0.005, 0.01, 0.02, 0.05), (0, 1), ("all", "without a key")


def split(data: pd.DataFrame, sizes: Sequence[int], rng: np.random.Generator) -> list[pd.DataFrame]:
    """Private rows, held-out rows and rows of the copy; no row is in two of them."""
    order = rng.permutation(len(data))
    ends = np.cumsum(sizes)
    return [
        data.iloc[part].reset_index(drop=True) for part in np.split(order[: ends[-1]], ends[:-1])
    ]


def planted(
    private: pd.DataFrame, copy: pd.DataFrame, share: float, changes: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Copy in which a share of the private rows stands, with so many cells of other rows."""
    number = round(share * len(private))
    rows = private.iloc[:number].copy()
    for _ in range(changes):
        places = rng.integers(0, len(rows.columns), number)
        others = private.iloc[rng.integers(number, len(private), number)]
        for column, name in enumerate(rows.columns):
            changed = places == column
            rows.loc[changed, name] = others[name].to_numpy()[changed]
    return pd.concat([rows, copy.iloc[number:]], ignore_index=True)


def outcome(tables: Sequence[pd.DataFrame], seed: int, epsilon: str = "1") -> dict[str, Any]:
    """P-values of each attack."""
    private, held_out, copy = tables
    noise = SimulatedNoise(np.random.default_rng(seed))
    parameters = RiskParameters.parse(total_epsilon=epsilon)
    report = run_risk(private, copy, parameters, noise, held_out=held_out)
    return {
        each.id if not each.column else f"{each.id} {each.column}": {
            "excess": each.held_out.excess.value,
            "standing": each.standing.value,
            "leak": each.held_out.leak_p_value,
            "covered": each.held_out.excess.low <= 0 <= each.held_out.excess.high,
        }
        for each in report.attacks
        if each.held_out
    }


def runs(kind: str, data: pd.DataFrame, number: int, first: int) -> Iterator[dict[str, Any]]:
    """Yield a line for each run."""
    for seed in range(first, first + number):
        rng = np.random.default_rng([SEED, seed])
        if kind == "clean":
            yield {"kind": kind, "seed": seed, "attacks": outcome(split(data, CLEAN, rng), seed)}
            continue
        for share, changes, columns in product(SHARES, CHANGES, COLUMNS):
            own = data if columns == "all" else data.drop(columns=KEY)
            private, held_out, copy = split(own, PLANTED, rng)
            mixed = planted(private, copy, share, changes, rng)
            facts = {"kind": kind, "seed": seed, "share": share, "changes": changes}
            found = outcome((private, held_out, mixed), seed)
            yield {**facts, "columns": columns, "attacks": found}


def show(lines: Sequence[dict[str, Any]], folder: Path | None) -> None:
    """Print tables of false alarms and of power, and write them into ``folder``."""
    clean = [line["attacks"] for line in lines if line["kind"] == "clean"]
    if clean:
        with ResultTable("risk-clean", folder) as table:
            for row in _clean(clean):
                table.add(**row)
    plants = [line for line in lines if line["kind"] == "planted"]
    if plants:
        with ResultTable("risk-planted", folder) as table:
            for row in _planted(plants):
                table.add(**row)


def _clean(lines: Sequence[dict[str, Any]]) -> Iterator[dict[str, object]]:
    """Yield the numbers of false alarms of each attack."""
    for name in sorted({name for line in lines for name in line}):
        own = [line[name] for line in lines if name in line]
        yield {
            "attack": name,
            "splits": len(own),
            "leak": sum(each["leak"] <= LEVEL for each in own),
            "NO": sum(each["standing"] == "beyond" for each in own),
            "yes": sum(each["standing"] == "within" for each in own),
            "covered": sum(each["covered"] for each in own),
        }


def _planted(lines: Sequence[dict[str, Any]]) -> Iterator[dict[str, object]]:
    """Yield the numbers of runs in which planted rows were found."""
    for columns, changes, share in product(COLUMNS, CHANGES, SHARES):
        own = [
            line["attacks"]
            for line in lines
            if (line["columns"], line["changes"], line["share"]) == (columns, changes, share)
        ]
        if own:
            yield {
                "columns": columns,
                "cells changed": changes,
                "planted": share,
                "runs": len(own),
                "found": sum(
                    any(each["leak"] <= LEVEL / len(line) for each in line.values()) for line in own
                ),
                "copied": sum(line["copied"]["leak"] <= LEVEL for line in own),
                "near": sum(line["near"]["leak"] <= LEVEL for line in own),
            }


def main() -> None:
    """Run splits, or show what they gave."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for kind in ("clean", "planted"):
        command = commands.add_parser(kind)
        command.add_argument("--data", type=Path, required=True)
        command.add_argument("--out", type=Path, required=True)
        command.add_argument("--runs", type=int, default=1000 if kind == "clean" else 50)
        command.add_argument("--first", type=int, default=0)
    shown = commands.add_parser("show")
    shown.add_argument("lines", type=Path)
    add_csv_option(shown)
    given = parser.parse_args()
    if given.command == "show":
        lines = [json.loads(line) for line in given.lines.read_text("utf-8").splitlines()]
        show(lines, given.csv)
        return
    data = pd.read_parquet(given.data / "adult_private.parquet")
    with given.out.open("a", encoding="utf-8") as file:
        for line in runs(given.command, data, given.runs, given.first):
            print(json.dumps(line), file=file, flush=True)


if __name__ == "__main__":
    main()
