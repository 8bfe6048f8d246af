"""Messages of checks: what a verdict, or a plan, means for a build."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from pqd.reports.text.numbers import (
    budget_text,
    epsilon_text,
    number_text,
    p_value_text,
    threshold_text,
)
from pqd.reports.text.query import proof_sentence

if TYPE_CHECKING:
    from pqd.reports.models.audit import Verdict

_MOST_NAMED = 5
FREE_ASKED = "costs nothing: another check asks the same"
FREE_SETTLED = "costs nothing: no table can answer otherwise"
FREE_KNOWN = "costs nothing: known already"


def price_text(epsilon: Fraction, *, joint: bool) -> str:
    """Price of a check by itself, or with the batch that answers it."""
    return f"epsilon {epsilon_text(epsilon)} {'with its batch' if joint else 'by itself'}"


def reliability_parts(
    unproved: Sequence[str], threshold: float | None, needed: float, *, share: bool = False
) -> list[str]:
    """What a planned verdict is worth.

    ``threshold`` is the effectiveness threshold where the tolerance is below it, else None, of a
    distance as a ``share``; ``needed`` is the epsilon that would do, 0 where none is known.
    """
    parts = list(unproved)
    if threshold is not None:
        least = threshold_text(threshold)
        if share and not math.isinf(threshold):
            least = f"{number_text(100 * threshold, 4)} %"
        parts.append(f"NOT reliable: the tolerance must be {least} or more")
        parts.append(f"about epsilon {budget_text(needed)} would do" if needed else "raise it")
    elif not unproved:
        parts.append("decidable")
    return parts


def single_message(verdict: Verdict, status: str, expect: str) -> str:
    """Message of a check of one verdict."""
    odds = p_value_text(verdict.p_value, verdict.alpha)
    if status == "undecided":
        message = f"undecided: leans {verdict.leaning.badge.text} ({odds}); the noise may decide"
        if unproved := proof_sentence(verdict.chosen):
            return f"{message}; {unproved}"
        needed = budget_text(verdict.chosen.epsilon_needed)
        if verdict.decidable is False and needed not in {"none", "?"}:
            message += f"; about epsilon {needed} would do, or a larger tau"
        return message
    standing = f"{verdict.standing.words} ({odds})"
    return (
        f"{standing}, as expected"
        if status == "as expected"
        else (f"{standing}, but {expect} was expected")
    )


def grouped_message(verdicts: int, wrong: Sequence[str], unsure: Sequence[str], expect: str) -> str:
    """Message of a check of several groups, of which some are ``wrong`` or ``unsure``."""
    good = verdicts - len(wrong) - len(unsure)
    message = f"{good} of {verdicts} groups as expected ({expect})"
    for standing, names in (("not", wrong), ("undecided", unsure)):
        if names:
            message += f". {standing.capitalize()}: {_named(names)}"
    return message


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    # A group of two columns has a comma in its name.
    return "; ".join(names[:_MOST_NAMED]) + more
