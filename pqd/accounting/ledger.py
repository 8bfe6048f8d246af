"""Ledger: the spent budget of each private table, and the stored answers that it paid for.

One SQLite file holds a hash chain of entries (pqd/accounting/hash_chain.py).  A *table* is known by
a keyed fingerprint of its content, so a renamed copy is the same table.  A *charge* is on the disk
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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from pqd.accounting.accounts import (
    NO_LIMIT,
    Account,
    Accounts,
    Allowance,
    Budget,
    Owner,
    Reservation,
    Run,
    charge_within,
    check_unit,
    encode,
)
from pqd.accounting.charge_report import run_charges
from pqd.accounting.composition import Charge
from pqd.accounting.hash_chain import Body, Entry, HashChain, entry_hash
from pqd.accounting.periods import PERIODS, Period, PeriodKind
from pqd.deciders.numbers import epsilon_text
from pqd.errors import LedgerError, ParameterError
from pqd.interrupts import heed
from pqd.reports.models.ledger import LedgerReport

if TYPE_CHECKING:
    from pqd.accounting.accounts import Answer
    from pqd.engine.engine import Engine
    from pqd.engine.tables import Table

# Prefix of a fingerprint; it names the way in which pqd/engine/counting/recognition.py hashes rows.
_SCHEME = "rows:"
# Name of the key under which rows are hashed (see ``Ledger.key``).
ROWS = "rows"
_NO_HASH = ""
_NO_FACTS: Body = {}


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
        """Limit of every table; a table and a caller may have tighter limits."""
        return self._current.limit

    @property
    def limited(self) -> bool:
        """Whether any limit is stated, on every table or on one, ever or in a period."""
        every: list[Account | Accounts] = [self._current, *self.accounts]
        limits = (limit for each in every for limit in (each.limit, *each.period_limits.values()))
        return any(limit != NO_LIMIT for limit in limits)

    @property
    def accounts(self) -> tuple[Account, ...]:
        """Accounts of all tables, in the order in which they were first charged."""
        return tuple(self._current.accounts)

    def check_standing(self) -> None:
        """Raise LostLedgerError unless the file still holds all entries read and written."""
        self._chain.check_standing()

    def close(self) -> None:
        """Close the file."""
        self._chain.close()

    def key(self, purpose: str) -> bytes:
        """Secret key for one ``purpose``; the key never leaves the process."""
        return key_of(self._chain.secret, purpose)

    def fingerprint(self, content: str) -> str:
        """Keyed fingerprint of a table, given the engine's digest of its content."""
        return _SCHEME + hmac.new(self.key("table"), content.encode(), "sha256").hexdigest()

    def keyed_digest(self, digest: bytes | None) -> str | None:
        """Keyed hash of a file's digest, as the ledger stores it; None without a file."""
        return hmac.new(self.key("file"), digest, "sha256").hexdigest() if digest else None

    def fingerprint_of_file(self, keyed_digest: str | None) -> str | None:
        """Fingerprint of the table in a file; None if the ledger does not know the file."""
        return next((a.fingerprint for a in self.accounts if keyed_digest in a.files), None)

    def fingerprint_by_file(self, table: Table) -> str | None:
        """Fingerprint of a table, looked up by its file; None for an unknown file or a frame."""
        return self.fingerprint_of_file(self.keyed_digest(table.digest()))

    def fingerprint_of(self, engine: Engine, table: Table) -> str:
        """Fingerprint under which this ledger keeps the account of a table, now or in the future.

        The rows are read only if the ledger does not know the file.

        Raises
        ------
        RunError, TableError
            If the table cannot be read.
        """
        by_file = self.fingerprint_by_file(table)
        if by_file is not None:
            return by_file
        return self.fingerprint(engine.content(table, self.key(ROWS)))

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

    def tightest_limit(self, fingerprint: str, budget: Budget = NO_LIMIT) -> Budget:
        """Tightest of three limits on a table: the caller's, the table's and the ledger's."""
        account = self.account(fingerprint)
        return budget.least(account.limit if account else NO_LIMIT).least(self._current.limit)

    def check_budget(
        self,
        fingerprint: str,
        charge_at: Callable[[Fraction], Charge],
        budget: Budget = NO_LIMIT,
        after: Charge | None = None,
    ) -> Charge:
        """Charge of a run that fits into the budget, now or once the charge ``after`` is spent.

        ``charge_at`` computes the charge from the delta that is left.

        Raises
        ------
        BudgetError
            If the charge exceeds what is left; the message gives all the figures.
        """
        account, more = self.account(fingerprint), after or Charge()
        spent = (account.epsilon, account.delta) if account else (Fraction(0), Fraction(0))
        allowances = [Allowance(self.tightest_limit(fingerprint, budget), *spent)]
        allowances += self.period_allowances(account)
        return charge_within(
            charge_at,
            *(
                replace(each, epsilon=each.epsilon + more.epsilon, delta=each.delta + more.delta)
                for each in allowances
            ),
            where=f" (ledger {self.path})",
        )

    def period_allowances(self, account: Account | None) -> list[Allowance]:
        """Limits of the current periods of the calendar, and what is spent in each.

        The period is that of the entries that are written now, so the sum of all charges whose
        entries stand in one period never exceeds the limit that held when they were written.
        """
        own, every = account.period_limits if account else {}, self._current.period_limits
        periods = [Period.of(self._now, kind) for kind in PERIODS if kind in own or kind in every]
        nothing = Fraction(0), Fraction(0)
        return [
            Allowance(
                own.get(period.kind, NO_LIMIT).least(every.get(period.kind, NO_LIMIT)),
                *(account.spent_in(period) if account else nothing),
                period,
            )
            for period in periods
        ]

    def reserve(  # noqa: PLR0913 - the facts of a charge
        self,
        fingerprint: str,
        label: str,
        measurements: Mapping[str, Body],
        charge_at: Callable[[Fraction], Charge],
        *,
        run: Body = _NO_FACTS,
        budget: Budget = NO_LIMIT,
        fresh: bool = False,
        file: str | None = None,
    ) -> tuple[Reservation, Charge] | None:
        """Reservation for ``measurements`` (public facts by cache key), charged in one step.

        ``run`` are the command and the copies of the run, which the charge keeps.
        If another process has answered or paid for one of the measurements, nothing is charged and
        the result is None: the caller then looks at ``pending_elsewhere`` and ``answers`` again.
        If ``fresh``, all measurements are charged nevertheless.  If a run left an unused charge for
        the same measurements, it takes the place of a new charge, and the returned charge is 0.
        ``file`` is the keyed digest by which ``fingerprint_of_file`` will recognise the table.

        Raises
        ------
        BudgetError
            If the budget left does not cover all measurements; nothing is charged.
        LedgerError
            If the charge could not be written.  Nothing is charged, unless the message says so.
        LostLedgerError
            If the file does not hold the charge after it was written.
        """
        heed()
        charges = run_charges()
        keys, counted = measurements.keys(), False
        try:
            with self._writing():
                known = self.answers(fingerprint).keys() & keys
                if not fresh and (known or self.pending_elsewhere(fingerprint, keys)):
                    return None
                account = self.account(fingerprint)
                check_unit(account, measurements.values())
                unused = self.unused_run(fingerprint, keys)
                charge = (
                    unused.charge if unused else self.check_budget(fingerprint, charge_at, budget)
                )
                # Count the charge before it is on the disk: if the run is interrupted during the
                # write, its report must not leave out the charge.
                charges.spent.append(charge)
                counted = True
                if account and unused:
                    taken = {"table": account.number, "charge": unused.number, "by": Owner.here()}
                    self._append("used", taken)
                    reservation = Reservation(unused.number, account.number, charge)
                else:
                    reservation = self._charge(fingerprint, label, measurements, run, charge, file)
        except BaseException:
            if counted and not self._chain.doubtful:
                # The charge was rolled back.
                charges.spent.pop()
            raise
        self._chain.charged = True
        self.check_standing()
        return reservation, Charge() if unused else charge

    def _charge(
        self,
        fingerprint: str,
        label: str,
        measurements: Mapping[str, Body],
        run: Body,
        charge: Charge,
        file: str | None,
    ) -> Reservation:
        """Append a charge; a new table gets an entry of its own before the charge."""
        account = self.account(fingerprint)
        number = account.number if account else len(self._current.accounts) + 1
        if account is None:
            opened = {"table": number, "fingerprint": fingerprint, "label": label}
            self._append("table", opened)
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
        """Set the limit of ``table``, ever or in each ``period``.

        Without ``table`` it is the limit of every table.  A limit is lowered freely.  Only a caller
        who states ``raising`` may raise it; None in ``budget`` is no limit, the highest of all.

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
            limit = {"epsilon": _written(budget.epsilon), "delta": _written(budget.delta)}
            self._append("limit", {"table": table, "period": period, **limit})

    def limit_of(self, table: int | None = None, period: PeriodKind | None = None) -> Budget:
        """Limit that is stated on one table, or without ``table`` on every table.

        Raises
        ------
        LedgerError
            If the ledger has no table of this number.
        """
        whose: Account | Accounts = self._current
        if table is not None:
            if table not in {account.number for account in self.accounts}:
                raise LedgerError(
                    f"the ledger {self.path} has no table {table}; see pqd ledger show"
                )
            whose = self.accounts[table - 1]
        return whose.period_limits.get(period, NO_LIMIT) if period else whose.limit

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
        if head is not None and head.strip().lower() not in hashes:
            raise LedgerError(f"{self.path} does not hold the head {head[:80]}: {lost}")
        if export is not None:
            exported = _export_hashes(export)
            if hashes[: len(exported)] != exported:
                raise LedgerError(f"{self.path} does not begin as the export {export}: {lost}")

    def export(self) -> str:
        """All entries as JSON lines, each with its hash, without any secret."""
        return _export_text(self._chain.start, self.entries)

    def statement(self) -> LedgerReport:
        """Report of the ledger, with everything that a reader may see."""
        limit = self._current.limit
        tables = tuple(account.facts(limit) for account in self.accounts)
        return LedgerReport(
            self.path.name, self.head, len(self.entries), tables, limit.epsilon, limit.delta
        )

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
            RecursionError,
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
        "lowered freely; to raise it, if that is yours to decide, say so (--raise, raising=True)"
    )


def _written(amount: Fraction | None) -> str | None:
    return None if amount is None else str(amount)


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
