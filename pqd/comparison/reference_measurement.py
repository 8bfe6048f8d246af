"""References of a comparison: measured and added before the candidates are judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from pqd.column_facts import stated_kinds
from pqd.comparison.reference_tables import (
    MARGINALS,
    columns_of,
    marginals,
    resampled,
    select_group_counts,
)
from pqd.errors import ParameterError
from pqd.execution import measure, quote_sets
from pqd.planning.bound_workload import QueryRequest
from pqd.progress import Progress, silent, warn
from pqd.reports.text.notes import references_note
from pqd.results import cost_of

if TYPE_CHECKING:
    import pandas as pd

    from pqd.accounting.accountant import Accountant
    from pqd.comparison.candidates import Candidates
    from pqd.comparison.comparison_parameters import ComparisonParameters
    from pqd.comparison.reference_tables import Column, GroupCountPlan
    from pqd.deciders import Noise
    from pqd.engine.scan_plan import PrivacyUnit
    from pqd.planning.estimates import ComparisonPlan
    from pqd.reports.models.audit import Cost
    from pqd.sql.query import Query


@dataclass(frozen=True, slots=True)
class ReferenceRun:
    """Cost of the references, notes on them, and the plan of the comparison without them."""

    cost: Cost
    notes: tuple[str, ...]
    plan: ComparisonPlan


def add_references(  # noqa: PLR0913 - those of a comparison
    candidates: Candidates,
    queries: Sequence[Query],
    parameters: ComparisonParameters,
    epsilon: Fraction,
    noise: Noise,
    progress: Progress = silent,
    *,
    accountant: Accountant | None = None,
    unit: PrivacyUnit | None = None,
) -> ReferenceRun:
    """References, added to the candidates; ``epsilon`` is the total cost of the marginals.

    Refusals come before the marginals are paid for: the budget must reach for the comparison too.

    Raises
    ------
    PqdError
        As ``pqd.compare``.
    """
    if unit:
        raise ParameterError(
            "independent marginals count rows, so that a person with several would be charged "
            "for each value; compare without the references, or without --unit"
        )
    first = candidates.names[0]
    columns, rows = _columns(candidates, queries, parameters)
    candidates.add(f"{first} resampled", resampled(rows), "bootstrap")
    candidates.check_free(MARGINALS)
    plan = _marginals(candidates, queries, parameters, columns, epsilon)
    later = candidates.plan(queries, parameters, unit, progress)
    warn((*plan.measurements.warnings, *later.measurements.warnings), progress)
    charge = quote_sets([plan.measurements], accountant, progress).charge
    # A query that is settled now may not be with one more candidate.
    settled = [each for each in later.comparisons if each.measurement.settled]
    more = sum((each.parameters.epsilon for each in settled), Fraction(0))
    after = replace(charge, epsilon=charge.epsilon + more)
    quote_sets([later.measurements], accountant, progress, after=after)

    outputs = measure([plan.measurements], accountant, noise, progress)
    candidates.add(MARGINALS, marginals(columns, plan, outputs, len(rows)), "marginals")
    notes = (references_note(MARGINALS, epsilon, first),)
    return ReferenceRun(cost_of(outputs.quote, accountant, unit), notes, later)


def _columns(
    candidates: Candidates, queries: Sequence[Query], parameters: ComparisonParameters
) -> tuple[tuple[Column, ...], pd.DataFrame]:
    """Columns of the marginals, and the rows of the first candidate."""
    tables = candidates.public
    names = sorted({name for query in queries for name in query.mentioned})
    return columns_of(tables, names, stated_kinds(parameters.parameters.columns, tables.columns))


def _marginals(
    candidates: Candidates,
    queries: Sequence[Query],
    parameters: ComparisonParameters,
    columns: Sequence[Column],
    epsilon: Fraction,
) -> GroupCountPlan:
    share = parameters.parameters.at(epsilon / max(1, len(columns)))
    requests = [QueryRequest(query, share) for column in columns for query in column.queries]
    plan = select_group_counts(candidates.bind(requests, share.columns, None, queries))
    plan.bound.check()
    return plan
