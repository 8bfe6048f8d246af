"""Cost of a run, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from reports.text.escape import visible
from reports.text.numbers import epsilon_text

if TYPE_CHECKING:
    from reports.models.audit import Cost


def cost_sentences(cost: Cost, tables: str) -> Iterator[str]:
    """Sentences on what a run spent by which rule, what its ledger holds, and who is one person."""
    spent = f"epsilon {epsilon_text(cost.epsilon)}"
    if cost.delta:
        spent += f" and delta {float(cost.delta):.3g}"
    rule = _rule_words(cost)
    yield f"Spent {spent}{rule} on {tables}, taken as public."
    if cost.ledger:
        total = f"epsilon {epsilon_text(cost.total or 0)}"
        if cost.total_delta:
            total += f" and delta {float(cost.total_delta):.3g}"
        most = f" of {epsilon_text(cost.limit)}" if cost.limit is not None else ""
        yield f"In all {total}{most} spent on this table (ledger {visible(cost.ledger)})."
    if cost.unit is None:
        yield "One row counts as one person."
    else:
        rows = "1 row" if cost.max_rows == 1 else f"{cost.max_rows} rows"
        yield (
            f'All rows of one "{visible(cost.unit)}" count as one person; where rows count, at '
            f"most {rows} of each."
        )


def _rule_words(cost: Cost) -> str:
    """Rule by which the parts of a run add up to what it spent."""
    parts, sizes = cost.groups, [len(group.ids) for group in cost.groups]
    by_rule = {
        "optimal": f" ({sum(sizes)} queries, optimal composition)",
        "concentrated": " (zero-concentrated composition)"
        if len(parts) > 1
        else " (Gaussian noise)",
    }
    if not parts or cost.rule in by_rule:
        return by_rule[cost.rule] if parts else ""
    if max(sizes) > 1:
        shared = max(parts, key=lambda group: len(group.ids))
        if len(parts) == 1:
            return f" once for {len(shared.ids)} disjoint queries (parallel composition)"
        return f" for {sum(sizes)} queries in {len(parts)} disjoint groups (parallel composition)"
    if len(parts) > 1 and len({group.epsilon for group in parts}) == 1:
        return f" = {len(parts)} x {epsilon_text(parts[0].epsilon)}"
    return ""
