"""The ledger: what was ever spent on which private table, and what it bought.

One SQLite file holds a chain of entries (pqd/chain.py).  A *table* is known by a keyed fingerprint
of its content, so a renamed copy is the same table.  A *charge* is on the disk before any verdict
that it pays for is drawn; the *answers* follow it.  A question that was answered before is
answered again from here and costs nothing.  Nothing is ever taken back: a crash may waste budget,
never hide it.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from deciders.decider import Decision
from pqd.chain import START, Body, Chain, Entry, linked
from pqd.composition import Charge
from pqd.errors import BudgetError, LedgerError
from reports.ledger import AccountFacts, LedgerFacts, RunFacts
from reports.numbers import epsilon_text

EMPTY_HEAD = "empty"
_NO_HASH = ""
FILE_NAME, LEDGER_VARIABLE = "pqd-ledger.sqlite", "PQD_LEDGER"


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that may ever be spent on one table, None where there is no limit."""

    epsilon: Fraction | None = None
    delta: Fraction | None = None

    def least(self, other: Budget) -> Budget:
        """Return what both allow."""
        return Budget(_least(self.epsilon, other.epsilon), _least(self.delta, other.delta))


def _least(first: Fraction | None, second: Fraction | None) -> Fraction | None:
    return min((x for x in (first, second) if x is not None), default=None)


NO_LIMIT = Budget()


@dataclass(frozen=True, slots=True)
class Reservation:
    """A charge that is on the disk: its number in the chain, and its table's in the ledger."""

    charge: int
    table: int


@dataclass(frozen=True, slots=True)
class Run:
    """One charge: when, how much, and the ids of the questions that it paid for."""

    time: str
    charge: Charge
    questions: tuple[str, ...]


@dataclass(slots=True)
class Account:
    """What the ledger knows of one table; ``answers`` are by question key."""

    number: int
    fingerprint: str
    label: str
    since: str
    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    limit: Budget = NO_LIMIT
    runs: list[Run] = field(default_factory=list)
    answers: dict[str, Decision] = field(default_factory=dict)


class Ledger:
    """The ledger in the file ``path``, made there if there is none.

    Raises
    ------
    LedgerError
        Whenever the file cannot be read or written as it must be.
    """

    def __init__(self, path: str | Path, *, wait: float = 10.0) -> None:
        """Open and check the whole chain."""
        self._chain = Chain(Path(path), wait=wait)
        self._forget()
        self._refresh()

    @property
    def path(self) -> Path:
        """Where it lies."""
        return self._chain.path

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every entry, oldest first."""
        return self._chain.entries()

    @property
    def head(self) -> str:
        """The last hash of the chain: it stands for every entry."""
        entries = self.entries
        return entries[-1].hash if entries else EMPTY_HEAD

    @property
    def limit(self) -> Budget:
        """The limit of every table that has none of its own."""
        self._refresh()
        return self._limit

    @property
    def accounts(self) -> tuple[Account, ...]:
        """Every table, in the order in which they were first charged."""
        self._refresh()
        return tuple(self._accounts)

    def close(self) -> None:
        """Let go of the file."""
        self._chain.close()

    def key(self, purpose: str) -> bytes:
        """Return the secret key of one ``purpose``; it never leaves the process."""
        return hmac.digest(self._chain.secret, purpose.encode(), "sha256")

    def fingerprint(self, content: str) -> str:
        """Return the keyed fingerprint of a table, given what its engine says of its content."""
        return hmac.new(self.key("table"), content.encode(), "sha256").hexdigest()

    def account(self, fingerprint: str) -> Account | None:
        """Return the table with this fingerprint, None if it was never charged."""
        return next((a for a in self.accounts if a.fingerprint == fingerprint), None)

    def answers(self, fingerprint: str) -> Mapping[str, Decision]:
        """Return the stored answers about a table, by question key."""
        account = self.account(fingerprint)
        return dict(account.answers) if account else {}

    def allowed(self, fingerprint: str, budget: Budget = NO_LIMIT) -> Budget:
        """Return the tightest limit on a table: of the caller, the table, the ledger."""
        account = self.account(fingerprint)
        return budget.least(account.limit if account else NO_LIMIT).least(self._limit)

    def affords(
        self, fingerprint: str, price: Callable[[Fraction], Charge], budget: Budget = NO_LIMIT
    ) -> Charge:
        """Return the charge, ``price`` of the delta that is left.

        Raises
        ------
        BudgetError
            If it does not fit into what is left; the message gives all the figures.
        """
        account = self.account(fingerprint)
        spent = Budget(account.epsilon, account.delta) if account else Budget()
        where = f" (ledger {self.path})"
        return fitting(price, self.allowed(fingerprint, budget), spent, where)

    def reserve(
        self,
        fingerprint: str,
        label: str,
        questions: Mapping[str, Body],
        price: Callable[[Fraction], Charge],
        *,
        budget: Budget = NO_LIMIT,
        fresh: bool = False,
    ) -> tuple[Reservation, Charge] | None:
        """Charge for ``questions`` (public facts by key) in one step.

        Returns None, and charges nothing, if one of them has been answered meanwhile by another
        process: then ask ``answers`` again.  ``fresh`` pays all the same.

        Raises
        ------
        BudgetError
            If what is left does not reach for all of them; nothing is charged.
        """
        with self._writing():
            if not fresh and self.answers(fingerprint).keys() & questions.keys():
                return None
            charge = self.affords(fingerprint, price, budget)
            account = self.account(fingerprint)
            number = account.number if account else len(self._accounts) + 1
            if account is None:
                opened = {"table": number, "fingerprint": fingerprint, "label": label}
                self._append("table", opened)
            body = {
                "table": number,
                "epsilon": str(charge.epsilon),
                "delta": str(charge.delta),
                "rule": charge.rule,
                "questions": [{"key": key, **facts} for key, facts in questions.items()],
            }
            entry = self._append("charge", body)
        return Reservation(entry.number, number), charge

    def record(self, reservation: Reservation, answers: Mapping[str, Decision]) -> None:
        """Store what a charge has bought."""
        found = {
            key: {"yes": a.outcome, "p_value": a.p_value, "margin": a.margin}
            for key, a in answers.items()
        }
        body = {"table": reservation.table, "charge": reservation.charge, "answers": found}
        with self._writing():
            self._append("answers", body)

    def set_limit(self, budget: Budget, table: int | None = None) -> None:
        """Set the most that may be spent on ``table``; without one, on every table.

        Raises
        ------
        LedgerError
            If there is no such table.
        """
        with self._writing():
            if table is not None and table not in {a.number for a in self.accounts}:
                raise LedgerError(
                    f"the ledger {self.path} has no table {table}; see pqd ledger show"
                )
            limit = {"epsilon": _written(budget.epsilon), "delta": _written(budget.delta)}
            self._append("limit", {"table": table, **limit})

    def verify(self, head: str | None = None, export: Path | None = None) -> None:
        """Check that an earlier ``head`` or ``export`` is still part of the chain.

        The chain itself was checked when it was read.

        Raises
        ------
        LedgerError
            If it is not: the ledger was deleted and begun anew, put back, or rewritten.
        """
        lost = "the ledger was begun anew, put back to an older copy, or rewritten"
        hashes = [entry.hash for entry in self.entries]
        if head is not None and head != EMPTY_HEAD and head.strip().lower() not in hashes:
            raise LedgerError(f"{self.path} does not hold the head {head[:80]}: {lost}")
        if export is not None:
            kept = _hashes(export)
            if hashes[: len(kept)] != kept:
                raise LedgerError(f"{self.path} does not begin as the export {export}: {lost}")

    def exported(self) -> str:
        """Return every entry as JSON lines, each with its hash; no secret is among them."""
        lines = ({"hash": e.hash, "entry": e.text} for e in self.entries)
        return "".join(json.dumps(line) + "\n" for line in lines)

    def statement(self) -> LedgerFacts:
        """Return what a reader may see of the ledger."""
        tables = tuple(
            AccountFacts(
                number=account.number,
                label=account.label,
                since=account.since,
                epsilon=account.epsilon,
                delta=account.delta,
                limit=account.limit.least(self._limit).epsilon,
                limit_delta=account.limit.least(self._limit).delta,
                answers=len(account.answers),
                runs=tuple(
                    RunFacts(r.time, r.charge.epsilon, r.charge.delta, r.charge.rule, r.questions)
                    for r in account.runs
                ),
            )
            for account in self.accounts
        )
        return LedgerFacts(self.path.name, self.head, len(self.entries), tables)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            with self._chain.writing():
                yield
        except BaseException:
            # What was appended is rolled back; the accounts must not keep it.
            self._forget()
            raise

    def _append(self, kind: str, body: Body) -> Entry:
        stamp = datetime.now(UTC).isoformat(timespec="seconds")
        return self._chain.append({"kind": kind, "time": stamp, **body})

    def _forget(self) -> None:
        self._accounts: list[Account] = []
        self._limit = NO_LIMIT
        self._read = 0

    def _refresh(self) -> None:
        """Bring the accounts up to the end of the chain."""
        entries = self._chain.entries()
        for entry in entries[self._read :]:
            try:
                self._apply(entry.body)
            except (KeyError, ValueError, TypeError, IndexError):
                raise LedgerError(
                    f"the ledger {self.path} has an entry ({entry.number}) that this version of "
                    "pqd does not understand. Nothing was spent."
                ) from None
        self._read = len(entries)

    def _apply(self, body: Body) -> None:
        match body["kind"]:
            case "table":
                opened = body["table"], body["fingerprint"], body["label"], body["time"]
                self._accounts.append(Account(*opened))
            case "charge":
                account = self._accounts[body["table"] - 1]
                charge = Charge(Fraction(body["epsilon"]), Fraction(body["delta"]), body["rule"])
                account.epsilon += charge.epsilon
                account.delta += charge.delta
                names = tuple(str(facts["id"]) for facts in body["questions"])
                account.runs.append(Run(body["time"], charge, names))
            case "answers":
                for key, a in body["answers"].items():
                    found = Decision(bool(a["yes"]), a["p_value"], a["margin"])
                    self._accounts[body["table"] - 1].answers[key] = found
            case "limit":
                limit = Budget(_read(body["epsilon"]), _read(body["delta"]))
                if body["table"] is None:
                    self._limit = limit
                else:
                    self._accounts[body["table"] - 1].limit = limit
            case other:
                raise ValueError(other)


def fitting(
    price: Callable[[Fraction], Charge], allowed: Budget, spent: Budget = NO_LIMIT, where: str = ""
) -> Charge:
    """Return the charge, ``price`` of the delta that is left.

    Raises
    ------
    BudgetError
        If it does not fit into what is left; the message gives all the figures.
    """
    nothing = Fraction(0)
    gone = spent.epsilon or nothing
    charge = price((allowed.delta or nothing) - (spent.delta or nothing))
    if allowed.epsilon is None or charge.epsilon + gone <= allowed.epsilon or not charge.epsilon:
        return charge
    left = max(allowed.epsilon - gone, nothing)
    needs, most, done, rest = map(epsilon_text, (charge.epsilon, allowed.epsilon, gone, left))
    raise BudgetError(
        f"this run needs epsilon {needs}; of {most} for this table {done} are spent and {rest} "
        f"left{where}. Nothing was spent. Ask fewer questions, lower their epsilon, or raise the "
        "budget if that is yours to decide"
    )


def _hashes(export: Path) -> list[str]:
    """Return the hashes of an export, after checking that they are those of its entries."""
    hashes, before = [], START
    try:
        for line in export.read_text(encoding="utf-8").splitlines():
            kept = json.loads(line)
            before = linked(before, kept["entry"])
            hashes.append(before if before == kept["hash"] else _NO_HASH)
    except OSError as error:
        raise LedgerError(f"the export {export} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        hashes = [_NO_HASH]
    if _NO_HASH in hashes:
        raise LedgerError(f"{export} is no whole export of a ledger")
    return hashes


def _written(amount: Fraction | None) -> str | None:
    return None if amount is None else str(amount)


def _read(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)
