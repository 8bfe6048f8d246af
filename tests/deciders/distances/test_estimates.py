"""What follows from one release: estimates, intervals, verdicts, means, differences, Holm."""

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from pqd.deciders import ParameterError, SimulatedNoise
from pqd.deciders.distances.cells import cell_shares, release_cells
from pqd.deciders.distances.cube_law import CubeLaw
from pqd.deciders.distances.estimates import (
    DistanceEstimates,
    bonferroni,
    half_width,
    holm,
    mean_half_width,
    vector_tau_min,
)
from pqd.deciders.distances.noise_laws import LaplaceLaw
from pqd.deciders.distances.ratio_intervals import critical_values
from pqd.deciders.distances.vector import CubeVector, GaussianVector, IndependentNoise, VectorLaw
from tests.support.noises import Silent

QUIET = CubeVector(3).law(10**6)
LAW = CubeVector(3).law(1)
RELEASED = (1000, 40, 100, 0)
THIRDS = (Fraction(1, 3),) * 3


def test_without_noise_the_values_are_the_shares() -> None:
    estimates = DistanceEstimates(RELEASED, QUIET, 0.05)
    # Noise was added, so no interval is a single number.
    assert estimates.rows == (1000, 999, 1001)
    value, low, high = estimates.distances.T
    assert value == pytest.approx([0.04, 0.1, 0])
    # A distance in whole rows is off by half a row, and the smoothing costs one more.
    assert np.all((low <= value) & (value - low < 0.0017))
    assert np.all((high >= value) & (high - value < 0.0017))
    assert estimates.mean(THIRDS).value == pytest.approx(140 / 3000)


def test_values_are_cut_to_shares() -> None:
    estimates = DistanceEstimates((1000, -80, 1200, 500), LAW, 0.05)
    assert estimates.distances[:, 0].tolist() == [0, 1, 0.5]
    assert np.all(estimates.distances[:, 1] <= estimates.distances[:, 0])
    assert np.all(estimates.distances[:, 2] >= estimates.distances[:, 0])
    assert estimates.distances.min() >= 0
    assert estimates.distances.max() <= 1


@pytest.mark.parametrize("noisy", [-30, 0, 3])
def test_of_few_rows_nothing_is_said(noisy: int) -> None:
    estimates = DistanceEstimates((noisy, 2, 1, 0), LAW, 0.05)
    assert np.all(estimates.distances[:, 1:] == [0, 1])
    assert estimates.rows.value == max(noisy, 0)
    assert estimates.rows.low == 0
    assert estimates.mean(THIRDS)[1:] == (0, 1)
    assert estimates.difference((1, 0, 0), (0, 1, 0))[1:3] == (-1, 1)  # type: ignore[arg-type]


def test_verdicts_are_exact_on_the_edge_and_their_p_values_fall_away_from_it() -> None:
    released = (1000, 49, 50, 51, 0, 300)
    outcomes, p_values = DistanceEstimates(released, CubeVector(5).law(1), 0.05).verdicts("0.05")
    assert outcomes.tolist() == [True, False, False, True, False]
    assert p_values[3] < 0.02
    assert p_values[4] < 1e-9
    assert p_values[:3].min() > 0.3
    assert p_values.max() <= 1


def test_an_interval_and_a_verdict_agree() -> None:
    """A tolerance outside a 90 % interval is told at 5 %, and one well inside is not."""
    released = (5000, 300, 800, 1500)
    estimates = DistanceEstimates(released, LAW, 0.1)
    for place, (value, low, high) in enumerate(estimates.distances):
        for tau, told in ((low * 0.99, True), (high * 1.01, True), (value * 0.999, False)):
            p = estimates.verdicts(tau)[1][place]
            assert (p <= 0.05) == told


def test_a_mean_of_many_is_narrower_than_one() -> None:
    law, weights = CubeVector(100).law(1), [Fraction(1, 100)] * 100
    estimates = DistanceEstimates((50_000, *[2500] * 100), law, 0.05)
    one, mean = estimates.distances[0], estimates.mean(weights)
    assert mean.value == pytest.approx(0.05)
    assert 6 < (one[2] - one[1]) / (mean.high - mean.low) < 12
    assert half_width(law, 50_000, 0.05) == pytest.approx((one[2] - one[1]) / 2, rel=0.02)
    # It is foretold for a tenth, where the noise of n counts for more than at a twentieth.
    foretold = mean_half_width(law, weights, 50_000, 0.05)
    assert foretold == pytest.approx((mean.high - mean.low) / 2, rel=0.1)
    assert half_width(law, 10, 0.05) == 1


def test_a_mean_of_one_is_that_one() -> None:
    estimates = DistanceEstimates(RELEASED, LAW, 0.05)
    assert estimates.mean((0, 1, 0)) == pytest.approx(estimates.distances[1])  # type: ignore[arg-type]


def test_a_difference_and_its_p_value() -> None:
    estimates = DistanceEstimates((5000, 300, 800, 300), LAW, 0.05)
    less = estimates.difference((1, 0, 0), (0, 1, 0))  # type: ignore[arg-type]
    more = estimates.difference((0, 1, 0), (1, 0, 0))  # type: ignore[arg-type]
    assert less.value == pytest.approx(-0.1)
    assert less.high < 0
    assert (more.low, more.high) == pytest.approx((-less.high, -less.low))
    assert less.p_value < 1e-9
    assert more.p_value > 0.99
    tied = estimates.difference((1, 0, 0), (0, 0, 1))  # type: ignore[arg-type]
    assert tied.low < 0 < tied.high
    assert tied.p_value > 0.4
    assert estimates.difference(THIRDS, THIRDS) == (0, 0, 0, 1)


def test_verdicts_at_once_have_their_number_times_the_p_value() -> None:
    assert bonferroni([0.01, 0.04, 0.3]).tolist() == pytest.approx([0.03, 0.12, 0.9])
    assert bonferroni([0.5, 0.9]).tolist() == [1, 1]
    assert bonferroni([]).size == 0


def test_holm_is_the_step_down_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]).tolist() == [1, 1]
    assert holm([]).size == 0


@pytest.mark.parametrize("vector", [CubeVector(127), CubeVector(2), GaussianVector(127)])
@pytest.mark.parametrize("n", [2_000, 48_842])
def test_the_threshold_is_where_verdicts_err_as_often_as_alpha(
    vector: CubeVector | GaussianVector, n: int
) -> None:
    """Chances by many draws from the law, at the threshold and well below it."""
    law, alpha, rng = vector.law("0.3"), 0.1, np.random.default_rng(8)
    tau = vector_tau_min(law, n, alpha)
    assert tau < 1

    def draws(which: int) -> NDArray[np.int64]:
        one = law[which]
        if isinstance(one, CubeLaw):
            source = SimulatedNoise(rng)
            cubes = [
                source.cube([0] * one.numbers, one.scale)
                for _ in range(min(10_000, -(-40_000 // one.numbers)))
            ]
            return np.resize(np.array(cubes).ravel(), 40_000)
        if isinstance(one, LaplaceLaw):
            first, second = rng.geometric(-math.expm1(-1 / float(one.scale)), (2, 40_000))
            return np.asarray(first - second)
        return np.round(rng.normal(0, one.deviation, 40_000)).astype(np.int64)

    def errs(tau: float) -> tuple[float, float]:
        rows, far = n + draws(0), math.floor(2 * tau * n)
        false_no = np.mean(tau * rows - draws(1) <= 0)
        return float(false_no), float(np.mean(tau * rows - far - draws(1) > 0))

    assert max(errs(tau)) <= alpha + 0.008
    assert max(errs(tau * 0.85)) > alpha + 0.008


def test_no_threshold_among_few_rows() -> None:
    assert vector_tau_min(LAW, 5, 0.05) == math.inf
    assert vector_tau_min(LAW, 0, 0.05) == math.inf


def test_cells_are_released_each_with_its_noise() -> None:
    noise = Silent()
    assert release_cells([5, 0, 7], "0.25", noise) == (5, 0, 7)
    assert noise.scales == [4, 4, 4]


def test_shares_of_cells() -> None:
    estimates = DistanceEstimates(RELEASED, LAW, 0.05)
    shares = cell_shares((300, -4, 704), 1, estimates, 0.05)
    assert shares[:, 0] == pytest.approx([0.3, 0, 0.704])
    assert np.all((shares[:, 1] <= shares[:, 0]) & (shares[:, 0] <= shares[:, 2]))
    # The noise of the rows alone moves 30 % of 1000 by 6; a cell's own noise by 3.
    assert 0.006 < (shares[0, 2] - shares[0, 1]) / 2 < 0.012
    assert shares[1, 2] < 0.006


def test_critical_values_grow_and_end_at_one() -> None:
    critical = critical_values(IndependentNoise(()), LaplaceLaw(Fraction(20)), 0.05)
    assert critical.edges[0] == 0
    assert critical.edges[-1] == 1
    assert np.all(np.diff(critical.edges) > 0)
    assert np.all(np.diff(critical.values) > 0)
    assert critical.at(0.0) == critical.values[0]
    assert critical.at(1.0) == critical.values[-1]


def test_bad_releases_and_weights_are_refused() -> None:
    with pytest.raises(ParameterError, match="at least one distance"):
        DistanceEstimates((5,), LAW, 0.05)
    with pytest.raises(ParameterError, match="alpha"):
        DistanceEstimates(RELEASED, LAW, 1.5)
    estimates = DistanceEstimates(RELEASED, VectorLaw(LAW.rows, LAW.distance), 0.05)
    with pytest.raises(ParameterError, match="2 weights for 3"):
        estimates.mean((Fraction(1, 2),) * 2)
    with pytest.raises(ParameterError, match="sum must be 1"):
        estimates.difference(THIRDS, (Fraction(1, 2),) * 3)


# Impossible values --------------------------------------------------------------------------------


def uncut(released: tuple[int, ...], law: VectorLaw, tau: Fraction) -> NDArray[np.float64]:
    """The broken twin: p-values of distances that no table has."""
    n, *distances = released
    away = np.array([abs(float(tau * n - rows)) for rows in distances]) - 0.5
    return law.weighted([1.0]).at_least(away, float(tau), law.rows)


def contradicted(released: tuple[int, ...], p: NDArray[np.float64]) -> int:
    """Verdicts at 5 % whose 90 % interval reaches far to the other side of a tolerance of 5 %."""
    intervals = DistanceEstimates(released, LAW, 0.1).distances
    slack = 0.01
    reaches = (intervals[:, 1] < 0.05 - slack) & (intervals[:, 2] > 0.05 + slack)
    return int(((p <= 0.05) & reaches).sum())


@pytest.mark.parametrize(
    "released", [(40, -60, 90, 3), (9, -30, -200, 8), (3, 0, 3, 1), (900, -400, 20, 1200)]
)
def test_a_distance_below_0_proves_no_more_than_one_of_0(released: tuple[int, ...]) -> None:
    tau = Fraction(1, 20)
    estimates = DistanceEstimates(released, LAW, 0.05)
    outcomes, p = estimates.verdicts(tau)
    n, *distances = released
    possible = (n, *(min(max(rows, 0), n) for rows in distances))
    again = DistanceEstimates(possible, LAW, 0.05).verdicts(tau)
    assert (outcomes.tolist(), p.tolist()) == (again[0].tolist(), again[1].tolist())
    # No p-value is less than that of the uncut number, which is valid.
    assert np.all(p >= uncut(released, LAW, tau))
    assert contradicted(released, p) == 0


def test_verdicts_on_impossible_distances_are_caught() -> None:
    released = (40, -60, 90, 3)
    assert contradicted(released, uncut(released, LAW, Fraction(1, 20))) > 0


def test_of_no_rows_nothing_is_told() -> None:
    for n in (0, -7):
        outcomes, p = DistanceEstimates((n, -50, 0, 60), LAW, 0.05).verdicts("0.05")
        assert outcomes.tolist() == [True, True, False]
        assert p.tolist() == [1, 1, 1]


def test_better_is_not_told_of_distances_below_0() -> None:
    """Both means are 0 as far as any table can have them; the interval holds 0 too."""
    first, second = (Fraction(1), Fraction(0), Fraction(0)), (Fraction(0), Fraction(1), Fraction(0))
    found = DistanceEstimates((30, -90, -20, 0), LAW, 0.1).difference(first, second)
    assert found.value == 0
    assert found.low <= 0 <= found.high
    assert found.p_value > 0.4
    told = LAW.weighted([1.0, -1.0]).at_least(90 - 20 - 1, 0.0, LAW.rows)
    assert told < 0.05 < found.p_value


def test_the_rows_of_an_impossible_number_have_an_interval() -> None:
    rows = DistanceEstimates((-300, 0, 0, 0), LAW, 0.05).rows
    assert (rows.value, rows.low) == (0, 0)
    assert rows.high > 0


def test_overall_quality_lies_among_those_of_its_parts() -> None:
    """Columns at -40 % count as 0 %, pairs at 16 %: 8 % in all, not 0 %."""
    one, other = (Fraction(1), Fraction(0), Fraction(0)), (Fraction(0), Fraction(1), Fraction(0))
    half = (Fraction(1, 2), Fraction(1, 2), Fraction(0))
    estimates = DistanceEstimates((500, -200, 80, 0), LAW, 0.05)
    assert estimates.mean(half).value == 0
    whole = estimates.mean_of([one, other])
    assert whole.value == pytest.approx(0.08)
    assert whole.low <= 0 <= whole.high
    assert whole.high >= estimates.mean(half).high
    # Where nothing is cut it is the mean, to the last digit.
    plain = DistanceEstimates(RELEASED, LAW, 0.05)
    assert plain.mean_of([one, other]) == plain.mean(half)


def test_intervals_at_once_are_those_of_an_equal_share_of_alpha() -> None:
    together = DistanceEstimates(RELEASED, LAW, 0.06).at_once
    assert together.tolist() == DistanceEstimates(RELEASED, LAW, 0.02).distances.tolist()
