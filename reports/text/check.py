"""Sentences on checks that all renderings of ``pqd check`` share."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from pqd.deciders.names import names_and_more
from pqd.deciders.options import for_spec, option
from pqd.reports.blocks import Badge
from pqd.reports.escape import caret_lines, visible
from pqd.reports.models.check import status_of_attack
from pqd.reports.models.query import MEAN_DISTANCE, SCORES
from pqd.reports.models.standings import CHECKS, Standing, passes_first
from pqd.reports.text.cost import cost_sentences
from pqd.reports.text.distances import alarm_words
from pqd.reports.text.gate import (
    ALARM_STEP,
    ALL_CHECKS,
    GROWING_STEP,
    NAMED_STEP,
    ROWS_STEP,
    VALUES_STEP,
    gate_step,
    outcome_message,
)
from pqd.reports.text.numbers import (
    budget_text,
    counted,
    epsilon_text,
    first_of,
    listed,
    p_value_text,
    percent_text,
    spaced,
)
from pqd.reports.text.query import (
    amount_text,
    answer_lines,
    chance_sentence,
    few_rows_text,
    group_parts,
    proof_sentence,
    remarks,
    sentences,
    verdict_words,
    worth_of_evidence,
)
from pqd.reports.text.risk import (
    CONTROL_STEP,
    control_warning,
    excess_text,
    gain_sentence,
    tau_text,
)

if TYPE_CHECKING:
    from pqd.reports.models.audit import Verdict
    from pqd.reports.models.check import CheckReport, CheckResult, GateFacts, Status
    from pqd.reports.models.profile import Alarm
    from pqd.reports.models.refusals import LeftOut
    from pqd.reports.models.risk import AttackFacts

HOW_TO_READ = (
    (
        "PASS: as expected, or undecided where the spec lets that pass. FAIL: not as expected, or "
        "undecided where the spec does not. WARN: the same, but the spec only warns. KNOWN: failed "
        "in the baseline too. ERROR: could not be decided. PLAN: planned only. LOW: planned, and a "
        "run would often leave it undecided, even if the copy is as good as a real sample."
    ),
    (
        "A verdict says whether the private answer lies within the tolerance of the synthetic one. "
        "It is drawn under differential privacy, so noise can turn it; a small p says that this is "
        "unlikely."
    ),
)
_MOST_NAMED = 5
# Next step of a plan with checks that are not decidable.
NARROW_STEP = "change what LOW names in {0}; such a run costs the same and is often UNDECIDED"
FREE_ASKED = "costs nothing: another check asks the same"
FREE_SETTLED = "costs nothing: no table can answer otherwise"
FREE_KNOWN = "costs nothing: known already"


def price_text(epsilon: Fraction, *, joint: bool) -> str:
    """Price of a check by itself; if ``joint``, the price of the batch that answers it."""
    return f"epsilon {epsilon_text(epsilon)} {'with its batch' if joint else 'by itself'}"


def reliability_parts(unproved: Sequence[str], undecided: Sequence[str]) -> list[str]:
    """What a planned verdict is worth.

    ``unproved`` says why verdicts can have no proof.  ``undecided`` says why runs often leave a
    verdict undecided, and which epsilon would do.
    """
    if unproved or not undecided:
        return [*(unproved or [Standing.DECIDABLE.value])]
    return [f"NOT decidable: {undecided[0]}", *undecided[1:]]


_STATE = (
    'state the bounds of the column ([columns.NAME] bounds = [LOW, HIGH]), or say bounds = "copy" '
    "to take those of the copy"
)
# Hint for a planned check whose verdict would hold only within the copy's bounds.
CONDITIONAL_HINT = f"NOT taken by a check, since it holds within the copy's bounds alone: {_STATE}"
# First line on a spec with checks whose answer could never count.
NEVER_COUNTED = (
    "checks whose answer could never count, so nothing was measured and nothing was spent ({0} "
    "runs others)"
)
# What a spec must say so that a check accepts a verdict with this status.
_NOT_TAKEN = {
    "conditional": _STATE,
    "likely": 'a check takes a proof only, unless it says evidence = "likely"',
}


def proofless_hint(*, named: bool) -> str:
    """Part of a planned check whose decider gives no proof; the spec may have ``named`` it."""
    remedy = "name another decider" if named else "give it a larger epsilon"
    return (
        f"NOT taken by a check, since its decider gives no proof: {remedy}, or say "
        'evidence = "likely"'
    )


def single_message(verdict: Verdict, status: str, expect: str) -> str:
    """Message of a check that has one verdict."""
    odds = p_value_text(verdict.p_value, verdict.alpha)
    if status == "undecided":
        message = f"undecided: leans {verdict.leaning.badge.text} ({odds}); the noise may decide"
        if unproved := proof_sentence(verdict.chosen):
            return f"{message}; {unproved}"
        needed = budget_text(verdict.chosen.epsilon_needed)
        if verdict.decidable is False and needed not in {"none", "?"}:
            message += f"; about epsilon {needed} would do, or a larger tau"
        if rows := few_rows_text(verdict):
            message += f"; the query {rows}"
        return message
    if status in {"conditional", "likely"}:
        words = f"{verdict.standing.words}, {worth_of_evidence(verdict)}"
        return f"{words}; {_NOT_TAKEN[status]}"
    standing = f"{verdict.standing.words} ({odds})"
    return (
        f"{standing}, as expected"
        if status == "as expected"
        else (f"{standing}, but {expect} was expected")
    )


_TITLES: Mapping[Status, str] = {
    "not as expected": "Not",
    "undecided": "Undecided",
    "conditional": "Within bounds that nobody stated",
    "likely": "Likely, without a proof",
}


def alarm_tolerance(drawn: float) -> str:
    """Tolerance of an alarm: the quality that rows drawn from the private table seldom exceed."""
    return f"score at most {percent_text(drawn, 2)}"


def alarm_message(alarm: Alarm, verdict: Verdict) -> str:
    """Message of a check of an alarm: the alarm itself, or that there is none."""
    odds = p_value_text(verdict.p_value, verdict.alpha)
    if alarm.standing is not None:
        quality = f"quality above {percent_text(alarm.drawn, 2)}"
        words = f"{quality}, which rows drawn from the private table seldom exceed; {odds}"
        return alarm_words(alarm, words, verdict.synthetic)
    # A decided verdict without a standing is a no.
    how = "farther" if verdict.conclusive else "not proven to be closer"
    return (
        f"no alarm: {how} than rows drawn from the private table itself would be ({odds}); silence "
        "is no safety"
    )


def grouped_message(groups: Mapping[Status, Sequence[str]], expect: str) -> str:
    """Message of a check that has several groups: the names of the groups by their status."""
    verdicts = sum(map(len, groups.values()))
    message = f"{len(groups['as expected'])} of {verdicts} groups as expected ({expect})"
    for status, title in _TITLES.items():
        if names := groups[status]:
            message += f". {title}: {_named(names)}"
            message += f" ({_NOT_TAKEN[status]})" if status in _NOT_TAKEN else ""
    return message


def attacks_message(
    groups: Mapping[Status, Sequence[AttackFacts]],
    tolerance: str,
    alpha: Fraction,
    known: Sequence[str] | None,
    persons: str,
) -> str:
    """Message of a check of risk: the attacks by their status, and what the worst one gains."""
    number = sum(map(len, groups.values()))
    within = len(groups["as expected"])
    if within == number:
        whole = "each gains" if number > 1 else "the attack gains"
        return f"{whole} at most {tolerance} from private rows"
    wrong, unsure = groups["not as expected"], groups["undecided"]
    parts = [f"within {tolerance}: {within} of {number} attacks"] if number > 1 else []
    parts += [f"more than {tolerance}: {_named([each.name for each in wrong])}"] if wrong else []
    parts += [f"undecided: {_named([each.name for each in unsure])}"] if unsure else []
    worst = (*wrong, *unsure)[0]
    told = f"{excess_text(worst, alpha)}. {gain_sentence(worst, known, persons)}"
    if not wrong and worst.held_out and worst.held_out.below_zero:
        # What the worst attack gains means nothing then.
        told = control_warning(worst.held_out.below_zero)
    return f"{'; '.join(parts)}; {told.rstrip('.')}"


def attacks_price(epsilon: Fraction, attacks: int, tables: str) -> str:
    """Price of the attacks of all checks of risk on one copy, on the ``tables`` that pay it."""
    return (
        f"epsilon {epsilon_text(epsilon)} on {tables}, with all checks of risk on "
        f"this copy ({counted(attacks, 'attack')})"
    )


def low_attacks(attacks: Sequence[AttackFacts]) -> str:
    """Which attacks a run hardly decides at this tolerance, and what would decide all of them."""
    names = _named([each.name for each in attacks])
    return f"hardly decides {names}; {_ways(attacks)} would do"


def _named(names: Sequence[str]) -> str:
    # The name of a group by two columns contains a comma.
    return names_and_more(names, _MOST_NAMED, "; ")


def alarms(report: CheckReport) -> list[str]:
    """Sentences that head every rendering: copies that are too near to the private table."""
    near = [each for each in report.checks if each.alarm and each.alarm.standing]
    return [each.message for each in near]


def worst_first(report: CheckReport) -> list[CheckResult]:
    """Checks with the worst standing first; equal standings stay in the order of the spec."""
    return sorted(report.checks, key=lambda check: CHECKS.index(check.standing))


def result(report: CheckReport) -> Badge:
    """Standing of the whole run in one word; a run without checks is not a success."""
    standings = {check.standing for check in report.checks}
    if report.is_open:
        standings.add(Standing.FAILED)
    if report.dry:
        standings.add(Standing.PLANNED)
    if not standings:
        return Badge("NOTHING CHECKED", "no")
    # A build passes despite a warning, and despite a failure that the baseline knows.
    whole = (Standing.BROKEN, Standing.FAILED, Standing.UNSURE, Standing.PLANNED)
    worst = next((each for each in whole if each in standings), Standing.PASSED)
    return worst.badge if worst is Standing.UNSURE else Badge(worst.upper(), worst.badge.tone)


# Standings without a verdict, whose counts come last.
_WITHOUT_VERDICT = (Standing.BROKEN, Standing.PLANNED, Standing.NARROW)


def counts_sentence(report: CheckReport) -> str:
    """Counts of standings, such as ``3 passed, 2 failed (1 undecided).``; of a gate its outcome."""
    if report.gate and not report.dry:
        return f"{outcome_message(report.gate)}."
    counts = Counter(check.standing for check in report.checks)
    if counts and counts[Standing.PLANNED] == len(report.checks):
        return f"{counted(len(report.checks), 'check')}, nothing decided."
    unsure = Counter(check.standing for check in report.checks if check.status == "undecided")
    order = sorted(passes_first(CHECKS), key=lambda each: each in _WITHOUT_VERDICT)
    parts = [
        f"{counts[each]} {each}"
        + (f" ({unsure[each]} undecided)" if unsure[each] and each is not Standing.UNSURE else "")
        for each in order
        if counts[each]
    ]
    return f"{', '.join(parts) or 'no checks'}."


def columns_message(unjudged: Sequence[LeftOut], aside: Sequence[str] = ()) -> str:
    """Reason why a check of the whole table passes or fails by its columns alone.

    ``aside`` are columns that the spec sets aside, which are not looked at.
    """
    if not unjudged:
        but = f" but {listed([*aside])} (judge = false)" if aside else ""
        return (
            f"every column{but} is in both tables and can be judged (public and exact, no p-value)"
        )
    missing = [each.columns[0] for each in unjudged if each.standing is Standing.MISSING]
    told, steps = [], []
    if missing:
        told.append(f"{listed(missing)} {'is' if len(missing) == 1 else 'are'} {Standing.MISSING}")
        steps.append(f"Make the copy with {listed(missing)}.")
    told += [
        f"{each.columns[0]} is {each.standing}: {_reason(each)}"
        for each in unjudged
        if each.standing is not Standing.MISSING
    ]
    judged = any(each.standing is Standing.NOT_JUDGED for each in unjudged)
    true = "judge = true judges a column, " if judged else ""
    steps.append(f"In [columns.NAME] {true}judge = false says that it may be so")
    return (
        f"{'; '.join(told)}. This is public and exact, with no p-value, and cost nothing. "
        f"{' '.join(steps)}"
    )


def lacking_message(columns: Sequence[str]) -> str:
    """Reason why a check of ``columns`` cannot hold: only the private table has them."""
    return f"the copy lacks {listed([*columns])}"


def unjudged_message(columns: Sequence[str], schema: str) -> str:
    """Reason why a check of ``columns`` is not told: the check ``schema`` fails for them."""
    return f"{listed([*columns])} cannot be judged: see {schema}"


def _reason(left_out: LeftOut) -> str:
    # A spec judges a column by a key of its own.
    return left_out.reason.partition("; judge it with")[0]


def message_parts(message: str) -> list[tuple[str, str | None]]:
    """Lines of a message, each with the line of carets below it; None if it has no carets."""
    parts: list[tuple[str, str | None]] = []
    for line in message.split("\n"):
        carets = "^" in line and not line.strip(" ^")
        if carets and parts and parts[-1][1] is None:
            parts[-1] = (parts[-1][0], line)
        else:
            parts.append((line, None))
    return parts


def message_text(message: str, width: float = math.inf) -> str:
    """Message in which hidden signs are escaped and the carets stay in place.

    Lines with carets are folded at ``width`` cells.
    """
    lines: list[str] = []
    for line, carets in message_parts(message):
        lines += [visible(line)] if carets is None else caret_lines(line, carets, width)
    return "\n".join(lines)


def stamped(check: CheckResult, text: str) -> str:
    """Text that begins with SIMULATED if a verdict of the check comes from seeded noise."""
    return f"SIMULATED: {text}" if check.simulated else text


def distance_tolerance(verdict: Verdict, check: CheckResult) -> str:
    """Tolerance of a distance.

    For a score it is the spec's least score, as the spec writes it.
    """
    if verdict.aggregate in SCORES:
        return spaced(check.tolerance).removeprefix("score ")
    return amount_text(verdict, verdict.tau)


def detail_lines(check: CheckResult, gate: GateFacts | None = None) -> Iterator[str]:
    """All lines on a check that stand below its message; ``gate`` is that of the report."""
    place = f"line {check.line} of the spec"
    # An entry for the error that stopped a run has no expectation.
    stated = f"; expected: {check.expect}; tolerance {spaced(check.tolerance)}"
    yield place + (stated if check.expect else "")
    if len(check.verdicts) == 1:
        for text, _ in sentences(check.verdicts[0], check.tolerance):
            yield text
    yield from attack_lines(check, check.attacks)
    for verdict in check.verdicts if len(check.verdicts) > 1 else ():
        yield _group_line(verdict)
    yield from price_lines(check.verdicts)
    yield from advice(check, gate)


def failure_lines(check: CheckResult, gate: GateFacts | None = None) -> Iterator[str]:
    """Lines below the message of a check that did not pass, where there is room for a few.

    The question and what is known of the answer, what it cost, and the next step.  Of many groups
    the first that keep the check from passing.
    """
    if len(check.verdicts) == 1:
        yield from answer_lines(check.verdicts[0], check.tolerance)
    elif check.verdicts:
        told = [each for each in check.verdicts if check.status_of(each) != "as expected"]
        yield from first_of(map(_group_line, told))
    told_of = [each for each in check.attacks if status_of_attack(each) != "as expected"]
    yield from attack_lines(check, told_of)
    yield from price_lines(check.verdicts)
    yield from advice(check, gate)


def attack_lines(check: CheckResult, attacks: Sequence[AttackFacts]) -> Iterator[str]:
    """A line for each of some ``attacks`` of a check of risk, and what all of them cost."""
    tried = check.attacked
    if tried is None:
        return
    for each in attacks:
        told = excess_text(each, tried.alpha)
        yield f"{each.name}: {each.standing.words} of {spaced(check.tolerance)}, {told}"
    earlier = ", paid for by an earlier run" if tried.replayed else ""
    yield (
        f"spent: epsilon {epsilon_text(tried.epsilon)} on the private table and again on the "
        f"held-out table, for all {counted(tried.attacks, 'attack')} on this copy{earlier}"
    )


def price_lines(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """What the verdicts of a check cost by themselves; nothing for a check without any."""
    prices = {verdict.epsilon for verdict in verdicts}
    if not prices:
        return
    each = " for each group" if len(verdicts) > 1 else ""
    earlier = ", paid for by an earlier run" if all(v.replayed for v in verdicts) else ""
    yield f"spent: epsilon {epsilon_text(max(prices))}{each}{earlier}"


def _group_line(verdict: Verdict) -> str:
    """Verdict on one group of a query, in one line."""
    return "   ".join([verdict_words(verdict)[0], *group_parts(verdict)])


def advice(check: CheckResult, gate: GateFacts | None = None) -> Iterator[str]:
    """Next step for a check that fails or warns, unless its message already names one.

    ``gate`` is that of the report; None without one.
    """
    if check.gate in {"fail", "warn"} and check.status != "planned":
        place = f" (line {check.line})" if check.line > 1 else ""
        if step := _step_in(gate, check) if gate else check_step(check):
            yield f"next: {step}{place}"


# SQL of a query that grows with the rows, and of a COUNT of all rows.
_GROWING = re.compile(r"\s*SELECT\s+(COUNT|SUM)\s*\((?!\s*DISTINCT\b)", re.IGNORECASE)
_ALL_ROWS = re.compile(r"\s*SELECT\s+COUNT\s*\(\s*\*\s*\)\s+FROM\s+\w+\s*;?\s*", re.IGNORECASE)


def step_of_gate(report: CheckReport) -> str:
    """Next step after a gate that did not pass: that of the check that it named, if it did."""
    gate = report.gate
    named = [each for each in report.own_checks if each.gate == "fail"]
    if gate is None or gate.p_value is None or not named:
        return gate_step(gate) if gate else ""
    return f"{named[0].id}: {_step_in(gate, named[0])}"


def _step_in(gate: GateFacts, check: CheckResult) -> str:
    """Next step for the gate itself, or for the check that it named."""
    if check.id == ALL_CHECKS:
        return gate_step(gate)
    if gate.p_value is None:
        # What fails in public says itself what to do.
        return ""
    is_score = check.sql.startswith(MEAN_DISTANCE)
    if check.sql == "alarm" or (is_score and check.expect == "far"):
        return ALARM_STEP
    if check.sql.startswith("VALUES("):
        return VALUES_STEP
    if not _GROWING.match(check.sql) or check.tolerance.endswith("of rows"):
        return NAMED_STEP
    with for_spec(stated=check.line > 1):
        growing = GROWING_STEP.format(option("--scale rows"))
    return ROWS_STEP if _ALL_ROWS.fullmatch(check.sql) else growing


def check_step(check: CheckResult) -> str:
    """Next step for a check that fails or warns; empty if its message already says what to do."""
    if check.attacks:
        return _risk_step(check)
    if check.status == "undecided":
        milder = ', or set on_undecided = "warn"' if check.gate == "fail" else ""
        return f"give this check a larger epsilon or tau{milder}"
    if check.status != "not as expected" or not check.verdicts:
        # The message of an error, or of what fails in public, already says what to do.
        return ""
    if check.alarm is not None:
        return (
            "do not publish this copy; if its generator is differentially private, state its "
            "epsilon: copy_epsilon in [synthetic.NAME]"
        )
    if check.expect == "far":
        return 'the answers are close; if they should be, set expect = "close"'
    accept = 'a larger tau or severity = "warn"' if check.gate == "fail" else "a larger tau"
    subject = "distribution" if any(each.is_distance for each in check.verdicts) else "query"
    return (
        f"do not rely on this {subject} on {_tables(check.verdicts, 'the copy')}; make "
        f"that table better, or accept the gap with {accept}"
    )


def _risk_step(check: CheckResult) -> str:
    """Next step for a check of risk that fails or warns."""
    if check.status == "undecided":
        if any(each.held_out and each.held_out.below_zero for each in check.attacks):
            return CONTROL_STEP
        unsure = [each for each in check.attacks if each.standing is Standing.UNDECIDED]
        return f"{_ways(unsure)}, or fewer kinds of attacks in the spec, decide it"
    return (
        "do not hand this copy out before you know why: pqd risk shows all figures, and only a "
        "generator with differential privacy bounds every attack"
    )


def _ways(attacks: Sequence[AttackFacts]) -> str:
    """What decides all of some attacks, each way by itself."""
    told = [each.outlook for each in attacks if each.outlook]
    rows = [n for each in told if (n := each.needed_held_out_rows) is not None]
    paid = [x for each in told if (x := each.needed_epsilon) is not None]
    least = max((each.tau_decided for each in told), default=1.0)
    ways = [f"about {max(rows):,} held-out rows"] if rows and len(rows) == len(told) else []
    if paid and len(paid) == len(told):
        ways.append(f"[risk] total_epsilon = {epsilon_text(max(paid))}")
    if least < 1:
        ways.append(f'tau = "{tau_text(least)}%"')
    return ", or ".join(ways) or "more rows in both tables"


def _tables(verdicts: Sequence[Verdict], several: str) -> str:
    names = {verdict.synthetic for verdict in verdicts}
    return names.pop() if len(names) == 1 else several


def _verdicts(report: CheckReport) -> list[Verdict]:
    return [verdict for check in report.checks for verdict in check.verdicts]


def cost_lines(report: CheckReport) -> Iterator[str]:
    """Lines on what the run spent; for a dry run, what it would spend and charge only once."""
    public = _tables(_verdicts(report), f"the copies of {report.spec}")
    # A run that stopped early does not know the name of the private table.
    private = report.private or "the private table"
    first, *others = cost_sentences(report.cost, f"{private}, compared with {public}")
    if report.dry:
        first = f"Would spend{first.removeprefix('Spent')} Nothing was decided, nothing was spent."
    yield first
    yield from others
    if report.held_out_cost:
        first, *others = cost_sentences(report.held_out_cost, report.held_out, public=False)
        yield f"Would spend{first.removeprefix('Spent')}" if report.dry else first
        yield from others
    if report.dry:
        yield from _shared_lines(report)


def _shared_lines(report: CheckReport) -> Iterator[str]:
    for group in report.cost.groups:
        if len(group.ids) > 1:
            names = ", ".join(first_of(group.ids))
            once = f"charged once (epsilon {epsilon_text(group.epsilon)})"
            yield f"{once}, as no row can match two of: {names}"
            for line in group.proof:
                yield f"  {line}"


def remark_lines(report: CheckReport) -> Iterator[str]:
    """Lines on how to read the verdicts, the report's notes, and its baseline."""
    yield from remarks(_verdicts(report))
    yield from chance_sentence(_verdicts(report))
    yield from map(str, report.notes)
    yield from filter(None, [baseline_sentence(report)])


def baseline_sentence(report: CheckReport) -> str:
    """Failures that are in the baseline and failures that are not; empty without a baseline."""
    if report.baseline is None:
        return ""
    known, new = report.count("known"), report.count("fail")
    failures = f"{known} failed there too, {new} did not"
    return f"Compared with the baseline {report.baseline}: {failures}."
