"""A radius that covers nearly all values."""

from fractions import Fraction

import numpy as np

from pqd.deciders.batch.linear.radius import private_radius
from tests.support.linear_mechanisms import Silent


def test_the_radius_covers_nearly_all() -> None:
    values = np.array([0] * 50 + [3] * 500 + [900] * 2)
    assert private_radius(values, 1, 10**6, Fraction(1), Silent()) == 4
    assert private_radius(values, 1, 10**6, Fraction(100), Silent()) == 1024
    assert private_radius(values, 1, 600, Fraction(1000), Silent()) == 600
    assert private_radius(values[:0], 5, 600, Fraction(1), Silent()) == 5
