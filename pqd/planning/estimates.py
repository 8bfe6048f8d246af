"""One query against several candidates: which release answers for all of them, from public data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from deciders import Histogram, Interval, PqdError, answer, error_rates, for_lattice
from deciders.aggregates import HALF
from deciders.estimators import (
    Estimator,
    ExponentialQuantile,
    LaplaceEstimate,
    RaceEstimate,
    RankCounts,
    SumAndCount,
)
from deciders.estimators.base import whole_span
from deciders.evaluation.effectiveness import searched_threshold
from deciders.noise import check_scale
from deciders.single.inverse_sensitivity import InverseQuantile
from deciders.single.split_margins import SplitMargins
from pqd.accounting.cache_keys import of_estimator
from pqd.engine.cut_points import ORDERED, fineness
from pqd.measurement import Measurement
from pqd.planning.decisions import QueryRequest, fenced, measured_on, public_answer, with_room
from reports.models.compare import EstimatorFacts

if TYPE_CHECKING:
    from deciders import Lattice, Noise
    from deciders.estimators import EstimatorOutput
    from deciders.single.inverse_sensitivity import InverseSensitivity
    from pqd.engine.scan_plan import PrivacyUnit, Statistic
    from pqd.parameters import Parameters
    from pqd.sql.query import Query

AUTO, SPLIT = "auto", "split"
RELEASES = ("laplace", "race_to_the_top", "sum_and_count", "rank_counts", "exponential", SPLIT)
# A joint release is taken if it errs at most this share of alpha: it estimates gaps as well.
_ENOUGH = Fraction(1, 10)
_INVERSE = {
    "COUNT": "inv_count",
    "COUNT DISTINCT": "inv_distinct",
    "SUM": "inv_sum",
    "AVG": "inv_mean",
    "MEDIAN": "inv_median",
    "QUANTILE": "inv_quantile",
}


@dataclass(frozen=True)
class Release(Measurement):
    """One draw of an estimator, which answers for every candidate.

    Its units are so many times ``finer`` than those of the lattice.
    """

    estimator: Estimator | SplitMargins
    finer: int = 1

    @property
    def settled(self) -> bool:
        """Whether the verdict on every candidate is the same for every table."""
        return isinstance(self.estimator, SplitMargins) and not self.estimator.intervals

    def mechanism(self) -> Mapping[str, Any]:
        """Return what is asked of the histogram, as ``Measurement.mechanism`` says."""
        return {"kind": "release", **of_estimator(self.estimator)}

    def draw(self, histogram: Histogram, noise: Noise) -> EstimatorOutput:
        """Release."""
        return self.estimator.release(_finer(histogram, self.finer), self.epsilon, noise)


@dataclass(frozen=True)
class Contest:
    """One query, what each candidate answers, and the release taken; all from public data.

    ``answers`` and ``taus`` are in the query's own unit, ``intervals`` in lattice units of
    ``scale`` each, one per candidate.  A candidate without an answer has no interval: it cannot be
    within.
    """

    query: Query
    terms: Parameters
    scale: Fraction
    answers: tuple[Fraction | None, ...]
    taus: tuple[Fraction, ...]
    intervals: tuple[Interval | None, ...]
    errors: tuple[float, ...]
    facts: tuple[EstimatorFacts, ...]
    taken: str
    reason: str
    tau_min: float | None
    release: Release

    @property
    def draws(self) -> tuple[Release, ...]:
        """What must be drawn: one release."""
        return (self.release,)

    def ends(self, found: tuple[Fraction | None, Fraction | None]) -> tuple[Fraction | None, ...]:
        """Return what a release says the answer lies between: between fences, their ends."""
        measured = self.release.task.measured
        if measured is None or measured.fences is None:
            return found
        return tuple(end and end / self.scale for end in measured.fences.reached(*found))


class _Option(NamedTuple):
    """A release that fits: its error per candidate, and how to ask for it."""

    name: str
    exact: bool
    errors: tuple[float, ...]
    estimator: Estimator | SplitMargins
    threshold: Callable[[], float]

    @property
    def worst(self) -> float:
        return max(self.errors)

    @property
    def settled(self) -> bool:
        return isinstance(self.estimator, SplitMargins) and not self.estimator.intervals


def contest_of(
    asked: QueryRequest,
    task: Statistic,
    columns: tuple[tuple[str, str], ...],
    unit: PrivacyUnit | None,
    found: tuple[Histogram, ...],
) -> Contest:
    """Return the contest of one query, given the histogram of each candidate.

    Raises
    ------
    PqdError
        If a candidate has no answer, or no release fits.
    """
    query, terms = asked.query, asked.priced
    scale = measured_on(query, task)[1]
    centres = [answer(query.aggregate, histogram, query.p or HALF) for histogram in found]
    taus = tuple(_tolerance(terms, centre, scale) for centre in centres)
    intervals = tuple(
        Interval.around(centre, tau / scale) if centre is not None and tau else None
        for centre, tau in zip(centres, taus, strict=True)
    )
    if not any(intervals):
        # Refused as an audit of the first candidate would be.
        public_answer(query, found[0])
    answers = tuple(None if centre is None else centre * scale for centre in centres)
    task = with_room(query, task, [interval for interval in intervals if interval])
    lattice, times = measured_on(query, task)[0], 1
    if query.aggregate in ORDERED:
        # In units in which every end of an interval has a cut of its own.
        times = fineness(lattice, [interval for interval in intervals if interval])
        intervals = tuple(
            interval and Interval(interval.lower * times, interval.upper * times)
            for interval in intervals
        )
        found, scale = tuple(_finer(histogram, times) for histogram in found), scale / times
    asking = _Asking(query, terms, lattice, intervals, found, times)
    options = asking.options(centres)
    option, reason = _taken(options, terms, len(found))
    if query.aggregate in ORDERED and not isinstance(option.estimator, ExponentialQuantile):
        task, times = fenced(task, [interval for interval in intervals if interval], scale), 1
    release = Release(query, terms, task, columns, unit, option.estimator, times)
    return Contest(
        query=query,
        terms=terms,
        scale=scale,
        answers=answers,
        taus=taus,
        intervals=intervals,
        errors=option.errors,
        facts=tuple(EstimatorFacts(o.name, o.worst, o.exact) for o in options),
        taken=option.name,
        reason=reason,
        tau_min=option.threshold() * float(scale),
        release=release,
    )


def _finer(histogram: Histogram, times: int) -> Histogram:
    """Return ``histogram`` in units so many times finer."""
    return histogram if times == 1 else Histogram(histogram.values * times, histogram.counts)


def _tolerance(terms: Parameters, centre: Fraction | None, scale: Fraction) -> Fraction:
    """Return tau around one answer in the query's own unit, 0 where there is none.

    A share of 0 is one unit of the lattice: only the very answer is within.
    """
    if centre is None:
        return Fraction(0)
    return terms.tolerance.of(centre * scale) if centre or not terms.tolerance.relative else scale


def _ends(interval: Interval) -> tuple[Fraction, Fraction]:
    # In order, so that the order of the candidates does not change what is asked.
    return interval.lower, interval.upper


def _taken(options: Sequence[_Option], terms: Parameters, candidates: int) -> tuple[_Option, str]:
    """Return the release to buy and why.

    Only those with p-values, since nothing else is ever decided, unless one is named; and of them
    first one for all candidates, since it estimates gaps.
    """
    named = next((option for option in options if option.name == terms.decider), None)
    if named:
        return named, "named by the caller"
    exact = [option for option in options if option.exact]
    if settled := [option for option in options if option.settled]:
        return settled[0], "no table within the bounds can answer otherwise"
    joint = [option for option in exact if option.name != SPLIT]
    served = "one release for all candidates, which also bounds their gaps"
    if sure := [option for option in joint if option.worst <= _ENOUGH * terms.alpha]:
        return _least(sure), served
    if able := [option for option in exact if option.worst <= terms.alpha]:
        best = _least(able)
        alone = "each candidate by itself at its share of epsilon: "
        return best, (alone if best.name == SPLIT else "") + "errs least on public stand-ins"
    if joint and candidates > 1:
        return _least(joint), f"nothing decides every candidate at this epsilon; {served}"
    return _least(exact), "nothing decides at this epsilon; this errs least"


def _least(options: Sequence[_Option]) -> _Option:
    return min(options, key=lambda option: option.worst)


@dataclass(frozen=True, slots=True)
class _Asking:
    """What every release of one query needs; units are ``finer`` than the lattice's."""

    query: Query
    terms: Parameters
    lattice: Lattice
    intervals: tuple[Interval | None, ...]
    found: tuple[Histogram, ...]
    finer: int = 1

    @property
    def _shape(self) -> dict[str, int]:
        """The lattice."""
        lattice, finer = self.lattice, self.finer
        return {
            "lower": lattice.lower_units * finer,
            "upper": lattice.upper_units * finer,
            "step": lattice.step_units * finer,
        }

    def options(self, centres: Sequence[Fraction | None]) -> list[_Option]:
        """Return every release that fits.

        Raises
        ------
        PqdError
            If none does that could be taken, or its noise would drown everything.
        """
        options: list[_Option] = []
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
        if refusal and not any(o.exact or o.name == self.terms.decider for o in options):
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
        if query.aggregate == "AVG":
            known = sorted(centre for centre in centres if centre is not None)
            middle = known[len(known) // 2]
            centre = min(max(round(middle), shape["lower"]), shape["upper"])
            return [lambda: SumAndCount(**shape, centre=centre)]
        p, cuts = (
            query.p or HALF,
            sorted({cut for i in self.intervals if i for cut in whole_span(i)}),
        )
        return [
            lambda: RankCounts(**shape, cuts=tuple(cuts), p=p, aggregate=query.aggregate),
            lambda: ExponentialQuantile(**shape, p=p, aggregate=query.aggregate),
        ]

    def _of_estimator(self, estimator: Estimator) -> _Option:
        epsilon = self.terms.epsilon
        check_scale(estimator.largest_scale(epsilon))
        errors = tuple(
            error_rates(estimator, histogram, interval, epsilon).worst if interval else 0.0
            for histogram, interval in zip(self.found, self.intervals, strict=True)
        )
        return _Option(
            estimator.id,
            estimator.exact,
            errors,
            estimator,
            lambda: searched_threshold(estimator, self._first, epsilon, self.terms.alpha).tau,
        )

    @property
    def _first(self) -> Histogram:
        """The histogram of the first candidate that can be within."""
        pairs = zip(self.found, self.intervals, strict=True)
        return next(histogram for histogram, interval in pairs if interval)

    def _split(self) -> _Option:
        """Return the inverse-sensitivity decisions, one per distinct interval, at equal shares."""
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
        unsettled = [i for i in self.intervals if i and decider.settled(i) is None]
        split = SplitMargins(
            cast("InverseSensitivity", decider), tuple(sorted(set(unsettled), key=_ends))
        )
        check_scale(split.largest_scale(self.terms.epsilon))
        epsilon = split.share(self.terms.epsilon)
        errors = tuple(
            error_rates(decider, histogram, interval, epsilon).worst
            if interval and interval in split.intervals
            else 0.0
            for histogram, interval in zip(self.found, self.intervals, strict=True)
        )
        return _Option(
            SPLIT,
            exact=True,
            errors=errors,
            estimator=split,
            threshold=lambda: decider.tau_min(self._first, epsilon, self.terms.alpha).tau,
        )
