"""Stand-ins, error rates, thresholds and needed budgets."""

import math
import operator
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqd.deciders import (
    DECIDERS,
    Histogram,
    Interval,
    Lattice,
    SimulatedNoise,
    answer,
    applicable,
    decision_chance,
    error_rates,
    for_lattice,
    needed_epsilon,
    operating_characteristic,
)
from pqd.deciders.evaluation import needed_budget
from pqd.deciders.evaluation.effectiveness import (
    WEIGHED,
    expected_wrong,
    searched_threshold,
    shape_of,
)
from pqd.deciders.evaluation.shapes import Reranked, shapes
from pqd.deciders.evaluation.stand_ins import Shape, stand_ins_at
from pqd.deciders.evaluation.trials import trial_of
from pqd.deciders.single.inverse_sensitivity import (
    MarginLaw,
    deciding_epsilon,
    least_margin,
    most_rows_beyond,
)
from pqd.deciders.single.sum import LaplaceSum

RNG = np.random.default_rng(5)
AGES = Histogram.from_values(RNG.integers(0, 86, 3000).tolist())
INCOMES = Histogram.from_values((RNG.pareto(1.5, 2000) * 1000).astype(int).clip(0, 50_000).tolist())
EVERY = {
    "COUNT": (Histogram.of_mass(1000), Lattice(0, 1), 40),
    "SUM": (INCOMES, Lattice(0, 50_000), 400_000),
    "AVG": (INCOMES, Lattice(0, 50_000), 300),
    "MEDIAN": (AGES, Lattice(0, 85), 3),
    "QUANTILE": (AGES, Lattice(0, 85), 3),
    "COUNT DISTINCT": (AGES.multiplicities(), Lattice(0, 1), 20),
}
DECIDERS_ON = [
    pytest.param(decider, facts[0], facts[2], id=decider.id)
    for aggregate, facts in EVERY.items()
    for decider in applicable(aggregate, facts[1])
]


def test_many_distinct_values_are_as_cheap_as_few() -> None:
    """Ten million values, two multiplicities: both sides are evaluated, none is left out."""
    wide = Histogram.weighted(np.array([1, 3]), np.array([10**7, 10**6]))
    interval = Interval.around(wide.mass, 10**6)
    assert len(list(stand_ins_at(wide, Fraction(2 * 10**6), Shape("COUNT DISTINCT")))) == 2
    assert 0 < error_rates(DECIDERS["inv_distinct"](), wide, interval, "0.00001").false_yes < 0.01


def test_a_coarse_answer_has_no_chance_between_its_points() -> None:
    decider = DECIDERS["inv_count"]()
    interval = Interval.around(100, "1/2")
    gaps = [Fraction(0), Fraction(1, 2), Fraction(1), Fraction(2)]
    curve = operating_characteristic(decider, Histogram.of_mass(100), interval, 3, gaps)
    assert curve[0] > 0.9
    assert math.isnan(curve[1])
    assert curve[2] < 0.1


def test_a_tiny_budget_is_found_for_a_huge_tolerance() -> None:
    interval = Interval.around(10**10, 10**9)
    found = needed_epsilon(DECIDERS["inv_count"](), Histogram.of_mass(10**10), interval, 0.05)
    assert 2e-9 < found < 4e-9


@pytest.mark.parametrize(("decider", "histogram", "tau"), DECIDERS_ON)
def test_threshold_suffices_and_a_smaller_one_does_not(
    decider: Any, histogram: Histogram, tau: int
) -> None:
    found = decider.tau_min(histogram, 0.5, 0.05)
    centre = answer(decider.aggregate, histogram)
    assert centre is not None
    if math.isinf(found.tau):
        wide = Interval.around(centre, 10**5 * tau)
        assert error_rates(decider, histogram, wide, 0.5).worst > 0.05
        return
    at = Interval.around(centre, Fraction(found.tau) * Fraction(10**9 + 1, 10**9))
    assert error_rates(decider, histogram, at, 0.5).worst <= 0.05 + 1e-9
    grain = 1 if decider.aggregate != "AVG" else Fraction(1, 10 * histogram.mass)
    shorter = min(Fraction(found.tau) * Fraction(97, 100), Fraction(found.tau) - grain)
    if shorter > 0:
        below = Interval.around(centre, shorter)
        assert error_rates(decider, histogram, below, 0.5).worst > 0.05


@pytest.mark.parametrize(("decider", "histogram", "tau"), DECIDERS_ON)
def test_needed_epsilon_suffices_and_a_smaller_one_does_not(
    decider: Any, histogram: Histogram, tau: int
) -> None:
    interval = Interval.around(answer(decider.aggregate, histogram) or 0, tau)
    found = needed_epsilon(decider, histogram, interval, 0.05)
    if math.isinf(found):
        assert error_rates(decider, histogram, interval, 2**20).worst > 0.05
        return
    allowed = 0.1 if len(decider.proves) == 2 else 0.05
    assert worst_of_shapes(decider, histogram, tau, found) <= allowed
    assert worst_of_shapes(decider, histogram, tau, found * 0.97) > allowed


@pytest.mark.parametrize(("decider", "histogram", "tau"), DECIDERS_ON)
def test_a_decision_chance_is_that_of_a_proof_on_the_worst_shape(
    decider: Any, histogram: Histogram, tau: int
) -> None:
    interval = Interval.around(answer(decider.aggregate, histogram) or 0, tau)
    for epsilon in (0.05, 0.5, 3):
        found = decision_chance(decider, histogram, interval, epsilon, 0.05)
        proves = len(decider.proves) == 2
        expected = 1 - worst_of_shapes(decider, histogram, tau, epsilon) if proves else 0
        assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", ["inv_count", "noisy_count", "lm_count", "inv_median"])
def test_an_error_over_alpha_bounds_the_chance_where_no_proof_is_known(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    histogram, lattice, tau = EVERY[DECIDERS[name].aggregate]
    decider: Any = DECIDERS[name].on(lattice)
    interval = Interval.around(answer(decider.aggregate, histogram) or 0, tau)
    epsilons = (0.02, 0.1, 0.2, 0.5, 1, 3)
    known = [decision_chance(decider, histogram, interval, e, 0.05) for e in epsilons]
    acceptance = type(decider).acceptance

    def plain(*asked: Any) -> Any:
        return partial(acceptance(*asked))

    monkeypatch.setattr(type(decider), "acceptance", plain)
    needed_budget.trials_of.cache_clear()
    trial_of.cache_clear()
    bounds = [decision_chance(decider, histogram, interval, e, 0.05) for e in epsilons]
    needed_budget.trials_of.cache_clear()
    trial_of.cache_clear()
    assert all(map(operator.le, bounds, [each + 1e-9 for each in known]))
    assert max(bounds) > 0.9


def worst_of_shapes(decider: Any, histogram: Histogram, tau: int, epsilon: float) -> float:
    """Worst chance, on the table and its shapes, each around its own answer, of a run that fails.

    A run fails that does not end right and with a p-value of at most 0.05; of a decider that cannot
    prove both verdicts, a run that ends wrong.
    """
    tables: list[Any] = [histogram, *shapes(histogram, decider.aggregate)]
    worst = 0.0
    for table in tables:
        interval = Interval.around(answer(decider.aggregate, table) or 0, tau)
        far = stand_ins_at(table, Fraction(2 * tau), shape_of(decider))
        if len(decider.proves) < 2:
            fails = [1 - decider.accept(table, interval, epsilon)]
            fails += [decider.accept(each, interval, epsilon) for each in far]
        else:
            terms = Fraction(epsilon), Fraction(1, 20)
            fails = [1 - decider.acceptance(table, interval).proof_chance(*terms)]
            laws = [decider.acceptance(each, interval) for each in far]
            fails += [1 - law.refutation_chance(*terms) for law in laws]
        worst = max(worst, *fails)
    return worst


DISTANCES = [1, 2, 3, 4, 7, 20, 93, 1000, 10**7]


@pytest.mark.parametrize("alpha", ["0.001", "0.05", "0.2", "0.7"])
@pytest.mark.parametrize("distance", DISTANCES)
def test_the_epsilon_of_a_margin_is_the_least_that_decides(distance: int, alpha: str) -> None:
    """The closed form beside ``m(alpha) + m(1/10) - 1 <= distance``, and beside the exact law."""
    found = Fraction(deciding_epsilon(distance, alpha))

    def rows(epsilon: Fraction) -> int:
        return least_margin(epsilon, alpha) + least_margin(epsilon, 0.1) - 1

    if not found:
        # So high an alpha and so few rows that noise of any size decides.
        assert rows(Fraction(1, 10**9)) <= distance
        return
    assert rows(found) <= distance < rows(found * Fraction(999, 1000))
    for law, chance in (
        (MarginLaw(distance), "proof_chance"),
        (MarginLaw(1 - distance), "refutation_chance"),
    ):
        assert getattr(law, chance)(found, Fraction(alpha)) >= 0.9
        assert getattr(law, chance)(found * Fraction(999, 1000), Fraction(alpha)) < 0.9


@pytest.mark.parametrize("epsilon", [0.05, 0.25, 1])
def test_rows_beyond_bounds_that_nobody_stated_change_no_needed_epsilon(epsilon: float) -> None:
    """Their number follows epsilon, and is that of the run at any other."""
    plain: Any = DECIDERS["inv_sum"](lower=0, upper=50_000)
    within = replace(plain, most_beyond=most_rows_beyond(epsilon, 0.05))
    interval = Interval.around(INCOMES.total, 400_000)
    needed = needed_epsilon(plain, INCOMES, interval, 0.05)
    assert needed_epsilon(within, INCOMES, interval, 0.05) == needed
    chance = decision_chance(within, INCOMES, interval, epsilon, 0.05)
    assert (chance >= 0.9) == (epsilon >= needed)


def test_no_epsilon_decides_without_a_row_and_every_one_does_without_another_verdict() -> None:
    assert deciding_epsilon(0, 0.05) == math.inf
    assert deciding_epsilon(math.inf, 0.05) == 0


@pytest.mark.parametrize(("decider", "histogram", "tau"), DECIDERS_ON)
def test_chances_of_a_proof_are_those_of_the_decider_itself(
    decider: Any, histogram: Histogram, tau: int
) -> None:
    """Runs of the decider, on the copy and around intervals beside it; 4.5 standard errors."""
    if len(decider.proves) < 2:
        return
    centre, runs, alpha = answer(decider.aggregate, histogram) or 0, 400, Fraction(1, 20)
    needed = Fraction(needed_epsilon(decider, histogram, Interval.around(centre, tau), alpha))
    noise = SimulatedNoise(5)
    for epsilon in (needed * Fraction(6, 10), needed):
        for gap in (0, 2 * tau, -2 * tau):
            interval = Interval.around(centre + gap, tau)
            law = decider.acceptance(histogram, interval)
            chance = (law.refutation_chance if gap else law.proof_chance)(epsilon, alpha)
            decisions = (decider.decide(histogram, interval, epsilon, noise) for _ in range(runs))
            hits = sum(d.outcome == (not gap) and d.p_value <= 0.05 for d in decisions)
            reach = 4.5 * math.sqrt(max(chance * (1 - chance), 1 / runs) / runs)
            assert abs(hits / runs - chance) <= reach


@pytest.mark.parametrize("aggregate", ["AVG", "MEDIAN", "QUANTILE"])
def test_shapes_are_other_tables_and_the_same_every_time(aggregate: str) -> None:
    found: list[Any] = list(shapes(AGES, aggregate))
    again = list(shapes(AGES, aggregate))
    assert len(found) == 5
    for one, other in zip(found, again, strict=True):
        assert np.array_equal(one.values, other.values)
        assert np.array_equal(one.counts, other.counts)
    thinned, rising, falling, *drawn = found
    assert thinned.mass == AGES.mass // 2
    half = Fraction(1, 2)
    assert falling.quantile(half) < AGES.median < rising.quantile(half)
    assert {table.mass for table in (rising, falling, *drawn)} == {AGES.mass}


@pytest.mark.parametrize("values", [[7], [7, 7, 7], [1, 9], []])
def test_small_tables_have_shapes(values: list[int]) -> None:
    table = Histogram.from_values(values)
    masses = [shape.mass for shape in shapes(table, "MEDIAN")]
    assert len(masses) == (5 if values else 0)
    assert all(masses)


def test_a_margin_of_one_row_needs_no_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    """No distance is less, so the table itself says what is needed."""
    decider: Any = DECIDERS["inv_median"](lower=0, upper=85)
    needed = needed_epsilon(decider, Histogram.from_values([3]), Interval.around(3, 1), 0.05)

    def no_shapes(*_: object) -> Iterator[Any]:
        yield from ()
        raise AssertionError

    monkeypatch.setattr(needed_budget, "shapes", no_shapes)
    found = needed_epsilon(decider, Histogram.from_values([4]), Interval.around(4, 1), 0.05)
    assert found == needed == 2.95
    with pytest.raises(AssertionError):
        needed_epsilon(decider, AGES, Interval.around(AGES.median, 9), 0.05)


@pytest.mark.parametrize("aggregate", ["AVG", "MEDIAN", "QUANTILE"])
def test_what_is_needed_holds_on_a_table_that_is_less_dense(aggregate: str) -> None:
    """The private table has two thirds of the rows, and fewer of them about the answer."""
    names = {"AVG": "inv_mean", "MEDIAN": "inv_median", "QUANTILE": "inv_quantile"}
    decider: Any = DECIDERS[names[aggregate]](lower=0, upper=85)
    values = [v for v in range(86) for _ in range(24 if abs(v - 43) > 4 else 18)]
    private = Histogram.from_values(values)
    tau, centre = 3, answer(aggregate, AGES) or 0
    found = needed_epsilon(decider, AGES, Interval.around(centre, tau), 0.05)
    real = Interval.around(answer(aggregate, private) or 0, tau)
    law = decider.acceptance(private, real)
    assert law.proof_chance(Fraction(found), Fraction(1, 20)) >= 0.9


def test_thresholds_of_the_issue() -> None:
    mass = Histogram.of_mass(1000)
    found = DECIDERS["inv_count"]().tau_min(mass, 0.25, 0.05)
    assert (found.tau, found.exact) == (10, True)
    for epsilon in (0.01, 0.1, 0.7, 3, 50):
        threshold = int(DECIDERS["inv_count"]().tau_min(mass, epsilon, 0.05).tau)
        wide = Histogram.of_mass(10_000)
        at = Interval.around(10_000, threshold)
        assert error_rates(DECIDERS["inv_count"](), wide, at, epsilon).worst <= 0.05
        if threshold > 1:
            below = Interval.around(10_000, threshold - 1)
            assert error_rates(DECIDERS["inv_count"](), wide, below, epsilon).worst > 0.05


def test_a_median_needs_a_fifth_of_the_histograms_budget() -> None:
    interval = Interval.around(AGES.median, 3)
    inverse = needed_epsilon(DECIDERS["inv_median"](lower=0, upper=85), AGES, interval, 0.05)
    histogram = needed_epsilon(DECIDERS["hist_median"](lower=0, upper=85), AGES, interval, 0.05)
    assert 0.15 < inverse / histogram < 0.25


def test_operating_characteristic_falls_from_centre_to_far() -> None:
    decider = DECIDERS["inv_count"]()
    gaps = [Fraction(step, 8) for step in range(21)]
    curve = operating_characteristic(
        decider, Histogram.of_mass(1000), Interval.around(1000, 40), 0.2, gaps
    )
    assert list(curve) == sorted(curve, reverse=True)
    assert curve[0] > 0.99
    assert curve[-1] < 0.01
    assert curve[7] > 0.5 > curve[8]


@pytest.mark.parametrize("tau", [5, 50])
@pytest.mark.parametrize("values", [[], [20, 30]])
def test_a_curve_begins_at_the_copy_itself(values: list[int], tau: int) -> None:
    """Also where no row can have the value 0, and the sum is 0."""
    decider, histogram = LaplaceSum(lower=18, upper=90), Histogram.from_values(values)
    interval = Interval.around(Fraction(histogram.total), Fraction(tau))
    (yes,) = operating_characteristic(decider, histogram, interval, 2, [Fraction(0)])
    assert yes == pytest.approx(1 - error_rates(decider, histogram, interval, 2).false_no)


def test_an_impossible_gap_has_no_chance() -> None:
    decider = DECIDERS["inv_median"](lower=0, upper=85)
    curve = operating_characteristic(
        decider, AGES, Interval.around(AGES.median, 60), 1, [Fraction(2)]
    )
    assert math.isnan(curve[0])


def test_shape_is_read_from_the_decider() -> None:
    decider = DECIDERS["inv_quantile"](lower=2, upper=8, step=2, p=Fraction(1, 4))
    assert shape_of(decider) == Shape("QUANTILE", 2, 8, 2, Fraction(1, 4))


def test_the_expected_wrong_are_the_mean_of_both_sides() -> None:
    assert [str(gap) for gap in WEIGHED] == ["0", "1/2", "3/4", "5/4", "3/2", "2"]
    assert expected_wrong([1, 0.5, 0, 0.5, 0, 0.1]) == pytest.approx((0.5 + 0.2) / 2)
    # Whoever always says the same is as good as a coin.
    assert expected_wrong([1] * 6) == expected_wrong([0] * 6) == 0.5
    # A gap that no answer has counts for nothing.
    nan = math.nan
    assert expected_wrong([1, nan, 0.5, nan, nan, 0.1]) == pytest.approx((0.25 + 0.1) / 2)
    assert expected_wrong([0.9, 1, 1, nan, nan, nan]) == pytest.approx(0.1 / 3)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=40), st.integers(-2, 33))
def test_look_ups_of_shapes_are_those_of_their_copies(values: list[int], bound: int) -> None:
    tables: list[Any] = list(shapes(Histogram.from_values(values), "MEDIAN"))
    looked_up = [Reranked(table.base, table.ranks, listed=False) for table in tables]
    for table in [*tables, *looked_up]:
        built = Histogram(table.values, table.counts)
        assert table.mass == built.mass
        assert table.count_below(bound) == built.count_below(bound)
        assert table.count_at_most(bound) == built.count_at_most(bound)
        assert table.cumulative_counts.tolist() == built.cumulative_counts.tolist()
        for p in (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)):
            assert table.quantile(p) == built.quantile(p)
        for one, other in ((table, built), (table.mirrored, built.mirrored)):
            assert one.total == other.total
            assert one.sum_at_most(bound) == other.sum_at_most(bound)
            assert one.sum_of_smallest(one.mass // 2) == other.sum_of_smallest(one.mass // 2)
            for gap in ((1, 3), (40, 1)):
                ratio = other.rows_to_lower(gap, (bound, 7), -30)
                found = one.rows_to_lower(gap, (bound, 7), -30)
                assert (found and Fraction(*found)) == (ratio and Fraction(*ratio))


def test_sums_of_shapes_are_exact_beyond_64_bits() -> None:
    table = Histogram(np.array([2**52, 2**52 + 1]), np.array([2**13, 2**13]))
    tables: list[Any] = list(shapes(table, "AVG"))
    assert tables[0].total == 2**12 * (2**53 + 1)
    assert tables[0].sum_at_most(2**52) == 2**64


@pytest.mark.parametrize("decider_id", ["inv_median", "hist_median"])
def test_a_law_is_the_chance_of_a_yes_at_each_epsilon(decider_id: str) -> None:
    decider: Any = DECIDERS[decider_id](lower=0, upper=85)
    interval = Interval.around(AGES.median, Fraction(7, 2))
    law = decider.acceptance(AGES, interval)
    for epsilon in (Fraction(1, 50), Fraction(1, 3), Fraction(4)):
        assert law(epsilon) == decider.accept(AGES, interval, epsilon)


@pytest.mark.parametrize("values", [AGES.values, np.arange(5000)], ids=["few", "many"])
def test_drawn_ranks_of_one_number_are_those_of_an_array(values: Any) -> None:
    wide = Histogram.from_values(np.repeat(values, 3))
    for table in list(shapes(wide, "QUANTILE"))[3:5]:
        assert isinstance(table, Reranked)
        rows = range(wide.mass + 1)
        assert [table.ranks(each) for each in rows] == table.ranks(np.array(rows)).tolist()


def test_many_values_are_drawn_by_ranges() -> None:
    """The drawn tables have the mass of the table, and as much spread as drawn rows have."""
    wide = Histogram.from_values(range(50_000))
    tables: list[Any] = list(shapes(wide, "QUANTILE"))
    for table in tables[3:5]:
        moved = abs(table.count_at_most(24_999) - 25_000) / math.sqrt(50_000 / 4)
        assert table.mass == wide.mass
        assert 0 < moved < 4


def test_no_tau_is_searched_where_none_is_known_to_suffice() -> None:
    decider = for_lattice("inv_sum", "SUM", Lattice(0, 9))
    table = Histogram.from_values([4] * 30)
    found = searched_threshold(decider, table, 1, "0.05", beyond=math.inf)
    assert (found.tau, found.exact) == (math.inf, False)
