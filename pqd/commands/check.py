"""``pqd check``: a spec, asked as one: planned whole, paid for in one step, then decided."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from deciders import SecureNoise
from pqd.accounting.accountant import Accountant
from pqd.accounting.accounts import Budget
from pqd.batches.shared_budget import SharedBudget, select_sharing
from pqd.columns import parse_columns
from pqd.commands.baseline import against, read_baseline
from pqd.commands.gates import broken, judged, planned
from pqd.commands.results import UNRECORDED, cost_of, verdicts_of
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.errors import NothingSelectedError, NotPublicError, PqdError, TableError
from pqd.execution import Outputs, measure, quoted
from pqd.parameters import Criteria, Detail, privacy_unit
from pqd.planning.binding import BoundWorkload, QueryRequest, bind
from pqd.planning.table_separation import check_separation
from pqd.progress import Progress, silent
from pqd.spec import Check, Spec, read_spec
from pqd.spec.sources import label_of, opened, place_of_ledger, unexpanded
from pqd.sql.grouping import Bins
from pqd.sql.query import Key, Query
from reports.models.audit import Cost
from reports.models.check import CheckReport, CheckResult

if TYPE_CHECKING:
    from deciders import Noise
    from pqd.planning.decisions import PlannedVerdict, VerdictPlan
    from reports.models.audit import Verdict


def check(
    spec: str | Path,
    *,
    only: Sequence[str] = (),
    ledger: str | Path | None = None,
    fresh: bool = False,
    dry_run: bool = False,
    baseline: str | Path | None = None,
    detailed: bool = False,
) -> CheckReport:
    """Run the checks of a spec file (docs/ci.md) and say what that means for a build.

    Parameters
    ----------
    spec
        The path of an ``audit.toml``.
    only
        The ids of the checks to run; all by default.
    ledger
        Where the budget is kept, rather than where the spec says.
    fresh
        Ask and pay again what the ledger could replay.
    dry_run
        Plan and price alone: nothing is decided and nothing spent.
    baseline
        A file of earlier results: what failed there already is ``known`` and fails no more.
    detailed
        Also give every decider's operating characteristic; it costs time only.

    Returns
    -------
    CheckReport
        ``report.exit_code`` is 0 if all is as expected.  The verdicts of this run are
        ``report.cost.epsilon``-differentially private together (with ``report.cost.delta``).

    Raises
    ------
    PqdError
        SpecError, TableError, NothingSelectedError, LedgerError and BudgetError before anything
        is spent; RunError if reading breaks.  A check that is wrong by itself is an entry of the
        report, not an error.
    """
    return run_check(
        read_spec(spec),
        SecureNoise(),
        only=only,
        ledger=ledger,
        fresh=fresh,
        dry_run=dry_run,
        baseline=baseline,
        detailed=detailed,
    )


def run_check(  # noqa: PLR0913 - those of ``check``, read
    spec: Spec,
    noise: Noise,
    *,
    only: Sequence[str] = (),
    ledger: str | Path | None = None,
    fresh: bool = False,
    dry_run: bool = False,
    baseline: str | Path | None = None,
    detailed: bool = False,
    progress: Progress = silent,
) -> CheckReport:
    """Run the checks of ``spec`` with ``noise``; see ``check``."""
    before = read_baseline(baseline) if baseline else None
    with unexpanded(spec):
        path = place_of_ledger(spec, ledger)
        accountant = Accountant(path, Budget(spec.epsilon, spec.delta), fresh=fresh)
        run = _Run(spec, only, accountant, progress, detailed=detailed)
        # The name that the spec gives it may hide another.
        run.ledger = spec.ledger.written if spec.ledger and path == spec.ledger.path else None
        report = run.planned(accountant) if dry_run else run.decided(accountant, noise)
    return report if before is None else against(report, before, Path(str(baseline)).name)


@dataclass(frozen=True, slots=True)
class _Piece:
    """One check against one synthetic table, and the ids of its queries."""

    check: Check
    synthetic: str
    id: str


def _selected(spec: Spec, only: Sequence[str]) -> list[_Piece]:
    """Return the checks to run; ``only`` names them by the spec's id or by the report's."""
    if not spec.checks:
        raise NothingSelectedError(f"{spec.path.name} has no [[check]], so there is nothing to do")
    several = len(spec.synthetic) > 1
    pieces = [
        _Piece(check, name, f"{check.id}@{name}" if several else check.id)
        for check in spec.checks
        for name in check.synthetic
    ]
    known = dict.fromkeys(name for piece in pieces for name in (piece.check.id, piece.id))
    for name in only:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3, cutoff=0.4) or list(known)[:8]
            raise NothingSelectedError(
                f"{spec.path.name} has no check {name!r}; it has {', '.join(near)}"
            )
    return [p for p in pieces if not only or p.check.id in only or p.id in only]


class _Run:
    """The checks of one run, gathered per synthetic table so that each is read once."""

    def __init__(
        self,
        spec: Spec,
        only: Sequence[str],
        accountant: Accountant,
        progress: Progress,
        *,
        detailed: bool = False,
    ) -> None:
        self._spec, self._progress = spec, progress
        self._detail = Detail.CURVES if detailed else Detail.THRESHOLDS
        self.ledger: str | None = None
        self._pieces = _selected(spec, only)
        self._broken: dict[str, PqdError] = {}
        self._unit = privacy_unit(spec.unit, spec.max_rows or 1)
        self._private = opened(spec.private, "private")
        self._facts = parse_columns(spec.columns)
        self._queries = [query for check in spec.checks for query in _queries(check, check.id)]
        names = dict.fromkeys(piece.synthetic for piece in self._pieces)
        tables = {name: self._tables(name, accountant) for name in names}
        progress("Reading the synthetic tables")
        bound = {name: each for name in names for each in self._bound(name, tables[name])}
        budget = SharedBudget(*spec.shared_budget) if spec.shared_budget else None
        plans = select_sharing(list(bound.values()), budget)
        self._plans = dict(zip(bound, plans, strict=True))
        for plan in plans:
            self._note_refused(plan)

    def _tables(self, name: str, accountant: Accountant) -> SyntheticTables | TableError:
        """Return a synthetic table, or why it cannot be used; one that is private ends the run."""
        try:
            with unexpanded(self._spec):
                table = opened(self._spec.synthetic[name], "synthetic")
                tables = SyntheticTables([table], self._private)
                check_separation(tables, accountant)
        except NotPublicError:
            raise
        except TableError as error:
            return error
        return tables

    def _bound(self, name: str, tables: SyntheticTables | TableError) -> Iterator[BoundWorkload]:
        """The queries against one synthetic table, if it can be read and there are any."""
        pieces = [piece for piece in self._pieces if piece.synthetic == name]
        asked = [one for piece in pieces for one in self._asked(piece)]
        if not asked:
            return
        try:
            if isinstance(tables, TableError):
                raise tables
            with unexpanded(self._spec):
                bound = bind(
                    tables, asked, self._facts, self._unit, others=self._queries, whole=True
                )
        except PqdError as error:
            self._broken.update(dict.fromkeys((piece.id for piece in pieces), error))
            return
        yield bound

    def _note_refused(self, plan: VerdictPlan) -> None:
        """Note the checks that cannot be decided."""
        for query, refusal in plan.bound.refusals:
            if query.group:
                refusal.args = (f"{query.group}: {refusal}",)
            self._broken.setdefault(query.block or query.id or "", refusal)

    def _asked(self, piece: _Piece) -> list[QueryRequest]:
        """Return the queries of one check, on its terms."""
        check = piece.check
        try:
            criteria = Criteria.of(
                tau=check.tau,
                alpha=check.alpha,
                mechanism=check.decider,
                detail=self._detail,
            )
            if check.epsilon is not None:
                criteria = criteria.at(check.epsilon)
            query = Query(check.sql, piece.id, keys=keys_of(check))
            binned = Bins.parse(check.bins).of(query) if check.bins else (query,)
        except PqdError as error:
            self._broken[piece.id] = error
            return []
        return [QueryRequest(one, criteria) for one in binned]

    def decided(self, accountant: Accountant, noise: Noise) -> CheckReport:
        """Answer everything and judge it."""
        sets = [plan.measurements for plan in self._plans.values()]
        if not any(some.measurements for some in sets):
            return self._report(lambda piece: judged(piece.check, piece.id, ()), Cost())
        outputs = measure(sets, accountant, noise, self._progress)
        verdicts = self._verdicts(outputs, noise)
        return self._report(
            lambda piece: judged(piece.check, piece.id, tuple(verdicts[piece.id])),
            cost_of(outputs.quote, accountant, self._unit),
            () if outputs.recorded else (UNRECORDED,),
        )

    def planned(self, accountant: Accountant) -> CheckReport:
        """Price everything; the private table is read only if the ledger may know it."""
        sets = [plan.measurements for plan in self._plans.values()]
        known = accountant if accountant.exists() and sets else None
        quote = quoted(sets, known, self._progress, budget=accountant.budget)
        report = self._report(
            lambda piece: planned(piece.check, piece.id, self._planned(piece), quote),
            cost_of(quote, known, self._unit),
        )
        return replace(report, dry=True)

    def _planned(self, piece: _Piece) -> list[PlannedVerdict]:
        verdicts = self._plans[piece.synthetic].verdicts
        return [v for v in verdicts if (v.query.block or v.query.id) == piece.id]

    def _verdicts(self, outputs: Outputs, noise: Noise) -> dict[str, list[Verdict]]:
        """Return the verdicts of each check by its id."""
        found: dict[str, list[Verdict]] = {}
        shown: set[object] = set()
        for name, plan in self._plans.items():
            label = label_of(self._spec.synthetic[name])
            for verdict in verdicts_of(plan, outputs, label, noise, shown):
                found.setdefault(verdict.block or verdict.id, []).append(verdict)
        return found

    def _report(
        self, entry: Callable[[_Piece], CheckResult], cost: Cost, notes: tuple[str, ...] = ()
    ) -> CheckReport:
        """Return the report, with what ``entry`` makes of each check that is not broken."""
        checks = [
            broken(piece.check, piece.id, self._broken[piece.id])
            if piece.id in self._broken
            else entry(piece)
            for piece in self._pieces
        ]
        if cost.ledger and self.ledger:
            cost = replace(cost, ledger=Path(self.ledger).name)
        remarks = (note for plan in self._plans.values() for note in plan.bound.notes)
        return CheckReport(
            spec=self._spec.path.name,
            private=self._private.label,
            checks=tuple(checks),
            cost=cost,
            notes=(*dict.fromkeys(remarks), *notes),
        )


def _queries(check: Check, name: str) -> list[Query]:
    """Return the query of a check, if it is one."""
    try:
        return [Query(check.sql, name)]
    except PqdError:
        return []


def keys_of(check: Check) -> tuple[Key, ...] | None:
    """Return the groups that a check states, one tuple each."""
    if check.keys is None:
        return None
    return tuple(key if isinstance(key, tuple) else (key,) for key in check.keys)
