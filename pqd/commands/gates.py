"""What a verdict means for a build: a check's status, its gate, and a sentence that says why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pqd.accounting.composition import price
from pqd.accounting.disjoint_groups import grouped
from reports.models.check import CheckResult, Gate, Status
from reports.text.numbers import budget_text, epsilon_text, p_value_text, threshold_text
from reports.text.query import proof_sentence

if TYPE_CHECKING:
    from pqd.accounting.accountant import Quote
    from pqd.errors import PqdError
    from pqd.planning.decisions import PlannedVerdict
    from pqd.spec import Check
    from reports.models.audit import Verdict

_EXPECTED = {"close": "trusted", "far": "not trusted"}
_WORDS = {"trusted": "within tolerance", "not trusted": "outside tolerance"}
_MOST_NAMED = 5


def judged(check: Check, name: str, verdicts: Sequence[Verdict]) -> CheckResult:
    """Return the entry of a check that was decided: the worst of its verdicts counts."""
    wrong = [v for v in verdicts if status_of(v, check.expect) == "not as expected"]
    unsure = [v for v in verdicts if v.standing == "undecided"]
    status: Status = "not as expected" if wrong else "undecided" if unsure else "as expected"
    if len(verdicts) == 1:
        message = _single(check, verdicts[0], status)
    else:
        good = len(verdicts) - len(wrong) - len(unsure)
        message = f"{good} of {len(verdicts)} groups as expected ({check.expect})"
        for what, some in (("not", wrong), ("undecided", unsure)):
            if some:
                message += f"; {what}: {_named([v.group or v.id for v in some])}"
    return _entry(check, name, status, gate_of(check, status), message, verdicts=tuple(verdicts))


def status_of(verdict: Verdict, expect: str) -> Status:
    """Return what a verdict is to a check that expects ``close`` or ``far``."""
    if verdict.standing == "undecided":
        return "undecided"
    return "as expected" if verdict.standing == _EXPECTED[expect] else "not as expected"


def gate_of(check: Check, status: Status) -> Gate:
    """Return what a status means for the build."""
    if status == "as expected":
        return "pass"
    gate: Gate = "fail"
    if status == "undecided":
        gates: dict[str, Gate] = {"fail": "fail", "warn": "warn", "pass": "pass"}
        gate = gates[check.on_undecided]
    return "warn" if gate == "fail" and check.severity == "warn" else gate


def broken(check: Check, name: str, error: PqdError) -> CheckResult:
    """Return the entry of a check that cannot be decided: an error whatever its severity."""
    return _entry(check, name, "broken", "error", str(error), exit_code=error.exit_code)


def planned(
    check: Check, name: str, verdicts: Sequence[PlannedVerdict], quote: Quote
) -> CheckResult:
    """Entry of a check that was only planned: its cost by itself, and its worth."""
    measurements = list({id(v.measurement): v.measurement for v in verdicts}.values())
    new = [each for each in measurements if quote.new.get(each.cache_key) is each]
    if new:
        alone = price(grouped([each.composition_cost for each in new]))
        joint = any(each.joint for each in new)
        parts = [
            f"epsilon {epsilon_text(alone.epsilon)} {'with its batch' if joint else 'by itself'}"
        ]
    elif any(each.cache_key in quote.new for each in measurements):
        parts = ["costs nothing: another check asks the same"]
    else:
        settled = all(verdict.settled for verdict in verdicts)
        parts = [
            f"costs nothing: {'no table can answer otherwise' if settled else 'known already'}"
        ]
    unproved = dict.fromkeys(filter(None, (proof_sentence(q.taken) for q in verdicts)))
    low = [q for q in verdicts if q.taken.worst > q.criteria.alpha]
    parts += unproved
    if low:
        least = max(q.taken.tau_min or 0 for q in low)
        parts.append(f"NOT reliable: the tolerance must be {threshold_text(least)} or more")
        needed = max(q.taken.epsilon_needed or 0 for q in low)
        parts.append(f"about epsilon {budget_text(needed)} would do" if needed else "raise it")
    elif not unproved:
        parts.append("decidable")
    parts.append(f"by {', '.join(sorted({q.choice.taken.decider.id for q in verdicts}))}")
    return _entry(check, name, "planned", "pass", "; ".join(parts))


def _single(check: Check, verdict: Verdict, status: Status) -> str:
    if status == "undecided":
        odds = p_value_text(verdict.p_value)
        message = f"undecided: leans {verdict.outcome.upper()} ({odds}); the noise may decide"
        if unproved := proof_sentence(verdict.chosen):
            return f"{message}; {unproved}"
        needed = budget_text(verdict.chosen.epsilon_needed)
        if verdict.decidable is False and needed not in {"none", "?"}:
            message += f"; about epsilon {needed} would do, or a larger tau"
        return message
    found = _WORDS[verdict.standing]
    odds = f" ({p_value_text(verdict.p_value)})"
    if status == "as expected":
        return f"{found}{odds}, as expected"
    return f"{found}{odds}, but {check.expect} was expected"


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def _entry(
    check: Check,
    name: str,
    status: Status,
    gate: Gate,
    message: str,
    **rest: Any,  # noqa: ANN401 - fields of the entry
) -> CheckResult:
    return CheckResult(
        id=name,
        line=check.line,
        sql=check.sql,
        tolerance=str(check.tau),
        expect=check.expect,
        severity=check.severity,
        on_undecided=check.on_undecided,
        status=status,
        gate=gate,
        message=message,
        **rest,
    )
