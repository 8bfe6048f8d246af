"""Risk reports of clean splits and of planted rows: false alarms, power, and widths.

    python -m benchmarks.risk_splits clean DATA --table adult --out risk.jsonl [--runs 1000]
    python -m benchmarks.risk_splits planted DATA --table adult --out risk.jsonl [--runs 10]
    python -m benchmarks.risk_splits widths DATA --csv docs/experiments
    python -m benchmarks.risk_splits show risk.jsonl [--csv docs/experiments]

A split draws private rows, held-out rows and the rows of the copy from one table, without a row
twice.  In ``clean`` splits the copy has independent rows, so every established excess is a false
alarm.  In ``planted`` splits a share of the private rows stands in the copy, as it is or with one
cell taken from another row.  ``--attacks`` states other attacks than those of the usual report;
``copied`` alone takes a tenth of the time.  Each split appends a line to the file: the numbers of
rows on which each attack succeeds.  ``show`` draws noise for them, several times, and applies the
laws of a report.  ``widths`` does so for halves of Adult and a copy of a Gaussian copula.  Noise
is seeded, which protects nobody.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.result_tables import ResultTable, add_csv_option
from pqd.attacks.bound_risk import BoundRisk, bind_risk
from pqd.attacks.parameters import RiskParameters
from pqd.deciders import SimulatedNoise
from pqd.deciders.distances.ratio_intervals import ShareEstimate
from pqd.deciders.risk.excess import Excess
from pqd.deciders.risk.successes import Successes, law_of, release_successes
from pqd.engine.tables import open_table
from pqd.planning.table_separation import separate_tables
from pqd.run.execution import measure
from pqd.run.measurement import MeasurementSet

SEED, LEVEL, TAU = 42, 0.05, 0.01
# Rows of the private table, of the held-out table and of the copy.
CLEAN = {"adult": (1000, 1000, 1000), "bank": (2000, 500, 2000), "cps": (5000, 1000, 5000)}
PLANTED = (20_000, 5_000, 20_000)
COLUMNS = ("all", "without a key")
# Columns that are nearly a key, or are one together.
KEYS = {"adult": ["fnlwgt"], "bank": ["balance", "duration"], "cps": ["income"]}
# Shares of planted rows, by the number of changed cells.
SHARES = {0: (0.005, 0.01), 1: (0.005, 0.01, 0.02, 0.03, 0.05)}
# Releases of each split, by epsilon.
DRAWS: dict[str, dict[float, int]] = {"clean": {1: 2, 100: 1}, "planted": {0.1: 10, 1: 20}}
WIDTHS, WIDTH_RUNS = (0.1, 0.25, 1), 3
ANY = "any attack"


class Recorder(SimulatedNoise):
    """Noise that adds nothing."""

    def cube(self, statistics: Sequence[int], scale: Fraction) -> tuple[int, ...]:
        """Exact numbers."""
        del scale
        return tuple(statistics)


class Counts(NamedTuple):
    """Exact numbers of a report: rows, successes of each attack, rows up to each distance."""

    names: tuple[str, ...]
    private: tuple[int, ...]
    held_out: tuple[int, ...]

    def released(self, epsilon: float, noise: SimulatedNoise) -> list[Excess]:
        """Excess of each attack, from one release of both tables."""
        successes = [_released(side, epsilon, noise) for side in (self.private, self.held_out)]
        pairs = zip(*successes, strict=True)
        return [Excess(own, other, LEVEL) for own, other in pairs][: len(self.names)]

    @property
    def rates(self) -> list[float]:
        """Exact rate of each attack on the private rows."""
        return [each / self.private[0] for each in self.private[1:]][: len(self.names)]

    @property
    def excesses(self) -> list[float]:
        """Exact excess of each attack."""
        sides = zip(self.private[1:], self.held_out[1:], strict=True)
        return [a / self.private[0] - b / self.held_out[0] for a, b in sides][: len(self.names)]


def _released(numbers: Sequence[int], epsilon: float, noise: SimulatedNoise) -> list[Successes]:
    budget = Fraction(str(epsilon))
    rows, *exact = map(Fraction, numbers)
    whole, *balances = release_successes(rows, exact, budget, noise)
    law = law_of(len(exact), budget)
    return [Successes.of(whole, each, law) for each in balances]


def counted(
    private: pd.DataFrame,
    held_out: pd.DataFrame,
    copy: pd.DataFrame,
    parameters: RiskParameters | None = None,
) -> tuple[Counts, BoundRisk]:
    """Exact numbers of the report of ``pqd risk``, by its own functions."""
    stated = parameters or RiskParameters.parse()
    tables = separate_tables(open_table(private, "private"), copy, names=None)
    bound = bind_risk(tables, stated)
    measurement = bound.measurement(stated)
    own = bound.profile.measurement_set([measurement])
    other = MeasurementSet(
        own.engine, open_table(held_out, "private"), own.schema, None, own.measurements
    )
    sides = []
    for each in (own, other):
        numbers = measure([each], None, Recorder(), command="risk")[measurement].numbers
        found = measurement.released(numbers)
        sides.append((found[0].rows, *(int(attack.successes) for attack in found)))
    names = tuple(f"{each.id} {each.column}".strip() for each in bound.attacks.attacks)
    return Counts(names, *sides), bound


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


def clean_runs(
    table: str, data: pd.DataFrame, seeds: Sequence[int], parameters: RiskParameters | None = None
) -> Iterator[dict[str, Any]]:
    """Yield a line for each clean split."""
    for seed in seeds:
        private, held_out, copy = split(data, CLEAN[table], np.random.default_rng([SEED, seed]))
        found, _ = counted(private, held_out, copy, parameters)
        yield {"kind": "clean", "table": table, "seed": seed, **found._asdict()}


def planted_runs(
    table: str, data: pd.DataFrame, seeds: Sequence[int], parameters: RiskParameters | None = None
) -> Iterator[dict[str, Any]]:
    """Yield a line for each split with planted rows; tables but Adult have 1 % as it is alone."""
    shares = SHARES if table == "adult" else {0: (0.01,)}
    cases = [(changes, share) for changes, own in shares.items() for share in own]
    for seed, columns, (changes, share) in product(seeds, COLUMNS, cases):
        own = data if columns == "all" else data.drop(columns=KEYS[table])
        # The same rows for every share.
        rng = np.random.default_rng([SEED, seed])
        private, held_out, copy = split(own, PLANTED, rng)
        mixed = planted(private, copy, share, changes, rng)
        facts = {"kind": "planted", "table": table, "seed": seed, "columns": columns}
        found, _ = counted(private, held_out, mixed, parameters)
        yield {**facts, "share": share, "changes": changes, **found._asdict()}


def counts_of(line: dict[str, Any]) -> Counts:
    """Exact numbers of a line."""
    return Counts(*(tuple(line[name]) for name in Counts._fields))


def releases(line: dict[str, Any], counts: Counts) -> Iterator[tuple[float, list[Excess]]]:
    """Yield epsilon and the excesses of each release of ``counts`` of a split."""
    for epsilon, draws in DRAWS[line["kind"]].items():
        for draw in range(draws):
            noise = SimulatedNoise(np.random.default_rng([SEED, line["seed"], draw]))
            yield epsilon, counts.released(epsilon, noise)


class Alarms(NamedTuple):
    """Which false verdicts the release of one attack has, if the true excess is 0.

    ``at_once`` are those of all attacks at once; ``missed`` says that the interval lacks 0.
    """

    leak: bool
    at_once: bool
    no: bool
    missed: bool

    @classmethod
    def of(cls, excess: Excess, attacks: int) -> "Alarms":
        """Verdicts on one attack of so many."""
        if not is_far(excess):
            return cls(*4 * (False,))
        if excess.value < 0:
            return cls(*3 * (False,), missed=excess.p_less(0.0) <= LEVEL / 2)
        p_value = excess.p_more(0.0)
        no = p_value <= LEVEL and excess.value > TAU and excess.verdict(TAU).p_value <= LEVEL
        return cls(p_value <= LEVEL, p_value <= LEVEL / attacks, no, p_value <= LEVEL / 2)


def is_far(excess: Excess) -> bool:
    """Whether an excess is a deviation away from 0: else no p-value is small, nor computed."""
    variance = 0.0
    for side in (excess.private, excess.held_out):
        noise = side.noise(side.rate).deviation / max(side.rows, 1)
        variance += side.rate * (1 - side.rate) / max(side.rows, 1) + noise**2
    return excess.value**2 > variance


def clean_rows(lines: Sequence[dict[str, Any]]) -> Iterator[dict[str, object]]:
    """Yield the shares of false alarms of each attack, by table, number of attacks and epsilon.

    Each share is a mean over splits, with its standard error; a split has several releases.
    """
    found: dict[tuple[str, int, float, str], dict[int, list[Alarms]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for line in lines:
        key = line["table"], len(line["names"])
        for epsilon, excesses in releases(line, counts_of(line)):
            alarms = [Alarms.of(each, len(excesses)) for each in excesses]
            for name, each in zip(line["names"], alarms, strict=True):
                found[*key, epsilon, name.partition(" ")[0]][line["seed"]].append(each)
            every = Alarms(*map(any, zip(*alarms, strict=True)))
            found[*key, epsilon, ANY][line["seed"]].append(every)
    for (table, attacks, epsilon, name), splits in sorted(found.items()):
        means = np.array([np.mean(own, axis=0) for own in splits.values()])
        errors = _errors(means)
        row: dict[str, object] = {
            "table": table, "attacks": attacks, "epsilon": epsilon, "attack": name,
            "splits": len(means), "verdicts": sum(map(len, splits.values())),
        }  # fmt: skip
        for place, kind in enumerate(Alarms._fields):
            row |= {kind: means[:, place].mean(), f"{kind}_error": errors[place]}
        yield row


def _errors(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard error of the mean of each column; not a number for one row."""
    spread = means.std(axis=0, ddof=1) if len(means) > 1 else np.nan * means[0]
    return np.asarray(spread / np.sqrt(len(means)))


def planted_rows(lines: Sequence[dict[str, Any]]) -> Iterator[dict[str, object]]:
    """Yield the shares of releases in which planted rows were found, means over splits.

    ``found`` is by any attack, for all at once; ``alone`` is by copied rows in a report that has no
    other attack.  Splits of this attack alone know the second.
    """
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for line in lines:
        groups[line["table"], line["columns"], line["changes"], line["share"]].append(line)
    for (table, columns, changes, share), own in sorted(groups.items()):
        found = pd.DataFrame([each for line in own for each in _verdicts(line)])
        splits = found.groupby(["epsilon", "seed"]).mean()
        excess = np.mean([counts_of(line).excesses[0] for line in own])
        for epsilon, means in splits.groupby("epsilon"):
            row: dict[str, object] = {
                "table": table, "columns": columns, "changed": changes, "planted": share,
                "epsilon": epsilon, "splits": means["found"].count(), "splits_alone": len(means),
            }  # fmt: skip
            for name in ("found", "alone"):
                row |= {name: means[name].mean(), f"{name}_error": means[name].sem()}
            yield row | {"copied_excess": excess}


def _verdicts(line: dict[str, Any]) -> Iterator[dict[str, float]]:
    """Yield what each release of a split finds, of all attacks and of the first one alone."""
    counts = counts_of(line)
    alone = Counts(counts.names[:1], counts.private[:2], counts.held_out[:2])
    for (epsilon, every), (_, single) in zip(
        releases(line, counts), releases(line, alone), strict=True
    ):
        own = any(_is_found(each, len(every)) for each in every) if len(every) > 1 else np.nan
        yield {
            "epsilon": epsilon, "seed": line["seed"],
            "found": own, "alone": _is_found(single[0], 1),
        }  # fmt: skip


def _is_found(excess: Excess, attacks: int) -> bool:
    return is_far(excess) and excess.p_more(0.0) <= LEVEL / attacks


def width_rows(data: pd.DataFrame, copy: pd.DataFrame) -> Iterator[dict[str, object]]:
    """Yield mean half-widths over the attacks, with errors over releases.

    The private rows are a half of the data, and the held-out rows the other half.  First stands the
    usual report, then one of a single guess.
    """
    half = len(data) // 2
    private, held_out = split(data, (half, half), np.random.default_rng(SEED))
    single = RiskParameters.parse(attacks=["inference"], secrets=["income"])
    reports = [counted(private, held_out, copy, stated)[0] for stated in (None, single)]
    for counts, epsilon in product(reports, WIDTHS):
        found = []
        for draw in range(WIDTH_RUNS):
            noise = SimulatedNoise(np.random.default_rng([SEED, draw]))
            own = counts.released(epsilon, noise)
            intervals = [(each.private.interval(LEVEL), each.estimate) for each in own]
            found.append(
                [
                    [_half(each) for each, _ in intervals],
                    [_half(each) for _, each in intervals],
                    [
                        not low <= exact <= high
                        for (_, low, high), exact in zip(
                            (each for each, _ in intervals), counts.rates, strict=True
                        )
                    ],
                ]
            )
        rate, excess, missed = np.array(found, dtype=float).transpose(1, 0, 2)
        yield {
            "rows": counts.private[0], "attacks": len(counts.names), "epsilon": epsilon,
            "releases": WIDTH_RUNS, "rate": rate.mean(),
            "rate_error": _errors(rate.mean(axis=1))[()], "excess": excess.mean(),
            "excess_error": _errors(excess.mean(axis=1))[()], "least": excess.mean(0).min(),
            "most": excess.mean(axis=0).max(), "missed": missed.mean(),
        }  # fmt: skip


def _half(interval: ShareEstimate) -> float:
    return (interval.high - interval.low) / 2


def show(lines: Sequence[dict[str, Any]], folder: Path | None) -> None:
    """Print tables of false alarms and of power, and write them into ``folder``."""
    for kind, rows in (("clean", clean_rows), ("planted", planted_rows)):
        own = [line for line in lines if line["kind"] == kind]
        if own:
            with ResultTable(f"risk-{kind}", folder) as table:
                for row in rows(own):
                    table.add(**row)


def main() -> None:
    """Run splits, or show what they gave."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for kind, number in (("clean", 1000), ("planted", 10)):
        command = commands.add_parser(kind)
        command.add_argument("data", type=Path)
        command.add_argument("--out", type=Path, required=True)
        command.add_argument("--runs", type=int, default=number)
        command.add_argument("--first", type=int, default=0)
        command.add_argument("--table", choices=[*CLEAN], default="adult")
        command.add_argument("--attacks", help="as in pqd risk")
    widths = commands.add_parser("widths")
    widths.add_argument("data", type=Path)
    add_csv_option(widths)
    shown = commands.add_parser("show")
    shown.add_argument("lines", type=Path)
    add_csv_option(shown)
    given = parser.parse_args()
    if given.command == "show":
        show([json.loads(line) for line in given.lines.read_text("utf-8").splitlines()], given.csv)
        return
    if given.command == "widths":
        tables = (given.data / f"adult_{name}.parquet" for name in ("private", "gcopula"))
        with ResultTable("risk-widths", given.csv) as table:
            for row in width_rows(*map(pd.read_parquet, tables)):
                table.add(**row)
        return
    data = pd.read_parquet(given.data / f"{given.table}_private.parquet")
    stated = RiskParameters.parse(attacks=given.attacks.split(",")) if given.attacks else None
    run = clean_runs if given.command == "clean" else planted_runs
    with given.out.open("a", encoding="utf-8") as file:
        for line in run(given.table, data, range(given.first, given.first + given.runs), stated):
            print(json.dumps(line), file=file, flush=True)


if __name__ == "__main__":
    main()
