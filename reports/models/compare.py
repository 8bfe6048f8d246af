"""Model of ``pqd compare``: several synthetic tables against one private estimate per query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pqd.reports.models.board import BoardReport, BoardRow
from pqd.reports.models.report import data_frame
from pqd.reports.models.standings import VERDICTS, Standing, conditional, standing_of

if TYPE_CHECKING:
    import pandas as pd

    from pqd.deciders.note import Note
    from pqd.reports.models.audit import Condition, Cost
    from pqd.reports.models.refusals import QueryRefusal

CandidateKind = Literal["candidate", "marginals", "bootstrap"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Verdict of one query on one candidate, in the query's own unit.

    ``q_synthetic``, ``tau``, ``lower`` and ``upper`` are public; a candidate that lacks an answer
    (no row of it matches) has no ``q_synthetic`` and a ``tau`` of 0, and cannot be within; of a
    tolerance that is a share of 0, ``tau`` is one unit: the very answer alone is within.
    ``error`` is the larger error probability on public stand-ins.  ``gap`` is the private answer
    minus the synthetic one, as estimated, between ``gap_low`` and ``gap_high``, each of which holds
    with probability at least 1 - alpha; None where the estimator gives none, an end is None where
    nothing bounds it.
    ``margin`` stands only where the candidate was decided by itself.  ``p_value`` is None where
    the estimator gives none.
    """

    candidate: str
    q_synthetic: int | float | None
    tau: int | float
    lower: int | float | None
    upper: int | float | None
    outcome: str
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
        """Standing, as that of a verdict of an audit."""
        conclusive = self.p_value is not None and self.p_value <= self.alpha
        if conclusive and self.condition:
            return conditional(self.outcome, counts_beyond=False)
        return standing_of(self.outcome, VERDICTS, conclusive=conclusive)

    @property
    def leaning(self) -> Standing:
        """Standing that the answer has, or would have were it beyond what noise may do."""
        return standing_of(self.outcome, VERDICTS)

    def computed(self) -> dict[str, Any]:
        """Values that JSON holds beside the fields."""
        return {"standing": self.standing.value}

    @property
    def strain(self) -> float | None:
        """The size of the estimated gap in tolerances: above 1 is outside; None without a gap."""
        return None if self.gap is None or not self.tau else abs(float(self.gap)) / float(self.tau)


@dataclass(frozen=True, slots=True)
class EstimatorFacts:
    """An estimator that could have answered one query for every candidate, from public data.

    ``error`` is the largest error probability over the candidates on public stand-ins, at the same
    cost; ``exact`` says that it gives p-values.
    """

    estimator: str
    error: float
    exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedQuery:
    """One query, the estimator taken for it, and a cell per candidate.

    ``estimate`` is the private answer as estimated, between ``low`` and ``high``, each of which
    holds with probability at least 1 - alpha; None where the estimator gives none.  ``closest`` are
    the candidates whose answer is nearest to the estimate (or whose margin is the largest).
    ``weight`` is what the query counts in the leaderboard.  ``tau_min`` is the least tolerance at
    which the estimator errs with at most alpha.  ``epsilon`` is what the query costs by itself.
    ``decidable``: the estimator errs with at most alpha on some candidate, from public data; a
    query that is not takes no part in the leaderboard, unless none is.
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
    replayed: bool = False
    simulated: bool = False

    def cell(self, candidate: str) -> Cell:
        """Cell of ``candidate``."""
        return next(cell for cell in self.cells if cell.candidate == candidate)


def ranking_queries(queries: Sequence[ComparedQuery]) -> tuple[ComparedQuery, ...]:
    """Queries that take part in a leaderboard; which ones depends on public data alone.

    A query that noise decides on no candidate says nothing of them, but its weight would count on
    both sides of every comparison.  Where no query can be decided, all take part.
    """
    return tuple(query for query in queries if query.decidable) or tuple(queries)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardRow:
    """One candidate in the leaderboard, by the queries that take part in it.

    ``share`` is the weighted share of queries whose verdict is yes, or leans to it; the true share
    lies between ``low`` and ``high``, for all candidates at once, with probability at least
    1 - alpha.  ``best_rank`` and ``worst_rank`` are the ranks that it may have given what is
    established, in the same sense.  ``worst`` are the queries with the largest estimated gap in
    tolerances, worst first; ``wins`` those where it is closest.
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
class CompareReport(BoardReport):
    """Comparison of candidates, by one private estimate per query.

    ``leaderboard`` is ordered by share; ``better`` holds each pair (a, b) for which it is
    established, for all pairs at once with probability at least 1 - alpha, that a is within
    tolerance on more of the weight of the queries than b.  ``candidates`` names the file of each.
    """

    kind: ClassVar[str] = "compare"
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
        """Whether any verdict comes from seeded noise."""
        return any(query.simulated for query in self.queries)

    @property
    def ranked(self) -> tuple[ComparedQuery, ...]:
        """Queries that take part in the leaderboard: all that can be decided, or all of none."""
        return ranking_queries(self.queries)

    @property
    def tied(self) -> tuple[tuple[str, ...], ...]:
        """Neighbours in the leaderboard that cannot be told apart, in runs, best first."""
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
        """Budget spent, whether noise was seeded, and the ties of the leaderboard."""
        spent = self.cost.epsilon
        return {"spent_epsilon": spent, "simulated": self.simulated, "tied": self.tied}

    def _board(self) -> list[BoardRow]:
        return [
            BoardRow(row.candidate, row.share, row.low, row.high, row.kind != "candidate")
            for row in self.leaderboard
        ]

    def to_frame(self) -> pd.DataFrame:
        """Frame of one row per query and candidate; a query not asked has but a reason."""
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
