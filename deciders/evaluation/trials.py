"""Trials: public tables on which deciders are evaluated; each table is made and looked up once.

All deciders of a query share its trial.  All evaluations of a decider share it too: error rates,
needed budget, and the test whether another decider is nearly as sharp.
"""

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
# Gap, in multiples of the tolerance, at which Def. 3.4 asks for a no.
_FAR = Fraction(2)


class ProvingLaw(Protocol):
    """Law, on one table, of a decider that gives p-values to both verdicts.

    Conformers: SteppedLaw, LaplaceLaw (single/base.py), MajorityLaw (estimators/majority.py),
    RatioLaw (estimators/mean.py).
    """

    def __call__(self, epsilon: Fraction) -> float:
        """``Pr[yes]``."""
        ...

    def proof_chance(self, epsilon: Fraction, alpha: Number) -> float:
        """Exact chance of a yes with a p-value of at most alpha; not private, for analysis only."""
        ...

    def refutation_chance(self, epsilon: Fraction, alpha: Number) -> float:
        """Exact chance of a no with a p-value of at most alpha; not private, for analysis only."""
        ...


class SteppedLaw(ProvingLaw, Protocol):
    """Law that depends on the table by a distance in whole steps, which no epsilon changes.

    Conformers: MarginLaw (inverse_sensitivity.py), NoiseLaw (noisy_answer.py).
    """

    @property
    def distance(self) -> float:
        """Distance to the other verdict; at least 1 exactly if the true verdict is yes."""
        ...


# Without slots, because the tolerance is cached.
@dataclass(frozen=True, eq=False)
class Trial:
    """Table, an interval around its answer, and stand-ins at gaps from that answer."""

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
        tables = self._stand_ins.get(gap)
        if tables is None:
            tables = tuple(stand_ins_at(self.table, gap * self._tolerance, self.shape))
            self._stand_ins[gap] = tables
        return tables

    @property
    def far(self) -> tuple[StandIn, ...]:
        """Stand-ins at twice the tolerance, on which the verdict must be no."""
        return self.at(_FAR)

    def law(self, mechanism: Any, table: Any) -> Law:  # noqa: ANN401 - a decider or an estimator
        """``Pr[yes]``, as a function of epsilon, on the trial's table or one of its stand-ins."""
        key = mechanism, id(table)
        chance = self._laws.get(key)
        if chance is None:
            chance = self._laws[key] = _law(mechanism, table, self.interval)
        return chance


def _law(mechanism: Any, table: Any, interval: Interval) -> Law:  # noqa: ANN401 - as above
    """Law of a decider; for an estimator, a partial call of its ``accept``."""
    if hasattr(mechanism, "acceptance"):
        return cast("Law", mechanism.acceptance(table, interval))
    return partial(mechanism.accept, table, interval)


def least_distance(decider: object, trial: Trial) -> float:
    """Least distance to the other verdict, on the trial's table and on the tables far from it."""
    near, *far = (
        cast("SteppedLaw", trial.law(decider, table)).distance
        for table in (trial.table, *trial.far)
    )
    return min([near, *(1 - distance for distance in far)])


# A small cache is enough, because the evaluations of one query follow each other.
@lru_cache(maxsize=8)
def trial_of(histogram: Histogram, interval: Interval, shape: Shape) -> Trial:
    """Trial of a public histogram."""
    return Trial(histogram, interval, shape)
