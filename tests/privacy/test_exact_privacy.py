"""Every decider is epsilon-DP on generated neighbours, exactly; LM and INV use all of epsilon."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pqd.deciders import DECIDERS, Histogram, Interval, Lattice, for_lattice
from tests.support.neighbours import accept_of, worst_loss

TOLERANCE = 1e-6
SIGNED = ("lm_sum", "inv_sum", "noisy_sum", "inv_mean", "lm_mean")
LATTICES = [Lattice(0, 15), Lattice(3, 9), Lattice(0, 1), Lattice(2, 14, 2)]
SIGNED_LATTICES = [*LATTICES, Lattice(-6, 9), Lattice(-8, -1), Lattice(-4, 0)]


@st.composite
def situations(draw: st.DrawFn, decider_id: str) -> tuple[Any, list[int], range, Interval, float]:
    """A decider on a lattice, a small table, an interval near its answers, a budget."""
    made = DECIDERS[decider_id]
    lattice = draw(st.sampled_from(SIGNED_LATTICES if decider_id in SIGNED else LATTICES))
    parameters = {}
    if made.aggregate == "QUANTILE":
        parameters = {
            "p": draw(st.sampled_from([Fraction(1, 10), Fraction(1, 3), Fraction(9, 10)]))
        }
    decider = for_lattice(decider_id, made.aggregate, lattice, **parameters)
    points = range(lattice.lower_units, lattice.upper_units + 1, lattice.step_units)
    if made.aggregate == "COUNT":
        # Of a row that is added to a count its value says nothing: the ends stand for all.
        points = range(points[0], points[-1] + 1, points[-1] - points[0])
    values = draw(st.lists(st.sampled_from(points), max_size=12))
    reach = {"SUM": 60, "COUNT": 16, "COUNT DISTINCT": 10}.get(made.aggregate, 16)
    centre = draw(st.integers(-reach // 4, reach)) + draw(
        st.sampled_from([Fraction(0), Fraction(1, 2)])
    )
    tau = Fraction(draw(st.integers(1, 2 * reach)), 4)
    epsilon = draw(st.sampled_from([0.1, 0.5, 1.0, 2.5]))
    return decider, values, points, Interval.around(centre, tau), epsilon


@pytest.mark.parametrize("decider_id", DECIDERS)
def test_no_neighbour_is_told_apart_beyond_epsilon(decider_id: str) -> None:
    @settings(max_examples=120 if "svt" in decider_id else 300)
    @given(situations(decider_id))
    def check(situation: tuple[Any, list[int], range, Interval, float]) -> None:
        decider, values, points, interval, epsilon = situation
        lost = worst_loss(accept_of(decider), values, points, interval, epsilon)
        assert lost <= epsilon + TOLERANCE

    check()


@pytest.mark.parametrize(
    ("decider_id", "values", "interval"),
    [
        ("lm_count", [0] * 40, Interval(10, 20)),
        ("lm_sum", [15] * 40, Interval(100, 200)),
        ("inv_count", [0] * 40, Interval(10, 20)),
        ("noisy_count", [0] * 40, Interval(10, 20)),
        ("noisy_sum", [15] * 40, Interval(100, 200)),
        ("noisy_distinct", list(range(16)), Interval(1, 6)),
        ("inv_sum", [15] * 40, Interval(100, 200)),
        ("inv_mean", [15] * 40, Interval(2, 9)),
        ("inv_median", [15] * 8, Interval(2, 9)),
        ("inv_quantile", [15] * 8, Interval(2, 9)),
        ("inv_distinct", list(range(16)), Interval(1, 6)),
    ],
)
def test_the_whole_budget_is_used(decider_id: str, values: list[int], interval: Interval) -> None:
    made = DECIDERS[decider_id]
    decider = for_lattice(decider_id, made.aggregate, Lattice(0, 15))
    assert worst_loss(accept_of(decider), values, range(16), interval, 0.5) >= 0.99 * 0.5


def test_waste_of_the_published_deciders() -> None:
    """Over random pairs R2T, SVT and both medians stay well inside epsilon = 1 (docs/theory.md)."""
    rng, found = np.random.default_rng(4), dict.fromkeys(DECIDERS, 0.0)
    for _ in range(60):
        values = rng.integers(0, 16, rng.integers(0, 25)).tolist()
        for decider_id in ("r2t_sum", "svt_sum", "hist_median", "em_median"):
            decider = for_lattice(decider_id, DECIDERS[decider_id].aggregate, Lattice(0, 15))
            centre, tau = (sum(values), 40) if "sum" in decider_id else (7, 3)
            shifted = Interval.around(centre + int(rng.integers(-20, 20)) * (tau // 3), tau)
            lost = worst_loss(accept_of(decider), values, range(16), shifted, 1.0)
            found[decider_id] = max(found[decider_id], lost)
    assert found["r2t_sum"] < 0.6
    assert found["svt_sum"] < 0.5
    assert found["hist_median"] < 0.75
    assert found["em_median"] < 0.75
    assert all(found[name] > 0 for name in ("r2t_sum", "svt_sum", "hist_median", "em_median"))


def test_one_rung_uses_the_whole_budget() -> None:
    """R2T at GS = 2 is the Laplace mechanism; with two rungs it loses at most three quarters."""
    for upper, least, most in ((2, 0.99, 1.0), (4, 0.7, 0.76)):
        decider = for_lattice("r2t_sum", "SUM", Lattice(0, upper))
        lost = max(
            worst_loss(decider.accept, [2] * rows, range(upper + 1), Interval(end, 10**6), 1.0)
            for rows in (0, 5, 20)
            for end in (10, 40, 80)
        )
        assert least <= lost <= most + TOLERANCE


def test_the_budget_is_kept_where_rungs_outnumber_the_logarithm() -> None:
    """R2T splits epsilon by log2 GS but has ceil(log2 GS) rungs; its docstring has the proof."""
    for upper in (2, 3, 5, 9):
        decider = for_lattice("r2t_sum", "SUM", Lattice(0, upper))
        for values in ([], [upper] * 3, [1] * 30, list(range(upper + 1)) * 4):
            for end in range(1, 40, 3):
                interval = Interval(end, end + 200)
                lost = worst_loss(accept_of(decider), values, range(upper + 1), interval, 3.0)
                assert lost <= 3.0 + TOLERANCE


def test_a_margin_moves_by_at_most_one() -> None:
    """The statement behind INV's guarantee, on larger tables than the exact check can afford."""
    rng = np.random.default_rng(9)
    for _ in range(400):
        low = int(rng.integers(-20, 5))
        lattice = Lattice(low, low + int(rng.integers(1, 30)))
        points = range(lattice.lower_units, lattice.upper_units + 1)
        values = rng.choice(points, rng.integers(0, 60)).tolist()
        for decider_id in ("inv_count", "inv_sum", "inv_mean", "inv_median", "inv_distinct"):
            made = DECIDERS[decider_id]
            decider: Any = for_lattice(decider_id, made.aggregate, lattice)
            centre = {"inv_sum": sum(values), "inv_count": len(values)}.get(decider_id, low + 5)
            interval = Interval.around(
                centre + int(rng.integers(-9, 9)), Fraction(int(rng.integers(1, 60)), 7)
            )
            if decider.constant_verdict(interval) is not None:
                continue
            value = int(rng.choice(points))
            tables = [Histogram.from_values(rows) for rows in (values, [*values, value])]
            if decider_id == "inv_distinct":
                tables = [table.multiplicities() for table in tables]
            here, there = (decider.margin(table, interval) for table in tables)
            assert abs(here - there) <= 1, (decider_id, values, value, interval)
