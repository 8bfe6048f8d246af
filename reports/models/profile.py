"""Model of ``pqd profile``: how far the copy's distribution is from the private table's."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from pqd.reports.models.figure import Estimated, Figure
from pqd.reports.models.report import IndexedReport, data_frame, rendering
from pqd.reports.models.standings import DISTANCES, Outcome, Standing, chance_of, standing_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from pqd.deciders.note import Note
    from pqd.reports.models.audit import Cost
    from pqd.reports.models.lint import Finding
    from pqd.reports.models.refusals import LeftOut
    from pqd.reports.models.relations import RelationsFacts
    from pqd.reports.models.risk import RiskReport
    from pqd.reports.models.target import TargetFacts

DistanceId = Literal["tv", "ks", "emd"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DistanceFacts(Estimated):
    """One distance between the copy's distribution and the private one, as a share of the rows.

    ``distance`` is ``tv`` (total variation), ``ks`` (Kolmogorov-Smirnov) or ``emd`` (earth
    mover's).  ``cells`` is the number of cells of the marginal.  ``reference`` is the mean distance
    between two independent samples, one of the size of each table.  With probability 1 - alpha/2,
    no marginal of two such samples has a distance above its ``mark``.  ``reference`` and ``mark``
    are None if they are not known.

    ``tau_min`` is the effectiveness threshold.  ``tau_decided`` is the least tolerance that nine
    runs of ten decide correctly at this epsilon.  ``half_width`` is about half the width of the
    interval.  Only ``estimate``, ``outcome``, ``p_value``, ``conclusive``, ``at_once`` and ``mark``
    depend on the private table; in a plan they are None or False.  The intervals of all distances
    hold at once with probability 1 - alpha.  ``at_once`` says that the verdict is conclusive even
    if all distances of the report are tested together (Bonferroni).
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
    outcome: Outcome | None = None
    p_value: float | None = None
    conclusive: bool = False
    at_once: bool = False
    mark: float | None = None

    @property
    def decidable(self) -> bool:
        """Whether nine runs of ten decide this tolerance correctly at this epsilon; public."""
        return self.tau_decided <= self.tau

    @property
    def standing(self) -> Standing:
        """Standing: ``within``, ``beyond``, or ``undecided`` if no p-value is at most alpha."""
        return standing_of(self.outcome, DISTANCES, conclusive=self.conclusive)

    @property
    def planned(self) -> Standing:
        """Standing in a plan: whether the tolerance can be decided at this epsilon.

        Where chance alone is beyond the tolerance, no copy but a leaked one would be within it.
        """
        if self.is_out_of_reach:
            return Standing.OUT_OF_REACH
        return Standing.DECIDABLE if self.decidable else Standing.TOO_LITTLE

    @property
    def chance(self) -> Standing | None:
        """Standing beside an independent real sample: at chance or beyond it; None if unknown."""
        return chance_of(self.low, self.high, self.mark)

    @property
    def is_out_of_reach(self) -> bool:
        """Whether chance alone is beyond the tolerance on average, whatever the copy; public."""
        return self.reference is not None and self.reference > self.tau

    @property
    def is_fault(self) -> bool:
        """Whether it is established that it is beyond the tolerance, and not by chance.

        Without a mark of chance, a distance is no fault if chance alone is beyond the tolerance.
        """
        if self.standing is not Standing.BEYOND:
            return False
        if self.mark is None:
            return not self.is_out_of_reach
        return self.chance is Standing.BEYOND_CHANCE

    def computed(self) -> dict[str, Any]:
        """Values that JSON holds in addition to the fields."""
        chance = None if self.chance is None else self.chance.value
        return {"standing": self.standing.value, "chance": chance}


@dataclass(frozen=True, slots=True, kw_only=True)
class Score(Estimated):
    """Quality of all marginals of ``ways`` columns: 1 minus the mean of their total variations.

    ``ways`` is None for the overall score, which is the mean of the scores of all ways.
    ``reference`` is the average score of an independent real sample of the copy's size.  The score
    of such a sample is above ``mark`` with probability 1 - alpha/2, for all scores and marginals of
    the report at once.  The interval of ``estimate`` holds by itself; the interval of
    ``simultaneous`` holds at once with all other intervals of the report.  ``estimate``,
    ``simultaneous`` and ``mark`` are None in a plan.
    """

    ways: int | None
    marginals: int
    reference: float
    half_width: float
    estimate: Figure | None = None
    mark: float | None = None
    simultaneous: Figure | None = None

    @property
    def chance(self) -> Standing | None:
        """Standing beside an independent real sample: at chance or beyond it; None if unknown."""
        if self.simultaneous is None or self.mark is None:
            return None
        _, low, high = self.simultaneous
        return chance_of(1 - high, 1 - low, 1 - self.mark)

    def computed(self) -> dict[str, Any]:
        """Value that JSON holds in addition to the fields."""
        return {"chance": None if self.chance is None else self.chance.value}

    @property
    def score(self) -> float | None:
        """Estimated quality, None in a plan."""
        return self.value


def _shown(share: float) -> float:
    """Share as a report shows it beside a mark; equal ones raise no note."""
    return round(share, 4)


@dataclass(frozen=True, slots=True)
class Alarm:
    """Comparison of a copy's quality with two marks; a copy above a mark may repeat private rows.

    An independent real sample has a quality above ``independent`` with probability alpha.  Rows
    drawn from the private table itself have a quality above ``drawn`` with probability alpha.
    ``standing`` is None, ``closer than independent`` (a note) or ``closer than drawn`` (an error).
    A copy that was made under ``copy_epsilon`` gets no error.  Both marks are simulated on the
    copy, so their level is measured and not proven.
    """

    independent: float | None
    drawn: float
    copy_epsilon: Fraction | None
    standing: Standing | None

    @classmethod
    def of(
        cls, score: Score, *, independent: float, drawn: float, copy_epsilon: Fraction | None
    ) -> Alarm:
        """Alarm of a copy; it has a standing if the whole interval of ``score`` is above a mark."""
        low, standing = score.low, None
        if low is not None and low > drawn and copy_epsilon is None:
            standing = Standing.DRAWN
        elif low is not None and _shown(low) > _shown(min(independent, drawn)):
            standing = Standing.INDEPENDENT
        return cls(independent, drawn, copy_epsilon, standing)

    @classmethod
    def of_verdict(cls, *, is_nearer: bool, drawn: float, copy_epsilon: Fraction | None) -> Alarm:
        """Alarm of a check: whether the quality is proven to be above ``drawn``."""
        standing = None
        if is_nearer:
            standing = Standing.DRAWN if copy_epsilon is None else Standing.INDEPENDENT
        return cls(None, drawn, copy_epsilon, standing)

    @property
    def is_error(self) -> bool:
        """Whether the copy is nearer than rows drawn from the private table itself."""
        return self.standing is Standing.DRAWN


@dataclass(frozen=True, slots=True, kw_only=True)
class CellFacts:
    """One cell of a marginal: the exact share of its rows in the copy, and the noisy private share.

    ``labels`` has one text per column.  ``unseen`` says that the copy never has the values of this
    cell.  ``difference`` is the private share minus the copy's share.
    """

    labels: tuple[str, ...]
    copy: float
    private: Figure
    difference: Figure
    unseen: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoomedMarginal:
    """All cells of one of the worst marginals, those with the largest differences first.

    ``axes`` has, for each column, the labels of its cells in their order.
    """

    columns: tuple[str, ...]
    axes: tuple[tuple[str, ...], ...]
    cells: tuple[CellFacts, ...]
    epsilon: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfiledColumn:
    """Public facts of one profiled column, and the rule that puts its values into cells.

    ``how`` is the rule.  ``values``: each value of the copy is a cell.  ``quantiles``: the cells
    are bins between quantiles of the copy, of texts in their order.  ``stated``: the caller stated
    the cells; ``merged`` other values of the copy share one cell.  ``missing``: the copy lacks the
    column, so every distance with it is 100 %.
    """

    name: str
    kind: str
    cells: int
    how: Literal["values", "quantiles", "stated", "missing"]
    merged: int = 0
    constant: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CountFacts:
    """Rows that have one value of a column: in the copy, and about how many private rows.

    ``name`` is the value.  ``copy_rows`` is the number of rows of the copy, ``expected`` the number
    at the size of the private table, and ``low .. high`` are the private numbers that the relative
    tolerance and chance allow.  ``rows`` is the noisy private number with its interval.
    ``standing`` is ``beyond`` (lost, or far too often in the copy, or far too seldom), ``within``
    or ``undecided``.
    """

    name: str
    copy_rows: int
    expected: float
    low: int
    high: int
    rows: Figure
    standing: Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class ValuesOfColumn:
    """Values of one column, which a distance hardly weighs if few rows have them.

    ``filled_copy`` is the share of the copy's rows that have a value, ``filled`` that of the
    private rows with its interval.  ``lost`` are the private rows whose value the copy never has.
    ``kept`` are the values that are beyond what the tolerance and chance allow, the worst first, or
    else the one that is nearest to it.  ``standing`` is the worst of all.  ``reach`` is the
    number of rows that noise hides: a value of fewer rows may be missing and not show.  All
    statements about all columns hold at once with probability 1 - alpha.
    """

    column: str
    filled_copy: float
    filled: Figure
    lost: CountFacts | None
    kept: tuple[CountFacts, ...]
    reach: int
    standing: Standing

    @property
    def counts(self) -> tuple[CountFacts, ...]:
        """Lost values, then values, as far as there are any."""
        return (*([] if self.lost is None else [self.lost]), *self.kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetPart:
    """Part of the budget: the released numbers that it pays for, and their noise.

    ``part`` is ``distances``, ``rows`` (the number of private rows), ``relations``, ``values`` (the
    histogram of each column), ``cells``, ``target`` or ``attacks``.
    ``numbers`` is how many numbers are released.  ``scale`` is the standard deviation of the noise
    of one number, in rows.
    """

    part: Literal["distances", "rows", "relations", "values", "cells", "target", "attacks"]
    epsilon: Fraction
    numbers: int
    scale: float
    noise: Literal["laplace", "gaussian", "cube"] = "laplace"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortfall:
    """Less than a fifth of a profile's distances can be decided, so a run is refused; all public.

    Of ``distances``, of ``columns`` columns, ``decidable`` can be decided at ``total_epsilon`` and
    the tolerance ``tau``, for a private table with ``private_rows`` rows, which were stated, else
    with ``copy_rows``.  ``needed_epsilon`` is the least total epsilon that decides all of them,
    ``needed_tau`` the least tolerance, ``needed_columns`` the most columns; each alone suffices,
    and is None if nothing does.
    ``singles_decide``: the distances of single columns can be decided without all others.
    """

    decidable: int
    distances: int
    columns: int
    total_epsilon: Fraction
    tau: float
    copy_rows: int
    private_rows: int | None
    needed_epsilon: float | None
    needed_tau: float | None
    needed_columns: int | None
    singles_decide: bool


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ProfileReport(IndexedReport[DistanceFacts]):
    """Distances between a private table and its synthetic copy.

    ``marginals`` are ordered by number of columns, then from the largest distance to the smallest.
    ``relations`` is None without pairs.  ``alarm`` is None in a plan.  ``rows`` is the noisy number
    of private rows.  ``unseen`` is the share of private rows with a value that the copy never has.
    ``values`` has the values of each column, and is empty in a plan.  ``histograms`` has all cells
    of the columns that are beyond the tolerance, the worst first, from the same release.
    ``dry`` says that nothing was measured and nothing was spent.  ``shortfall`` says in a plan that
    a run would be refused, and what would do.  ``cells_from`` names the table that gives the cells;
    it is empty if the copy does.  ``left_out`` has every column of either table that is not judged
    and whose name may be told.  ``risk`` has the attacks on the copy, if the caller asked for them;
    its cost is that of the whole run.  ``held_out_cost`` is what the run charged to the held-out
    table, which has an account of its own, or in a plan what a run would charge.
    """

    kind: ClassVar[str] = "profile"
    _question: ClassVar[str] = 'report.of_columns("age").standing'

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
    relations: RelationsFacts | None = None
    rows: Figure | None = None
    unseen: Figure | None = None
    values: tuple[ValuesOfColumn, ...] = ()
    histograms: tuple[ZoomedMarginal, ...] = ()
    zoomed: tuple[ZoomedMarginal, ...] = ()
    target: TargetFacts | None = None
    alarm: Alarm | None = None
    cells_from: str = ""
    left_out: tuple[LeftOut, ...] = ()
    findings: tuple[Finding, ...] = ()
    notes: tuple[Note, ...] = ()
    shortfall: Shortfall | None = None
    risk: RiskReport | None = None
    held_out_cost: Cost | None = None
    dry: bool = False
    replayed: bool = False
    simulated: bool = False

    @property
    def spent(self) -> Fraction:
        """Exact total epsilon that this run spent; replayed measurements cost nothing."""
        return Fraction(0) if self.dry else self.cost.spent

    @property
    def withhold(self) -> bool:
        """True if nobody may get the copy: it is too near to the private table, or a leak is shown.

        This is an error of the alarm, or a leak that is established for all attacks at once.
        """
        near = self.alarm is not None and self.alarm.is_error
        return near or (self.risk is not None and self.risk.withhold)

    @property
    def exit_code(self) -> int:
        """1 if the copy must not be handed out, else 0; the command uses it with ``--strict``."""
        return 1 if self.withhold else 0

    @property
    def p_value_all_within(self) -> float | None:
        """P-value of "every distance is within the tolerance": the largest of all p-values.

        This is the intersection-union test.  The p-value is 1 if the estimate of some distance is
        beyond the tolerance.  It is None in a plan.
        """
        if self.dry or not self.marginals:
            return None
        outcomes = [(each.outcome, each.p_value) for each in self.marginals]
        return max(1.0 if outcome != "yes" or p is None else p for outcome, p in outcomes)

    @property
    def ways(self) -> int:
        """Largest number of columns of a marginal."""
        return max((len(each.columns) for each in self.marginals), default=0)

    @property
    def total_epsilon(self) -> Fraction:
        """Epsilon of all parts of the budget together, replayed parts included."""
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

    @property
    def repeats(self) -> dict[tuple[str, ...], str]:
        """Column that a marginal repeats, for the marginals that only repeat a wrong column.

        Such a marginal is beyond the tolerance, and so is one of its columns.  Its excess, its
        distance less that of its worst column, is within the tolerance.  The excess is computed
        from released figures.
        """
        singles = {each.columns[0]: each for each in self.of_ways(1)}
        found = {}
        for each in self.marginals:
            own = [singles[name] for name in each.columns if name in singles]
            if len(each.columns) == 1 or each.standing is not Standing.BEYOND or not own:
                continue
            worst = max(own, key=lambda one: one.value or 0.0)
            excess = (each.value or 0.0) - (worst.value or 0.0)
            if worst.standing is Standing.BEYOND and excess <= each.tau:
                found[each.columns] = worst.columns[0]
        return found

    def computed(self) -> dict[str, Any]:
        """Epsilon spent, what to do, the p-value that all distances are within, what repeats."""
        repeats = [{"columns": names, "repeats": name} for names, name in self.repeats.items()]
        return {
            "spent_epsilon": self.spent,
            "withhold": self.withhold,
            "p_value_all_within": self.p_value_all_within,
            "repeats": repeats,
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Heat map of the total variation of every column and pair.

        Parameters
        ----------
        ax
            Axes to draw on.  Without ``ax``, the plot gets a new figure, which pyplot does not
            manage.  A notebook shows the figure if the axes are the last value of a cell.
            ``ax.figure.savefig(...)`` writes it to a file.

        Returns
        -------
        matplotlib.axes.Axes
            Axes that the plot was drawn on.

        Raises
        ------
        ParameterError
            The report is a plan, or has no total variation of a column.
        """
        return cast("Axes", rendering("plot_distances")(self, ax))

    def to_frame(self) -> pd.DataFrame:
        """Frame with one row per distance."""
        rows = []
        for each in self.marginals:
            facts = asdict(each)
            value, low, high = facts.pop("estimate") or (None, None, None)
            columns = ", ".join(facts.pop("columns"))
            estimate = {"value": value, "low": low, "high": high}
            marks = {"standing": each.standing.value, "simulated": self.simulated}
            rows.append({"columns": columns, **estimate, **facts, **marks})
        return data_frame(rows).astype({"alpha": float})

    @property
    def _items(self) -> tuple[DistanceFacts, ...]:
        return self.marginals

    def _name(self, item: DistanceFacts) -> str:
        return ", ".join(item.columns)
