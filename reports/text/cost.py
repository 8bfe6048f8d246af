"""Sentences on the cost of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from pqd.deciders.options import option
from pqd.reports.blocks import Line
from pqd.reports.text.numbers import counted, epsilon_text, factor_text, guess_text
from pqd.reports.text.query import persons_words, weights_words

if TYPE_CHECKING:
    from pqd.reports.models.audit import Cost, LedgerPlace
    from pqd.reports.models.ledger import PeriodFacts

_PLACES: dict[LedgerPlace, str] = {
    "beside the table": ", beside the private table",
    "working folder": ", in the working folder",
}

_PROMISE = (
    "Differential privacy: had any one person's data been missing or added, no outcome would have "
    "been"
)
_ADDS_UP = "Whatever else is asked of the same table adds to this epsilon."


def cost_sentences(cost: Cost, tables: str, *, public: bool = True) -> Iterator[str]:
    """Sentences on a run's cost: the amount, the rule, the ledger's total, the privacy unit.

    ``public``: ``tables`` ends with a table that is taken as public.
    """
    spent, rule = amount_text(cost.epsilon, cost.delta), _rule_words(cost)
    done = "Simulated" if cost.simulated else "Spent"
    yield f"{done} {spent}{rule} on {tables}{', taken as public' if public else ''}."
    if cost.earlier:
        yield earlier_sentence(cost)
    if cost.ledger:
        yield f"{_total_text(cost, 'this table')} (ledger {cost.ledger})."
        yield from map(_period_sentence, cost.periods)
    yield persons_text(cost) or "One row counts as one person."


def persons_text(cost: Cost) -> str:
    """Sentence on who is a person, as it was stated; empty if nobody stated it."""
    if cost.row_is_person:
        return f"Each row is one person, as was stated ({option('--row-is-person')})."
    if cost.unit is None:
        return ""
    where = f": {_of_persons(cost.max_rows)}" if cost.max_rows else ""
    return f'All rows of one "{cost.unit}" are one person{where}.'


def rows_noun(cost: Cost) -> str:
    """Word for what a run counts: rows, or persons of whom each counts as one row at most."""
    return "persons" if cost.max_rows == 1 else "rows"


def _of_persons(max_rows: int) -> str:
    return f"COUNT is of persons, SUM of persons' totals; elsewhere {weights_words(max_rows)}"


def persons_lines(cost: Cost) -> list[Line]:
    """Line on how a person with several rows counts in shares of rows; none if a row is one."""
    if cost.max_rows is None:
        return []
    words = weights_words(cost.max_rows)
    return [Line(f'Of persons ("{cost.unit}"): {words}.', "detail")]


def persons_facts(cost: Cost) -> list[tuple[str, str]]:
    """Fact on how a person with several rows counts; none if a row is a person."""
    return [] if cost.max_rows is None else [("Persons", persons_words(cost.max_rows))]


def earlier_sentence(cost: Cost) -> str:
    """Sentence on the earlier runs that paid for replayed answers: their days and their cost."""
    days = list(dict.fromkeys(run.day for run in cost.earlier))
    when = f"on {days[0]}" if len(days) == 1 else f"between {days[0]} and {days[-1]}"
    run = "an earlier run" if len(cost.earlier) == 1 else f"{len(cost.earlier):,} earlier runs"
    return f"What cost nothing now was paid for {when} by {run}: {amount_text(*_earlier(cost))}."


def _earlier(cost: Cost) -> tuple[Fraction, Fraction]:
    """Sum of the epsilons and deltas of the earlier runs.

    It is an upper bound: disjoint queries may have cost less together.
    """
    epsilon = sum((run.epsilon for run in cost.earlier), Fraction(0))
    return epsilon, sum((run.delta for run in cost.earlier), Fraction(0))


def spent_cell(cost: Cost) -> str:
    """Epsilon of a run, and the epsilon of earlier runs that paid for its replayed answers."""
    now = epsilon_text(cost.epsilon)
    if cost.simulated:
        return f"0 ({now} simulated)"
    if not cost.earlier:
        return now
    then = epsilon_text(_earlier(cost)[0])
    return f"{now} (and {then} before)" if cost.epsilon else f"{now} ({then} before)"


def meaning_sentence(cost: Cost) -> str:
    """Sentence on what the epsilon of a report means for one person.

    It is empty if epsilon is 0, and for a simulation, which protects nobody.

    By sequential composition, the charges of all runs behind a report add up.  So one person's data
    changes the probability of a report by a factor of at most exp(sum of the charges).
    """
    past = _earlier(cost)
    epsilon, delta = cost.epsilon + past[0], cost.delta + past[1]
    if not epsilon or cost.simulated:
        return ""
    but = f", but for a chance of {float(delta):.3g}" if delta else ""
    return (
        f"Epsilon {epsilon_text(epsilon)} means: with or without any one person's data, a report "
        f"like this is at most {factor_text(epsilon)} times as probable{but}"
        f"{_guess(epsilon, delta)}."
    )


def promise(epsilon: Fraction, delta: Fraction, *, simulated: bool = False) -> str:
    """Sentences on what differential privacy promises at this epsilon and delta."""
    if simulated:
        return "Nothing: whoever knows the seed of the noise can take the noise off."
    but = f", but for a chance of {float(delta):.3g}," if delta else ""
    times = f"more than {factor_text(epsilon)} times as probable"
    return f"{_PROMISE}{but} {times}{_guess(epsilon, delta)}. {_ADDS_UP}"


def _guess(epsilon: Fraction, delta: Fraction) -> str:
    """Second half of a promise; empty with a delta, for which no guess has such a bound."""
    return "" if delta else f"; {guess_text(epsilon)}"


def account_sentences(
    cost: Cost, private: str, answers: Sequence[bool] = (), *, dry: bool = False
) -> Iterator[str]:
    """Sentences on what a run spent, the private table's total so far, and the ledger's place.

    ``answers`` has one value per answer: whether it was replayed.  ``dry``: nothing was spent, and
    ``cost`` is what a run would spend.
    """
    if dry:
        yield f"Nothing spent; a run costs {amount_text(cost.epsilon, cost.delta)}."
        yield from filter(None, [year_sentence(cost.epsilon)])
    else:
        spent = spent_text(cost, answers)
        yield f"{spent[:1].upper()}{spent[1:]}."
    if persons := persons_text(cost):
        yield persons
    if cost.earlier:
        yield earlier_sentence(cost)
    if cost.ledger:
        yield _total_sentence(cost, private)
        yield _place_sentence(cost)


def spent_text(cost: Cost, answers: Sequence[bool] = (), held_out_cost: Cost | None = None) -> str:
    """Cost of a run in a few words; ``answers`` says for each answer whether it was replayed.

    A run may spend on the held-out table alone: then ``held_out_cost`` is told.
    """
    replayed = sum(answers)
    if held_out_cost and held_out_cost.spent and not cost.epsilon:
        other = epsilon_text(held_out_cost.epsilon)
        return f"epsilon {other} spent on the held-out table, nothing on the private one"
    if not cost.epsilon and not cost.delta:
        why = ": all replayed" if replayed and replayed == len(answers) else ""
        return f"nothing spent{why}"
    amount = amount_text(cost.epsilon, cost.delta)
    if cost.simulated:
        return f"nothing spent, {amount} simulated"
    spent = f"{amount} spent"
    return f"{spent}, {replayed:,} replayed" if replayed else spent


def price_text(cost: Cost, held_out_cost: Cost | None) -> str:
    """Epsilon of a planned run, with that on the held-out table."""
    price = epsilon_text(cost.epsilon)
    if held_out_cost is None:
        return price
    other = epsilon_text(held_out_cost.epsilon)
    return f"{price}, and {other} on the held-out table, in an account of its own"


def budget_sentence(cost: Cost, private: str, *others: tuple[Cost, str]) -> str:
    """Total spent so far on the private table, and its limit; empty without a ledger.

    ``others`` are the costs and names of further private tables, such as the held-out table.
    The text also names a ledger in the working folder: the ledger of a frame is there, since a
    frame has no file beside which a ledger could lie.
    """
    if not cost.ledger:
        return ""
    # Files of two folders may have one name.
    named = ((e, f"the held-out table {name}" if name == private else name) for e, name in others)
    tables = ((cost, private), *named)
    totals = [_total_sentence(each, name) for each, name in tables if each.ledger]
    total = f"{' '.join(totals)}{_row_sentence(cost)}"
    return f"{total} {_place_sentence(cost)}" if cost.ledger_place == "working folder" else total


def _row_sentence(cost: Cost) -> str:
    """Sentence that a row is a person; empty if somebody stated who is."""
    return "" if persons_text(cost) else " One row counts as one person."


def _place_sentence(cost: Cost) -> str:
    where = _PLACES[cost.ledger_place] if cost.ledger_place else ""
    return f"The account is kept in {cost.ledger or ''}{where}."


def _total_sentence(cost: Cost, private: str) -> str:
    """What was spent on all versions of a table, and its limits."""
    table = private or "the private table"
    total = _total_text(cost, table if cost.versions > 1 else f"{table} so far")
    none = cost.limit is None and not cost.periods
    total += ". No limit is set; pqd ledger limit sets one." if none else "."
    return " ".join([total, *map(_period_sentence, cost.periods)])


def _total_text(cost: Cost, table: str) -> str:
    """What was spent on a table, without a full stop; of several versions, who has paid it.

    Other commands may have spent more than the budget of a spec, which limits its own runs.
    """
    total = cost.total or Fraction(0)
    used = amount_text(total, cost.total_delta or Fraction(0))
    most = over = ""
    if cost.limit is not None:
        most = f" of {epsilon_text(cost.limit)}"
        if total > cost.limit:
            over = f", by all commands; this run may go up to {most.removeprefix(' of ')} in all"
            most = ""
    if cost.versions <= 1:
        return f"In all {used}{most} spent on {table}{over}"
    return (
        f"In all {used}{most} spent on {cost.versions:,} versions of {table}{over}: whoever is in "
        f"each has paid it, in {counted(cost.runs, 'run')} since {cost.since}"
    )


def _period_sentence(period: PeriodFacts) -> str:
    """Sentence on the limit of a period of the calendar, and what is spent of it."""
    parts = []
    if period.limit is not None:
        parts.append(f"epsilon {epsilon_text(period.epsilon)} of {epsilon_text(period.limit)}")
    if period.limit_delta:
        parts.append(f"delta {float(period.delta):.3g} of {float(period.limit_delta):.3g}")
    return f"In the {period.kind} from {period.first}: {', '.join(parts)}." if parts else ""


def year_sentence(price: Fraction) -> str:
    """Sentence on what a nightly run costs in a year; empty if a run costs nothing.

    A run on the same table and the same copy is replayed, so only new versions cost.
    """
    if not price:
        return ""
    return (
        f"Every new version of a table or copy costs it again: a year of nightly runs, epsilon "
        f"{epsilon_text(365 * price)}."
    )


def amount_text(epsilon: Fraction, delta: Fraction) -> str:
    """Epsilon in words, and a delta if there is one."""
    text = f"epsilon {epsilon_text(epsilon)}"
    return f"{text} and delta {float(delta):.3g}" if delta else text


def limit_text(epsilon: Fraction | None, delta: Fraction | None) -> str:
    """Limit in words, such as ``at most epsilon 10``; a delta is named unless none is allowed."""
    if epsilon is None:
        return "no limit" if delta is None else f"at most delta {float(delta):.3g}"
    return f"at most {amount_text(epsilon, delta or Fraction(0))}"


def _rule_words(cost: Cost) -> str:
    """Rule of composition by which the charges of a run's parts add up to its cost."""
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
