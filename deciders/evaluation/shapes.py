"""Shapes: tables that the private one might be shaped like, made from the synthetic histogram.

A budget that is needed is a promise about a table that is not known; it is the worst over these.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from deciders.histogram import Histogram, Integers

_SHAPED = ("AVG", "MEDIAN", "QUANTILE")
_DRAWN = 2
# Rows are drawn anew by values, or by as many ranges of equally many rows.
_BLOCKS = 1024


def shapes(histogram: Histogram, aggregate: str) -> Iterator[Histogram]:
    """Yield tables that the private one might be shaped like, the hardest to decide first.

    For what hangs on how many values lie about the answer (AVG, MEDIAN, QUANTILE): half of the
    rows; rows that are from half to one and a half times as frequent, the more the larger their
    values, and the other way round; rows drawn anew (bootstrap, from fixed seeds); and the table
    itself.  For all else the table itself.  Each is judged around its own answer.
    """
    mass = histogram.mass
    if aggregate in _SHAPED and mass:
        yield _ranked(histogram, histogram.cumulative_counts * (max(1, mass // 2) / mass))
        ranks = histogram.cumulative_counts / mass
        for tilted in ((ranks + ranks**2) / 2, (3 * ranks - ranks**2) / 2):
            yield _ranked(histogram, tilted * mass)
        for seed in range(_DRAWN):
            yield _ranked(histogram, _drawn(histogram, seed))
    yield histogram


def _ranked(histogram: Histogram, ranks: ArrayLike) -> Histogram:
    """Histogram with other running counts, rounded, so that the shape is kept."""
    running: Integers = np.rint(ranks).astype(np.int64)
    counts = running[1:] - running[:-1]
    kept = counts > 0
    return Histogram(histogram.values[kept], counts[kept])


def _drawn(histogram: Histogram, seed: int) -> ArrayLike:
    """Running counts of as many rows drawn from the histogram, from a fixed seed."""
    mass, generator = histogram.mass, np.random.default_rng(seed)
    if histogram.values.size <= _BLOCKS:
        chances = histogram.counts / mass
        return _running(generator.multinomial(mass, chances))
    drawn = generator.multinomial(mass, np.full(_BLOCKS, 1 / _BLOCKS))
    ends = np.linspace(0, mass, _BLOCKS + 1)
    return np.interp(histogram.cumulative_counts, ends, _running(drawn))


def _running(counts: Integers) -> Integers:
    return np.concatenate(([0], np.cumsum(counts)))
