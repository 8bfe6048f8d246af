"""Shares of a budget: basic and advanced composition."""

from fractions import Fraction
from typing import Any

import mpmath
import pytest

from pqd.deciders import ParameterError
from pqd.deciders.batch.base import PrivacyBudget
from pqd.deciders.batch.linear.normalization import Normalization
from tests.support.linear_mechanisms import REDUCED, TABLE, Silent


@pytest.mark.parametrize("delta", ["1e-9", "1e-6", "0.1"])
@pytest.mark.parametrize("epsilon", ["0.01", "1", "30"])
def test_shares_compose_to_the_budget(epsilon: str, delta: str) -> None:
    """Lemma 2.3 (2) at forty digits: not more than epsilon, and nearly all of it."""
    for mechanisms in (1, 20, 5000):
        share = PrivacyBudget.of(epsilon, delta).share(mechanisms)
        assert PrivacyBudget.of(epsilon).share(mechanisms) == Fraction(epsilon) / mechanisms
        if share == Fraction(epsilon) / mechanisms:
            continue
        with mpmath.workdps(40):
            one = mpmath.mpf(share.numerator) / share.denominator
            spread = mpmath.sqrt(2 * mechanisms * mpmath.log(1 / mpmath.mpf(delta)))
            spent = one * spread + mechanisms * one * mpmath.expm1(one)
            assert mpmath.mpf(epsilon) * (1 - mpmath.mpf(10) ** -9) < spent <= mpmath.mpf(epsilon)
    assert PrivacyBudget.of(epsilon, delta).share(5000) > Fraction(epsilon) / 5000


@pytest.mark.parametrize("delta", [-0.1, 1, "nan"])
def test_no_such_delta(delta: Any) -> None:
    with pytest.raises(ParameterError):
        Normalization(queries=REDUCED).release(TABLE, 1, Silent(), delta)
