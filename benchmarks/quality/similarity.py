"""Scores of similarity that are no verdicts, with a threshold tuned on the truth; not private.

People judge copies by scores such as those of SDMetrics.  Here a score becomes a verdict in the
way that favours it most: it reads the private table without noise, and for each aggregate and
tolerance its threshold is the best one on the true verdicts of half of the queries.  The other half
is judged, and the same with the halves exchanged.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pandas as pd

from benchmarks.drawn_queries import numeric_columns
from benchmarks.quality.entrants import NO, YES, Answer, Chances
from benchmarks.quality.problems import DrawnQuery, Problem, Tables
from pqd.deciders import Noise
from pqd.deciders.histogram import Histogram

Score = Callable[[DrawnQuery], float]
# Aggregate, tolerance and half of the queries for which a threshold holds.
Cell = tuple[str, str, int]


def column_score(query: DrawnQuery) -> float:
    """Mean similarity of the two columns of the query, by SDMetrics' definitions.

    It is 1 minus the total variation of a category, and 1 minus the Kolmogorov-Smirnov distance of
    a number.
    """
    tables, selection = query.tables, query.selection
    columns = selection.column, selection.by
    return float(np.mean([_similarity(tables, column) for column in columns]))


def selection_score(query: DrawnQuery) -> float:
    """1 minus the Kolmogorov-Smirnov distance of the query's own column in its selected rows."""
    values = [query.selection.of(each) for each in (query.tables.private, query.tables.copy)]
    return 1 - _kolmogorov_smirnov(*map(Histogram.from_values, values))


def _similarity(tables: Tables, column: str) -> float:
    private, copy = tables.private[column], tables.copy[column]
    if column in numeric_columns(tables.copy[[column]]):
        both = (Histogram.from_values(each.to_numpy(np.int64)) for each in (private, copy))
        return 1 - _kolmogorov_smirnov(*both)
    shares = pd.concat([each.value_counts(normalize=True) for each in (private, copy)], axis=1)
    first, second = shares.fillna(0).to_numpy().T
    return 1 - float(np.abs(first - second).sum()) / 2


def _kolmogorov_smirnov(first: Histogram, second: Histogram) -> float:
    """Largest difference of two distribution functions; 1 if a table has no rows."""
    if not first.mass or not second.mass:
        return 1.0
    values = np.union1d(first.values, second.values)
    shares = [
        each.cumulative_counts[np.searchsorted(each.values, values, "right")] / each.mass
        for each in (first, second)
    ]
    return float(np.abs(shares[0] - shares[1]).max())


class TunedScore:
    """Score with a threshold for each cell; yes if the score reaches it."""

    private = False

    def __init__(
        self, name: str, score: Score, thresholds: Mapping[Cell, float] | None = None
    ) -> None:
        """Name a score; ``tuned`` gives it thresholds."""
        self.name, self._thresholds = name, thresholds or {}
        self._score = lru_cache(maxsize=None)(score)

    def fits(self, problem: Problem) -> bool:
        """Whether there is a score: always."""
        del problem
        return True

    def tuned(self, problems: Sequence[Problem]) -> "TunedScore":
        """Entrant with the threshold of the least balanced error on the other half."""
        found: dict[Cell, list[tuple[float, bool]]] = {}
        for problem in problems:
            aggregate, stratum, half = cell_of(problem)
            cell = aggregate, stratum, 1 - half
            found.setdefault(cell, []).append((self._score(problem.query), problem.truth))
        thresholds = {cell: best_threshold(pairs) for cell, pairs in found.items()}
        return TunedScore(self.name, self._score, thresholds)

    def verdict(self, problem: Problem, epsilon: Fraction, noise: Noise) -> Answer:
        """Answer without noise; a cell without a threshold says no."""
        del epsilon, noise
        return YES if self._score(problem.query) >= self._threshold(problem) else NO

    def chances(self, problem: Problem, epsilon: Fraction) -> Chances:
        """Chances 0 and 1."""
        del epsilon
        yes = float(self._score(problem.query) >= self._threshold(problem))
        return Chances(yes, yes, 1 - yes)

    def _threshold(self, problem: Problem) -> float:
        return self._thresholds.get(cell_of(problem), np.inf)


def cell_of(problem: Problem) -> Cell:
    """Cell of a problem.  Hard problems share one, since their tolerance tells the truth.

    The halves are the queries with even and odd places, counted for each aggregate.
    """
    query = problem.query
    stratum = "hard" if problem.is_hard else problem.stratum
    return query.aggregate, stratum, query.turn % 2


def best_threshold(pairs: Sequence[tuple[float, bool]]) -> float:
    """Least threshold of the least balanced error on pairs of a score and the truth."""
    scores, truths = map(np.array, zip(*pairs, strict=True))
    thresholds = np.append(np.unique(scores), np.inf)
    says_yes = scores >= thresholds[:, None]
    kinds = [~says_yes[:, truths], says_yes[:, ~truths]]
    errors = np.mean([kind.mean(1) for kind in kinds if kind.shape[1]], axis=0)
    return float(thresholds[errors.argmin()])


TUNED = (
    TunedScore("column score", column_score),
    TunedScore("score of the selected rows", selection_score),
)
