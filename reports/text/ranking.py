"""Rankings in words: what all renderings of ``pqd compare`` without queries share."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from pqd.reports.text.cost import cost_sentences
from pqd.reports.text.distances import (
    budget_lines,
    digits_of,
    figure_text,
    level_text,
    reference_text,
    ways_text,
)
from pqd.reports.text.escape import visible
from pqd.reports.text.numbers import number_text, percent_text
from pqd.reports.text.words import counted, listed, undecided_title

if TYPE_CHECKING:
    from pqd.reports.models.ranking import RankedCopy, RankingReport


def headline(report: RankingReport) -> tuple[str, str]:
    """Title and lead: which copy is the best, and how sure that is."""
    if not report.copies:
        return "Nothing was compared", "There is nothing to tell."
    first, others = report.copies[0], [copy.candidate for copy in report.copies[1:]]
    rivals = [name for name in others if (first.candidate, name) not in report.better]
    name, lead = visible(first.candidate), copy_sentence(first)
    if not others:
        quality = percent_text(first.overall.value or 0.0, digits_of(first.overall.estimate))
        title = f"Overall quality of {name}: {quality}"
    elif rivals:
        title = undecided_title([first.candidate, *rivals])
        lead += f" It cannot be told apart from {visible(listed(rivals))} at this epsilon."
    else:
        title = f"{name} is the best of {counted(len(report.copies), 'copy', 'copies')}"
        lead += " It is established that it is better than each of the others."
    return title, lead


def copy_sentence(copy: RankedCopy) -> str:
    """Overall quality of one copy, beside what a fresh sample of it would score."""
    if copy.overall.estimate is None:
        return ""
    return (
        f"{visible(copy.candidate)}: overall quality {figure_text(copy.overall.estimate)}; a fresh "
        f"sample of its own distribution would score {fresh_text(copy)}."
    )


def fresh_text(copy: RankedCopy) -> str:
    """What a fresh sample of a copy's distribution would score."""
    return reference_text(copy.overall.reference, digits_of(copy.overall.estimate))


def better_sentences(report: RankingReport) -> Iterator[str]:
    """Sentences on which copy is established as better than which, and which are not."""
    names = [copy.candidate for copy in report.copies]
    if len(names) < 2:
        return
    if not report.better:
        yield f"{visible(listed(names))} cannot be told apart at this epsilon."
        return
    level = level_text(report.alpha)
    alike: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        worse = tuple(other for other in names if (name, other) in report.better)
        alike.setdefault(worse, []).append(name)
    for worse, better in alike.items():
        verb = "is" if len(better) == 1 else "are each"
        if worse:
            than = visible(listed(worse))
            yield f"{visible(listed(better))} {verb} better than {than}, with probability {level}."
    for run in tied(report):
        yield f"{visible(listed(run))} cannot be told apart at this epsilon."


def tied(report: RankingReport) -> Iterator[list[str]]:
    """Runs of neighbours in the ranking of which none is established as better than the next."""
    names = [copy.candidate for copy in report.copies]
    run = names[:1]
    for before, name in pairwise(names):
        if (before, name) in report.better:
            if len(run) > 1:
                yield run
            run = [name]
        else:
            run.append(name)
    if len(run) > 1:
        yield run


def scores_text(copy: RankedCopy) -> str:
    """Quality of columns, pairs and so on by themselves; empty unless they were asked for."""
    parts = (
        f"{ways_text(score.ways or 0)} {figure_text(score.estimate)}"
        for score in copy.scores
        if score.estimate is not None
    )
    return "; ".join(parts)


def noise_sentence(report: RankingReport) -> str:
    """How well the distances of single marginals are known; empty where there are none."""
    found = [figure for each in report.marginals for figure in each.estimates]
    if not found:
        return ""
    # Some intervals are cut at 0 or at 100 %, so the longer half is what noise alone gives.
    half = median(max(each.high - each.value, each.value - each.low) for each in found)
    about = number_text(100 * half, 2)
    level = level_text(report.alpha)
    return f"Each column and pair is known to about {about} points with probability {level}."


def marginals_text(report: RankingReport) -> str:
    """Marginals that copies are compared by: ``10 columns and all pairs of them``."""
    more = "" if report.ways < 2 else f" and all {ways_text(report.ways)} of them"
    return f"{counted(len(report.columns), 'column')}{more}"


def cost_lines(report: RankingReport) -> Iterator[str]:
    """Sentences on what was spent, and on what."""
    number = counted(len(report.copies), "synthetic table")
    yield from cost_sentences(report.cost, f"{visible(report.private)}, compared with {number}")
    if report.replayed:
        yield "All of this was paid for before."


def paid_lines(report: RankingReport) -> Iterator[str]:
    """Lines on the parts of the budget."""
    return budget_lines(report.budget, report.rows.value)
