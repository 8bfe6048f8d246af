"""Release of all cells of one marginal, with shares of the rows and figures of a classifier.

A confusion matrix is a marginal of two columns: each row of the table is in one cell (true class,
predicted class).  So the matrix costs epsilon once, and its figures are post-processing.  For
every private table, each interval contains its figure with probability at least 1 - alpha
(docs/theory.md, Theorem D10).
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pqd.deciders.distances.combinations import Combination, Term
from pqd.deciders.distances.estimates import DistanceEstimates
from pqd.deciders.distances.noise_laws import LaplaceLaw
from pqd.deciders.distances.ratio_intervals import (
    CriticalValues,
    ShareEstimate,
    critical_values,
    share_estimates,
)
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


def release_cells(counts: Iterable[int], epsilon: Number, noise: Noise) -> tuple[int, ...]:
    """Number of rows in each cell, with discrete Laplace noise of scale ``1 / epsilon``.

    Guarantee: epsilon-DP for all cells together.  A row is in one cell and changes only the count
    of that cell, by 1.  So the counts have L1 sensitivity 1 (Dwork et al. 2006).
    """
    scale = 1 / budget_of(epsilon)
    return tuple(noise.laplace(int(count), scale) for count in counts)


def cell_shares(
    noisy: Sequence[int], epsilon: Number, estimates: DistanceEstimates, alpha: Number
) -> Floats:
    """Share of the private rows in each cell: value, low and high, an array (cells, 3).

    ``noisy`` holds the released cells.  ``estimates`` holds the released number of rows, which has
    its own noise.  Each interval takes both noises into account and contains its share with
    probability at least 1 - alpha (docs/theory.md, Theorem D7).
    """
    noise = IndependentNoise((Term(1.0, 1, LaplaceLaw(1 / budget_of(epsilon))),))
    level = float(probability(alpha, "alpha"))
    critical = critical_values(noise, estimates.law.rows, level)
    return share_estimates(noisy, float(estimates.released[0]), critical, slack=0.0)


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


def confusion_figures(noisy: ArrayLike, epsilon: Number, alpha: Number) -> ConfusionFigures:
    """Figures of ``noisy``, an array (true class, predicted class) released at ``epsilon``.

    Raises
    ------
    ParameterError
        Unless the matrix is square with at least two classes.
    """
    matrix = np.asarray(noisy, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] < 2:
        raise ParameterError(f"a confusion matrix of shape {matrix.shape}; it must be square")
    law, level = LaplaceLaw(1 / budget_of(epsilon)), float(probability(alpha, "alpha"))
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
def _critical(part: int, whole: int, law: LaplaceLaw, alpha: float) -> CriticalValues:
    """Critical values for ``part`` of ``whole`` cells; the weights are 1 - theta and theta."""
    pairs = zip(_EDGES[:-1].tolist(), _EDGES[1:].tolist(), strict=True)
    noises = [_terms([(1 - low, part), (high, whole - part)], law) for low, high in pairs]
    return CriticalValues(_EDGES, np.array([_reach(noise, alpha) for noise in noises]))


def _terms(weights: list[tuple[float, int]], law: LaplaceLaw) -> tuple[Term, ...]:
    return tuple(Term(weight, draws, law) for weight, draws in weights if weight and draws)


def _recalls(matrix: Floats, critical: CriticalValues) -> list[list[float]]:
    """Value, low and high of each class's recall."""
    pairs = zip(matrix.diagonal(), matrix.sum(axis=1), strict=True)
    return [share_estimates([right], rows, critical, 0.0)[0].tolist() for right, rows in pairs]


def _balanced(matrix: Floats, law: LaplaceLaw, alpha: float) -> ShareEstimate | None:
    """Mean of the recalls; None unless every class surely has rows.

    Let R_i be a class's rows and ``e_i = (1 - r_i) Z_ii - r_i sum_j Z_ij``.  The error of the mean
    has a main term ``sum_i e_i / (C R_i)`` and a remainder
    ``sum_i e_i (R_i - R^_i) / (C R_i R^_i)``.  Most of alpha bounds the main term, at the largest
    possible weights.  The rest of alpha bounds all R_i and r_i at once.
    """
    classes, rows, right = len(matrix), matrix.sum(axis=1), matrix.diagonal()
    each = _BOUNDING * alpha / (2 * classes)
    reach = _reach(_terms([(1.0, classes)], law), each)
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
    half = _reach(_terms(weights, law), (1 - _BOUNDING) * alpha) + remainder
    value = float((right / rows).mean())
    return ShareEstimate(*np.clip([value, value - half, value + half], 0, 1).tolist())


def _reach(terms: tuple[Term, ...], alpha: float) -> float:
    """Distance that the noise exceeds in either direction with probability at most alpha."""
    noise = Combination(terms, smoothed=True)
    return noise.quantile(alpha / 2) + noise.added
