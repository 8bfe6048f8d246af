"""Noises that stand in for the secure one: recorded, absent, of a wrong scale."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import count

from pqd.deciders import SimulatedNoise


class LaplaceAlone:
    """Mix-in of the noises of tests that draw no Gaussian noise."""

    def gaussian(self, statistic: int, sigma: Fraction) -> int:
        raise AssertionError(f"no Gaussian noise was expected: {statistic}, {sigma}")

    def cube(self, statistics: Sequence[int], scale: Fraction) -> tuple[int, ...]:
        raise AssertionError(f"no cube noise was expected: {statistics}, {scale}")

    def least_place(self, scores: Sequence[int], scale: Fraction) -> int:
        raise AssertionError(f"no selection was expected: {scores}, {scale}")


class Recorded:
    """Noise that gives what was recorded, again and again, whatever the statistic."""

    simulated = False

    def __init__(self, values: Sequence[int], *, answer: bool) -> None:
        self._values, self._answer, self._place = values, answer, count()

    def laplace(self, statistic: int, scale: Fraction) -> int:
        del statistic, scale
        return self._values[next(self._place) % len(self._values)]

    gaussian = laplace

    def cube(self, statistics: Sequence[int], scale: Fraction) -> tuple[int, ...]:
        return tuple(self.laplace(statistic, scale) for statistic in statistics)

    def choose(self, logit: float) -> bool:
        del logit
        return self._answer

    def least_place(self, scores: Sequence[int], scale: Fraction) -> int:
        return self.laplace(0, scale) % len(scores)


class Absent:
    """The wrong noise: none at all."""

    simulated = False

    def laplace(self, statistic: int, scale: Fraction) -> int:
        del scale
        return statistic

    def gaussian(self, statistic: int, sigma: Fraction) -> int:
        return self.laplace(statistic, sigma)

    def cube(self, statistics: Sequence[int], scale: Fraction) -> tuple[int, ...]:
        return tuple(self.laplace(statistic, scale) for statistic in statistics)

    def choose(self, logit: float) -> bool:
        return logit > 0

    def least_place(self, scores: Sequence[int], scale: Fraction) -> int:
        del scale
        return scores.index(min(scores))


class Silent(Absent):
    """No noise, stamped as simulated; keeps the scales that it was asked for."""

    simulated = True

    def __init__(self) -> None:
        self.scales: list[Fraction] = []

    def laplace(self, statistic: int, scale: Fraction) -> int:
        self.scales.append(scale)
        return statistic


class Scaled(SimulatedNoise):
    """Noise whose every scale is wrong by one factor."""

    def __init__(self, rng: int, factor: Fraction) -> None:
        super().__init__(rng)
        self._factor = factor

    def laplace(self, statistic: int, scale: Fraction) -> int:
        return super().laplace(statistic, scale * self._factor)

    def gaussian(self, statistic: int, sigma: Fraction) -> int:
        return super().gaussian(statistic, sigma * self._factor)

    def cube(self, statistics: Sequence[int], scale: Fraction) -> tuple[int, ...]:
        return super().cube(statistics, scale * self._factor)

    def choose(self, logit: float) -> bool:
        return super().choose(logit / float(self._factor))

    def least_place(self, scores: Sequence[int], scale: Fraction) -> int:
        return super().least_place(scores, scale * self._factor)


class Watched(LaplaceAlone):
    """Noise of nothing that calls ``act`` when it is first asked for."""

    simulated = False

    def __init__(self, act: Callable[[], object]) -> None:
        self._acts = [act]

    def _first(self) -> None:
        while self._acts:
            self._acts.pop()()

    def laplace(self, statistic: int, scale: Fraction) -> int:
        del scale
        self._first()
        return statistic

    def choose(self, logit: float) -> bool:
        self._first()
        return logit > 0
