"""Tails of weighted sums of discrete Laplace noise, by Fourier inversion on the whole numbers.

A sum of independent terms has as characteristic function the product of theirs, here
``((1 - a)^2 / (1 - 2 a cos(w t) + a^2))^m`` for m terms of weight w, which is real.  On a circle so
long that less than 1e-15 of probability wraps around, its inverse transform is the distribution.
Only p-values and error rates come from here, so doubles cost no privacy.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciders.distributions import Floats
from deciders.errors import ParameterError
from deciders.exact import as_float

_LOST = 1e-15
_LONGEST = 2**20
# Each term of a sum: how much one unit of its noise counts, and how many such terms there are.
Terms = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class NoiseSum:
    """The distribution of a sum: ``chances[x + reach]`` is ``Pr[sum = x]``, ``-reach .. reach``."""

    reach: int
    chances: Floats
    tails: Floats

    def at_least(self, x: ArrayLike) -> Floats:
        """Return ``Pr[sum >= x]`` for whole numbers x, never below the truth by over 1e-15."""
        places = np.clip(np.asarray(x, dtype=np.float64) + self.reach, 0, 2 * self.reach + 1)
        return self.tails[places.astype(np.int64)]

    @property
    def support(self) -> NDArray[np.int64]:
        """The values that have a chance."""
        return np.arange(-self.reach, self.reach + 1)


@lru_cache(maxsize=64)
def noise_sum(terms: Terms, scale: Fraction) -> NoiseSum:
    """Return the distribution of the sum of ``terms``, each noise of ``scale``.

    Raises
    ------
    ParameterError
        As ``circle_of``.
    """
    reach, length = circle_of(terms, scale)
    a, rest = math.exp(-1 / as_float(scale)), -math.expm1(-1 / as_float(scale))
    angles = 2 * np.pi * np.arange(length // 2 + 1) / length
    factors: Floats = np.ones_like(angles)
    for weight, count in terms:
        # 1 - 2 a cos + a^2, written so that nothing cancels near an angle of 0.
        spread = rest**2 + 4 * a * np.sin(weight * angles / 2) ** 2
        factors *= (rest**2 / spread) ** count
    circle = np.fft.irfft(factors, length)
    chances = np.maximum(np.concatenate((circle[-reach:], circle[: reach + 1])), 0.0)
    tails = np.concatenate((np.cumsum(chances[::-1])[::-1], [0.0])) + _LOST
    return NoiseSum(reach, chances, np.minimum(tails, 1.0))


def circle_of(terms: Terms, scale: Fraction) -> tuple[int, int]:
    """Return how far the sum reaches but for 1e-15, and the length of a circle that holds it.

    Raises
    ------
    ParameterError
        If that is beyond a million values: a quantile of many digits, or a tiny budget.
    """
    reach = _reach(terms, as_float(scale))
    length = 1 << (2 * reach + 1).bit_length()
    if length > _LONGEST:
        raise ParameterError(
            "the noise of this quantile reaches too far; use a larger epsilon, or a p with fewer "
            "digits"
        )
    return reach, length


def _reach(terms: Terms, scale: float) -> int:
    """Return how far the sum reaches but for 1e-15, by Chernoff's bound."""
    heaviest = max((weight for weight, _ in terms), default=1)
    tilt = 1 / (2 * heaviest * scale)
    a = math.exp(-1 / scale)
    log_moment = sum(
        count
        * (
            2 * math.log1p(-a)
            - math.log1p(-math.exp(weight * tilt - 1 / scale))
            - math.log1p(-math.exp(-weight * tilt - 1 / scale))
        )
        for weight, count in terms
    )
    return math.ceil((log_moment - math.log(_LOST)) / tilt) + 1
