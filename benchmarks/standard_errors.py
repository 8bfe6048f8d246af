"""Means and standard errors of numbers that depend on a seed, and verdicts on claims."""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

# Two-sided 95 % points of Student's t, by the number of seeds.
STUDENT = dict(enumerate((12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26), start=2))
YES, NO, UNDECIDED = "yes", "**no**", "undecided"


class Estimate(NamedTuple):
    """Mean over the seeds, its standard error, and the number of seeds."""

    mean: float
    error: float
    seeds: int

    @classmethod
    def of(cls, values: Iterable[float]) -> "Estimate":
        """Estimate from the value of each seed."""
        numbers = np.array(list(values))
        error = numbers.std(ddof=1) / math.sqrt(numbers.size) if numbers.size > 1 else math.inf
        return cls(float(numbers.mean()), float(error), numbers.size)

    def __str__(self) -> str:
        """Mean with three digits, and its standard error in per cent of the mean."""
        if not self.error:
            return f"{self.mean:.3g}"
        share = abs(self.error / self.mean) if self.mean else math.inf
        return f"{self.mean:.3g} (se {100 * share:.2g} %)"

    @property
    def positive(self) -> str:
        """Yes if the mean is clearly above 0, no if it is clearly below 0, else undecided.

        Clearly means by more than the reach of Student's t at 95 %.  If all seeds have the same
        value, the reach is 0, so the value itself decides; if it is 0, the result is undecided.
        """
        reach = STUDENT[min(max(self.seeds, 2), max(STUDENT))] * self.error
        if self.mean - reach > 0:
            return YES
        return NO if self.mean + reach < 0 else UNDECIDED
