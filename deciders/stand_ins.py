"""Public stand-ins for the private table: what D might be, built from the synthetic histogram.

``D0`` is the synthetic histogram itself; ``D+`` and ``D-`` lie at least ``2 tau`` above and below
it, the distance at which Def. 3.4 asks for a no.  Counts and sums are reweighted, means and
quantiles shifted (ours; docs/theory.md, section 4).  No private data, no cost.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from deciders.aggregates import HALF, answer
from deciders.histogram import Histogram

_LARGEST = 2**62


@dataclass(frozen=True, slots=True)
class Shape:
    """What is aggregated and on which lattice; a bound that is None does not bind."""

    aggregate: str
    lower: int | None = None
    upper: int | None = None
    step: int = 1
    p: Fraction = HALF


def stand_ins_at(histogram: Histogram, gap: Fraction, shape: Shape) -> Iterator[Histogram]:
    """Yield a stand-in at least ``gap`` above the public answer and one as far below it.

    A side on which no table can be that far is left out.
    """
    centre = answer(shape.aggregate, histogram, shape.p)
    if centre is None:
        return
    for side in (1, -1):
        target = centre + side * gap
        found = _moved(histogram, target, side, shape)
        if found is None:
            continue
        reached = answer(shape.aggregate, found, shape.p)
        if reached is not None and side * (reached - target) >= 0:
            yield found


def _moved(histogram: Histogram, target: Fraction, side: int, shape: Shape) -> Histogram | None:
    if abs(target) > _LARGEST:
        return None
    if shape.aggregate == "COUNT":
        count = math.ceil(target) if side > 0 else math.floor(target)
        return Histogram.of_mass(count) if count >= 0 else None
    if shape.aggregate == "COUNT DISTINCT":
        count = math.ceil(target) if side > 0 else math.floor(target)
        return _resampled(histogram, count) if 0 <= count <= 2**24 else None
    if shape.aggregate == "SUM":
        return _reweighted(histogram, target, side, shape)
    return _shifted(histogram, target, side, shape)


def _resampled(histogram: Histogram, distinct: int) -> Histogram:
    """Return ``distinct`` values with multiplicities like those of ``histogram``."""
    held = np.sort(histogram.counts) if histogram.counts.size else np.ones(1, np.int64)
    place = (2 * np.arange(distinct) + 1) * held.size // max(1, 2 * distinct)
    return Histogram(np.arange(distinct, dtype=np.int64), held[place])


def _reweighted(
    histogram: Histogram, target: Fraction, side: int, shape: Shape
) -> Histogram | None:
    """Return the histogram with its counts multiplied so that the sum reaches ``target``.

    Rounding is done on the running count, so that the shape is kept however small the factor; the
    remainder is rows added, or taken away.
    """
    scaled = histogram
    if histogram.total and target / histogram.total >= 0:
        steps = np.rint(histogram.cumulative_counts * float(target / histogram.total))
        if steps[-1] < _LARGEST:
            scaled = Histogram.weighted(histogram.values, np.diff(steps).astype(np.int64))
    missing = math.ceil(side * (target - scaled.total))
    if missing <= 0:
        return scaled
    bound = shape.upper if side > 0 else -shape.lower if shape.lower is not None else None
    largest = max(int(abs(scaled.values).max()) if scaled.values.size else 1, 1)
    gain = min(bound, largest) if bound is not None else largest
    if gain > 0:
        whole, rest = divmod(missing, gain)
        added = [side * gain, side * rest], [whole, int(rest > 0)]
        return Histogram.merged([scaled, Histogram.weighted(*map(np.array, added))])
    return _lightened(scaled, missing, side)


def _lightened(histogram: Histogram, missing: int, side: int) -> Histogram:
    """Return the histogram without the rows that hold it ``missing`` short of its target.

    One row of the least value that is enough, else the rows of largest value together; what is
    left if all of them are not enough falls short.
    """
    counts = histogram.counts.copy()
    gains = -side * histogram.values
    order = np.argsort(-gains)
    order = order[gains[order] > 0]
    enough = order[gains[order] >= missing]
    if enough.size:
        counts[enough[-1]] -= 1
        return Histogram.weighted(histogram.values, counts)
    reached = np.cumsum(gains[order] * counts[order])
    whole = order[: np.searchsorted(reached, missing)]
    if whole.size < order.size:
        place = order[whole.size]
        rest = missing - int(reached[whole.size - 1] if whole.size else 0)
        counts[place] -= -(-rest // int(gains[place]))
    counts[whole] = 0
    return Histogram.weighted(histogram.values, counts)


def _shifted(histogram: Histogram, target: Fraction, side: int, shape: Shape) -> Histogram | None:
    """Return the histogram with all values moved, within the bounds, until ``target`` is met."""
    centre = answer(shape.aggregate, histogram, shape.p)
    steps = math.ceil(abs(target - (centre or 0)) / shape.step)
    low = -_LARGEST if shape.lower is None else shape.lower
    high = _LARGEST if shape.upper is None else shape.upper
    reach = (high - int(histogram.values[0])) if side > 0 else int(histogram.values[-1]) - low
    # Clipping at a bound holds a mean back, so it may take a wider shift than the target's.
    while True:
        shift = min(steps * shape.step, max(reach, 0))
        values = np.clip(histogram.values + side * shift, low, high)
        moved = Histogram.weighted(values, histogram.counts)
        reached = answer(shape.aggregate, moved, shape.p)
        if (reached is not None and side * (reached - target) >= 0) or shift >= reach:
            return moved
        steps *= 2
