"""Risk of copies of Adult of different kinds, against their quality and beside Anonymeter.

    python benchmarks/risk_others.py make DATA FOLDER
    python benchmarks/risk_others.py score FOLDER > risk-others.json
    python -m benchmarks.risk_copies FOLDER [--csv docs/experiments]
    python -m benchmarks.risk_copies FOLDER --others risk-others.json [--csv docs/experiments]

The first two commands need an environment of their own; the first lines of their file name it.
Rates, excesses and the overall quality of a profile are exact, with standard errors over the seeds.
The shares of releases that establish a leak, or a NO, are of simulated releases at epsilon 1, whose
noise is seeded.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.profile_quality import simulation_of
from benchmarks.result_tables import ResultTable, add_csv_option
from benchmarks.risk_others import SECRETS, copies
from benchmarks.risk_splits import ATTACKS, LEVEL, SEED, TAU, Counts, counted
from pqd.attacks.parameters import RiskParameters
from pqd.deciders import SimulatedNoise

EPSILON, RUNS = 1.0, 20


class Measured(NamedTuple):
    """Exact numbers of one copy, its quality, and what simulated releases establish.

    ``leaks`` and ``noes`` are shares of releases, for each attack, and ``found`` is that of any.
    """

    counts: Counts
    quality: float
    leaks: list[float]
    noes: list[float]
    found: float


def measured(folder: Path, copy: Path) -> Measured:
    """Measures of one copy."""
    private, held_out = (pd.read_parquet(folder / f"{name}.parquet") for name in TABLES)
    parameters = RiskParameters.parse(attacks=ATTACKS, secrets=SECRETS)
    counts, _ = counted(private, held_out, pd.read_parquet(copy), parameters)
    quality = 1 - simulation_of(folder / "private.parquet", copy, "1").overall
    flags = []
    for draw in range(RUNS):
        excesses = counts.released(EPSILON, SimulatedNoise(np.random.default_rng([SEED, draw])))
        leaks = [each.p_more(0.0) <= LEVEL / len(excesses) for each in excesses]
        verdicts = [each.verdict(TAU) for each in excesses]
        noes = [each.outcome == "no" and each.p_value <= LEVEL for each in verdicts]
        flags.append((leaks, noes))
    leaks, noes = np.array(flags).transpose(1, 0, 2)
    found = float(leaks.any(axis=1).mean())
    return Measured(counts, quality, leaks.mean(axis=0).tolist(), noes.mean(axis=0).tolist(), found)


TABLES = ("private", "held-out")


def copy_rows(folder: Path) -> Iterator[dict[str, object]]:
    """Yield the figures of each attack on each kind of copy."""
    found: dict[str, list[Measured]] = defaultdict(list)
    for seed in sorted(path for path in folder.iterdir() if path.is_dir()):
        for name, path in copies(seed):
            if path.is_file():
                found[name].append(measured(seed, path))
    for name, seeds in found.items():
        for place, attack in enumerate(seeds[0].counts.names):
            rates = [
                [side[1 + place] / side[0] for side in (each.counts.private, each.counts.held_out)]
                for each in seeds
            ]
            values = {
                "private": [own for own, _ in rates],
                "held_out": [other for _, other in rates],
                "excess": [own - other for own, other in rates],
                "quality": [each.quality for each in seeds],
                "leak": [each.leaks[place] for each in seeds],
                "no": [each.noes[place] for each in seeds],
                "found": [each.found for each in seeds],
            }
            row: dict[str, object] = {"copy": name, "attack": attack, "seeds": len(seeds)}
            for key, own in values.items():
                row[key] = float(np.mean(own))
                if key in ERRORS:
                    row[f"{key}_error"] = _error(own)
            yield row


ERRORS = ("excess", "quality")


def _error(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def other_rows(folder: Path, scores: Mapping[str, Any]) -> Iterator[dict[str, object]]:
    """Yield what another tool says of copies of the first seed, beside our exact rates."""
    private, held_out = (pd.read_parquet(folder / f"{name}.parquet") for name in TABLES)
    parameters = RiskParameters.parse(attacks=ATTACKS, secrets=SECRETS)
    for name, path in copies(folder):
        if name not in scores:
            continue
        counts, _ = counted(private, held_out, pd.read_parquet(path), parameters)
        sides = zip(counts.private[1:], counts.held_out[1:], strict=True)
        rates = [(own / counts.private[0], other / counts.held_out[0]) for own, other in sides]
        ours = dict(zip(counts.names, rates, strict=False))
        for each in scores[name]:
            # Singling out is one attack of ours, and two of theirs.
            own, other = ours.get(each["attack"], ours["singling-out"])
            yield {
                "copy": name, "tool": "Anonymeter", "metric": each["attack"], "pqd_private": own,
                "pqd_held_out": other, "private": each.get("private"),
                "held_out": each.get("held_out"), "score": each.get("risk"),
                "low": each.get("low"), "high": each.get("high"),
            }  # fmt: skip


def main() -> None:
    """Print the figures of all copies, or those of Anonymeter beside ours."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--others", type=Path)
    add_csv_option(parser)
    given = parser.parse_args()
    if given.others:
        scores = json.loads(given.others.read_text(encoding="utf-8"))
        with ResultTable("risk-others", given.csv) as table:
            for row in other_rows(given.folder / "0", scores):
                table.add(**row)
        return
    with ResultTable("risk-copies", given.csv) as table:
        for row in copy_rows(given.folder):
            table.add(**row)


if __name__ == "__main__":
    main()
