"""One query, its decider and its verdict, in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pqd.reports.models.query import MEAN_DISTANCE
from pqd.reports.models.standings import Standing
from pqd.reports.text.numbers import (
    bound_text,
    budget_text,
    counted,
    end_text,
    epsilon_text,
    number_text,
    p_value_text,
    share_words,
    threshold_text,
)

if TYPE_CHECKING:
    from pqd.reports.models.audit import Condition, Verdict
    from pqd.reports.models.query import CandidateFacts, QueryFacts

SIMULATED = "SIMULATED: these verdicts come from seeded noise and protect nobody."


def verdict_words(verdict: Verdict) -> tuple[str, str]:
    """Badge and words of a verdict."""
    standing = verdict.standing
    lean = f": leans {verdict.leaning.badge.text}" if verdict.evidence == "none" else ""
    return standing.badge.text, f"{standing.words}{lean}"


def worth_of_evidence(verdict: Verdict) -> str:
    """What a verdict without a proof, or on a condition, is worth; empty for others."""
    if verdict.evidence == "none":
        return ""
    parts = [likely_text(verdict.chosen)] if verdict.evidence == "likely" else []
    if verdict.condition:
        parts.append(condition_text(verdict.condition, verdict.leans, verdict.counted))
    return "; ".join(parts)


def condition_text(condition: Condition, answer: str, noun: str) -> str:
    """Condition in words, such as ``for values of 0 to 19,581, at most 15 rows beyond``."""
    ends = f"{number_text(condition.lower)} to {number_text(condition.upper)}"
    values = f"for values cut to {ends}, which nobody stated"
    if condition.rows_beyond is None:
        return f"{values}; how many rows lie beyond is not known"
    rows = counted(condition.rows_beyond, "row" if noun == "rows" else "person", noun)
    if answer == "yes":
        return f"{values}; at most {rows} beyond"
    return f"{values}, or more than {rows} beyond"


def likely_text(facts: CandidateFacts) -> str:
    """What a bit without a proof is worth."""
    return (
        f"errs {share_words(facts.worst)} of the time on tables like the copy, a coin toss near "
        "the tolerance; no proof"
    )


def query_text(aggregate: str, attribute: str | None, p: float | None, where: str | None) -> str:
    """Query in one line, such as ``SUM(income) where age > 40``."""
    operand = attribute or "*"
    if p is not None:
        operand += f", {number_text(p)}"
    name = "COUNT(DISTINCT " if aggregate == "COUNT DISTINCT" else f"{aggregate}("
    condition = f" where {' '.join(where.split())}" if where else ""
    return f"{name}{operand}){condition}"


def grouped_text(aggregate: str, attribute: str | None, p: float | None, sql: str | None) -> str:
    """Grouped query in one line, as it was written where that is known."""
    if sql is None:
        return f"{query_text(aggregate, attribute, p, None)} per group"
    return " ".join(sql.split())


def amount_text(facts: QueryFacts, amount: float | None, digits: int = 4) -> str:
    """Amount in the unit of a query, of a distance in per cent; ``none`` where it is infinite."""
    if not facts.is_distance or amount is None or math.isinf(amount):
        return threshold_text(amount) if digits == 4 else number_text(amount or 0, digits)
    # Beyond nine digits a share is what a double makes of it.
    return f"{number_text(round(100 * amount, 9), digits)} %"


def asked_sentence(facts: QueryFacts, stated: str) -> str:
    """Synthetic answer with its tolerance; of a distance, which is 0 to the copy, that alone."""
    if not facts.is_distance:
        amount = tolerance(facts.tau, facts.tolerance or stated)
        return f"synthetic answer {number_text(facts.q_synthetic)}, {amount}"
    amount = amount_text(facts, facts.tau)
    if facts.aggregate == MEAN_DISTANCE:
        return f"{stated}, a mean distance below {amount}"
    return f"tolerance {amount} of the rows"


def tolerance(verdict_tau: float, stated: str) -> str:
    """Tolerance in one line, such as ``tolerance ±56.1 (5%)``."""
    share = f" ({stated})" if stated.endswith("%") else ""
    return f"tolerance ±{number_text(verdict_tau)}{share}"


def proof_sentence(facts: CandidateFacts) -> str | None:
    """Why an answer of a decider may have no proof, None where both can have a p-value."""
    if len(facts.proves) == 2:
        return None
    if not facts.proves:
        return f"{_gives(facts)}: its answer is likely right at best, not proven"
    return f"{_gives(facts)}: the other answer is not proven"


def _gives(facts: CandidateFacts) -> str:
    """P-values that a decider gives, for one that lacks some."""
    if not facts.proves:
        return f"{facts.decider} gives no p-value"
    (able,) = facts.proves
    return f"{facts.decider} gives a p-value for a {able} alone"


def likely_sentence(facts: QueryFacts) -> str:
    """What a planned answer without a p-value would be worth."""
    if facts.likely:
        return f"{_gives(facts.chosen)}; its answer would be likely right"
    return proof_sentence(facts.chosen) or ""


def estimate_text(verdict: Verdict) -> str | None:
    """Private answer as released, None where nothing is.

    Such as ``about 1,234 with noise (90 %: 1,200 to 1,270)``.
    """
    ends = _ends(verdict.low, verdict.high)
    sure = _sure(verdict, 2 - (verdict.low, verdict.high).count(None))
    if verdict.estimate is None:
        return f"{ends} ({sure})" if ends else None
    if verdict.high is None and verdict.estimate == verdict.low:
        # Of Race-to-the-Top, whose number is a bound itself.
        return f"{ends} ({sure})"
    about = f"about {number_text(_short(verdict.estimate), 6)} with noise"
    return f"{about} ({sure}: {ends})" if ends else about


def _sure(verdict: Verdict, ends: int) -> str:
    """Probability in per cent with which one or two ends hold, each of them wrong with alpha."""
    return f"{number_text(max(100 - 100 * ends * float(verdict.alpha), 0.0), 4)} %"


def _ends(low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        return f"{end_text(low, up=False)} to {end_text(high, up=True)}"
    if low is not None:
        return f"at least {end_text(low, up=False)}"
    return "" if high is None else f"at most {end_text(high, up=True)}"


def _short(value: float) -> float:
    """Number without the digits that noise alone makes."""
    return round(value) if abs(value) >= 1000 else value


def gap_sentence(verdict: Verdict) -> str | None:
    """How far the noisy private answer is from the copy's and which way, None where not known."""
    if verdict.is_distance or (gap := signed_gap(verdict)) is None:
        return None
    noisy = verdict.gap or 0
    side = "above" if noisy > 0 else "below"
    near = (verdict.gap_low or 0) <= 0 <= (verdict.gap_high or 0)
    way = "above or below" if near else side
    return f"off by {gap} ({_sure(verdict, 2)}): the private answer is {way} the copy's"


def signed_gap(verdict: Verdict) -> str | None:
    """Signed gap and what its interval reaches to either side, such as ``-339 ±12``.

    Rounded so that the interval that is shown holds the exact one, and of a decided verdict with as
    many digits as keep it on the verdict's side.  None without both ends.
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


# Digits more than usual with which an interval is shown, before its ends are shown themselves.
_FINER = 5


def _signed(number: float) -> str:
    return f"{'+' if number > 0 else ''}{number_text(number, 9)}"


def _on_side(verdict: Verdict, low: float, high: float) -> bool:
    """Whether gaps from ``low`` to ``high`` all have the verdict's answer."""
    least, most = verdict.lower - verdict.q_synthetic, verdict.upper - verdict.q_synthetic
    # What is a rounding error of the numbers must not count as the other side.
    hair = 1e-9 * max(abs(least), abs(most))
    if verdict.leans == "yes":
        return least - hair < low and high < most + hair
    return high <= least + hair or low >= most - hair


def margin_sentence(verdict: Verdict) -> str | None:
    """Released margin in plain words, with its interval; None without one."""
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
    # Of the exact margin, a whole number, one below 1 is one of the opposite verdict.
    if low < 1:
        ends = 1
        text = f"at most {counted(max(high, 1), people, verdict.counted)}"
    elif low == high:
        text = counted(low, people, verdict.counted)
    else:
        text = f"between {low:,} and {counted(high, people, verdict.counted)}"
    return f"{text} away from the opposite verdict ({_sure(verdict, ends)})"


def distance_text(margin: int, outcome: str, unit: str) -> str:
    """Distance to the opposite verdict in people, or in rows, such as ``22 people``."""
    rows = margin if outcome == "yes" else 1 - margin
    return counted(rows, "person" if unit == "people" else "row", unit)


# What estimates the answer where a verdict does not.
_ESTIMATES = {
    "COUNT": "pqd audit ... --decider noisy_count",
    "COUNT DISTINCT": "pqd audit ... --decider noisy_distinct",
    "SUM": "pqd audit ... --decider noisy_sum",
    "AVG": "pqd compare ... --estimator sum_and_count",
    "MEDIAN": "pqd compare ... --estimator rank_counts",
    "QUANTILE": "pqd compare ... --estimator rank_counts",
}


def estimating_sentence(verdict: Verdict) -> str | None:
    """What would tell how far off the copy is, at what price; None where it is known or near."""
    if verdict.standing is Standing.NO_OR_BEYOND:
        return "which of the two: state bounds that hold for everybody (--bounds), and ask again"
    near = verdict.standing.answer == "yes"
    known = verdict.estimate is not None or near or not verdict.epsilon
    command = _ESTIMATES.get(verdict.aggregate)
    if known or command is None:
        return None
    price = epsilon_text(verdict.epsilon)
    return f"how far off, and which way: {command}, for epsilon {price} more"


def instead_sentence(verdict: Verdict) -> str | None:
    """What a reader of a NO can use in place of the copy's answer; None of other verdicts.

    None of seeded noise either, since such an answer protects nobody.
    """
    if verdict.standing.answer != "no" or verdict.is_distance or verdict.simulated:
        return None
    if verdict.estimate is not None:
        return "Use the private answer above in place of the copy's."
    return (
        "Do not use the copy for this: ask a coarser query, or ask whoever holds the private "
        "table for the answer with noise."
    )


# From so many selected rows on a query is not undecided because they are few.
_MANY_ROWS = 30


def worth_sentence(facts: QueryFacts) -> tuple[str, bool]:
    """Tolerances at which the decider taken is reliable, and whether this one is among them."""
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
    """Why a run would often leave a query undecided at this epsilon, and which one would do."""
    chosen = facts.chosen
    if chosen.decision_chance is not None:
        yield f"{share_words(chosen.decision_chance)} of runs decide it, at worst"
    if rows := few_rows_text(facts):
        yield rows
    needed = budget_text(chosen.epsilon_needed)
    if needed != "?":
        yield "no epsilon would do" if needed == "none" else f"about epsilon {needed} would do"


def few_rows_text(facts: QueryFacts) -> str:
    """Number of rows of the copy that a query selects, where so few are why it is undecided.

    Without a budget that is so where an epsilon of 1 or more is needed.
    """
    rows, needed = facts.copy_rows, facts.chosen.epsilon_needed
    easy = facts.decidable is None and needed is not None and needed < 1
    if rows is None or rows >= _MANY_ROWS or facts.aggregate == "COUNT":
        return ""
    if facts.decidable or easy:
        return ""
    return f"selects {counted(rows, 'row')} of the copy"


def decider_sentence(verdict: Verdict) -> str:
    """Decider of a verdict, why it was chosen, and how often it is wrong."""
    chosen = verdict.chosen
    text = f"decided by {verdict.decider}: {verdict.reason}"
    if verdict.epsilon and chosen.false_no is not None:
        wrong = share_words(chosen.worst)
        text += f" (wrong {wrong} of the time on test tables made from the copy)"
    return text


def thresholds_sentence(facts: QueryFacts) -> str:
    """Effectiveness threshold of every decider that fits."""
    known = (c for c in facts.candidates if c.tau_min is not None)
    parts = [f"{c.decider} {amount_text(facts, c.tau_min)}" for c in known]
    return f"effectiveness thresholds: {', '.join(parts) or 'not known'}"


def sentences(verdict: Verdict, stated: str) -> Iterator[tuple[str, str]]:
    """Lines under the head of a verdict, each with a role (plain, warning, detail)."""
    yield query_text(verdict.aggregate, verdict.attribute, verdict.p, verdict.where), "plain"
    question = asked_sentence(verdict, stated)
    if verdict.is_distance:
        yield f"{question}: is the private table's distribution so near to the copy's?", "plain"
    else:
        ends = f"{number_text(verdict.lower, 9)} and {number_text(verdict.upper, 9)}"
        yield f"{question}: is the private answer between {ends}?", "plain"
    private = worth_of_evidence(verdict), _private(verdict), gap_sentence(verdict)
    for text in (*private, margin_sentence(verdict), estimating_sentence(verdict)):
        if text:
            yield text, "plain"
    if verdict.epsilon:
        text, enough = worth_sentence(verdict)
        yield text, "plain" if enough else "warning"
    yield decider_sentence(verdict), "detail"
    yield thresholds_sentence(verdict), "detail"


def _private(verdict: Verdict) -> str | None:
    text = estimate_text(verdict)
    return f"private answer {text}" if text else None


def group_parts(verdict: Verdict) -> Iterator[str]:
    """Parts of the line on one group, beside its badge."""
    yield verdict.group or verdict.id
    amount = f"{number_text(verdict.q_synthetic)} ±{number_text(verdict.tau, 3)}"
    yield f"{verdict.aggregate.lower()} {amount}"
    yield p_value_text(verdict.p_value, verdict.alpha)
    yield from marks(verdict)


def marks(verdict: Verdict) -> Iterator[str]:
    """Marks of a verdict that was not just drawn and paid for."""
    if verdict.simulated:
        yield "SIMULATED"
    if verdict.replayed:
        yield "replayed"
    elif not verdict.epsilon:
        yield "cost 0"


def chance_sentence(verdicts: Sequence[Verdict], least: int = 0) -> Iterator[str]:
    """How many verdicts noise alone may turn, where that is ``least`` or more; none of a single.

    A verdict is decided, and wrong, with probability at most alpha, so that the sum of the alphas
    bounds how many are on average, whatever the private table holds.  It does not bound their share
    among the decided ones, which are fewer.
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
    yield from chance_sentence(verdicts)
