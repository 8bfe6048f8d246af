"""Odds of what was drawn, exactly: a limit on them is a limit on how often right noise fails.

Secure noise has no seed.  Each check that it passes fails with odds of at most ``RARE``, and no
test has ten of them; noise that is called wrong has odds of at most ``WRONG``.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

RARE, WRONG = 1e-10, 1e-6


def odds_of_hits(hits: int, draws: int, chance: float) -> float:
    """Odds of so many hits or more, or of so few or less, whichever are smaller, twice."""
    few, many = binom.cdf(hits, draws, chance), binom.sf(hits - 1, draws, chance)
    return float(2 * min(few, many))


def odds_of_total(total: int, draws: int, chances: NDArray[np.float64]) -> float:
    """Odds of so large or so small a total, likewise, of draws from 0, 1, .. with ``chances``.

    By the transform of their sum, which is off by 1e-12 at most.
    """
    size = draws * (chances.size - 1) + 1
    own = np.fft.irfft(np.fft.rfft(chances, size) ** draws, size)
    return float(2 * min(own[: total + 1].sum(), own[total:].sum()))
