"""Profiles in words: what all renderings of ``pqd profile`` share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from pqd.reports.models import standings
from pqd.reports.text.cost import cost_sentences
from pqd.reports.text.distances import (
    DISTANCES,
    budget_lines,
    digits_of,
    figure_text,
    level_text,
    reference_text,
    tolerance_text,
    ways_text,
)
from pqd.reports.text.escape import visible
from pqd.reports.text.numbers import (
    epsilon_option,
    epsilon_text,
    interval_text,
    number_text,
    p_value_text,
    percent_text,
    share_digits,
)
from pqd.reports.text.words import counted

if TYPE_CHECKING:
    from pqd.reports.models.profile import (
        DistanceFacts,
        ProfileReport,
        Score,
    )

_FRESH = "a fresh sample of the copy's own distribution"


def headline(report: ProfileReport) -> tuple[str, str]:
    """Title and lead: the one figure, what it lies in, and what a perfect copy would score."""
    score, count = report.overall, len(report.marginals)
    if not count:
        return "Nothing was profiled", "There is nothing to tell."
    if score.estimate is None:
        enough = sum(each.decidable for each in report.marginals)
        some = "All" if enough == count > 1 else f"{enough:,} of" if enough else "None of"
        title = f"{some} {counted(count, 'distance')} can be decided"
        return title, " ".join(plan_sentences(report))
    digits = digits_of(score.estimate)
    title = f"Overall quality {percent_text(score.estimate.value, digits)}"
    ends = interval_text(score.estimate.low, score.estimate.high, digits)
    lead = (
        f"{ends} % with probability {level_text(report.alpha)}; {_FRESH} would score "
        f"{reference_text(score.reference, digits)}. {counts_sentence(report)}"
    )
    return title, lead


def report_tolerance(report: ProfileReport) -> str:
    """Tolerance of a report, in per cent where its distances have one."""
    return tolerance_text(report.marginals[0].tau) if report.marginals else report.tolerance


def overall_sentence(report: ProfileReport) -> str:
    """The one figure to quote, with its interval, beside what a perfect copy would score."""
    score = report.overall
    if score.estimate is None:
        return ""
    digits = digits_of(score.estimate)
    return (
        f"Overall quality {figure_text(score.estimate)}; {_FRESH} would score "
        f"{reference_text(score.reference, digits)}."
    )


def plan_sentences(report: ProfileReport) -> Iterator[str]:
    """Sentences on what a profile would tell and cost; nothing was spent."""
    tau, synthetic = report_tolerance(report), visible(report.synthetic)
    yield f"Planned on {synthetic} at a tolerance of {tau}; nothing was measured or spent."
    width = number_text(100 * report.overall.half_width, 2)
    yield (
        f"A profile would cost epsilon {epsilon_text(report.cost.epsilon)}; the overall quality "
        f"would be known to about {width} percentage points, and {_FRESH} would score "
        f"{reference_text(report.overall.reference, share_digits(report.overall.half_width))}."
    )


def scores_sentence(report: ProfileReport) -> str:
    """Quality of columns, pairs and so on by themselves."""
    if report.dry or len(report.scores) < 2:
        return ""
    parts = (f"of {ways_text(each.ways or 0)} {score_words(each)}" for each in report.scores)
    return f"{'; '.join(parts).capitalize()}."


def score_words(score: Score) -> str:
    """Score with its interval and its reference."""
    fresh = reference_text(score.reference, digits_of(score.estimate))
    if score.estimate is None:
        return f"fresh sample {fresh}"
    return f"{figure_text(score.estimate)}, fresh sample {fresh}"


def counts_text(distances: Sequence[DistanceFacts]) -> str:
    """Numbers of each standing: ``80 within, 3 beyond, 12 undecided``."""
    counts = Counter(each.standing for each in distances)
    order = standings.passes_first(standings.DISTANCES)
    return ", ".join(f"{counts[each]:,} {each}" for each in order if counts[each]) or "none"


def counts_sentence(report: ProfileReport) -> str:
    """Verdicts of all distances."""
    number = counted(len(report.marginals), "distance")
    tau = report_tolerance(report)
    each = ", each judged by itself" if len(report.marginals) > 1 else ""
    return f"Of {number}{each}, at a tolerance of {tau}: {counts_text(report.marginals)}."


def at_once_sentences(report: ProfileReport) -> Iterator[str]:
    """Sentences on what holds for all distances at once."""
    sure = [each for each in report.marginals if each.at_once]
    level = level_text(report.alpha)
    if report.all_within is not None and report.all_within <= report.alpha:
        p_value = p_value_text(report.all_within, report.alpha)
        yield f"It is established that every distance is within the tolerance ({p_value})."
    elif len(report.marginals) > 1:
        yield f"All at once, with probability {level}: {counts_text(sure)}."


def table_sentences(report: ProfileReport) -> Iterator[str]:
    """Sentences on the private rows: how many, and how many of them the copy cannot have."""
    if report.unseen is not None:
        share = figure_text(report.unseen)
        yield f"Private rows with a value that the copy never has: {share}."
    if report.rows is not None:
        value, low, high = (number_text(round(each)) for each in report.rows)
        copy = number_text(report.copy_rows)
        yield f"The private table has about {value} rows ({low} to {high}), the copy {copy}."
        if round(report.rows[1]) <= 0:
            yield "It may have no row at all, as far as this budget tells: is it the right file?"


def marginal_rows(report: ProfileReport, ways: int) -> list[list[DistanceFacts]]:
    """Distances of each marginal of as many columns, the worst first; total variation leads.

    In a plan the worst are those that need the largest tolerance.
    """
    rows: dict[tuple[str, ...], list[DistanceFacts]] = {}
    for each in report.marginals:
        if len(each.columns) == ways:
            rows.setdefault(each.columns, []).append(each)
    found = [sorted(row, key=lambda each: each.distance != "tv") for row in rows.values()]
    return sorted(found, key=lambda row: -(row[0].tau_min if report.dry else row[0].value or 0.0))


def plan_counts(distances: Sequence[DistanceFacts]) -> str:
    """Numbers of distances that can be decided at the tolerance, and that cannot."""
    enough = sum(each.decidable for each in distances)
    return f"{enough:,} can be decided, {len(distances) - enough:,} cannot"


def distance_sentences(each: DistanceFacts, alpha: Fraction) -> Iterator[str]:
    """Sentences on one distance: the figure, the verdict, and what this epsilon can tell."""
    tau = tolerance_text(each.tau)
    if each.estimate is not None:
        digits = digits_of(each.estimate)
        ends = f"{interval_text(each.estimate.low, each.estimate.high, digits)} %"
        yield (
            f"{DISTANCES[each.distance]} {percent_text(each.estimate.value, digits)}; "
            f"{ends} with probability {level_text(alpha)}"
        )
        of = "of" if each.standing.answer else "at a tolerance of"
        odds = p_value_text(each.p_value, each.alpha)
        yield f"{each.standing.words} {of} {tau}: {odds}"
    if each.reference is not None:
        yield f"{_FRESH} would have {reference_text(each.reference, 1)}"
    yield f"reliable for tolerances of {least_text(each)} or more; {each.cells:,} cells"


def least_text(each: DistanceFacts) -> str:
    """Effectiveness threshold in per cent, ``none`` where no tolerance can be told."""
    return "none" if each.tau_min >= 1 else f"{number_text(100 * each.tau_min, 2)} %"


def paid_lines(report: ProfileReport) -> Iterator[str]:
    """Lines on the parts of the budget."""
    rows = float(report.copy_rows) if report.rows is None else report.rows.value
    named, count = {}, len(report.marginals)
    if any(part.numbers == count + 1 for part in report.budget):
        # One more number of the same release.
        both = f"{counted(count, 'distance')} and the share of unseen values"
        named["distances"] = both
    if report.zoomed:
        named["cells"] = f"the cells of {counted(len(report.zoomed), 'marginal')}"
    if report.target is not None:
        named["target"] = f"the confusion matrix of {visible(report.target.column)}"
    return budget_lines(report.budget, rows, named)


def cost_lines(report: ProfileReport) -> Iterator[str]:
    """Sentences on what was spent, or would be."""
    if not report.dry:
        tables = f"{visible(report.private)}, compared with {visible(report.synthetic)}"
        yield from cost_sentences(report.cost, tables)
        if report.replayed:
            yield "All of this was paid for before."
        return
    yield f"A run would spend epsilon {epsilon_text(report.cost.epsilon)}; this one spent nothing."


def next_step(report: ProfileReport) -> str:
    """What to do next, empty where there is nothing."""
    if report.dry:
        return "Next: the same without --dry-run." if report.private else (
            "Next: pqd profile PRIVATE COPY measures this."
        )  # fmt: skip
    counts = Counter(each.standing.fate for each in report.marginals)
    if counts["failed"] and not report.zoomed:
        zoom = f"--zoom {min(5, counts['failed'])} shows in which cells the worst differ"
        # A fifth of the total is for cells, so four fifths of it must pay for what is known: all of
        # this one, or what its target left.
        known = report.total_epsilon * (1 if report.target is None else Fraction(9, 10))
        more, step = epsilon_option(known * Fraction(5, 4)), epsilon_text(known / 4)
        without = "" if report.target is None else " without --target"
        return f"Next: pqd profile ... --total-epsilon {more} {zoom},{without} for {step} more."
    if counts["open"]:
        return "Next: more --total-epsilon, or another --tau, decides what is undecided."
    return ""
