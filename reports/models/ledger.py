"""Model of a ledger: per table what was spent, when, and for which queries."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from pqd.reports.models.report import Report


@dataclass(frozen=True, slots=True)
class RunFacts:
    """One charge: its time (UTC), what it cost, by which rule, and the ids of its queries.

    ``unit`` is the column whose values were people, None where each row was one.  Nothing was drawn
    of an ``unused`` charge, so that the same questions may use it.
    """

    time: str
    epsilon: Fraction
    delta: Fraction
    rule: str
    queries: tuple[str, ...]
    unit: str | None = None
    unused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountFacts:
    """One private table, under its name at its first charge; a limit is None where none is set.

    ``answers`` counts the queries that would be replayed at no cost.
    """

    number: int
    label: str
    since: str
    epsilon: Fraction
    delta: Fraction
    limit: Fraction | None
    limit_delta: Fraction | None
    answers: int
    runs: tuple[RunFacts, ...]


@dataclass(frozen=True, slots=True)
class LedgerReport(Report):
    """A whole ledger; ``head`` stands for all its ``entries``, ``limit`` holds for every table."""

    kind: ClassVar[str] = "ledger"

    name: str
    head: str
    entries: int
    tables: tuple[AccountFacts, ...]
    limit: Fraction | None = None
    limit_delta: Fraction | None = None
