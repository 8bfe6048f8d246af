"""Slow twin of deciders/evaluation: stand-ins built as histograms, every figure searched on them.

It shares with the code that it checks nothing but ``accept`` and the data types.
"""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from pqd.deciders.evaluation.effectiveness import ErrorRates, Mechanism, Threshold, shape_of
from pqd.deciders.evaluation.stand_ins import Shape
from pqd.deciders.exact import Number, as_float, budget_of, probability
from pqd.deciders.histogram import Histogram, answer
from pqd.deciders.interval import Interval

_LARGEST = 2**62
_MOST = 2**60
_SHAPED = ("AVG", "MEDIAN", "QUANTILE")
_DRAWN = 2
# Searches stop when the answer is known to one part in this many.
_PRECISION = 200


def shapes(histogram: Histogram, aggregate: str) -> Iterator[Histogram]:
    """Yield tables that the private one might be shaped like, the hardest to decide first.

    For what hangs on how many values lie about the answer (AVG, MEDIAN, QUANTILE): half of the
    rows; rows that are from half to one and a half times as frequent, the more the larger their
    values, and the other way round; rows drawn anew (bootstrap, from fixed seeds); and the table
    itself.  For all else the table itself.  Each is judged around its own answer.
    """
    mass = histogram.mass
    if aggregate in _SHAPED and mass:
        yield _rescaled(histogram, max(1, mass // 2))
        ranks = histogram.cumulative_counts / mass
        for tilted in ((ranks + ranks**2) / 2, (3 * ranks - ranks**2) / 2):
            steps = np.rint(tilted * mass).astype(np.int64)
            yield Histogram.weighted(histogram.values, np.diff(steps))
        for seed in range(_DRAWN):
            counts = np.random.default_rng(seed).multinomial(mass, histogram.counts / mass)
            yield Histogram.weighted(histogram.values, counts)
    yield histogram


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
    if shape.aggregate in {"COUNT", "COUNT DISTINCT"}:
        return _recounted(histogram, math.ceil(side * target) * side, shape)
    rule = {"SUM": _reweighted, "AVG": _raised}.get(shape.aggregate, _shifted)
    return rule(histogram, target, side, shape)


def _recounted(histogram: Histogram, count: int, shape: Shape) -> Histogram | None:
    if count < 0:
        return None
    if shape.aggregate == "COUNT":
        return Histogram.of_mass(count)
    return _rescaled(histogram if histogram.mass else Histogram.from_values([1]), count)


def _rescaled(histogram: Histogram, mass: int) -> Histogram:
    """Histogram with its counts multiplied so that they add up to ``mass``.

    The running count is rounded, so that the shape is kept however small the factor.
    """
    steps = np.rint(histogram.cumulative_counts * (mass / histogram.mass))
    steps[-1] = mass
    return Histogram.weighted(histogram.values, np.diff(steps).astype(np.int64))


def _reweighted(
    histogram: Histogram, target: Fraction, side: int, shape: Shape
) -> Histogram | None:
    """Histogram with its counts multiplied so that the sum reaches ``target``.

    The remainder is rows added, or taken away.
    """
    scaled = histogram
    if histogram.total and target / histogram.total >= 0:
        mass = round(histogram.mass * (target / histogram.total))
        if mass < _LARGEST:
            scaled = _rescaled(histogram, mass)
    missing = math.ceil(side * (target - scaled.total))
    if missing <= 0:
        return scaled
    lower = shape.lower if side > 0 else None if shape.upper is None else -shape.upper
    upper = shape.upper if side > 0 else None if shape.lower is None else -shape.lower
    largest = int((side * scaled.values).max()) if scaled.values.size else 0
    # Rows like the largest there are, else at the bound, else (without bounds) of one step.
    gain = largest if largest > 0 else shape.step if upper is None else upper
    if gain <= 0:
        return _lightened(scaled, missing, side)
    whole, rest = divmod(missing, gain)
    # The last row gains the least value of the lattice that is enough.
    start = rest % shape.step if lower is None else lower
    last = start + max(0, -(-(rest - start) // shape.step)) * shape.step
    added = [side * gain, side * min(last, gain)], [whole, int(rest > 0)]
    return Histogram.merged([scaled, Histogram.weighted(*map(np.array, added))])


def _lightened(histogram: Histogram, missing: int, side: int) -> Histogram:
    """Histogram without the rows that hold it ``missing`` short of its target.

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


def _shifted(histogram: Histogram, target: Fraction, side: int, shape: Shape) -> Histogram:
    """Histogram with all values moved towards ``target``, within the bounds."""
    centre = answer(shape.aggregate, histogram, shape.p)
    return _moved_by(histogram, math.ceil(abs(target - (centre or 0)) / shape.step), side, shape)


def _moved_by(histogram: Histogram, steps: int, side: int, shape: Shape) -> Histogram:
    low = -_LARGEST if shape.lower is None else shape.lower
    high = _LARGEST if shape.upper is None else shape.upper
    shift = min(steps * shape.step, _LARGEST)
    values = np.clip(histogram.values + side * shift, low, high)
    return Histogram.weighted(values, histogram.counts)


def _raised(histogram: Histogram, target: Fraction, side: int, shape: Shape) -> Histogram | None:
    """Histogram with all values moved until the mean just reaches ``target``.

    The last step is taken by as few rows as will do, so the mean is off by a step over n at most.
    """
    needed = side * target * histogram.mass
    low_end = -_LARGEST if shape.lower is None else shape.lower
    high_end = _LARGEST if shape.upper is None else shape.upper

    def total(steps: int) -> int:
        shift = steps * shape.step
        if side > 0:
            free, held = high_end - shift, high_end
            moved = histogram.sum_at_most(free) + shift * histogram.count_at_most(free)
            return moved + held * (histogram.mass - histogram.count_at_most(free))
        stuck = low_end + shift
        free_rows = histogram.mass - histogram.count_at_most(stuck)
        moved = histogram.total - histogram.sum_at_most(stuck) - shift * free_rows
        return -(moved + low_end * histogram.count_at_most(stuck))

    ends = int(histogram.values[0]), int(histogram.values[-1])
    low, high = 0, (high_end - ends[0] if side > 0 else ends[1] - low_end) // shape.step + 1
    if total(high) < needed:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if total(middle) >= needed else (middle, high)
    before = _moved_by(histogram, low, side, shape)
    rows = math.ceil((needed - side * before.total) / shape.step)
    return _stepped(before, rows, side, shape)


def _stepped(histogram: Histogram, rows: int, side: int, shape: Shape) -> Histogram:
    """Histogram with ``rows`` rows one step on: of those below their bound the nearest first."""
    bound = shape.upper if side > 0 else shape.lower
    free = np.where(histogram.values == bound, 0, histogram.counts)[::-side]
    taken = np.diff(np.minimum(np.concatenate(([0], np.cumsum(free))), rows))[::-side]
    moved = Histogram.weighted(histogram.values + side * shape.step, taken)
    return Histogram.merged([Histogram.weighted(histogram.values, histogram.counts - taken), moved])


def error_rates(
    decider: Mechanism, histogram_public: Histogram, interval: Interval, epsilon: Number
) -> ErrorRates:
    """Error rates of ``decider`` at this interval, centred on the public answer."""
    false_no = 1 - decider.accept(histogram_public, interval, epsilon)
    far = stand_ins_at(histogram_public, 2 * interval.tau, shape_of(decider))
    false_yes = max((decider.accept(h, interval, epsilon) for h in far), default=0.0)
    return ErrorRates(false_no, false_yes)


def decidable(
    decider: Mechanism,
    histogram_public: Histogram,
    interval: Interval,
    epsilon: Number,
    alpha: float,
) -> bool:
    """Whether both error rates are at most ``alpha``; stops at the first that is not."""
    if 1 - decider.accept(histogram_public, interval, epsilon) > alpha:
        return False
    far = stand_ins_at(histogram_public, 2 * interval.tau, shape_of(decider))
    return all(decider.accept(h, interval, epsilon) <= alpha for h in far)


def searched_threshold(
    decider: Mechanism, histogram_public: Histogram, epsilon: Number, alpha: Number
) -> Threshold:
    """Tau, a whole number of steps, at which both error rates are <= alpha.

    It has been evaluated and does suffice; it is the least one, to half a per cent, where errors
    fall as tau grows (for truncating deciders they may not).  Infinite if none was found.
    """
    shape = shape_of(decider)
    budget, level = budget_of(epsilon), float(probability(alpha, "alpha"))
    centre = answer(shape.aggregate, histogram_public, shape.p)
    if centre is None:
        return Threshold(math.inf, exact=False)
    # A mean is not a whole number of steps: its thresholds may be much finer.
    grain = Fraction(shape.step)
    if shape.aggregate == "AVG":
        grain /= 10 * histogram_public.mass

    def suffices(steps: int) -> bool:
        interval = Interval.around(centre, steps * grain)
        return decidable(decider, histogram_public, interval, budget, level)

    steps = least(suffices, _most_steps(histogram_public, shape, grain))
    return Threshold(math.inf if steps is None else as_float(steps * grain), exact=False)


def _most_steps(histogram: Histogram, shape: Shape, grain: Fraction) -> int:
    """Limit of the search: past the whole range where values bound the answer."""
    if shape.aggregate in {"SUM", "COUNT", "COUNT DISTINCT"}:
        return _MOST
    ends = (int(histogram.values[0]), int(histogram.values[-1]))
    low = min(ends[0], ends[0] if shape.lower is None else shape.lower)
    high = max(ends[1], ends[1] if shape.upper is None else shape.upper)
    return math.ceil(2 * (high - low + shape.step) / grain)


def least(suffices: Callable[[int], bool], most: int) -> int | None:
    """About the least whole number >= 1 that suffices, None if none up to ``most`` does."""
    low, high = 0, 1
    while not suffices(high):
        if high >= most:
            return None
        low, high = high, min(high * 16, most)
    while high - low > max(1, high // _PRECISION):
        # The geometric middle while the ends differ in size, the arithmetic one after.
        middle = math.isqrt(low * high) if high > 4 * low > 0 else (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high


def decided(
    decider: Any, table: Histogram, interval: Interval, epsilon: Fraction, alpha: Number
) -> bool:
    """Whether nine runs of ten end right and with a p-value of at most ``alpha``, near and far.

    Of a decider that cannot prove both verdicts: whether both error rates are at most ``alpha``.
    """
    level = probability(alpha, "alpha")
    if len(decider.proves) < 2:
        return decidable(decider, table, interval, epsilon, float(level))
    if 1 - decider.acceptance(table, interval).proof_chance(epsilon, level) > 0.1:
        return False
    far = stand_ins_at(table, 2 * interval.tau, shape_of(decider))
    laws = (decider.acceptance(each, interval) for each in far)
    return all(1 - law.refutation_chance(epsilon, level) <= 0.1 for law in laws)


def needed_epsilon(
    decider: Mechanism, histogram_public: Histogram, interval: Interval, alpha: Number
) -> float:
    """About the least epsilon that decides such an interval, infinite if none does.

    The worst of several public shapes that the private table might have (``shapes``), each around
    its own answer: it is a promise about a table that is not known, and no bound.  Looks from 2^-39
    to 2^20.  The value is rounded up to three digits, and has been evaluated.
    """
    shape = shape_of(decider)
    centred = [
        (table, Interval.around(centre, interval.tau))
        for table in shapes(histogram_public, shape.aggregate)
        if (centre := answer(shape.aggregate, table, shape.p)) is not None
    ]

    def suffices(steps: int) -> bool:
        epsilon = _epsilon(steps)
        return all(decided(decider, table, around, epsilon, alpha) for table, around in centred)

    steps = least(suffices, 2**59)
    return math.inf if steps is None else float(_epsilon(steps))


def _epsilon(steps: int) -> Fraction:
    """``steps`` 2^-39ths rounded up to three significant digits."""
    exact = Fraction(steps, 2**39)
    digits = 2 - math.floor(math.log10(exact))
    scale = Fraction(10) ** digits
    return math.ceil(exact * scale) / scale
