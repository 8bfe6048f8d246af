"""Charges per row as charges per person: never below what group privacy gives."""

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pqd.accounting.composition import CONCENTRATED, OPTIMAL, SEQUENTIAL, Charge
from pqd.accounting.group_privacy import charge_per_person, delta_per_person
from pqd.accounting.zcdp import epsilon_of, rho_of
from tests.support.drawing import examples

EPSILONS = st.fractions(Fraction(1, 10**6), 5, max_denominator=10**6)
DELTAS = st.fractions(Fraction(1, 10**15), Fraction(1, 10), max_denominator=10**15)
ROWS = st.integers(1, 60)


def exact_delta(epsilon: Fraction, delta: Fraction, rows: int) -> Fraction:
    """Sum of the chain, term by term, with 200 digits."""
    with localcontext() as context:
        context.prec = 200
        one = Decimal(epsilon.numerator) / Decimal(epsilon.denominator)
        return delta * sum(Fraction((one * step).exp()) for step in range(rows))


@settings(examples(60))
@given(epsilon=EPSILONS, delta=DELTAS, rows=ROWS)
def test_delta_is_rounded_up_and_hardly(epsilon: Fraction, delta: Fraction, rows: int) -> None:
    exact, found = exact_delta(epsilon, delta, rows), delta_per_person(epsilon, delta, rows)
    assert found >= min(exact, Fraction(1))
    assert found <= min(exact * (1 + Fraction(1, 10**7)), Fraction(1))


def test_the_figure_of_the_review() -> None:
    """At epsilon 1 and 5 rows delta counts 86 times."""
    delta = Fraction(1, 10**6)
    assert 85 < delta_per_person(Fraction(1), delta, 5) / delta < 86


@pytest.mark.parametrize("epsilon", ["0", "1e-300", "1e-21", "1e-19", "1/3", "100"])
def test_extremes(epsilon: str) -> None:
    delta = Fraction(1, 10**9)
    for rows in (1, 2, 1_000_000):
        found = delta_per_person(Fraction(epsilon), delta, rows)
        assert min(rows * delta, Fraction(1)) <= found <= 1
    assert delta_per_person(Fraction(epsilon), Fraction(0), 7) == 0
    assert delta_per_person(Fraction(epsilon), Fraction(1, 10**400), 2) > Fraction(2, 10**400) - 1


@given(epsilon=EPSILONS, rows=ROWS)
def test_a_pure_charge_is_exact(epsilon: Fraction, rows: int) -> None:
    charge = Charge(epsilon, Fraction(0), SEQUENTIAL)
    assert charge_per_person(charge, rows) == Charge(rows * epsilon, Fraction(0), SEQUENTIAL)


def test_a_charge_with_a_delta() -> None:
    charge = Charge(Fraction(1, 2), Fraction(1, 10**6), OPTIMAL)
    found = charge_per_person(charge, 3)
    assert found.epsilon == Fraction(3, 2)
    assert found.delta >= exact_delta(charge.epsilon, charge.delta, 3)


@pytest.mark.parametrize("rows", [1, 2, 5, 40])
def test_a_concentrated_charge_keeps_its_delta(rows: int) -> None:
    delta = Fraction(1, 10**6)
    rho = rho_of(Fraction(1), delta)
    charge = Charge(Fraction(5, 4), delta, CONCENTRATED, rho, Fraction(1, 4))
    found = charge_per_person(charge, rows)
    assert found.delta == delta
    if rows > 1:
        assert found.epsilon == Fraction(rows, 4) + epsilon_of(rows**2 * rho, delta)
        # Gaussian noise: nothing less is true than the exact curve of the mechanism.
        shift = math.sqrt(2 * float(rows**2 * rho))
        epsilon = float(found.epsilon - Fraction(rows, 4))
        assert gaussian_delta(epsilon, shift) <= float(delta)
        assert gaussian_delta(epsilon * 0.7, shift) > float(delta), "and not much more is charged"


def gaussian_delta(epsilon: float, shift: float) -> float:
    """Delta of Gaussian noise of deviation 1 on a number that moves by ``shift`` (Balle 2018)."""

    def tail(x: float) -> float:
        return math.erfc(x / math.sqrt(2)) / 2

    less = tail(epsilon / shift - shift / 2)
    return less - math.exp(epsilon) * tail(epsilon / shift + shift / 2)


def test_more_rows_never_count_less() -> None:
    delta = Fraction(1, 10**6)
    rho = rho_of(Fraction(1), delta)
    for charge in (
        Charge(Fraction(1, 3), Fraction(0), SEQUENTIAL),
        Charge(Fraction(1, 3), delta, OPTIMAL),
        Charge(Fraction(1), delta, CONCENTRATED, rho),
    ):
        counted = [charge_per_person(charge, rows) for rows in range(1, 30)]
        for fewer, more in pairwise(counted):
            assert fewer.epsilon < more.epsilon
            assert fewer.delta <= more.delta


def test_randomised_response_of_k_rows_has_no_smaller_loss() -> None:
    """A mechanism that loses all that is charged: each row's bit is flipped by itself."""
    epsilon, rows = math.log(3), 4
    keep = 3 / 4
    loss = rows * math.log(keep / (1 - keep))
    charged = charge_per_person(Charge(Fraction(epsilon).limit_denominator(10**12)), rows)
    assert abs(loss - float(charged.epsilon)) < 1e-9
    # The twin that counts a run once, or rounds down, is below the loss.
    assert epsilon < loss


# Broken twins


def rounded_down(epsilon: Fraction, delta: Fraction, rows: int) -> Fraction:
    """Exact delta, rounded down to eight digits."""
    exact = exact_delta(epsilon, delta, rows)
    place = Fraction(10) ** (8 - math.floor(math.log10(exact)))
    return Fraction(math.floor(exact * place)) / place


TWINS: dict[str, Callable[[Fraction, Fraction, int], Fraction]] = {
    "delta per person rounded down": rounded_down,
    "delta per person as many times as rows": lambda _, delta, rows: rows * delta,
    "delta per person of one step less": lambda epsilon, delta, rows: exact_delta(
        epsilon, delta, rows - 1
    ),
}


def falls_short(per_person: Callable[[Fraction, Fraction, int], Fraction]) -> bool:
    """Whether a conversion is below the exact delta somewhere on a grid."""
    grid = product(("1/10", "1/3", "1", "2"), ("1e-6", "3e-9"), (2, 3, 7))
    asked = [(Fraction(epsilon), Fraction(delta), rows) for epsilon, delta, rows in grid]
    return any(per_person(*each) < exact_delta(*each) for each in asked)


@pytest.mark.parametrize("name", TWINS)
def test_a_broken_twin_is_caught(name: str, record_property: Callable[[str, object], None]) -> None:
    assert not falls_short(delta_per_person)
    assert falls_short(TWINS[name])
    record_property("mutant", name)
    record_property("caught_by", "200 digits: less than the exact delta")
