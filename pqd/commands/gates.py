"""Gates: the status of a check, its effect on a build, and a sentence that gives the reason."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from pqd.accounting.accountant import Quote
from pqd.accounting.composition import charge_of
from pqd.accounting.disjoint_groups import composition_groups
from pqd.attacks.figures import planned_attacks as forecasts
from pqd.attacks.parameters import RiskParameters
from pqd.attacks.planned_risk import PlannedRisk
from pqd.deciders.distances.value_claims import chance_rows, spare_rows
from pqd.deciders.note import Note, note
from pqd.errors import PqdError
from pqd.marginals.table_gate import ColumnConditions
from pqd.planning.planned_verdict import PlannedVerdict
from pqd.planning.query_warnings import budget_warnings
from pqd.reports.models.audit import Cost, Verdict
from pqd.reports.models.check import (
    AttackedFacts,
    CheckResult,
    Gate,
    GateFacts,
    Status,
    status_of,
    status_of_attack,
)
from pqd.reports.models.profile import Alarm
from pqd.reports.models.query import QueryFacts
from pqd.reports.models.refusals import LeftOut
from pqd.reports.models.risk import AttackFacts
from pqd.reports.models.standings import Standing
from pqd.reports.text.check import (
    CONDITIONAL_HINT,
    FREE_ASKED,
    FREE_KNOWN,
    FREE_SETTLED,
    alarm_message,
    alarm_tolerance,
    attacks_message,
    attacks_price,
    columns_message,
    grouped_message,
    lacking_message,
    low_attacks,
    price_text,
    proofless_hint,
    reliability_parts,
    single_message,
    unjudged_message,
)
from pqd.reports.text.cost import rows_noun
from pqd.reports.text.gate import (
    ALL_CHECKS,
    NO_CONDITION,
    NOT_RUN,
    condition_message,
    gate_message,
    narrow_text,
    needs_text,
    table_condition,
    values_condition,
    worst_answer,
    worst_message,
)
from pqd.reports.text.query import likely_sentence, undecided_parts
from pqd.spec import Check
from pqd.stated.budgets import AUTO

# Statuses of a verdict, of which the first that occurs is the status of its check.
_WORST_FIRST: tuple[Status, ...] = (
    "conditional",
    "likely",
    "not as expected",
    "undecided",
    "as expected",
)


def judged(
    check: Check, name: str, verdicts: Sequence[Verdict], copy_epsilon: Fraction | None = None
) -> CheckResult:
    """Result of a check that was decided; its worst verdict counts.

    ``copy_epsilon`` is the epsilon under which the copy was made, if the spec states it.
    """
    if check.alarm is not None:
        return _alarm_result(check, name, verdicts[0], copy_epsilon)
    groups: dict[Status, list[str]] = {status: [] for status in _WORST_FIRST}
    for verdict in verdicts:
        status = status_of(verdict, check.expect, check.evidence)
        groups[status].append(verdict.group or verdict.id)
    status = next(each for each in _WORST_FIRST if groups[each])
    if len(verdicts) == 1:
        message = single_message(verdicts[0], status, check.expect)
    else:
        message = grouped_message(groups, check.expect)
    return _result(check, name, status, gate_of(check, status), message, verdicts=tuple(verdicts))


def _alarm_result(
    check: Check, name: str, verdict: Verdict, copy_epsilon: Fraction | None
) -> CheckResult:
    """Result of an alarm: an error fails, a note warns, and a verdict that proves neither passes.

    The verdict is a yes if the copy is nearer than rows drawn from the private table itself.
    """
    is_nearer = verdict.conclusive and verdict.leans == "yes"
    drawn = 1 - float(verdict.tau)
    alarm = Alarm.of_verdict(is_nearer=is_nearer, drawn=drawn, copy_epsilon=copy_epsilon)
    status: Status = "not as expected" if alarm.is_error else "as expected"
    gate: Gate = "fail" if alarm.is_error else "warn" if alarm.standing else "pass"
    message = alarm_message(alarm, verdict)
    return _result(check, name, status, gate, message, verdicts=(verdict,), alarm=alarm)


def gate_of(check: Check, status: Status) -> Gate:
    """Gate of a status: whether the build passes, warns or fails."""
    if status == "as expected":
        return "pass"
    if status in {"conditional", "likely"}:
        return "error"
    gate: Gate = "fail"
    if status == "undecided":
        gates: dict[str, Gate] = {"fail": "fail", "warn": "warn", "pass": "pass"}
        gate = gates[check.on_undecided]
    return "warn" if gate == "fail" and check.severity == "warn" else gate


def of_columns(
    check: Check, name: str, unjudged: Sequence[LeftOut], aside: Sequence[str]
) -> CheckResult:
    """Result of a check of the whole table that its columns decide; it is public and exact."""
    status: Status = "not as expected" if unjudged else "as expected"
    return _result(check, name, status, gate_of(check, status), columns_message(unjudged, aside))


def of_lacking(check: Check, name: str, columns: Sequence[str], *, is_told: bool) -> CheckResult:
    """Result of a check of ``columns`` that the copy lacks; public and exact.

    It fails, unless a check of all columns fails for it: ``is_told``.
    """
    message = lacking_message(columns)
    if is_told:
        return _result(check, name, "not told", "untold", message)
    return _result(check, name, "not as expected", gate_of(check, "not as expected"), message)


def of_unjudged(check: Check, name: str, columns: Sequence[str], schema: str) -> CheckResult:
    """Result of a check of ``columns`` that cannot be judged, for which the ``schema`` fails."""
    return _result(check, name, "not told", "untold", unjudged_message(columns, schema))


def broken(check: Check, name: str, error: PqdError) -> CheckResult:
    """Result of a check that cannot be decided; it is an error, whatever the check's severity."""
    return _result(check, name, "broken", "error", str(error), exit_code=error.exit_code)


def planned(
    check: Check, name: str, verdicts: Sequence[PlannedVerdict], quote: Quote
) -> CheckResult:
    """Result of a check that was only planned: its cost by itself, and its reliability."""
    measurements = list({id(v.measurement): v.measurement for v in verdicts}.values())
    new = [each for each in measurements if quote.new.get(each.cache_key) is each]
    if new:
        alone = charge_of(composition_groups([each.composition_cost for each in new]))
        parts = [price_text(alone.epsilon, joint=any(each.joint_statistics for each in new))]
    elif any(each.cache_key in quote.new for each in measurements):
        parts = [FREE_ASKED]
    else:
        are_constant = all(verdict.is_constant for verdict in verdicts)
        parts = [FREE_SETTLED if are_constant else FREE_KNOWN]
    open_ = [v for v in verdicts if not (v.taken.decides or v.is_constant)]
    low = [QueryFacts(**v.facts(), candidates=v.candidates) for v in open_]
    unproved = dict.fromkeys(filter(None, map(likely_sentence, low)))
    hardest = max(low, key=lambda facts: facts.chosen.epsilon_needed or 0, default=None)
    undecided = undecided_parts(hardest) if hardest else ()
    parts += reliability_parts(list(unproved), list(undecided))
    parts += (hints := never_counted(check, verdicts))
    parts.append(f"by {', '.join(sorted({v.taken.decider for v in verdicts}))}")
    gate: Gate = "error" if hints else "warn" if low and not unproved else "pass"
    return _result(check, name, "planned", gate, "; ".join(parts))


def judged_attacks(
    check: Check,
    name: str,
    attacks: Sequence[AttackFacts],
    parameters: RiskParameters,
    cost: Cost,
    tried: AttackedFacts,
) -> CheckResult:
    """Result of a check of risk, whose worst attack counts; ``tried`` says how all were tried."""
    groups: dict[Status, list[AttackFacts]] = {status: [] for status in _WORST_FIRST}
    for each in attacks:
        groups[status_of_attack(each)].append(each)
    status = next(each for each in _WORST_FIRST if groups[each])
    message = attacks_message(
        groups, parameters.tolerance, parameters.alpha, parameters.known, rows_noun(cost)
    )
    return _result(
        check,
        name,
        status,
        gate_of(check, status),
        message,
        attacks=tuple(attacks),
        attacked=tried,
    )


def planned_attacks(
    check: Check,
    name: str,
    risk: PlannedRisk,
    parameters: RiskParameters,
    quotes: Sequence[Quote | None],
) -> CheckResult:
    """Result of a check of risk that was only planned: what all attacks on the copy cost.

    It warns if a run hardly decides the check, though the attacks gain nothing.
    """
    new = [quote is not None and risk.measurement.cache_key in quote.new for quote in quotes]
    number, tables = len(risk.bound.attacks.attacks), "each of the two tables"
    if not all(new):
        # The attacks on the other table are replayed.
        tables = f"the {'private' if new[0] else 'held-out'} table"
    if not any(new):
        return _result(check, name, "planned", "pass", FREE_KNOWN)
    message = attacks_price(parameters.total_epsilon, number, tables)
    told = (each for each in forecasts(risk.bound, parameters) if each.id in parameters.kinds)
    low = [each for each in told if each.standing is Standing.TOO_LITTLE]
    if low:
        message = f"{message}; {low_attacks(low)}"
    return _result(check, name, "planned", "warn" if low else "pass", message)


def gate_result(gate: GateFacts, spec: str) -> CheckResult:
    """Result that stands for the one test of all checks."""
    status: Status
    status, outcome = _OF_GATE[gate.outcome]
    return CheckResult(
        id=ALL_CHECKS,
        line=1,
        sql=f"the least margin of all conditions of {spec}",
        tolerance="",
        expect="",
        severity="error",
        on_undecided="fail",
        status=status,
        gate=outcome,
        message=gate_message(gate),
    )


_OF_GATE: dict[str | None, tuple[Status, Gate]] = {
    "holds": ("as expected", "pass"),
    "fails": ("not as expected", "fail"),
    "undecided": ("undecided", "fail"),
    None: ("planned", "pass"),
}


def of_gate(
    check: Check,
    name: str,
    verdicts: Sequence[PlannedVerdict],
    names: Sequence[str],
    gate: GateFacts | None,
    narrow: str = "",
) -> CheckResult:
    """Result of one check of a gate, whose conditions have the ``names``.

    Without a ``gate`` another check is broken.  ``narrow`` is the result of ``narrow_check``.  A
    check without conditions is an alarm of a copy made under differential privacy.
    """
    if not names:
        return _result(check, name, "as expected", "pass", NO_CONDITION)
    facts = [QueryFacts(**v.facts(), candidates=v.candidates) for v in verdicts]
    if check.alarm is not None:
        asked = table_condition("alarm", "", 0)
    else:
        asked = condition_message(facts, check.expect)
    near = facts if check.expect == "close" else []
    if gate and gate.outcome is None and narrow:
        return _result(check, name, "planned", "warn", f"{asked}; {narrow}")
    return _result(check, name, *status_in_gate(names, gate, asked, near))


def values_of_gate(
    check: Check,
    name: str,
    values: ColumnConditions,
    names: Sequence[str],
    gate: GateFacts | None,
) -> CheckResult:
    """Result of a check of the values of a column, as ``of_gate``."""
    left_out = [each.name for each in values.left_out]
    asked = values_condition(check.column or "", len(values.inputs), left_out)
    return _result(check, name, *status_in_gate(names, gate, asked))


def status_in_gate(
    names: Sequence[str], gate: GateFacts | None, asked: str, facts: Sequence[QueryFacts] = ()
) -> tuple[Status, Gate, str]:
    """Status of conditions with these ``names``: as expected if the gate passes, else not told.

    If the gate named one of them, and its own test fails, they are not as expected.  ``asked`` says
    what they ask, and ``facts``, one for each name, what a margin tells of the answer.
    """
    if gate is None:
        return "not told", "untold", f"{NOT_RUN} ({asked})"
    if gate.outcome in {None, "holds"}:
        return "planned" if gate.outcome is None else "as expected", "pass", asked
    worst = gate.worst
    if worst is None or worst.name not in names:
        return "not told", "untold", asked
    named = facts[names.index(worst.name)] if len(facts) == len(names) else None
    condition = f"the condition: {asked}"
    message = "; ".join(filter(None, [worst_message(worst), worst_answer(named, worst), condition]))
    if worst.conclusive and not worst.holds:
        return "not as expected", "fail", message
    return "not told", "untold", message


def narrow_check(
    check: Check, verdicts: Sequence[PlannedVerdict], epsilon: Fraction, copy_rows: int | None
) -> str:
    """Why a gate of ``epsilon`` may not pass an honest copy in one check; empty if it would.

    A COUNT needs a tolerance of what two samples may differ by, and of what the noise needs.  Of
    others only the noise is known.  All of it is public: it follows from the copy and the spec.
    """
    facts = [
        QueryFacts(**v.facts(), candidates=v.candidates) for v in verdicts if not v.is_constant
    ]
    counts = [
        each
        for each in facts
        if each.aggregate == "COUNT" and each.scale is None and check.expect == "close"
    ]
    chances = [chance_rows(int(each.q_synthetic), copy_rows) for each in counts]
    spare = spare_rows(epsilon)
    short = [
        (chance + spare - each.tau, chance, each.group or "")
        for each, chance in zip(counts, chances, strict=True)
        if each.tau < chance + spare
    ]
    if short:
        _, chance, group = max(short)
        return narrow_text(chance, spare, group, max(chances) + spare)
    needed = max((each.chosen.epsilon_needed or 0 for each in facts), default=0)
    return "" if needed <= epsilon else needs_text(needed)


def gate_notes(gate: GateFacts, warnings: Sequence[Note] = ()) -> tuple[Note, ...]:
    """Notes on a gate: how often it was asked, and the ``warnings`` before it was decided.

    The warnings are of checks that chance may fail, so they are no reason once another check fails,
    or one is named that does.
    """
    worst = gate.worst
    failed = worst is not None and worst.conclusive and not worst.holds
    notes = [] if gate.outcome is None or failed else [*warnings]
    notes += budget_warnings(gate.epsilon)
    if gate.looks > 1:
        notes.append(
            note("looked-again", queries=(ALL_CHECKS,), looks=gate.looks, alpha=gate.alpha)
        )
    return tuple(notes)


def never_counted(
    check: Check, verdicts: Sequence[PlannedVerdict], *, is_gated: bool = False
) -> list[str]:
    """Why no answer to a check could count, and what the spec can say; empty if one could.

    The reasons are public: they follow from the plan alone.  A verdict that holds within the copy's
    bounds counts only if the spec accepts these bounds.  If one bound is stated, a no may hold
    whatever the private table has beyond the other one, so a check that expects a no can be as
    expected.  A decider that can prove neither answer counts only if the check takes likely
    answers.  In a gate a no must hold whatever lies beyond bounds.
    """
    hints = []
    expected = check.expect == "close"
    open_ = [each for each in verdicts if each.condition and not each.condition.accepted]
    if any(expected or is_gated or each.is_conditional for each in open_):
        hints.append(CONDITIONAL_HINT)
    if (
        not is_gated
        and check.evidence == "proof"
        and any(not (v.taken.proves or v.is_constant) for v in verdicts)
    ):
        hints.append(proofless_hint(named=check.decider != AUTO))
    return hints


def _result(
    check: Check,
    name: str,
    status: Status,
    gate: Gate,
    message: str,
    **rest: Any,  # noqa: ANN401 - fields of the result
) -> CheckResult:
    tolerance = check.tolerance.text if check.score else str(check.tau or "")
    expect = "" if check.risk else check.expect
    if check.alarm is not None:
        alarm = rest.get("alarm")
        tolerance = alarm_tolerance(alarm.drawn) if alarm else ""
    return CheckResult(
        id=name,
        line=check.line,
        sql=check.sql_text,
        tolerance=tolerance,
        expect=expect,
        severity=check.severity,
        on_undecided=check.on_undecided,
        evidence=check.evidence,
        status=status,
        gate=gate,
        message=message,
        **rest,
    )
