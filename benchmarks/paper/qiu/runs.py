"""Experiments of Qiu et al. (KDD 2022): one function for each CSV file.

All noise is seeded, so equal runs give equal rows.  No row has a time.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.paper.qiu.problems import (
    GAIN,
    INCOME,
    LOSS,
    MONTH,
    Floats,
    Problem,
    adult,
    adult_queries,
    adult_rows,
    bank,
    bank_ranges,
    census,
    selected,
    tpch,
    transfusion,
    truth_of,
)
from benchmarks.paper.record import Setting
from pqd.deciders import SimulatedNoise
from pqd.deciders.batch.linear.multiplicative_weights import MultiplicativeWeights
from pqd.deciders.batch.linear.numerical import Numerical

ZEROS = "all_zeros"
OURS = "numerical"
EPSILONS = ("0.25", "1", "4")
SEEDS = 8
DELTA = "0.000001"
Row = dict[str, Any]


def epsilons(setting: Setting) -> tuple[str, ...]:
    """Budgets of a figure; the paper's figures do not print theirs."""
    return ("1",) if setting.quick else EPSILONS


def seeds(setting: Setting, number: int = SEEDS) -> range:
    """Seeds of the noise."""
    return range(2 if setting.quick else number)


def box(errors: Floats) -> Row:
    """Maximum and quartiles of the errors of all queries, as a box plot shows them."""
    upper, median, lower = np.percentile(errors, [75, 50, 25]).tolist()
    return {"max": float(errors.max()), "upper": upper, "median": median, "lower": lower}


def row(problem: Problem, name: str, answers: Floats, rival: Floats | None = None) -> Row:
    """Errors of one run of a mechanism.

    ``small`` and ``large`` are the median errors of the queries that the problem marks as small
    and of the others.  ``wins`` is the share of queries in which the errors ``rival`` of
    ``numerical`` are at most half of these errors, and these are not 0.
    """
    errors = np.abs(answers - problem.truth)
    found = {"mechanism": name} | box(errors) | {"zeros": float((answers == 0).mean())}
    found["small"] = float(np.median(errors[problem.small]))
    found["large"] = float(np.median(errors[~problem.small]))
    if rival is not None:
        found["wins"] = float(((2 * rival <= errors) & (errors > 0)).mean())
    return found


def released(problem: Problem, name: str, epsilon: str, seed: int, delta: str = "0") -> Floats:
    """Answers of one run of a mechanism."""
    noise = SimulatedNoise(seed)
    output = problem.mechanisms[name].release(problem.rows, epsilon, noise, delta)
    return np.array(output.answers) * problem.unit


def boxes(
    problem: Problem, budgets: Iterable[str], numbers: Iterable[int], **labels: object
) -> Iterator[Row]:
    """Rows of all mechanisms and of "all zeros", which answers 0 and reads nothing."""
    for epsilon in budgets:
        for seed in numbers:
            answers = {name: released(problem, name, epsilon, seed) for name in problem.mechanisms}
            answers[ZEROS] = np.zeros(problem.truth.size)
            rival = np.abs(answers[OURS] - problem.truth)
            for name, released_answers in answers.items():
                yield {
                    **labels, "epsilon": float(epsilon), "seed": seed,
                    **row(problem, name, released_answers, rival),
                }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Figure:
    """Experiment of one figure: all mechanisms on one problem, at all budgets and seeds."""

    problem: Callable[[Setting], Problem]

    def __call__(self, setting: Setting) -> pd.DataFrame:
        """Rows of the figure."""
        return pd.DataFrame(boxes(self.problem(setting), epsilons(setting), seeds(setting)))


def loss(setting: Setting, upper: int = LOSS) -> Problem:
    """Problem of figure 1."""
    return adult(setting, "capital-loss", upper)


FIGURES: dict[str, Figure] = {
    "1": Figure(loss),
    "2": Figure(lambda setting: adult(setting, "capital-gain", GAIN)),
    "3": Figure(bank),
    "4": Figure(lambda setting: transfusion(setting, 200)),
    "6": Figure(bank_ranges),
    "7": Figure(tpch),
    "census": Figure(census),
}


def figure_5(setting: Setting) -> pd.DataFrame:
    """Rows of figure 5: the problem of figure 4 at epsilon 1, for three domains of time."""
    return pd.DataFrame(
        one
        for longest in (200, 400, 800)
        for one in boxes(transfusion(setting, longest), ("1",), seeds(setting), longest=longest)
    )


def domain(setting: Setting) -> pd.DataFrame:
    """Figure 1 at epsilon 1 with a public bound Delta of 2^32 on the loss."""
    return pd.DataFrame(boxes(loss(setting, 2**32), ("1",), seeds(setting)))


def delta(setting: Setting) -> pd.DataFrame:
    """Figure 1 at epsilon 1 with delta = 10^-6."""
    problem = loss(setting)
    return pd.DataFrame(
        {"delta": float(DELTA), "epsilon": 1.0, "seed": seed}
        | row(problem, name, released(problem, name, "1", seed, DELTA))
        for seed in seeds(setting)
        for name in problem.mechanisms
    )


def growth(setting: Setting) -> pd.DataFrame:
    """Errors of the same 1,700 queries of the census, as more are asked and as Delta grows.

    These are the queries on one age and one education.
    """
    asked = {"few": (INCOME, 1, 1), "many": (INCOME, 11, 2), "wide": (2**27, 1, 1)}
    rows = []
    for name, parameters in asked.items():
        problem = census(setting, *parameters)
        same = selected(problem.queries) == 1
        rows += [
            {"asked": name, "queries": problem.truth.size, "seed": seed, "mechanism": mechanism}
            | box(np.abs(released(problem, mechanism, "1", seed) - problem.truth)[same])
            for seed in seeds(setting)
            for mechanism in problem.mechanisms
        ]
    return pd.DataFrame(rows)


def rounds(setting: Setting) -> pd.DataFrame:
    """Answers of ``numerical`` on figure 1, by the rounds T and the budget.

    At epsilon 10^6 there is almost no noise.  T = 200 has three seeds, since it is slow.
    """
    queries, rows = adult_queries(setting), adult_rows(setting, "capital-loss")
    truth = truth_of(queries, rows)
    found = []
    for number in (10, 20) if setting.quick else (10, 50, 200):
        mechanism = Numerical(queries=queries, weights=MultiplicativeWeights(rounds=number))
        for epsilon in ("1", "1000", "1000000"):
            for seed in seeds(setting, 3 if number == 200 else SEEDS):
                fit = mechanism.fit(rows, epsilon, SimulatedNoise(seed))
                errors = np.abs(fit.answers - truth)
                found.append(
                    {"rounds": number, "epsilon": float(epsilon), "seed": seed, "alpha": fit.alpha}
                    | {"zeros": float((fit.answers == 0).mean())} | box(errors)
                    | {"zeros_median": float(np.median(truth)), "zeros_max": float(truth.max())}
                )  # fmt: skip
    return pd.DataFrame(found)


def options(setting: Setting) -> pd.DataFrame:
    """Figure 4 for ``numerical``: whole or reduced universe, and the lowest threshold b."""
    variants = {
        "whole": transfusion(setting, 200),
        "reduced": transfusion(setting, 200, reduced=True),
        "b = 2^-20": transfusion(setting, 200, 1),
        "b = 1": transfusion(setting, 200, MONTH),
    }
    return pd.DataFrame(
        {"option": name, "epsilon": float(epsilon), "seed": seed}
        | row(problem, OURS, released(problem, OURS, epsilon, seed))
        for name, problem in variants.items()
        for epsilon in epsilons(setting)
        for seed in seeds(setting)
    )


def all_ranges(setting: Setting) -> pd.DataFrame:
    """Errors of the age ranges of figure 6, where all 5,050 ranges are asked."""
    problem = bank_ranges(setting, 100)
    same = selected(problem.queries) <= 11
    return pd.DataFrame(
        {"queries": problem.truth.size, "epsilon": float(epsilon), "seed": seed, "mechanism": name}
        | box(np.abs(released(problem, name, epsilon, seed) - problem.truth)[same])
        for name in (OURS, "dyadic")
        for epsilon in epsilons(setting)
        for seed in seeds(setting)
    )
