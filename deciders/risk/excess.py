"""Excess: how much more often an attack succeeds on private rows than on held-out rows.

Both rates have noise and a sampling error.  The law of their difference is a convolution, which is
inverted from its characteristic function (docs/theory.md, Theorem R2).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple

import numpy as np

from pqd.deciders.distances.cube_law import CubeNoise
from pqd.deciders.distances.ratio_intervals import ShareEstimate
from pqd.deciders.distributions import Floats
from pqd.deciders.exact import as_float, probability
from pqd.deciders.risk.successes import Successes

# Probability that the held-out rate lies outside the rates that are tried, and its deviations.
_OUTSIDE, _DEVIATIONS = 2e-4, 3.9
# Number of held-out rates that are tried.
_RATES = 9
# Probability that a released number of rows is farther off than is allowed for.
_FAR = 1e-6
# Odd harmonics of a tail, deviations that a quarter of a period holds, and what the inversion may
# lose: what lies beyond, and rounding.
_HARMONICS, _REACH, _LOST = 256, 7.5, 1e-7
# An end of an interval is found to one part in this many of its deviation.
_PARTS = 100


class ExcessVerdict(NamedTuple):
    """Whether the excess is at most the tolerance, yes or no, and the p-value of this verdict."""

    outcome: Literal["yes", "no"]
    p_value: float


@dataclass(frozen=True)
class Excess:
    """Excess of the rate of ``private`` rows over the rate of ``held_out`` rows.

    The rows of each table succeed independently of each other, given the copy, and the rate is the
    mean of their chances.  P-values are upper bounds over all held-out rates that the released
    numbers do not exclude.
    """

    private: Successes
    held_out: Successes
    alpha: float

    def __post_init__(self) -> None:
        """Raise ParameterError unless alpha is a probability."""
        object.__setattr__(self, "alpha", as_float(probability(self.alpha, "alpha")))

    @property
    def value(self) -> float:
        """Estimated excess."""
        return self.private.rate - self.held_out.rate

    @property
    def estimate(self) -> ShareEstimate:
        """Excess with its interval: all values that no p-value at half of alpha rejects."""
        if not self._is_known:
            return ShareEstimate(self.value, -1.0, 1.0)
        level = self.alpha / 2
        low = self._end(lambda excess: self.p_more(excess) > level, -1)
        return ShareEstimate(self.value, min(low, self.value), max(self.most(level), self.value))

    def most(self, level: float) -> float:
        """Largest excess that no p-value at this level rejects: any larger tolerance gets a yes."""
        if not self._is_known:
            return 1.0
        return self._end(lambda excess: self.p_less(excess) > level, 1)

    def deviation(self, *, sampling: bool = True) -> float:
        """Standard deviation of the estimate; without ``sampling`` that of the noise alone."""
        if not self._is_known:
            return math.inf
        rates = zip(self._sides, (self.private.rate, self.held_out.rate), strict=True)
        return math.sqrt(sum(side.variance(rate, sampling=sampling) for side, rate in rates))

    def verdict(self, tolerance: float) -> ExcessVerdict:
        """Whether the excess is at most ``tolerance``."""
        if self.value > tolerance:
            return ExcessVerdict("no", self.p_more(tolerance))
        return ExcessVerdict("yes", self.p_less(tolerance))

    def p_more(self, excess: float) -> float:
        """P-value of "more than ``excess``": how probable such numbers are if it is not more."""
        return self._p_value(excess, 1)

    def p_less(self, excess: float) -> float:
        """P-value of "less than ``excess``": how probable such numbers are if it is not less."""
        return self._p_value(excess, -1)

    @cached_property
    def _sides(self) -> tuple["_Side", "_Side"]:
        return _Side.of(self.private), _Side.of(self.held_out)

    @property
    def _is_known(self) -> bool:
        """Whether both tables surely have rows."""
        return all(side.least > 0 for side in self._sides)

    def _p_value(self, excess: float, sign: int) -> float:
        if not self._is_known:
            return 1.0
        excess = min(max(excess, -1.0), 1.0)
        rates = self._rates(excess)
        own, other = self._sides
        own_rates = np.clip(rates + excess, 0.0, 1.0)
        away = sign * (self.private.successes / own.rows - self.held_out.successes / other.rows)
        gaps = away - sign * (own_rates - rates)
        tails = _tails(own, own_rates, other, rates, gaps, sign)
        return min(1.0, float(tails.max()) + _OUTSIDE)

    def _rates(self, excess: float) -> Floats:
        """Held-out rates that the released numbers do not exclude, and that fit the excess."""
        low, high = self.held_out_range
        least, most = max(0.0, -excess), min(1.0, 1.0 - excess)
        low, high = min(max(low, least), most), max(min(high, most), least)
        return np.linspace(low, max(low, high), _RATES)

    @cached_property
    def held_out_range(self) -> tuple[float, float]:
        """Range of the held-out rate: of these very rows by the noise, of all by Wilson's form."""
        _, low, high = self.held_out.interval(_OUTSIDE / 4)
        least = self._sides[1].least
        return _wilson(low, least)[0], _wilson(high, least)[1]

    def _end(self, holds: Callable[[float], bool], side: int) -> float:
        """End of the interval on one side of the estimate, rounded outwards."""
        own, other = self._sides
        # Where no error is left, as at a large epsilon and a rate of 0, a row is the step.
        step = max(self.deviation(), 1 / own.rows + 1 / other.rows)
        near, far = 0.0, step
        while holds(self.value + side * far):
            near, far = far, 2 * far
            if far > 2:
                return float(side)
        while far - near > step / _PARTS:
            middle = (near + far) / 2
            near, far = (middle, far) if holds(self.value + side * middle) else (near, middle)
        return min(max(self.value + side * far, -1.0), 1.0)


class _Side(NamedTuple):
    """Released numbers of one table, with bounds on its number of rows."""

    successes: Successes
    rows: int
    least: float
    most: int

    @classmethod
    def of(cls, successes: Successes) -> "_Side":
        """Bounds that hold for all but a negligible part of the noise."""
        reach = successes.law.radius(1 - _FAR) + successes.rounding
        rows = max(successes.rows, 1)
        return cls(successes, rows, successes.rows - reach, math.ceil(successes.rows + reach))

    def variance(self, rate: float, *, sampling: bool = True) -> float:
        """Variance of the released rate, with noise, and with sampling."""
        noise = self.successes.noise(rate).deviation / self.least
        rows = self.most if sampling else 0
        return float(rate * (1 - rate) * rows / self.least**2 + noise**2)

    def added(self, rate: float) -> float:
        """Most by which smoothing and rounding move the released rate."""
        return (self.successes.noise(rate).added + self.successes.rounded(rate)) / self.least

    def transforms(self, rates: Floats, step: float) -> tuple[Floats, Floats]:
        """Characteristic functions of the error at each rate, at odd multiples of ``step``.

        They are in polar form: sizes, which the noise may make negative, and angles.
        """
        angles = step / self.least * _ODD
        p = rates[:, None]
        squares = 1 - 2 * p * (1 - p) * (1 - np.cos(angles))
        turns = np.arctan2(p * np.sin(angles), 1 - p + p * np.cos(angles)) - p * angles
        noises = np.array([_noise(self.successes.noise(rate), step / self.least) for rate in rates])
        sizes = np.exp(self.most / 2 * np.log(np.maximum(squares, 1e-300)))
        return sizes * noises, self.most * turns


# Odd numbers, and the weight of each odd harmonic in a tail.
_ODD: Floats = np.arange(1, 2 * _HARMONICS, 2, dtype=np.float64)
_WEIGHTS: Floats = 2 / (np.pi * _ODD)


def _tails(
    own: _Side, own_rates: Floats, other: _Side, rates: Floats, gaps: Floats, sign: int
) -> Floats:
    """Upper bounds on the chance that the difference of errors is at least each of ``gaps``.

    The chance of the half circle from x on is a Fourier series over the odd harmonics k,
    ``1/2 + sum 2/(pi k) Im(f(t_k) exp(-i t_k x))`` with ``t_k = 2 pi k / period``.
    """
    added = [own.added(p) + other.added(q) for p, q in zip(own_rates, rates, strict=True)]
    points = gaps - np.array(added)
    reach = _reach(own, own_rates, other, rates)
    step = math.pi / (2 * reach)
    size, turn = own.transforms(own_rates, step)
    other_size, other_turn = other.transforms(rates, step)
    sizes, turns = size * other_size, sign * (turn - other_turn)
    places = np.clip(points, -reach, reach)
    tails = 0.5 + (sizes * np.sin(turns - np.multiply.outer(places, step * _ODD))) @ _WEIGHTS
    # The harmonics that are left out add up to less than their first one by its rate of decay.
    lost = _LOST + np.abs(sizes[:, -16:]).max(axis=1) / 4
    chances: Floats = np.clip(tails + lost, 0.0, 1.0)
    return chances


def _reach(own: _Side, own_rates: Floats, other: _Side, rates: Floats) -> float:
    """Error that is as good as never exceeded; one of few values, so that laws are cached."""
    deviation = max(
        math.sqrt(own.variance(p) + other.variance(q))
        for p, q in zip(own_rates, rates, strict=True)
    )
    # The uniforms that smooth the noise reach one row farther than its radius.
    noise = sum((2 * side.successes.law.radius(1 - 1e-9) + 1) / side.least for side in (own, other))
    return float(2.0 ** (math.ceil(2 * math.log2(_REACH * deviation + noise)) / 2))


@lru_cache(maxsize=1024)
def _noise(noise: CubeNoise, step: float) -> Floats:
    """Characteristic function of a noise with its uniforms, at odd multiples of ``step``."""
    return noise.transform(step * _ODD)


def _wilson(rate: float, rows: float) -> tuple[float, float]:
    """Rates from which ``rate`` of so many rows is not farther than is plausible."""
    square = _DEVIATIONS**2 / rows
    middle, half = rate + square / 2, math.sqrt(square * (rate * (1 - rate) + square / 4))
    return max(0.0, (middle - half) / (1 + square)), min(1.0, (middle + half) / (1 + square))
