"""Risk reports made by hand: against held-out rows, without them, and of one attack."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from pqd.deciders.note import note
from pqd.reports.models.audit import CompositionGroup, Cost
from pqd.reports.models.figure import Figure
from pqd.reports.models.refusals import LeftOut
from pqd.reports.models.risk import (
    AttackFacts,
    AttackId,
    AttackOutlook,
    CurvePoint,
    ExcessFacts,
    RiskReport,
    RocPoint,
)
from pqd.reports.models.standings import Outcome, Standing

ALPHA = Fraction(1, 20)
ROWS = 20_000
COST = Cost(
    Fraction(1),
    rule="sequential",
    groups=(CompositionGroup(("risk",), Fraction(1), ()),),
    ledger="pqd-ledger.sqlite",
    ledger_place="beside the table",
    total=Fraction(3),
    limit=Fraction(10),
    day="2026-11-28",
    runs=2,
    since="2026-11-01",
)


def figure(value: float, half: float) -> Figure:
    return Figure(value, max(0.0, value - half), min(1.0, value + half))


def attack(  # noqa: PLR0913, PLR0917 - the facts of one attack
    name: AttackId,
    rate: float,
    other: float,
    half: float,
    outcome: Outcome,
    p_value: float,
    leak: float,
    column: str = "",
    majority: float | None = None,
    outlook: AttackOutlook | None = None,
) -> AttackFacts:
    """Attack whose excess has an interval of ``half`` to both sides."""
    excess = Figure(rate - other, rate - other - half, rate - other + half)
    return AttackFacts(
        id=name,
        column=column,
        rate=figure(rate, 0.0006),
        copy_rate=other,
        majority=majority,
        held_out=ExcessFacts(
            rate=figure(other, 0.0024),
            excess=excess,
            persons=Figure(*(ROWS * each for each in excess)),
            tau=0.01,
            outcome=outcome,
            p_value=p_value,
            conclusive=p_value <= ALPHA,
            leak_p_value=leak,
            leaks=leak <= ALPHA,
            at_once=leak <= ALPHA / 6,
        ),
        outlook=outlook,
    )


def outlook(
    tau_decided: float, epsilon: float | None, rows: int | None, *, alone: bool = False
) -> AttackOutlook:
    return AttackOutlook(
        tau=0.01,
        tau_decided=tau_decided,
        needed_epsilon=epsilon,
        needed_held_out_rows=rows,
        alone=alone,
    )


NOTHING = outlook(0.0221, None, None)
# fmt: off
ATTACKS = (
    attack("copied", 0.0312, 0.0004, 0.0052, "no", 0.0002, 0.0002),
    attack("near", 0.0231, 0.0104, 0.0061, "no", 0.21, 0.0002, "", None, outlook(0.0181, 4, 9_200)),
    attack(
        "membership", 0.0201, 0.0098, 0.0031, "no", 0.44, 0.0002, "", None,
        outlook(0.0131, 61.5, 412_000, alone=True),
    ),
    attack("inference", 0.7122, 0.7034, 0.0153, "yes", 0.44, 0.13, "relationship", 0.4055, NOTHING),
    attack("linkability", 0.1379, 0.132, 0.0122, "yes", 0.26, 0.17, "", None, NOTHING),
    attack("inference", 0.8312, 0.8309, 0.009, "yes", 0.018, 0.48, "income", 0.7611),
    attack("singling-out", 0.0424, 0.0484, 0.009, "yes", 0.0004, 0.96),
)
# fmt: on
CURVE = (
    CurvePoint(
        distance=0.0012, copy=0.01, private=figure(0.0231, 0.0006), held_out=figure(0.0104, 0.002)
    ),
    CurvePoint(
        distance=0.0055, copy=0.1, private=figure(0.1201, 0.0006), held_out=figure(0.1014, 0.002)
    ),
    CurvePoint(
        distance=0.0293, copy=0.5, private=figure(0.5117, 0.0006), held_out=figure(0.5042, 0.002)
    ),
)
ROC = tuple(
    RocPoint(
        copy=share,
        private=figure(rate, 0.0006),
        held_out=figure(other, 0.002),
        advantage=Figure(rate - other, rate - other - half, rate - other + half),
    )
    for share, rate, other, half in (
        (0.001, 0.0112, 0.0012, 0.0018),
        (0.01, 0.0201, 0.0098, 0.004),
        (0.1, 0.1102, 0.1021, 0.0121),
        (0.5, 0.5051, 0.4998, 0.0203),
    )
)
RISK = RiskReport(
    private="adult.csv",
    synthetic="copy.csv",
    held_out="others.csv",
    total_epsilon=Fraction(1),
    tolerance="1%",
    alpha=ALPHA,
    attacks=ATTACKS,
    curve=CURVE,
    roc=ROC,
    columns=("age", "income", "relationship", "fnlwgt"),
    known=None,
    rows=Figure(20_003.0, 19_985.0, 20_021.0),
    held_out_rows=Figure(4_996.0, 4_978.0, 5_014.0),
    copy_rows=20_000,
    searched=20_000,
    tried=2_000,
    cost=COST,
    held_out_cost=replace(COST, total=Fraction(1), limit=None),
    left_out=(
        LeftOut(
            columns=("id",),
            reason="looks like an identifier in the copy (20,000 values in 20,000 rows)",
            standing=Standing.NOT_JUDGED,
        ),
    ),
    notes=(note("risk-of-part", rows=50_000, copy=120_000),),
)
ALONE = replace(
    RISK,
    held_out=None,
    attacks=tuple(replace(each, held_out=None, outlook=None) for each in ATTACKS),
    curve=tuple(replace(each, held_out=None) for each in CURVE),
    roc=tuple(replace(each, held_out=None, advantage=None) for each in ROC),
    held_out_rows=None,
    held_out_cost=None,
    notes=(),
    left_out=(),
)
QUIET = replace(
    RISK,
    attacks=ATTACKS[3:],
    learner="trees",
    model="HistGradientBoostingClassifier of scikit-learn 1.9.1",
    left_out=(),
    notes=(),
)
# Each attack judged by itself is beyond the tolerance, but not all at once.
FAILED = replace(
    RISK,
    attacks=(attack("copied", 0.02, 0.004, 0.015, "no", 0.04, 0.02), *ATTACKS[4:]),
    known=("age", "job"),
    left_out=(),
    notes=(),
)
# Held-out rows that stand in the copy.
CONTAMINATED = replace(
    RISK,
    attacks=tuple(
        replace(
            each,
            held_out=each.held_out
            and replace(each.held_out, conclusive=False, below_zero=("copied",)),
            outlook=None,
        )
        for each in (attack("copied", 0.0004, 0.0312, 0.0052, "yes", 0.0002, 1.0), *ATTACKS[5:])
    ),
    left_out=(),
    notes=(),
)
SIMULATED = replace(RISK, simulated=True, cost=Cost(Fraction(1), day="2026-11-28"), notes=())
REPLAYED = replace(
    QUIET,
    replayed=True,
    cost=replace(COST, epsilon=Fraction(0)),
    held_out_cost=replace(COST, epsilon=Fraction(0), total=Fraction(1)),
)
DECLARED = replace(
    RISK,
    copy_epsilon=Fraction(1, 10),
    attacks=tuple(
        replace(
            each,
            held_out=each.held_out and replace(each.held_out, bound=0.0021, breaks_bound=n == 0),
        )
        for n, each in enumerate(ATTACKS[:4])
    ),
    left_out=(),
    notes=(),
)

PLANNED = (
    replace(ATTACKS[3], outlook=outlook(0.0244, None, None)),
    replace(ATTACKS[1], outlook=outlook(0.0121, 1.87, 6_340, alone=True)),
    replace(ATTACKS[0], outlook=outlook(0.0078, 1.0, 5_000, alone=True)),
)
PLAN = replace(
    RISK,
    attacks=tuple(
        replace(each, rate=figure(each.copy_rate, 0.0006), held_out=None) for each in PLANNED
    ),
    curve=(),
    roc=(),
    rows=Figure(20_000.0, 20_000.0, 20_000.0),
    held_out_rows=Figure(5_000.0, 5_000.0, 5_000.0),
    left_out=(),
    notes=(note("risk-rows-unstated", copy=20_000, options=("--private-rows",)),),
    dry=True,
)
# A plan of a run without held-out rows, at an epsilon that decides nothing.
PLAN_ALONE = replace(
    PLAN,
    held_out=None,
    held_out_cost=None,
    attacks=PLAN.attacks[:2],
    cost=Cost(Fraction(1)),
    notes=(),
)
