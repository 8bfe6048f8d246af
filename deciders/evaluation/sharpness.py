"""Sharpness: whether a decider that shows the answer decides little worse than one that does not.

Of public data alone, and free: both are evaluated exactly on the stand-ins of stand_ins.py.
"""

from typing import Any, cast

from deciders.evaluation.effectiveness import WEIGHED, Mechanism, shape_of
from deciders.evaluation.trials import ProvingLaw, trial_of
from deciders.exact import Number, budget_of, probability
from deciders.histogram import Histogram
from deciders.interval import Interval

# Times as often as the margin's decider that one which shows the answer may err.  Two, since noise
# around an answer passes either end of an interval where that around a margin passes the nearer
# one: of a COUNT that is all there is to lose, on every table (docs/theory.md, Theorem 4).
MOST_TIMES = 2
# Chance of a proved yes, where the private answer is the copy's, that may be lost for the same
# reason: half of all chance near the threshold, next to none farther off.
MOST_LOST = 0.1
_ROUNDING = 1 + 1e-9
# From the ends of the interval outwards, the gaps inside and those beyond: where deciders differ,
# they do so near the ends.
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
    """Whether ``shown`` decides nearly as well as the ``margin``'s decider.

    On the copy it proves a yes with a chance that is at most ``MOST_LOST`` less, and on the
    stand-ins at the gaps ``WEIGHED``, on either side, it errs at most ``MOST_TIMES`` as often, or
    next to never: with probability at most ``2 alpha^2``.  Where noise errs so seldom it leaves the
    verdict undecided with probability at most alpha (docs/theory.md, section 3).
    """
    trial, budget = trial_of(histogram_public, interval, shape_of(shown)), budget_of(epsilon)

    def law(decider: Mechanism, table: Any) -> ProvingLaw:  # noqa: ANN401 - or a stand-in
        return cast("ProvingLaw", trial.law(decider, table))

    def proved(decider: Mechanism) -> float:
        return law(decider, histogram_public).proof_chance(budget, alpha)

    chance = proved(shown)
    # No chance is greater than 1.
    if 1 - chance > MOST_LOST and proved(margin) - chance > MOST_LOST:
        return False
    if shown.aggregate == "COUNT":
        # Theorem 4: at most twice as often, on every table.
        return True

    def error(decider: Mechanism, table: Any) -> float:  # noqa: ANN401 - as above
        found = law(decider, table)
        return 1 - found(budget) if found.distance >= 1 else found(budget)

    enough = 2 * float(probability(alpha, "alpha")) ** 2
    for gaps in (_INSIDE, _BEYOND):
        for gap in gaps:
            tables = trial.at(gap)
            wrong = [error(shown, table) for table in tables]
            often = [pair for pair in zip(wrong, tables, strict=True) if pair[0] > enough]
            if any(each > MOST_TIMES * _ROUNDING * error(margin, table) for each, table in often):
                return False
            inside = [law(shown, table).distance >= 1 for table in tables]
            if not often and (gap > 1 or inside == [True, True]):
                # Noise errs less, the farther an answer is from the end that it must pass.
                break
    return True
