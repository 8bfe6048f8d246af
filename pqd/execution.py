"""From questions to answers: replay what was paid for, charge for the rest, scan, decide, record.

The order is the promise: the charge is on the disk before any answer is drawn, and nothing is
drawn twice for one question.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

from deciders.estimators import EstimatorOutput
from deciders.histogram import EMPTY
from deciders.single.base import Decision
from pqd.accounting.accounts import NO_LIMIT, Budget, Reservation, fitting
from pqd.accounting.composition import Charge, price
from pqd.accounting.disjoint_groups import Cost, Group, grouped
from pqd.accounting.ledger import Ledger
from pqd.engine.scan_plan import ScanPlan
from pqd.errors import LedgerError, RunError
from pqd.exception_barrier import sealed
from pqd.planning.binding import Made, Prepared
from pqd.progress import Progress, silent

if TYPE_CHECKING:
    from deciders import Histogram, Noise
    from deciders.batch.base import BatchOutput
    from pqd.accounting.stored_answers import Answer
    from pqd.engine.contingency import ContingencyTable
    from pqd.engine.duckdb import DuckDBEngine
    from pqd.engine.tables import Table
    from pqd.measurement import Measurement


Versions = list[tuple[int, ...] | None]

# Seconds to wait for another process that has paid for one of the same questions.
_PATIENCE, _PAUSE = 60.0, 0.05


@dataclass(frozen=True, slots=True)
class Part(Generic[Made]):
    """What is asked of the private table on behalf of one or more synthetic tables."""

    engine: DuckDBEngine
    private: Table
    prepared: Prepared[Made]

    @property
    def questions(self) -> tuple[Measurement, ...]:
        """What must be drawn, replayed or settled."""
        return tuple(drawn for each in self.prepared.questions for drawn in each.draws)


class Accountant:
    """Where the budget is kept: a ledger, the caller's own limit, and whether to pay again."""

    def __init__(self, path: Path, budget: Budget = NO_LIMIT, *, fresh: bool = False) -> None:
        """Touch nothing: the file is opened, or made, when it is first needed."""
        self.path, self.budget, self.fresh = path, budget, fresh

    def exists(self) -> bool:
        """Say whether there is a ledger already, or refuse a place where none can be."""
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


@dataclass(frozen=True, slots=True)
class Quote:
    """What is asked anew, what it costs, and what is replayed, by question key."""

    new: Mapping[str, Measurement]
    groups: tuple[Group, ...]
    charge: Charge
    known: Mapping[str, Answer]
    fingerprint: str | None = None


@dataclass(frozen=True, slots=True)
class Outputs:
    """Answers by question key; not ``recorded`` if the ledger could not be written to after."""

    drawn: Mapping[str, Answer]
    quote: Quote
    recorded: bool = True

    def decision(self, question: Measurement) -> Decision:
        """Return the answer of a question that is decided."""
        found = self.drawn[question.key]
        if not isinstance(found, Decision):
            raise TypeError(question.id)
        return found

    def released(self, question: Measurement) -> EstimatorOutput:
        """Return the answer of a question that is released."""
        found = self.drawn[question.key]
        if not isinstance(found, EstimatorOutput):
            raise TypeError(question.id)
        return found

    def batched(self, question: Measurement) -> BatchOutput:
        """Return the answers of a batch."""
        found = self.drawn[question.key]
        if isinstance(found, Decision | EstimatorOutput):
            raise TypeError(question.id)
        return found


def quote_of(
    parts: Sequence[Part[Any]],
    accountant: Accountant | None,
    progress: Progress = silent,
    budget: Budget = NO_LIMIT,
    after: Charge | None = None,
) -> Quote:
    """Return what ``parts`` would cost now, or once ``after`` is spent; nothing is spent.

    Without a ``accountant``, as if the private table had never been asked, within ``budget``.

    Raises
    ------
    BudgetError
        If the budget does not reach for the whole.
    LedgerError, RunError
        If the ledger or the private table cannot be read.
    """
    if accountant is None:
        return _bill(parts, {}, lambda groups: fitting(partial(price, groups), budget))
    table = _recognised(parts, accountant, _versions(parts), progress)
    return _billed(parts, accountant, table.fingerprint, after)


def measure(
    parts: Sequence[Part[Any]],
    accountant: Accountant | None,
    noise: Noise,
    progress: Progress = silent,
) -> Outputs:
    """Answer every question of ``parts``.

    Without a ``accountant`` no account is kept: for simulated noise and for tests only.

    Guarantee: the answers drawn are ``charge.epsilon``-DP (with ``charge.delta``) together, and
    the charge is durable before the first of them is drawn; replayed ones are post-processing.

    Raises
    ------
    BudgetError, LedgerError
        Nothing was spent.
    RunError
        Reading the private table broke; what was reserved is spent.
    LostLedgerError
        The ledger was removed or replaced meanwhile: nothing is shown.
    """
    for warning in dict.fromkeys(text for part in parts for text in part.prepared.warnings):
        progress(warning)
    versions = _versions(parts)
    reservation = None
    if accountant is None:
        quote = quote_of(parts, None)
    else:
        quote, reservation = _paid(parts, accountant, versions, progress)

    def draw() -> tuple[dict[str, Answer], bool]:
        drawn = _drawn(parts, quote, accountant, versions, noise, progress)
        return drawn, _recorded(drawn, accountant, reservation)

    drawn, recorded = sealed(draw)
    return Outputs({**quote.known, **_settled(parts, noise), **drawn}, quote, recorded)


def _drawn(
    parts: Sequence[Part[Any]],
    quote: Quote,
    accountant: Accountant | None,
    versions: Versions,
    noise: Noise,
    progress: Progress,
) -> dict[str, Answer]:
    """Read the private table and draw what is new on the bill."""
    progress("Reading the private table")
    scanned = _scanned(parts, quote, accountant.ledger.key("sample") if accountant else b"")
    _check_unchanged(parts, versions)
    drawn: dict[str, Answer] = {}
    for number, (key, question) in enumerate(quote.new.items()):
        progress("Deciding", number, len(quote.new))
        drawn[key] = question.draw(scanned[key], noise)
    return drawn


def _recorded(
    drawn: Mapping[str, Answer], accountant: Accountant | None, reservation: Reservation | None
) -> bool:
    """Store what was drawn, and say whether that worked; LostLedgerError if the charge is gone."""
    recorded = True
    if accountant and reservation:
        try:
            accountant.ledger.record(reservation, drawn)
        except LedgerError:
            # Paid for, so shown all the same; asked again, they cost again.
            recorded = False
        # Not if the charge is gone with the file: a verdict without its cost is never shown.
        accountant.ledger.check_there()
    return recorded


class _Recognised(NamedTuple):
    """The private table as the ledger knows it: its fingerprint, and the digest of its file."""

    fingerprint: str
    file: str | None


def _recognised(
    parts: Sequence[Part[Any]], accountant: Accountant, versions: Versions, progress: Progress
) -> _Recognised:
    """Recognise the private table; a file seen before need not be read by rows.

    Raises
    ------
    RunError
        If it changed meanwhile: its digest and its content would be of two tables.
    """
    progress("Recognising the private table")
    ledger, part = accountant.ledger, parts[0]

    def recognise() -> _Recognised:
        file = ledger.keyed(part.private.digest())
        fingerprint = ledger.of_file(file)
        if fingerprint is None:
            content = part.engine.content(part.private, ledger.key("rows"))
            fingerprint = ledger.fingerprint(content)
        return _Recognised(fingerprint, file)

    found = sealed(recognise)
    _check_unchanged(parts, versions)
    return found


def _versions(parts: Sequence[Part[Any]]) -> Versions:
    return [part.private.version() for part in parts]


def _check_unchanged(parts: Sequence[Part[Any]], versions: Versions) -> None:
    if versions != _versions(parts):
        raise RunError("the private table changed while it was read; run again when it is settled")


def _billed(
    parts: Sequence[Part[Any]],
    accountant: Accountant,
    fingerprint: str,
    after: Charge | None = None,
) -> Quote:
    def charge(groups: Sequence[Group]) -> Charge:
        return accountant.ledger.affords(
            fingerprint, partial(price, groups), accountant.budget, after
        )

    known = {} if accountant.fresh else accountant.ledger.answers(fingerprint)
    return replace(_bill(parts, known, charge), fingerprint=fingerprint)


def _paid(
    parts: Sequence[Part[Any]], accountant: Accountant, versions: Versions, progress: Progress
) -> tuple[Quote, Reservation | None]:
    """Charge for what must be drawn; what another process is drawing just now is waited for."""
    table = _recognised(parts, accountant, versions, progress)
    fingerprint = table.fingerprint
    keys = {question.key for part in parts for question in part.questions}
    deadline = time.monotonic() + _PATIENCE
    while True:
        if not accountant.fresh and accountant.ledger.awaits(fingerprint, keys):
            if time.monotonic() < deadline:
                progress("Waiting for another process that asks the same")
                time.sleep(_PAUSE)
                continue
            accountant.ledger.give_up(fingerprint)
        quote = _billed(parts, accountant, fingerprint)
        if not quote.new:
            return quote, None
        reserved = _reserved(parts, quote, accountant, table.file)
        if reserved is not None:
            reservation, charge = reserved
            return replace(quote, charge=charge), reservation


def _bill(
    parts: Sequence[Part[Any]],
    known: Mapping[str, Answer],
    charge: Callable[[Sequence[Group]], Charge],
) -> Quote:
    """Gather what is not known; questions against different synthetic tables are never grouped."""
    new: dict[str, Measurement] = {}
    groups: list[Group] = []
    for part in parts:
        costs: dict[str, Cost] = {}
        for question in part.questions:
            key = question.key
            if key in costs:
                costs[key] = costs[key].also(question.share)
            elif key not in known and key not in new and not question.settled:
                new[key] = question
                costs[key] = question.share
        groups.extend(grouped(list(costs.values())))
    replayed = {q.key: known[q.key] for part in parts for q in part.questions if q.key in known}
    return Quote(new, tuple(groups), charge(groups), replayed)


def _reserved(
    parts: Sequence[Part[Any]], quote: Quote, accountant: Accountant, file: str | None
) -> tuple[Reservation, Charge] | None:
    facts = {key: question.entry() for key, question in quote.new.items()}
    return accountant.ledger.reserve(
        quote.fingerprint or "",
        parts[0].private.label,
        facts,
        partial(price, quote.groups),
        budget=accountant.budget,
        fresh=accountant.fresh,
        file=file,
    )


def _scanned(
    parts: Sequence[Part[Any]], quote: Quote, key: bytes
) -> dict[str, Histogram | ContingencyTable]:
    """Return what each new question is drawn from.

    The private histograms take one scan per synthetic table, the cells of a batch one each.
    """
    found: dict[str, Histogram | ContingencyTable] = {}
    for part in parts:
        every = {q.key: q for q in part.questions if quote.new.get(q.key) is q}
        for name, question in every.items():
            if question.joint:
                joint = ScanPlan(question.joint, part.prepared.unit, key)
                found[name] = part.engine.cells(part.private, part.prepared.schema, joint)
        new = {name: question for name, question in every.items() if not question.joint}
        if new:
            tasks = tuple(question.task for question in new.values())
            workload = ScanPlan(tasks, part.prepared.unit, key)
            histograms = part.engine.histograms(part.private, part.prepared.schema, workload)
            found.update(zip(new, histograms, strict=True))
    return found


def _settled(parts: Sequence[Part[Any]], noise: Noise) -> dict[str, Answer]:
    """Decide what every table answers alike: no data, no noise, no cost."""
    return {q.key: q.draw(EMPTY, noise) for part in parts for q in part.questions if q.settled}
