"""Rows of a table of verdicts: the copy's answer, how far off the private one is, how sure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from pqd.reports.text.audit import off_by_text
from pqd.reports.text.numbers import (
    budget_text,
    in_millions,
    number_text,
    p_value_text,
    to_digits_of,
)
from pqd.reports.text.query import amount_text, proof_sentence
from pqd.reports.writers.terminal.grid import Column

if TYPE_CHECKING:
    from pqd.reports.models.audit import Verdict
    from pqd.reports.models.query import QueryFacts

STYLES = {"yes": "bold green", "NO": "bold red", "?": "bold yellow"}
# Of a larger tolerance three digits are left in millions.
_IN_MILLIONS = 10**8
# A row begins with a badge and a name; where room is short it does without these, the last first.
NUMBERS = (
    Column("copy", right=True),
    Column("tolerance", right=True, spare=3),
    Column("off by", right=True, least=12),
    Column("sure?", least=13),
)


def badge_of(verdict: Verdict) -> Text:
    """Verdict in one word."""
    word = {"trusted": "yes", "not trusted": "NO"}.get(verdict.standing, "?")
    return Text(word, style=STYLES[word])


def numbers_of(verdict: Verdict, sign: str, *, mixed: bool = False) -> tuple[str, ...]:
    """Cells beside the name; ``mixed``: some verdicts of the report were replayed, others not."""
    sure = [sure_text(verdict)]
    if verdict.simulated:
        sure.append("SIMULATED")
    if mixed and verdict.replayed:
        sure.append("replayed")
    if not verdict.epsilon and not verdict.replayed:
        sure.append("cost 0")
    return *answer_cells(verdict, sign), in_millions(off_by_text(verdict, sign)), ", ".join(sure)


def answer_cells(facts: QueryFacts, sign: str) -> tuple[str, str]:
    """The copy's answer and the tolerance, to the digits that the tolerance gives a meaning to."""
    if facts.is_distance:
        return "", amount_text(facts, facts.tau)
    if facts.tau >= _IN_MILLIONS and math.isfinite(facts.tau):
        copy = facts.q_synthetic
        # Millions would make nothing of an answer that is far smaller than its tolerance.
        told = number_text(int(round(copy, -6))) if abs(copy) >= _IN_MILLIONS else number_text(copy)
        return in_millions(told), f"{sign}{in_millions(number_text(int(round(facts.tau, -6))))}"
    return to_digits_of(facts.q_synthetic, facts.tau), f"{sign}{number_text(facts.tau, 3)}"


def sure_text(verdict: Verdict) -> str:
    """P-value of a verdict; of an undecided one, what would decide it."""
    if verdict.standing != "undecided":
        return p_value_text(verdict.p_value, verdict.alpha)
    needed = verdict.chosen.epsilon_needed
    if proof_sentence(verdict.chosen) or verdict.decidable is not False or needed is None:
        return p_value_text(verdict.p_value, verdict.alpha)
    if math.isinf(needed):
        return "no epsilon would do"
    return f"needs epsilon {budget_text(needed)}"


def mixed_replays(verdicts: Sequence[Verdict]) -> bool:
    """Whether some verdicts were paid for before, and others not."""
    return len({verdict.replayed for verdict in verdicts}) > 1
