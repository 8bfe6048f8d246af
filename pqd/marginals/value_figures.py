"""Values of each column of a profile: rare values, lost values and filled rows.

They are computed from one released histogram of each column, the released number of rows, and
public counts: post-processing of the release.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from pqd.deciders.distances.cells import ROUNDED
from pqd.deciders.distances.estimates import DistanceEstimates, RowsEstimate
from pqd.deciders.distances.noise_laws import LaplaceLaw
from pqd.deciders.distances.value_claims import CountKept, FewLost
from pqd.marginals.bound_profile import BoundMarginal, ColumnValues
from pqd.marginals.profile_plan import ProfilePlan
from pqd.marginals.table_claims import NamedClaim, counted_claims
from pqd.reports.models.figure import Figure
from pqd.reports.models.profile import CellFacts, CountFacts, ValuesOfColumn, ZoomedMarginal
from pqd.reports.models.standings import Standing

# Part of alpha for the number of rows; the columns share the rest, and so do the cells of each.
_OF_ROWS = Fraction(1, 5)
# A value that is missing shows in nine runs of ten if it has so many rows more than noise hides.
_MISSED = 0.1


def values_of_columns(
    plan: ProfilePlan, estimates: DistanceEstimates, noisy: Sequence[int]
) -> tuple[ValuesOfColumn, ...]:
    """Values of each column, from the released histograms of all columns, ``noisy``.

    Guarantee: with probability at least 1 - alpha the number of rows lies in its interval, and each
    cell of all columns within the reach of its noisy count.  Then all intervals, and all standings
    that are not undecided, are true (docs/theory.md, Theorem V6).
    """
    if not plan.bound.copy_rows:
        return ()
    rows = estimates.rows_at(float(_OF_ROWS * plan.parameters.alpha))
    each = zip(
        plan.bound.column_values,
        counted_claims(plan.bound, max(1, rows.value)),
        plan.histograms.of_each(noisy),
        strict=True,
    )
    return tuple(_of_column(plan, column, claims, cells, rows) for column, claims, cells in each)


def histograms_of_columns(
    plan: ProfilePlan,
    estimates: DistanceEstimates,
    noisy: Sequence[int],
    names: Sequence[str],
) -> tuple[ZoomedMarginal, ...]:
    """Both distributions of the columns ``names``, in their order: the copy's, and the noisy one.

    Guarantee: with probability at least 1 - alpha all intervals of all columns hold, together with
    all statements of ``values_of_columns``, since both rest on the same event.
    """
    if not plan.bound.copy_rows:
        return ()
    rows = estimates.rows_at(float(_OF_ROWS * plan.parameters.alpha))
    each = zip(plan.bound.column_values, plan.histograms.of_each(noisy), strict=True)
    found = {
        column.histogram.columns[0]: _histogram(plan, column.histogram, cells, rows)
        for column, cells in each
        if column.histogram.columns[0] in names
    }
    return tuple(found[name] for name in names if name in found)


def _histogram(
    plan: ProfilePlan, marginal: BoundMarginal, noisy: Sequence[int], rows: RowsEstimate
) -> ZoomedMarginal:
    """Both distributions of one column, in the order of its cells."""
    (partition,), (reach, _) = marginal.marginal.partitions, _reach(plan, marginal.copy.size)
    total = plan.bound.copy_rows
    cells = []
    for place, label in enumerate(partition.labels):
        low, high = max(0, noisy[place] - reach), max(0, noisy[place] + reach)
        share = float(marginal.copy[place]) / total
        private = Figure(
            _share(noisy[place], rows.value), _share(low, rows.high), _share(high, rows.low)
        )
        gap = Figure(*(end - share for end in private))
        unseen = place == partition.unseen
        cells.append(
            CellFacts(labels=(label,), copy=share, private=private, difference=gap, unseen=unseen)
        )
    return ZoomedMarginal(
        columns=marginal.columns,
        axes=(tuple(partition.labels),),
        cells=tuple(cells),
        epsilon=plan.histograms.cost,
    )


def _reach(plan: ProfilePlan, cells: int) -> tuple[int, LaplaceLaw]:
    """Reach of each noisy count of a column, which all of them keep at once, and its law."""
    law = LaplaceLaw(1 / plan.histograms.each)
    columns = len(plan.bound.column_values)
    level = float((1 - _OF_ROWS) * plan.parameters.alpha) / (columns * cells)
    reach = max(1, law.quantile(level / 2))
    if plan.histograms.parts > 1:
        reach += math.ceil(ROUNDED)
    return reach, law


def _of_column(
    plan: ProfilePlan,
    column: ColumnValues,
    claims: Sequence[NamedClaim],
    noisy: Sequence[int],
    rows: RowsEstimate,
) -> ValuesOfColumn:
    """Values of one column."""
    (name,) = column.histogram.columns
    copy = column.histogram.copy
    reach, law = _reach(plan, copy.size)
    filled = Figure(
        float(max(0, rows.value - noisy[0])),
        float(max(0, rows.low - noisy[0] - reach)),
        float(max(0, rows.high - noisy[0] + reach)),
    )
    lost, kept = None, []
    for each in claims:
        own = each.claim
        if not isinstance(own, CountKept | FewLost):
            raise TypeError(each.name)
        count, around = sum(noisy[cell] for cell in own.cells), len(own.cells) * reach
        # All cells but that of NULL are the filled rows, which have less noise.
        all_filled = own.cells == tuple(range(1, copy.size))
        counted = filled if all_filled else _figure(count, around)
        facts = _count_facts(each.name, own, counted, rows)
        if isinstance(own, FewLost):
            lost = facts
        else:
            kept.append(facts)
    kept.sort(key=_excess, reverse=True)
    beyond = [each for each in kept if each.standing is Standing.BEYOND]
    return ValuesOfColumn(
        column=name,
        filled_copy=1 - int(copy[0]) / plan.bound.copy_rows,
        filled=Figure(
            _share(filled.value, rows.value),
            _share(filled.low, rows.low),
            _share(filled.high, rows.high),
        ),
        lost=lost,
        kept=tuple(beyond or kept[:1]),
        reach=(lost.high if lost else 0) + reach + law.quantile(_MISSED),
        standing=_worst([each.standing for each in (*([lost] if lost else []), *kept)]),
    )


def _figure(count: int, around: int) -> Figure:
    """Number of rows and its interval; no number is below 0."""
    return Figure(*(float(max(0, each)) for each in (count, count - around, count + around)))


def _count_facts(
    name: str, claim: CountKept | FewLost, counted: Figure, rows: RowsEstimate
) -> CountFacts:
    """Facts of the rows that one claim counts."""
    (lowest, least), (low, high), (highest, most) = (
        claim.ends(max(1, n)) for n in (rows.low, rows.value, rows.high)
    )
    # The upper end grows with n.  The lower one is convex and 0 at n = 0: it is largest at an end
    # of the interval of n, and grows from where it is above 0.
    if counted.low >= most or (lowest >= 0 and counted.high <= lowest):
        standing = Standing.BEYOND
    elif counted.high < least and counted.low > max(lowest, highest):
        standing = Standing.WITHIN
    else:
        standing = Standing.UNDECIDED
    return CountFacts(
        name=name,
        copy_rows=claim.copy,
        expected=claim.copy * rows.value / claim.copy_rows,
        low=max(0, low + 1),
        high=high - 1,
        rows=counted,
        standing=standing,
    )


def _excess(facts: CountFacts) -> float:
    """Rows that the private table seems to have too many or too few, as a share of what may be.

    What may be is what is allowed, and what noise may add.
    """
    gap = facts.rows.value - facts.expected
    allowed = facts.high - facts.expected if gap > 0 else facts.expected - facts.low
    return abs(gap) / max(1.0, allowed + facts.rows.high - facts.rows.value)


def _worst(standings: Sequence[Standing]) -> Standing:
    """Worst standing; undecided if nothing is judged."""
    for each in (Standing.BEYOND, Standing.UNDECIDED):
        if each in standings:
            return each
    return Standing.WITHIN if standings else Standing.UNDECIDED


def _share(part: float, whole: int) -> float:
    return min(max(part / max(1, whole), 0.0), 1.0)
