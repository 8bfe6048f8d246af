"""Document of a release: each answer beside the copy's, and the mechanism of each batch."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from pqd.deciders.options import option
from pqd.reports.blocks import (
    Bars,
    Block,
    Cell,
    Closing,
    Code,
    Column,
    Definitions,
    Document,
    Group,
    Grouping,
    Key,
    Line,
    Lines,
    Picture,
    Row,
    Section,
    Table,
)
from pqd.reports.documents.queries import UNKNOWN, omitted_queries
from pqd.reports.documents.shared import budget_bar, explain_step, lines
from pqd.reports.text.cost import (
    account_sentences,
    amount_text,
    budget_sentence,
    cost_sentences,
    meaning_sentence,
    promise,
    spent_cell,
    spent_text,
)
from pqd.reports.text.distances import level_text
from pqd.reports.text.notes import refused_lead
from pqd.reports.text.numbers import (
    counted,
    end_text,
    epsilon_text,
    gap_text,
    number_text,
    plain,
    to_digits_of,
)
from pqd.reports.text.query import SIMULATED, grouped_text, query_text, span_text, within_text

if TYPE_CHECKING:
    from pqd.reports.models.release import ReleasedBatch, ReleasedQuery, ReleaseReport

_ANSWER = (
    "The exact answer and noise, drawn once, in whole units; below 0 it is 0, where the exact one "
    "cannot be negative. Answers to overlapping queries need not agree with each other."
)
_UNBOUNDED = (
    "No theory gives one here: of how far the answer may be off, only the simulated error is known."
)
_CUT = (
    "The mechanism found these ends privately, and values beyond them count as the nearer end; by "
    "how much that changes the sum is not known."
)
_ORDERED = (
    "Of queries each of which selects all rows of the one before, the answers were made "
    "non-decreasing: the nearest such answers to those released. Interval and noise are those of "
    "the answers as released, so an answer may lie outside its interval."
)
_WEIGHED = (
    "How much the error of an answer matters: budgets are shared, mechanisms are chosen and the "
    "simulated errors of a batch are averaged by weight."
)
_ERRS = (
    "Where values are cut off: how far such answers to this query lie from the exact one on "
    "average, simulated on the copy, the noise and what is cut off together."
)
_CONDITION = (
    "Within: bounds from the copy, to which private values were cut; how many lie beyond is not "
    "known."
)
_SIMULATED_ERROR = (
    "How far a mechanism's answers lie from the exact ones on average, simulated on the copy, "
    "which costs nothing. It holds for tables shaped like the copy."
)
_RELATIVE_ERROR = (
    " Of a batch of several measures it is per cent of the error that a batch for each measure has "
    "at its share of epsilon, on average."
)
# If the copy's answer is more half-widths of the interval away, the picture leaves it out.
_FAR = 4.0
# Factor that widens the scale, so that both ends have free space.
_MARGIN = 1.08


def document(report: ReleaseReport) -> Document:
    """Document of ``report``."""
    title, lead = _headline(report)
    replayed = [batch.replayed for batch in report.batches]
    known = replayed if all(replayed) else ()
    answers = counted(len(report.queries), "private answer")
    return Document(
        kind="release",
        title=title,
        lead=lead,
        subject=f"{answers} beside {report.synthetic}",
        spent=spent_text(report.cost, known),
        opening=[Line(_opening(report), "detail")],
        banner=[Line(SIMULATED, "warning")] if report.simulated else [],
        facts=[
            ("Private table", report.private),
            ("Synthetic table", report.synthetic),
            ("Queries", f"{len(report.queries):,}"),
            ("Batches", str(len(report.batches))),
            ("Epsilon spent", spent_cell(report.cost)),
        ],
        meaning=meaning_sentence(report.cost),
        body=[
            Section(title="Answers", blocks=[_answers(report)], brief=False),
            *_batches(report),
        ],
        omitted=omitted_queries(report.refused),
        notes=lines(map(str, report.notes)),
        account=lines(account_sentences(report.cost, report.private, known)),
        budget=budget_bar(report.cost),
        cost=[Lines(lines(cost_sentences(report.cost, _tables_text(report))))],
        reading=[Definitions(list(_how_to_read(report)))],
        closing=_closing(report),
        made=report.cost.day or "",
        replays="answers" if report.cost.ledger is not None else "",
        unknown=UNKNOWN,
    )


def _opening(report: ReleaseReport) -> str:
    """Sentences on the meaning of the columns of the table."""
    text = "Answers are noisy."
    if any(query.low is not None for query in report.queries):
        level = level_text(report.alpha)
        text = f"Answers are noisy; the exact one lies in its interval with probability {level}."
        text = " ".join(filter(None, (text, _missed_text(report))))
    if any(query.condition for query in report.queries):
        text = f"{text} {_CONDITION}"
    if any(query.threshold is not None for query in report.queries):
        where = option("--explain")
        text += f" Values that are very large are cut off in sums ({where} tells where)."
    return text


def _answers(report: ReleaseReport) -> Table:
    # If every answer has an interval, the noise adds little, so its column is left out early.
    bounded = all(query.low is not None for query in report.queries)
    members: dict[str, list[ReleasedQuery]] = {batch.name: [] for batch in report.batches}
    for query in report.queries:
        members[query.batch].append(query)
    return Table(
        columns=(
            Column("query", "name", fold=20),
            Column("private answer", "number"),
            Column(f"{level_text(report.alpha)} interval", "number"),
            Column("noise", "number", drop=4 if bounded else 1),
            Column("copy", "number", drop=2),
            Column("difference", "number", drop=5),
            Column("cut at", "number", drop=3),
            Column("within", "number"),
        ),
        groups=[
            Group(rows=[_row(query, batch, report) for query in members[batch.name]], fate="always")
            for batch in report.batches
        ],
        find="id or words of a query",
        in_full=True,
        empty="No query was answered.",
    )


def _row(query: ReleasedQuery, batch: ReleasedBatch, report: ReleaseReport) -> Row:
    """Row of an answer, rounded to the digits that its interval or its noise makes meaningful."""
    width = None if query.low is None or query.high is None else query.high - query.low
    scale = (query.deviation or 0) if width is None else width
    gap = _difference(query)
    cells = (
        Cell(query.id),
        Cell(to_digits_of(query.answer, scale), float(query.answer), strong=True),
        # The column is sorted by the width of the interval.
        Cell(_interval_text(query), None if width is None else float(width)),
        Cell(_noise_text(query), query.deviation if query.threshold is None else query.error),
        Cell(to_digits_of(query.q_synthetic, scale), float(query.q_synthetic)),
        Cell(gap_text(gap), float(gap)),
        Cell(_cut_text(query), None if query.threshold is None else float(query.threshold)),
        Cell(span_text(query.condition) if query.condition else ""),
    )
    return Row(
        id=query.id,
        cells=cells,
        asks=query_text(query),
        marks=("SIMULATED",) if report.simulated else (),
        names=(query.batch,),
        grouping=_grouping(query),
        member=query.group or query.id,
        details=lambda: _details(query, batch, report),
    )


def _grouping(query: ReleasedQuery) -> Grouping | None:
    if query.block is None:
        return None
    asks, line = grouped_text(query, None), grouped_text(query, query.block_sql)
    return Grouping(query.block, asks, line, query.block_sql or "")


def _details(query: ReleasedQuery, batch: ReleasedBatch, report: ReleaseReport) -> Iterator[Block]:
    """Blocks on one answer: a picture, sentences, and the SQL of the query."""
    yield from _picture(query, report)
    sentences = [
        _answer_sentence(query, report.alpha),
        _order_sentence(query),
        _truncation_sentence(query),
        _synthetic_sentence(query),
    ]
    number = counted(batch.queries, "query", "queries")
    weight = "" if query.weight == 1 else f", this one with weight {number_text(query.weight)}"
    how = f"answered by {batch.mechanism}, {number} together{weight}"
    error = f"their simulated error is {_error_text(batch, batch.error)}"
    yield Lines([*lines(sentences), Line(f"{how}; {error}", "detail")])
    yield Code("Query", query.sql)


def _picture(query: ReleasedQuery, report: ReleaseReport) -> Iterator[Bars]:
    """Picture of the interval and of both answers; nothing if there is no interval."""
    if query.low is None or query.high is None:
        return
    answer, copy = float(query.answer), float(query.q_synthetic)
    low, high = float(query.low), float(query.high)
    half = max(answer - low, high - answer) or 1.0
    reach = max(half, min(abs(copy - answer), _FAR * half)) * _MARGIN
    scale = answer - reach, answer + reach
    far = not scale[0] <= copy <= scale[1]
    level = f"{level_text(report.alpha)} interval {_interval_text(query)}"
    private = f"private answer {number_text(query.answer)}"
    synthetic = f"synthetic answer {number_text(query.q_synthetic)}"
    label = f"{private}, {level}; {synthetic}"
    picture = Picture(scale, answer, low, high, mark=copy, style="strip", label=label)
    keys = [
        Key([("estimate", "")], private),
        Key([("between", "")], level),
        Key([("aside", "")], f"{synthetic}, too far off to show")
        if far
        else Key([("answer", "")], synthetic),
    ]
    yield Bars([("", picture)], keys)


def _batches(report: ReleaseReport) -> Iterator[Section]:
    """Section on the batches: the mechanism of each, and why it was chosen."""
    if not report.batches:
        return
    table = Table(
        columns=(
            Column("batch", "name"),
            Column("queries", "number"),
            Column("epsilon", "number"),
            Column("delta", "number", drop=1),
            Column("mechanism"),
            Column("simulated error", "number"),
        ),
        groups=[Group(rows=[_batch(batch, report) for batch in report.batches], fate="always")],
        in_full=True,
    )
    yield Section(title="How they were answered", blocks=[table], folded=True, drop=1)


def _batch(batch: ReleasedBatch, report: ReleaseReport) -> Row:
    queries = [query for query in report.queries if query.batch == batch.name]
    names = (name for query in queries for name in (query.id, query.block) if name)
    number = counted(batch.queries, "query", "queries")
    delta = float(batch.delta)
    cells = (
        Cell(batch.name),
        Cell(f"{batch.queries:,}", batch.queries),
        Cell(epsilon_text(batch.epsilon), float(batch.epsilon)),
        Cell(f"{delta:.3g}", delta) if delta else Cell(),
        Cell(batch.mechanism),
        Cell(_error_text(batch, batch.error), batch.error),
    )
    return Row(
        id=batch.name,
        cells=cells,
        aside=f"{number} together at {amount_text(batch.epsilon, batch.delta)}",
        marks=("replayed",) if batch.replayed else (),
        aliases=tuple(dict.fromkeys(names)),
        remark=_batch_sentence(batch),
        details=lambda: _rivals(batch),
    )


def _rivals(batch: ReleasedBatch) -> Iterator[Block]:
    """Table of the mechanisms that could have answered, with the used mechanism marked."""
    rows = [
        Row(
            id=rival.mechanism,
            cells=(Cell(rival.mechanism), Cell(_error_text(batch, rival.error), rival.error)),
            marks=("used",) if rival.mechanism == batch.mechanism else (),
        )
        for rival in sorted(batch.simulated_errors, key=lambda rival: rival.error)
    ]
    yield Table(
        columns=(Column("mechanism", "name"), Column("simulated error", "number")),
        groups=[Group(rows=rows, fate="always")],
        label="Mechanisms that fit",
    )
    if classes := _classes_text(batch):
        yield Lines([Line(f"The mechanism tells {classes} apart.", "detail")])


def _closing(report: ReleaseReport) -> Closing:
    parts = [
        f"{counted(batch.queries, 'query', 'queries')} at "
        f"{amount_text(batch.epsilon, batch.delta)} ({batch.mechanism})"
        for batch in report.batches
    ]
    return Closing(
        counts=f"Answered together: {'; '.join(parts)}." if parts else "Nothing was answered.",
        step=explain_step("pqd release ...", report.queries[0].id) if report.queries else "",
        budget=budget_sentence(report.cost, report.private),
    )


# Sentences


def _missed_text(report: ReleaseReport) -> str:
    """Sentence on how many intervals miss the exact answer; empty if there are fewer than two."""
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


def _interval_text(query: ReleasedQuery) -> str:
    """Interval of the exact answer; empty if the theory gives no interval."""
    if query.low is None or query.high is None:
        return ""
    return f"{end_text(query.low, 6, up=False)} to {end_text(query.high, 6, up=True)}"


def _noise_text(query: ReleasedQuery) -> str:
    """Standard deviation of the noise, such as ``±12``; empty if the theory gives none.

    If values are cut off, the noise is only the smaller part of the error, and it is 0 if every
    value counts as 0.  Then the text is the simulated error of the query, such as ``errs 12``.
    """
    if query.threshold is not None and query.error is not None:
        return f"errs {number_text(query.error, 3)}"
    return "" if query.deviation is None else f"±{number_text(query.deviation, 3)}"


def _cut_text(query: ReleasedQuery) -> str:
    """Ends at which values were cut off, such as ``0 to 500``; empty if none were."""
    ends = query.lower_threshold, query.threshold
    return " to ".join(number_text(end) for end in ends if end is not None)


def _truncation_sentence(query: ReleasedQuery) -> str:
    """Sentence on the values that were cut off; empty if none were."""
    if query.threshold is None:
        return ""
    if not query.threshold and not query.lower_threshold:
        return "every value counts as 0, so the answer tells nothing of the sum"
    above = number_text(query.threshold)
    cut = f"values above {above} count as {above}"
    if query.lower_threshold is not None:
        below = number_text(query.lower_threshold)
        cut = f"values below {below} count as {below}, and values above {above} as {above}"
    return f"{cut}; by how much that changes the sum is not known"


def _difference(query: ReleasedQuery) -> int | float:
    """Private answer minus the synthetic one, exact in the decimal digits of both."""
    return plain(Fraction(repr(query.answer)) - Fraction(repr(query.q_synthetic)))


def _answer_sentence(query: ReleasedQuery, alpha: Fraction) -> str:
    """Sentence on the private answer, and on its possible error if this is known."""
    answer = f"private answer {number_text(query.answer)}"
    if cut := within_text(query.condition):
        answer = f"private answer {number_text(query.answer)}, of values {cut}"
    if within := _interval_text(query):
        exact = "the exact one of such values" if cut else "the exact one"
        return f"{answer}; with probability {level_text(alpha)} {exact} lies in {within}"
    if query.threshold is not None and query.error is not None:
        error = number_text(query.error, 3)
        return f"{answer}; on tables like the copy it errs by {error} on average (simulated)"
    if noise := _noise_text(query):
        return f"{answer}; the standard deviation of its noise is {noise}"
    return answer


def _order_sentence(query: ReleasedQuery) -> str:
    """Sentence on an answer that was made to fit the order of nested queries; empty for others."""
    if query.unadjusted is None:
        return ""
    if query.unadjusted == query.answer:
        return "in order with the answers to nested queries as it was released"
    released = number_text(query.unadjusted)
    text = f"released as {released}, then made non-decreasing with the answers to nested queries"
    return text if query.low is None else f"{text}; the interval is that of {released}"


def _synthetic_sentence(query: ReleasedQuery) -> str:
    """Sentence that compares the synthetic answer with the private one."""
    gap = _difference(query)
    size, side = gap_text(abs(gap)).removeprefix("+"), "more" if gap > 0 else "less"
    text = f"synthetic answer {number_text(query.q_synthetic)}; "
    text += f"the private answer is {size} {side}" if gap else "the private answer is the same"
    if query.low is None or query.high is None:
        return text
    inside = query.low <= query.q_synthetic <= query.high
    return f"{text}; the synthetic one lies {'inside' if inside else 'outside'} the interval"


def _batch_sentence(batch: ReleasedBatch) -> str:
    """Sentence on the mechanism of a batch, and on why it was chosen."""
    classes = _classes_text(batch)
    options = ", ".join(
        f"{each.name} {each.value if isinstance(each.value, str) else number_text(each.value)}"
        for each in batch.options
    )
    mechanism = f"{batch.mechanism} ({options})" if options else batch.mechanism
    return f"answered by {mechanism}{f' on {classes}' if classes else ''}: {batch.reason}"


def _classes_text(batch: ReleasedBatch) -> str:
    """Number of row classes that the mechanism tells apart; empty if it works query by query."""
    return "" if batch.classes is None else counted(batch.classes, "row class", "row classes")


def _error_text(batch: ReleasedBatch, error: float) -> str:
    """Simulated error of a mechanism; of several measures, per cent of that of equal shares."""
    return f"{number_text(100 * error, 2)} %" if batch.relative else number_text(error, 3)


def _tables_text(report: ReleaseReport) -> str:
    """Tables of a release, and the use of each."""
    return f"{report.private}; row classes come from {report.synthetic}"


def _headline(report: ReleaseReport) -> tuple[str, str]:
    """Title and lead: how many answers for which budget, and how far off they can be."""
    total = len(report.queries)
    if not total:
        return "No query was answered", "There is nothing to tell."
    amount = amount_text(report.total_epsilon, report.total_delta)
    title = f"{counted(total, 'private answer')} for {amount}"
    lead = "It is noisy; " if total == 1 else "Each is noisy; "
    claim = f"the exact answer with probability {level_text(report.alpha)}."
    bounded = sum(query.low is not None for query in report.queries)
    if bounded == total:
        lead += f"the interval beside it holds {claim}"
    elif bounded:
        have = "has" if bounded == 1 else "have"
        lead += f"{bounded:,} of them {have} an interval that holds {claim}"
    else:
        lead += "no theory gives an interval here; the simulated error tells how far it may be off."
    if missed := _missed_text(report):
        lead += f" {missed}"
    if any(query.condition for query in report.queries):
        lead += f" {_CONDITION}"
    if all(batch.replayed for batch in report.batches):
        lead += " All of this was paid for before."
    return title, lead + refused_lead(report.refused)


def _how_to_read(report: ReleaseReport) -> Iterator[tuple[str, str]]:
    """Terms of a release, each with its meaning."""
    queries, level = report.queries, level_text(report.alpha)
    yield "Private answer, noisy", _ANSWER
    if any(query.low is not None for query in queries):
        missed = number_text(100 * report.alpha, 3)
        text = f"The exact answer lies in it with probability {level}, for each query by itself:"
        yield f"{level} interval", f"{text} of many intervals about {missed} % miss."
    if any(query.low is None for query in queries):
        yield "No interval", _UNBOUNDED
    if any(query.deviation is not None for query in queries):
        yield "Noise", "The standard deviation of the noise."
    if any(query.unadjusted is not None for query in queries):
        yield "Nested queries", _ORDERED
    if any(query.weight != 1 for query in queries):
        yield "Weight", _WEIGHED
    if any(query.threshold is not None and query.error is not None for query in queries):
        yield "Errs", _ERRS
    if any(query.threshold is not None for query in queries):
        yield "Cut at", _CUT
    yield "Difference", "The private answer less the synthetic one; it is as noisy as the former."
    several = any(batch.relative for batch in report.batches)
    yield "Simulated error", f"{_SIMULATED_ERROR}{_RELATIVE_ERROR if several else ''}"
    yield (
        "What is promised",
        promise(report.total_epsilon, report.total_delta, simulated=report.simulated),
    )
