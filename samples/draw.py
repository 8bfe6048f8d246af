"""Shared array types and the one weighted draw every sample table is built from."""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Table = dict[str, Ints]


def pick(rng: np.random.Generator, weights: Floats, group: Ints) -> Ints:
    """Draw one column index per row, with the weights found at row `group[i]` of `weights`."""
    groups, width = weights.shape
    cumulative = np.cumsum(weights, axis=1)
    cumulative /= cumulative[:, -1:]
    # Shifting group g to the interval (g, g + 1] lets one binary search serve every group.
    ladder = (cumulative + np.arange(groups)[:, None]).ravel()
    found = np.searchsorted(ladder, group + rng.random(len(group)), side="right")
    inside: Ints = np.clip(found - group * width, 0, width - 1)
    return inside


def whole(values: Floats, low: int, high: int) -> Ints:
    """Round to integers and clip to the closed range [low, high]."""
    rounded: Ints = np.clip(np.rint(values), low, high).astype(np.int64)
    return rounded
