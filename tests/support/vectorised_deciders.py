"""Deciders of one query, many runs at once, for tests that count how often they say yes.

In every run the same noise is drawn in the same order as by the decider itself, so that both say
the same on one recorded noise: ``test_yes_rates`` shows it.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pqd.deciders import Decider, Histogram, Interval
from pqd.deciders.exact import exact
from pqd.deciders.noise import fineness
from tests.support.noises import LaplaceAlone

Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]


class Draws(Protocol):
    """Noise of many runs.  Conformers: SimulatedDraws, RecordedDraws."""

    size: int

    def laplace(self, runs: Integers, scale: Fraction) -> Integers:
        """Discrete Laplace noise of ``scale``, one number for each of ``runs``."""
        ...

    def choose(self, runs: Integers, logit: float) -> Booleans:
        """Choices with the log-odds ``logit``, one for each of ``runs``."""
        ...


class SimulatedDraws:
    """The law of ``SimulatedNoise``; every scale is wrong by ``factor``."""

    def __init__(self, size: int, seed: int, factor: Fraction = Fraction(1)) -> None:
        self.size, self._factor = size, factor
        self._rng = np.random.default_rng(seed)

    def laplace(self, runs: Integers, scale: Fraction) -> Integers:
        stop = -math.expm1(-1 / float(scale * self._factor))
        first, second = self._rng.geometric(stop, (2, runs.size))
        noise: Integers = first - second
        return noise

    def choose(self, runs: Integers, logit: float) -> Booleans:
        chosen: Booleans = self._rng.logistic(size=runs.size) < logit / float(self._factor)
        return chosen


class RecordedDraws:
    """Row ``i`` of the tape, from left to right, in run ``i``; numbers are in noise scales."""

    def __init__(self, tape: npt.NDArray[np.float64]) -> None:
        self.size, self._tape = len(tape), tape
        self.positions = np.zeros(self.size, dtype=np.int64)

    def _next(self, runs: Integers) -> npt.NDArray[np.float64]:
        numbers: npt.NDArray[np.float64] = self._tape[runs, self.positions[runs]]
        self.positions[runs] += 1
        return numbers

    def laplace(self, runs: Integers, scale: Fraction) -> Integers:
        return np.floor(self._next(runs) * float(scale)).astype(np.int64)

    def choose(self, runs: Integers, logit: float) -> Booleans:
        return self._next(runs) < logit


class RecordedRun(LaplaceAlone):
    """One row of such a tape as the noise of one run."""

    simulated = True

    def __init__(self, row: npt.NDArray[np.float64]) -> None:
        self._row, self.position = row.tolist(), 0

    def _next(self) -> float:
        self.position += 1
        return float(self._row[self.position - 1])

    def laplace(self, statistic: int, scale: Fraction) -> int:
        return statistic + math.floor(self._next() * float(scale))

    def choose(self, logit: float) -> bool:
        return self._next() < logit


def outcomes(
    decider: Decider, histogram: Histogram, interval: Interval, epsilon: Fraction, draws: Draws
) -> Booleans:
    """Outcomes of ``decider.decide``, one for each run of ``draws``."""
    settled = decider.constant_verdict(interval)
    if settled is not None:
        return np.full(draws.size, settled)
    return RULES[decider.id](decider, histogram, interval, epsilon, draws)


def _chosen(
    decider: Any, histogram: Histogram, interval: Interval, epsilon: Fraction, draws: Draws
) -> Booleans:
    return draws.choose(np.arange(draws.size), decider.logit(histogram, interval, epsilon))


def _margin(
    decider: Any, histogram: Histogram, interval: Interval, epsilon: Fraction, draws: Draws
) -> Booleans:
    margin = int(decider.margin(histogram, interval))
    outcome: Booleans = draws.laplace(np.arange(draws.size), 1 / epsilon) >= 1 - margin
    return outcome


def _noisy_answer(
    decider: Any, histogram: Histogram, interval: Interval, epsilon: Fraction, draws: Draws
) -> Booleans:
    estimator = decider.estimator(interval, epsilon)
    grid = estimator.fineness
    noise = draws.laplace(np.arange(draws.size), estimator.scale(epsilon) * grid)
    return _within(noise, interval, estimator.answer(histogram) * grid, grid)


def _whole_answer(
    decider: Any, histogram: Histogram, interval: Interval, epsilon: Fraction, draws: Draws
) -> Booleans:
    """Noisy answer on whole units; an end beyond which no answer lies does not count."""
    true, scale = decider.estimator.answer(histogram), decider.estimator.scale(epsilon)
    noisy = true + draws.laplace(np.arange(draws.size), scale)
    lower, upper, _ = decider.bounds
    every = np.ones(draws.size, dtype=np.bool_)
    least = -math.inf if lower is not None and lower < 0 else 0
    most = math.inf if upper is None or upper > 0 else 0
    above = noisy > math.floor(interval.lower) if interval.lower >= least else every
    below = noisy < math.ceil(interval.upper) if interval.upper <= most else every
    inside: Booleans = above & below
    return inside


def _within(noise: Integers, interval: Interval, statistic: int, grid: int) -> Booleans:
    """Whether ``(statistic + noise) / grid`` lies strictly inside."""
    low, high = math.floor(interval.lower * grid), math.ceil(interval.upper * grid)
    inside: Booleans = (noise > low - statistic) & (noise < high - statistic)
    return inside


def _majority(
    decider: Any, histogram: Histogram, interval: Interval, epsilon: Fraction, draws: Draws
) -> Booleans:
    del decider
    scale, grid = 2 / epsilon, fineness(2 / epsilon)
    low, high = math.floor(interval.lower) + 1, math.ceil(interval.upper)
    below, above = histogram.count_below(low), histogram.mass - histogram.count_below(high)
    runs = np.arange(draws.size)
    mass, first, second = (
        count * grid + draws.laplace(runs, scale * grid) for count in (histogram.mass, below, above)
    )
    half: Integers = -(-mass // (2 * grid)) * grid
    outcome: Booleans = np.maximum(first, second) < half
    return outcome


def _quantile_counts(
    decider: Any, histogram: Histogram, interval: Interval, epsilon: Fraction, draws: Draws
) -> Booleans:
    """Three noisy counts, none of them rounded, for the p-quantile."""
    scale, grid = 2 / epsilon, fineness(2 / epsilon)
    low, high = math.floor(interval.lower) + 1, math.ceil(interval.upper)
    below, above = histogram.count_below(low), histogram.mass - histogram.count_below(high)
    runs = np.arange(draws.size)
    mass, first, second = (
        count * grid + draws.laplace(runs, scale * grid) for count in (histogram.mass, below, above)
    )
    part, whole = decider.p.as_integer_ratio()
    over: Booleans = 2 * (part * mass - whole * first) > grid
    under: Booleans = 2 * ((whole - part) * mass - whole * second) > -grid
    return over & under


def _ratio(
    decider: Any, histogram: Histogram, interval: Interval, epsilon: Fraction, draws: Draws
) -> Booleans:
    """A noisy sum over a noisy count, without a division."""
    size = max(abs(decider.lower), abs(decider.upper), 1)
    scales = size / (epsilon * (1 - decider.share)), 1 / (epsilon * decider.share)
    runs = np.arange(draws.size)
    total, mass = (
        (number * fineness(scale) + draws.laplace(runs, scale * fineness(scale))).astype(object)
        for number, scale in zip((histogram.total, histogram.mass), scales, strict=True)
    )
    sums, counts = map(fineness, scales)

    def excess(end: Fraction) -> npt.NDArray[np.object_]:
        """``S - end n``, times a number that is positive."""
        found: npt.NDArray[np.object_] = (
            total * counts * end.denominator - mass * sums * end.numerator
        )
        return found

    inside: Booleans = (excess(interval.lower) > 0) & (excess(interval.upper) < 0)
    return inside.astype(np.bool_)


def _race(
    decider: Any, histogram: Histogram, interval: Interval, epsilon: Fraction, draws: Draws
) -> Booleans:
    runs = np.arange(draws.size)
    under = np.full(draws.size, interval.upper > 0)
    over = np.full(draws.size, interval.lower < 0)
    log_sensitivity = decider.log_sensitivity
    penalty = Fraction(math.log(log_sensitivity / decider.beta))
    parts = Fraction(log_sensitivity)
    if decider.id == "r2t_sum_tight":
        parts = 2 - Fraction(1, 2 ** (len(decider.rungs) - 1))
    for rung, total in zip(decider.rungs, decider.truncated_sums(histogram), strict=True):
        scale = rung * parts / epsilon
        grid = fineness(scale)
        noise = draws.laplace(runs, scale * grid)
        low, high = ((end + scale * penalty - total) * grid for end in _ends(interval))
        under &= noise < math.ceil(high)
        over |= noise > math.floor(low)
    outcome: Booleans = under & over
    return outcome


def _ends(interval: Interval) -> tuple[Fraction, Fraction]:
    return interval.lower, interval.upper


def _plain_sparse_vector(
    decider: Any, histogram: Histogram, interval: Interval, epsilon: Fraction, draws: Draws
) -> Booleans:
    rungs = np.full(draws.size, len(decider.rungs))
    return _sparse_vector(decider, histogram, interval, 2 / epsilon, rungs, draws)


def _bounded_sparse_vector(
    decider: Any, histogram: Histogram, interval: Interval, epsilon: Fraction, draws: Draws
) -> Booleans:
    rungs = _private_rungs(decider, histogram, 9 / epsilon, draws)
    return _sparse_vector(decider, histogram, interval, 3 / epsilon, rungs, draws)


def _private_rungs(decider: Any, histogram: Histogram, scale: Fraction, draws: Draws) -> Integers:
    """Algorithm 4 of each run."""
    theta, grid = exact(decider.theta), fineness(scale)
    pending = np.arange(draws.size)
    mass, threshold = (draws.laplace(pending, scale * grid) for _ in range(2))
    rungs = np.full(draws.size, len(decider.rungs))
    for j, rung in enumerate(decider.rungs, start=1):
        count = draws.laplace(pending, scale * grid)
        excess = theta.denominator * (count - threshold[pending]) - theta.numerator * mass[pending]
        gap = theta.numerator * histogram.mass - theta.denominator * histogram.count_at_most(rung)
        reached = excess >= gap * grid
        rungs[pending[reached]] = j
        pending = pending[~reached]
    return rungs


def _sparse_vector(
    decider: Any,
    histogram: Histogram,
    interval: Interval,
    scale: Fraction,
    rungs: Integers,
    draws: Draws,
) -> Booleans:
    """Algorithm 2 of each run on its first ``rungs``."""
    grid = fineness(scale)
    rho = draws.laplace(np.arange(draws.size), scale * grid)
    queries = [histogram.sum_at_most(rung) * grid // rung for rung in decider.rungs]

    def tops(pending: Integers, end: Fraction | int) -> Booleans:
        """Runs with a noisy query that reaches ``end`` over its rung, and rho."""
        found = np.zeros(draws.size, dtype=bool)
        for j, (query, rung) in enumerate(zip(queries, decider.rungs, strict=True)):
            pending = pending[rungs[pending] > j]
            gap = math.ceil(Fraction(end * grid) / rung) - query
            reached = draws.laplace(pending, scale * grid) - rho[pending] >= gap
            found[pending[reached]] = True
            pending = pending[~reached]
        return found

    high = tops(np.arange(draws.size), interval.upper)
    return tops(np.flatnonzero(~high), math.floor(interval.lower) + 1)


Rule = Callable[[Any, Histogram, Interval, Fraction, Draws], Booleans]


def _each(names: Sequence[str], rule: Rule) -> dict[str, Rule]:
    return dict.fromkeys(names, rule)


RULES: dict[str, Rule] = {
    **_each(["lm_count", "lm_sum"], _noisy_answer),
    **_each(["noisy_count", "noisy_sum", "noisy_distinct"], _whole_answer),
    **_each(["em_count_naive", "em_count", "em_median"], _chosen),
    **_each(["em_median_corrected", "em_quantile"], _chosen),
    **_each(["inv_count", "inv_sum", "inv_mean"], _margin),
    **_each(["inv_median", "inv_quantile", "inv_distinct"], _margin),
    "hist_median": _majority,
    "hist_quantile": _quantile_counts,
    "lm_mean": _ratio,
    **_each(["r2t_sum", "r2t_sum_tight"], _race),
    "svt_sum_plain": _plain_sparse_vector,
    "svt_sum": _bounded_sparse_vector,
}
