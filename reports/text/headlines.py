"""What a whole report says, in a title and a sentence or two: pages, notebooks and Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from reports.models.refusals import refused_sentence
from reports.text.compare import listed, percent
from reports.text.escape import visible
from reports.text.numbers import epsilon_text, number_text

if TYPE_CHECKING:
    from reports.models.audit import AuditReport
    from reports.models.compare import ComparedQuery, CompareReport, LeaderboardRow
    from reports.models.plan import PlanReport
    from reports.models.refusals import Refused
    from reports.models.release import ReleaseReport

STANDINGS = ("trusted", "not trusted", "undecided")
KINDS = {"marginals": "reference: independent marginals", "bootstrap": "reference: resampled rows"}


def counted(number: int, one: str, several: str | None = None) -> str:
    """Return ``1 query`` or ``2 queries``."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def tally(standings: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """Return how often each standing occurs, in a fixed order."""
    counts = Counter(standings)
    return tuple((name, counts[name]) for name in STANDINGS)


def audit_headline(report: AuditReport) -> tuple[str, str]:
    """Return how many answers can be trusted, and what became of the others."""
    counts = dict(tally(verdict.standing for verdict in report.verdicts))
    trusted, total = counts["trusted"], len(report.verdicts)
    if not total:
        return "No query was asked", "There is nothing to tell."
    if trusted == total:
        title = "The answer can be trusted" if total == 1 else f"All {total} answers can be trusted"
    elif total == 1:
        title = "The answer is off" if counts["not trusted"] else "The answer is undecided"
    else:
        some = f"{trusted:,}" if trusted else "None"
        title = f"{some} of {counted(total, 'answer')} can be trusted"
    lead = (
        "Trusted means: the private table gives the same answer within the tolerance of "
        f"{visible(report.tolerance)}."
    )
    return title, lead + _others(counts["not trusted"], counts["undecided"]) + _left(report.refused)


def _others(outside: int, undecided: int) -> str:
    parts = []
    if outside:
        parts.append(f"{outside:,} {'is' if outside == 1 else 'are'} outside it")
    if undecided:
        parts.append(f"{undecided:,} could not be decided at this budget")
    return f" {'; '.join(parts)}." if parts else ""


def _left(refused: Sequence[Refused]) -> str:
    sentence = refused_sentence(refused)
    return f" {sentence}." if sentence else ""


def plan_headline(plan: PlanReport) -> tuple[str, str]:
    """Return how many queries can be decided, and what a run would cost."""
    total = len(plan.queries)
    if not total:
        return "No query was planned", "There is nothing to tell."
    if plan.epsilon is None:
        title = f"What {counted(total, 'question')} would need"
        lead = "Each needs about the epsilon shown for its tolerance to be decided."
        return title, lead + _left(plan.refused)
    enough = sum(entry.decidable is True for entry in plan.queries)
    each = epsilon_text(plan.epsilon)
    price = epsilon_text(plan.epsilon * total if plan.price is None else plan.price)
    some = "All" if enough == total > 1 else f"{enough:,} of" if enough else "None of"
    title = f"{some} {counted(total, 'question')} can be decided at epsilon {each} each"
    lead = f"An audit of all of them would cost epsilon {price} in total."
    return title, lead + _left(plan.refused)


def compare_headline(report: CompareReport) -> tuple[str, str]:
    """Return which candidate is within tolerance most often, and how sure that is."""
    ranked = [s for s in report.leaderboard if s.kind == "candidate"] or list(report.leaderboard)
    if not ranked or not report.queries:
        return "Nothing was compared", "There is nothing to tell."
    first = ranked[0]
    lead = share_sentence(first, report.queries)
    others = [standing.candidate for standing in ranked[1:]]
    rivals = [name for name in others if (first.candidate, name) not in report.better]
    if len(ranked) == 1:
        title = f"{percent(first.share)} of the queries hold on {visible(first.candidate)}"
    elif rivals:
        title = f"{visible(first.candidate)} comes first, but not for certain"
        lead += f" It cannot be told apart from {visible(listed(rivals))} at this epsilon."
    else:
        title = f"{visible(first.candidate)} is the best of {counted(len(ranked), 'candidate')}"
        lead += " It is established that it is better than each of the others."
    return title, lead + _left(report.refused)


def release_headline(report: ReleaseReport) -> tuple[str, str]:
    """Return how many answers there are for which budget, and how far they can be off."""
    total = len(report.queries)
    if not total:
        return "No query was answered", "There is nothing to tell."
    title = f"{counted(total, 'private answer')} for epsilon {epsilon_text(report.epsilon)}"
    lead = "It is noisy; " if total == 1 else "Each is noisy; "
    held = f"the exact answer with probability {number_text(100 * (1 - report.alpha), 4)} %."
    bounded = sum(query.low is not None for query in report.queries)
    if bounded == total:
        lead += f"the interval beside it holds {held}"
    elif bounded:
        lead += (
            f"{bounded:,} of them {'has' if bounded == 1 else 'have'} an interval that holds {held}"
        )
    else:
        lead += "no theory gives an interval here, only a rehearsal tells how far it may be off."
    if all(batch.replayed for batch in report.batches):
        lead += " All of this was paid for before."
    return title, lead + _left(report.refused)


def share_sentence(standing: LeaderboardRow, queries: Sequence[ComparedQuery]) -> str:
    """Return the share of a candidate and what it lies in."""
    weighed = " by weight" if len({query.weight for query in queries}) > 1 else ""
    between = f"between {percent(standing.low)} and {percent(standing.high)}"
    return (
        f"{visible(standing.candidate)} is within tolerance on {percent(standing.share)} of "
        f"{counted(len(queries), 'query', 'queries')}{weighed}; the true share lies {between}."
    )


def gap_text(gap: float | None) -> str:
    """Return an estimated gap with its sign."""
    if gap is None:
        return "not released"
    return f"{'+' if gap > 0 else ''}{number_text(gap, 4)}"


def between_text(low: float | None, high: float | None) -> str:
    """Return ``between 3 and 5``, or what is known of it."""
    if low is None and high is None:
        return "nothing bounds it"
    if low is None:
        return f"at most {number_text(high or 0, 4)}"
    if high is None:
        return f"at least {number_text(low, 4)}"
    return f"between {number_text(low, 4)} and {number_text(high, 4)}"


def worst_first(standings: Sequence[str]) -> str:
    """Return the standing that a reader must see first."""
    order = ("not trusted", "undecided", "trusted")
    return next((name for name in order if name in standings), "undecided")
