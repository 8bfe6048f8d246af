"""Exact numbers of Wu et al. 2019: its examples, closed forms, thresholds and Theorem 1."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.paper.record import Setting
from benchmarks.paper.wu.experiments import cps
from benchmarks.paper.wu.mechanisms import (
    BUCKETS,
    EPSILON,
    MECHANISMS,
    STEPS,
    SVT,
    TRUNCATIONS,
    WORKLOADS,
    Configuration,
)
from pqd.deciders import Histogram
from pqd.deciders.batch.range_sums.select import ranking
from pqd.deciders.batch.range_sums.truncation import SparseVectorTruncation
from pqd.deciders.batch.range_sums.workload import Buckets, RangeSums

# Figure 1, with the answers that Example 1 and section 3.1 print for some bounds.
INCOMES = (44_000, 35_000, 45_000, 350_000, 1_000_000)
PRINTED = {30_000: 0, 40_000: 35_000, 50_000: 124_000, 1_000_000: 1_474_000}
PRINTED_TRUNCATED = {30_000: 5, 50_000: 5, 1_000_000: 5}


def figure_1(_: Setting) -> pd.DataFrame:
    """Prefix sums of Figure 1's five incomes, whole and truncated at 1, beside the printed ones."""
    # One bucket for each thousand dollars, so that every income is an upper end.
    buckets = Buckets(tuple(range(1_000, 1_000_001, 1_000)))
    workload = RangeSums(buckets, tuple((0, bound // 1_000) for bound in PRINTED))
    counts = buckets.counts(Histogram.from_values(INCOMES))
    whole, truncated = workload.answers(counts), workload.answers(counts, 1)
    return pd.DataFrame({
        "bound": list(PRINTED), "sum": whole, "printed": list(PRINTED.values()),
        "sensitivity": workload.tops, "truncated": truncated,
        "truncated printed": [PRINTED_TRUNCATED.get(bound) for bound in PRINTED],
    })  # fmt: skip


def expected(setting: Setting) -> pd.DataFrame:
    """Expected root mean squared errors by A.3 and A.4, and the least with pqd's own parameters.

    ``measured`` is the number of numbers that a mechanism measures without truncation.
    """
    histogram = cps(setting).histogram
    rows: list[dict[str, Any]] = []
    for workload in ("Q3",) if setting.quick else STEPS:
        for truncation in TRUNCATIONS:
            for name in MECHANISMS:
                configuration = Configuration(workload, name, truncation)
                squares = configuration.expected(histogram)
                rows.append({
                    "workload": workload, "mechanism": name, "truncation": truncation,
                    "parameters": "paper", "expected": math.sqrt(squares.mean()),
                    "measured": configuration.measured,
                })  # fmt: skip
        error, mechanism = ranking(WORKLOADS[workload], histogram, EPSILON)[0]
        rows.append({
            "workload": workload, "mechanism": f"{mechanism.id} (pqd)",
            "truncation": mechanism.truncation.id, "parameters": "public data",
            "expected": math.sqrt(error / len(WORKLOADS[workload].ranges)),
        })  # fmt: skip
    return pd.DataFrame(rows)


def deviations(setting: Setting) -> pd.DataFrame:
    """Standard deviation of the noise, and bias, of queries of Q1; means over the threshold."""
    table = cps(setting)
    rows = []
    for truncation in ("none", "svt"):
        for name in MECHANISMS:
            configuration = Configuration("Q1", name, truncation)
            mechanism, budget = configuration.built, configuration.budget
            law = mechanism.law(table.histogram, budget)
            variance = sum(p * mechanism.variances(t, budget) for t, p in law.items())
            truth, answers = table.truth("Q1"), mechanism.workload.answers
            bias = sum(p * (truth - answers(table.counts, t)) for t, p in law.items())
            deviation = np.sqrt(variance)
            rows += [
                {
                    "mechanism": name, "truncation": truncation, "bound": 800 * (place + 1),
                    "deviation": deviation[place], "bias": bias[place],
                }
                for place in (0, 9, 49, 99, 199, 299, 499, 999)
            ]  # fmt: skip
    return pd.DataFrame(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearRungs(SparseVectorTruncation):
    """TRUNC_SVT with rungs that grow by a number of units, as section 3.1 advises against."""

    step: int

    def rungs(self, top: int) -> list[int]:
        """Rungs from the start, ``step`` units apart, below ``top``."""
        return list(range(int(self.start), top, self.step))


def thresholds(setting: Setting) -> pd.DataFrame:
    """Law of SVT's threshold with exponential and with linear rungs; exact but for an integral.

    ``asked`` is the mean number of counting queries, ``wanted`` the least rung that at least 99.8 %
    of the rows reach, ``below`` the probability of a smaller threshold.
    """
    table = cps(setting)
    kept = np.cumsum(table.counts) / table.counts.sum()
    kinds: dict[str, SparseVectorTruncation] = {"1.2-fold": SVT}
    for step in (800, 4_000, 10_000):
        kinds[f"{step:,} apart"] = LinearRungs(start=50_000, growth="1.2", kept="0.998", step=step)
    rows = []
    for name, truncation in kinds.items():
        rungs, chances = map(
            np.array,
            zip(*truncation.law(table.counts, BUCKETS, EPSILON * Fraction(SVT.share)), strict=True),
        )
        places = np.searchsorted(BUCKETS.ends, rungs, side="right") - 1
        wanted = int(rungs[kept[places] >= 0.998].min())
        rows.append({
            "rungs": name, "number": rungs.size - 1,
            "asked": float((chances * np.minimum(np.arange(rungs.size) + 1, rungs.size - 1)).sum()),
            "wanted": wanted, "mean": float((chances * rungs).sum()),
            "below": float(chances[rungs < wanted].sum()),
        })  # fmt: skip
    return pd.DataFrame(rows)


def theorem_1(setting: Setting) -> pd.DataFrame:
    """Second part of the recursive mechanism, and the truncated sum, for several thresholds."""
    values = np.repeat(*(getattr(cps(setting).histogram, name) for name in ("values", "counts")))
    lower = np.concatenate(([0], np.cumsum(np.sort(values))))
    above = np.arange(values.size, -1, -1)
    rows = []
    for delta in (1, 800, 50_000, 103_680, 257_989, 493_356, 800_000):
        recursive = int((lower + above * delta).min())
        truncated = int(np.minimum(values, delta).sum())
        rows.append({"rows": values.size, "delta": delta, "recursive": recursive,
                     "truncated": truncated})  # fmt: skip
    return pd.DataFrame(rows)
