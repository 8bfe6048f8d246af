"""Effectiveness thresholds as the paper prints them, with the error of each printed value.

The printed values serve to reproduce the paper.  pqd itself uses ``Decider.tau_min``
(docs/errata.md, 1, 2 and 13).
"""

import math
from fractions import Fraction
from functools import lru_cache

from pqd.deciders.exact import Number, as_float, budget_of, positive, probability
from pqd.deciders.histogram import Histogram
from pqd.deciders.single.base import Decider
from pqd.deciders.single.count import ExponentialCount, LaplaceCount, log_odds
from pqd.deciders.single.sum import LaplaceSum, RaceToTheTopSum, TightRaceToTheTopSum


def published_tau(
    decider: Decider, histogram_public: Histogram, epsilon: Number, alpha: Number
) -> float | None:
    """Threshold that the paper prints for ``decider``; None if the paper prints none."""
    match decider:
        case LaplaceCount():
            return laplace_threshold(1 / budget_of(epsilon), alpha)
        case LaplaceSum():
            return laplace_threshold(decider.noise_scale(budget_of(epsilon)), alpha)
        case ExponentialCount():
            return exponential_threshold(epsilon, alpha)
        case TightRaceToTheTopSum():
            largest = histogram_public.largest
            return tight_race_threshold(decider.global_sensitivity, largest, epsilon, alpha)
        case RaceToTheTopSum():
            largest = histogram_public.largest
            return race_threshold(decider.global_sensitivity, largest, epsilon, alpha)
        case _:
            return None


def laplace_threshold(scale: Number, alpha: Number) -> float:
    """``scale ln(1/(2 alpha))`` (Patwa 2023, Props. 4.3 and 5.2; scale is GS/epsilon).

    The printed value is too small: at this tau the false-no rate is 2 alpha, not alpha.  The
    proof's own eq. (24) needs ``scale ln(1/alpha)``.
    """
    level = float(probability(alpha, "alpha"))
    return -as_float(positive(scale, "scale")) * math.log(2 * level)


def exponential_threshold(epsilon: Number, alpha: Number) -> float:
    """``(1/epsilon) ln((1 - alpha)/alpha)`` (Prop. 4.7).  The printed value is exact."""
    return log_odds(alpha) / as_float(budget_of(epsilon))


def race_threshold(
    global_sensitivity: Number, downward_sensitivity: Number, epsilon: Number, alpha: Number
) -> float:
    """``4 log2(GS) ln(log2(GS)/alpha) DS / epsilon`` (Prop. 5.5).

    This is an upper bound, far from tight.  DS is private, so use it only with a public stand-in.
    The bound assumes that R2T runs with ``beta = alpha``.
    """
    logarithm, share = _race_share(global_sensitivity, epsilon, alpha)
    return logarithm * share * float(downward_sensitivity)


def tight_race_threshold(
    global_sensitivity: Number, downward_sensitivity: Number, epsilon: Number, alpha: Number
) -> float:
    """``8 ln(log2(GS)/alpha) DS / epsilon``: Prop. 5.5 with 2 in place of the factor log2(GS).

    The paper does not print it.  Its proof needs no change: only the scales differ, and those of
    ``r2t_sum_tight`` are below ``2 t_j / epsilon``.
    """
    _, share = _race_share(global_sensitivity, epsilon, alpha)
    return 2 * share * float(downward_sensitivity)


# The cache is shared by the queries of one column.
@lru_cache(maxsize=64)
def _race_share(global_sensitivity: Number, epsilon: Number, alpha: Number) -> tuple[float, float]:
    """``log2(GS)`` and ``4 ln(log2(GS)/alpha) / epsilon``."""
    bound = max(Fraction(2), positive(global_sensitivity, "global sensitivity"))
    logarithm, level = math.log2(bound), float(probability(alpha, "alpha"))
    return logarithm, 4 * math.log(logarithm / level) / as_float(budget_of(epsilon))
