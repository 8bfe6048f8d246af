"""Releases made by hand: counts and sums, with and without intervals, truncated, grouped, many."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from pqd.deciders.note import Note
from pqd.reports.models.audit import CompositionGroup, Condition, Cost
from pqd.reports.models.release import (
    MechanismOption,
    ReleasedBatch,
    ReleasedQuery,
    ReleaseReport,
    SimulatedError,
)

ALPHA = Fraction(1, 20)
CONDITIONS = (
    "age > 64",
    "sex LIKE 'Female' AND race LIKE 'White' AND workly LIKE 'Yes'",
    "educ LIKE 'Master''s degree' AND marst LIKE 'Widowed'",
    "marst LIKE 'Never married/single' AND citizen LIKE 'Born in U.S'",
    "age BETWEEN 30 AND 39",
    None,
)
MARST = ("Divorced", "Married", "Never married/single", "Separated", "Widowed")


def count(place: int) -> ReleasedQuery:
    """Count with an interval; every fourth synthetic answer lies outside of it."""
    where = CONDITIONS[place % len(CONDITIONS)]
    answer = 137 + 411 * place
    return ReleasedQuery(
        id=f"c{place + 1}",
        sql=f"SELECT COUNT(*) FROM D{f' WHERE {where}' if where else ''}",
        aggregate="COUNT",
        attribute=None,
        where=where,
        batch="COUNT",
        q_synthetic=answer + (7, -12, 0, 260)[place % 4],
        answer=answer,
        low=answer - 31,
        high=answer + 31,
        deviation=15.811,
        error=11.2,
    )


def total(place: int) -> ReleasedQuery:
    """Sum without an interval; some are cut off, on one side or on both."""
    where = CONDITIONS[place % len(CONDITIONS)]
    answer = 1_897_546.25 * (place + 1)
    return ReleasedQuery(
        id=f"s{place + 1}",
        sql=f"SELECT SUM(inctot) FROM D{f' WHERE {where}' if where else ''}",
        aggregate="SUM",
        attribute="inctot",
        where=where,
        batch="SUM(inctot)",
        q_synthetic=answer - 40_210.5,
        answer=answer,
        threshold=(131_072, 65_536, None)[place % 3],
        lower_threshold=(None, -512, None)[place % 3],
        deviation=(None, None, 8214.7)[place % 3],
        error=6120.4 * (place + 1),
        condition=(None, Condition(None, 314_000), Condition(-9_999, 314_000))[place % 3],
    )


def grouped(groups: int, one: ReleasedQuery, column: str) -> tuple[ReleasedQuery, ...]:
    """Query once per group."""
    names = [MARST[place] if groups <= len(MARST) else str(place) for place in range(groups)]
    return tuple(
        replace(
            one,
            id=f"by-{column}[{column} = {name}]",
            block=f"by-{column}",
            group=f"{column} = {name}",
            block_sql=f"SELECT {one.aggregate}({one.attribute or '*'})\n  FROM D GROUP BY {column}",
            where=f"{column} = '{name}'",
            sql=f"SELECT {one.aggregate}({one.attribute or '*'}) FROM D WHERE {column} = '{name}'",
            answer=one.answer + 10 * place,
            low=None if one.low is None else one.low + 10 * place,
            high=None if one.high is None else one.high + 10 * place,
        )
        for place, name in enumerate(names)
    )


def batch(name: str, queries: int, epsilon: Fraction) -> ReleasedBatch:
    """Batch of counts, or of sums, with all that could have answered it."""
    counts = name == "COUNT"
    rivals = (("workload", 12.4), ("identity", 31.25), ("numerical", 77.0)) if counts else (
        ("clipped_composition", 30_112.0), ("global_truncation", 61_000.5), ("workload", 402_117.0),
    )  # fmt: skip
    others = ", ".join(f"{mechanism} {error:,.6g}" for mechanism, error in rivals[1:])
    return ReleasedBatch(
        name=name,
        queries=queries,
        epsilon=epsilon,
        mechanism=rivals[0][0],
        reason=f"smallest simulated error: {rivals[0][1]:,.6g} on average, against {others}",
        classes=None if counts else 23,
        simulated_errors=tuple(SimulatedError(mechanism, error) for mechanism, error in rivals),
    )


def report_of(*queries: ReleasedQuery, simulated: bool = False) -> ReleaseReport:
    """Release of ``queries``, in a batch for each thing that is summed up."""
    names = dict.fromkeys(query.batch for query in queries)
    sizes = {name: sum(query.batch == name for query in queries) for name in names}
    shares = {name: Fraction(size, len(queries)) for name, size in sizes.items()}
    return ReleaseReport(
        queries=queries,
        batches=tuple(batch(name, size, shares[name]) for name, size in sizes.items()),
        private="census_private.parquet",
        synthetic="census_synthetic.parquet",
        total_epsilon=Fraction(1),
        alpha=ALPHA,
        cost=Cost(
            epsilon=Fraction(1),
            rule="sequential",
            groups=tuple(CompositionGroup((name,), share) for name, share in shares.items()),
            ledger="pqd-ledger.sqlite",
            total=Fraction(5, 2),
            limit=Fraction(4),
        ),
        simulated=simulated,
        notes=(Note("Bounds of inctot from the synthetic table: 0..500,000 step 1.", ()),),
    )


COUNTS = tuple(count(place) for place in range(10))
SUMS = tuple(total(place) for place in range(5))
BLOCK = grouped(5, count(3), "marst")
RELEASE = report_of(*COUNTS, *BLOCK, *SUMS)
SIMULATED = report_of(*COUNTS[:3], *BLOCK, *SUMS[:2], simulated=True)
REPLAYED = replace(
    RELEASE,
    batches=tuple(replace(one, replayed=True) for one in RELEASE.batches),
    cost=Cost(ledger="pqd-ledger.sqlite", total=Fraction(5, 2)),
)
MANY = report_of(
    *(count(place) for place in range(900)),
    *grouped(200, total(1), "age"),
)
UNBOUNDED = report_of(*SUMS[:2])
BOUNDED = report_of(*COUNTS)
ONE = report_of(count(0))
EMPTY = report_of()
LARGE = report_of(
    replace(total(0), answer=-(10**15), q_synthetic=0.1, threshold=10**12, lower_threshold=-0.5),
    replace(count(0), answer=0, low=0, high=0, q_synthetic=0, deviation=0.0),
    *grouped(3, total(0), "sex"),
    *(replace(q, threshold=10**n) for n, q in enumerate(grouped(3, total(0), "job"))),
)
OPTIONS = (
    MechanismOption("rounds", 20), MechanismOption("b", 0.5), MechanismOption("radius", "private"),
)  # fmt: skip
# Options, a delta, weights, and answers that were put in order.
EXPERT = replace(
    report_of(
        replace(total(0), weight=3, unadjusted=total(0).answer + 40.5),
        replace(total(1), unadjusted=total(1).answer),
        replace(count(1), unadjusted=count(1).answer - 9),
    ),
    total_delta=Fraction(1, 10**6),
)
EXPERT = replace(
    EXPERT,
    batches=tuple(
        replace(one, mechanism="numerical", delta=Fraction(1, 2 * 10**6), options=OPTIONS,
                simulated_errors=(SimulatedError("numerical", 77.0),))
        for one in EXPERT.batches
    ),
    cost=replace(EXPERT.cost, delta=Fraction(1, 10**6), total_delta=Fraction(2, 10**6)),
)  # fmt: skip
REPORTS = (
    RELEASE, SIMULATED, REPLAYED, MANY, UNBOUNDED, BOUNDED, ONE, EMPTY, LARGE, EXPERT,
)  # fmt: skip


def quoting(text: str) -> ReleaseReport:
    """Release that says ``text`` wherever users and tables can say something."""
    query = replace(
        count(0), id=text, sql=text, where=text, attribute=text, aggregate="SUM", batch=text
    )
    member = replace(
        total(0), id=text, sql=text, batch=text, block=text, group=text, block_sql=text
    )
    shared = CompositionGroup((text, "b"), Fraction(1, 4), (text,))
    return replace(
        RELEASE,
        queries=(query, member),
        batches=(
            replace(
                batch("COUNT", 2, Fraction(1)),
                name=text, mechanism=text, reason=text,
                simulated_errors=(SimulatedError(text, 0.5),),
            ),
        ),
        private=text,
        synthetic=text,
        cost=Cost(Fraction(1), groups=(shared,), ledger=f"x{text}", total=Fraction(1), unit=text),
        notes=(Note(text, ()),),
    )  # fmt: skip
