"""Mechanisms for a batch of numerical queries; some mechanisms release a distribution."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from pqd.deciders.batch.base import BatchMechanism, BatchOutput
from pqd.deciders.batch.linear.multiplicative_weights import GroupedWeights
from pqd.deciders.batch.linear.queries import NumericalQueries
from pqd.deciders.batch.linear.universe import Rows
from pqd.deciders.distributions import Floats, NoiseSum
from pqd.deciders.exact import Number
from pqd.deciders.histogram import Integers
from pqd.deciders.noise import Noise


class LinearMechanism(BatchMechanism[Rows], Protocol):
    """Batch mechanism that reads rows, with pure or approximate differential privacy.

    Conformers: NoisyClasses, ClippedComposition, Numerical, NumericalInTwoSteps, Normalization,
    GlobalTruncation, RadiusFirst, DyadicMechanism, SignedMechanism.
    """

    def release(
        self, table: Rows, /, epsilon: Number, noise: Noise, delta: Number = 0
    ) -> BatchOutput:
        """One (epsilon, delta)-DP output."""
        ...

    def noise_law(self, epsilon: Number) -> tuple[NoiseSum, ...] | None:
        """Law of the error of each answer; None if the error depends on the rows."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class DistributionFit:
    """Private distribution on the universe, and the answers on it.

    ``answers`` and ``thresholds`` have the shape (queries,).  ``distribution`` holds the weight of
    each cell.  ``alpha`` is the error of the linear queries, or None if it is not measured.
    """

    answers: Floats
    thresholds: Integers
    distribution: GroupedWeights
    alpha: float | None = None


class FittingMechanism(LinearMechanism, Protocol):
    """Linear mechanism that answers on a private distribution.

    Conformers: Numerical, NumericalInTwoSteps, Normalization, GlobalTruncation, RadiusFirst.
    """

    @property
    def queries(self) -> NumericalQueries:
        """Queries that are answered."""
        ...

    def size_budget(self, epsilon: Fraction) -> Fraction:
        """Part of ``epsilon`` that pays for the number of cells."""
        ...

    def fit(self, rows: Rows, epsilon: Number, noise: Noise, delta: Number = 0) -> DistributionFit:
        """One (epsilon, delta)-DP distribution, with the answers on it."""
        ...


class DistributionMechanism(ABC):
    """Mix-in of the mechanisms that answer on a private distribution."""

    __slots__ = ()

    @abstractmethod
    def fit(self, rows: Rows, epsilon: Number, noise: Noise, delta: Number = 0) -> DistributionFit:
        """One (epsilon, delta)-DP distribution, with the answers on it."""

    def release(self, rows: Rows, epsilon: Number, noise: Noise, delta: Number = 0) -> BatchOutput:
        """Answers and thresholds of one fit, by post-processing."""
        fit = self.fit(rows, epsilon, noise, delta)
        return BatchOutput.of(fit.answers, fit.thresholds)

    def noise_law(self, epsilon: Number) -> None:
        """None, because the errors of a distribution depend on the rows."""
        return
