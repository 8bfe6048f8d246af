"""Budget that a verdict needs: the least epsilon at which it is reliable on several public tables.

Each trial is a table that the private one might be shaped like (shapes.py), around its own answer,
with its stand-ins at twice the tolerance.  A decider that knows its error in closed form gives its
epsilon at once (``Decider.least_epsilon``); that of others is searched.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import chain, count
from typing import Any, Protocol

from pqd.deciders.aggregates import answer
from pqd.deciders.evaluation.effectiveness import Mechanism, least, shape_of
from pqd.deciders.evaluation.shapes import shapes
from pqd.deciders.evaluation.stand_ins import Shape
from pqd.deciders.evaluation.trials import Law, Trial, trial_of
from pqd.deciders.exact import Number, probability
from pqd.deciders.histogram import Histogram
from pqd.deciders.interval import Interval

# The search looks from one of the first to as many of them as the second says.
_STEP, _MOST = Fraction(1, 2**39), 2**59
_HIGHEST = 2**20
# Share by which a closed form may be too small, since it is rounded.
_ROUNDING = 1e-9


class Budgeted(Mechanism, Protocol):
    """Decider, as far as its budget is planned."""

    def accepting(self, histogram: Any, interval: Interval) -> Law:  # noqa: ANN401 - or a stand-in
        """``accept`` as a function of epsilon."""
        ...

    def least_epsilon(self, trials: Iterable[Trial], alpha: Number) -> Fraction | float:
        """About the least epsilon at which it errs with at most alpha in every trial."""
        ...


def needed_epsilon(
    decider: Budgeted, histogram_public: Histogram, interval: Interval, alpha: Number
) -> float:
    """About the least epsilon at which such an interval is decidable, infinite if none is.

    The worst of several public shapes that the private table might have (``shapes``), each around
    its own answer: it is a promise about a table that is not known, and no bound.  Between 2^-39
    and 2^20, rounded up to three digits.
    """
    trials = trials_of(histogram_public, shape_of(decider), interval.tau)
    found = decider.least_epsilon(trials, alpha)
    return math.inf if found > _HIGHEST else float(_rounded_up(Fraction(max(found, _STEP))))


class Trials:
    """Trials of a tolerance ``tau`` on a public histogram, then on its shapes, made when asked for.

    A decider may know after the first what it needs.
    """

    def __init__(self, histogram: Histogram, shape: Shape, tau: Fraction) -> None:
        """Nothing is made yet."""
        self._made: list[Trial] = []
        self._more = _trials(histogram, shape, tau)

    def __iter__(self) -> Iterator[Trial]:
        """Iterate over the trials, each made once."""
        for number in count():
            if number == len(self._made):
                more = next(self._more, None)
                if more is None:
                    return
                self._made.append(more)
            yield self._made[number]


# Deciders of one query share its trials.
trials_of = lru_cache(maxsize=1)(Trials)


def _trials(histogram: Histogram, shape: Shape, tau: Fraction) -> Iterator[Trial]:
    tables: Iterator[Any] = chain((histogram,), shapes(histogram, shape.aggregate))
    for number, table in enumerate(tables):
        centre = answer(shape.aggregate, table, shape.p)
        if centre is not None:
            # That of the table itself is at hand.
            make = Trial if number else trial_of
            yield make(table, Interval.around(centre, tau), shape)


def searched_epsilon(decider: Budgeted, trials: Iterable[Trial], alpha: Number) -> Fraction | float:
    """Epsilon by search, to half a per cent; it has been evaluated in every trial.

    It is the least one where errors fall as epsilon grows.
    """
    level, steps, passed, number = float(probability(alpha, "alpha")), 1, 0, 0
    # From the hardest on, which says most: the table itself comes last.
    every = [_laws(decider, trial) for trial in trials]
    laws = every[1:] + every[:1]
    while passed < len(laws):
        found = _least_steps(*laws[number % len(laws)], level, steps)
        if found is None:
            return math.inf
        passed = passed + 1 if found == steps else 1
        steps, number = found, number + 1
    return _epsilon(steps)


def _laws(decider: Budgeted, trial: Trial) -> tuple[Law, list[Law]]:
    """``Pr[yes]`` on the table of a trial, and on those far from it."""
    return trial.law(decider, trial.table), [trial.law(decider, far) for far in trial.far]


def _least_steps(near: Law, far: Sequence[Law], level: float, first: int) -> int | None:
    """Steps from ``first`` on that suffice in one trial."""

    def suffices(steps: int) -> bool:
        epsilon = _epsilon(steps)
        return 1 - near(epsilon) <= level and all(law(epsilon) <= level for law in far)

    return least(suffices, _MOST, first)


# Searches begin alike.
@lru_cache(maxsize=1024)
def _epsilon(steps: int) -> Fraction:
    """``steps`` of the search, rounded up."""
    return _rounded_up(steps * _STEP)


def _rounded_up(epsilon: Fraction) -> Fraction:
    """``epsilon`` rounded up to three significant digits."""
    digits = 2 - math.floor(math.log10(epsilon))
    up, down = 10 ** max(digits, 0), 10 ** max(-digits, 0)
    numerator, denominator = epsilon.as_integer_ratio()
    return Fraction(-(-numerator * up // (denominator * down)) * down, up)


def above(epsilon: float) -> float:
    """Epsilon a hair above a closed form that was rounded."""
    return epsilon * (1 + _ROUNDING)


def inverse_epsilon(product: float, trials: Iterable[Trial]) -> float:
    """Epsilon of a decider whose threshold is ``product / epsilon`` for every table."""
    return above(max((product / float(trial.interval.tau) for trial in trials), default=0.0))
