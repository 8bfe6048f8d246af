"""Comparisons in words: what all renderings of ``pqd compare`` share."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pqd.reports.models.standings import Standing
from pqd.reports.text.cost import cost_sentences
from pqd.reports.text.escape import visible
from pqd.reports.text.notes import refused_lead
from pqd.reports.text.numbers import (
    end_text,
    number_text,
    p_value_text,
    percent,
    share_text,
    threshold_text,
)
from pqd.reports.text.query import distance_text, query_text
from pqd.reports.text.words import counted, listed, undecided_title

if TYPE_CHECKING:
    from pqd.reports.models.compare import Cell, ComparedQuery, CompareReport, LeaderboardRow

KINDS = {"marginals": "reference: independent marginals", "bootstrap": "reference: resampled rows"}
SIGNS = f"{Standing.TRUSTED.sign} within tolerance, {Standing.NOT_TRUSTED.sign} outside"
_WIDEST = 9


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table with one sign per candidate, in the leaderboard's order."""

    candidates: tuple[str, ...]
    titles: tuple[str, ...]
    legend: tuple[str, ...]

    @property
    def width(self) -> int:
        """Width of each, in cells."""
        return max(5, 2 + max(map(len, self.titles), default=0))


def column_names(report: CompareReport) -> Columns:
    """Short titles of the candidates: their names, or letters where these are long."""
    names = tuple(row.candidate for row in report.leaderboard)
    shown = tuple(visible(name) for name in names)
    if all(len(name) <= _WIDEST and " " not in name for name in shown) and len(names) <= 5:
        return Columns(names, shown, ())
    letters = tuple(_letter(place) for place in range(len(names)))
    legend = ", ".join(f"{a} {name}" for a, name in zip(letters, shown, strict=True))
    return Columns(names, letters, (legend,))


def _letter(place: int) -> str:
    return chr(ord("A") + place) if place < 26 else f"#{place + 1}"


def cell_sign(cell: Cell) -> str:
    """Sign of a verdict, in brackets where it is undecided."""
    return cell.standing.sign if cell.standing.answer else f"({cell.leaning.sign})"


def tie_sentences(report: CompareReport) -> Iterator[str]:
    """Sentences on who is better than whom, and who cannot be told apart."""
    names = [row.candidate for row in report.leaderboard]
    if len(names) < 2:
        return
    if not report.better:
        yield f"{listed(names)} cannot be told apart at this epsilon."
        return
    for name in names:
        worse = [other for other in names if (name, other) in report.better]
        if worse:
            yield f"{name} is better than {listed(worse)}."
    for run in report.tied:
        yield f"{listed(run)} cannot be told apart at this epsilon."


def named_sentence(report: CompareReport) -> Iterator[str]:
    """Sentence per candidate on where it is closest and where it is farthest off."""
    for row in report.leaderboard:
        parts = []
        if row.wins:
            more = len(row.wins) - 3
            rest = f" and {more} more" if more > 0 else ""
            parts.append(f"closest on {', '.join(row.wins[:3])}{rest}")
        if row.worst:
            parts.append(f"farthest off on {', '.join(row.worst)}")
        if parts:
            yield f"{row.candidate}: {'; '.join(parts)}."


def query_sentences(query: ComparedQuery) -> Iterator[str]:
    """Sentences on one query beside its candidates."""
    yield query_text(query.aggregate, query.attribute, query.p, query.where)
    if query.estimate is not None:
        yield f"private answer about {number_text(query.estimate)}{_ends(query.low, query.high)}"
    yield f"estimated by {query.estimator}: {query.reason}"
    others = ", ".join(f"{facts.estimator} {share_text(facts.error)}" for facts in query.estimators)
    yield f"wrong at most, on test tables made from the copies: {others}"
    if query.tau_min is not None:
        yield reliable_text(query.tau_min)
    if query.replayed:
        yield "replayed: it was paid for before"


def worst_compared(queries: Sequence[ComparedQuery]) -> list[ComparedQuery]:
    """Queries that some candidate is not trusted on, those of the most such candidates first."""

    def badness(query: ComparedQuery) -> tuple[int, int]:
        fates = [cell.standing.fate for cell in query.cells]
        return -fates.count("failed"), fates.count("passed")

    return sorted((q for q in queries if badness(q)[1] < len(q.cells)), key=badness)


def reliable_text(threshold: float) -> str:
    """Tolerances at which an estimator is reliable."""
    if math.isinf(threshold):
        return "reliable at no tolerance at this epsilon"
    return f"reliable for tolerances of {threshold_text(threshold)} or more"


def cell_sentence(cell: Cell, query: ComparedQuery, sign: str = "±") -> str:
    """Verdict on one candidate, and how far it is off."""
    standing = cell.standing
    verdict = f"{standing.badge.text}, {standing.words}"
    if not standing.answer:
        verdict = f"{standing.words}, leans {cell.leaning.badge.text}"
    parts = [verdict]
    parts[0] += f" ({p_value_text(cell.p_value, cell.alpha)})"
    if cell.q_synthetic is None:
        return f"{verdict}: it has no answer, since no row of it matches"
    parts.append(f"answer {number_text(cell.q_synthetic)} {sign}{number_text(cell.tau, 3)}")
    if cell.gap is not None:
        parts.append(f"gap about {number_text(cell.gap, 4)}{_ends(cell.gap_low, cell.gap_high)}")
    elif cell.margin is not None:
        distance = distance_text(cell.margin, cell.outcome, query.counted)
        parts.append(f"about {distance} away from the opposite verdict")
    return "; ".join(parts)


def _ends(low: float | None, high: float | None) -> str:
    if low is None and high is None:
        return ""
    if high is None:
        return f" (at least {end_text(low or 0, up=False)})"
    if low is None:
        return f" (at most {end_text(high, up=True)})"
    return f" ({end_text(low, up=False)} to {end_text(high, up=True)})"


def how_to_read(report: CompareReport) -> Iterator[str]:
    """Sentences on what signs, bands and ranks mean."""
    level = number_text(float(report.alpha) * 100, 3)
    yield (
        f"{SIGNS}. Brackets mark an undecided "
        f"verdict (p above {level} %) and show which way it leans; the share counts it that way."
    )
    sure = number_text(100 - float(report.alpha) * 100, 4)
    yield (
        f"The true shares lie in all their ranges at once with probability {sure} % or more. Ranks "
        "and 'better' hold for all candidates at once in the same sense."
    )


def headline(report: CompareReport) -> tuple[str, str]:
    """Title and lead: the candidate that is within tolerance most often, and how sure that is."""
    ranked = [row for row in report.leaderboard if row.kind == "candidate"] or list(
        report.leaderboard
    )
    if not ranked or not report.queries:
        return "Nothing was compared", "There is nothing to tell."
    first = ranked[0]
    lead = share_sentence(first, report.queries)
    others = [row.candidate for row in ranked[1:]]
    rivals = [name for name in others if (first.candidate, name) not in report.better]
    if len(ranked) == 1:
        title = f"{percent(first.share)} of the queries hold on {visible(first.candidate)}"
    elif rivals:
        title = undecided_title([first.candidate, *rivals])
        lead += f" It cannot be told apart from {visible(listed(rivals))} at this epsilon."
    else:
        title = f"{visible(first.candidate)} is the best of {counted(len(ranked), 'candidate')}"
        lead += " It is established that it is better than each of the others."
    return title, lead + refused_lead(report.refused)


def share_sentence(row: LeaderboardRow, queries: Sequence[ComparedQuery]) -> str:
    """Sentence on the share of a candidate and what it lies in."""
    weighed = " by weight" if len({query.weight for query in queries}) > 1 else ""
    low, high = percent(row.low), percent(row.high)
    true = f"is {low} too" if low == high else f"lies between {low} and {high}"
    return (
        f"{visible(row.candidate)} is within tolerance on {percent(row.share)} of "
        f"{counted(len(queries), 'query', 'queries')}{weighed}; the true share {true}."
    )


def compare_costs(report: CompareReport, tables: str) -> Iterator[str]:
    """Sentences on what a comparison cost, and what is taken as public."""
    for sentence in cost_sentences(report.cost, tables):
        yield sentence.replace(", taken as public", "; candidates are taken as public")
