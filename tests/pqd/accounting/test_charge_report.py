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
    charges.add(Charge(Fraction(1, 2), Fraction(0), SEQUENTIAL), "p.csv")
    try:
        assert with_charges(message) == whole
        assert with_charges(whole) == whole
    finally:
        begin_charges()


def test_charges_of_two_tables_are_told_apart() -> None:
    charges = begin_charges()
    for epsilon, delta, table in ((1, 0, "p.csv"), (1, "1e-6", "o.csv"), (2, 0, "p.csv")):
        charges.add(Charge(Fraction(epsilon), Fraction(delta), SEQUENTIAL), table)
    try:
        told = "epsilon 3 on p.csv and epsilon 1 and delta 1e-06 on o.csv was charged and stays"
        assert told in charges.text
        charges.take_back()
        assert "epsilon 1 on p.csv and epsilon 1 and delta 1e-06 on o.csv" in charges.text
    finally:
        begin_charges()
