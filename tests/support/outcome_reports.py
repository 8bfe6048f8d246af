"""Reports made by hand in which every row of the table of outcomes occurs once."""

from dataclasses import replace
from fractions import Fraction

from pqd.deciders.note import note
from pqd.reports.models.audit import Condition, Outside, Verdict
from pqd.reports.models.check import CheckReport, CheckResult, Gate, Status, status_of
from pqd.reports.models.query import CandidateFacts
from pqd.reports.models.standings import Evidence, Leaning
from pqd.reports.text.check import single_message
from tests.support.audit_reports import audit_of
from tests.support.check_reports import BASED, FAIL, NO, OPEN, YES

_SUM = replace(
    YES, id="pay", aggregate="SUM", attribute="pay", sql="SELECT SUM(pay) FROM D WHERE age > 40"
)
_SPARSE = CandidateFacts("svt_sum", 80.0, False, None, 0.001, 0.002, proves=())
_COPY = Condition(0, 19581, rows_beyond=15)


def _named(name: str, verdict: Verdict) -> Verdict:
    return replace(verdict, id=name)


def _bit(leans: Leaning, evidence: Evidence) -> Verdict:
    """Answer of a decider that gives no p-value."""
    return replace(
        _SUM, leans=leans, evidence=evidence, decider="svt_sum", candidates=(_SPARSE,),
        p_value=None, margin=None, reason=str(note("likely-right")),
    )  # fmt: skip


OUTCOMES = (
    _named("no", NO),
    _named("no-within", replace(_SUM, leans="no", condition=Condition(0, 19581))),
    _named("no-or-beyond", replace(_SUM, leans="no", condition=_COPY)),
    _named("likely-no", _bit("no", "likely")),
    _named("leans-no", _bit("no", "none")),
    _named("undecided", OPEN),
    _named(
        "withheld", replace(_SUM, evidence="none", outside=Outside(212, 180, 240, 65, 0, 19581))
    ),
    _named("leans-yes", _bit("yes", "none")),
    _named("likely-yes", _bit("yes", "likely")),
    _named("yes-within", replace(_SUM, condition=_COPY)),
    _named("yes", YES),
)
AUDIT = audit_of(*OUTCOMES)


def _checked(verdict: Verdict) -> CheckResult:
    """Check that expects a yes of a verdict."""
    status = status_of(verdict, "close")
    gates: dict[Status, Gate] = {
        "as expected": "pass",
        "conditional": "error",
        "likely": "error",
    }
    return replace(
        FAIL,
        id=verdict.id,
        sql=verdict.sql,
        status=status,
        gate=gates.get(status, "fail"),
        message=single_message(verdict, status, "close"),
        verdicts=(verdict,),
    )


CHECK = CheckReport(
    spec="audit.toml",
    private="private.csv",
    checks=tuple(map(_checked, OUTCOMES)),
    cost=replace(BASED.cost, epsilon=Fraction(1)),
)
