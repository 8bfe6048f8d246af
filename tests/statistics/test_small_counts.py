"""Small counts and sums, enumerated: what is said of them once they are cut.

Every release of an answer is listed with its chance, as far out as any chance counts.  Whoever cuts
the interval alone, as once was done, is caught: the interval shrinks to one number, and a verdict
rests on an answer that no table has.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest

from pqd.deciders import DECIDERS, Decision, Histogram, Interval, Lattice, for_lattice
from pqd.deciders.batch.decision_rule import answer_verdict, estimate
from pqd.deciders.bounds import AnswerRange
from pqd.deciders.distributions import NoiseSum
from pqd.deciders.estimators import EstimatorOutput, LaplaceEstimate, SumAndCount
from pqd.deciders.estimators.base import inside, outcome_p_value
from pqd.deciders.single.base import estimate_of
from pqd.deciders.single.inverse_sensitivity import margin_ends, verdict_of

ALPHA = Fraction(1, 20)
EPSILONS = (Fraction(1, 10), Fraction(1, 2), Fraction(2), Fraction(5))
TAUS = (Fraction(1), Fraction(7, 2), Fraction(4), Fraction(9))
CENTRE = 6
ROUNDING = 1e-9
# Releases beyond so many scales have less chance than rounding.
FAR_OUT = 32

Ends = tuple[float, float]
Said = Callable[[int, Interval, Fraction], tuple[Decision, Ends]]
COUNTS = LaplaceEstimate(aggregate="COUNT")
ANY = AnswerRange(-math.inf, math.inf)


@dataclass(frozen=True)
class Way:
    """One way from a released answer to a verdict and an interval, and the answers it may have."""

    name: str
    said: Said
    answers: range = range(31)
    size: int = 1

    def __str__(self) -> str:
        return self.name


def ends_of(ends: Any) -> Ends:
    low, high = ends
    return float(low), float(high)


def decider_way(name: str, lattice: Lattice) -> Said:
    decider: Any = for_lattice(name, DECIDERS[name].aggregate, lattice)

    def said(noisy: int, interval: Interval, epsilon: Fraction) -> tuple[Decision, Ends]:
        found = decider.verdict(EstimatorOutput((noisy,)), interval, epsilon)
        return found, ends_of(decider.answer_estimate(found, interval, epsilon, ALPHA)[1:])

    return said


def compared(noisy: int, interval: Interval, epsilon: Fraction) -> tuple[Decision, Ends]:
    released = EstimatorOutput((noisy,))
    yes = inside(COUNTS, released, interval)
    p_value = outcome_p_value(COUNTS, released, interval, epsilon, outcome=yes)
    found = Decision(yes, p_value, released=(noisy,))
    ends = estimate_of(COUNTS, released, epsilon, ALPHA).on_side(found, interval, ALPHA)
    return found, ends_of(ends[1:])


def batched(possible: AnswerRange) -> Said:
    def said(noisy: int, interval: Interval, epsilon: Fraction) -> tuple[Decision, Ends]:
        errors = NoiseSum(1, 1 / epsilon)
        found = answer_verdict(errors, noisy, interval, possible)
        ends = estimate(errors, noisy, ALPHA, possible).on_side(found, interval, ALPHA)
        return found, ends_of(ends[1:])

    return said


def cut_last(noisy: int, interval: Interval, epsilon: Fraction) -> tuple[Decision, Ends]:
    """The broken twin: the number as it was released, and its interval cut."""
    found, (low, high) = batched(ANY)(noisy, interval, epsilon)
    return found, (max(low, 0.0), max(high, 0.0))


NEGATIVE = Lattice(-1, 0)
WAYS = [
    Way("noisy_count", decider_way("noisy_count", Lattice(0, 1))),
    Way("noisy_sum", decider_way("noisy_sum", Lattice(0, 3)), size=3),
    Way("compared", compared),
    Way("batch", batched(AnswerRange.of_sums(None, None))),
]
TWIN = Way("cut last", cut_last)


def two_sided(noisy: int, interval: Interval, epsilon: Fraction) -> tuple[Decision, Ends]:
    """The broken twin: an interval at alpha beside a p-value of one side."""
    decider: Any = DECIDERS["noisy_count"]()
    found = decider.verdict(EstimatorOutput((noisy,)), interval, epsilon)
    return found, ends_of(decider.answer_estimate(found, interval, epsilon, ALPHA / 2)[1:])


def releases(true: int, scale: Fraction) -> list[tuple[int, float]]:
    a, reach = math.exp(-1 / scale), math.ceil(FAR_OUT * scale)
    peak = (1 - a) / (1 + a)
    return [(true + z, peak * a ** abs(z)) for z in range(-reach, reach + 1)]


def faults(way: Way, tau: Fraction, epsilon: Fraction) -> set[str]:
    """What is wrong with all that is said, over every answer, release and level."""
    interval, found = Interval.around(CENTRE, tau), set[str]()
    scale = way.size / epsilon
    numbers = {noisy for true in (0, 30) for noisy, _ in releases(true, scale)}
    everything = range(min(numbers), max(numbers) + 1)
    said = {noisy: way.said(noisy, interval, epsilon) for noisy in everything}
    found |= faults_of_releases(said, interval)
    for true in way.answers:
        drawn = releases(true, scale)
        above = math.fsum(c for noisy, c in drawn if true < said[noisy][1][0])
        beneath = math.fsum(c for noisy, c in drawn if said[noisy][1][1] < true)
        if max(above, beneath) > ALPHA + ROUNDING:
            found.add("coverage")
        wrong = [
            (said[noisy][0].p_value, chance)
            for noisy, chance in drawn
            if said[noisy][0].outcome is not interval.contains(true)
        ]
        for level in (0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 0.9):
            small = math.fsum(c for p, c in wrong if p is not None and p <= level)
            if small > level * (1 + ROUNDING) + ROUNDING:
                found.add("level")
    return found


def faults_of_releases(said: dict[int, tuple[Decision, Ends]], interval: Interval) -> set[str]:
    """What is wrong with the verdict and the interval of some release, whatever the answer is."""
    found = set[str]()
    # On the side of a decided verdict there may be one number.
    narrow = [d for d, (low, high) in said.values() if high <= low]
    if any(d.p_value is None or d.p_value > ALPHA for d in narrow):
        found.add("one number")
    for decision, (low, high) in said.values():
        decides = decision.p_value is not None and decision.p_value <= ALPHA
        whole = range(math.ceil(low), math.floor(high) + 1)
        if decides and any(interval.contains(x) is not decision.outcome for x in whole):
            found.add("across the border")
    # A no that no release at 0, the least answer, could have.
    least = said[0][0]
    for noisy, (decision, _) in said.items():
        if noisy < 0 and not decision.outcome and not least.outcome:
            assert decision.p_value is not None
            assert least.p_value is not None
            if decision.p_value < least.p_value:
                found.add("impossible answer")
    return found


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_what_is_said_of_small_answers_holds(way: Way, epsilon: Fraction) -> None:
    for tau in TAUS:
        assert faults(way, tau, epsilon) == set(), tau


def test_an_interval_that_is_cut_alone_is_caught() -> None:
    seen = set[str]()
    for tau, epsilon in itertools.product(TAUS, EPSILONS[:2]):
        seen |= faults(TWIN, tau, epsilon)
    assert {"one number", "impossible answer"} <= seen


def test_a_decided_verdict_beside_an_interval_of_two_sides_is_caught() -> None:
    assert "across the border" in faults(Way("two-sided", two_sided), Fraction(9), Fraction(1, 2))


@pytest.mark.parametrize("epsilon", [*EPSILONS, Fraction(3), Fraction(9)], ids=str)
@pytest.mark.parametrize("alpha", [ALPHA, Fraction(3, 10), Fraction(1, 1000)], ids=str)
def test_the_ends_of_a_margin_are_on_the_side_of_a_decided_verdict(
    alpha: Fraction, epsilon: Fraction
) -> None:
    """Each end is wrong with chance alpha at most, for every margin near the border."""
    for margin in range(-12, 13):
        above = below = 0.0
        for noisy, chance in releases(margin, 1 / epsilon):
            low, high = margin_ends(noisy, epsilon, alpha)
            found = verdict_of(noisy, epsilon)
            assert low <= noisy <= high
            if found.p_value is not None and found.p_value <= alpha:
                assert low >= 1 if found.outcome else high <= 0
            above += chance * (margin < low)
            below += chance * (high < margin)
        assert max(above, below) <= alpha * (1 + ROUNDING)


def test_sums_of_negative_values_are_cut_at_0_from_above() -> None:
    decider: Any = for_lattice("noisy_sum", "SUM", NEGATIVE)
    interval, epsilon = Interval.around(-6, 4), Fraction(1, 10)
    said = decider.verdict(EstimatorOutput((40,)), interval, epsilon)
    at_0 = decider.verdict(EstimatorOutput((0,)), interval, epsilon)
    assert (said.outcome, said.p_value) == (at_0.outcome, at_0.p_value)
    value, low, high = decider.answer_estimate(said, interval, epsilon, ALPHA)
    assert (value, high) == (0, 0)
    assert low < -20


@pytest.mark.parametrize("name", ["noisy_count", "inv_count"])
@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_the_chances_of_proofs_are_those_of_the_releases(name: str, epsilon: Fraction) -> None:
    """Of a yes and of a no, counted over all releases."""
    decider: Any = DECIDERS[name]()
    for tau, true in itertools.product(TAUS, (0, 2, 6, 11, 25)):
        interval, table = Interval.around(CENTRE, tau), Histogram.of_mass(true)
        law = decider.acceptance(table, interval)
        drawn = {True: 0.0, False: 0.0}
        start = true if name == "noisy_count" else int(decider.margin(table, interval))
        for number, chance in releases(start, 1 / epsilon):
            found = (
                decider.verdict(EstimatorOutput((number,)), interval, epsilon)
                if name == "noisy_count"
                else verdict_of(number, epsilon)
            )
            assert found.p_value is not None
            if found.p_value <= float(ALPHA):
                drawn[found.outcome] += chance
        assert law.proof_chance(epsilon, ALPHA) == pytest.approx(drawn[True], abs=ROUNDING)
        assert law.refutation_chance(epsilon, ALPHA) == pytest.approx(drawn[False], abs=ROUNDING)


# Fine noise, and means ----------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_noise_on_a_fine_grid_is_cut_too(epsilon: Fraction) -> None:
    """Its verdict is that of the paper; its p-value and its interval are of a possible count."""
    decider: Any = DECIDERS["lm_count"]()
    interval = Interval.around(CENTRE, 4)
    grid = decider.estimator(interval, epsilon).fineness
    at_0 = decider.verdict(EstimatorOutput((0,)), interval, epsilon)
    for noisy in (-40 * grid, -grid // 3, 5 * grid + 1, 30 * grid):
        found = decider.verdict(EstimatorOutput((noisy,)), interval, epsilon)
        value, low, high = decider.answer_estimate(found, interval, epsilon, ALPHA)
        assert 0 <= low <= value <= high
        assert high - low >= 1
        if noisy < 0:
            assert found.p_value == at_0.p_value


class Uncut(SumAndCount):
    """The broken twin: claims of means that no table has."""

    def below(self, released: EstimatorOutput, cut: int | Fraction, epsilon: Any) -> float:
        return self._tail(-self._excess(released, cut), cut, epsilon)

    def at_least(self, released: EstimatorOutput, cut: int | Fraction, epsilon: Any) -> float:
        return self._tail(self._excess(released, cut), cut, epsilon)


def test_means_of_few_rows_are_never_one_number() -> None:
    """Nor is a p-value less than it was, whatever was released: each stays valid."""
    bounds, single = {"lower": 0, "upper": 3, "centre": 1}, set[type]()
    mean, uncut = SumAndCount(**bounds), Uncut(**bounds)
    for numbers in itertools.product((-60, -9, 0, 4, 70), (-5, 0, 1, 3, 30)):
        released = EstimatorOutput(numbers)
        for cut in (Fraction(-1, 2), Fraction(0), Fraction(5, 3), Fraction(3), Fraction(4)):
            assert mean.below(released, cut, 1) >= uncut.below(released, cut, 1)
            assert mean.at_least(released, cut, 1) >= uncut.at_least(released, cut, 1)
        for each in (mean, uncut):
            low, high = each.confidence(released, 1, ALPHA)
            if low == high:
                single.add(type(each))
    assert single == {Uncut}
