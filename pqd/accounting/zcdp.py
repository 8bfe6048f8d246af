"""Zero-concentrated privacy (Bun and Steinke 2016): rho of an (epsilon, delta), and back.

A mechanism is rho-zCDP if the Renyi divergence of order alpha between its outputs on neighbours is
at most ``alpha rho``, for every alpha > 1.  Rhos of several mechanisms add up, even if each
mechanism is chosen after the earlier outputs are known (Bun and Steinke 2016, Lemma 2.3).  By
Canonne, Kamath and Steinke 2020, Proposition 12, rho-zCDP implies (epsilon, delta)-DP for every
alpha > 1 at

    epsilon = alpha rho + (ln(1/delta) + (alpha - 1) ln(1 - 1/alpha) - ln alpha) / (alpha - 1).

The bound holds at any alpha, so the code may search a good alpha in doubles.  It then computes the
result at this alpha with 60 digits and rounds it to the safe side.  So the guarantee does not
depend on the rounding of doubles.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from pqd.deciders import ParameterError

# Digits of the result, digits of the computation, and an amount that is kept back for the rounding
# of the computation; the amount is far above this rounding.
_DIGITS, _PRECISION, _KEPT_BACK = 8, 60, Decimal("1e-40")
# Search of alpha: a grid of ln(alpha - 1), then a ternary search around the best grid point.
_LOWEST, _HIGHEST, _STEP, _THIRDS = -12.0, 40.0, 0.25, 60


@lru_cache(maxsize=256)
def rho_of(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Nearly the largest rho, rounded down, such that rho-zCDP implies (epsilon, delta)-DP.

    Raises
    ------
    ParameterError
        Unless epsilon is above 0 and delta is between 0 and 1.
    """
    _check_delta(delta)
    if epsilon <= 0:
        raise ParameterError(f"epsilon is {epsilon}; it must be greater than 0")
    target, log_delta = float(epsilon), _log(delta)
    alpha = _best_alpha(lambda order: (target - _offset(order, log_delta)) / order)
    with localcontext() as context:
        context.prec = _PRECISION
        order = Decimal(alpha)
        exact = (_decimal(epsilon) - _exact_offset(order, delta)) / order
        return _round(exact - _KEPT_BACK, math.floor)


@lru_cache(maxsize=256)
def epsilon_of(rho: Fraction, delta: Fraction) -> Fraction:
    """Nearly the least epsilon, rounded up, such that rho-zCDP implies (epsilon, delta)-DP.

    Raises
    ------
    ParameterError
        Unless rho is at least 0 and delta is between 0 and 1.
    """
    _check_delta(delta)
    if rho < 0:
        raise ParameterError(f"rho is {rho}; it must be at least 0")
    if not rho:
        return Fraction(0)
    target, log_delta = float(rho), _log(delta)
    alpha = _best_alpha(lambda order: -(order * target + _offset(order, log_delta)))
    with localcontext() as context:
        context.prec = _PRECISION
        order = Decimal(alpha)
        exact = order * _decimal(rho) + _exact_offset(order, delta)
        return _round(exact + _KEPT_BACK, math.ceil)


def _check_delta(delta: Fraction) -> None:
    if not 0 < delta < 1:
        raise ParameterError(f"delta is {delta}; it must be greater than 0 and less than 1")


def _log(delta: Fraction) -> float:
    """Natural logarithm; ``delta`` may be too small for a double."""
    return math.log(delta.numerator) - math.log(delta.denominator)


def _offset(order: float, log_delta: float) -> float:
    """Epsilon minus ``order * rho`` in the formula above, in doubles."""
    excess = order - 1
    return (-log_delta + excess * math.log(excess / order) - math.log(order)) / excess


def _exact_offset(order: Decimal, delta: Fraction) -> Decimal:
    """Epsilon minus ``order * rho`` in the formula above, in the precision of the context."""
    excess = order - 1
    log_delta = Decimal(delta.numerator).ln() - Decimal(delta.denominator).ln()
    return (-log_delta + excess * (excess / order).ln() - order.ln()) / excess


def _best_alpha(worth: Callable[[float], float]) -> float:
    """Alpha at which ``worth`` is nearly largest; any alpha above 1 is valid."""

    def at(place: float) -> float:
        return worth(1 + math.exp(place))

    places = [_LOWEST + _STEP * step for step in range(int((_HIGHEST - _LOWEST) / _STEP) + 1)]
    best = max(places, key=at)
    low, high = best - _STEP, best + _STEP
    for _ in range(_THIRDS):
        third = (high - low) / 3
        if at(low + third) < at(high - third):
            low += third
        else:
            high -= third
    return 1 + math.exp((low + high) / 2)


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


def _round(number: Decimal, rounding: Callable[[Fraction], int]) -> Fraction:
    """``number`` rounded to 8 digits, at least 0."""
    if number <= 0:
        return Fraction(0)
    place = Fraction(10) ** (_DIGITS - 1 - number.adjusted())
    return Fraction(rounding(Fraction(number) * place)) / place
