"""``pqd risk``: whether the copy gives anybody away, by attacks that see the copy alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqd.accounting.accountant import Accountant
from pqd.accounting.charge_report import reporting_charges
from pqd.attacks.parameters import USUAL_EPSILON, USUAL_TAU, RiskParameters
from pqd.attacks.planned_risk import (
    HeldOut,
    PlannedRisk,
    RiskRequest,
    measure_held_out,
    open_both,
    plan_risk,
    quote_both,
    risk_plan,
    risk_reports,
)
from pqd.commands.cell_progress import cell_progress
from pqd.deciders.exact import Number
from pqd.engine.scan_plan import PrivacyUnit
from pqd.keywords import with_keyword_advice
from pqd.parameters import privacy_unit
from pqd.planning.table_separation import separate_tables
from pqd.progress import Progress, Step, silent
from pqd.reports.models.risk import RiskReport
from pqd.run.execution import measure
from pqd.run.means import Means
from pqd.stated.column_facts import format_of_file
from pqd.stated.metadata_files import MetadataFile, stated_facts
from pqd.stated.text_formats import StatedFormat, text_formats

if TYPE_CHECKING:
    from pqd.deciders import Noise


@with_keyword_advice
def risk(  # noqa: PLR0913 - the facts of a risk report, all but two by keyword
    private: object,
    synthetic: object,
    *,
    held_out: object | None = None,
    total_epsilon: Number = USUAL_EPSILON,
    tau: Number = USUAL_TAU,
    alpha: Number = 0.05,
    columns: Sequence[str] | None = None,
    secrets: Sequence[str] | None = None,
    known: Sequence[str] | None = None,
    attacks: Sequence[str] | None = None,
    learner: str = "nearest",
    copy_epsilon: Number | None = None,
    facts: Mapping[str, Mapping[str, Any]] | None = None,
    metadata: MetadataFile | None = None,
    unit: str | None = None,
    row_is_person: bool = False,
    ledger: str | Path | None = None,
    dataset: str | None = None,
    held_out_dataset: str | None = None,
    fresh: bool = False,
    text_format: StatedFormat = None,
    private_rows: int | None = None,
    held_out_rows: int | None = None,
    dry_run: bool = False,
) -> RiskReport:
    """Success of attacks on the copy: copied rows, membership, linkability, singling out, guesses.

    Parameters
    ----------
    private, synthetic
        As for ``pqd.audit``: the synthetic table, and all other arguments, are public.
    held_out
        A table of rows of the same population that the generator never saw, and of other persons
        than the private rows.  It is private too, and is charged ``total_epsilon`` in an account
        of its own.  Without it there are rates, but no verdicts.
    total_epsilon
        Privacy budget of the whole report; by default 1.
    tau
        The tolerance: how much more often an attack may succeed on private rows than on held-out
        rows, ``"1%"`` (one percentage point).
    alpha
        The error probability that the caller accepts, of each interval and each verdict.
    columns
        Names of the columns that attacks use; by default all columns except identifiers and free
        text.
    secrets
        Names of the columns that an attacker guesses, at most 8; by default the three columns of
        texts that the copy's own rows give away most.
    known
        Names of the columns that an attacker knows; by default all but the secret.
    attacks
        Kinds of attacks to try, such as ``["copied", "inference"]``; by default all.  Fewer attacks
        have less noise at the same budget.
    learner
        The way in which a secret is guessed: ``"nearest"``, by the nearest row of the copy, or
        ``"trees"``, by boosted trees that learn from the copy alone (the extra ``learn``).
    copy_epsilon
        The epsilon with which the copy was made, if its generator is differentially private.  It
        bounds what any attack can gain, which the report shows beside.
    facts
        Public facts of columns, as ``columns`` of ``pqd.audit``: ``{"zip": {"type": "text"}}``.
    metadata
        As for ``pqd.profile``.
    unit
        A column of the private table and of the held-out table, such as ``"patient"``.  All rows
        with the same value are one person, and each of a person's j rows weighs ``1 / j``.
    row_is_person, ledger, dataset, fresh, text_format
        As for ``pqd.audit``; ``dataset`` is that of the private table, and the held-out table has
        the format of the private table.
    held_out_dataset
        The name of the data set of which the held-out table is a version, as ``dataset``.
    dry_run
        Only plan and quote, from the copy alone: which attacks can be decided at ``tau``, what
        would decide the others, and the price on both tables.  No private row is read and nothing
        is spent.  Without ``held_out`` the plan is of a run with ``held_out_rows`` of them.
    private_rows, held_out_rows
        The numbers of rows (or persons) that a dry run takes for granted, where they may be
        published; by default as many as the copy has.

    Returns
    -------
    RiskReport
        The whole report is ``report.cost.epsilon``-differentially private for whoever is in the
        private table, and ``report.held_out_cost.epsilon``-differentially private for whoever is
        in the held-out table.

    Raises
    ------
    PqdError
        As ``pqd.audit``.
    """
    stated = stated_facts(
        facts, metadata, private, [synthetic], asks_unit=unit is None and not row_is_person
    )
    formats = text_formats(text_format, format_of_file(stated))
    parameters = RiskParameters.parse(
        total_epsilon=total_epsilon,
        tau=tau,
        alpha=alpha,
        columns=columns,
        secrets=secrets,
        known=known,
        attacks=attacks,
        learner=learner,
        copy_epsilon=copy_epsilon,
        private_rows=private_rows,
        held_out_rows=held_out_rows,
        facts=stated,
    )
    people = privacy_unit(unit, 1, row_is_person=row_is_person)

    def means(table: object, name: str | None) -> Means:
        return Means.of(table, ledger, dataset=name, fresh=fresh, row_is_person=row_is_person)

    own = means(private, dataset)
    other = None if held_out is None else means(held_out, held_out_dataset)
    private, synthetic = formats.both(private, synthetic)
    held_out = formats.table(held_out, "held-out")
    with cell_progress() as progress:
        if dry_run:
            return run_risk_plan(
                private,
                synthetic,
                parameters,
                progress,
                held_out=held_out,
                accountant=own.accountant,
                held_out_accountant=None if other is None else other.accountant,
                unit=people,
            )
        return run_risk(
            private,
            synthetic,
            parameters,
            own.noise(),
            progress,
            held_out=held_out,
            accountant=own.accountant,
            held_out_accountant=None if other is None else other.accountant,
            unit=people,
        )


@reporting_charges()
def run_risk(  # noqa: PLR0913 - two private tables, each with its account
    private: object,
    synthetic: object,
    parameters: RiskParameters,
    noise: Noise,
    progress: Progress = silent,
    *,
    held_out: object | None = None,
    accountant: Accountant | None = None,
    held_out_accountant: Accountant | None = None,
    unit: PrivacyUnit | None = None,
) -> RiskReport:
    """Risk report with ``noise``; see ``pqd.risk``.  Without accountants no account is kept.

    Both budgets are checked before either is spent.
    """
    parameters.check_measured()
    planned, other = _planned(
        private, synthetic, held_out, parameters, progress, (accountant, held_out_accountant), unit
    )
    quote_both([planned.own], [planned], accountant, other, progress)
    outputs = measure([planned.own], accountant, noise, progress, command="risk")
    held = measure_held_out([planned], other, noise, progress, command="risk")
    (report,) = risk_reports(
        [planned], outputs, held, accountant=accountant, held_out=other, noise=noise
    )
    return report


def run_risk_plan(  # noqa: PLR0913 - two private tables, each with its account
    private: object,
    synthetic: object,
    parameters: RiskParameters,
    progress: Progress = silent,
    *,
    held_out: object | None = None,
    accountant: Accountant | None = None,
    held_out_accountant: Accountant | None = None,
    unit: PrivacyUnit | None = None,
) -> RiskReport:
    """Plan of a risk report, from the copy alone: which attacks can be decided, and the price."""
    accountants = (accountant, held_out_accountant)
    planned, other = _planned(
        private, synthetic, held_out, parameters, progress, accountants, unit, dry=True
    )
    return risk_plan(planned, accountant, other, progress)


def _planned(  # noqa: PLR0913 - three tables and two accounts
    private: object,
    synthetic: object,
    held_out: object | None,
    parameters: RiskParameters,
    progress: Progress,
    accountants: tuple[Accountant | None, Accountant | None],
    unit: PrivacyUnit | None,
    *,
    dry: bool = False,
) -> tuple[PlannedRisk, HeldOut | None]:
    """Planned risk report, and its held-out table; a dry run reads no row of a private table."""
    accountant, other_accountant = accountants
    request = RiskRequest(
        total_epsilon=parameters.total_epsilon, held_out=held_out, accountant=other_accountant
    )
    secret, other = open_both(private, request, synthetic, dry=dry)
    names = parameters.request.column_names(unit)
    tables = separate_tables(secret, synthetic, accountant=accountant, names=names, unit=unit)
    progress(Step.READING_COPY)
    return plan_risk(tables, parameters, unit, other), other
