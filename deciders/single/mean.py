"""AVG as a noisy SUM over a noisy COUNT (Patwa 2023, end of section 6.2).

The inverse-sensitivity decider of a mean is in inverse_sensitivity.py, its margin in margins.py.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from pqd.deciders.bounds import ValueBounds
from pqd.deciders.estimators.base import Estimator, EstimatorOutput
from pqd.deciders.estimators.mean import RatioLaw, SumOverCount
from pqd.deciders.exact import Number, budget_of, probability
from pqd.deciders.histogram import HALF, Histogram
from pqd.deciders.interval import Interval
from pqd.deciders.single.base import DeciderDefaults, GenericDecider


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceMean(GenericDecider, ValueBounds, DeciderDefaults):
    """Algorithm 1 for an average: yes if the noisy sum over the noisy count is in the interval.

    The noise is ``Lap(GS / ((1 - share) epsilon))`` on the sum, ``GS = max(|lower|, |upper|)``, and
    ``Lap(1 / (share epsilon))`` on the count.  The paper gives each "some epsilon"; here each has a
    half.  Without a positive count the verdict is no.

    Guarantee: epsilon-DP by sequential composition (Dwork et al. 2006), as for ``SumOverCount``.
    The guarantee covers both noisy numbers, which are released.  Ratio, verdict and p-value are
    post-processing.
    """

    share: Fraction = HALF

    id: ClassVar[str] = "lm_mean"
    key_fields: ClassVar[tuple[str, ...]] = ("lower", "upper", "step", "share")
    options: ClassVar[tuple[str, ...]] = ("share",)
    aggregate: ClassVar[str] = "AVG"

    def __post_init__(self) -> None:
        """Raise ParameterError unless the share of the count lies between 0 and 1."""
        object.__setattr__(self, "share", probability(self.share, "share"))

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Larger of the scales of the sum and of the count."""
        return self._plain.largest_scale(epsilon)

    @property
    def _plain(self) -> SumOverCount:
        """Estimator with noise in whole units."""
        return SumOverCount(lower=self.lower, upper=self.upper, step=self.step, share=self.share)

    def estimator(self, interval: Interval, epsilon: Number) -> SumOverCount:
        """Estimator of both numbers on the fine grid."""
        return SumOverCount.finely(self.bounds, self.share, epsilon)

    def rule(self, estimator: Estimator, released: EstimatorOutput, interval: Interval) -> bool:
        """Verdict on the ratio before it is cut to the bounds, which ``accept`` assumes too."""
        return estimator.contains(released, estimator.span(interval))

    def accept(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """``Pr[l n~ < S~ < r n~]``."""
        return self.acceptance(histogram, interval)(budget_of(epsilon))

    def acceptance(self, histogram: Histogram, interval: Interval) -> RatioLaw:
        """``accept`` as a function of epsilon; sum and count are taken once."""
        return RatioLaw(histogram.total, histogram.mass, interval, self._plain)
