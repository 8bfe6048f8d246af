"""A gate costs its epsilon once, and passes wrongly with probability alpha at most: exactly."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqd.deciders import DECIDERS, Histogram, Interval, Lattice
from pqd.deciders.distances.claims import AnyHolds, Claim, DistanceBelow
from pqd.deciders.distances.relations import Relations, RelationsKept, RelationsNear
from pqd.deciders.distances.statistics import Counts, TotalVariation
from pqd.deciders.single.inverse_sensitivity import (
    End,
    InverseSensitivity,
    InverseSum,
    StatedEnd,
    least_margin,
)
from pqd.run.gate import GateCondition, Requirement
from tests.support.neighbours import neighbours
from tests.support.permute_and_flip import law_of_permute_and_flip

EPSILON, NAMES = 0.5, 0.8
REQUIREMENTS = (Requirement((0, 1, 2), 1), Requirement((3,)))
Margins = tuple[int, ...]


def least(margins: Sequence[int]) -> int:
    return min(each.margin(margins) for each in REQUIREMENTS)


def scores(margins: Sequence[int]) -> list[int]:
    by_place = {k: v for each in REQUIREMENTS for k, v in each.scores(margins).items()}
    return [by_place[place] for place in range(len(margins))]


def steps(margins: Margins) -> list[Margins]:
    """Margins of all neighbours: each moves by at most 1."""
    return [
        tuple(m + step for m, step in zip(margins, moves, strict=True))
        for moves in product((-1, 0, 1), repeat=len(margins))
    ]


@given(st.lists(st.integers(-4, 4), min_size=4, max_size=4).map(tuple))
def test_the_least_margin_and_the_scores_move_by_one(margins: Margins) -> None:
    assert (least(margins) >= 1) == (sum(m < 1 for m in margins[:3]) <= 1 and margins[3] >= 1)
    for other in steps(margins):
        assert abs(least(margins) - least(other)) <= 1
        pairs = zip(scores(margins), scores(other), strict=True)
        assert max(abs(one - two) for one, two in pairs) <= 1


def test_a_sum_of_margins_is_caught() -> None:
    """Broken twin: a gate over the sum, which tells more of each row the more conditions it has."""
    assert max(abs(sum((1, 1, 1, 1)) - sum(other)) for other in steps((1, 1, 1, 1))) == 4


@given(st.lists(st.integers(-3, 3), min_size=4, max_size=4).map(tuple))
def test_a_condition_that_need_not_hold_is_never_the_worst(margins: Margins) -> None:
    """Where a requirement fails, the least score is of a condition of a failing requirement."""
    if least(margins) >= 1:
        return
    worst = scores(margins).index(min(scores(margins)))
    requirement = next(each for each in REQUIREMENTS if worst in each.places)
    assert requirement.margin(margins) < 1


def geometric(z: int, epsilon: float) -> float:
    a = math.exp(-epsilon)
    return (1 - a) / (1 + a) * a ** abs(z)


def transcript(margins: Margins, selection: float) -> Callable[[int, int, int], float]:
    """Chance of a whole transcript: the gate's noisy margin, the place, the named margin."""
    half, law = NAMES / 2, law_of_permute_and_flip(scores(margins), selection)

    def chance(gate: int, place: int, named: int) -> float:
        passed = geometric(gate - least(margins), EPSILON)
        return passed * law[place] * geometric(named - margins[place], half)

    return chance


def loss(selection: float) -> float:
    """Largest privacy loss of transcripts, between margins of all neighbours."""
    worst = 0.0
    for margins in ((0, 1, 2, 0), (0, 0, 0, 0), (-1, -2, 3, 1), (2, -1, -1, 0)):
        own = transcript(margins, selection)
        for other in steps(margins):
            theirs = transcript(other, selection)
            for gate, place, named in product((-4, 0, 3), range(4), (-4, 0, 3)):
                seen = gate, place, named
                worst = max(worst, abs(math.log(own(*seen) / theirs(*seen))))
    return worst


def test_a_whole_transcript_with_its_name_costs_both_epsilons() -> None:
    total = EPSILON + NAMES
    assert 0.95 * total < loss(2 / (NAMES / 2)) <= total + 1e-9


def test_a_name_at_half_the_scale_is_caught() -> None:
    """Broken twin: the scores are taken for monotone, so the selection has half its noise."""
    assert loss(1 / (NAMES / 2)) > EPSILON + NAMES + 0.1


@pytest.mark.parametrize("number", [1, 4, 40, 400])
@pytest.mark.parametrize("epsilon", [Fraction(1, 4), Fraction(1)])
def test_a_false_green_has_probability_alpha_whatever_the_number(
    number: int, epsilon: Fraction
) -> None:
    """At the worst margins one condition just fails, the others hold by far, or just fail too."""
    alpha = Fraction(1, 20)
    for others in (0, 1, 1_000):
        margins = [0, *[others] * (number - 1)]
        lowest = Requirement(tuple(range(number))).margin(margins)
        threshold = least_margin(epsilon, alpha)
        # The tail of the noise from the least margin that passes on, summed exactly enough.
        passes = sum(geometric(z, float(epsilon)) for z in range(threshold - lowest, 2_000))
        assert passes <= alpha
        one_less = passes + geometric(threshold - 1 - lowest, float(epsilon))
        assert one_less > alpha


LATTICE = Lattice(0, 6, 1)
INVERSE = [each for each in DECIDERS if each.startswith("inv_")]
STATED = [
    (each, end)
    for each in INVERSE
    for end in ("lower", "upper")
    if issubclass(DECIDERS[each], StatedEnd)
]


@pytest.mark.parametrize(("name", "end"), [*((each, None) for each in INVERSE), *STATED])
def test_margins_of_queries_and_of_their_opposites_move_by_one(name: str, end: End | None) -> None:
    decider = DECIDERS[name].on(LATTICE, **({"p": Fraction(1, 3)} if "quantile" in name else {}))
    assert isinstance(decider, InverseSensitivity)
    if isinstance(decider, StatedEnd) and end:
        decider = replace(decider, most_beyond=2, stated_end=end)
    interval = Interval.around(3, 2)
    counted: Callable[[Histogram], Histogram] = lambda histogram: histogram  # noqa: E731
    if decider.aggregate == "COUNT DISTINCT":
        counted = Histogram.multiplicities
    rng = np.random.default_rng(5)
    for _ in range(150):
        values = rng.integers(0, 7, rng.integers(0, 7)).tolist()
        beyond = int(rng.integers(0, 4)) if end else 0
        histogram = Histogram.from_values(values).with_beyond(beyond)
        of = counted(histogram)
        own = decider.margin(of, interval), decider.opposite_margin(of, interval)
        assert max(own) >= 1 or end is not None
        for other in neighbours(values, range(7)):
            for further in (beyond, beyond + 1) if end else (beyond,):
                moved = counted(other.with_beyond(further))
                assert abs(decider.margin(moved, interval) - own[0]) <= 1
                assert abs(decider.opposite_margin(moved, interval) - own[1]) <= 1


def test_one_minus_a_conditional_margin_is_no_opposite() -> None:
    """Broken twin: rows beyond the bounds make "not inside" true of an answer that is inside."""
    conditional = InverseSum(lower=0, upper=6, step=1, most_beyond=1)
    histogram, interval = Histogram.from_values([3]).with_beyond(5), Interval.around(3, 2)
    assert 1 - conditional.margin(histogram, interval) >= 1
    assert conditional.opposite_margin(histogram, interval) < 1


class Rows:
    """Measurement with a margin in rows, of which a person changes some."""

    cache_key, question, needs_rows = "rows", "", False

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def private_rows(self, counts: int) -> int:
        raise TypeError(counts)

    def margin(self, counts: int, rows: int, *, expected: bool) -> int:
        del rows
        return counts if expected else 1 - counts


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_a_margin_in_persons_moves_by_one(rows: int) -> None:
    for expected in (True, False):
        condition = GateCondition("c", Rows(rows), expected)
        for margin in range(-12, 13):
            own = condition.margin(margin, 0)
            assert (own >= 1) == (Rows(rows).margin(margin, 0, expected=expected) >= 1)
            for step in range(-rows, rows + 1):
                assert abs(condition.margin(margin + step, 0) - own) <= 1


def test_claims_of_which_one_must_hold_move_by_one() -> None:
    """Brute force over small tables of two columns: relations kept, near, and either of them."""
    copy = np.array([[3, 1], [0, 4]])
    relations = Relations((copy,))
    claims: list[Claim] = [
        RelationsKept(relations, Fraction(1, 2)),
        RelationsNear(relations, Fraction(1, 10)),
        DistanceBelow(TotalVariation(copy), Fraction(1, 4)),
    ]
    for cells in product(range(4), repeat=4):
        counts = np.array(cells)
        kept, near, below = (
            claim.margin(counts if claim is claims[2] else [counts], 0) for claim in claims
        )
        either = AnyHolds((claims[0], claims[1]))
        assert either.margin([counts], 0) == max(kept, near)
        scores_of = relations.rows([counts])
        n = int(counts.sum())
        assert (near >= 1) == (scores_of.pairs - scores_of.columns < Fraction(n, 10))
        for place in range(4):
            moved = counts.copy()
            moved[place] += 1
            assert abs(claims[1].margin([moved], 0) - near) <= 1
            assert abs(either.margin([moved], 0) - max(kept, near)) <= 1
            assert abs(claims[2].margin(moved, 0) - below) <= 1


def test_nearness_divided_by_one_is_caught() -> None:
    """Broken twin: T and M may move in opposite directions, so the step is not 1 + tau."""
    copy, tau = np.array([[2, 1], [1, 2]]), Fraction(1, 10)
    relations, worst = Relations((copy,)), 0

    def broken(counts: Counts) -> int:
        scores_of = relations.rows([counts])
        return math.ceil(tau * int(counts.sum()) - scores_of.pairs + scores_of.columns)

    for cells in product(range(5), repeat=4):
        counts = np.array(cells)
        for place in range(4):
            moved = counts.copy()
            moved[place] += 1
            worst = max(worst, abs(broken(moved) - broken(counts)))
    assert worst == 2
