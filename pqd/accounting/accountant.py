"""Accountant: what a run costs, whether the budget reaches for it, and that it is charged first.

The order is the promise: a charge is on the disk before anything that it pays for is drawn, and
nothing is drawn twice for one measurement.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from pqd.accounting.accounts import NO_LIMIT, Budget, Reservation, fitting
from pqd.accounting.composition import Charge, price
from pqd.accounting.disjoint_groups import Cost, Group, grouped
from pqd.accounting.ledger import Ledger
from pqd.errors import LedgerError
from pqd.exception_barrier import sealed
from pqd.progress import Progress, silent
from reports.text import stages

if TYPE_CHECKING:
    from pqd.accounting.stored_answers import Answer
    from pqd.engine.duckdb import DuckDBEngine
    from pqd.engine.tables import Table

# Seconds to wait for another process that has paid for one of the same measurements.
_PATIENCE, _PAUSE = 60.0, 0.05


class Chargeable(Protocol):
    """A measurement, as far as it is charged for."""

    @property
    def cache_key(self) -> str:
        """Ledger cache key."""
        ...

    @property
    def settled(self) -> bool:
        """Whether it costs nothing, since every table has the same output."""
        ...

    @property
    def composition_cost(self) -> Cost:
        """Cost as it is composed with others."""
        ...

    def ledger_facts(self) -> dict[str, Any]:
        """Public facts that the ledger keeps."""
        ...


# Measurements by the synthetic table that they are made against.
Sets = Sequence[Sequence[Chargeable]]


@dataclass(frozen=True, slots=True)
class Quote:
    """Price of a run: what is drawn anew and composed how, and what is replayed, by cache key."""

    new: Mapping[str, Chargeable]
    groups: tuple[Group, ...]
    charge: Charge
    known: Mapping[str, Answer]
    table: RecognisedTable | None = None


class RecognisedTable(NamedTuple):
    """The private table as the ledger knows it: its fingerprint, and the digest of its file."""

    label: str
    fingerprint: str
    file: str | None


def quote_of(sets: Sets, budget: Budget = NO_LIMIT) -> Quote:
    """Quote as if the private table had never been measured.

    Raises
    ------
    BudgetError
        If ``budget`` does not reach for the whole.
    """
    return _quote(sets, {}, lambda groups: fitting(partial(price, groups), budget))


class Accountant:
    """Keeper of the budget: a ledger, the caller's own limit, and whether to pay again."""

    def __init__(self, path: Path, budget: Budget = NO_LIMIT, *, fresh: bool = False) -> None:
        """Touch nothing: the file is opened, or made, when it is first needed."""
        self.path, self.budget, self.fresh = path, budget, fresh

    def exists(self) -> bool:
        """Whether there is a ledger already; LedgerError for a place where none can be."""
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
        """The ledger."""
        return Ledger(self.path)

    @property
    def sample_key(self) -> bytes:
        """Secret that chooses which rows of a person are kept."""
        return self.ledger.key("sample")

    def recognise(
        self, engine: DuckDBEngine, private: Table, progress: Progress = silent
    ) -> RecognisedTable:
        """Recognise the private table; a file that was charged before is not read by rows."""
        progress(stages.RECOGNISING)
        ledger = self.ledger

        def recognised() -> RecognisedTable:
            file = ledger.keyed(private.digest())
            fingerprint = ledger.of_file(file)
            if fingerprint is None:
                content = engine.content(private, ledger.key("rows"))
                fingerprint = ledger.fingerprint(content)
            return RecognisedTable(private.label, fingerprint, file)

        return sealed(recognised)

    def quote(self, table: RecognisedTable, sets: Sets, after: Charge | None = None) -> Quote:
        """Quote of what ``sets`` would cost now, or once ``after`` is spent; nothing is spent.

        Raises
        ------
        BudgetError
            If the budget does not reach for the whole.
        """

        def charge(groups: Sequence[Group]) -> Charge:
            return self.ledger.affords(
                table.fingerprint, partial(price, groups), self.budget, after
            )

        known = {} if self.fresh else self.ledger.answers(table.fingerprint)
        return replace(_quote(sets, known, charge), table=table)

    def reserve(
        self, table: RecognisedTable, sets: Sets, progress: Progress = silent
    ) -> tuple[Quote, Reservation | None]:
        """Charge for all that must be drawn; what another process draws just now is waited for.

        Raises
        ------
        BudgetError, LedgerError
            Nothing was spent.
        """
        keys = {measurement.cache_key for some in sets for measurement in some}
        deadline = time.monotonic() + _PATIENCE
        while True:
            if not self.fresh and self.ledger.awaits(table.fingerprint, keys):
                if time.monotonic() < deadline:
                    progress(stages.WAITING)
                    time.sleep(_PAUSE)
                    self.ledger.refresh()
                    continue
                self.ledger.give_up(table.fingerprint)
            quote = self.quote(table, sets)
            if not quote.new:
                return quote, None
            reserved = self._reserved(table, quote)
            if reserved is not None:
                reservation, charge = reserved
                return replace(quote, charge=charge), reservation

    def _reserved(self, table: RecognisedTable, quote: Quote) -> tuple[Reservation, Charge] | None:
        return self.ledger.reserve(
            table.fingerprint,
            table.label,
            {key: measurement.ledger_facts() for key, measurement in quote.new.items()},
            partial(price, quote.groups),
            budget=self.budget,
            fresh=self.fresh,
            file=table.file,
        )

    def record(self, outputs: Mapping[str, Answer], reservation: Reservation) -> bool:
        """Store what a charge has bought, and say whether that worked.

        Raises
        ------
        LostLedgerError
            If the charge is gone with the file: an output without its cost is never shown.
        """
        recorded = True
        try:
            self.ledger.record(reservation, outputs)
        except LedgerError:
            # Paid for, so shown all the same; measured again, it costs again.
            recorded = False
        self.ledger.check_there()
        return recorded


def _quote(
    sets: Sets, known: Mapping[str, Answer], charge: Callable[[Sequence[Group]], Charge]
) -> Quote:
    """Quote of what is not known; measurements of different sets are never grouped."""
    new: dict[str, Chargeable] = {}
    groups: list[Group] = []
    for measurements in sets:
        costs: dict[str, Cost] = {}
        for measurement in measurements:
            key = measurement.cache_key
            if key in costs:
                costs[key] = costs[key].also(measurement.composition_cost)
            elif key not in known and key not in new and not measurement.settled:
                new[key] = measurement
                costs[key] = measurement.composition_cost
        groups.extend(grouped(list(costs.values())))
    keys = {measurement.cache_key for measurements in sets for measurement in measurements}
    replayed = {key: known[key] for key in keys & known.keys()}
    return Quote(new, tuple(groups), charge(groups), replayed)
