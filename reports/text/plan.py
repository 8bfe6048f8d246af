"""Plans in words: what all renderings of ``pqd plan`` share."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from reports.text.escape import visible
from reports.text.notes import refused_lead
from reports.text.numbers import budget_text, epsilon_text, number_text
from reports.text.query import proof_sentence
from reports.text.words import counted

if TYPE_CHECKING:
    from reports.models.plan import PlannedQuery, PlanReport


def headline(plan: PlanReport) -> tuple[str, str]:
    """Title and lead: how many queries can be decided, and what a run would cost."""
    total = len(plan.queries)
    if not total:
        return "No query was planned", "There is nothing to tell."
    if plan.epsilon is None:
        title = f"What {counted(total, 'query', 'queries')} would need"
        lead = "Beside each stands about the epsilon at which its tolerance can be decided."
        return title, lead + refused_lead(plan.refused)
    enough = sum(entry.decidable is True for entry in plan.queries)
    each = epsilon_text(plan.epsilon)
    price = epsilon_text(plan.epsilon * total if plan.price is None else plan.price)
    some = "All" if enough == total > 1 else f"{enough:,} of" if enough else "None of"
    title = f"{some} {counted(total, 'query', 'queries')} can be decided at epsilon {each} each"
    lead = f"An audit of all of them would cost epsilon {price} in total."
    return title, lead + refused_lead(plan.refused)


def worst_planned(plan: PlanReport) -> list[PlannedQuery]:
    """Queries that cannot be decided, without a budget all; those that need most of it first."""
    poor = [query for query in plan.queries if not query.decidable]
    return sorted(poor, key=_needed, reverse=True)


def epsilon_needed(query: PlannedQuery) -> float | None:
    """About the epsilon that decides a query by the decider that is taken, None if none does."""
    return None if proof_sentence(query.chosen) else query.chosen.epsilon_needed


def _needed(query: PlannedQuery) -> float:
    needed = epsilon_needed(query)
    return math.inf if needed is None else needed


def price_sentence(plan: PlanReport) -> str:
    """Sentence on what an audit of all queries would cost; a plan costs nothing."""
    if plan.epsilon is None:
        return "Nothing was spent, and no private table was read."
    price = plan.epsilon * len(plan.queries) if plan.price is None else plan.price
    return (
        f"An audit would cost epsilon {epsilon_text(price)} in total; nothing was spent, and no "
        "private table was read."
    )


def next_step(plan: PlanReport) -> str:
    """Epsilon at which all queries that can be decided are, or why no epsilon decides one.

    Empty where the budget is enough already.
    """
    poor = worst_planned(plan)
    needed = [_needed(query) for query in poor]
    able = [epsilon for epsilon in needed if not math.isinf(epsilon)]
    if not able:
        return next(filter(None, (proof_sentence(query.chosen) for query in poor)), "")
    who = "all of them" if len(able) == len(needed) else "all that any epsilon can decide"
    return f"--epsilon {budget_text(max(able))} would decide {who}"


def reading(plan: PlanReport) -> Iterator[str]:
    """Sentences on how to read a plan, and its notes."""
    yield (
        f"Planned on {visible(plan.synthetic)} alone: no private table was read, nothing was "
        "spent. > marks the decider that would be used."
    )
    level = number_text(float(plan.alpha) * 100, 3)
    errors = " (false no, false yes)" if plan.epsilon is not None else ""
    yield (
        f"Decidable: wrong at most {level} % of the time{errors} on test tables made from the "
        "copy: those whose answer is the copy's, and those whose answer is two tolerances away. "
        "Threshold: the smallest tolerance that is decidable at this epsilon. Epsilon needed: for "
        "this tolerance, on the worst of several shapes that the private table might have; it may "
        "be more."
    )
    if not all(candidate.shown for query in plan.queries for candidate in query.candidates):
        yield "Deciders that cannot prove both verdicts are left out; --verbose shows them."
    yield from map(visible, plan.notes)
