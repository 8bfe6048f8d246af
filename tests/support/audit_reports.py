"""Audits and plans made by hand: every standing, groups, curves, values at their limits."""

from __future__ import annotations

from dataclasses import fields, replace
from fractions import Fraction
from math import inf

from pqd.deciders.note import Note
from pqd.reports.models.audit import AuditReport, CompositionGroup, Cost, Verdict
from pqd.reports.models.plan import PlannedQuery, PlanReport
from pqd.reports.models.query import CandidateFacts, QueryFacts
from tests.support.check_reports import GROUPS, NO, OPEN, YES


def curve(steepness: int) -> tuple[float | None, ...]:
    """Curve that falls at tau, with a gap that no table can have."""
    chances = [1 / (1 + 10 ** (steepness * (place / 8 - 1))) for place in range(21)]
    return (*chances[:3], None, *chances[4:])


CURVED = (
    CandidateFacts("inv_count", 10.0, True, 9.2, 0.001, 0.001, 0.1, curve(8), decision_chance=0.98),
    CandidateFacts("lm_count", 12.0, True, 9.2, 0.01, 0.02, 0.2, curve(5), decision_chance=0.92),
    CandidateFacts("em_count", inf, False, None, 0.3, 0.4, inf, curve(2)),
    CandidateFacts("em_count_naive", None, None, None, 0.5, 0.5, None, curve(1)),
)
BARE = tuple(CandidateFacts(c.decider) for c in CURVED)
ENDLESS = (
    replace(
        CURVED[0],
        tau_min=inf,
        false_no=0.5,
        false_yes=0.5,
        epsilon_needed=inf,
        decision_chance=0.1,
    ),
)
COST = Cost(
    epsilon=Fraction(3, 4),
    rule="sequential",
    groups=tuple(CompositionGroup((name,), Fraction(1, 4)) for name in "abc"),
    ledger="pqd-ledger.sqlite",
    total=Fraction(5, 4),
    limit=Fraction(2),
)
# What a noisy answer tells: outside, and of a verdict that it does not decide.
NOISY = (
    replace(
        NO, id="far", q_synthetic=3871, tau=77.42, lower=3793.58, upper=3948.42, decider="lm_count",
        candidates=(CURVED[1],), p_value=1e-9, margin=-261,
        margin_low=-273, margin_high=-249, estimate=3532, low=3520, high=3544, gap=-339,
        gap_low=-351, gap_high=-327,
    ),
    replace(
        OPEN, id="near", aggregate="SUM", attribute="pay", q_synthetic=1000.5, tau=20.0,
        decider="lm_count", lower=980.5, upper=1020.5,
        candidates=(replace(CURVED[1], false_no=0.3, decision_chance=0.4),),
        margin=None, estimate=1004.0, low=981.0, high=1027.0, gap=3.5, gap_low=-19.5, gap_high=26.5,
    ),
    replace(NO, id="steep", aggregate="MEDIAN", attribute="age", margin_low=-5, margin_high=-1),
)  # fmt: skip
VERDICTS = (
    replace(YES, id="curved", candidates=CURVED),
    replace(YES, id="again", candidates=CURVED, replayed=True),
    replace(NO, id="pay", where=None, sql="SELECT COUNT(*) FROM D"),
    replace(
        OPEN, id="few", aggregate="AVG", attribute="pay", copy_rows=4,
        candidates=(replace(CURVED[0], tau_min=999.0, false_no=0.3, decision_chance=0.2),),
    ),
    replace(YES, id="endless", candidates=ENDLESS, tau_min=inf, p_value=None, margin=None,
            evidence="none"),
    replace(YES, id="bare", candidates=BARE, tau_min=None, margin=-3, leans="no"),
    replace(YES, id="large", q_synthetic=10**15, tau=1e14, lower=9e14, upper=1.1e15),
    *GROUPS,
    *NOISY,
)  # fmt: skip


def audit_of(*verdicts: Verdict, cost: Cost = COST) -> AuditReport:
    return AuditReport(
        verdicts=verdicts,
        private="private.csv",
        synthetic="copy.csv",
        tolerance="5%",
        cost=cost,
        notes=(Note("Bounds of x from the synthetic table.", ()),),
    )


def many_groups(number: int) -> AuditReport:
    """Audit of one query with as many groups, of every standing."""
    given = (YES, NO, OPEN)
    return audit_of(
        *(
            replace(
                given[n % 3],
                id=f"by-x[x = {n}]",
                block="by-x",
                block_sql="SELECT COUNT(*)\n  FROM D\n GROUP BY x",
                group=f"x = {n}",
            )
            for n in range(number)
        )
    )


def many_queries(number: int) -> tuple[Verdict, ...]:
    """As many verdicts, of every standing, each with a condition of its own."""
    given = (YES, YES, NO, OPEN)
    return tuple(
        replace(
            given[n % 4],
            id=f"query-{n}",
            where=f"age > {n}",
            sql=f"SELECT COUNT(*) FROM D WHERE age > {n}",
            p_value=None if n % 8 == 7 else n / 50_000 if n % 4 < 3 else 0.3,
        )
        for n in range(number)
    )


AUDIT = audit_of(*VERDICTS)
SIMULATED = audit_of(*(replace(verdict, simulated=True) for verdict in VERDICTS))
AUDITS = (
    AUDIT, SIMULATED, audit_of(YES), audit_of(NO, OPEN), audit_of(), many_groups(200),
    audit_of(YES, cost=Cost()),
)  # fmt: skip


def entry_of(verdict: Verdict) -> PlannedQuery:
    """Plan's entry of a query."""
    return PlannedQuery(**{f.name: getattr(verdict, f.name) for f in fields(QueryFacts)})


def plan_of(*verdicts: Verdict, epsilon: Fraction | None = Fraction(1, 4)) -> PlanReport:
    return PlanReport(
        queries=tuple(map(entry_of, verdicts)),
        synthetic="copy.csv",
        tolerance="5%",
        epsilon=epsilon,
        alpha=Fraction(1, 20),
        notes=(Note("Bounds of x from the synthetic table.", ()),),
        price=None if epsilon is None else Fraction(3, 4),
    )


PLAN = plan_of(*VERDICTS)
PLANS = (
    PLAN, plan_of(), plan_of(YES), plan_of(*many_groups(200).verdicts),
    plan_of(*(replace(verdict, candidates=BARE) for verdict in VERDICTS), epsilon=None),
)  # fmt: skip


def quoting_audit(text: str) -> AuditReport:
    """Audit that says ``text`` wherever users and tables can say something."""
    verdict = replace(
        YES, id=text, sql=text, where=text, attribute=text, synthetic=text, reason=text,
        candidates=CURVED,
    )  # fmt: skip
    shared = CompositionGroup((text, "b"), Fraction(1, 4), (text,))
    return AuditReport(
        verdicts=(verdict, replace(verdict, block=text, group=text, block_sql=text)),
        private=text,
        synthetic=text,
        tolerance=text,
        cost=Cost(Fraction(1), groups=(shared,), ledger=f"x{text}", total=Fraction(1), unit=text),
        notes=(Note(text, ()),),
    )


def quoting_plan(text: str) -> PlanReport:
    """Plan that says ``text`` in such places."""
    plan = plan_of(*quoting_audit(text).verdicts)
    return replace(plan, synthetic=text, tolerance=text, notes=(Note(text, ()),))
