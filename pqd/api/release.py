"""``pqd.release``: private answers to a whole workload under one budget."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqd.accounting.accountant import Accountant
from pqd.accounting.ledger_location import ledger_path
from pqd.api.cell_progress import cell_progress
from pqd.commands.release import check_unit, run_release
from pqd.deciders import SecureNoise
from pqd.engine.sources.export import check_new
from pqd.parameters import Parameters
from pqd.sql.workload_files import as_queries
from pqd.stated_budgets import AUTO, total_budget

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pqd.deciders.exact import Number
    from pqd.reports.models.release import ReleaseReport
    from pqd.sql.query import Query


def release(  # noqa: PLR0913 - the facts of a release, all but three by keyword
    private: object,
    synthetic: object,
    queries: str | Query | Iterable[str | Query],
    *,
    total_epsilon: Number,
    mechanism: str = AUTO,
    alpha: Number = 0.05,
    columns: Mapping[str, Mapping[str, Any]] | None = None,
    ledger: str | Path | None = None,
    fresh: bool = False,
    unit: str | None = None,
    table: str | Path | None = None,
) -> ReleaseReport:
    """Answer a workload of COUNT and SUM queries on the private table, under one budget.

    Parameters
    ----------
    private, synthetic
        As for ``pqd.audit``: the synthetic table, and all other arguments, are public.
    queries
        One SQL text, several, or ``pqd.Query`` objects: COUNT(*), COUNT(column), SUM(expression).
    total_epsilon
        Privacy budget of all queries together.
    mechanism
        ``"auto"`` (least simulated error on the synthetic table), or ``workload``, ``identity``,
        ``numerical``, ``numerical_two``, ``dyadic``, ``normalization``, ``global_truncation``,
        ``clipped_composition``, ``ranges``.
    alpha
        One minus the level of the intervals ``low .. high`` of single answers.
    columns
        Public facts of columns; what is not stated comes from the synthetic table.
    ledger, fresh
        As for ``pqd.audit``.
    unit
        Not yet: one row is one person.
    table
        A new file (``.parquet`` or ``.csv``) for rows of the synthetic table drawn anew, so that
        they agree with the released answers: post-processing, at no further cost.

    Returns
    -------
    ReleaseReport
        The answers drawn are ``report.cost.epsilon``-differentially private together: queries that
        sum up one thing are one batch, whose mechanism is differentially private at the share of
        the total that its number of queries is of all; shares add up.

    Raises
    ------
    PqdError
        As ``pqd.audit``.
    UnwrittenTableError
        ``table`` could not be written.  Its ``report`` has the answers, which are paid for; asked
        again they cost nothing.
    """
    check_unit(unit)
    # A release has no tolerance; that parameter is not used.
    parameters = Parameters.parse(
        tau=1,
        epsilon=total_budget(total_epsilon),
        alpha=alpha,
        mechanism=mechanism,
        columns=columns,
    )
    accountant = Accountant(ledger_path(private, ledger), fresh=fresh)
    workload = as_queries(queries)
    target = None if table is None else check_new(table)
    with cell_progress() as told:
        return run_release(
            private,
            synthetic,
            workload,
            parameters,
            SecureNoise(),
            accountant=accountant,
            table=target,
            progress=told,
        )
