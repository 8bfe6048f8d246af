"""The exponential mechanism over scores, drawn by a descent of exact yes/no choices."""

import math

import numpy as np

from pqd.deciders.distributions import Floats
from pqd.deciders.noise import Noise


def exponential_choice(log_weights: Floats, noise: Noise) -> int:
    """Place, drawn with probability proportional to ``exp(log_weights)``.

    With weights ``exp(epsilon score / (2 s))`` of scores of sensitivity s the draw is epsilon-DP
    (McSherry and Talwar 2007).  Each choice between two halves is exact given its log-odds, which
    are doubles (docs/limitations.md); each half is scaled by its own largest weight, so that no
    place has probability 0.
    """
    low, high = 0, log_weights.size
    while high - low > 1:
        middle = (low + high) // 2
        odds = _log_sum(log_weights[low:middle]) - _log_sum(log_weights[middle:high])
        low, high = (low, middle) if noise.choose(odds) else (middle, high)
    return low


def _log_sum(log_weights: Floats) -> float:
    """``ln sum exp(log_weights)``."""
    highest = float(log_weights.max())
    return highest + math.log(float(np.exp(log_weights - highest).sum()))
