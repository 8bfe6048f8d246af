"""Confidence intervals of a share ``T / n`` with noise on both numbers, by test inversion.

A share theta is excluded if ``theta n^ - T^`` is farther from 0 than a critical value.  The noise
``theta Z_n - Z_T`` stays within the critical value with probability 1 - alpha.  The critical value
grows with the weights of the noises (docs/theory.md, Theorem D7).  So each segment of thetas uses
the critical value at its largest weights.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pqd.deciders.distances.noise_laws import NoiseLaw
from pqd.deciders.distances.vector import WeightedNoise
from pqd.deciders.distributions import Floats

# Factor by which the deviation grows on a segment, and the largest number of segments.
_GROWTH, _MOST_SEGMENTS = 1.01, 48


class ShareEstimate(NamedTuple):
    """Estimated share between 0 and 1; ``low .. high`` contains it with probability 1 - alpha."""

    value: float
    low: float
    high: float


class CriticalValues(NamedTuple):
    """Critical value on each segment between ``edges``, which ascend from 0 to 1."""

    edges: Floats
    values: Floats

    def at(self, share: float) -> float:
        """Critical value at ``share``."""
        place = int(np.searchsorted(self.edges, share, side="right")) - 1
        return float(self.values[min(max(place, 0), self.values.size - 1)])


def share_estimates(
    parts: ArrayLike, whole: float, critical: CriticalValues, slack: float
) -> Floats:
    """Value, low and high of each share ``part / whole``, an array (parts, 3).

    ``slack`` bounds the error of the parts other than noise.  Parts are cut to ``0 .. whole``,
    which only widens the intervals.  If the whole is not above 0, the intervals are 0 to 1.
    """
    numerators = np.asarray(parts, dtype=np.float64)
    if whole <= 0:
        low, high = np.zeros_like(numerators), np.ones_like(numerators)
        return np.stack((np.where(numerators > 0, high, low), low, high), axis=-1)
    numerators = np.clip(numerators, 0.0, whole)
    low, high = _hull(numerators, whole, critical.values + slack, critical.edges)
    return np.stack((numerators / whole, low, high), axis=-1)


def signed_interval(
    part: float, whole: float, critical: CriticalValues, slack: float
) -> ShareEstimate:
    """Value, low and high of a share between -1 and 1, for a ``whole`` above 0."""
    numerator = min(max(part, -whole), whole)
    edges = np.concatenate((-critical.edges[:0:-1], critical.edges))
    allowed = np.concatenate((critical.values[::-1], critical.values)) + slack
    low, high = _hull(np.array([numerator]), whole, allowed, edges)
    return ShareEstimate(numerator / whole, float(low[0]), float(high[0]))


def _hull(parts: Floats, whole: float, allowed: Floats, edges: Floats) -> tuple[Floats, Floats]:
    """Least and largest share that some segment accepts; ``part / whole`` is always included."""
    low = np.maximum((parts[:, None] - allowed) / whole, edges[:-1])
    high = np.minimum((parts[:, None] + allowed) / whole, edges[1:])
    accepted, value = low <= high, parts / whole
    least = np.where(accepted, low, np.inf).min(axis=1)
    most = np.where(accepted, high, -np.inf).max(axis=1)
    return np.minimum(least, value), np.maximum(most, value)


@lru_cache(maxsize=256)
def critical_values(noise: WeightedNoise, rows: NoiseLaw, alpha: float) -> CriticalValues:
    """Two-sided critical values of ``theta n^ - T^``: T^ has ``noise``, n^ has noise of ``rows``.

    On each segment the deviation grows by one per cent, unless that makes too many segments.
    """
    still, moving = noise.deviation, rows.deviation
    ratio = math.hypot(1.0, moving / still) if still > moving / 1e6 else 1e6
    segments = min(_MOST_SEGMENTS, max(1, math.ceil(math.log(ratio) / math.log(_GROWTH))))
    growths = ratio ** (2 * np.arange(1, segments) / segments) - 1
    inner = np.sqrt(growths / (ratio**2 - 1)) if segments > 1 else growths
    edges: Floats = np.concatenate(([0.0], inner, [1.0]))
    values = [noise.critical(share, rows, alpha) for share in edges[1:].tolist()]
    return CriticalValues(edges, np.array(values))
