"""The public lattice of an aggregated attribute, and the lattice's exact integer unit."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pqd.deciders.errors import ParameterError
from pqd.deciders.exact import Number, exact, positive

# Doubles are exact for integers up to this number, so the engine rounds values exactly.
_LARGEST = 2**53


@dataclass(frozen=True, slots=True, init=False)
class Lattice:
    """Values ``lower, lower + step, ..., upper`` that the attribute may take; all are public.

    Histograms, sums and thresholds are whole multiples of ``unit``, so answers are never rounded.
    ``unit`` is the largest number of which ``lower`` and ``step`` are both multiples.
    """

    lower: Fraction
    upper: Fraction
    step: Fraction

    def __init__(self, lower: Number, upper: Number, step: Number = 1) -> None:
        """Raise ParameterError unless the bounds are a whole number of steps apart."""
        low, high = exact(lower, "lower bound"), exact(upper, "upper bound")
        stride = positive(step, "step")
        if low > high:
            raise ParameterError(f"bounds {lower}:{upper} are reversed; write lower:upper")
        if (high - low) % stride:
            raise ParameterError(
                f"bounds {lower}:{upper} are not a whole number of steps of {step} apart; "
                f"use an upper bound of {low + (high - low) // stride * stride}"
            )
        object.__setattr__(self, "lower", low)
        object.__setattr__(self, "upper", high)
        object.__setattr__(self, "step", stride)
        if max(abs(low), abs(high)) / self.unit >= _LARGEST:
            raise ParameterError(
                f"bounds {lower}:{upper} with step {step} are finer than 2^53 steps; widen the step"
            )

    @property
    def unit(self) -> Fraction:
        """Size of one integer unit, in the attribute's own unit."""
        if self.lower == 0:
            return self.step
        denominator = math.lcm(self.lower.denominator, self.step.denominator)
        return Fraction(
            math.gcd(int(self.lower * denominator), int(self.step * denominator)), denominator
        )

    @property
    def points(self) -> int:
        """Number of values of the lattice."""
        return int((self.upper - self.lower) / self.step) + 1

    @property
    def lower_units(self) -> int:
        """``lower`` in units."""
        return int(self.lower / self.unit)

    @property
    def upper_units(self) -> int:
        """``upper`` in units."""
        return int(self.upper / self.unit)

    @property
    def step_units(self) -> int:
        """``step`` in units."""
        return int(self.step / self.unit)

    def units_at(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Values at ``places``, in units; the lowest value has place 0."""
        units: NDArray[np.int64] = self.lower_units + self.step_units * places
        return units
