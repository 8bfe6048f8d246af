"""Decider of one distance: its margin, its chances, its threshold, and what a margin says."""

import itertools
import math
from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import pytest

from pqd.deciders import ParameterError, SimulatedNoise
from pqd.deciders.distances.decider import DistanceDecider
from pqd.deciders.distances.statistics import KolmogorovSmirnov, TotalVariation
from pqd.deciders.single.base import Decision
from tests.support.noises import Recorded

DECIDER = DistanceDecider()
TAU = Fraction(1, 10)
Counts = tuple[int, ...]


def moved(counts: Counts) -> Iterable[Counts]:
    """Tables with one row more or less."""
    for place, count in enumerate(counts):
        for change in (1, -1):
            if count + change >= 0:
                yield (*counts[:place], count + change, *counts[place + 1 :])


@pytest.mark.parametrize("tau", [Fraction(1, 20), Fraction(1, 3), Fraction(9, 10)])
@pytest.mark.parametrize("kind", [TotalVariation, KolmogorovSmirnov])
def test_the_margin_has_the_sign_of_the_truth_and_moves_by_one(
    kind: type[TotalVariation], tau: Fraction
) -> None:
    distance = kind(np.array([2, 1, 0]))

    def margin(counts: Counts) -> int:
        return DECIDER.margin(distance.rows(counts), sum(counts), tau)

    for counts in itertools.product(range(5), repeat=3):
        n = sum(counts)
        within = n > 0 and distance.rows(counts) / n < tau
        assert (margin(counts) >= 1) == within
        assert all(abs(margin(counts) - margin(other)) <= 1 for other in moved(counts))


def changes_to_flip(counts: Counts, distance: TotalVariation, tau: Fraction, most: int) -> int:
    """Fewest rows to add or remove until the verdict is another; ``most + 1`` if more."""

    def within(table: Counts) -> bool:
        return distance.rows(table) < tau * sum(table)

    truth, seen, frontier = within(counts), {counts}, {counts}
    for steps in range(1, most + 1):
        frontier = {other for table in frontier for other in moved(table)} - seen
        if any(within(table) != truth for table in frontier):
            return steps
        seen |= frontier
    return most + 1


@pytest.mark.parametrize("counts", [(20, 10, 0), (22, 8, 0), (30, 0, 1), (10, 18, 2), (24, 12, 5)])
def test_no_fewer_rows_than_the_margin_change_the_truth(counts: Counts) -> None:
    distance, tau = TotalVariation(np.array([2, 1, 0])), Fraction(1, 5)
    margin = DECIDER.margin(distance.rows(counts), sum(counts), tau)
    away = margin if margin >= 1 else 1 - margin
    fewest = changes_to_flip(counts, distance, tau, 12)
    assert away <= fewest <= 12
    # Here no fewer than half of them suffice: the bound is of use.
    assert fewest <= 2 * away


def test_accept_is_the_share_of_yeses() -> None:
    rows, n, epsilon, noise = Fraction(8), 100, "0.5", SimulatedNoise(5)
    for tau in (Fraction(7, 100), Fraction(9, 100), Fraction(12, 100)):
        yeses = sum(DECIDER.decide(rows, n, tau, epsilon, noise).outcome for _ in range(4000))
        chance = DECIDER.accept(rows, n, tau, epsilon)
        assert abs(yeses - 4000 * chance) < 5 * math.sqrt(4000 * chance * (1 - chance))


@pytest.mark.parametrize("alpha", ["0.05", "0.2", "0.001"])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "3", "50"])
@pytest.mark.parametrize("n", [300, 48_842])
def test_the_threshold_is_where_the_errors_become_alpha(n: int, epsilon: str, alpha: str) -> None:
    threshold = DECIDER.tau_min(n, epsilon, alpha)
    assert threshold.exact
    if math.isinf(threshold.tau):
        assert DECIDER.error_rates(n, Fraction(999, 1000), epsilon).worst > float(alpha)
        return
    if not threshold.tau:
        assert DECIDER.error_rates(n, Fraction(1, 10**9), epsilon).worst <= float(alpha)
        return
    # The chances are doubles, and the least k with a chance of at most alpha may be a tie.
    above = Fraction(threshold.tau)
    assert DECIDER.error_rates(n, above, epsilon).worst <= float(alpha) * (1 + 1e-12)
    below = above * Fraction(999_999, 1_000_000)
    if below * n > 1:
        assert DECIDER.error_rates(n, below, epsilon).worst > float(alpha)


def test_the_threshold_of_the_figure_that_is_quoted() -> None:
    """Among 48,842 rows at epsilon 1: a^3/(1 + a) is above 0.03, a^2/(1 + a) above 0.05."""
    assert DECIDER.tau_min(48_842, 1, "0.05").tau == pytest.approx(2 / 48_840)


def test_a_decision_has_its_margin_and_p_value() -> None:
    yes = DECIDER.decide(Fraction(0), 100, TAU, 1, Recorded([3], answer=True))
    a = math.exp(-1)
    assert (yes.outcome, yes.margin) == (True, 3)
    assert yes.p_value == pytest.approx(a**3 / (1 + a))
    no = DECIDER.decide(Fraction(0), 100, TAU, 1, Recorded([-3], answer=True))
    assert (no.outcome, no.margin) == (False, -3)
    assert no.p_value == pytest.approx(a**4 / (1 + a))


def test_people_is_a_lower_bound_with_its_probability() -> None:
    """By the exact law: the chance that it exceeds the margin without noise is at most alpha."""
    a = math.exp(-0.5)
    for margin, alpha in itertools.product((1, 4, 30, 0, -6), (0.05, 0.2)):
        away = margin if margin >= 1 else 1 - margin
        too_many = 0.0
        for z in range(-200, 201):
            decision = Decision(margin + z >= 1, 0.1, margin + z)
            same = decision.outcome == (margin >= 1)
            # On the other side nothing true can be said but 0 people.
            if DECIDER.people(decision, "0.5", alpha) > (away if same else 0):
                too_many += (1 - a) / (1 + a) * a ** abs(z)
        assert too_many <= alpha
    assert DECIDER.people(Decision(outcome=True, p_value=0.1, margin=50), "0.5", 0.05) > 40


def test_bad_tolerances_are_refused() -> None:
    for tau in (0, 1, "1.5", -1):
        with pytest.raises(ParameterError, match="between 0 and 1"):
            DECIDER.margin(Fraction(1), 10, tau)


def test_a_table_without_rows_is_a_no() -> None:
    assert DECIDER.margin(Fraction(0), 0, TAU) == 0
