"""Estimators: one epsilon-DP release from which any number of intervals is judged.

A decider spends its budget on one interval; an estimator spends it once and then answers for every
interval by post-processing.
"""

from deciders.estimates.estimator import Estimator, Released, inside, outside, within
from deciders.estimates.exponential import ExponentialQuantile
from deciders.estimates.laplace import LaplaceEstimate
from deciders.estimates.majority import MajorityCounts
from deciders.estimates.mean import SumAndCount
from deciders.estimates.race import RaceEstimate
from deciders.estimates.ranks import RankCounts
from deciders.estimates.split import SplitMargins

__all__ = [
    "Estimator",
    "ExponentialQuantile",
    "LaplaceEstimate",
    "MajorityCounts",
    "RaceEstimate",
    "RankCounts",
    "Released",
    "SplitMargins",
    "SumAndCount",
    "inside",
    "outside",
    "within",
]
