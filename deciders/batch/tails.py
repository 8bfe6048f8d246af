"""How far a released answer may be from the exact one, and the verdicts that follow from it.

This turns the answers of a batch into verdicts (GenericDecider, Patwa 2023, Algorithm 1): an answer
counts as within tolerance if the released one is.  All of it is public or post-processing of a
release, so it costs no privacy, and doubles will do.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np

from deciders.decider import Decision
from deciders.effectiveness import ErrorRates, Threshold, least
from deciders.estimates.estimator import whole_span
from deciders.estimates.laplace import upper_tail
from deciders.exact import Number, as_float, probability
from deciders.interval import Interval
from deciders.laplace import Floats, as_probability

# What is lost of a tail, in all and by rounding per draw; on how many places a sum is held at most.
_LOST, _ROUNDED, _PLACES = 1e-12, 1e-15, 2**18
_FARTHEST = 2**60


class Errors(Protocol):
    """The distribution of ``released - exact``, in whole units.  Conformers: NoiseOf, Rehearsed."""

    def inside(self, first: int, beyond: int) -> float:
        """Return ``Pr[first <= error < beyond]``."""
        ...


@dataclass(frozen=True)
class NoiseOf:
    """The sum of ``count`` draws of discrete Laplace noise of ``scale``, whatever the table is.

    A tail is never below the truth, so it is a p-value: exact for one draw, and to 1e-12 and 1e-15
    per draw for a sum that fits into 2^18 places; a wider one is rounded up to multiples of a
    grain, draw by draw.
    """

    count: int
    scale: Fraction

    def at_least(self, x: int) -> float:
        """Return ``Pr[sum >= x]``, rounded up; by symmetry also ``Pr[sum <= -x]``."""
        if self.count == 1:
            return as_probability(upper_tail(x, self.scale))
        grain, reach, tails = self._held
        return float(tails[min(max(-(-x // grain) + reach, 0), tails.size - 1)])

    def inside(self, first: int, beyond: int) -> float:
        """Return ``Pr[first <= sum < beyond]``, from the side where the tails are small."""
        if first >= beyond:
            return 0.0
        if first > 0:
            return as_probability(self.at_least(first) - self.at_least(beyond))
        if beyond <= 0:
            return self.inside(1 - beyond, 1 - first)
        return as_probability(1 - self.at_least(beyond) - self.at_least(1 - first))

    @cached_property
    def _held(self) -> tuple[int, int, Floats]:
        """Return grain, reach and ``Pr[rounded sum >= (place - reach) grains]``.

        A draw rounded up is at least ``j`` grains if it is above ``j - 1`` of them.  The
        distribution of the sum is a power on a circle that it does not go around.
        """
        farthest = self._farthest
        grain = -(-farthest // _PLACES)
        # Rounding up adds less than a grain per draw.
        reach = -(-farthest // grain) + (self.count if grain > 1 else 0)
        length = 1 << (2 * reach + 1).bit_length()
        rate, grains = 1 / as_float(self.scale), np.arange(-reach, reach + 2)
        least_share = 1 / (1 + math.exp(-rate))
        right = least_share * np.exp(-rate * (1 + grain * np.maximum(grains - 1, 0)))
        left = 1 - least_share * np.exp(-rate * grain * np.maximum(1 - grains, 0))
        above = np.where(grains >= 1, right, left)
        single = np.zeros(length)
        single[grains[:-1] % length] = above[:-1] - above[1:]
        summed = np.fft.irfft(np.fft.rfft(single) ** self.count, length)
        chances = np.maximum(np.concatenate((summed[-reach:], summed[: reach + 1])), 0.0)
        tails = np.concatenate((np.cumsum(chances[::-1])[::-1], [0.0]))
        tails += _LOST + self.count * _ROUNDED
        return grain, reach, np.minimum(tails, 1.0)

    @property
    def _farthest(self) -> int:
        """How far the sum reaches but for 1e-15, by Chernoff's bound.

        The moment ``E exp(tilt draw / scale)`` is at most ``1 / (1 - tilt^2)``, that of continuous
        Laplace noise: ``cosh(tilt u) - 1 <= tilt^2 (cosh u - 1)``, term by term of the series.
        """
        away = 35.0
        tilt = min(0.5, math.sqrt(away / self.count))
        scales = (away - self.count * math.log1p(-(tilt**2))) / tilt
        return math.ceil(scales * as_float(self.scale)) + 1


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """Errors that a mechanism made on public data, where the theory gives no distribution.

    A chance is ``(hits + 1) / (draws + 2)`` (rule of succession), so a few draws prove little.
    """

    draws: tuple[float, ...]

    def inside(self, first: int, beyond: int) -> float:
        """Return the share of errors that lie there."""
        hits = sum(first <= round(draw) < beyond for draw in self.draws)
        return (hits + 1) / (len(self.draws) + 2)


def accept(errors: Errors, gap: int, tau: Fraction) -> float:
    """Return ``Pr[yes]`` where the exact answer is ``gap`` units off a whole synthetic one."""
    return errors.inside(math.floor(-tau) + 1 - gap, math.ceil(tau) - gap)


def rates(errors: Errors, tau: Fraction) -> ErrorRates:
    """Return the chances of a no at a gap of 0, and of a yes at 2 tau (the worse side)."""
    far = math.ceil(2 * tau)
    false_yes = max(accept(errors, far, tau), accept(errors, -far, tau))
    return ErrorRates(1 - accept(errors, 0, tau), false_yes)


def threshold(errors: Errors, alpha: Number) -> Threshold:
    """Return the effectiveness threshold (Def. 3.4): about the least whole tau in units."""
    level = float(probability(alpha, "alpha"))
    found = least(lambda tau: rates(errors, Fraction(tau)).worst <= level, _FARTHEST)
    return Threshold(math.inf if found is None else float(found), isinstance(errors, NoiseOf))


def decided(errors: Errors, released: int, interval: Interval) -> Decision:
    """Return the verdict on ``interval`` from the released answer, in units.

    The p-value, where the noise is known, is as in estimates/estimator.py: for *within* the larger
    of the chances that an answer just beyond either end is released so far inside, for *outside*
    twice the smaller of those that one at either end is released so far beyond.
    """
    low, high = whole_span(interval)
    yes = low <= released < high
    if not isinstance(errors, NoiseOf):
        return Decision(yes)
    if yes:
        beyond = errors.at_least(released - low + 1), errors.at_least(high - released)
        return Decision(yes, max(beyond))
    if low >= high:
        return Decision(yes, 0.0)
    either = errors.at_least(low - released), errors.at_least(released - high + 1)
    return Decision(yes, min(1.0, 2 * min(either)))


def confidence(errors: NoiseOf, released: int, alpha: Number) -> tuple[int, int]:
    """Return ends that hold the exact answer with probability at least ``1 - alpha``."""
    level = float(probability(alpha, "alpha"))
    reach = least(lambda far: 2 * errors.at_least(far + 1) <= level, _FARTHEST) or _FARTHEST
    return released - reach, released + reach


class Worst(Protocol):
    """What a verdict is worth.  Conformers: ErrorRates, reports' CandidateFacts."""

    @property
    def worst(self) -> float:
        """The larger of its error probabilities."""
        ...


def mean_worst(found: Sequence[Worst]) -> float:
    """Return the share of verdicts to be expected wrong where every query is at its worst gap."""
    return sum(each.worst for each in found) / len(found)
