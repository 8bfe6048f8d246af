"""Sharpness: whether a decider that shows the answer decides little worse than one that does not.

Of public data alone, and free: both are evaluated exactly on the stand-ins of stand_ins.py.
"""

from fractions import Fraction
from typing import Any, Protocol

from deciders.aggregates import answer
from deciders.evaluation.effectiveness import WEIGHED, Mechanism, shape_of
from deciders.evaluation.stand_ins import stand_ins_at
from deciders.exact import Number, probability
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


class Proving(Mechanism, Protocol):
    """Decider that proves a verdict by the law of its noise.

    Conformers: InverseSensitivity (inverse_sensitivity.py), NoisyAnswer (noisy_answer.py).
    """

    def proof_chance(
        self, histogram: Histogram, interval: Interval, epsilon: Number, alpha: Number
    ) -> float:
        """Exact chance of a yes with a p-value of at most alpha."""
        ...


def nearly_as_sharp(
    shown: Proving,
    margin: Proving,
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
    terms = histogram_public, interval, epsilon, alpha
    if margin.proof_chance(*terms) - shown.proof_chance(*terms) > MOST_LOST:
        return False
    shape, enough = shape_of(shown), 2 * float(probability(alpha, "alpha")) ** 2
    if shape.aggregate == "COUNT":
        # Theorem 4: at most twice as often, on every table.
        return True

    def error(decider: Proving, table: Any) -> float:  # noqa: ANN401 - or a stand-in
        chance = decider.accept(table, interval, epsilon)
        inside = interval.contains(answer(shape.aggregate, table, shape.p) or Fraction(0))
        return 1 - chance if inside else chance

    # From the ends of the interval outwards: where they differ, they do so there.
    for gap in sorted(WEIGHED, key=lambda gap: abs(gap - 1)):
        for table in stand_ins_at(histogram_public, gap * interval.tau, shape):
            wrong = error(shown, table)
            if wrong > enough and wrong > MOST_TIMES * _ROUNDING * error(margin, table):
                return False
    return True
