"""The plan: what verdicts will be worth and which decider answers, from public data only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pqd.accounting.composition import price
from pqd.accounting.disjoint_groups import grouped
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.parameters import Criteria, Parameters, privacy_unit
from pqd.planning.binding import prepare
from pqd.planning.choose_decider import AUTO
from pqd.planning.decisions import QueryRequest, asks, examined
from pqd.planning.table_separation import check_separation
from pqd.sql.workload_files import as_queries
from reports.models.plan import PlannedQuery, PlanReport

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from deciders.exact import Number
    from pqd.engine.scan_plan import PrivacyUnit
    from pqd.planning.decisions import Decidable
    from pqd.sql.query import Query


def plan(  # noqa: PLR0913 - the facts of a plan, all but two by keyword
    synthetic: object,
    queries: str | Query | Iterable[str | Query],
    *,
    tau: Number,
    epsilon: Number | None = None,
    alpha: Number = 0.05,
    decider: str = AUTO,
    columns: Mapping[str, Mapping[str, Any]] | None = None,
    unit: str | None = None,
    max_rows: int = 1,
    detailed: bool = False,
) -> PlanReport:
    """Say what a verdict on each query would be worth; reads no private table and costs nothing.

    The arguments are those of ``pqd.audit``; ``detailed`` adds operating characteristics.  Without
    ``epsilon`` the plan gives, per decider, the budget at which ``tau`` becomes decidable.

    Raises
    ------
    PqdError
        QueryError, TableError, ParameterError or DeciderError; the message names the query.
    """
    terms = Criteria.of(
        tau=tau,
        alpha=alpha,
        decider=decider,
        columns=columns,
        detailed=detailed,
        planning=True,
    )
    terms = terms if epsilon is None else terms.at(epsilon)
    return run_plan(synthetic, as_queries(queries), terms, privacy_unit(unit, max_rows))


def run_plan(
    synthetic: object, queries: tuple[Query, ...], terms: Criteria, unit: PrivacyUnit | None = None
) -> PlanReport:
    """Plan ``queries``; see ``plan``."""
    table = open_table(synthetic, "synthetic")
    tables = SyntheticTables([table])
    check_separation(tables)
    asked = [QueryRequest(query, terms) for query in queries]
    found: tuple[Decidable, ...]
    epsilon = total = None
    if isinstance(terms, Parameters):
        priced = prepare(tables, asked, terms.facts, asks, unit=unit)
        shares = [question.share for question in priced.demand() if not question.settled]
        epsilon, total = terms.epsilon, price(grouped(shares)).epsilon
        found, notes, left_out = priced.questions, priced.notes, priced.left_out
    else:
        open_ = prepare(tables, asked, terms.facts, examined, unit=unit)
        found, notes, left_out = open_.demand(), open_.notes, open_.left_out
    return PlanReport(
        tuple(PlannedQuery(**question.facts()) for question in found),
        table.label,
        terms.tolerance.text,
        epsilon,
        terms.alpha,
        notes,
        total,
        left_out,
    )
