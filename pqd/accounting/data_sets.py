"""Data sets: all versions of one private table, with one limit and one sum of what was spent.

A table that is refreshed every night holds mostly the same people.  A person who is in all versions
pays the sum of their charges.  So the limit, the spent budget and the privacy unit belong to the
data set; stored answers belong to a version (an account).

A run finds the data set of its table by the name that the user states, by content that was charged
before, and by a place (pqd/accounting/places.py).  If these lead to several data sets, the run
unites them, and their charges add up from then on; no act splits a data set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from pqd.accounting.accounts import NO_LIMIT, Account, Budget, Run
from pqd.accounting.composition import Charge
from pqd.accounting.group_privacy import charge_per_person
from pqd.accounting.hash_chain import Body
from pqd.accounting.periods import Period, PeriodKind, period_kind
from pqd.accounting.places import KeptPlace, KeyedPlaces
from pqd.deciders.options import option
from pqd.errors import BudgetError, ParameterError
from pqd.reports.models.ledger import DataSetFacts, PeriodFacts

_LONGEST_NAME = 100
NO_PLACES = KeyedPlaces()


class RecognisedTable(NamedTuple):
    """Private table as the ledger knows it: its fingerprint, and the digest of its file.

    ``folder`` holds that file; None for a frame.  ``places`` are the places of its rows, ``name``
    is the name of its data set if the user states one.  ``others`` are fingerprints of the same
    rows by another rule.
    """

    label: str
    fingerprint: str
    file: str | None = None
    folder: Path | None = None
    places: KeyedPlaces = NO_PLACES
    name: str | None = None
    others: tuple[str, ...] = ()


def data_set_name(stated: str | None) -> str | None:
    """Name of a data set as a user states it; a number is that of ``pqd ledger show``.

    Raises
    ------
    ParameterError
        If the name is empty, too long, or has characters that cannot be printed.
    """
    if stated is None:
        return None
    name = " ".join(stated.split())
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise ParameterError(
            f"the name of a data set ({option('--dataset')}) is {stated[:_LONGEST_NAME]!r}; it must"
            f" have 1 to {_LONGEST_NAME} characters that can be printed"
        )
    return name


def same_name(one: str, other: str) -> bool:
    """Whether two names mean one data set: capitals do not count."""
    return one.casefold() == other.casefold()


@dataclass(frozen=True, slots=True)
class DataSet:
    """Data set: the versions of one private table.

    ``number`` is its number in the ledger.  ``names`` are stated names; a data set has several only
    if named data sets were united.  ``rows_per_person`` is the most rows of a person, if the
    custodian states it.  ``ended`` is the custodian's reason why later versions hold other people;
    None while the data set goes on.
    """

    number: int
    names: tuple[str, ...] = ()
    places: frozenset[KeptPlace] = frozenset()
    versions: tuple[Account, ...] = ()
    limit: Budget = NO_LIMIT
    period_limits: Mapping[PeriodKind, Budget] = field(default_factory=dict)
    rows_per_person: int | None = None
    ended: str | None = None

    @property
    def label(self) -> str:
        """Name in a sentence: the stated names, or else the name of the first table."""
        return " and ".join(f'"{name}"' for name in self.names) or self.versions[0].label

    @property
    def runs(self) -> tuple[Run, ...]:
        """Runs of all versions."""
        return tuple(run for account in self.versions for run in account.runs)

    @property
    def is_private(self) -> bool:
        """Whether at least one version was not declared public."""
        return any(account.public is None for account in self.versions)

    def has_name(self, name: str) -> bool:
        """Whether the data set has this name."""
        return any(same_name(name, own) for own in self.names)

    def counted(self, charge: Charge, unit: str | None) -> Charge:
        """Charge as it counts for the data set: per person, if the most rows are stated."""
        return charge_per_person(charge, (self.rows_per_person or 1) if unit is None else 1)

    @property
    def spent(self) -> Charge:
        """Epsilon and delta that all versions together have spent."""
        return self._sum(self.runs)

    def spent_in(self, period: Period) -> Charge:
        """Epsilon and delta of all charges in a period, by the times of their entries."""
        return self._sum(run for run in self.runs if period.holds(run.time))

    def _sum(self, runs: Iterable[Run]) -> Charge:
        charges = [self.counted(run.charge, run.unit) for run in runs]
        return Charge(
            sum((charge.epsilon for charge in charges), Fraction(0)),
            sum((charge.delta for charge in charges), Fraction(0)),
        )

    def united(self, other: DataSet) -> DataSet:
        """Union of two data sets: every version and charge of both, and the tighter limit."""
        first, second = sorted((self, other), key=lambda each: each.number)
        return DataSet(
            number=first.number,
            names=first.names + tuple(n for n in second.names if not first.has_name(n)),
            places=first.places | second.places,
            versions=tuple(sorted(first.versions + second.versions, key=lambda a: a.number)),
            limit=first.limit.least(second.limit),
            period_limits={
                kind: first.period_limits.get(kind, NO_LIMIT).least(
                    second.period_limits.get(kind, NO_LIMIT)
                )
                for kind in {*first.period_limits, *second.period_limits}
            },
            rows_per_person=_most_rows(first, second),
            ended=None if None in (first.ended, second.ended) else first.ended,
        )

    def check_unit(self, unit: str | None, ledger: Path) -> None:
        """Refuse a run whose charge cannot be added to the charges before.

        Charges for one column of persons add up.  Charges per row are added to charges per person
        if the most rows of a person are stated.

        Raises
        ------
        BudgetError
            If the charges do not add up; the message names both units, and the way out.
        """
        now = unit.casefold() if unit else None
        convertible = self.rows_per_person is not None
        if convertible and now is None:
            return
        earlier = [run.unit for run in self.runs if run.unit or not convertible]
        other = next((u for u in reversed(earlier) if (u.casefold() if u else None) != now), now)
        if other == now:
            return
        before, current = (f'per "{u}"' if u else "per row" for u in (other, unit))
        refusal = (
            f"what was spent on this data set protects {before}, and this run would protect "
            f"{current}: the two do not add up"
        )
        if other and unit:
            raise BudgetError(f"{refusal}. Nothing was spent. Ask {before}")
        table = next(a.number for a in self.versions if a.runs)
        raise BudgetError(
            f"{refusal}, unless it is known how many rows a person has at most. Nothing was "
            f"spent. Ask {before}; or state the most rows of a person, K, and each charge per row "
            f"counts up to K times: pqd ledger rows-per-person {ledger} K --table {table}"
        )

    def facts(self, limit: Budget, periods: tuple[PeriodFacts, ...] = ()) -> DataSetFacts:
        """Data set as a report shows it, given the ``limit`` of every data set.

        ``periods`` are the limits of periods, and what is spent in the current ones.
        """
        tightest, spent = self.limit.least(limit), self.spent
        return DataSetFacts(
            number=self.number,
            names=self.names,
            label=self.versions[0].label,
            epsilon=spent.epsilon,
            delta=spent.delta,
            limit=tightest.epsilon,
            limit_delta=tightest.delta,
            rows_per_person=self.rows_per_person,
            ended=self.ended,
            versions=tuple(account.facts(self.counted) for account in self.versions),
            periods=periods,
        )


def _most_rows(*data_sets: DataSet) -> int | None:
    """Most rows of a person after a union: unknown if it is for one with charges per row."""
    unknown = [each for each in data_sets if each.rows_per_person is None]
    if any(run.unit is None for each in unknown for run in each.runs):
        return None
    return max((each.rows_per_person for each in data_sets if each.rows_per_person), default=None)


class Accounts:
    """Accounts of a ledger: its data sets, their versions, and the limit of every data set.

    ``data_sets`` maps numbers to data sets, in the order in which they were opened.
    """

    def __init__(self) -> None:
        """Begin without any account."""
        self.accounts: list[Account] = []
        self.limit = NO_LIMIT
        self.period_limits: dict[PeriodKind, Budget] = {}
        self.data_sets: dict[int, DataSet] = {}
        # Number of each data set that was united with another, and the number of the union.
        self._moved: dict[int, int] = {}

    def account(self, fingerprint: str) -> Account | None:
        """Account of the table with this fingerprint; None if the table was never charged."""
        return next((a for a in self.accounts if a.fingerprint == fingerprint), None)

    @property
    def next_number(self) -> int:
        """Number of the next data set that is opened."""
        return len(self.data_sets) + len(self._moved) + 1

    def data_set_of(self, table: int) -> DataSet:
        """Data set of the table with a number; StopIteration if there is no such table."""
        return next(d for d in self._all() if any(a.number == table for a in d.versions))

    def found(self, table: RecognisedTable) -> tuple[DataSet, ...]:
        """Data sets to which the content, the places and the stated name of a table lead.

        A data set that was ended is found by content alone, and then no other place counts.

        Raises
        ------
        ParameterError
            If the stated name is not that of the data set to which content or places lead, or if
            the custodian has declared this content public.
        """
        own: list[DataSet] = []
        for account in map(self.account, (table.fingerprint, *table.others)):
            if account is None:
                continue
            if account.public is not None:
                raise ParameterError(
                    f"table {account.number} ({account.label}) was declared public "
                    f"({account.public}), so it cannot be the private table. Nothing was spent. If "
                    f"it is private after all: pqd ledger forget LEDGER --table {account.number} "
                    '--undo --because "..."'
                )
            data_set = self.data_set_of(account.number)
            own += [data_set] if data_set not in own else []
        if own and own[0].ended and (table.name is None or own[0].has_name(table.name)):
            return tuple(own)
        own += [d for d in self._going_on() if d not in own and table.places.overlap(d.places)]
        named = self._named(table.name) if table.name else None
        for data_set in own:
            if table.name and data_set.names and data_set is not named:
                raise ParameterError(
                    f"{table.label} is a version of the data set {data_set.label} (its rows or its "
                    f'place were charged before), and "{table.name}" is stated '
                    f"({option('--dataset')}). "
                    "Nothing was spent. State the same name again, or leave the name out; if the "
                    "table holds other people from now on: pqd ledger end"
                )
        return tuple(own if named is None or named in own else (*own, named))

    def is_at_ended_place(self, table: RecognisedTable) -> bool:
        """Whether a table lies where the custodian has ended a data set."""
        return any(table.places.overlap(d.places) for d in self._all() if d.ended)

    def _all(self) -> tuple[DataSet, ...]:
        return tuple(self.data_sets.values())

    def _going_on(self) -> tuple[DataSet, ...]:
        return tuple(data_set for data_set in self._all() if data_set.ended is None)

    def _named(self, name: str) -> DataSet | None:
        """Data set of a stated name, else of the table by which messages name it; None if new."""
        if not name.isdecimal():
            named = [d for d in self._going_on() if d.has_name(name)]
            labelled = [d for d in self._going_on() if not d.names and same_name(name, d.label)]
            meant = named or labelled
            if len(meant) > 1:
                numbers = " and ".join(str(data_set.number) for data_set in meant)
                raise ParameterError(
                    f"the data sets {numbers} of the ledger are {name}; state the number of one "
                    f"({option('--dataset')}). Nothing was spent"
                )
            return meant[0] if meant else None
        found = next((d for d in self._going_on() if d is self.at(int(name))), None)
        if found is None:
            raise ParameterError(
                f"the ledger has no data set {name} that goes on; state a number of pqd ledger "
                "show, or a name that is no number. Nothing was spent"
            )
        return found

    def at(self, number: int) -> DataSet | None:
        """Data set that has a number now, or that has taken up the one that had it."""
        while number in self._moved:
            number = self._moved[number]
        return self.data_sets.get(number)

    def apply(self, body: Body, number: int) -> None:
        """Apply entry ``number``; KeyError, ValueError or the like if the entry is malformed."""
        match body["kind"]:
            case "dataset":
                self._add_to_data_set(body)
            case "union":
                other = self.data_sets.pop(int(body["other"]))
                self._replace(body, self.data_sets[int(body["dataset"])].united(other))
                self._moved[other.number] = int(body["dataset"])
            case "end":
                self._change(body, ended=str(body["because"]))
            case "rows":
                self._change(body, rows_per_person=int(body["rows_per_person"]))
            case "limit":
                self._set_limit(body)
            case "table":
                opened = body["table"], body["fingerprint"], body["label"], body["time"]
                account = Account(*opened)
                self.accounts.append(account)
                data_set = self.data_sets[int(body["dataset"])]
                self._replace(body, replace(data_set, versions=(*data_set.versions, account)))
            case _:
                self._account_of(body).apply(body, number)

    def _set_limit(self, body: Body) -> None:
        limit = Budget(_amount(body["epsilon"]), _amount(body["delta"]))
        number = body["dataset"]
        whose = self if number is None else self.data_sets[int(number)]
        periods = {**whose.period_limits}
        if body["period"] is not None:
            periods[period_kind(body["period"])] = limit
            limit = whose.limit
        if number is None:
            self.limit, self.period_limits = limit, periods
        else:
            self._change(body, limit=limit, period_limits=periods)

    def _add_to_data_set(self, body: Body) -> None:
        """Open a data set, or add a name and places to one."""
        number = int(body["dataset"])
        if number == self.next_number:
            self.data_sets[number] = DataSet(number)
        known = self.data_sets[number]
        names = known.names + ((str(body["name"]),) if body["name"] is not None else ())
        places = frozenset(KeptPlace(*map(str, place)) for place in body["places"])
        self.data_sets[number] = replace(known, names=names, places=known.places | places)

    def _replace(self, body: Body, data_set: DataSet) -> None:
        self.data_sets[int(body["dataset"])] = data_set

    def _change(self, body: Body, **facts: Any) -> None:  # noqa: ANN401 - facts of a data set
        self._replace(body, replace(self.data_sets[int(body["dataset"])], **facts))

    def _account_of(self, body: Body) -> Account:
        number = int(body["table"])
        if number < 1:
            raise ValueError(number)
        return self.accounts[number - 1]


def _amount(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)
