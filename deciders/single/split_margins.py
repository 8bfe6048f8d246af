"""Split margins: an inverse-sensitivity margin for each interval, at equal shares of a budget."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from pqd.deciders.estimators.base import EstimatorOutput
from pqd.deciders.exact import Number, budget_of
from pqd.deciders.histogram import Histogram
from pqd.deciders.interval import Interval
from pqd.deciders.noise import Noise
from pqd.deciders.single.base import Decision
from pqd.deciders.single.inverse_sensitivity import InverseSensitivity, verdict_of


@dataclass(frozen=True, slots=True)
class SplitMargins:
    """Noisy margins of the k ``intervals``, each margin at the budget ``epsilon / k``.

    Guarantee: epsilon-DP by sequential composition (Dwork et al. 2006).  ``decider`` releases each
    margin (deciders/single/inverse_sensitivity.py).  Without intervals nothing is released.
    """

    decider: InverseSensitivity
    intervals: tuple[Interval, ...]

    id: ClassVar[str] = "split"
    key_fields: ClassVar[tuple[str, ...]] = ("intervals",)
    exact: ClassVar[bool] = True

    def share(self, epsilon: Number) -> Fraction:
        """Budget of one interval."""
        return budget_of(epsilon) / max(1, len(self.intervals))

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Noise scale of each margin."""
        return 1 / self.share(epsilon)

    def release(self, histogram: Histogram, epsilon: Number, noise: Noise) -> EstimatorOutput:
        """Noisy margins, one for each interval."""
        scale = self.largest_scale(epsilon)
        margins = (int(self.decider.margin(histogram, interval)) for interval in self.intervals)
        return EstimatorOutput(tuple(noise.laplace(margin, scale) for margin in margins))

    def decision(self, released: EstimatorOutput, interval: Interval, epsilon: Number) -> Decision:
        """Verdict on one interval; ``intervals`` has no interval with a constant verdict."""
        answer = self.decider.constant_verdict(interval)
        if answer is not None:
            return Decision(answer, p_value=0.0)
        noisy = released.numbers[self.intervals.index(interval)]
        return verdict_of(noisy, self.share(epsilon))
