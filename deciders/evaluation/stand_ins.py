"""Public stand-ins for the private table, made from the synthetic histogram.

``D0`` is the synthetic histogram itself.  ``D+`` and ``D-`` lie at least ``2 tau`` above and below
it, the distance at which Def. 3.4 asks for a no.  For counts and sums the rows are reweighted; for
means and quantiles the values are moved (ours; docs/theory.md, section 4).  Stand-ins use no
private data and cost nothing.

A stand-in has the methods of a histogram that ``accept`` calls.  It looks up the running counts and
sums of the synthetic histogram, so it is cheap at any size.  A row may count as a fraction.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from pqd.deciders.evaluation.stand_in_tables import Extended, Moved, Part, Raised, Reweighted, Rows
from pqd.deciders.histogram import EMPTY, HALF, Histogram
from pqd.deciders.running_sums import RunningSums

_LARGEST = 2**62

StandIn = Histogram | Rows | Reweighted | Extended | Raised | Moved


@dataclass(frozen=True, slots=True)
class Shape:
    """Aggregate and lattice of a decider; a bound of None does not limit the values."""

    aggregate: str
    lower: int | None = None
    upper: int | None = None
    step: int = 1
    p: Fraction = HALF

    @property
    def ends(self) -> tuple[int, int]:
        """Bounds of the values; a missing bound is replaced by 2^62 in size."""
        return (
            -_LARGEST if self.lower is None else self.lower,
            _LARGEST if self.upper is None else self.upper,
        )


def stand_ins_at(histogram: Histogram, gap: Fraction, shape: Shape) -> Iterator[StandIn]:
    """Yield a stand-in at least ``gap`` above the public answer, and one at least as far below it.

    A side is left out if no table can be that far from the answer.
    """
    for side in (1, -1):
        stand_in = _at(histogram, gap, side, shape)
        if stand_in is not None:
            yield stand_in


def _at(histogram: Histogram, gap: Fraction, side: int, shape: Shape) -> StandIn | None:
    aggregate, change = shape.aggregate, side * math.ceil(gap)
    if aggregate == "COUNT":
        return _count_table(histogram.mass + change)
    if aggregate == "COUNT DISTINCT":
        return _distinct_table(histogram, histogram.mass + change)
    if aggregate == "SUM":
        return _sum_table(histogram, change, side, shape)
    if not histogram.mass:
        return None
    return (_mean_table if aggregate == "AVG" else _quantile_table)(histogram, gap, side, shape)


def _count_table(count: int) -> Rows | None:
    """Table of ``count`` rows."""
    return Rows(count) if 0 <= count <= _LARGEST else None


def _distinct_table(histogram: Histogram, count: int) -> StandIn | None:
    """Table of ``count`` distinct values; the proportions of their multiplicities are kept."""
    if not 0 < count <= _LARGEST:
        return None if count else EMPTY
    base = histogram if histogram.mass else Histogram.from_values([1])
    return Reweighted(base, Fraction(count, base.mass))


def _sum_table(histogram: Histogram, missing: int, side: int, shape: Shape) -> StandIn | None:
    """Table whose sum is larger by ``missing``, which may be negative.

    If possible, the counts of all rows are scaled.  Otherwise rows are added.  An added row has the
    farthest value of the table.  If that value does not help, the added row has the bound as its
    value, or one step if there are no bounds.
    """
    total = histogram.total + missing
    if not missing:
        return histogram
    if abs(total) > _LARGEST:
        return None
    if histogram.total and total * histogram.total >= 0:
        return Reweighted(histogram, Fraction(total, histogram.total)) if total else EMPTY
    ends = (histogram.smallest(1), histogram.largest) if histogram.mass else (0, 0)
    bound = shape.upper if side > 0 else shape.lower
    gain = ends[1] if side > 0 else ends[0]
    if side * gain <= 0:
        gain = side * shape.step if bound is None else bound
    if side * gain <= 0:
        return None
    if abs(missing) >= abs(gain):
        return Extended(histogram, Fraction(missing, gain), gain)
    # Add one row with the least value that is enough.
    start = (shape.lower or 0) if side > 0 else (shape.upper or 0)
    away = max(0, side * (missing - start))
    value = start + side * -(-away // shape.step) * shape.step
    return Histogram.merged([histogram, Histogram.from_values([value])])


def _quantile_table(histogram: Histogram, gap: Fraction, side: int, shape: Shape) -> StandIn | None:
    """Table with all values moved by whole steps until the quantile is far enough away."""
    low, high = shape.ends
    centre = histogram.quantile(shape.p)
    by = min(math.ceil(gap / shape.step) * shape.step, _LARGEST)
    reached = min(max(centre + side * by, low), high)
    return Moved(histogram, side * by, low, high) if side * (reached - centre) >= gap else None


def _mean_table(histogram: Histogram, gap: Fraction, side: int, shape: Shape) -> Raised | None:
    """Table with all values moved by whole steps within bounds, to move the mean by ``gap``."""
    low, high = shape.ends
    gain = math.ceil(gap * histogram.mass)
    if side > 0:
        return _raised_table(histogram, histogram.total + gain, high, shape.step)
    lowered = _raised_table(histogram.mirrored, gain - histogram.total, -low, shape.step)
    return lowered and lowered.mirrored


def _raised_table(table: RunningSums, total: int, upper: int, step: int) -> Raised | None:
    """Table with all values raised by whole steps, at most to ``upper``, to sum to ``total``.

    As few rows as possible take the last step.  These are the largest rows that can take it.
    """
    mass, value_at = table.mass, table.value_at
    rows_before, sum_before = table.rows_before, table.sum_before
    if mass * upper < total:
        return None

    def shortage(place: int, rows: int, below: int) -> int:
        """Minus the sum, if the value before ``place`` and all larger values move to the bound."""
        return value_at(place - 1) * rows - below - upper * mass

    # A larger value reaches the bound sooner.
    place = table.first_beyond(shortage, -total, range(1, table.size + 1)) - 1
    free, free_sum = rows_before(place), sum_before(place)
    by = (total - free_sum - upper * (mass - free)) // free // step * step
    free_after = table.place_below(upper - by)
    at_upper = mass - rows_before(free_after)
    before = sum_before(free_after) + by * (mass - at_upper) + upper * at_upper
    rows = -(-(total - before) // step)
    end = at_upper + rows
    parts = Part(0, at_upper, to=upper), Part(at_upper, end, by + step), Part(end, mass, by)
    return Raised(
        table, tuple(part for part in parts if part.start < part.stop), before + rows * step
    )
