"""``pqd compare``: one private release per query, and what it says of every candidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deciders import SecureNoise
from pqd.accounting.composition import NOTHING, OPTIMAL, PARALLEL, SEQUENTIAL
from pqd.accounting.ledger_location import ledger_path
from pqd.columns import kinds
from pqd.commands.audit import UNRECORDED, cost_of, part_of
from pqd.commands.comparison_parameters import ComparisonParameters
from pqd.commands.comparison_results import outcome_of
from pqd.commands.leaderboard import leaderboard
from pqd.commands.reference_tables import MARGINALS, columns_of, counting, marginals, resampled
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import Table, open_table
from pqd.errors import ParameterError
from pqd.execution import Accountant, Outputs, Part, measure, quote_of
from pqd.parameters import Parameters, privacy_unit
from pqd.planning.decisions import QueryRequest
from pqd.planning.estimates import AUTO, Contest, contest_of
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
    from pqd.commands.reference_tables import Column, Marginal
    from pqd.engine.scan_plan import PrivacyUnit
    from pqd.planning.binding import Made, Maker
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
        tau=tau, epsilon=epsilon, alpha=alpha, decider=estimator, columns=columns
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
        self._rules, self._unit, self._progress = rules, unit, progress
        self._kinds: dict[str, CandidateKind] = dict.fromkeys(tables, "candidate")
        self._costs: list[Cost] = []
        self._notes: list[str] = []
        self._refused: dict[str, Refused] | None = None

    def report(self, accountant: Accountant | None, noise: Noise) -> CompareReport:
        """Release, and say what that means for every candidate."""
        part = self._contests()
        answers = self._paid(part, accountant, noise)
        names = list(self._kinds)
        outcomes = [
            outcome_of(contest, answers, names, self._rules.weight(contest.query), noise)
            for contest in part.prepared.questions
        ]
        compared = tuple(query for query, _ in outcomes)
        terms = self._rules.terms
        evidence = _merged(part.prepared.questions, [found for _, found in outcomes])
        board, pairs = leaderboard(compared, evidence, self._kinds, terms.alpha)
        return CompareReport(
            queries=compared,
            leaderboard=board,
            better=pairs,
            candidates={name: self._files.get(name, name) for name in self._tables},
            private=part.private.label,
            tolerance=terms.tolerance.text,
            alpha=terms.alpha,
            cost=_added(self._costs),
            notes=(*part.prepared.notes, *dict.fromkeys(self._notes)),
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
        part = self._marginals(columns, epsilon)
        self._check_affordable(part, accountant)
        answers = self._paid(part, accountant, noise)
        drawn = marginals(columns, part.prepared.questions, answers, len(rows))
        self._add(MARGINALS, drawn, "marginals")
        self._notes.append(
            f"{MARGINALS}: every column of the queries by itself, released at epsilon "
            f"{epsilon_text(epsilon)} in all; resampled: rows of {first} drawn anew."
        )

    def _check_affordable(self, marginals: Part[Marginal], accountant: Accountant | None) -> None:
        """Refuse if the budget reaches for the marginals but not for what follows.

        What is settled now may not be once there is one more candidate.
        """
        first = quote_of([marginals], accountant, self._progress).charge
        contests = self._contests()
        settled = [c for c in contests.prepared.questions if c.release.settled]
        more = sum((contest.terms.epsilon for contest in settled), Fraction(0))
        after = replace(first, epsilon=first.epsilon + more)
        quote_of([contests], accountant, self._progress, after=after)

    def _contests(self) -> Part[Contest]:
        self._progress("Reading the synthetic tables")
        asked = [self._rules.asked(query) for query in self._queries]
        part = self._part(asked, contest_of)
        questions, prepared = part.prepared.demand(), part.prepared
        self._rules.check(
            [*(c.query for c in questions), *(query for query, _ in prepared.refused)]
        )
        if self._refused is None:
            # What the candidates themselves cannot answer is not asked for a reference's sake: what
            # it costs was not weighed before that was paid for.
            self._refused = {each.id: each for each in prepared.left_out}
        left = tuple(c for c in questions if c.query.id not in self._refused)
        return replace(part, prepared=replace(prepared, questions=left))

    def _part(self, asked: Sequence[QueryRequest], make: Maker[Made]) -> Part[Made]:
        telling = list(self._kinds.values()).count("candidate")
        tables = SyntheticTables(list(self._tables.values()), self._private, telling)
        return part_of(tables, asked, self._rules.terms.facts, make, self._unit, self._queries)

    def _columns(self) -> tuple[tuple[Column, ...], pd.DataFrame]:
        """Return the columns of the marginals, and the rows of the first candidate."""
        tables = SyntheticTables(list(self._tables.values()))
        names = sorted({name for query in self._queries for name in query.mentioned})
        return columns_of(tables, names, kinds(self._rules.terms.facts, tables.columns))

    def _marginals(self, columns: Sequence[Column], epsilon: Fraction) -> Part[Marginal]:
        terms = self._rules.terms.at(epsilon / max(1, len(columns)))
        asked = [QueryRequest(query, terms) for column in columns for query in column.queries]
        part = self._part(asked, counting)
        part.prepared.demand()
        return part

    def _paid(self, part: Part[Any], accountant: Accountant | None, noise: Noise) -> Outputs:
        """Return the answers of one stage; its cost and what went wrong are noted."""
        answers = measure([part], accountant, noise, self._progress)
        self._costs.append(cost_of(answers.quote, accountant, self._unit))
        if not answers.recorded:
            self._notes.append(UNRECORDED)
        return answers

    def _add(self, name: str, frame: pd.DataFrame, kind: CandidateKind) -> None:
        self._check_free(name)
        table = open_table(frame, "synthetic")
        self._tables[name], self._kinds[name] = replace(table, label=name), kind

    def _check_free(self, name: str) -> None:
        if name in self._tables:
            raise ParameterError(f"a candidate cannot be called {name!r}; give it another name")


def _merged(contests: Sequence[Contest], evidence: Sequence[Evidence]) -> list[Evidence]:
    """Return evidence of independent draws: a query under two ids is one of their weight."""
    found: dict[tuple[object, ...], Evidence] = {}
    for contest, each in zip(contests, evidence, strict=True):
        asked = contest.release.key, contest.intervals
        before = found.get(asked)
        found[asked] = replace(each, weight=each.weight + (before.weight if before else 0))
    return list(found.values())


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
