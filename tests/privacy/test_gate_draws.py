"""The draws of a gate and of its name add up to their epsilons, and each gate has a key of its own.

The noise is recorded, so the scale of every draw is seen as it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pytest

from pqd.deciders.errors import UnanswerableError
from pqd.deciders.single.inverse_sensitivity import verdict_of
from pqd.run.gate import ROWS_SHARE, GateCondition, GateMeasurement, Requirement
from tests.support.noises import Recorded

EPSILON, NAMES, NOISY, PRIVATE = Fraction(1, 4), Fraction(1, 2), 7, 1_000
Draw = tuple[str, Any, Fraction]


class Draws(Recorded):
    """Recorded noise that keeps what it was asked for."""

    def __init__(self) -> None:
        super().__init__([NOISY], answer=True)
        self.asked: list[Draw] = []

    def laplace(self, statistic: int, scale: Fraction) -> int:
        self.asked.append(("laplace", statistic, scale))
        return super().laplace(statistic, scale)

    def least_place(self, scores: Sequence[int], scale: Fraction) -> int:
        self.asked.append(("place", list(scores), scale))
        return 1


@dataclass(frozen=True)
class Margin:
    """Measurement whose margin is its count, less the number of rows if it needs that number."""

    cache_key: str
    rows: int = 1
    needs_rows: bool = False

    @property
    def question(self) -> str:
        return self.cache_key

    def private_rows(self, counts: int) -> int:
        del counts
        return PRIVATE

    def margin(self, counts: int, rows: int, *, expected: bool) -> int:
        margin = counts - rows if self.needs_rows else counts
        return margin if expected else 1 - margin


COUNTS = {"a": 5, "b": -3, "c": 4}


def gate(*, needs_rows: bool = False, rows: int = 1, **changes: Any) -> GateMeasurement:
    """Gate of three conditions, of which the third is expected not to hold; one of two may fail."""
    measurements = [Margin("a", rows, needs_rows), Margin("b", rows), Margin("c", rows)]
    conditions = tuple(
        GateCondition(each.cache_key, each, expected=each.cache_key != "c") for each in measurements
    )
    own = GateMeasurement(
        kinds=(),
        unit=None,
        epsilon=EPSILON,
        name="gate",
        readings=(),
        conditions=conditions,
        requirements=(Requirement((0, 1), 1), Requirement((2,))),
    )
    return replace(own, **changes)


def test_a_gate_draws_its_least_margin_once() -> None:
    noise = Draws()
    decision = gate().run(COUNTS, noise)
    assert noise.asked == [("laplace", -3, 1 / EPSILON)]
    assert decision == verdict_of(NOISY, EPSILON)


@pytest.mark.parametrize("rows", [1, 3])
def test_the_number_of_rows_and_the_margin_share_epsilon(rows: int) -> None:
    """A person of three rows moves their number by 3, and a margin in persons by 1."""
    noise, part = Draws(), EPSILON * ROWS_SHARE
    decision = gate(needs_rows=True, rows=rows).run(COUNTS, noise)
    # With 7 rows, the noisy number, the margins are -2, -3 and -3; the third has no other one.
    margins = {1: -3, 3: -1}
    number, margin = (
        ("laplace", PRIVATE, rows / part),
        ("laplace", margins[rows], 1 / (EPSILON - part)),
    )
    assert noise.asked == [number, margin]
    assert rows / number[2] + 1 / margin[2] == EPSILON
    assert decision == replace(verdict_of(NOISY, EPSILON - part), released=(NOISY,))
    stated = Draws()
    gate(needs_rows=True, rows=rows, known_rows=NOISY).run(COUNTS, stated)
    assert stated.asked == [("laplace", margins[rows], 1 / EPSILON)]


def test_a_name_and_its_margin_share_the_epsilon_of_names() -> None:
    """Scores that one row moves by 1, in any direction, cost two over the scale."""
    noise = Draws()
    output = gate().worst(NAMES, None).run(COUNTS, noise)
    place, margin = noise.asked
    # The second condition need not hold: its score is the larger one, that of its requirement.
    assert place == ("place", [5, 5, -3], 2 / (NAMES / 2))
    assert margin == ("laplace", -3, 1 / (NAMES / 2))
    assert 2 / place[2] + 1 / margin[2] == NAMES
    assert output.numbers == (1, NOISY)


def test_each_gate_has_a_key_of_its_own() -> None:
    own = gate(needs_rows=True)
    first, *rest = own.conditions
    others = [
        own,
        replace(own, epsilon=NAMES),
        replace(own, known_rows=PRIVATE),
        replace(own, known_rows=PRIVATE + 1),
        replace(own, conditions=(replace(first, expected=False), *rest)),
        replace(own, conditions=(*rest, first)),
        replace(own, requirements=(Requirement((0, 1)), Requirement((2,)))),
        replace(own, requirements=(Requirement((0, 1, 2), 1),)),
    ]
    names = [each.worst(each.epsilon, 8) for each in others[:2]]
    names += [own.worst(own.epsilon, 9)]
    keys = [each.cache_key for each in others] + [each.cache_key for each in names]
    assert len(set(keys)) == len(keys)


def test_noise_that_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(UnanswerableError):
        gate(epsilon=Fraction(1, 2**57))
    with pytest.raises(UnanswerableError):
        gate(needs_rows=True, rows=64, epsilon=Fraction(1, 2**48))
