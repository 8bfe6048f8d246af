"""Model of a ledger: what was spent on each version of each data set, when, and for what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

from pqd.reports.models.report import Report

_NOTHING = Fraction(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementFacts:
    """Measurement that a run paid for; all of it is public.

    ``sql`` is empty for a measurement of marginals; ``columns`` are then those of the marginals.
    ``epsilon`` is that of each row of a person that counts.  ``mechanism`` is the id of a decider,
    an estimator or another mechanism.  ``bounds`` is the source of the bounds to which values are
    cut: ``stated`` by the caller, ``half stated``, or ``copy``; None if no value is cut.
    """

    id: str
    sql: str = ""
    columns: tuple[str, ...] = ()
    epsilon: Fraction = _NOTHING
    mechanism: str = ""
    bounds: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """One charge: the run that it paid for, its time (UTC), its cost, and its composition rule.

    ``entry`` is the number of the charge's entry in the chain.  ``command`` is the command of pqd,
    ``copies`` are the copies that it read.  ``unit`` is the column whose values were people, or
    None if each row was one person; ``max_rows`` is then None too.  ``row_is_person``: the caller
    stated that each row is a person.  ``unused`` says that nothing was drawn for this charge.  A
    later run with the same questions may use the charge.  ``counted`` and ``counted_delta`` are
    what a charge per row counts for persons with several rows; None if the charge counts as it is.
    """

    entry: int
    time: str
    epsilon: Fraction
    delta: Fraction
    rule: str
    command: str = ""
    copies: tuple[str, ...] = ()
    measurements: tuple[MeasurementFacts, ...] = ()
    unit: str | None = None
    max_rows: int | None = None
    row_is_person: bool = False
    unused: bool = False
    counted: Fraction | None = None
    counted_delta: Fraction | None = None

    @property
    def cost(self) -> tuple[Fraction, Fraction]:
        """Epsilon and delta as they count for the data set."""
        if self.counted is None:
            return self.epsilon, self.delta
        return self.counted, self.counted_delta or _NOTHING


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


class PeriodFacts(NamedTuple):
    """Limit of a period of the calendar (UTC), and what is spent in the current period.

    ``kind`` is ``day``, ``week``, ``month`` or ``year``; the period begins on ``first``, and the
    next on ``after``.
    """

    kind: str
    first: str
    after: str
    limit: Fraction | None
    limit_delta: Fraction | None
    epsilon: Fraction
    delta: Fraction


class MonthFacts(NamedTuple):
    """Month of the calendar (UTC) such as ``2026-11``, its number of runs, and what they spent."""

    month: str
    runs: int
    epsilon: Fraction
    delta: Fraction


class MechanismFacts(NamedTuple):
    """Mechanism by its id, and the number of measurements that used it."""

    mechanism: str
    measurements: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSetFacts:
    """Data set: all versions of one private table, whose charges add up.

    ``names`` are the names that users have stated; ``label`` is the name of the first version.  A
    limit is None if it is not set; ``periods`` are the limits of periods of the calendar.
    ``rows_per_person`` is the most rows of a person that the custodian states; ``epsilon`` and
    ``delta`` then hold for persons with at most so many rows.  ``ended`` is the custodian's reason
    why later versions hold other people.
    """

    number: int
    names: tuple[str, ...]
    label: str
    epsilon: Fraction
    delta: Fraction
    limit: Fraction | None
    limit_delta: Fraction | None
    versions: tuple[AccountFacts, ...]
    periods: tuple[PeriodFacts, ...] = ()
    rows_per_person: int | None = None
    ended: str | None = None

    @property
    def name(self) -> str:
        """Stated names, or else the name of the first version."""
        return " and ".join(self.names) or self.label

    @property
    def runs(self) -> tuple[RunFacts, ...]:
        """Runs on all versions, in the order of their charges."""
        runs = (run for version in self.versions for run in version.runs)
        return tuple(sorted(runs, key=lambda run: run.entry))

    @property
    def measurements(self) -> Iterator[MeasurementFacts]:
        """Measurements of all runs for which something was drawn."""
        return (each for run in self.runs if not run.unused for each in run.measurements)

    @property
    def months(self) -> tuple[MonthFacts, ...]:
        """What was spent in each month in which there was a charge."""
        months: dict[str, MonthFacts] = {}
        for run in self.runs:
            month = run.time[:7]
            _, number, epsilon, delta = months.get(month, MonthFacts(month, 0, _NOTHING, _NOTHING))
            own = run.cost
            months[month] = MonthFacts(month, number + 1, epsilon + own[0], delta + own[1])
        return tuple(months.values())

    @property
    def mechanisms(self) -> tuple[MechanismFacts, ...]:
        """Mechanisms that were used, the most frequent first."""
        counts = Counter(each.mechanism for each in self.measurements)
        return tuple(MechanismFacts(*pair) for pair in counts.most_common())

    @property
    def units(self) -> tuple[str | None, ...]:
        """Columns whose values were people; None stands for each row being one person."""
        return tuple(dict.fromkeys(run.unit for run in self.runs))

    def computed(self) -> dict[str, Any]:
        """Sums by month, and the mechanisms."""
        return {"months": self.months, "mechanisms": self.mechanisms}


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitFacts:
    """Limit as it was set at a time (UTC), on one data set or on every one.

    ``data_set`` is the number of the data set now, into which others may have gone.  ``period`` is
    the kind of period that it is for; None if it is for all that is ever spent.  A limit is None if
    it was lifted.
    """

    time: str
    data_set: int | None
    period: str | None
    epsilon: Fraction | None
    delta: Fraction | None


@dataclass(frozen=True, slots=True)
class LedgerReport(Report):
    """Contents of a whole ledger.

    ``entries`` is the number of entries.  ``head`` is the last hash of their hash chain, so
    ``head`` changes if any entry changes.  ``limit`` and ``limit_delta`` hold for every data set.
    ``limits`` are all limits that were ever set, the first one first.
    """

    kind: ClassVar[str] = "ledger"

    name: str
    head: str
    entries: int
    data_sets: tuple[DataSetFacts, ...]
    limit: Fraction | None = None
    limit_delta: Fraction | None = None
    limits: tuple[LimitFacts, ...] = ()


@dataclass(frozen=True, slots=True)
class StatementReport(LedgerReport):
    """Contents of a whole ledger as a statement for those who supervise the protection of data.

    ``day`` is the day of the statement (UTC).
    """

    kind: ClassVar[str] = "statement"

    day: str = ""
