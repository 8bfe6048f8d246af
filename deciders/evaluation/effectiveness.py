"""Error rates and thresholds of a verdict, from public stand-ins, before any budget is spent.

Def. 3.4 asks for few noes at ``q(D) = q(Ds)`` and few yeses at ``|q(D) - q(Ds)| >= 2 tau``.
``accept`` is exact, so both rates are computed on the stand-ins of stand_ins.py.  The stand-ins
use no private data and cost nothing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

from pqd.deciders.evaluation.stand_ins import Shape, stand_ins_at
from pqd.deciders.evaluation.trials import trial_of
from pqd.deciders.exact import Number, as_float, budget_of, probability
from pqd.deciders.histogram import HALF, Histogram, answer
from pqd.deciders.interval import Interval
from pqd.deciders.monotone_search import HALF_A_PER_CENT, least

# True gaps, in multiples of tau, at which the ways to decide a query are compared.
WEIGHED = tuple(Fraction(quarters, 4) for quarters in (0, 2, 3, 5, 6, 8))
_LARGEST = 2**60


class Mechanism(Protocol):
    """Decider or estimator that can be evaluated on stand-ins."""

    @property
    def aggregate(self) -> str:
        """Aggregate."""
        ...

    @property
    def bounds(self) -> tuple[int | None, int | None, int]:
        """Lower, upper and step of the attribute; None where the mechanism needs no bound."""
        ...

    def accept(
        self,
        histogram: Any,  # noqa: ANN401 - or a stand-in
        interval: Interval,
        epsilon: Number,
    ) -> float:
        """Exact ``Pr[yes]`` on ``histogram``."""
        ...


@dataclass(frozen=True, slots=True)
class Threshold:
    """Effectiveness threshold: the least tau at which a verdict errs with at most alpha.

    ``tau`` is in lattice units, and is infinite if no tau suffices at this epsilon.  If ``exact``,
    a closed form holds for every table.  Otherwise ``tau`` was found by search on stand-ins.
    """

    tau: float
    exact: bool


class ErrorRates(NamedTuple):
    """Error probabilities on the stand-ins: of a no at D0, of a yes at D+ or D- (the larger)."""

    false_no: float
    false_yes: float

    @property
    def worst(self) -> float:
        """Larger of the two error rates."""
        return max(self)


def shape_of(decider: Mechanism) -> Shape:
    """Shape of a decider: its aggregate and its lattice."""
    return Shape(decider.aggregate, *decider.bounds, p=getattr(decider, "p", HALF))


def error_rates(
    decider: Mechanism, histogram_public: Histogram, interval: Interval, epsilon: Number
) -> ErrorRates:
    """Error rates of ``decider`` on an interval whose centre is the public answer."""
    trial, budget = trial_of(histogram_public, interval, shape_of(decider)), budget_of(epsilon)
    false_no = 1 - trial.law(decider, histogram_public)(budget)
    false_yes = max((trial.law(decider, far)(budget) for far in trial.far), default=0.0)
    return ErrorRates(false_no, false_yes)


def searched_threshold(
    decider: Mechanism,
    histogram_public: Histogram,
    epsilon: Number,
    alpha: Number,
    beyond: Fraction | float = 0,
) -> Threshold:
    """Tau, a whole number of steps, at which both error rates are at most alpha.

    The returned tau was evaluated, and it suffices.  If errors fall as tau grows, it is within half
    a per cent of the least tau that suffices.  For truncating deciders errors may not fall.  The
    result is infinite if no tau was found.  ``beyond`` is a known lower bound: for every tau up to
    it, the errors at D0 exceed alpha.
    """
    shape = shape_of(decider)
    budget, level = budget_of(epsilon), float(probability(alpha, "alpha"))
    centre = answer(shape.aggregate, histogram_public, shape.p)
    if centre is None or beyond == math.inf:
        return Threshold(math.inf, exact=False)
    # A mean need not be a whole number of steps, so its threshold may be finer than a step.
    grain = Fraction(shape.step)
    if shape.aggregate == "AVG":
        grain /= 10 * histogram_public.mass

    def suffices(steps: int) -> bool:
        interval = Interval.around(centre, steps * grain)
        if 1 - decider.accept(histogram_public, interval, budget) > level:
            return False
        far = stand_ins_at(histogram_public, 2 * steps * grain, shape)
        return all(decider.accept(h, interval, budget) <= level for h in far)

    first = math.floor(Fraction(beyond) / grain) + 1
    most = _most_steps(histogram_public, shape, grain)
    steps = least(suffices, most, first, parts=HALF_A_PER_CENT)
    return Threshold(math.inf if steps is None else as_float(steps * grain), exact=False)


def _most_steps(histogram: Histogram, shape: Shape, grain: Fraction) -> int:
    """Limit of the search; if the values bound the answer, it lies beyond their whole range."""
    if shape.aggregate in {"SUM", "COUNT", "COUNT DISTINCT"}:
        return _LARGEST
    ends = (histogram.smallest(1), histogram.largest)
    low = min(ends[0], ends[0] if shape.lower is None else shape.lower)
    high = max(ends[1], ends[1] if shape.upper is None else shape.upper)
    return math.ceil(2 * (high - low + shape.step) / grain)


def laplace_threshold(scale: Fraction, alpha: Number) -> Threshold:
    """Exact threshold of Algorithm 1 with Laplace noise: ``scale * ln(1/alpha)``."""
    return Threshold(-as_float(scale) * math.log(probability(alpha, "alpha")), exact=True)


def operating_characteristic(
    decider: Mechanism,
    histogram_public: Histogram,
    interval: Interval,
    epsilon: Number,
    gaps: Sequence[Fraction],
) -> tuple[float, ...]:
    """``Pr[yes]`` at each true gap, a multiple of tau; the gap has a side above and a side below.

    The result is the worse of both sides.  Inside the tolerance the worse side has the smaller
    probability.  At the end of the tolerance and beyond, the worse side has the larger
    probability.  The result is NaN if no table lies at the gap.
    """
    shape, budget, worst_chances = shape_of(decider), budget_of(epsilon), []
    trial = trial_of(histogram_public, interval, shape)
    for gap in gaps:
        tables: Sequence[Any] = trial.at(gap)
        chances = [
            trial.law(decider, table)(budget)
            for table in tables
            # With coarse answers there may be no table between this gap and the end of the
            # interval.
            if gap >= 1 or interval.contains(answer(shape.aggregate, table, shape.p) or 0)
        ]
        worse = min if gap < 1 else max
        worst_chances.append(worse(chances, default=math.nan))
    return tuple(worst_chances)


def expected_wrong(chances: Sequence[float]) -> float:
    """Probability of a wrong verdict, given ``Pr[yes]`` at each of the gaps ``WEIGHED``.

    It is the average of two means: the mean over the gaps inside the tolerance, and the mean over
    the gaps beyond it.  Gaps at which no table lies (NaN) are left out.
    """
    pairs = [pair for pair in zip(WEIGHED, chances, strict=True) if not math.isnan(pair[1])]
    sides = [1 - p for gap, p in pairs if gap < 1], [p for gap, p in pairs if gap > 1]
    means = [math.fsum(side) / len(side) for side in sides if side]
    return math.fsum(means) / len(means)
