"""Bounds on what any attacker gains from a copy that was made with differential privacy."""

import math

from pqd.deciders.exact import Number, budget_of


def rate_bound(epsilon: Number, rate: float) -> float:
    """Most that the success rate on private rows can be, given the ``rate`` on held-out rows.

    A copy was made with ``epsilon``, for one row added or removed.  A private and a held-out row
    that change places are two such changes.  So with ``e = exp(2 epsilon)`` the success rate is at
    most ``e rate``, and the rate of failures is at least ``(1 - rate) / e``, both on average over
    the ways to split the rows (docs/theory.md, Theorem R4; Kairouz, Oh and Viswanath 2015).
    """
    ratio = _ratio(epsilon)
    return min(ratio * rate, 1 - (1 - rate) / ratio)


def excess_bound(epsilon: Number, low: float = 0.0, high: float = 1.0) -> float:
    """Most that the excess can be, if the rate on held-out rows is between ``low`` and ``high``.

    Over all rates this is ``(e - 1) / (e + 1)`` with ``e = exp(2 epsilon)``, which is
    ``tanh(epsilon)`` (Humphries et al. 2023); it is reached at ``1 / (1 + e)``, and the bound falls
    to both sides of this rate.
    """
    rate = min(max(1 / (1 + _ratio(epsilon)), low), high)
    return rate_bound(epsilon, rate) - rate


def _ratio(epsilon: Number) -> float:
    """Most by which the success rates of a private and of a held-out row differ, as a factor."""
    return math.exp(min(2 * float(budget_of(epsilon)), 700.0))
