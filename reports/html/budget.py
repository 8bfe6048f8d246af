"""Cost on a page: how much of a limit is used up, and what its epsilon means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pqd.reports.text.cost import meaning_sentence
from pqd.reports.text.numbers import epsilon_text

if TYPE_CHECKING:
    from pqd.reports.models.audit import Cost


def spending(cost: Cost, *, dry: bool = False) -> dict[str, Any]:
    """Parts of a page on its cost: the bar of the budget, what epsilon means, the day.

    A ``dry`` run has but the day.
    """
    shown = {"budget": None, "meaning": "", "day": cost.day}
    return shown if dry else {**shown, "budget": budget(cost), "meaning": meaning_sentence(cost)}


def budget(cost: Cost) -> dict[str, Any] | None:
    """Share of a limit that is used up, in per cent of it; None without a limit."""
    if not cost.limit or cost.total is None:
        return None
    used = min(float(cost.total / cost.limit), 1.0)
    now = min(float(cost.epsilon / cost.limit), used)
    return {
        "before": round(100 * (used - now), 2),
        "now": round(100 * now, 2),
        "total": epsilon_text(cost.total),
        "limit": epsilon_text(cost.limit),
    }
