"""Model of ``pqd compare`` without queries: copies ranked by their overall quality."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from pqd.reports.models.board import BoardReport, BoardRow
from pqd.reports.models.report import data_frame
from pqd.reports.models.standings import Standing

if TYPE_CHECKING:
    import pandas as pd

    from pqd.deciders.note import Note
    from pqd.reports.models.audit import Cost
    from pqd.reports.models.figure import Figure
    from pqd.reports.models.profile import (
        Alarm,
        BudgetPart,
        ProfiledColumn,
        Score,
    )
    from pqd.reports.models.refusals import LeftOut
    from pqd.reports.models.relations import RelationsFacts
    from pqd.reports.models.risk import RiskReport


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedCopy:
    """One copy: its overall quality, and the ranks that are possible for it.

    ``best_rank`` and ``worst_rank`` are the best and the worst rank that the copy can have, given
    all established differences.
    ``relations`` are the relations kept, None without pairs; what they say of all copies holds at
    once with probability 1 - alpha.
    ``scores`` has one score for each number of columns; it is empty unless the caller asked for
    scores.  A copy whose ``alarm`` is an error is never called the best.  ``columns`` have the
    cells of this copy.  ``flaws`` are judged columns that the copy lacks, or has turned into
    identifiers; they count against it.
    """

    candidate: str
    file: str
    overall: Score
    best_rank: int
    worst_rank: int
    relations: RelationsFacts | None = None
    scores: tuple[Score, ...] = ()
    alarm: Alarm | None = None
    columns: tuple[ProfiledColumn, ...] = ()
    flaws: tuple[LeftOut, ...] = ()

    @property
    def is_too_near(self) -> bool:
        """True if the copy is nearer to the private table than rows drawn from that table."""
        return self.alarm is not None and self.alarm.is_error


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedMarginal:
    """Total variation of one marginal for each copy, in the order of the copies of the report.

    An estimate is None if the marginal has too many cells in that copy.
    """

    columns: tuple[str, ...]
    estimates: tuple[Figure | None, ...]

    @property
    def worst(self) -> float:
        """Largest distance of any copy."""
        return max((each.value for each in self.estimates if each is not None), default=0.0)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RankingReport(BoardReport[RankedCopy]):
    """Ranking of copies by overall quality, best first.

    ``better`` holds pairs (a, b): it is established that a has a higher quality than b.  All pairs
    hold at once with probability at least 1 - alpha.  ``marginals`` is empty unless the caller
    asked for columns and pairs.  Marginals are ordered by the largest distance of any copy, the
    largest first.  ``columns`` are the names of the judged columns.  ``cells_from`` names the table
    whose cells all copies share; it is empty if each copy has cells of its own.
    ``risks`` has the attacks on each copy, by its name and in the order of the copies, each with
    the costs of the whole run; it is empty if none was tried.  Their leaks are established for all
    attacks on all copies at once.  ``held_out_cost`` is what was charged to the held-out table.
    ``dry`` says that the report is a plan: nothing was measured or spent, the copies are in the
    order of the caller, and the costs are those of a run.
    """

    kind: ClassVar[str] = "ranking"
    _question: ClassVar[str] = "report.better"
    board_title: ClassVar[str] = "overall quality, %"

    private: str
    alpha: Fraction
    copies: tuple[RankedCopy, ...]
    better: tuple[tuple[str, str], ...]
    columns: tuple[str, ...]
    budget: tuple[BudgetPart, ...]
    cost: Cost
    rows: Figure
    ways: int
    marginals: tuple[RankedMarginal, ...] = ()
    risks: Mapping[str, RiskReport] = field(default_factory=dict)
    held_out_cost: Cost | None = None
    cells_from: str = ""
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[Note, ...] = ()
    dry: bool = False
    replayed: bool = False
    simulated: bool = False

    @property
    def spent(self) -> Fraction:
        """Exact total epsilon that this run spent; replayed measurements cost nothing."""
        return Fraction(0) if self.dry else self.cost.spent

    @property
    def leaking(self) -> tuple[str, ...]:
        """Copies of which an attack is established to gain from the private rows."""
        return tuple(name for name, risk in self.risks.items() if risk.leaks)

    @property
    def beyond(self) -> tuple[str, ...]:
        """Other copies on which an attack, judged by itself, gains more than the tolerance."""
        attacked = [each for each in self.risks.items() if each[0] not in self.leaking]
        return tuple(
            name
            for name, risk in attacked
            if any(each.standing is Standing.BEYOND for each in risk.attacks)
        )

    def computed(self) -> dict[str, Any]:
        """Epsilon that was spent."""
        return {"spent_epsilon": self.spent}

    def _board(self) -> list[BoardRow]:
        return [
            BoardRow(copy.candidate, *(copy.overall.estimate or (0.0, 0.0, 1.0)))
            for copy in self.copies
        ]

    def to_frame(self) -> pd.DataFrame:
        """Frame with one row per copy."""
        rows = []
        for copy in self.copies:
            value, low, high = copy.overall.estimate or (None, None, None)
            ranks = {"best_rank": copy.best_rank, "worst_rank": copy.worst_rank}
            facts = {"score": value, "low": low, "high": high, "reference": copy.overall.reference}
            kept = copy.relations
            share = (None, None, None) if kept is None or kept.estimate is None else kept.estimate
            names = ("relations_kept", "relations_low", "relations_high")
            facts |= dict(zip(names, share, strict=True))
            standing = kept.standing.value if kept and kept.standing else None
            more = {"relations_standing": standing}
            risk = self.risks.get(copy.candidate)
            attack = {} if risk is None else _frame_risk(risk)
            rows.append({"candidate": copy.candidate, **facts, **ranks, **more, **attack})
        return data_frame(rows)

    @property
    def _items(self) -> tuple[RankedCopy, ...]:
        return self.copies

    def _name(self, item: RankedCopy) -> str:
        return item.candidate


def _frame_risk(risk: RiskReport) -> dict[str, object]:
    """Worst attack on a copy, and the number of leaks that are established, for a frame."""
    worst = risk.attacks[0]
    value, low, high = worst.held_out.excess if worst.held_out else (None, None, None)
    return {
        "worst_attack": worst.name,
        "attack_rate": worst.rate.value,
        "attack_copy_rate": worst.copy_rate,
        "attack_standing": worst.standing.value,
        "excess": value,
        "excess_low": low,
        "excess_high": high,
        "leaks": len(risk.leaks) if risk.held_out and not risk.dry else None,
    }
