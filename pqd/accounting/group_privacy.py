"""Group privacy: a charge per row, as a charge per person with at most ``k`` rows.

If two tables differ by one person with at most ``k`` rows, then at most ``k`` steps of one row each
lead from one table to the other (docs/theory.md, Lemma G1).  A mechanism that is protected per row
is then protected per person:

* pure epsilon: ``k epsilon``;
* (epsilon, delta): ``k epsilon`` and ``delta (e^(k epsilon) - 1)/(e^epsilon - 1)``;
* rho-zCDP: ``k^2 rho`` (Bun and Steinke 2016, Proposition 1.9).

All results are rounded up.
"""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from pqd.accounting.composition import Charge
from pqd.accounting.zcdp import epsilon_of

# Digits of the computation, a relative amount far above its rounding, and digits of the result.
_PRECISION, _SLACK, _DIGITS = 60, Fraction(1, 10**30), 8
# Below this epsilon the difference ``e^epsilon - 1`` would lose digits.
_TINY = Fraction(1, 10**20)


def charge_per_person(charge: Charge, rows: int) -> Charge:
    """Charge for persons with at most ``rows`` rows of a run that is charged per row.

    Guarantee: if the run is (epsilon, delta)-DP per row at ``charge``, it is so per person at the
    result.  A charge with a ``rho`` keeps its delta.
    """
    if rows == 1 or not (charge.epsilon or charge.delta):
        return charge
    if charge.rho:
        epsilon = rows * charge.pure + epsilon_of(rows**2 * charge.rho, charge.delta)
        return replace(charge, epsilon=epsilon, rho=rows**2 * charge.rho, pure=rows * charge.pure)
    delta = delta_per_person(charge.epsilon, charge.delta, rows)
    return replace(charge, epsilon=rows * charge.epsilon, delta=delta)


@lru_cache(maxsize=4096)
def delta_per_person(epsilon: Fraction, delta: Fraction, rows: int) -> Fraction:
    """``delta (e^(rows epsilon) - 1)/(e^epsilon - 1)``, rounded up, at most 1."""
    if not delta:
        return delta
    # The quotient lies between e^((rows - 1) epsilon) and ``rows`` times this number.
    exponent = (rows - 1) * epsilon
    if _log10(delta) + float(exponent) / math.log(10) > 1:
        return Fraction(1)
    with localcontext() as context:
        context.prec = _PRECISION
        if epsilon < _TINY:
            factor = rows * Fraction(_exp(exponent))
        else:
            factor = Fraction(_exp(rows * epsilon) - 1) / Fraction(_exp(epsilon) - 1)
    exact = delta * factor * (1 + _SLACK)
    place = Fraction(10) ** (_DIGITS - math.floor(_log10(exact)))
    return min(Fraction(math.ceil(exact * place)) / place, Fraction(1))


def _log10(number: Fraction) -> float:
    return math.log10(number.numerator) - math.log10(number.denominator)


def _exp(number: Fraction) -> Decimal:
    return (Decimal(number.numerator) / Decimal(number.denominator)).exp()
