"""Verdict on a distance: it is held against one tolerance, as the answer of a query is."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from pqd.deciders import Interval
from pqd.deciders.distances.decider import DistanceDecider
from pqd.deciders.monotone_search import bracket, geometric_mean
from pqd.deciders.noise import check_scale
from pqd.deciders.note import note
from pqd.deciders.numbers import plain
from pqd.marginals.bound_distances import BoundDistance
from pqd.marginals.measurements import DistanceMeasurement
from pqd.planning.planned_verdict import MarginRule, PlannedVerdict
from pqd.reports.models.query import CandidateFacts

_DECIDER = DistanceDecider()
# The epsilon that would do is searched between these, to one part in a thousand.
_LEAST_NEEDED, _MOST_NEEDED, _HALVINGS = 1e-6, 1e4, 40


# Without slots, so that the candidate is evaluated once.
@dataclass(frozen=True, eq=False, kw_only=True)
class DistanceVerdict(PlannedVerdict):
    """Verdict on a distance that is planned; ``bound`` is the distance."""

    bound: BoundDistance
    measurement: DistanceMeasurement

    @property
    def check(self) -> str:
        """Name of the check that it is the verdict of."""
        return self.bound.request.id

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


def distance_verdict(bound: BoundDistance, epsilon: Fraction) -> DistanceVerdict:
    """Verdict on a distance at a budget, per row of a person that counts.

    Raises
    ------
    PqdError
        If the tolerance is no share below 1, or the noise would be beyond the sampler.
    """
    check_scale(_DECIDER.largest_scale(epsilon))
    profile, criteria = bound.profile, bound.request.criteria
    names = bound.of.columns if not isinstance(bound.of, tuple) else None
    measurement = DistanceMeasurement(
        kinds=profile.kinds if names is None else profile.kinds_of(names),
        unit=profile.unit,
        epsilon=epsilon,
        name=bound.request.id,
        of=bound.of,
        distance=bound.distance,
        tau=criteria.tolerance.share,
    )
    return DistanceVerdict(
        criteria=criteria,
        # A distance is a share of the rows, the copy's distance from itself is 0, none is below.
        scale=Fraction(1),
        answer=Fraction(0),
        interval=Interval.around(0, measurement.tau),
        measurement=measurement,
        rule=MarginRule(epsilon, criteria.alpha),
        bound=bound,
    )


def _needed(rows: int, tau: Fraction, alpha: Fraction) -> float:
    """Least epsilon, about, at which both errors are at most alpha; infinite beyond all use."""

    def suffices(epsilon: float) -> bool:
        rates = _DECIDER.error_rates(rows, tau, Fraction(epsilon))
        return max(rates.false_no, rates.false_yes) <= alpha

    if not suffices(_MOST_NEEDED):
        return float("inf")
    ends = bracket(suffices, _LEAST_NEEDED, _MOST_NEEDED, geometric_mean, halvings=_HALVINGS)
    # Up, to three digits: it is said with "about".
    return float(f"{ends[1] * 1.0005:.3g}")
