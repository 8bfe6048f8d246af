"""What every error after a charge says of it."""

from fractions import Fraction

import pytest

from pqd.accounting.charge_report import begin_charges, with_charges
from pqd.accounting.composition import SEQUENTIAL, Charge
from pqd.errors import NO_RECORD

TOLD = (
    "Epsilon 0.5 was charged and stays charged (pqd ledger show); a repeated run pays nothing for "
    "what this run has answered."
)


@pytest.mark.parametrize(
    ("message", "whole"),
    [
        ("it broke", f"it broke. {TOLD}"),
        ("it broke. Nothing was spent.", f"it broke. {TOLD}"),
        ("it broke. Nothing was spent", f"it broke. {TOLD}"),
        ("it broke. Nothing was spent. Try again", f"it broke. Try again. {TOLD}"),
        ("2 warnings; nothing was spent", f"2 warnings. {TOLD}"),
        (f"it {NO_RECORD}. Try again", f"it {NO_RECORD}. Try again. Epsilon 0.5 was charged."),
    ],
)
def test_a_charge_is_told_once_and_never_denied(message: str, whole: str) -> None:
    charges = begin_charges()
    assert with_charges(message) == message
    charges.spent.append(Charge(Fraction(1, 2), Fraction(0), SEQUENTIAL))
    try:
        assert with_charges(message) == whole
        assert with_charges(whole) == whole
    finally:
        begin_charges()
