"""Scores of entrants: balanced error, share decided and false conclusive verdicts.

Standard errors are clustered by query, since the problems of one query share their answers, and
taken over seeds.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.quality.problems import ALPHA
from benchmarks.quality.results import ENTRANTS, PROBLEM, QUERY
from pqd.stated.budgets import AUTO

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
CELL = ["aggregate", "hard", "epsilon"]
# Columns in which both truths have the same weight, and in which all problems have it.
_BALANCED = ("error", "error_undecided_half", "error_above_auto")
_PLAIN = ("decided", "false", "decided_above_auto")
# A chance of trials, or a bound that is reached, may exceed alpha by rounding.
_ROUNDING = 1e-9


class Mean(NamedTuple):
    """Mean of the means of each kind of problem, with its standard errors by query and over seeds.

    An error is NaN where it is unknown: with a single query, or a single seed.
    """

    value: float
    by_query: float
    over_seeds: float

    @classmethod
    def of(cls, values: Floats, queries: Codes, seeds: Codes, kinds: Codes) -> "Mean":
        """Mean of ``values``, in which each of the ``kinds`` has the same weight.

        The error by query is the linearised one: each problem's part of the difference from the
        mean, added up within its query.
        """
        weights = _weights(kinds)
        parts = weights * (values - _means(values, kinds)[kinds])
        summed = np.bincount(queries, parts).astype(np.float64)[np.unique(queries)]
        value = float(weights @ values)
        of_seeds = [_mean(values[seeds == each], kinds[seeds == each]) for each in np.unique(seeds)]
        return cls(
            value,
            _error(summed * summed.size),
            _error(np.array(of_seeds) - value, centred=False),
        )

    def named(self, name: str) -> dict[str, float]:
        """Columns of a table of scores."""
        return {name: self.value, f"{name}_se": self.by_query, f"{name}_seeds_se": self.over_seeds}


def _means(values: Floats, kinds: Codes) -> Floats:
    """Mean of each kind; 0 for a kind without problems."""
    sizes = np.bincount(kinds)
    means: Floats = np.bincount(kinds, values) / np.maximum(sizes, 1)
    return means


def _weights(kinds: Codes) -> Floats:
    """Weight of each problem, so that kinds have the same weight and all add up to 1."""
    sizes = np.bincount(kinds)
    weights: Floats = 1 / (sizes[kinds] * np.count_nonzero(sizes))
    return weights


def _mean(values: Floats, kinds: Codes) -> float:
    return float(_weights(kinds) @ values)


def _error(values: Floats, *, centred: bool = True) -> float:
    """Standard error of the mean of ``values``, whose mean is 0 if they are ``centred``."""
    if values.size < 2:
        return float("nan")
    squares = values**2 if centred else (values - values.mean()) ** 2
    return float(np.sqrt(squares.sum() / (values.size - 1) / values.size))


def with_errors(results: pd.DataFrame) -> pd.DataFrame:
    """Results with the chances of wrong answers.

    ``error`` counts what an entrant says if it must; ``error_undecided_half`` counts an undecided
    answer as half an error; ``false`` counts conclusive answers alone.
    """
    within = results["within"] == 1
    decided = results["yes"] + results["no"]
    false = results["no"].where(within, results["yes"])
    return results.assign(
        error=(1 - results["says_yes"]).where(within, results["says_yes"]),
        error_undecided_half=false + (1 - decided) / 2,
        decided=decided,
        false=false,
    )


def scores_of(results: pd.DataFrame) -> pd.DataFrame:
    """One row for each cell and entrant; entrants are in the order of ``ENTRANTS``."""
    judged = _with_auto(with_errors(results))
    judged["query_code"] = judged.groupby(QUERY).ngroup()
    names = [*(entrant.name for entrant in ENTRANTS), *judged["entrant"].unique()]
    order = {name: place for place, name in enumerate(dict.fromkeys(names))}
    groups = judged.groupby([*CELL, "entrant"], sort=False)
    scores = pd.DataFrame(
        [_scored(dict(zip([*CELL, "entrant"], key, strict=True)), rows) for key, rows in groups]
    )
    return (
        scores.assign(place=scores["entrant"].map(order))
        .sort_values([*CELL, "place"], kind="stable")
        .drop(columns="place")
        .reset_index(drop=True)
    )


def _with_auto(judged: pd.DataFrame) -> pd.DataFrame:
    """Results with the differences of errors and decisions from those of ``auto``."""
    keys, compared = [*PROBLEM, "epsilon"], ["error", "decided"]
    auto = judged.loc[judged["entrant"] == AUTO, [*keys, *compared]]
    both = judged.merge(auto, on=keys, how="left", suffixes=("", "_of_auto"))
    return both.assign(
        **{f"{name}_above_auto": both[name] - both[f"{name}_of_auto"] for name in compared}
    )


def _scored(key: dict[str, object], rows: pd.DataFrame) -> dict[str, object]:
    """Scores of one entrant in one cell."""
    within = rows["within"].to_numpy(np.int64)
    codes = rows["query_code"].to_numpy(np.int64), rows["seed"].to_numpy(np.int64)
    means: dict[str, float] = {}
    for name in (*_BALANCED, *_PLAIN):
        kinds = within * (name in _BALANCED)
        means |= Mean.of(rows[name].to_numpy(np.float64), *codes, kinds).named(name)
    exact = rows["exact"].all()
    return {
        **key,
        "private": int(rows["private"].iloc[0]),
        "problems": len(rows),
        "within": int(within.sum()),
        **means,
        # A share of few trials tells nothing of a chance near alpha.
        "above_alpha": int((rows["false"] > float(ALPHA) + _ROUNDING).sum()) if exact else None,
    }
