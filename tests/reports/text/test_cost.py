"""Sentences on the cost of a run."""

from dataclasses import replace
from fractions import Fraction

from pqd.reports.models.audit import Cost
from pqd.reports.text.cost import budget_sentence, cost_sentences

COST = Cost(Fraction(1), ledger="l.sqlite", total=Fraction(199, 20), limit=Fraction(10))


def test_a_total_above_the_limit_of_a_run_says_whose_they_are() -> None:
    within = budget_sentence(COST, "bank.csv")
    assert within.startswith("In all epsilon 9.95 of 10 spent on bank.csv so far. ")
    # A spec limits its own runs, and other commands have spent more.
    over = replace(COST, limit=Fraction(15, 2))
    told = "by all commands; this run may go up to 7.5 in all"
    assert f"In all epsilon 9.95 spent on bank.csv so far, {told}. " in budget_sentence(
        over, "bank.csv"
    )
    assert f"In all epsilon 9.95 spent on this table, {told} (ledger l.sqlite)." in [
        *cost_sentences(over, "bank.csv")
    ]
    versions = replace(over, versions=2, runs=3, since="2026-01-01")
    assert f"2 versions of bank.csv, {told}: whoever" in budget_sentence(versions, "bank.csv")
