"""The exponential mechanism: a private choice among places, by weights known as logarithms."""

import math

import numpy as np

from pqd.deciders.distributions import Floats
from pqd.deciders.noise import Noise


def exponential_choice(log_weights: Floats, noise: Noise) -> int:
    """Place, drawn with probability proportional to ``exp(log_weights)``.

    With weights ``exp(epsilon score / (2 s))`` of scores of sensitivity s the draw is epsilon-DP
    (McSherry and Talwar 2007).  Each choice between two halves is exact, given its log-odds,
    which are doubles (docs/limitations.md).  Each half is scaled by its own largest weight, so no
    place has probability 0.
    """
    low, high = 0, log_weights.size
    while high - low > 1:
        middle = (low + high) // 2
        odds = log_sum(log_weights[low:middle]) - log_sum(log_weights[middle:high])
        low, high = (low, middle) if noise.choose(odds) else (middle, high)
    return low


def log_sum(weights: Floats) -> float:
    """``ln sum exp(weights)``, -inf for none."""
    highest = float(weights.max(initial=-math.inf))
    if highest == -math.inf:
        return highest
    return highest + math.log(float(np.exp(weights - highest).sum()))
