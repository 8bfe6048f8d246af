"""Exact law of permute-and-flip (McKenna and Sheldon 2020)."""

import math
from collections.abc import Sequence
from itertools import permutations


def law_of_permute_and_flip(scores: Sequence[int], scale: float) -> list[float]:
    """Exact chance of each place, over all orders in which the places may be tried."""
    chances = [math.exp(-(score - min(scores)) / scale) for score in scores]
    law = [0.0] * len(scores)
    orders = list(permutations(range(len(scores))))
    for order in orders:
        left = 1.0
        for place in order:
            law[place] += left * chances[place] / len(orders)
            left *= 1 - chances[place]
    return law
