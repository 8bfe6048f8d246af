"""A private bound on the values of a table, of whose rows few lie beyond it."""

import math
from fractions import Fraction

from pqd.deciders.batch.linear.queries import doubling
from pqd.deciders.exact import as_float
from pqd.deciders.histogram import Histogram, Integers
from pqd.deciders.noise import Noise

# The probability that the radius exceeds twice the largest value.
_FAILURE = 0.05


def private_radius(values: Integers, base: int, upper: int, epsilon: Fraction, noise: Noise) -> int:
    """First of ``base, 2 base, ...`` (last: ``upper``) above which few values lie.

    AboveThreshold on the counts ``#(value > tau)``, from the lowest on: the first noisy count that
    is at most the noisy bar stops (Dong and Yi 2021, private radius; Qiu 2022, section 5).

    Guarantee: epsilon-DP (Lyu, Su and Li 2017, Theorem 3): adding a row raises no count but by 1
    and lowers none, so with half the budget for the bar and half for the one count that stops,
    both scales are ``2 / epsilon``.  The bar is ``(4 / epsilon) ln(1/0.05)``, so that a count of 0
    stops but with probability 0.05: the radius is then at most twice the largest value.
    """
    histogram = Histogram.from_values(values)
    scale = radius_scale(epsilon)
    bar = math.ceil(2 * as_float(scale) * -math.log(_FAILURE))
    noisy_bar = noise.laplace(bar, scale)
    for threshold in doubling(base, upper)[1:-1].tolist():
        beyond = histogram.mass - histogram.count_at_most(threshold)
        if noise.laplace(beyond, scale) <= noisy_bar:
            return int(threshold)
    return upper


def radius_scale(epsilon: Fraction) -> Fraction:
    """Noise scale of ``private_radius``."""
    return 2 / epsilon
