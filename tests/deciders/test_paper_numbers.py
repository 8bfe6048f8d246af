"""Numbers printed in the papers, with their places."""

import math
from fractions import Fraction

import numpy as np
import pytest

from pqd.deciders import DECIDERS, Histogram, Interval
from pqd.deciders.single.published import (
    laplace_threshold,
    published_tau,
    race_threshold,
)


def rounded_tau(percent: str, answer: int) -> int:
    """The paper's code rounds tau up to a whole number."""
    return math.ceil(Fraction(percent) / 100 * answer)


def test_example_5_3() -> None:
    published = laplace_threshold(2_000_000 / Fraction("0.1"), 0.05)
    assert published == pytest.approx(4.605e7, rel=5e-5)
    assert laplace_threshold(20, 0.05) == pytest.approx(46.052, abs=5e-4)
    exact = DECIDERS["lm_sum"](upper=2_000_000).tau_min(Histogram.of_mass(0), 0.1, 0.05)
    assert exact.tau == pytest.approx(5.991e7, rel=1e-4)
    assert exact.exact


def test_example_5_6() -> None:
    assert race_threshold(2_000_000, 9000, 0.1, 0.05) == pytest.approx(4.549e7, rel=2e-4)


def test_example_5_6_with_the_tight_scales() -> None:
    """The factor log2(GS) of Prop. 5.5 becomes 2."""
    copy, terms = Histogram.from_values([40, 9000]), ("0.1", "0.05")
    printed, tight = (
        published_tau(DECIDERS[name](upper=2_000_000), copy, *terms)
        for name in ("r2t_sum", "r2t_sum_tight")
    )
    assert printed == pytest.approx(4.549e7, rel=2e-4)
    assert tight == pytest.approx(8 * math.log(math.log2(2e6) / 0.05) * 9000 / 0.1, rel=1e-12)
    assert printed is not None
    assert tight == pytest.approx(printed * 2 / math.log2(2e6), rel=1e-12)


@pytest.mark.parametrize("upper", [2, 377, 500_000])
def test_the_tight_race_reaches_its_threshold(upper: int) -> None:
    """At the threshold with beta = alpha the false-no rate is at most alpha; noise only shrinks."""
    copy = Histogram.from_values([1, 2] + [min(119, upper)] * 3000)
    races = [DECIDERS[name](upper=upper) for name in ("r2t_sum", "r2t_sum_tight")]
    tau = published_tau(races[1], copy, 1, "0.05")
    assert tau is not None
    assert races[1].accept(copy, Interval.around(copy.total, tau), 1) >= 0.95
    assert all(
        tight <= printed
        for printed, tight in zip(races[0].scales(1), races[1].scales(1), strict=True)
    )


@pytest.mark.parametrize(
    ("upper", "shares"), [(377, "4.1 1.0"), (100_000, "9.0 1.1"), (500_000, "10.4 1.1")]
)
def test_the_thresholds_of_both_races(upper: int, shares: str) -> None:
    """The table of docs/theory.md, section 1, in percent of the answer."""
    copy = Histogram.from_values(np.random.default_rng(2).integers(10, 120, 3000))
    found = [
        DECIDERS[name](upper=upper).tau_min(copy, 1, "0.05").tau / copy.total
        for name in ("r2t_sum", "r2t_sum_tight")
    ]
    assert " ".join(f"{100 * share:.1f}" for share in found) == shares


def test_figure_4_at_the_centre() -> None:
    for tau in (10, 30):
        interval, mass = Interval.around(749, tau), Histogram.of_mass(749)
        laplace = 1 - DECIDERS["lm_count"]().accept(mass, interval, 0.1)
        exponential = 1 - DECIDERS["em_count"]().accept(mass, interval, 0.1)
        assert laplace == pytest.approx(math.exp(-0.1 * tau), rel=1e-12)
        assert exponential == pytest.approx(1 / (1 + math.exp(0.1 * tau)), rel=1e-12)
        assert exponential < laplace


def test_q3_with_tau_rounded_up() -> None:
    """Section 7.2: EM's error on q3 for tau <= 3.2 % is between 0.39 and 0.45."""
    decider, found = DECIDERS["em_count"](), []
    for percent in ("0.2", "0.8", "3.2"):
        interval = Interval.around(91, rounded_tau(percent, 91))
        assert not interval.contains(87)
        found.append(decider.accept(Histogram.of_mass(87), interval, 0.25))
    assert found[-1] == pytest.approx(0.438, abs=5e-4)
    assert all(0.39 <= error <= 0.45 for error in found)


def test_q5_with_tau_rounded_up() -> None:
    """Section 7.2: Pr[o = 1] = 0.27 on q5 at tau = 0.2 %."""
    interval = Interval.around(1606, rounded_tau("0.2", 1606))
    found = DECIDERS["em_count"]().accept(Histogram.of_mass(1560), interval, 0.25)
    assert found == pytest.approx(0.27, abs=2e-3)
    exact_tau = Interval.around(1606, Fraction("0.002") * 1606)
    assert DECIDERS["em_count"]().accept(Histogram.of_mass(1560), exact_tau, 0.25) > 0.3


def test_thresholds_of_count_at_a_quarter() -> None:
    mass = Histogram.of_mass(1000)
    laplace = DECIDERS["lm_count"]().tau_min(mass, 0.25, 0.05)
    assert laplace.tau == pytest.approx(11.98, abs=5e-3)
    assert DECIDERS["em_count"]().tau_min(mass, 0.25, 0.05).tau == pytest.approx(11.78, abs=5e-3)
    published = laplace_threshold(4, 0.05)
    assert published == pytest.approx(9.21, abs=5e-3)
    at_published = Interval.around(1000, str(published))
    false_no = 1 - DECIDERS["lm_count"]().accept(mass, at_published, 0.25)
    assert false_no == pytest.approx(0.10, abs=1e-9)


def test_the_naive_score_is_never_effective_at_small_epsilon() -> None:
    decider = DECIDERS["em_count_naive"]()
    assert decider.tau_min(Histogram.of_mass(9), 0.25, 0.05).tau == math.inf
    assert decider.tau_min(Histogram.of_mass(9), 6, 0.05).tau == 0
