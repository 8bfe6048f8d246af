"""``pqd audit``: one verdict per query on a private table and its synthetic copy."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqd.accounting.accountant import Accountant
from pqd.accounting.charge_report import reporting_charges
from pqd.batches.mechanisms import RunBudget
from pqd.batches.shared_budget import verdict_plans
from pqd.commands.cell_progress import cell_progress
from pqd.commands.verdicts import look_notes, registered_notes, unlike_sizes, verdicts_of
from pqd.deciders.exact import Number
from pqd.engine.scan_plan import PrivacyUnit
from pqd.keywords import with_keyword_advice
from pqd.parameters import Criteria, Detail, Parameters, privacy_unit
from pqd.planning.binding import all_mistakes, bind
from pqd.planning.bound_workload import QueryRequest
from pqd.planning.query_warnings import with_sizes
from pqd.planning.sure_verdict import limit_of, sure_notes, sure_verdicts
from pqd.planning.table_separation import column_names, separate_tables
from pqd.progress import Progress, Step, silent
from pqd.reports.models.audit import AuditReport
from pqd.reports.text.numbers import EACH_ITS_OWN
from pqd.run.costs import cost_of
from pqd.run.execution import measure
from pqd.run.means import Means
from pqd.sql.query import Query
from pqd.sql.workload_files import as_queries
from pqd.stated.accuracy import Accuracy
from pqd.stated.budgets import AUTO, stated_budgets
from pqd.stated.column_facts import format_of_file
from pqd.stated.metadata_files import MetadataFile, stated_facts
from pqd.stated.queries import check_stated, scaled, stated_for, with_tolerances
from pqd.stated.text_formats import StatedFormat, text_formats

if TYPE_CHECKING:
    from pqd.deciders import Noise


@with_keyword_advice
def audit(  # noqa: PLR0913 - the facts of an audit, all but three by keyword
    private: object,
    synthetic: object,
    queries: str | Query | Iterable[str | Query] | None = None,
    *,
    tau: Number | None = None,
    tolerances: Mapping[str, Number] | None = None,
    epsilon: Number | None = None,
    total_epsilon: Number | None = None,
    sharing: str | None = None,
    alpha: Number = 0.05,
    decider: str = AUTO,
    decider_options: Mapping[str, Number] | None = None,
    columns: Mapping[str, Mapping[str, Any]] | None = None,
    metadata: MetadataFile | None = None,
    ledger: str | Path | None = None,
    dataset: str | None = None,
    fresh: bool = False,
    unit: str | None = None,
    max_rows: int = 1,
    row_is_person: bool = False,
    outside: bool = False,
    private_rows: int | None = None,
    scale: str | None = None,
    text_format: StatedFormat = None,
    detailed: bool = False,
    sure: Number | None = None,
    at_most: Number | None = None,
) -> AuditReport:
    """Decide, per query, whether ``|q(private) - q(synthetic)| < tau``.

    Parameters
    ----------
    private, synthetic
        A path of a file (``.csv``, ``.tsv``, ``.jsonl``, ``.parquet``); a folder or pattern of
        files that are parts of one table; a table of a DuckDB file (``store.duckdb::people``); a
        URL of PostgreSQL (``postgresql://user@host/database?table=schema.name``); a frame of
        pandas, polars (also lazy) or pyarrow; a relation of DuckDB; a dataset of pyarrow; or any
        frame with ``__arrow_c_stream__``. The synthetic table, and all other arguments, are taken
        as public.
    queries
        One SQL text, several SQL texts, or ``pqd.Query`` objects.  ``pqd.profile`` needs no query.
    tau
        The tolerance: an amount in the query's unit, or text such as ``"3.2%"`` of the synthetic
        answer.  It is not needed if every query has a tolerance of its own.
    epsilon, total_epsilon
        Privacy budget of each query, or of all queries together; state exactly one of the two,
        unless ``sure`` is stated.
    sharing
        How queries share ``total_epsilon``.  ``"alone"`` measures each query by itself, at its
        share.  The id of a mechanism makes it answer COUNT or SUM queries together: ``workload``,
        ``joint``, ``identity``, ``numerical``, ``numerical_two``, ``dyadic``, ``normalization``,
        ``global_truncation``, ``clipped_composition``, ``ranges``.  ``"auto"``, the default, takes
        the way that is most often right on test tables made from the copy.
    tolerances
        Tolerances by query id.  They take precedence over the ``tau`` of a ``pqd.Query``, which
        takes precedence over the argument ``tau``.
    alpha
        The error probability that the caller accepts: the level of the p-value and of the
        effectiveness thresholds.
    decider
        ``"auto"`` (the decider that is most often right on test tables made from the copy),
        ``"paper"`` (the least wrong of Patwa 2023's deciders), or the id of a decider.
    decider_options
        Options of the decider that ``decider`` names, such as ``{"beta": 0.01}`` for ``r2t_sum``;
        those left out are the paper's.
    columns
        Public facts of columns, such as ``{"age": {"bounds": (0, 120), "step": 1}}``; other facts
        come from the synthetic table.
    metadata
        A file with facts of columns that ``columns`` does not state, or its content: metadata of
        SDV for one table, or a table schema of Frictionless, as JSON.  Ranges are bounds, lists of
        texts are the cells of a profile.  By default the file ``copy.metadata.json`` beside a copy
        ``copy.csv`` is read, unless the private table lies in the same folder.
    ledger
        The file that keeps account of the private table's budget and replays earlier answers.  By
        default this is the file that the variable ``PQD_LEDGER`` names.  Without the variable it is
        ``pqd-ledger.sqlite`` beside the table, or for a frame in the working folder.
    dataset
        The name of the data set of which the private table is a version, or its number in ``pqd
        ledger show``.  Limits hold for all versions of a data set together.  By default the data
        set is found by the place and by the content of the table.  A frame has no place, so it
        needs a name where the ledger has a limit.
    fresh
        Measure, and pay for, all answers again; replay none.
    unit, max_rows
        A column of the private table, such as ``"patient"``.  All rows with the same value are one
        person.  COUNT then counts persons, and SUM adds up persons' totals.  Where rows count, a
        person counts as at most ``max_rows`` rows: its j rows weigh ``min(1, max_rows / j)`` each.
        By default one row is one person.
    row_is_person
        State that each row is a person.  Without this statement and without a ``unit`` a run stops
        before it spends anything if a column of the copy is named like the key of a person and
        repeats.
    outside
        Take a tenth of a question's epsilon, for a SUM or an AVG without stated bounds, to count
        the rows beyond the copy's bounds, with noise.  Where some lie beyond, a verdict within
        these bounds is withheld.
    private_rows
        The number of rows of the private table, where it may be published.  Nobody compares it with
        the table.  A warning says where the copy has another size.
    scale
        ``"rows"`` if the copy has another size: a COUNT is compared as a share of all rows, a SUM
        per row.  By default both are compared as they are.  The other aggregates do not grow with
        the rows.
    text_format
        A ``pqd.TextFormat``: how numbers, days and missing cells of delimited text are written, in
        both tables; or one for each, as ``{"private": ..., "synthetic": ...}``.  The usual format
        has 1234.5, ISO days, and the usual texts of missing cells (NA, NULL and the like).
    detailed
        Also give every decider's operating characteristic and needed epsilon; this costs only time.
    sure, at_most
        The accuracy in place of a budget: ``"95%"`` or 0.95 is 1 - alpha.  Each query, by itself,
        gets the least epsilon at which nine runs of ten decide it rightly on tables made from the
        copy, as ``pqd.plan`` says.  The run costs at most ``at_most``, or it is refused before
        anything is spent.  Queries that no epsilon decides are refused.

    Returns
    -------
    AuditReport
        The verdicts of this run together are ``report.spent``-differentially private, where
        neighbouring tables differ by one person.  Each verdict is one run of an epsilon-DP decider;
        ``report.cost`` tells how the runs are composed.  The rest of the report depends only on
        public data and on the ledger.

    Raises
    ------
    PqdError
        QueryError, TableError, ParameterError, DeciderError before the private table is read;
        LedgerError or BudgetError before anything is spent; RunError if reading breaks.
    """
    check_stated(queries, "pqd.profile(private, synthetic)")
    accuracy = Accuracy.parse(sure, at_most, stated_budgets(epsilon, total_epsilon, sharing), alpha)
    budget = None if accuracy else RunBudget.parse(epsilon, total_epsilon, sharing)
    facts = stated_facts(
        columns, metadata, private, [synthetic], asks_unit=unit is None and not row_is_person
    )
    formats = text_formats(text_format, format_of_file(facts))
    means = Means.of(private, ledger, dataset=dataset, fresh=fresh, row_is_person=row_is_person)
    private, synthetic = formats.both(private, synthetic)
    with all_mistakes(private, [synthetic], facts, means.accountant):
        parsed = as_queries(() if queries is None else queries)
    workload, tau = with_tolerances(scaled(parsed, scale), tau, tolerances)
    criteria = Criteria.of(
        tau=tau,
        alpha=accuracy.alpha if accuracy else alpha,
        mechanism=decider,
        options=decider_options,
        columns=facts,
        detail=Detail.CURVES if detailed else Detail.THRESHOLDS,
        outside=outside,
        private_rows=private_rows,
    )
    with cell_progress() as progress:
        return run_audit(
            private,
            synthetic,
            workload,
            criteria if budget is None else criteria.at(budget.epsilon),
            means.noise(),
            accountant=means.accountant,
            unit=privacy_unit(unit, max_rows, row_is_person=row_is_person),
            sharing=budget.sharing if budget else None,
            accuracy=accuracy,
            progress=progress,
        )


@reporting_charges()
def run_audit(  # noqa: PLR0913 - the arguments of an audit, parsed
    private: object,
    synthetic: object,
    queries: tuple[Query, ...],
    parameters: Criteria,
    noise: Noise,
    progress: Progress = silent,
    *,
    accountant: Accountant | None = None,
    unit: PrivacyUnit | None = None,
    sharing: str | None = None,
    accuracy: Accuracy | None = None,
    in_full: Collection[str] = (),
) -> AuditReport:
    """Audit with ``noise`` and parsed arguments; see ``pqd.audit``.

    With ``sharing`` the epsilon of ``parameters`` is the total of all queries.  With ``accuracy``
    the parameters have no epsilon.  Without an accountant no account is kept.  The report shows all
    candidates and curves of the queries whose ids are ``in_full``, even if it shows fewer of other
    queries.
    """
    total, criteria = None, parameters
    if sharing is not None and isinstance(parameters, Parameters):
        total, criteria = RunBudget(parameters.epsilon, sharing), parameters.criteria
    tables = separate_tables(
        private, synthetic, accountant=accountant, names=column_names(queries, unit), unit=unit
    )
    progress(Step.READING_COPY)
    full = replace(criteria, detail=Detail.CURVES)
    requests = [QueryRequest.of(q, full if q.id in in_full else criteria) for q in queries]
    bound = with_sizes(bind(tables, requests, criteria.columns, unit), accountant)
    if total:
        bound.check()
        progress(Step.SHARING)
    (plan,) = [sure_verdicts(bound)] if accuracy else verdict_plans([bound], total)
    plan.bound.check(shares_budget=total is not None)
    limit = limit_of(plan, accuracy) if accuracy else None
    outputs = measure(
        [plan.measurements], accountant, noise, progress, command="audit", limit=limit
    )
    verdicts = verdicts_of(plan.verdicts, outputs, tables.label, noise)
    return AuditReport(
        verdicts,
        tables.private_label,
        tables.label,
        stated_for(queries, criteria.tolerance) or EACH_ITS_OWN,
        cost_of(outputs.quote, accountant, unit),
        (
            *plan.bound.notes,
            *sure_notes(plan, accuracy),
            *unlike_sizes(verdicts, plan.bound, criteria.private_rows, outputs, accountant),
            *look_notes(verdicts),
            *registered_notes(plan.verdicts),
        ),
        plan.bound.left_out,
    )
