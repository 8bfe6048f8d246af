"""Noise on a tape: every draw is kept, and a second run hears the same outputs.

Two runs on neighbouring tables that hear the same outputs draw the same laws.  So what one person
costs is the sum over all draws of how far the exact numbers moved, in units of the noise.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from pqd.deciders import SimulatedNoise


class Draw(NamedTuple):
    """Draw of a law: its exact numbers, which are private, its scale, and what came out."""

    law: str
    exact: Any
    scale: Fraction
    out: Any


class Tape:
    """Noise that keeps every draw; the outputs are those of ``heard``, or new ones."""

    simulated = False

    def __init__(self, heard: Sequence[Draw] | None = None) -> None:
        self._noise, self._heard = SimulatedNoise(1), heard
        self.drawn: list[Draw] = []

    def _draw(self, law: str, exact: Any, scale: Fraction, new: Callable[[], Any]) -> Any:
        if self._heard is None:
            out = new()
        else:
            other = self._heard[len(self.drawn)]
            assert (other.law, other.scale) == (law, scale)
            out = other.out
        self.drawn.append(Draw(law, exact, scale, out))
        return out

    def laplace(self, statistic: int, scale: Fraction) -> int:
        new = self._noise.laplace
        return int(self._draw("laplace", (statistic,), scale, lambda: new(statistic, scale)))

    def gaussian(self, statistic: int, sigma: Fraction) -> int:
        new = self._noise.gaussian
        return int(self._draw("gaussian", (statistic,), sigma, lambda: new(statistic, sigma)))

    def cube(self, statistics: Sequence[int], scale: Fraction) -> tuple[int, ...]:
        new, exact = self._noise.cube, tuple(statistics)
        return tuple(self._draw("cube", exact, scale, lambda: new(exact, scale)))

    def choose(self, logit: float) -> bool:
        return bool(self._draw("choose", logit, Fraction(1), lambda: self._noise.choose(logit)))

    def least_place(self, scores: Sequence[int], scale: Fraction) -> int:
        new, exact = self._noise.least_place, tuple(scores)
        return int(self._draw("place", exact, scale, lambda: new(exact, scale)))


class Loss(NamedTuple):
    """What a person costs: an epsilon, and a rho of the Gaussian draws."""

    epsilon: Fraction
    rho: Fraction


def loss(here: Sequence[Draw], there: Sequence[Draw]) -> Loss:
    """Most that the outputs of two runs on one tape can tell about the person who differs.

    Halves of an exponential choice are one draw, so their log-ratios add up before the absolute
    value is taken; this is the loss of the place that came out.
    """
    assert len(here) == len(there)
    epsilon = rho = Fraction(0)
    choices: list[float] = []
    for one, other in zip(here, there, strict=True):
        if one.law == "choose":
            choices.append(_log(one.exact, out=one.out) - _log(other.exact, out=one.out))
            continue
        epsilon += _whole(choices)
        most = max(_moves(one, other))
        if one.law == "gaussian":
            rho += Fraction(most) ** 2 / (2 * one.scale**2)
        else:
            epsilon += (2 if one.law == "place" else 1) * most / one.scale
    return Loss(epsilon + _whole(choices), rho)


def _moves(one: Draw, other: Draw) -> Iterable[int]:
    return (abs(a - b) for a, b in zip(one.exact, other.exact, strict=True))


def _whole(choices: list[float]) -> Fraction:
    found = Fraction(abs(math.fsum(choices)))
    choices.clear()
    return found


def _log(logit: float, *, out: bool) -> float:
    """Logarithm of the probability of ``out``."""
    own = logit if out else -logit
    return own if own < -700 else -math.log1p(math.exp(-own))
