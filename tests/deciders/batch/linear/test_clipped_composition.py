"""Clipping points, and the bar that noise exceeds rarely."""

import math
from fractions import Fraction

import numpy as np
import pytest

from pqd.deciders.batch.linear.clipped_composition import ClippedComposition, bar
from pqd.deciders.batch.linear.conditions import Subsets
from pqd.deciders.batch.linear.queries import NumericalQueries
from pqd.deciders.batch.linear.universe import DigitUniverse, Rows
from tests.support.linear_mechanisms import Silent


def test_composition_clips_what_its_search_can_see() -> None:
    """Half a share of 1/2 for four steps among 12 thresholds: noise of scale 16."""
    queries = NumericalQueries(Subsets(np.ones((2, 1), bool)), DigitUniverse(1, 1000))
    few = bar(4, Fraction(16))
    assert few == math.ceil(16 * math.log(40)) == 60
    for large, clipped in ((few, 8), (few + 1, 1024)):
        rows = Rows(np.zeros(400 + large, np.int64), np.array([5] * 400 + [1000] * large))
        released = ClippedComposition(queries=queries).release(rows, 1, Silent())
        assert released.thresholds == (clipped, clipped)
        assert released.answers == (2000 + large * min(1000, clipped),) * 2


@pytest.mark.parametrize("steps", [1, 4, 6])
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(5), Fraction(10**6)])
def test_noise_exceeds_the_bar_in_a_twentieth_at_most(steps: int, scale: Fraction) -> None:
    a = math.exp(-1 / scale)
    beyond = [steps * a ** (whole + 1) / (1 + a) for whole in (bar(steps, scale), 0)]
    assert beyond[0] <= 0.05
    # Not much less, where whole numbers are fine enough.
    assert scale < 1 or beyond[0] > 0.04
