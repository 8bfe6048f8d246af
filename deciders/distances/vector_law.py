"""Law of a vector's noise, and of weighted sums of its distances with its number of rows."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from numpy.typing import ArrayLike

from pqd.deciders.distances.combinations import Combination, Term, combination
from pqd.deciders.distances.cube_law import CubeLaw, CubeNoise
from pqd.deciders.distances.noise_laws import NoiseLaw
from pqd.deciders.distributions import Floats


class WeightedNoise(Protocol):
    """Noise of a weighted sum of distances, symmetric with one peak.

    Conformers: IndependentNoise, CubeNoise.
    """

    @property
    def deviation(self) -> float:
        """Standard deviation."""
        ...

    def critical(self, share: float, rows: NoiseLaw, alpha: float) -> float:
        """Value that ``|share Z_n`` minus this noise| exceeds with probability at most alpha.

        The value holds for smaller shares too (docs/theory.md, Theorem D7).
        """
        ...

    def at_least(self, x: ArrayLike, share: float, rows: NoiseLaw) -> Floats:
        """Upper bounds on the chance that ``share Z_n`` minus this noise is x or more."""
        ...

    def __hash__(self) -> int:
        """Hash, by which critical values are cached."""
        ...


@dataclass(frozen=True, slots=True)
class IndependentNoise:
    """Sum of independent noises."""

    terms: tuple[Term, ...]

    @property
    def deviation(self) -> float:
        """Standard deviation."""
        return Combination(self.terms).deviation

    def critical(self, share: float, rows: NoiseLaw, alpha: float) -> float:
        """Value that ``|share Z_n`` minus this noise| exceeds with probability at most alpha."""
        both = Combination(self._with(share, rows), smoothed=True)
        return both.quantile(alpha / 2) + both.added

    def at_least(self, x: ArrayLike, share: float, rows: NoiseLaw) -> Floats:
        """Upper bounds on the chance that ``share Z_n`` minus this noise is x or more."""
        return combination(self._with(share, rows)).at_least(x)

    def _with(self, share: float, rows: NoiseLaw) -> tuple[Term, ...]:
        return (*self.terms, Term(share, 1, rows)) if share else self.terms


class VectorLaw(NamedTuple):
    """Law of the noise of a vector: of its number of rows, and of each of its distances.

    The number of rows is independent of the distances.  The distances are independent of each
    other, or coordinates of one cube noise.
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
