"""Sentences on one query, its decider and its verdict."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from pqd.deciders.names import names_and_more
from pqd.deciders.options import option
from pqd.reports.models.query import MEAN_DISTANCE, RELATIONS_KEPT, SHARE, SUM_PER_ROW
from pqd.reports.models.standings import VERDICTS, Standing, passes_first
from pqd.reports.text.numbers import (
    bound_text,
    budget_text,
    counted,
    end_text,
    epsilon_text,
    number_text,
    p_value_text,
    rounded_text,
    rounded_up,
    share_words,
    spaced,
    threshold_text,
)

if TYPE_CHECKING:
    from pqd.reports.models.audit import Condition, Outside, Verdict
    from pqd.reports.models.figure import Figure
    from pqd.reports.models.query import CandidateFacts, QueryFacts

SIMULATED = (
    "SIMULATED: the noise of this report has a seed, from which anyone can compute it and take it "
    "off. The report protects nobody; do not hand it out if the private table is private."
)


def verdict_words(verdict: Verdict) -> tuple[str, str]:
    """Text of the badge of a verdict, and the verdict in words."""
    standing = verdict.standing
    lean = f": leans {verdict.leaning.badge.text}" if verdict.evidence == "none" else ""
    return standing.badge.text, f"{standing.words}{lean}"


def worth_of_evidence(verdict: Verdict) -> str:
    """What a verdict is worth that has no proof or holds on a condition; empty for others."""
    if verdict.evidence == "none":
        return ""
    parts = [likely_text(verdict.chosen)] if verdict.evidence == "likely" else []
    if verdict.condition:
        parts.append(condition_text(verdict.condition, verdict.leans, verdict.counted))
    return "; ".join(parts)


def condition_text(condition: Condition, answer: str, noun: str) -> str:
    """Condition in words, such as ``for values of 0 to 19,581, at most 15 rows beyond``."""
    values = f"for values {cut_text(condition)}, which nobody stated"
    if condition.rows_beyond is None:
        return f"{values}; how many rows lie beyond is not known"
    rows = counted(condition.rows_beyond, "row" if noun == "rows" else "person", noun)
    if answer == "yes":
        return f"{values}; at most {rows} beyond"
    return f"{values}, or more than {rows} beyond"


def outside_sentence(verdict: Verdict) -> str:
    """Number of rows beyond bounds that nobody stated, and what that means; empty if not asked."""
    outside = verdict.outside
    if outside is None:
        return ""
    noun = "rows" if verdict.counted == "rows" else "people"
    cut = _beyond_text(outside)
    number = f"about {outside.rows:,} ({outside.low:,} to {outside.high:,}) selected {noun}"
    if verdict.is_withheld:
        return (
            f"{number} lie {cut}, which nobody stated, so no verdict within these bounds "
            f"is given: state bounds that hold for everybody ({option('--bounds')}), ask for a "
            "MEDIAN, or release the answer within wider bounds"
        )
    sure = number_text(100 - 100 * float(verdict.alpha), 3)
    return f"{number} lie {cut}; {outside.found:,} or more would be found with probability {sure} %"


def _beyond_text(outside: Outside) -> str:
    """Where rows beyond lie, such as ``outside 0..19,581`` or, of one bound, ``above 19,581``."""
    lower, upper = outside.lower, outside.upper
    if lower is None or upper is None:
        return (
            f"above {number_text(upper or 0)}" if lower is None else f"below {number_text(lower)}"
        )
    return f"outside {number_text(lower)}..{number_text(upper)}"


def within_text(condition: Condition | None) -> str:
    """Bounds that nobody stated, such as ``within 0..19,581 (bounds from the copy)``."""
    if condition is None:
        return ""
    bounds = "bound" if None in {condition.lower, condition.upper} else "bounds"
    source = f"{bounds} of the copy, as stated" if condition.accepted else f"{bounds} from the copy"
    return f"within {span_text(condition)} ({source})"


def span_text(condition: Condition) -> str:
    """Bounds that nobody stated, such as ``0..19,581``, or ``..19,581`` if the lower is stated."""
    ends = condition.lower, condition.upper
    return "..".join("" if end is None else number_text(end) for end in ends)


def cut_text(condition: Condition) -> str:
    """Where values are cut, such as ``cut to 0 to 19,581``, or ``cut above 19,581``."""
    lower, upper = condition.lower, condition.upper
    if lower is None or upper is None:
        end, side = (upper, "above") if lower is None else (lower, "below")
        return f"cut {side} {number_text(end or 0)}"
    return f"cut to {number_text(lower)} to {number_text(upper)}"


def likely_text(facts: CandidateFacts) -> str:
    """What a verdict without a p-value is worth: how often it errs."""
    return (
        f"errs {share_words(facts.worst)} of the time on tables like the copy, a coin toss near "
        "the tolerance; no proof"
    )


class QuestionFacts(Protocol):
    """Facts of a query that say what it asks."""

    @property
    def aggregate(self) -> str:
        """Aggregate."""

    @property
    def attribute(self) -> str | None:
        """Aggregated expression; None for all rows."""

    @property
    def where(self) -> str | None:
        """Condition; None without one."""

    @property
    def max_rows(self) -> int | None:
        """Number of rows as which a person counts at most; None if each row is a person."""


def query_text(query: QuestionFacts) -> str:
    """Query in one line, such as ``SUM(income) of persons' totals where age > 40``."""
    condition = f" where {' '.join(query.where.split())}" if query.where else ""
    persons = of_persons(query.aggregate, query.max_rows)
    comma = "," if persons.startswith(",") and condition else ""
    return f"{_aggregate_text(query)}{persons}{comma}{condition}"


def _aggregate_text(query: QuestionFacts) -> str:
    attribute, p = query.attribute, getattr(query, "p", None)
    if query.aggregate == SHARE:
        return f"share of rows{f' with a value of {attribute}' if attribute else ''}"
    if query.aggregate == SUM_PER_ROW:
        return f"SUM({attribute}) per row"
    operand = attribute or "*"
    if p is not None:
        operand += f", {number_text(p)}"
    name = "COUNT(DISTINCT " if query.aggregate == "COUNT DISTINCT" else f"{query.aggregate}("
    return f"{name}{operand})"


def of_persons(aggregate: str, max_rows: int | None) -> str:
    """Words that follow an aggregate and say how persons count; empty if each row is a person."""
    if max_rows is None:
        return ""
    if aggregate == "COUNT":
        return " of persons"
    if aggregate == "SUM":
        return " of persons' totals"
    if aggregate == "COUNT DISTINCT":
        return f", at most {counted(max_rows, 'value')} of each person"
    return f", {persons_words(max_rows)}"


def persons_sentences(queries: Sequence[QuestionFacts]) -> Iterator[str]:
    """Sentence on how persons count in ``queries``, whose ids need not say it; none if rows do."""
    names = {SHARE: "a share of rows", SUM_PER_ROW: "SUM per row"}
    told = {each.aggregate: of_persons(each.aggregate, each.max_rows) for each in queries}
    parts = [
        f"{names.get(aggregate, aggregate)}{' is' if words.startswith(' of') else ''}{words}"
        for aggregate, words in told.items()
        if words
    ]
    if parts:
        yield f"In both tables {'; '.join(parts)}."


def persons_words(max_rows: int) -> str:
    """How a person with several rows counts where rows count, in few words."""
    if max_rows == 1:
        return "each person counted once"
    return f"each person counted as at most {max_rows:,} rows"


def persons_sentence(query: QuestionFacts) -> str:
    """How a person with several rows counts in an answer; empty if each row is a person."""
    most = query.max_rows
    if most is None:
        return ""
    if query.aggregate == "COUNT":
        return "of persons: each person with a row that matches counts once, and so in the copy"
    if query.aggregate == "SUM":
        return "of persons: the rows of each person are added up first, and so in the copy"
    if query.aggregate == "COUNT DISTINCT":
        return f"of persons: at most {counted(most, 'value')} of each counts, and so in the copy"
    return f"of persons: {weights_words(most)}, and so in the copy"


def weights_words(max_rows: int) -> str:
    """How the rows of a person weigh where rows count."""
    if max_rows == 1:
        return "each person counts once, since its rows share one weight"
    return f"a person counts as at most {max_rows:,} rows, which all of its rows share"


def grouped_text(query: QuestionFacts, sql: str | None) -> str:
    """Grouped query in one line: its SQL, or a text made from its parts if there is no SQL."""
    persons = of_persons(query.aggregate, query.max_rows)
    if sql is None:
        comma = "," if persons.startswith(",") else ""
        return f"{_aggregate_text(query)}{persons}{comma} per group"
    text, words = " ".join(sql.split()), persons.lstrip(", ")
    return f"{text} ({words})" if words else text


def amount_text(facts: QueryFacts, amount: float | None, digits: int = 4) -> str:
    """Amount in the unit of a query, in per cent for a distance; ``none`` if it is infinite."""
    if not facts.is_distance or amount is None or math.isinf(amount):
        text = threshold_text(amount) if digits == 4 else number_text(amount or 0, digits)
        return f"{text}{facts.sign}" if amount is not None and math.isfinite(amount) else text
    # Rounding removes the error of the product, such as 7.000000000000001 in place of 7.
    return f"{number_text(round(100 * amount, 9), digits)} %"


def question_sentence(facts: QueryFacts, stated: str) -> str:
    """Synthetic answer with its tolerance; for a distance, the tolerance alone.

    The copy's distance to itself is always 0, so the sentence omits it.
    """
    if not facts.is_distance:
        amount = tolerance(facts.tau, facts.tolerance or stated, facts.sign)
        return f"synthetic answer {number_text(facts.q_synthetic)}{facts.sign}, {amount}"
    amount = amount_text(facts, facts.tau)
    if facts.aggregate == RELATIONS_KEPT:
        return f"{spaced(stated)}, less than {amount} of the relations lost"
    if facts.aggregate == MEAN_DISTANCE:
        return f"{spaced(stated)}, a mean distance below {amount}"
    return f"tolerance {amount} of the rows"


def tolerance(verdict_tau: float, stated: str, sign: str = "") -> str:
    """Tolerance in one line, such as ``tolerance ±56.1 (5 %)``; ``sign`` is that of its unit."""
    share = f" ({spaced(stated)})" if "%" in stated else ""
    return f"tolerance ±{number_text(verdict_tau)}{sign}{share}"


def proof_sentence(facts: CandidateFacts) -> str | None:
    """Why an answer of a decider may have no proof; None if yes and no can have a p-value."""
    if len(facts.proves) == 2:
        return None
    if not facts.proves:
        return f"{_gives(facts)}: its answer is likely right at best, not proven"
    return f"{_gives(facts)}: the other answer is not proven"


def _gives(facts: CandidateFacts) -> str:
    """Which p-values a decider gives, if it cannot give one for both answers."""
    if not facts.proves:
        return f"{facts.decider} gives no p-value"
    (able,) = facts.proves
    return f"{facts.decider} gives a p-value for a {able} alone"


def likely_sentence(facts: QueryFacts) -> str:
    """What a planned answer would be worth if it may lack a p-value."""
    if facts.likely:
        return f"{_gives(facts.chosen)}; its answer would be likely right"
    return proof_sentence(facts.chosen) or ""


def estimate_text(verdict: Verdict) -> str | None:
    """Private answer as it is released; None if nothing is released.

    An example is ``about 1,234 with noise (90 %: 1,200 to 1,270)``.
    """
    ends = _ends(verdict.low, verdict.high)
    ends += verdict.sign if ends else ""
    sure = sure_text(verdict.alpha, 2 - (verdict.low, verdict.high).count(None))
    if verdict.estimate is None:
        return f"{ends} ({sure})" if ends else None
    if verdict.high is None and verdict.estimate == verdict.low:
        # Race-to-the-Top releases a number that is itself a lower bound.
        return f"{ends} ({sure})"
    about = f"about {number_text(_short(verdict.estimate), 6)}{verdict.sign} with noise"
    return f"{about} ({sure}: {ends})" if ends else about


def sure_text(alpha: Fraction, ends: int) -> str:
    """Probability, in per cent, that one or two ends hold; each is wrong with alpha at most."""
    return f"{number_text(max(100 - 100 * ends * float(alpha), 0.0), 4)} %"


def _ends(low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        return f"{end_text(low, up=False)} to {end_text(high, up=True)}"
    if low is not None:
        return f"at least {end_text(low, up=False)}"
    return "" if high is None else f"at most {end_text(high, up=True)}"


def _short(value: float) -> float:
    """Number without decimals if it is 1000 or more: noise alone sets those digits."""
    return round(value) if abs(value) >= 1000 else value


def gap_sentence(verdict: Verdict) -> str | None:
    """How far the noisy private answer is from the copy's, and in which direction.

    None if this is not known, or for a distance.
    """
    if verdict.is_distance or (gap := signed_gap(verdict)) is None:
        return None
    noisy = verdict.gap or 0
    side = "above" if noisy > 0 else "below"
    near = (verdict.gap_low or 0) <= 0 <= (verdict.gap_high or 0)
    way = "above or below" if near else side
    sure = sure_text(verdict.alpha, 2)
    return f"off by {gap}{verdict.sign} ({sure}): the private answer is {way} the copy's"


def signed_gap(verdict: Verdict) -> str | None:
    """Signed gap and the reach of its interval to either side, such as ``-339 ±12``.

    The shown interval is rounded so that it contains the exact interval.  For a decided verdict,
    digits are added until the shown interval lies on the verdict's side.  None if the interval
    lacks an end.
    """
    gap, low, high = verdict.gap, verdict.gap_low, verdict.gap_high
    if gap is None or low is None or high is None:
        return None
    reach = max(high - gap, gap - low)
    first = math.floor(math.log10(reach)) - 1 if reach > 0 else 0
    sided = verdict.conclusive and _on_side(verdict, low, high)
    for finer in range(_FINER):
        place = first - finer
        shown = gap if isinstance(gap, int) and place <= 0 else round(gap, -place)
        around = bound_text(max(high - shown, shown - low, 0), up=True, digits=2 + finer)
        wide = float(around.replace(",", ""))
        if not sided or _on_side(verdict, shown - wide, shown + wide):
            return f"{_signed(shown)} ±{around}"
    return f"{_signed(low)} to {_signed(high)}"


# Numbers of digits that are tried for an interval.  If none will do, its two ends are shown.
_FINER = 5


def _signed(number: float) -> str:
    return f"{'+' if number > 0 else ''}{number_text(number, 9)}"


def _on_side(verdict: Verdict, low: float, high: float) -> bool:
    """Whether all gaps from ``low`` to ``high`` have the verdict's answer."""
    least, most = verdict.lower - verdict.q_synthetic, verdict.upper - verdict.q_synthetic
    # A rounding error of the numbers must not count as the other side.
    hair = 1e-9 * max(abs(least), abs(most))
    if verdict.leans == "yes":
        return least - hair < low and high < most + hair
    return high <= least + hair or low >= most - hair


def distance_words(facts: QueryFacts, distance: Figure, alpha: Fraction) -> str:
    """Distance, or score, with its interval, and the size that it supposes."""
    words, (value, low, high) = "the distance is about", distance
    if facts.aggregate == MEAN_DISTANCE:
        words, value, low, high = "the score is about", 1 - value, 1 - high, 1 - low
    about = rounded_text(100 * value, 100 * (high - low) / 2)
    ends = f"{end_text(100 * low, 3, up=False)} to {end_text(100 * high, 3, up=True)} %"
    size = "if the private table is as large as the copy"
    if facts.rows_stated:
        size = f"for the {counted(facts.distance_rows or 0, 'private row')} that are stated"
    return f"{words} {about} % ({sure_text(alpha, 2)}: {ends}), {size}"


def margin_sentence(verdict: Verdict) -> str | None:
    """Released margin in plain words, with its interval; None if no margin is released."""
    if verdict.margin is None:
        return None
    low, high = verdict.margin_low, verdict.margin_high
    if low is None or high is None:
        distance = f"about {distance_text(verdict.margin, verdict.leans, verdict.counted)}"
        return f"{distance} away from the opposite verdict"
    if verdict.leans != "yes":
        low, high = 1 - high, 1 - low
    people = "person" if verdict.counted == "people" else "row"
    ends = 2
    # The exact margin is a whole number, and a margin below 1 belongs to the opposite verdict.
    # So if ``low`` is below 1, the lower end says nothing.
    if low < 1:
        ends = 1
        text = f"at most {counted(max(high, 1), people, verdict.counted)}"
    elif low == high:
        text = counted(low, people, verdict.counted)
    else:
        text = f"between {low:,} and {counted(high, people, verdict.counted)}"
    return f"{text} away from the opposite verdict ({sure_text(verdict.alpha, ends)})"


def distance_text(margin: int, outcome: str, unit: str) -> str:
    """Distance to the opposite verdict in people, or in rows, such as ``22 people``."""
    rows = margin if outcome == "yes" else 1 - margin
    return counted(rows, "person" if unit == "people" else "row", unit)


# Commands that estimate the answer if the verdict itself has no estimate.
_ESTIMATES = {
    "COUNT": "pqd audit ... --decider noisy_count",
    "COUNT DISTINCT": "pqd audit ... --decider noisy_distinct",
    "SUM": "pqd audit ... --decider noisy_sum",
    "AVG": "pqd compare ... --estimator sum_and_count",
    "MEDIAN": "pqd compare ... --estimator rank_counts",
    "QUANTILE": "pqd compare ... --estimator rank_counts",
}


def estimating_sentence(verdict: Verdict) -> str | None:
    """Command that would tell how far off the copy is, and its price.

    None if the gap is known, if the verdict is yes, or if no command fits.
    """
    if verdict.standing is Standing.NO_OR_BEYOND:
        bounds = option("--bounds")
        return f"which of the two: state bounds that hold for everybody ({bounds}), and ask again"
    if verdict.is_withheld:
        return None
    near = verdict.standing.answer == "yes"
    known = verdict.estimate is not None or near or not verdict.epsilon
    command = _ESTIMATES.get(verdict.aggregate)
    if known or command is None:
        return None
    price = epsilon_text(verdict.epsilon)
    return f"how far off, and which way: {option(command)}, for epsilon {price} more"


def instead_sentence(verdict: Verdict) -> str | None:
    """What to use in place of the copy's answer after a NO; None for other verdicts.

    None also if the noise was seeded, since a seeded answer protects nobody.
    """
    if verdict.standing.answer != "no" or verdict.is_distance or verdict.simulated:
        return None
    if verdict.estimate is not None:
        return "Use the private answer above in place of the copy's."
    return (
        "Do not use the copy for this: ask a coarser query, or ask whoever holds the private "
        "table for the answer with noise."
    )


# The most queries that a sentence names.
_MOST_NAMED = 6
# If a query selects this many rows or more, few rows are not why it is undecided.
_MANY_ROWS = 30


def worth_sentence(facts: QueryFacts) -> tuple[str, bool]:
    """Tolerances at which the chosen decider is reliable, and whether that is enough.

    The second value is False if the sentence must be shown as a warning.
    """
    chosen, amount = facts.chosen, amount_text(facts, facts.tau, 6)
    threshold = chosen.tau_min
    if unproved := proof_sentence(chosen):
        return unproved, False
    if threshold is None:
        return f"{chosen.decider}: from which tolerance on it is reliable is not known", True
    least = amount_text(facts, threshold)
    if facts.decidable:
        if facts.tau < threshold:
            return f"reliable at this tolerance, {amount}", True
        return f"reliable for tolerances of {least} or more; yours is {amount}", True
    if math.isinf(threshold):
        text = f"no tolerance is large enough for {chosen.decider} at this epsilon"
        text = f"NOT reliable: {text}"
    elif facts.tau < threshold:
        text = f"at this epsilon the tolerance must be {least} or more, yours is {amount}"
        text = f"NOT reliable: {text}"
    else:
        text = f"reliable for tolerances of {least} or more; yours is {amount}, but often undecided"
    return "; ".join([text, *undecided_parts(facts)]), False


def undecided_parts(facts: QueryFacts) -> Iterator[str]:
    """Why runs often leave a query undecided at this epsilon, and which epsilon would do."""
    chosen = facts.chosen
    if chosen.decision_chance is not None:
        yield f"{share_words(chosen.decision_chance)} of runs decide it, at worst"
    if rows := few_rows_text(facts):
        yield rows
    needed = budget_text(chosen.epsilon_needed)
    if needed != "?":
        yield "no epsilon would do" if needed == "none" else f"about epsilon {needed} would do"
    if _turned_by_one(facts):
        yield "one person can turn it, so a small epsilon is no better than a coin"


def few_rows_text(facts: QueryFacts) -> str:
    """Number of rows of the copy that a query selects, if it is undecided because they are few.

    Empty otherwise, and for a COUNT.  If there is no budget, a query counts as undecided if the
    epsilon that it needs is 1 or more, or is not known.
    """
    rows, needed = facts.copy_rows, facts.chosen.epsilon_needed
    easy = facts.decidable is None and needed is not None and needed < 1
    if rows is None or rows >= _MANY_ROWS or facts.aggregate == "COUNT":
        return ""
    if facts.decidable or easy:
        return ""
    return _selected(facts, rows)


def _selected(facts: QueryFacts, rows: int) -> str:
    """Number of rows, or of persons, of the copy that a query selects."""
    if facts.max_rows == 1:
        return f"selects {counted(rows, 'person', 'persons')} of the copy"
    return f"selects {counted(rows, 'row')} of the copy"


def coin_sentences(queries: Sequence[QueryFacts]) -> Iterator[str]:
    """Sentence on the queries whose verdict one person can turn; none if there is no such query."""
    turned = [query for query in queries if _turned_by_one(query)]
    if not turned:
        return
    one = "row" if any((query.max_rows or 1) > 1 for query in turned) else "person"
    names = names_and_more([query.id for query in turned], _MOST_NAMED)
    few = [
        f"; {query.id} {_selected(query, query.copy_rows)}"
        for query in turned
        if query.copy_rows is not None and query.copy_rows < _MANY_ROWS
    ]
    least = epsilon_text(float(rounded_up(Fraction(_odds(turned[0])))))
    yield (
        f"{names}: one {one} can turn the verdict, so it takes epsilon {least}, and far below that "
        f"a verdict is no better than a coin{''.join(few[:_MOST_NAMED])}. Use a larger tolerance, "
        "or ask about more rows."
    )


def _turned_by_one(query: QueryFacts) -> bool:
    """Whether one person can turn the verdict, so that no decider needs a smaller epsilon.

    Any decider that tells two tables apart which differ in one person, with an error of alpha,
    needs an epsilon of at least ``ln((1 - alpha)/alpha)``.
    """
    needed = query.chosen.epsilon_needed
    if needed is None or len(query.chosen.proves) < 2 or 2 * query.alpha >= 1:
        return False
    return _odds(query) <= needed < math.inf


def _odds(query: QueryFacts) -> float:
    return math.log(1 / float(query.alpha) - 1)


def decider_text(facts: QueryFacts) -> str:
    """Decider of a query, with the values of its options in parentheses."""
    options = ", ".join(f"{name} {number_text(value, 3)}" for name, value in facts.decider_options)
    return f"{facts.decider} ({options})" if options else facts.decider


def decider_sentence(verdict: Verdict) -> str:
    """Decider of a verdict, why it was chosen, and how often it is wrong."""
    chosen = verdict.chosen
    text = f"decided by {decider_text(verdict)}: {verdict.reason}"
    if verdict.epsilon and chosen.false_no is not None:
        wrong = share_words(chosen.worst)
        text += f" (wrong {wrong} of the time on test tables made from the copy)"
    return text


def thresholds_sentence(facts: QueryFacts) -> str:
    """Effectiveness thresholds of all deciders that fit the query, where they are known.

    Beside each stands the threshold that the paper prints, if it prints one.
    """
    parts = []
    for each in facts.candidates:
        if each.tau_min is not None:
            printed = each.tau_published
            paper = "" if printed is None else f" (the paper's {amount_text(facts, printed)})"
            parts.append(f"{each.decider} {amount_text(facts, each.tau_min)}{paper}")
    return f"effectiveness thresholds: {', '.join(parts) or 'not known'}"


def sentences(verdict: Verdict, stated: str) -> Iterator[tuple[str, str]]:
    """Lines below the heading of a verdict, each with its role: plain, warning or detail."""
    yield query_text(verdict), "plain"
    for text in answer_lines(verdict, stated):
        yield text, "plain"
    if verdict.epsilon:
        text, enough = worth_sentence(verdict)
        yield text, "plain" if enough else "warning"
    yield decider_sentence(verdict), "detail"
    yield thresholds_sentence(verdict), "detail"


def answer_lines(verdict: Verdict, stated: str) -> Iterator[str]:
    """Question of a verdict, and all that the verdict tells of the private answer."""
    question = question_sentence(verdict, stated)
    if verdict.is_distance:
        yield f"{question}: is the private table's distribution so near to the copy's?"
    else:
        ends = f"{number_text(verdict.lower, 9)} and {number_text(verdict.upper, 9)}{verdict.sign}"
        yield f"{question}: is the private answer between {ends}?"
    yield from filter(
        None,
        (
            persons_sentence(verdict),
            worth_of_evidence(verdict),
            outside_sentence(verdict),
            _private(verdict),
            gap_sentence(verdict),
        ),
    )
    if verdict.distance:
        yield distance_words(verdict, verdict.distance, verdict.alpha)
    yield from filter(None, (margin_sentence(verdict), estimating_sentence(verdict)))


def _private(verdict: Verdict) -> str | None:
    text = estimate_text(verdict)
    return f"private answer {text}" if text else None


def group_parts(verdict: Verdict) -> Iterator[str]:
    """Parts of the line on one group of a query, without its badge."""
    yield verdict.group or verdict.id
    amount = f"{number_text(verdict.q_synthetic)} ±{number_text(verdict.tau, 3)}"
    yield f"{verdict.aggregate.lower()} {amount}"
    yield p_value_text(verdict.p_value, verdict.alpha)
    yield from marks(verdict)


def marks(verdict: Verdict) -> Iterator[str]:
    """Marks of a verdict that is simulated, is replayed, or costs nothing."""
    if verdict.simulated:
        yield "SIMULATED"
    if verdict.replayed:
        yield "replayed"
    elif not verdict.epsilon:
        yield "cost 0"


def chance_sentence(verdicts: Sequence[Verdict], least: int = 0) -> Iterator[str]:
    """How many verdicts noise may turn on average; nothing for one verdict, or below ``least``.

    Each verdict is decided wrongly with probability at most alpha.  So the sum of the alphas bounds
    the mean number of wrong decided verdicts, whatever the private table holds.  The sum does not
    bound the share of wrong verdicts among the decided ones, since not all verdicts are decided.
    """
    paid = [verdict for verdict in verdicts if verdict.epsilon]
    wrong = sum(verdict.alpha for verdict in paid)
    if len(paid) < 2 or wrong < least:
        return
    alphas = {verdict.alpha for verdict in paid}
    each = f"{number_text(float(alphas.pop()) * 100, 3)} %" if len(alphas) == 1 else "alpha"
    yield (
        f"Each verdict is decided wrongly with probability {each} at most: of {len(paid):,}, up "
        f"to {number_text(float(wrong), 2)} on average, however few are decided."
    )


def at_once_sentence(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """How many verdicts are right all at once; nothing for one verdict, or several alphas.

    Of K verdicts those with K p <= alpha are all true with probability at least 1 - alpha
    (docs/theory.md, Theorem D9).  A verdict that costs nothing cannot be wrong.
    """
    paid = [verdict for verdict in verdicts if verdict.epsilon]
    alphas = {verdict.alpha for verdict in paid}
    if len(paid) < 2 or len(alphas) > 1:
        return
    alpha = float(alphas.pop())
    sure = [
        verdict
        for verdict in verdicts
        if verdict.conclusive
        and (not verdict.epsilon or (verdict.p_value or 0.0) * len(paid) <= alpha)
    ]
    counts = Counter(verdict.standing for verdict in sure)
    parts = [f"{counts[each]:,} {each}" for each in passes_first(VERDICTS) if counts[each]]
    level = number_text(100 - 100 * alpha, 3)
    yield f"These hold all together, with probability {level} %: {', '.join(parts) or 'none'}."


def remarks(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Sentences on how to read the verdicts."""
    for alpha in sorted({verdict.alpha for verdict in verdicts}):
        level = number_text(float(alpha) * 100, 3)
        yield (
            f"Undecided: p above {level} %, or no p-value. Reliable: wrong at most {level} % of "
            "the time on test tables made from the copy: those whose answer is the copy's, and "
            "those whose answer is two tolerances away. An epsilon that is needed, or would do, "
            "decides nine runs of ten on such tables, and rightly."
        )
