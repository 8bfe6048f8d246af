"""Every number of docs/errata.md about DP-PQD, computed again."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np

from pqd.deciders import DECIDERS, Histogram, Interval, Lattice, for_lattice
from pqd.deciders.single.published import (
    exponential_threshold,
    laplace_threshold,
    race_threshold,
)
from tests.support.errata import ROOT, section
from tests.support.neighbours import worst_loss

COUNT = Histogram.of_mass(1000)


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


def test_the_threshold_of_a_race_tells_a_private_number() -> None:
    largest = 4.549e7 / race_threshold(2_000_000, 1, 0.1, 0.05)
    assert f"4.549e+07 gives DS = {round(largest, -1):,.0f} back" in section(2)


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


def exponents(epsilon: float) -> list[float]:
    """Exponents of yes and no on q12: ``epsilon tau`` times the scores u' of eq. (16)."""
    tau = Fraction(32, 1000) * 470_483
    no = (471_994 - 470_483) / (2 * tau)
    return [float(Fraction(epsilon) * tau * score) for score in (1 - no, no)]


def test_overflow() -> None:
    tau, text = Fraction(32, 1000) * 470_483, section(7)
    assert f"`tau epsilon` is {float(tau / 2):,.1f} at epsilon = 0.5" in text
    assert f"`exp({math.log(np.finfo(float).max):.1f})`" in text
    low, high = exponents(0.5), exponents(1)
    assert f"are {low[0]:,.0f} and {low[1]:.0f} at epsilon = 0.5" in text
    assert f"but {high[0]:,.0f} and {round(high[1]):.0f} at epsilon = 1" in text
    with np.errstate(over="ignore"):
        assert np.isinf(np.exp(low)).tolist() == [True, False]
        assert np.isinf(np.exp(high)).all()
    for epsilon in (0.5, 1):
        yes = DECIDERS["em_count"]().accept(
            Histogram.of_mass(471_994), Interval.around(470_483, tau), epsilon
        )
        assert f"with probability {yes:.3f} at epsilon = 0.5 and 1" in text


def test_underflow() -> None:
    """``exp(epsilon u / 2)`` as printed, and the decider, on a table with many ties."""
    ages, text = np.arange(85), section(7)
    scores = -np.abs(5000 * ages - 5000 * 85 / 2)
    assert f"the best score is {scores.max():,.0f}:" in text
    assert f"`exp({0.25 * scores.max() / 2})` at epsilon = 0.25" in text
    assert np.exp(0.25 * scores / 2).max() > 0
    assert np.exp(1 * scores / 2).max() == 0
    table = Histogram.weighted(ages, np.full(85, 5000))
    interval = Interval.around(table.median, Fraction("0.032") * table.median)
    yes = {f"{accept('em_median', table, interval, epsilon):.3f}" for epsilon in (0.25, 1)}
    assert f"probability {yes.pop()} at both (tau 3.2 % around the median {table.median})" in text
    assert not yes


def errors_of_em(count: int, synthetic: int, taus: list[Fraction]) -> list[str]:
    return [
        f"{DECIDERS['em_count']().accept(Histogram.of_mass(count), interval, 0.25):.3f}"
        for interval in (Interval.around(synthetic, tau) for tau in taus)
    ]


def test_rounding() -> None:
    exact = Fraction("0.002") * 1606
    rounded, unrounded = errors_of_em(1560, 1606, [Fraction(4), exact])
    assert f"that is {rounded} at tau = {math.ceil(exact)}" in section(8)
    assert f"the exact tau of {float(exact):.3f} gives {unrounded}" in section(8)
    taus = [Fraction(percent) / 100 * 91 for percent in ("0.2", "0.8", "3.2")]
    (whole,) = set(errors_of_em(87, 91, [Fraction(math.ceil(tau)) for tau in taus]))
    first, second, third = errors_of_em(87, 91, taus)
    assert f"gives {whole} at all three, the exact one {first}, {second} and {third}" in section(8)
    deviation = math.sqrt(float(whole) * (1 - float(whole)) / 100)
    assert f"a deviation of {deviation:.2f}" in section(8)


def test_sensitivities_follow_the_appendix() -> None:
    rows = downward_sensitivities()
    assert (rows["q16"], rows["q18"]) == ("500000", "278011")
    assert "500,000 for q16 and 278,011 for q18" in section(9)


def downward_sensitivities() -> dict[str, str]:
    answers = (ROOT / "samples" / "paper_answers.csv").read_text("utf-8")
    return {line.split(",")[0]: line.split(",")[-1] for line in answers.splitlines()}


def test_a_floor_that_does_not_hold() -> None:
    table, interval = Histogram.from_values([100]), Interval(40, 60)
    decider = DECIDERS["inv_sum"](lower=0, upper=100)
    error, floor = decider.accept(table, interval, 1), math.exp(-2) / 2
    assert f"with probability {error:.3f} at epsilon = 1, where the floor is {floor:.3f}" in (
        section(10)
    )
    one_change = [Histogram.from_values([]), Histogram.from_values([100, 50])]
    assert not any(interval.contains(table.total) for table in one_change)
    assert interval.contains(Histogram.from_values([50]).total)


def test_the_advice_for_counts_reverses() -> None:
    printed, exponential = laplace_threshold(4, 0.05), exponential_threshold(0.25, 0.05)
    laplace = DECIDERS["lm_count"]().tau_min(COUNT, 0.25, 0.05).tau
    assert f"LM {printed:.2f} as printed, {laplace:.2f} in truth; EM {exponential:.2f}" in (
        section(13)
    )
    assert printed < exponential < laplace
    assert f"more, here {-4 * math.log(0.95):.2f}" in section(13)
    assert round(laplace - exponential, 2) == round(-4 * math.log(0.95), 2)
    for delta in np.arange(1, 1000) / 1000:
        assert math.log(1 / delta) > math.log((1 - delta) / delta)


def errors_of_a_count(gap: int, tau: int) -> tuple[float, float]:
    """Errors of EM and LM at epsilon 0.1 where the answers differ by ``gap``."""
    table, interval = Histogram.of_mass(1000 + gap), Interval.around(1000, tau)
    yes = [DECIDERS[name]().accept(table, interval, 0.1) for name in ("em_count", "lm_count")]
    em, lm = (1 - chance if gap < tau else chance for chance in yes)
    return em, lm


def test_where_the_laplace_mechanism_is_superior() -> None:
    def better(tau: int) -> list[int]:
        errors = {gap: errors_of_a_count(gap, tau) for gap in range(5 * tau)}
        return [gap for gap, (em, lm) in errors.items() if em < lm]

    assert better(10) == list(range(10))
    assert "EM errs less at each gap from 0 to 9" in section(14)
    em, lm = errors_of_a_count(2, 10)
    assert f"at 2 with probability {em:.3f} against {lm:.3f}" in section(14)
    assert better(30) == [0]
    assert "At tau = 30 EM errs less at a gap of 0 alone" in section(14)


def test_rungs_below_the_bound() -> None:
    text, rows = section(15), downward_sensitivities()
    logarithms = {bound: math.log2(bound) for bound in (500_000, 377, 2_000_000)}
    words = [f"{logarithm:.2f} for {bound:,}" for bound, logarithm in logarithms.items()]
    assert f"{words[0]}, {words[1]} and {words[2]}" in text
    last, taxi = (2 ** int(logarithms[bound]) for bound in (500_000, 377))
    assert f"rung is {last:,}, and DS is {int(rows['q21']):,} for q21" in text
    assert f"GS = 377: {taxi}, and DS is {rows['q47']} for q47" in text
    assert last < int(rows["q21"]) <= 500_000
    assert taxi < int(rows["q47"]) <= 377


def test_what_the_rungs_below_the_bound_lose() -> None:
    text = section(15)
    table = Histogram.weighted(np.array([10_000, 500_000]), np.array([900, 100]))
    decider = DECIDERS["r2t_sum"](upper=500_000)
    kept, whole = decider.truncated_sums(table)[-2:]
    assert f"sum to {whole:,}, of which these rungs hold {kept:,}" in text
    promised = math.floor(whole - race_threshold(500_000, 500_000, 10, 0.05))
    assert f"promises at least {promised:,}" in text
    assert kept < promised
    assert f"{len(decider.rungs)} for {decider.log_sensitivity:.2f} shares" in text
    yes = decider.accept(table, Interval.around(whole, Fraction(whole, 4)), 10)
    assert f"says yes with probability {yes:.3f} at epsilon = 10" in text


def score(count: int, synthetic: int, tau: Fraction) -> Fraction:
    """u' of a yes (eqs. 10-16)."""
    gap = abs(count - synthetic)
    return Fraction(0) if gap >= 2 * tau else 1 - gap / (2 * tau)


def test_the_sensitivity_of_the_score_of_counts() -> None:
    for tau in (Fraction(step, 8) for step in range(1, 41)):
        scores = [score(count, 100, tau) for count in range(80, 121)]
        moved = max(abs(b - a) for a, b in pairwise(scores))
        assert moved == min(Fraction(1), 1 / (2 * tau))
    text, interval = section(16), Interval.around(100, Fraction(1, 4))
    em = DECIDERS["em_count"]()
    error, true = 1 - em.accept(Histogram.of_mass(100), interval, 1), 1 / (1 + math.exp(1 / 2))
    assert f"EM errs with probability {error:.3f}" in text
    assert f"the true sensitivity would give {true:.3f}" in text
    loss = max(worst_loss(em.accept, [0] * count, [0], interval, 1.0) for count in range(98, 103))
    assert f"the largest privacy loss is {loss:.2f}" in text
    ours = 1 - DECIDERS["inv_count"]().accept(Histogram.of_mass(100), interval, 1)
    assert f"`inv_count` errs with {ours:.3f} here" in text


def test_effectiveness_for_one_table() -> None:
    def effective(tau: Fraction) -> bool:
        """Both conditions of Def. 3.4 as printed, for q3 and LM."""
        gap, yes = 91 - 87, laplace.accept(q3, Interval.around(91, tau), 0.25)
        return gap < 2 * tau or 1 - yes >= 0.95

    laplace, q3, text = DECIDERS["lm_count"](), Histogram.of_mass(87), section(17)
    taus = [Fraction("0.1"), Fraction(1), Fraction(2), Fraction("2.01")]
    assert [effective(tau) for tau in taus] == [True, False, False, True]
    yes = [laplace.accept(q3, Interval.around(91, tau), 0.25) for tau in taus]
    assert f"says yes with probability {yes[0]:.3f}, not at 1 or 2" in text
    assert f"({yes[1]:.3f} and {yes[2]:.3f})" in text
    assert f"Its bound is {laplace.tau_min(COUNT, 0.25, 0.05).tau:.2f}" in text
