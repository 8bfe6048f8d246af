"""The exact privacy check: epsilon-DP of a yes/no verdict on given neighbours, without sampling."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from pqd.deciders import Decider, Histogram, Interval

Accept = Callable[[Histogram, Interval, float], float]

# What quadrature and rounding may add to a probability.
SLACK = 1e-9


def neighbours(values: Sequence[int], lattice: Iterable[int]) -> Iterator[Histogram]:
    """Every table that differs by one added or one removed row."""
    rows = list(values)
    for value in lattice:
        yield Histogram.from_values([*rows, value])
    for value in sorted(set(rows)):
        rest = list(rows)
        rest.remove(value)
        yield Histogram.from_values(rest)


def loss(accept: float, other: float) -> float:
    """Largest log-ratio of the two verdicts' probabilities, after the slack is granted."""
    found = 0.0
    for p, q in ((accept, other), (1 - accept, 1 - other)):
        for high, low in ((p, q), (q, p)):
            if high > SLACK:
                found = max(found, math.log(high - SLACK) - math.log(max(low, 1e-300) + SLACK))
    return found


def accept_of(decider: Decider) -> Accept:
    """The acceptance probability as a function of the rows' histogram."""
    if decider.aggregate != "COUNT DISTINCT":
        return decider.accept
    return lambda histogram, interval, epsilon: decider.accept(
        histogram.multiplicities(), interval, epsilon
    )


def worst_loss(
    accept: Accept,
    values: Sequence[int],
    lattice: Iterable[int],
    interval: Interval,
    epsilon: float,
) -> float:
    """Largest privacy loss between a table and all its neighbours."""
    here = accept(Histogram.from_values(values), interval, epsilon)
    return max(
        loss(here, accept(other, interval, epsilon)) for other in neighbours(values, lattice)
    )
