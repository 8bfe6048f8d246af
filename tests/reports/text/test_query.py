"""Sentences and charts: what a reader is told in each standing."""

import math
import re
from dataclasses import replace
from fractions import Fraction

import pytest
from rich.console import Console

from pqd.deciders import DECIDERS
from pqd.deciders.note import Note
from pqd.planning.choose_estimator import ESTIMATORS
from pqd.reports.documents.queries import curves
from pqd.reports.models.audit import AuditReport, CompositionGroup, Cost, Verdict
from pqd.reports.models.query import MEAN_DISTANCE, CandidateFacts
from pqd.reports.models.standings import Leaning
from pqd.reports.text.numbers import (
    epsilon_text,
    number_text,
    p_cell,
    p_value_text,
    plain,
    share_text,
)
from pqd.reports.text.query import (
    estimate_text,
    estimating_sentence,
    gap_sentence,
    instead_sentence,
    margin_sentence,
    sentences,
    signed_gap,
    verdict_words,
    worth_sentence,
)
from pqd.reports.writers.terminal import terminal_text
from pqd.reports.writers.terminal.layout import Extent, Screen
from pqd.reports.writers.terminal.pictures import curve_lines

CURVE = tuple([0.9] * 8 + [0.1] * 13)
CHOSEN = CandidateFacts("inv_count", 10.0, True, 9.2, 0.02, 0.03, 0.9, CURVE, decision_chance=0.94)
OTHER = CandidateFacts(
    "lm_count", 11.98, True, 9.21, 0.04, 0.03, None, tuple([0.8] * 8 + [None] * 13)
)
VERDICT = Verdict(
    id="q1",
    sql="SELECT COUNT(*) FROM D WHERE age > 40",
    aggregate="COUNT",
    attribute=None,
    p=None,
    where="age > 40",
    q_synthetic=1122,
    tau=56.1,
    decider="inv_count",
    reason="most often right of those with p-values",
    candidates=(CHOSEN, OTHER),
    lower=1065.9,
    upper=1178.1,
    epsilon=Fraction(1, 4),
    alpha=Fraction(1, 20),
    leans="yes",
    tau_min=10.0,
    synthetic="copy.csv",
    p_value=0.004,
    margin=22,
    evidence="proof",
)


def report_of(*verdicts: Verdict) -> AuditReport:
    paid = [verdict for verdict in verdicts if verdict.epsilon and not verdict.replayed]
    groups = tuple(CompositionGroup((verdict.id,), verdict.epsilon) for verdict in paid)
    cost = Cost(sum((g.epsilon for g in groups), Fraction(0)), Fraction(0), "sequential", groups)
    notes = (Note("Bounds of x from there.", ()),)
    return AuditReport(verdicts, "private.csv", "copy.csv", "5%", cost, notes)


def test_standings_are_counted_and_budgets_added() -> None:
    no = replace(VERDICT, id="q2", leans="no", margin=-3, p_value=0.01)
    unsure = replace(VERDICT, id="q3", leans="no", margin=0, p_value=0.31, evidence="none")
    free = replace(VERDICT, id="q4", epsilon=Fraction(0), margin=None, p_value=0.0)
    report = report_of(VERDICT, no, unsure, free)
    brief, full = (
        " ".join(terminal_text(report, extent=extent).split())
        for extent in (Extent.BRIEF, Extent.VERBOSE)
    )
    for text in (brief, full):
        assert "2 trusted, 1 not, 1 undecided; by inv_count." in text
        assert "cost 0" in text
        assert "p = 0.31" in text
    assert "epsilon 0.75 spent" in brief
    assert "Not trusted: q2." in brief
    assert "Spent epsilon 0.75 = 3 x 0.25" in full
    assert "undecided: leans NO p = 0.31" in full
    assert report.spent == Fraction(3, 4)


def test_simulation_is_stamped_in_every_rendering() -> None:
    report = report_of(replace(VERDICT, simulated=True))
    assert str(report).count("SIMULATED") == 2
    assert '"simulated": true' in report.to_json()
    assert report.to_frame()["simulated"].all()
    assert "SIMULATED" not in str(report_of(VERDICT))


@pytest.mark.parametrize(
    ("outcome", "margin", "words"),
    [("yes", 1, "about 1 person"), ("yes", 1234, "about 1,234 people"), ("no", 0, "about 1 person"),
     ("no", -21, "about 22 people")],
)  # fmt: skip
def test_margins_in_words(outcome: Leaning, margin: int, words: str) -> None:
    sentence = margin_sentence(replace(VERDICT, leans=outcome, margin=margin))
    assert sentence is not None
    assert sentence.startswith(words)
    assert margin_sentence(replace(VERDICT, margin=None)) is None


@pytest.mark.parametrize(
    ("outcome", "ends", "words"),
    [
        ("yes", (210, 292), "between 210 and 292 people away"),
        ("no", (-291, -209), "between 210 and 292 people away"),
        ("yes", (0, 6), "at most 6 people away"),
        ("no", (0, 1), "at most 1 person away"),
        ("no", (-1, -1), "2 people away"),
    ],
)
def test_margins_with_their_intervals(outcome: Leaning, ends: tuple[int, int], words: str) -> None:
    low, high = ends
    found = replace(VERDICT, leans=outcome, margin=high, margin_low=low, margin_high=high)
    # One end is as sure as the verdict, both together less.
    sure = "95 %" if words.startswith("at most") else "90 %"
    assert margin_sentence(found) == f"{words} from the opposite verdict ({sure})"
    sentence = margin_sentence(replace(found, counted="rows")) or ""
    assert "row" in sentence


Gap = tuple[float | None, float | None, float | None]


@pytest.mark.parametrize(
    ("gap", "shown"),
    [
        ((-339, -351, -327), "-339 ±12"),
        ((0, -4, 4), "0 ±4"),
        ((3.5, -19.5, 26.5), "+4 ±24"),
        # Cut at 0 below: the farther end counts.
        ((-2, -3, 11), "-2 ±13"),
        ((43486070, 37514737, 49457403), "+43,500,000 ±6,000,000"),
        ((0.0123, 0.0101, 0.0145), "+0.0123 ±0.0022"),
        ((5, 5, 5), "+5 ±0"),
        ((5, None, 7), None),
        ((None, 1, 7), None),
    ],
)
def test_a_gap_is_rounded_to_what_holds_its_interval(gap: Gap, shown: str | None) -> None:
    middle, low, high = gap
    found = replace(VERDICT, gap=middle, gap_low=low, gap_high=high)
    assert signed_gap(found) == shown
    if shown is None:
        assert gap_sentence(found) is None
        return
    centre, reach = (float(part.replace(",", "")) for part in shown.split(" ±"))
    assert low is not None
    assert high is not None
    assert centre - reach <= low + 1e-9
    assert high - 1e-9 <= centre + reach
    # No wider than the digits that are shown make it.
    assert reach <= 1.35 * max(high - (middle or 0), (middle or 0) - low)


@pytest.mark.parametrize(
    ("outcome", "gap", "shown"),
    [
        ("yes", (20, 10, 30), "+20 ±10"),
        # Two digits would reach to 57, beyond the tolerance of 56.1.
        ("yes", (41.7, 27.6, 55.9), "+41.7 ±14.2"),
        ("no", (-72.1, -86.9, -56.3), "-72.1 ±15.8"),
        # The nearer end is the tolerance's own.
        ("yes", (-55, -56, -40), "-56 to -40"),
        ("no", (57, 57, 71), "+57 to +71"),
    ],
)
def test_a_decided_verdict_never_shows_an_interval_across_its_tolerance(
    outcome: Leaning, gap: Gap, shown: str
) -> None:
    middle, low, high = gap
    found = replace(VERDICT, leans=outcome, gap=middle, gap_low=low, gap_high=high)
    assert signed_gap(found) == shown
    undecided = replace(found, evidence="none")
    assert "±" in (signed_gap(undecided) or "")


@pytest.mark.parametrize(
    ("gap", "way"),
    [((-339, -351, -327), "below"), ((20, 3, 37), "above"), ((3, -4, 10), "above or below")],
)
def test_which_way_is_said_where_it_is_known(gap: Gap, way: str) -> None:
    middle, low, high = gap
    sentence = gap_sentence(replace(VERDICT, gap=middle, gap_low=low, gap_high=high)) or ""
    assert sentence.endswith(f"(90 %): the private answer is {way} the copy's")


@pytest.mark.parametrize(
    ("aggregate", "command"),
    [
        ("COUNT", "audit ... --decider noisy_count"),
        ("COUNT DISTINCT", "audit ... --decider noisy_distinct"),
        ("SUM", "audit ... --decider noisy_sum"),
        ("AVG", "compare ... --estimator sum_and_count"),
        ("MEDIAN", "compare ... --estimator rank_counts"),
        ("QUANTILE", "compare ... --estimator rank_counts"),
        ("TOTAL VARIATION", None),
    ],
)
def test_what_would_estimate_the_answer_and_its_price(aggregate: str, command: str | None) -> None:
    outside = replace(VERDICT, aggregate=aggregate, leans="no", margin=-9)
    sentence = estimating_sentence(outside)
    if command is None:
        assert sentence is None
        return
    price = epsilon_text(VERDICT.epsilon)
    assert sentence == f"how far off, and which way: pqd {command}, for epsilon {price} more"
    assert set(re.findall(r"--decider (\w+)", sentence)) <= set(DECIDERS)
    assert set(re.findall(r"--estimator (\w+)", sentence)) <= set(ESTIMATORS)
    for told in (
        replace(outside, estimate=5),
        replace(outside, leans="yes"),
        replace(outside, epsilon=Fraction(0)),
    ):
        assert estimating_sentence(told) is None


def test_what_a_reader_of_a_no_uses_instead() -> None:
    outside = replace(VERDICT, leans="no", margin=-9)
    assert outside.standing == "not trusted"
    assert "coarser query" in (instead_sentence(outside) or "")
    estimated = replace(outside, estimate=5)
    assert instead_sentence(estimated) == "Use the private answer above in place of the copy's."
    for other in (
        VERDICT,
        replace(outside, evidence="none"),
        replace(estimated, simulated=True),
        replace(outside, aggregate=MEAN_DISTANCE),
    ):
        assert instead_sentence(other) is None


POOR = replace(CHOSEN, false_no=0.4, decision_chance=0.34)
OFTEN = replace(CHOSEN, decision_chance=0.53)


@pytest.mark.parametrize(
    ("tau", "candidate", "enough", "words"),
    [
        (56.0, CHOSEN, True, "reliable for tolerances of 10 or more; yours is 56"),
        (9.5, CHOSEN, True, "reliable at this tolerance, 9.5"),
        (2.0, POOR, False, "NOT reliable: at this epsilon the tolerance must be 10 or more"),
        (2.0, POOR, False, "yours is 2; 34.0 % of runs decide it, at worst; about epsilon 0.9"),
        (2.0, replace(POOR, epsilon_needed=math.inf), False, "at worst; no epsilon would do"),
        (2.0, replace(POOR, epsilon_needed=None), False, "yours is 2; 34.0 % of runs decide it"),
        (56.0, OFTEN, False, "10 or more; yours is 56, but often undecided; 53.0 % of runs"),
        (56.0, OFTEN, False, "about epsilon 0.9 would do"),
        (2.0, replace(POOR, tau_min=math.inf), False, "NOT reliable: no tolerance is large enough"),
        (2.0, replace(CHOSEN, tau_min=None), True, "is not known"),
        (2.0, replace(CHOSEN, tau_min=0.0), True, "reliable for tolerances of 0 or more"),
    ],
)
def test_what_tau_is_worth(tau: float, candidate: CandidateFacts, enough: bool, words: str) -> None:
    text, found = worth_sentence(replace(VERDICT, tau=tau, candidates=(candidate, OTHER)))
    assert words in text
    assert found is enough


def test_headlines() -> None:
    assert verdict_words(VERDICT) == ("yes", "within tolerance")
    assert verdict_words(replace(VERDICT, leans="no")) == ("NO", "outside tolerance")
    unsure = replace(VERDICT, evidence="none")
    assert verdict_words(unsure) == ("?", "undecided: leans yes")


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (None, "no p-value"),
        (0.0, "p < 0.001"),
        (0.00099, "p < 0.001"),
        (0.0456, "p = 0.046"),
        (0.31, "p = 0.31"),
    ],
)
def test_p_values(p: float | None, text: str) -> None:
    assert p_value_text(p, Fraction(1, 20)) == text


@pytest.mark.parametrize("alpha", ["0.05", "0.01", "0.0001", "0.3", "0.123456", "0.0496", "1/3"])
def test_a_p_value_shows_on_which_side_of_alpha_it_lies(alpha: str) -> None:
    limit = Fraction(alpha)
    level = float(limit)
    for step in (-1e-9, -1e-6, -2e-4, -1e-17, 0, 1e-17, 2e-4, 1e-6, 1e-9):
        p = level + step * (1 if abs(step) < 1e-5 or level > 0.001 else 0.1)
        _, sign, shown = p_value_text(p, limit).split()
        number = Fraction(shown)
        if sign == "=":
            assert (number > limit) == (Fraction(p) > limit)
        elif number == limit:
            assert sign == (">" if Fraction(p) > limit else "<")
        else:
            assert (sign, shown) == ("<", "0.001")
            assert p < 0.001 <= level


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.0499, "p = 0.0499"),
        (0.0502, "p = 0.0502"),
        (0.0500001, "p > 0.05"),
        (0.0499999, "p < 0.05"),
        # The nearest double of 0.05 is larger than 0.05, so that it decides nothing.
        (0.05, "p > 0.05"),
    ],
)
def test_a_p_value_near_alpha_never_reads_as_on_the_other_side(p: float, text: str) -> None:
    assert p_value_text(p, Fraction(1, 20)) == text
    assert p_cell(p, Fraction(1, 20)) == text.removeprefix("p ").removeprefix("= ")


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        ((None, None, None), None),
        ((1234.4, 1200, 1270), "about 1,234 with noise (90 %: 1,200 to 1,270)"),
        ((12.25, 10, None), "about 12.25 with noise (95 %: at least 10)"),
        ((179_881, 179_881, None), "at least 179,881 (95 %)"),
        ((1234.75, 1234.75, 1234.75), "about 1,235 with noise (90 %: 1,234 to 1,235)"),
        ((None, 30, 40), "30 to 40 (90 %)"),
        ((None, 30, None), "at least 30 (95 %)"),
        ((None, None, 40), "at most 40 (95 %)"),
        ((5, None, None), "about 5 with noise"),
    ],
)
def test_the_private_answer_as_released(
    facts: tuple[float | None, float | None, float | None], text: str | None
) -> None:
    estimate, low, high = facts
    found = replace(VERDICT, estimate=estimate, low=low, high=high)
    assert estimate_text(found) == text
    told = [line for line, _ in sentences(found, "5%")]
    assert any(line == f"private answer {text}" for line in told) is (text is not None)


@pytest.mark.parametrize(
    ("rows", "candidate", "words"),
    [
        (4, POOR, "of runs decide it, at worst; selects 4 rows of the copy; about epsilon 0.9"),
        (1, OFTEN, "selects 1 row of the copy"),
        (30, POOR, None),
        (4, CHOSEN, None),
        (None, POOR, None),
    ],
)
def test_few_rows_are_the_reason_of_what_stays_undecided(
    rows: int | None, candidate: CandidateFacts, words: str | None
) -> None:
    facts = replace(VERDICT, aggregate="AVG", candidates=(candidate, OTHER), copy_rows=rows)
    told = worth_sentence(facts)[0]
    assert words in told if words else "selects" not in told
    assert "selects" not in worth_sentence(replace(facts, aggregate="COUNT"))[0]


@pytest.mark.parametrize(
    ("proves", "words"),
    [
        (("yes", "no"), "reliable for tolerances of 10 or more"),
        (("no",), "inv_count gives a p-value for a no alone"),
        ((), "inv_count gives no p-value"),
    ],
)
def test_what_cannot_be_proved_is_said(proves: tuple[str, ...], words: str) -> None:
    chance = 0.94 if len(proves) == 2 else 0.0
    candidate = replace(CHOSEN, proves=proves, decision_chance=chance)
    facts = replace(VERDICT, candidates=(candidate, OTHER))
    assert words in worth_sentence(facts)[0]
    assert facts.decidable is (len(proves) == 2)


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "< 0.1 %"),
        (1e-9, "< 0.1 %"),
        (0.0214, "2.1 %"),
        (1 - 1e-9, "> 99.9 %"),
        (1.0, "> 99.9 %"),
        (None, "?"),
    ],
)
def test_shares_are_never_rounded_to_a_certainty(share: float | None, text: str) -> None:
    assert share_text(share) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1234567, "1,234,567"), (0.5, "0.5"), (1234.5678, "1,234.57"), (Fraction(1, 3), "0.333333"),
        (1e-9, "1e-09"), (math.inf, "infinite"), (-math.inf, "-infinite"), (-3.0, "-3"), (0, "0"),
        (Fraction(7), "7"), (12_345_678.9, "12,345,679"),
    ],
)  # fmt: skip
def test_numbers(number: float | Fraction, text: str) -> None:
    assert number_text(number) == text


def test_budgets_are_shown_exactly_or_as_fractions() -> None:
    assert epsilon_text(Fraction(1, 4)) == "0.25"
    assert epsilon_text(Fraction(15, 2)) == "7.5"
    assert epsilon_text(Fraction(1, 3)) == "1/3 (0.333)"
    assert epsilon_text(0.1) == "0.1"
    assert plain(Fraction(4, 2)) == 2
    assert plain(Fraction(1, 4)) == 0.25


@pytest.mark.parametrize("unicode", [True, False])
def test_chart_puts_the_chosen_first_and_marks_the_impossible(unicode: bool) -> None:
    (drawn,) = curves(replace(VERDICT, candidates=(OTHER, CHOSEN)))
    screen = Screen(Console(width=80), 80, unicode)
    scale, chosen, other = (line.plain for line in curve_lines(drawn, screen))
    first = scale.index("0")
    assert scale.index("tau") == first + 16
    assert scale.index("2 tau") == first + 32
    assert chosen.startswith("inv_count")
    assert other.endswith("··" if unicode else "''")
    high, low = chosen[first], chosen[first + 40]
    assert high != low
    if not unicode:
        assert (chosen + other).isascii()


def test_a_candidate_without_curve_is_not_drawn() -> None:
    assert list(curves(replace(VERDICT, candidates=(replace(CHOSEN, curve=None),)))) == []
