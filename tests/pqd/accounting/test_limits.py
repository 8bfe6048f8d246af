"""Limits: lowered freely and raised only on request; limits for each period of the calendar."""

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, date, datetime, timedelta, tzinfo
from fractions import Fraction
from pathlib import Path
from typing import Self

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pqd.accounting.ledger
from pqd.accounting.accounts import NO_LIMIT, Budget
from pqd.accounting.composition import Charge
from pqd.accounting.data_sets import RecognisedTable
from pqd.accounting.ledger import Ledger
from pqd.accounting.periods import PERIODS, Period, PeriodKind, period_kind
from pqd.errors import BudgetError, ParameterError
from tests.support.drawing import examples

TABLE, OTHER = "table", "other"


class Clock(datetime):
    """A clock that tests set."""

    moment = datetime(2026, 1, 31, 23, 59, 59, tzinfo=UTC)

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return cls.fromtimestamp(Clock.moment.timestamp(), tz)


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pqd.accounting.ledger, "datetime", Clock)
    monkeypatch.setattr(Clock, "moment", Clock.moment)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with closing(Ledger(tmp_path / "ledger.sqlite")) as opened:
        yield opened


def at(text: str) -> None:
    Clock.moment = datetime.fromisoformat(text).replace(tzinfo=UTC)


def costing(epsilon: str | Fraction, delta: str = "0") -> Callable[[Fraction], Charge]:
    return lambda _: Charge(Fraction(epsilon), Fraction(delta), "sequential")


def version(fingerprint: str) -> RecognisedTable:
    """Table whose data set has a name of its own."""
    return RecognisedTable("label", fingerprint, name=f"data of {fingerprint}")


def pay(ledger: Ledger, epsilon: str | Fraction, table: str = TABLE, delta: str = "0") -> None:
    name = str(len(ledger.entries))
    assert ledger.reserve(version(table), {name: {"id": name}}, costing(epsilon, delta))


# Raising -----------------------------------------------------------------------------------------


def budget(epsilon: str | None, delta: str | None = None) -> Budget:
    return Budget(
        None if epsilon is None else Fraction(epsilon), None if delta is None else Fraction(delta)
    )


@pytest.mark.parametrize("period", [None, "month"])
@pytest.mark.parametrize("table", [None, 1])
@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (budget("1"), budget("1"), None),
        (budget("1"), budget("1/2"), None),
        (budget("1"), budget("1.001"), "the limit is epsilon 1, and 1.001 would raise it"),
        (budget("1"), NO_LIMIT, "the limit is epsilon 1, and no limit would raise it"),
        (budget("1"), budget("1", "0"), None),
        (budget("1", "0"), budget("1", "1e-9"), "the limit is delta 0, and 1e-09 would raise it"),
        (budget("1", "0"), budget("1/2", None), "the limit is delta 0, and no limit would"),
        (budget("1", "1e-9"), budget("2", "0"), "the limit is epsilon 1, and 2 would raise it"),
        (NO_LIMIT, budget("5"), None),
    ],
)
def test_a_limit_is_raised_only_on_request(
    ledger: Ledger,
    period: PeriodKind | None,
    table: int | None,
    before: Budget,
    after: Budget,
    told: str | None,
) -> None:
    pay(ledger, "0")
    ledger.set_limit(before, table, period=period)
    entries = ledger.entries
    if told is not None:
        with pytest.raises(ParameterError, match=told) as caught:
            ledger.set_limit(after, table, period=period)
        assert "Nothing was changed" in str(caught.value)
        assert caught.value.exit_code == 2
        assert ledger.entries == entries
        assert ledger.limit_of(table, period) == before
    ledger.set_limit(after, table, period=period, raising=told is not None)
    with closing(Ledger(ledger.path)) as again:
        assert again.limit_of(table, period) == ledger.limit_of(table, period) == after


def test_limits_of_several_periods_stand_beside_each_other(ledger: Ledger) -> None:
    pay(ledger, "0")
    ledger.set_limit(budget("9"))
    ledger.set_limit(budget("3"), period="year")
    ledger.set_limit(budget("2"), 1, period="month")
    assert ledger.limit_of() == budget("9")
    assert ledger.limit_of(period="year") == budget("3")
    assert ledger.limit_of(period="month") == NO_LIMIT
    assert ledger.limit_of(1, "month") == budget("2")
    assert ledger.limit_of(1) == NO_LIMIT
    assert ledger.limited


def test_a_limit_of_a_period_alone_limits_a_ledger(ledger: Ledger) -> None:
    limited = [ledger.limited]
    ledger.set_limit(budget("1"), period="week")
    limited.append(ledger.limited)
    ledger.set_limit(NO_LIMIT, period="week", raising=True)
    assert [*limited, ledger.limited] == [False, True, False]


def test_a_report_lists_every_limit_with_the_data_set_that_has_it_now(ledger: Ledger) -> None:
    def run(table: RecognisedTable) -> None:
        name = str(len(ledger.entries))
        assert ledger.reserve(table, {name: {"id": name}}, costing("1"))

    run(RecognisedTable("a", "first"))
    run(RecognisedTable("b", "second", name="people"))
    ledger.set_limit(budget("9"))
    ledger.set_limit(budget("5"), 2, period="month")
    assert [limit.data_set for limit in ledger.report().limits] == [None, 2]
    # The first table turns out to be a version of the second data set.
    run(RecognisedTable("a", "first", name="people"))
    report = ledger.report()
    assert [(limit.data_set, limit.period) for limit in report.limits] == [
        (None, None),
        (1, "month"),
    ]
    (data_set,) = report.data_sets
    assert (data_set.number, data_set.epsilon, data_set.limit) == (1, Fraction(3), Fraction(9))
    assert [(each.kind, each.limit, each.epsilon) for each in data_set.periods] == [
        ("month", Fraction(5), Fraction(3))
    ]


# Periods -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "moment", "first", "after"),
    [
        ("day", "2026-02-28T23:59:59", "2026-02-28", "2026-03-01"),
        ("week", "2026-11-28T00:00:00", "2026-11-23", "2026-11-30"),
        ("week", "2027-01-01T00:00:00", "2026-12-28", "2027-01-04"),
        ("month", "2026-12-31T23:59:59", "2026-12-01", "2027-01-01"),
        ("month", "2028-02-29T12:00:00", "2028-02-01", "2028-03-01"),
        ("year", "2026-01-01T00:00:00", "2026-01-01", "2027-01-01"),
    ],
)
def test_a_period_of_the_calendar(kind: PeriodKind, moment: str, first: str, after: str) -> None:
    period = Period.of(datetime.fromisoformat(moment), kind)
    ends = date.fromisoformat(first), date.fromisoformat(after)
    assert period == Period(kind, *ends)
    assert period.holds(f"{first}T00:00:00+00:00")
    assert not period.holds(f"{after}T00:00:00+00:00")
    last = (ends[1] - timedelta(1)).isoformat()
    assert period.holds(f"{last}T23:59:59+00:00")


def test_a_period_that_is_none() -> None:
    assert [period_kind(kind) for kind in PERIODS] == list(PERIODS)
    with pytest.raises(ParameterError, match="it must be day, week, month or year"):
        period_kind("decade")


def test_the_budget_of_a_month_is_fresh_in_the_next(ledger: Ledger) -> None:
    ledger.set_limit(budget("1"), period="month")
    ledger.set_limit(budget("2.5"))
    pay(ledger, "0.75")
    with pytest.raises(BudgetError) as caught:
        pay(ledger, "0.5")
    assert str(caught.value).startswith(
        "this run needs epsilon 0.5; of 1 for this data set 0.75 are spent in the month from "
        "2026-01-01 (UTC) and 0.25 left"
    )
    assert "Nothing was spent. The next month begins on 2026-02-01. Ask for" in str(caught.value)
    pay(ledger, "0.25")
    # Another table has a month of its own.
    pay(ledger, "1", OTHER)
    at("2026-02-01T00:00:00")
    pay(ledger, "1")
    at("2026-03-01T00:00:00")
    with pytest.raises(BudgetError, match=r"of 2\.5 for this data set 2 are spent and 0\.5 left"):
        pay(ledger, "1")
    pay(ledger, "0.5")


def test_the_delta_of_a_month(ledger: Ledger) -> None:
    ledger.set_limit(budget("9", "1e-6"), period="month")
    pay(ledger, "1", delta="1e-6")
    with pytest.raises(BudgetError, match=r"1e-06 are spent in the month from 2026-01-01 \(UTC\)"):
        pay(ledger, "1", delta="1e-9")
    at("2026-02-01T00:00:00")
    pay(ledger, "1", delta="1e-6")


def test_the_least_delta_that_is_left_is_offered(ledger: Ledger) -> None:
    offered: list[Fraction] = []

    def charge(left: Fraction) -> Charge:
        offered.append(left)
        return Charge(Fraction(1), Fraction(0), "sequential")

    ledger.set_limit(budget("9", "1e-5"))
    ledger.set_limit(budget("9", "1e-6"), period="month")
    ledger.check_budget(version(TABLE), charge)
    assert offered == [Fraction(1, 10**6)]


def test_what_costs_nothing_is_granted_in_any_month(ledger: Ledger) -> None:
    pay(ledger, "2")
    ledger.set_limit(budget("1"), period="month")
    assert ledger.check_budget(version(TABLE), costing("0")).epsilon == 0
    with pytest.raises(BudgetError):
        pay(ledger, "1e-9")


def test_a_charge_to_come_counts_in_the_month(ledger: Ledger) -> None:
    ledger.set_limit(budget("1"), period="month")
    first = Charge(Fraction(3, 4))
    assert ledger.check_budget(version(TABLE), costing("1/4"), after=first).epsilon == Fraction(
        1, 4
    )
    # It is not called spent.
    told = r"of 1 for this data set 0 are spent in the month .*, 0.75 are for what this run draws "
    with pytest.raises(BudgetError, match=f"{told}first and 0.25 left"):
        ledger.check_budget(version(TABLE), costing("1/2"), after=first)


def test_a_clock_that_strikes_midnight_within_a_charge_is_read_once(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The month that is checked is the month of the entry, though time goes on."""
    ledger.set_limit(budget("1"), period="month")
    pay(ledger, "1")

    class Striking(Clock):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            moment = Clock.moment.timestamp()
            Clock.moment += timedelta(seconds=1)
            return cls.fromtimestamp(moment, tz)

    monkeypatch.setattr(pqd.accounting.ledger, "datetime", Striking)
    at("2026-01-31T23:59:59")
    with pytest.raises(BudgetError, match="in the month from 2026-01-01"):
        pay(ledger, "1")
    at("2026-02-28T23:59:59")
    pay(ledger, "1")
    assert ledger.entries[-1].body["time"] == "2026-02-28T23:59:59+00:00"
    pay(ledger, "1")
    assert ledger.entries[-1].body["time"] >= "2026-03-01T00:00:00+00:00"


STEPS = st.tuples(
    st.sampled_from([-40, -1, 0, 1, 7, 20, 400]), st.fractions(0, 1, max_denominator=4)
)


def month_sums(ledger: Ledger, kind: PeriodKind) -> dict[Period, Fraction]:
    """Sum of the charges of each period, from the entries alone."""
    sums: dict[Period, Fraction] = {}
    for entry in ledger.entries:
        if entry.body["kind"] == "charge":
            period = Period.of(datetime.fromisoformat(entry.body["time"]), kind)
            sums[period] = sums.get(period, Fraction(0)) + Fraction(entry.body["epsilon"])
    return sums


@settings(examples(25))
@given(
    kind=st.sampled_from(PERIODS),
    limit=st.fractions(0, 2, max_denominator=4),
    steps=st.lists(STEPS, max_size=12),
)
def test_no_period_exceeds_its_limit_whatever_the_clock_does(
    tmp_path_factory: pytest.TempPathFactory,
    kind: PeriodKind,
    limit: Fraction,
    steps: list[tuple[int, Fraction]],
) -> None:
    at("2026-01-31T12:00:00")
    with closing(Ledger(tmp_path_factory.mktemp("ledgers") / "ledger.sqlite")) as ledger:
        ledger.set_limit(Budget(limit), period=kind)
        for days, epsilon in steps:
            Clock.moment += timedelta(days)
            here = month_sums(ledger, kind).get(Period.of(Clock.moment, kind), Fraction(0))
            fits = here + epsilon <= limit or not epsilon
            try:
                pay(ledger, epsilon)
            except BudgetError:
                assert not fits
            else:
                assert fits
        assert max(month_sums(ledger, kind).values(), default=Fraction(0)) <= limit
