"""Noise on all answers of a batch together: the K-norm mechanism of the largest answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from pqd.deciders.batch.base import BatchOutput, NoiseLaw
from pqd.deciders.cube_noise import cube_radius
from pqd.deciders.distances.cube_law import CubeLaw
from pqd.deciders.distributions import SymmetricNoise
from pqd.deciders.exact import Number, budget_of
from pqd.deciders.noise import Noise


@dataclass(frozen=True)
class CubeError(SymmetricNoise):
    """Law of one coordinate of cube noise of K = ``numbers`` coordinates."""

    numbers: int
    scale: Fraction

    def _tail(self, x: int) -> float:
        return CubeLaw(self.numbers, self.scale).tail(x)


@dataclass(frozen=True, slots=True)
class JointAnswers:
    """Noise on all answers, which depends on the largest of its coordinates (cube noise).

    Guarantee: epsilon-DP (Hardt and Talwar 2010, the K-norm of the cube), if adding or removing one
    row or person moves each answer by at most ``top``.  There are ``queries`` answers, which are
    whole numbers.  Noise z has a probability proportional to ``exp(-epsilon max|z_j| / top)``, and
    a neighbour moves ``max|z_j|`` by at most ``top`` (triangle inequality).

    How many answers one row moves does not matter.  ``NoisyAnswers`` pays for each of them: where
    one row or person can move all K answers, each has discrete Laplace noise of scale
    ``K top / epsilon``.  Cube noise has half its mean error, and 95 % of it is within a third.
    """

    queries: int
    top: int

    id: ClassVar[str] = "joint"

    def scale(self, epsilon: Number) -> Fraction:
        """Scale of the largest coordinate of the noise."""
        return self.top / budget_of(epsilon)

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Bound on the scales that are drawn, including the proposed radius."""
        scale = self.scale(epsilon)
        return max(scale, cube_radius(self.queries, scale).spread)

    def release(self, answers: Sequence[int], epsilon: Number, noise: Noise) -> BatchOutput:
        """Answers with noise."""
        scale = self.scale(epsilon)
        deviation = CubeLaw(self.queries, scale).deviation
        noisy = noise.cube(answers, scale)
        return BatchOutput.of(noisy, deviations=[deviation] * len(noisy))

    def noise_law(self, epsilon: Number) -> NoiseLaw:
        """Law of one coordinate, which is the noise of each answer."""
        return (CubeError(self.queries, self.scale(epsilon)),) * self.queries
