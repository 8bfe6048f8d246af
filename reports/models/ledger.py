"""Model of a ledger: what was spent on each version of each data set, when, and for what."""

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
    may use the charge.  ``counted`` and ``counted_delta`` are what a charge per row counts for
    persons with several rows; None if the charge counts as it is.
    """

    time: str
    epsilon: Fraction
    delta: Fraction
    rule: str
    queries: tuple[str, ...]
    unit: str | None = None
    unused: bool = False
    counted: Fraction | None = None
    counted_delta: Fraction | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountFacts:
    """Account of one version of a private table.

    ``label`` is the name of the table at its first charge.  ``epsilon`` and ``delta`` are what its
    runs count for the data set.  ``answers`` is the number of stored answers, which are replayed at
    no cost.  ``public`` is the custodian's reason why the table is public and was charged by
    mistake; None if it is private.
    """

    number: int
    label: str
    since: str
    epsilon: Fraction
    delta: Fraction
    answers: int
    runs: tuple[RunFacts, ...]
    public: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSetFacts:
    """Data set: all versions of one private table, whose charges add up.

    ``names`` are the names that users have stated; ``label`` is the name of the first version.  A
    limit is None if it is not set.  ``rows_per_person`` is the most rows of a person that the
    custodian states; ``epsilon`` and ``delta`` then hold for persons with at most so many rows.
    ``ended`` is the custodian's reason why later versions hold other people.
    """

    number: int
    names: tuple[str, ...]
    label: str
    epsilon: Fraction
    delta: Fraction
    limit: Fraction | None
    limit_delta: Fraction | None
    versions: tuple[AccountFacts, ...]
    rows_per_person: int | None = None
    ended: str | None = None


@dataclass(frozen=True, slots=True)
class LedgerReport(Report):
    """Contents of a whole ledger.

    ``entries`` is the number of entries.  ``head`` is the last hash of their hash chain, so
    ``head`` changes if any entry changes.  ``limit`` and ``limit_delta`` hold for every data set.
    """

    kind: ClassVar[str] = "ledger"

    name: str
    head: str
    entries: int
    data_sets: tuple[DataSetFacts, ...]
    limit: Fraction | None = None
    limit_delta: Fraction | None = None
