"""The choice of a decider: least error on public data, and nothing else."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import pqd
from pqd.commands.audit import run_audit
from pqd.deciders import (
    DECIDERS,
    Histogram,
    Interval,
    Lattice,
    SimulatedNoise,
    answer,
    applicable,
)
from pqd.deciders.note import note
from pqd.deciders.single.inverse_sensitivity import deciding_epsilon, least_margin
from pqd.errors import DeciderError, UnanswerableError
from pqd.parameters import Criteria, Detail, Parameters
from pqd.planning.choose_decider import choose_decider
from pqd.reports.writers.terminal import terminal_text
from pqd.reports.writers.terminal.layout import Extent
from pqd.sql.workload_files import as_queries
from tests.support.likeness import like

SAMPLES = Path(__file__).parents[3] / "samples"
QUERIES = [
    "SELECT COUNT(*) FROM D WHERE age > 40",
    "SELECT SUM(income) FROM D WHERE sex = 'f'",
    "SELECT MEDIAN(age) FROM D",
    "SELECT AVG(income) FROM D",
    "SELECT QUANTILE(age, 0.9) FROM D",
    "SELECT COUNT(DISTINCT income) FROM D",
]


def table(seed: int, rows: int) -> pd.DataFrame:
    ages = [(seed * 7 + i * 13) % 90 for i in range(rows)]
    incomes = [(seed * 31 + i * 97) % 5000 for i in range(rows)]
    return pd.DataFrame({"age": ages, "income": incomes, "sex": ["f", "m"] * (rows // 2)})


def test_auto_errs_least_at_the_tau_asked_for_or_twice_as_often_and_shows_the_answer() -> None:
    plan = pqd.plan(table(1, 400), QUERIES, tau="5%", epsilon=0.5)
    shown = 0
    for entry in plan.queries:
        least = min(c.worst for c in entry.candidates if len(c.proves) == 2)
        if DECIDERS[entry.decider].releases_answer:
            shown += 1
            assert entry.chosen.worst <= max(2 * least * (1 + 1e-9), 2 * 0.05**2)
        else:
            assert entry.chosen.worst == least
    assert shown > 0


def test_without_a_budget_auto_needs_the_least() -> None:
    plan = pqd.plan(table(1, 400), QUERIES, tau="5%")
    for entry in plan.queries:
        able = [c for c in entry.candidates if len(c.proves) == 2]
        assert entry.chosen.epsilon_needed == min(c.epsilon_needed or math.inf for c in able)
        assert entry.chosen.tau_min is None


TIE = pd.DataFrame({"age": [22] * 510 + [23] * 490})
TIED_COPY = pd.DataFrame({"age": [22] * 499 + [23] * 400 + [24] * 101})


def test_auto_takes_no_decider_whose_verdict_nothing_proves() -> None:
    """The case of docs/errata.md, 4: on the copy ``em_median`` errs least, on D it errs always."""
    options: dict[str, Any] = {"columns": {"age": {"bounds": (17, 90)}}, "tau": 0.5, "epsilon": 0.5}
    query = "SELECT MEDIAN(age) FROM D"
    entry = pqd.plan(TIED_COPY, query, detailed=True, **options).queries[0]
    best = min(entry.candidates, key=lambda candidate: candidate.worst)
    assert best.decider == "em_median"
    assert best.proves == ()
    assert entry.decider == "inv_median"
    assert (
        pqd.plan(TIED_COPY, query, **{**options, "epsilon": None}).queries[0].decider[:3] == "inv"
    )
    named = pqd.audit(TIE, TIED_COPY, query, decider="em_median", **{**options, "epsilon": 5})
    (verdict,) = named.verdicts
    assert (verdict.p_value, verdict.conclusive, verdict.leans) == (None, False, "yes")
    assert verdict.standing in {"likely yes", "leans yes"}
    terms = Parameters.parse(alpha=0.05, mechanism="auto", **{**options, "epsilon": 5})
    for seed in range(20):
        report = run_audit(TIE, TIED_COPY, as_queries(query), terms, SimulatedNoise(seed))
        assert report.verdicts[0].standing != "trusted"


@pytest.mark.parametrize(
    ("query", "decider", "words"),
    [
        (QUERIES[0], "em_count", "em_count gives no p-value"),
        (QUERIES[0], "em_count_naive", "gives no p-value"),
        (QUERIES[1], "svt_sum", "gives no p-value"),
        (QUERIES[1], "svt_sum_plain", "gives no p-value"),
        (QUERIES[1], "r2t_sum", "gives a p-value for a no alone"),
        (QUERIES[2], "em_median", "gives no p-value"),
    ],
)
def test_what_cannot_be_proved_is_planned_as_too_little(
    query: str, decider: str, words: str
) -> None:
    plan = pqd.plan(table(1, 4000), query, tau="60%", epsilon=5, decider=decider)
    (entry,) = plan.queries
    assert entry.decidable is False
    told = " ".join(str(plan).split())
    assert words in told
    assert "would decide" not in told, "no epsilon does"
    report = pqd.audit(table(2, 4000), table(1, 4000), query, tau="60%", epsilon=5, decider=decider)
    (verdict,) = report.verdicts
    if decider != "r2t_sum" or verdict.leans == "yes":
        assert verdict.evidence == ("likely" if entry.likely else "none")
        assert verdict.standing == f"{'likely' if entry.likely else 'leans'} {verdict.leans}"
        assert "no p-value" in str(report)
        for text in (report.to_markdown(), report.to_html("pqd"), report._repr_html_()):
            assert verdict.standing.badge.text in text
    assert words in " ".join(terminal_text(report, extent=Extent.VERBOSE).split())


@pytest.mark.parametrize(
    ("query", "decider"),
    [
        *[(QUERIES[0], "lm_count"), (QUERIES[1], "lm_sum"), (QUERIES[2], "hist_median")],
        ("SELECT AVG(age) FROM D", "lm_mean"),
        ("SELECT QUANTILE(age, 0.25) FROM D", "hist_quantile"),
    ],
)
def test_what_shows_its_statistic_decides_and_is_replayed_as_it_was(
    query: str, decider: str, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"tau": "50%", "epsilon": 5, "decider": decider}
    options["ledger"] = tmp_path / "ledger.sqlite"
    first, again = (
        pqd.audit(table(2, 4000), table(1, 4000), query, **options).verdicts[0] for _ in range(2)
    )
    assert first.standing == (
        "yes within bounds" if decider in {"lm_sum", "lm_mean"} else "trusted"
    )
    assert replace(again, replayed=False) == first
    assert first.p_value is not None
    if not decider.startswith("hist_"):
        assert first.estimate is not None
        assert first.estimate == pytest.approx(first.q_synthetic, rel=0.4)
    assert first.low is not None
    assert first.high is not None
    # Another alpha asks nothing anew, and has wider ends.
    wider = pqd.audit(table(2, 4000), table(1, 4000), query, alpha=1e-6, **options).verdicts[0]
    assert wider.replayed
    assert wider.low is not None
    assert wider.low <= first.low


def test_ties_go_to_the_smaller_threshold() -> None:
    """Far from every end all errors are 0: then INV's threshold, 10, beats LM's and EM's."""
    options: dict[str, Any] = {"tau": "20%", "epsilon": 0.25, "detailed": True}
    entry = pqd.plan(table(1, 40_000), QUERIES[0], **options).queries[0]
    assert entry.decider == "noisy_count"
    assert entry.reason == str(note("shows-answer", sharpest="inv_count"))
    assert {c.decider for c in entry.candidates if c.worst < 1e-12} >= {"lm_count", "em_count"}


@pytest.mark.parametrize("decider", ["auto", "paper"])
def test_the_choice_sees_public_data_only(decider: str) -> None:
    queries = QUERIES[:3] if decider == "paper" else QUERIES
    synthetic = table(1, 400)
    found = []
    for private in (table(2, 400), table(3, 6), like(table(1, 400))):
        terms = Parameters.parse(
            tau="5%", epsilon=0.5, alpha=0.05, mechanism=decider, detail=Detail.CURVES
        )
        report = run_audit(private, synthetic, as_queries(queries), terms, SimulatedNoise(1))
        found.append([(v.decider, v.reason, v.tau_min, v.candidates) for v in report.verdicts])
    assert found[0] == found[1] == found[2]


def test_the_plan_and_the_audit_choose_alike() -> None:
    plan = pqd.plan(table(1, 400), QUERIES, tau="5%", epsilon=0.5)
    report = pqd.audit(table(2, 400), table(1, 400), QUERIES, tau="5%", epsilon=0.5)
    assert [e.decider for e in plan.queries] == [v.decider for v in report.verdicts]


@pytest.mark.parametrize(
    ("name", "query", "words"),
    [
        ("nonesuch", QUERIES[0], "there is no decider 'nonesuch'"),
        ("lm_sum", QUERIES[0], "decides SUM, not COUNT"),
        ("paper", "SELECT COUNT(DISTINCT age) FROM D", "the paper has no decider of COUNT DIST"),
    ],
)
def test_a_name_that_does_not_fit_is_refused(name: str, query: str, words: str) -> None:
    with pytest.raises(DeciderError, match=words):
        pqd.plan(table(1, 400), query, tau=5, epsilon=1, decider=name)


def test_truncating_deciders_refuse_negative_values() -> None:
    columns = {"income": {"bounds": (-10, 5000)}}
    with pytest.raises(UnanswerableError, match="needs values >= 0"):
        pqd.plan(table(1, 400), QUERIES[1], tau=5, epsilon=1, decider="svt_sum", columns=columns)
    entry = pqd.plan(table(1, 400), QUERIES[1], tau=5, epsilon=1, columns=columns).queries[0]
    assert {c.decider for c in entry.candidates} == {"inv_sum", "noisy_sum", "lm_sum"}


def test_the_paper_takes_the_decider_that_errs_least() -> None:
    """Far above the values the noise of the bound costs LM all, and SVT nothing."""
    small = Histogram.from_values([1, 2, 2] * 300)
    for upper, tau, expected in ((2, 60, "lm_sum"), (10**7, 150, "svt_sum")):
        terms = Parameters.parse(tau=tau, epsilon=1, alpha=0.05, mechanism="paper")
        fitting = applicable("SUM", Lattice(0, upper))
        choice = choose_decider(terms, "SUM", fitting, small, Interval.around(1500, tau))
        errors = {c.mechanism.id: c.rates.worst for c in choice.candidates if c.rates}
        assert choice.decider.id == expected
        assert errors[expected] == min(errors[name] for name in ("lm_sum", "r2t_sum", "svt_sum"))
    assert choice.reason == note("against-table-four", decider="svt_sum", advised="r2t_sum")


def test_the_paper_has_deciders_of_quantiles_and_means() -> None:
    """End of section 6.2; Table 4 has no row for either."""
    terms = Parameters.parse(tau=4, epsilon=1, alpha=0.05, mechanism="paper")
    ages = Histogram.from_values([20] * 300 + list(range(20, 60)) * 20)
    for p in (Fraction(1, 4), Fraction(9, 10)):
        fitting, centre = applicable("QUANTILE", Lattice(0, 85), p=p), ages.quantile(p)
        choice = choose_decider(terms, "QUANTILE", fitting, ages, Interval.around(centre, 4))
        errors = {c.mechanism.id: c.rates.worst for c in choice.candidates if c.rates}
        (other,) = {"em_quantile", "hist_quantile"} - {choice.decider.id}
        assert errors[choice.decider.id] <= errors[other] + 1e-12
        assert choice.reason == note("least-of-paper", aggregate="QUANTILE", others=(other,))
    mean = Fraction(ages.total, ages.mass)
    choice = choose_decider(
        terms, "AVG", applicable("AVG", Lattice(0, 85)), ages, Interval.around(mean, 4)
    )
    assert choice.decider.id == "lm_mean"
    assert choice.reason == note("only-of-paper", aggregate="AVG")


GAP: dict[str, Any] = {"columns": {"x": {"bounds": (0, 99_999)}}, "tau": "10%", "epsilon": 1}


def test_where_no_proof_is_in_reach_values_are_cut_at_the_copy() -> None:
    copy = pd.DataFrame({"x": [10 + i % 110 for i in range(5000)]})
    named = pqd.plan(copy, "SELECT SUM(x) FROM D", decider="inv_sum", **GAP).queries[0]
    assert not named.decidable
    entry = pqd.plan(copy, "SELECT SUM(x) FROM D", **GAP).queries[0]
    assert entry.decidable
    assert (entry.decider, entry.reason) == ("inv_sum", str(note("cut-at-copy")))
    near, terms = copy.iloc[:-10], Parameters.parse(alpha=0.05, **GAP)
    tail = pd.concat([copy, pd.DataFrame({"x": [4000] * 100})], ignore_index=True)
    found = []
    for private in (near, tail):
        query = as_queries("SELECT SUM(x) FROM D")
        report = run_audit(private, copy, query, terms, SimulatedNoise(2))
        found.append(report.verdicts[0].standing)
    assert found == ["yes within bounds", "no or rows beyond"]


def test_a_bit_is_likely_only_if_it_is_right_on_tails_too() -> None:
    """SVT errs nowhere on tables like the copy, and always on a tail that the copy lacks."""
    copy = pd.DataFrame({"x": [10 + i % 110 for i in range(5000)]})
    entry = pqd.plan(copy, "SELECT SUM(x) FROM D", decider="svt_sum", **GAP).queries[0]
    assert entry.chosen.worst < 0.01
    assert not entry.likely
    narrow: dict[str, Any] = {**GAP, "columns": {"x": {"bounds": (0, 127)}}}
    entry = pqd.plan(copy, "SELECT SUM(x) FROM D", decider="svt_sum", **narrow).queries[0]
    assert entry.likely


@pytest.mark.parametrize("epsilon", [0.1, 0.25, 0.5, 0.7, 1, 2, 5])
def test_equal_errors_never_cost_the_p_value(epsilon: float) -> None:
    """EM's threshold may be a fraction below INV's whole one: no reason to lose the margin."""
    entry = pqd.plan(table(1, 40_000), QUERIES[0], tau="20%", epsilon=epsilon).queries[0]
    assert entry.decider == "noisy_count"
    assert len(entry.chosen.proves) == 2


def chosen(
    query: str,
    epsilon: float,
    tau: float,
    alpha: float,
    copy: pd.DataFrame,
    columns: dict[str, Any] | None = None,
) -> str:
    terms: dict[str, Any] = {"tau": tau, "epsilon": epsilon, "alpha": alpha, "columns": columns}
    return pqd.plan(copy, query, **terms).queries[0].decider


def proof_chances(tau: int, epsilon: float, alpha: float) -> tuple[float, float]:
    """Chances of a proved yes at the copy's own count, of the margin and of the noisy answer."""
    a, least = math.exp(-epsilon), least_margin(epsilon, alpha)

    def tail(steps: int) -> float:
        return a**steps / (1 + a) if steps > 0 else 1 - a ** (1 - steps) / (1 + a)

    both = max(0.0, 1 - 2 * tail(tau - least + 1)) if tau >= least else 0.0
    return tail(least - tau), both


def refutation_chances(tau: int, epsilon: float, alpha: float) -> tuple[float, float]:
    """Chances of a proved no twice the tolerance away, of the margin and of the noisy answer."""
    a, least = math.exp(-epsilon), least_margin(epsilon, alpha)

    def tail(steps: int) -> float:
        return a**steps / (1 + a) if steps > 0 else 1 - a ** (1 - steps) / (1 + a)

    # The other end is so many steps farther.
    width = 2 * tau - 2
    far = next(d for d in range(1, 2 * least + 99) if tail(d) + tail(d + width) <= alpha)
    return tail(least - 1 - tau), tail(far - 1 - tau) + tail(3 * tau - 1 + far)


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 3])
def test_a_count_is_shown_unless_it_would_be_decided_less_often(
    epsilon: float, alpha: float
) -> None:
    """Near the threshold the margin proves what the noisy answer does not."""
    copy, found = table(1, 4000), []
    for tau in range(1, 2 * least_margin(epsilon, alpha / 2) + 3):
        yes, no = (f(tau, epsilon, alpha) for f in (proof_chances, refutation_chances))
        decided = [min(pair) >= 0.9 for pair in zip(yes, no, strict=True)]
        lost = max(margin - answer for margin, answer in (yes, no))
        sharper = decided == [True, False] or lost > 0.1
        found.append("inv_count" if sharper else "noisy_count")
        assert chosen(QUERIES[0], epsilon, tau, alpha, copy) == found[-1], tau
    assert found[-1] == "noisy_count"
    # Of three epsilon next to nothing is left between both thresholds.
    assert "inv_count" in found or epsilon == 3


def test_a_sum_is_shown_where_values_are_near_their_bound_alone() -> None:
    """Far below the bound a margin counts many rows where noise fits the largest value."""
    near = pd.DataFrame({"x": [90.0 + i % 11 for i in range(4000)]})
    far = pd.DataFrame({"x": [1.0 + i % 11 for i in range(3999)] + [100.0]})
    sql, bounds = "SELECT SUM(x) FROM D", {"x": {"bounds": (0, 100)}}
    assert chosen(sql, 1, 20_000, 0.05, near, bounds) == "noisy_sum"
    assert chosen(sql, 1, 20_000, 0.05, far, bounds) == "noisy_sum", "both are all but always right"
    assert chosen(sql, 1, 1000, 0.05, near, bounds) == "noisy_sum"
    assert chosen(sql, 1, 1000, 0.05, far, bounds) == "inv_sum"
    # Without stated bounds the rows beyond are counted, which the margin alone does.
    assert chosen(sql, 1, 20_000, 0.05, near) == "inv_sum"


def test_an_average_a_median_and_a_quantile_keep_their_margin() -> None:
    for query in QUERIES[2:5]:
        assert chosen(query, 5, 20, 0.05, table(1, 4000))[:4] == "inv_"


@pytest.mark.parametrize(("tau", "rows"), [(9.5, 10), (2.95, 3), (1.05, 2)])
def test_a_tau_between_whole_numbers_is_judged_by_its_rows(tau: float, rows: int) -> None:
    """So many rows lie between the copy's count and the other verdict."""
    needed = round(deciding_epsilon(rows, 0.05), 6)
    for epsilon, enough in ((needed + 1e-6, True), (needed - 1e-6, False)):
        entry = pqd.plan(table(1, 400), QUERIES[0], tau=tau, epsilon=epsilon).queries[0]
        assert entry.decidable is enough
    assert entry.chosen.epsilon_needed == pytest.approx(needed, rel=0.01)


SHAPES = {
    "near the bound": [90] * 300 + [80] * 40,
    "spread": list(range(90)) * 5,
    "far from it": [1, 2, 3] * 200 + [90],
    "few": [3, 60, 61],
}


@pytest.mark.parametrize("aggregate", ["COUNT", "SUM", "COUNT DISTINCT", "MEDIAN"])
@pytest.mark.parametrize("epsilon", [None, "0.05", "0.5", "3"])
def test_the_sharpest_decider_is_the_one_that_errs_least(
    aggregate: str, epsilon: str | None
) -> None:
    """Theorems name it for a COUNT, a SUM and a MEDIAN; the figures of all candidates agree."""
    seen = set()
    for values, tau, alpha in itertools.product(
        SHAPES.values(), ("1/3", "1", "4", "30", "700", "10000"), ("0.001", "0.05", "0.3", "0.7")
    ):
        every = Histogram.from_values(values)
        counted = {
            "COUNT": Histogram.of_mass(every.mass),
            "COUNT DISTINCT": every.multiplicities(),
        }
        copy = counted.get(aggregate, every)
        interval = Interval.around(answer(aggregate, copy) or 0, tau)
        criteria = Criteria.of(tau=tau, alpha=alpha, detail=Detail.BUDGETS)
        if epsilon:
            criteria = criteria.at(epsilon)
        deciders = applicable(aggregate, Lattice(0, 90))
        choice = choose_decider(criteria, aggregate, deciders, copy, interval)
        sharpest = str(dict(choice.reason.facts).get("sharpest", choice.decider.id))
        assert_sharpest(sharpest, choice.candidates, budgeted=epsilon is not None)
        seen.add(choice.decider.id)
    assert all(DECIDERS[each].aggregate == aggregate for each in seen)


def assert_sharpest(name: str, candidates: Any, *, budgeted: bool) -> None:
    """No other one that proves both verdicts errs less, or as often at a smaller threshold."""
    able = [each for each in candidates if len(each.mechanism.proves) == 2]
    if budgeted:
        ranks = {
            each.mechanism.id: (round(each.worst, 12), math.ceil(each.threshold.tau))
            if math.isfinite(each.threshold.tau)
            else (round(each.worst, 12), math.inf)
            for each in able
        }
        assert ranks[name] == min(ranks.values())
    else:
        # The budget of the one that is taken may be no other's; all are known here.
        needed = next(each.needed for each in able if each.mechanism.id == name)
        # Real-valued noise of few rows needs a little less than noise in whole rows.
        assert needed <= 1.04 * min(each.needed for each in able)
