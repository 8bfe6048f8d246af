"""Release of all cells of one marginal, with shares of the rows and figures of a classifier.

A confusion matrix is a marginal of two columns: each row of the table is in one cell (true class,
predicted class).  So the matrix costs epsilon once, and its figures are post-processing.  For
every private table, each interval contains its figure with probability at least 1 - alpha
(docs/theory.md, Theorem D10).
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqd.deciders.distances.combinations import Combination, Term
from pqd.deciders.distances.estimates import DistanceEstimates
from pqd.deciders.distances.noise_laws import LaplaceLaw
from pqd.deciders.distances.ratio_intervals import (
    CriticalValues,
    ShareEstimate,
    critical_values,
    share_estimates,
)
from pqd.deciders.distances.statistics import whole_rows
from pqd.deciders.distances.vector import IndependentNoise
from pqd.deciders.distributions import Floats
from pqd.deciders.errors import ParameterError
from pqd.deciders.exact import Number, budget_of, probability
from pqd.deciders.noise import Noise

# Name of the mechanism in keys and reports.
LAPLACE_CELLS = "laplace_cells"
# Ends of the segments of a share theta, which are denser where theta or 1 - theta is small.
_EDGES: Floats = np.sin(np.linspace(0, np.pi / 2, 33)) ** 2
# Part of alpha for the balanced accuracy that bounds every class's rows and recall.
_BOUNDING = 0.2


# Where cells are counted in parts of a row, a released number differs from the exact one by at
# most so many rows more than by discrete Laplace noise of scale 1/epsilon (Theorem U2).
ROUNDED = 1.5


def release_cells(
    counts: Sequence[int] | NDArray[np.int64], epsilon: Number, noise: Noise, parts: int = 1
) -> tuple[int, ...]:
    """Number of rows in each cell, with discrete Laplace noise of scale ``1 / epsilon``.

    ``counts`` are in so many ``parts`` of a row.  With several parts noise of scale
    ``parts / epsilon`` is added to them, and only then the numbers are rounded to whole rows: a
    person may have parts of rows in many cells, each of which rounding could move by a whole row.

    Guarantee: epsilon-DP for all cells together.  A row is in one cell and changes only the count
    of that cell, by 1.  So the counts have L1 sensitivity 1 (Dwork et al. 2006).  The parts of a
    row that a person has anywhere are at most ``parts``: this is the L1 sensitivity in parts.  One
    cell alone may be rounded before.
    """
    scale = 1 / budget_of(epsilon)
    if parts > 1 and len(counts) > 1:
        noisy = (noise.laplace(int(count), parts * scale) for count in counts)
        return tuple(whole_rows(Fraction(number, parts)) for number in noisy)
    whole = (whole_rows(Fraction(int(count), parts)) for count in counts)
    return tuple(noise.laplace(count, scale) for count in whole)


def cell_shares(
    noisy: Sequence[int],
    epsilon: Number,
    estimates: DistanceEstimates,
    alpha: Number,
    *,
    rounded: bool = False,
) -> Floats:
    """Share of the private rows in each cell: value, low and high, an array (cells, 3).

    ``noisy`` holds the released cells.  ``estimates`` holds the released number of rows, which has
    its own noise.  Each interval takes both noises into account and contains its share with
    probability at least 1 - alpha (docs/theory.md, Theorem D7).  ``rounded``: the cells were
    counted in parts of a row.
    """
    noise = IndependentNoise((Term(1.0, 1, LaplaceLaw(1 / budget_of(epsilon))),))
    level = float(probability(alpha, "alpha"))
    critical = critical_values(noise, estimates.law.rows, level)
    return share_estimates(noisy, float(estimates.released[0]), critical, ROUNDED * rounded)


class ConfusionFigures(NamedTuple):
    """Figures of a classifier; None if the matrix says nothing about them.

    ``recalls`` are the shares of each true class that are predicted correctly.  Their intervals
    hold all at once, because the noise decides which intervals are reported.  ``shares`` are the
    shares of each true class among all rows.  A share is also the accuracy of always naming that
    class.
    """

    accuracy: ShareEstimate
    balanced: ShareEstimate | None
    recalls: tuple[ShareEstimate | None, ...]
    shares: tuple[ShareEstimate, ...]


class _CellLaw(NamedTuple):
    """Law of the noise of a cell, and rows that rounding may add to it."""

    noise: LaplaceLaw
    rounding: float

    def reach(self, weights: Sequence[tuple[float, int]], alpha: float) -> float:
        """Distance that a weighted sum of errors exceeds with probability at most alpha.

        It is that in either direction.  ``weights`` has pairs of a weight and a number of cells.
        """
        terms = tuple(Term(weight, cells, self.noise) for weight, cells in weights)
        noise = Combination(terms, smoothed=True)
        rounding = self.rounding * sum(weight * cells for weight, cells in weights)
        return noise.quantile(alpha / 2) + noise.added + rounding


def confusion_figures(
    noisy: ArrayLike, epsilon: Number, alpha: Number, *, rounded: bool = False
) -> ConfusionFigures:
    """Figures of ``noisy``, an array (true class, predicted class) released at ``epsilon``.

    ``rounded``: the cells were counted in parts of a row.

    Raises
    ------
    ParameterError
        Unless the matrix is square with at least two classes.
    """
    matrix = np.asarray(noisy, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] < 2:
        raise ParameterError(f"a confusion matrix of shape {matrix.shape}; it must be square")
    law = _CellLaw(LaplaceLaw(1 / budget_of(epsilon)), ROUNDED * rounded)
    level = float(probability(alpha, "alpha"))
    classes, rows = len(matrix), matrix.sum(axis=1)
    of_all = _critical(classes, classes**2, law, level)
    figures = share_estimates([matrix.trace(), *rows], matrix.sum(), of_all, 0.0)
    accuracy, *shares = (ShareEstimate(*figure) for figure in figures.tolist())
    critical = _critical(1, classes, law, level / classes)
    recalls = tuple(
        None if (low, high) == (0, 1) else ShareEstimate(value, low, high)
        for value, low, high in _recalls(matrix, critical)
    )
    return ConfusionFigures(accuracy, _balanced(matrix, law, level), recalls, tuple(shares))


@lru_cache(maxsize=64)
def _critical(part: int, whole: int, law: _CellLaw, alpha: float) -> CriticalValues:
    """Critical values for ``part`` of ``whole`` cells; the weights are 1 - theta and theta."""
    pairs = zip(_EDGES[:-1].tolist(), _EDGES[1:].tolist(), strict=True)
    weights = ([(1 - low, part), (high, whole - part)] for low, high in pairs)
    return CriticalValues(_EDGES, np.array([law.reach(_present(w), alpha) for w in weights]))


def _present(weights: Sequence[tuple[float, int]]) -> list[tuple[float, int]]:
    return [(weight, cells) for weight, cells in weights if weight and cells]


def _recalls(matrix: Floats, critical: CriticalValues) -> list[list[float]]:
    """Value, low and high of each class's recall."""
    pairs = zip(matrix.diagonal(), matrix.sum(axis=1), strict=True)
    return [share_estimates([right], rows, critical, 0.0)[0].tolist() for right, rows in pairs]


def _balanced(matrix: Floats, law: _CellLaw, alpha: float) -> ShareEstimate | None:
    """Mean of the recalls; None unless every class surely has rows.

    Let R_i be a class's rows and ``e_i = (1 - r_i) Z_ii - r_i sum_j Z_ij``.  The error of the mean
    has a main term ``sum_i e_i / (C R_i)`` and a remainder
    ``sum_i e_i (R_i - R^_i) / (C R_i R^_i)``.  Most of alpha bounds the main term, at the largest
    possible weights.  The rest of alpha bounds all R_i and r_i at once.
    """
    classes, rows, right = len(matrix), matrix.sum(axis=1), matrix.diagonal()
    each = _BOUNDING * alpha / (2 * classes)
    reach = law.reach([(1.0, classes)], each)
    least = rows - reach
    if least.min() < 1:
        return None
    bounds = np.array(_recalls(matrix, _critical(1, classes, law, each)))
    low, high = bounds[:, 1], bounds[:, 2]
    scale = 1 / (classes * least)
    weights = [(float(w), 1) for w in (1 - low) * scale]
    weights += [(float(w), classes - 1) for w in high * scale]
    error = np.maximum(np.abs(right - low * rows), np.abs(right - high * rows))
    remainder = float((error * reach * scale / rows).sum())
    half = law.reach(_present(weights), (1 - _BOUNDING) * alpha) + remainder
    value = float((right / rows).mean())
    return ShareEstimate(*np.clip([value, value - half, value + half], 0, 1).tolist())
