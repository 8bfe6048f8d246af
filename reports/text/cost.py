"""Cost of a run, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from reports.text.escape import visible
from reports.text.numbers import epsilon_text

if TYPE_CHECKING:
    from reports.models.audit import Cost


def cost_sentences(cost: Cost, tables: str) -> Iterator[str]:
    """Sentences on what a run spent by which rule, what its ledger holds, and who is one person."""
    spent, rule = _amount_text(cost.epsilon, cost.delta), _rule_words(cost)
    yield f"Spent {spent}{rule} on {tables}, taken as public."
    if cost.ledger:
        total = _amount_text(cost.total or Fraction(0), cost.total_delta or Fraction(0))
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


def spent_text(cost: Cost, answers: Sequence[bool] = ()) -> str:
    """Cost of a run beside its subject; ``answers`` says of each whether it was replayed."""
    replayed = sum(answers)
    if not cost.epsilon and not cost.delta:
        why = ": all replayed" if replayed and replayed == len(answers) else ""
        return f"nothing spent{why}"
    spent = f"{_amount_text(cost.epsilon, cost.delta)} spent"
    return f"{spent}, {replayed:,} replayed" if replayed else spent


def budget_sentence(cost: Cost, private: str) -> str:
    """All that was ever spent on the private table, and the limit; empty without a ledger."""
    if not cost.ledger:
        return ""
    used = _amount_text(cost.total or Fraction(0), cost.total_delta or Fraction(0))
    on = f"{visible(private)} so far" if private else "the private table so far"
    if cost.limit is None:
        return f"In all {used} spent on {on}; no limit is set (pqd ledger limit)."
    return f"In all {used} of {epsilon_text(cost.limit)} spent on {on}."


def _amount_text(epsilon: Fraction, delta: Fraction) -> str:
    text = f"epsilon {epsilon_text(epsilon)}"
    return f"{text} and delta {float(delta):.3g}" if delta else text


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
