"""Estimators: one epsilon-DP release that answers for any number of intervals.

A decider spends its budget on one interval.  An estimator spends its budget once and then answers
for every interval by post-processing.
"""

from pqd.deciders.estimators.base import Estimator, EstimatorOutput, inside, outside, within
from pqd.deciders.estimators.exponential import ExponentialQuantile
from pqd.deciders.estimators.laplace import LaplaceEstimate
from pqd.deciders.estimators.majority import MajorityCounts
from pqd.deciders.estimators.mean import SumAndCount, SumOverCount
from pqd.deciders.estimators.race_to_the_top import RaceEstimate
from pqd.deciders.estimators.ranks import RankCounts

__all__ = [
    "Estimator",
    "EstimatorOutput",
    "ExponentialQuantile",
    "LaplaceEstimate",
    "MajorityCounts",
    "RaceEstimate",
    "RankCounts",
    "SumAndCount",
    "SumOverCount",
    "inside",
    "outside",
    "within",
]
