"""Verdicts and plans in words: the sentences that every text rendering shares."""

import math
from collections.abc import Iterator

from reports.models.audit import CandidateFacts, Cost, QueryFacts, Verdict
from reports.text.escape import visible
from reports.text.numbers import epsilon_text, number_text


def headline(verdict: Verdict) -> tuple[str, str]:
    """Return the badge and the verdict in words."""
    if verdict.standing == "undecided":
        return "?", f"undecided: leans {verdict.outcome.upper()}"
    if verdict.outcome == "yes":
        return "YES", "within tolerance"
    return "NO", "outside tolerance"


def question(aggregate: str, attribute: str | None, p: float | None, where: str | None) -> str:
    """Return the query in one line, such as ``SUM(income) where age > 40``."""
    operand = visible(attribute or "*")
    if p is not None:
        operand += f", {number_text(p)}"
    name = "COUNT(DISTINCT " if aggregate == "COUNT DISTINCT" else f"{aggregate}("
    condition = f" where {visible(' '.join(where.split()))}" if where else ""
    return f"{name}{operand}){condition}"


def tolerance(verdict_tau: float, stated: str, sign: str) -> str:
    """Return ``±56.1 (5%)``."""
    share = f" ({stated})" if stated.endswith("%") else ""
    return f"tolerance {sign}{number_text(verdict_tau)}{share}"


def p_value_text(p_value: float | None) -> str:
    """Return a p-value as readers expect it."""
    if p_value is None:
        return "no p-value"
    if p_value < 0.001:
        return "p < 0.001"
    return f"p = {p_value:.3f}" if p_value < 0.1 else f"p = {p_value:.2f}"


def share_text(probability: float | None) -> str:
    """Return a probability in per cent, never rounded to a certainty."""
    if probability is None:
        return "?"
    if probability < 0.001:
        return "< 0.1 %"
    if probability > 0.999:
        return "> 99.9 %"
    return f"{100 * probability:.1f} %"


def threshold_text(tau: float | None) -> str:
    """Return an effectiveness threshold, ``none`` where no tau suffices."""
    if tau is None:
        return "?"
    return "none" if math.isinf(tau) else number_text(tau, 4)


def budget_text(epsilon: float | None) -> str:
    """Return a needed budget, ``none`` where no epsilon suffices."""
    if epsilon is None:
        return "?"
    return "none" if math.isinf(epsilon) else epsilon_text(epsilon)


def p_cell(p_value: float | None) -> str:
    """Return a p-value as it stands in a column of p-values."""
    return p_value_text(p_value).removeprefix("p ").removeprefix("= ").replace("no p-value", "none")


def proof_sentence(facts: CandidateFacts) -> str | None:
    """Return why verdicts of a decider stay undecided, None where both can have a p-value."""
    if len(facts.proves) == 2:
        return None
    if not facts.proves:
        return f"{facts.decider} gives no p-value, so its verdicts are never decided; auto decides"
    (able,) = facts.proves
    return f"{facts.decider} gives a p-value for a {able} alone; auto decides either way"


def estimate_text(verdict: Verdict) -> str | None:
    """Return the private answer as released, None where nothing is.

    Such as ``about 1,234 (95 %: 1,200 to 1,270)``.
    """
    low, high = verdict.low, verdict.high
    if low is not None and high is not None:
        ends = f"{number_text(low, 4)} to {number_text(high, 4)}"
    elif low is not None:
        ends = f"at least {number_text(low, 4)}"
    else:
        ends = "" if high is None else f"at most {number_text(high, 4)}"
    sure = f"{number_text(100 - 100 * float(verdict.alpha), 4)} %"
    if verdict.estimate is None:
        return f"{ends} ({sure})" if ends else None
    about = f"about {number_text(_short(verdict.estimate), 6)}"
    return f"{about} ({sure}: {ends})" if ends else about


def _short(value: float) -> float:
    """Return a number without the digits that noise alone makes."""
    return round(value) if abs(value) >= 1000 else value


def margin_sentence(verdict: Verdict) -> str | None:
    """Return the released margin in plain words, None without one."""
    if verdict.margin is None:
        return None
    rows = verdict.margin if verdict.outcome == "yes" else 1 - verdict.margin
    one = "person" if verdict.counted == "people" else "row"
    people = f"1 {one}" if rows == 1 else f"{rows:,} {verdict.counted}"
    return f"about {people} would have to be added or removed to change this answer"


def worth_sentence(facts: QueryFacts) -> tuple[str, bool]:
    """Return what tau is worth with the decider taken, and whether it is enough."""
    candidate, amount = facts.chosen, number_text(facts.tau)
    least, unproved = candidate.tau_min, proof_sentence(candidate)
    if unproved:
        return unproved, False
    if least is None:
        return f"{candidate.decider}: the least tau that means something is not known", True
    if facts.decidable:
        times = facts.tau / least if least else 0.0
        share = f" ({amount} is {number_text(times, 3)} times that)" if times >= 1 else ""
        return f"means something from tau {threshold_text(least)} at this epsilon{share}", True
    if math.isinf(least):
        return f"no tau means anything with {candidate.decider} at this epsilon", False
    needed = candidate.epsilon_needed
    remedy = "raise tau"
    if needed is not None and not math.isinf(needed):
        remedy = f"about epsilon {budget_text(needed)} would do, or a larger tau"
    text = f"tau {amount} is BELOW {number_text(least, 4)}, the least that means something at"
    return f"{text} this epsilon; {remedy}", False


def decider_sentence(verdict: Verdict) -> str:
    """Return which decider answered and why."""
    chosen = verdict.chosen
    text = f"decided by {verdict.decider}: {verdict.reason}"
    if verdict.epsilon and chosen.false_no is not None:
        text += f" (at gaps of 0 and 2 tau, {share_text(chosen.worst)} wrong)"
    return text


def thresholds_sentence(candidates: tuple[CandidateFacts, ...]) -> str:
    """Return the threshold of every decider that fits."""
    known = (c for c in candidates if c.tau_min is not None)
    parts = (f"{c.decider} {threshold_text(c.tau_min)}" for c in known)
    return "least tau by decider: " + ", ".join(parts)


def sentences(verdict: Verdict, stated: str, sign: str) -> Iterator[tuple[str, str]]:
    """Yield the lines under a verdict's headline, each with a role (plain, warning, detail)."""
    yield question(verdict.aggregate, verdict.attribute, verdict.p, verdict.where), "plain"
    ends = f"({number_text(verdict.lower, 9)}, {number_text(verdict.upper, 9)})"
    answer = f"synthetic answer {number_text(verdict.q_synthetic)}"
    amount = tolerance(verdict.tau, stated, sign)
    yield f"{answer}, {amount}: is the private answer inside {ends}?", "plain"
    for text in (margin_sentence(verdict), _private(verdict)):
        if text:
            yield text, "plain"
    if verdict.epsilon:
        text, enough = worth_sentence(verdict)
        yield text, "plain" if enough else "warning"
    yield decider_sentence(verdict), "detail"
    yield thresholds_sentence(verdict.candidates), "detail"


def _private(verdict: Verdict) -> str | None:
    text = estimate_text(verdict)
    return f"private answer {text}" if text else None


def cost_sentences(cost: Cost, tables: str) -> Iterator[str]:
    """Yield what a run spent and by which rule, what its ledger holds, and who is one person."""
    spent = f"epsilon {epsilon_text(cost.epsilon)}"
    if cost.delta:
        spent += f" and delta {float(cost.delta):.3g}"
    rule = _rule_words(cost)
    yield f"Spent {spent}{rule} on {tables}, which is taken as public."
    if cost.ledger:
        total = f"epsilon {epsilon_text(cost.total or 0)}"
        if cost.total_delta:
            total += f" and delta {float(cost.total_delta):.3g}"
        most = f" of {epsilon_text(cost.limit)}" if cost.limit is not None else ""
        yield f"In all {total}{most} spent on this table (ledger {visible(cost.ledger)})."
    if cost.unit is None:
        yield "One row counts as one person."
    else:
        rows = "1 row" if cost.max_rows == 1 else f"{cost.max_rows} rows"
        yield (
            f'All rows of one "{visible(cost.unit)}" count as one person; where rows count, at '
            f"most {rows} of each."
        )


def _rule_words(cost: Cost) -> str:
    """Return how the parts of a run add up to what it spent."""
    parts, sizes = cost.groups, [len(group.ids) for group in cost.groups]
    if not parts:
        return ""
    if cost.rule == "optimal":
        return f" ({sum(sizes)} questions, optimal composition)"
    if max(sizes) > 1:
        shared = max(parts, key=lambda group: len(group.ids))
        if len(parts) == 1:
            return f" once for {len(shared.ids)} disjoint questions (parallel composition)"
        return f" for {sum(sizes)} questions in {len(parts)} disjoint groups (parallel composition)"
    if len(parts) > 1 and len({group.epsilon for group in parts}) == 1:
        return f" = {len(parts)} x {epsilon_text(parts[0].epsilon)}"
    return ""
