"""Audits in words: what all renderings of ``pqd audit`` share."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pqd.reports.text.cost import cost_sentences
from pqd.reports.text.escape import visible
from pqd.reports.text.notes import refused_lead
from pqd.reports.text.numbers import bound_text, number_text, rounded_text
from pqd.reports.text.query import amount_text, signed_gap
from pqd.reports.text.words import EACH_ITS_OWN, counted, tally

if TYPE_CHECKING:
    from pqd.reports.models.audit import AuditReport, Verdict

SIMULATED = "SIMULATED: these verdicts come from seeded noise and protect nobody."


def headline(report: AuditReport) -> tuple[str, str]:
    """Title and lead: how many answers can be trusted, and what became of the others."""
    counts = dict(tally(verdict.standing for verdict in report.verdicts))
    trusted, total = counts["trusted"], len(report.verdicts)
    if not total:
        return "No query was asked", "There is nothing to tell."
    if trusted == total:
        title = "The answer can be trusted" if total == 1 else f"All {total} answers can be trusted"
    elif total == 1:
        title = "The answer cannot be trusted"
        if counts["undecided"]:
            title = "Whether the answer can be trusted is undecided"
    else:
        some = f"{trusted:,}" if trusted else "None"
        title = f"{some} of {counted(total, 'answer')} can be trusted"
    lead = (
        "Trusted means: the private table gives the same answer within the tolerance "
        f"{'' if report.tolerance == EACH_ITS_OWN else 'of '}{visible(report.tolerance)}."
    )
    return title, lead + _others(counts["not trusted"], counts["undecided"]) + refused_lead(
        report.refused
    )


def _others(outside: int, undecided: int) -> str:
    parts = []
    if outside:
        parts.append(f"{outside:,} {'is' if outside == 1 else 'are'} outside it")
    if undecided:
        parts.append(f"{undecided:,} could not be decided at this budget")
    return f" {'; '.join(parts)}." if parts else ""


def worst_verdicts(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Verdicts that are not trusted, then those that are undecided, the surest first."""
    open_ones = [verdict for verdict in verdicts if verdict.standing != "trusted"]
    return sorted(open_ones, key=_badness)


def _badness(verdict: Verdict) -> tuple[bool, float]:
    unsure = 1.0 if verdict.p_value is None else verdict.p_value
    return verdict.standing == "undecided", unsure


def audit_costs(report: AuditReport) -> Iterator[str]:
    """Sentences on what an audit cost."""
    tables = f"{visible(report.private)}, compared with {visible(report.synthetic)}"
    return cost_sentences(report.cost, tables)


def chance_sentence(verdicts: Sequence[Verdict], least: int = 0) -> Iterator[str]:
    """How many verdicts noise alone may turn, where that is ``least`` or more; none of a single.

    A verdict is decided, and wrong, with probability at most alpha, so that the sum of the alphas
    bounds how many are on average, whatever the private table holds.  It does not bound their share
    among the decided ones, which are fewer.
    """
    drawn = [verdict for verdict in verdicts if verdict.epsilon]
    wrong = sum(verdict.alpha for verdict in drawn)
    if len(drawn) < 2 or wrong < least:
        return
    alphas = {verdict.alpha for verdict in drawn}
    each = f"{number_text(float(alphas.pop()) * 100, 3)} %" if len(alphas) == 1 else "alpha"
    yield (
        f"Each verdict is decided wrongly with probability {each} at most: of {len(drawn):,}, up "
        f"to {number_text(float(wrong), 2)} on average, however few are decided."
    )


def remarks(verdicts: Sequence[Verdict], notes: Sequence[str]) -> Iterator[str]:
    """Sentences on how to read the verdicts, and the report's own notes."""
    for alpha in sorted({verdict.alpha for verdict in verdicts}):
        level = number_text(float(alpha) * 100, 3)
        yield (
            f"Undecided: p above {level} %, or no p-value. Reliable: wrong at most {level} % of "
            "the time on test tables made from the copy: those whose answer is the copy's, and "
            "those whose answer is two tolerances away."
        )
    yield from chance_sentence(verdicts)
    for note in notes:
        yield visible(note)


def off_by_text(verdict: Verdict, sign: str) -> str:
    """How far the private answer is from the copy's, as far as the verdict's output tells it.

    With its sign and its interval where the answer was estimated, such as ``-339 ±12``; else a
    bound, without a sign.
    """
    if not verdict.is_distance and (gap := signed_gap(verdict, sign)):
        return gap
    if verdict.standing == "undecided":
        return "?"
    if verdict.is_distance:
        if verdict.estimate is not None:
            return amount_text(verdict, verdict.estimate, 2)
        return f"{'<' if verdict.outcome == 'yes' else '>'} {amount_text(verdict, verdict.tau)}"
    return _by_interval(verdict) or _by_margin(verdict)


def _by_interval(verdict: Verdict) -> str:
    """Bound of the gap from the interval of the private answer, empty without one."""
    copy = verdict.q_synthetic
    low = None if verdict.low is None else verdict.low - copy
    high = None if verdict.high is None else verdict.high - copy
    # Of a pass it is told that it is near, however surely it is not the same.
    if verdict.outcome == "no":
        if low is not None and low > 0:
            return f"> {bound_text(low, up=False)}"
        if high is not None and high < 0:
            return f"> {bound_text(-high, up=False)}"
    if low is None or high is None:
        return ""
    return f"< {bound_text(max(-low, high), up=True)}"


def _by_margin(verdict: Verdict) -> str:
    """Gap from the margin of a count, where each person counts one; else the verdict's bound."""
    inside = verdict.outcome == "yes"
    if verdict.aggregate == "COUNT" and verdict.margin is not None and verdict.epsilon:
        gap = verdict.tau - verdict.margin if inside else verdict.tau + 1 - verdict.margin
        return f"about {rounded_text(max(gap, 0), math.sqrt(2) / float(verdict.epsilon))}"
    return f"{'<' if inside else '>'} {number_text(verdict.tau, 3)}"
