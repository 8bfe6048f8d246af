"""Law of a weighted sum of independent whole-numbered noises, by its characteristic function.

``S = sum_g c_g Z_g``, where Z_g is the sum of ``draws`` noises of one law.  Tails are upper
bounds, since the possible loss by the inversion, about 1e-8, is added.  No tail exceeds Chernoff's
bound, which is more accurate for small tails.  In ``smoothed`` sums a uniform variable of one step
is added to every Z_g, so that the tails grow with every weight (docs/theory.md, Theorem D7).
"""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pqd.deciders.distances.noise_laws import NoiseLaw
from pqd.deciders.distributions import Floats

# Number of odd harmonics that sum up to a tail, and grid points in one period.
_HARMONICS = 2**14
_GRID = 4 * _HARMONICS
# Probability beyond a quarter of a period.
_BEYOND = 1e-9
# Smoothing kernel, given by its number of uniforms and its half-width times the highest frequency.
_UNIFORMS, _SHARPNESS = 8, 50.0
# Loss by the inversion: omitted harmonics, each at most (8 / (width t))^8, and wrap-around.
_LOST = (_UNIFORMS / _SHARPNESS) ** _UNIFORMS / (math.pi * _UNIFORMS) + 2 * _BEYOND + 1e-10
_TILTS = np.concatenate((np.linspace(0.01, 0.9, 60), 1 - np.geomspace(0.09, 1e-6, 30)))


def _sinc(x: Floats) -> Floats:
    """``sin(x) / x`` for ``x > 0``."""
    values: Floats = np.sin(x) / x
    return values


_ODD: Floats = np.arange(1, 2 * _HARMONICS, 2, dtype=np.float64)
# Transform of the kernel at each harmonic, for any period, times 2/(pi k).
_KERNEL: Floats = (
    2 / np.pi / _ODD * _sinc(_SHARPNESS / _UNIFORMS / (2 * _HARMONICS) * _ODD) ** _UNIFORMS
)


class Term(NamedTuple):
    """Noise of one law, drawn ``draws`` times, with one weight."""

    weight: float
    draws: int
    law: NoiseLaw


@dataclass(frozen=True)
class Combination:
    """Weighted sum of noises; if ``smoothed``, a uniform of one step is added to each term."""

    terms: tuple[Term, ...]
    smoothed: bool = False

    @property
    def deviation(self) -> float:
        """Standard deviation of the sum, without the added uniforms."""
        return math.sqrt(sum(t.draws * (t.weight * t.law.deviation) ** 2 for t in self.terms))

    @property
    def lost(self) -> float:
        """Most by which a tail can exceed the tail of the sum that is blurred by the kernel."""
        return _LOST

    @property
    def added(self) -> float:
        """Most by which the smoothing can move the sum."""
        return sum(term.weight for term in self.terms) / 2 if self.smoothed else 0.0

    @cached_property
    def _moments(self) -> tuple[Floats, Floats]:
        """Tilts, and the logarithm of the sum's moment at each tilt."""
        largest = min((t.law.largest_tilt / t.weight for t in self.terms), default=math.inf)
        tilts = _TILTS * min(largest, 64 / max(self.deviation, 1e-300))
        logs: Floats = np.zeros_like(tilts)
        for term in self.terms:
            logs += term.draws * term.law.log_moment(term.weight * tilts)
        return tilts, logs

    def chernoff(self, x: ArrayLike) -> Floats:
        """Chernoff's bound on ``Pr[S >= x]``."""
        tilts, logs = self._moments
        points = np.asarray(x, dtype=np.float64) - self.added
        exponents = (logs - np.multiply.outer(points, tilts)).min(axis=-1)
        bound: Floats = np.exp(np.minimum(exponents, 0.0))
        return bound

    @cached_property
    def _period(self) -> float:
        """Period such that the quarters on both sides of 0 hold all but 1e-9 of the probability."""
        tilts, logs = self._moments
        reach = float(((logs - math.log(_BEYOND)) / tilts).min()) + self.added
        return 4 * reach / (1 - 4 * _SHARPNESS / (4 * np.pi * _HARMONICS))

    @property
    def width(self) -> float:
        """Half the width of the kernel, which blurs the sum everywhere."""
        return _SHARPNESS * self._period / (4 * np.pi * _HARMONICS)

    @cached_property
    def _tails(self) -> Floats:
        """Bounds on ``Pr[S >= x]`` at the places ``m period / grid`` of a quarter of the period.

        The chance of the half circle from x on is a Fourier series,
        ``1/2 - sum over odd k of 2/(pi k) f(t_k) sin(t_k x)``, with ``t_k = 2 pi k / period``.
        Here f is the transform of the sum.
        """
        angles = 2 * np.pi / self._period * _ODD
        logs: Floats = np.zeros_like(angles)
        signs: Floats = np.ones_like(angles)
        for term in self.terms:
            values = term.law.transform(term.weight * angles)
            logs += term.draws * np.log(np.maximum(np.abs(values), 1e-99))
            # The transform of a uniform law is negative at some angles.
            signs *= np.sign(values) ** term.draws
        # Factors below 1e-86 do not matter, and they are slow to compute.
        factors: Floats = signs * np.exp(np.maximum(logs, -200.0)) * _KERNEL
        if self.smoothed:
            for term in self.terms:
                factors *= _sinc(term.weight * angles / 2)
        padded = np.zeros(_GRID)
        padded[1 : 2 * _HARMONICS : 2] = factors
        # The sine sum is minus the imaginary part of the transform.
        tails = 0.5 + np.fft.rfft(padded).imag[: _GRID // 4]
        # Exact tails never rise.  If rounding makes a tail rise, all tails before it are raised to
        # it.
        return np.minimum(np.maximum.accumulate(tails[::-1])[::-1] + _LOST, 1.0)

    def at_least(self, x: ArrayLike) -> Floats:
        """Upper bounds on ``Pr[S >= x]``, elementwise."""
        points = np.asarray(x, dtype=np.float64)
        if not self.terms:
            return np.where(points > 0, 0.0, 1.0)
        places = np.floor((points - self.width) * (_GRID / self._period))
        inner = self._tails[np.clip(places, 0, _GRID // 4 - 1).astype(np.int64)]
        # At negative places 1 is an upper bound, so the tails from below are not needed.
        bounds: Floats = np.where(places < 0, 1.0, np.minimum(inner, self.chernoff(points)))
        return bounds

    def quantile(self, level: float) -> float:
        """Least x >= 0 on the grid with ``Pr[S >= x] <= level``; rounded up."""
        if not self.terms:
            return 0.0
        # The tails fall, so take the first tail that is at most the level.
        place = _GRID // 4 - int(np.searchsorted(self._tails[::-1], level, side="right"))
        if place < _GRID // 4:
            return place * self._period / _GRID + self.width
        tilts, logs = self._moments
        return float(((logs - math.log(level)) / tilts).min()) + self.added


@lru_cache(maxsize=512)
def combination(terms: tuple[Term, ...], *, smoothed: bool = False) -> Combination:
    """Weighted sum of ``terms``, cached by its arguments."""
    return Combination(terms, smoothed)
