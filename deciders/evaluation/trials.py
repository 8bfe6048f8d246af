"""Trials: public tables on which deciders are tried, each made, and looked up, once.

The deciders of one query share its trial, and so does all that is asked of one of them: its error
rates, the budget that it needs, whether another one is nearly as sharp.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Any, Protocol, cast

from pqd.deciders.evaluation.stand_ins import Shape, StandIn, stand_ins_at
from pqd.deciders.exact import Number
from pqd.deciders.histogram import Histogram
from pqd.deciders.interval import Interval

# ``Pr[yes]`` as a function of epsilon.
Law = Callable[[Fraction], float]
# Times the tolerance at which Def. 3.4 asks for a no.
_FAR = Fraction(2)


class ProvingLaw(Protocol):
    """Law of a decider on one table that proves its verdicts.

    Conformers: MarginLaw (inverse_sensitivity.py), NoiseLaw (noisy_answer.py).
    """

    @property
    def distance(self) -> float:
        """Distance to the other verdict, at least 1 where the true one is yes."""
        ...

    def __call__(self, epsilon: Fraction) -> float:
        """``Pr[yes]``."""
        ...

    def proof_chance(self, epsilon: Fraction, alpha: Number) -> float:
        """Exact chance of a yes with a p-value of at most alpha: not private, for analysis only."""
        ...

    def refutation_chance(self, epsilon: Fraction, alpha: Number) -> float:
        """Exact chance of a no with a p-value of at most alpha: not private, for analysis only."""
        ...


# Without slots, so that the tolerance is computed once.
@dataclass(frozen=True, eq=False)
class Trial:
    """Table, the interval around its answer, and stand-ins for it at gaps from that answer."""

    table: Any
    interval: Interval
    shape: Shape
    _stand_ins: dict[Fraction, tuple[StandIn, ...]] = field(default_factory=dict)
    _laws: dict[tuple[object, int], Law] = field(default_factory=dict)

    @cached_property
    def _tolerance(self) -> Fraction:
        return self.interval.tau

    def at(self, gap: Fraction) -> tuple[StandIn, ...]:
        """Stand-ins at least ``gap`` times the tolerance from the answer."""
        found = self._stand_ins.get(gap)
        if found is None:
            found = tuple(stand_ins_at(self.table, gap * self._tolerance, self.shape))
            self._stand_ins[gap] = found
        return found

    @property
    def far(self) -> tuple[StandIn, ...]:
        """Stand-ins from which the answer must be no."""
        return self.at(_FAR)

    def law(self, mechanism: Any, table: Any) -> Law:  # noqa: ANN401 - a decider or an estimator
        """``Pr[yes]`` on the table, or on one of its stand-ins, as a function of epsilon."""
        key = mechanism, id(table)
        found = self._laws.get(key)
        if found is None:
            found = self._laws[key] = _law(mechanism, table, self.interval)
        return found


def _law(mechanism: Any, table: Any, interval: Interval) -> Law:  # noqa: ANN401 - as above
    """Law of a decider; an estimator has none of its own."""
    if hasattr(mechanism, "accepting"):
        return cast("Law", mechanism.accepting(table, interval))
    return partial(mechanism.accept, table, interval)


def least_distance(decider: object, trial: Trial) -> float:
    """Least distance to the other verdict on the table of a trial, and on those far from it."""
    near = cast("ProvingLaw", trial.law(decider, trial.table)).distance
    return min(near, least_beyond(decider, trial))


def least_beyond(decider: object, trial: Trial) -> float:
    """Least distance to a yes on the tables far from that of a trial."""
    laws = (cast("ProvingLaw", trial.law(decider, far)) for far in trial.far)
    return min((1 - law.distance for law in laws), default=math.inf)


# Whatever is asked of one query is asked in a row.
@lru_cache(maxsize=8)
def trial_of(histogram: Histogram, interval: Interval, shape: Shape) -> Trial:
    """Trial of a public histogram."""
    return Trial(histogram, interval, shape)
