"""Public stand-ins for the private table: what D might be, made from the synthetic histogram.

``D0`` is the synthetic histogram itself; ``D+`` and ``D-`` lie at least ``2 tau`` above and below
it, the distance at which Def. 3.4 asks for a no.  Counts and sums are reweighted, means and
quantiles moved (ours; docs/theory.md, section 4).  No private data, no cost.

A stand-in answers what ``accept`` reads of a histogram by the running counts and sums of the
synthetic one, so that it costs a few look-ups whatever its size.  A row may count in part.
"""

import math
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from deciders.aggregates import HALF, answer
from deciders.evaluation.stand_in_tables import Extended, Moved, Part, Raised, Reweighted
from deciders.histogram import Histogram

_LARGEST = 2**62

StandIn = Histogram | Reweighted | Extended | Raised | Moved


@dataclass(frozen=True, slots=True)
class Shape:
    """Aggregate and lattice; a bound that is None does not bind."""

    aggregate: str
    lower: int | None = None
    upper: int | None = None
    step: int = 1
    p: Fraction = HALF

    @property
    def ends(self) -> tuple[int, int]:
        """Bounds, far away where there are none."""
        return (
            -_LARGEST if self.lower is None else self.lower,
            _LARGEST if self.upper is None else self.upper,
        )


def stand_ins_at(histogram: Histogram, gap: Fraction, shape: Shape) -> Iterator[StandIn]:
    """Yield a stand-in at least ``gap`` above the public answer and one as far below it.

    A side on which no table can be that far is left out.
    """
    centre = answer(shape.aggregate, histogram, shape.p)
    if centre is None:
        return
    for side in (1, -1):
        target = centre + side * gap
        if abs(target) <= _LARGEST:
            found = _at(histogram, centre, target, shape)
            if found is not None:
                yield found


def _at(histogram: Histogram, centre: Fraction, target: Fraction, shape: Shape) -> StandIn | None:
    side = 1 if target >= centre else -1
    if shape.aggregate == "AVG":
        total = math.ceil(side * target * histogram.mass)
        low, high = shape.ends
        if side > 0:
            return _raised(histogram, total, high, shape.step)
        lowered = _raised(histogram.mirrored, total, -low, shape.step)
        return lowered and lowered.mirrored
    if shape.aggregate in {"MEDIAN", "QUANTILE"}:
        return _shifted(histogram, centre, target, shape)
    whole = side * math.ceil(side * target)
    if shape.aggregate == "SUM":
        return _summing_to(histogram, whole, side, shape)
    return _counting(histogram, whole)


def _counting(histogram: Histogram, count: int) -> StandIn | None:
    """Table of ``count`` rows, or distinct values, in the same proportions."""
    if count < 0:
        return None
    base = histogram if histogram.mass else Histogram.from_values([1])
    return Reweighted(base, Fraction(count, base.mass))


def _summing_to(histogram: Histogram, total: int, side: int, shape: Shape) -> StandIn | None:
    """Table with its counts multiplied so that it sums to ``total``; else with rows added.

    Rows like the farthest there are, else at the bound, else (without bounds) of one step.
    """
    if histogram.total and total * histogram.total >= 0:
        return Reweighted(histogram, Fraction(total, histogram.total))
    ends = (histogram.values.item(0), histogram.values.item(-1)) if histogram.mass else (0, 0)
    bound = shape.upper if side > 0 else shape.lower
    gain, missing = ends[1] if side > 0 else ends[0], total - histogram.total
    if side * gain <= 0:
        gain = side * shape.step if bound is None else bound
    if side * gain <= 0:
        return None
    if abs(missing) >= abs(gain):
        return Extended(histogram, Fraction(missing, gain), gain)
    # One row of the least value that is enough.
    start = (shape.lower or 0) if side > 0 else (shape.upper or 0)
    away = max(0, side * (missing - start))
    value = start + side * -(-away // shape.step) * shape.step
    return Histogram.merged([histogram, Histogram.from_values([value])])


def _shifted(
    histogram: Histogram, centre: Fraction, target: Fraction, shape: Shape
) -> StandIn | None:
    """Table with all values moved by whole steps until the quantile is at or past ``target``."""
    low, high = shape.ends
    side = 1 if target >= centre else -1
    steps = math.ceil(abs(target - centre) / shape.step) * shape.step
    reached = min(max(centre + side * min(steps, _LARGEST), Fraction(low)), Fraction(high))
    if side * (reached - target) < 0:
        return None
    return Moved(histogram, side * min(steps, _LARGEST), low, high)


def _raised(histogram: Histogram, total: int, upper: int, step: int) -> Raised | None:
    """Table with all values raised by whole steps, as far as ``upper``, to sum to ``total``.

    The last step is taken by as few rows as will do, the largest that can.
    """
    mass = histogram.mass
    if mass * upper < total:
        return None

    def shortage(place: int) -> int:
        """Minus the sum once the value at ``place``, and all larger ones, are at the bound."""
        value = histogram.values.item(place)
        free = histogram.count_at_most(value)
        return value * free - histogram.sum_at_most(value) - upper * mass

    # The larger a value, the sooner it is at the bound.
    places = range(histogram.values.size)
    last = bisect_right(places, -total, key=shortage) - 1
    value = histogram.values.item(last)
    free, held = histogram.count_at_most(value), histogram.sum_at_most(value)
    by = (total - held - upper * (mass - free)) // free // step * step
    at_upper = mass - histogram.count_below(upper - by)
    before = histogram.sum_at_most(upper - by - 1) + by * (mass - at_upper) + upper * at_upper
    rows = -(-(total - before) // step)
    more = at_upper + rows
    parts = Part(0, at_upper, to=upper), Part(at_upper, more, by + step), Part(more, mass, by)
    return Raised(
        histogram, tuple(part for part in parts if part.start < part.stop), before + rows * step
    )
