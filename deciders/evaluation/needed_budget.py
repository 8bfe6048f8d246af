"""Needed budget of a verdict: the least epsilon at which it is reliable on several public tables.

Each trial has a table whose shape the private table might have (shapes.py), an interval around
the table's own answer, and stand-ins at twice the tolerance.  A decider that knows its error in
closed form gives its epsilon at once (``Decider.least_epsilon``).  For the other deciders epsilon
is searched.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import chain, count
from typing import Any, Protocol

from pqd.deciders.evaluation.effectiveness import Mechanism, shape_of
from pqd.deciders.evaluation.shapes import shapes
from pqd.deciders.evaluation.stand_ins import Shape
from pqd.deciders.evaluation.trials import Law, Trial, trial_of
from pqd.deciders.exact import Number, probability
from pqd.deciders.histogram import Histogram, answer
from pqd.deciders.interval import Interval
from pqd.deciders.monotone_search import HALF_A_PER_CENT, least

# The search goes from ``_STEP`` to ``_MOST`` times ``_STEP``.
_STEP, _MOST = Fraction(1, 2**39), 2**59
_HIGHEST = 2**20
# Relative amount by which rounding can make a closed form too small.
_ROUNDING = 1e-9


class Budgeted(Mechanism, Protocol):
    """Decider whose budget is planned."""

    def acceptance(self, histogram: Any, interval: Interval) -> Law:  # noqa: ANN401 - or a stand-in
        """``accept`` as a function of epsilon."""
        ...

    def least_epsilon(self, trials: Iterable[Trial], alpha: Number) -> Fraction | float:
        """Approximate least epsilon at which the decider errs with at most alpha in every trial."""
        ...


def needed_epsilon(
    decider: Budgeted, histogram_public: Histogram, interval: Interval, alpha: Number
) -> float:
    """Approximate least epsilon at which this interval is decidable; infinite if none exists.

    The result is the worst over several public shapes that the private table might have
    (``shapes``), each around its own answer.  It is a forecast for an unknown table, not a bound.
    It lies between 2^-39 and 2^20 and is rounded up to three digits.
    """
    trials = trials_of(histogram_public, shape_of(decider), interval.tau)
    lowest = decider.least_epsilon(trials, alpha)
    return math.inf if lowest > _HIGHEST else float(_rounded_up(Fraction(max(lowest, _STEP))))


class Trials:
    """Trials with tolerance ``tau``: on a public histogram, then on its shapes, made on demand.

    If a decider finds its needed epsilon after the first trial, the other trials are not made.
    """

    def __init__(self, histogram: Histogram, shape: Shape, tau: Fraction) -> None:
        """Make no trial yet."""
        self._trials: list[Trial] = []
        self._rest = _trials(histogram, shape, tau)

    def __iter__(self) -> Iterator[Trial]:
        """Iterate over the trials; each trial is made once."""
        for number in count():
            if number == len(self._trials):
                trial = next(self._rest, None)
                if trial is None:
                    return
                self._trials.append(trial)
            yield self._trials[number]


# The cache is shared by the deciders of one query.
trials_of = lru_cache(maxsize=1)(Trials)


def _trials(histogram: Histogram, shape: Shape, tau: Fraction) -> Iterator[Trial]:
    tables: Iterator[Any] = chain((histogram,), shapes(histogram, shape.aggregate))
    for number, table in enumerate(tables):
        centre = answer(shape.aggregate, table, shape.p)
        if centre is not None:
            # The trial of the histogram itself is cached already.
            make = Trial if number else trial_of
            yield make(table, Interval.around(centre, tau), shape)


def searched_epsilon(decider: Budgeted, trials: Iterable[Trial], alpha: Number) -> Fraction | float:
    """Epsilon by search, to half a per cent; it was evaluated and suffices in every trial.

    If errors fall as epsilon grows, no epsilon smaller by more than half a per cent suffices.
    """
    level, steps, passed, number = float(probability(alpha, "alpha")), 1, 0, 0
    # Begin with the hardest trial, which rules out most values; the histogram itself comes last.
    pairs = [_laws(decider, trial) for trial in trials]
    laws = pairs[1:] + pairs[:1]
    while passed < len(laws):
        enough = _least_steps(*laws[number % len(laws)], level, steps)
        if enough is None:
            return math.inf
        passed = passed + 1 if enough == steps else 1
        steps, number = enough, number + 1
    return _epsilon(steps)


def _laws(decider: Budgeted, trial: Trial) -> tuple[Law, list[Law]]:
    """``Pr[yes]`` on the table of a trial, and on the stand-ins far from the table."""
    return trial.law(decider, trial.table), [trial.law(decider, far) for far in trial.far]


def _least_steps(near: Law, far: Sequence[Law], level: float, first: int) -> int | None:
    """Least number of steps, from ``first`` on, that suffices in one trial."""

    def suffices(steps: int) -> bool:
        epsilon = _epsilon(steps)
        return 1 - near(epsilon) <= level and all(law(epsilon) <= level for law in far)

    return least(suffices, _MOST, first, parts=HALF_A_PER_CENT)


# The cache helps because all searches begin with the same steps.
@lru_cache(maxsize=1024)
def _epsilon(steps: int) -> Fraction:
    """Epsilon after ``steps`` of the search, rounded up."""
    return _rounded_up(steps * _STEP)


def _rounded_up(epsilon: Fraction) -> Fraction:
    """``epsilon`` rounded up to three significant digits."""
    digits = 2 - math.floor(math.log10(epsilon))
    up, down = 10 ** max(digits, 0), 10 ** max(-digits, 0)
    numerator, denominator = epsilon.as_integer_ratio()
    return Fraction(-(-numerator * up // (denominator * down)) * down, up)


def above(epsilon: float) -> float:
    """Epsilon slightly above a closed form, to make up for rounding."""
    return epsilon * (1 + _ROUNDING)


def inverse_epsilon(product: float, trials: Iterable[Trial]) -> float:
    """Epsilon of a decider whose threshold is ``product / epsilon`` for every table."""
    return above(max((product / float(trial.interval.tau) for trial in trials), default=0.0))
