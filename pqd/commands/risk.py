"""``pqd risk``: whether the copy gives anybody away, by attacks that see the copy alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqd.accounting.accountant import Accountant, Quote
from pqd.accounting.charge_report import reporting_charges
from pqd.attacks.bound_risk import BoundRisk, bind_risk
from pqd.attacks.figures import attack_facts, curve_points, roc_points, rows_figure
from pqd.attacks.parameters import USUAL_EPSILON, USUAL_TAU, RiskParameters
from pqd.commands.cell_progress import cell_progress
from pqd.deciders import ParameterError
from pqd.deciders.exact import Number
from pqd.deciders.options import option, with_option
from pqd.engine.scan_plan import PrivacyUnit
from pqd.engine.sources.source import place_key
from pqd.engine.sources.spark_address import is_spark
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import Table, open_table
from pqd.errors import TableError
from pqd.keywords import with_keyword_advice
from pqd.parameters import privacy_unit
from pqd.planning.table_separation import separate_tables
from pqd.progress import Progress, Step, silent
from pqd.reports.models.risk import RiskReport
from pqd.run.costs import cost_of
from pqd.run.execution import measure, quote_sets
from pqd.run.means import Means
from pqd.run.measurement import MeasurementSet
from pqd.sql.schema import fold_case
from pqd.stated.column_facts import format_of_file
from pqd.stated.metadata_files import MetadataFile, stated_facts
from pqd.stated.text_formats import StatedFormat, text_formats

if TYPE_CHECKING:
    from pqd.deciders import Noise

_SPARK = (
    "a risk report reads its tables in this process, and cannot read a table of Spark yet; give a "
    "file, a frame or a database table"
)
_OTHERS = "give rows of other persons, which the generator never saw"


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
        rows, ``"1%"`` (one percentage point) or ``0.01``.
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
        copy_epsilon=copy_epsilon,
        facts=stated,
    )
    people = privacy_unit(unit, 1, row_is_person=row_is_person)

    def means(table: object, name: str | None) -> Means:
        return Means.of(table, ledger, dataset=name, fresh=fresh, row_is_person=row_is_person)

    own = means(private, dataset)
    other = None if held_out is None else means(held_out, held_out_dataset)
    with cell_progress() as progress:
        return run_risk(
            formats.table(private, "private"),
            formats.table(synthetic, "synthetic"),
            parameters,
            own.noise(),
            progress,
            held_out=formats.table(held_out, "private"),
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
    for given in (private, held_out, synthetic):
        if is_spark(given):
            raise ParameterError(_SPARK)
    names = parameters.request.column_names(unit)
    secret = open_table(private, "private")
    other = None if held_out is None else _held_out(held_out, secret)
    tables = separate_tables(secret, synthetic, accountant=accountant, names=names, unit=unit)
    others = other and separate_tables(
        other, synthetic, accountant=held_out_accountant, names=names, unit=unit
    )
    progress(Step.READING_COPY)
    bound = bind_risk(tables, parameters, unit)
    own = bound.profile.measurement_set([measurement := bound.measurement(parameters)])
    apart = others and _held_out_set(bound, own, others)
    if apart:
        # If one of the budgets does not cover the report, refuse before the other is spent.
        quote = quote_sets([own], accountant, progress)
        with with_option("--held-out-dataset", "--dataset"):
            other_quote = quote_sets([apart], held_out_accountant, progress)
        _check_other_rows(quote, other_quote, accountant, held_out_accountant)
    outputs = measure([own], accountant, noise, progress, command="risk")
    released = measurement.released(outputs[measurement].numbers)
    compared, held_out_cost, replayed = None, None, not outputs.quote.new
    if apart:
        held = measure([apart], held_out_accountant, noise, progress, command="risk")
        compared = measurement.released(held[measurement].numbers)
        held_out_cost = cost_of(held.quote, held_out_accountant, unit)
        replayed = replayed and not held.quote.new
    profile = bound.profile
    return RiskReport(
        private=tables.private_label,
        synthetic=profile.label,
        held_out=others.private_label if others else None,
        total_epsilon=parameters.total_epsilon,
        tolerance=parameters.tolerance,
        alpha=parameters.alpha,
        attacks=attack_facts(bound, parameters, released, compared),
        curve=curve_points(bound, parameters, released, compared),
        roc=roc_points(bound, parameters, released, compared),
        copy_epsilon=parameters.copy_epsilon,
        columns=tuple(each.column for each in bound.attacks.nearest.partitions),
        known=parameters.known,
        rows=rows_figure(released, parameters),
        held_out_rows=rows_figure(compared, parameters) if compared else None,
        copy_rows=profile.copy.rows(),
        searched=len(bound.attacks.nearest.codes),
        tried=bound.trial.rows,
        cost=cost_of(outputs.quote, accountant, unit),
        held_out_cost=held_out_cost,
        left_out=profile.left_out,
        notes=profile.notes,
        replayed=replayed,
        simulated=noise.simulated,
    )


def _held_out(given: object, private: Table) -> Table:
    """Held-out table, opened.

    Raises
    ------
    ParameterError
        If it is the private table itself, or shares a file or a database table with it.
    """
    table = open_table(given, "private")
    same = table.given is private.given and not table.source.places
    own = set(map(place_key, private.source.places))
    if same or any(place_key(each) in own for each in table.source.places):
        raise ParameterError(
            f"the held-out table ({option('--held-out')}) is the private table, or shares a part "
            f"with it; {_OTHERS}. Nothing was spent"
        )
    return table


def _check_other_rows(
    own: Quote,
    other: Quote,
    accountant: Accountant | None,
    held_out_accountant: Accountant | None,
) -> None:
    """Refuse held-out rows that one ledger recognises as the private rows.

    Whole tables are compared, as a copy is with the private table (docs/limitations.md).
    """
    one, two = own.table, other.table
    if one is None or two is None or accountant is None or held_out_accountant is None:
        return
    if accountant.path == held_out_accountant.path and one.fingerprint == two.fingerprint:
        raise ParameterError(
            f"the held-out table ({option('--held-out')}) holds the same rows as the private "
            f"table; {_OTHERS}. Nothing was spent"
        )


def _held_out_set(bound: BoundRisk, own: MeasurementSet, tables: SyntheticTables) -> MeasurementSet:
    """Same measurement, on the held-out table.

    Raises
    ------
    TableError
        If the held-out table lacks a column that the attacks use.
    """
    table = tables.private
    if table is None:
        raise TypeError("there is no held-out table")
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
