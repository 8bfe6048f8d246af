"""A privacy budget, and the share of it that each of many mechanisms may spend."""

import math
from dataclasses import dataclass
from fractions import Fraction

from pqd.deciders.errors import ParameterError
from pqd.deciders.exact import Number, as_float, budget_of, exact
from pqd.deciders.monotone_search import bracket, halfway

# Factor that keeps the root on the safe side, far above the rounding of doubles.
_MARGIN = 1 - 2.0**-40
_HALVINGS = 100


@dataclass(frozen=True, slots=True)
class PrivacyBudget:
    """An (epsilon, delta) to be spent, as exact fractions; delta = 0 means pure epsilon-DP."""

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

        With ``delta = 0`` it is ``epsilon / k`` (basic composition).  Otherwise it is the larger of
        that and the root e of ``e sqrt(2 k ln(1/delta)) + k e (exp(e) - 1) = epsilon`` (advanced
        composition: Dwork, Rothblum and Vadhan 2010; Qiu 2022, Lemma 2.3), rounded down.
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
