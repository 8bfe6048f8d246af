"""The statements of docs/theory.md, section 3, each with the computation that could refute it."""

import itertools
import math
from collections import deque
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pqd.deciders import DECIDERS, Histogram, Interval, Lattice, SimulatedNoise, answer, for_lattice
from pqd.deciders.single.inverse_sensitivity import MarginLaw, most_rows_beyond
from pqd.deciders.single.margins import (
    changes_to_lower,
    changes_to_raise,
    count_margin,
    distinct_margin,
    quantile_margin,
    sum_margin,
)

MOST_ROWS = 6
ROUNDING = 1e-12
Table = tuple[int, ...]


def tables(kinds: int) -> list[Table]:
    """Every table of at most ``MOST_ROWS`` rows over ``kinds`` values, as counts."""
    every = itertools.product(range(MOST_ROWS + 1), repeat=kinds)
    return [counts for counts in every if sum(counts) <= MOST_ROWS]


def distances(every: list[Table], truth: Callable[[Table], bool]) -> dict[Table, int]:
    """Rows to change until the verdict flips, by breadth-first search."""
    verdicts = {table: truth(table) for table in every}
    found: dict[Table, int] = {}
    for goal in (True, False):
        reached = {table: 0 for table in every if verdicts[table] is goal}
        queue = deque(reached)
        while queue:
            table = queue.popleft()
            for place, change in itertools.product(range(len(table)), (1, -1)):
                other = (*table[:place], table[place] + change, *table[place + 1 :])
                if other in verdicts and other not in reached:
                    reached[other] = reached[table] + 1
                    queue.append(other)
        found |= {t: d for t, d in reached.items() if verdicts[t] is not goal}
    return found


def histogram_of(values: tuple[int, ...], counts: Table) -> Histogram:
    return Histogram.weighted(np.array(values), np.array(counts))


def counted(decider_id: str, values: tuple[int, ...], counts: Table) -> Histogram:
    """The statistic of a decider: multiplicities for distinct counts, else values."""
    histogram = histogram_of(values, counts)
    return histogram.multiplicities() if decider_id == "inv_distinct" else histogram


QUERIES = ["inv_count", "inv_sum", "inv_mean", "inv_median", "inv_quantile", "inv_distinct"]


@pytest.mark.parametrize("values", [(0, 1, 3), (-2, 0, 3), (-3, -1, 0), (1, 2, 4)])
@pytest.mark.parametrize("decider_id", QUERIES)
def test_margin_against_breadth_first_search(decider_id: str, values: tuple[int, ...]) -> None:
    """The sign is the verdict, neighbours differ by at most 1, and it never exceeds the distance.

    A yes far enough from the largest table searched has exactly the distance for its margin.
    """
    made = DECIDERS[decider_id]
    decider: Any = for_lattice(decider_id, made.aggregate, Lattice(values[0], values[-1]))
    p, every = getattr(decider, "p", Fraction(1, 2)), tables(len(values))
    histograms = {table: counted(decider_id, values, table) for table in every}
    answers = {table: answer(made.aggregate, histograms[table], p) for table in every}
    for start, width in itertools.product((-4, -1, 0, 1, 3), (3, 4, 10)):
        interval = Interval(Fraction(start, 2), Fraction(start + width, 2))
        if decider.constant_verdict(interval) is not None:
            continue

        def inside(counts: Table, interval: Interval = interval) -> bool:
            found = answers[counts]
            return found is not None and interval.contains(found)

        margins = {table: decider.margin(histograms[table], interval) for table in every}
        flips = distances(every, inside)
        for table, margin in margins.items():
            assert (margin >= 1) == inside(table), (table, interval)
            for place in range(len(table)):
                other = (*table[:place], table[place] + 1, *table[place + 1 :])
                assert other not in margins or abs(margin - margins[other]) <= 1
            if inside(table):
                assert margin <= flips.get(table, math.inf)
                near = sum(table) + margin <= MOST_ROWS
                if near and decider_id in {"inv_count", "inv_sum", "inv_mean"}:
                    assert margin == flips[table], (table, interval)


def test_a_settled_answer_is_true_of_every_table() -> None:
    values = (1, 2, 4)
    for decider_id in QUERIES:
        made = DECIDERS[decider_id]
        decider = for_lattice(decider_id, made.aggregate, Lattice(1, 4))
        for interval in (
            Interval(-9, -1),
            Interval("1/3", "2/3"),
            Interval("3/2", "7/4"),
            Interval(4, 5),
        ):
            settled = decider.constant_verdict(interval)
            if settled is None:
                continue
            for table in tables(3):
                found = answer(made.aggregate, counted(decider_id, values, table))
                assert settled == (found is not None and interval.contains(found))


def test_a_sum_that_can_only_be_zero_is_settled() -> None:
    decider = for_lattice("inv_sum", "SUM", Lattice(0, 0))
    assert decider.constant_verdict(Interval(-1, 1)) is True
    assert decider.constant_verdict(Interval(1, 2)) is False
    decision = decider.decide(Histogram.from_values([0, 0]), Interval(-1, 1), 1, SimulatedNoise(1))
    assert (decision.outcome, decision.p_value, decision.margin) == (True, 0.0, None)


@given(
    st.integers(0, 200),
    st.integers(0, 100),
    st.integers(1, 160),
    st.sampled_from([0.05, 0.3, 1, 4]),
)
def test_error_is_never_above_em_count(
    count: int, centre: int, quarter: int, epsilon: float
) -> None:
    interval, mass = Interval.around(centre, Fraction(quarter, 4)), Histogram.of_mass(count)
    inverse = DECIDERS["inv_count"]().accept(mass, interval, epsilon)
    exponential = DECIDERS["em_count"]().accept(mass, interval, epsilon)
    if interval.contains(count):
        assert 1 - inverse <= 1 - exponential + 1e-12
    else:
        assert inverse <= exponential + 1e-12


def median_errors(rows: int, below: int, above: int, epsilon: Fraction) -> tuple[float, float]:
    """Errors of ``hist_median`` and ``inv_median`` where so many rows lie beyond either end."""
    held, interval = (below, rows - below - above, above), Interval(2, 8)
    table, lattice = histogram_of((1, 5, 9), held), Lattice(0, 10)
    inside = bool(rows) and interval.contains(table.median)
    chances = [
        for_lattice(name, "MEDIAN", lattice).accept(table, interval, epsilon)
        for name in ("hist_median", "inv_median")
    ]
    majority, margin = (1 - chance if inside else chance for chance in chances)
    return majority, margin


@cache
def pairs_of_median_errors() -> list[tuple[float, float]]:
    """Errors of both medians on small tables and on large ones that lie on one side."""
    tables = [
        (rows, below, above)
        for rows in (*range(12), 40, 41)
        for below in range(rows + 1)
        for above in range(rows + 1 - below)
        if rows < 12 or min(below, above) < 2
    ]
    epsilons = [Fraction(n, 100) for n in (1, 5, 20, 50, 80, 120, 180, 250, 400, 1000)]
    return [median_errors(*each, epsilon) for each in tables for epsilon in epsilons]


def majority_wins(most: float) -> int:
    """Tables on which ``hist_median`` errs with at most ``most``, and ``inv_median`` more often."""
    pairs = pairs_of_median_errors()
    assert sum(1e-9 < majority <= most for majority, _ in pairs) > 500
    return sum(majority <= most and margin > majority + ROUNDING for majority, margin in pairs)


def test_error_of_a_median_is_never_above_a_small_one_of_hist_median() -> None:
    """Theorem 6 of docs/theory.md; of large errors it is another matter."""
    assert majority_wins(1 / 16) == 0
    assert majority_wins(1 / 3) > 0


@given(st.integers(0, 60), st.integers(0, 40), st.integers(1, 40), st.sampled_from([0.1, 0.7, 2]))
def test_error_is_within_twice_the_floor(count: int, centre: int, tau: int, epsilon: float) -> None:
    """Any epsilon-DP decider right half the time beyond the boundary errs with >= e^(-eps d)/2."""
    interval = Interval.around(centre, tau)
    margin = count_margin(count, interval)
    distance = margin if margin >= 1 else 1 - margin
    accept = DECIDERS["inv_count"]().accept(Histogram.of_mass(count), interval, epsilon)
    error = 1 - accept if margin >= 1 else accept
    floor = math.exp(-epsilon * distance) / 2
    assert floor - 1e-12 <= error <= 2 * floor + 1e-12
    assert error < 0.5


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
@pytest.mark.parametrize("margin", [1, 0, 3, -4])
def test_p_value_is_the_worst_tail_of_the_other_verdict(margin: int, epsilon: float) -> None:
    """A wrong verdict with p <= alpha happens with probability at most alpha, for every alpha."""
    decider, rng = DECIDERS["inv_count"](), SimulatedNoise(17)
    interval, count = Interval(10, 10**6), 10 + margin
    decisions = [
        decider.decide(Histogram.of_mass(count), interval, epsilon, rng) for _ in range(6_000)
    ]
    wrong = [d.p_value for d in decisions if d.outcome != (margin >= 1)]
    for alpha in (0.01, 0.05, 0.2, 0.4):
        share = sum(p is not None and p <= alpha for p in wrong) / len(decisions)
        assert share <= alpha + 4.5 * math.sqrt(alpha / len(decisions))
    for decision in decisions:
        assert decision.margin is not None
        assert decision.outcome == (decision.margin >= 1)
        steps = decision.margin if decision.outcome else 1 - decision.margin
        expected = math.exp(-epsilon * steps) / (1 + math.exp(-epsilon))
        assert decision.p_value == pytest.approx(expected, rel=1e-12)
        assert decision.p_value <= 0.5


BOUNDS = st.sampled_from([(-9, 9), (0, 9), (-9, 0), (-12, 3), (0, 0)])


@given(st.lists(st.integers(-9, 9), max_size=30), st.integers(1, 90), st.integers(1, 90), BOUNDS)
def test_margin_of_a_sum_inside_is_that_of_the_nearer_end(
    values: list[int], above: int, below: int, bounds: tuple[int, int]
) -> None:
    """Also where the changes to the other end are not counted, since a bound tells."""
    low, high = bounds
    held = Histogram.from_values([v for v in values if low <= v <= high])
    interval = Interval(held.total - below, held.total + above)
    ends = (
        changes_to_raise(held, (above, 1), (0, 1), high),
        changes_to_lower(held, (below, 1), (0, 1), low),
    )
    assert sum_margin(held, interval, low, high) == min(ends)


@given(st.lists(st.integers(-9, 9), max_size=30), st.integers(1, 120), BOUNDS)
def test_greedy_changes_are_the_least(values: list[int], gap: int, bounds: tuple[int, int]) -> None:
    low, high = bounds
    held = sorted(v for v in values if low <= v <= high)
    found = changes_to_raise(Histogram.from_values(held), (gap, 1), (0, 1), high)
    gains = sorted((-v for v in held if v < 0), reverse=True)
    best: float = math.inf
    for removed in range(len(gains) + 1):
        rest = gap - sum(gains[:removed])
        if rest <= 0:
            best = min(best, removed)
        elif high > 0:
            best = min(best, removed - (-rest // high))
    assert found == best


def test_sums_beyond_64_bits_keep_exact_margins() -> None:
    """AVG ends are fractions with large denominators; 64 bits would overflow silently."""
    values = np.array([10**9, 10**9 + 1])
    histogram = Histogram(values, np.array([3 * 10**6, 10**6]))
    end = Fraction(10**9) + Fraction(1, 10**7)
    decider: Any = for_lattice("inv_mean", "AVG", Lattice(0, 2 * 10**9))
    interval = Interval(Fraction(1), end)
    exact = sum(
        c * (int(v) * end.denominator - end.numerator)
        for v, c in zip(values, histogram.counts.tolist(), strict=True)
    )
    assert exact > 0
    down = -(-(exact + 1) // end.numerator)
    assert decider.margin(histogram, interval) == 1 - down


@given(st.lists(st.integers(0, 9), max_size=40), st.integers(0, 8), st.integers(1, 6))
@settings(max_examples=200)
def test_median_margin_is_the_plain_formula(values: list[int], left: int, width: int) -> None:
    right = left + width
    histogram = Histogram.from_values(values)
    below = sum(v < right for v in values) - sum(v >= right for v in values) + 1
    above = sum(v > left for v in values) - sum(v <= left for v in values)
    found = quantile_margin(histogram, Interval(left, right), Fraction(1, 2))
    assert found == min(below, above)


def test_margins_of_plain_cases() -> None:
    assert count_margin(15, Interval(10, 20)) == 5
    assert count_margin(10, Interval(10, 20)) == 0
    assert count_margin(25, Interval(10, 20)) == -5
    assert count_margin(2, Interval(-3, 3)) == 1
    hundred = Histogram.from_values([10] * 10)
    assert sum_margin(hundred, Interval(80, 130), 0, 10) == 2
    assert sum_margin(hundred, Interval(80, 130), 0, 30) == 1
    assert sum_margin(hundred, Interval(150, 190), 0, 10) == -5
    held = Histogram.from_values([1, 1, 1, 2, 2, 3]).multiplicities()
    assert distinct_margin(held, Interval(1, 9)) == 3


@pytest.mark.parametrize(("epsilon", "rows"), [("0.25", 15), ("1", 3)])
def test_a_yes_admits_so_few_rows_beyond_that_nine_runs_of_ten_prove_none(
    epsilon: str, rows: int
) -> None:
    assert most_rows_beyond(epsilon, "0.05") == rows
    decay = math.exp(-float(epsilon))

    def proof_chance(margin: int) -> float:
        """Chance that the p-value of a noisy margin is at most 5 %."""
        least = next(m for m in range(1, 100) if decay**m / (1 + decay) <= 0.05)
        above = least - margin
        tail = decay ** abs(above) / (1 + decay)
        return tail if above > 0 else 1 - decay * tail

    # Without a row beyond, the margin of the claim is rows + 1.
    assert proof_chance(rows + 1) >= 0.9 > proof_chance(rows)


@pytest.mark.parametrize("margin", range(-6, 8))
@pytest.mark.parametrize("epsilon", ["0.25", "1"])
def test_chances_of_a_proof_are_those_of_all_draws(margin: int, epsilon: str) -> None:
    decay, alpha = math.exp(-float(epsilon)), 0.05
    chances = {"yes": 0.0, "no": 0.0}
    for noisy in range(-200, 200):
        chance = (1 - decay) / (1 + decay) * decay ** abs(noisy - margin)
        if noisy >= 1 and decay**noisy / (1 + decay) <= alpha:
            chances["yes"] += chance
        if noisy < 1 and decay ** (1 - noisy) / (1 + decay) <= alpha:
            chances["no"] += chance
    law = MarginLaw(margin)
    assert law.proof_chance(Fraction(epsilon), alpha) == pytest.approx(chances["yes"], rel=1e-9)
    assert law.refutation_chance(Fraction(epsilon), alpha) == pytest.approx(chances["no"], rel=1e-9)
