"""Deliberately broken deciders: a check that lets one of them pass is worthless."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from pqd.deciders import DECIDERS, Histogram, Interval, Lattice, for_lattice
from pqd.deciders.distributions import laplace_cdf
from tests.support.neighbours import Accept, accept_of, worst_loss

EPSILON = 0.5
POINTS = range(16)


@dataclass(frozen=True)
class Mutant:
    """A broken twin of a decider, and tables on which it should give itself away."""

    name: str
    accept: Accept
    tables: list[tuple[list[int], Interval]]


def _of(decider_id: str) -> Accept:
    return accept_of(for_lattice(decider_id, DECIDERS[decider_id].aggregate, Lattice(0, 15)))


def _louder(decider_id: str, factor: float) -> Accept:
    """The decider run with ``factor`` times the budget it states: its noise is too small."""
    accept = _of(decider_id)
    return lambda histogram, interval, epsilon: accept(histogram, interval, epsilon * factor)


def _steep_margin(decider_id: str) -> Accept:
    """A margin that moves by two for one row."""
    decider: Any = for_lattice(decider_id, DECIDERS[decider_id].aggregate, Lattice(0, 15))

    def accept(histogram: Histogram, interval: Interval, epsilon: float) -> float:
        held = histogram.multiplicities() if decider_id == "inv_distinct" else histogram
        s, a = 2 * int(decider.margin(held, interval)), math.exp(-epsilon)
        return 1 - a**s / (1 + a) if s >= 1 else a ** (1 - s) / (1 + a)

    return accept


def _float_mean(histogram: Histogram, interval: Interval, epsilon: float) -> float:
    """A margin of AVG computed by dividing: rows needed at the mean's own rate, rounded."""
    a, n = math.exp(-epsilon), max(1, histogram.mass)
    gap = min(
        float(interval.upper) - histogram.total / n, histogram.total / n - float(interval.lower)
    )
    s = math.ceil(gap * n / 5)
    return 1 - a**s / (1 + a) if s >= 1 else a ** (1 - s) / (1 + a)


def _spent_per_rung(histogram: Histogram, interval: Interval, epsilon: float) -> float:
    """Algorithm 2 with the whole budget for each rung: no shared threshold noise."""
    rungs = [2, 4, 8, 16]
    sums = np.array([histogram.sum_at_most(t) / t for t in rungs])
    scale = 1 / epsilon
    high = float(interval.upper) / np.array(rungs)
    low = (math.floor(interval.lower) + 1) / np.array(rungs)
    untopped = float(np.prod(laplace_cdf((high - sums) / scale)))
    silent = float(np.prod(laplace_cdf((low - sums) / scale)))
    return untopped * (1 - silent)


def _undivided(histogram: Histogram, interval: Interval, epsilon: float) -> float:
    """R2T whose rungs each get the whole budget instead of a share."""
    accept = for_lattice("r2t_sum", "SUM", Lattice(0, 15)).accept
    return accept(histogram, interval, epsilon * math.log2(15))


FAR = [([0] * 26, Interval(10, 20))]
EDGE = [([0] * 10, Interval(10, 20))]
NEAR = [([0] * 12, Interval(14, 26))]
SUMS = [([15] * 18, Interval(100, 200))]
HIGH = [([15] * 8, Interval(2, 9))]
TIED = [([2] * 20 + [12] * 19, Interval(4, 20))]
RUNGS = [
    (values, Interval(-(10**6), end))
    for values in ([1] * 40, [2] * 40, [2] * 60, [])
    for end in (10, 30, 60)
]
EVERY = [(list(POINTS), Interval(1, 6))]

MUTANTS = [
    Mutant("lm_count with noise 30 % too small", _louder("lm_count", 1 / 0.7), FAR),
    Mutant("lm_sum with noise 30 % too small", _louder("lm_sum", 1 / 0.7), SUMS),
    Mutant("noisy_count with noise 30 % too small", _louder("noisy_count", 1 / 0.7), FAR),
    Mutant("noisy_sum with noise 30 % too small", _louder("noisy_sum", 1 / 0.7), SUMS),
    Mutant("noisy_distinct with noise 30 % too small", _louder("noisy_distinct", 1 / 0.7), EVERY),
    Mutant("em_count with its sensitivity halved", _louder("em_count", 2), NEAR),
    Mutant("em_count_naive with its noise too small", _louder("em_count_naive", 2.5), EDGE),
    Mutant("inv_count with a margin of slope 2", _steep_margin("inv_count"), FAR),
    Mutant("inv_sum with a margin of slope 2", _steep_margin("inv_sum"), SUMS),
    Mutant("inv_mean with a margin of slope 2", _steep_margin("inv_mean"), HIGH),
    Mutant("inv_mean with a margin from a division", _float_mean, HIGH),
    Mutant("inv_median with a margin of slope 2", _steep_margin("inv_median"), HIGH),
    Mutant("inv_quantile with a margin of slope 2", _steep_margin("inv_quantile"), HIGH),
    Mutant("inv_distinct with a margin of slope 2", _steep_margin("inv_distinct"), EVERY),
    Mutant("svt_sum_plain with fresh budget per rung", _spent_per_rung, RUNGS),
    Mutant("r2t_sum with the whole budget for each rung", _undivided, RUNGS),
    Mutant("r2t_sum_tight with noise 60 % too small", _louder("r2t_sum_tight", 2.5), RUNGS),
    Mutant("svt_sum with a tenth of its noise", _louder("svt_sum", 10), RUNGS),
    Mutant("hist_median with a fifth of its noise", _louder("hist_median", 5), HIGH + TIED),
    Mutant("hist_quantile with a fifth of its noise", _louder("hist_quantile", 5), HIGH + TIED),
    Mutant("lm_mean with a third of its noise", _louder("lm_mean", 3), HIGH + TIED),
    Mutant(
        "em_median_corrected with noise 60 % too small",
        _louder("em_median_corrected", 2.5),
        HIGH + TIED,
    ),
    Mutant("em_quantile with a quarter of its sensitivity", _louder("em_quantile", 4), HIGH + TIED),
    Mutant("em_median with a quarter of its sensitivity", _louder("em_median", 4), HIGH + TIED),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_broken_twin_is_caught(
    mutant: Mutant, record_property: Callable[[str, object], None]
) -> None:
    lost = max(
        worst_loss(mutant.accept, values, POINTS, interval, EPSILON)
        for values, interval in mutant.tables
    )
    assert lost > EPSILON * 1.01, f"{mutant.name} passes: loss {lost:.3f} at epsilon {EPSILON}"
    record_property("mutant", mutant.name)
    record_property("caught_by", f"exact neighbour check: loses {lost / EPSILON:.2f} epsilon")


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_its_healthy_twin_passes_on_the_same_tables(mutant: Mutant) -> None:
    accept = _of(mutant.name.split()[0])
    for values, interval in mutant.tables:
        assert worst_loss(accept, values, POINTS, interval, EPSILON) <= EPSILON * (1 + 1e-6)
