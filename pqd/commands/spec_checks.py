"""Checks of a spec, bound to their tables; each synthetic table is read once for all its checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction

from pqd.accounting.accountant import Accountant
from pqd.attacks.outcomes import KINDS
from pqd.attacks.parameters import RiskParameters
from pqd.attacks.planned_risk import (
    HeldOut,
    PlannedRisk,
    open_held_out,
    plan_risk,
    refuse_spark,
)
from pqd.commands.gates import of_columns, of_lacking, of_unjudged
from pqd.deciders import UnanswerableError
from pqd.deciders.names import names_and_more, nearest_names
from pqd.deciders.note import Note, note
from pqd.deciders.options import option
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import dry_table
from pqd.errors import NothingSelectedError, NotPublicError, PqdError, TableError
from pqd.marginals.bound_distances import BoundDistance, DistanceRequest, bind_distances
from pqd.marginals.bound_profile import BoundProfile, bind_profile, unjudged_columns
from pqd.marginals.profile_parameters import ProfileRequest
from pqd.marginals.table_gate import ColumnConditions, TableGate
from pqd.parameters import Criteria, Detail, privacy_unit
from pqd.planning.binding import bind, column_mistakes
from pqd.planning.bound_workload import BoundWorkload, QueryRequest
from pqd.planning.gate import INVERSE
from pqd.planning.query_verdict import QueryVerdictPlan
from pqd.planning.query_warnings import with_sizes
from pqd.planning.table_separation import check_separation, column_names
from pqd.progress import Progress, Step
from pqd.reports.models.check import CheckResult
from pqd.reports.models.refusals import LeftOut
from pqd.run.gate import ROWS_SHARE
from pqd.spec import Check, Spec
from pqd.spec.schema import ALL_ATTACKS
from pqd.spec.sources import facts_of, open_source, paths_as_written
from pqd.sql.grouping import Bins
from pqd.sql.query import Key, Query
from pqd.sql.schema import fold_case
from pqd.stated.budgets import AUTO
from pqd.stated.column_facts import Facts, cells_of_facts
from pqd.stated.queries import check_counts


@dataclass(frozen=True, slots=True)
class SelectedCheck:
    """Check on one synthetic table, with an id that its queries get."""

    check: Check
    synthetic: str
    id: str


# Names of checks that a message lists.
_LISTED = 8


def selected_checks(spec: Spec, only: str | Sequence[str]) -> list[SelectedCheck]:
    """Checks to run; ``only`` is one name or several: ids of the spec or ids of the report.

    Raises
    ------
    NothingSelectedError
        If the spec has no check, or no check of a stated name.
    """
    if not spec.checks:
        raise NothingSelectedError(f"{spec.path.name} has no [[check]], so there is nothing to do")
    names = [only] if isinstance(only, str) else only
    several = len(spec.synthetic) > 1
    checks = [
        SelectedCheck(check, name, f"{check.id}@{name}" if several else check.id)
        for check in spec.checks
        for name in check.synthetic
    ]
    known = dict.fromkeys(name for each in checks for name in (each.check.id, each.id))
    for name in names:
        if name not in known:
            told = _known_names(name, spec, list(known))
            each = name.replace(",", " ").split()
            if known.keys() >= {*each}:
                told = f"give each by itself: {' '.join(option(f'--only {one}') for one in each)}"
            raise NothingSelectedError(f"{spec.path.name} has no check {name!r}; {told}")
    return [each for each in checks if not names or each.check.id in names or each.id in names]


def judged_checks(
    checks: Sequence[SelectedCheck], facts: Facts
) -> tuple[list[SelectedCheck], tuple[Note, ...]]:
    """Checks but those of a column that is never judged, and a note on these.

    Raises
    ------
    NothingSelectedError
        If no check is left.
    """
    own = {name for name, each in facts.items() if each.judge is False and not each.source}
    aside = {fold_case(name): name for name in facts if name in own}
    kept = [each for each in checks if aside.keys().isdisjoint(map(fold_case, each.check.columns))]
    if len(kept) == len(checks):
        return kept, ()
    used = {fold_case(name) for each in checks for name in each.check.columns}
    columns = tuple(name for folded, name in aside.items() if folded in used)
    if not kept:
        raise NothingSelectedError(
            f"no check is left: all are of {', '.join(columns)}, which judge = false sets aside; "
            "take that line out, or select another check"
        )
    return kept, (note("checks-set-aside", checks=len(checks) - len(kept), columns=columns),)


def _known_names(name: str, spec: Spec, known: Sequence[str]) -> str:
    """Names of checks similar to ``name``, and the number of all checks."""
    number = len(spec.checks)
    if near := nearest_names(name, known, cutoff=0.6):
        verb = "is" if len(near) == 1 else "are"
        return f"the nearest of its {number} {verb} {', '.join(near)}"
    return f"it has {names_and_more([check.id for check in spec.checks], _LISTED)}"


class BoundChecks:
    """Selected checks, bound to their tables; a wrong check is broken and does not stop others.

    Attributes
    ----------
    checks
        The selected checks, in the spec's order.
    workloads
        The bound queries of the checks, by the name of the synthetic table.
    distances
        The bound distances of the checks, by the name of the synthetic table.
    values
        The conditions of the checks of the values of a column, by id.
    risks
        The attacks on each synthetic table that has a check of risk, by its name.
    held_out
        The held-out table, if a check of risk is selected.
    broken
        The errors of checks that cannot be decided, by id.
    notes
        The note on checks that are left out, since the spec sets one of their columns aside.
    lacking
        By the id of a check: the columns that it compares and the copy lacks, though the private
        table has them.  Such a check is not bound.
    unjudged
        By the id of a check: the columns that fail it in public, before anything is measured.  A
        check of a schema is always there, a check of a score only if it fails.
    """

    def __init__(  # noqa: PLR0913 - what a run states
        self,
        spec: Spec,
        only: str | Sequence[str],
        accountant: Accountant | None,
        detail: Detail,
        progress: Progress,
        explained: str | None = None,
        *,
        dry_run: bool = False,
        held_out_accountant: Accountant | None = None,
    ) -> None:
        """Bind the selected checks; the run ends if a table given as public is private.

        The check ``explained`` is evaluated in full, other checks in this ``detail``.  A dry run
        reads no private row.
        """
        self._spec, self._detail, self._explained = spec, detail, explained
        self._accountant = accountant
        self._columns = facts_of(spec)
        self.checks, self.notes = judged_checks(selected_checks(spec, only), self._columns)
        self.broken: dict[str, PqdError] = {}
        self.unjudged: dict[str, tuple[LeftOut, ...]] = {}
        self.unit = privacy_unit(spec.unit, spec.max_rows or 1)
        private = open_source(spec.private, "private", self._columns)
        self.private = dry_table(private) if dry_run else private
        queries = [each for each in self.checks if each.check.sql]
        others = [each for each in self.checks if not (each.check.sql or each.check.risk)]
        self.held_out: HeldOut | None = None
        risky = self._risky()
        if spec.held_out and risky:
            table = open_source(spec.held_out.source, "held-out", self._columns)
            self.held_out = open_held_out(table, held_out_accountant, self.private)
        self._queries = {each.id: self._requests(each) for each in queries}
        self._marginals = {
            each.id: [] if each.check.schema or each.check.column else self._distances(each)
            for each in others
        }
        self._risk_parameters: dict[str, RiskParameters] = {}
        for each in risky:
            try:
                self._risk_parameters[each.id] = self._parameters_of_risk(each)
            except PqdError as error:
                self.broken[each.id] = error
        names = dict.fromkeys(each.synthetic for each in self.checks)
        tables = {name: self._tables(name, accountant) for name in names}
        self.lacking = {
            each.id: lacking
            for each in self.checks
            if each.id not in self.broken
            and (lacking := self._lacking(each, tables[each.synthetic]))
        }
        for name in self.lacking:
            self._queries.pop(name, None)
            self._marginals.pop(name, None)
        progress(Step.READING_COPIES)
        for name in names:
            self._find_unjudged(name, tables[name])
        self.workloads = {
            name: bound for name in names for bound in self._bound(name, tables[name])
        }
        self.distances = {name: self._bound_distances(name, tables[name]) for name in names}
        self.values: dict[str, ColumnConditions] = {}
        self.risks: dict[str, PlannedRisk] = {}
        for name in names:
            self._bind_values(name, tables[name])
            self._bind_risk(name, tables[name])

    def _tables(self, name: str, accountant: Accountant | None) -> SyntheticTables | TableError:
        """Synthetic table, or the error that says why it cannot be used."""
        try:
            with paths_as_written(self._spec):
                table = open_source(self._spec.synthetic[name], "synthetic", self._columns)
                tables = SyntheticTables([table], self.private)
                check_separation(tables, accountant, self._mentioned(), self.unit)
        except NotPublicError:
            raise
        except TableError as error:
            return error
        return tables

    def _find_unjudged(self, name: str, tables: SyntheticTables | TableError) -> None:
        """Find the columns that fail checks of the whole of one synthetic table."""
        whole = [
            each
            for each in self.checks
            if each.synthetic == name and (each.check.schema or each.check.score)
        ]
        if not whole:
            return
        try:
            if isinstance(tables, TableError):
                raise tables
            with paths_as_written(self._spec):
                opened = SyntheticTables(tables.tables, tables.private)
                unjudged = unjudged_columns(opened, self._columns, self.unit)
        except PqdError as error:
            self.broken.update((each.id, error) for each in whole if each.check.schema)
            return
        for each in whole:
            if each.check.schema or unjudged:
                self.unjudged[each.id] = unjudged
                self._marginals[each.id] = []

    def _lacking(
        self, selected: SelectedCheck, tables: SyntheticTables | TableError
    ) -> tuple[str, ...]:
        """Columns of one check that are in the private table alone; only headers are read."""
        if isinstance(tables, TableError) or tables.private is None:
            return ()
        of_copy = set(map(fold_case, tables.tables[0].columns))
        queries = (request.query for request in self._queries.get(selected.id, []))
        named = map(fold_case, (*column_names(queries), *selected.check.columns))
        lacking = set(named) - of_copy
        return tuple(name for name in tables.private.columns if fold_case(name) in lacking)

    def _mentioned(self) -> set[str] | None:
        """Names of the columns that the checks read; None for all columns."""
        whole = (c.schema or c.column or c.risk for c in (each.check for each in self.checks))
        if any(whole):
            return None
        names = column_names((r.query for each in self._queries.values() for r in each), self.unit)
        for marginal in (r.columns for each in self._marginals.values() for r in each):
            if marginal is None:
                return None
            names.update(marginal)
        return names

    def _bound(self, name: str, tables: SyntheticTables | TableError) -> Iterator[BoundWorkload]:
        """Yield the workload on one synthetic table, if it can be read and has queries."""
        checks = [
            each for each in self.checks if each.synthetic == name and each.id in self._queries
        ]
        requests = [request for each in checks for request in self._queries[each.id]]
        if not requests:
            return
        try:
            if isinstance(tables, TableError):
                raise tables
            others = [query for check in self._spec.checks for query in _query_of(check)]
            with paths_as_written(self._spec):
                bound = with_sizes(
                    bind(
                        tables,
                        requests,
                        self._columns,
                        self.unit,
                        others=others,
                        complete_groups=True,
                    ),
                    self._accountant,
                )
        except PqdError as error:
            self.broken.update(dict.fromkeys((each.id for each in checks), error))
            if isinstance(tables, SyntheticTables):
                # A wrong fact of a column stops all; a check with a mistake of its own tells that.
                queries = [request.query for request in requests]
                with suppress(PqdError):
                    self.broken.update(column_mistakes(queries, tables, self._columns))
            return
        yield bound

    def _bound_distances(
        self, name: str, tables: SyntheticTables | TableError
    ) -> tuple[BoundDistance, ...]:
        """Distances to one synthetic table, without refused distances."""
        checks = [
            each for each in self.checks if each.synthetic == name and each.id in self._marginals
        ]
        requests = [request for each in checks for request in self._marginals[each.id]]
        if not requests:
            return ()
        if isinstance(tables, TableError):
            self.broken.update(dict.fromkeys((each.id for each in checks), tables))
            return ()

        opened, private = tables.tables, tables.private
        with paths_as_written(self._spec):
            bound = bind_distances(
                lambda: SyntheticTables(opened, private), requests, self._columns, self.unit
            )
        self.broken.update(bound.errors)
        return bound.distances

    def _bind_values(self, name: str, tables: SyntheticTables | TableError) -> None:
        """Bind the checks of the values of columns of one synthetic table.

        Their tolerances allow for all columns of the table, so they do not depend on which of them
        are checked.
        """
        checks = [
            each
            for each in self.checks
            if each.synthetic == name and each.check.column and each.id not in self.lacking
        ]
        if not checks:
            return
        try:
            if isinstance(tables, TableError):
                raise tables
            known = [each.profile for each in self.distances[name] if each.is_of_pairs]
            profile = known[0] if known else self._profile(tables)
        except PqdError as error:
            self.broken.update(dict.fromkeys((each.id for each in checks), error))
            return
        for each in checks:
            try:
                self.values[each.id] = self._table_gate(each, profile).of_column(
                    each.check.column or ""
                )
            except PqdError as error:
                self.broken[each.id] = error

    def _risky(self) -> list[SelectedCheck]:
        """Checks of risk, without those whose tables are of Spark, which are broken."""
        found = []
        for each in self.checks:
            if self._spec.held_out is None or not each.check.risk:
                continue
            tables = (self._spec.private, self._spec.held_out.source)
            try:
                refuse_spark(*(t.path for t in (*tables, self._spec.synthetic[each.synthetic])))
            except PqdError as error:
                self.broken[each.id] = error
            else:
                found.append(each)
        return found

    def _bind_risk(self, name: str, tables: SyntheticTables | TableError) -> None:
        """Bind the attacks on one synthetic table, which all its checks of risk share.

        All kinds that any check of the spec names are measured together, whatever is selected, so
        a run of one check replays a run of all.
        """
        checks = [
            each
            for each in self.checks
            if each.synthetic == name and each.id in self._risk_parameters
        ]
        if not checks:
            return
        try:
            if isinstance(tables, TableError):
                raise tables
            with paths_as_written(self._spec):
                self.risks[name] = plan_risk(
                    SyntheticTables(tables.tables, tables.private),
                    self._risk_parameters[checks[0].id],
                    self.unit,
                    self.held_out,
                )
        except NotPublicError:
            raise
        except PqdError as error:
            self.broken.update(dict.fromkeys((each.id for each in checks), error))

    def _parameters_of_risk(self, selected: SelectedCheck) -> RiskParameters:
        """Parameters of the attacks on a copy, with the tolerance and the level of one check.

        Raises
        ------
        ParameterError
            If a secret, a known column or a tolerance is wrong; all checks of risk share them.
        """
        terms, check = self._spec.risk, selected.check
        if terms is None:
            raise TypeError("a check of risk needs [risk]")
        on_copy = [c for c in self._spec.checks if c.risk and selected.synthetic in c.synthetic]
        asked = {each.risk for each in on_copy}
        kinds = [kind for kind in KINDS if asked & {kind, ALL_ATTACKS}]
        guesses = "inference" in kinds
        return RiskParameters.parse(
            secrets=terms.secrets if guesses else None,
            known=terms.known if guesses else None,
            learner=terms.learner if guesses else "nearest",
            total_epsilon=terms.total_epsilon,
            tau=check.tau if check.tau is not None else 0,
            alpha=check.alpha,
            attacks=kinds,
            # These are rows, which say nothing of persons.
            private_rows=self._spec.private_rows if self.unit is None else None,
            held_out_rows=self._spec.held_out.rows if self._spec.held_out else None,
            copy_epsilon=self._spec.copy_epsilon.get(selected.synthetic),
            facts=self._columns,
        )

    def attacks_of(self, selected: SelectedCheck) -> tuple[PlannedRisk, RiskParameters]:
        """Attacks on the copy of a check of risk; its own kinds of them, tolerance and level."""
        own = tuple(kind for kind in KINDS if selected.check.risk in {ALL_ATTACKS, kind})
        parameters = replace(self._risk_parameters[selected.id], kinds=own)
        return self.risks[selected.synthetic], parameters

    def _profile(self, tables: SyntheticTables) -> BoundProfile:
        """Columns and pairs of one synthetic table."""
        cells = cells_of_facts(self._columns)
        request = ProfileRequest(distances=("tv",), cells=cells, facts=self._columns)
        with paths_as_written(self._spec):
            return bind_profile(SyntheticTables(tables.tables, tables.private), request, self.unit)

    def _table_gate(self, selected: SelectedCheck, profile: BoundProfile) -> TableGate:
        """Gate that the conditions of one check are part of.

        Without a stated number of private rows the gate releases it, for a share of its epsilon.
        """
        rows, epsilon = self._spec.private_rows, self._spec.gate or Fraction(0)
        return TableGate(
            bound=profile,
            rows=profile.copy_rows if rows is None else rows,
            tau=self._criteria(selected).tolerance.share,
            epsilon=epsilon * (1 - ROWS_SHARE) if rows is None else epsilon,
            alpha=selected.check.alpha,
            rows_epsilon=epsilon * ROWS_SHARE if rows is None else None,
        )

    def _distances(self, selected: SelectedCheck) -> list[DistanceRequest]:
        """Request of the distance of one check; empty if the check is broken."""
        check = selected.check
        try:
            criteria = self._criteria(selected)
            # Refuse a tolerance that is not a share below 1.
            _ = criteria.tolerance.share
        except PqdError as error:
            self.broken[selected.id] = error
            return []
        request = DistanceRequest(
            id=selected.id,
            text=check.sql_text,
            columns=check.marginal,
            distance=check.distance,
            ways=check.ways,
            criteria=criteria,
            alarm=check.alarm is not None,
            relations=check.score == "relations",
        )
        return [request]

    def _criteria(self, selected: SelectedCheck) -> Criteria:
        """Criteria of the verdicts of a check, with the check's own budget if it has one."""
        check = selected.check
        shown = self._explained in {check.id, selected.id}
        criteria = Criteria(
            tolerance=check.tolerance,
            alpha=check.alpha,
            mechanism=check.decider,
            options=check.decider_options,
            columns={},
            detail=Detail.CURVES if shown else self._detail,
            outside=check.outside,
            private_rows=self._spec.private_rows,
        )
        if self._spec.gate is not None:
            return replace(criteria, mechanism=AUTO, options=(), outside=False).at(self._spec.gate)
        return criteria if check.epsilon is None else criteria.at(check.epsilon)

    def _requests(self, selected: SelectedCheck) -> list[QueryRequest]:
        """Requests of the queries of one check; empty if the check is broken."""
        check = selected.check
        try:
            criteria = self._criteria(selected)
            query = Query(check.sql, selected.id, keys=keys_of(check), scale=check.scale)
            if self._spec.gate is not None:
                criteria = replace(criteria, mechanism=INVERSE[query.aggregate])
            queries = Bins.parse(check.bins).of(query) if check.bins else (query,)
            check_counts([query], criteria.tolerance)
        except PqdError as error:
            self.broken[selected.id] = error
            return []
        return [QueryRequest(query, criteria) for query in queries]

    def note_refusals(self, plans: Sequence[QueryVerdictPlan]) -> None:
        """Note that a check is broken if one of its queries is refused."""
        for plan in plans:
            for query, refusal in plan.bound.refusals:
                if query.group:
                    refusal.args = (f"{query.group}: {refusal}",)
                self.broken.setdefault(query.block or query.id or "", refusal)

    def results(
        self,
        result: Callable[[SelectedCheck], CheckResult],
        broken: Callable[[Check, str, PqdError], CheckResult],
    ) -> tuple[CheckResult, ...]:
        """Result of each check, from ``broken`` for a broken check, else from ``result``.

        A check that was decided in public by the columns has a result already.  Where a check of
        the columns fails, the checks of what the copy lacks, and of the values of columns that
        cannot be judged, are not told.
        """
        schemas = {
            each.synthetic: (each.id, {fold_case(one.columns[0]) for one in unjudged})
            for each in self.checks
            if each.check.schema
            and each.check.severity == "error"
            and (unjudged := self.unjudged.get(each.id))
        }

        def of(each: SelectedCheck) -> CheckResult:
            schema, failing = schemas.get(each.synthetic, ("", set[str]()))
            if error := self.broken.get(each.id):
                own = {fold_case(column) for column in each.check.columns}
                if isinstance(error, UnanswerableError) and own and own <= failing:
                    return of_unjudged(each.check, each.id, each.check.columns, schema)
                return broken(each.check, each.id, error)
            if each.id in self.unjudged:
                aside = tuple(name for name, of in self._columns.items() if of.judge is False)
                return of_columns(each.check, each.id, self.unjudged[each.id], aside)
            if lacking := self.lacking.get(each.id):
                return of_lacking(each.check, each.id, lacking, is_told=bool(schema))
            return result(each)

        return tuple(map(of, self.checks))


def _query_of(check: Check) -> list[Query]:
    """List with the query of a check; empty if its SQL is not a valid query."""
    try:
        return [Query(check.sql, check.id)]
    except PqdError:
        return []


def keys_of(check: Check) -> tuple[Key, ...] | None:
    """Groups that a check states, each as a tuple; None if it states none."""
    if check.keys is None:
        return None
    return tuple(key if isinstance(key, tuple) else (key,) for key in check.keys)
