"""Ledger: the spent budget of each private data set, and the stored answers that it paid for.

One SQLite file holds a hash chain of entries (pqd/accounting/hash_chain.py).  A *table* is known by
a keyed fingerprint of its content, so a renamed copy is the same table.  The tables that are
versions of one another are a *data set* (pqd/accounting/data_sets.py): limits and spent budgets
belong to the data set, answers to the table.  A *charge* is on the disk
before any output that it pays for is drawn.  The *answers* are stored after the draw.  A later run
replays a stored answer at no cost.  No charge is ever taken back: a crash may waste budget, but the
ledger still counts it as spent.

A run can break after its charge and before its first draw, for example if the table changes in
between.  The run then records that the charge is *unused*, and the next run of the same
measurements on the same table uses the charge.  This costs no privacy: the first run gave no output
that depends on the table, so the charge pays for the outputs of the next run alone.  A run that was
killed, or that had begun to draw, records nothing, and its charge stays spent.
"""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqd.accounting.accounts import (
    NO_LIMIT,
    Account,
    Allowance,
    Budget,
    Owner,
    Reservation,
    Run,
    charge_within,
    encode,
    unit_of,
)
from pqd.accounting.charge_report import run_charges
from pqd.accounting.composition import Charge
from pqd.accounting.data_sets import Accounts, DataSet, RecognisedTable
from pqd.accounting.hash_chain import Body, Entry, HashChain, entry_hash
from pqd.accounting.periods import PERIODS, Period, PeriodKind
from pqd.accounting.places import KeptPlace, KeyedPlaces
from pqd.deciders.numbers import epsilon_text
from pqd.deciders.options import option
from pqd.errors import LedgerError, ParameterError
from pqd.interrupts import heed
from pqd.reports.models.ledger import LedgerReport, LimitFacts, PeriodFacts, StatementReport

if TYPE_CHECKING:
    from pqd.accounting.accounts import Answer
    from pqd.engine.engine import Engine
    from pqd.engine.tables import Table

# Prefix of a fingerprint; it names the way in which pqd/engine/counting/recognition.py hashes rows.
_SCHEME = "cells:"
# Prefix of earlier ledgers, in which NULL and the names of all columns counted.
_EARLIER = "rows:"
# Name of the key under which rows are hashed (see ``Ledger.key``).
ROWS = "rows"
_NO_HASH = ""
_HEAD = re.compile(r"[0-9a-fA-F]{64}")
_NO_FACTS: Body = {}
# The most data sets that a message names, rows that a person may have, characters of a reason.
_MOST_NAMED, _MOST_ROWS, _LONGEST_REASON = 5, 1_000_000, 500


class Ledger:
    """Ledger in the file ``path``, which is made if it does not exist.

    Raises
    ------
    LedgerError
        From every method, if the file cannot be read or written.
    """

    def __init__(
        self, path: str | Path, *, wait: float = 10.0, secret: bytes | None = None
    ) -> None:
        """Open the file and check the whole chain; ``secret`` is only for a new ledger."""
        self._chain = HashChain(Path(path), wait=wait, secret=secret)
        self._moment: datetime | None = None
        self._forget()
        self.refresh()

    @property
    def path(self) -> Path:
        """Path of the file."""
        return self._chain.path

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries, oldest first."""
        return self._chain.entries()

    @property
    def head(self) -> str:
        """Last hash of the chain, which commits to every entry and to the ledger itself."""
        entries = self.entries
        return entries[-1].hash if entries else self._chain.start

    @property
    def limit(self) -> Budget:
        """Limit of every data set; a data set and a caller may have tighter limits."""
        return self._current.limit

    @property
    def limited(self) -> bool:
        """Whether any limit is stated, on every data set or on one, ever or in a period."""
        every: list[DataSet | Accounts] = [self._current, *self.data_sets]
        limits = (limit for each in every for limit in (each.limit, *each.period_limits.values()))
        return any(limit != NO_LIMIT for limit in limits)

    @property
    def accounts(self) -> tuple[Account, ...]:
        """Accounts of all tables, in the order in which they were first charged."""
        return tuple(self._current.accounts)

    @property
    def data_sets(self) -> tuple[DataSet, ...]:
        """All data sets, in the order in which they were opened."""
        return tuple(self._current.data_sets.values())

    def check_standing(self) -> None:
        """Raise LostLedgerError unless the file still holds all entries read and written."""
        self._chain.check_standing()

    def close(self) -> None:
        """Close the file."""
        self._chain.close()

    def key(self, purpose: str) -> bytes:
        """Secret key for one ``purpose``; the key never leaves the process."""
        return key_of(self._chain.secret, purpose)

    def fingerprint(self, content: str, scheme: str = _SCHEME) -> str:
        """Keyed fingerprint of a table, given the text of its content by the rule of a scheme."""
        return scheme + hmac.new(self.key("table"), content.encode(), "sha256").hexdigest()

    def keyed_digest(self, digest: bytes | None) -> str | None:
        """Keyed hash of a file's digest, as the ledger stores it; None without a file."""
        return hmac.new(self.key("file"), digest, "sha256").hexdigest() if digest else None

    def fingerprint_of_file(self, keyed_digest: str | None) -> str | None:
        """Fingerprint of the table in a file; None if the ledger does not know the file."""
        return next((a.fingerprint for a in self.accounts if keyed_digest in a.files), None)

    def fingerprint_by_file(self, table: Table) -> str | None:
        """Fingerprint of a table, looked up by its file; None for an unknown file or a frame."""
        return self.fingerprint_of_file(self.keyed_digest(table.digest()))

    def fingerprints_of(self, engine: Engine, table: Table) -> tuple[str, ...]:
        """Fingerprint of a table, and that of another account of the same rows, if there is one.

        Under the first this ledger keeps the account of the table, now or in the future.

        The rows are read only if the ledger does not know the file.  An account that was opened by
        the earlier rule goes on.  Where the same rows have an account by either rule, what both
        have spent counts.

        Raises
        ------
        RunError, TableError
            If the table cannot be read.
        """
        by_file = self.fingerprint_by_file(table)
        if by_file is not None:
            return (by_file,)
        key = self.key(ROWS)
        content = engine.content(table, key)
        own = self.fingerprint(content.text)
        earlier = self.fingerprint(content.earlier(key), _EARLIER)
        return tuple(each for each in (own, earlier) if self.account(each)) or (own,)

    def unread(self, table: Table, name: str | None) -> RecognisedTable:
        """Table as this ledger knows it by place and ``name`` alone, as a dry run needs it.

        It is taken to be the version that was charged last.  If there is none, or if no version of
        the data set was ever at the table's place, its fingerprint is empty: its rows are new.
        """
        label, folder, places = table.label, table.source.folder, self.places(table)
        unread = RecognisedTable(label, "", None, folder, places, name)
        data_set = self.data_set(unread)
        has_moved = data_set and places.files and not places.overlap(data_set.places)
        known = data_set.versions if data_set and not has_moved else ()
        versions = [each for each in known if each.public is None]
        runs = [(run.number, each.fingerprint) for each in versions for run in each.runs]
        return unread._replace(fingerprint=max(runs, default=(0, ""))[1])

    def account(self, fingerprint: str) -> Account | None:
        """Account of the table with this fingerprint; None if the table was never charged."""
        return self._current.account(fingerprint)

    def answers(self, fingerprint: str) -> Mapping[str, Answer]:
        """Stored answers on a table, by cache key."""
        account = self.account(fingerprint)
        return dict(account.answers) if account else {}

    def pending_elsewhere(self, fingerprint: str, keys: AbstractSet[str]) -> bool:
        """Whether another running process has paid for one of ``keys`` and not answered it yet."""
        account = self.account(fingerprint)
        owners = {account.pending[k] for k in keys & account.pending.keys()} if account else set()
        return any(owner.is_running() for owner in owners)

    def clear_pending(self, fingerprint: str) -> None:
        """Stop waiting for answers that other processes have paid for."""
        if account := self.account(fingerprint):
            account.pending.clear()

    def unused_run(self, fingerprint: str, keys: AbstractSet[str]) -> Run | None:
        """Run that paid for exactly the measurements ``keys`` and drew nothing; None without it."""
        account = self.account(fingerprint)
        return next((run for run in account.unused if run.keys == keys), None) if account else None

    def places(self, table: Table) -> KeyedPlaces:
        """Places of a table under the key of this ledger."""
        return KeyedPlaces.of(table, self.key("place"))

    def data_set(self, table: RecognisedTable) -> DataSet | None:
        """Data set to which a table belongs, or the union of several; None for a new data set.

        Raises
        ------
        ParameterError
            The errors of ``Accounts.found``.
        """
        found = self._current.found(table)
        return reduce(DataSet.united, found) if found else None

    def private_data_set_at(self, table: Table) -> DataSet | None:
        """Private data set, not ended, that shares a place with a table; None without it."""
        places = self.places(table)
        going_on = (each for each in self.data_sets if each.is_private and each.ended is None)
        return next((each for each in going_on if places.overlap(each.places)), None)

    def tightest_limit(self, table: RecognisedTable, budget: Budget = NO_LIMIT) -> Budget:
        """Tightest of three limits on a table: the caller's, the data set's and the ledger's."""
        data_set = self.data_set(table)
        return budget.least(data_set.limit if data_set else NO_LIMIT).least(self._current.limit)

    def check_budget(
        self,
        table: RecognisedTable,
        charge_at: Callable[[Fraction], Charge],
        budget: Budget = NO_LIMIT,
        after: Charge | None = None,
        unit: str | None = None,
    ) -> Charge:
        """Charge of a run that fits into the budget, now or once the charge ``after`` is spent.

        ``charge_at`` computes the charge from the delta that is left.  ``unit`` is the column that
        names the persons of the run; None if each row is a person.

        Raises
        ------
        BudgetError
            If the charge exceeds what is left, and the message gives all the figures; or if it
            cannot be added to the charges before (``DataSet.check_unit``).
        ParameterError
            If the ledger limits what it holds, and cannot know whether the table is a new version
            of one of its data sets; also the errors of ``Accounts.found``.
        """
        data_set = self.data_set(table) or DataSet(0)
        more = data_set.counted(after or Charge(), unit)
        spent = data_set.spent
        tightest = budget.least(data_set.limit).least(self._current.limit)
        limit = Allowance(tightest, spent.epsilon, spent.delta)
        several = unit is None and (data_set.rows_per_person or 1) > 1

        def known_charge(delta_left: Fraction) -> Charge:
            charge = charge_at(delta_left)
            if charge.epsilon or charge.delta:
                data_set.check_unit(unit, self.path)
                self._check_known(table)
            return charge

        return charge_within(
            known_charge,
            *(
                replace(
                    each,
                    epsilon=each.epsilon + more.epsilon,
                    delta=each.delta + more.delta,
                    planned=more.epsilon,
                )
                for each in (limit, *self.period_allowances(data_set))
            ),
            where=f" (ledger {self.path})",
            counted=(lambda charge: data_set.counted(charge, unit)) if several else None,
        )

    def period_allowances(self, data_set: DataSet) -> list[Allowance]:
        """Limits of the current periods of the calendar, and what is spent in each.

        The period is that of the entries that are written now, so the sum of all charges whose
        entries stand in one period never exceeds the limit that held when they were written.
        """
        own, every = data_set.period_limits, self._current.period_limits
        allowances = []
        for kind in PERIODS:
            if kind in own or kind in every:
                period = Period.of(self._now, kind)
                limit = own.get(kind, NO_LIMIT).least(every.get(kind, NO_LIMIT))
                spent = data_set.spent_in(period)
                allowances.append(Allowance(limit, spent.epsilon, spent.delta, period))
        return allowances

    def period_facts(self, data_set: DataSet) -> tuple[PeriodFacts, ...]:
        """Limits of the current periods of the calendar, as a report shows them."""
        return tuple(allowance.facts() for allowance in self.period_allowances(data_set))

    def check_beside(self, table: RecognisedTable, first: RecognisedTable) -> None:
        """Refuse a ``table`` that this ledger cannot tell from ``first``, charged just before it.

        If ``first`` has no data set yet, its charge opens one.  Then the ledger holds a data set of
        which ``table`` may be a version, where it held none when both were quoted.

        Raises
        ------
        ParameterError
            As ``check_budget``.
        """
        if self.data_set(first) is None:
            self._check_known(table, first.label)

    def _check_known(self, table: RecognisedTable, first: str = "") -> None:
        """Refuse a table that may be a version of any data set, if the ledger has a limit.

        ``first`` is the label of a table whose data set the same run opens before.
        """
        accounts = self._current
        if table.name or not self.limited or accounts.found(table):
            return
        others = [f"{each.number} is {each.label}" for each in self.data_sets if each.is_private]
        others += [f"one is opened for {first}"] if first else []
        if accounts.is_at_ended_place(table) or (table.places.kept and not others):
            return
        named = f"{option('--dataset NAME')}, or dataset in a spec"
        if not others:
            raise ParameterError(
                f"the ledger {self.path.name} has a limit, and could not find a later version of "
                f"{table.label}: rows in memory have no place. Nothing was spent. Name the data "
                f"set of the table ({named}), and name it so for each version"
            )
        place = "neither its rows nor its place were" if table.places.kept else "its rows were not"
        known = ", ".join(others[:_MOST_NAMED])
        raise ParameterError(
            f"the ledger {self.path.name} has a limit, and cannot know whether {table.label} is a "
            f"new version of a data set that it knows: {place} charged before. Nothing was spent. "
            f"Name the data set ({named}): a name or number in pqd ledger show ({known}) if the "
            "table holds the same people; a new name if it holds others, whose budget the ledger "
            "then keeps apart"
        )

    def reserve(
        self,
        table: RecognisedTable,
        measurements: Mapping[str, Body],
        charge_at: Callable[[Fraction], Charge],
        *,
        run: Body = _NO_FACTS,
        budget: Budget = NO_LIMIT,
        fresh: bool = False,
    ) -> tuple[Reservation, Charge] | None:
        """Reservation for ``measurements`` (public facts by cache key), charged in one step.

        ``run`` are the command and the copies of the run, which the charge keeps.
        If another process has answered or paid for one of the measurements, nothing is charged and
        the result is None: the caller then looks at ``pending_elsewhere`` and ``answers`` again.
        If ``fresh``, all measurements are charged nevertheless.  If a run left an unused charge for
        the same measurements, it takes the place of a new charge, and the returned charge is 0.
        The data set is found while nobody else can write, so that all charges of its versions,
        by whatever process, count.

        Raises
        ------
        BudgetError
            If the budget left does not cover all measurements; nothing is charged.
        ParameterError
            The errors of ``check_budget``; nothing is charged.
        LedgerError
            If the charge could not be written.  Nothing is charged, unless the message says so.
        LostLedgerError
            If the file does not hold the charge after it was written.
        """
        heed()
        charges = run_charges()
        fingerprint, keys, counted = table.fingerprint, measurements.keys(), False
        unit = unit_of(measurements.values())
        try:
            with self._writing():
                known = self.answers(fingerprint).keys() & keys
                if not fresh and (known or self.pending_elsewhere(fingerprint, keys)):
                    return None
                unused = self.unused_run(fingerprint, keys)
                charge = (
                    unused.charge
                    if unused
                    else self.check_budget(table, charge_at, budget, unit=unit)
                )
                # Count the charge before it is on the disk: if the run is interrupted during the
                # write, its report must not leave out the charge.
                charges.add(charge, table.label)
                counted = True
                number = self._enter(table)
                if unused:
                    taken = {"table": number, "charge": unused.number, "by": Owner.here()}
                    self._append("used", taken)
                    reservation = Reservation(unused.number, number, charge)
                else:
                    reservation = self._charge(number, measurements, run, charge, table.file)
        except BaseException:
            if counted and not self._chain.doubtful:
                # The charge was rolled back.
                charges.take_back()
            raise
        self._chain.charged = True
        self.check_standing()
        return reservation, Charge() if unused else charge

    def enter(self, table: RecognisedTable) -> None:
        """Keep the place and the name of a table whose answers are all known.

        So a later version there is found, as after a charge.  Nothing is written if none is new.

        Raises
        ------
        ParameterError
            As ``check_budget``.
        LedgerError
            If the ledger could not be written.
        """
        found = self._current.found(table)
        if len(found) > 1 or (found and any(self._news(table, found[0]))):
            with self._writing():
                self._enter(table)

    def _news(
        self, table: RecognisedTable, known: DataSet
    ) -> tuple[str | None, frozenset[KeptPlace]]:
        """Name and places of a table that its data set ``known`` lacks."""
        name = table.name
        if name and (known.has_name(name) or name.isdecimal()):
            name = None
        # The place of a data set that was ended holds other people now.
        return name, frozenset() if known.ended else table.places.kept - known.places

    def _enter(self, table: RecognisedTable) -> int:
        """Number of a table, after what is new about it and its data set is appended."""
        accounts = self._current
        found = sorted(accounts.found(table), key=lambda each: each.number)
        number = found[0].number if found else accounts.next_number
        for other in found[1:]:
            self._append("union", {"dataset": number, "other": other.number})
        name, places = self._news(table, accounts.data_sets.get(number, DataSet(number)))
        if not found or name or places:
            self._append(
                "dataset", {"dataset": number, "name": name, "places": sorted(map(list, places))}
            )
        account = self.account(table.fingerprint)
        if account:
            return account.number
        opened = {"table": len(accounts.accounts) + 1, "dataset": number}
        self._append("table", {**opened, "fingerprint": table.fingerprint, "label": table.label})
        return opened["table"]

    def _charge(
        self,
        number: int,
        measurements: Mapping[str, Body],
        run: Body,
        charge: Charge,
        file: str | None,
    ) -> Reservation:
        """Append a charge on the table ``number``, whose file has the keyed digest ``file``."""
        body = {
            "table": number,
            "epsilon": str(charge.epsilon),
            "delta": str(charge.delta),
            "rule": charge.rule,
            "by": Owner.here(),
            "file": file,
            **run,
            "questions": [{"key": key, **facts} for key, facts in measurements.items()],
        }
        if charge.rho:
            body |= {"rho": str(charge.rho), "pure": str(charge.pure)}
        return Reservation(self._append("charge", body).number, number, charge)

    def record(self, reservation: Reservation, answers: Mapping[str, Answer]) -> None:
        """Store the answers that a charge has paid for.

        Raises
        ------
        LostLedgerError
            If the file does not hold the charge, or does not hold the answers after they were
            written.
        LedgerError
            If the answers could not be written.
        """
        encoded = {key: encode(answer) for key, answer in answers.items()}
        with self._writing():
            self._append("answers", {**reservation.place(), "answers": encoded})
        self.check_standing()

    def record_unused(self, reservation: Reservation) -> None:
        """Store that a charge drew nothing; afterwards its run must not draw.

        Raises
        ------
        LedgerError
            If the entry could not be written.
        """
        with self._writing():
            self._append("unused", reservation.place())
        run_charges().leave_unused(reservation.amount)

    def set_limit(
        self,
        budget: Budget,
        table: int | None = None,
        *,
        period: PeriodKind | None = None,
        raising: bool = False,
    ) -> None:
        """Set the limit of the data set of ``table``, ever or in each ``period``.

        Without ``table`` it is the limit of every data set.  A limit is lowered freely.  Only a
        caller who states ``raising`` may raise it; None in ``budget`` is no limit, the highest.

        Raises
        ------
        ParameterError
            If the limit would be raised, and nobody stated so; nothing is changed.
        LedgerError
            If the ledger has no table of this number.
        """
        with self._writing():
            before = self.limit_of(table, period)
            if budget.exceeds(before) and not raising:
                raise ParameterError(_raised(before, budget))
            number = None if table is None else self._data_set_of(table).number
            limit = {"epsilon": _written(budget.epsilon), "delta": _written(budget.delta)}
            self._append("limit", {"dataset": number, "period": period, **limit})

    def limit_of(self, table: int | None = None, period: PeriodKind | None = None) -> Budget:
        """Limit that is stated on the data set of one table, or without ``table`` on every one.

        Raises
        ------
        LedgerError
            If the ledger has no table of this number.
        """
        whose = self._current if table is None else self._data_set_of(table)
        return whose.period_limits.get(period, NO_LIMIT) if period else whose.limit

    def end(self, table: int, because: str) -> DataSet:
        """End the data set of ``table``: the next version at its places holds other people.

        Rows that were charged before still belong to the ended data set.

        Raises
        ------
        LedgerError
            If the ledger has no table of this number.
        ParameterError
            If no reason is stated, or the data set was ended before.
        """
        with self._writing():
            data_set = self._data_set_of(table)
            if data_set.ended is not None:
                raise ParameterError(
                    f"the data set of table {table} was ended before ({data_set.ended})"
                )
            self._append("end", {"dataset": data_set.number, "because": _reason(because)})
            return data_set

    def declare(self, table: int, because: str, *, public: bool) -> Account:
        """Declare that a ``table`` is public and was charged by mistake, or that it is private.

        What was charged still counts in its data set.  A public table cannot be the private table
        of a run.

        Raises
        ------
        LedgerError
            If the ledger has no table of this number.
        ParameterError
            If no reason is stated, or the same was declared before.
        """
        with self._writing():
            self._data_set_of(table)
            account = self.accounts[table - 1]
            if (account.public is not None) == public:
                raise ParameterError(
                    f"table {table} ({account.label}) is {'public' if public else 'private'} "
                    "already, as far as the ledger knows"
                )
            kind = "public" if public else "private"
            self._append(kind, {"table": table, "because": _reason(because)})
            return account

    def state_rows_per_person(self, table: int, rows: int) -> DataSet:
        """State the most rows of a person in each version of the data set of ``table``.

        Charges per row, earlier and later, then count for persons with at most so many rows.

        Raises
        ------
        LedgerError
            If the ledger has no table of this number.
        ParameterError
            If ``rows`` is less than 1 or more than a million.
        """
        if not 1 <= rows <= _MOST_ROWS:
            raise ParameterError(
                f"the most rows of a person are {rows}; state a whole number from 1 to "
                f"{_MOST_ROWS:,}"
            )
        with self._writing():
            number = self._data_set_of(table).number
            self._append("rows", {"dataset": number, "rows_per_person": rows})
            return self._current.data_sets[number]

    def _data_set_of(self, table: int) -> DataSet:
        """Data set of the table of a number; LedgerError without it."""
        try:
            return self._current.data_set_of(table)
        except StopIteration:
            raise LedgerError(
                f"the ledger {self.path} has no table {table}; see pqd ledger show"
            ) from None

    def verify(self, head: str | None = None, export: Path | None = None) -> None:
        """Check that an earlier ``head`` or ``export`` is still part of the chain.

        The hashes of the chain were checked when the file was read.

        Raises
        ------
        LedgerError
            If an entry is missing: the ledger was deleted and begun anew, put back, or rewritten.
        """
        lost = "the ledger was begun anew, put back to an older copy, or rewritten"
        hashes = [self._chain.start, *(entry.hash for entry in self.entries)]
        if head is not None and not _HEAD.fullmatch(head.strip()):
            raise ParameterError(
                f"a head has 64 digits (0 to 9, a to f), and {head[:80]!r} has not; "
                "was it cut short in copying?"
            )
        if head is not None and head.strip().lower() not in hashes:
            raise LedgerError(f"{self.path} does not hold the head {head[:80]}: {lost}")
        if export is not None:
            exported = _export_hashes(export)
            if hashes[: len(exported)] != exported:
                raise LedgerError(f"{self.path} does not begin as the export {export}: {lost}")

    def export(self) -> str:
        """All entries as JSON lines, each with its hash, without any secret."""
        return _export_text(self._chain.start, self.entries)

    def report(self) -> LedgerReport:
        """Report of the ledger, with everything that a reader may see."""
        return LedgerReport(**self._contents())

    def statement(self, day: str) -> StatementReport:
        """Statement of a ``day`` for those who supervise the protection of data."""
        return StatementReport(**self._contents(), day=day)

    def _contents(self) -> dict[str, Any]:
        """Fields of a report of the ledger."""
        limit = self._current.limit
        return {
            "name": self.path.name,
            "head": self.head,
            "entries": len(self.entries),
            "data_sets": tuple(d.facts(limit, self.period_facts(d)) for d in self.data_sets),
            "limit": limit.epsilon,
            "limit_delta": limit.delta,
            "limits": tuple(
                LimitFacts(
                    time=body["time"],
                    data_set=self._number_now(body["dataset"]),
                    period=body["period"],
                    epsilon=_read(body["epsilon"]),
                    delta=_read(body["delta"]),
                )
                for body in (entry.body for entry in self.entries)
                if body["kind"] == "limit"
            ),
        }

    def _number_now(self, number: int | None) -> int | None:
        """Number of the data set into which the one of this number has gone; None for every one."""
        data_set = None if number is None else self._current.at(number)
        return data_set.number if data_set else None

    @property
    def _now(self) -> datetime:
        """Time in UTC; within one write it is the same for all checks and entries."""
        return self._moment or datetime.now(UTC)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            with self._chain.writing() as chain:
                self._catch_up(chain.known_entries)
                self._moment = datetime.now(UTC)
                yield
        except BaseException:
            # The appended entries were rolled back, so the accounts are read again.
            self._forget()
            raise
        finally:
            self._moment = None

    def _append(self, kind: str, body: Body) -> Entry:
        stamp = self._now.isoformat(timespec="seconds")
        entry = self._chain.append({"kind": kind, "time": stamp, **body})
        self._apply(entry)
        return entry

    @property
    def _current(self) -> Accounts:
        """Accounts as of the last read; a failed write makes a new read necessary."""
        if self._read is None:
            self.refresh()
        return self._accounts

    def _forget(self) -> None:
        self._accounts = Accounts()
        self._read: int | None = None

    def refresh(self) -> bool:
        """Read new entries of other processes into the accounts; True if there were any."""
        read = self._read
        self._catch_up(self._chain.entries())
        return self._read != read

    def _catch_up(self, entries: Sequence[Entry]) -> None:
        for entry in entries[self._read or 0 :]:
            self._apply(entry)
        self._read = len(entries)

    def _apply(self, entry: Entry) -> None:
        try:
            self._accounts.apply(entry.body, entry.number)
        except (
            *(KeyError, ValueError, TypeError, IndexError, ArithmeticError, AttributeError),
            *(RecursionError, StopIteration),
        ):
            raise LedgerError(
                f"the ledger {self.path} has an entry ({entry.number}) that this version of "
                "pqd does not understand. Nothing was spent."
            ) from None
        self._read = entry.number


def key_of(secret: bytes, purpose: str) -> bytes:
    """Key of one ``purpose`` in a ledger with this secret."""
    return hmac.digest(secret, purpose.encode(), "sha256")


def _raised(before: Budget, budget: Budget) -> str:
    """Refusal to raise a limit; it names what would be raised."""
    epsilon = Budget(budget.epsilon).exceeds(Budget(before.epsilon))
    what = "epsilon" if epsilon else "delta"
    old, new = (before.epsilon, budget.epsilon) if epsilon else (before.delta, budget.delta)
    was, now = ("no limit" if each is None else epsilon_text(each) for each in (old, new))
    return (
        f"the limit is {what} {was}, and {now} would raise it. Nothing was changed. A limit is "
        "lowered freely; to raise it, if that is yours to decide, say so "
        f"({option('--raise')})"
    )


def _reason(because: str) -> str:
    """Reason of a custodian, as an entry holds it; ParameterError without words."""
    reason = " ".join(because.split())
    if not reason or len(reason) > _LONGEST_REASON or not reason.isprintable():
        raise ParameterError(
            f"say why in 1 to {_LONGEST_REASON} characters ({option('--because')}); the ledger "
            "keeps the words"
        )
    return reason


def _read(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)


def _written(amount: Fraction | None) -> str | None:
    return None if amount is None else str(amount)


def is_export(file: Path) -> bool:
    """Whether a file is an export of a ledger."""
    try:
        return bool(_export_hashes(file))
    except LedgerError:
        return False


def _export_text(start: str, entries: Iterable[Entry]) -> str:
    """Export of a hash chain without its secret: a JSON line for ``start`` and for each entry."""
    lines = [{"hash": start}, *({"hash": entry.hash, "entry": entry.text} for entry in entries)]
    return "".join(json.dumps(line) + "\n" for line in lines)


def _export_hashes(export: Path) -> list[str]:
    """Hashes of an export that fit its entries.

    Raises
    ------
    LedgerError
        If the file cannot be read, is not a complete export, or has a hash that does not fit.
    """
    try:
        first, *rest = (json.loads(line) for line in export.read_text("utf-8").splitlines())
        hashes = [str(first["hash"]) if len(first) == 1 else _NO_HASH]
        for line in rest:
            matches = entry_hash(hashes[-1], line["entry"]) == line["hash"]
            hashes.append(line["hash"] if matches else _NO_HASH)
    except OSError as error:
        raise LedgerError(f"the export {export} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        hashes = [_NO_HASH]
    if _NO_HASH in hashes:
        raise LedgerError(f"{export} is no whole export of a ledger")
    return hashes
