"""``pqd check``: the checks of a spec, planned as one, charged in one step, then judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pqd.accounting.accountant import Accountant
from pqd.accounting.accounts import Budget
from pqd.accounting.run_charges import telling_charges
from pqd.batches.shared_budget import SharedBudget
from pqd.commands.baseline import against, read_baseline
from pqd.commands.cell_progress import cell_progress
from pqd.commands.check_plan import plan_checks
from pqd.commands.gates import broken, judged, planned
from pqd.commands.spec_checks import BoundChecks, SelectedCheck
from pqd.deciders import SecureNoise
from pqd.execution import measure, quote_sets
from pqd.parameters import Detail
from pqd.progress import Progress, silent
from pqd.reports.models.audit import Cost
from pqd.reports.models.check import CheckReport
from pqd.results import cost_of, verdicts_of
from pqd.spec import read_spec
from pqd.spec.sources import label_of, ledger_of, paths_as_written

if TYPE_CHECKING:
    from pqd.commands.check_plan import CheckPlan
    from pqd.deciders import Noise
    from pqd.reports.models.audit import Verdict
    from pqd.reports.models.check import CheckResult
    from pqd.spec import Spec


def check(
    spec: str | Path,
    *,
    only: str | Sequence[str] = (),
    ledger: str | Path | None = None,
    fresh: bool = False,
    dry_run: bool = False,
    baseline: str | Path | None = None,
    detailed: bool = False,
) -> CheckReport:
    """Run the checks of a spec file (docs/ci.md), with what they mean for a build.

    Parameters
    ----------
    spec
        The path of an ``audit.toml``.
    only
        The id of the check to run, or several ids; all checks by default.
    ledger
        Where the budget is kept, rather than where the spec says.
    fresh
        Measure and pay again what the ledger could replay.
    dry_run
        Plan and quote alone: nothing is decided and nothing spent.
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
    with cell_progress() as told:
        return run_check(
            read_spec(spec),
            SecureNoise(),
            only=only,
            ledger=ledger,
            fresh=fresh,
            dry_run=dry_run,
            baseline=baseline,
            detailed=detailed,
            progress=told,
        )


@telling_charges()
def run_check(  # noqa: PLR0913 - those of ``check``, read
    spec: Spec,
    noise: Noise,
    *,
    only: str | Sequence[str] = (),
    ledger: str | Path | None = None,
    fresh: bool = False,
    dry_run: bool = False,
    baseline: str | Path | None = None,
    detailed: bool = False,
    explained: str | None = None,
    replaying: bool = False,
    progress: Progress = silent,
) -> CheckReport:
    """Run the checks of ``spec`` with ``noise``; see ``pqd.check``.

    The check ``explained`` has every candidate and curve, whatever the others have.  ``replaying``:
    what the ledger does not know is refused, and nothing is spent.
    """
    earlier = read_baseline(baseline) if baseline else None
    with paths_as_written(spec):
        path = ledger_of(spec, ledger)
        budget = Budget(spec.epsilon, spec.delta)
        accountant = Accountant(path, budget, fresh=fresh, replaying=replaying)
        detail = Detail.CURVES if detailed else Detail.THRESHOLDS
        bound = BoundChecks(spec, only, accountant, detail, progress, explained)
        plan = plan_checks(bound, SharedBudget(*spec.shared_budget) if spec.shared_budget else None)
        if dry_run:
            report = _planned(spec, bound, plan, accountant, progress)
        else:
            report = _decided(spec, bound, plan, accountant, noise, progress)
    if report.cost.ledger and spec.ledger and path == spec.ledger.path:
        # The name that the spec gives it may hide another.
        name = Path(spec.ledger.written).name
        report = replace(report, cost=replace(report.cost, ledger=name))
    return report if earlier is None else against(report, earlier, Path(str(baseline)).name)


def _decided(
    spec: Spec,
    bound: BoundChecks,
    plan: CheckPlan,
    accountant: Accountant,
    noise: Noise,
    progress: Progress,
) -> CheckReport:
    """Report of all checks, measured and judged."""
    sets = plan.sets
    if not any(each.measurements for each in sets):
        results = bound.results(lambda each: judged(each.check, each.id, ()), broken)
        return _report(spec, bound, plan, results, Cost())
    outputs = measure(sets, accountant, noise, progress)
    verdicts: dict[str, list[Verdict]] = {}
    shown: set[object] = set()
    for name in plan.names:
        label = label_of(spec.synthetic[name])
        for verdict in verdicts_of(plan.verdicts(name), outputs, label, noise, shown):
            verdicts.setdefault(verdict.block or verdict.id, []).append(verdict)
    results = bound.results(
        lambda each: judged(each.check, each.id, tuple(verdicts[each.id])), broken
    )
    cost = cost_of(outputs.quote, accountant, bound.unit)
    return _report(spec, bound, plan, results, cost)


def _planned(
    spec: Spec, bound: BoundChecks, plan: CheckPlan, accountant: Accountant, progress: Progress
) -> CheckReport:
    """Report of all checks and their quote; the private table is read only if there is a ledger."""
    sets = plan.sets
    known = accountant if accountant.exists() and sets else None
    quote = quote_sets(sets, known, progress, budget=accountant.budget)

    def result(each: SelectedCheck) -> CheckResult:
        own = [v for v in plan.verdicts(each.synthetic) if v.check == each.id]
        return planned(each.check, each.id, own, quote)

    cost = cost_of(quote, known, bound.unit)
    return replace(_report(spec, bound, plan, bound.results(result, broken), cost), dry=True)


def _report(
    spec: Spec,
    bound: BoundChecks,
    plan: CheckPlan,
    results: tuple[CheckResult, ...],
    cost: Cost,
) -> CheckReport:
    return CheckReport(
        spec=spec.path.name,
        private=bound.private.label,
        checks=results,
        cost=cost,
        notes=tuple(plan.notes),
    )
