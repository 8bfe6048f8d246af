"""Noise for swap tests: two private tables and the same noisy outcome."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import count


class Recorded:
    """Noise that gives what was recorded, again and again, whatever the statistic."""

    simulated = False

    def __init__(self, values: Sequence[int], *, answer: bool) -> None:
        self._values, self._answer, self._place = values, answer, count()

    def laplace(self, statistic: int, scale: Fraction) -> int:
        del statistic, scale
        return self._values[next(self._place) % len(self._values)]

    def choose(self, logit: float) -> bool:
        del logit
        return self._answer


class Absent:
    """The wrong noise: none at all."""

    simulated = False

    def laplace(self, statistic: int, scale: Fraction) -> int:
        del scale
        return statistic

    def choose(self, logit: float) -> bool:
        return logit > 0
