"""Mechanisms for batches lose at most epsilon on neighbours, computed and not sampled.

A mechanism is what the code asks of the noise.  A transcript prescribes every noisy number and
every choice; run with it on two neighbouring tables, a mechanism must release the same, and what it
loses is the sum over the calls of how much likelier one table makes the prescribed outcome.
Broken twins must be caught by the same checks.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from itertools import zip_longest
from typing import Any

import numpy as np
import pytest

from pqd.deciders.batch.base import BatchOutput, PrivacyBudget
from pqd.deciders.batch.linear import normalization, numerical, radius
from pqd.deciders.batch.linear.clipped_composition import ClippedComposition
from pqd.deciders.batch.linear.conditions import Intervals, Ranges, Subsets
from pqd.deciders.batch.linear.dyadic import DyadicMechanism
from pqd.deciders.batch.linear.mechanism import (
    DistributionFit,
    DistributionMechanism,
    FittingMechanism,
    LinearMechanism,
)
from pqd.deciders.batch.linear.multiplicative_weights import GroupedWeights, MultiplicativeWeights
from pqd.deciders.batch.linear.normalization import GlobalTruncation, Normalization
from pqd.deciders.batch.linear.numerical import Numerical, NumericalInTwoSteps
from pqd.deciders.batch.linear.queries import LinearQueries, NumericalQueries, Tails
from pqd.deciders.batch.linear.radius import RadiusFirst, private_radius
from pqd.deciders.batch.linear.signed import SignedMechanism
from pqd.deciders.batch.linear.universe import (
    DigitUniverse,
    LevelUniverse,
    Rows,
    Universe,
    level_sets,
)
from pqd.deciders.distributions import Floats
from pqd.deciders.errors import ParameterError
from pqd.deciders.exact import Number
from pqd.deciders.histogram import Integers, Sums
from pqd.deciders.noise import Noise
from tests.support.noises import LaplaceAlone

# What doubles may add to a log-probability of a selection; all else is exact.
TOLERANCE = 1e-9
WEIGHTS = MultiplicativeWeights(rounds=3, replays=1)


@dataclass
class Transcript(LaplaceAlone):
    """A source of noise whose outcomes are given, once drawn, to every later run.

    ``steps`` are its events in order: ``("laplace", statistic, scale)`` or ``("choose", logit,
    outcome)``.
    """

    rng: np.random.Generator
    outcomes: list[int | bool] = field(default_factory=list)
    steps: list[tuple[str, Any, Any]] = field(default_factory=list)
    simulated: bool = True

    def rewound(self) -> "Transcript":
        return Transcript(self.rng, self.outcomes)

    def laplace(self, statistic: int, scale: Fraction) -> int:
        drawn = self.rng.laplace(0, 2 * float(scale)) if self.rng.random() < 0.8 else 0.0
        outcome = self._next(statistic + round(drawn))
        self.steps.append(("laplace", statistic, scale))
        return outcome

    def choose(self, logit: float) -> bool:
        outcome = bool(self._next(bool(self.rng.random() < 0.5)))
        self.steps.append(("choose", logit, outcome))
        return outcome

    def _next(self, fresh: int) -> int:
        if len(self.steps) == len(self.outcomes):
            self.outcomes.append(fresh)
        return self.outcomes[len(self.steps)]


def log_chance(logit: float, *, yes: bool) -> float:
    """The logarithm of the chance of a choice."""
    signed = logit if yes else -logit
    return min(signed, 0.0) - math.log1p(math.exp(-abs(signed)))


def losses(here: Transcript, there: Transcript) -> list[float]:
    """Largest log-ratio of every noisy number, and the log-ratio of every whole selection."""
    found: list[float] = []
    selecting = False
    for first, second in zip_longest(here.steps, there.steps):
        if first is None or second is None or first[0] != second[0]:
            return [math.inf]
        if first[0] == "laplace":
            if first[2] != second[2]:
                return [math.inf]
            found.append(float(abs(first[1] - second[1]) / first[2]))
            selecting = False
        else:
            one, other = (log_chance(step[1], yes=step[2]) for step in (first, second))
            found = [*found[:-1], found[-1] + one - other] if selecting else [*found, one - other]
            selecting = True
    return [abs(loss) for loss in found]


def rows_of(pairs: Sequence[tuple[int, int]]) -> Rows:
    table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return Rows(table[:, 0], table[:, 1])


def everything(
    mechanism: LinearMechanism, rows: Rows, epsilon: str, noise: Noise, delta: str = "0"
) -> BatchOutput | DistributionFit:
    """All that a mechanism knows after its noise: the distribution too, where there is one."""
    if isinstance(mechanism, DistributionMechanism):
        return mechanism.fit(rows, epsilon, noise, delta)
    return mechanism.release(rows, epsilon, noise, delta)


def same(first: BatchOutput | DistributionFit, second: BatchOutput | DistributionFit) -> bool:
    parts = [[getattr(one, field.name) for field in fields(one)] for one in (first, second)]
    pairs = (
        [part.cells if isinstance(part, GroupedWeights) else part for part in pair]
        for pair in zip(*parts, strict=True)
    )
    return all(np.array_equal(np.asarray(one), np.asarray(other)) for one, other in pairs)


Pair = tuple[Rows, Rows]


def spent(
    mechanism: LinearMechanism,
    pairs: Sequence[Pair],
    epsilon: str,
    delta: str = "0",
    trials: int = 6,
    seed: int = 3,
) -> float:
    """What the calls lose at most, each over all neighbours and transcripts, added up.

    More than any one outcome loses, and at most epsilon for a mechanism that adds its shares up.
    Infinite if a release hangs on the table otherwise than through the noise.
    """
    worst: list[float] = []
    rng = np.random.default_rng(seed)
    for first, second in pairs:
        for _ in range(trials):
            here = Transcript(rng)
            released = everything(mechanism, first, epsilon, here, delta)
            there = here.rewound()
            if not same(released, everything(mechanism, second, epsilon, there, delta)):
                return math.inf
            found = losses(here, there)
            worst = [max(pair) for pair in zip_longest(worst, found, fillvalue=0.0)]
    return sum(worst)


def lost(mechanism: LinearMechanism, pair: Pair, epsilon: str, trials: int = 60) -> float:
    """What any one outcome loses: for a mechanism whose calls hang on earlier outcomes."""
    return max(spent(mechanism, [pair], epsilon, trials=1, seed=seed) for seed in range(trials))


def neighbours(rng: np.random.Generator, classes: int, top: int) -> Iterator[Pair]:
    """Small tables with and without one row, of those values that move most."""
    values = [0, 1, top // 2, top - 1, top, *(2**k - 1 for k in range(1, top.bit_length()))]
    for _ in range(4):
        pairs = [
            (int(rng.integers(classes)), int(rng.choice(values))) for _ in range(rng.integers(5))
        ]
        for value in values:
            added = (int(rng.integers(classes)), value)
            yield rows_of(pairs), rows_of([*pairs, added])


LINE = Ranges((Intervals.up_to(3, 3),))
ONE = Subsets(np.ones((1, 1), bool))
ONES = np.array([[1]])
Build = Callable[[NumericalQueries], FittingMechanism]

PMW: dict[str, Build] = {
    "normalization": lambda q: Normalization(queries=q, weights=WEIGHTS),
    "numerical": lambda q: Numerical(queries=q, weights=WEIGHTS),
    "numerical_two": lambda q: NumericalInTwoSteps(queries=q, weights=WEIGHTS),
}
UNIVERSES: dict[str, Universe] = {
    "bits": DigitUniverse(3, 20),
    "whole": LevelUniverse.up_to(3, 20),
    "own": LevelUniverse(3, np.array([[0, 1, 20], [2, 3, 4], [1, 6, 7]])),
}


@pytest.mark.parametrize("universe", UNIVERSES.values(), ids=UNIVERSES.keys())
@pytest.mark.parametrize("build", PMW.values(), ids=PMW.keys())
def test_multiplicative_weights_lose_at_most_epsilon(build: Build, universe: Universe) -> None:
    pairs = list(neighbours(np.random.default_rng(1), 3, 20))
    mechanism = build(NumericalQueries(LINE, universe))
    for epsilon in ("0.3", "2"):
        assert spent(mechanism, pairs, epsilon, trials=3) <= float(epsilon) + TOLERANCE


def test_random_queries_lose_at_most_epsilon() -> None:
    rng = np.random.default_rng(2)
    worth = LevelUniverse(3, rng.integers(1, 9, (3, 1)))
    queries = NumericalQueries(Subsets(rng.random((4, 3)) < 0.5), worth)
    pairs = list(neighbours(rng, 3, 1))
    for build in PMW.values():
        assert spent(build(queries), pairs, "1", trials=3) <= 1 + TOLERANCE


def test_approximate_budgets_are_shared_by_advanced_composition() -> None:
    """Every piece of a round loses at most its share, the rest adds up."""
    queries = NumericalQueries(LINE, DigitUniverse(3, 15))
    mechanism = Numerical(queries=queries, weights=MultiplicativeWeights(rounds=40, replays=0))
    pairs = list(neighbours(np.random.default_rng(4), 3, 15))[:8]
    share = PrivacyBudget(Fraction(85, 100), Fraction(1, 10**6)).share(80)
    assert share > Fraction(85, 100) / 80
    found = spent(mechanism, pairs, "1", "1e-6", trials=2)
    assert found <= 0.15 + 80 * float(share) + TOLERANCE
    # The pure mechanism never spends as much as that on its rounds.
    assert spent(mechanism, pairs, "1", trials=2) <= 1 + TOLERANCE


# Two queries that err to different sides on a row of both: that row moves their errors apart.
TIGHT = NumericalQueries(
    Subsets(np.array([[1, *[0] * 9], [1, 1, *[0] * 8]], bool)), LevelUniverse(10, ONES)
)
TIGHT_PAIRS = [
    (rows_of([(1, 0)] * rows), rows_of([(1, 0)] * rows + [(0, 0)])) for rows in (100, 400)
]


def test_the_whole_budget_is_used() -> None:
    for build in PMW.values():
        assert 0.49 < spent(build(TIGHT), TIGHT_PAIRS, "0.5", trials=40) <= 0.5


def test_clipped_sums_and_ranges_use_exactly_epsilon() -> None:
    pair = rows_of([(0, 16)] * 3), rows_of([(0, 16)] * 4)
    line = DyadicMechanism(
        queries=NumericalQueries(Ranges((Intervals.up_to(4, 4),)), DigitUniverse(4, 16))
    )
    assert spent(line, [pair], "1") == pytest.approx(1)
    share = PrivacyBudget(Fraction(1), Fraction(1, 10**9)).share(6)
    assert spent(line, [pair], "1", "1e-9") == pytest.approx(6 * float(share))
    assert lost(
        ClippedComposition(queries=NumericalQueries(ONE, DigitUniverse(1, 16))), pair, "3"
    ) == pytest.approx(3)


@pytest.mark.parametrize("universe", UNIVERSES.values(), ids=UNIVERSES.keys())
def test_ranges_and_composition_lose_at_most_epsilon(universe: Universe) -> None:
    pairs = list(neighbours(np.random.default_rng(5), 3, 20))
    queries = NumericalQueries(LINE, universe)
    for pair in pairs:
        assert spent(DyadicMechanism(queries=queries), [pair], "1", trials=1) <= 1 + TOLERANCE
        assert lost(ClippedComposition(queries=queries), pair, "1", trials=4) <= 1 + TOLERANCE


# Class 2 is worth up to 16, and no query asks for it: thresholds end at 4.
UNASKED = NumericalQueries(
    Ranges((Intervals(3, np.array([0]), np.array([1])),)),
    LevelUniverse(3, np.array([[0, 1, 2], [0, 2, 4], [0, 8, 16]])),
)
UNASKED_PAIRS = [(rows_of([]), rows_of([(c, level)])) for c in range(3) for level in range(3)]


def test_rows_that_no_range_asks_for_move_nothing() -> None:
    """Weights differ by class: outside the ranges ``g`` may be above every threshold."""
    mechanism = DyadicMechanism(queries=UNASKED)
    for pair in UNASKED_PAIRS[:6]:
        assert spent(mechanism, [pair], "1", trials=1) <= 1 + TOLERANCE
    assert spent(mechanism, UNASKED_PAIRS[6:], "1", trials=1) == 0


def test_the_two_signs_do_not_add_up() -> None:
    side = DyadicMechanism(queries=NumericalQueries(LINE, DigitUniverse(3, 16)))
    signed = SignedMechanism(positive=side, negative=side)
    for value in (16, -16, 5, -1, 0):
        pair = rows_of([(0, 3), (1, -3)]), rows_of([(0, 3), (1, -3), (2, value)])
        assert spent(signed, [pair], "1", trials=2) <= 1 + TOLERANCE


def radius_chances(values: list[int], epsilon: Fraction) -> Floats:
    """The chance of every radius, by a sum over the noise of the bar."""
    reach = 160
    scale = float(2 / epsilon)
    grid = np.arange(-reach, reach + 1)
    bar_chances = np.exp(-np.abs(grid) / scale)
    bar_chances /= bar_chances.sum()
    asked = Transcript(np.random.default_rng(0))
    asked.outcomes = [-(10**9)] + [10**9] * 10
    private_radius(np.array(values), 1, 64, epsilon, asked)
    (_, bar, first_scale), *counts = asked.steps
    assert {step[2] for step in counts} == {first_scale} == {2 / epsilon}
    silent: Floats = np.ones(grid.size)
    chances = []
    for _, count, _ in counts:
        stops = _at_most(bar + grid - count, scale)
        chances.append(float(bar_chances @ (silent * stops)))
        silent = silent * (1 - stops)
    return np.array([*chances, float(bar_chances @ silent)])


def _at_most(steps: Integers, scale: float) -> Floats:
    a = math.exp(-1 / scale)
    tail = np.exp(-np.where(steps >= 0, steps + 1, -steps) / scale) / (1 + a)
    return np.where(steps >= 0, 1 - tail, tail)


def test_a_radius_loses_at_most_epsilon() -> None:
    rng = np.random.default_rng(6)
    lost = 0.0
    for trial in range(30):
        epsilon = Fraction(1) if trial % 2 else Fraction(3)
        values = np.repeat(2 ** rng.integers(0, 7, 3), rng.integers(1, 30, 3)).tolist()
        for added in (0, 1, 3, 9, 33, 64):
            ratio = np.log(radius_chances(values, epsilon))
            ratio -= np.log(radius_chances([*values, added], epsilon))
            lost = max(lost, float(np.abs(ratio).max() / epsilon))
    assert 0.5 < lost <= 1 + TOLERANCE


def test_global_truncation_pays_for_its_radius(monkeypatch: pytest.MonkeyPatch) -> None:
    """The radius costs what it is given, the rest is normalization on truncated queries."""
    paid = []

    def fixed(*arguments: Any) -> int:
        paid.append(arguments[3])
        return 7

    monkeypatch.setattr(normalization, "private_radius", fixed)
    pairs = list(neighbours(np.random.default_rng(7), 3, 20))
    for universe in UNIVERSES.values():
        mechanism = GlobalTruncation(queries=NumericalQueries(LINE, universe), weights=WEIGHTS)
        found = spent(mechanism, pairs, "1", trials=3)
        assert set(paid) == {Fraction(1, 10)}
        assert found + 0.1 <= 1 + TOLERANCE


@pytest.mark.parametrize("build", PMW.values(), ids=PMW.keys())
def test_a_radius_first_leaves_its_mechanism_the_rest(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The radius alone is bounded above; what comes after it may lose nine tenths."""
    mechanism = RadiusFirst(inner=build(TIGHT))
    assert mechanism.id == mechanism.inner.id
    assert mechanism.size_budget(Fraction(1)) == Fraction(9, 200)
    paid = []

    def fixed(*arguments: Any) -> int:
        paid.append(arguments[3])
        return 1

    monkeypatch.setattr(radius, "private_radius", fixed)
    found = spent(mechanism, TIGHT_PAIRS[:1], "1", trials=25)
    assert set(paid) == {Fraction(1, 10)}
    assert 0.85 < found <= 0.9 + TOLERANCE
    twin = RadiusForNothing(inner=build(TIGHT))
    assert spent(twin, TIGHT_PAIRS[:1], "1", trials=25) > 0.9 + TOLERANCE


def test_a_radius_that_is_the_largest_value_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def largest(values: Integers, *_: Any) -> int:
        return max(1, int(values.max(initial=0)))

    pairs = [(rows_of([(0, 3)]), rows_of([(0, 3), (0, 15)]))]
    mechanism = RadiusFirst(inner=Normalization(queries=DEEP_QUERIES, weights=WEIGHTS))
    monkeypatch.setattr(radius, "private_radius", largest)
    assert spent(mechanism, pairs, "1") == math.inf


class RadiusForNothing(RadiusFirst):
    """The mechanism after the radius spends the whole budget."""

    def fit(self, rows: Rows, epsilon: Number, noise: Noise, delta: Number = 0) -> DistributionFit:
        return RadiusFirst.fit(self, rows, Fraction(epsilon) * Fraction(10, 9), noise, delta)


IMPORTANCE = Fraction(1, 3), Fraction(1)


def test_important_queries_cost_nothing_more() -> None:
    for build in (Numerical, NumericalInTwoSteps, Normalization):
        right = MultiplicativeWeights(rounds=3, replays=1, importance=IMPORTANCE)
        mechanism = build(queries=TIGHT, weights=right)
        assert spent(mechanism, TIGHT_PAIRS, "1", trials=2) <= 1 + TOLERANCE
        broken = NotScaled(rounds=3, replays=1, importance=tuple(3 * x for x in IMPORTANCE))
        twin = build(queries=TIGHT, weights=broken)
        assert spent(twin, TIGHT_PAIRS, "1", trials=3) > 1 + TOLERANCE
    with pytest.raises(ParameterError, match="at most 1"):
        MultiplicativeWeights(importance=(Fraction(2),))


class NotScaled(MultiplicativeWeights):
    """Importances above 1, which move an error by more than its sensitivity."""

    def __post_init__(self) -> None:
        """Allow every importance."""


class RoundsNotHalved(MultiplicativeWeights):
    """Selection and measurement at the whole budget of a round each."""

    def fit(
        self,
        queries: LinearQueries,
        tails: Tails,
        size: int,
        budget: PrivacyBudget,
        noise: Noise,
    ) -> GroupedWeights:
        return MultiplicativeWeights.fit(
            self, queries, tails, size, PrivacyBudget(2 * budget.epsilon, budget.delta), noise
        )


class AlphaForNothing(MultiplicativeWeights):
    """The rounds spend what alpha was given as well."""

    def fit(
        self,
        queries: LinearQueries,
        tails: Tails,
        size: int,
        budget: PrivacyBudget,
        noise: Noise,
    ) -> GroupedWeights:
        whole = PrivacyBudget(budget.epsilon * Fraction(95, 85), budget.delta)
        return MultiplicativeWeights.fit(self, queries, tails, size, whole, noise)


class NoGroup(DigitUniverse):
    """A reduced universe that counts a row as one cell."""

    @property
    def group(self) -> int:
        return 1


class WholeBudgetForEachQuery(ClippedComposition):
    """ClippedComposition that forgets the number of queries."""

    def release(self, rows: Rows, epsilon: Number, noise: Noise, delta: Number = 0) -> BatchOutput:
        each = Fraction(epsilon) * self.queries.size
        return ClippedComposition.release(self, rows, each, noise, delta)


class BothPassesAtWhole(DyadicMechanism):
    """Counts at epsilon, and sums at epsilon again."""

    def release(self, rows: Rows, epsilon: Number, noise: Noise, delta: Number = 0) -> BatchOutput:
        return DyadicMechanism.release(self, rows, 2 * Fraction(epsilon), noise, delta)


class EveryClass(DyadicMechanism):
    """Counts and sums of all classes, asked for or not."""

    def _levels(self, rows: Rows, thresholds: Integers) -> tuple[Integers, Sums]:
        counts, totals = level_sets(rows, self.queries.universe, thresholds)
        return counts[:, 1:], totals[:, 1:]


DEEP = [
    (rows_of([]), rows_of([(0, 15)])),
    (rows_of([(0, 1)] * 40), rows_of([(0, 1)] * 40 + [(0, 15)])),
]
DEEP_QUERIES = NumericalQueries(ONE, DigitUniverse(1, 15))
TWINS: dict[str, tuple[LinearMechanism, LinearMechanism, list[Pair]]] = {
    "per-round budget not halved": (
        Numerical(queries=TIGHT, weights=RoundsNotHalved(rounds=3, replays=1)),
        Numerical(queries=TIGHT, weights=WEIGHTS),
        TIGHT_PAIRS,
    ),
    "alpha not charged": (
        Numerical(queries=TIGHT, weights=AlphaForNothing(rounds=3, replays=1)),
        Numerical(queries=TIGHT, weights=WEIGHTS),
        TIGHT_PAIRS,
    ),
    "reduced universe without group privacy": (
        Numerical(queries=NumericalQueries(ONE, NoGroup(1, 15)), weights=WEIGHTS),
        Numerical(queries=DEEP_QUERIES, weights=WEIGHTS),
        DEEP,
    ),
    "composition without splitting by |Q|": (
        WholeBudgetForEachQuery(queries=NumericalQueries(LINE, DigitUniverse(3, 15))),
        ClippedComposition(queries=NumericalQueries(LINE, DigitUniverse(3, 15))),
        DEEP[:1],
    ),
    "both dyadic passes at full budget": (
        BothPassesAtWhole(queries=NumericalQueries(LINE, DigitUniverse(3, 15))),
        DyadicMechanism(queries=NumericalQueries(LINE, DigitUniverse(3, 15))),
        DEEP[:1],
    ),
    "dyadic intervals outside the queries": (
        EveryClass(queries=UNASKED),
        DyadicMechanism(queries=UNASKED),
        UNASKED_PAIRS[-1:],
    ),
}


@pytest.mark.parametrize("name", TWINS)
def test_broken_twins_are_caught(name: str, record_property: Callable[..., None]) -> None:
    broken, right, pairs = TWINS[name]
    one_by_one = isinstance(right, ClippedComposition)
    for mechanism, caught in ((right, False), (broken, True)):
        found = (
            max(lost(mechanism, pair, "1") for pair in pairs)
            if one_by_one
            else spent(mechanism, pairs, "1", trials=40)
        )
        assert (found > 1 + TOLERANCE) == caught
    record_property("mutant", name)
    record_property("caught_by", "test_numerical: transcripts on neighbours")


@pytest.mark.parametrize("part", ["noisy_size", "noisy_error"])
def test_what_hangs_on_the_table_without_noise_is_caught(
    part: str, monkeypatch: pytest.MonkeyPatch, record_property: Callable[..., None]
) -> None:
    """The paper takes n as public, and warns against using alpha as it is."""

    def public_size(counts: Integers, *_: Any) -> int:
        return max(1, int(counts.sum()))

    def true_error(queries: LinearQueries, tails: Tails, weights: GroupedWeights, *_: Any) -> float:
        return float(np.abs(queries.answers(tails) - weights.answers).max())

    twin = {"noisy_size": public_size, "noisy_error": true_error}[part]
    mechanism = Numerical(queries=TIGHT, weights=WEIGHTS)
    assert spent(mechanism, TIGHT_PAIRS, "1") <= 1 + TOLERANCE
    monkeypatch.setattr(numerical, part, twin)
    assert spent(mechanism, TIGHT_PAIRS, "1") == math.inf
    record_property(
        "mutant", {"noisy_size": "n taken as public", "noisy_error": "true alpha"}[part]
    )
    record_property("caught_by", "test_numerical: one transcript, two releases")
