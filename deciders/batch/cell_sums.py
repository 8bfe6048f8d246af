"""Answers as sums of noisy cells: a batch with one noise vector for several measures (ours)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from pqd.deciders.batch.base import BatchOutput, NoiseLaw
from pqd.deciders.batch.joint import CubeError, JointAnswers
from pqd.deciders.distances.cube_law import CubeLaw, CubeNoise
from pqd.deciders.distances.noise_laws import UniformLaw
from pqd.deciders.distributions import NoiseSum, SymmetricNoise, noise_variance
from pqd.deciders.exact import Number, as_float, budget_of
from pqd.deciders.histogram import Integers
from pqd.deciders.noise import Noise


@dataclass(frozen=True, slots=True, eq=False)
class CellSum:
    """Answer as ``(sum of the cells plus - sum of the cells minus) / divisor``.

    ``plus`` and ``minus`` are places of different cells; ``divisor`` is a whole number.
    """

    plus: Integers
    minus: Integers
    divisor: int

    @classmethod
    def of(cls, plus: Sequence[int], minus: Sequence[int], divisor: int) -> CellSum:
        """Sum of cells, given their places in lists."""
        return cls(np.array(plus, np.int64), np.array(minus, np.int64), divisor)

    @property
    def draws(self) -> int:
        """Number of cells."""
        return self.plus.size + self.minus.size

    def value(self, cells: NDArray[np.object_]) -> float:
        """Answer, given all ``cells`` as Python integers, rounded once."""
        total = int(cells[self.plus].sum()) - int(cells[self.minus].sum())
        return as_float(Fraction(total, self.divisor))


def _answers(sums: Sequence[CellSum], noisy: Sequence[int], deviation: float) -> BatchOutput:
    """Answers from the ``noisy`` cells, and their deviations, given that of one cell."""
    cells = np.array(noisy, object)
    deviations = [math.sqrt(each.draws) * deviation / each.divisor for each in sums]
    return BatchOutput.of([each.value(cells) for each in sums], deviations=deviations)


@dataclass(frozen=True)
class PartNoise(SymmetricNoise):
    """Law of ``round(a + Z / divisor) - a`` for a whole number a and the ``whole`` noise Z.

    It is x or more only if Z is at least ``divisor (x - 1/2)``.
    """

    whole: SymmetricNoise
    divisor: int

    @property
    def is_silent(self) -> bool:
        """Whether Z is 0 always."""
        return self.whole.is_silent

    def _tail(self, x: int) -> float:
        return self.whole.at_least(-(-self.divisor * (2 * x - 1) // 2))


@dataclass(frozen=True)
class CubePairError(SymmetricNoise):
    """Law of the sum of two coordinates of cube noise of K = ``numbers`` coordinates.

    Given the radius it is a sum of two independent uniform laws, so it has one peak.
    """

    numbers: int
    scale: Fraction

    def _tail(self, x: int) -> float:
        noise = CubeNoise(CubeLaw(self.numbers, self.scale), ((1.0, 2),))
        return float(noise.at_least([x], 0.0, UniformLaw())[0])


@dataclass(frozen=True, slots=True)
class NoisyCells:
    """Discrete Laplace noise on each of ``cells`` whole numbers, and answers as sums of them.

    Guarantee: epsilon-DP (Dwork et al. 2006), if adding or removing one row or person moves the
    cells by at most ``norm`` in total.  Each cell has noise of scale ``norm / epsilon``.  The rest
    is post-processing.  ``id`` is that of the mechanism whose cells these are.
    """

    id: str
    cells: int
    norm: int
    sums: tuple[CellSum, ...]

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Scale of the noise."""
        return self.norm / budget_of(epsilon)

    def release(self, cells: Sequence[int], epsilon: Number, noise: Noise) -> BatchOutput:
        """Answers, each with its deviation."""
        scale = self.largest_scale(epsilon)
        noisy = [noise.laplace(cell, scale) for cell in cells]
        return _answers(self.sums, noisy, math.sqrt(noise_variance(scale)))

    def noise_law(self, epsilon: Number) -> NoiseLaw:
        """Law of the error of each answer, rounded to a whole number."""
        scale = self.largest_scale(epsilon)
        # Equal sums share one law, because its tails are computed on first use.
        law = cache(lambda draws, divisor: PartNoise(NoiseSum(draws, scale), divisor))
        return tuple(law(each.draws, each.divisor) for each in self.sums)


@dataclass(frozen=True, slots=True)
class JointCells:
    """Cube noise on all of ``cells`` whole numbers, and answers as sums of one or two of them.

    Guarantee: epsilon-DP as ``JointAnswers``, if adding or removing one row or person moves each
    cell by at most ``top``.  The rest is post-processing.
    """

    cells: int
    top: int
    sums: tuple[CellSum, ...]

    @property
    def id(self) -> str:
        """Name of joint noise."""
        return self._answers.id

    @property
    def _answers(self) -> JointAnswers:
        return JointAnswers(self.cells, self.top)

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Bound on the scales that are drawn."""
        return self._answers.largest_scale(epsilon)

    def release(self, cells: Sequence[int], epsilon: Number, noise: Noise) -> BatchOutput:
        """Answers, each with its deviation."""
        scale = self._answers.scale(epsilon)
        return _answers(self.sums, noise.cube(cells, scale), CubeLaw(self.cells, scale).deviation)

    def noise_law(self, epsilon: Number) -> NoiseLaw:
        """Law of the error of each answer, rounded to a whole number."""
        scale = self._answers.scale(epsilon)
        kinds = {1: CubeError(self.cells, scale), 2: CubePairError(self.cells, scale)}
        return tuple(PartNoise(kinds[each.draws], each.divisor) for each in self.sums)
