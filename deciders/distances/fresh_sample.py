"""Expected distance of a fresh sample of the copy's own distribution: no copy does better.

The distance is exact, without simulation, and public if the number of rows is public.  It serves
as a reference for a score.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from pqd.deciders.errors import ParameterError


def fresh_sample_distance(copy: ArrayLike, n: int) -> float:
    """Expected total variation of ``n`` rows drawn from the copy's distribution, as a share.

    The rows of a cell are binomial.  The mean deviation of a binomial of n and p is
    ``2 v C(n, v) p^v (1 - p)^(n - v + 1)`` with ``v = floor(n p) + 1`` (de Moivre 1730; Diaconis
    and Zabell 1991).  The distance is half the sum of these deviations, divided by n.

    Raises
    ------
    ParameterError
        If the copy has no rows, or n is below 1.
    """
    sizes, cells = np.unique(np.asarray(copy, dtype=np.int64).ravel(), return_counts=True)
    copy_rows = int(sizes @ cells)
    if n < 1 or copy_rows < 1 or sizes[0] < 0:
        raise ParameterError("a fresh sample needs rows to draw, and a copy that has some")
    pairs = zip(sizes.tolist(), cells.tolist(), strict=True)
    total = math.fsum(count * _mean_deviation(n, size, copy_rows) for size, count in pairs)
    return total / (2 * n)


def _mean_deviation(n: int, size: int, copy_rows: int) -> float:
    """Mean of ``|B - n p|``, B binomial of n and ``p = size / copy_rows``."""
    if size in {0, copy_rows}:
        return 0.0
    v = n * size // copy_rows + 1
    log = (
        math.lgamma(n + 1)
        - math.lgamma(v + 1)
        - math.lgamma(n - v + 1)
        + v * math.log(size / copy_rows)
        + (n - v + 1) * math.log1p(-size / copy_rows)
    )
    return 2 * v * math.exp(log)
