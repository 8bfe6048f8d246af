"""Numbers that hang on a seed: means, standard errors, and whether a claim is met."""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

# Two-sided 95 % points of Student's t, by how many seeds there are.
STUDENT = dict(enumerate((12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26), start=2))
YES, NO, UNDECIDED = "yes", "**no**", "undecided"


class Estimate(NamedTuple):
    """Mean over the seeds, its standard error, and how many seeds there were."""

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
        """Three digits, and the standard error in per cent of it."""
        if not self.error:
            return f"{self.mean:.3g}"
        share = abs(self.error / self.mean) if self.mean else math.inf
        return f"{self.mean:.3g} (se {100 * share:.2g} %)"

    @property
    def positive(self) -> str:
        """Whether the mean is above 0, or below, by more than Student's t at 95 %: else undecided.

        Equal values of all seeds are taken at their word; 0 of all of them is undecided: a tie.
        """
        reach = STUDENT[min(max(self.seeds, 2), max(STUDENT))] * self.error
        if self.mean - reach > 0:
            return YES
        return NO if self.mean + reach < 0 else UNDECIDED
