"""Model of ``pqd audit``: all that leaves an audit about the private table."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pqd.reports.models.query import QueryFacts
from pqd.reports.models.report import CurvedReport, Report, data_frame
from pqd.reports.models.standings import VERDICTS, Standing, conditional, standing_of, unproven

if TYPE_CHECKING:
    import pandas as pd

    from pqd.deciders.note import Note
    from pqd.reports.models.refusals import QueryRefusal

Evidence = Literal["proof", "likely", "none"]
LedgerPlace = Literal["beside the table", "working folder"]


@dataclass(frozen=True, slots=True)
class Condition:
    """Condition of a verdict on a SUM or an AVG whose bounds nobody stated.

    The verdict is about private values cut to ``lower .. upper``.  A yes also says that the cut
    changes at most ``rows_beyond`` selected rows, and a no says that one of the two claims fails;
    ``rows_beyond`` is None if nothing counted these rows.  ``accepted``: the caller
    states that the copy's bounds are to be taken.
    """

    lower: int | float
    upper: int | float
    rows_beyond: int | None = None
    accepted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict(QueryFacts):
    """The answer to one query.

    ``lower`` and ``upper`` are the ends of the open interval.  ``leans`` is the answer that the
    decider gave, yes or no.  ``evidence`` says what it is worth: a ``proof`` is a p-value of at
    most alpha; ``likely`` is a bit without a p-value whose error on all public stand-ins is at most
    alpha; ``none`` is neither.  ``condition`` names the bounds to which private values were cut,
    where nobody stated these bounds.

    Only ``leans``, ``evidence``, ``p_value``, ``margin``, ``estimate``, ``gap`` and the ends of the
    last three depend on the private table, and only through the budgeted output of ``decider``.
    ``p_value``, ``margin`` and ``estimate`` are None where the decider releases none.  ``estimate``
    is the noisy private answer, between ``low`` and ``high``: each end holds with probability at
    least 1 - alpha, both with 1 - 2 alpha, and no end lies across the border of a decided verdict.
    ``gap`` is the estimate less the copy's answer, between ``gap_low`` and ``gap_high``.  The exact
    margin lies between ``margin_low`` and ``margin_high``, as surely.  ``epsilon`` is what the
    verdict costs by itself, 0 where no table could have answered otherwise; what a run costs is its
    report's ``cost``.  ``replayed``: asked and paid for before.
    ``looks`` is how often the question was drawn on this table, at whatever epsilon.
    """

    lower: int | float
    upper: int | float
    epsilon: Fraction
    leans: str
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

    @property
    def outcome(self) -> str:
        """Yes or no, as far as there is evidence for it; else ``undecided``."""
        return "undecided" if self.evidence == "none" else self.leans

    @property
    def conclusive(self) -> bool:
        """Whether the evidence is a proof."""
        return self.evidence == "proof"

    @property
    def standing(self) -> Standing:
        """Standing: the word that the answer gets by its evidence and its condition."""
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
        """Standing that the answer has, or would have were it beyond what noise may do."""
        return standing_of(self.leans, VERDICTS)

    def computed(self) -> dict[str, Any]:
        """Values that JSON and a frame hold beside the fields."""
        return {
            "outcome": self.outcome,
            "standing": self.standing.value,
            "conclusive": self.conclusive,
        }


@dataclass(frozen=True, slots=True)
class CompositionGroup:
    """Disjoint queries, charged once; ``proof`` has one line for each reason why."""

    ids: tuple[str, ...]
    epsilon: Fraction
    proof: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """Run that drew what another one replays: its number among its table's, its day, its charge."""

    number: int
    day: str
    epsilon: Fraction
    delta: Fraction


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of a run, exactly, and the rule by which its parts were composed.

    ``rule`` is nothing, sequential, parallel, optimal or concentrated; ``groups`` are the parts, of
    one query or of several that are disjoint.  ``ledger`` names the ledger that holds the charge,
    ``ledger_place`` tells where it lies if that is one of the usual places, ``total`` and
    ``total_delta`` are all that it ever held on this table, ``limit`` the most it
    may, where there is one.  ``unit`` is the column whose values are people, None where one row is
    one person, ``max_rows`` how many rows of a person are kept where rows count.  ``day`` (UTC) is
    that of the run, ``earlier`` are the runs that paid for what cost nothing now.
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
    day: str | None = None
    earlier: tuple[EarlierRun, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class AuditReport(Report, CurvedReport):
    """Verdicts of one audit; ``notes`` are public remarks, ``tolerance`` is tau as it was given.

    ``refused`` are the queries that the synthetic table gives nothing to hold against.
    """

    kind: ClassVar[str] = "audit"

    verdicts: tuple[Verdict, ...]
    private: str
    synthetic: str
    tolerance: str
    cost: Cost
    notes: tuple[Note, ...] = ()
    refused: tuple[QueryRefusal, ...] = ()

    @property
    def spent(self) -> Fraction:
        """Total epsilon that this run spent, exactly; replayed verdicts cost nothing."""
        return self.cost.epsilon

    @property
    def simulated(self) -> bool:
        """Whether any verdict comes from seeded noise."""
        return any(verdict.simulated for verdict in self.verdicts)

    def computed(self) -> dict[str, Any]:
        """Budget spent, and whether noise was seeded."""
        return {"spent_epsilon": self.spent, "simulated": self.simulated}

    def to_frame(self) -> pd.DataFrame:
        """Frame of one row per query, without the candidates; one not asked has no outcome."""
        rows = [{**verdict.computed(), **asdict(verdict)} for verdict in self.verdicts]
        rows += [asdict(each) for each in self.refused]
        frame = data_frame(rows).drop(columns="candidates")
        return frame.astype({"epsilon": float, "alpha": float})

    def _curved_queries(self) -> tuple[QueryFacts, ...]:
        return self.verdicts
