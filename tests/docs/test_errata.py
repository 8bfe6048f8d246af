"""Every number of docs/errata.md, computed again."""

import re
from fractions import Fraction
from pathlib import Path

import numpy as np

from pqd.deciders import DECIDERS, Histogram, Interval, Lattice, for_lattice
from pqd.deciders.single.published import laplace_threshold, race_threshold
from tests.support.neighbours import worst_loss

TEXT = (Path(__file__).parents[2] / "docs" / "errata.md").read_text(encoding="utf-8")
COUNT = Histogram.of_mass(1000)


def section(number: int) -> str:
    found = re.search(rf"^## {number}\. .*?(?=^## |\Z)", TEXT, flags=re.MULTILINE | re.DOTALL)
    assert found
    return " ".join(found.group().split())


def accept(decider_id: str, histogram: Histogram, interval: Interval, epsilon: float) -> float:
    made = DECIDERS[decider_id]
    decider = for_lattice(decider_id, made.aggregate, Lattice(0, 85))
    return decider.accept(histogram, interval, epsilon)


def test_thresholds() -> None:
    printed = laplace_threshold(4, 0.05)
    exact = DECIDERS["lm_count"]().tau_min(COUNT, 0.25, 0.05).tau
    at_printed = Interval.around(1000, str(printed))
    false_no = 1 - DECIDERS["lm_count"]().accept(COUNT, at_printed, 0.25)
    assert f"printed {printed:.2f}, exact {exact:.2f}; at tau = {printed:.2f}" in section(1)
    assert f"the false-no rate is {false_no:.2f}" in section(1)
    whole = laplace_threshold(2_000_000 / Fraction("0.1"), 0.05)
    corrected = DECIDERS["lm_sum"](upper=2_000_000).tau_min(COUNT, 0.1, 0.05).tau
    assert f"printed {whole:.3e}, exact {corrected:.3e}" in section(1)
    race = race_threshold(2_000_000, 9000, 0.1, 0.05)
    assert f"({race:.3e})" in section(1)
    assert race < whole < corrected


def test_em_median_stays_below_half_its_budget() -> None:
    rng, worst = np.random.default_rng(0), 0.0
    decider = for_lattice("em_median", "MEDIAN", Lattice(0, 15))
    for _ in range(150):
        values = rng.integers(0, 16, rng.integers(0, 40)).tolist()
        interval = Interval.around(int(rng.integers(0, 15)), Fraction(int(rng.integers(1, 12)), 2))
        worst = max(worst, worst_loss(decider.accept, values, range(16), interval, 1.0))
    assert 0.3 < worst < 0.5
    assert "stays below 0.5" in section(3)


def test_em_median_tie_bias() -> None:
    table = Histogram.weighted(np.array([36, 37, 38]), np.array([348, 152, 500]))
    assert table.median == 37
    chosen = accept("em_median", table, Interval("37.5", "38.5"), 0.1)
    yes = accept("em_median", table, Interval(28, 38), 0.1)
    assert f"with probability {chosen:.4f}." in section(4)
    assert f"EM says yes with probability {yes:.4f}" in section(4)
    assert accept("em_median", table, Interval(28, 38), 10) < yes
    low, high = (accept("inv_median", table, Interval(28, 38), e) for e in (0.1, 1))
    assert f"{low:.3f} at epsilon = 0.1 and {high:.3f} at epsilon = 1" in section(4)


def test_em_median_corrected_knows_ties() -> None:
    table = Histogram.weighted(np.array([36, 37, 38]), np.array([348, 152, 500]))
    found = [accept("em_median_corrected", table, Interval(28, 38), e) for e in (0.1, 1, 100)]
    numbers = f"{found[0]:.3f}, {found[1]:.3f} and {found[2]:.3f}"
    assert f"says yes with probability {numbers} at epsilon = 0.1, 1 and 100" in section(4)


def test_em_quantile_has_the_sensitivity_that_is_told() -> None:
    """One more row of the least value moves ``rank(e) - n/4`` by 3/4, of the largest by 1/4."""
    rows, quarter = [1, 2, 3, 4, 5], Fraction(1, 4)

    def score(values: list[int]) -> Fraction:
        return sum(v < 3 for v in values) - quarter * len(values)

    moves = [abs(score([*rows, value]) - score(rows)) for value in (0, 9)]
    assert moves == [Fraction(3, 4), quarter]
    assert "3/4 for a quartile" in section(3)


def test_histogram_median_tie() -> None:
    for ones, words in ((50, "probability of yes is "), (51, "With 51 rows of 1 it is ")):
        table = Histogram.weighted(np.array([1, 9]), np.array([ones, 50]))
        interval = Interval.around(1, 2)
        found = [accept("hist_median", table, interval, e) for e in (1, 10, 1000)]
        assert words + ", ".join(f"{chance:.3f}" for chance in found) in section(5)


def test_histogram_quartile_tie() -> None:
    """The printed rule and the quartile, without noise, on every table of 1s and 9s."""
    for mass in range(1, 41):
        for ones in range(mass + 1):
            table = Histogram.from_values([1] * ones + [9] * (mass - ones))
            beyond = table.quantile(Fraction(1, 4)) >= 5
            above = mass - table.count_below(5)
            assert beyond == (above > 3 * mass // 4)
            slip = (above >= -(-3 * mass // 4)) != beyond
            assert slip == (mass % 4 == 0 and above == 3 * mass // 4)
    table = Histogram.from_values([1, 9, 9, 9])
    assert f"Of 1, 9, 9, 9 the first quartile is {table.quantile(Fraction(1, 4))}" in section(5)
    ours = DECIDERS["hist_quantile"](p=Fraction(1, 4))
    found = [ours.accept(table, Interval(0, 5), epsilon) for epsilon in (1, 10, 100)]
    assert ", ".join(f"{chance:.3f}" for chance in found) + " at epsilon = 1, 10, 100" in section(5)


def test_sparse_vector_bias() -> None:
    table = Histogram.weighted(np.array([10, 5000]), np.array([990, 10]))
    interval = Interval.around(table.total, Fraction(table.total, 4))
    assert f"sum to {table.total:,}" in section(6)
    for decider_id in ("svt_sum", "svt_sum_plain"):
        decider = DECIDERS[decider_id](upper=500_000)
        found = [f"{decider.accept(table, interval, e):.3f}" for e in (100, 100_000)]
        if decider_id == "svt_sum":
            assert found == ["0.000", "0.000"]
        else:
            assert f"with {found[0]} and {found[1]}" in section(6)


def test_overflow() -> None:
    tau = Fraction(32, 1000) * 470_483
    assert f"the exponent is {float(tau / 2):,.0f}" in section(7)
    for epsilon in (0.5, 1):
        yes = DECIDERS["em_count"]().accept(
            Histogram.of_mass(471_994), Interval.around(470_483, tau), epsilon
        )
        assert f"with probability {yes:.3f} at epsilon = 0.5 and 1" in section(7)


def test_rounding() -> None:
    q3, q5 = Histogram.of_mass(87), Histogram.of_mass(1560)
    em = DECIDERS["em_count"]()
    rounded = (
        em.accept(q3, Interval.around(91, 3), 0.25),
        em.accept(q5, Interval.around(1606, 4), 0.25),
    )
    exact = (
        em.accept(q3, Interval.around(91, Fraction("0.032") * 91), 0.25),
        em.accept(q5, Interval.around(1606, Fraction("0.002") * 1606), 0.25),
    )
    assert f"q3 ({rounded[0]:.3f}) and q5 ({rounded[1]:.2f})" in section(8)
    assert f"they are {exact[0]:.3f} and {exact[1]:.3f}" in section(8)


def test_sensitivities_follow_the_appendix() -> None:
    answers = (Path(__file__).parents[2] / "samples" / "paper_answers.csv").read_text("utf-8")
    rows = {line.split(",")[0]: line.split(",")[-1] for line in answers.splitlines()}
    assert (rows["q16"], rows["q18"]) == ("500000", "278011")
    assert "500,000 for q16 and 278,011 for q18" in section(9)
