"""Closed testing: a bound on the number of true claims (Goeman and Solari 2011).

The claims have independent p-values, one for each claim.  Simes' rule tests all sets of claims at
once (Hommel 1988).  The test bounds the number of true claims in any set from below, whatever way
the set was chosen.  The bounds hold for all sets together with probability at least 1 - alpha
(Goeman, Meijer, Krebs and Solari 2019, "Simultaneous control of all false discovery proportions in
large-scale multiple testing").
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray


class Discoveries:
    """Lower bounds on the number of true claims, from the claims' p-values."""

    def __init__(self, p_values: ArrayLike, alpha: float) -> None:
        """Find the size of the largest set of claims that Simes' rule cannot reject."""
        self._p: NDArray[np.float64] = np.asarray(p_values, dtype=np.float64)
        self._alpha = alpha
        self._largest = self._unrefuted(np.sort(self._p))

    def _unrefuted(self, ascending: NDArray[np.float64]) -> int:
        """Hommel's h: the largest i with ``p_(m - i + j) > j alpha / i`` for j = 1 .. i."""
        m = ascending.size
        steps = np.arange(1, m + 1) * self._alpha
        for size in range(m, 0, -1):
            if (ascending[m - size :] > steps[:size] / size).all():
                return size
        return 0

    def among(self, places: Iterable[int] | None = None) -> int:
        """Lower bound on the number of true claims at ``places`` (by default all places)."""
        chosen = self._p if places is None else self._p[list(places)]
        if not chosen.size:
            return 0
        if not self._largest:
            return int(chosen.size)
        # Maximum over u of 1 - u + #(h p <= u alpha); for u beyond the size of the set it only
        # falls.
        bars = np.arange(1, chosen.size + 1) * self._alpha / self._largest
        small = np.searchsorted(np.sort(chosen), bars, side="right")
        return max(0, int(np.max(small - np.arange(chosen.size))))
