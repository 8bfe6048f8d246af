"""Candidates of a comparison: synthetic tables by name, including reference tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pqd.accounting.accountant import Accountant
from pqd.comparison.comparison_parameters import ComparisonParameters
from pqd.engine.scan_plan import PrivacyUnit
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import Table, open_table
from pqd.errors import ParameterError
from pqd.planning.binding import bind
from pqd.planning.bound_workload import BoundWorkload, QueryRequest
from pqd.planning.planned_comparison import ComparisonPlan, select_estimators, with_fit_note
from pqd.planning.query_warnings import with_sizes
from pqd.planning.table_separation import check_separation
from pqd.progress import Progress, Step, silent
from pqd.reports.models.compare import CandidateKind
from pqd.sql.query import Query
from pqd.stated.column_facts import Facts

if TYPE_CHECKING:
    import pandas as pd


class Candidates:
    """Tables that are compared, and the private table.

    Attributes
    ----------
    private
        The private table.
    files
        The label of each candidate's file; two files may have the same name.
    kinds
        The kind of each candidate: given by the caller, or a reference.
    cells_from
        The public table that gives cells; None for each candidate's own.
    """

    def __init__(
        self,
        private: object,
        synthetics: Mapping[str, object],
        accountant: Accountant | None,
        names: Collection[str] | None = (),
        unit: PrivacyUnit | None = None,
        cells_from: object | None = None,
    ) -> None:
        """Open the tables, and check that no public table is private.

        The check reads the columns ``names`` (None means all), which the run needs later too.
        ``cells_from`` is a public table whose cells all candidates share.

        Raises
        ------
        PqdError
            If there is no candidate, if a candidate cannot be opened, and as ``check_separation``.
        """
        self.private, self._accountant = open_table(private, "private"), accountant
        tables = _opened(synthetics)
        self.cells_from = None if cells_from is None else open_table(cells_from, "synthetic")
        every = SyntheticTables(list(tables.values()), self.private, cells_from=self.cells_from)
        check_separation(every, accountant, names, unit)
        self.private = every.private or self.private
        self.files = {name: table.label for name, table in tables.items()}
        self.kinds: dict[str, CandidateKind] = dict.fromkeys(tables, "candidate")
        self._tables = {name: replace(table, label=name) for name, table in tables.items()}

    @property
    def names(self) -> list[str]:
        """Names of the candidates, references last."""
        return list(self._tables)

    @property
    def tables(self) -> SyntheticTables:
        """Synthetic tables and the private table."""
        tables = list(self._tables.values())
        return SyntheticTables(tables, self.private, cells_from=self.cells_from)

    @property
    def public(self) -> SyntheticTables:
        """Synthetic tables without the private table."""
        return SyntheticTables(list(self._tables.values()))

    def bind(
        self,
        requests: Sequence[QueryRequest],
        columns: Facts,
        unit: PrivacyUnit | None,
        others: Sequence[Query],
    ) -> BoundWorkload:
        """Workload of ``requests`` on all candidates; bounds and groups ignore the references."""
        stating = list(self.kinds.values()).count("candidate")
        tables = SyntheticTables(list(self._tables.values()), self.private, stating)
        return bind(tables, requests, columns, unit, others=others)

    def plan(
        self,
        queries: Sequence[Query],
        parameters: ComparisonParameters,
        unit: PrivacyUnit | None,
        progress: Progress = silent,
    ) -> ComparisonPlan:
        """Plan to compare all candidates on every query; each query has an estimator.

        Raises
        ------
        PqdError
            If a query is wrong, or a weight has the id of no query.
        """
        progress(Step.READING_COPIES)
        requests = [parameters.request(query) for query in queries]
        columns = parameters.parameters.columns
        own = [name for name, kind in self.kinds.items() if kind == "candidate"]
        bound = with_sizes(self.bind(requests, columns, unit, queries), self._accountant, own)
        plan = select_estimators(bound)
        plan.bound.check()
        plan = with_fit_note(plan, parameters.parameters.mechanism)
        refused = [query for query, _ in plan.bound.refusals]
        parameters.check([*(each.query for each in plan.comparisons), *refused])
        return plan

    def add(self, name: str, frame: pd.DataFrame, kind: CandidateKind) -> None:
        """Add a reference; ParameterError if a candidate has its name."""
        self.check_free(name)
        self._tables[name] = replace(open_table(frame, "synthetic"), label=name)
        self.kinds[name] = kind

    def check_free(self, name: str) -> None:
        """Raise ParameterError if a candidate has this name."""
        if name in self._tables:
            raise ParameterError(f"a candidate cannot be called {name!r}; give it another name")


def _opened(synthetics: Mapping[str, object]) -> dict[str, Table]:
    if not isinstance(synthetics, Mapping) or not synthetics:
        raise ParameterError('synthetics must be a mapping such as {"a": "a.csv", "b": "b.csv"}')
    names = [str(name) for name in synthetics]
    if len(set(names)) < len(names):
        raise ParameterError(f"two candidates have one name: {', '.join(names)}")
    return {str(name): open_table(source, "synthetic") for name, source in synthetics.items()}
