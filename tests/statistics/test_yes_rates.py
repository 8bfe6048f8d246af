"""The literal algorithms, run 4,000 times, against the exact acceptance probabilities.

The runs are made many at once by twins that say what the deciders say, on recorded noise exactly.
The same comparison must reject noise that is 30 % too small or too large: that is its power.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

from pqd.deciders import DECIDERS, Decider, Histogram, Interval, Lattice
from pqd.deciders.exact import budget_of
from tests.support.vectorised_deciders import (
    RULES,
    RecordedDraws,
    RecordedRun,
    SimulatedDraws,
    outcomes,
)

RUNS = 4_000
# Runs of a case, and the most draws of a run, for which decider and twin are compared.
COMPARED, LONGEST = 250, 64
LIMIT = 4.5

SMALL = Histogram.from_values(np.random.default_rng(7).integers(0, 50, 300).tolist())
HEAVY = Histogram.from_values(
    (np.random.default_rng(8).pareto(1.5, 400) * 1000).astype(int).clip(0, 2**15).tolist()
)
TIED = Histogram.from_values([40] * 30 + [18] * 12 + [65] * 20)
SMALL_LATTICE, HEAVY_LATTICE = Lattice(0, 50), Lattice(0, 2**15)

Case = tuple[str, Histogram, Lattice, Interval, Fraction]


Terms = list[tuple[int, float, float]]


def _cases(
    name: str, histogram: Histogram, lattice: Lattice, centre: int, terms: Terms
) -> list[Case]:
    """Intervals around ``centre + gap``, labelled."""
    return [
        (
            f"{name} {gap:+d} tau {tau} eps {epsilon}",
            histogram,
            lattice,
            Interval.around(centre + gap, tau),
            # Read once, not by every run.
            budget_of(epsilon),
        )
        for gap, tau, epsilon in terms
    ]


COUNT_TERMS: Terms = [
    *[(0, 10, 0.1), (0, 10, 0.25), (0, 3, 0.5), (0, 1, 1), (4, 10, 0.25), (-4, 10, 0.25)],
    *[(9, 10, 0.5), (10, 10, 0.5), (-12, 10, 0.25), (14, 10, 0.1), (30, 10, 0.1), (25, 12, 2)],
]
SMALL_TERMS: Terms = [
    *[(0, 100, 0.5), (0, 200, 0.5), (0, 3000, 0.25), (150, 300, 0.5), (-150, 300, 0.5)],
    *[(400, 350, 0.5), (-700, 500, 1), (0, 20, 4)],
]
HEAVY_TERMS: Terms = [
    *[(0, 60_000, 1), (-150_000, 200_000, 1), (0, 150_000, 0.25), (-60_000, 90_000, 4)],
]
MEDIAN_TERMS: Terms = [
    *[(0, 2, 0.25), (0, 2, 0.05), (3, 2, 0.25), (0, 0.5, 0.5), (-4, 4, 0.25), (6, 9, 0.1)],
]
TIED_TERMS: Terms = [
    *[(0, 2, 0.25), (0, 30, 0.1), (-10, 5, 0.1), (-2, 2, 0.5), (5, 5, 0.25), (20, 25, 0.05)],
]
MEAN_TERMS: Terms = [
    *[(0, 1, 0.05), (0, 1, 0.02), (0, 3, 0.01), (1, 2, 0.02), (-1, 2, 0.02), (2, 2, 0.05)],
    *[(-2, 2, 0.05), (4, 3, 0.02), (-5, 3, 0.01), (0, 0.2, 0.5), (8, 9, 0.02), (3, 2, 0.05)],
]
MANY_TERMS: Terms = [
    *[(0, 10, 0.1), (0, 3, 0.2), (0, 20, 0.02), (4, 10, 0.05), (-4, 10, 0.05), (9, 10, 0.5)],
    *[(10, 10, 0.2), (-10, 10, 0.05), (-14, 10, 0.02), (20, 12, 0.1), (-25, 12, 0.01), (0, 1, 1)],
]
DISTINCT = HEAVY.multiplicities()
CASES = {
    "COUNT": _cases("mass", Histogram.of_mass(100), SMALL_LATTICE, 100, COUNT_TERMS),
    "SUM": [
        *_cases("small", SMALL, SMALL_LATTICE, SMALL.total, SMALL_TERMS),
        *_cases("heavy", HEAVY, HEAVY_LATTICE, HEAVY.total, HEAVY_TERMS),
    ],
    "AVG": _cases("small", SMALL, SMALL_LATTICE, SMALL.total // SMALL.mass, MEAN_TERMS),
    "COUNT DISTINCT": _cases("heavy", DISTINCT, HEAVY_LATTICE, DISTINCT.mass, MANY_TERMS),
    "MEDIAN": [
        *_cases("small", SMALL, SMALL_LATTICE, SMALL.median, MEDIAN_TERMS),
        *_cases("tied", TIED, Lattice(0, 85), 40, TIED_TERMS),
    ],
}
CASES["QUANTILE"] = CASES["MEDIAN"]


def deviation(decider: Decider, case: Case, draws: SimulatedDraws) -> float:
    """Distance of the simulated yes-rate from ``accept``, in standard errors."""
    _, histogram, _, interval, epsilon = case
    expected, runs = decider.accept(histogram, interval, epsilon), draws.size
    hits = int(np.count_nonzero(outcomes(decider, histogram, interval, epsilon, draws)))
    spread = math.sqrt(max(expected * (1 - expected), 1 / runs) * runs)
    return abs(hits - runs * expected) / spread


def telling(decider: Decider, case: Case, factor: Fraction) -> float:
    """Distance by which noise of the wrong scale moves the rate, about, in standard errors."""
    _, histogram, _, interval, epsilon = case
    right, wrong = (decider.accept(histogram, interval, e) for e in (epsilon, epsilon / factor))
    return abs(right - wrong) / math.sqrt(max(right * (1 - right), 1 / RUNS))


@pytest.mark.parametrize("decider_id", DECIDERS)
def test_simulated_yes_rate_is_the_formula(decider_id: str) -> None:
    made = DECIDERS[decider_id]
    cases = CASES[made.aggregate]
    assert len(cases) == 12
    for seed, case in enumerate(cases):
        found = deviation(made.on(case[2]), case, SimulatedDraws(RUNS, seed))
        assert found < LIMIT, f"{decider_id}, {case[0]}: {found:.1f} standard errors"


@pytest.mark.parametrize("factor", [Fraction(7, 10), Fraction(13, 10)], ids=["x0.7", "x1.3"])
@pytest.mark.parametrize("decider_id", DECIDERS)
def test_noise_of_the_wrong_scale_is_rejected(decider_id: str, factor: Fraction) -> None:
    made = DECIDERS[decider_id]
    # The 0/1 score has odds of epsilon/2 only, so its rate moves little.
    runs = RUNS * 4 if decider_id == "em_count_naive" else RUNS
    cases = [(made.on(case[2]), case, seed) for seed, case in enumerate(CASES[made.aggregate])]
    # What tells most comes first.
    cases.sort(key=lambda each: -telling(each[0], each[1], factor))
    found = (
        deviation(decider, case, SimulatedDraws(runs, seed, factor))
        for decider, case, seed in cases
    )
    # The first case that tells is as good as the worst one: no more are simulated after it.
    assert any(off > LIMIT for off in found), f"{decider_id} with noise {float(factor)} passes"


@pytest.mark.parametrize("decider_id", DECIDERS)
def test_many_runs_at_once_say_what_the_decider_says(decider_id: str) -> None:
    assert set(RULES) == set(DECIDERS)
    made = DECIDERS[decider_id]
    said = set()
    for seed, (label, histogram, lattice, interval, epsilon) in enumerate(CASES[made.aggregate]):
        decider = made.on(lattice)
        tape = np.random.default_rng(seed).laplace(size=(COMPARED, LONGEST))
        draws = RecordedDraws(tape)
        found = outcomes(decider, histogram, interval, epsilon, draws)
        runs = [RecordedRun(row) for row in tape]
        expected = [decider.decide(histogram, interval, epsilon, run).outcome for run in runs]
        assert found.tolist() == expected, label
        assert draws.positions.tolist() == [run.position for run in runs], label
        said |= set(expected)
    assert said == {True, False}
