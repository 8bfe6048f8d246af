"""Model of ``pqd compare``: one private estimate per query judges several synthetic tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pqd.reports.models.board import BoardReport, BoardRow
from pqd.reports.models.report import data_frame
from pqd.reports.models.standings import VERDICTS, Outcome, Standing, conditional, standing_of

if TYPE_CHECKING:
    import pandas as pd

    from pqd.deciders.note import Note
    from pqd.reports.models.audit import Condition, Cost
    from pqd.reports.models.refusals import QueryRefusal

CandidateKind = Literal["candidate", "marginals", "bootstrap"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Verdict of one query on one candidate, in the unit of the query.

    ``q_synthetic``, ``tau``, ``lower`` and ``upper`` are public.  If no row of the candidate
    matches, it has no answer: ``q_synthetic`` is None, ``tau`` is 0, and the verdict is never yes.
    If the tolerance is a share and the synthetic answer is 0, ``tau`` is one unit: then only the
    same answer is within tolerance.

    ``error`` is the larger of the two error probabilities on public stand-ins.  ``gap`` is the
    estimate of the private answer minus the synthetic answer.  ``gap_low`` and ``gap_high`` each
    hold with probability at least 1 - alpha.  ``gap`` is None if the estimator gives no estimate,
    and an end is None if nothing bounds the gap there.  ``margin`` is None unless the candidate was
    decided by itself.  ``p_value`` is None if the estimator gives no p-value.
    """

    candidate: str
    q_synthetic: int | float | None
    tau: int | float
    lower: int | float | None
    upper: int | float | None
    outcome: Outcome
    error: float
    alpha: Fraction
    condition: Condition | None = None
    p_value: float | None = None
    margin: int | None = None
    gap: int | float | None = None
    gap_low: int | float | None = None
    gap_high: int | float | None = None

    @property
    def standing(self) -> Standing:
        """Standing by the rules for a verdict of an audit."""
        conclusive = self.p_value is not None and self.p_value <= self.alpha
        if conclusive and self.condition:
            return conditional(self.outcome, counts_beyond=False)
        return standing_of(self.outcome, VERDICTS, conclusive=conclusive)

    @property
    def leaning(self) -> Standing:
        """Standing that the answer would have with a proof: ``trusted`` or ``not trusted``."""
        return standing_of(self.outcome, VERDICTS)

    def computed(self) -> dict[str, Any]:
        """Values that JSON holds in addition to the fields."""
        return {"standing": self.standing.value}

    @property
    def strain(self) -> float | None:
        """Size of the estimated gap in tolerances, above 1 if it is outside; None without a gap."""
        return None if self.gap is None or not self.tau else abs(float(self.gap)) / float(self.tau)


@dataclass(frozen=True, slots=True)
class EstimatorFacts:
    """Public facts of an estimator that could have answered one query for every candidate.

    ``error`` is its largest error probability on public stand-ins, over all candidates and at the
    same cost.  ``exact`` says that the estimator gives p-values.
    """

    estimator: str
    error: float
    exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedQuery:
    """One query, its estimator, and one cell per candidate.

    ``estimate`` is the estimated private answer, or None if the estimator gives no estimate.
    ``low`` and ``high`` each hold with probability at least 1 - alpha.  ``closest`` are the
    candidates whose answers are nearest to the estimate.  Without an estimate, they are the
    candidates with the largest margin.  ``weight`` is the weight of the query in the leaderboard.
    ``tau_min`` is the least tolerance at which the estimator is wrong at most alpha of the time.
    ``epsilon`` is what the query costs by itself.

    ``decidable`` comes from public data.  It says that on some candidate the estimator is wrong at
    most alpha of the time.  A query that is not decidable is left out of the leaderboard, unless
    no query is decidable.  ``max_rows`` is that of ``QueryFacts``.
    """

    id: str
    sql: str
    aggregate: str
    attribute: str | None
    p: float | None
    where: str | None
    weight: int | float
    tolerance: str
    estimator: str
    reason: str
    estimators: tuple[EstimatorFacts, ...]
    epsilon: Fraction
    tau_min: float | None
    cells: tuple[Cell, ...]
    closest: tuple[str, ...]
    estimate: int | float | None = None
    low: int | float | None = None
    high: int | float | None = None
    block: str | None = None
    group: str | None = None
    block_sql: str | None = None
    decidable: bool = True
    counted: str = "people"
    max_rows: int | None = None
    replayed: bool = False
    simulated: bool = False

    def cell(self, candidate: str) -> Cell:
        """Cell of the query for ``candidate``."""
        return next(cell for cell in self.cells if cell.candidate == candidate)


def ranking_queries(queries: Sequence[ComparedQuery]) -> tuple[ComparedQuery, ...]:
    """Queries that count in a leaderboard; public data alone selects them.

    A query that cannot be decided on any candidate tells nothing about the candidates.  But its
    weight would count on both sides of every comparison, so the query is left out.  If no query can
    be decided, all queries count.
    """
    return tuple(query for query in queries if query.decidable) or tuple(queries)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardRow:
    """One candidate in the leaderboard, judged by the queries that count in it.

    ``share`` is the weighted share of the queries whose verdict is yes or leans to yes.  With
    probability at least 1 - alpha, the true shares of all candidates lie between their ``low`` and
    ``high`` at once.  ``best_rank`` and ``worst_rank`` are the best and the worst rank that the
    candidate can have, given all established differences.  These ranks hold for all candidates at
    once, with the same probability.  ``worst`` are the queries with the largest estimated gaps in
    tolerances, the largest first.  ``wins`` are the queries on which this candidate is closest.
    """

    candidate: str
    kind: CandidateKind
    share: float
    low: float
    high: float
    trusted: int
    not_trusted: int
    undecided: int
    best_rank: int
    worst_rank: int
    wins: tuple[str, ...] = ()
    worst: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CompareReport(BoardReport[LeaderboardRow]):
    """Comparison of candidates by one private estimate per query.

    ``leaderboard`` is ordered by share.  ``better`` holds pairs (a, b): it is established that the
    queries on which a is within tolerance have a larger weight than those of b.  All pairs hold at
    once with probability at least 1 - alpha.  ``candidates`` gives the file of each candidate.
    """

    kind: ClassVar[str] = "compare"
    _question: ClassVar[str] = "report.better"
    board_title: ClassVar[str] = "within tolerance, % of the queries' weight"

    queries: tuple[ComparedQuery, ...]
    leaderboard: tuple[LeaderboardRow, ...]
    better: tuple[tuple[str, str], ...]
    candidates: dict[str, str]
    private: str
    tolerance: str
    alpha: Fraction
    cost: Cost
    notes: tuple[Note, ...] = ()
    refused: tuple[QueryRefusal, ...] = ()

    @property
    def simulated(self) -> bool:
        """Whether the noise of any verdict was seeded."""
        return any(query.simulated for query in self.queries)

    @property
    def ranked(self) -> tuple[ComparedQuery, ...]:
        """Queries that count in the leaderboard: those that can be decided, or all if none can."""
        return ranking_queries(self.queries)

    @property
    def tied(self) -> tuple[tuple[str, ...], ...]:
        """Runs of neighbours in the leaderboard that cannot be told apart, best first."""
        names, established = [s.candidate for s in self.leaderboard], set(self.better)
        runs: list[tuple[str, ...]] = []
        for start in range(len(names)):
            run = [names[start]]
            for name in names[start + 1 :]:
                if any((other, name) in established for other in run):
                    break
                run.append(name)
            if len(run) > 1 and not (runs and set(run) <= set(runs[-1])):
                runs.append(tuple(run))
        return tuple(runs)

    def computed(self) -> dict[str, Any]:
        """Epsilon that was spent, whether noise was seeded, and the ties of the leaderboard."""
        spent = self.cost.spent
        return {"spent_epsilon": spent, "simulated": self.simulated, "tied": self.tied}

    def _board(self) -> list[BoardRow]:
        return [
            BoardRow(row.candidate, row.share, row.low, row.high, row.kind != "candidate")
            for row in self.leaderboard
        ]

    def to_frame(self) -> pd.DataFrame:
        """Frame with one row per query and candidate; a refused query has a row with its reason."""
        rows = []
        for query in self.queries:
            for cell in query.cells:
                facts = {
                    name: getattr(cell, name)
                    for name in cell.__slots__
                    if name not in {"alpha", "candidate"}
                }
                public = {"id": query.id, "candidate": cell.candidate, "estimator": query.estimator}
                rows.append(
                    {**public, **facts, "standing": cell.standing.value, "weight": query.weight}
                )
        rows += [{"id": each.id, "reason": each.reason} for each in self.refused]
        return data_frame(rows)

    @property
    def _items(self) -> tuple[LeaderboardRow, ...]:
        return self.leaderboard

    def _name(self, item: LeaderboardRow) -> str:
        return item.candidate
