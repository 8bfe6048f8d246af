"""How often a conclusive verdict is wrong: at most alpha, whatever the table; computed, not drawn.

The deciders say which releases they take for proof, the law of the noise how likely those are.
The same computation must reject p-values that are too small.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from pqd.deciders import (
    DECIDERS,
    Decision,
    Histogram,
    Interval,
    Lattice,
    SimulatedNoise,
    for_lattice,
)
from pqd.deciders.distributions import Floats, integral, laplace_cdf, noise_tail
from pqd.deciders.estimators import EstimatorOutput, LaplaceEstimate
from pqd.deciders.single.inverse_sensitivity import verdict_of

ALPHAS = (0.2, 0.05, 0.01, 1e-4)
EPSILONS = ("0.1", "2", "20")
HALF = Fraction(1, 2)
FARTHEST = 2**60
# What rounding and quadrature may add.
SLACK = 1 + 1e-6

# The decision that follows from a release, perhaps with a p-value that was tampered with.
Verdict = Callable[..., Decision]
Change = Callable[[Decision, tuple[int, ...], Any], Decision]


def unchanged(found: Decision, *_: object) -> Decision:
    return found


def halved(found: Decision, *_: object) -> Decision:
    """P-values of half the size."""
    return replace(found, p_value=None if found.p_value is None else found.p_value / 2)


def verdicts(decider: Any, interval: Interval, epsilon: str, change: Change) -> Verdict:
    """Decision on the numbers that the decider may have released."""
    estimator = decider.estimator(interval, epsilon)

    def verdict(*numbers: int) -> Decision:
        return change(
            decider.verdict(EstimatorOutput(numbers), interval, epsilon),
            numbers,
            (estimator, interval, epsilon),
        )

    return verdict


def proof(found: Decision, alpha: float, *, outcome: bool) -> bool:
    return found.outcome is outcome and found.p_value is not None and found.p_value <= alpha


def first(holds: Callable[[int], bool], start: int, side: int) -> int:
    """The number nearest to ``start``, on the way to ``side``, from which on it holds.

    The farthest where it never does, as a no below of a count that is cut at 0.
    """
    if holds(start):
        return start
    near, far = 0, 1
    while not holds(start + side * far):
        near, far = far, 2 * far
        if far > FARTHEST:
            return start + side * FARTHEST
    while far - near > 1:
        middle = (near + far) // 2
        near, far = (near, middle) if holds(start + side * middle) else (middle, far)
    return start + side * far


# One noisy answer: LM -----------------------------------------------------------------------------


def intervals() -> Iterator[Interval]:
    """Wide and narrow, with whole ends, halves and thirds, some without a whole number."""
    for tau in (Fraction(1, 3), HALF, Fraction(5, 2), Fraction(40)):
        for centre in (Fraction(50), 50 + HALF, Fraction(151, 3)):
            yield Interval.around(centre, tau)


def level_of_answer(name: str, alpha: float, epsilon: str, change: Change = unchanged) -> float:
    """The largest chance, over intervals and true answers, of proof of what is not so."""
    decider: Any = for_lattice(name, DECIDERS[name].aggregate, Lattice(-3, 5))
    worst = 0.0
    for interval in intervals():
        estimator: LaplaceEstimate = decider.estimator(interval, epsilon)
        grid, steps = estimator.fineness, estimator.scale(epsilon) * estimator.fineness
        verdict = verdicts(decider, interval, epsilon, change)
        middle = math.floor(interval.centre * grid)

        def no(noisy: int, verdict: Verdict = verdict) -> bool:
            return proof(verdict(noisy), alpha, outcome=False)

        def unproved(noisy: int, verdict: Verdict = verdict) -> bool:
            return not proof(verdict(noisy), alpha, outcome=True)

        below, above = first(no, middle, -1), first(no, middle, 1)
        # Yes is proved in one stretch around the middle, if anywhere.
        low, high = first(unproved, middle, -1), first(unproved, middle, 1)
        ends = math.floor(interval.lower), math.ceil(interval.upper)
        for true in {*range(ends[0] - 3, ends[0] + 4), *range(ends[1] - 3, ends[1] + 4), 50}:
            at = true * grid
            if interval.contains(true):
                chance = noise_tail(at - below, steps) + noise_tail(above - at, steps)
            else:
                chance = noise_tail(low + 1 - at, steps) - noise_tail(high - at, steps)
            worst = max(worst, chance)
    return worst


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("name", ["lm_count", "lm_sum"])
def test_a_noisy_answer_keeps_its_level(name: str, alpha: float) -> None:
    found = max(level_of_answer(name, alpha, epsilon) for epsilon in EPSILONS)
    # No looser than it must be, either.
    assert 0.99 * alpha <= found <= alpha * SLACK


def one_sided(found: Decision, numbers: tuple[int, ...], of: Any) -> Decision:
    """A no with the tail on its own side alone."""
    estimator, interval, epsilon = of
    low, high = estimator.span(interval)
    if found.outcome or low >= high:
        return found
    nearer = min(
        estimator.below(EstimatorOutput(numbers), low, epsilon),
        estimator.at_least(EstimatorOutput(numbers), high, epsilon),
    )
    return replace(found, p_value=nearer)


@pytest.mark.parametrize("change", [halved, one_sided])
@pytest.mark.parametrize("name", ["lm_count", "lm_sum"])
def test_too_small_a_p_value_of_an_answer_is_rejected(name: str, change: Change) -> None:
    assert max(level_of_answer(name, 0.05, epsilon, change) for epsilon in EPSILONS) > 0.06


def test_an_interval_without_an_answer_is_never_a_proved_yes() -> None:
    """Algorithm 1 says yes where the noise falls into (50.1, 50.9), but no count is there."""
    decider: Any = DECIDERS["lm_count"]()
    for epsilon in EPSILONS:
        interval = Interval("50.1", "50.9")
        grid = decider.estimator(interval, epsilon).fineness
        found = decider.verdict(EstimatorOutput((grid * 101 // 2,)), interval, epsilon)
        assert found.outcome
        assert found.p_value == 1


# Three noisy counts: Hist -------------------------------------------------------------------------

BETWEEN = Interval(3, 7)
HIST = DECIDERS["hist_median"]()


def quantiles(p: Fraction) -> Iterator[tuple[int, int, int]]:
    """Rows, rows below and rows above: all small tables, and ties in large ones."""
    for rows in range(6):
        for below in range(rows + 1):
            yield from ((rows, below, above) for above in range(rows - below + 1))
    for rows in (100, 101, 1000):
        low, high = math.ceil(p * rows), math.floor((1 - p) * rows)
        for below in (0, low - 1, low, low + 1, rows):
            for above in (0, high - 1, high, high + 1, rows):
                if below + above <= rows:
                    yield rows, below, above


def level_of_median(
    alpha: float, epsilon: str, change: Change = unchanged, decider: Any = HIST
) -> float:
    """The largest chance, over tables, of counts that would prove what is not so."""
    p: Fraction = getattr(decider, "p", HALF)
    part, whole = p.as_integer_ratio()
    weights = np.array([[whole - part], [part]])
    verdict = verdicts(decider, BETWEEN, epsilon, change)
    grid: int = decider.estimator(BETWEEN, epsilon).fineness
    rows_of_noise = float(2 / Fraction(epsilon))

    def reach(*, outcome: bool, above: bool) -> float:
        """How far one side's excess must lie to be proof, in noise scales."""
        sign = -1 if outcome else 1

        def holds(points: int) -> bool:
            counts = (-FARTHEST, sign * points) if above else (sign * points, -FARTHEST)
            return proof(verdict(0, *counts), alpha, outcome=outcome)

        return whole * first(holds, 1, 1) / (grid * rows_of_noise)

    yes = [reach(outcome=True, above=above) for above in (True, False)]
    no = [reach(outcome=False, above=above) for above in (True, False)]
    worst = 0.0
    for rows, below, above in quantiles(p):
        values = [1] * below + [5] * (rows - below - above) + [9] * above
        table = Histogram.from_values(values)
        inside = bool(rows) and BETWEEN.contains(table.quantile(p))
        sides = np.array([(whole - part) * rows, part * rows]) - whole * np.array([above, below])
        excess = sides / rows_of_noise
        ends = excess + np.array(no) if inside else excess - np.array(yes)

        def wrong(mass: Floats, ends: Floats = ends, *, inside: bool = inside) -> Floats:
            both = laplace_cdf((ends[:, None] + weights * mass) / whole).prod(axis=0)
            return np.array([(1 - both if inside else both) * np.exp(-np.abs(mass)) / 2])

        worst = max(worst, float(integral(wrong, -ends / weights[:, 0])[0]))
    return worst


@pytest.mark.parametrize("alpha", ALPHAS)
def test_three_counts_keep_their_level(alpha: float) -> None:
    found = max(level_of_median(alpha, epsilon) for epsilon in EPSILONS)
    assert 0.99 * alpha <= found <= alpha * SLACK


@pytest.mark.parametrize("p", [Fraction(1, 4), HALF, Fraction(9, 10)])
def test_three_counts_keep_their_level_for_quantiles(p: Fraction) -> None:
    decider: Any = DECIDERS["hist_quantile"](p=p)
    found = max(level_of_median(0.05, epsilon, decider=decider) for epsilon in EPSILONS)
    assert 0.99 * 0.05 <= found <= 0.05 * SLACK


def weighted_alike(found: Decision, numbers: tuple[int, ...], of: Any) -> Decision:
    """The tails of the median, whatever p is."""
    estimator, _, epsilon = of
    median = replace(estimator, p=HALF)
    part, whole = estimator.p.as_integer_ratio()
    mass, below, above = numbers
    excesses = (whole - part) * mass - whole * above, whole * below - part * mass
    grid = estimator.fineness
    over, under = (
        median.below(EstimatorOutput((2 * x // whole, 0, 0)), median.cuts[1], epsilon)
        for x in (excesses[0], -excesses[1] - grid)
    )
    return replace(found, p_value=max(over, under) if found.outcome else found.p_value)


@pytest.mark.parametrize("change", [halved, weighted_alike])
def test_too_small_a_p_value_of_a_quantile_is_rejected(change: Change) -> None:
    decider: Any = DECIDERS["hist_quantile"](p=Fraction(9, 10))
    assert max(level_of_median(0.05, each, change, decider) for each in EPSILONS) > 0.051


def without_the_noise_of_n(found: Decision, numbers: tuple[int, ...], of: Any) -> Decision:
    """The noise of the sides alone, as if n were known."""
    estimator, _, epsilon = of
    mass, below, above = numbers
    scale = float(estimator.largest_scale(epsilon) * estimator.fineness)

    def tail(points: int) -> float:
        return float(laplace_cdf(-points / (2 * scale)))

    least = [mass - 2 * above + estimator.fineness, mass - 2 * below]
    most = [2 * above - mass, estimator.fineness - mass + 2 * below]
    p_value = max(map(tail, least)) if found.outcome else min(1.0, 2 * min(map(tail, most)))
    return replace(found, p_value=p_value)


@pytest.mark.parametrize("change", [halved, without_the_noise_of_n])
def test_too_small_a_p_value_of_a_median_is_rejected(change: Change) -> None:
    assert max(level_of_median(0.05, epsilon, change) for epsilon in EPSILONS) > 0.06


def test_the_claims_of_three_counts_are_the_medians() -> None:
    """Without noise the excesses have the signs that the median has, for every small table."""
    for values in ([], [1], [5], [9], [1, 5], [5, 9], [1, 9], [1, 5, 9], [1, 1, 9, 9], [5, 5, 9]):
        for interval in (BETWEEN, Interval(1, 5), Interval(5, 9), Interval("4.5", "5.5")):
            estimator = DECIDERS["hist_median"]().estimator(interval, "1")
            table = Histogram.from_values(values)
            numbers = (
                table.mass,
                table.count_at_most(interval.lower),
                table.mass - table.count_below(interval.upper),
            )
            released = EstimatorOutput(tuple(n * estimator.fineness for n in numbers))
            low, high = estimator.span(interval)
            for cut in (low, high):
                # Without rows it counts as below every cut: outside.
                true = not values or table.median < cut
                below = estimator.below(released, cut, "1")
                least = estimator.at_least(released, cut, "1")
                assert (below < HALF) is true
                assert (least <= HALF) is not true or least == pytest.approx(0.5)


def test_three_counts_bound_the_median_by_the_ends_of_the_interval() -> None:
    """Of the median no more is known: between whole numbers it may be anything."""
    decider: Any = DECIDERS["hist_median"]()
    interval = Interval("3.5", "6.5")
    grid = decider.estimator(interval, "1").fineness
    low, high = interval.lower, interval.upper
    for counts, ends in (
        ((1000, 0, 0), (low, high)),
        ((1000, 900, 0), (None, low)),
        ((1000, 0, 900), (high, None)),
        ((1000, 500, 0), (None, high)),
        ((0, 0, 0), (None, None)),
    ):
        found = decider.verdict(EstimatorOutput(tuple(n * grid for n in counts)), interval, "1")
        assert decider.answer_estimate(found, interval, "1", 0.05) == (None, *ends)


# A noisy sum over a noisy count -------------------------------------------------------------------


def level_of_mean(alpha: float, epsilon: Fraction, bounds: tuple[int, int]) -> float:
    """The largest chance, over tables on the ends of intervals, of a false proof.

    ``proof_chance`` and ``refutation_chance`` are held to the draws below.
    """
    lower, upper = bounds
    decider: Any = DECIDERS["lm_mean"](lower=lower, upper=upper)
    worst = 0.0
    for rows in (0, 1, 7, 400):
        for value in {lower, (lower + upper) // 2, upper}:
            table = Histogram.from_values([value] * rows)
            for interval in (Interval(value, value + 4), Interval(value - 4, value)):
                law = decider.acceptance(table, interval)
                worst = max(worst, law.proof_chance(epsilon, alpha))
            near = Interval(value - Fraction(1, 10**9), value + 5)
            if rows:
                law = decider.acceptance(table, near)
                worst = max(worst, law.refutation_chance(epsilon, alpha))
    return worst


@pytest.mark.parametrize("bounds", [(0, 15), (-6, 9), (5, 9), (-9, -2)])
def test_a_mean_keeps_its_level(bounds: tuple[int, int]) -> None:
    found = max(
        level_of_mean(alpha, Fraction(epsilon), bounds) / alpha
        for alpha in ALPHAS
        for epsilon in EPSILONS
    )
    assert found <= SLACK


@pytest.mark.parametrize("bounds", [(0, 15), (-9, -2)])
def test_the_chances_of_proof_of_a_mean_are_those_of_its_draws(bounds: tuple[int, int]) -> None:
    """4,000 verdicts each, within 4.5 standard errors; halved p-values are not."""
    decider: Any = for_lattice("lm_mean", "AVG", Lattice(*bounds))
    middle = sum(bounds) // 2
    table = Histogram.from_values([middle, middle + 1] * 20)
    noise, alpha, epsilon, runs = SimulatedNoise(5), 0.2, Fraction(1, 2), 4000
    off = []
    for ends in ((middle - 4, middle + 4), (middle + 2, middle + 9), (middle - 9, middle - 1)):
        interval = Interval(*ends)
        law = decider.acceptance(table, interval)
        found = [decider.decide(table, interval, epsilon, noise) for _ in range(runs)]
        for outcome, chance in ((True, law.proof_chance), (False, law.refutation_chance)):
            expected = chance(epsilon, alpha)
            spread = math.sqrt(max(expected * (1 - expected), 1 / runs) * runs)
            right, wrong = (
                sum(proof(change(each), alpha, outcome=outcome) for each in found)
                for change in (unchanged, halved)
            )
            assert abs(right - runs * expected) < 4.5 * spread
            off.append(abs(wrong - runs * expected) / spread)
    assert max(off) > 4.5


# The race, and the margins ------------------------------------------------------------------------


def level_of_race(name: str, alpha: float, epsilon: str, change: Change = unchanged) -> float:
    """The largest chance of a no that is proved where the sum is inside."""
    decider: Any = for_lattice(name, "SUM", Lattice(0, 64))
    worst, unit = 0.0, 2**30
    for rows in ([1] * 40, [1], [2] * 30 + [64] * 2, [64] * 5, [3, 17, 60]):
        table = Histogram.from_values(rows)
        interval = Interval(-1, table.total + 1)
        verdict = verdicts(decider, interval, epsilon, change)
        proved = first(
            lambda x, verdict=verdict: proof(verdict(x, unit), alpha, outcome=False),  # type: ignore[misc]
            table.total * unit,
            1,
        )
        worst = max(worst, 1 - decider.accept(table, Interval(-1, Fraction(proved, unit)), epsilon))
    return worst


RACES = pytest.mark.parametrize("name", ["r2t_sum", "r2t_sum_tight"])


@RACES
@pytest.mark.parametrize("alpha", ALPHAS)
def test_a_race_keeps_its_level_and_never_proves_a_yes(name: str, alpha: float) -> None:
    found = max(level_of_race(name, alpha, epsilon) for epsilon in EPSILONS)
    assert found <= alpha * SLACK
    decider: Any = for_lattice(name, "SUM", Lattice(0, 64))
    for estimate in (0, 5, 50, 500):
        decision = decider.verdict(EstimatorOutput((estimate, 1)), Interval(-1, 100), "1")
        assert (decision.p_value is None) is decision.outcome
        assert (
            decider.verdict(EstimatorOutput((estimate, 1)), Interval(600, 900), "1").p_value is None
        )


@RACES
def test_too_small_a_p_value_of_a_race_is_rejected(name: str) -> None:
    assert max(level_of_race(name, 0.01, epsilon, halved) for epsilon in EPSILONS) > 0.012


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_margin_keeps_its_level(epsilon: str, alpha: float) -> None:
    budget = Fraction(epsilon)
    for outcome, margin, side in ((True, 0, 1), (False, 1, -1)):
        proved = first(
            lambda m, outcome=outcome: proof(verdict_of(m, budget), alpha, outcome=outcome),  # type: ignore[misc]
            margin,
            side,
        )
        assert noise_tail(side * (proved - margin), 1 / budget) <= alpha * SLACK


def test_deciders_say_what_they_can_prove() -> None:
    both, no_alone = frozenset({True, False}), frozenset({False})
    known = {"lm_count": both, "lm_sum": both, "hist_median": both, "r2t_sum": no_alone}
    known |= {"lm_mean": both, "hist_quantile": both}
    known["r2t_sum_tight"] = no_alone
    for name, made in DECIDERS.items():
        expected = both if name.startswith(("inv_", "noisy_")) else known.get(name, frozenset())
        assert made.proves == expected, name
        decider = for_lattice(name, made.aggregate, Lattice(0, 15))
        for rows in ([], [3, 7], [15] * 9):
            table = Histogram.from_values(rows)
            found = decider.decide(table, Interval(2, 8), "0.5", SimulatedNoise(1))
            assert found.p_value is None or found.outcome in made.proves
