"""Independent halves of real rows, and how many of them the gates pass.

    python -m benchmarks.honest_halves run DATA --out halves.jsonl [--tables adult] [--repeats 5]
    python -m benchmarks.honest_halves show halves.jsonl [--csv docs/experiments]

A good copy is as good as other rows of the same source.  Each repeat draws a private table and a
copy that have no row in common: as many rows as there are (at most 24,421 each), 3,000 each, or a
copy with a tenth of the private rows, whose number is then stated.  Two gates of epsilon 0.25
judge each pair: the one of the whole table, and the one of the spec that `pqd init` writes of this
copy.  Rows and noise are seeded, which protects nobody.  So use public tables only.  More repeats
may be appended to the same file: each continues where the file ends.
"""

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import beta

from benchmarks.damaged_tables import LARGEST_HALF, SEED, TABLES, halves, table_of
from benchmarks.damages import gate_failures, write
from benchmarks.result_tables import ResultTable, add_csv_option
from pqd.commands.check import run_check
from pqd.commands.gate import gate_terms, run_table_gate
from pqd.deciders import Noise, SimulatedNoise
from pqd.errors import PqdError
from pqd.marginals.profile_parameters import ProfileParameters
from pqd.spec import read_spec
from pqd.spec.template import spec_template

GATE, NAMES = Fraction(1, 4), Fraction(1, 2)
SIZES = ("all", "3,000", "a tenth")
SMALL, EVERY = 3_000, "every size"


def sizes_of(size: str, rows: int) -> tuple[int, int]:
    """Private rows and rows of the copy."""
    most = min(LARGEST_HALF, rows // 2)
    if size == "3,000":
        return min(SMALL, most), min(SMALL, most)
    return most, most if size == "all" else most // 10


def table_gate(folder: Path, private: str, copy: str, rows: int | None, noise: Noise) -> list[str]:
    """What `pqd profile --gate 0.25 --names 0.5` names; nothing if it passes."""
    terms = gate_terms(GATE, NAMES, 0.05, rows)
    parameters = ProfileParameters.parse(total_epsilon=GATE, private_rows=rows)
    report = run_table_gate(folder / private, folder / copy, parameters, terms, noise)
    return gate_failures(json.loads(report.to_json()))


def spec_gate(folder: Path, private: str, copy: str, rows: int | None, noise: Noise) -> list[str]:
    """What `pqd check` names in the spec that `pqd init` writes; nothing if it passes."""
    spec = folder / "audit.toml"
    template = spec_template(folder / private, folder / copy, folder, GATE, NAMES, rows)
    spec.write_text(template.text, encoding="utf-8")
    return gate_failures(json.loads(run_check(read_spec(spec), noise, fresh=True).to_json()))


GATES = {"profile --gate": table_gate, "init + check": spec_gate}


def run_pair(
    private: pd.DataFrame, copy: pd.DataFrame, suffix: str, noise: Noise
) -> dict[str, list[str]]:
    """Failures of one honest pair, by gate; private rows are stated where sizes differ."""
    rows = None if len(private) == len(copy) else len(private)
    found = {}
    for gate, judge in GATES.items():
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            names = [
                write(table, folder / f"{name}{suffix}")
                for name, table in (("private", private), ("copy", copy))
            ]
            try:
                found[gate] = judge(folder, names[0], names[1], rows, noise)
            except PqdError as error:
                found[gate] = [f"refused: {str(error)[:60]}"]
    return found


def run(options: argparse.Namespace) -> None:
    """Append one line of JSON per pair to a file."""
    done = Counter[tuple[str, str]]()
    if options.out.exists():
        lines = map(json.loads, options.out.read_text().splitlines())
        done.update((line["table"], line["size"]) for line in lines)
    tables = {name: table_of(name, options.data) for name in options.tables}
    for repeat, (name, table), size in product(
        range(options.repeats), tables.items(), options.sizes
    ):
        seed = [SEED, done[name, size] + repeat, TABLES.index(name), SIZES.index(size)]
        rng = np.random.default_rng(seed)
        pair = halves(table, *sizes_of(size, len(table)), rng)
        suffix = ".csv" if name == "generated" else ".parquet"
        found = run_pair(*pair, suffix, SimulatedNoise(rng))
        line = {"table": name, "size": size, "failures": found}
        with options.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        print(line, flush=True)


def show(options: argparse.Namespace) -> None:
    """Print, for each size, how many pairs each tool passes, and what failed most often."""
    lines = [json.loads(line) for line in options.results.read_text().splitlines()]
    with ResultTable("honest-halves", options.csv) as results:
        for size in (*SIZES, EVERY):
            names = list(dict.fromkeys(line["table"] for line in lines)) if size != EVERY else []
            for name in (*names, "together"):
                chosen = [
                    line["failures"]
                    for line in lines
                    if size in {line["size"], EVERY} and name in {line["table"], "together"}
                ]
                for tool in chosen[0] if chosen else ():
                    counts = passed([each[tool] for each in chosen])
                    results.add(table=name, size=size, gate=tool, **counts)


def passed(runs: Sequence[Sequence[str]]) -> dict[str, object]:
    """Green runs, a lower bound of their share at 95 %, and frequent failures."""
    green = sum(not each for each in runs)
    # Clopper and Pearson 1934, on one side.
    least = float(beta.ppf(0.05, green, len(runs) - green + 1)) if green else 0.0
    often = Counter(name for each in runs for name in each).most_common(3)
    failed = ", ".join(f"{name} ({times})" for name, times in often)
    return {"green": green, "pairs": len(runs), "at_least": round(least, 3), "failed": failed}


def main() -> None:
    """Run pairs, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    actions = parser.add_subparsers(required=True)
    running = actions.add_parser("run")
    running.add_argument("data", type=Path)
    running.add_argument("--out", type=Path, required=True)
    running.add_argument("--tables", nargs="+", choices=TABLES, default=TABLES)
    running.add_argument("--sizes", nargs="+", choices=SIZES, default=SIZES)
    running.add_argument("--repeats", type=int, default=1)
    running.set_defaults(action=run)
    showing = actions.add_parser("show")
    showing.add_argument("results", type=Path)
    add_csv_option(showing)
    showing.set_defaults(action=show)
    options = parser.parse_args()
    options.action(options)


if __name__ == "__main__":
    main()
