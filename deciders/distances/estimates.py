"""Estimates, intervals and verdicts that follow from one release of K distances, at no cost.

Everything is post-processing of the released numbers, so doubles may be used.  ``numbers[0]`` is
the noisy number of rows, and ``numbers[1:]`` are the noisy distances in whole rows.  Each statement
holds for every private table, with the stated probability over the noise (docs/theory.md, Theorems
D7 to D9).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqd.deciders.decided import DECIDED
from pqd.deciders.distances.ratio_intervals import (
    ShareEstimate,
    critical_values,
    share_estimates,
    signed_interval,
)
from pqd.deciders.distances.statistics import check_weights
from pqd.deciders.distances.vector import VectorLaw, WeightedNoise
from pqd.deciders.distributions import Floats
from pqd.deciders.errors import ParameterError
from pqd.deciders.exact import Number, probability

# Largest rounding error of a distance in whole rows.
_ROUNDING = 0.5
# Relative precision of a least tolerance.
_PRECISION = 1e-6
# Share at which the width of an interval is predicted.
_TYPICAL = 0.1


class RowsEstimate(NamedTuple):
    """Estimated number of rows; ``low .. high`` contains it with probability 1 - alpha."""

    value: int
    low: int
    high: int


class Difference(NamedTuple):
    """Difference of two means between -1 and 1, with its interval.

    ``p_value`` is the p-value of the claim that the first mean is below the second mean.
    """

    value: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True)
class DistanceEstimates:
    """Estimates of the number of rows, and of each of K distances, from one release.

    Guarantee: for every private table, each interval contains its quantity with probability at
    least 1 - alpha, and each p-value is valid.
    """

    released: tuple[int, ...]
    law: VectorLaw
    alpha: float

    def __post_init__(self) -> None:
        """Raise ParameterError without a distance, or if alpha is not a probability."""
        if len(self.released) < 2:
            raise ParameterError("a release has a number of rows and at least one distance")
        object.__setattr__(self, "alpha", float(probability(self.alpha, "alpha")))

    @cached_property
    def rows(self) -> RowsEstimate:
        """Private number of rows; it is first cut at 0, which only widens its interval."""
        return self.rows_at(self.alpha)

    def rows_at(self, alpha: float) -> RowsEstimate:
        """Private number of rows, with an interval that contains it with probability 1 - alpha."""
        noisy, reach = max(self.released[0], 0), max(self.law.rows.quantile(alpha / 2), 1)
        return RowsEstimate(noisy, max(noisy - reach, 0), noisy + reach)

    @cached_property
    def _noisy(self) -> Floats:
        """Noisy distances, in rows."""
        return np.array(self.released[1:], dtype=np.float64)

    @cached_property
    def distances(self) -> Floats:
        """Value, low and high of each distance as a share of the rows, an array (K, 3)."""
        critical = critical_values(_one(self.law), self.law.rows, self.alpha)
        return share_estimates(self._noisy, float(self.released[0]), critical, _ROUNDING)

    @cached_property
    def at_once(self) -> Floats:
        """As ``distances``, with intervals that all hold at once with probability 1 - alpha.

        Whoever lists the largest distances first sees those that the noise has raised: the
        intervals of single distances contain the first of 30 columns in half of the lists.  Each of
        K is taken at alpha/K (Bonferroni), whatever the dependence of the noises.
        """
        numbers = len(self.released) - 1
        critical = critical_values(_one(self.law), self.law.rows, self.alpha / numbers)
        return share_estimates(self._noisy, float(self.released[0]), critical, _ROUNDING)

    def verdicts(self, tau: Number) -> tuple[NDArray[np.bool_], Floats]:
        """Whether each distance is below ``tau``, and the p-values, both arrays (K,).

        A distance is a share of the rows.  So the noisy T^ is first cut to ``0 .. n^``, as for the
        interval.  If n^ is 0 or less, nothing is known, and the p-value is 1.

        Proof of validity: no cut makes a p-value smaller.  Let ``g = tau n^ - T^``, and let ``g'``
        be the same with the cut T^.  For ``n^ > 0`` the cut at 0 changes only a yes, and the cut
        at n^ changes only a no, since ``0 < tau < 1``.  Either cut moves g towards 0 and not
        beyond 0.  So ``g'`` has the sign of g, and ``abs(g') <= abs(g)``.  The p-value is the
        chance of noise of ``abs(g')`` or more.  So it is at least the p-value for ``abs(g)``,
        which is valid (docs/theory.md, Theorem D8).
        """
        share = probability(tau, "tau")
        n, *distances = self.released
        if n <= 0:
            return self.distances[:, 0] < float(share), np.ones(len(distances))
        # Compute exactly, because a distance at the tolerance is a no, as for the decider.
        gaps = [share * n - min(max(rows, 0), n) for rows in distances]
        outcomes = np.array([gap > 0 for gap in gaps])
        away = np.array([abs(float(gap)) for gap in gaps]) - _ROUNDING
        return outcomes, _one(self.law).at_least(away, float(share), self.law.rows)

    def mean(self, weights: Sequence[Fraction]) -> ShareEstimate:
        """Weighted mean of the distances as a share of the rows, with its interval."""
        check_weights(self._checked(weights))
        noise = self.law.weighted(map(float, weights))
        critical = critical_values(noise, self.law.rows, self.alpha)
        whole, part = float(self.released[0]), self._weighted(weights)
        return ShareEstimate(*share_estimates([part], whole, critical, _ROUNDING)[0].tolist())

    def mean_of(self, parts: Sequence[Sequence[Fraction]]) -> ShareEstimate:
        """Average of several weighted means, with its interval.

        If one of the means is cut to 0 or 1, the value is the average of the cut means.  So the
        value lies among them.  The interval is then the interval of ``mean``, widened to contain
        the value.
        """
        weights = [sum(each, Fraction(0)) / len(parts) for each in zip(*parts, strict=True)]
        whole, values = self.mean(weights), [self.mean(part).value for part in parts]
        if all(0 < value < 1 for value in values):
            return whole
        value = math.fsum(values) / len(values)
        return ShareEstimate(value, min(whole.low, value), max(whole.high, value))

    def difference(self, first: Sequence[Fraction], second: Sequence[Fraction]) -> Difference:
        """Difference of the weighted means ``first`` and ``second``, first minus second.

        Both means are first cut to ``0 .. n^``.  Let ``d`` be the difference of the means and
        ``d'`` the difference of the cut means.  Unless ``d'`` is 0, it has the sign of d.  Also
        ``abs(d') <= abs(d)``.

        Proof of validity: the p-value is the chance of noise of ``min(-d, -d')`` or more.  So it
        is at least the p-value for ``-d``, which is valid.  The interval contains everything that
        d or d' accepts, so it contains at least what d accepts.  It contains 0 if d' accepts 0.
        """
        check_weights(self._checked(first))
        check_weights(self._checked(second))
        weights = [a - b for a, b in zip(first, second, strict=True)]
        if not any(weights):
            return Difference(0.0, 0.0, 0.0, 1.0)
        whole = float(self.released[0])
        if whole <= 0:
            return Difference(0.0, -1.0, 1.0, 1.0)
        noise = self.law.weighted(map(float, weights))
        critical = critical_values(noise, self.law.rows, self.alpha)
        slack = _ROUNDING * float(sum(map(abs, weights)))
        part = self._weighted(weights)
        one, other = (min(max(self._weighted(each), 0.0), whole) for each in (first, second))
        _, low, high = signed_interval(part, whole, critical, slack)
        value, least, most = signed_interval(one - other, whole, critical, slack)
        # If the difference is 0, the number of rows has no influence.
        away = min(-part, other - one) - slack
        p_value = float(noise.at_least(away, 0.0, self.law.rows))
        return Difference(value, min(low, least), max(high, most), p_value)

    def _weighted(self, weights: Sequence[Fraction]) -> float:
        """Weighted sum of the noisy distances, in rows."""
        exact = sum((w * r for w, r in zip(weights, self.released[1:], strict=True)), Fraction(0))
        return float(exact)

    def _checked(self, weights: Sequence[Fraction]) -> Sequence[Fraction]:
        if len(weights) != len(self.released) - 1:
            raise ParameterError(f"{len(weights)} weights for {len(self.released) - 1} distances")
        return weights


def _one(law: VectorLaw) -> WeightedNoise:
    """Noise of a single distance."""
    return law.weighted([1.0])


def bonferroni(p_values: ArrayLike) -> Floats:
    """Adjusted p-values of verdicts: with probability 1 - alpha all those up to alpha are true.

    This holds for any dependence of the p-values.  The release chooses the direction of each
    verdict.  So one of the two claims of a verdict is false, whatever the other claims are.  For
    that reason Holm's rule would err more often than alpha (docs/theory.md, Theorem D9).
    """
    values = np.asarray(p_values, dtype=np.float64)
    return np.minimum(values.size * values, 1.0)


def holm(p_values: ArrayLike) -> Floats:
    """Adjusted p-values (Holm 1979): with probability 1 - alpha all those up to alpha are valid.

    This holds for any dependence of the p-values, if the claims are fixed before the release.
    """
    values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    factors = np.arange(values.size, 0, -1)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * values[order]), 1.0)
    return adjusted


def half_width(law: VectorLaw, n: int, alpha: float) -> float:
    """Half the width of the interval of a distance of 0.1 in a table of ``n`` rows; at most 1."""
    return _typical_half_width(_one(law), law, n, alpha)


def mean_half_width(law: VectorLaw, weights: Sequence[Fraction], n: int, alpha: float) -> float:
    """Half the width of the interval of a weighted mean of 0.1 among ``n`` rows; at most 1."""
    check_weights(weights)
    return _typical_half_width(law.weighted(map(float, weights)), law, n, alpha)


def _typical_half_width(noise: WeightedNoise, law: VectorLaw, n: int, alpha: float) -> float:
    critical = critical_values(noise, law.rows, float(alpha))
    return min(1.0, (critical.at(_TYPICAL) + _ROUNDING) / max(n, 1))


def vector_tau_min(law: VectorLaw, n: int, alpha: float) -> float:
    """Least tolerance at which a verdict among ``n`` rows seldom errs; infinite if none below 1 is.

    At this tolerance, a distance of 0 gives a no with probability at most alpha.  A distance of
    twice the tolerance gives a yes with probability at most alpha.
    """
    return _least_tolerance(law, n, (alpha,))


def vector_tau_decided(law: VectorLaw, n: int, alpha: float) -> float:
    """Least tolerance that ``DECIDED`` of the runs decide rightly; infinite if none below 1 is.

    At this tolerance, a distance of 0 gives a yes, and one of twice the tolerance a no, with a
    p-value of at most alpha and with probability at least ``DECIDED``: the noise may take what the
    p-value leaves.
    """
    return _least_tolerance(law, n, (alpha, float(1 - DECIDED)))


def vector_decides(law: VectorLaw, n: int, tau: Number, alpha: float) -> bool:
    """Whether ``tau`` is at least ``vector_tau_decided``, without the search for the latter.

    A tolerance that is larger by less than two millionths may be taken as not decided.
    """
    share = float(tau)
    return _noise_share(law, n, (alpha, float(1 - DECIDED)), share) <= share * (1 - 2 * _PRECISION)


def _least_tolerance(law: VectorLaw, n: int, levels: Sequence[float]) -> float:
    """Least tolerance that holds the noise at each of the ``levels``, one after the other.

    The noise grows more slowly than the tolerance.  So every step of the search, which goes
    downwards from 1, is a tolerance that suffices.
    """
    tau = 1.0
    for _ in range(40):
        least = _noise_share(law, n, levels, tau)
        if least >= tau:
            return math.inf if tau >= 1 else tau
        if least > tau * (1 - _PRECISION):
            return tau
        tau = least
    return tau


def _noise_share(law: VectorLaw, n: int, levels: Sequence[float], tau: float) -> float:
    """Noise of a verdict at ``tau``, added up over the ``levels``, as a share of ``n`` rows."""
    noise = _one(law)
    # A two-sided test at twice the level is a one-sided test at the level.
    rows = sum(noise.critical(tau, law.rows, 2 * float(each)) + _ROUNDING for each in levels)
    return rows / max(n, 1)
