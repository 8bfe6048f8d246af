"""Model of ``pqd audit``: all that leaves an audit about the private table."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from reports.models.report import CurvedReport, Report

if TYPE_CHECKING:
    import pandas as pd

    from reports.models.refusals import QueryRefusal


@dataclass(frozen=True, slots=True)
class CandidateFacts:
    """A decider that fits a query, and what it is worth; all from public data.

    ``tau_min`` is its effectiveness threshold at the report's epsilon and alpha, in the query's
    unit, infinite where no tau suffices; ``tau_min_exact`` says that it is a closed form, not a
    search over public stand-ins; ``tau_published`` is what the paper prints (docs/errata.md).
    ``false_no`` and ``false_yes`` are its error probabilities at this tau on the stand-ins;
    ``epsilon_needed`` is the least budget at which both are at most alpha, infinite where none
    will do; ``curve`` is Pr[yes] at true gaps of 0, 1/8, ... 20/8 times tau.  What was not
    computed is None.  ``proves`` are the verdicts, yes or no, that can have a p-value; one without
    is never decided.
    """

    decider: str
    tau_min: float | None = None
    tau_min_exact: bool | None = None
    tau_published: float | None = None
    false_no: float | None = None
    false_yes: float | None = None
    epsilon_needed: float | None = None
    curve: tuple[float | None, ...] | None = None
    proves: tuple[str, ...] = ("yes", "no")

    def decides(self, alpha: Fraction) -> bool:
        """Whether it errs with at most alpha, and can prove either verdict."""
        return len(self.proves) == 2 and self.worst <= alpha

    @property
    def worst(self) -> float:
        """The larger error probability, 1 where unknown."""
        if self.false_no is None or self.false_yes is None:
            return 1.0
        return max(self.false_no, self.false_yes)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryFacts:
    """Public facts of one query, in the query's own unit; ``p`` is a quantile's.

    ``block`` is the id of the query that this one is a group of, ``group`` that group in words.
    ``counted`` is what margins count: people, or the rows of people where several of each count.
    """

    id: str
    sql: str
    aggregate: str
    attribute: str | None
    p: float | None
    where: str | None
    q_synthetic: int | float
    tau: int | float
    alpha: Fraction
    decider: str
    reason: str
    candidates: tuple[CandidateFacts, ...]
    block: str | None = None
    group: str | None = None
    counted: str = "people"

    @property
    def decidable(self) -> bool | None:
        """Whether the decider decides at this tau; None without a budget."""
        return None if self.chosen.false_no is None else self.chosen.decides(self.alpha)

    @property
    def chosen(self) -> CandidateFacts:
        """The candidate that decides."""
        return next(c for c in self.candidates if c.decider == self.decider)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict(QueryFacts):
    """The answer to one query.

    Only ``outcome``, ``p_value``, ``margin``, ``estimate``, ``low``, ``high`` and ``conclusive``
    depend on the private table, and only through the budgeted output of ``decider``.  ``lower`` and
    ``upper`` are the ends of the open interval.  ``p_value``, ``margin`` and ``estimate`` (the
    private answer, between ``low`` and ``high`` with probability at least 1 - alpha) are None where
    the decider releases none; ``conclusive`` is a p-value of at most alpha.  ``epsilon`` is what
    the verdict costs by itself, 0 where no table could have answered otherwise; what a run costs is
    its report's ``cost``.  ``replayed``: asked and paid for before.
    """

    lower: int | float
    upper: int | float
    epsilon: Fraction
    outcome: str
    tau_min: float | None
    synthetic: str
    p_value: float | None = None
    margin: int | None = None
    conclusive: bool = False
    estimate: int | float | None = None
    low: int | float | None = None
    high: int | float | None = None
    replayed: bool = False
    simulated: bool = False

    @property
    def standing(self) -> str:
        """``trusted``, ``not trusted``, or ``undecided``: without a p-value of at most alpha."""
        if not self.conclusive:
            return "undecided"
        return "trusted" if self.outcome == "yes" else "not trusted"


@dataclass(frozen=True, slots=True)
class CompositionGroup:
    """Questions that no row takes part in two of, charged once; ``proof`` has a line for each."""

    ids: tuple[str, ...]
    epsilon: Fraction
    proof: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of a run, exactly, and the rule by which its parts were composed.

    ``rule`` is nothing, sequential, parallel or optimal; ``groups`` are the parts, of one query
    or of several that are disjoint.  ``ledger`` names the ledger that holds the charge, ``total``
    and ``total_delta`` are all that it ever held on this table, ``limit`` the most it may, where
    there is one.  ``unit`` is the column whose values are people, None where one row is one person,
    ``max_rows`` how many rows of a person are kept where rows count.
    """

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rule: str = "nothing"
    groups: tuple[CompositionGroup, ...] = ()
    ledger: str | None = None
    total: Fraction | None = None
    total_delta: Fraction | None = None
    limit: Fraction | None = None
    unit: str | None = None
    max_rows: int | None = None


@dataclass(frozen=True, slots=True)
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
    notes: tuple[str, ...] = ()
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
        import pandas as pd  # noqa: PLC0415 - a heavy import that only frames need

        rows = [asdict(verdict) for verdict in self.verdicts]
        rows += [asdict(each) for each in self.refused]
        frame = pd.DataFrame(rows).drop(columns="candidates")
        return frame.astype({"epsilon": float, "alpha": float})

    def _curved_queries(self) -> tuple[QueryFacts, ...]:
        return self.verdicts
