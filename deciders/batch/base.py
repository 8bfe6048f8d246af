"""Mechanisms that answer a batch of queries, and the private output that leaves them."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, Self, TypeVar

from pqd.deciders.distribution_sums import NoiseSum
from pqd.deciders.exact import Number
from pqd.deciders.noise import Noise

Table_contra = TypeVar("Table_contra", contravariant=True)
NoiseLaw = tuple[NoiseSum, ...]


@dataclass(frozen=True, slots=True)
class BatchOutput:
    """Private output of one batch, in units of the summed values: all that leaves a mechanism.

    ``answers`` has one answer for each query.  ``thresholds`` are where the sums were truncated:
    one for all queries, or one for each query, or both again for the negative side.
    ``deviations`` are the standard deviations of the answers' noise, given the thresholds.  None
    means that the mechanism has no thresholds, or no deviations.
    """

    answers: tuple[float, ...]
    thresholds: tuple[int, ...] | None = None
    deviations: tuple[float, ...] | None = None

    @classmethod
    def of(
        cls,
        answers: Iterable[float],
        thresholds: Iterable[int] | None = None,
        deviations: Iterable[float] | None = None,
    ) -> Self:
        """Output with numbers of any type, including arrays."""
        return cls(
            tuple(map(float, answers)),
            None if thresholds is None else tuple(map(int, thresholds)),
            None if deviations is None else tuple(map(float, deviations)),
        )


class BatchMechanism(Protocol[Table_contra]):
    """One way to answer a batch, as a frozen value; it reads rows, a histogram or exact answers.

    Conformers that read exact answers: NoisyAnswers.  Rows (``LinearMechanism``): NoisyClasses,
    ClippedComposition, Numerical, NumericalInTwoSteps, Normalization, GlobalTruncation,
    DyadicMechanism, SignedMechanism.  A histogram (``RangeSumMechanism``): SingleQueries,
    IdentityMechanism, WorkloadMechanism, TruncationIndependent, TruncationAware.
    """

    @property
    def id(self) -> str:
        """Public name, part of every ledger key."""
        ...

    def release(self, table: Table_contra, /, epsilon: Number, noise: Noise) -> BatchOutput:
        """One epsilon-DP output (guarantee and source in each conformer)."""
        ...

    def noise_law(self, epsilon: Number) -> NoiseLaw | None:
        """Law of each answer's error; None if it depends on the rows."""
        ...

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Bound on the scale of all noise that ``release`` draws, in units; public."""
        ...
