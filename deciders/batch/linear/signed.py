"""Values of either sign: one mechanism for each side of 0 (Qiu 2022, section 5)."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pqd.deciders.batch.base import BatchOutput
from pqd.deciders.batch.linear.mechanism import LinearMechanism
from pqd.deciders.batch.linear.universe import Rows
from pqd.deciders.distributions import NoiseSum
from pqd.deciders.exact import Number
from pqd.deciders.noise import Noise


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedMechanism:
    """``w = w+ - w-``, where the sign is the sign of ``g``: one mechanism for each side of 0.

    A row's level is ``g``.  ``positive`` sees the rows with ``g > 0``.  ``negative`` sees the rows
    with ``g < 0``, as ``-g``.

    Guarantee: (epsilon, delta)-DP, with the whole budget on each side (ours).  A row lies on one
    side.  So adding or removing it does not change the other side (parallel composition, McSherry
    2009).  This does not hold for a replaced row, which may move to the other side.
    """

    positive: LinearMechanism
    negative: LinearMechanism

    @property
    def id(self) -> str:
        """Name of the mechanism, which is the same on both sides."""
        return self.positive.id

    def release(self, rows: Rows, epsilon: Number, noise: Noise, delta: Number = 0) -> BatchOutput:
        """Differences of the two sides; the thresholds of the positive side come first."""
        sides = []
        for mechanism, sign in ((self.positive, 1), (self.negative, -1)):
            levels = sign * rows.levels
            side = Rows(rows.classes[levels > 0], levels[levels > 0])
            sides.append(mechanism.release(side, epsilon, noise, delta))
        plus, minus = sides
        thresholds = deviations = None
        if plus.thresholds is not None and minus.thresholds is not None:
            thresholds = plus.thresholds + minus.thresholds
        if plus.deviations is not None and minus.deviations is not None:
            deviations = np.hypot(plus.deviations, minus.deviations)
        return BatchOutput.of(np.subtract(plus.answers, minus.answers), thresholds, deviations)

    def noise_law(self, epsilon: Number) -> tuple[NoiseSum, ...] | None:
        """Law of the draws of both sides together, each draw at the larger scale of the two.

        A sum of symmetric noises with one peak reaches farther if one of the noises does.  So
        tails stay upper bounds.
        """
        plus, minus = (side.noise_law(epsilon) for side in (self.positive, self.negative))
        if plus is None or minus is None:
            return None
        pairs = [
            (one.count + other.count, max(one.scale, other.scale))
            for one, other in zip(plus, minus, strict=True)
        ]
        laws = {pair: NoiseSum(*pair) for pair in pairs}
        return tuple(laws[pair] for pair in pairs)

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Larger scale of the two sides."""
        return max(side.largest_scale(epsilon) for side in (self.positive, self.negative))
