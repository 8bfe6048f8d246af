"""Planned risk report: what is measured on the private and on the held-out table, and the report.

One run may hold several, each of one copy.  The private table pays for all of them together, and
so does the held-out table, in an account of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from pqd.accounting.accountant import Accountant, Quote, existing
from pqd.attacks.bound_risk import BoundRisk, bind_risk
from pqd.attacks.figures import (
    attack_facts,
    copy_size,
    curve_points,
    planned_attacks,
    planned_rows,
    roc_points,
    rows_figure,
)
from pqd.attacks.measurement import AttacksMeasurement
from pqd.attacks.parameters import RiskParameters
from pqd.deciders.exact import Number
from pqd.deciders.note import Note, note
from pqd.deciders.options import option, with_option
from pqd.deciders.risk.successes import Successes
from pqd.engine.scan_plan import PrivacyUnit
from pqd.engine.sources.source import place_key
from pqd.engine.sources.spark_address import is_spark
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import Table, dry_table, open_table
from pqd.errors import ParameterError, TableError
from pqd.marginals.profile_parameters import ProfileRequest
from pqd.planning.table_separation import check_separation
from pqd.progress import Progress, warn
from pqd.reports.models.audit import Cost
from pqd.reports.models.figure import Figure
from pqd.reports.models.profile import BudgetPart
from pqd.reports.models.risk import AttackFacts, RiskReport
from pqd.run.costs import cost_of, dry_notes
from pqd.run.execution import Outputs, measure, quote_dry, quote_sets
from pqd.run.measurement import MeasurementSet
from pqd.sql.schema import fold_case
from pqd.stated.budgets import total_budget

if TYPE_CHECKING:
    from pqd.deciders import Noise

_SPARK = (
    "a risk report reads its tables in this process, and cannot read a table of Spark yet; give a "
    "file, a frame or a database table"
)
_OTHERS = "give rows of other persons, which the generator never saw"


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Held-out table, and the accountant of its own account; None keeps no account."""

    table: Table
    accountant: Accountant | None

    @property
    def existing(self) -> Accountant | None:
        """The accountant, if its ledger exists: a dry run makes none."""
        return existing(self.accountant)

    def cost(self, quote: Quote, unit: PrivacyUnit | None) -> Cost:
        """Cost of a run on the held-out table, by its ``quote``."""
        return cost_of(quote, self.existing, unit)


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskRequest:
    """Attacks that another report tries too, and the held-out table as it is given.

    ``total_epsilon`` is their budget on each private table.  ``accountant`` keeps the account of
    the held-out table; None keeps no account.
    """

    total_epsilon: Fraction
    held_out: object | None = None
    accountant: Accountant | None = None


def risk_request(
    epsilon: Number | None,
    *,
    held_out: object | None = None,
    held_out_dataset: str | None = None,
    accountant: Accountant | None = None,
) -> RiskRequest | None:
    """Request of attacks, at a budget of their own; None if no ``epsilon`` is stated.

    Raises
    ------
    ParameterError
        For held-out rows without a budget, a data set without a table, or a budget that is none.
    """
    if epsilon is None:
        given = {"--held-out": held_out, "--held-out-dataset": held_out_dataset}
        for name in (name for name, value in given.items() if value is not None):
            raise ParameterError(
                f"{option(name)} is for attacks, and no budget of attacks is stated; state "
                f"{option('--risk 1')} too, or leave {option(name)} out"
            )
        return None
    if held_out is None and held_out_dataset is not None:
        raise ParameterError(
            f"{option('--held-out-dataset')} names the data set of a held-out table, and there is "
            f"none; give {option('--held-out TABLE')} too, or leave it out"
        )
    with with_option("--risk", "--total-epsilon"):
        total = total_budget(epsilon)
    return RiskRequest(total_epsilon=total, held_out=held_out, accountant=accountant)


@dataclass(frozen=True, eq=False, kw_only=True)
class PlannedRisk:
    """Attacks on one copy, with all that is measured of them on both private tables.

    Attributes
    ----------
    bound
        The attacks, bound to the copy.
    parameters
        The parameters of the report.
    measurement
        What is measured, of the private table and of the held-out table alike.
    own, apart
        The set of this measurement on the private table, and on the held-out table if there is one.
    """

    bound: BoundRisk
    parameters: RiskParameters
    measurement: AttacksMeasurement
    own: MeasurementSet
    apart: MeasurementSet | None


def refuse_spark(*tables: object) -> None:
    """Refuse tables of Spark, whose rows stay in other processes."""
    if any(map(is_spark, tables)):
        raise ParameterError(_SPARK)


def open_held_out(given: object, accountant: Accountant | None, private: Table) -> HeldOut:
    """Held-out table, opened; only its names are read if the run is dry, as ``private`` says.

    Raises
    ------
    ParameterError
        If it is the private table itself, or shares a file or a database table with it.
    """
    table = dry_table(given, "held-out") if private.dry else open_table(given, "held-out")
    _refuse_shared(table, private, "private table")
    return HeldOut(table, accountant)


def _refuse_shared(held_out: Table, other: Table, role: str) -> None:
    """Refuse held-out rows that are those of the other table, by their places alone."""
    same = held_out.given is other.given and not held_out.source.places
    own = set(map(place_key, other.source.places))
    if same or any(place_key(each) in own for each in held_out.source.places):
        raise ParameterError(
            f"the held-out table ({option('--held-out')}) is the {role}, or shares a part "
            f"with it; {_OTHERS}. Nothing was spent"
        )


def open_both(
    private: object, request: RiskRequest | None, *synthetic: object, dry: bool = False
) -> tuple[Table, HeldOut | None]:
    """Private table, and the held-out table if there is one, opened; if ``dry``, names are read.

    The errors are those of ``refuse_spark``, if attacks are asked for, and of ``open_held_out``.
    """
    if request:
        refuse_spark(private, request.held_out, *synthetic)
    own = dry_table(private) if dry else open_table(private, "private")
    if request is None or request.held_out is None:
        return own, None
    return own, open_held_out(request.held_out, request.accountant, own)


def plan_risk(
    tables: SyntheticTables,
    parameters: RiskParameters,
    unit: PrivacyUnit | None,
    held_out: HeldOut | None,
) -> PlannedRisk:
    """Plan of a risk report on the copy of ``tables``, which is known to be public.

    Raises
    ------
    PqdError
        ParameterError, if the held-out table is a copy; the errors of ``bind_risk``, and of
        ``check_separation`` from the held-out table.
    """
    others = None
    if held_out is not None:
        for copy in tables.tables:
            _refuse_shared(held_out.table, copy, "synthetic table")
        others = SyntheticTables(tables.tables, held_out.table)
        names = parameters.request.column_names(unit)
        check_separation(others, held_out.accountant, names, unit)
    bound = bind_risk(tables, parameters, unit)
    measurement = bound.measurement(parameters)
    own = bound.profile.measurement_set([measurement])
    return PlannedRisk(
        bound=bound,
        parameters=parameters,
        measurement=measurement,
        own=own,
        apart=_held_out_set(bound, own, others, held_out.table) if others and held_out else None,
    )


def plan_risks(
    tables: SyntheticTables,
    columns: ProfileRequest,
    alpha: Fraction,
    request: RiskRequest | None,
    unit: PrivacyUnit | None,
    held_out: HeldOut | None,
    copy_epsilons: Sequence[Fraction | None],
) -> list[PlannedRisk]:
    """Plans of the usual attacks on each copy of ``tables``; none without a ``request``.

    The K copies share the budget equally: one run pays for all, and each copy is attacked at 1 / K
    of the budget.  The noise of a cube grows with the number of released numbers, so one joint
    release would have the same noise.  A report on one copy at this share replays its attacks.
    A named column that a copy lacks is not attacked there.  ``copy_epsilons`` has for each copy
    the epsilon with which it was made, if that is stated.

    The errors are those of ``plan_risk``.
    """
    if request is None:
        return []
    share = request.total_epsilon / len(tables.copies)
    plans = []
    for place, epsilon in enumerate(copy_epsilons):
        copy = tables.of_copy(place)
        parameters = replace(
            RiskParameters.usual(columns.held_by(copy.columns), alpha),
            private_rows=columns.private_rows,
            total_epsilon=share,
            copy_epsilon=epsilon,
        )
        plans.append(plan_risk(copy, parameters, unit, held_out))
    return plans


def _held_out_set(
    bound: BoundRisk, own: MeasurementSet, tables: SyntheticTables, table: Table
) -> MeasurementSet:
    """Same measurement, on the held-out table.

    Raises
    ------
    TableError
        If the held-out table lacks a column that the attacks use.
    """
    has = set(map(fold_case, table.columns))
    needed = [*bound.attacks.columns, *([own.unit.column] if own.unit else [])]
    lacking = [name for name in dict.fromkeys(needed) if fold_case(name) not in has]
    if lacking:
        raise TableError(
            f'the held-out table {table.label} has no column "{lacking[0]}", which the copy and '
            "the private table have; give rows with the same columns, or name the columns to use "
            f"({option('--columns')}). Nothing was spent"
        )
    return MeasurementSet(
        tables.engine, table, own.schema, own.unit, own.measurements, (), own.copies
    )


def risk_part(risk: PlannedRisk) -> BudgetPart:
    """Part of the budget of a private table that the attacks have."""
    law = risk.measurement.law
    return BudgetPart(
        part="attacks",
        epsilon=risk.measurement.cost,
        numbers=law.numbers,
        scale=law.deviation,
        noise="cube",
    )


def quote_both(
    sets: Sequence[MeasurementSet],
    risks: Sequence[PlannedRisk],
    accountant: Accountant | None,
    held_out: HeldOut | None,
    progress: Progress,
) -> None:
    """Refuse a run of ``sets`` before either table is charged, if one of the accounts cannot pay.

    ``sets`` is all that is measured on the private table.  Without held-out rows the run itself
    makes the quote, and a warning says that attacks get no verdict.

    Raises
    ------
    PqdError
        The errors of ``quote_sets``, and of ``_check_together``.
    """
    if risks and held_out is None and not (accountant and accountant.replaying):
        warnings = [text for each in sets for text in each.warnings]
        warn([*warnings, note("risk-without-held-out")], progress)
    apart = _apart(risks)
    if held_out is None or not apart:
        return
    quote = quote_sets(sets, accountant, progress)
    with with_option("--held-out-dataset", "--dataset"):
        other = quote_sets(apart, held_out.accountant, progress)
        if _check_together(quote, other, accountant, held_out):
            # The second charge finds the first one spent.
            quote_sets(apart, held_out.accountant, progress, after=quote.charge)


def quote_held_out(
    risks: Sequence[PlannedRisk], held_out: HeldOut | None, progress: Progress
) -> Quote | None:
    """Quote of all attacks on the held-out rows, for a dry run; None without such rows.

    The errors are those of ``quote_sets``.
    """
    apart = _apart(risks)
    if held_out is None or not apart:
        return None
    with with_option("--held-out-dataset", "--dataset"):
        return quote_dry(apart, held_out.accountant, progress)


def price_of_held_out(
    risks: Sequence[PlannedRisk], held_out: HeldOut | None, progress: Progress
) -> tuple[Cost | None, tuple[Note, ...]]:
    """Cost of all attacks on the held-out rows, for a dry run, and notes on it; None without rows.

    The errors are those of ``quote_sets``.
    """
    quote = quote_held_out(risks, held_out, progress)
    if quote is None or held_out is None:
        return None, ()
    return held_out.cost(quote, risks[0].own.unit), held_out_notes(quote, held_out)


def held_out_notes(quote: Quote, held_out: HeldOut) -> tuple[Note, ...]:
    """Notes on what the price of a dry run takes for granted of the held-out table."""
    known, label = held_out.existing, held_out.table.label
    if known is None:
        return ()
    notes = dry_notes([quote], known, label)
    unseen = quote.new and quote.table is None
    if unseen and known.dataset is None and known.ledger.limited:
        notes += (note("dataset-asked", table=label, ledger=known.ledger.path.name),)
    return notes


def measure_held_out(
    risks: Sequence[PlannedRisk],
    held_out: HeldOut | None,
    noise: Noise,
    progress: Progress,
    *,
    command: str,
) -> Outputs | None:
    """Outputs of all attacks on the held-out rows, in one charge; None without such rows.

    The errors are those of ``measure``.
    """
    apart = _apart(risks)
    if held_out is None or not apart:
        return None
    return measure(apart, held_out.accountant, noise, progress, command=command)


def _apart(risks: Sequence[PlannedRisk]) -> list[MeasurementSet]:
    return [each.apart for each in risks if each.apart]


def _check_together(
    own: Quote, other: Quote, accountant: Accountant | None, held_out: HeldOut
) -> bool:
    """Check two tables that have accounts in one ledger; whether one data set pays for both.

    Whole tables are compared, as a copy is with the private table (docs/limitations.md).

    Raises
    ------
    ParameterError
        If both hold the same rows, or if the ledger, once the private rows are paid, cannot know
        the data set of the held-out rows.
    """
    one, two, apart = own.table, other.table, held_out.accountant
    if one is None or two is None or accountant is None or apart is None:
        return False
    if accountant.path != apart.path:
        return False
    if one.fingerprint == two.fingerprint:
        raise ParameterError(
            f"the held-out table ({option('--held-out')}) holds the same rows as the private "
            f"table; {_OTHERS}. Nothing was spent"
        )
    ledger = apart.ledger
    if own.new and other.new:
        ledger.check_beside(two, one)
    first, second = ledger.data_set(one), ledger.data_set(two)
    if first is None or second is None:
        return one.name is not None and one.name == two.name
    return first == second


def attacks_of_risk(
    risk: PlannedRisk, parameters: RiskParameters, outputs: Outputs, held: Outputs | None
) -> tuple[AttackFacts, ...]:
    """Facts of the attacks from the outputs of a run, at a tolerance and level of their own."""
    return attack_facts(risk.bound, parameters, *_released(risk, outputs, held))


def _released(
    risk: PlannedRisk, outputs: Outputs, held: Outputs | None
) -> tuple[tuple[Successes, ...], tuple[Successes, ...] | None]:
    """Released successes on the private rows, and on the held-out rows if there are any."""
    measurement = risk.measurement
    own = measurement.released(outputs[measurement].numbers)
    return own, None if held is None else measurement.released(held[measurement].numbers)


def risk_reports(
    risks: Sequence[PlannedRisk],
    outputs: Outputs,
    held: Outputs | None,
    *,
    accountant: Accountant | None,
    held_out: HeldOut | None,
    noise: Noise,
) -> list[RiskReport]:
    """Reports from the ``outputs`` of a run, and from those on the held-out rows, ``held``.

    They are post-processing, and their costs are those of the whole run.  Leaks are established for
    all attacks on all copies of the run at once.
    """
    together = sum(len(each.bound.attacks.attacks) for each in risks)
    return [
        _risk_report(each, outputs, held, accountant, held_out, noise, together) for each in risks
    ]


def _risk_report(
    risk: PlannedRisk,
    outputs: Outputs,
    held: Outputs | None,
    accountant: Accountant | None,
    held_out: HeldOut | None,
    noise: Noise,
    together: int,
) -> RiskReport:
    bound, parameters, unit = risk.bound, risk.parameters, risk.own.unit
    released, compared = _released(risk, outputs, held)
    return _report(
        risk,
        attacks=attack_facts(bound, parameters, released, compared, together),
        curve=curve_points(bound, parameters, released, compared),
        roc=roc_points(bound, parameters, released, compared),
        rows=rows_figure(released, parameters),
        held_out_rows=rows_figure(compared, parameters) if compared else None,
        cost=cost_of(outputs.quote, accountant, unit),
        held_out_cost=held_out.cost(held.quote, unit) if held and held_out else None,
        notes=bound.profile.notes,
        replayed=all(each.replayed(risk.measurement) for each in (outputs, held) if each),
        simulated=noise.simulated,
    )


def risk_plan(
    risk: PlannedRisk, accountant: Accountant | None, held_out: HeldOut | None, progress: Progress
) -> RiskReport:
    """Report of a dry run: which attacks a run would decide, and what it would charge.

    It is a function of the copy and of what is stated.  Both private tables are only looked up in
    their ledgers, by place and name, and no row of them is read.

    Raises
    ------
    PqdError
        The errors of ``quote_sets``, of each table.
    """
    known, quote = existing(accountant), quote_dry([risk.own], accountant, progress)
    other_cost, other_notes = price_of_held_out([risk], held_out, progress)
    report = planned_report(risk, cost_of(quote, known, risk.own.unit), other_cost)
    own = (*report.notes, *dry_notes([quote], known, risk.own.private.label))
    notes = [*unstated_rows_notes(risk), *own, *other_notes]
    return replace(report, notes=tuple(dict.fromkeys(notes)))


def unstated_rows_notes(risk: PlannedRisk) -> Iterator[Note]:
    """Note that a plan takes the number of the copy's rows for numbers that nobody stated."""
    if lacking := risk.parameters.unstated_rows:
        persons = risk.bound.profile.unit is not None
        size = copy_size(risk.bound)
        yield note("risk-rows-unstated", copy=size, options=lacking, persons=persons)


def planned_report(risk: PlannedRisk, cost: Cost, held_out_cost: Cost | None) -> RiskReport:
    """Report of a plan, whose costs are those of the whole run that is planned."""
    bound, parameters = risk.bound, risk.parameters
    rows, held_out_rows = planned_rows(bound, parameters)
    return _report(
        risk,
        attacks=planned_attacks(bound, parameters),
        curve=(),
        rows=Figure(rows, rows, rows),
        held_out_rows=Figure(held_out_rows, held_out_rows, held_out_rows),
        cost=cost,
        held_out_cost=held_out_cost,
        notes=bound.profile.notes,
        dry=True,
    )


def _report(risk: PlannedRisk, **facts: Any) -> RiskReport:  # noqa: ANN401 - fields of the report
    """Report with what is public of its attacks, and with ``facts``."""
    bound, parameters = risk.bound, risk.parameters
    return RiskReport(
        private=risk.own.private.label,
        synthetic=bound.profile.label,
        held_out=risk.apart.private.label if risk.apart else None,
        total_epsilon=parameters.total_epsilon,
        tolerance=parameters.tolerance,
        alpha=parameters.alpha,
        copy_epsilon=parameters.copy_epsilon,
        columns=tuple(each.column for each in bound.attacks.nearest.partitions),
        known=parameters.known,
        learner=parameters.learner,
        model=bound.attacks.trees.name if bound.attacks.trees else "",
        copy_rows=bound.profile.copy.rows(),
        searched=len(bound.attacks.nearest.codes),
        tried=bound.trial.rows,
        left_out=bound.profile.left_out,
        **facts,
    )
