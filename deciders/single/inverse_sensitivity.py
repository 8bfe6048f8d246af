"""The inverse-sensitivity deciders (ours; cf. Asi and Duchi, NeurIPS 2020).

``M = margin + Z`` is released.  The noise ``Z`` is two-sided geometric: ``Pr[Z = z]`` is
proportional to ``exp(-epsilon |z|)``.  The verdict is yes exactly if ``M >= 1``.

Guarantee: exact epsilon-DP, computed in integers.  The margin is a whole number of sensitivity 1
(deciders/single/margins.py), and the noise is OpenDP's exact discrete Laplace.  ``M``, the verdict
and the p-value are post-processing of one draw.  Proofs: docs/theory.md, section 3.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Literal, Protocol

from pqd.deciders.bounds import NoBounds, QuantileBounds, ValueBounds
from pqd.deciders.decided import DECIDED
from pqd.deciders.distributions import budget_tail
from pqd.deciders.evaluation.effectiveness import Threshold, searched_threshold
from pqd.deciders.evaluation.needed_budget import above
from pqd.deciders.evaluation.trials import Trial, least_distance
from pqd.deciders.exact import Number, as_float, budget_of, probability, ratio
from pqd.deciders.histogram import HALF, Histogram, answer
from pqd.deciders.interval import Interval
from pqd.deciders.noise import Noise
from pqd.deciders.single.base import BOTH, Decider, DeciderDefaults, Decision
from pqd.deciders.single.margins import (
    NEVER,
    Reach,
    count_margin,
    distinct_margin,
    distinct_reach,
    margin_with_stated_end,
    margin_within,
    mean_margin,
    mean_reach,
    quantile_margin,
    quantile_reach,
    sum_margin,
    sum_reach,
)

_HALVINGS = 60
_BOUND_FIELDS = ("lower", "upper", "step")
# More than what rounding can take from a factor between 1 and 2.
_ROUNDING = Fraction(1, 2**50)


class SensitivityDecider(Decider, Protocol):
    """Decider whose threshold at D0 is looked up with ``reach``."""

    def reach(self, histogram: Histogram, changes: int) -> Reach:
        """Farthest answers that adding or removing ``changes`` rows can produce."""
        ...


@dataclass(frozen=True, slots=True)
class MarginLaw:
    """Chance of a yes as a function of the margin; the chance is not private, for analysis only.

    ``distance`` is the margin.  It is infinite if every table is a yes, and minus infinite if
    every table is a no.  ``floor`` is that of a margin with a stated end (``StatedEnd``).
    """

    distance: float
    floor: int | None = None

    def __call__(self, epsilon: Fraction) -> float:
        """``1 - a^s/(1 + a)`` for a margin s >= 1, else ``a^(1-s)/(1 + a)``, with a = e^-eps."""
        if abs(self.distance) == math.inf:
            return float(self.distance > 0)
        s = int(self.distance)
        wrong = budget_tail(max(s, 1 - s), epsilon)
        return 1 - wrong if s >= 1 else wrong

    def proof_chance(self, epsilon: Fraction, alpha: Number) -> float:
        """Exact chance of a yes with a p-value of at most alpha."""
        if abs(self.distance) == math.inf:
            return self(epsilon)
        level = probability(alpha, "alpha")
        if self.floor is not None:
            level /= two_sided(self.floor, epsilon)
        return budget_tail(least_margin(epsilon, level) - int(self.distance), epsilon)

    def refutation_chance(self, epsilon: Fraction, alpha: Number) -> float:
        """Exact chance of a no with a p-value of at most alpha."""
        if abs(self.distance) == math.inf:
            return 1 - self(epsilon)
        return budget_tail(least_margin(epsilon, alpha) + int(self.distance) - 1, epsilon)


class InverseSensitivity(ABC):
    """Mix-in of the deciders of this file.

    Each decider defines ``margin``, ``reach`` and ``constant_verdict``.
    """

    __slots__ = ()

    proves: ClassVar[frozenset[bool]] = BOTH

    @abstractmethod
    def margin(self, histogram: Histogram, interval: Interval) -> float:
        """Margin, a whole number; plus or minus infinite if no change of rows flips the verdict."""

    def opposite_margin(self, histogram: Histogram, interval: Interval) -> float:
        """Margin of "the answer is not inside the interval": one minus that of the answer yes."""
        return 1 - self.margin(histogram, interval)

    @property
    def floor(self) -> int | None:
        """Floor of a margin with a stated end (``StatedEnd``), else None."""
        return None

    @abstractmethod
    def reach(self, histogram: Histogram, changes: int) -> Reach:
        """Farthest answers that adding or removing ``changes`` rows can produce."""

    @abstractmethod
    def constant_verdict(self, interval: Interval) -> bool | None:
        """Verdict that every table has, which costs nothing; None if verdicts differ."""

    def accept(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """Chance of a yes; see ``MarginLaw``."""
        return self.acceptance(histogram, interval)(budget_of(epsilon))

    def acceptance(self, histogram: Histogram, interval: Interval) -> MarginLaw:
        """``accept`` as a function of epsilon; the margin is computed once."""
        answer = self.constant_verdict(interval)
        if answer is None:
            return MarginLaw(self.margin(histogram, interval), self.floor)
        return MarginLaw(math.inf if answer else -math.inf)

    def tau_min(
        self: SensitivityDecider, histogram_public: Histogram, epsilon: Number, alpha: Number
    ) -> Threshold:
        """Threshold on public stand-ins; ``reach`` gives a lower bound, where the search begins."""
        centre = answer(self.aggregate, histogram_public, getattr(self, "p", HALF))
        if centre is None:
            return Threshold(math.inf, exact=False)
        low, high = self.reach(histogram_public, least_margin(epsilon, alpha) - 1)
        beyond = max(high - centre, centre - low)
        return searched_threshold(self, histogram_public, epsilon, alpha, beyond)

    def least_epsilon(self, trials: Iterable[Trial], alpha: Number) -> float:
        """Epsilon from the least distance to the other verdict; distances do not depend on epsilon.

        Every distance is at least 1, because a table's own answer is a yes and a far answer is a
        no.  The rows that may lie beyond bounds do not count: their number follows epsilon
        (``most_rows_beyond``), and leaves as many rows as the noise needs.
        """
        decider: object = self
        if isinstance(self, StatedEnd):
            decider = replace(self, most_beyond=None)
        least = math.inf
        for trial in trials:
            least = min(least, least_distance(decider, trial))
            if least <= 1:
                break
        needed, level = deciding_epsilon(least, alpha), probability(alpha, "alpha")
        if isinstance(self, StatedEnd) and self.stated_end and 0 < needed < math.inf:
            epsilon = budget_of(needed)
            rows = most_rows_beyond(epsilon, level)
            needed = deciding_epsilon(least, level / two_sided(rows, epsilon))
        return needed

    def decide(
        self, histogram: Histogram, interval: Interval, epsilon: Number, noise: Noise
    ) -> Decision:
        """One epsilon-DP verdict with its margin and p-value.

        The p-value is the largest probability, over all tables with the other verdict, that the
        noisy margin is at least as far on this side.  It is ``a^M/(1 + a)`` for a yes and
        ``a^(1-M)/(1 + a)`` for a no, with ``a = e^-epsilon``.
        """
        answer = self.constant_verdict(interval)
        if answer is not None:
            return Decision(answer, p_value=0.0)
        budget = budget_of(epsilon)
        noisy = noise.laplace(int(self.margin(histogram, interval)), 1 / budget)
        return verdict_of(noisy, budget, self.floor)


def least_margin(epsilon: Number, alpha: Number) -> int:
    """Least margin s >= 1 whose verdict errs with at most alpha: ``a^s/(1 + a) <= alpha``."""
    return least_steps(budget_of(epsilon), probability(alpha, "alpha"))


def most_rows_beyond(epsilon: Number, alpha: Number, *, one_stated: bool = False) -> int:
    """Rows beyond the bounds that a yes admits, so that it is proven in 90 % of runs without any.

    ``m(alpha) + m(1/10) - 2``: without a row beyond, the signed distance of this claim is one more
    (docs/theory.md, section 3).  With ``one_stated`` the p-value of a yes is larger by a factor
    (``two_sided``), which is largest for the least number of rows.
    """
    level = probability(alpha, "alpha")
    rows = least_margin(epsilon, level) + least_margin(epsilon, Fraction(1, 10)) - 2
    if not one_stated:
        return rows
    return most_rows_beyond(epsilon, level / two_sided(rows, budget_of(epsilon)))


def two_sided(floor: int, epsilon: Fraction) -> Fraction:
    """Factor ``1 + e^(-epsilon floor)`` of the p-values of a margin with a stated end, or more."""
    return 1 + Fraction(math.exp(-as_float(floor * epsilon))) + _ROUNDING


def least_steps(rate: Fraction, level: Fraction) -> int:
    """Least s >= 1 with ``Pr[Z >= s] = a^s/(1 + a) <= level``, a = e^-rate."""
    return steps_at(*rate.as_integer_ratio(), *level.as_integer_ratio())


# The cache uses whole numbers, because hashing a Fraction takes a modular inverse.
@lru_cache(maxsize=64)
def steps_at(numerator: int, denominator: int, part: int, whole: int) -> int:
    """``least_steps`` at the rate ``numerator / denominator`` and the level ``part / whole``."""
    decay, share = ratio(numerator, denominator), part / whole
    # ln(1 + e^rate), computed so that it is finite for any rate.
    softplus = max(decay, 0.0) + math.log1p(math.exp(-abs(decay)))
    return max(1, math.ceil(1 - (math.log(share) + softplus) / decay))


def epsilon_at(distance: float, alpha: Number) -> float:
    """Epsilon just above the least with ``a^distance/(1 + a) <= alpha``, where a = e^-epsilon.

    The result is infinite for a distance below 1, and 0 for an infinite distance.
    """
    if distance < 1:
        return math.inf
    # Each iteration at least halves the error.
    epsilon, logarithm = 0.0, math.log(float(probability(alpha, "alpha")))
    for _ in range(_HALVINGS):
        before, softplus = epsilon, math.log1p(math.exp(-epsilon))
        epsilon = max(0.0, -(logarithm + softplus) / distance)
        if epsilon == before:
            break
    return above(epsilon)


def deciding_epsilon(distance: float, alpha: Number) -> float:
    """Epsilon just above the least that decides at a margin, whichever side of 1 it lies.

    ``distance`` is the number of changes of rows that flip the verdict.  With m(b) for
    ``least_margin`` at the level b, a right verdict has a p-value of at most alpha in ``DECIDED``
    of the runs exactly if ``m(alpha) + m(1 - DECIDED) - 1 <= distance``.  So alpha takes k of the
    ``distance`` rows, and the noise the others; the best k lies beside the real number at which
    both need the same epsilon.
    """
    if not 1 <= distance < math.inf:
        return math.inf if distance < 1 else 0.0
    hidden, level = 1 - DECIDED, probability(alpha, "alpha")
    epsilon, logarithm, rows = 0.0, math.log(level) + math.log(hidden), int(distance)
    for _ in range(_HALVINGS):
        before, softplus = epsilon, math.log1p(math.exp(-epsilon))
        epsilon = max(0.0, -(logarithm + 2 * softplus) / (rows + 1))
        if epsilon == before:
            break
    share = -(math.log(level) + math.log1p(math.exp(-epsilon))) / epsilon if epsilon else 0.0
    beside = {min(max(k, 1), rows) for k in (math.floor(share), math.ceil(share))}
    return min(max(epsilon_at(k, level), epsilon_at(rows + 1 - k, hidden)) for k in beside)


def margin_ends(margin: int, epsilon: Number, alpha: Number) -> tuple[int, int]:
    """Ends around the exact margin, each wrong with probability at most alpha, from a noisy margin.

    The ends invert the exact law of the noise.  On every table the noisy margin exceeds the exact
    margin by more than ``r`` with probability ``a^(r + 1)/(1 + a)``, and falls short of it as
    often.  ``r`` is the least number for which this probability is at most alpha.  ``r`` is at
    least 1, since noise was added.  But no end passes the border of a verdict that is decided,
    since its p-value rules out the margins beyond.
    """
    least = least_margin(epsilon, alpha)
    reach = max(1, least - 1)
    low, high = margin - reach, margin + reach
    if margin >= least:
        return max(low, 1), high
    return low, min(high, 0) if 1 - margin >= least else high


def verdict_of(noisy: int, epsilon: Fraction, floor: int | None = None) -> Decision:
    """Verdict that follows from a noisy margin with that ``floor``, by post-processing."""
    outcome = noisy >= 1
    p_value = budget_tail(noisy if outcome else 1 - noisy, epsilon)
    if outcome and floor is not None:
        p_value *= float(two_sided(floor, epsilon))
    return Decision(outcome, min(1.0, p_value), noisy)


def _in_rows(margin: float, histogram: Histogram) -> float:
    """Margin in rows, of a margin in the parts in which ``histogram`` counts rows.

    A person who counts as at most k rows changes at most ``k parts`` of them, each of which moves
    ``margin`` by at most 1.  So the person moves ``ceil(margin / parts)`` by at most k, and it is
    at least 1 exactly if ``margin`` is (docs/theory.md, Theorem U1).  A stand-in counts whole rows.
    """
    parts: int = getattr(histogram, "row_parts", 1)
    return margin if parts == 1 or math.isinf(margin) else -(-int(margin) // parts)


@dataclass(frozen=True, slots=True)
class InverseCount(InverseSensitivity, NoBounds, DeciderDefaults):
    """COUNT decider; on no table is its error larger than the error of ``em_count``."""

    id: ClassVar[str] = "inv_count"
    key_fields: ClassVar[tuple[str, ...]] = ()
    aggregate: ClassVar[str] = "COUNT"

    def margin(self, histogram: Histogram, interval: Interval) -> float:
        """Margin of the count."""
        return count_margin(histogram.mass, interval)

    def reach(self, histogram: Histogram, changes: int) -> Reach:
        """Least and largest count after at most ``changes`` changes."""
        return Reach(histogram.mass - changes, histogram.mass + changes)

    def constant_verdict(self, interval: Interval) -> bool | None:
        """No if no possible count lies inside the interval, else None."""
        return None if _holds_whole(interval, 0) else False

    def tau_min(self, histogram_public: Histogram, epsilon: Number, alpha: Number) -> Threshold:
        """Exact threshold ``1 + (1/epsilon) ln(1/(alpha (1 + e^epsilon)))``, rounded up (ours)."""
        return Threshold(least_margin(epsilon, alpha), exact=True)


End = Literal["lower", "upper"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedEnd(InverseSensitivity, ValueBounds):
    """Mix-in of the deciders whose values are cut to ``lower .. upper``.

    With ``most_beyond`` a yes also says that at most so many rows lie beyond the bounds that nobody
    stated.  ``stated_end`` is the bound that is stated, if only the other one is not.  Cutting
    values above only lowers a sum or a mean.  So "NO, too large" needs a stated lower bound alone,
    and "NO, too small" a stated upper bound alone.  The margin then tells such a no from all
    others (``margin_with_stated_end``).

    Guarantee: let a be e^-epsilon, k ``most_beyond`` and M the noisy margin.

    * A table with another verdict than yes has a margin of at most 0.
    * A table that is not beyond the stated end's side has a margin of at least -k.

    So ``Pr[M >= t] <= a^t/(1 + a)`` for the former, ``Pr[M <= -k - t] <= a^t/(1 + a)`` for the
    latter.  On a table of both kinds, with margin s in ``-k .. 0``, the two are wrong on different
    outputs: together with probability ``(a^(t - s) + a^(t + k + s))/(1 + a)``.  This is convex in
    s, and at both ends it is ``a^t (1 + a^k)/(1 + a)``.  Both p-values are this number.  A no of
    which no side is told is the complement of yes, so its p-value is ``a^(1 - M)/(1 + a)``; on a
    table of verdict yes, whatever side is told is among these outputs.  So with probability at most
    alpha a verdict is wrong and has a p-value of at most alpha (docs/theory.md, Theorem 1c).
    """

    most_beyond: int | None = None
    stated_end: End | None = None

    @property
    def floor(self) -> int | None:
        """Floor k of the margin on all sides but that of the stated end; None without one."""
        return None if self.stated_end is None else self.most_beyond

    @abstractmethod
    def plain_margin(self, histogram: Histogram, interval: Interval) -> float:
        """Margin of the answer to the cut values alone."""

    @abstractmethod
    def is_beyond(self, histogram: Histogram, interval: Interval, end: End) -> bool:
        """Whether a no is proven by the bound ``end`` alone: the other one cannot restore a yes."""

    def margin(self, histogram: Histogram, interval: Interval) -> float:
        """Margin of the answer, and of the rows beyond."""
        margin = self.plain_margin(histogram, interval)
        if self.stated_end is None or self.most_beyond is None:
            return margin_within(margin, histogram, self.most_beyond)
        beyond = self.is_beyond(histogram, interval, self.stated_end)
        return margin_with_stated_end(margin, histogram, self.most_beyond, beyond_stated=beyond)

    def opposite_margin(self, histogram: Histogram, interval: Interval) -> float:
        """Margin of "the cut answer is not inside, and at most ``most_beyond`` rows lie beyond".

        Both parts have sensitivity 1, and so has their least.
        """
        return margin_within(
            1 - self.plain_margin(histogram, interval), histogram, self.most_beyond
        )

    def side_p_value(self, noisy: int, epsilon: Number) -> float:
        """P-value of the no on the side of the stated end; 1 if ``noisy`` does not tell this."""
        if self.floor is None or noisy + self.floor >= 0:
            return 1.0
        budget = budget_of(epsilon)
        wrong = budget_tail(-self.floor - noisy, budget)
        return min(1.0, wrong * float(two_sided(self.floor, budget)))


@dataclass(frozen=True, slots=True, kw_only=True)
class InverseSum(StatedEnd, DeciderDefaults):
    """SUM decider for values in ``lower .. upper``, which may be negative."""

    id: ClassVar[str] = "inv_sum"
    key_fields: ClassVar[tuple[str, ...]] = (*_BOUND_FIELDS, "most_beyond", "stated_end")
    aggregate: ClassVar[str] = "SUM"

    def plain_margin(self, histogram: Histogram, interval: Interval) -> float:
        """Margin of the sum."""
        return sum_margin(histogram, interval, self.lower, self.upper)

    def is_beyond(self, histogram: Histogram, interval: Interval, end: End) -> bool:
        """Whether the sum is too large, for a stated lower bound, or too small."""
        total = histogram.total
        return total >= interval.upper if end == "lower" else total <= interval.lower

    def reach(self, histogram: Histogram, changes: int) -> Reach:
        """Reach of the sum."""
        return sum_reach(histogram, changes, self.lower, self.upper)

    def constant_verdict(self, interval: Interval) -> bool | None:
        """No if no possible sum lies inside; yes if 0 is the only possible sum and lies inside."""
        least = -NEVER if self.lower < 0 else 0
        most = NEVER if self.upper > 0 else 0
        if least == most:
            return interval.contains(0)
        return None if _holds_whole(interval, least, most) else False


@dataclass(frozen=True, slots=True, kw_only=True)
class InverseMean(StatedEnd, DeciderDefaults):
    """AVG decider for values in ``lower .. upper``."""

    id: ClassVar[str] = "inv_mean"
    key_fields: ClassVar[tuple[str, ...]] = (*_BOUND_FIELDS, "most_beyond", "stated_end")
    aggregate: ClassVar[str] = "AVG"

    def plain_margin(self, histogram: Histogram, interval: Interval) -> float:
        """Margin of the mean."""
        return _in_rows(mean_margin(histogram, interval, self.lower, self.upper), histogram)

    def is_beyond(self, histogram: Histogram, interval: Interval, end: End) -> bool:
        """Whether the mean is too large, for a stated lower bound, or too small; true of no row."""
        if end == "lower":
            return histogram.total >= interval.upper * histogram.mass
        return histogram.total <= interval.lower * histogram.mass

    def reach(self, histogram: Histogram, changes: int) -> Reach:
        """Reach of the mean."""
        return mean_reach(histogram, changes, self.lower, self.upper)

    def constant_verdict(self, interval: Interval) -> bool | None:
        """No if no mean of values within the bounds lies inside the interval, else None."""
        low, high = math.floor(interval.lower), math.ceil(interval.upper)
        return False if high <= self.lower or low >= self.upper else None


@dataclass(frozen=True, slots=True, kw_only=True)
class InverseQuantile(InverseSensitivity, QuantileBounds, DeciderDefaults):
    """Decider of the p-quantile, ``0 < p < 1``: the ``ceil(p n)``-th smallest value."""

    id: ClassVar[str] = "inv_quantile"
    key_fields: ClassVar[tuple[str, ...]] = ("lower", "upper", "step", "p")
    aggregate: ClassVar[str] = "QUANTILE"
    compares: ClassVar[bool] = True

    def margin(self, histogram: Histogram, interval: Interval) -> float:
        """Margin of the quantile."""
        return _in_rows(quantile_margin(histogram, interval, self.p), histogram)

    def reach(self, histogram: Histogram, changes: int) -> Reach:
        """Reach of the quantile."""
        return quantile_reach(histogram, changes, self.p)

    def constant_verdict(self, interval: Interval) -> bool | None:
        """No if no lattice point lies inside the interval, else None."""
        return None if self.reaches(interval) else False


@dataclass(frozen=True, slots=True, kw_only=True)
class InverseMedian(InverseQuantile):
    """Decider of the lower median, which is the ``ceil(n/2)``-th smallest value."""

    id: ClassVar[str] = "inv_median"
    key_fields: ClassVar[tuple[str, ...]] = ("lower", "upper", "step", "p")
    aggregate: ClassVar[str] = "MEDIAN"


@dataclass(frozen=True, slots=True)
class InverseDistinct(InverseSensitivity, NoBounds, DeciderDefaults):
    """COUNT(DISTINCT) decider, on the histogram of the multiplicities of the distinct values."""

    id: ClassVar[str] = "inv_distinct"
    key_fields: ClassVar[tuple[str, ...]] = ()
    aggregate: ClassVar[str] = "COUNT DISTINCT"

    def margin(self, histogram: Histogram, interval: Interval) -> float:
        """Margin of the number of distinct values."""
        return distinct_margin(histogram, interval)

    def reach(self, histogram: Histogram, changes: int) -> Reach:
        """Reach of the number of distinct values."""
        return distinct_reach(histogram, changes)

    def constant_verdict(self, interval: Interval) -> bool | None:
        """No if no possible count lies inside the interval, else None."""
        return None if _holds_whole(interval, 0) else False


def _holds_whole(interval: Interval, least: float, most: float = NEVER) -> bool:
    """Whether a whole number from ``least`` to ``most`` lies inside the interval."""
    first = max(least, math.floor(interval.lower) + 1)
    return first < math.ceil(interval.upper) and first <= most
