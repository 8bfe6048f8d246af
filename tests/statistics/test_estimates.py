"""Simulated releases against what is said of them: yes-rates, claims and confidence.

The same comparisons must reject noise of the wrong scale: yes-rates see noise of 0.7 of what it
should be, claims and confidence see p-values that take the noise for 0.7 of what it is.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from pqd.deciders import Histogram, Interval, SimulatedNoise
from pqd.deciders.estimators import (
    Estimator,
    EstimatorOutput,
    ExponentialQuantile,
    LaplaceEstimate,
    RaceEstimate,
    RankCounts,
    SumAndCount,
    inside,
    outside,
    within,
)
from pqd.deciders.estimators.base import outside_span, whole_span
from pqd.deciders.histogram import EMPTY
from tests.support.noises import Scaled

RUNS = 1_200
CLAIMS_MADE = 800
LIMIT = 4.5
TOO_LITTLE = Fraction(7, 10)

RNG = np.random.default_rng(11)
SMALL = Histogram.from_values(RNG.integers(0, 51, 200))
SIGNED = Histogram.from_values(RNG.integers(-20, 31, 150))
MINUS = Histogram.from_values(RNG.integers(-9, 0, 80))
STEPS = Histogram.from_values(RNG.integers(-4, 9, 120) * 5)
HEAVY = Histogram.from_values((RNG.pareto(1.5, 200) * 300).astype(int).clip(0, 2**12))
TIED = Histogram.from_values([40] * 30 + [18] * 12 + [65] * 20)
ONE = Histogram.from_values([7])


@dataclass(frozen=True)
class Case:
    """One release, and the intervals for which it is read."""

    estimator: Estimator
    histogram: Histogram
    epsilon: float
    intervals: tuple[Interval, ...]

    def __str__(self) -> str:
        return f"{self.estimator} on {self.histogram.mass} rows at epsilon {self.epsilon}"


def around(centre: int, spread: int) -> tuple[Interval, ...]:
    """Intervals with the answer inside, outside and on the ends, and one without whole numbers."""
    half = Fraction(1, 2)
    return (
        Interval.around(centre, 2 * spread),
        Interval.around(centre, spread),
        Interval.around(centre, half),
        Interval.around(centre + half, half),
        Interval(centre, centre + 2 * spread),
        Interval(centre - spread, centre),
        Interval(centre + spread, centre + 2 * spread),
        Interval(centre - 3 * spread - half, centre - half),
    )


COUNTS = LaplaceEstimate(aggregate="COUNT")
DISTINCT = LaplaceEstimate(aggregate="COUNT DISTINCT")


def sums(lower: int, upper: int, step: int = 1) -> LaplaceEstimate:
    return LaplaceEstimate(aggregate="SUM", lower=lower, upper=upper, step=step)


def ranks(
    lower: int, upper: int, intervals: Iterable[Interval], step: int = 1, p: Fraction | None = None
) -> RankCounts:
    """An estimator whose cuts are the ends of some of the intervals."""
    cuts = tuple(sorted({cut for interval in intervals for cut in whole_span(interval)}))
    return RankCounts(lower=lower, upper=upper, step=step, cuts=cuts, p=p or Fraction(1, 2))


def rank_cases(
    histogram: Histogram, lower: int, upper: int, step: int, spread: int, p: Fraction
) -> list[Case]:
    """Noisy ranks for each pair of cuts by itself, as for all cuts together."""
    centre = histogram.quantile(p) if histogram.mass else (lower + upper) // 2
    intervals = around(centre, spread)
    groups = [intervals[:1], intervals[1:2], intervals[4:5], intervals[2:4]]
    return [
        Case(ranks(lower, upper, group, step, p), histogram, epsilon, group)
        for group, epsilon in zip(groups, (0.05, 0.2, 0.1, 1.0), strict=True)
    ]


def chosen_case(
    histogram: Histogram, bounds: tuple[int, int, int], spread: int, p: Fraction, epsilon: float
) -> Case:
    lower, upper, step = bounds
    quantile = ExponentialQuantile(lower=lower, upper=upper, step=step, p=p)
    centre = histogram.quantile(p) if histogram.mass else (lower + upper) // 2
    return Case(quantile, histogram, epsilon, around(centre, spread))


P = {"half": Fraction(1, 2), "high": Fraction(9, 10), "low": Fraction(1, 4)}
CASES = {
    "COUNT": [
        Case(COUNTS, Histogram.of_mass(100), 0.1, around(100, 10)),
        Case(COUNTS, Histogram.of_mass(100), 0.5, around(100, 3)),
        Case(COUNTS, Histogram.of_mass(100), 2.0, around(100, 1)),
        Case(COUNTS, EMPTY, 0.5, around(0, 3)),
    ],
    "COUNT DISTINCT": [
        Case(DISTINCT, SMALL.multiplicities(), 0.2, around(SMALL.multiplicities().mass, 5)),
        Case(DISTINCT, EMPTY, 1.0, around(0, 2)),
    ],
    "SUM": [
        Case(sums(0, 50), SMALL, 0.5, around(SMALL.total, 100)),
        Case(sums(-20, 30), SIGNED, 1.0, around(SIGNED.total, 30)),
        Case(sums(-9, -1), MINUS, 0.25, around(MINUS.total, 40)),
        Case(sums(-20, 40, 5), STEPS, 4.0, around(STEPS.total, 10)),
        Case(sums(-20, 40, 5), EMPTY, 1.0, around(0, 40)),
    ],
    "AVG": [
        Case(SumAndCount(lower=0, upper=50, centre=25), SMALL, 0.1, around(25, 3)),
        Case(SumAndCount(lower=0, upper=50), SMALL, 0.5, around(SMALL.total // SMALL.mass, 2)),
        Case(SumAndCount(lower=-20, upper=30, centre=7), SIGNED, 0.2, around(5, 4)),
        Case(SumAndCount(lower=-9, upper=-1, centre=-4), MINUS, 1.0, around(-5, 1)),
        Case(SumAndCount(lower=-20, upper=40, step=5, centre=-20), STEPS, 2.0, around(10, 1)),
        Case(SumAndCount(lower=0, upper=10, centre=3), ONE, 2.0, around(7, 2)),
        Case(SumAndCount(lower=0, upper=10, centre=3), EMPTY, 1.0, around(3, 2)),
    ],
    "ranks": [
        *rank_cases(SMALL, 0, 50, 1, 4, P["half"]),
        *rank_cases(SMALL, 0, 50, 1, 4, P["high"]),
        *rank_cases(SIGNED, -20, 30, 1, 3, P["low"]),
        *rank_cases(TIED, 0, 85, 1, 9, P["half"]),
        *rank_cases(STEPS, -20, 40, 5, 10, P["half"]),
        *rank_cases(EMPTY, 0, 50, 1, 10, P["low"]),
    ],
    "exponential": [
        chosen_case(SMALL, (0, 50, 1), 3, P["half"], 0.1),
        chosen_case(SMALL, (0, 50, 1), 3, P["high"], 2.0),
        chosen_case(SIGNED, (-20, 30, 1), 3, P["low"], 0.5),
        chosen_case(TIED, (0, 85, 1), 9, P["half"], 0.2),
        chosen_case(STEPS, (-20, 40, 5), 10, P["half"], 0.25),
        chosen_case(EMPTY, (0, 50, 1), 10, P["low"], 1.0),
        chosen_case(SMALL, (-(10**6), 10**6, 1), 9, P["half"], 0.2),
    ],
    "race": [
        Case(RaceEstimate(upper=50), SMALL, 1.0, around(SMALL.total - 900, 300)),
        Case(RaceEstimate(upper=2**12), HEAVY, 2.0, around(HEAVY.total - 15_000, 5_000)),
        Case(RaceEstimate(upper=2), ONE, 0.5, around(3, 2)),
        Case(RaceEstimate(upper=9, beta=0.4), EMPTY, 1.0, around(0, 4)),
    ],
}


def worst_rate(case: Case, noise: SimulatedNoise) -> float:
    """How many standard errors the yes-rates lie from ``accept``, at most."""
    hits = [0] * len(case.intervals)
    readable = cache(lambda released: [inside(case.estimator, released, i) for i in case.intervals])
    for _ in range(RUNS):
        released = case.estimator.release(case.histogram, case.epsilon, noise)
        hits = [n + yes for n, yes in zip(hits, readable(released), strict=True)]
    found = 0.0
    for interval, yes in zip(case.intervals, hits, strict=True):
        expected = case.estimator.accept(case.histogram, interval, case.epsilon)
        assert 0 <= expected <= 1
        spread = math.sqrt(max(expected * (1 - expected), 1 / RUNS) * RUNS)
        found = max(found, abs(yes - RUNS * expected) / spread)
    return found


@pytest.mark.parametrize("kind", CASES)
def test_simulated_yes_rate_is_accept(kind: str) -> None:
    for seed, case in enumerate(CASES[kind]):
        found = worst_rate(case, SimulatedNoise(seed))
        assert found < LIMIT, f"{case}: {found:.1f} standard errors"


@pytest.mark.parametrize("kind", CASES)
def test_yes_rates_of_too_little_noise_are_rejected(kind: str) -> None:
    found = (worst_rate(case, Scaled(seed, TOO_LITTLE)) for seed, case in enumerate(CASES[kind]))
    # The first case that tells is as good as the worst one: no more are simulated after it.
    assert any(off > LIMIT for off in found), f"{kind} with too little noise passes"


Claim = Callable[[EstimatorOutput], float]


@dataclass(frozen=True)
class Untrue:
    """A claim that does not hold on the table, which is the least favourable one, or near it."""

    name: str
    estimator: Estimator
    histogram: Histogram
    epsilon: float
    p_value: Claim


def untrue(
    estimator: Estimator, histogram: Histogram, epsilon: float, answer: Fraction | int
) -> list[Untrue]:
    """Claims about whole numbers: the answer is at an end of what is claimed."""
    at = int(answer)
    claims: dict[str, Claim] = {
        "below": lambda released: estimator.below(released, at, epsilon),
        "at least": lambda released: estimator.at_least(released, at + 1, epsilon),
        "within, below it": lambda released: within(
            estimator, released, Interval(at, at + 10**6), epsilon
        ),
        "within, above it": lambda released: within(
            estimator, released, Interval(at - 10**6, at), epsilon
        ),
        "outside": lambda released: outside(estimator, released, Interval(at - 1, at + 1), epsilon),
        "outside a span": lambda released: outside_span(estimator, released, (at, at + 1), epsilon),
    }
    return [
        Untrue(name, estimator, histogram, epsilon, p_value) for name, p_value in claims.items()
    ]


def untrue_of_mean(estimator: SumAndCount, histogram: Histogram, epsilon: float) -> list[Untrue]:
    """Claims about a mean, which lies just where they begin not to hold."""
    at = Fraction(histogram.total, histogram.mass)
    near, far = Fraction(1, 10**6), 10**4
    claims: dict[str, Claim] = {
        "below": lambda released: estimator.below(released, at, epsilon),
        "at least": lambda released: estimator.at_least(released, at + near, epsilon),
        "within, below it": lambda released: within(
            estimator, released, Interval(at, at + far), epsilon
        ),
        "within, above it": lambda released: within(
            estimator, released, Interval(at - far, at), epsilon
        ),
        "outside": lambda released: outside(
            estimator, released, Interval(at - near, at + near), epsilon
        ),
        "outside a span": lambda released: outside_span(
            estimator, released, (at - near, at + near), epsilon
        ),
    }
    return [
        Untrue(name, estimator, histogram, epsilon, p_value) for name, p_value in claims.items()
    ]


def untrue_of_rank(p: Fraction, epsilon: float, cuts: tuple[int, ...]) -> list[Untrue]:
    """Claims about a quantile at cuts where one row more or less would make them true.

    With ``gain`` and ``loss`` what rows below and above count: ``20 loss`` rows below a cut and
    ``20 gain`` above balance, so the quantile is below it; one row less below, and it is not.
    """
    gain, loss = p.denominator - p.numerator, p.numerator
    estimator = RankCounts(cuts=cuts, p=p)
    low, high = cuts[len(cuts) // 2 - 1], cuts[-1]
    balanced = Histogram.weighted(np.array([low - 1, low]), np.array([20 * loss, 20 * gain]))
    # One row more above takes the surplus at the cut to -loss, or to -1 where it counts 1.
    lifted = Histogram.weighted(np.array([low - 1, low]), np.array([20 * loss, 20 * gain + 1]))
    single = Histogram.weighted(np.array([low - 1, low, high]), np.array([20 * loss, 1, 20 * gain]))
    sunk: dict[str, Claim] = {
        "at least": lambda released: estimator.at_least(released, low, epsilon),
        "within, below it": lambda released: within(
            estimator, released, Interval(low - 1, high), epsilon
        ),
    }
    raised: dict[str, Claim] = {
        "below": lambda released: estimator.below(released, low, epsilon),
        "outside": lambda released: outside(estimator, released, Interval(low - 1, high), epsilon),
        "outside a span": lambda released: outside_span(estimator, released, (low, high), epsilon),
    }
    return [
        *[Untrue(name, estimator, balanced, epsilon, value) for name, value in sunk.items()],
        *[Untrue(name, estimator, lifted, epsilon, value) for name, value in raised.items()],
        *[Untrue(name, estimator, single, epsilon, value) for name, value in raised.items()],
    ]


PAIR = RaceEstimate(upper=2, beta=0.4)
CLAIMS = {
    "COUNT": [
        *untrue(COUNTS, Histogram.of_mass(50), 0.1, 50),
        *untrue(COUNTS, EMPTY, 0.05, 0),
        *untrue(DISTINCT, SMALL.multiplicities(), 0.2, SMALL.multiplicities().mass),
    ],
    "SUM": [
        *untrue(sums(0, 50), SMALL, 0.5, SMALL.total),
        *untrue(sums(-20, 30), SIGNED, 2.0, SIGNED.total),
        *untrue(sums(-9, -1), MINUS, 0.5, MINUS.total),
    ],
    "AVG": [
        *untrue_of_mean(SumAndCount(lower=0, upper=50, centre=25), SMALL, 0.5),
        *untrue_of_mean(SumAndCount(lower=-9, upper=-1, centre=-9), MINUS, 2.0),
    ],
    "ranks": [
        *untrue_of_rank(P["half"], 0.1, (10, 20)),
        *untrue_of_rank(P["high"], 0.3, (10, 20)),
        *untrue_of_rank(P["low"], 0.2, (10, 20, 30, 40)),
    ],
    "race": [
        Untrue(
            "at least",
            estimator,
            histogram,
            epsilon,
            lambda released, estimator=estimator, at=histogram.total, epsilon=epsilon: (  # type: ignore[misc]
                estimator.at_least(released, at + 1, epsilon)
            ),
        )
        for estimator, histogram, epsilon in (
            (PAIR, Histogram.from_values([1, 2] * 200), 0.5),
            (RaceEstimate(upper=50), SMALL, 1.0),
            (RaceEstimate(upper=2**12, beta=0.4), HEAVY, 2.0),
        )
    ],
}
LEVELS = (0.02, 0.05, 0.1, 0.2)


def excess(claim: Untrue, noise: SimulatedNoise) -> float:
    """By how many standard errors a claim is made more often than its level allows, at most."""
    p_value = cache(claim.p_value)
    found = np.array(
        [
            p_value(claim.estimator.release(claim.histogram, claim.epsilon, noise))
            for _ in range(CLAIMS_MADE)
        ]
    )
    assert found.min() >= 0
    assert found.max() <= 1
    return max(
        (np.count_nonzero(found <= alpha) / CLAIMS_MADE - alpha)
        / math.sqrt(alpha * (1 - alpha) / CLAIMS_MADE)
        for alpha in LEVELS
    )


@pytest.mark.parametrize("kind", CLAIMS)
def test_a_false_claim_is_made_no_more_often_than_its_level(kind: str) -> None:
    for seed, claim in enumerate(CLAIMS[kind]):
        found = excess(claim, SimulatedNoise(seed))
        assert found < LIMIT, f"{claim.name} of {claim.estimator}: {found:.1f} standard errors"


@pytest.mark.parametrize("kind", CLAIMS)
def test_claims_that_take_the_noise_for_less_are_rejected(kind: str) -> None:
    worst: dict[str, float] = {}
    for seed, claim in enumerate(CLAIMS[kind]):
        # A claim of this name that was rejected on one table needs no other.
        if worst.get(claim.name, 0.0) <= LIMIT:
            found = excess(claim, Scaled(seed, 1 / TOO_LITTLE))
            worst[claim.name] = max(worst.get(claim.name, 0.0), found)
    assert all(found > LIMIT for found in worst.values()), worst


@dataclass(frozen=True)
class Covered:
    """An estimator, a table and the answer that the ends must hold."""

    estimator: Estimator
    histogram: Histogram
    epsilon: float
    answer: Fraction | int
    alpha: float = 0.2
    runs: int = CLAIMS_MADE


COVERED = {
    "COUNT": [
        Covered(COUNTS, Histogram.of_mass(100), 0.1, 100),
        Covered(COUNTS, EMPTY, 0.1, 0, 0.05),
        Covered(DISTINCT, SMALL.multiplicities(), 0.3, SMALL.multiplicities().mass),
    ],
    "SUM": [
        Covered(sums(0, 50), SMALL, 1.0, SMALL.total),
        Covered(sums(-20, 30), SIGNED, 0.5, SIGNED.total, 0.05),
        Covered(sums(-9, -1), EMPTY, 1.0, 0),
    ],
    "AVG": [
        Covered(
            SumAndCount(lower=0, upper=50, centre=25),
            *(SMALL, 0.5, Fraction(SMALL.total, SMALL.mass), 0.05, 180),
        ),
        Covered(
            SumAndCount(lower=-9, upper=40, centre=-9),
            *(MINUS, 2.0, Fraction(MINUS.total, MINUS.mass), 0.1, 60),
        ),
    ],
    # The surplus at the cut is 0, or -1: one end is in danger.
    "ranks": [
        Covered(
            RankCounts(cuts=(10,)), Histogram.from_values([9] * 20 + [11] * 20), 0.1, 9, 0.04, 4_000
        ),
        Covered(
            RankCounts(cuts=(10, 40), p=P["high"]),
            Histogram.from_values([9] * 90 + [11] * 11),
            *(0.3, 11, 0.04, 4_000),
        ),
        Covered(
            RankCounts(cuts=(4, 10, 11, 30), p=P["low"]),
            Histogram.from_values([9] * 60 + [10] + [11] * 180),
            *(0.3, 10),
        ),
    ],
    "race": [
        Covered(PAIR, Histogram.from_values([1, 2] * 200), 0.5, 600, 0.1),
        Covered(RaceEstimate(upper=50, beta=0.4), SMALL, 1.0, SMALL.total, 0.1),
    ],
}


def missed(case: Covered, noise: SimulatedNoise) -> float:
    """By how many standard errors an end, or both, miss the answer more often than they may."""
    alpha = case.alpha
    ends = cache(lambda released: case.estimator.confidence(released, case.epsilon, alpha))
    above = below = 0
    for _ in range(case.runs):
        low, high = ends(case.estimator.release(case.histogram, case.epsilon, noise))
        above += low is not None and case.answer < low
        below += high is not None and high < case.answer

    def excess(misses: int, level: float) -> float:
        return (misses - level * case.runs) / math.sqrt(level * (1 - level) * case.runs)

    return max(excess(max(above, below), alpha), excess(above + below, 2 * alpha))


@pytest.mark.parametrize("kind", COVERED)
def test_confidence_holds_the_answer(kind: str) -> None:
    for seed, case in enumerate(COVERED[kind]):
        found = missed(case, SimulatedNoise(seed))
        assert found < LIMIT, f"{case.estimator}: {found:.1f} standard errors"


@pytest.mark.parametrize("kind", COVERED)
def test_confidence_that_takes_the_noise_for_less_is_rejected(kind: str) -> None:
    found = (missed(case, Scaled(seed, 1 / TOO_LITTLE)) for seed, case in enumerate(COVERED[kind]))
    assert any(off > LIMIT for off in found), f"{kind} passes"


def test_an_empty_table_is_claimed_to_be_within_no_more_often_than_the_level() -> None:
    """A mean or quantile of no rows lies outside every interval."""
    mean = SumAndCount(lower=0, upper=10, centre=4)
    rank = RankCounts(lower=0, upper=10, cuts=(3, 8))
    for estimator in (mean, rank):
        claim = Untrue(
            "within",
            estimator,
            EMPTY,
            0.5,
            lambda released, estimator=estimator: within(  # type: ignore[misc]
                estimator, released, Interval(2, 8), 0.5
            ),
        )
        assert excess(claim, SimulatedNoise(3)) < LIMIT
