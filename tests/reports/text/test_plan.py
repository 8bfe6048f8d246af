"""Plans in words: the first line answers which epsilon is needed."""

import math
import re
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import pytest

from pqd.reports.documents.plan import document
from pqd.reports.models.plan import PlannedQuery, PlanReport
from pqd.reports.models.query import CandidateFacts
from pqd.reports.text.numbers import EACH_ITS_OWN, epsilon_text

ALPHA = Fraction(1, 20)


def planned(name: str, needed: float | None, wrong: float | None = None) -> PlannedQuery:
    chance = None if wrong is None else 1 - 2 * wrong
    chosen = CandidateFacts(
        "inv_count",
        false_no=wrong,
        false_yes=wrong,
        decision_chance=chance,
        epsilon_needed=needed,
    )
    return PlannedQuery(
        id=name,
        sql="SELECT COUNT(*) FROM D",
        aggregate="COUNT",
        attribute=None,
        p=None,
        where=None,
        q_synthetic=100,
        tau=5,
        alpha=ALPHA,
        decider="inv_count",
        reason="",
        candidates=(chosen,),
    )


def plan_of(*queries: PlannedQuery, epsilon: str | None = None) -> PlanReport:
    stated = None if epsilon is None else Fraction(epsilon)
    return PlanReport(queries, "copy.csv", "5%", stated, ALPHA, price=stated)


EASY, HARD = planned("easy", 0.1), planned("hard", 0.84)
NEVER = planned("never", math.inf)
GOOD, POOR = planned("good", 0.3, 0.01), planned("poor", 0.84, 0.3)


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (plan_of(EASY), "Epsilon 0.1 decides the query"),
        (plan_of(EASY, HARD), "Epsilon 0.84 per query decides all 2 queries"),
        (
            plan_of(EASY, HARD, NEVER),
            "Epsilon 0.84 per query decides 2 of 3 queries; no epsilon decides the other",
        ),
        (
            plan_of(EASY, NEVER, NEVER),
            "Epsilon 0.1 per query decides 1 of 3 queries; no epsilon decides the other 2",
        ),
        (plan_of(EASY, planned("unknown", None)), "Epsilon 0.1 per query decides 1 of 2 queries"),
        (plan_of(planned("unknown", None)), "What the query would need is not known"),
        (plan_of(NEVER), "No epsilon decides the query"),
        (plan_of(NEVER, NEVER), "No epsilon decides any of 2 queries"),
        (
            plan_of(GOOD, POOR, epsilon="1/4"),
            "Epsilon 0.84 per query decides all 2 queries; the planned 0.25 decides 1",
        ),
        (
            plan_of(POOR, epsilon="1/4"),
            "Epsilon 0.84 decides the query; the planned 0.25 is not enough",
        ),
        # What is needed is searched on more shapes than what is decided.
        (plan_of(GOOD, GOOD, epsilon="1/4"), "Epsilon 0.25 per query decides all 2 queries"),
        (
            plan_of(GOOD, GOOD, epsilon="1"),
            "Epsilon 0.3 per query decides all 2 queries; the planned 1 is enough",
        ),
        (plan_of(GOOD, epsilon="1"), "Epsilon 0.3 decides the query; the planned 1 is enough"),
    ],
)
def test_the_first_line_says_which_epsilon_is_needed(plan: PlanReport, words: str) -> None:
    shown = document(plan)
    assert shown.title == shown.subject == words


def test_a_decider_that_cannot_prove_both_verdicts_decides_at_no_epsilon() -> None:
    one_sided = replace(EASY.chosen, proves=("no",))
    query = replace(EASY, candidates=(one_sided,))
    assert document(plan_of(query)).title == "No epsilon decides the query"


def test_a_shared_budget_is_told_as_a_whole() -> None:
    shared = replace(plan_of(GOOD, POOR), total_epsilon=Fraction(1), price=Fraction(1))
    assert document(shared).title == "Epsilon 1 in all decides 1 of 2 queries"
    assert document(replace(shared, total_needed=3.4)).title == (
        "Epsilon 1 in all decides 1 of 2 queries; about 3.4 would decide all"
    )
    every = replace(shared, queries=(GOOD, GOOD))
    assert document(every).title == "Epsilon 1 in all decides all 2 queries"


def test_the_lead_states_the_terms_and_the_price() -> None:
    assert document(plan_of(EASY)).lead == (
        "At a tolerance of 5 % and alpha 5 %. Nothing was spent, and no private table was read."
    )
    own = replace(plan_of(GOOD, POOR, epsilon="1/4"), tolerance=EACH_ITS_OWN)
    assert document(own).lead.startswith(
        "At a tolerance stated for each query and alpha 5 %. An audit would cost epsilon 0.25 in "
    )
    assert document(plan_of()).title == "No query was planned"


def least_epsilon(query: PlannedQuery, plan: PlanReport) -> float:
    needed = query.chosen.epsilon_needed
    least = math.inf if needed is None else needed
    return min(least, float(plan.epsilon)) if query.decidable and plan.epsilon else least


def test_what_is_needed_is_that_of_all_queries() -> None:
    """The slow twin reads the budget of each, also of those that the planned one decides."""
    # What is not decided at 0.5 needs at least as much.
    sorts = [(0.1, 0.01), (0.5, 0.01), (0.9, 0.01), (math.inf, 0.01), (None, 0.01)]
    sorts += [(0.5, 0.3), (0.84, 0.3), (math.inf, 0.3), (None, 0.3)]
    for number in (1, 2, 3):
        for chosen in combinations(sorts, number):
            for stated in (None, "0.5"):
                queries = [
                    planned(str(place), needed, wrong if stated else None)
                    for place, (needed, wrong) in enumerate(chosen)
                ]
                plan = plan_of(*queries, epsilon=stated)
                needs = [least_epsilon(query, plan) for query in queries]
                able = [need for need in needs if not math.isinf(need)]
                some = f"{len(able)} of {number} queries" if number > 1 else "the query"
                if len(able) == number > 1:
                    some = f"all {number} queries"
                each = " per query" if number > 1 else ""
                words = f"Epsilon {epsilon_text(max(able, default=0))}{each} decides {some}"
                title = document(plan).title
                assert (
                    re.match(f"{re.escape(words)}(;|$)", title)
                    if able
                    else (title.startswith(("What ", "No epsilon decides ")))
                )
