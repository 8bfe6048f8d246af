"""Ledgers made by hand: tables with and without a limit, several people a row, many queries."""

from __future__ import annotations

from fractions import Fraction

from pqd.reports.models.ledger import AccountFacts, DataSetFacts, LedgerReport, RunFacts

RUNS = (
    RunFacts("2026-01-05T09:30:00Z", Fraction(1, 2), Fraction(0), "sequential", ("young", "pay")),
    RunFacts(
        "2026-02-01T17:05:59Z", Fraction(1, 4), Fraction(1, 10**6), "optimal",
        tuple(f"by-age[age = {place}]" for place in range(11)), "household",
    ),
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
    runs=(
        RunFacts(
            "2026-04-01T00:00:00Z", Fraction(1, 4), Fraction(0), "sequential", ("q1",),
            counted=Fraction(1, 2), counted_delta=Fraction(0),
        ),
    ),
)  # fmt: skip
OTHER = AccountFacts(
    number=2,
    label="private.csv",
    since="2026-03-01T00:00:00Z",
    epsilon=Fraction(1, 3),
    delta=Fraction(0),
    answers=1,
    runs=(RunFacts("2026-03-01T00:00:00Z", Fraction(1, 3), Fraction(0), "sequential", ("q1",)),),
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
LEDGER = LedgerReport("pqd-ledger.sqlite", "5d1c" * 16, 9, (CENSUS, COPY), Fraction(4))
EMPTY = LedgerReport("pqd-ledger.sqlite", "0" * 64, 0, ())
