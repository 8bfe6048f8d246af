"""Sharpness: whether a decider that shows the answer decides almost as well as the margin decider.

The test uses public data alone and costs nothing, because both deciders are evaluated exactly on
the stand-ins of stand_ins.py.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, cast

from pqd.deciders.evaluation.effectiveness import WEIGHED, Mechanism, shape_of
from pqd.deciders.evaluation.trials import SteppedLaw, Trial, trial_of
from pqd.deciders.exact import Number, budget_of, probability
from pqd.deciders.histogram import Histogram
from pqd.deciders.interval import Interval

# A decider that shows the answer may err at most this many times as often as the margin decider.
# The factor is two.  Noise around an answer can pass either end of an interval.  Noise around a
# margin can pass only the nearer end.  For a COUNT this is the largest possible loss on any table
# (docs/theory.md, Theorem 4).
MOST_TIMES = 2
# Largest loss in the chance of a proved verdict.  Noise on an answer can pass two ends, so it costs
# half of the chance near the threshold, and almost nothing farther off.
MOST_LOST = 0.1
# Gaps, in multiples of tau, at which the chances of a proved no are compared.  For a COUNT the
# first gap is enough.  At larger gaps the noisy answer needs to be only ln 2 noise scales farther
# away for the same proof.  The exception is an answer below 0, where released numbers are cut; the
# empty table, which is farthest of all, covers that case.
_FAR = tuple(map(Fraction, (2, 4, 8, 16, 32)))
_EMPTY = Histogram.of_mass(0)
_ROUNDING = 1 + 1e-9
# Gaps inside and beyond the interval, each ordered from its end outwards, because two deciders
# differ most near the ends.
_INSIDE = sorted((gap for gap in WEIGHED if gap < 1), reverse=True)
_BEYOND = sorted(gap for gap in WEIGHED if gap > 1)


def nearly_as_sharp(
    shown: Mechanism,
    margin: Mechanism,
    histogram_public: Histogram,
    interval: Interval,
    epsilon: Number,
    alpha: Number,
) -> bool:
    """Whether ``shown`` decides nearly as well as the ``margin`` decider.

    Proofs: its chance of a proved verdict may be at most ``MOST_LOST`` less.  This is compared for
    a yes on the copy, and for a no on every stand-in at twice the tolerance and farther.  If 0 is
    outside the interval, it is also compared for a no on the empty table.  The yes alone is not
    enough, because sometimes neither decider proves a yes.  Even then a margin can prove a no
    where a released number cannot.  This happens for a sum that noise hides at its bounds, and for
    few rows, since released numbers are at least 0.

    Errors: on the stand-ins at the gaps ``WEIGHED``, on both sides, ``shown`` may err at most
    ``MOST_TIMES`` as often as the margin decider.  It may also err with probability at most
    ``2 alpha^2``.  Noise with such a small error leaves the verdict undecided with probability at
    most alpha (docs/theory.md, section 3).
    """
    trial, budget = trial_of(histogram_public, interval, shape_of(shown)), budget_of(epsilon)
    if _proves_less(shown, margin, trial, budget, alpha):
        return False
    # A COUNT passes the test of errors on every table (Theorem 4).
    return shown.aggregate == "COUNT" or _errs_seldom(shown, margin, trial, budget, alpha)


def _law(trial: Trial, decider: Mechanism, table: Any) -> SteppedLaw:  # noqa: ANN401 - or a stand-in
    return cast("SteppedLaw", trial.law(decider, table))


def _proves_less(
    shown: Mechanism, margin: Mechanism, trial: Trial, budget: Fraction, alpha: Number
) -> bool:
    """Whether ``shown`` loses too much chance to prove a yes on the copy, or a no far from it."""

    def proves(decider: Mechanism) -> float:
        return _law(trial, decider, trial.table).proof_chance(budget, alpha)

    def refutes(table: Any) -> Callable[[Mechanism], float]:  # noqa: ANN401 - a stand-in
        return lambda decider: _law(trial, decider, table).refutation_chance(budget, alpha)

    def loses(of_shown: float, chance: Callable[[Mechanism], float]) -> bool:
        # A chance is at most 1, so a loss needs room below 1.
        return 1 - of_shown > MOST_LOST and chance(margin) - of_shown > MOST_LOST

    chances = [proves] if trial.interval.contains(0) else [proves, refutes(_EMPTY)]
    if any(loses(chance(shown), chance) for chance in chances):
        return True
    for gap in _FAR[:1] if shown.aggregate == "COUNT" else _FAR:
        chances = [refutes(each) for each in trial.at(gap)]
        of_shown = [chance(shown) for chance in chances]
        if any(map(loses, of_shown, chances)):
            return True
        if min(of_shown, default=0) >= 1 - MOST_LOST:
            # At a larger distance noise proves a no more often, so the larger gaps pass too.
            break
    return False


def _errs_seldom(
    shown: Mechanism, margin: Mechanism, trial: Trial, budget: Fraction, alpha: Number
) -> bool:
    """Whether ``shown`` errs almost never, or not much more often than ``margin``, at every gap."""

    def error(decider: Mechanism, table: Any) -> float:  # noqa: ANN401 - a stand-in
        law = _law(trial, decider, table)
        return 1 - law(budget) if law.distance >= 1 else law(budget)

    negligible = 2 * float(probability(alpha, "alpha")) ** 2
    for gaps in (_INSIDE, _BEYOND):
        for gap in gaps:
            tables = trial.at(gap)
            errors = [error(shown, table) for table in tables]
            frequent = [pair for pair in zip(errors, tables, strict=True) if pair[0] > negligible]
            if any(
                each > MOST_TIMES * _ROUNDING * error(margin, table) for each, table in frequent
            ):
                return False
            inside = [_law(trial, shown, table).distance >= 1 for table in tables]
            if not frequent and (gap > 1 or inside == [True, True]):
                # Noise errs less often when the end that it must pass is farther away.
                break
    return True
