"""``pqd audit``: one verdict per query on a private table and its synthetic copy."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from pqd.accounting.run_charges import telling_charges
from pqd.batches.shared_budget import SharedBudget, select_sharing
from pqd.execution import measure
from pqd.parameters import Detail
from pqd.planning.binding import bind
from pqd.planning.bound_workload import QueryRequest
from pqd.planning.stated_tolerances import stated_for
from pqd.planning.table_separation import mentioned, separate_tables
from pqd.progress import Progress, silent
from pqd.reports.models.audit import AuditReport
from pqd.reports.text.remarks import stages
from pqd.reports.text.words import MOST_IN_FULL
from pqd.results import cost_of, verdicts_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pqd.accounting.accountant import Accountant
    from pqd.deciders import Noise
    from pqd.engine.scan_plan import PrivacyUnit
    from pqd.parameters import Parameters
    from pqd.planning.decisions import PlannedVerdict
    from pqd.sql.query import Query


@telling_charges()
def run_audit(  # noqa: PLR0913 - those of an audit, read
    private: object,
    synthetic: object,
    queries: tuple[Query, ...],
    parameters: Parameters,
    noise: Noise,
    progress: Progress = silent,
    *,
    accountant: Accountant | None = None,
    unit: PrivacyUnit | None = None,
    sharing: str | None = None,
    in_full: Collection[str] = (),
) -> AuditReport:
    """Audit with ``noise``; see ``pqd.audit``.

    With ``sharing`` the epsilon of ``parameters`` is the total of all queries.  Without an
    accountant no account is kept.  Queries whose ids are ``in_full`` have every candidate and
    curve, whatever the detail of the others.
    """
    budget = None if sharing is None else SharedBudget(parameters.epsilon, sharing)
    criteria = parameters.criteria if budget else parameters
    tables = separate_tables(
        private, synthetic, accountant=accountant, names=mentioned(queries, unit)
    )
    progress(stages.READING_COPY)
    full = replace(criteria, detail=Detail.CURVES)
    requests = [QueryRequest.of(q, full if q.id in in_full else criteria) for q in queries]
    bound = bind(tables, requests, criteria.columns, unit)
    if budget:
        bound.check()
        progress(stages.SHARING)
    (plan,) = select_sharing([bound], budget)
    plan.bound.check()
    _foresee(plan.verdicts)
    outputs = measure([plan.measurements], accountant, noise, progress)
    return AuditReport(
        verdicts_of(plan.verdicts, outputs, tables.label, noise),
        tables.private_label,
        tables.label,
        stated_for(queries, criteria.tolerance),
        cost_of(outputs.quote, accountant, unit),
        plan.bound.notes,
        plan.bound.left_out,
    )


def _foresee(verdicts: Sequence[PlannedVerdict]) -> None:
    """Compute what the lines of verdicts tell, before anything is spent.

    Of as many as any report shows in full; the lines of a longer one, which are few, compute more.
    """
    # Read for their own sake: that computes the error rates of each.
    _ = [verdict.choice.taken.worst for verdict in verdicts[:MOST_IN_FULL]]
    low = (verdict for verdict in verdicts if verdict.choice.taken.needed is not None)
    # And the budget of each that errs too often.
    _ = list(islice(low, MOST_IN_FULL))
