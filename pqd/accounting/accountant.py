"""Accountant: quotes what a run costs, checks the budget, and charges before anything is drawn.

Two rules protect the budget.  A charge is on the disk before the measurements that it pays for are
drawn.  A charge never pays for two draws of the same measurement.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pqd.accounting.accounts import (
    NO_LIMIT,
    Allowance,
    Budget,
    Reservation,
    charge_within,
    unit_of,
)
from pqd.accounting.charge_report import begin_charges, run_charges
from pqd.accounting.composition import NOTHING, Charge, charge_of
from pqd.accounting.data_sets import RecognisedTable, data_set_name
from pqd.accounting.disjoint_groups import Group, MeasurementCost, composition_groups
from pqd.accounting.hash_chain import new_secret
from pqd.accounting.ledger import ROWS, Ledger, key_of
from pqd.deciders.options import option
from pqd.engine.engine import Engine
from pqd.engine.tables import Table
from pqd.errors import BudgetError, LedgerError, UnknownAnswerError
from pqd.exception_barrier import sealed
from pqd.progress import Progress, Step, silent

if TYPE_CHECKING:
    from pqd.accounting.accounts import Answer

# Another process may have paid for one of the same measurements and not yet drawn it.  The run then
# waits: these are the longest wait and the pause between two looks, in seconds.
_PATIENCE, _PAUSE = 60.0, 0.05


class Chargeable(Protocol):
    """Measurement as the accountant sees it; ``pqd.run.measurement.Measurement`` conforms."""

    @property
    def cache_key(self) -> str:
        """Ledger cache key."""
        ...

    @property
    def is_constant(self) -> bool:
        """Whether every table has the same output, so that the measurement costs nothing."""
        ...

    @property
    def composition_cost(self) -> MeasurementCost:
        """Cost that is composed with the costs of other measurements."""
        ...

    def ledger_facts(self) -> dict[str, Any]:
        """Public facts that the ledger keeps."""
        ...


# Sets of measurements: one set for each synthetic table.
Sets = Sequence[Sequence[Chargeable]]


@dataclass(frozen=True, slots=True)
class Quote:
    """Quote of a run: its charge and groups; new measurements and known answers by cache key."""

    new: Mapping[str, Chargeable]
    groups: tuple[Group, ...]
    charge: Charge
    known: Mapping[str, Answer]
    table: RecognisedTable | None = None

    @classmethod
    def of(
        cls,
        sets: Sets,
        known: Mapping[str, Answer],
        charge: Callable[[Sequence[Group], AbstractSet[str]], Charge],
    ) -> Quote:
        """Quote of the measurements without a known answer; each group lies within one set."""
        new: dict[str, Chargeable] = {}
        groups: list[Group] = []
        for measurements in sets:
            costs: dict[str, MeasurementCost] = {}
            for measurement in measurements:
                key = measurement.cache_key
                if key in costs:
                    costs[key] = costs[key].with_blocks_of(measurement.composition_cost)
                elif key not in known and key not in new and not measurement.is_constant:
                    new[key] = measurement
                    costs[key] = measurement.composition_cost
            groups.extend(composition_groups(list(costs.values())))
        keys = {measurement.cache_key for measurements in sets for measurement in measurements}
        replayed = {key: known[key] for key in keys & known.keys()}
        return cls(new, tuple(groups), charge(groups, new.keys()), replayed)

    @property
    def paid_before(self) -> AbstractSet[str]:
        """Cache keys that earlier runs paid for, whether an answer was drawn or not."""
        return self.known.keys() | (self.new.keys() if self.charge.rule == NOTHING else set())


class RunLimit(Protocol):
    """Limit of what one run may cost."""

    def check(self, quote: Quote) -> None:
        """Raise BudgetError if the run costs more."""
        ...


def existing(accountant: Accountant | None) -> Accountant | None:
    """The accountant, if its ledger exists: a dry run makes none."""
    return accountant if accountant and accountant.exists() else None


def quote_of(sets: Sets, budget: Budget = NO_LIMIT) -> Quote:
    """Quote as if the private table had never been measured.

    Raises
    ------
    BudgetError
        If ``budget`` does not cover all measurements.
    """
    return quote_within(sets, Allowance(budget))


def quote_within(sets: Sets, limit: Allowance) -> Quote:
    """Quote of a table without an account; BudgetError if the measurements exceed ``limit``."""
    return Quote.of(sets, {}, lambda groups, _: charge_within(partial(charge_of, groups), limit))


class Accountant:
    """Accountant of one ledger, with the caller's limit.

    If ``fresh``, the run pays for known answers again.  If ``replaying``, the run pays for nothing.
    ``row_is_person``: the caller states that each row is a person, which the charges record.
    ``dataset`` is the name of the data set of which the private table is a version.
    """

    def __init__(
        self,
        path: Path,
        budget: Budget = NO_LIMIT,
        *,
        fresh: bool = False,
        replaying: bool = False,
        row_is_person: bool = False,
        dataset: str | None = None,
    ) -> None:
        """Open no file yet: the ledger is opened on first use.

        Raises
        ------
        ParameterError
            If the name of the data set cannot be used.
        """
        self.dataset = data_set_name(dataset)
        self.path, self.budget, self.fresh, self.replaying = path, budget, fresh, replaying
        self.row_is_person = row_is_person
        self._recognised: dict[object, RecognisedTable] = {}
        self._secret: tuple[int, Path, bytes] | None = None
        begin_charges()

    def exists(self) -> bool:
        """Whether there is a ledger; LedgerError if none can be made at its path."""
        try:
            if self.path.exists():
                return True
            able = self.path.absolute().parent.is_dir()
        except (OSError, ValueError, RuntimeError):
            able = False
        if not able:
            raise LedgerError(f"the ledger {self.path} cannot be made there. Nothing was spent.")
        return False

    @cached_property
    def ledger(self) -> Ledger:
        """Ledger of this accountant, opened or made on first use."""
        # Use the secret of this process once: if this ledger is lost, its successor gets a new one.
        secret, self._secret = self._own_secret, None
        return Ledger(self.path, secret=secret)

    @property
    def _own_secret(self) -> bytes | None:
        """Secret that was drawn for this ledger; None in a forked process or for another path."""
        drawn = self._secret
        return drawn[2] if drawn and drawn[:2] == (os.getpid(), self.path.absolute()) else None

    @property
    def row_key(self) -> bytes:
        """Secret under which rows are hashed: the ledger's secret, or the secret of a new ledger.

        No file is made.  If another process makes the ledger first, that ledger has another secret,
        and hashes under this secret are not used.
        """
        if self.exists():
            return self.ledger.key(ROWS)
        secret = self._own_secret or new_secret()
        self._secret = os.getpid(), self.path.absolute(), secret
        return key_of(secret, ROWS)

    def recognise(
        self, engine: Engine, private: Table, progress: Progress = silent
    ) -> RecognisedTable:
        """Private table as the ledger knows it.

        Two cases need no reading of the rows.  The file was charged before; or this accountant
        recognised the table before, and nobody has written to the table since.  A dry run reads no
        row, and takes the table as ``Ledger.unread`` has it.
        """
        progress(Step.RECOGNISING)
        if self.replaying and not self.exists():
            raise UnknownAnswerError(
                f"there is no ledger {self.path}, so nothing can be replayed; run the same command "
                f"without {option('--explain')} first. Nothing was spent."
            )
        if private.dry:
            return self.ledger.unread(private, self.dataset)
        ledger, version = self.ledger, private.version()

        def recognition() -> RecognisedTable:
            file = ledger.keyed_digest(private.digest())
            fingerprint, *others = ledger.fingerprints_of(engine, private)
            label, folder = private.label, private.source.folder
            return RecognisedTable(label, fingerprint, file, folder, others=tuple(others))

        seen = (private.source.places, private.label, version) if version else None
        recognised = self._recognised.get(seen) or sealed(recognition)
        # Do not keep the result if somebody has written to the file during the read.
        if seen and version == private.version():
            self._recognised[seen] = recognised
        places = ledger.places(private)
        # Read what other processes have charged and answered since the ledger was opened.  With old
        # figures a quote could be refused without need, or a run could pay for its first part and
        # then lack the budget for its second part.
        self.ledger.refresh()
        return recognised._replace(places=places, name=self.dataset)

    def quote(self, table: RecognisedTable, sets: Sets, after: Charge | None = None) -> Quote:
        """Quote of ``sets``, now or once the charge ``after`` is spent; nothing is spent.

        Raises
        ------
        BudgetError
            If the budget does not cover all measurements.
        ParameterError
            The errors of ``Ledger.check_budget``.
        """
        if not table.fingerprint and self.ledger.data_set(table) is None:
            # A dry run knows no account of the table; whether there is one, its rows would tell.
            spent = after or Charge()
            least = self.budget.least(self.ledger.limit)
            limit = Allowance(least, spent.epsilon, spent.delta, planned=spent.epsilon)
            return quote_within(sets, limit)
        facts = (m.ledger_facts() for measurements in sets for m in measurements[:1])
        unit = unit_of(facts)

        def charge(groups: Sequence[Group], keys: AbstractSet[str]) -> Charge:
            if self.ledger.unused_run(table.fingerprint, keys):
                return Charge()
            return self.ledger.check_budget(
                table, partial(charge_of, groups), self.budget, after, unit
            )

        known = {} if self.fresh else self.ledger.answers(table.fingerprint)
        return replace(Quote.of(sets, known, charge), table=table)

    def reserve(
        self,
        table: RecognisedTable,
        sets: Sets,
        run: Mapping[str, Any],
        progress: Progress = silent,
        limit: RunLimit | None = None,
    ) -> tuple[Quote, Reservation | None]:
        """Quote, and the reservation for all new measurements; None if nothing must be drawn.

        ``run`` are public facts that the ledger keeps of the run: its command and its copies.
        If another process draws some of these measurements, the run first waits for its answers.
        ``limit`` refuses a run that costs too much by itself, whatever the data set has left.

        Raises
        ------
        BudgetError, LedgerError
            Nothing was spent.
        LostLedgerError
            The ledger was removed or replaced, so that it lacks entries that this run has read.
        UnknownAnswerError
            The accountant is replaying, and the ledger lacks an answer.
        """
        # A known answer, too, may be shown only while the ledger holds it.
        run_charges().check_standing = self.ledger.check_standing
        if self.replaying:
            return self._replay(table, sets), None
        keys = {measurement.cache_key for measurements in sets for measurement in measurements}
        deadline = time.monotonic() + _PATIENCE
        while True:
            if not self.fresh and self.ledger.pending_elsewhere(table.fingerprint, keys):
                if time.monotonic() < deadline:
                    progress(Step.WAITING)
                    time.sleep(_PAUSE)
                    self.ledger.refresh()
                    continue
                self.ledger.clear_pending(table.fingerprint)
            try:
                quote = self.quote(table, sets)
            except BudgetError:
                # Another process may just have recorded answers that this run needs.
                if self.ledger.refresh():
                    continue
                raise
            if limit:
                limit.check(quote)
            if not quote.new:
                self.ledger.enter(table)
                self.ledger.check_standing()
                return quote, None
            charged = self.ledger.reserve(
                table,
                {key: self._facts_of(measurement) for key, measurement in quote.new.items()},
                partial(charge_of, quote.groups),
                run=dict(run),
                budget=self.budget,
                fresh=self.fresh,
            )
            if charged is not None:
                reservation, charge = charged
                return replace(quote, charge=charge), reservation

    def _facts_of(self, measurement: Chargeable) -> dict[str, Any]:
        """Public facts of a charge, with the caller's statement that a row is a person."""
        stated = {"row_is_person": True} if self.row_is_person else {}
        return {**measurement.ledger_facts(), **stated}

    def _replay(self, table: RecognisedTable, sets: Sets) -> Quote:
        """Quote of stored answers only; UnknownAnswerError if the ledger lacks an answer."""
        known = self.ledger.answers(table.fingerprint)
        quote = Quote.of(sets, known, lambda groups, _: charge_of(groups))
        if quote.new:
            raise UnknownAnswerError(
                f"the ledger {self.path.name} has no such verdict on this table; run the same "
                f"command without {option('--explain')} first. Nothing was spent."
            )
        self.ledger.check_standing()
        return replace(quote, table=table)

    def record(self, outputs: Mapping[str, Answer], reservation: Reservation) -> None:
        """Store the outputs that a charge has paid for; a run shows only outputs that are stored.

        Raises
        ------
        LedgerError
            As ``Ledger.record``.
        """
        self.ledger.record(reservation, outputs)

    def record_unused(self, reservation: Reservation) -> None:
        """Store that a charge drew nothing; if storing fails, the charge stays spent."""
        with suppress(LedgerError):
            self.ledger.record_unused(reservation)
