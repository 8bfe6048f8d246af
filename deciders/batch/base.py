"""What a mechanism for a batch of numerical queries releases."""

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from deciders.batch.linear.universe import Rows
from deciders.distributions import Floats
from deciders.errors import ParameterError
from deciders.exact import Number
from deciders.histogram import Integers
from deciders.noise import Noise


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """The private output of one mechanism, in units; all that leaves it about the table.

    ``thresholds`` is where each query was truncated, ``distribution`` the weight of every cell of
    the universe, ``alpha`` the error of the linear queries; None where a mechanism has none.
    """

    answers: Floats
    thresholds: Integers | None = None
    distribution: Floats | None = None
    alpha: float | None = None


class Mechanism(Protocol):
    """One way to answer a batch, as a frozen value.

    Conformers: Normalization, GlobalTruncation, Composition, Numerical, NumericalInTwoSteps,
    RangeMechanism, WithinRadius, Signed.
    """

    id: ClassVar[str]

    def release(self, rows: Rows, epsilon: Number, noise: Noise, delta: Number = 0) -> Release:
        """Return one (epsilon, delta)-DP release (guarantee and source in each conformer)."""
        ...


def sampled(released: Release, rng: np.random.Generator, rows: int) -> Integers:
    """Return ``rows`` cells of the universe, drawn from the released distribution.

    A private synthetic table, by post-processing.  In a universe of binary digits its cells are
    digits, not rows.
    """
    if released.distribution is None:
        raise ParameterError("this mechanism releases no distribution to sample from")
    chances = released.distribution / released.distribution.sum()
    return rng.choice(chances.size, rows, p=chances)
