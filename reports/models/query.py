"""Facts of a query: its synthetic answer, and the deciders that fit it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from pqd.deciders.decided import DECIDED

# What a verdict on a distance has in place of an aggregate; its tau is a share of the rows.
DISTANCE_AGGREGATES = {
    "tv": "TOTAL VARIATION",
    "ks": "KOLMOGOROV-SMIRNOV",
    "emd": "EARTH MOVER'S DISTANCE",
}
MEAN_DISTANCE = "MEAN DISTANCE"


@dataclass(frozen=True, slots=True)
class CandidateFacts:
    """A decider that fits a query, and what it is worth; all from public data.

    ``tau_min`` is its effectiveness threshold at the report's epsilon and alpha, in the query's
    unit, infinite where no tau suffices; ``tau_min_exact`` says that it is a closed form, not a
    search over public stand-ins; ``tau_published`` is what the paper prints (docs/errata.md).
    ``false_no`` and ``false_yes`` are its error probabilities at this tau on the stand-ins;
    ``decision_chance`` is the least chance, over the stand-ins of every shape, of a right verdict
    with a p-value of at most alpha.  ``epsilon_needed`` is the least budget at which that chance is
    nine tenths, infinite where none will do; of a decider that cannot prove both verdicts it is
    the least at which both errors are at most alpha.  ``curve`` is Pr[yes] at true gaps of 0, 1/8,
    ... 20/8 times tau.  What was not computed is None.  ``proves`` are the verdicts, yes or no,
    that can have a p-value; one without is never decided.
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
    decision_chance: float | None = None

    @property
    def shown(self) -> bool:
        """Whether it can prove both verdicts, or is known better than by name."""
        if len(self.proves) == 2:
            return True
        known = self.tau_min, self.false_no, self.epsilon_needed
        return any(number is not None for number in known)

    @property
    def decides(self) -> bool:
        """Whether nine tenths of all runs at the report's epsilon decide, and decide rightly."""
        return self.decision_chance is not None and self.decision_chance >= float(DECIDED)

    @property
    def worst(self) -> float:
        """The larger error probability, 1 where unknown."""
        if self.false_no is None or self.false_yes is None:
            return 1.0
        return max(self.false_no, self.false_yes)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryFacts:
    """Public facts of one query, in the query's own unit; ``p`` is a quantile's.

    ``block`` is the id of the query that this one is a group of, ``block_sql`` that query as it was
    written, ``group`` the group in words.
    ``counted`` is what margins count: people, or the rows of people where several of each count.
    ``tolerance`` is tau as it was stated, ``10`` or ``5%``.
    ``copy_rows`` is the number of rows of the copy that the query selects, None for a distance.
    ``likely``: an answer without a p-value errs with at most alpha on all public stand-ins.
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
    block_sql: str | None = None
    counted: str = "people"
    tolerance: str = ""
    copy_rows: int | None = None
    likely: bool = False

    @property
    def is_distance(self) -> bool:
        """Whether it is about a distance between distributions, and no query."""
        return self.aggregate in {*DISTANCE_AGGREGATES.values(), MEAN_DISTANCE}

    @property
    def decidable(self) -> bool | None:
        """Whether the decider decides at this tau; None without a budget."""
        chosen = self.chosen
        return None if chosen.false_no is None else chosen.decides

    @property
    def chosen(self) -> CandidateFacts:
        """The candidate that decides."""
        return next(c for c in self.candidates if c.decider == self.decider)
