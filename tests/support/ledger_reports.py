"""Ledgers made by hand: tables with and without a limit, several people a row, many queries."""

from __future__ import annotations

from fractions import Fraction

from pqd.reports.models.ledger import (
    AccountFacts,
    DataSetFacts,
    LedgerReport,
    LimitFacts,
    MeasurementFacts,
    PeriodFacts,
    RunFacts,
    StatementReport,
)

YOUNG = MeasurementFacts(
    id="young", sql="SELECT COUNT(*)\n  FROM D\n WHERE age < 30", epsilon=Fraction(1, 4),
    mechanism="laplace",
)  # fmt: skip
PAY = MeasurementFacts(
    id="pay", sql="SELECT AVG(inctot) FROM D", epsilon=Fraction(1, 4), mechanism="inv_mean",
    bounds="copy",
)  # fmt: skip
RUNS = (
    RunFacts(
        entry=3, time="2026-01-05T09:30:00Z", epsilon=Fraction(1, 2), delta=Fraction(0),
        rule="sequential", command="audit", copies=("census_synthetic.parquet",),
        measurements=(YOUNG, PAY),
    ),
    RunFacts(
        entry=5, time="2026-02-01T17:05:59Z", epsilon=Fraction(1, 4), delta=Fraction(1, 10**6),
        rule="optimal", command="check", copies=("census_synthetic.parquet",),
        measurements=tuple(
            MeasurementFacts(
                id=f"by-age[age = {place}]",
                sql=f"SELECT COUNT(*) FROM D WHERE age = {place}",
                mechanism="laplace",
            )
            for place in range(11)
        ),
        unit="household", max_rows=2,
    ),
)  # fmt: skip
PROFILED = RunFacts(
    entry=9, time="2026-04-01T00:00:00Z", epsilon=Fraction(1, 4), delta=Fraction(0),
    rule="sequential", command="compare", copies=("a=mst.parquet", "b=ctgan.parquet"),
    measurements=(
        MeasurementFacts(
            id="ranking of 2 copies", columns=("age", "sex", "marst"), mechanism="cube_vector"
        ),
        MeasurementFacts(
            id="relations of 2 copies", columns=("age", "sex", "marst"), mechanism="cube_relations"
        ),
    ),
    counted=Fraction(1, 2), counted_delta=Fraction(0),
)  # fmt: skip
SWAPPED = RunFacts(
    entry=7, time="2026-03-01T00:00:00Z", epsilon=Fraction(1, 3), delta=Fraction(0),
    rule="sequential", command="audit", copies=("census_private.parquet",),
    measurements=(YOUNG,), row_is_person=True, unused=True,
)  # fmt: skip
ACCOUNT = AccountFacts(
    number=1,
    label="census_private.parquet",
    since="2026-01-05T09:30:00Z",
    epsilon=Fraction(3, 4),
    delta=Fraction(1, 10**6),
    answers=13,
    runs=RUNS,
)
REFRESHED = AccountFacts(
    number=3,
    label="census_private.parquet",
    since="2026-04-01T00:00:00Z",
    epsilon=Fraction(1, 2),
    delta=Fraction(0),
    answers=2,
    runs=(PROFILED,),
)
OTHER = AccountFacts(
    number=2,
    label="private.csv",
    since="2026-03-01T00:00:00Z",
    epsilon=Fraction(1, 3),
    delta=Fraction(0),
    answers=1,
    runs=(SWAPPED,),
    public="the copy was given in place of the private table",
)
CENSUS = DataSetFacts(
    number=1,
    names=("census",),
    label="census_private.parquet",
    epsilon=Fraction(5, 4),
    delta=Fraction(1, 10**6),
    limit=Fraction(2),
    limit_delta=Fraction(1, 10**5),
    versions=(ACCOUNT, REFRESHED),
    periods=(
        PeriodFacts(
            "month",
            "2026-04-01",
            "2026-05-01",
            Fraction(1),
            Fraction(0),
            Fraction(1, 2),
            Fraction(0),
        ),
    ),
    rows_per_person=2,
)
COPY = DataSetFacts(
    number=2,
    names=(),
    label="private.csv",
    epsilon=Fraction(1, 3),
    delta=Fraction(0),
    limit=None,
    limit_delta=None,
    versions=(OTHER,),
    ended="these are other people",
)
LIMITS = (
    LimitFacts(
        time="2026-01-02T08:00:00Z", data_set=None, period=None, epsilon=Fraction(4),
        delta=Fraction(1, 10**5),
    ),
    LimitFacts(
        time="2026-03-31T08:00:00Z", data_set=1, period="month", epsilon=Fraction(1),
        delta=Fraction(0),
    ),
)  # fmt: skip
LEDGER = LedgerReport(
    "pqd-ledger.sqlite", "5d1c" * 16, 11, (CENSUS, COPY), Fraction(4), None, LIMITS
)
EMPTY = LedgerReport("pqd-ledger.sqlite", "0" * 64, 0, ())
STATEMENT = StatementReport(
    "pqd-ledger.sqlite", "5d1c" * 16, 11, (CENSUS, COPY), Fraction(4), None, LIMITS, "2026-04-02"
)
STATEMENT_OF_NOTHING = StatementReport("pqd-ledger.sqlite", "0" * 64, 0, (), day="2026-04-02")
