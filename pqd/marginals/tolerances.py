"""Tolerances with chance: a stated tolerance, and what two independent samples and noise add.

All of it is public: the copy's counts, and a number of private rows that was stated or released.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from pqd.deciders.distances.chance import independent_distance
from pqd.deciders.distances.value_claims import normal_deviations, spare_rows
from pqd.marginals.bound_profile import BoundProfile
from pqd.marginals.chance import CopyChance

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pqd.deciders.exact import Number

# Tolerances are whole ten-thousandths, rounded up, so that they are the same on every machine.
_PARTS = 10_000
_MILLION = 10**6


def tolerances_with_chance(
    bound: BoundProfile, rows: int, tau: Fraction, epsilon: Number
) -> tuple[Fraction, ...]:
    """Tolerance of each marginal of ``bound`` in a gate of ``epsilon``, a share of the rows.

    It is tau, plus the distance that two independent samples of ``rows`` and of the copy's rows
    exceed with probability ``0.025 / K`` (the mean, and normal deviations of simulated tables; K is
    the number of marginals), plus the rows that the noise of the gate needs.  It may be 1 or more.
    """
    marks = CopyChance(bound, rows).independent
    z = float(normal_deviations(len(bound.marginals), sides=1))
    chance = marks.means + z * marks.deviations.std(axis=0)
    return tuple(with_chance(tau, mark, rows, epsilon) for mark in chance.tolist())


def spread_of(rows: int) -> Fraction:
    """Factor by which ``rows`` rows of each person, all alike, spread a count: the square root.

    It is rounded up to a millionth.
    """
    root = math.isqrt(rows * _MILLION**2)
    return Fraction(root + (root * root < rows * _MILLION**2), _MILLION)


def with_chance(tau: Fraction, chance: float, rows: int, epsilon: Number) -> Fraction:
    """Tolerance with a mark of ``chance`` and the rows that noise needs, rounded up."""
    spare = Fraction(spare_rows(epsilon), max(1, rows))
    return tau + Fraction(math.ceil((chance + float(spare)) * _PARTS), _PARTS)


def chance_mark(copy: ArrayLike, rows: int, statements: int) -> float:
    """Total variation that two independent samples exceed with probability ``0.025 / statements``.

    The mean is in closed form.  The deviation is that of a normal law in every cell, at most
    ``sqrt((1 - 2/pi) / 4 (1/n + 1/n_s))``: it is reached by two equal cells, and by very many.
    """
    counts = np.asarray(copy, dtype=np.int64).ravel()
    whole = int(counts.sum())
    z = float(normal_deviations(statements, sides=1))
    deviation = math.sqrt((0.25 - 0.5 / math.pi) * (1 / rows + 1 / whole))
    return independent_distance(counts, rows) + z * deviation
