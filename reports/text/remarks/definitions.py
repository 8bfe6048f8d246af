"""Definitions of what profiles and rankings show, and of the same figures in other tools."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from pqd.reports.text.distances import level_text, ways_text
from pqd.reports.text.numbers import epsilon_option, number_text
from pqd.reports.text.profile import report_tolerance
from pqd.reports.text.words import listed

if TYPE_CHECKING:
    from pqd.reports.models.profile import ProfileReport
    from pqd.reports.models.ranking import RankingReport

Definition = tuple[str, str]

_TOTAL_VARIATION = (
    "The share of the rows that would have to change their cell until both tables have the same "
    "shares: 0 % is alike, at 100 % they have nothing in common."
)
_DISTANCES: dict[str, Definition] = {
    "tv": ("Total variation", _TOTAL_VARIATION),
    "ks": (
        "Kolmogorov-Smirnov",
        "For ordered columns: the largest gap between the shares of rows up to one value.",
    ),
    "emd": (
        "Earth mover's",
        "For bounded columns: how far values must move on average, in per cent of the range.",
    ),
}
_FRESH = (
    "What as many rows as the private table has would show, were they drawn from the copy's own "
    "distribution: about the best that a copy can reach."
)
_VERDICT = "The verdict: whether the true distance is below"
_P_VALUE = "How often noise alone would give a verdict this clear if the opposite were true."
_INTERVAL = (
    "What is said of the private table is noisy. The interval holds the true figure with "
    "probability"
)
_CELLS = (
    "Of many cells noise alone makes some look wrong. Those that are shaded, bold or listed differ "
    "by more than noise makes any of them differ, with probability"
)
_PROMISE = (
    "Differential privacy: had any one person's data been missing or added, no outcome would have "
    "been"
)
_ADDS_UP = "Whatever else is asked of the same table adds to this epsilon."
# How the figures are called elsewhere; those tools read the private table as it is.
RELATIONS: tuple[Definition, ...] = (
    ("SDMetrics", "TVComplement, ContingencySimilarity: 1 - TV. KSComplement: 1 - KS."),
    (
        "mostlyai-qa",
        "Accuracy is the mean of 1 - TV on ten bins; its upper bound is that of a fresh sample.",
    ),
    ("SDNist", "The k-marginal score is 1,000 times the mean of 1 - TV over sampled marginals."),
)


def profile_definitions(report: ProfileReport) -> Iterator[Definition]:
    """Names of what a profile shows, each with its meaning."""
    level, alpha = level_text(report.alpha), number_text(100 * report.alpha, 3)
    for distance in dict.fromkeys(each.distance for each in report.marginals):
        yield _DISTANCES[distance]
    kinds = [f"all {ways_text(each.ways or 0)}" for each in report.scores]
    alike = ", each kind counting alike" if len(kinds) > 1 else ""
    yield (
        "Overall quality",
        f"100 % minus the mean of the total variations of {listed(kinds)}{alike}.",
    )
    yield "Fresh sample", _FRESH
    if report.dry:
        least = (
            "The effectiveness threshold: the least tolerance at which a distance of 0 and one of "
            f"twice the tolerance are told apart, wrong at most {alpha} % of the time."
        )
        yield "Threshold", least
        return
    tau = report_tolerance(report)
    yield "yes, NO, ?", f"{_VERDICT} {tau}. ? is undecided: p is above {alpha} %."
    yield "p", f"{_P_VALUE} Small is sure."
    yield "Interval", f"{_INTERVAL} {level}, each by itself."
    if report.zoomed:
        yield "Worst cells", f"{_CELLS} {level} for each marginal. The JSON report has all cells."
    yield "At once", f"What holds together, with probability {level} for all of it (Bonferroni)."
    yield "What is promised", promise(report.total_epsilon, report.cost.delta)


def ranking_definitions(report: RankingReport) -> Iterator[Definition]:
    """Names of what a ranking shows, each with its meaning."""
    level = level_text(report.alpha)
    over = listed([f"all {ways_text(ways)}" for ways in range(1, report.ways + 1)])
    alike = ", each kind counting alike" if report.ways > 1 else ""
    yield "Quality", f"100 % minus the mean of the total variations of {over}{alike}."
    yield "Total variation", _TOTAL_VARIATION
    yield "Fresh sample", _FRESH
    yield "Interval", f"{_INTERVAL} {level}, each by itself."
    yield (
        "Rank, better",
        f"What is established for all pairs of copies at once, with probability {level} (Holm).",
    )
    epsilon = sum((part.epsilon for part in report.budget), Fraction(0))
    yield "What is promised", promise(epsilon, report.cost.delta)


def promise(epsilon: Fraction, delta: Fraction) -> str:
    """Sentences on what differential privacy promises at this price."""
    but = f", but for a chance of {float(delta):.3g}," if delta else ""
    times = f"more than exp({epsilon_option(epsilon)}) times as probable"
    return f"{_PROMISE}{but} {times}. {_ADDS_UP}"
