"""``pqd check``: all checks of a spec are planned together, charged in one step, then judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from pqd.accounting.accountant import Accountant, Quote, existing
from pqd.accounting.charge_report import reporting_charges
from pqd.attacks.planned_risk import (
    PlannedRisk,
    attacks_of_risk,
    held_out_notes,
    measure_held_out,
    quote_both,
    quote_held_out,
    unstated_rows_notes,
)
from pqd.batches.mechanisms import RunBudget
from pqd.batches.shared_budget import verdict_plans_beside
from pqd.commands.baseline import against, read_baseline
from pqd.commands.cell_progress import cell_progress
from pqd.commands.gates import (
    broken,
    gate_notes,
    gate_result,
    judged,
    judged_attacks,
    narrow_check,
    never_counted,
    of_gate,
    planned,
    planned_attacks,
    values_of_gate,
)
from pqd.commands.spec_checks import BoundChecks, SelectedCheck
from pqd.commands.verdicts import look_notes, unlike_sizes, verdicts_of
from pqd.deciders import ParameterError
from pqd.deciders.exact import Number
from pqd.deciders.note import Note, note
from pqd.deciders.options import for_spec, option
from pqd.engine.scan_plan import rows_per_person
from pqd.engine.synthetic_tables import kinds_note
from pqd.errors import PqdError
from pqd.keywords import with_keyword_advice
from pqd.marginals.bound_distances import BoundDistance
from pqd.marginals.distance_verdict import PlannedDistanceVerdict, distance_verdict
from pqd.parameters import Detail, Parameters
from pqd.planning.gate import GateInput, GateTerms, decided_gate, plan_gate, quoted_gate
from pqd.planning.planned_verdict import PlannedVerdict, VerdictPlan
from pqd.progress import Progress, silent, warn
from pqd.reports.models.audit import Cost, Verdict
from pqd.reports.models.check import AttackedFacts, BoundedColumn, CheckReport, CheckResult
from pqd.reports.text.check import NEVER_COUNTED
from pqd.run.costs import added_costs, cost_of, dry_notes
from pqd.run.execution import measure, quote_dry
from pqd.run.means import is_simulation, noise_of_run
from pqd.run.measurement import MeasurementSet
from pqd.spec import Spec, read_spec
from pqd.spec.problems import Code, Place, Problem, SpecError
from pqd.spec.sources import accountant_of, held_out_accountant, label_of, paths_as_written
from pqd.sql.schema import Kind
from pqd.stated.budgets import stated_budget

if TYPE_CHECKING:
    from pqd.deciders import Noise


@with_keyword_advice
def check(  # noqa: PLR0913 - the facts of a run, all but one by keyword
    spec: str | Path,
    *,
    only: str | Sequence[str] = (),
    ledger: str | Path | None = None,
    dataset: str | None = None,
    fresh: bool = False,
    dry_run: bool = False,
    baseline: str | Path | None = None,
    detailed: bool = False,
    gate: Number | None = None,
    names: Number | None = None,
) -> CheckReport:
    """Run the checks of a spec file (docs/reference/check.md), and say whether a build passes.

    Parameters
    ----------
    spec
        The path of an ``audit.toml``.
    only
        The id of the check to run, or several ids; all checks by default.
    ledger
        The file of the ledger; it takes the place of the ledger that the spec names.
    dataset
        The name of the data set of which the private table is a version, or its number in ``pqd
        ledger show``; it takes the place of the name in the spec.
    fresh
        Measure, and pay for, all answers again; replay none.
    dry_run
        Only plan and quote: nothing is decided and nothing is spent.
    baseline
        A file of earlier results.  A check that failed there is ``known`` and does not fail again.
    detailed
        Also give every decider's operating characteristic; this costs only time.
    gate
        Epsilon of one test of all checks together, in place of a test of each: it takes the place
        of ``gate`` in ``[budget]``, and of the budgets of the checks.
    names
        Epsilon that names the worst check if the gate does not pass; it is spent only then.

    Returns
    -------
    CheckReport
        ``report.exit_code`` is 0 if all checks are as expected.  The verdicts of this run together
        are ``report.cost.epsilon``-differentially private (with ``report.cost.delta``).

    Raises
    ------
    PqdError
        SpecError, TableError, NothingSelectedError, LedgerError and BudgetError before anything
        is spent; RunError if reading breaks.  SpecError also if no answer to some check could
        count.  A single wrong check raises no error: the report tells what is wrong with it.
    """
    with cell_progress() as progress:
        return run_check(
            read_gated_spec(spec, gate, names),
            noise_of_run(),
            only=only,
            ledger=ledger,
            dataset=dataset,
            fresh=fresh,
            dry_run=dry_run,
            baseline=baseline,
            detailed=detailed,
            progress=progress,
        )


def read_gated_spec(spec: str | Path, gate: Number | None, names: Number | None) -> Spec:
    """Spec of a file; the epsilons of a gate and of a name take the place of those in the file."""
    return read_spec(
        spec,
        gate=None if gate is None else stated_budget(gate, option("--gate")),
        names=None if names is None else stated_budget(names, option("--names")),
    )


def check_baseline_fits(spec: Spec) -> None:
    """Refuse a baseline of a spec with a gate, which does not decide checks one by one."""
    if spec.gate is not None:
        raise ParameterError(
            "a baseline compares checks that are decided one by one, and a gate is one test of "
            f"all; leave {option('--baseline')} or the gate out"
        )


@for_spec()
@reporting_charges()
def run_check(  # noqa: PLR0913 - those of ``check``, read
    spec: Spec,
    noise: Noise,
    *,
    only: str | Sequence[str] = (),
    ledger: str | Path | None = None,
    dataset: str | None = None,
    fresh: bool = False,
    dry_run: bool = False,
    baseline: str | Path | None = None,
    detailed: bool = False,
    explained: str | None = None,
    replaying: bool = False,
    progress: Progress = silent,
) -> CheckReport:
    """Run the checks of ``spec`` with ``noise``; see ``pqd.check``.

    The report shows all candidates and curves of the check ``explained``, even if it shows fewer of
    other checks.  If ``replaying``, nothing is spent, and a run that needs a new answer is refused.
    """
    if spec.names is not None and spec.gate is None:
        raise ParameterError(
            f"{option('--names')} is the epsilon that names the worst check of a gate that does not"
            f" pass; state a gate too ({option('--gate 0.25')}), or leave it out"
        )
    if baseline:
        check_baseline_fits(spec)
    earlier = read_baseline(baseline) if baseline else None
    with paths_as_written(spec):
        accountant = None
        if not is_simulation():
            accountant = accountant_of(
                spec, ledger, fresh=fresh, replaying=replaying, dataset=dataset
            )
        detail = Detail.CURVES if detailed else Detail.THRESHOLDS
        other = None
        if not is_simulation():
            other = held_out_accountant(spec, ledger, fresh=fresh, replaying=replaying)
        bound = BoundChecks(
            spec,
            only,
            accountant,
            detail,
            progress,
            explained,
            dry_run=dry_run,
            held_out_accountant=other,
        )
        plan = plan_checks(bound, None if spec.gate is not None else spec.shared_budget)
        if spec.gate is not None:
            report = _gated(spec, bound, plan, accountant, noise, progress, dry_run=dry_run)
        elif dry_run:
            report = _planned(spec, bound, plan, accountant, progress)
        else:
            report = _decided(spec, bound, plan, accountant, noise, progress)
    if accountant and report.cost.ledger and spec.ledger and accountant.path == spec.ledger.path:
        # Take the name as the spec writes it, so that no message shows the value of ``${NAME}``.
        name = Path(spec.ledger.written).name
        report = replace(report, cost=replace(report.cost, ledger=name))
    return report if earlier is None else against(report, earlier, Path(str(baseline)).name)


def _decided(
    spec: Spec,
    bound: BoundChecks,
    plan: CheckPlan,
    accountant: Accountant | None,
    noise: Noise,
    progress: Progress,
) -> CheckReport:
    """Report of all checks, measured and judged.

    Raises
    ------
    SpecError
        If no answer to some check could count; nothing is spent.
    """
    if accountant is None or not accountant.replaying:
        _refuse_never_counted(spec, bound, plan)
    sets = plan.sets
    if not any(each.measurements for each in sets):
        results = bound.results(lambda each: judged(each.check, each.id, ()), broken)
        return _report(spec, bound, plan, results, Cost())
    quote_both(sets, plan.risks, accountant, bound.held_out, progress)
    outputs = measure(sets, accountant, noise, progress, command="check")
    held = measure_held_out(plan.risks, bound.held_out, noise, progress, command="check")
    verdicts: dict[str, list[Verdict]] = {}
    shown: set[object] = set()
    close = {each.id for each in bound.checks if each.check.expect == "close"}
    sizes: list[Note] = []
    for name in plan.names:
        label = label_of(spec.synthetic[name])
        of_copy = verdicts_of(plan.verdicts(name), outputs, label, noise, shown)
        for verdict in of_copy:
            verdicts.setdefault(verdict.block or verdict.id, []).append(verdict)
        tables = next(each.bound for own, each in plan.plans if own == name)
        expected = [each for each in of_copy if (each.block or each.id) in close]
        sizes += unlike_sizes(expected, tables, spec.private_rows, outputs, accountant)

    def result(each: SelectedCheck) -> CheckResult:
        if each.check.risk:
            risk, parameters = bound.attacks_of(each)
            attacks = attacks_of_risk(risk, parameters, outputs, held)
            tried = AttackedFacts(
                epsilon=parameters.total_epsilon,
                alpha=parameters.alpha,
                attacks=len(risk.bound.attacks.attacks),
                replayed=all(run.replayed(risk.measurement) for run in (outputs, held) if run),
                simulated=noise.simulated,
            )
            return judged_attacks(each.check, each.id, attacks, parameters, cost, tried)
        made_under = spec.copy_epsilon.get(each.synthetic)
        return judged(each.check, each.id, tuple(verdicts[each.id]), made_under)

    cost = cost_of(outputs.quote, accountant, bound.unit)
    report = _report(spec, bound, plan, bound.results(result, broken), cost)
    if held and bound.held_out:
        report = replace(report, held_out_cost=bound.held_out.cost(held.quote, bound.unit))
    every = [verdict for each in verdicts.values() for verdict in each]
    return replace(report, notes=(*report.notes, *sizes, *look_notes(every)))


def _gated(
    spec: Spec,
    bound: BoundChecks,
    plan: CheckPlan,
    accountant: Accountant | None,
    noise: Noise,
    progress: Progress,
    *,
    dry_run: bool,
) -> CheckReport:
    """Report of one test of all checks.

    A broken check leaves the others without an answer, and nothing is spent: the gate is a test of
    all of them.

    Raises
    ------
    SpecError
        If no answer to some check could count; nothing is spent.
    """
    if not (accountant and accountant.replaying) and not dry_run:
        _refuse_never_counted(spec, bound, plan, is_gated=True)
    inputs = {each.id: _gate_inputs(spec, bound, each, plan) for each in bound.checks}
    every = [one for each in inputs.values() for one in each]
    narrow = _narrow_checks(spec, bound, plan)
    warnings = [note("checks-not-decidable", checks=tuple(narrow))] if narrow else []
    facts, quotes = None, list[Quote]()
    flawed = bound.broken or bound.lacking or any(bound.unjudged.values())
    if every and not flawed:
        terms = GateTerms(
            epsilon=spec.gate or Fraction(0),
            names=spec.names,
            alpha=min(each.check.alpha for each in bound.checks),
            private_rows=spec.private_rows,
        )
        gate = plan_gate(terms, every[0].bound, every)
        if dry_run:
            facts, quote = quoted_gate(gate, accountant, progress)
            quotes = [quote]
        else:
            warn(warnings, progress)
            facts, quotes = decided_gate(gate, accountant, noise, progress, command="check")

    def result(each: SelectedCheck) -> CheckResult:
        names = [one.name for one in inputs[each.id]]
        if each.id in bound.values:
            return values_of_gate(each.check, each.id, bound.values[each.id], names, facts)
        return of_gate(
            each.check, each.id, plan.of_check(each), names, facts, narrow.get(each.id, "")
        )

    checks = bound.results(result, broken)
    if facts is not None:
        checks = (gate_result(facts, spec.path.name), *checks)
    costs = [cost_of(quote, accountant, bound.unit) for quote in quotes]
    report = _report(spec, bound, plan, checks, added_costs(costs) if costs else Cost())
    own = gate_notes(facts, warnings) if facts else [note("gate-not-run")] if flawed else []
    notes = (*report.notes, *own)
    copies = tuple(name for name in spec.synthetic if name not in spec.copy_epsilon)
    alarmed = {name for each in spec.checks if each.alarm is not None for name in each.synthetic}
    if unalarmed := tuple(name for name in copies if name not in alarmed):
        notes = (*notes, note("alarm-not-judged", copies=unalarmed))
    if copies:
        notes = (*notes, note("some-rows-not-judged", copies=copies))
    if dry_run:
        notes = (*notes, *dry_notes(quotes, accountant, bound.private.label))
    return replace(report, gate=facts, dry=dry_run, notes=notes)


def _narrow_checks(spec: Spec, bound: BoundChecks, plan: CheckPlan) -> dict[str, str]:
    """Checks that the gate may not decide, or not for an honest copy, each with the reason."""
    rows = {
        name: each.bound.tables.copies[0][0].rows()
        for name, each in plan.plans
        if any(verdict.facts()["aggregate"] == "COUNT" for verdict in each.verdicts)
    }
    reasons = {
        each.id: narrow_check(
            each.check, plan.of_check(each), spec.gate or Fraction(0), rows.get(each.synthetic)
        )
        for each in bound.checks
        if each.id not in {*bound.broken, *bound.lacking}
    }
    return {name: reason for name, reason in reasons.items() if reason}


def _gate_inputs(
    spec: Spec, bound: BoundChecks, each: SelectedCheck, plan: CheckPlan
) -> list[GateInput]:
    """Conditions of one check, each with the name of the check or of one of its groups.

    An alarm is none where the copy was made under a stated epsilon, since it then fails nothing.
    """
    if each.check.alarm is not None and each.synthetic in spec.copy_epsilon:
        return []
    if each.id in bound.values:
        values = bound.values[each.id]
        return [
            one._replace(name=f"{each.id}: {one.name.removeprefix(f'{values.column}: ')}")
            for one in values.inputs
        ]
    own = [
        (one.bound, verdict)
        for name, one in plan.plans
        if name == each.synthetic
        for verdict in one.verdicts
        if verdict.check == each.id
    ]
    expected = each.check.expect == "close"
    return [
        GateInput(
            bound,
            each.id if len(own) == 1 else f"{each.id}: {verdict.facts()['group']}",
            verdict.measurement,
            expected,
            within=_bounded(verdict),
        )
        for bound, verdict in own
    ]


def _bounded(verdict: PlannedVerdict) -> BoundedColumn | None:
    """Column whose bounds are the copy's, where the spec accepts them."""
    condition = verdict.condition
    if condition is None:
        return None
    return BoundedColumn(
        column=verdict.facts()["attribute"],
        lower=condition.lower,
        upper=condition.upper,
        rows_beyond=condition.rows_beyond,
    )


def _planned(
    spec: Spec,
    bound: BoundChecks,
    plan: CheckPlan,
    accountant: Accountant | None,
    progress: Progress,
) -> CheckReport:
    """Report of planned checks and their quote."""
    sets = plan.sets
    known = existing(accountant) if sets else None
    quote = quote_dry(sets, accountant, progress)
    other = quote_held_out(plan.risks, bound.held_out, progress)

    def result(each: SelectedCheck) -> CheckResult:
        if each.check.risk:
            risk, parameters = bound.attacks_of(each)
            return planned_attacks(each.check, each.id, risk, parameters, [quote, other])
        return planned(each.check, each.id, plan.of_check(each), quote)

    cost = cost_of(quote, known, bound.unit)
    report = _report(spec, bound, plan, bound.results(result, broken), cost)
    if other and bound.held_out:
        report = replace(report, held_out_cost=bound.held_out.cost(other, bound.unit))
    notes = (
        *report.notes,
        *dict.fromkeys(one for risk in plan.risks for one in unstated_rows_notes(risk)),
        *dry_notes([quote], known, bound.private.label),
    )
    if other and bound.held_out:
        notes += held_out_notes(other, bound.held_out)
    return replace(report, dry=True, notes=notes)


def _refuse_never_counted(
    spec: Spec, bound: BoundChecks, plan: CheckPlan, *, is_gated: bool = False
) -> None:
    """Refuse a spec with checks whose answer could never count; all of them in one message.

    All checks stop, since what the spec must say instead (bounds of a column, a decider) may change
    other checks and the shares of a shared budget.  So a run before the change may pay in vain.

    Raises
    ------
    SpecError
        If there is such a check.
    """
    problems = [
        Problem(Code.NEVER_COUNTED, Place("check", None, each.check.line), f"{each.id}: {hint}")
        for each in bound.checks
        if each.id not in bound.broken
        for hint in never_counted(each.check, plan.of_check(each), is_gated=is_gated)
    ]
    if problems:
        for each in bound.checks:
            if error := bound.broken.get(each.id):
                place, reason = Place("check", None, each.check.line), str(error).splitlines()[0]
                problems.append(Problem(Code.INVALID_VALUE, place, f"{each.id}: {reason}"))
        raise SpecError(spec.path.name, problems, NEVER_COUNTED.format(option("--only")))


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
        held_out=bound.held_out.table.label if bound.held_out else "",
        checks=results,
        cost=cost,
        notes=(*bound.notes, *plan.notes),
    )


@dataclass(frozen=True, slots=True)
class CheckPlan:
    """Planned verdicts of all checks.

    Each reading of a synthetic table has a plan, with the name of the table.  The plans of queries
    come first, then the plans of distances.  ``risks`` are the attacks on each synthetic table.
    """

    plans: Sequence[tuple[str, VerdictPlan]]
    risks: Sequence[PlannedRisk] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the synthetic tables that have verdicts."""
        return tuple(dict.fromkeys(name for name, _ in self.plans))

    def verdicts(self, name: str) -> list[PlannedVerdict]:
        """Verdicts on one synthetic table."""
        return [verdict for own, plan in self.plans if own == name for verdict in plan.verdicts]

    def of_check(self, selected: SelectedCheck) -> list[PlannedVerdict]:
        """Verdicts of one check."""
        return [each for each in self.verdicts(selected.synthetic) if each.check == selected.id]

    @property
    def sets(self) -> list[MeasurementSet]:
        """Measurements on the private table: one set for each reading of a synthetic table."""
        return [*(plan.measurements for _, plan in self.plans), *(each.own for each in self.risks)]

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes to show; each synthetic table has one note on its kinds, even if read twice."""
        bound = [plan.bound for _, plan in self.plans]
        bound += [each.bound.profile for each in self.risks]
        own = {note for each in bound for note in each.tables.kind_notes}
        notes = [note for each in bound for note in each.notes if note not in own]
        kinds: dict[tuple[str, object], dict[str, Kind]] = {}
        for each in bound:
            table = each.tables.tables[0]
            kinds.setdefault((table.label, table.source.places), {}).update(each.tables.taken_kinds)
        taken = [kinds_note(label, of_table) for (label, _), of_table in kinds.items() if of_table]
        return tuple(dict.fromkeys([*taken, *notes]))


def plan_checks(bound: BoundChecks, budget: RunBudget | None) -> CheckPlan:
    """Plan of all checks; if a part of a check is refused, the whole check is broken.

    Distances without a budget of their own take part in the shared budget; the share of a distance
    is that of a query.
    """
    sharing = [
        each
        for distances in bound.distances.values()
        for each in distances
        if not isinstance(each.request.criteria, Parameters)
    ]
    plans, share = verdict_plans_beside(list(bound.workloads.values()), budget, _number(sharing))
    bound.note_refusals(plans)
    queries = list(zip(bound.workloads, plans, strict=True))
    distances = [
        (name, plan)
        for name, of_table in bound.distances.items()
        for plan in _distance_plans(of_table, share, bound.broken)
    ]
    values = [
        (each.synthetic, VerdictPlan(bound.values[each.id].inputs[0].bound, ()))
        for each in bound.checks
        if each.id in bound.values
    ]
    return CheckPlan([*queries, *distances, *values], tuple(bound.risks.values()))


def _number(distances: Sequence[BoundDistance]) -> int:
    """Number of different measurements of distances; different budgets make no difference."""
    return len({distance_verdict(each, Fraction(1)).measurement.cache_key for each in distances})


def _distance_plans(
    distances: Sequence[BoundDistance], share: Fraction | None, broken: dict[str, PqdError]
) -> Iterator[VerdictPlan]:
    """Plan of the distances of each profile; a refused distance breaks its check."""
    planned = [_planned_distance(each, share, broken) for each in distances]
    verdicts = [verdict for verdict in planned if verdict is not None]
    for profile in dict.fromkeys(verdict.bound.profile for verdict in verdicts):
        yield VerdictPlan(profile, tuple(v for v in verdicts if v.bound.profile is profile))


def _planned_distance(
    distance: BoundDistance, share: Fraction | None, broken: dict[str, PqdError]
) -> PlannedDistanceVerdict | None:
    """Verdict at its own budget or at its share; None if a refusal breaks its check."""
    criteria, unit = distance.request.criteria, distance.profile.unit
    epsilon = criteria.epsilon if isinstance(criteria, Parameters) else None
    if epsilon is None and share is not None:
        # The cost for a person is the epsilon of one row times the number of counted rows.
        epsilon = share / rows_per_person(unit)
    try:
        if epsilon is None:
            epsilon = criteria.at(None).epsilon
        return distance_verdict(distance, epsilon)
    except PqdError as error:
        broken[distance.request.id] = error
        return None
