"""Releases in words: what all renderings of ``pqd release`` share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING

from pqd.reports.text.escape import visible
from pqd.reports.text.notes import refused_lead
from pqd.reports.text.numbers import end_text, epsilon_option, epsilon_text, number_text, plain
from pqd.reports.text.query import grouped_text, query_text
from pqd.reports.text.words import counted, gap_text

if TYPE_CHECKING:
    from pqd.reports.models.release import ReleasedBatch, ReleasedQuery, ReleaseReport

SIMULATED = "SIMULATED: these answers come from seeded noise and protect nobody."
_ANSWER = (
    "The exact answer and noise, drawn once, in whole units; below 0 it is 0, where the exact one "
    "cannot be negative. Answers to overlapping queries need not agree with each other."
)
_UNBOUNDED = (
    "No theory gives one here: of how far the answer may be off, only the simulated error is known."
)
_TRUNCATED = (
    "The mechanism found T privately and cut larger values off; by how much that lowers the sum is "
    "not known."
)
_SIMULATED_ERROR = (
    "How far a mechanism's answers lie from the exact ones on average, simulated on the copy, "
    "which costs nothing. It holds for tables shaped like the copy."
)
_PROMISE = (
    "Differential privacy: had any one row been missing or added, no outcome would have been more "
    "than"
)
_ADDS_UP = "Whatever else is asked of the same table adds to this epsilon."


def level_text(alpha: Fraction) -> str:
    """Probability with which an interval holds the exact answer, such as ``95 %``."""
    return f"{number_text(100 * (1 - alpha), 4)} %"


def interval_text(query: ReleasedQuery, between: str = "to") -> str:
    """Interval of the exact answer, empty where the theory gives no such ends."""
    if query.low is None or query.high is None:
        return ""
    low, high = end_text(query.low, 6, up=False), end_text(query.high, 6, up=True)
    return f"{low} {between} {high}"


def missed_text(report: ReleaseReport) -> str:
    """Sentence on how many intervals miss the exact answer, empty of a single one."""
    bounded = sum(query.low is not None for query in report.queries)
    if bounded < 2:
        return ""
    chance, missed = (
        number_text(100 * report.alpha, 3),
        number_text(float(bounded * report.alpha), 2),
    )
    return (
        f"Each interval misses with probability {chance} % at most: of {bounded:,}, up to "
        f"{missed} on average."
    )


def noise_text(query: ReleasedQuery, sign: str = "±") -> str:
    """Standard deviation of the noise, empty where the theory gives none."""
    return "" if query.deviation is None else f"{sign}{number_text(query.deviation, 3)}"


def difference(query: ReleasedQuery) -> int | float:
    """Private answer less the synthetic one, to the digits that both are given with."""
    return plain(Fraction(repr(query.answer)) - Fraction(repr(query.q_synthetic)))


def truncation_text(query: ReleasedQuery) -> str:
    """Values that were cut off, empty where none were."""
    if query.threshold is None:
        return ""
    above = number_text(query.threshold)
    if query.lower_threshold is None:
        return f"values above {above} count as {above}"
    below = number_text(query.lower_threshold)
    return f"values below {below} count as {below}, and values above {above} as {above}"


def tables_text(report: ReleaseReport) -> str:
    """Tables of a release, and what each was for."""
    return f"{visible(report.private)}; row classes come from {visible(report.synthetic)}"


def batch_sentence(batch: ReleasedBatch) -> str:
    """Mechanism of a batch, and why it was chosen."""
    return f"answered by {batch.mechanism}{classes_text(batch, ' on ')}: {batch.reason}"


def classes_text(batch: ReleasedBatch, before: str = "") -> str:
    """Number of row classes that a mechanism tells apart, empty where it knows none."""
    if batch.classes is None:
        return ""
    return f"{before}{counted(batch.classes, 'row class', 'row classes')}"


def error_text(error: float) -> str:
    """Simulated error of a mechanism."""
    return number_text(error, 3)


def query_sentences(query: ReleasedQuery, report: ReleaseReport) -> Iterator[str]:
    """Sentences on one answer beside its number and its noise."""
    if within := interval_text(query):
        yield f"with probability {level_text(report.alpha)} the exact answer lies in {within}"
    if cut := truncation_text(query):
        yield f"{cut}; by how much that changes the sum is not known"
    yield synthetic_sentence(query)
    batch = next(one for one in report.batches if one.name == query.batch)
    yield (
        f"answered by {batch.mechanism}, {counted(batch.queries, 'query', 'queries')} together; "
        f"their simulated error is {error_text(batch.error)}"
    )


def synthetic_sentence(query: ReleasedQuery) -> str:
    """Sentence on how the synthetic answer compares with the private one."""
    gap = difference(query)
    size, side = gap_text(abs(gap)).removeprefix("+"), "more" if gap > 0 else "less"
    text = f"synthetic answer {number_text(query.q_synthetic)}; "
    text += f"the private answer is {size} {side}" if gap else "the private answer is the same"
    if query.low is None or query.high is None:
        return text
    inside = query.low <= query.q_synthetic <= query.high
    return f"{text}; the synthetic one lies {'inside' if inside else 'outside'} the interval"


def runs(queries: Sequence[ReleasedQuery]) -> list[list[ReleasedQuery]]:
    """Queries in runs, the groups of one together."""

    def owner(query: ReleasedQuery) -> tuple[bool, str]:
        return (True, query.block) if query.block is not None else (False, query.id)

    return [list(run) for _, run in groupby(queries, key=owner)]


def query_words(query: ReleasedQuery) -> str:
    """Query in words; of a group, the query that it belongs to."""
    if query.block is None:
        return query_text(query.aggregate, query.attribute, None, query.where)
    return grouped_text(query.aggregate, query.attribute, None, query.block_sql)


def how_to_read(report: ReleaseReport) -> Iterator[tuple[str, str]]:
    """Names of what is shown, each with its meaning."""
    queries, level = report.queries, level_text(report.alpha)
    yield "Private answer, noisy", _ANSWER
    if any(query.low is not None for query in queries):
        missed = number_text(100 * report.alpha, 3)
        text = f"The exact answer lies in it with probability {level}, for each query by itself:"
        yield f"{level} interval", f"{text} of many intervals about {missed} % miss."
    if any(query.low is None for query in queries):
        yield "No interval", _UNBOUNDED
    if any(query.deviation is not None for query in queries):
        yield "Noise", "The standard deviation of the noise, around the sum of truncated values."
    if any(query.threshold is not None for query in queries):
        yield "Values above T", _TRUNCATED
    yield "Difference", "The private answer less the synthetic one; it is as noisy as the former."
    yield "Simulated error", _SIMULATED_ERROR
    times = f"exp({epsilon_option(report.total_epsilon)}) times as probable"
    yield "What is promised", f"{_PROMISE} {times}. {_ADDS_UP}"


def headline(report: ReleaseReport) -> tuple[str, str]:
    """Title and lead: how many answers for which budget, and how far they can be off."""
    total = len(report.queries)
    if not total:
        return "No query was answered", "There is nothing to tell."
    title = f"{counted(total, 'private answer')} for epsilon {epsilon_text(report.total_epsilon)}"
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
        lead += "no theory gives an interval here; the simulated error tells how far it may be off."
    if missed := missed_text(report):
        lead += f" {missed}"
    if all(batch.replayed for batch in report.batches):
        lead += " All of this was paid for before."
    return title, lead + refused_lead(report.refused)
