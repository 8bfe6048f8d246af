"""Periods of the calendar, in UTC, for which a ledger may state a limit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal, get_args

from pqd.errors import ParameterError

PeriodKind = Literal["day", "week", "month", "year"]
PERIODS: tuple[PeriodKind, ...] = get_args(PeriodKind)


@dataclass(frozen=True, slots=True)
class Period:
    """Period of the calendar: it begins at midnight UTC of ``first``, and ends before ``after``."""

    kind: PeriodKind
    first: date
    after: date

    @classmethod
    def of(cls, moment: datetime, kind: PeriodKind) -> Period:
        """Period of this ``kind`` that holds a moment in UTC; a week begins on its Monday."""
        day = moment.date()
        if kind == "day":
            return cls(kind, day, day + timedelta(1))
        if kind == "week":
            monday = day - timedelta(day.weekday())
            return cls(kind, monday, monday + timedelta(7))
        if kind == "month":
            first = day.replace(day=1)
            return cls(kind, first, (first + timedelta(31)).replace(day=1))
        return cls(kind, date(day.year, 1, 1), date(day.year + 1, 1, 1))

    def holds(self, time: str) -> bool:
        """Whether the time of an entry, in the form of ISO 8601 and in UTC, is in the period."""
        return self.first <= datetime.fromisoformat(time).date() < self.after

    def __str__(self) -> str:
        """Period in words, such as ``the month from 2026-11-01``."""
        if self.kind == "day":
            return self.first.isoformat()
        return f"the {self.kind} from {self.first.isoformat()}"


def period_kind(text: str) -> PeriodKind:
    """Kind of a period that a caller states; ParameterError if it is none."""
    if text not in PERIODS:
        raise ParameterError(f"period is {text!r}; it must be {', '.join(PERIODS[:-1])} or year")
    return text
