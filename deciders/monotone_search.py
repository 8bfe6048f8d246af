"""Monotone search: the border between numbers at which a claim fails and numbers where it holds.

``brentq`` of scipy returns a root that may lie on either side of the border.  These searches return
numbers at which the claim was tested (docs/decisions/scipy.md).
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

Bound = TypeVar("Bound", int, float, Fraction)
# Value of ``parts`` with which ``least`` finds a number to half a per cent.
HALF_A_PER_CENT = 200


def bracket(
    holds: Callable[[Bound], bool],
    fails: Bound,
    passes: Bound,
    middle: Callable[[Bound, Bound], Bound],
    *,
    parts: int | None = None,
    halvings: int | None = None,
) -> tuple[Bound, Bound]:
    """Two numbers close together: the claim fails at the first and holds at the second.

    The search begins at ``fails`` and ``passes``, which are assumed to be tested, and tests the
    ``middle`` of both.  It ends in one of three cases: both differ by at most ``passes / parts``,
    ``halvings`` tests were made, or no number lies between.
    """
    tests = 0
    while tests != halvings and not (parts and parts * abs(passes - fails) <= passes):
        between = middle(fails, passes)
        if between in (fails, passes):
            break
        fails, passes = (fails, between) if holds(between) else (between, passes)
        tests += 1
    return fails, passes


def halfway(low: float, high: float) -> float:
    """Arithmetic mean."""
    return (low + high) / 2


def geometric_mean(low: float, high: float) -> float:
    """Geometric mean of two numbers above 0."""
    return math.sqrt(low * high)


def least(
    holds: Callable[[int], bool], most: int, first: int = 1, *, parts: int | None = None
) -> int | None:
    """Least whole number from ``first`` to ``most`` at which a claim holds; None if none does.

    With ``parts``, the result is too large by at most ``result / parts``.
    """
    # The steps grow fast from 1.  From a bound that is already known they begin small.
    low, high, ahead = first - 1, first, max(15, first // (parts or 1))
    while not holds(high):
        if high >= most:
            return None
        low, high, ahead = high, min(first + ahead, most), 16 * ahead + 15
    return bracket(holds, low, high, _whole_middle, parts=parts)[1]


def _whole_middle(low: int, high: int) -> int:
    """Geometric middle while the ends differ in size, then the arithmetic middle."""
    return math.isqrt(low * high) if high > 4 * low > 0 else (low + high) // 2
