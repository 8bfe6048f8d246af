"""One batch of numerical queries, its table and noise, for the tests of linear mechanisms."""

from fractions import Fraction
from typing import Any

import numpy as np

from pqd.deciders.batch.linear.clipped_composition import ClippedComposition
from pqd.deciders.batch.linear.conditions import Intervals, Ranges
from pqd.deciders.batch.linear.dyadic import DyadicMechanism
from pqd.deciders.batch.linear.mechanism import LinearMechanism
from pqd.deciders.batch.linear.multiplicative_weights import MultiplicativeWeights
from pqd.deciders.batch.linear.normalization import GlobalTruncation, Normalization
from pqd.deciders.batch.linear.numerical import Numerical, NumericalInTwoSteps
from pqd.deciders.batch.linear.queries import LinearQueries, NumericalQueries, doubling
from pqd.deciders.batch.linear.radius import RadiusFirst
from pqd.deciders.batch.linear.universe import DigitUniverse, LevelUniverse, Rows
from tests.support.noises import LaplaceAlone

RNG = np.random.default_rng(11)


LINE = Ranges((Intervals.up_to(6, 6),))


REDUCED = NumericalQueries(LINE, DigitUniverse(6, 20))


TABLE = Rows(RNG.integers(0, 6, 300), np.minimum(RNG.geometric(0.3, 300), 12))


def dense_queries(queries: NumericalQueries) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Worth of every cell, by query."""
    levels = queries.universe.weights.shape[1]
    weights = np.broadcast_to(queries.universe.weights, (queries.universe.classes, levels))
    rows = [queries.conditions.row(place)[:, None] * weights for place in range(queries.size)]
    return np.stack(rows).reshape(queries.size, -1)


def dense_unit_queries(linear: LinearQueries) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Worth of every cell in [0, 1], by query."""
    dense, queries = dense_queries(linear.queries), map(linear.query, range(linear.size))
    return np.stack([query.worths(dense[query.condition]) for query in queries])


class Silent(LaplaceAlone):
    """No noise; of two halves the likelier."""

    simulated = True

    def laplace(self, statistic: int, scale: Fraction) -> int:
        assert scale > 0
        return statistic

    def choose(self, logit: float) -> bool:
        return logit >= 0


def truth(queries: Any, rows: Rows) -> np.ndarray[Any, np.dtype[np.int64]]:
    thresholds = doubling(1, int(queries.limits.max()))
    sums: np.ndarray[Any, np.dtype[np.int64]] = queries.table_tails(rows, thresholds)[1][:, -1]
    return sums


def mechanisms(rounds: int) -> list[LinearMechanism]:
    long = MultiplicativeWeights(rounds=rounds)
    sevens = NumericalQueries(LINE, LevelUniverse(6, np.array([[7]])))
    return [
        Normalization(queries=REDUCED, weights=long),
        GlobalTruncation(queries=REDUCED, weights=long),
        ClippedComposition(queries=REDUCED),
        Numerical(queries=REDUCED, weights=long),
        NumericalInTwoSteps(queries=REDUCED, weights=long),
        Numerical(queries=sevens, weights=long),
        NumericalInTwoSteps(
            queries=NumericalQueries(LINE, LevelUniverse.up_to(6, 20)), weights=long
        ),
        DyadicMechanism(queries=REDUCED),
        RadiusFirst(inner=Numerical(queries=REDUCED, weights=long)),
    ]
