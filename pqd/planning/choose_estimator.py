"""Choice of an estimator for all synthetic tables of a comparison, from public data only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, cast

from pqd.deciders import Histogram, Interval, PqdError, error_rates, for_lattice
from pqd.deciders.estimators import (
    Estimator,
    ExponentialQuantile,
    LaplaceEstimate,
    RaceEstimate,
    RankCounts,
    SumAndCount,
    SumOverCount,
)
from pqd.deciders.estimators.base import whole_span
from pqd.deciders.evaluation.effectiveness import searched_threshold
from pqd.deciders.histogram import HALF
from pqd.deciders.noise import check_scale
from pqd.deciders.note import Note, note
from pqd.deciders.single.inverse_sensitivity import InverseQuantile, InverseSensitivity
from pqd.deciders.single.split_margins import SplitMargins
from pqd.parameters import Parameters
from pqd.sql.query import Query

if TYPE_CHECKING:
    from pqd.deciders import Lattice

SPLIT = "split"
ESTIMATORS = (
    "laplace",
    "race_to_the_top",
    "sum_and_count",
    "sum_over_count",
    "rank_counts",
    "exponential",
    SPLIT,
)
# An estimator for all candidates is preferred if its error is at most this share of alpha, since
# it also estimates gaps.
_ENOUGH = Fraction(1, 10)
_INVERSE = {
    "COUNT": "inv_count",
    "COUNT DISTINCT": "inv_distinct",
    "SUM": "inv_sum",
    "AVG": "inv_mean",
    "MEDIAN": "inv_median",
    "QUANTILE": "inv_quantile",
}


class EstimatorOption(NamedTuple):
    """Estimator that fits: its error per candidate, and its effectiveness threshold."""

    name: str
    exact: bool
    errors: tuple[float, ...]
    estimator: Estimator | SplitMargins
    threshold: Callable[[], float]

    @property
    def worst(self) -> float:
        """Largest error on a candidate."""
        return max(self.errors)

    @property
    def is_constant(self) -> bool:
        """Whether the verdict on each candidate is the same for every private table."""
        return isinstance(self.estimator, SplitMargins) and not self.estimator.intervals


def choose_estimator(
    options: Sequence[EstimatorOption], parameters: Parameters, candidates: int
) -> tuple[EstimatorOption, Note]:
    """Estimator that is taken, and the reason.

    A named estimator is taken.  Otherwise the choice is among the estimators that give p-values,
    since a verdict without a p-value is never decided.  An estimator that serves all candidates is
    tried first, since it also estimates gaps.
    """
    named = next((option for option in options if option.name == parameters.mechanism), None)
    if named:
        return named, note("named")
    exact = [option for option in options if option.exact]
    if constant := [option for option in options if option.is_constant]:
        return constant[0], note("settled")
    joint = [option for option in exact if option.name != SPLIT]
    if accurate := [option for option in joint if option.worst <= _ENOUGH * parameters.alpha]:
        return _least(accurate), note("one-for-all")
    if reliable := [option for option in exact if option.worst <= parameters.alpha]:
        best = _least(reliable)
        split = best.name == SPLIT
        return best, note("split-most-right") if split else note("each-most-right")
    if joint and candidates > 1:
        return _least(joint), note("one-for-all-undecided")
    return _least(exact), note("none-decides")


def _ends(interval: Interval) -> tuple[Fraction, Fraction]:
    """Sort key of intervals, so that the measurement does not depend on the candidates' order."""
    return interval.lower, interval.upper


def _least(options: Sequence[EstimatorOption]) -> EstimatorOption:
    return min(options, key=lambda option: option.worst)


@dataclass(frozen=True, slots=True)
class EstimatorChoice:
    """Choice among the estimators of one query; ``finer`` estimator units are one lattice unit.

    ``synthetic`` counts whole rows.  The private table is counted in ``parts`` of a row, at as many
    times less epsilon; the laws of ``SumAndCount`` and ``RankCounts`` would then need too many
    terms, so they are not among the estimators.
    """

    query: Query
    parameters: Parameters
    lattice: Lattice
    intervals: tuple[Interval | None, ...]
    synthetic: tuple[Histogram, ...]
    finer: int = 1
    parts: int = 1

    @property
    def _shape(self) -> dict[str, int]:
        """Lattice in the units of the estimator."""
        lattice, finer = self.lattice, self.finer
        return {
            "lower": lattice.lower_units * finer,
            "upper": lattice.upper_units * finer,
            "step": lattice.step_units * finer,
        }

    def options(self, centres: Sequence[Fraction | None]) -> list[EstimatorOption]:
        """Estimators that fit the query.

        Raises
        ------
        PqdError
            If no estimator can be taken, or the sampler cannot draw the noise.
        """
        options: list[EstimatorOption] = []
        refusal = None
        for estimator in self._estimators(centres):
            try:
                options.append(self._of_estimator(estimator()))
            except PqdError as error:
                refusal = error
        try:
            options.append(self._split())
        except PqdError as error:
            refusal = error
        if refusal and not any(o.exact or o.name == self.parameters.mechanism for o in options):
            raise refusal
        return options

    def _estimators(self, centres: Sequence[Fraction | None]) -> list[Callable[[], Estimator]]:
        query, lattice = self.query, self.lattice
        if query.aggregate in {"COUNT", "COUNT DISTINCT"}:
            return [lambda: LaplaceEstimate.on(query.aggregate, lattice)]
        if query.aggregate == "SUM":
            return [
                lambda: LaplaceEstimate.on(query.aggregate, lattice),
                lambda: RaceEstimate.on(lattice),
            ]
        shape = self._shape
        epsilon = self.parameters.epsilon / self.parts
        if query.aggregate == "AVG" and self.parts > 1:
            bounds = shape["lower"], shape["upper"], shape["step"]
            return [lambda: SumOverCount.finely(bounds, HALF, epsilon)]
        if query.aggregate == "AVG":
            known = sorted(centre for centre in centres if centre is not None)
            middle = known[len(known) // 2]
            centre = min(max(round(middle), shape["lower"]), shape["upper"])
            return [lambda: SumAndCount(**shape, centre=centre)]
        p, cuts = (
            query.p or HALF,
            sorted({cut for i in self.intervals if i for cut in whole_span(i)}),
        )
        by_rank: list[Callable[[], Estimator]] = [
            lambda: RankCounts(**shape, cuts=tuple(cuts), p=p, aggregate=query.aggregate)
        ]
        return [
            *(by_rank if self.parts == 1 else []),
            lambda: ExponentialQuantile(**shape, p=p, aggregate=query.aggregate),
        ]

    def _of_estimator(self, estimator: Estimator) -> EstimatorOption:
        epsilon = self.parameters.epsilon
        check_scale(estimator.largest_scale(epsilon / self.parts))
        errors = tuple(
            error_rates(estimator, histogram, interval, epsilon).worst if interval else 0.0
            for histogram, interval in zip(self.synthetic, self.intervals, strict=True)
        )
        return EstimatorOption(
            estimator.id,
            estimator.exact,
            errors,
            estimator,
            lambda: searched_threshold(estimator, self._first, epsilon, self.parameters.alpha).tau,
        )

    @property
    def _first(self) -> Histogram:
        """Histogram of the first candidate with an answer."""
        pairs = zip(self.synthetic, self.intervals, strict=True)
        return next(histogram for histogram, interval in pairs if interval)

    def _split(self) -> EstimatorOption:
        """Option of inverse-sensitivity verdicts on the distinct intervals, at equal shares."""
        query = self.query
        parameters = {"p": query.p} if query.aggregate == "QUANTILE" else {}
        decider = for_lattice(
            _INVERSE[query.aggregate], query.aggregate, self.lattice, **parameters
        )
        if isinstance(decider, InverseQuantile):
            shape = self._shape
            decider = replace(
                decider, lower=shape["lower"], upper=shape["upper"], step=shape["step"]
            )
        open_intervals = [i for i in self.intervals if i and decider.constant_verdict(i) is None]
        split = SplitMargins(
            cast("InverseSensitivity", decider), tuple(sorted(set(open_intervals), key=_ends))
        )
        check_scale(split.largest_scale(self.parameters.epsilon))
        epsilon = split.share(self.parameters.epsilon)
        errors = tuple(
            error_rates(decider, histogram, interval, epsilon).worst
            if interval and interval in split.intervals
            else 0.0
            for histogram, interval in zip(self.synthetic, self.intervals, strict=True)
        )
        return EstimatorOption(
            SPLIT,
            exact=True,
            errors=errors,
            estimator=split,
            threshold=lambda: decider.tau_min(self._first, epsilon, self.parameters.alpha).tau,
        )
