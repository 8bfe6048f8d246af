"""What the exponential-mechanism deciders share: one yes/no choice with given log-odds."""

from deciders.distributions import sigmoid
from deciders.exact import Number
from deciders.histogram import Histogram
from deciders.interval import Interval
from deciders.noise import Noise
from deciders.single.base import Decision


class ChosenByOdds:
    """Mix-in of a decider that defines ``logit``: only whether yes is chosen is released."""

    __slots__ = ()

    def logit(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """Return the log-odds of yes under the exponential mechanism."""
        raise NotImplementedError

    def accept(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """Return ``sigmoid(logit)``, exactly as stable for huge odds as for small ones."""
        return sigmoid(self.logit(histogram, interval, epsilon))

    def decide(
        self, histogram: Histogram, interval: Interval, epsilon: Number, noise: Noise
    ) -> Decision:
        """Return one epsilon-DP verdict; the draw is OpenDP's (``SecureNoise.choose``)."""
        return Decision(noise.choose(self.logit(histogram, interval, epsilon)))
