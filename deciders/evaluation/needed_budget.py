"""Decision chance of a verdict, and its needed budget: the least epsilon that decides the query.

An epsilon decides a query if at least ``DECIDED`` of all runs end right and with a p-value of at
most alpha, on every table of every trial.  A decider that cannot prove both verdicts releases a bit
without such a p-value; for it the bit must be wrong with probability at most alpha.

Each trial has a table whose shape the private table might have (shapes.py), an interval around
the table's own answer, and stand-ins at twice the tolerance.  A decider that knows its chances in
closed form gives its epsilon at once (``Decider.least_epsilon``).  For the other deciders epsilon
is searched.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import chain, count
from typing import Any, Protocol, cast

from pqd.deciders.decided import DECIDED
from pqd.deciders.evaluation.effectiveness import Mechanism, shape_of
from pqd.deciders.evaluation.shapes import shapes
from pqd.deciders.evaluation.stand_ins import Shape
from pqd.deciders.evaluation.trials import Law, ProvingLaw, Trial, trial_of
from pqd.deciders.exact import Number, budget_of, probability
from pqd.deciders.histogram import Histogram, answer
from pqd.deciders.interval import Interval
from pqd.deciders.monotone_search import HALF_A_PER_CENT, least
from pqd.deciders.numbers import rounded_up

# The search goes from ``_STEP`` to ``_MOST`` times ``_STEP``.
_STEP, _MOST = Fraction(1, 2**39), 2**59
_HIGHEST = 2**20
# Relative amount by which rounding can make a closed form too small.
_ROUNDING = 1e-9


class Budgeted(Mechanism, Protocol):
    """Decider whose budget is planned."""

    @property
    def proves(self) -> frozenset[bool]:
        """Outcomes that can have a p-value."""
        ...

    def acceptance(self, histogram: Any, interval: Interval) -> Law:  # noqa: ANN401 - or a stand-in
        """``accept`` as a function of epsilon."""
        ...

    def least_epsilon(self, trials: Iterable[Trial], alpha: Number) -> Fraction | float:
        """Approximate least epsilon that decides every trial."""
        ...


def decision_chance(
    decider: Budgeted,
    histogram_public: Histogram,
    interval: Interval,
    epsilon: Number,
    alpha: Number,
) -> float:
    """Least chance, over all trials, that a run at ``epsilon`` decides, and decides rightly.

    The query is decided at this epsilon if the chance is at least ``DECIDED``, and so if epsilon is
    at least ``needed_epsilon``.  The chance is 0 for a decider that cannot prove both verdicts.
    """
    if not _proves_both(decider):
        return 0.0
    budget = budget_of(epsilon)
    trials = trials_of(histogram_public, shape_of(decider), interval.tau)
    misses = (miss(budget) for trial in trials for miss in _misses(decider, trial, alpha))
    return 1 - max(misses, default=1.0)


def _proves_both(decider: Budgeted) -> bool:
    return decider.proves == {True, False}


def _misses(decider: Budgeted, trial: Trial, alpha: Number) -> Iterator[Law]:
    """Chance, on each table of a trial, of a run that does not decide rightly, by epsilon.

    For a decider that cannot prove both verdicts it is the chance of the wrong bit.  For a decider
    whose law does not know its chances of a proof it is the chance of an error over alpha, which
    bounds it if the noise has exponential tails (docs/theory.md, section 4).
    """
    near, *far = (trial.law(decider, table) for table in (trial.table, *trial.far))
    if not _proves_both(decider):
        yield lambda epsilon: 1 - near(epsilon)
        yield from far
    elif not hasattr(near, "proof_chance"):
        level = float(probability(alpha, "alpha"))
        yield lambda epsilon: min(1.0, (1 - near(epsilon)) / level)
        yield from (_bounded(law, level) for law in far)
    else:
        yield _missed(cast("ProvingLaw", near).proof_chance, alpha)
        for law in far:
            yield _missed(cast("ProvingLaw", law).refutation_chance, alpha)


def _missed(chance: Callable[[Fraction, Number], float], alpha: Number) -> Law:
    return lambda epsilon: 1 - chance(epsilon, alpha)


def _bounded(law: Law, level: float) -> Law:
    return lambda epsilon: min(1.0, law(epsilon) / level)


def needed_epsilon(
    decider: Budgeted, histogram_public: Histogram, interval: Interval, alpha: Number
) -> float:
    """Approximate least epsilon that decides this interval; infinite if none exists.

    The result is the worst over several public shapes that the private table might have
    (``shapes``), each around its own answer.  It is a forecast for an unknown table, not a bound.
    It lies between 2^-39 and 2^20 and is rounded up to three digits.
    """
    trials = trials_of(histogram_public, shape_of(decider), interval.tau)
    return rounded_epsilon(decider.least_epsilon(trials, alpha))


def rounded_epsilon(epsilon: Fraction | float) -> float:
    """``epsilon``, at least 2^-39, rounded up to three digits; infinite beyond 2^20."""
    return math.inf if epsilon > _HIGHEST else float(rounded_up(Fraction(max(epsilon, _STEP))))


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
    """Epsilon by search, to half a per cent; it was evaluated and decides every trial.

    If misses fall as epsilon grows, it is the least such epsilon.
    """
    level = float(1 - DECIDED if _proves_both(decider) else probability(alpha, "alpha"))
    steps, passed, number = 1, 0, 0
    # Begin with the hardest trial, which rules out most; the histogram itself comes last.
    pairs = [list(_misses(decider, trial, alpha)) for trial in trials]
    misses = pairs[1:] + pairs[:1]
    while passed < len(misses):
        enough = _least_steps(misses[number % len(misses)], level, steps)
        if enough is None:
            return math.inf
        passed = passed + 1 if enough == steps else 1
        steps, number = enough, number + 1
    return _epsilon(steps)


def _least_steps(misses: Sequence[Law], level: float, first: int) -> int | None:
    """Least number of steps, from ``first`` on, that suffices in one trial."""

    def suffices(steps: int) -> bool:
        epsilon = _epsilon(steps)
        return all(miss(epsilon) <= level for miss in misses)

    return least(suffices, _MOST, first, parts=HALF_A_PER_CENT)


# The cache helps because all searches begin with the same steps.
@lru_cache(maxsize=1024)
def _epsilon(steps: int) -> Fraction:
    """Epsilon after ``steps`` of the search, rounded up."""
    return rounded_up(steps * _STEP)


def above(epsilon: float) -> float:
    """Epsilon slightly above a closed form, to make up for rounding."""
    return epsilon * (1 + _ROUNDING)


def inverse_epsilon(product: float, trials: Iterable[Trial]) -> float:
    """Epsilon of a decider whose threshold is ``product / epsilon`` for every table."""
    return above(max((product / float(trial.interval.tau) for trial in trials), default=0.0))
