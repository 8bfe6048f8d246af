"""Mechanisms that answer a batch of queries: their interface, their output, their budget."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, Self, TypeVar

from pqd.deciders.distributions import SymmetricNoise
from pqd.deciders.errors import ParameterError
from pqd.deciders.exact import Number, as_float, budget_of, exact
from pqd.deciders.monotone_search import bracket, halfway
from pqd.deciders.noise import Noise

Table_contra = TypeVar("Table_contra", contravariant=True)
NoiseLaw = tuple[SymmetricNoise, ...]
# Factor that makes the root safely small, far more than the rounding of doubles.
_MARGIN = 1 - 2.0**-40
_HALVINGS = 100


@dataclass(frozen=True, slots=True)
class BatchOutput:
    """Private output of one batch, in units of the summed values; nothing else leaves a mechanism.

    ``answers`` has one answer for each query.  ``thresholds`` says where the sums were truncated:
    one threshold for all queries, or one for each query, or the same again for the negative side.
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

    Conformers that read exact answers: NoisyAnswers, JointAnswers.  Rows (``LinearMechanism``):
    NoisyClasses, ClippedComposition, Numerical, NumericalInTwoSteps, Normalization,
    GlobalTruncation, DyadicMechanism, SignedMechanism.  A histogram (``RangeSumMechanism``):
    SingleQueries, IdentityMechanism, WorkloadMechanism, TruncationIndependent, TruncationAware.
    """

    @property
    def id(self) -> str:
        """Public name, part of every ledger key."""
        ...

    def release(self, table: Table_contra, /, epsilon: Number, noise: Noise) -> BatchOutput:
        """One epsilon-DP output; each conformer states its guarantee and source."""
        ...

    def noise_law(self, epsilon: Number) -> NoiseLaw | None:
        """Law of the error of each answer; None if the error depends on the rows."""
        ...

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Bound on the scale of all noise that ``release`` draws, in units; public."""
        ...


@dataclass(frozen=True, slots=True)
class PrivacyBudget:
    """Budget (epsilon, delta) to be spent, as exact fractions; delta = 0 means pure epsilon-DP."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    @classmethod
    def of(cls, epsilon: Number, delta: Number = 0) -> "PrivacyBudget":
        """Budget; ParameterError unless epsilon is a valid budget and ``0 <= delta < 1``."""
        failure = exact(delta, "delta")
        if not 0 <= failure < 1:
            raise ParameterError(f"delta is {delta}; it must be at least 0 and below 1")
        return cls(budget_of(epsilon), failure)

    def share(self, mechanisms: int) -> Fraction:
        """Pure budget of each of ``mechanisms``, which may be chosen adaptively.

        With ``delta = 0`` the budget is ``epsilon / k`` (basic composition).  Otherwise it is the
        larger of ``epsilon / k`` and the root e of
        ``e sqrt(2 k ln(1/delta)) + k e (exp(e) - 1) = epsilon``, rounded down (advanced
        composition: Dwork, Rothblum and Vadhan 2010; Qiu 2022, Lemma 2.3).
        """
        plain, whole = self.epsilon / mechanisms, as_float(self.epsilon)
        if not self.delta:
            return plain
        spread = math.sqrt(2 * mechanisms * -math.log(as_float(self.delta)))

        def exceeds(share: float) -> bool:
            return share * spread + mechanisms * share * math.expm1(share) > whole

        most = min(whole / spread, 100.0)
        root, _ = bracket(exceeds, 0.0, most, halfway, halvings=_HALVINGS)
        return max(plain, Fraction(root * _MARGIN))
