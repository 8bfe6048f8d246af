"""Model of ``pqd profile``: how far the copy's distribution is from the private table's."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from pqd.reports.models.figure import Estimated, Figure
from pqd.reports.models.report import Report, data_frame, rendering
from pqd.reports.models.standings import DISTANCES, Standing, standing_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from pqd.deciders.note import Note
    from pqd.reports.models.audit import Cost
    from pqd.reports.models.target import TargetFacts

DistanceId = Literal["tv", "ks", "emd"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DistanceFacts(Estimated):
    """One distance between the copy's distribution and the private one; a share of the rows.

    ``distance`` is ``tv`` (total variation), ``ks`` (Kolmogorov-Smirnov) or ``emd`` (earth
    mover's).  ``cells`` is the number of cells that the columns' values fall into.  ``reference``
    is the mean distance of two independent samples, one of each table's size, and ``mark`` the
    distance that no marginal of such samples exceeds with probability 1 - alpha/2, all at once;
    None where they are not known.  ``tau_min`` is the effectiveness threshold,
    ``tau_decided`` the least tolerance that nine runs of ten decide at this epsilon, and rightly,
    ``half_width`` about half the width of the interval.  Only ``estimate``, ``outcome``,
    ``p_value``, ``conclusive``, ``at_once`` and ``mark`` depend on the private table;
    None in a plan.  The intervals of all distances hold at once with probability
    1 - alpha.  ``at_once``: conclusive also among all distances of the report together
    (Bonferroni).
    """

    columns: tuple[str, ...]
    distance: DistanceId
    cells: int
    alpha: Fraction
    tau: float
    reference: float | None
    tau_min: float
    tau_decided: float
    half_width: float
    estimate: Figure | None = None
    outcome: str | None = None
    p_value: float | None = None
    conclusive: bool = False
    at_once: bool = False
    mark: float | None = None

    @property
    def decidable(self) -> bool:
        """Whether nine runs of ten at this epsilon decide the tolerance, and rightly; public."""
        return self.tau_decided <= self.tau

    @property
    def standing(self) -> Standing:
        """``within``, ``beyond``, or ``undecided``: without a p-value of at most alpha."""
        return standing_of(self.outcome, DISTANCES, conclusive=self.conclusive)

    @property
    def planned(self) -> Standing:
        """Standing in a plan: whether the tolerance can be told at this epsilon."""
        return Standing.DECIDABLE if self.decidable else Standing.TOO_LITTLE

    @property
    def chance(self) -> Standing | None:
        """At chance, as an independent real sample is, or beyond it; None if neither is known."""
        return chance_of(self.low, self.high, self.mark)

    def computed(self) -> dict[str, Any]:
        """Values that JSON holds beside the fields."""
        chance = None if self.chance is None else self.chance.value
        return {"standing": self.standing.value, "chance": chance}


def chance_of(low: float | None, high: float | None, mark: float | None) -> Standing | None:
    """Standing of a distance between ``low`` and ``high`` beside the mark of chance."""
    if low is None or high is None or mark is None:
        return None
    if low > mark:
        return Standing.BEYOND_CHANCE
    return Standing.AT_CHANCE if high < mark else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Score(Estimated):
    """Quality of all marginals of ``ways`` columns: 1 minus the mean of their total variations.

    ``ways`` is None for the overall score, the mean over the ways.  ``reference`` is what an
    independent real sample of the copy's size would score on average, ``mark`` what it would exceed
    with probability 1 - alpha/2; None in a plan.
    """

    ways: int | None
    marginals: int
    reference: float
    half_width: float
    estimate: Figure | None = None
    mark: float | None = None

    @property
    def chance(self) -> Standing | None:
        """At chance, as an independent real sample is, or beyond it; None if neither is known."""
        if self.estimate is None or self.mark is None:
            return None
        return chance_of(1 - self.estimate.high, 1 - self.estimate.low, 1 - self.mark)

    def computed(self) -> dict[str, Any]:
        """Value that JSON holds beside the fields."""
        return {"chance": None if self.chance is None else self.chance.value}

    @property
    def score(self) -> float | None:
        """Quality as estimated, None in a plan."""
        return self.value


@dataclass(frozen=True, slots=True)
class Alarm:
    """Whether a copy is nearer to the private table than a copy that repeats nobody's rows.

    ``independent`` is the quality that an independent real sample exceeds with probability alpha,
    ``drawn`` the quality that rows drawn from the private table itself exceed with probability
    alpha.  ``standing`` is None, ``closer than independent`` (a note) or ``closer than drawn`` (an
    error).  A copy that was made under ``copy_epsilon`` has no error.  The marks are simulated on
    the copy: their level is measured, not proven.
    """

    independent: float
    drawn: float
    copy_epsilon: Fraction | None
    standing: Standing | None

    @classmethod
    def of(
        cls, score: Score, *, independent: float, drawn: float, copy_epsilon: Fraction | None
    ) -> Alarm:
        """Alarm of a copy with an overall ``score``, if all of its interval lies above a mark."""
        low, standing = score.low, None
        if low is not None and low > drawn and copy_epsilon is None:
            standing = Standing.DRAWN
        elif low is not None and low > min(independent, drawn):
            standing = Standing.INDEPENDENT
        return cls(independent, drawn, copy_epsilon, standing)

    @property
    def is_error(self) -> bool:
        """Whether no drawing of private rows would come so near."""
        return self.standing is Standing.DRAWN


@dataclass(frozen=True, slots=True, kw_only=True)
class CellFacts:
    """One cell of a marginal: the copy's share of rows, exact, and the private one, noisy.

    ``labels`` has a text for each column; ``unseen`` says that the copy has no such value.
    ``difference`` is the private share minus the copy's.
    """

    labels: tuple[str, ...]
    copy: float
    private: Figure
    difference: Figure
    unseen: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoomedMarginal:
    """Cells of one of the worst marginals; ``cells`` has all of them, the worst first.

    ``axes`` are the labels of the cells of each column, in their order.
    """

    columns: tuple[str, ...]
    axes: tuple[tuple[str, ...], ...]
    cells: tuple[CellFacts, ...]
    epsilon: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfiledColumn:
    """One column that is profiled, and how its values are put into cells; all public.

    ``how`` is ``values`` (each value of the copy is a cell), ``quantiles`` (bins between quantiles
    of the copy), ``frequent`` (the copy's most frequent values; the other ``merged`` values are one
    cell) or ``stated``.
    """

    name: str
    kind: str
    cells: int
    how: Literal["values", "quantiles", "frequent", "stated"]
    merged: int = 0
    constant: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Column, or marginal, of the copy that is not profiled, and a sentence that says why."""

    columns: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetPart:
    """Part of the budget: what it pays for, and the noise that this gives.

    ``part`` is ``distances``, ``rows`` (the number of private rows), ``cells`` or ``target``.
    ``scale`` is the deviation of the noise of one number, in rows; ``numbers`` how many there are.
    """

    part: Literal["distances", "rows", "cells", "target"]
    epsilon: Fraction
    numbers: int
    scale: float
    noise: Literal["laplace", "gaussian", "cube"] = "laplace"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ProfileReport(Report):
    """Distances between a private table and its synthetic copy, worst first.

    ``marginals`` are ordered by ways, then from the largest distance to the smallest.  ``alarm`` is
    None in a plan.  ``rows`` is the private number of rows, noisy, and ``unseen`` the share of
    private rows with a value that the copy never has.  ``dry`` if nothing was measured and
    nothing spent.
    """

    kind: ClassVar[str] = "profile"

    private: str
    synthetic: str
    tolerance: str
    alpha: Fraction
    overall: Score
    scores: tuple[Score, ...]
    marginals: tuple[DistanceFacts, ...]
    columns: tuple[ProfiledColumn, ...]
    budget: tuple[BudgetPart, ...]
    cost: Cost
    copy_rows: int
    rows: Figure | None = None
    unseen: Figure | None = None
    zoomed: tuple[ZoomedMarginal, ...] = ()
    target: TargetFacts | None = None
    alarm: Alarm | None = None
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[Note, ...] = ()
    dry: bool = False
    replayed: bool = False
    simulated: bool = False

    @property
    def spent(self) -> Fraction:
        """Total epsilon that this run spent, exactly; what is replayed costs nothing."""
        return Fraction(0) if self.dry else self.cost.epsilon

    @property
    def all_within(self) -> float | None:
        """P-value of "every distance is within the tolerance": the largest of theirs.

        By the intersection-union test; 1 where one of them is estimated beyond it, None in a plan.
        """
        if self.dry or not self.marginals:
            return None
        outcomes = [(each.outcome, each.p_value) for each in self.marginals]
        return max(1.0 if outcome != "yes" or p is None else p for outcome, p in outcomes)

    @property
    def ways(self) -> int:
        """Most columns that a marginal has."""
        return max((len(each.columns) for each in self.marginals), default=0)

    @property
    def total_epsilon(self) -> Fraction:
        """Epsilon of all parts of the budget together, also where they were replayed."""
        return sum((part.epsilon for part in self.budget), Fraction(0))

    def of_ways(self, ways: int, distance: DistanceId = "tv") -> tuple[DistanceFacts, ...]:
        """Distances of the marginals of ``ways`` columns, in the order of the report."""
        return tuple(
            each
            for each in self.marginals
            if len(each.columns) == ways and each.distance == distance
        )

    def of_columns(self, *columns: str, distance: DistanceId = "tv") -> DistanceFacts:
        """Distance of the marginal of ``columns``, in any order; KeyError if there is none."""
        for each in self.marginals:
            if set(each.columns) == set(columns) and each.distance == distance:
                return each
        raise KeyError(columns)

    def computed(self) -> dict[str, Any]:
        """Budget spent, and whether all is within the tolerance."""
        return {"spent_epsilon": self.spent, "all_within": self.all_within}

    def plot(self, ax: Axes | None = None) -> Axes:
        """Heat map of the total variation of every column and pair.

        Parameters
        ----------
        ax
            Where to draw.  Without it the axes have a figure of their own, which pyplot does not
            know: a notebook shows it where the axes are the last value of a cell, and
            ``ax.figure.savefig(...)`` writes it.

        Returns
        -------
        matplotlib.axes.Axes
            What was drawn on.

        Raises
        ------
        ParameterError
            The report is a plan, or has no total variation of a column.
        """
        return cast("Axes", rendering("plot_distances")(self, ax))

    def to_frame(self) -> pd.DataFrame:
        """Frame of one row per distance."""
        rows = []
        for each in self.marginals:
            facts = asdict(each)
            value, low, high = facts.pop("estimate") or (None, None, None)
            columns = ", ".join(facts.pop("columns"))
            estimate = {"value": value, "low": low, "high": high}
            rows.append({"columns": columns, **estimate, **facts, "standing": each.standing.value})
        return data_frame(rows).astype({"alpha": float})
