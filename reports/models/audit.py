"""Model of ``pqd audit``: everything that an audit tells about the private table."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pqd.reports.models.figure import Figure
from pqd.reports.models.query import QueryFacts, distance_of
from pqd.reports.models.report import CurvedReport, IndexedReport, data_frame
from pqd.reports.models.standings import (
    VERDICTS,
    Evidence,
    Leaning,
    Outcome,
    Standing,
    conditional,
    standing_of,
    unproven,
)

if TYPE_CHECKING:
    import pandas as pd

    from pqd.deciders.note import Note
    from pqd.reports.models.ledger import PeriodFacts
    from pqd.reports.models.refusals import QueryRefusal

LedgerPlace = Literal["beside the table", "working folder"]


@dataclass(frozen=True, slots=True)
class Condition:
    """Condition of a verdict on a SUM or an AVG whose bounds nobody stated.

    The verdict is about private values that are cut to ``lower .. upper``: values outside count as
    the nearer bound.  A bound is None if it is stated, since it is no condition then.  If
    ``rows_beyond`` is a number, a yes makes a second claim: the cut changes at most ``rows_beyond``
    of the selected rows.  A no then says that at least one claim is false.  ``rows_beyond`` is None
    if nothing counted these rows.  ``accepted`` is True if the caller stated that the bounds of the
    copy are to be used.
    """

    lower: int | float | None
    upper: int | float | None
    rows_beyond: int | None = None
    accepted: bool = False


@dataclass(frozen=True, slots=True)
class Outside:
    """Noisy number of selected rows beyond ``lower .. upper``; an end is None if it is stated.

    Each end of ``low .. high`` is wrong with probability at most alpha, as those of an estimate.
    ``found`` is the least number of rows for which ``low`` is above 0 with probability 1 - alpha.
    """

    rows: int
    low: int
    high: int
    found: int
    lower: int | float | None
    upper: int | float | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Verdict(QueryFacts):
    """Verdict on one query.

    ``lower`` and ``upper`` are the ends of the open interval around the synthetic answer.
    ``leans`` is the answer that the decider gave, yes or no.  ``evidence`` says how far that answer
    can be trusted.  ``proof`` means a p-value of at most alpha.  ``likely`` means no p-value, but
    an error of at most alpha on all public stand-ins.  ``none`` means neither.  If nobody stated
    bounds, ``condition`` names the bounds to which the private values were cut.

    Only ``leans``, ``evidence``, ``p_value``, ``margin``, ``estimate``, ``gap`` and the ends of the
    last three depend on the private table.  They depend on it only through the output of
    ``decider``, for which the budget pays.  ``p_value``, ``margin`` and ``estimate`` are None if
    the decider does not release them.

    ``estimate`` is the noisy private answer.  The exact answer is at least ``low`` with probability
    at least 1 - alpha, and at most ``high`` with probability at least 1 - alpha.  Both ends hold
    with probability at least 1 - 2 alpha.  If the verdict is decided, no end contradicts it.
    ``gap`` is the estimate minus the copy's answer.  ``gap_low`` and ``gap_high`` hold for the
    exact gap, and ``margin_low`` and ``margin_high`` for the exact margin, with the same
    probabilities.

    ``distance`` is what the margin tells of a distance, with an interval of the same probabilities,
    if the private table has ``distance_rows`` rows; None for a query.

    ``epsilon`` is what the verdict costs by itself.  It is 0 if every private table would have
    given the same verdict.  The ``cost`` of the report is what the run costs.  ``replayed`` says
    that the verdict was asked and paid for before.  ``outside`` is the noisy number of rows beyond
    bounds that nobody stated, if it was asked for.  ``looks`` is how often the question was drawn
    on this table, at any epsilon.
    """

    lower: int | float
    upper: int | float
    epsilon: Fraction
    leans: Leaning
    tau_min: float | None
    synthetic: str
    evidence: Evidence = "none"
    condition: Condition | None = None
    p_value: float | None = None
    margin: int | None = None
    margin_low: int | None = None
    margin_high: int | None = None
    estimate: int | float | None = None
    low: int | float | None = None
    high: int | float | None = None
    gap: int | float | None = None
    gap_low: int | float | None = None
    gap_high: int | float | None = None
    replayed: bool = False
    simulated: bool = False
    looks: int = 1
    outside: Outside | None = None

    @property
    def distance(self) -> Figure | None:
        """Distance that the margin tells, if the private table has ``distance_rows`` rows."""
        if self.margin is None or self.margin_low is None or self.margin_high is None:
            return None
        return distance_of(self, (self.margin, self.margin_low, self.margin_high))

    def __repr__(self) -> str:
        """Id, verdict, p-value and decider, since all fields would fill a screen."""
        p_value = "no p-value" if self.p_value is None else f"p = {self.p_value:.2g}"
        told = f"{self.standing.badge.text}, {p_value}, by {self.decider}"
        return f"<Verdict {self.id}: {'SIMULATED, ' if self.simulated else ''}{told}>"

    @property
    def is_withheld(self) -> bool:
        """Whether rows lie beyond unstated bounds, so that no verdict within them is given."""
        beyond = self.outside is not None and self.outside.low > 0
        return beyond and self.evidence == "none"

    @property
    def outcome(self) -> Outcome:
        """Answer, yes or no, if there is evidence for it; else ``undecided``."""
        return "undecided" if self.evidence == "none" else self.leans

    @property
    def conclusive(self) -> bool:
        """Whether the evidence is a proof."""
        return self.evidence == "proof"

    @property
    def standing(self) -> Standing:
        """Standing that follows from the answer, its evidence and its condition."""
        if self.conclusive:
            if self.condition is None:
                return self.leaning
            counts_beyond = self.condition.rows_beyond is not None
            return conditional(self.leans, counts_beyond=counts_beyond)
        if self.leans in self.chosen.proves:
            return standing_of(self.leans, VERDICTS, conclusive=False)
        return unproven(self.leans, likely=self.evidence == "likely")

    @property
    def leaning(self) -> Standing:
        """Standing that the answer would have with a proof: ``trusted`` or ``not trusted``."""
        return standing_of(self.leans, VERDICTS)

    def computed(self) -> dict[str, Any]:
        """Values that JSON and a frame hold in addition to the fields."""
        return {
            "outcome": self.outcome,
            "standing": self.standing.value,
            "conclusive": self.conclusive,
            "distance": self.distance,
        }


@dataclass(frozen=True, slots=True)
class CompositionGroup:
    """Group of pairwise disjoint queries that is charged once.

    Each line of ``proof`` gives a reason why no row can match two of the queries.
    """

    ids: tuple[str, ...]
    epsilon: Fraction
    proof: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """Earlier run that drew the answers that the present run replays.

    ``number`` is its number among the runs on the private table, counted from 1.  ``day`` is the
    day on which it ran.  ``epsilon`` and ``delta`` are its charge.
    """

    number: int
    day: str
    epsilon: Fraction
    delta: Fraction


@dataclass(frozen=True, slots=True)
class Cost:
    """Exact cost of a run, and the rule that composed its parts.

    ``rule`` is nothing, sequential, parallel, optimal or concentrated.  ``groups`` are the parts;
    each part is one query or several disjoint queries.  ``ledger`` names the ledger that holds the
    charge.  ``ledger_place`` says at which usual place the ledger lies, or is None elsewhere.
    ``total`` and ``total_delta`` are all that was ever spent on this table.  ``limit`` is the most
    epsilon that may be spent on it, or None without a limit.  ``unit`` is the column whose values
    are people, or None if each row is one person.  If a query counts rows of people, ``max_rows``
    is the most rows as which a person counts.  ``row_is_person``: somebody stated that each row is
    one person.  ``day`` is the day of the run (UTC).  ``earlier`` are the runs that paid for the
    answers that this run replays.  ``versions`` is the number of versions of the table, ``runs``
    the number of runs on all of them since the day ``since``; ``total`` is their sum.  ``periods``
    are limits of periods of the calendar, and what is spent of them.  ``simulated``: the noise had
    a seed, and nothing was charged; ``epsilon`` is what a run would spend.
    """

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rule: str = "nothing"
    groups: tuple[CompositionGroup, ...] = ()
    ledger: str | None = None
    ledger_place: LedgerPlace | None = None
    total: Fraction | None = None
    total_delta: Fraction | None = None
    limit: Fraction | None = None
    unit: str | None = None
    max_rows: int | None = None
    row_is_person: bool = False
    day: str | None = None
    earlier: tuple[EarlierRun, ...] = ()
    versions: int = 1
    runs: int = 0
    since: str | None = None
    periods: tuple[PeriodFacts, ...] = ()
    simulated: bool = False

    @property
    def spent(self) -> Fraction:
        """Epsilon that was spent: none in a simulation."""
        return Fraction(0) if self.simulated else self.epsilon


@dataclass(frozen=True, slots=True, repr=False)
class AuditReport(IndexedReport[Verdict], CurvedReport):
    """Verdicts of one audit.

    ``notes`` are public remarks, and ``tolerance`` is tau as it was stated.  ``refused`` are the
    queries that were not asked, since the synthetic table gives no answer to compare with.
    """

    kind: ClassVar[str] = "audit"
    _question: ClassVar[str] = 'all(verdict.outcome == "yes" for verdict in report)'

    verdicts: tuple[Verdict, ...]
    private: str
    synthetic: str
    tolerance: str
    cost: Cost
    notes: tuple[Note, ...] = ()
    refused: tuple[QueryRefusal, ...] = ()

    @property
    def spent(self) -> Fraction:
        """Exact total epsilon that this run spent; replayed verdicts cost nothing."""
        return self.cost.spent

    @property
    def simulated(self) -> bool:
        """Whether the noise of any verdict was seeded."""
        return any(verdict.simulated for verdict in self.verdicts)

    def computed(self) -> dict[str, Any]:
        """Epsilon that was spent, and whether noise was seeded."""
        return {"spent_epsilon": self.spent, "simulated": self.simulated}

    def to_frame(self) -> pd.DataFrame:
        """Frame with one row per query and no candidates; a refused query has no outcome."""
        rows = [{**verdict.computed(), **asdict(verdict)} for verdict in self.verdicts]
        rows += [asdict(each) for each in self.refused]
        frame = data_frame(rows).drop(columns="candidates")
        return frame.astype({"epsilon": float, "alpha": float})

    def _curved_queries(self) -> tuple[QueryFacts, ...]:
        return self.verdicts

    @property
    def _items(self) -> tuple[Verdict, ...]:
        return self.verdicts

    def _name(self, item: Verdict) -> str:
        return item.id
