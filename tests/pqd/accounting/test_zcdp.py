"""Zero-concentrated privacy: never below the exact privacy of Gaussian noise, never dear.

The truth: a Gaussian mechanism that is rho-zCDP has the curve of Balle and Wang 2018, Theorem 8, at
``mu = sqrt(2 rho)``, computed with 40 digits; several compose to that of the sum of their rhos.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import dp_accounting
import mpmath as mp
import pytest
from dp_accounting.rdp import RdpAccountant

from pqd.accounting.accounts import NO_LIMIT, Allowance, Budget, charge_within
from pqd.accounting.composition import CONCENTRATED, OPTIMAL, SEQUENTIAL, Charge, charge_of
from pqd.accounting.data_sets import RecognisedTable
from pqd.accounting.disjoint_groups import Group, MeasurementCost, composition_groups
from pqd.accounting.ledger import Ledger
from pqd.accounting.zcdp import epsilon_of, rho_of
from pqd.deciders import ParameterError
from pqd.errors import BudgetError
from pqd.reports.documents.ledger import data_set_lines
from pqd.sql.query import Query
from pqd.sql.regions import region
from pqd.sql.schema import Kind

EPSILONS = [Fraction(text) for text in ("1/1000", "0.25", "1", "3", "20")]
DELTAS = [Fraction(text) for text in ("1e-12", "1e-6", "0.01", "0.5")]
PAIRS = [(epsilon, delta) for epsilon in EPSILONS for delta in DELTAS]
MILLIONTH = Fraction(1, 10**6)


def exact_delta(rho: Fraction, epsilon: Fraction) -> mp.mpf:
    """Least delta at which Gaussian noise of ``rho`` is (epsilon, delta)-DP."""
    with mp.workdps(40):
        mu = mp.sqrt(2 * mp.mpf(rho.numerator) / rho.denominator)
        loss = mp.mpf(epsilon.numerator) / epsilon.denominator
        high = mp.ncdf(mu / 2 - loss / mu)
        return high - mp.exp(loss) * mp.ncdf(-mu / 2 - loss / mu)


def is_private(rhos: Sequence[Fraction], charge: Charge) -> bool:
    """Whether Gaussian mechanisms of ``rhos`` together are as private as ``charge`` says."""
    return bool(exact_delta(sum(rhos, Fraction(0)), charge.epsilon) <= float(charge.delta))


def gaussian(name: str, epsilon: str | Fraction, delta: Fraction = MILLIONTH) -> MeasurementCost:
    rho = rho_of(Fraction(epsilon), delta)
    return MeasurementCost(name, Fraction(epsilon), None, rho=rho, delta=delta)


def pure(name: str, epsilon: str) -> MeasurementCost:
    return MeasurementCost(name, Fraction(epsilon), None)


def approximate(name: str, epsilon: str, delta: Fraction = MILLIONTH) -> MeasurementCost:
    return MeasurementCost(name, Fraction(epsilon), None, delta=delta)


def charge_for(*costs: MeasurementCost) -> Charge:
    return charge_of(composition_groups(costs))


# Conversion --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_a_rho_is_as_private_as_it_is_called(epsilon: Fraction, delta: Fraction) -> None:
    rho = rho_of(epsilon, delta)
    assert is_private([rho], Charge(epsilon, delta))
    assert epsilon_of(rho, delta) <= epsilon < epsilon_of(rho * Fraction(1001, 1000), delta)


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_the_conversion_is_that_of_dp_accounting(epsilon: Fraction, delta: Fraction) -> None:
    """Their orders are a grid, so theirs is never below ours by more than rounding."""
    accountant = RdpAccountant(orders=[1 + 1.05**step for step in range(-250, 300)])
    rho = rho_of(epsilon, delta)
    accountant.compose(dp_accounting.ZCDpEvent(float(rho)))
    theirs = accountant.get_epsilon(float(delta))
    assert float(epsilon_of(rho, delta)) * (1 - 1e-5) <= theirs <= float(epsilon) * 1.01


def test_a_rho_has_few_digits_and_never_more_than_its_epsilon_allows() -> None:
    rho = rho_of(Fraction(1), MILLIONTH)
    assert rho == Fraction("0.024355970")
    assert epsilon_of(rho + Fraction("1e-8"), MILLIONTH) > 1
    assert epsilon_of(Fraction(0), MILLIONTH) == 0
    assert 0 < rho_of(Fraction(1, 10**12), Fraction(1, 10**300)) < Fraction(1, 10**20)


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1), Fraction(-1)])
def test_a_delta_that_is_none(delta: Fraction) -> None:
    with pytest.raises(ParameterError, match="delta"):
        rho_of(Fraction(1), delta)
    with pytest.raises(ParameterError, match="delta"):
        epsilon_of(Fraction(1), delta)


# Composition -------------------------------------------------------------------------------------


def test_one_alone_is_charged_what_it_states() -> None:
    one = gaussian("a", "1")
    assert charge_for(one) == Charge(Fraction(1), MILLIONTH, CONCENTRATED, one.rho)


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_several_are_never_charged_below_their_exact_privacy(
    epsilon: Fraction, delta: Fraction
) -> None:
    costs = [gaussian("a", epsilon, delta), gaussian("b", epsilon / 2, delta / 3)]
    costs.append(gaussian("c", 2 * epsilon, delta))
    charge = charge_for(*costs)
    assert is_private([cost.rho for cost in costs], charge)
    assert charge.delta == delta
    # Plain sums have the sum of the deltas, of which no use is made here.
    assert delta > MILLIONTH or charge.epsilon <= sum(cost.epsilon for cost in costs)


def test_pure_parts_are_added() -> None:
    mixed = charge_for(gaussian("a", "1"), pure("b", "0.5"), gaussian("c", "1"), pure("d", "0.25"))
    two = charge_for(gaussian("a", "1"), gaussian("c", "1"))
    pure_parts, rho = Fraction(3, 4), 2 * gaussian("a", "1").rho
    assert two == Charge(two.epsilon, MILLIONTH, CONCENTRATED, rho)
    assert mixed == Charge(two.epsilon + pure_parts, MILLIONTH, CONCENTRATED, rho, pure_parts)
    assert Fraction("1.41") < two.epsilon < Fraction("1.46")


def test_half_of_the_delta_that_is_left_is_for_pure_parts() -> None:
    groups = composition_groups([gaussian("a", "1"), *(pure(str(n), "0.05") for n in range(30))])
    charge = charge_of(groups, 5 * MILLIONTH)
    assert charge.delta == MILLIONTH + 2 * MILLIONTH
    assert charge.epsilon < 1 + 30 * Fraction("0.05")
    assert not charge.rho, "of a delta that is not all of zCDP measurements"
    pure_parts = 30 * Fraction("0.05")
    assert charge_of(groups, MILLIONTH) == Charge(
        1 + pure_parts, MILLIONTH, CONCENTRATED, gaussian("a", "1").rho, pure_parts
    )


def test_approximate_parts_add_up_in_epsilon_and_in_delta() -> None:
    """Their rho is not known, so later charges per person may not use one."""
    two = approximate("a", "1"), approximate("b", "0.5", 3 * MILLIONTH)
    assert charge_for(*two) == Charge(Fraction(3, 2), 4 * MILLIONTH, SEQUENTIAL)
    assert charge_for(*two, pure("c", "1")) == Charge(Fraction(5, 2), 4 * MILLIONTH, SEQUENTIAL)
    both = charge_for(*two, gaussian("c", "1"))
    assert both == Charge(Fraction(5, 2), 5 * MILLIONTH, CONCENTRATED)
    many = composition_groups([*two, *(pure(str(n), "0.05") for n in range(30))])
    left = charge_of(many, 10 * MILLIONTH)
    assert (left.delta, left.rule) == (7 * MILLIONTH, OPTIMAL)
    assert Fraction(3, 2) < left.epsilon < 3


def test_noise_that_is_gaussian_is_never_charged_with_a_disjoint_query() -> None:
    queries = [Query(f"SELECT COUNT(*) FROM D WHERE age = {age}") for age in (1, 2)]
    one, two = (region(query.resolve({"age": Kind.NUMBER}).predicate) for query in queries)
    noisy = gaussian("c", "1")
    assert (
        len(
            composition_groups(
                [MeasurementCost("a", Fraction(1), one), MeasurementCost("b", Fraction(1), two)]
            )
        )
        == 1
    )
    for costs in (
        [replace(noisy, region=one), MeasurementCost("b", Fraction(1), two)],
        [MeasurementCost("a", Fraction(1), one), replace(noisy, region=two)],
        [replace(noisy, name="a", region=one), replace(noisy, name="b", region=two)],
        [replace(approximate("a", "1"), region=one), replace(approximate("b", "1"), region=two)],
    ):
        assert len(composition_groups(costs)) == 2


@pytest.mark.parametrize(
    ("rho", "delta"),
    [("0.0244", "1e-6"), ("0.02", "0"), ("0", "1"), ("0", "-1e-6"), ("-1", "1e-6"), ("0.01", "1")],
)
def test_a_cost_beyond_what_it_states_cannot_be_made(rho: str, delta: str) -> None:
    with pytest.raises(ParameterError):
        MeasurementCost("a", Fraction(1), None, rho=Fraction(rho), delta=Fraction(delta))


def rhos_as_epsilons(groups: Sequence[Group]) -> Charge:
    """Broken twin: rhos are added up as if they were epsilons."""
    return Charge(sum((g.rho for g in groups), Fraction(0)), groups[0].delta)


def without_delta(groups: Sequence[Group]) -> Charge:
    """Broken twin: delta is forgotten."""
    return Charge(charge_of(groups).epsilon)


def dearest_alone(groups: Sequence[Group]) -> Charge:
    """Broken twin: the dearest alone is charged, as if they were disjoint."""
    return Charge(max(g.epsilon for g in groups), groups[0].delta)


@pytest.mark.parametrize("twin", [rhos_as_epsilons, without_delta, dearest_alone])
def test_broken_twins_are_caught(twin: Callable[[Sequence[Group]], Charge]) -> None:
    costs = [gaussian(name, "1") for name in "abc"]
    rhos = [cost.rho for cost in costs]
    assert is_private(rhos, charge_of(composition_groups(costs)))
    assert not is_private(rhos, twin(composition_groups(costs)))


# Ledger ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "spent", "fits"),
    [
        (NO_LIMIT, NO_LIMIT, True),
        (Budget(Fraction(5)), NO_LIMIT, True),
        (Budget(Fraction(5), MILLIONTH), NO_LIMIT, True),
        (Budget(None, MILLIONTH), Budget(Fraction(0), MILLIONTH), False),
        (Budget(Fraction(5), MILLIONTH / 2), NO_LIMIT, False),
        (Budget(Fraction(5), Fraction(0)), NO_LIMIT, False),
        (Budget(Fraction(1, 2)), NO_LIMIT, False),
    ],
)
def test_a_delta_beyond_a_stated_limit_is_refused(
    limit: Budget, spent: Budget, *, fits: bool
) -> None:
    def charge(left: Fraction) -> Charge:
        return charge_of(composition_groups([gaussian("a", "1")]), left)

    allowance = Allowance(limit, spent.epsilon or Fraction(0), spent.delta or Fraction(0))
    if fits:
        assert charge_within(charge, allowance).delta == MILLIONTH
        return
    with pytest.raises(BudgetError, match=r"Nothing was spent\. (Leave delta|Ask for less)"):
        charge_within(charge, allowance)


def test_what_is_replayed_needs_no_delta() -> None:
    over = Allowance(Budget(Fraction(1), Fraction(0)), Fraction(2), MILLIONTH)
    assert charge_within(lambda _: Charge(), over) == Charge()
    nothing_more = Charge(Fraction(0), Fraction(0), SEQUENTIAL)
    assert charge_within(lambda _: nothing_more, over) == nothing_more


def test_the_ledger_adds_up_deltas_and_shows_them(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.set_limit(Budget(Fraction(3), 2 * MILLIONTH))

    def pay(name: str) -> None:
        groups = composition_groups([gaussian(name, "1")])
        facts = {name: {"id": name}}
        assert ledger.reserve(
            RecognisedTable("table", "f" * 64, name="t"),
            facts,
            lambda left: charge_of(groups, left),
        )

    pay("a")
    pay("b")
    with pytest.raises(BudgetError, match=r"needs delta 1e-06; of 2e-06 .* 2e-06 are spent and 0 "):
        pay("c")
    (data_set,) = Ledger(ledger.path).report().data_sets
    assert data_set.epsilon == 2
    assert data_set.delta == 2 * MILLIONTH
    first, _, _ = data_set_lines(data_set)
    assert first == "spent epsilon 2 of 3, 1 left; delta 2e-06 of 2e-06, 0 left"
    assert [(run.epsilon, run.delta, run.rule) for run in data_set.runs] == [
        (Fraction(1), MILLIONTH, "concentrated")
    ] * 2
