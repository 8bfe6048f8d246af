"""``pqd compare``: one estimate per query, and what it says of every candidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deciders import SecureNoise
from pqd.accounting.accountant import Accountant
from pqd.accounting.composition import NOTHING, OPTIMAL, PARALLEL, SEQUENTIAL
from pqd.accounting.ledger_location import ledger_path
from pqd.columns import kinds
from pqd.commands.comparison_parameters import ComparisonParameters
from pqd.commands.comparison_results import outcome_of
from pqd.commands.leaderboard import leaderboard
from pqd.commands.reference_tables import (
    MARGINALS,
    columns_of,
    marginals,
    resampled,
    select_marginals,
)
from pqd.commands.results import UNRECORDED, cost_of
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import Table, open_table
from pqd.errors import ParameterError
from pqd.execution import Outputs, measure, quoted
from pqd.parameters import Parameters, privacy_unit
from pqd.planning.binding import BoundWorkload, QueryRequest, bind
from pqd.planning.choose_estimator import AUTO
from pqd.planning.estimates import ComparisonPlan, select_estimators
from pqd.planning.table_separation import check_separation
from pqd.progress import Progress, silent
from pqd.sql.workload_files import as_queries
from reports.models.compare import CandidateKind, CompareReport
from reports.text.numbers import epsilon_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from deciders import Noise
    from deciders.exact import Number
    from pqd.commands.leaderboard import Evidence
    from pqd.commands.reference_tables import Column, MarginalPlan
    from pqd.engine.scan_plan import PrivacyUnit
    from pqd.measurement import MeasurementSet
    from pqd.planning.estimates import PlannedComparison
    from pqd.sql.query import Query
    from reports.models.audit import Cost
    from reports.models.refusals import Refused


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
    """Compare synthetic tables on ``queries``, at a price that does not grow with their number.

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
        By query id: what a query counts in the leaderboard (1), and a tolerance of its own.
    references
        Also compare two reference tables: independent marginals, released at this budget, and
        the first candidate resampled.
    ledger, fresh, unit, max_rows
        As for ``pqd.audit``.

    Returns
    -------
    CompareReport
        All of it is ``report.cost.epsilon``-differentially private together: per query, one release
        of that query's budget; all else is post-processing or a function of public data.

    Raises
    ------
    PqdError
        As ``pqd.audit``.
    """
    terms = Parameters.parse(
        tau=tau, epsilon=epsilon, alpha=alpha, mechanism=estimator, columns=columns
    )
    accountant = Accountant(ledger_path(private, ledger), fresh=fresh)
    return run_compare(
        private,
        synthetics,
        as_queries(queries),
        ComparisonParameters.parse(terms, weights, tolerances, references),
        SecureNoise(),
        accountant=accountant,
        unit=privacy_unit(unit, max_rows),
    )


def run_compare(  # noqa: PLR0913 - those of a comparison, read
    private: object,
    synthetics: Mapping[str, object],
    queries: tuple[Query, ...],
    rules: ComparisonParameters,
    noise: Noise,
    progress: Progress = silent,
    *,
    accountant: Accountant | None = None,
    unit: PrivacyUnit | None = None,
) -> CompareReport:
    """Compare with ``noise``; see ``compare``.  Without a purse no account is kept."""
    secret = open_table(private, "private")
    tables = _opened(synthetics)
    check_separation(SyntheticTables(list(tables.values()), secret), accountant)
    run = _Run(secret, tables, queries, rules, unit, progress)
    if rules.references is not None:
        run.refer(rules.references, accountant, noise)
    return run.report(accountant, noise)


def _opened(synthetics: Mapping[str, object]) -> dict[str, Table]:
    if not isinstance(synthetics, Mapping) or not synthetics:
        raise ParameterError('synthetics must be a mapping such as {"a": "a.csv", "b": "b.csv"}')
    names = [str(name) for name in synthetics]
    if len(set(names)) < len(names):
        raise ParameterError(f"two candidates are called alike: {', '.join(names)}")
    return {str(name): open_table(source, "synthetic") for name, source in synthetics.items()}


class _Run:
    """One comparison: its candidates, and what was paid for on the way."""

    def __init__(
        self,
        private: Table,
        tables: dict[str, Table],
        queries: tuple[Query, ...],
        rules: ComparisonParameters,
        unit: PrivacyUnit | None,
        progress: Progress,
    ) -> None:
        # What each is called in messages too: two files may have one name.
        self._files = {name: table.label for name, table in tables.items()}
        self._tables = {name: replace(table, label=name) for name, table in tables.items()}
        self._private, self._queries = private, queries
        self._parameters, self._unit, self._progress = rules, unit, progress
        self._kinds: dict[str, CandidateKind] = dict.fromkeys(tables, "candidate")
        self._costs: list[Cost] = []
        self._notes: list[str] = []
        self._refused: dict[str, Refused] | None = None

    def report(self, accountant: Accountant | None, noise: Noise) -> CompareReport:
        """Estimate, and say what that means for every candidate."""
        plan = self._plan()
        outputs = self._measured(plan.measurements, accountant, noise)
        names = list(self._kinds)
        outcomes = [
            outcome_of(each, outputs, names, self._parameters.weight(each.query), noise)
            for each in plan.comparisons
        ]
        compared = tuple(query for query, _ in outcomes)
        evidence = _merged(plan.comparisons, [evidence for _, evidence in outcomes])
        parameters = self._parameters.parameters
        board, pairs = leaderboard(compared, evidence, self._kinds, parameters.alpha)
        return CompareReport(
            queries=compared,
            leaderboard=board,
            better=pairs,
            candidates={name: self._files.get(name, name) for name in self._tables},
            private=self._private.label,
            tolerance=parameters.tolerance.text,
            alpha=parameters.alpha,
            cost=_added(self._costs),
            notes=(*plan.bound.notes, *dict.fromkeys(self._notes)),
            refused=tuple((self._refused or {}).values()),
        )

    def refer(self, epsilon: Fraction, accountant: Accountant | None, noise: Noise) -> None:
        """Add the reference candidates; what can be refused is, before the first is paid for."""
        if self._unit:
            raise ParameterError(
                "independent marginals count rows, so that a person with several would be charged "
                "for each value; compare without the references, or without --unit"
            )
        first = next(iter(self._tables))
        columns, rows = self._columns()
        self._add(f"{first} resampled", resampled(rows), "bootstrap")
        self._check_free(MARGINALS)
        plan = self._marginals(columns, epsilon)
        self._check_affordable(plan, accountant)
        outputs = self._measured(plan.measurements, accountant, noise)
        drawn = marginals(columns, plan, outputs, len(rows))
        self._add(MARGINALS, drawn, "marginals")
        self._notes.append(
            f"{MARGINALS}: every column of the queries by itself, released at epsilon "
            f"{epsilon_text(epsilon)} in all; resampled: rows of {first} drawn anew."
        )

    def _check_affordable(self, first: MarginalPlan, accountant: Accountant | None) -> None:
        """Refuse if the budget reaches for the marginals but not for what follows.

        What is settled now may not be once there is one more candidate.
        """
        charge = quoted([first.measurements], accountant, self._progress).charge
        plan = self._plan()
        settled = [each for each in plan.comparisons if each.measurement.settled]
        more = sum((each.parameters.epsilon for each in settled), Fraction(0))
        after = replace(charge, epsilon=charge.epsilon + more)
        quoted([plan.measurements], accountant, self._progress, after=after)

    def _plan(self) -> ComparisonPlan:
        self._progress("Reading the synthetic tables")
        bound = self._bound([self._parameters.request(query) for query in self._queries])
        plan = select_estimators(bound)
        plan.bound.check()
        refused = [query for query, _ in plan.bound.refusals]
        self._parameters.check([*(each.query for each in plan.comparisons), *refused])
        if self._refused is None:
            # What the candidates themselves cannot answer is not asked for a reference's sake: what
            # it costs was not weighed before that was paid for.
            self._refused = {each.id: each for each in plan.bound.left_out}
        left = tuple(c for c in plan.comparisons if c.query.id not in self._refused)
        return replace(plan, comparisons=left)

    def _bound(self, requests: Sequence[QueryRequest]) -> BoundWorkload:
        telling = list(self._kinds.values()).count("candidate")
        tables = SyntheticTables(list(self._tables.values()), self._private, telling)
        columns = self._parameters.parameters.columns
        return bind(tables, requests, columns, self._unit, others=self._queries)

    def _columns(self) -> tuple[tuple[Column, ...], pd.DataFrame]:
        """The columns of the marginals, and the rows of the first candidate."""
        tables = SyntheticTables(list(self._tables.values()))
        names = sorted({name for query in self._queries for name in query.mentioned})
        stated = kinds(self._parameters.parameters.columns, tables.columns)
        return columns_of(tables, names, stated)

    def _marginals(self, columns: Sequence[Column], epsilon: Fraction) -> MarginalPlan:
        parameters = self._parameters.parameters.at(epsilon / max(1, len(columns)))
        bound = self._bound(
            [QueryRequest(query, parameters) for column in columns for query in column.queries]
        )
        plan = select_marginals(bound)
        plan.bound.check()
        return plan

    def _measured(
        self, measurements: MeasurementSet, accountant: Accountant | None, noise: Noise
    ) -> Outputs:
        """Outputs of one stage; its cost and what went wrong are noted."""
        outputs = measure([measurements], accountant, noise, self._progress)
        self._costs.append(cost_of(outputs.quote, accountant, self._unit))
        if not outputs.recorded:
            self._notes.append(UNRECORDED)
        return outputs

    def _add(self, name: str, frame: pd.DataFrame, kind: CandidateKind) -> None:
        self._check_free(name)
        table = open_table(frame, "synthetic")
        self._tables[name], self._kinds[name] = replace(table, label=name), kind

    def _check_free(self, name: str) -> None:
        if name in self._tables:
            raise ParameterError(f"a candidate cannot be called {name!r}; give it another name")


def _merged(
    comparisons: Sequence[PlannedComparison], evidence: Sequence[Evidence]
) -> list[Evidence]:
    """Evidence of independent draws: a query under two ids is one of their weight."""
    merged: dict[tuple[object, ...], Evidence] = {}
    for comparison, each in zip(comparisons, evidence, strict=True):
        draw = comparison.measurement.cache_key, comparison.intervals
        before = merged.get(draw)
        merged[draw] = replace(each, weight=each.weight + (before.weight if before else 0))
    return list(merged.values())


def _added(costs: Sequence[Cost]) -> Cost:
    """Return what the stages of a run cost together; what the ledger holds is told by the last."""
    rules = [cost.rule for cost in costs]
    strongest = max(rules, key=(NOTHING, SEQUENTIAL, PARALLEL, OPTIMAL).index)
    return replace(
        costs[-1],
        epsilon=sum((cost.epsilon for cost in costs), Fraction(0)),
        delta=sum((cost.delta for cost in costs), Fraction(0)),
        rule=strongest,
        groups=tuple(group for cost in costs for group in cost.groups),
    )
