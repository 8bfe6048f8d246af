"""Law of weighted sums of cube noise, computed from the law of its radius.

Let the radius be R.  If a uniform variable of one step is added to a coordinate, the coordinate is
uniform on ``-(R + 1/2) .. R + 1/2``.  So a weighted sum of K coordinates is a radius times a sum of
uniforms on -1 .. 1.  This sum of uniforms is bounded and does not depend on the budget
(docs/theory.md, Lemma D5a).  Every table is rounded towards larger tails: the radii, and the places
of the other noise, are rounded outwards.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from pqd.deciders.distances.combinations import Combination, Term
from pqd.deciders.distances.noise_laws import NoiseLaw, UniformLaw
from pqd.deciders.distributions import Floats
from pqd.deciders.exact import as_float
from pqd.deciders.monotone_search import bracket, halfway

# Sizes of the tables: of radii, a tail, the tail of a uniform sum, values of the rows' noise.
_RADII, _PLACES, _FINE, _VALUES = 600, 1500, 4096, 1200
# A radius is left out if its chance is below exp(-_NEGLIGIBLE) of the largest; bound on the loss.
_NEGLIGIBLE, _LOST = 45.0, 1e-12
# Radii that a characteristic function takes as one.
_EACH = 4
# Sums of so many coordinates have a tail in closed form, if no weight is far below another.
_FEW, _LEAST_RATIO = 3, 1 / 64
# The table of a tail ends at this number of deviations, where the tail is below 1e-9.
_REACH = 16.0
# A critical value is computed to a relative error of one over this number.
_PARTS = 10_000


@dataclass(frozen=True, slots=True)
class CubeLaw:
    """Law of one coordinate of cube noise of K = ``numbers`` coordinates."""

    numbers: int
    scale: Fraction

    @property
    def deviation(self) -> float:
        """Standard deviation, which is the square root of a third of ``E R (R + 1)``."""
        radii, masses = _radii(self.numbers, self.scale)
        return math.sqrt(float((radii**2 - 0.25) @ masses) / 3)

    def tail(self, x: int) -> float:
        """Upper bound on the chance that the coordinate is x or more, for ``x > 0``.

        Given the radius R, ``R - x + 1`` of its ``2 R + 1`` places are x or more.  A larger radius
        has a larger part, so radii that are rounded up give an upper bound.
        """
        radii, masses = _radii(self.numbers, self.scale)
        parts = np.maximum(0.5 - (float(x) - 0.5) / (2 * radii), 0.0)
        return min(float(parts @ masses) + _LOST, 0.5)

    def radius(self, share: float) -> int:
        """Radius that is not exceeded with the probability ``share``, rounded up."""
        radii, masses = _radii(self.numbers, self.scale)
        place = np.searchsorted(np.cumsum(masses), share).clip(0, radii.size - 1)
        return int(radii[place])


@dataclass(frozen=True, slots=True)
class CubeNoise:
    """Weighted sum of coordinates; ``weights`` holds each weight > 0 with its number of terms."""

    law: CubeLaw
    weights: tuple[tuple[float, int], ...]

    @property
    def deviation(self) -> float:
        """Standard deviation."""
        squares = sum(count * weight**2 for weight, count in self.weights)
        return self.law.deviation * math.sqrt(squares)

    def critical(self, share: float, rows: NoiseLaw, alpha: float) -> float:
        """Value that ``|share Z_n - this noise|`` exceeds with probability at most alpha."""

        def suffices(x: float) -> bool:
            return bool(self._tail(np.array([x]), share, rows)[0] <= alpha / 2)

        low, high = 0.0, self.deviation + share * rows.deviation + 1
        while not suffices(high):
            low, high = high, 2 * high
        return bracket(suffices, low, high, halfway, parts=_PARTS)[1] + self.added

    def at_least(self, x: ArrayLike, share: float, rows: NoiseLaw) -> Floats:
        """Upper bounds on the chance that ``share Z_n - this noise`` is x or more."""
        points = np.asarray(x, dtype=np.float64) - self.added
        return np.where(points < 0, 1.0, self._tail(np.abs(points), share, rows))

    def transform(self, angles: Floats) -> Floats:
        """Characteristic function of the sum with its uniforms of one step, at each angle.

        Radii are rounded up once more, to one of fewer values.
        """
        radii, masses = _radii(self.law.numbers, self.law.scale)
        ends = np.unique(np.append(np.arange(_EACH - 1, radii.size, _EACH), radii.size - 1))
        radii, masses = radii[ends], np.diff(np.cumsum(masses)[ends], prepend=0.0)
        product = np.ones((angles.size, radii.size))
        for weight, count in self.weights:
            product *= np.sinc(np.multiply.outer(angles, radii * (weight / np.pi))) ** count
        values: Floats = product @ masses
        return values

    @property
    def added(self) -> float:
        """Most by which the added uniforms of one step can move the sum."""
        return sum(weight * count for weight, count in self.weights) / 2

    def _tail(self, x: Floats, share: float, rows: NoiseLaw) -> Floats:
        """Tail, at places ``x >= 0``, of the sum with its uniforms and the rows' noise."""
        if not share:
            return _few_tail(self, x) if self._is_few else self._own(x)
        values, chances = _values(rows)
        moved = np.multiply.outer(share * values, np.ones_like(x))
        both = self._own(x - moved) + self._own(x + moved)
        tails: Floats = np.minimum(chances @ both + _LOST, 1.0)
        return tails

    @property
    def _is_few(self) -> bool:
        """Whether the tail without the rows' noise is computed in closed form."""
        sizes = [weight for weight, _ in self.weights]
        few = sum(count for _, count in self.weights) <= _FEW
        return few and min(sizes) >= _LEAST_RATIO * max(sizes)

    def _own(self, x: Floats) -> Floats:
        """Tail of the sum with its uniforms, without the rows' noise."""
        step, above, below = _tables(self)
        places = np.minimum(np.abs(x) / step, _PLACES - 1.0)
        near = above[np.floor(places).astype(np.int64)]
        far = 1 - below[np.ceil(places).astype(np.int64)]
        return np.where(x >= 0, near, far)


def _few_tail(noise: CubeNoise, x: Floats) -> Floats:
    """Tail, at places ``x >= 0``, of the sum of few coordinates with their uniforms.

    A sum of d uniforms with the weights w is x or more with probability
    ``sum_s (s_1 .. s_d) max(s w - x, 0)^d / (2^d d! w_1 .. w_d)``, the sum over all signs s
    (Polya 1912).  The radii are those of the tables.
    """
    weights = np.array([weight for weight, count in noise.weights for _ in range(count)])
    signs = np.array(list(product((1.0, -1.0), repeat=weights.size)))
    radii, masses = _radii(noise.law.numbers, noise.law.scale)
    scaled = np.divide.outer(x, radii)
    powers = np.maximum(signs @ weights - scaled[..., None], 0.0) ** weights.size
    whole = 2.0**weights.size * math.factorial(weights.size) * weights.prod()
    tails = np.clip(powers @ signs.prod(axis=1) / whole, 0.0, 0.5) @ masses
    return np.minimum(np.asarray(tails) + _LOST, 1.0)


@lru_cache(maxsize=64)
def _tables(noise: CubeNoise) -> tuple[float, Floats, Floats]:
    """Step of the places from 0 on, and upper and lower bounds on the tail of ``noise`` there.

    ``noise`` is the sum with its uniforms of one step.
    """
    radii, masses = _radii(noise.law.numbers, noise.law.scale)
    most = sum(weight * count for weight, count in noise.weights)
    last = min(_REACH * noise.deviation + most / 2, most * float(radii[-1]))
    places, (upper, lower) = np.linspace(0, last, _PLACES), _uniform_tails(noise.weights)
    # Each radius stands for all radii down to the radius before it.
    inner = np.concatenate(([0.5], radii[:-1]))
    above = _mixed(upper, np.floor(np.divide.outer(places, radii) * ((_FINE - 1) / most)), masses)
    below = _mixed(lower, np.ceil(np.divide.outer(places, inner) * ((_FINE - 1) / most)), masses)
    # The last place stands for all larger places.
    below[-1] = 0.0
    return float(places[1]), above + _LOST, np.maximum(below - _LOST, 0.0)


def _mixed(tails: Floats, places: Floats, masses: Floats) -> Floats:
    """Mean over the radii of the tails of a uniform sum at its places."""
    mean: Floats = tails[np.minimum(places, _FINE).astype(np.int64)] @ masses
    return mean


@lru_cache(maxsize=64)
def _uniform_tails(weights: tuple[tuple[float, int], ...]) -> tuple[Floats, Floats]:
    """Bounds on the tail of a weighted sum of uniforms, at even places up to its end and beyond."""
    most = sum(weight * count for weight, count in weights)
    places = np.linspace(0, most, _FINE)
    if sum(count for _, count in weights) == 1:
        exact = np.append((1 - places / most) / 2, 0.0)
        return exact, exact
    noise = Combination(tuple(Term(weight, count, UniformLaw()) for weight, count in weights))
    upper, lower = noise.at_least(places), noise.at_least(places + 2.01 * noise.width)
    lower = np.maximum(lower - noise.lost, 0.0)
    return np.append(np.minimum(upper, 0.5), 0.0), np.append(np.minimum(lower, 0.5), 0.0)


@lru_cache(maxsize=64)
def _radii(numbers: int, scale: Fraction) -> tuple[Floats, Floats]:
    """Radii plus 1/2, rounded up to one of a few hundred values, and the chance of each value."""
    rate = as_float(1 / scale)
    peak = max(0.0, numbers / rate - 0.5)

    def log(radius: Floats) -> Floats:
        values: Floats = numbers * np.log(2 * radius + 1) - rate * radius
        return values

    top, width = float(log(np.array([peak]))[0]), (peak + 1) / math.sqrt(numbers) + 1 / rate
    steps = width * np.geomspace(1e-3, 1e4, 2000)
    up, down = peak + steps, np.maximum(peak - steps, 0.0)
    last = math.ceil(float(up[log(up) >= top - _NEGLIGIBLE].max(initial=peak))) + 1
    first = math.floor(float(down[log(down) >= top - _NEGLIGIBLE].min(initial=peak)))
    every = np.unique(np.round(np.linspace(first, last, min(last - first + 1, 50 * _RADII))))
    weights = np.exp(log(every) - top)
    # Between places that are not neighbours the law is smooth, so a place stands for its region.
    weights *= np.gradient(every) if every.size > 1 else 1.0
    groups = -(-np.arange(1, every.size + 1) * min(_RADII, every.size) // every.size) - 1
    masses = np.bincount(groups, weights=weights / weights.sum()).astype(np.float64)
    ends = np.flatnonzero(np.append(np.diff(groups), 1))
    return np.asarray(every[ends] + 0.5, dtype=np.float64), masses


@lru_cache(maxsize=64)
def _values(rows: NoiseLaw) -> tuple[Floats, Floats]:
    """Values of the rows' noise from 0 on, rounded outwards, and the chance of each sign."""
    last = rows.quantile(1e-13) + 1
    step = -(-last // _VALUES)
    ends = np.arange(0, last + step, step)
    tails = np.array([rows.tail(int(end) + 1) for end in ends])
    chances = np.concatenate(([0.5 - tails[0]], tails[:-1] - tails[1:]))
    return ends.astype(np.float64), chances
