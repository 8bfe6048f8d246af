"""Risk of copies of Adult of different kinds, against their quality and beside other tools.

    python benchmarks/risk_others.py make DATA FOLDER --seeds 3
    python benchmarks/risk_others.py score FOLDER Anonymeter > anonymeter.json
    python benchmarks/risk_others.py score FOLDER SDMetrics > sdmetrics.json
    python -m benchmarks.risk_copies FOLDER --out copies.jsonl --anonymeter anonymeter.json
        --sdmetrics sdmetrics.json [--csv docs/experiments]

Each copy appends a line to the file, and copies that have one are not measured again.
The first three commands need an environment of their own; the first lines of their file name it.
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
from benchmarks.risk_others import SECRETS, TOOLS, copies
from benchmarks.risk_splits import LEVEL, SEED, TAU, Counts, counted
from pqd.attacks.parameters import RiskParameters
from pqd.deciders import SimulatedNoise

EPSILON, RUNS = 1.0, 20


class Tried(NamedTuple):
    """Exact numbers of the attacks on one copy, and what simulated releases establish.

    ``leaks`` and ``noes`` are shares of releases, for each attack, and ``found`` is that of any.
    """

    counts: Counts
    leaks: list[float]
    noes: list[float]
    found: float

    @classmethod
    def of(cls, folder: Path, copy: Path, parameters: RiskParameters) -> "Tried":
        """Attacks of ``parameters`` on one copy."""
        private, held_out = (pd.read_parquet(folder / f"{name}.parquet") for name in TABLES)
        counts, _ = counted(private, held_out, pd.read_parquet(copy), parameters)
        flags = []
        for draw in range(RUNS):
            excesses = counts.released(EPSILON, SimulatedNoise(np.random.default_rng([SEED, draw])))
            leaks = [each.p_more(0.0) <= LEVEL / len(excesses) for each in excesses]
            verdicts = [each.verdict(TAU) for each in excesses]
            noes = [each.outcome == "no" and each.p_value <= LEVEL for each in verdicts]
            flags.append((leaks, noes))
        leaks, noes = np.array(flags).transpose(1, 0, 2)
        found = float(leaks.any(axis=1).mean())
        return cls(counts, leaks.mean(axis=0).tolist(), noes.mean(axis=0).tolist(), found)

    def figures(self) -> Iterator[tuple[str, dict[str, float]]]:
        """Yield the name and the figures of each attack."""
        own, other = self.counts.private, self.counts.held_out
        for place, name in enumerate(self.counts.names):
            rate, against = own[1 + place] / own[0], other[1 + place] / other[0]
            yield (
                name,
                {
                    "private": rate, "held_out": against, "excess": rate - against,
                    "leak": self.leaks[place], "no": self.noes[place], "found": self.found,
                },
            )  # fmt: skip


def measured(folder: Path, copy: Path) -> dict[str, dict[str, float]]:
    """Figures of each attack on one copy, of guesses by both learners, with its quality."""
    quality = 1 - simulation_of(folder / "private.parquet", copy, "1").overall
    nearest = Tried.of(folder, copy, RiskParameters.parse(secrets=SECRETS))
    trees = RiskParameters.parse(attacks=["inference"], secrets=SECRETS, learner="trees")
    figures = dict(nearest.figures())
    for name, own in Tried.of(folder, copy, trees).figures():
        figures[name.replace("inference", TREES)] = own
    return {name: {**own, "quality": quality} for name, own in figures.items()}


# Name of the guesses of trees, before the secret.
TREES = "trees"
TABLES = ("private", "held-out")


def lines_of(folder: Path, done: set[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    """Yield the figures of each copy of each seed, but of those that are ``done``."""
    for seed in sorted(path for path in folder.iterdir() if path.is_dir()):
        for name, path in copies(seed):
            if path.is_file() and (seed.name, name) not in done:
                yield {"seed": seed.name, "copy": name, "figures": measured(seed, path)}


def copy_rows(lines: Sequence[dict[str, Any]]) -> Iterator[dict[str, object]]:
    """Yield the figures of each attack on each kind of copy, means over the seeds with errors."""
    found: dict[str, list[dict[str, dict[str, float]]]] = defaultdict(list)
    for line in lines:
        found[line["copy"]].append(line["figures"])
    for name, seeds in found.items():
        for attack in seeds[0]:
            row: dict[str, object] = {"copy": name, "attack": attack, "seeds": len(seeds)}
            for key in seeds[0][attack]:
                own = [each[attack][key] for each in seeds]
                row[key] = float(np.mean(own))
                if key in ERRORS:
                    row[f"{key}_error"] = _error(own)
            yield row


ERRORS = ("private", "held_out", "excess", "quality")


def _error(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def other_rows(
    lines: Sequence[dict[str, Any]], scores: Mapping[str, Any]
) -> Iterator[dict[str, object]]:
    """Yield what another tool says of copies of the first seed, beside our exact rates."""
    ours = {line["copy"]: line["figures"] for line in lines if line["seed"] == "0"}
    for name, tried in scores.items():
        for each in tried:
            attack = counterpart(each["attack"])
            own = ours[name][attack]
            yield {
                "copy": name, "metric": each["attack"], "attack": attack,
                "pqd_private": own["private"], "pqd_held_out": own["held_out"],
                **{key: value for key, value in each.items() if key not in ASIDE},
            }  # fmt: skip


# What another tool says beside its rates or scores.
ASIDE = ("attack", "naive", "seconds")


def counterpart(metric: str) -> str:
    """Attack of ours that asks the same question as a metric of another tool."""
    for words, attack in (("singling-out", "singling-out"), ("DCR", "near")):
        if metric.startswith(words):
            return attack
    return metric.replace("disclosure protection of", "inference")


def main() -> None:
    """Print the figures of all copies, and those of other tools beside ours."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=Path("risk-copies.jsonl"))
    for tool in TOOLS:
        parser.add_argument(f"--{tool.lower()}", type=Path, help="what the tool said, JSON")
    add_csv_option(parser)
    given = parser.parse_args()
    given.out.touch()
    lines = [json.loads(line) for line in given.out.read_text("utf-8").splitlines()]
    with given.out.open("a", encoding="utf-8") as file:
        for line in lines_of(given.folder, {(each["seed"], each["copy"]) for each in lines}):
            print(json.dumps(line), file=file, flush=True)
            lines.append(line)
    with ResultTable("risk-copies", given.csv) as table:
        for row in copy_rows(lines):
            table.add(**row)
    for tool in map(str.lower, TOOLS):
        if path := getattr(given, tool):
            with ResultTable(f"risk-{tool}", given.csv) as table:
                for row in other_rows(lines, json.loads(path.read_text(encoding="utf-8"))):
                    table.add(**row)


if __name__ == "__main__":
    main()
