"""How far a released answer may be from the exact one, and the verdicts that follow from it.

This turns the answers of a batch into verdicts (GenericDecider, Patwa 2023, Algorithm 1): an answer
counts as within tolerance if the released one is.  All of it is public or post-processing of a
release, so it costs no privacy, and doubles will do.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np

from deciders.distributions import Floats, as_probability
from deciders.estimators.base import two_sided, whole_span
from deciders.estimators.laplace import upper_tail
from deciders.evaluation.effectiveness import ErrorRates, Threshold, least
from deciders.exact import Number, as_float, probability
from deciders.interval import Interval
from deciders.single.base import Decision

# More than what a tail of any size loses by rounding.
_ROUNDED_UP = 1 + 1e-8
_FARTHEST = 2**60


class Errors(Protocol):
    """The distribution of ``released - exact``, in whole units.  Conformers: NoiseOf, Rehearsed."""

    def inside(self, first: int, beyond: int) -> float:
        """Return ``Pr[first <= error < beyond]``."""
        ...


@dataclass(frozen=True)
class NoiseOf:
    """The sum of ``count`` draws of discrete Laplace noise of ``scale``, whatever the table is."""

    count: int
    scale: Fraction

    def at_least(self, x: int) -> float:
        """Return ``Pr[sum >= x]``, by symmetry also ``Pr[sum <= -x]``; rounded up by 1e-8."""
        tail = self._tail(x) if x > 0 else 1 - self._tail(1 - x)
        return as_probability(tail * _ROUNDED_UP)

    def _tail(self, x: int) -> float:
        """Return ``Pr[sum >= x]`` for ``x > 0``.

        A sum is the difference of two counts of failures before success number ``count``, where a
        failure has chance ``a = exp(-1/scale)``.  It is ``>= x`` where the successes before failure
        x, and those before as many more failures as the second count, are fewer than ``count``
        together: a sum of positive terms (docs/theory.md, Theorem B2).
        """
        if self.count <= 1:
            return upper_tail(x, self.scale) if self.count else 0.0
        rate, places = 1 / as_float(self.scale), np.arange(1, self.count)
        # The chance of j successes before failure x, from that of j - 1.
        ratios = np.log((places - 1.0 + x) / places) + math.log(-math.expm1(-rate))
        logs = np.concatenate(([0.0], np.cumsum(ratios))) - x * rate
        return float(np.exp(logs) @ self._fewer[::-1])

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
    def _fewer(self) -> Floats:
        """Return ``Pr[successes <= j]`` for ``j < count``, before as many failures as a count.

        Their generating function is ``((1 - (1 - a) z) / (1 + a - z))^count``, whose logarithmic
        derivative gives each chance from the two before; ratios, since the first may underflow.
        """
        rate = 1 / as_float(self.scale)
        a, b = math.exp(-rate), -math.expm1(-rate)
        ratio, logs = 0.0, np.empty(self.count)
        logs[0] = -self.count * math.log1p(a)
        for j in range(self.count - 1):
            before = b * (j - 1) / ratio if ratio else 0.0
            ratio = ((1 + b * (1 + a)) * j + self.count * a * a - before) / ((1 + a) * (j + 1))
            logs[j + 1] = logs[j] + (math.log(ratio) if ratio > 0 else -math.inf)
        found: Floats = np.minimum(np.cumsum(np.exp(logs)), 1.0)
        return found


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

    The p-value, where the noise is known: for *within* the larger of the chances that an answer
    just beyond either end is released so far inside; for *outside* the chance that an answer at an
    end is released so far beyond that end, or as far beyond the other (docs/theory.md, Theorem B1).
    """
    low, high = whole_span(interval)
    yes = low <= released < high
    if not isinstance(errors, NoiseOf):
        return Decision(yes, released=(released,))
    if yes:
        p_value = max(errors.at_least(released - low + 1), errors.at_least(high - released))
    else:
        p_value = two_sided(errors.at_least, released, low, high - 1) if low < high else 0.0
    return Decision(yes, p_value, released=(released,))


def reach(errors: NoiseOf, alpha: Number) -> int:
    """Return how far from the released answer the exact one lies with probability ``1 - alpha``."""
    level = float(probability(alpha, "alpha"))
    # Looked for are the least whole numbers from 1 on.
    beyond = least(lambda far: 2 * errors.at_least(far) <= level, _FARTHEST)
    return _FARTHEST if beyond is None else beyond - 1
