"""Simulated releases of distances against what is said of them: coverage, levels, power.

The same checks must reject intervals and p-values that forget a part of the noise.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from pqd.deciders import SimulatedNoise
from pqd.deciders.distances.cells import cell_shares, confusion_figures
from pqd.deciders.distances.cube_law import CubeLaw
from pqd.deciders.distances.decider import DistanceDecider
from pqd.deciders.distances.estimates import (
    DistanceEstimates,
    bonferroni,
    holm,
    vector_tau_decided,
    vector_tau_min,
)
from pqd.deciders.distances.noise_laws import LaplaceLaw, NoiseLaw
from pqd.deciders.distances.statistics import whole_rows
from pqd.deciders.distances.vector import CubeVector, GaussianVector, VectorLaw
from pqd.deciders.distributions import noise_tail
from pqd.deciders.single.inverse_sensitivity import verdict_of

ALPHA = 0.1
# Standard errors by which a rate may exceed what is promised, and must if a twin is broken.
LIMIT = 4.5
Whole = NDArray[np.int64]


def drawn(law: NoiseLaw, size: int | tuple[int, ...], rng: np.random.Generator) -> Whole:
    """Draws of a law; a Gaussian of at least 5 rows is a rounded normal for all that shows here."""
    if isinstance(law, LaplaceLaw):
        stop = -math.expm1(-1 / float(law.scale))
        return np.asarray(rng.geometric(stop, size) - rng.geometric(stop, size), dtype=np.int64)
    assert law.deviation >= 5
    return np.round(rng.normal(0, law.deviation, size)).astype(np.int64)


def many_drawn(law: VectorLaw, numbers: int, runs: int, rng: np.random.Generator) -> Whole:
    """Noise of the distances of each run."""
    if isinstance(law.distance, CubeLaw):
        noise, still = SimulatedNoise(rng), [0] * numbers
        return np.array([noise.cube(still, law.distance.scale) for _ in range(runs)])
    return drawn(law.distance, (runs, numbers), rng)


@dataclass(frozen=True)
class Case:
    """Releases of distances, all of the same ``rows`` among ``n``."""

    name: str
    law: VectorLaw
    n: int
    rows: Fraction
    numbers: int
    runs: int

    @property
    def share(self) -> float:
        """True distance."""
        return float(self.rows / self.n)

    def released(self) -> list[tuple[int, ...]]:
        """Simulated releases, the same in every run of the tests."""
        rng = np.random.default_rng(31)
        noisy = self.n + drawn(self.law.rows, self.runs, rng)
        distances = whole_rows(self.rows) + many_drawn(self.law, self.numbers, self.runs, rng)
        return [(n, *each) for n, each in zip(noisy.tolist(), distances.tolist(), strict=True)]

    def __str__(self) -> str:
        return self.name


def laplace(numbers: int, epsilon: str) -> VectorLaw:
    """Law of a vector whose every number has Laplace noise of its own, at a part of the budget."""
    budget = Fraction(epsilon)
    return VectorLaw(LaplaceLaw(20 / budget), LaplaceLaw(20 * numbers / (19 * budget)))


# Distances at the worst place of the rounding; n from known well to hardly known.
CASES = [
    Case("one", laplace(1, "1"), 300, Fraction(61, 2), 1, 3000),
    Case("few rows", laplace(1, "1"), 60, Fraction(61, 2), 1, 2000),
    Case("far", laplace(4, "0.25"), 4000, Fraction(7001, 2), 4, 800),
    Case("many", laplace(127, "1"), 48_842, Fraction(4001, 2), 127, 250),
    Case("cube of one", CubeVector(1).law(1), 300, Fraction(61, 2), 1, 600),
    Case("cube of few", CubeVector(4).law("0.25"), 4000, Fraction(7001, 2), 4, 500),
    Case("cube of many", CubeVector(127).law(1), 48_842, Fraction(4001, 2), 127, 300),
    Case("Gaussian", GaussianVector(127).law("0.02"), 20_000, Fraction(801, 2), 127, 250),
]


def excess(misses: float, trials: float, level: float = ALPHA) -> float:
    """Standard errors by which the rate of misses exceeds the level."""
    return (misses / trials - level) / math.sqrt(level * (1 - level) / trials)


def misses(case: Case, law: VectorLaw) -> float:
    """Excess of intervals, made with ``law``, that do not hold the distance; by runs."""
    rates = []
    for released in case.released():
        intervals = DistanceEstimates(released, law, ALPHA).distances
        held = (intervals[:, 1] <= case.share) & (case.share <= intervals[:, 2])
        rates.append(1 - held.mean())
    # Those of one run share the noise of n.
    error = max(np.std(rates) / math.sqrt(len(rates)), 1e-3)
    return float((np.mean(rates) - ALPHA) / error)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_intervals_of_distances_hold(case: Case) -> None:
    assert misses(case, case.law) < LIMIT


def test_and_are_hardly_wider_than_they_must_be() -> None:
    """Where the noise is large beside a row, nearly as many miss as may."""
    case = CASES[3]
    rates = [
        ((low > case.share) | (high < case.share)).mean()
        for released in case.released()
        for _, low, high in [DistanceEstimates(released, case.law, ALPHA).distances.T]
    ]
    assert 0.08 < np.mean(rates) < 0.1


TINY = LaplaceLaw(Fraction(1, 100))


@pytest.mark.parametrize(
    ("case", "forgotten"),
    [
        (CASES[2], VectorLaw(TINY, CASES[2].law.distance)),
        (CASES[3], VectorLaw(CASES[3].law.rows, LaplaceLaw(Fraction(127 * 7, 10)))),
        (CASES[6], VectorLaw(CASES[6].law.rows, CubeLaw(127, Fraction(7, 10)))),
        (CASES[7], VectorLaw(CASES[7].law.rows, TINY)),
    ],
    ids=["n without noise", "noise 30 % too small", "cube too small", "distances without noise"],
)
def test_intervals_that_forget_noise_are_rejected(case: Case, forgotten: VectorLaw) -> None:
    assert misses(case, forgotten) > LIMIT


@pytest.mark.parametrize("case", CASES, ids=str)
def test_intervals_of_rows_and_means_hold(case: Case) -> None:
    """Means with unequal weights, and of one; differences of two means that are equal."""
    sizes = [k % 3 + 1 for k in range(case.numbers)]
    weights = [Fraction(size, sum(sizes)) for size in sizes]
    first = [Fraction(k == 0) for k in range(case.numbers)]
    missed, claimed, trials = np.zeros(4), 0, 0
    for released in case.released():
        estimates = DistanceEstimates(released, case.law, ALPHA)
        mean, one = estimates.mean(weights), estimates.mean(first)
        gap = estimates.difference(weights, first)
        rows = estimates.rows
        missed += [
            not mean.low <= case.share <= mean.high,
            not one.low <= case.share <= one.high,
            not gap.low <= 0 <= gap.high,
            not rows.low <= case.n <= rows.high,
        ]
        claimed += gap.p_value <= ALPHA
        trials += 1
    assert max(excess(each, trials) for each in missed) < LIMIT
    assert excess(claimed, trials) < LIMIT


def test_means_and_differences_are_not_much_too_wide() -> None:
    """A mean of 127 misses between half of alpha and all of it; so do claims of a difference."""
    case, half = CASES[3], [Fraction(1, 127)] * 127
    other = [Fraction(k < 60, 60) for k in range(127)]
    missed = claimed = trials = 0
    for released in case.released():
        estimates = DistanceEstimates(released, case.law, 0.4)
        mean, gap = estimates.mean(half), estimates.difference(other, half)
        missed += not mean.low <= case.share <= mean.high
        claimed += gap.p_value <= 0.4
        trials += 1
    assert 0.25 < missed / trials < 0.4 + LIMIT * math.sqrt(0.24 / trials)
    assert 0.25 < claimed / trials < 0.4 + LIMIT * math.sqrt(0.24 / trials)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("side", [1, -1])
def test_false_verdicts_are_at_most_alpha(case: Case, side: int) -> None:
    """Truth just within the tolerance, and on its edge, which is a no."""
    tau = Fraction(case.rows + (Fraction(1, 10**6) if side > 0 else 0), case.n)
    false = [
        ((outcomes != (side > 0)) & (p_values <= ALPHA)).mean()
        for released in case.released()
        for outcomes, p_values in [DistanceEstimates(released, case.law, ALPHA).verdicts(tau)]
    ]
    error = max(np.std(false) / math.sqrt(len(false)), 1e-3)
    assert (np.mean(false) - ALPHA) / error < LIMIT
    if case.numbers > 100:
        assert np.mean(false) > 0.08


@pytest.mark.parametrize("case", [CASES[k] for k in (2, 3, 5, 6, 7)], ids=str)
def test_at_the_threshold_verdicts_err_at_most_alpha(case: Case) -> None:
    tau = vector_tau_min(case.law, case.n, ALPHA)
    assert tau < 1
    rng = np.random.default_rng(4)
    runs = 20_000 if case.numbers == 1 else 20_000 // case.numbers
    noise = many_drawn(case.law, case.numbers, runs, rng).ravel()
    rows = case.n + drawn(case.law.rows, noise.size, rng)
    far = whole_rows(Fraction(2 * tau * case.n))
    # Ten times the standard error of independent draws: those of one cube share its radius.
    most = ALPHA + 10 * math.sqrt(ALPHA * (1 - ALPHA) / noise.size)
    assert np.mean(tau * rows - noise <= 0) <= most
    assert np.mean(tau * rows - far - noise > 0) <= most


@pytest.mark.parametrize("case", [CASES[k] for k in (2, 3, 5, 6, 7)], ids=str)
def test_at_the_tolerance_that_is_decided_nine_runs_of_ten_are(case: Case) -> None:
    """By the verdicts of releases themselves, at a distance of 0 and of twice the tolerance."""
    tau = vector_tau_decided(case.law, case.n, ALPHA)
    assert 1 > tau > vector_tau_min(case.law, case.n, ALPHA)
    for distance, truth in ((0, True), (2 * tau, False)):
        hits = [
            ((outcomes == truth) & (p_values <= ALPHA)).mean()
            for released in replace(case, rows=Fraction(distance * case.n)).released()
            for outcomes, p_values in [DistanceEstimates(released, case.law, ALPHA).verdicts(tau)]
        ]
        error = max(np.std(hits) / math.sqrt(len(hits)), 1e-3)
        assert (np.mean(hits) - 0.9) / error > -LIMIT


@pytest.mark.parametrize("within", [True, False])
def test_a_decider_is_wrong_with_a_small_p_value_at_most_that_often(within: bool) -> None:
    """By the exact law of its noise, at the nearest tables: sharp but for whole numbers."""
    decider, tau, epsilon = DistanceDecider(), Fraction(1, 20), Fraction(1, 5)
    n, rows = 1000, Fraction(49) if within else Fraction(50)
    margin = decider.margin(rows, n, tau)
    assert margin == (1 if within else 0)
    wrong = 0.0
    for z in range(-300, 301):
        decision = verdict_of(margin + z, epsilon)
        assert decision.p_value is not None
        if decision.outcome != within and decision.p_value <= ALPHA:
            wrong += noise_tail(z, 1 / epsilon) - noise_tail(z + 1, 1 / epsilon)
    assert 0.08 < wrong <= ALPHA


def test_verdicts_at_once_are_false_together_at_most_alpha() -> None:
    """All distances on the edge of the tolerance: that any is told is rarer than alpha."""
    case, any_told, single = CASES[3], 0, 0
    for released in case.released():
        p = DistanceEstimates(released, case.law, ALPHA).verdicts(case.rows / case.n)[1]
        any_told += bool(bonferroni(p).min() <= ALPHA)
        single += bool(p.min() <= ALPHA)
    # A verdict has two sides here: either can be told.
    assert excess(any_told, case.runs, 2 * ALPHA) < LIMIT
    assert single == case.runs


def test_on_either_side_of_the_tolerance_too_where_holm_is_not_enough() -> None:
    """Two distances, one on the edge (a no), one just within; the rows' noise moves both alike."""
    law, n, tau = VectorLaw(LaplaceLaw(Fraction(400)), LaplaceLaw(Fraction(60))), 10**6, "0.3"
    rng, runs = np.random.default_rng(17), 12_000
    rows = n + drawn(law.rows, runs, rng)
    near = np.array([300_000, 299_999]) + many_drawn(law, 2, runs, rng)
    false = np.zeros(2)
    for whole, (edge, within) in zip(rows.tolist(), near.tolist(), strict=True):
        outcomes, p = DistanceEstimates((whole, edge, within), law, ALPHA).verdicts(tau)
        wrong = outcomes != [False, True]
        false += [(wrong & (rule(p) <= ALPHA)).any() for rule in (bonferroni, holm)]
    assert excess(false[0], runs) < LIMIT < excess(false[1], runs)
    assert false[0] / runs > 0.08


@pytest.mark.parametrize("vector", [CubeVector(16), GaussianVector(16)])
def test_shares_of_cells_hold(vector: CubeVector | GaussianVector) -> None:
    rng, law, n, epsilon = np.random.default_rng(9), vector.law("0.3"), 3000, Fraction(1, 4)
    cells = np.array([0, 3, 40, 900, 2057])
    rates = []
    for _ in range(600):
        estimates = DistanceEstimates((n + int(drawn(law.rows, 1, rng)[0]), 0), law, ALPHA)
        noisy = cells + drawn(LaplaceLaw(1 / epsilon), 5, rng)
        _, low, high = cell_shares(noisy.tolist(), epsilon, estimates, ALPHA).T
        rates.append((low > cells / n) | (high < cells / n))
    missed = np.mean(rates, axis=0)
    assert np.max(missed) < ALPHA + LIMIT * math.sqrt(ALPHA * (1 - ALPHA) / 600)
    # Where n hardly matters the interval is as narrow as it may be, but for whole numbers.
    assert missed[2] > 0.03


# Of a confusion matrix, each with figures of its own.
RUNS = 120


def figures_missed(epsilon: Fraction, told: Callable[[float], float]) -> NDArray[np.float64]:
    """Rates at which accuracy, balanced accuracy, a recall and a share lie outside."""
    rng, runs = np.random.default_rng(12), RUNS
    matrix = np.array([[700, 60, 40], [90, 380, 30], [10, 30, 160]])
    rows = matrix.sum(axis=1)
    truths = (
        matrix.trace() / matrix.sum(),
        (matrix.diagonal() / rows).mean(),
        matrix[2, 2] / rows[2],
        rows[1] / matrix.sum(),
    )
    missed = np.zeros(4)
    for _ in range(runs):
        noisy = matrix + drawn(LaplaceLaw(1 / epsilon), (3, 3), rng)
        figures = confusion_figures(noisy, told(float(epsilon)), ALPHA)
        every = figures.accuracy, figures.balanced, figures.recalls[2], figures.shares[1]
        for place, (figure, truth) in enumerate(zip(every, truths, strict=True)):
            assert figure is not None
            missed[place] += not figure.low <= truth <= figure.high
    return missed / runs


def test_figures_of_a_confusion_matrix_hold() -> None:
    missed = figures_missed(Fraction(1, 4), lambda epsilon: epsilon)
    error = math.sqrt(ALPHA * (1 - ALPHA) / RUNS)
    assert np.max(missed) < ALPHA + LIMIT * error
    assert missed[0] > 0.02


def test_figures_at_an_epsilon_that_was_not_spent_are_rejected() -> None:
    missed = figures_missed(Fraction(1, 4), lambda epsilon: 2 * epsilon)
    assert missed[0] > ALPHA + LIMIT * math.sqrt(ALPHA * (1 - ALPHA) / RUNS)


def shown_recalls_missed(level: Callable[[int], float]) -> float:
    """Rate of runs in which an interval of a recall that is shown misses; small classes."""
    rng, epsilon = np.random.default_rng(3), Fraction(1, 2)
    matrix = np.diag([40, 25, 20, 15, 10, 8]) + 4
    truths, missed, runs = matrix.diagonal() / matrix.sum(axis=1), 0, 250
    for _ in range(runs):
        noisy = matrix + drawn(LaplaceLaw(1 / epsilon), matrix.shape, rng)
        recalls = confusion_figures(noisy, epsilon, level(len(matrix))).recalls
        pairs = [(each, truth) for each, truth in zip(recalls, truths, strict=True) if each]
        missed += any(not each.low <= truth <= each.high for each, truth in pairs)
    return missed / runs


def test_the_recalls_that_are_shown_hold_at_once() -> None:
    error = math.sqrt(ALPHA * (1 - ALPHA) / 250)
    assert shown_recalls_missed(lambda _: ALPHA) < ALPHA + LIMIT * error
    # One by one, as once was said, they do not.
    assert shown_recalls_missed(lambda classes: min(0.99, ALPHA * classes)) > ALPHA + LIMIT * error
