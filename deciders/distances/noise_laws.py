"""Laws of whole-numbered noise: discrete Laplace and discrete Gaussian.

Both laws are symmetric and log-concave, so a sum of noises of one law is symmetric with one peak.
They are used only for intervals, p-values and error rates, so doubles cost no privacy.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from pqd.deciders.distributions import Floats, noise_tail, noise_variance
from pqd.deciders.exact import as_float
from pqd.deciders.monotone_search import least

# A discrete Gaussian of at least this deviation is transformed by Poisson's formula.
_WIDE = 1.0
# Values within this many deviations have all the chance of a discrete Gaussian, up to 1e-30.
_FAR = 12
# For smaller deviations than this a tail is the sum of its terms.
_SUMMED = 100
# No noise that is drawn reaches farther than this.
_FARTHEST = 2**64


class NoiseLaw(ABC):
    """Law of one whole-numbered noise Z.  Conformers: LaplaceLaw, GaussianLaw."""

    __slots__ = ()

    @property
    @abstractmethod
    def deviation(self) -> float:
        """Standard deviation."""

    @property
    @abstractmethod
    def largest_tilt(self) -> float:
        """Upper end of the tilts t for which the moment ``E exp(t Z)`` is finite."""

    @abstractmethod
    def tail(self, steps: int) -> float:
        """``Pr[Z >= steps]``."""

    @abstractmethod
    def transform(self, angles: Floats) -> Floats:
        """Characteristic function ``E exp(i t Z)``, which is real, at each angle t."""

    @abstractmethod
    def log_moment(self, tilts: Floats) -> Floats:
        """Upper bound on ``ln E exp(t Z)`` at each tilt t, ``0 <= t < largest_tilt``."""

    def quantile(self, level: float) -> int:
        """Least k >= 0 with ``Pr[Z > k] <= level``."""
        beyond = least(lambda steps: self.tail(steps) <= level, _FARTHEST)
        return (_FARTHEST if beyond is None else beyond) - 1


@dataclass(frozen=True, slots=True)
class LaplaceLaw(NoiseLaw):
    """Discrete Laplace law, ``Pr[Z = z]`` proportional to ``exp(-|z| / scale)``."""

    scale: Fraction

    @property
    def deviation(self) -> float:
        """Standard deviation."""
        return math.sqrt(noise_variance(self.scale))

    @property
    def largest_tilt(self) -> float:
        """``1 / scale``."""
        return as_float(1 / self.scale)

    def tail(self, steps: int) -> float:
        """``Pr[Z >= steps]``."""
        return noise_tail(steps, self.scale)

    def transform(self, angles: Floats) -> Floats:
        """``(1 - a)^2 / ((1 - a)^2 + 4 a sin^2(t/2))``, a = exp(-1/scale)."""
        rate = as_float(1 / self.scale)
        a, rest = math.exp(-rate), -math.expm1(-rate)
        values: Floats = rest**2 / (rest**2 + 4 * a * np.sin(angles / 2) ** 2)
        return values

    def log_moment(self, tilts: Floats) -> Floats:
        """``ln((1 - a)^2 / ((1 - a e^t)(1 - a e^-t)))``."""
        rate = as_float(1 / self.scale)
        up, down = np.log(-np.expm1(tilts - rate)), np.log(-np.expm1(-tilts - rate))
        values: Floats = 2 * math.log(-math.expm1(-rate)) - up - down
        return values


@dataclass(frozen=True, slots=True)
class GaussianLaw(NoiseLaw):
    """Discrete Gaussian law, ``Pr[Z = z]`` proportional to ``exp(-z^2 / (2 sigma^2))``."""

    sigma: Fraction

    @property
    def deviation(self) -> float:
        """Sigma, which bounds the deviation (Canonne, Kamath and Steinke 2020, Corollary 9)."""
        return as_float(self.sigma)

    @property
    def largest_tilt(self) -> float:
        """Infinite."""
        return math.inf

    def tail(self, steps: int) -> float:
        """``Pr[Z >= steps]``; for sigma >= 100 it is rounded up by less than 0.1 per cent.

        For a large sigma the sum is the integral from the first term on, plus half of the first
        term.  The error is at most a twelfth of the slope there (Euler and Maclaurin).  The code
        adds the whole slope.
        """
        if steps < 1:
            return 1 - self.tail(1 - steps)
        sigma = as_float(self.sigma)
        if sigma < _SUMMED:
            return min(1.0, _gaussian_sum(steps, self.sigma) / _gaussian_sum(None, self.sigma))
        z = steps / sigma
        density = math.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
        return math.erfc(z / math.sqrt(2)) / 2 + density / (2 * sigma) + z * density / sigma**2

    def transform(self, angles: Floats) -> Floats:
        """Poisson's sum of Gaussian bells around the multiples of 2 pi, or the law's own sum."""
        sigma = as_float(self.sigma)
        if sigma >= _WIDE:
            near = angles - 2 * np.pi * np.round(angles / (2 * np.pi))
            squares = [(sigma * (near + 2 * np.pi * k)) ** 2 / 2 for k in (-1, 0, 1)]
            # A bell below exp(-200) does not matter, and it is slow to compute.
            bells = [np.exp(-np.minimum(square, 200.0)) for square in squares]
            summed: Floats = sum(bells, np.zeros_like(angles))
            return summed / (1 + 2 * math.exp(-((sigma * 2 * math.pi) ** 2) / 2))
        places = np.arange(1, 9)
        weights = 2 * np.exp(-(places**2) / (2 * sigma**2))
        summed = 1 + np.cos(np.outer(angles, places)) @ weights
        return np.asarray(summed / (1 + weights.sum()), dtype=np.float64)

    def log_moment(self, tilts: Floats) -> Floats:
        """``sigma^2 t^2 / 2`` (Canonne, Kamath and Steinke 2020, Lemma 8)."""
        values: Floats = (as_float(self.sigma) * tilts) ** 2 / 2
        return values


@lru_cache(maxsize=4096)
def _gaussian_sum(first: int | None, sigma: Fraction) -> float:
    """Sum of ``exp(-z^2 / (2 sigma^2))`` over all z from ``first`` on, or over all z."""
    deviation = as_float(sigma)
    last = math.ceil(_FAR * deviation) + 1
    z = np.arange(-last if first is None else first, max(last, first or 0) + 1, dtype=np.float64)
    return float(np.exp(-((z / deviation) ** 2) / 2).sum())


@dataclass(frozen=True, slots=True)
class UniformLaw(NoiseLaw):
    """Uniform law on -1 .. 1, which is not noise by itself but a part of cube noise."""

    @property
    def deviation(self) -> float:
        """Square root of a third."""
        return math.sqrt(1 / 3)

    @property
    def largest_tilt(self) -> float:
        """Infinite."""
        return math.inf

    def tail(self, steps: int) -> float:
        """``Pr[Z >= steps]``."""
        return min(max((1 - steps) / 2, 0.0), 1.0)

    def transform(self, angles: Floats) -> Floats:
        """``sin(t) / t``."""
        values: Floats = np.sinc(angles / np.pi)
        return values

    def log_moment(self, tilts: Floats) -> Floats:
        """``ln(sinh(t) / t)``, at most ``t^2 / 6``."""
        near = np.maximum(tilts, 1e-6)
        values: Floats = near + np.log(-np.expm1(-2 * near) / (2 * near))
        return np.minimum(values, tilts**2 / 6)
