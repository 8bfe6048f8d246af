"""``pqd.compare``: several synthetic tables on the same queries, at the cost of one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deciders import SecureNoise
from pqd.accounting.accountant import Accountant
from pqd.accounting.ledger_location import ledger_path
from pqd.commands.compare import run_compare
from pqd.comparison.comparison_parameters import ComparisonParameters
from pqd.parameters import Parameters, privacy_unit
from pqd.sql.workload_files import as_queries
from pqd.stated_budgets import AUTO

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deciders.exact import Number
    from pqd.sql.query import Query
    from reports.models.compare import CompareReport


def compare(  # noqa: PLR0913 - the facts of a comparison, all but three by keyword
    private: object,
    synthetics: Mapping[str, object],
    queries: str | Query | Iterable[str | Query],
    *,
    tau: Number,
    epsilon: Number,
    alpha: Number = 0.05,
    estimator: str = AUTO,
    columns: Mapping[str, Mapping[str, Any]] | None = None,
    weights: Mapping[str, Number] | None = None,
    tolerances: Mapping[str, Number] | None = None,
    references: Number | None = None,
    ledger: str | Path | None = None,
    fresh: bool = False,
    unit: str | None = None,
    max_rows: int = 1,
) -> CompareReport:
    """Compare synthetic tables on ``queries``, at a cost that does not grow with their number.

    Parameters
    ----------
    private
        The private table, as for ``pqd.audit``.
    synthetics
        The candidates by name: paths or frames.  They, and all other arguments, are public.
    queries
        One SQL text, several, or ``pqd.Query`` objects.
    tau
        The tolerance: an amount, or a share of each candidate's own answer such as ``"5%"``.
    epsilon
        Privacy budget per query, whatever the number of candidates.
    alpha
        The error probability that the caller accepts: the level of p-values and intervals, and of
        the leaderboard's bands and pairs, each for all candidates at once.
    estimator
        ``"auto"`` (chosen per query on public data), or the id of one, which is taken for the
        queries that it fits: ``laplace race_to_the_top sum_and_count rank_counts exponential
        split``.
    columns
        Public facts of columns; what is not stated comes from all candidates together.
    weights, tolerances
        By query id: the weight of a query in the leaderboard (1), and a tolerance of its own.
    references
        Also compare two reference tables: independent marginals, measured at this budget, and
        the first candidate resampled.
    ledger, fresh, unit, max_rows
        As for ``pqd.audit``.

    Returns
    -------
    CompareReport
        All of it is ``report.cost.epsilon``-differentially private together: one estimate per
        query, at that query's budget; all else is post-processing or a function of public data.

    Raises
    ------
    PqdError
        As ``pqd.audit``.
    """
    shared = Parameters.parse(
        tau=tau, epsilon=epsilon, alpha=alpha, mechanism=estimator, columns=columns
    )
    accountant = Accountant(ledger_path(private, ledger), fresh=fresh)
    return run_compare(
        private,
        synthetics,
        as_queries(queries),
        ComparisonParameters.parse(shared, weights, tolerances, references),
        SecureNoise(),
        accountant=accountant,
        unit=privacy_unit(unit, max_rows),
    )
