"""Cost of a run, in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from pqd.reports.text.numbers import bound_text, epsilon_option, epsilon_text

if TYPE_CHECKING:
    from pqd.reports.models.audit import Cost, LedgerPlace

_PLACES: dict[LedgerPlace, str] = {
    "beside the table": ", beside the private table",
    "working folder": ", in the working folder",
}

_PROMISE = (
    "Differential privacy: had any one person's data been missing or added, no outcome would have "
    "been"
)
_ADDS_UP = "Whatever else is asked of the same table adds to this epsilon."
# Beyond it a factor is a number that nobody reads.
_LARGE = 20


def cost_sentences(cost: Cost, tables: str) -> Iterator[str]:
    """Sentences on what a run spent by which rule, what its ledger holds, and who is one person."""
    spent, rule = _amount_text(cost.epsilon, cost.delta), _rule_words(cost)
    yield f"Spent {spent}{rule} on {tables}, taken as public."
    if cost.earlier:
        yield earlier_sentence(cost)
    if cost.ledger:
        total = _amount_text(cost.total or Fraction(0), cost.total_delta or Fraction(0))
        most = f" of {epsilon_text(cost.limit)}" if cost.limit is not None else ""
        yield f"In all {total}{most} spent on this table (ledger {cost.ledger})."
    if cost.unit is None:
        yield "One row counts as one person."
    else:
        rows = "1 row" if cost.max_rows == 1 else f"{cost.max_rows} rows"
        yield (
            f'All rows of one "{cost.unit}" count as one person; where rows count, at '
            f"most {rows} of each."
        )


def earlier_sentence(cost: Cost) -> str:
    """Sentence on what earlier runs paid for: the days on which they ran, and what they cost."""
    days = list(dict.fromkeys(run.day for run in cost.earlier))
    when = f"on {days[0]}" if len(days) == 1 else f"between {days[0]} and {days[-1]}"
    run = "an earlier run" if len(cost.earlier) == 1 else f"{len(cost.earlier):,} earlier runs"
    return f"What cost nothing now was paid for {when} by {run}: {_amount_text(*_earlier(cost))}."


def _earlier(cost: Cost) -> tuple[Fraction, Fraction]:
    """Epsilon and delta of the earlier runs; disjoint queries may have cost less together."""
    epsilon = sum((run.epsilon for run in cost.earlier), Fraction(0))
    return epsilon, sum((run.delta for run in cost.earlier), Fraction(0))


def spent_cell(cost: Cost) -> str:
    """Epsilon of a run beside its other facts, with that of the earlier runs that paid for it."""
    now = epsilon_text(cost.epsilon)
    if not cost.earlier:
        return now
    then = epsilon_text(_earlier(cost)[0])
    return f"{now} (and {then} before)" if cost.epsilon else f"{now} ({then} before)"


def meaning_sentence(cost: Cost) -> str:
    """Sentence on what the epsilon of a report means for one person; empty where there is none.

    Sequential composition: the charges of the runs that a report rests on add up, so that the
    probability of any report changes by a factor of at most exp of their sum.
    """
    past = _earlier(cost)
    epsilon, delta = cost.epsilon + past[0], cost.delta + past[1]
    if not epsilon:
        return ""
    factor = f"exp({epsilon_option(epsilon)})"
    if epsilon <= _LARGE:
        factor = bound_text(math.exp(float(epsilon)), up=True)
    but = f", but for a chance of {float(delta):.3g}" if delta else ""
    return (
        f"Epsilon {epsilon_text(epsilon)} means: with or without any one person's data, a report "
        f"like this is at most {factor} times as probable{but}."
    )


def promise(epsilon: Fraction, delta: Fraction) -> str:
    """Sentences on what differential privacy promises at this price."""
    but = f", but for a chance of {float(delta):.3g}," if delta else ""
    times = f"more than exp({epsilon_option(epsilon)}) times as probable"
    return f"{_PROMISE}{but} {times}. {_ADDS_UP}"


def account_sentences(
    cost: Cost, private: str, answers: Sequence[bool] = (), *, dry: bool = False
) -> Iterator[str]:
    """What a run spent, what was ever spent on the private table, and where that is written down.

    ``answers`` says of each whether it was replayed; a ``dry`` run would spend the cost.
    """
    if dry:
        yield f"Nothing spent; a run costs {_amount_text(cost.epsilon, cost.delta)}."
    else:
        spent = spent_text(cost, answers)
        yield f"{spent[:1].upper()}{spent[1:]}."
    if cost.earlier:
        yield earlier_sentence(cost)
    if cost.ledger:
        yield _total_sentence(cost, private)
        yield _place_sentence(cost)


def spent_text(cost: Cost, answers: Sequence[bool] = ()) -> str:
    """Cost of a run beside its subject; ``answers`` says of each whether it was replayed."""
    replayed = sum(answers)
    if not cost.epsilon and not cost.delta:
        why = ": all replayed" if replayed and replayed == len(answers) else ""
        return f"nothing spent{why}"
    spent = f"{_amount_text(cost.epsilon, cost.delta)} spent"
    return f"{spent}, {replayed:,} replayed" if replayed else spent


def budget_sentence(cost: Cost, private: str) -> str:
    """All that was ever spent on the private table, and the limit; empty without a ledger.

    The ledger of a frame is named: there is no file that it lies beside.
    """
    if not cost.ledger:
        return ""
    total = _total_sentence(cost, private)
    return f"{total} {_place_sentence(cost)}" if cost.ledger_place == "working folder" else total


def _place_sentence(cost: Cost) -> str:
    where = _PLACES[cost.ledger_place] if cost.ledger_place else ""
    return f"The account is kept in {cost.ledger or ''}{where}."


def _total_sentence(cost: Cost, private: str) -> str:
    used = _amount_text(cost.total or Fraction(0), cost.total_delta or Fraction(0))
    on = f"{private} so far" if private else "the private table so far"
    if cost.limit is None:
        return f"In all {used} spent on {on}; no limit is set (pqd ledger limit)."
    return f"In all {used} of {epsilon_text(cost.limit)} spent on {on}."


def _amount_text(epsilon: Fraction, delta: Fraction) -> str:
    text = f"epsilon {epsilon_text(epsilon)}"
    return f"{text} and delta {float(delta):.3g}" if delta else text


def _rule_words(cost: Cost) -> str:
    """Rule by which the parts of a run add up to what it spent."""
    parts, sizes = cost.groups, [len(group.ids) for group in cost.groups]
    by_rule = {
        "optimal": f" ({sum(sizes)} queries, optimal composition)",
        "concentrated": " (zero-concentrated composition)"
        if len(parts) > 1
        else " (Gaussian noise)",
    }
    if not parts or cost.rule in by_rule:
        return by_rule[cost.rule] if parts else ""
    if max(sizes) > 1:
        shared = max(parts, key=lambda group: len(group.ids))
        if len(parts) == 1:
            return f" once for {len(shared.ids)} disjoint queries (parallel composition)"
        return f" for {sum(sizes)} queries in {len(parts)} disjoint groups (parallel composition)"
    if len(parts) > 1 and len({group.epsilon for group in parts}) == 1:
        return f" = {len(parts)} x {epsilon_text(parts[0].epsilon)}"
    return ""
