"""Errors of a released answer, and the verdicts that follow from it.

The rule turns the answers of a batch into verdicts (GenericDecider, Patwa 2023, Algorithm 1): an
answer is within the tolerance if the released answer is.  Everything here is public, or
post-processing of a release, so it costs no privacy and may use floating point.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from pqd.deciders.bounds import AnswerRange
from pqd.deciders.distributions import SymmetricNoise
from pqd.deciders.estimators.base import two_sided, whole_span
from pqd.deciders.evaluation.effectiveness import ErrorRates, Threshold
from pqd.deciders.exact import Number, probability
from pqd.deciders.interval import Interval
from pqd.deciders.monotone_search import HALF_A_PER_CENT, least
from pqd.deciders.single.base import BOTH, NEITHER, Decision, Estimate

_FARTHEST = 2**60
# Range of the answers of a query without known bounds.
_ANY = AnswerRange(-math.inf, math.inf)


@dataclass(frozen=True, slots=True)
class SimulatedErrors:
    """Errors of a mechanism on public data, for mechanisms without a known distribution.

    A chance is estimated as ``(hits + 1) / (draws + 2)`` (rule of succession), so that few draws
    prove little.
    """

    draws: tuple[float, ...]

    # Whether an error is as likely as the error of opposite sign.
    symmetric: ClassVar[bool] = False

    def inside(self, first: int, beyond: int) -> float:
        """Estimated chance of an error from ``first`` to ``beyond - 1``."""
        hits = sum(first <= round(draw) < beyond for draw in self.draws)
        return (hits + 1) / (len(self.draws) + 2)


# Law of ``released - exact``, in whole units.
Errors = SymmetricNoise | SimulatedErrors


def accept(errors: Errors, gap: int, tau: Fraction) -> float:
    """``Pr[yes]`` if the exact answer is ``gap`` units above a whole synthetic answer."""
    return errors.inside(math.floor(-tau) + 1 - gap, math.ceil(tau) - gap)


def on_either_side(errors: Errors, gap: int, tau: Fraction) -> tuple[float, ...]:
    """``Pr[yes]`` if the exact answer is ``gap`` above, and below; only once if both are equal."""
    above = accept(errors, gap, tau)
    return (above,) if errors.symmetric else (above, accept(errors, -gap, tau))


def rates(errors: Errors, tau: Fraction) -> ErrorRates:
    """Chances of a no at a gap of 0, and of a yes at a gap of 2 tau (on the worse side)."""
    false_yes = max(on_either_side(errors, math.ceil(2 * tau), tau))
    return ErrorRates(1 - accept(errors, 0, tau), false_yes)


# The cache is useful because many queries share a law, and only public numbers matter.
@lru_cache(maxsize=4096)
def threshold(errors: Errors, alpha: Number) -> Threshold:
    """Effectiveness threshold (Def. 3.4), as an approximate least whole tau in units."""
    level = float(probability(alpha, "alpha"))

    def suffices(tau: int) -> bool:
        # Test the cheaper rate first: most values of tau that do not suffice fail it.
        within = 1 - accept(errors, 0, Fraction(tau)) <= level
        return within and max(on_either_side(errors, 2 * tau, Fraction(tau))) <= level

    tau = least(suffices, _FARTHEST, parts=HALF_A_PER_CENT)
    return Threshold(math.inf if tau is None else float(tau), isinstance(errors, SymmetricNoise))


def decision_chance(
    errors: Errors, interval: Interval, alpha: Number, possible: AnswerRange = _ANY
) -> float:
    """Least chance, at a gap of 0 and of 2 tau, of a right verdict with a p-value <= alpha.

    0 if the noise is not known, since no verdict has a p-value then.  A gap to answers that are not
    ``possible`` is left out.
    """
    if not isinstance(errors, SymmetricNoise):
        return 0.0
    (low, high), level = whole_span(interval), float(probability(alpha, "alpha"))
    if low >= high:
        return 0.0
    centre, gap = round(interval.centre), math.ceil(2 * interval.tau)
    far = _passed_by(errors, level)
    chances = [errors.inside(low - 1 + far - centre, high - far + 1 - centre)]
    # Noise as far beyond the other end counts for a no (docs/theory.md, Theorem B1).
    width = high - 1 - low
    if errors.at_least(far + width) > _NEGLIGIBLE * level:
        far = _search(lambda s: errors.at_least(s) + errors.at_least(s + width) <= level, far)
    below, above = low - far, high - 1 + far
    for answer in (centre - gap, centre + gap):
        if possible.least <= answer <= possible.most:
            chance = errors.at_least(above - answer) if above <= possible.most else 0.0
            if below >= possible.least:
                chance += errors.at_least(answer - below)
            chances.append(chance)
    return min(chances)


# Chance that noise passes the farther end, relative to alpha, that changes no forecast.
_NEGLIGIBLE = 1e-3


@lru_cache(maxsize=4096)
def _passed_by(errors: SymmetricNoise, level: float) -> int:
    """Least number of units that the noise reaches with probability at most ``level``."""
    return _search(lambda far: errors.at_least(far) <= level)


def _search(suffices: Callable[[int], bool], first: int = 1) -> int:
    found = least(suffices, _FARTHEST, first, parts=HALF_A_PER_CENT)
    return _FARTHEST if found is None else found


def answer_verdict(
    errors: Errors, released: int, interval: Interval, possible: AnswerRange = _ANY
) -> Decision:
    """Verdict on ``interval`` from the released answer, in units, by Algorithm 1.

    There is a p-value if the noise is known.  For *within*, each end has a chance: the chance that
    an answer just beyond this end is released at least as far inside.  The p-value is the larger
    of the two chances.  For *outside*, consider an answer at an end.  The p-value is the chance
    that it is released at least as far beyond this end, or as far beyond the other end
    (docs/theory.md, Theorem B1).  The p-value uses the released answer cut to the ``possible``
    answers, which never makes the p-value smaller (``AnswerRange``).
    """
    low, high = whole_span(interval)
    yes = low <= released < high
    if not isinstance(errors, SymmetricNoise):
        return Decision(yes, released=(released,))
    if yes:
        above, below = possible.capped(released), possible.floored(released)
        p_value = max(errors.at_least(above - low + 1), errors.at_least(high - below))
    else:
        cut = possible.cut(released)
        p_value = two_sided(errors.at_least, cut, low, high - 1) if low < high else 0.0
    return Decision(yes, p_value, released=(released,))


def estimate(
    errors: Errors, released: int, alpha: Number, possible: AnswerRange = _ANY
) -> Estimate:
    """Released answer, with an interval if the noise is known, each end at level alpha.

    The answer and the ends of the interval are cut to the ``possible`` answers.
    """
    value = possible.cut(Fraction(released))
    if not isinstance(errors, SymmetricNoise):
        return Estimate(value)
    distance = reach(errors, alpha)
    return Estimate(value, possible.cut(value - distance), possible.cut(value + distance))


def proved_outcomes(errors: Iterable[Errors]) -> frozenset[bool]:
    """Outcomes with a p-value: both if the noise of every answer is known, else none."""
    return BOTH if all(isinstance(one, SymmetricNoise) for one in errors) else NEITHER


@lru_cache(maxsize=4096)
def reach(errors: SymmetricNoise, alpha: Number) -> int:
    """Distance that the noise exceeds to either side with probability at most alpha each.

    If there is noise, the distance is at least 1.
    """
    level = float(probability(alpha, "alpha"))
    # ``least`` searches the whole numbers from 1 on.
    beyond = least(lambda far: errors.at_least(far) <= level, _FARTHEST, parts=HALF_A_PER_CENT)
    return _FARTHEST if beyond is None else max(beyond - 1, int(not errors.is_silent))
