"""What a decider is, what it returns, and what it knows in public."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol, Self

from deciders.exact import Number
from deciders.histogram import Histogram
from deciders.interval import Interval
from deciders.lattice import Lattice
from deciders.noise import Noise


@dataclass(frozen=True, slots=True)
class Decision:
    """The private output of one decider: all that leaves it about D.

    ``outcome`` is True for yes ("within tolerance").  ``p_value`` and ``margin`` are None for a
    decider that releases neither.
    """

    outcome: bool
    p_value: float | None = None
    margin: int | None = None


class Decider(Protocol):
    """One mechanism of one paper, as a frozen value; lattice units throughout.

    Conformers: LaplaceCount, NaiveExponentialCount, ExponentialCount (deciders/count.py);
    LaplaceSum, RaceToTheTopSum (deciders/sum.py); PlainSparseVectorSum, SparseVectorSum
    (deciders/sparse_vector.py); ExponentialMedian, HistogramMedian (deciders/median.py).

    ``accept`` and ``decide`` take the private histogram; everything else is public.  ``epsilon``
    is any positive number, taken exactly.
    """

    id: ClassVar[str]
    aggregate: ClassVar[str]
    title: ClassVar[str]

    @classmethod
    def on(cls, lattice: Lattice) -> Self:
        """Return the decider for an attribute on ``lattice``; DeciderError if it does not fit."""
        ...

    def accept(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """Return the exact ``Pr[yes]`` on ``histogram``: not private, for analysis only."""
        ...

    def decide(
        self, histogram: Histogram, interval: Interval, epsilon: Number, noise: Noise
    ) -> Decision:
        """Return one epsilon-DP verdict (guarantee and source in each conformer)."""
        ...

    def tau_min(
        self, histogram_public: Histogram, epsilon: Number, alpha: Number
    ) -> "Threshold | None":
        """Return the effectiveness threshold (Def. 3.4) on public data; None: no closed form."""
        ...


@dataclass(frozen=True, slots=True)
class Threshold:
    """An effectiveness threshold: the least tau at which a verdict errs with <= alpha.

    ``tau`` is in lattice units, infinite where no tau suffices at this epsilon.  ``exact`` is
    False for a published upper bound.
    """

    tau: float
    exact: bool


@dataclass(frozen=True, slots=True)
class Boundless:
    """Mix-in of the deciders that need no bounds: those of counts and the noisy histogram."""

    @classmethod
    def on(cls, lattice: Lattice) -> Self:
        """Return the decider; any lattice will do."""
        return cls()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounded:
    """Mix-in of the deciders of sums: the public bounds of the attribute, in lattice units."""

    upper: int
    lower: int = 0

    @classmethod
    def on(cls, lattice: Lattice) -> Self:
        """Return the decider for ``lattice``, the papers' defaults for all else."""
        return cls(lower=lattice.lower_units, upper=lattice.upper_units)

    @property
    def global_sensitivity(self) -> int:
        """Most that one row can change the sum: ``max(|lower|, |upper|)``, at least 1."""
        return max(abs(self.lower), abs(self.upper), 1)

    def noise_scale(self, epsilon: Fraction) -> Fraction:
        """Scale of the Laplace mechanism for the whole sum."""
        return self.global_sensitivity / epsilon
