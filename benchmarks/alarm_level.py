"""How often `pqd profile` calls a copy beyond chance or too near, if it is independent or planted.

    python -m benchmarks.alarm_level PRIVATE [--rows 24421 2000] [--runs 200] [--plants 5]
    python -m benchmarks.alarm_level PRIVATE --marks [--rows 24421 2000] [--runs 200]

Each run splits the rows of PRIVATE at random.  One half is the private table, the other half is an
independent copy.  A planted copy is made from the private half in one of these ways:
- the half without one row;
- the half with 1 % of its cells taken from other rows;
- half of its rows, either unchanged or with 1 % of the cells taken from other rows;
- a bootstrap of the half;
- columns drawn from trees that are fitted to the columns before, with leaves of 5 or of 20 rows;
- rows of the other half, changed so that each column has exactly the counts of the private half.
The noise is seeded, which protects nobody.  So use public tables only.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeRegressor

from benchmarks.result_tables import ResultTable, add_csv_option
from pqd.commands.profile import run_profile
from pqd.deciders import SimulatedNoise
from pqd.deciders.distances.statistics import TotalVariation
from pqd.engine.marginals import MarginalPlan
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.marginals.bound_profile import bind_profile, mean_weights
from pqd.marginals.chance import CopyChance
from pqd.marginals.profile_parameters import ProfileParameters, ProfileRequest
from pqd.reports.models.profile import ProfileReport
from pqd.reports.models.standings import Standing

SEED, LEVEL = 40, 0.05
WORDS = ("note", "error", "overall beyond", "a marginal beyond", "anything beyond")
Plant = Callable[[pd.DataFrame, np.random.Generator], pd.DataFrame]


def less_one(private: pd.DataFrame, _: np.random.Generator) -> pd.DataFrame:
    """All rows but one."""
    return private.iloc[1:].reset_index(drop=True)


def cells_changed(private: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """All rows, with one cell in a hundred taken from another row."""
    copy = private.copy()
    for name in copy.columns:
        change = rng.random(len(copy)) < 0.01
        values = copy[name].to_numpy().copy()
        values[change] = rng.permutation(values)[change]
        copy[name] = values
    return copy


def half_with_noise(private: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Half of the rows, with one cell in a hundred taken from another row."""
    return cells_changed(half(private, rng), rng)


def fitted_columns(
    private: pd.DataFrame, rng: np.random.Generator, other: pd.DataFrame
) -> pd.DataFrame:
    """Other rows, changed so that each column has the private values in its own order.

    So each column has exactly the private counts.
    """
    copy = {}
    for name in private.columns:
        order = np.lexsort((rng.random(len(other)), other[name].to_numpy()))
        values = np.empty(len(other), dtype=private[name].to_numpy().dtype)
        values[order] = np.sort(private[name].to_numpy())
        copy[name] = values
    return pd.DataFrame(copy)


def half(private: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Half of the rows, unchanged."""
    return private.iloc[rng.permutation(len(private))[: len(private) // 2]].reset_index(drop=True)


def bootstrap(private: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Rows drawn with replacement, as many as the table has."""
    return private.iloc[rng.integers(0, len(private), len(private))].reset_index(drop=True)


def tree(leaf: int) -> Plant:
    """Plant that draws one column after another, from the leaves of a tree.

    The tree is fitted to the columns before.  Its leaves have at least ``leaf`` rows.
    """

    def plant(private: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
        codes = {name: pd.factorize(private[name], sort=True) for name in private.columns}
        copy: dict[str, np.ndarray] = {}
        names = list(private.columns)
        for place, name in enumerate(names):
            own, _ = codes[name]
            if not place:
                copy[name] = rng.choice(own, len(private))
                continue
            known = np.column_stack([codes[each][0] for each in names[:place]])
            drawn = np.column_stack([copy[each] for each in names[:place]])
            fitted = DecisionTreeRegressor(min_samples_leaf=leaf, random_state=0).fit(known, own)
            leaves, reached = fitted.apply(known), fitted.apply(drawn)
            order = np.argsort(leaves, kind="stable")
            first = np.searchsorted(leaves[order], reached, "left")
            last = np.searchsorted(leaves[order], reached, "right")
            copy[name] = own[order[first + rng.integers(0, last - first)]]
        return pd.DataFrame({name: codes[name][1].take(copy[name]) for name in names})

    return plant


PLANTS: dict[str, Plant] = {
    "the table less one row": less_one,
    "1 % of its cells changed": cells_changed,
    "half of it, 1 % of cells changed": half_with_noise,
    "half of it": half,
    "trees, leaves of 5": tree(5),
    "trees, leaves of 20": tree(20),
    "a bootstrap of it": bootstrap,
}
INDEPENDENT, FITTED = "an independent half", "other rows, columns as in it"


def told(report: ProfileReport) -> Iterator[str]:
    """Words for the alarms and the chance results of a report, such as ``overall beyond``."""
    if report.alarm and report.alarm.standing:
        yield "error" if report.alarm.standing is Standing.DRAWN else "note"
    if report.overall.chance is Standing.BEYOND_CHANCE:
        yield "overall beyond"
    if any(each.chance is Standing.BEYOND_CHANCE for each in report.marginals):
        yield "a marginal beyond"
    scores = [each.chance for each in (report.overall, *report.scores)]
    if Standing.BEYOND_CHANCE in {*scores, *(each.chance for each in report.marginals)}:
        yield "anything beyond"
    if report.overall.chance is Standing.AT_CHANCE:
        yield "overall at"


def counted(table: pd.DataFrame, name: str, rows: int, epsilon: str, runs: int) -> Counter[str]:
    """Number of runs whose report has each word."""
    found: Counter[str] = Counter()
    parameters, plant = (
        ProfileParameters.parse(total_epsilon=epsilon, anyway=True),
        PLANTS.get(name),
    )
    for run in range(runs):
        rng = np.random.default_rng([SEED, run])
        order = rng.permutation(len(table))
        private = table.iloc[order[:rows]].reset_index(drop=True)
        other = table.iloc[order[rows : 2 * rows]].reset_index(drop=True)
        copy = other if plant is None else plant(private, rng)
        if name == FITTED:
            copy = fitted_columns(private, rng, other)
        report = run_profile(private, copy, parameters, SimulatedNoise(rng))
        found.update(told(report))
    return found


def count_marks(results: ResultTable, table: pd.DataFrame, sizes: Sequence[int], runs: int) -> None:
    """Add how often exact distances of independent halves are beyond the marks of chance.

    The marks are those of a report at level 5 %: all of them hold at once with probability 97.5 %.
    """
    for rows in sizes:
        found: Counter[str] = Counter()
        for run in range(runs):
            order = np.random.default_rng([SEED, run]).permutation(len(table))
            halves = (order[:rows], order[rows : 2 * rows])
            private, copy = (table.iloc[half].reset_index(drop=True) for half in halves)
            found.update(beyond(private, copy))
        results.add(rows=rows, halves=runs, **{word: found[word] for word in WORDS})


def beyond(private: pd.DataFrame, copy: pd.DataFrame) -> Iterator[str]:
    """Words that a release without noise would tell of two tables."""
    bound = bind_profile(SyntheticTables([open_table(copy, "synthetic")]), ProfileRequest(), None)
    maps = MarginalPlan(tuple(each.marginal for each in bound.marginals), None)
    counts = bound.tables.engines[0].marginals(open_table(private, "private"), bound.schema, maps)
    distances = np.array(
        [
            float(TotalVariation(each.copy).rows(counts[each.marginal])) / len(private)
            for each in bound.marginals
        ]
    )
    scores = np.array([[*map(float, mean_weights(bound.marginals, ways))] for ways in (None, 1, 2)])
    chance, number = CopyChance(bound, len(private)), len(bound.marginals)
    both = np.concatenate([np.eye(number), scores.T], axis=1)
    above = distances @ both > chance.independent.at_once(LEVEL / 2, both)
    told = {
        "note": distances @ scores[0] < chance.independent.quantile(LEVEL, scores[0]),
        "error": distances @ scores[0] < chance.drawn.quantile(LEVEL, scores[0]),
        "overall beyond": above[number],
        "a marginal beyond": above[:number].any(),
        "anything beyond": above.any(),
    }
    yield from (word for word, is_told in told.items() if is_told)


def main() -> None:
    """Print how many runs have each word: the independent half first, then the planted copies."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("private", type=Path)
    parser.add_argument("--rows", type=int, nargs="+", default=[24_421, 2_000])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--plants", type=int, default=5)
    parser.add_argument("--marks", action="store_true", help="the marks of halves alone, no noise")
    parser.add_argument("--epsilon", nargs="+", default=["1", "4"])
    add_csv_option(parser)
    stated = parser.parse_args()
    table = pd.read_parquet(stated.private)
    if stated.marks:
        with ResultTable("alarm-marks", stated.csv, keys=["rows"]) as results:
            count_marks(results, table, stated.rows, stated.runs)
        return
    cases = product((INDEPENDENT, *PLANTS, FITTED), stated.rows, stated.epsilon)
    with ResultTable("alarm-plants", stated.csv, keys=["copy", "rows", "epsilon"]) as results:
        for name, rows, epsilon in cases:
            runs = stated.runs if name == INDEPENDENT else stated.plants
            if runs:
                found = counted(table, name, rows, epsilon, runs)
                told = {word: found[word] for word in (*WORDS, "overall at")}
                results.add(copy=name, rows=rows, epsilon=epsilon, runs=runs, **told)


if __name__ == "__main__":
    main()
