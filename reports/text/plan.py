"""Plans in words: what all renderings of ``pqd plan`` share."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from pqd.reports.text.escape import visible
from pqd.reports.text.notes import refused_lead
from pqd.reports.text.numbers import budget_text, epsilon_text, number_text
from pqd.reports.text.query import proof_sentence
from pqd.reports.text.words import EACH_ITS_OWN, counted

if TYPE_CHECKING:
    from pqd.reports.models.plan import PlannedQuery, PlanReport


def headline(plan: PlanReport) -> tuple[str, str]:
    """Title: which epsilon decides the queries; lead: on what terms, and the price of an audit."""
    if not plan.queries:
        return "No query was planned", "There is nothing to tell."
    return answer(plan), f"{terms(plan)}. {price_sentence(plan)}" + refused_lead(plan.refused)


def answer(plan: PlanReport) -> str:
    """Answer to which epsilon is needed, as far as any will do, and what the planned one does."""
    total = len(plan.queries)
    enough = sum(query.decidable is True for query in plan.queries)
    if plan.total_epsilon is not None:
        planned = f"Epsilon {epsilon_text(plan.total_epsilon)} in all"
        planned = f"{planned} decides {_some(enough, total)}"
        if enough == total or plan.total_needed is None:
            return planned
        return f"{planned}; about {budget_text(plan.total_needed)} would decide all"
    able, most = _able(plan)
    unknown = sum(_is_unknown(query) for query in plan.queries)
    if not able and unknown:
        return f"What {_all(total)} would need is not known"
    if not able:
        return f"No epsilon decides {'the query' if total == 1 else f'any of {total:,} queries'}"
    title = f"Epsilon {budget_text(most)}{' per query' if total > 1 else ''}"
    title = f"{title} decides {_some(able, total)}"
    if left := total - able - unknown:
        title = f"{title}; no epsilon decides the other{f' {left:,}' if left > 1 else ''}"
    if plan.epsilon is None or most == plan.epsilon:
        return title
    some = "is not enough" if total == 1 else f"decides {enough or 'none'}"
    does = "is enough" if enough == total else some
    return f"{title}; the planned {epsilon_text(plan.epsilon)} {does}"


def _able(plan: PlanReport) -> tuple[int, float]:
    """Number of queries that some epsilon decides, and the most that one of them needs."""
    poor = (_needed(query, plan) for query in _poor(plan))
    able = [needed for needed in poor if not math.isinf(needed)]
    enough = [query for query in plan.queries if query.decidable]
    most = max(able, default=0.0)
    # Those that are decided need no more than is planned: most often none of it must be computed.
    if enough and most < float(plan.epsilon or math.inf):
        most = max(most, *(_needed(query, plan) for query in enough))
    return len(able) + len(enough), most


def _is_unknown(query: PlannedQuery) -> bool:
    """Whether the decider could decide at some epsilon that was not looked for."""
    chosen = query.chosen
    return not query.decidable and len(chosen.proves) == 2 and chosen.epsilon_needed is None


def _all(total: int) -> str:
    return "the query" if total == 1 else f"all {total:,} queries"


def _some(number: int, total: int) -> str:
    if number == total:
        return _all(total)
    return f"{number or 'none'} of {counted(total, 'query', 'queries')}"


def terms(plan: PlanReport) -> str:
    """Tolerance and level that the answer is about."""
    own = "" if plan.tolerance == EACH_ITS_OWN else "of "
    return (
        f"At a tolerance {own}{visible(plan.tolerance)} and alpha "
        f"{number_text(float(plan.alpha) * 100, 3)} %"
    )


def decided(plan: PlanReport) -> str:
    """Sentence on how many queries the planned budget decides, empty without one."""
    if not plan.budgeted:
        return ""
    total, enough = len(plan.queries), sum(query.decidable is True for query in plan.queries)
    some = "All" if enough == total > 1 else f"{enough:,} of" if enough else "None of"
    if total == 1:
        epsilon = epsilon_text(plan.epsilon or plan.total_epsilon or 0)
        return f"The query can{'' if enough else 'not'} be decided at epsilon {epsilon}."
    at = (
        f"epsilon {epsilon_text(plan.epsilon)} each"
        if plan.epsilon is not None
        else f"epsilon {epsilon_text(plan.total_epsilon or 0)} in all"
    )
    return f"{some} {counted(total, 'query', 'queries')} can be decided at {at}."


def _poor(plan: PlanReport) -> list[PlannedQuery]:
    """Queries that cannot be decided, without a budget all."""
    return [query for query in plan.queries if not query.decidable]


def worst_planned(plan: PlanReport) -> list[PlannedQuery]:
    """Queries that cannot be decided, without a budget all; those that need most of it first."""
    return sorted(_poor(plan), key=lambda query: _needed(query, plan), reverse=True)


def epsilon_needed(query: PlannedQuery) -> float | None:
    """About the epsilon that decides a query by the decider that is taken, None if none does."""
    return None if proof_sentence(query.chosen) else query.chosen.epsilon_needed


def _needed(query: PlannedQuery, plan: PlanReport) -> float:
    needed = epsilon_needed(query)
    least = math.inf if needed is None else needed
    # What is needed is searched on more shapes than what is decided.
    return min(least, float(plan.epsilon)) if query.decidable and plan.epsilon else least


def price_sentence(plan: PlanReport) -> str:
    """Sentence on what an audit of all queries would cost; a plan costs nothing."""
    if not plan.budgeted or not plan.queries:
        return "Nothing was spent, and no private table was read."
    price = plan.price
    price = (plan.epsilon or Fraction(0)) * len(plan.queries) if price is None else price
    return (
        f"An audit would cost epsilon {epsilon_text(price)} in total; nothing was spent, and no "
        "private table was read."
    )


def next_step(plan: PlanReport) -> str:
    """Epsilon at which all queries that can be decided are, or why no epsilon decides one.

    Empty where the budget is enough already.
    """
    if plan.total_epsilon is not None:
        more = plan.total_needed
        return f"--total-epsilon {budget_text(more)} would decide all of them" if more else ""
    poor = _poor(plan)
    needed = [_needed(query, plan) for query in poor]
    able = [epsilon for epsilon in needed if not math.isinf(epsilon)]
    if not able:
        return next(filter(None, (proof_sentence(query.chosen) for query in poor)), "")
    every = "it" if len(plan.queries) == 1 else "all of them"
    who = every if len(able) == len(needed) else "all that any epsilon can decide"
    return f"--epsilon {budget_text(max(able))} would decide {who}"


def reading(plan: PlanReport) -> Iterator[str]:
    """Sentences on how to read a plan, and its notes."""
    yield (
        f"Planned on {visible(plan.synthetic)} alone: no private table was read, nothing was "
        "spent. > marks the decider that would be used."
    )
    level = number_text(float(plan.alpha) * 100, 3)
    errors = " (false no, false yes)" if plan.budgeted else ""
    threshold = "Threshold: the smallest tolerance that is decidable at this epsilon. "
    yield (
        f"Decidable: wrong at most {level} % of the time{errors} on test tables made from the "
        "copy: those whose answer is the copy's, and those whose answer is two tolerances away. "
        f"{threshold if plan.budgeted else ''}Epsilon needed: for this tolerance, on the worst of "
        "several shapes that the private table might have; it may be more."
    )
    if not all(candidate.shown for query in plan.queries for candidate in query.candidates):
        yield "Deciders that cannot prove both verdicts are left out; --verbose shows them."
    yield from map(visible, plan.notes)
