"""Execution of a run: reserve budget, scan the table, draw outputs, record them.

No other module charges a ledger and draws for the charge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from pqd.accounting.accountant import Accountant, Quote, RunLimit, existing, quote_of
from pqd.accounting.accounts import Budget, Reservation
from pqd.accounting.composition import Charge
from pqd.accounting.data_sets import RecognisedTable
from pqd.deciders.histogram import EMPTY
from pqd.engine.marginals import MarginalPlan
from pqd.engine.scan_plan import ScanPlan
from pqd.engine.sources.source import Version
from pqd.errors import RunError
from pqd.exception_barrier import sealed
from pqd.progress import Progress, Step, silent, warn
from pqd.run.measurement import Measurement, MeasurementSet, Output, QueryMeasurement

if TYPE_CHECKING:
    from pqd.accounting.accounts import Answer
    from pqd.deciders import Noise


@dataclass(frozen=True, slots=True)
class Outputs:
    """Outputs of a run, by measurement; ``looks`` counts how often each question was drawn."""

    by_key: Mapping[str, Answer]
    quote: Quote
    looks: Mapping[str, int] = field(default_factory=dict)

    def __getitem__(self, measurement: Measurement[Output]) -> Output:
        """Output of one measurement."""
        return cast("Output", self.by_key[measurement.cache_key])

    def replayed(self, measurement: Measurement[Any]) -> bool:
        """Whether the output is a stored answer of an earlier run."""
        return measurement.cache_key in self.quote.known


def measure(
    sets: Sequence[MeasurementSet],
    accountant: Accountant | None,
    noise: Noise,
    progress: Progress = silent,
    *,
    command: str,
    limit: RunLimit | None = None,
) -> Outputs:
    """Outputs of all measurements of ``sets``, which the ledger keeps as a run of ``command``.

    ``limit`` refuses a run that would cost too much, before the charge.  Without an ``accountant``
    no account is kept; only simulations and tests do this.

    Guarantee: all new outputs together are ``charge.epsilon``-DP (with ``charge.delta``), and the
    charge is on the disk before the first draw.  Replayed outputs are post-processing of earlier
    runs.  If nothing is drawn for a charge, the ledger records the charge as unused, and a later
    run of the same sets uses it.

    Raises
    ------
    BudgetError
        Nothing was spent.
    RunError
        The private table could not be read after the charge.
    LedgerError
        The ledger cannot be read or written.  Outputs that were not stored are not returned.
    LostLedgerError
        The ledger was removed or replaced during the run; nothing is returned.
    """
    warn((text for each in sets for text in each.warnings), progress)
    run = _Run(sets, accountant, progress)
    quote, reservation = run.reserve(command, limit)

    def draw() -> dict[str, Answer]:
        outputs = run.draw(quote, noise)
        if accountant and reservation:
            accountant.record(outputs, reservation)
        return outputs

    try:
        drawn = sealed(draw)
    except BaseException:
        if accountant and reservation and not run.has_drawn:
            accountant.record_unused(reservation)
        raise
    account = (
        accountant.ledger.account(quote.table.fingerprint) if accountant and quote.table else None
    )
    by_key = {**quote.known, **run.constant_outputs(noise), **drawn}
    return Outputs(by_key, quote, account.looks if account else {})


def quote_sets(
    sets: Sequence[MeasurementSet],
    accountant: Accountant | None,
    progress: Progress = silent,
    *,
    budget: Budget | None = None,
    after: Charge | None = None,
) -> Quote:
    """Quote of ``sets``, now or once the charge ``after`` is spent; nothing is spent.

    Raises
    ------
    BudgetError
        If all measurements together exceed the accountant's budget (without one, ``budget``).
    LedgerError, RunError
        If the ledger or the private table cannot be read.
    """
    warn((text for each in sets for text in each.warnings), progress)
    measurements = [each.measurements for each in sets]
    if accountant is None:
        return quote_of(measurements, budget) if budget else quote_of(measurements)
    table = _Run(sets, accountant, progress).recognise(accountant)
    return accountant.quote(table, measurements, after)


def quote_dry(
    sets: Sequence[MeasurementSet], accountant: Accountant | None, progress: Progress = silent
) -> Quote:
    """Quote of ``sets`` for a dry run, which makes no ledger.

    The errors are those of ``quote_sets``.
    """
    budget = accountant.budget if accountant else None
    return quote_sets(sets, existing(accountant) if sets else None, progress, budget=budget)


class _Run:
    """One run over the private table; the table must not change during the run."""

    def __init__(
        self, sets: Sequence[MeasurementSet], accountant: Accountant | None, progress: Progress
    ) -> None:
        self._sets, self._accountant, self._progress = sets, accountant, progress
        self._measurements = [each.measurements for each in sets]
        self._versions = self._now()
        # From the first draw on, outputs may depend on the private table.
        self.has_drawn = False

    def _now(self) -> list[Version]:
        return [each.private.version() for each in self._sets]

    def _check_unchanged(self) -> None:
        if self._versions != self._now():
            raise RunError(
                "the private table changed while it was read; run again when it is settled"
            )

    def recognise(self, accountant: Accountant) -> RecognisedTable:
        """Private table as the ledger knows it; RunError if the table changes during the run."""
        first = self._sets[0]
        table = accountant.recognise(first.engine, first.private, self._progress)
        # If the table changed, its digest and its content could belong to two versions.
        self._check_unchanged()
        return table

    def reserve(
        self, command: str, limit: RunLimit | None = None
    ) -> tuple[Quote, Reservation | None]:
        """Quote, and the reservation for new measurements; None if there are none."""
        if self._accountant is None or (limit and not self._accountant.exists()):
            # A run that is refused makes no ledger.
            quote = quote_of(self._measurements)
            if limit:
                limit.check(quote)
            if self._accountant is None:
                return quote, None
        table = self.recognise(self._accountant)
        copies = dict.fromkeys(copy for each in self._sets for copy in each.copies)
        run = {"command": command, "copies": [*copies]}
        return self._accountant.reserve(table, self._measurements, run, self._progress, limit)

    def draw(self, quote: Quote, noise: Noise) -> dict[str, Answer]:
        """Outputs of the new measurements, drawn from the private table."""
        self._progress(Step.READING_PRIVATE)
        counts = self._counts(quote)
        new = {m.cache_key: m for each in self._measurements for m in each if _is_new(m, quote)}
        outputs: dict[str, Answer] = {}
        for number, name in enumerate(quote.new):
            self._progress(Step.MEASURING, number, len(quote.new))
            self.has_drawn = True
            outputs[name] = new[name].run(counts[name], noise)
        return outputs

    def _counts(self, quote: Quote) -> dict[str, Any]:
        """Counts for each new measurement; RunError if the table changes during the scans."""
        counts: dict[str, Any] = {}
        try:
            for each in self._sets:
                new = {m.cache_key: m for m in each.measurements if _is_new(m, quote)}
                counts.update(_scan(each, new))
        except Exception:
            # Two scans of a changing table may contradict each other and raise some error.  Report
            # the change in place of that error.
            self._check_unchanged()
            raise
        self._check_unchanged()
        return counts

    def constant_outputs(self, noise: Noise) -> dict[str, Answer]:
        """Outputs that are the same for every table; they use no data, no noise and no budget."""
        every = (measurement for each in self._measurements for measurement in each)
        return {m.cache_key: m.run(EMPTY, noise) for m in every if m.is_constant}


def _is_new(measurement: Measurement[Any], quote: Quote) -> bool:
    return quote.new.get(measurement.cache_key) is measurement


def _scan(each: MeasurementSet, new: Mapping[str, Measurement[Any]]) -> dict[str, Any]:
    """Histogram, contingency table or marginals for each ``new`` measurement, by cache key.

    A measurement that is about the measurements of other sets has the counts of all of these.  One
    scan of the private table makes all histograms.  One scan makes all marginals.  Each contingency
    table, or with a unit the histograms of each batch, takes a scan of its own.
    """
    counts: dict[str, Any] = {}
    for name, measurement in new.items():
        if measurement.sets:
            counts[name] = {
                one: part
                for own in measurement.sets
                for one, part in _scan(own, {m.cache_key: m for m in own.measurements}).items()
            }
        if measurement.joint_statistics:
            plan = ScanPlan(measurement.joint_statistics, each.unit)
            counted = each.engine.histograms if each.unit else each.engine.contingency
            counts[name] = counted(each.private, each.schema, plan)
    distinct = tuple(dict.fromkeys(one for m in new.values() for one in m.marginals))
    if distinct:
        cells = each.engine.marginals(each.private, each.schema, MarginalPlan(distinct, each.unit))
        counts.update((name, cells) for name, m in new.items() if m.marginals)
    single = {
        name: m
        for name, m in new.items()
        if isinstance(m, QueryMeasurement) and not m.joint_statistics
    }
    if single:
        plan = ScanPlan(tuple(m.statistic for m in single.values()), each.unit)
        histograms = each.engine.histograms(each.private, each.schema, plan)
        counts.update(zip(single, histograms, strict=True))
    return counts
