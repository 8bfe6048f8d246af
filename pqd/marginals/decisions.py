"""Decisions on distances: one distance held against one tolerance, as a query's answer is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pqd.deciders import Interval, ParameterError
from pqd.deciders.distances.decider import DistanceDecider
from pqd.deciders.distances.statistics import (
    Distance,
    EarthMovers,
    KolmogorovSmirnov,
    MeanDistance,
    TotalVariation,
)
from pqd.deciders.noise import check_scale
from pqd.deciders.note import note
from pqd.deciders.numbers import plain
from pqd.deciders.single.base import Estimate
from pqd.deciders.single.inverse_sensitivity import margin_ends
from pqd.engine.marginals import RowMap
from pqd.marginals.bound_profile import BoundMarginal, BoundProfile, mean_weights
from pqd.marginals.measurements import DistanceMeasurement
from pqd.parameters import Criteria
from pqd.reports.models.profile import DistanceId
from pqd.reports.models.query import DISTANCE_AGGREGATES, MEAN_DISTANCE, CandidateFacts
from pqd.run.execution import Outputs
from pqd.sql.schema import fold_case

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pqd.deciders import Decision

_DECIDER = DistanceDecider()
_STATISTICS: dict[DistanceId, Callable[[NDArray[np.int64]], Distance]] = {
    "tv": TotalVariation,
    "ks": KolmogorovSmirnov,
    "emd": EarthMovers,
}
# The epsilon that would do is searched between these, to one part in a thousand.
_LEAST_NEEDED, _MOST_NEEDED, _HALVINGS = 1e-6, 1e4, 40


@dataclass(frozen=True, slots=True, kw_only=True)
class DistanceRequest:
    """Distance with the criteria of its verdict; all of it public.

    ``columns`` are those of the marginal, None for the mean over all marginals of up to ``ways``
    columns.  ``text`` is what a report shows in place of SQL.
    """

    id: str
    text: str
    columns: tuple[str, ...] | None
    distance: DistanceId
    ways: int
    criteria: Criteria


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BoundDistance:
    """Distance between a copy and the private table, bound to the copy; all of it public.

    Attributes
    ----------
    request
        The distance that is wanted.
    profile
        The copy's marginals.
    of, distance
        What the distance is taken of, and the distance.
    aggregate, attribute
        Its names in a report.
    """

    request: DistanceRequest
    profile: BoundProfile
    of: RowMap | tuple[RowMap, ...]
    distance: Distance
    aggregate: str
    attribute: str

    def at(self, epsilon: Fraction) -> PlannedDistance:
        """Verdict at a budget, per row of a person that counts.

        Raises
        ------
        PqdError
            If the tolerance is no share below 1, or the noise would be beyond the sampler.
        """
        check_scale(_DECIDER.largest_scale(epsilon))
        profile = self.profile
        names = self.of.columns if not isinstance(self.of, tuple) else None
        measurement = DistanceMeasurement(
            kinds=profile.kinds if names is None else profile.kinds_of(names),
            unit=profile.unit,
            epsilon=epsilon,
            name=self.request.id,
            of=self.of,
            distance=self.distance,
            tau=self.request.criteria.tolerance.share,
        )
        return PlannedDistance(self, measurement)


# Without slots, so that the candidate is evaluated once.
@dataclass(frozen=True, eq=False)
class PlannedDistance:
    """Verdict on a distance that is planned; it reads as a query's planned verdict does."""

    bound: BoundDistance
    measurement: DistanceMeasurement

    @property
    def criteria(self) -> Criteria:
        """Criteria of the verdict."""
        return self.bound.request.criteria

    @property
    def check(self) -> str:
        """Name of the check that it is the verdict of."""
        return self.bound.request.id

    @property
    def identity(self) -> object:
        """Identity: two verdicts with the same one are one verdict."""
        return self.measurement.cache_key

    @property
    def settled(self) -> bool:
        """False: some table has the copy's distribution, and some another."""
        return False

    @property
    def scale(self) -> Fraction:
        """One: a distance is a share of the rows."""
        return Fraction(1)

    @property
    def synthetic_answer(self) -> Fraction:
        """Distance of the copy from itself: 0."""
        return Fraction(0)

    @property
    def interval(self) -> Interval:
        """Distances within the tolerance; none is below 0."""
        return Interval.around(0, self.measurement.tau)

    def decision(self, outputs: Outputs) -> Decision:
        """Verdict, given the outputs of a run."""
        return outputs[self.measurement]

    def estimate(self, decision: Decision) -> Estimate:
        """Nothing: a margin tells of rows to be changed, which bound no share of unknown rows."""
        del decision
        return Estimate()

    def margin_ends(self, decision: Decision, estimate: Estimate) -> tuple[int, int] | None:
        """Ends from the exact law of the margin's noise."""
        del estimate
        if decision.margin is None:
            return None
        return margin_ends(decision.margin, self.measurement.epsilon, self.criteria.alpha)

    @cached_property
    def taken(self) -> CandidateFacts:
        """Decider, and what it is worth among as many private rows as the copy has."""
        rows, tau = self.bound.profile.copy_rows[0], self.measurement.tau
        epsilon, alpha = self.measurement.epsilon, self.criteria.alpha
        rates = _DECIDER.error_rates(rows, tau, epsilon)
        return CandidateFacts(
            _DECIDER.id,
            tau_min=_DECIDER.tau_min(rows, epsilon, alpha).tau,
            tau_min_exact=True,
            false_no=rates.false_no,
            false_yes=rates.false_yes,
            epsilon_needed=_needed(rows, tau, alpha),
        )

    @property
    def candidates(self) -> tuple[CandidateFacts, ...]:
        """The decider: there is no other."""
        return (self.taken,)

    @property
    def late(self) -> bool:
        """Nothing is computed later."""
        return False

    def facts(self) -> dict[str, Any]:
        """Fields of ``pqd.reports.models.audit.QueryFacts`` but for the candidates."""
        bound = self.bound
        return {
            "id": bound.request.id,
            "sql": bound.request.text,
            "aggregate": bound.aggregate,
            "attribute": bound.attribute,
            "p": None,
            "where": None,
            "q_synthetic": 0,
            "tau": plain(self.measurement.tau),
            "alpha": self.criteria.alpha,
            "decider": _DECIDER.id,
            "reason": str(note("rows-to-change")),
            "counted": self.measurement.counted_noun,
            "tolerance": self.criteria.tolerance.text,
        }


def _needed(rows: int, tau: Fraction, alpha: Fraction) -> float:
    """Least epsilon, about, at which both errors are at most alpha; infinite beyond all use."""

    def errs(epsilon: float) -> bool:
        rates = _DECIDER.error_rates(rows, tau, Fraction(epsilon))
        return max(rates.false_no, rates.false_yes) > alpha

    low, high = _LEAST_NEEDED, _MOST_NEEDED
    if errs(high):
        return float("inf")
    for _ in range(_HALVINGS):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if errs(middle) else (low, middle)
    # Up, to three digits: it is said with "about".
    return float(f"{high * 1.0005:.3g}")


def bound_distance(request: DistanceRequest, profile: BoundProfile) -> BoundDistance:
    """Distance of one request, on the first copy of a profile that has its marginal.

    Raises
    ------
    ParameterError
        If the profile lacks the marginal, or the distance is not one of its column.
    """
    if request.columns is None:
        of, mean = mean_distance(profile.marginals, 0)
        aggregate, attribute = MEAN_DISTANCE, f"{len(profile.columns)} columns"
        return BoundDistance(
            request=request,
            profile=profile,
            of=of,
            distance=mean,
            aggregate=aggregate,
            attribute=attribute,
        )
    marginal = _marginal_of(request, request.columns, profile)
    return BoundDistance(
        request=request,
        profile=profile,
        of=marginal.marginal,
        distance=_STATISTICS[request.distance](marginal.copies[0]),
        aggregate=DISTANCE_AGGREGATES[request.distance],
        attribute=", ".join(marginal.columns),
    )


def mean_distance(
    marginals: Sequence[BoundMarginal], copy: int
) -> tuple[tuple[RowMap, ...], MeanDistance]:
    """Mean distance of one copy, and what it is taken of.

    Guarantee: one row moves it by at most 1, as it does each distance.
    """
    pairs = zip(mean_weights(marginals), marginals, strict=True)
    mean = MeanDistance(tuple((w, TotalVariation(each.copies[copy])) for w, each in pairs))
    return tuple(each.marginal for each in marginals), mean


def _marginal_of(
    request: DistanceRequest, columns: Sequence[str], profile: BoundProfile
) -> BoundMarginal:
    """Marginal of the columns, in any order and any case; ParameterError if there is none."""
    sources = {"tv": profile.marginals, "ks": profile.ordered, "emd": profile.steps}
    wanted = sorted(map(fold_case, columns))
    for each in sources[request.distance]:
        if sorted(map(fold_case, each.columns)) == wanted:
            return each
    name = ", ".join(columns)
    for left_out in profile.left_out:
        if sorted(map(fold_case, left_out.columns)) == wanted:
            raise ParameterError(f"{name}: {left_out.reason}")
    raise ParameterError(
        f"{request.distance} is a distance of one column of numbers or times, and {name} is none; "
        "use tv"
    )
