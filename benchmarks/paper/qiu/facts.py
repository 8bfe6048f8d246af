"""Numbers without a seed of Qiu et al. (KDD 2022): sizes, error bounds, guarantees and work."""

import math
import time
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.paper.qiu.problems import (
    ADULT,
    BANK,
    BLOOD,
    DISCOUNTS,
    GAIN,
    INCOME,
    LINEITEM,
    LOSS,
    LOWEST,
    MONTHS,
    QUANTITIES,
    REVENUE,
    Problem,
    adult,
    adult_queries,
    ages,
    bank_conditions,
    bank_ranges,
    bank_rows,
    census,
    census_incomes,
    largest_values,
    tpch_lines,
    tpch_queries,
    transfusion,
)
from benchmarks.paper.qiu.runs import OURS, box, epsilons, seeds
from benchmarks.paper.record import Setting
from pqd.deciders import SimulatedNoise
from pqd.deciders.batch.linear.dyadic import dyadic_cover
from pqd.deciders.batch.linear.numerical import Numerical
from pqd.deciders.batch.linear.queries import NumericalQueries, ThresholdQueries, doubling
from pqd.deciders.batch.linear.universe import DigitUniverse, Rows
from pqd.deciders.histogram import Integers

Row = dict[str, Any]
# Bounds of Table 1 without their logarithms.
BOUNDS = ("composition", "normalization", "global_truncation", "new")


def facts(setting: Setting) -> pd.DataFrame:
    """Sizes and bounds that sections 6.1 to 6.4 state of their tables and queries."""
    table, bank, blood = (setting.table(name) for name in (ADULT, BANK, BLOOD))
    queries, balances = adult_queries(setting), bank_rows(setting).levels
    whole = transfusion(setting, 200)
    skewed = largest_values(*_balances(setting))
    found = {
        "adult": {
            "rows": len(table),
            "age ranges": ages(setting).first.size,
            "queries": queries.size,
            "largest loss": table["capital-loss"].max(),
            "largest gain": table["capital-gain"].max(),
            "least limit": queries.limits.min(),
            "whole universe": 1600 * (LOSS + 1),
            "reduced universe": queries.universe.classes * queries.universe.weights.size,
        },
        "bank": {
            "rows": len(bank),
            "queries": bank_conditions(setting).size,
            "least balance": balances.min(),
            "largest balance": balances.max(),
            "99 % of the balances up to": np.quantile(balances, 0.99),
            "share of queries with a largest value above half of the table's": (
                2 * skewed > skewed.max()
            ).mean(),
        },
        "blood": {
            "rows": len(blood),
            "queries": whole.queries.size,
            "whole universe": whole.queries.universe.weights.size,
            "largest limit": whole.queries.limits.max() * whole.unit,
            "largest limit beyond 10 donations": whole.queries.limits[whole.small].max()
            * whole.unit,
            "longest time": blood["Time"].max(),
        },
    }
    return _facts(found)


def facts_tpch(setting: Setting) -> pd.DataFrame:
    """Sizes and bounds that appendix A states."""
    lines, queries = tpch_lines(setting.path(LINEITEM)), tpch_queries(setting)
    found = {
        "rows": lines["revenue"].size,
        "queries": queries.size,
        "largest price": int(lines["price"].max()) / 100,
        "largest discount": int(lines["discount"].max()) / 100,
        "largest revenue": lines["revenue"].max(),
        "limit": REVENUE,
        "whole universe": MONTHS * DISCOUNTS * QUANTITIES * 105_000,
        "reduced universe": queries.universe.classes * queries.universe.weights.size,
    }
    return _facts({"lineitem": found})


def _facts(found: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    # Texts, so that a CSV file keeps every digit of whole numbers.
    return pd.DataFrame(
        {"table": table, "fact": fact, "value": f"{float(value):.10g}"}
        for table, values in found.items()
        for fact, value in values.items()
    )


def _balances(setting: Setting) -> tuple[NumericalQueries, Rows]:
    """Queries and rows of Bank with the balances' distance from 0."""
    rows = bank_rows(setting)
    queries = NumericalQueries(bank_conditions(setting), DigitUniverse(400, 2**17))
    return queries, Rows(rows.classes, np.abs(rows.levels))


def bounds_census(setting: Setting) -> pd.DataFrame:
    """Bounds of Table 1 for the queries on the generated census, and for Example 1.2.

    Example 1.2 asks for the sums of incomes in all ranges of incomes.  The rows are of the ranges
    whose ends are multiples of 5,000; the number of queries is that of all ranges.
    """
    problem = census(setting)
    found = list(_bounds("census", problem.queries, problem.rows))
    incomes = np.sort(census_incomes())
    low, high = np.triu_indices(INCOME // 5000)
    low, high = 5000 * low, 5000 * (high + 1)
    below = incomes[np.maximum(np.searchsorted(incomes, high, side="right") - 1, 0)]
    largest = np.where(below >= low, below, 0)
    number = INCOME * (INCOME + 1) // 2
    return pd.DataFrame([*found, *_lines("range-income", incomes.size, number, high, largest)])


def bounds(setting: Setting) -> pd.DataFrame:
    """Bounds of Table 1 for the queries on the real tables."""
    loss, gain = adult(setting, "capital-loss", LOSS), adult(setting, "capital-gain", GAIN)
    donors = transfusion(setting, 200)
    return pd.DataFrame(
        [
            *_bounds("adult, loss", loss.queries, loss.rows),
            *_bounds("adult, gain", gain.queries, gain.rows),
            *_bounds("bank", *_balances(setting)),
            *_bounds("transfusion", donors.queries, donors.rows, donors.unit),
        ]
    )


def _bounds(name: str, queries: NumericalQueries, rows: Rows, unit: float = 1.0) -> Iterator[Row]:
    largest = largest_values(queries, rows)
    return _lines(name, rows.levels.size, queries.size, queries.limits, largest, unit)


def _lines(
    name: str, size: int, number: int, limits: Integers, largest: Integers, unit: float = 1.0
) -> Iterator[Row]:
    """Rows of the four bounds: their boxes, and where each is the least or below the new one.

    ``limits`` is ``Delta_w`` and ``largest`` is ``Delta_w(D)`` of each query.
    """
    root, many = math.sqrt(size), math.sqrt(number)
    values = {
        "normalization": root * limits,
        "composition": many * largest,
        "global_truncation": np.full(limits.size, root * largest.max()),
        "new": root * largest,
    }
    least = np.minimum.reduce(list(values.values()))
    baselines = np.minimum.reduce([values[name] for name in BOUNDS[:3]])
    for bound, each in values.items():
        yield {
            "problem": name, "rows": size, "queries": number, "bound": bound, **box(each * unit),
            "least": float((each <= least).mean()),
            "least_of_baselines": float((each <= baselines).mean()) if bound != "new" else 0.0,
            "at_most_limit": float((largest <= limits).mean()),
            "strict": float(((largest < limits) & (limits < largest.max())).mean()),
        }  # fmt: skip


def guarantee(setting: Setting) -> pd.DataFrame:
    """Errors, thresholds and alpha of ``numerical``, against the bounds on them.

    ``above`` is the share of queries with at most 2 alpha cells above their threshold, ``twice``
    that of thresholds of at most 2 Delta_w(D), ``within`` that of errors of at most
    4 alpha Delta_w(D) (Delta_w(D) is at least b).  ``bound`` is the bound of MWEM's Theorem 2.2 on
    alpha, and ``cells`` the number of cells that the table fills, which no alpha should exceed.
    """
    problems = {
        "adult": (adult(setting, "capital-loss", LOSS), 1),
        "blood": (transfusion(setting, 200), LOWEST),
        "bank": (bank_ranges(setting), 1),
    }
    return pd.DataFrame(
        {"problem": name, "epsilon": float(epsilon), "seed": seed}
        | _kept(problem, base, epsilon, seed)
        for name, (problem, base) in problems.items()
        for epsilon in epsilons(setting)
        for seed in seeds(setting)
    )


def _kept(problem: Problem, base: int, epsilon: str, seed: int) -> Row:
    queries = problem.queries
    mechanism = Numerical(queries=queries, base=base)
    fit = mechanism.fit(problem.rows, epsilon, SimulatedNoise(seed))
    ladder = doubling(mechanism.base, queries.peak)
    linear = ThresholdQueries(queries, ladder)
    counts = queries.counts(problem.rows)
    # A threshold was cut to Delta_w, so it stands for the next threshold of the ladder.
    places = np.searchsorted(ladder, fit.thresholds)
    above = linear.tails(counts).above[np.arange(places.size), places]
    alpha, largest = fit.alpha or 0.0, largest_values(queries, problem.rows)
    errors = np.abs(fit.answers * problem.unit - problem.truth)
    largest = np.maximum(largest, mechanism.base)
    cells, rounds = int(counts.sum()), mechanism.weights.rounds
    spent = Fraction(epsilon) * (1 - mechanism.size_share - mechanism.alpha_share)
    bound = 2 * cells * math.sqrt(math.log(counts.size) / rounds) + 10 * rounds * math.log(
        linear.size
    ) * queries.group / float(spent)
    return {
        "alpha": alpha,
        "bound": bound,
        "cells": cells,
        "above": float((above <= 2 * alpha).mean()),
        "twice": float((fit.thresholds <= 2 * largest).mean()),
        "within": float((errors <= 4 * alpha * largest * problem.unit).mean()),
    }


class CountingNoise(SimulatedNoise):
    """Seeded noise that counts its draws."""

    def __init__(self, seed: int) -> None:
        """Begin with no draw."""
        super().__init__(seed)
        self.draws = 0

    def laplace(self, statistic: int, scale: Fraction) -> int:
        """Draw of the seeded noise."""
        self.draws += 1
        return super().laplace(statistic, scale)

    def choose(self, logit: float) -> bool:
        """Choice of the seeded noise."""
        self.draws += 1
        return super().choose(logit)


def speed(setting: Setting) -> pd.DataFrame:
    """CPU seconds of one release of both mechanisms of figure 6: the median of 20."""
    problem, found = bank_ranges(setting), []
    for name in (OURS, "dyadic"):
        spent = []
        for seed in range(20):
            start = time.process_time()
            problem.mechanisms[name].release(problem.rows, "1", SimulatedNoise(seed))
            spent.append(time.process_time() - start)
        found.append({"mechanism": name, "seconds": float(np.median(spent))})
    return pd.DataFrame(found)


def work(setting: Setting) -> pd.DataFrame:
    """Work of both mechanisms of figure 6: evaluations by the paper's count, and draws of noise.

    The general mechanism evaluates each linear query on each cell in each round.  The range
    mechanism adds up the dyadic intervals of each query, twice for each level set.
    """
    problem = bank_ranges(setting)
    queries = problem.queries
    ladder = doubling(1, queries.peak)
    cells = queries.universe.classes * queries.universe.weights.size
    axis, rounds = ages(setting), Numerical(queries=queries).weights.rounds
    spans = zip(axis.first.tolist(), axis.last.tolist(), strict=True)
    nodes = sum(len(dyadic_cover(*span)) for span in spans)
    evaluations = {
        OURS: rounds * cells * ThresholdQueries(queries, ladder).size,
        "dyadic": 2 * nodes * (ladder.size - 1),
    }
    found = []
    for name, number in evaluations.items():
        noise = CountingNoise(0)
        problem.mechanisms[name].release(problem.rows, "1", noise)
        found.append({"mechanism": name, "evaluations": number, "draws": noise.draws})
    return pd.DataFrame(found)
