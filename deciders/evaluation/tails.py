"""Public stand-ins with a tail, on which a verdict without a p-value must be right as well.

A decider that cuts large values can be right on every table that has the shape of the copy, and
wrong on a table whose few large rows the copy lacks.  So the gap of two tolerances is carried here
by few rows (ours; docs/theory.md, section 4).  The tables use public data alone.
"""

from collections.abc import Iterator
from fractions import Fraction
from math import ceil

import numpy as np

from pqd.deciders.evaluation.effectiveness import Mechanism, shape_of
from pqd.deciders.evaluation.needed_budget import Budgeted, trials_of
from pqd.deciders.evaluation.stand_ins import Shape
from pqd.deciders.exact import Number, budget_of
from pqd.deciders.histogram import Histogram
from pqd.deciders.interval import Interval

# Parts of the rows that carry the gap.
SHARES = Fraction(1, 1000), Fraction(1, 100), Fraction(1, 20)


def tail_tables(histogram: Histogram, gap: Fraction, shape: Shape) -> Iterator[Histogram]:
    """Tables of a SUM that is at least ``gap`` above that of ``histogram``, by few large rows.

    Each of ``SHARES`` gives a table with so many more rows, all of one value.  A share is left out
    if its rows would have to be larger than the upper bound, or no larger than the copy's largest.
    """
    for share in SHARES:
        rows = max(1, ceil(share * histogram.mass))
        value = ceil(gap / rows / shape.step) * shape.step
        if histogram.largest < value <= shape.ends[1]:
            yield Histogram.weighted(
                np.append(histogram.values, value), np.append(histogram.counts, rows)
            )


def largest_error(
    decider: Budgeted, histogram: Histogram, interval: Interval, epsilon: Number
) -> float:
    """Largest error probability of ``decider`` on all public stand-ins.

    These are the tables on which its threshold is searched, the shapes of its needed budget
    (shapes.py), and for a SUM the tables with a tail.
    """
    budget = budget_of(epsilon)
    error = 0.0
    for trial in trials_of(histogram, shape_of(decider), interval.tau):
        error = max(error, 1 - trial.law(decider, trial.table)(budget))
        error = max([error, *(trial.law(decider, far)(budget) for far in trial.far)])
    return max([error, *_errors_on_tails(decider, histogram, interval, budget)])


def _errors_on_tails(
    decider: Mechanism, histogram: Histogram, interval: Interval, budget: Fraction
) -> Iterator[float]:
    """Probability of a yes on each table with a tail."""
    if decider.aggregate == "SUM":
        for table in tail_tables(histogram, 2 * interval.tau, shape_of(decider)):
            yield decider.accept(table, interval, budget)
