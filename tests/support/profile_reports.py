"""Profiles made by hand in real shapes: Adult's 15 columns and 120 marginals, zoom, a target."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

from pqd.deciders.note import Note
from pqd.reports.models.audit import CompositionGroup, Cost
from pqd.reports.models.figure import Figure
from pqd.reports.models.profile import (
    Alarm,
    BudgetPart,
    CellFacts,
    CountFacts,
    DistanceFacts,
    DistanceId,
    ProfiledColumn,
    ProfileReport,
    Score,
    ValuesOfColumn,
    ZoomedMarginal,
)
from pqd.reports.models.refusals import LeftOut
from pqd.reports.models.relations import Independence, RelationsFacts
from pqd.reports.models.standings import Standing
from pqd.reports.models.target import ClassFacts, TargetFacts
from tests.support import risk_reports

ALPHA = Fraction(1, 20)
TAU = 0.05
# Name, kind, cells, how its values are put into cells, and its total variation.
ADULT: tuple[tuple[str, str, int, str, float], ...] = (
    ("age", "number", 12, "quantiles", 0.021),
    ("workclass", "text", 10, "values", 0.013),
    ("fnlwgt", "number", 12, "quantiles", 0.064),
    ("education", "text", 18, "values", 0.0479),
    ("education-num", "number", 18, "values", 0.109),
    ("marital-status", "text", 9, "values", 0.008),
    ("occupation", "text", 17, "values", 0.017),
    ("relationship", "text", 8, "values", 0.006),
    ("race", "text", 7, "values", 0.0),
    ("sex", "text", 4, "values", 0.0031),
    ("capital-gain", "number", 4, "quantiles", 0.0512),
    ("capital-loss", "number", 4, "quantiles", 0.0194),
    ("hours-per-week", "number", 9, "quantiles", 0.038),
    ("native-country", "text", 44, "quantiles", 0.0154),
    ("income", "text", 4, "values", 0.0022),
)
HALF = 0.0079


def figure(value: float, half: float = HALF) -> Figure:
    """Share with an interval of ``half`` to both sides, cut to what a share may be."""
    return Figure(value, max(0.0, value - half), min(1.0, value + half))


def distance(columns: Sequence[str], value: float, cells: int, kind: DistanceId) -> DistanceFacts:
    """Distance of one marginal; how clear its verdict is follows from how far tau is."""
    apart = abs(value - TAU) / HALF
    p_value = min(0.5, math.exp(-2.9 * apart) / 2)
    return DistanceFacts(
        columns=tuple(columns),
        distance=kind,
        cells=cells,
        alpha=ALPHA,
        tau=TAU,
        reference=None if kind != "tv" else 0.0011 * math.sqrt(cells),
        tau_min=0.0129,
        tau_decided=0.0219,
        half_width=HALF,
        estimate=figure(value),
        outcome="yes" if value < TAU else "no",
        p_value=p_value,
        conclusive=p_value <= ALPHA,
        at_once=p_value <= ALPHA / 20,
        mark=None if kind != "tv" else 0.0022 * math.sqrt(cells),
    )


def marginals(
    columns: Sequence[tuple[str, str, int, str, float]], ways: int = 2
) -> tuple[DistanceFacts, ...]:
    """Distances of every column, pair and so on, as a report orders them."""
    found = []
    for number in range(1, ways + 1):
        members = []
        for place, chosen in enumerate(combinations(columns, number)):
            names = [name for name, *_ in chosen]
            cells = math.prod(cells for _, _, cells, _, _ in chosen)
            worst = max(chosen, key=lambda column: column[-1])[-1]
            value = worst + (number - 1) * 0.004 * (place % 7)
            members.append(distance(names, value, cells, "tv"))
            if number == 1 and chosen[0][1] == "number":
                members.append(distance(names, worst * 0.7 + 0.004, 70, "ks"))
        found += sorted(members, key=lambda each: -(each.value or 0))
    return tuple(found)


def count(name: str, copy_rows: int, rows: int, standing: Standing) -> CountFacts:
    """Count of one value."""
    reach = 390
    return CountFacts(
        name=name,
        copy_rows=copy_rows,
        expected=float(copy_rows),
        low=max(0, round(0.75 * copy_rows) - 20),
        high=round(1.25 * copy_rows) + 40,
        rows=Figure(rows, max(0, rows - reach), rows + reach),
        standing=standing,
    )


def values(names: Sequence[str]) -> tuple[ValuesOfColumn, ...]:
    """Values of columns: one with lost values, one with a frequent value, the others undecided."""
    found = []
    for place, name in enumerate(names):
        is_lost, is_frequent, unknown = place == 1, place == 8, Standing.UNDECIDED
        standing = Standing.BEYOND if is_lost or is_frequent else unknown
        kept = count(
            "value Eskimo",
            180 + place,
            2_210 if is_frequent else 310,
            standing if is_frequent else unknown,
        )
        missing = 1_240 if is_lost else 12
        filled = 1.0 if place % 4 else 0.873
        found.append(
            ValuesOfColumn(
                column=name,
                filled_copy=filled,
                filled=figure(filled, 0.017),
                lost=count("lost values", 0, missing, standing if is_lost else unknown),
                kept=(kept,),
                reach=517 + place,
                standing=standing,
            )
        )
    return tuple(found)


def scores(found: Sequence[DistanceFacts]) -> tuple[Score, tuple[Score, ...]]:
    """Overall score, and those by ways."""
    by_ways = []
    for ways in sorted({len(each.columns) for each in found}):
        members = [e for e in found if len(e.columns) == ways and e.distance == "tv"]
        value = 1 - sum(each.value or 0 for each in members) / len(members)
        known = [each.reference or 0.0 for each in members]
        by_ways.append(
            Score(
                ways=ways,
                marginals=len(members),
                reference=1 - sum(known) / len(known),
                mark=0.999 - sum(known) / len(known),
                half_width=HALF / math.sqrt(len(members)),
                estimate=figure(value, HALF / math.sqrt(len(members))),
                simultaneous=figure(value, HALF / math.sqrt(len(members))),
            )
        )
    count = len(by_ways)
    overall = Score(
        ways=None,
        marginals=sum(each.marginals for each in by_ways),
        reference=sum(each.reference for each in by_ways) / count,
        mark=sum(each.mark or 0.0 for each in by_ways) / count,
        half_width=0.0011,
        estimate=figure(sum(each.score or 0 for each in by_ways) / count, 0.0011),
        simultaneous=figure(sum(each.score or 0 for each in by_ways) / count, 0.0011),
    )
    return overall, tuple(by_ways)


def profiled(
    columns: Sequence[tuple[str, str, int, str, float]],
) -> tuple[ProfiledColumn, ...]:
    """Columns as a report lists them."""
    return tuple(
        ProfiledColumn(
            name=name,
            kind=kind,
            cells=cells,
            how=how,  # type: ignore[arg-type]
        )
        for name, kind, cells, how, _ in columns
    )


def zoomed(*axes: tuple[str, tuple[str, ...]], half: float = 0.0031) -> ZoomedMarginal:
    """All cells of a marginal, the worst first; the copy has too few of every third."""
    names, labels = zip(*axes, strict=True)
    places = list(product(*labels))
    cells = []
    for place, texts in enumerate(places):
        unseen = "not in the copy" in texts
        copy = 0.0 if unseen else 2 * (place % 5 + 1) / (6 * len(places))
        apart = (0.6, -0.25, -0.35, 0.05)[place % 4] / len(places)
        private = max(0.0, copy + apart)
        ends = figure(private, half)
        cells.append(
            CellFacts(
                labels=texts,
                copy=copy,
                private=ends,
                difference=Figure(private - copy, ends.low - copy, ends.high - copy),
                unseen=unseen,
            )
        )
    cells.sort(key=lambda cell: -abs(cell.difference.value))
    return ZoomedMarginal(columns=names, axes=labels, cells=tuple(cells), epsilon=Fraction(1, 15))


AGES = ("NULL", "17 to 22", "22 to 26", "26 to 30", "30 to 33", "33 to 37", "37 to 41",
        "41 to 45", "45 to 50", "50 to 58", "58 to 90", "not in the copy")  # fmt: skip
SEXES = ("NULL", "Female", "Male", "not in the copy")
DEGREES = ("NULL", "HS-grad", "Some-college", "Bachelors", "Masters", "not in the copy")
NUMBERS = ("NULL", *map(str, range(1, 17)), "not in the copy")
COUNTRIES = ("NULL", *(f"Country {place}" for place in range(1, 42)), "other values of the copy",
             "not in the copy")  # fmt: skip
ZOOMED = (
    zoomed(("education-num", NUMBERS)),
    zoomed(("age", AGES), ("education", DEGREES)),
    zoomed(("native-country", COUNTRIES), ("education-num", NUMBERS), half=0.0016),
)
TARGET = TargetFacts(
    column="income",
    model="histogram gradient boosting (scikit-learn)",
    classes=(
        ClassFacts(
            label="<=50K",
            share=figure(0.761, 0.002),
            recall=figure(0.941, 0.003),
            copy_recall=0.948,
        ),
        ClassFacts(
            label=">50K",
            share=figure(0.239, 0.002),
            recall=figure(0.581, 0.006),
            copy_recall=0.655,
        ),
        ClassFacts(label="NULL", share=figure(0.0004, 0.002), recall=None, copy_recall=None),
    ),
    accuracy=figure(0.855, 0.003),
    balanced=figure(0.761, 0.004),
    majority=figure(0.761, 0.002),
    copy_accuracy=0.872,
    copy_balanced=0.801,
    confusion=((34_970, 2_190, -3), (4_890, 6_784, 7), (11, 0, -2)),
    epsilon=Fraction(1, 10),
    unclassified=14,
)
BUDGET = (
    BudgetPart(part="rows", epsilon=Fraction(49, 2000), numbers=1, scale=57.7),
    BudgetPart(part="distances", epsilon=Fraction(931, 2000), numbers=127, scale=385.8),
    BudgetPart(part="relations", epsilon=Fraction(7, 100), numbers=3, scale=25.8, noise="cube"),
    BudgetPart(part="values", epsilon=Fraction(7, 50), numbers=189, scale=151.5),
    BudgetPart(part="cells", epsilon=Fraction(1, 5), numbers=3, scale=21.2),
    BudgetPart(part="target", epsilon=Fraction(1, 10), numbers=9, scale=14.1),
)
COST = Cost(
    epsilon=Fraction(1),
    rule="sequential",
    groups=(
        CompositionGroup(("distances",), Fraction(7, 10)),
        CompositionGroup(("cells of education-num",), Fraction(1, 5)),
        CompositionGroup(("target income",), Fraction(1, 10)),
    ),
    ledger="ledger.sqlite",
    total=Fraction(7, 4),
    limit=Fraction(5),
)
KEPT = RelationsFacts(
    pairs=105,
    bar=0.5,
    alpha=ALPHA,
    reference=0.886,
    mark=0.0089,
    negligible=0.0139,
    half_width=0.0234,
    independence=Independence(
        mean=0.0512,
        chance=0.0099,
        strongest=0.772,
        strongest_chance=0.0183,
        columns=("education", "education-num"),
        is_near=False,
    ),
    relations=Figure(0.0711, 0.0695, 0.0727),
    estimate=Figure(0.5621, 0.5388, 0.5854),
    least=0.861,
    outcome="yes",
    p_value=0.00008,
    conclusive=True,
)
NEAR_INDEPENDENCE = Independence(
    mean=0.0094,
    chance=0.0094,
    strongest=0.021,
    strongest_chance=0.016,
    columns=("fnlwgt", "hours-per-week"),
    is_near=True,
)
PLANNED = replace(
    KEPT,
    relations=None,
    estimate=None,
    least=None,
    outcome=None,
    p_value=None,
    conclusive=False,
)
MARGINALS = marginals(ADULT)
OVERALL, SCORES = scores(MARGINALS)
ADULT_PROFILE = ProfileReport(
    private="adult.csv",
    synthetic="adult_privbayes_eps1.csv",
    tolerance="5%",
    alpha=ALPHA,
    overall=OVERALL,
    scores=SCORES,
    marginals=MARGINALS,
    columns=profiled(ADULT),
    budget=BUDGET,
    cost=COST,
    copy_rows=48_842,
    relations=KEPT,
    rows=Figure(48_812.0, 48_700.0, 48_924.0),
    unseen=figure(0.0031, 0.0028),
    values=values([name for name, *_ in ADULT]),
    zoomed=ZOOMED,
    target=TARGET,
    left_out=(
        LeftOut(
            columns=("id",),
            reason="looks like an identifier in the copy (48,842 values in 48,842 rows); judge it "
            "with --columns id",
            standing=Standing.NOT_JUDGED,
        ),
        LeftOut(
            columns=("seed",),
            reason="the private table has no such column",
            standing=Standing.COPY_ALONE,
        ),
        LeftOut(columns=("region",), reason="the copy lacks it", standing=Standing.MISSING),
        LeftOut(
            columns=("person",),
            reason="it names the person (--unit)",
            standing=Standing.SET_ASIDE,
        ),
    ),
    notes=(Note("Cells come from the copy alone; NULL is a cell of its own.", ()),),
)
# What `pqd profile PRIVATE COPY` gives without any option.
PLAIN = replace(
    ADULT_PROFILE, zoomed=(), target=None, left_out=(), notes=(), budget=BUDGET[:4],
    cost=replace(COST, ledger=None, total=None, limit=None),
)  # fmt: skip


# A copy whose columns were shuffled.
SHUFFLED = replace(
    PLAIN,
    relations=replace(
        KEPT, independence=NEAR_INDEPENDENCE, estimate=Figure(-0.0021, -0.0491, 0.0449),
        reference=0.8724, outcome="no",
    ),
)  # fmt: skip
# A copy that holds rows of the private table, and one that is fitted closely to them.
TOO_NEAR = replace(
    PLAIN,
    overall=replace(OVERALL, estimate=figure(0.9991, 0.0004), simultaneous=figure(0.9991, 0.0004)),
    alarm=Alarm(0.9904, 0.9931, None, Standing.DRAWN),
)
NEAR = replace(
    PLAIN,
    overall=replace(OVERALL, estimate=figure(0.9921, 0.0004), simultaneous=figure(0.9921, 0.0004)),
    alarm=Alarm(0.9904, 0.9931, Fraction(1), Standing.INDEPENDENT),
)


# Attacks were tried too, with the whole budget of the run as their cost.
ATTACKED = replace(
    PLAIN,
    risk=replace(risk_reports.RISK, cost=replace(COST, epsilon=Fraction(2))),
    held_out_cost=risk_reports.RISK.held_out_cost,
    cost=replace(COST, epsilon=Fraction(2)),
    budget=(
        *BUDGET[:4],
        BudgetPart(part="attacks", epsilon=Fraction(1), numbers=13, scale=8.36, noise="cube"),
    ),
)


def planned(each: DistanceFacts) -> DistanceFacts:
    """Distance as a plan has it; what has many cells cannot be told at all."""
    least = math.inf if each.cells > 400 else 0.08 if each.cells > 180 else each.tau_min
    return replace(
        each, estimate=None, outcome=None, p_value=None, conclusive=False, at_once=False,
        mark=None, tau_min=least, tau_decided=1.7 * least,
    )  # fmt: skip


DRY = replace(
    ADULT_PROFILE,
    relations=PLANNED,
    overall=replace(OVERALL, estimate=None, simultaneous=None, mark=None),
    scores=tuple(replace(score, estimate=None, simultaneous=None, mark=None) for score in SCORES),
    marginals=tuple(planned(each) for each in MARGINALS),
    rows=None,
    unseen=None,
    values=(),
    zoomed=(),
    target=None,
    dry=True,
)
DRY_ATTACKED = replace(
    DRY,
    cost=replace(COST, epsilon=Fraction(2)),
    held_out_cost=risk_reports.RISK.held_out_cost,
    risk=risk_reports.PLAN,
)
# `pqd plan COPY`: there is no private table at all.
PLAN = replace(DRY, private="", cost=Cost(epsilon=Fraction(1)))
FEW = (("a", "number", 6, "values", 0.0123), ("b", "text", 4, "values", 0.34))
ONE_COLUMN = replace(
    PLAIN,
    marginals=marginals(FEW[:1], 1),
    relations=None,
    overall=scores(marginals(FEW[:1], 1))[0],
    scores=scores(marginals(FEW[:1], 1))[1],
    columns=profiled(FEW[:1]),
    values=values([name for name, *_ in FEW[:1]]),
    unseen=None,
)
THIRDS = (*FEW, ("c", "truth value", 4, "values", 0.002), ("d", "time", 12, "stated", 0.0479))
THREE_WAYS = replace(
    PLAIN,
    marginals=marginals(THIRDS, 3),
    overall=scores(marginals(THIRDS, 3))[0],
    scores=scores(marginals(THIRDS, 3))[1],
    columns=profiled(THIRDS),
    values=values([name for name, *_ in THIRDS]),
    target=TARGET,
    unseen=figure(0.0),
    zoomed=(zoomed(("a", ("NULL", "1", "2")), ("b", ("x", "y")), ("c", ("false", "true"))),),
    cost=replace(COST, unit="person", max_rows=3, delta=Fraction(1, 10**6)),
    budget=(*(replace(part, noise="gaussian") for part in BUDGET[:2]), *BUDGET[2:]),
)
DRY_SMALL = replace(
    THREE_WAYS,
    relations=replace(PLANNED, reference=None, independence=NEAR_INDEPENDENCE),
    dry=True,
    overall=replace(THREE_WAYS.overall, estimate=None, simultaneous=None, mark=None),
    scores=tuple(
        replace(score, estimate=None, simultaneous=None, mark=None) for score in THREE_WAYS.scores
    ),
    marginals=tuple(planned(each) for each in THREE_WAYS.marginals),
    rows=None,
    unseen=None,
    values=(),
    zoomed=(),
)


def wide(number: int) -> ProfileReport:
    """Profile of so many columns, whose names differ in their ends alone."""
    columns = tuple(
        (f"measured-value-{place}", "number", 12, "quantiles", 0.002 * (place * 7 % 31))
        for place in range(number)
    )
    pairs = marginals(columns)
    overall, parts = scores(pairs)
    return replace(
        PLAIN,
        marginals=pairs,
        overall=overall,
        scores=parts,
        columns=profiled(columns),
        values=values([name for name, *_ in columns]),
    )


# As many columns as a page must still hold.
WIDE = wide(30)


SIMULATED = replace(THREE_WAYS, simulated=True)
REPLAYED = replace(
    THREE_WAYS, replayed=True, cost=replace(COST, epsilon=Fraction(0), groups=(), rule="nothing")
)


def quoting(text: str) -> ProfileReport:
    """Profile whose every name is ``text``."""
    odd = (
        (text, "text", 4, "values", 0.2),
        (f"{text} again", "number", 9, "quantiles", 0.001),
        ("plain", "text", 3, "values", 0.05),
    )
    found = marginals(odd)
    overall, by_ways = scores(found)
    return replace(
        ADULT_PROFILE,
        private=text,
        synthetic=text,
        tolerance=text,
        overall=overall,
        scores=by_ways,
        marginals=found,
        columns=profiled(odd),
        values=values([name for name, *_ in odd]),
        cost=replace(COST, ledger=text, unit=text, max_rows=2),
        zoomed=(
            zoomed((text, ("NULL", text, "not in the copy"))),
            zoomed((text, ("NULL", text)), (f"{text} again", ("1", "2", text))),
        ),
        target=replace(
            TARGET,
            column=text,
            model=text,
            classes=(replace(TARGET.classes[0], label=text), *TARGET.classes[1:]),
        ),
        left_out=(LeftOut(columns=(text,), reason=text, standing=Standing.MISSING),),
        notes=(Note(text, ()),),
    )


LONG_NAME = "a column whose name has as many as sixty signs, not one less"
ODD = quoting(f"{LONG_NAME} Größe 年齢 <script>alert(1)</script>")
REPORTS = (ADULT_PROFILE, SIMULATED, REPLAYED, DRY, ONE_COLUMN, THREE_WAYS, ODD)
