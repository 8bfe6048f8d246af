"""Experiments of Wu et al. 2019: the CSV files behind its figures, its Table 1 and its claims."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.paper.patwa.cases import QUICK_ROWS, generated
from benchmarks.paper.record import Setting
from benchmarks.paper.wu.algorithm_9 import Runs, Table, all_runs, batches, independent
from benchmarks.paper.wu.by_seed import statistics
from benchmarks.paper.wu.mechanisms import (
    MECHANISMS,
    SQM,
    SQM_PRINTED,
    STEPS,
    TAMM,
    TAMM_OURS,
    TIMM,
    TIMM_OURS,
    TRUNCATIONS,
    Configuration,
)

CPS = "cps_private.parquet"
# Rows of the generated table: as many as heads of household in CPS.
ROWS = 49_427
Rows = Iterator[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Size:
    """Seeds, and trials of each seed: the paper has one run of 100 trials."""

    seeds: range
    trials: int

    @classmethod
    def of(cls, setting: Setting, trials: int = 100) -> "Size":
        """Ten seeds, or three of ten trials for a quick run."""
        return cls(range(1, 4), 10) if setting.quick else cls(range(1, 11), trials)


def cps(setting: Setting) -> Table:
    """Incomes of heads of household (Current Population Survey)."""
    return Table.of(setting.table(CPS)["income"].to_numpy())


def census(setting: Setting) -> Table:
    """Incomes above 0 of heads of household in the generated census."""
    return _census(QUICK_ROWS if setting.quick else 2 * QUICK_ROWS)


@cache
def _census(rows: int) -> Table:
    frame, _ = generated("census", rows)
    heads = frame[(frame["relate"] == "Head/householder") & (frame["inctot"] > 0)]
    return Table.of(heads["inctot"].to_numpy()[:ROWS])


Source = Callable[[Setting], Table]
COLUMNS = ["workload", "mechanism", "truncation", "isotonic", "statistic", "seed", "value"]


def by_seed(source: Source, trials: int, setting: Setting) -> pd.DataFrame:
    """Numbers of every configuration, a row for each seed."""
    table, size = source(setting), Size.of(setting, trials)
    rows = [
        {**row, "seed": seed}
        for seed in size.seeds
        for workload in STEPS
        for truncation in TRUNCATIONS
        for row in statistics(
            workload, truncation, all_runs(table, workload, truncation, seed, size.trials)
        )
    ]
    return pd.DataFrame(rows)[COLUMNS]


def pooled(
    table: Table, size: Size, workload: str, truncation: str, mechanisms: Iterable[str]
) -> dict[str, Runs]:
    """Runs of all seeds together."""
    names = tuple(mechanisms)
    seeds = [all_runs(table, workload, truncation, seed, size.trials, names) for seed in size.seeds]
    truth = table.truth(workload)
    return {name: Runs(np.vstack([each[name].answers for each in seeds]), truth) for name in names}


def shown(workload: str, step: int = 5) -> Iterator[int]:
    """Places of the queries that a picture shows: the first twenty, and every fifth of Q1."""
    for place in range(1000 // STEPS[workload]):
        if workload != "Q1" or place < 20 or (place + 1) % step == 0:
            yield place


def bands(
    runs: Runs, workload: str, values: str, places: Iterable[int]
) -> Iterator[dict[str, Any]]:
    """Mean and 5 and 95 percentiles of the answers or of the relative errors, by query."""
    numbers = runs.answers if values == "answers" else runs.relative
    low, high = np.percentile(numbers, [5, 95], axis=0)
    mean = numbers.mean(axis=0)
    for place in places:
        yield {
            "bound": 800 * STEPS[workload] * (place + 1), "true": runs.truth[place],
            "mean": mean[place], "low": low[place], "high": high[place],
        }  # fmt: skip


TRUNCATED = ("identity", TIMM, TAMM, TIMM_OURS, TAMM_OURS)


def figure_2(source: Source, setting: Setting) -> pd.DataFrame:
    """Noisy answers for Q1 after isotonic regression."""
    table, size = source(setting), Size.of(setting)
    rows = [
        {"mechanism": name, "truncation": truncation, **row}
        for truncation in TRUNCATIONS
        for name, runs in pooled(
            table, size, "Q1", truncation, TRUNCATED if truncation == "svt" else ("identity",)
        ).items()
        for row in bands(runs.smooth, "Q1", "answers", shown("Q1"))
    ]
    return pd.DataFrame(rows)


def figure_3(source: Source, setting: Setting) -> pd.DataFrame:
    """Relative errors for Q1 with SVT after isotonic regression."""
    runs = pooled(source(setting), Size.of(setting), "Q1", "svt", MECHANISMS)
    rows = [
        {"mechanism": name, **row}
        for name, each in runs.items()
        for row in bands(each.smooth, "Q1", "errors", shown("Q1"))
    ]
    return pd.DataFrame(rows)


def figure_4(source: Source, setting: Setting) -> pd.DataFrame:
    """Relative errors for Q2 with SVT, without and with isotonic regression."""
    names = "workload", SQM, SQM_PRINTED
    runs = pooled(source(setting), Size.of(setting), "Q2", "svt", names)
    rows = [
        {"mechanism": name, "isotonic": isotonic, **row}
        for name, each in runs.items()
        for isotonic, side in enumerate((each, each.smooth))
        for row in bands(side, "Q2", "errors", shown("Q2"))
    ]
    return pd.DataFrame(rows)


def noise(source: Source, setting: Setting) -> pd.DataFrame:
    """Differences of mean relative errors: Algorithm 9 against independent releases.

    ``deviation`` is the standard deviation of a trial's difference.
    """
    table, size = source(setting), Size.of(setting, 40)
    names = ("identity", "workload", TIMM, TAMM)
    rows = []
    for seed in size.seeds:
        shared = batches(table, "Q1", "svt", seed, size.trials, names)
        apart = {
            name: independent(
                table, Configuration("Q1", name, "svt"), seed, size.trials, 10 + place
            )
            for place, name in enumerate(names)
        }
        for kind, runs in (("shared", shared), ("independent", apart)):
            logs = {name: np.log(each.relative.mean(axis=1)) for name, each in runs.items()}
            for first, second in (("identity", TAMM), ("identity", TIMM), (TIMM, TAMM)):
                difference = logs[first] - logs[second]
                rows.append({
                    "noise": kind, "first": first, "second": second, "seed": seed,
                    "mean": difference.mean(), "deviation": difference.std(ddof=1),
                })  # fmt: skip
    return pd.DataFrame(rows)
