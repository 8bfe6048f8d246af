"""The mechanisms against literal transcriptions, and without noise against the truth."""

import importlib
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from deciders import Noise, ParameterError, SecureNoise, SimulatedNoise
from deciders.batch.base import BatchOutput
from deciders.batch.budget import PrivacyBudget
from deciders.batch.exponential_mechanism import exponential_choice
from deciders.batch.linear.clipped_composition import ClippedComposition, bar
from deciders.batch.linear.conditions import Intervals, Ranges, Subsets
from deciders.batch.linear.dyadic import DyadicMechanism, noise_bound
from deciders.batch.linear.mechanism import DistributionMechanism, LinearMechanism
from deciders.batch.linear.multiplicative_weights import MultiplicativeWeights
from deciders.batch.linear.normalization import GlobalTruncation, Normalization
from deciders.batch.linear.numerical import Numerical, NumericalInTwoSteps, first_few
from deciders.batch.linear.private_bound import private_radius
from deciders.batch.linear.queries import NumericalQueries, doubling
from deciders.batch.linear.signed import SignedMechanism
from deciders.batch.linear.unit_queries import CappedQueries, ThresholdQueries
from deciders.batch.linear.universe import DigitUniverse, LevelUniverse, Rows

RNG = np.random.default_rng(11)
LINE = Ranges((Intervals.up_to(6, 6),))
REDUCED = NumericalQueries(LINE, DigitUniverse(6, 20))
TABLE = Rows(RNG.integers(0, 6, 300), np.minimum(RNG.geometric(0.3, 300), 12))


class Silent:
    """No noise; of two halves the likelier."""

    simulated = True

    def laplace(self, statistic: int, scale: Fraction) -> int:
        assert scale > 0
        return statistic

    def choose(self, logit: float) -> bool:
        return logit >= 0


class Widest:
    """Simulated noise that keeps the widest scale asked of it."""

    simulated = True

    def __init__(self, seed: int) -> None:
        self._noise, self.scale = SimulatedNoise(seed), Fraction(0)

    def laplace(self, statistic: int, scale: Fraction) -> int:
        self.scale = max(self.scale, scale)
        return self._noise.laplace(statistic, scale)

    def choose(self, logit: float) -> bool:
        return self._noise.choose(logit)


def truth(queries: Any, rows: Rows) -> np.ndarray[Any, np.dtype[np.int64]]:
    thresholds = doubling(1, int(queries.limits.max()))
    sums: np.ndarray[Any, np.dtype[np.int64]] = queries.table_tails(rows, thresholds)[1][:, -1]
    return sums


def literal_search(above: list[float], thresholds: list[int], alpha: float, peak: int) -> int:
    """Lines 4 to 17 of Algorithm 1, written down from the paper."""
    if above[0] <= alpha:
        return 0
    place = 1
    while thresholds[place] < peak:
        if above[place] <= alpha:
            return thresholds[place]
        place += 1
    return thresholds[place]


def test_the_search_is_that_of_algorithm_1() -> None:
    thresholds = doubling(1, 16)
    handmade = np.array(
        [
            [9.0, 9, 9, 9, 9, 9],
            [3.0, 9, 9, 9, 9, 0],
            [9.0, 9, 3, 9, 9, 0],
            [3.5, 3.1, 3.0001, 3, 2, 0],
        ]
    )
    assert thresholds[first_few(handmade, 3.0)].tolist() == [16, 0, 2, 4]
    noisy = RNG.normal(3, 3, (500, 6))
    noisy[:, -1] = 0
    found = thresholds[first_few(noisy, 2.0)]
    for line, threshold in zip(noisy.tolist(), found.tolist(), strict=True):
        assert threshold == literal_search(line, thresholds.tolist(), 2.0, 16)


def test_a_threshold_per_query() -> None:
    above = np.array([[5.0, 3.0, 0.0], [5.0, 3.0, 0.0]])
    alphas = np.array([[5.0, 0.0, 0.0], [4.0, 2.0, 1.0]])
    assert first_few(above, alphas).tolist() == [0, 2]


class Path:
    """Takes prescribed choices and keeps the chance of having taken them."""

    simulated = True

    def __init__(self, path: list[bool]) -> None:
        self.path, self.chance = path, 1.0

    def laplace(self, statistic: int, scale: Fraction) -> int:
        raise AssertionError(statistic, scale)

    def choose(self, logit: float) -> bool:
        yes = self.path.pop(0) if self.path else True
        self.chance *= 1 / (1 + math.exp(-logit if yes else logit))
        return yes


def test_a_place_is_chosen_by_its_weight() -> None:
    for size in (1, 2, 5, 8):
        logs = RNG.normal(0, 3, size)
        found = np.zeros(size)
        for code in range(8):
            noise = Path([bool(code & bit) for bit in (1, 2, 4)])
            place = exponential_choice(logs, noise)
            found[place] = noise.chance
        assert found == pytest.approx(np.exp(logs - np.logaddexp.reduce(logs)))
    assert exponential_choice(np.array([0.0, -1e6, -2e6]), Silent()) == 0


@pytest.mark.parametrize("delta", ["1e-9", "1e-6", "0.1"])
@pytest.mark.parametrize("epsilon", ["0.01", "1", "30"])
def test_shares_compose_to_the_budget(epsilon: str, delta: str) -> None:
    """Lemma 2.3 (2) at forty digits: not more than epsilon, and nearly all of it."""
    for mechanisms in (1, 20, 5000):
        share = PrivacyBudget.of(epsilon, delta).share(mechanisms)
        assert PrivacyBudget.of(epsilon).share(mechanisms) == Fraction(epsilon) / mechanisms
        if share == Fraction(epsilon) / mechanisms:
            continue
        with mpmath.workdps(40):
            one = mpmath.mpf(share.numerator) / share.denominator
            spread = mpmath.sqrt(2 * mechanisms * mpmath.log(1 / mpmath.mpf(delta)))
            spent = one * spread + mechanisms * one * mpmath.expm1(one)
            assert mpmath.mpf(epsilon) * (1 - mpmath.mpf(10) ** -9) < spent <= mpmath.mpf(epsilon)
    assert PrivacyBudget.of(epsilon, delta).share(5000) > Fraction(epsilon) / 5000


@pytest.mark.parametrize("delta", [-0.1, 1, "nan"])
def test_no_such_delta(delta: Any) -> None:
    with pytest.raises(ParameterError):
        Normalization(queries=REDUCED).release(TABLE, 1, Silent(), delta)


def literal_mwem(
    family: Any, counts: Any, size: int, rounds: int, replays: int
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """MWEM without noise on a dense matrix, from the algorithm of Hardt et al."""
    dense = []
    for place in range(family.size):
        numerators, denominator = family.row(place)
        dense.append(numerators / denominator)
    matrix = np.array(dense)
    estimate = np.full(counts.size, size / counts.size)
    past: list[tuple[int, float]] = []
    for _ in range(rounds):
        errors = np.abs(matrix @ counts - matrix @ estimate)
        past.append((int(errors.argmax()), float(matrix[errors.argmax()] @ counts)))
        for query, answer in [past[-1]] + past * replays:
            gap = answer - matrix[query] @ estimate
            estimate = estimate * np.exp(matrix[query] * gap / (2 * size))
            estimate *= size / estimate.sum()
    return estimate


@pytest.mark.parametrize("replays", [0, 3])
def test_multiplicative_weights_are_those_of_mwem(replays: int) -> None:
    queries = NumericalQueries(LINE, DigitUniverse(6, 20))
    family = ThresholdQueries(queries, doubling(1, queries.peak))
    counts = queries.counts(TABLE)
    size = int(counts.sum())
    weights = MultiplicativeWeights(rounds=6, replays=replays)
    found = weights.fit(family, counts, size, PrivacyBudget(Fraction(10**9)), Silent())
    assert found == pytest.approx(literal_mwem(family, counts, size, 6, replays))
    assert found.sum() == pytest.approx(size)


def test_with_rounds_and_budget_enough_every_answer_comes_out() -> None:
    queries = NumericalQueries(LINE, LevelUniverse.up_to(6, 12))
    counts = queries.counts(TABLE)
    for family in (
        ThresholdQueries(queries, doubling(1, 12)),
        CappedQueries(queries, queries.limits),
    ):
        errors = []
        for rounds in (5, 150):
            weights = MultiplicativeWeights(rounds=rounds).fit(
                family, counts, 300, PrivacyBudget(Fraction(10**6)), SimulatedNoise(1)
            )
            errors.append(np.abs(family.answers(weights) - family.answers(counts)).max())
        assert errors[1] < min(3, errors[0] / 3)


def mechanisms(rounds: int) -> list[LinearMechanism]:
    long = MultiplicativeWeights(rounds=rounds)
    sevens = NumericalQueries(LINE, LevelUniverse(6, np.array([[7]])))
    return [
        Normalization(queries=REDUCED, weights=long),
        GlobalTruncation(queries=REDUCED, weights=long),
        ClippedComposition(queries=REDUCED),
        Numerical(queries=REDUCED, weights=long),
        NumericalInTwoSteps(queries=REDUCED, weights=long),
        Numerical(queries=sevens, weights=long),
        NumericalInTwoSteps(
            queries=NumericalQueries(LINE, LevelUniverse.up_to(6, 20)), weights=long
        ),
        DyadicMechanism(queries=REDUCED),
    ]


@pytest.mark.parametrize("mechanism", mechanisms(80), ids=lambda m: m.id)
def test_a_huge_budget_gives_the_truth(mechanism: Any) -> None:
    released = mechanism.release(TABLE, 10**7, SimulatedNoise(3))
    expected = truth(mechanism.queries, TABLE)
    assert np.abs(released.answers - expected).max() < 0.03 * expected.max()
    if released.thresholds is not None:
        assert np.all(released.thresholds <= np.maximum(1, mechanism.queries.limits))


@pytest.mark.parametrize("mechanism", mechanisms(10), ids=lambda m: m.id)
def test_no_rows_and_few_answers_are_finite(mechanism: Any) -> None:
    nobody = Rows(np.empty(0, np.int64), np.empty(0, np.int64))
    for rows, epsilon in ((nobody, "0.01"), (nobody, "1"), (TABLE, "0.001")):
        released = mechanism.release(rows, epsilon, SimulatedNoise(4))
        assert np.all(np.isfinite(released.answers))
        if isinstance(mechanism, DistributionMechanism):
            fit = mechanism.fit(rows, epsilon, SimulatedNoise(4))
            assert np.all(fit.distribution >= 0)
            assert fit.distribution.sum() > 0
            assert released == BatchOutput.of(fit.answers, fit.thresholds)


@pytest.mark.parametrize("mechanism", mechanisms(10), ids=lambda m: m.id)
def test_the_largest_scale_bounds_all_noise_but_not_by_far(
    mechanism: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values of 20 in every row reach the uppermost threshold; noise is drawn at its true scale."""
    for name in ("clipped_composition", "dyadic", "multiplicative_weights"):
        module = importlib.import_module(f"deciders.batch.linear.{name}")
        monkeypatch.setattr(module, "noisy_value", coarse)
    table = Rows(np.repeat(np.arange(6), 900), np.full(5400, 20))
    for epsilon in (Fraction(1, 10**6), Fraction(1), Fraction(900)):
        for delta in (0, "1e-6"):
            noise = Widest(5)
            mechanism.release(table, epsilon, noise, delta)
            assert noise.scale <= mechanism.largest_scale(epsilon)
            # With little noise nothing is truncated, and the bound is nearly reached.
            if epsilon > 1 and not delta:
                assert noise.scale >= mechanism.largest_scale(epsilon) / 2


def coarse(statistic: Fraction, scale: Fraction, noise: Noise) -> Fraction:
    return Fraction(noise.laplace(math.floor(statistic), scale))


def test_ids() -> None:
    assert {mechanism.id for mechanism in mechanisms(1)} == {
        "normalization",
        "global_truncation",
        "clipped_composition",
        "numerical",
        "numerical_two",
        "dyadic",
    }


def test_thresholds_without_noise_leave_at_most_alpha_above() -> None:
    released = Numerical(queries=REDUCED).fit(TABLE, 10**6, Silent())
    assert released.alpha is not None
    above = REDUCED.table_tails(TABLE, doubling(1, 20))[0]
    kept = doubling(1, 20).searchsorted(released.thresholds)
    bits_above = REDUCED.tails(REDUCED.counts(TABLE), doubling(1, 16))[0]
    for place, threshold in enumerate(released.thresholds):
        assert bits_above[place, kept[place]] <= 2 * released.alpha + 1
        assert threshold <= 2 * max(1, 12)
    assert above.shape == (21, 7)


def test_ranges_without_noise_are_the_truth_where_nothing_is_cut() -> None:
    """The dyadic sums are those of the level sets, whatever the length of the attribute."""
    for length in (1, 5, 6, 16):
        axis = Intervals.up_to(length, length)
        queries = NumericalQueries(Ranges((axis,)), DigitUniverse(length, 4096))
        rows = Rows(RNG.integers(0, length, 900), RNG.integers(0, 4097, 900))
        released = DyadicMechanism(queries=queries).release(rows, 10**9, Silent())
        assert released.answers == pytest.approx(truth(queries, rows))


def test_ranges_clip_where_few_rows_lie_above() -> None:
    axis = Intervals(4, np.array([0]), np.array([3]))
    queries = NumericalQueries(Ranges((axis,)), DigitUniverse(4, 2**20))
    rows = Rows(np.zeros(5001, np.int64), np.array([3] * 5000 + [2**20]))
    released = DyadicMechanism(queries=queries).release(rows, 1, Silent())
    assert released == BatchOutput((15_000 + 4,), (4,))


def test_ranges_need_one_attribute() -> None:
    flag = Intervals.up_to(2, 1)
    for conditions in (Ranges((flag, flag)), Subsets(np.ones((1, 4), bool))):
        with pytest.raises(ParameterError, match="intervals of one attribute"):
            DyadicMechanism(queries=NumericalQueries(conditions, DigitUniverse(4, 8)))


def test_noise_bound_holds_and_is_not_loose() -> None:
    rng = np.random.default_rng(2)
    for terms in (1, 7, 60):
        sums = np.abs(rng.laplace(0, 1, (20_000, terms)).sum(axis=1))
        bound = noise_bound(np.array([terms]), 0.01)[0]
        assert (sums > bound).mean() < 0.01
        assert bound < 2.2 * np.quantile(sums, 0.99)


def test_composition_clips_what_its_search_can_see() -> None:
    """Half a share of 1/2 for four steps among 12 thresholds: noise of scale 16."""
    queries = NumericalQueries(Subsets(np.ones((2, 1), bool)), DigitUniverse(1, 1000))
    few = bar(4, Fraction(16))
    assert few == math.ceil(16 * math.log(40)) == 60
    for large, clipped in ((few, 8), (few + 1, 1024)):
        rows = Rows(np.zeros(400 + large, np.int64), np.array([5] * 400 + [1000] * large))
        released = ClippedComposition(queries=queries).release(rows, 1, Silent())
        assert released.thresholds == (clipped, clipped)
        assert released.answers == (2000 + large * min(1000, clipped),) * 2


@pytest.mark.parametrize("steps", [1, 4, 6])
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(5), Fraction(10**6)])
def test_noise_exceeds_the_bar_in_a_twentieth_at_most(steps: int, scale: Fraction) -> None:
    a = math.exp(-1 / scale)
    beyond = [steps * a ** (whole + 1) / (1 + a) for whole in (bar(steps, scale), 0)]
    assert beyond[0] <= 0.05
    # Not much less, where whole numbers are fine enough.
    assert scale < 1 or beyond[0] > 0.04


def test_the_radius_covers_nearly_all() -> None:
    values = np.array([0] * 50 + [3] * 500 + [900] * 2)
    assert private_radius(values, 1, 10**6, Fraction(1), Silent()) == 4
    assert private_radius(values, 1, 10**6, Fraction(100), Silent()) == 1024
    assert private_radius(values, 1, 600, Fraction(1000), Silent()) == 600
    assert private_radius(values[:0], 5, 600, Fraction(1), Silent()) == 5


def test_signs() -> None:
    signed = Rows(TABLE.classes, np.where(TABLE.classes % 2, -TABLE.levels, TABLE.levels))
    side = ClippedComposition(queries=REDUCED)
    mechanism = SignedMechanism(positive=side, negative=side)
    released = mechanism.release(signed, 10**6, Silent())
    one = [
        sum(signed.levels[(signed.classes >= low) & (signed.classes <= high)])
        for low, high in zip(LINE.axes[0].first, LINE.axes[0].last, strict=True)
    ]
    assert released.answers == pytest.approx(one)
    assert released.thresholds is not None
    assert len(released.thresholds) == 2 * REDUCED.size


def test_secure_noise_serves_as_well() -> None:
    released = Numerical(queries=REDUCED).release(TABLE, 2, SecureNoise(), "1e-6")
    assert len(released.answers) == REDUCED.size
