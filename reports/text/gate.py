"""Sentences on a gate: one test of many conditions, and the name of the worst of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pqd.deciders.names import names_and_more
from pqd.deciders.options import option
from pqd.reports.models.query import distance_of
from pqd.reports.models.standings import Standing
from pqd.reports.text.numbers import (
    budget_text,
    counted,
    end_text,
    epsilon_text,
    number_text,
    p_value_text,
    rounded_text,
)
from pqd.reports.text.query import distance_words, question_sentence, sure_text

if TYPE_CHECKING:
    from pqd.reports.models.check import CountFacts, GateFacts, WorstFacts
    from pqd.reports.models.query import QueryFacts
    from pqd.reports.models.refusals import LeftOut

# Name of the result that stands for the whole gate; no id of a check has a blank.
ALL_CHECKS = "all checks"
_MOST_NAMED = 3
# Next steps for a check that a gate named.
NAMED_STEP = "make the copy better there; only a gap that you know and accept takes a larger tau"
# Steps after a COUNT or a SUM fails, and after a COUNT of all rows, which has no meaning per row.
GROWING_STEP = f"{NAMED_STEP}; if the copy has another size, {{0}} compares per row"
ROWS_STEP = (
    f"{NAMED_STEP}; if the copy has another size on purpose, write the spec anew with pqd init "
    "--private-rows N, or leave this check out"
)
VALUES_STEP = (
    "make the copy better there, or take this check out: its tau is that of distances, and counts "
    "of rows may be off by a fifth and what chance and noise add"
)
ALARM_STEP = (
    "do not hand the copy out; ask its maker whether real rows are in it, and let pqd risk look "
    "for them"
)
_PUBLIC_STEP = "make the copy with every column again, or leave the column out of the gate"
HOW_TO_READ = (
    "A gate is one test of whether all conditions hold: the least of their margins, with noise. If "
    "it passes, the p-value is the chance of passing if any of them failed. If it does not, it "
    "names one check at most, and the others are not told: this run does not say whether they hold."
)
# What a gate asks of a column that looks like an identifier in the copy.
DISTINCT = "as many different values as in the copy, within 10 %; looks like an identifier there"
OTHER_SIZE = "looks like an identifier in the copy, which has another number of rows"
# A check that asks nothing of the private table, and a check whose gate was not run.
NO_CONDITION = "no condition: the copy was made under differential privacy"
NOT_RUN = "not measured"


def gate_message(gate: GateFacts) -> str:
    """Outcome of a gate with its p-value, and the condition that it named."""
    message = outcome_message(gate)
    return f"{message}; {worst_message(gate.worst)}" if gate.worst else message


def outcome_message(gate: GateFacts) -> str:
    """Outcome of a gate with its p-value."""
    conditions = counted(gate.conditions, "condition")
    single = gate.conditions == 1
    every = "the condition holds" if single else f"all {conditions} hold"
    if gate.outcome == "fails" and gate.p_value is None:
        columns = counted(gate.conditions, "column fails", "columns fail")
        judged = option("--columns")
        return f"{columns} in public, so nothing was measured; {judged} names those to judge"
    if gate.p_value is None:
        return f"one test of whether {every}, for epsilon {epsilon_text(gate.epsilon)}"
    odds = p_value_text(gate.p_value, gate.alpha)
    if gate.outcome == "holds":
        return f"{every} ({odds}){_within_text(gate)}"
    if gate.outcome == "fails":
        some = "the condition fails" if single else f"at least one of {conditions} fails"
        return f"{some} ({odds})"
    leaning = "one fails" if gate.margin is not None and gate.margin < 1 else every
    return f"not shown that {every}: the test leans to {leaning} ({odds})"


def _within_text(gate: GateFacts) -> str:
    """Bounds within which alone all conditions hold; empty if there are none."""
    parts = []
    for each in gate.within:
        low, high = ("" if x is None else number_text(x) for x in (each.lower, each.upper))
        ends = f"{each.column} within {low}..{high}"
        rows = "" if each.rows_beyond is None else counted(each.rows_beyond, "row")
        parts.append(f"{ends}, at most {rows} beyond" if rows else ends)
    return f", {'; '.join(parts)}" if parts else ""


def worst_message(worst: WorstFacts) -> str:
    """Condition that a gate named, and what its own margin says."""
    odds = p_value_text(worst.p_value, worst.alpha)
    if not worst.conclusive:
        return f"the worst seems to be {worst.name}, which its own test leaves undecided ({odds})"
    if worst.holds:
        return f"the worst seems to be {worst.name}, but it holds ({odds})"
    away = 1 - worst.margin_high
    people = counted(max(away, 1), "person", "people")
    return f"the worst is {worst.name}: it fails ({odds}), by {people} or more"


def worst_answer(facts: QueryFacts | None, worst: WorstFacts) -> str:
    """What the named condition tells of the private answer, in its unit; empty if nothing.

    The margin of a quantile counts ranks, so it tells no value, but a failure tells that the
    private quantile is beyond the tolerance.
    """
    if worst.counts:
        return _counts_text(worst.counts, fails=worst.conclusive and not worst.holds)
    if facts is None:
        return ""
    if facts.aggregate in {"MEDIAN", "QUANTILE"} and worst.conclusive and not worst.holds:
        away = f"more than {number_text(facts.tau)} away from the copy's"
        return f"the private {facts.aggregate.lower()} is {away}"
    if distance := distance_of(facts, (worst.margin, worst.margin_low, worst.margin_high)):
        return distance_words(facts, distance, worst.alpha)
    if facts.aggregate != "COUNT":
        return ""
    low, high = max(facts.tau - worst.margin_high, 0), max(facts.tau + 1 - worst.margin_low, 0)
    about = rounded_text(max(facts.tau + 0.5 - worst.margin, 0), (high - low) / 2)
    ends = f"{end_text(low, up=False)} to {end_text(high, up=True)}"
    return f"off by about {about} ({sure_text(worst.alpha, 2)}: {ends})"


def narrow_text(chance: int, noise: int, group: str, tau: int) -> str:
    """Tolerance ``tau`` of a COUNT that lets an honest copy pass a gate, and why less does not."""
    where = f" in {group}" if group else ""
    off = f"an honest copy may be {chance:,} off{where} by chance, and " if chance else ""
    return f"NOT decidable: {off}the gate's noise needs {noise:,} more; tau = {tau} would do"


def _counts_text(counts: CountFacts, *, fails: bool) -> str:
    """Rows that the copy has and that a condition allows; if it ``fails``, where the others are."""
    copy = f"the copy has {counts.copy:,}" if counts.copy else "the copy has none"
    least, most = f"{counts.least:,}", f"{counts.most:,}"
    if not fails:
        return f"{copy}, and {f'{least} to' if counts.least else 'at most'} {most} are allowed"
    fewer = "" if counts.is_more else f"fewer than {least} or "
    return f"{copy}, the private table {fewer}more than {most}"


def needs_text(epsilon: float) -> str:
    """Epsilon that the conditions of one check need in a gate."""
    needed = budget_text(epsilon)
    if needed == "none":
        return "NOT decidable: no epsilon is large enough; give it a larger tau"
    return f"NOT decidable: it needs a gate of about epsilon {needed}, or a larger tau"


def names_sentence(gate: GateFacts) -> str:
    """Why the budget does not name the worst condition; empty if that is not the case."""
    refused = gate.names_refused
    return f"The worst condition is not named: {refused}" if refused else ""


def gate_step(gate: GateFacts) -> str:
    """Next step after a gate that did not pass; empty if it passed or is only planned."""
    if gate.outcome in {None, "holds"}:
        return ""
    if gate.p_value is None:
        return _PUBLIC_STEP
    names, worst = option("--names 0.5"), gate.worst
    named = f"{names} names the worst check, for an epsilon of its own"
    named = f"{named}; the gate itself is then replayed at no cost"
    if worst is not None:
        if worst.conclusive and not worst.holds:
            return f"see {worst.name}, which the gate named"
        more = epsilon_text(worst.epsilon)
        named = f"a larger {option('--names')} than {more} tells which check is the worst"
    if gate.outcome == "fails":
        return named
    dry = option("--dry-run")
    decides = f"a larger epsilon for the gate decides it, and {dry} names what it hardly decides"
    return f"{decides}; or {named}"


def condition_message(facts: Sequence[QueryFacts], expect: str) -> str:
    """What a condition asks of the private table, for the groups of a check in one sentence."""
    first = facts[0]
    if len(facts) > 1:
        groups = names_and_more([each.group or each.id for each in facts], _MOST_NAMED, "; ")
        asked = f"{len(facts)} groups: {groups}"
    else:
        asked = question_sentence(first, first.tolerance)
    return f"{asked}, expected {expect}" if expect == "far" else asked


def table_condition(name: str, tolerance: str, values: int, *, is_pair: bool = False) -> str:
    """What a gate asks of one column or pair, or of the whole table.

    ``values`` is the number of conditions about the values of a column, or about the relation of a
    pair.
    """
    if name == "relations":
        return "more than half of the relations are kept, or hardly any is lost"
    if name == "alarm":
        return "the copy is not nearer than rows drawn from the private table itself"
    distance = f"distance below {tolerance}" if tolerance else ""
    others = f"{counted(values, 'condition')} on its values" if values else ""
    if is_pair and values:
        others = "its relation is kept"
    return "; ".join(filter(None, [distance, others]))


def values_condition(column: str, conditions: int, left_out: Sequence[str]) -> str:
    """What a gate asks of the values of one column, and what it leaves out."""
    asked = f"{counted(conditions, 'condition')} on the values of {column}"
    if not left_out:
        return asked
    named = names_and_more(left_out, _MOST_NAMED)
    return f"{asked}; not judged, since chance and noise alone may explain it: {named}"


def flaw_message(left_out: LeftOut) -> str:
    """Why a gate of a whole table fails without a test: a column that is not in both or judged."""
    known = left_out.standing in {Standing.MISSING, Standing.COPY_ALONE}
    return str(left_out.standing) if known else f"{left_out.standing}: {left_out.reason}"
