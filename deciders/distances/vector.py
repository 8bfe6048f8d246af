"""Release of K distances and of the number of rows, all together.

Estimates, intervals, verdicts at any tolerance and means are post-processing of these K + 1 whole
numbers (estimates.py).  ``numbers[0]`` is the number of rows.  The other numbers are the distances
in whole rows (docs/theory.md, Theorems D5 and D6).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, NamedTuple

from numpy.typing import ArrayLike

from pqd.deciders.cube_noise import cube_radius
from pqd.deciders.distances.combinations import Combination, Term, combination
from pqd.deciders.distances.cube_law import CubeLaw, CubeNoise
from pqd.deciders.distances.noise_laws import GaussianLaw, LaplaceLaw, NoiseLaw
from pqd.deciders.distances.statistics import whole_rows
from pqd.deciders.distributions import Floats
from pqd.deciders.errors import ParameterError
from pqd.deciders.exact import Number, budget_of, positive
from pqd.deciders.noise import Noise

# A square root is rounded up at this binary digit.
_DIGITS = 64


@dataclass(frozen=True, slots=True)
class IndependentNoise:
    """Sum of independent noises."""

    terms: tuple[Term, ...]

    @property
    def deviation(self) -> float:
        """Standard deviation."""
        return Combination(self.terms).deviation

    def critical(self, share: float, rows: NoiseLaw, alpha: float) -> float:
        """Value that ``|share Z_n - this noise|`` exceeds with probability at most alpha."""
        both = Combination(self._with(share, rows), smoothed=True)
        return both.quantile(alpha / 2) + both.added

    def at_least(self, x: ArrayLike, share: float, rows: NoiseLaw) -> Floats:
        """Upper bounds on the chance that ``share Z_n - this noise`` is x or more."""
        return combination(self._with(share, rows)).at_least(x)

    def _with(self, share: float, rows: NoiseLaw) -> tuple[Term, ...]:
        return (*self.terms, Term(share, 1, rows)) if share else self.terms


# Noise of a weighted sum of distances, which is symmetric with one peak.  ``critical`` of a share
# also holds for smaller shares (docs/theory.md, Theorem D7).
WeightedNoise = IndependentNoise | CubeNoise


class VectorLaw(NamedTuple):
    """Law of the noise of a vector: of its number of rows, and of each of its distances.

    The number of rows is independent of the distances.  The distances are independent of each
    other, or they are coordinates of one cube noise.
    """

    rows: NoiseLaw
    distance: NoiseLaw | CubeLaw

    def weighted(self, weights: Iterable[float]) -> WeightedNoise:
        """Noise of a weighted sum of different distances; the signs of weights do not matter."""
        counts: dict[float, int] = {}
        for weight in weights:
            if weight:
                counts[abs(float(weight))] = counts.get(abs(float(weight)), 0) + 1
        groups = tuple(sorted(counts.items()))
        if isinstance(self.distance, CubeLaw):
            return CubeNoise(self.distance, groups)
        law = self.distance
        return IndependentNoise(tuple(Term(weight, count, law) for weight, count in groups))


def rows_share(numbers: int) -> Fraction:
    """Part of the budget that pays for the number of rows, beside ``numbers`` distances.

    Every figure is divided by the number of rows.  For example, let a distance be a fifth of the
    rows.  Then the noise of the number of rows has a fifth of the effect that the distance's own
    noise has.  The noise of a distance grows with the number of distances, but the noise of the
    number of rows does not.  So with few distances the number of rows needs a larger part.  The
    part is a fifth beside one distance, and a twentieth beside sixteen or more.
    """
    return max(Fraction(1, 20), Fraction(1, numbers + 4))


@dataclass(frozen=True, slots=True)
class CubeVector:
    """K distances by the K-norm mechanism of their largest, and the number of rows by Laplace.

    Guarantee: epsilon-DP (Hardt and Talwar 2010).  One row moves each distance, in whole rows, by
    at most 1.  So it moves the vector by at most 1 in the largest coordinate, at scale ``1/e_d``.
    It moves the number of rows by 1, at scale ``1/e_n``.  Together they cost
    ``e_n + e_d = epsilon`` (Theorem D5).

    The alternative is discrete Laplace noise on each distance, at a K-th of the budget.  For many
    distances this mechanism has half the mean error of the alternative, and no long tails.
    """

    numbers: int

    id: ClassVar[str] = "cube_vector"
    key_fields: ClassVar[tuple[str, ...]] = ("numbers",)

    def __post_init__(self) -> None:
        """Raise ParameterError unless there is a distance."""
        _check_numbers(self.numbers)

    def shares(self, epsilon: Number) -> tuple[Fraction, Fraction]:
        """Epsilon of the number of rows, and epsilon of all distances together."""
        budget = budget_of(epsilon)
        share = rows_share(self.numbers)
        return share * budget, (1 - share) * budget

    def release(
        self, rows: Sequence[Fraction], n: int, epsilon: Number, noise: Noise
    ) -> tuple[int, ...]:
        """Noisy number of rows, then every noisy distance, in whole rows."""
        _check_length(rows, self.numbers)
        of_rows, of_all = self.shares(epsilon)
        noisy = noise.laplace(n, 1 / of_rows)
        return noisy, *noise.cube([whole_rows(each) for each in rows], 1 / of_all)

    def law(self, epsilon: Number) -> VectorLaw:
        """Law of the noise."""
        of_rows, of_all = self.shares(epsilon)
        return VectorLaw(LaplaceLaw(1 / of_rows), CubeLaw(self.numbers, 1 / of_all))

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Largest noise scale that is drawn, including the scale of a proposed radius."""
        of_rows, of_all = self.shares(epsilon)
        return max(1 / of_rows, 1 / of_all, cube_radius(self.numbers, 1 / of_all).spread)


@dataclass(frozen=True, slots=True)
class GaussianVector:
    """K distances and the number of rows by the discrete Gaussian mechanism.

    Guarantee: rho-zCDP if a person changes up to ``rows`` rows (Canonne, Kamath and Steinke 2020,
    Theorem 14).  A person moves the number of rows and each distance by at most ``rows``.  At
    deviations sigma_n and sigma_d the cost is
    ``rows^2 / (2 sigma_n^2) + K rows^2 / (2 sigma_d^2)``, which is rho.
    """

    numbers: int
    rows: int = 1

    id: ClassVar[str] = "gaussian_vector"
    key_fields: ClassVar[tuple[str, ...]] = ("numbers", "rows")

    def __post_init__(self) -> None:
        """Raise ParameterError unless there is a distance, and a row that changes."""
        _check_numbers(self.numbers)
        if self.rows < 1:
            raise ParameterError(f"a person changes {self.rows} rows; at least 1 is needed")

    def sigmas(self, rho: Number) -> tuple[Fraction, Fraction]:
        """Deviations of the number of rows and of each distance, rounded up."""
        budget, squared = positive(rho, "rho"), Fraction(self.rows) ** 2
        share = rows_share(self.numbers)
        of_rows = squared / (2 * share * budget)
        of_each = self.numbers * squared / (2 * (1 - share) * budget)
        return _root_above(of_rows), _root_above(of_each)

    def release(
        self, rows: Sequence[Fraction], n: int, rho: Number, noise: Noise
    ) -> tuple[int, ...]:
        """Noisy number of rows, then every noisy distance, in whole rows."""
        _check_length(rows, self.numbers)
        of_rows, of_each = self.sigmas(rho)
        distances = (noise.gaussian(whole_rows(each), of_each) for each in rows)
        return noise.gaussian(n, of_rows), *distances

    def law(self, rho: Number) -> VectorLaw:
        """Law of the noise."""
        of_rows, of_each = self.sigmas(rho)
        return VectorLaw(GaussianLaw(of_rows), GaussianLaw(of_each))

    def largest_scale(self, rho: Number) -> Fraction:
        """Largest deviation."""
        return max(self.sigmas(rho))


def _check_numbers(numbers: int) -> None:
    if numbers < 1:
        raise ParameterError(f"a vector of {numbers} distances; at least 1 is needed")


def _check_length(rows: Sequence[Fraction], numbers: int) -> None:
    if len(rows) != numbers:
        raise ParameterError(f"{len(rows)} distances for a vector of {numbers}")


def _root_above(square: Fraction) -> Fraction:
    """Fraction slightly above the square root of ``square``."""
    scaled = math.ceil(square * 4**_DIGITS)
    return Fraction(math.isqrt(scaled - 1) + 1, 2**_DIGITS)
