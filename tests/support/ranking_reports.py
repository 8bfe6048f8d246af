"""Rankings made by hand: five copies with ties, two for certain, marginals, one copy alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

from pqd.deciders.note import Note
from pqd.reports.models.audit import CompositionGroup, Cost
from pqd.reports.models.figure import Figure
from pqd.reports.models.profile import Alarm, BudgetPart, Score
from pqd.reports.models.ranking import RankedCopy, RankedMarginal, RankingReport
from pqd.reports.models.refusals import LeftOut
from pqd.reports.models.standings import Standing
from tests.support import risk_reports
from tests.support.profile_reports import ADULT, KEPT, NEAR_INDEPENDENCE, figure, profiled

ALPHA = Fraction(1, 20)
NAMES = ("tree", "copula", "gan", "vae", "marginals")
VALUES = (0.9412, 0.9409, 0.9021, 0.9016, 0.874)
COST = Cost(
    epsilon=Fraction(1, 4),
    rule="sequential",
    groups=(CompositionGroup(("distances",), Fraction(1, 4)),),
    ledger="ledger.sqlite",
    total=Fraction(2),
)
BUDGET = (
    BudgetPart(part="rows", epsilon=Fraction(1, 80), numbers=1, scale=113.1),
    BudgetPart(part="distances", epsilon=Fraction(19, 80), numbers=5, scale=29.8),
)


def score(value: float, ways: int | None = None) -> Score:
    """Score with the noise of five copies at epsilon 1/4."""
    return Score(
        ways=ways,
        marginals=120 if ways is None else (15, 105)[ways - 1],
        reference=0.9921,
        mark=0.9915,
        half_width=0.0012,
        estimate=figure(value, 0.0012),
        simultaneous=figure(value, 0.0012),
    )


def copies(names: Sequence[str], *, by_ways: bool = False) -> tuple[RankedCopy, ...]:
    """Copies, best first: neighbours of one half of a percentage point share ranks."""
    found = []
    for place, name in enumerate(names):
        value = VALUES[place]
        near = [at for at, other in enumerate(VALUES[: len(names)]) if abs(other - value) < 0.002]
        found.append(
            RankedCopy(
                candidate=name,
                file=f"{name}.csv",
                overall=score(value),
                best_rank=min(near) + 1,
                worst_rank=max(near) + 1,
                scores=(score(value + 0.02, 1), score(value - 0.02, 2)) if by_ways else (),
                columns=profiled(ADULT),
            )
        )
    return tuple(found)


def report_of(names: Sequence[str], *, detailed: bool = False) -> RankingReport:
    """Ranking of some copies; ``detailed`` adds a row for every column and pair."""
    ranked = copies(names, by_ways=detailed)
    better = tuple(
        (one.candidate, other.candidate)
        for one, other in combinations(ranked, 2)
        if one.worst_rank < other.best_rank
    )
    columns = ADULT[:6]
    chosen = [*combinations(columns, 1), *combinations(columns, 2)]
    marginals = tuple(
        RankedMarginal(
            columns=tuple(name for name, *_ in each),
            estimates=tuple(
                figure(max(each, key=lambda c: c[-1])[-1] * (0.4 + place), 0.009)
                for place in range(len(names))
            ),
        )
        for each in chosen
    )
    return RankingReport(
        private="adult.csv",
        alpha=ALPHA,
        copies=ranked,
        better=better,
        columns=tuple(name for name, *_ in ADULT),
        budget=BUDGET,
        cost=COST,
        rows=Figure(48_812.0, 48_500.0, 49_124.0),
        ways=2,
        marginals=tuple(sorted(marginals, key=lambda m: -m.worst)) if detailed else (),
    )


RANKING = report_of(NAMES)
DETAILED = replace(
    report_of(NAMES, detailed=True),
    left_out=(
        LeftOut(
            columns=("id",),
            reason="looks like an identifier in tree (48,842 values in 48,842 rows)",
            standing=Standing.NOT_JUDGED,
        ),
    ),
    notes=(Note("One copy has fewer cells.", ()),),
)
TIED = report_of(NAMES[:2])
CERTAIN = replace(
    report_of(("tree", "gan")),
    copies=tuple(
        replace(copy, best_rank=place, worst_rank=place, overall=score(VALUES[place * 2 - 2]))
        for place, copy in enumerate(copies(("tree", "gan")), 1)
    ),
    better=(("tree", "gan"),),
)
# The best of two holds rows of the private table.
TOO_NEAR = replace(
    CERTAIN,
    copies=(
        replace(CERTAIN.copies[0], alarm=Alarm(0.9904, 0.9931, None, Standing.DRAWN)),
        CERTAIN.copies[1],
    ),
)
# The second copy lacks a column, and has turned another into identifiers.
FLAWED = replace(
    RANKING,
    copies=(
        RANKING.copies[0],
        replace(
            RANKING.copies[1],
            flaws=(
                LeftOut(
                    columns=("education",), reason="copula lacks it", standing=Standing.MISSING
                ),
                LeftOut(
                    columns=("race",),
                    reason="looks like an identifier or free text in copula (17,395 values in "
                    "20,000 rows)",
                    standing=Standing.NOT_JUDGED,
                ),
            ),
        ),
        *RANKING.copies[2:],
    ),
)
# Relations: lost, kept, undecided, invented by the copy, and nothing to keep.
LOST = replace(KEPT, estimate=figure(0.021, 0.071), outcome="no", independence=NEAR_INDEPENDENCE)
OPEN = replace(KEPT, estimate=figure(0.523, 0.071), p_value=0.71, conclusive=False)
NOTHING = replace(
    KEPT,
    relations=Figure(0.004, 0.0, 0.0112),
    reference=None,
    estimate=None,
    outcome=None,
    p_value=None,
    conclusive=False,
)
RELATED = replace(
    RANKING,
    copies=tuple(
        replace(copy, relations=facts)
        for copy, facts in zip(
            RANKING.copies,
            (
                LOST,
                KEPT,
                OPEN,
                NOTHING,
                replace(NOTHING, independence=NEAR_INDEPENDENCE),
            ),
            strict=True,
        )
    ),
    budget=(
        *(replace(part, epsilon=part.epsilon * Fraction(9, 10)) for part in BUDGET),
        BudgetPart(
            part="relations", epsilon=Fraction(1, 40), numbers=15, scale=381.6, noise="cube"
        ),
    ),
)
# Attacks were tried, too: the best copy gives rows away; or there are no held-out rows.
ATTACKED = replace(
    RELATED,
    copies=RELATED.copies[:2],
    risks={"tree": risk_reports.RISK, "copula": risk_reports.QUIET},
    held_out_cost=risk_reports.RISK.held_out_cost,
    cost=replace(COST, epsilon=Fraction(9, 4)),
    budget=(
        *RELATED.budget,
        *(
            BudgetPart(part="attacks", epsilon=Fraction(1), numbers=13, scale=8.36, noise="cube")
            for _ in range(2)
        ),
    ),
)
RATED = replace(
    ATTACKED,
    risks={"tree": risk_reports.ALONE, "copula": risk_reports.ALONE},
    held_out_cost=None,
)
DRY = replace(
    ATTACKED,
    copies=tuple(
        replace(
            copy,
            overall=replace(copy.overall, estimate=None, simultaneous=None, mark=None),
            relations=None,
        )
        for copy in ATTACKED.copies
    ),
    risks={"tree": risk_reports.PLAN, "copula": risk_reports.PLAN},
    better=(),
    dry=True,
)
SINGLE = report_of(NAMES[:1])
SIMULATED = replace(DETAILED, simulated=True)
REPLAYED = replace(RANKING, replayed=True, cost=replace(COST, epsilon=Fraction(0), groups=()))


def quoting(text: str) -> RankingReport:
    """Ranking whose every name is ``text``."""
    report = report_of((text, f"{text} again"), detailed=True)
    odd = ((text, "text", 4, "values", 0.2), *ADULT[1:])
    return replace(
        report,
        private=text,
        copies=tuple(replace(copy, columns=profiled(odd)) for copy in report.copies),
        columns=(text, *report.columns[1:]),
        marginals=tuple(
            replace(each, columns=(text, *each.columns[1:])) for each in report.marginals
        ),
        cost=replace(COST, ledger=text),
        left_out=(LeftOut(columns=(text,), reason=text, standing=Standing.NOT_JUDGED),),
        notes=(Note(text, ()),),
    )


REPORTS = (RANKING, DETAILED, TIED, CERTAIN, SINGLE, SIMULATED, REPLAYED, DRY, quoting("x" * 60))
