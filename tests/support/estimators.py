"""Estimators, tables and noise that the tests of estimators share."""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from pqd.deciders import (
    Histogram,
    Interval,
    answer,
)
from pqd.deciders.estimators import (
    Estimator,
    EstimatorOutput,
    LaplaceEstimate,
    RaceEstimate,
    inside,
)
from pqd.deciders.exact import Number
from pqd.deciders.histogram import EMPTY
from tests.support.drawing import fractions
from tests.support.noises import Silent

HALF = Fraction(1, 2)


QUANTILES = st.sampled_from([HALF, Fraction(9, 10), Fraction(1, 4), Fraction(1, 3)])


COUNTS = LaplaceEstimate(aggregate="COUNT")


def released(*numbers: int) -> EstimatorOutput:
    return EstimatorOutput(numbers)


def ends_of(
    estimator: Estimator, found: EstimatorOutput, epsilon: Number, alpha: Number
) -> tuple[float, float]:
    """The ends of the confidence, infinite where there is none."""
    low, high = estimator.confidence(found, epsilon, alpha)
    return -math.inf if low is None else float(low), math.inf if high is None else float(high)


VALUES = st.lists(st.integers(-6, 9), max_size=14)


ENDS, WIDTHS = fractions(-8, 11, 6), fractions("1/6", 12, 6)


@st.composite
def intervals(draw: st.DrawFn, shift: int = 0) -> Interval:
    low = draw(ENDS)
    return Interval(low + shift, low + shift + draw(WIDTHS))


def says(estimator: Estimator, histogram: Histogram, interval: Interval) -> bool:
    return inside(estimator, estimator.release(histogram, 1, Silent()), interval)


def holds(aggregate: str, histogram: Histogram, interval: Interval, p: Fraction = HALF) -> bool:
    true = answer(aggregate, histogram, p)
    return true is not None and interval.contains(true)


def chances_of(scale: Fraction, reach: int) -> list[tuple[int, float]]:
    a = math.exp(-1 / scale)
    return [(z, (1 - a) / (1 + a) * a ** abs(z)) for z in range(-reach, reach + 1)]


def summed(
    estimator: Estimator,
    statistics: Sequence[int],
    scales: Sequence[Fraction],
    reaches: Sequence[int],
    interval: Interval,
) -> float:
    """The yes-rate, by going through all noises that have any chance."""
    noises = (chances_of(*part) for part in zip(scales, reaches, strict=True))
    total = []
    for drawn in itertools.product(*noises):
        numbers = tuple(s + z for s, (z, _) in zip(statistics, drawn, strict=True))
        if inside(estimator, EstimatorOutput(numbers), interval):
            total.append(math.prod(chance for _, chance in drawn))
    return math.fsum(total)


def level_of(p_values: Sequence[float], chances: Sequence[float], alpha: float) -> float:
    """How often a claim is made at ``alpha``."""
    return math.fsum(np.asarray(chances)[np.asarray(p_values) <= alpha])


def scales_of(estimator: Estimator, epsilon: float) -> list[Fraction]:
    """The scales that a release draws, in units of the answer."""
    if isinstance(estimator, RaceEstimate):
        return list(estimator.scales(epsilon))
    silent = Silent()
    estimator.release(EMPTY, epsilon, silent)
    return silent.scales
