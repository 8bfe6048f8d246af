"""Facts of a query: its synthetic answer, and the deciders that fit it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from pqd.deciders.decided import DECIDED
from pqd.reports.models.figure import Figure

# Aggregate of a verdict on each distance; the tau of the verdict is a share of the rows.
DISTANCE_AGGREGATES = {
    "tv": "TOTAL VARIATION",
    "ks": "KOLMOGOROV-SMIRNOV",
    "emd": "EARTH MOVER'S DISTANCE",
}
MEAN_DISTANCE = "MEAN DISTANCE"
# The tau of its verdict is the share of the relations that may be lost.
RELATIONS_KEPT = "RELATIONS KEPT"
SCORES = (MEAN_DISTANCE, RELATIONS_KEPT)
# Aggregates per row, by the aggregate of the SQL.
SHARE, SUM_PER_ROW = "SHARE OF ROWS", "SUM PER ROW"
PER_ROW = {"COUNT": SHARE, "SUM": SUM_PER_ROW}


class DeciderOption(NamedTuple):
    """Option of a decider and its value, such as the beta of Race-to-the-Top."""

    name: str
    value: float


@dataclass(frozen=True, slots=True)
class CandidateFacts:
    """Public facts of a decider that fits a query.

    ``tau_min`` is the effectiveness threshold at the epsilon and alpha of the report, in the unit
    of the query; it is infinite if no tau suffices.  ``tau_min_exact`` says that ``tau_min`` is a
    closed form, and not the result of a search over public stand-ins.  ``tau_published`` is the
    threshold that the paper prints (docs/errata.md).  ``false_no`` and ``false_yes`` are the error
    probabilities on the stand-ins at the tau of the query.

    ``decision_chance`` is the chance of a right verdict with a p-value of at most alpha; it is the
    least such chance over stand-ins of every shape.  ``epsilon_needed`` is the least epsilon at
    which ``decision_chance`` is nine tenths.  For a decider that cannot prove both verdicts, it is
    the least epsilon at which both errors are at most alpha.  It is infinite if no epsilon
    suffices.  ``curve`` has Pr[yes] at true gaps of 0, 1/8, ... 20/8 times tau.  A field that was
    not computed is None.

    ``proves`` are the verdicts, yes or no, that can have a p-value.  A verdict that cannot have a
    p-value is never decided.
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
        """Whether reports show the decider: it can prove both verdicts, or it was evaluated."""
        if len(self.proves) == 2:
            return True
        known = self.tau_min, self.false_no, self.epsilon_needed
        return any(number is not None for number in known)

    @property
    def decides(self) -> bool:
        """Whether nine runs of ten decide correctly at the epsilon of the report."""
        return self.decision_chance is not None and self.decision_chance >= float(DECIDED)

    @property
    def worst(self) -> float:
        """Larger error probability, or 1 if it is unknown."""
        if self.false_no is None or self.false_yes is None:
            return 1.0
        return max(self.false_no, self.false_yes)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryFacts:
    """Public facts of one query, in the unit of the query.

    ``p`` is the p of a QUANTILE.  If this query is a group of a grouped query, ``block`` is the id
    of the grouped query, ``block_sql`` is its SQL as it was written, and ``group`` is the group in
    words.  ``counted`` says what margins count: people, or rows if several rows of a person count.
    ``max_rows`` is the number of rows as which a person counts at most where rows count; with it a
    COUNT is of persons and a SUM of persons' totals.  It is None if each row is a person.
    ``tolerance`` is tau as it was stated, such as ``10`` or ``5%``.  ``copy_rows`` is the number of
    rows of the copy that the query selects, or None for a distance.  ``likely`` says that an answer
    without a p-value is wrong at most alpha of the time on all public stand-ins.  The
    ``decider_options`` are those of the decider, with their values.  ``scale`` is ``rows`` for a
    COUNT as a share of all rows, in per cent, and for a SUM per row; else None.
    ``distance_rows`` is the number of rows of which a distance is taken as a share where a margin
    is shown as a distance: the copy's, or the private rows if ``rows_stated``; None for a query,
    and for relations, whose strength in the private table is not known.
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
    max_rows: int | None = None
    tolerance: str = ""
    copy_rows: int | None = None
    likely: bool = False
    decider_options: tuple[DeciderOption, ...] = ()
    scale: str | None = None
    distance_rows: int | None = None
    rows_stated: bool = False

    @property
    def is_distance(self) -> bool:
        """Whether the aggregate is a distance between distributions."""
        return self.aggregate in {*DISTANCE_AGGREGATES.values(), *SCORES}

    @property
    def sign(self) -> str:
        """Sign after a number in the unit of the query: of a share and of a distance per cent."""
        return " %" if self.aggregate == SHARE else ""

    @property
    def decidable(self) -> bool | None:
        """Whether nine runs of ten decide correctly at this tau; None without a budget."""
        chosen = self.chosen
        return None if chosen.false_no is None else chosen.decides

    @property
    def chosen(self) -> CandidateFacts:
        """Candidate that decides the query."""
        return next(c for c in self.candidates if c.decider == self.decider)


def distance_of(facts: QueryFacts, margin: tuple[int, int, int]) -> Figure | None:
    """Distance, a share, that a margin and its two ends tell; None for a query.

    The private table is taken to have ``distance_rows`` rows.  One row more in the margin is ``1 +
    tau`` rows less in the distance (Theorem D4).  A margin is rounded up, so the distance of the
    lower end is that of one row less, and the distance of the margin itself that of half a row.
    """
    rows = facts.distance_rows
    if not rows:
        return None

    def distance(rows_away: float) -> float:
        return min(max(facts.tau - rows_away * (1 + facts.tau) / rows, 0.0), 1.0)

    value, low, high = margin
    return Figure(distance(value - 0.5), distance(high), distance(low - 1))
