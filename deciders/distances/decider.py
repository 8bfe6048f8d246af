"""Decider of one distance against one tolerance: the inverse-sensitivity margin of section 3.

Let a distance have T rows among n, and let tau be the tolerance.  Then ``G = tau n - T`` is above
0 exactly if ``T / n < tau``.  One row moves n by 1 and T by at most 1.  So it moves G by at most
``1 + tau``, and the margin ``ceil(G / (1 + tau))`` by at most 1.  So the margin is a whole number
of sensitivity 1, and it is at least 1 exactly if the truth is yes (docs/theory.md, Theorem D4).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from pqd.deciders.distributions import noise_tail
from pqd.deciders.evaluation.effectiveness import ErrorRates, Threshold
from pqd.deciders.evaluation.needed_budget import rounded_epsilon
from pqd.deciders.exact import Number, as_float, budget_of, probability
from pqd.deciders.noise import Noise
from pqd.deciders.single.base import Decision
from pqd.deciders.single.inverse_sensitivity import MarginLaw, deciding_epsilon, verdict_of


@dataclass(frozen=True, slots=True)
class DistanceDecider:
    """Decider of "the distance is below ``tau``", where tau is a share of the rows in 0 .. 1.

    Guarantee: epsilon-DP (Theorem D4 and Theorem 1).  A table without rows is a no.
    """

    id: ClassVar[str] = "inv_distance"
    key_fields: ClassVar[tuple[str, ...]] = ()

    def margin(self, rows: Fraction, n: int, tau: Number) -> int:
        """Margin of a distance of ``rows`` among ``n``; it is at least 1 exactly for a yes."""
        share = probability(tau, "tau")
        return math.ceil((share * n - rows) / (1 + share))

    def accept(self, rows: Fraction, n: int, tau: Number, epsilon: Number) -> float:
        """Exact ``Pr[yes]``; not private, for analysis only."""
        s = self.margin(rows, n, tau)
        wrong = noise_tail(max(s, 1 - s), 1 / budget_of(epsilon))
        return 1 - wrong if s >= 1 else wrong

    def decide(
        self, rows: Fraction, n: int, tau: Number, epsilon: Number, noise: Noise
    ) -> Decision:
        """One epsilon-DP verdict with its noisy margin and p-value."""
        budget = budget_of(epsilon)
        return verdict_of(noise.laplace(self.margin(rows, n, tau), 1 / budget), budget)

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Scale of the noise; public."""
        return 1 / budget_of(epsilon)

    def error_rates(self, n: int, tau: Number, epsilon: Number) -> ErrorRates:
        """Chances of a no at a distance of 0, and of a yes at 2 tau, among ``n`` public rows."""
        share = probability(tau, "tau")
        false_no = 1 - self.accept(Fraction(0), n, share, epsilon)
        return ErrorRates(false_no, self.accept(2 * share * n, n, share, epsilon))

    def decision_chance(self, n: int, tau: Number, epsilon: Number, alpha: Number) -> float:
        """Least chance of a right verdict with a p-value of at most alpha, as ``error_rates``."""
        near, far = self._laws(n, tau)
        budget = budget_of(epsilon)
        return min(near.proof_chance(budget, alpha), far.refutation_chance(budget, alpha))

    def needed_epsilon(self, n: int, tau: Number, alpha: Number) -> float:
        """Least epsilon that decides, rounded up to three digits; infinite if none does."""
        near, far = self._laws(n, tau)
        return rounded_epsilon(deciding_epsilon(min(near.distance, 1 - far.distance), alpha))

    def _laws(self, n: int, tau: Number) -> tuple[MarginLaw, MarginLaw]:
        """Laws at a distance of 0, and at 2 tau, among ``n`` public rows."""
        share = probability(tau, "tau")
        return MarginLaw(self.margin(Fraction(0), n, share)), MarginLaw(
            self.margin(2 * share * n, n, share)
        )

    def tau_min(self, n: int, epsilon: Number, alpha: Number) -> Threshold:
        """Effectiveness threshold (Def. 3.4) among ``n`` rows; a closed form, as a share.

        With ``k = _clear(epsilon, alpha)``, both errors are at most alpha exactly if ``tau n`` is
        above ``(k - 1)(1 + tau)``.  The threshold is the next double.  It is infinite if it would
        be 1 or more, and 0 if every tolerance can be decided.
        """
        k = _clear(epsilon, probability(alpha, "alpha"))
        if k == 1:
            return Threshold(0.0, exact=True)
        least = self._least_tolerance(k - 1, n)
        if least is None:
            return Threshold(math.inf, exact=True)
        return Threshold(_above(least), exact=True)

    def _least_tolerance(self, rows: int, n: int) -> Fraction | None:
        """Tolerance above which ``tau n / (1 + tau)`` exceeds ``rows``; None if it is 1 or more."""
        return None if n <= 2 * rows else Fraction(rows, n - rows)

    def people(self, decision: Decision, epsilon: Number, alpha: Number) -> int:
        """Lower bound on the people whose rows must be added or removed to change the truth.

        The number and the outcome are both right with probability at least 1 - alpha.  The margin
        is never above the true number (Theorem D4).  The noise raises or lowers the margin by k or
        more with probability at most alpha in total.  A result of 0 says nothing.
        """
        if decision.margin is None:
            return 0
        away = decision.margin if decision.outcome else 1 - decision.margin
        return max(0, away - _clear(epsilon, probability(alpha, "alpha") / 2) + 1)


@dataclass(frozen=True, slots=True)
class RelationsDecider(DistanceDecider):
    """Decider of "less than ``tau`` of the relations is lost", that is more than 1 - tau is kept.

    ``n`` is ``T0 - M`` in rows, what there is to keep, and ``rows`` is ``T - M`` (relations.py).
    The margin is ``ceil((tau n - rows) / 2)``, that of ``RelationsKept``.
    """

    id: ClassVar[str] = "inv_relations_kept"

    def margin(self, rows: Fraction, n: int | Fraction, tau: Number) -> int:
        """Margin if ``rows`` are lost of ``n``; it is at least 1 exactly for a yes."""
        return math.ceil((probability(tau, "tau") * n - rows) / 2)

    def _least_tolerance(self, rows: int, n: int | Fraction) -> Fraction | None:
        """Tolerance above which ``tau n / 2`` exceeds ``rows``; None if it is 1 or more."""
        return None if n <= 2 * rows else Fraction(2 * rows) / n


def _clear(epsilon: Number, alpha: Fraction) -> int:
    """Least k >= 1 with ``Pr[Z >= k] = a^k / (1 + a) <= alpha``, where a = exp(-epsilon)."""
    budget, level = budget_of(epsilon), float(alpha)
    rate = as_float(budget)
    k = max(1, math.ceil(-(math.log(level) + math.log1p(math.exp(-rate))) / rate))
    # The double may have been rounded to either side.
    while noise_tail(k, 1 / budget) > level:
        k += 1
    while k > 1 and noise_tail(k - 1, 1 / budget) <= level:
        k -= 1
    return k


def _above(number: Fraction) -> float:
    """Least double above ``number``."""
    near = float(number)
    return near if Fraction(near) > number else math.nextafter(near, math.inf)
