"""Model of a ledger: what was spent on each table, when, and for which queries."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from pqd.reports.models.report import Report


@dataclass(frozen=True, slots=True)
class RunFacts:
    """One charge: its time (UTC), its cost, its composition rule, and the ids of its queries.

    ``unit`` is the column whose values were people, or None if each row was one person.
    ``unused`` says that nothing was drawn for this charge.  A later run with the same questions
    may use the charge.
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
    """Account of one private table.

    ``label`` is the name of the table at its first charge.  A limit is None if it is not set.
    ``answers`` is the number of stored answers, which are replayed at no cost.
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
    """Contents of a whole ledger.

    ``entries`` is the number of entries.  ``head`` is the last hash of their hash chain, so
    ``head`` changes if any entry changes.  ``limit`` and ``limit_delta`` hold for every table.
    """

    kind: ClassVar[str] = "ledger"

    name: str
    head: str
    entries: int
    tables: tuple[AccountFacts, ...]
    limit: Fraction | None = None
    limit_delta: Fraction | None = None
