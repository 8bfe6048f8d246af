"""Whatever holds for every linear mechanism: the truth at a huge budget, scales, ids."""

import importlib
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from pqd.deciders import Noise, SimulatedNoise
from pqd.deciders.batch.base import BatchOutput
from pqd.deciders.batch.linear.mechanism import DistributionMechanism
from pqd.deciders.batch.linear.universe import Rows
from tests.support.linear_mechanisms import TABLE, mechanisms, truth
from tests.support.noises import LaplaceAlone


class Widest(LaplaceAlone):
    """Simulated noise that keeps the widest scale asked of it."""

    simulated = True

    def __init__(self, seed: int) -> None:
        self._noise, self.scale = SimulatedNoise(seed), Fraction(0)

    def laplace(self, statistic: int, scale: Fraction) -> int:
        self.scale = max(self.scale, scale)
        return self._noise.laplace(statistic, scale)

    def choose(self, logit: float) -> bool:
        return self._noise.choose(logit)


@pytest.mark.parametrize("mechanism", mechanisms(80), ids=lambda m: m.id)
def test_a_huge_budget_gives_the_truth(mechanism: Any) -> None:
    released = mechanism.release(TABLE, 10**7, SimulatedNoise(3))
    expected = truth(mechanism.queries, TABLE)
    assert np.abs(released.answers - expected).max() < 0.03 * expected.max()
    if released.thresholds is not None:
        assert np.all(released.thresholds <= np.maximum(1, mechanism.queries.limits))


@pytest.mark.parametrize("mechanism", mechanisms(10), ids=lambda m: m.id)
def test_no_rows_and_few_answers_are_finite(mechanism: Any) -> None:
    nobody = Rows(np.empty(0, np.int64), np.empty(0, np.int64))
    for rows, epsilon in ((nobody, "0.01"), (nobody, "1"), (TABLE, "0.001")):
        released = mechanism.release(rows, epsilon, SimulatedNoise(4))
        assert np.all(np.isfinite(released.answers))
        if isinstance(mechanism, DistributionMechanism):
            fit = mechanism.fit(rows, epsilon, SimulatedNoise(4))
            assert np.all(fit.distribution.cells >= 0)
            assert fit.distribution.cells.sum() > 0
            assert released == BatchOutput.of(fit.answers, fit.thresholds)


@pytest.mark.parametrize("mechanism", mechanisms(10), ids=lambda m: m.id)
def test_the_largest_scale_bounds_all_noise_but_not_by_far(
    mechanism: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values of 20 in every row reach the uppermost threshold; noise is drawn at its true scale."""
    for name in ("clipped_composition", "dyadic", "multiplicative_weights"):
        module = importlib.import_module(f"pqd.deciders.batch.linear.{name}")
        monkeypatch.setattr(module, "noisy_value", coarse)
    table = Rows(np.repeat(np.arange(6), 900), np.full(5400, 20))
    for epsilon in (Fraction(1, 10**6), Fraction(1), Fraction(900)):
        for delta in (0, "1e-6"):
            noise = Widest(5)
            mechanism.release(table, epsilon, noise, delta)
            assert noise.scale <= mechanism.largest_scale(epsilon)
            # With little noise nothing is truncated, and the bound is nearly reached.
            if epsilon > 1 and not delta:
                assert noise.scale >= mechanism.largest_scale(epsilon) / 2


def coarse(statistic: Fraction, scale: Fraction, noise: Noise) -> Fraction:
    return Fraction(noise.laplace(math.floor(statistic), scale))


def test_ids() -> None:
    assert {mechanism.id for mechanism in mechanisms(1)} == {
        "normalization",
        "global_truncation",
        "clipped_composition",
        "numerical",
        "numerical_two",
        "dyadic",
    }
