"""Verdict on a distance: whether it is below a tolerance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from pqd.deciders import Interval
from pqd.deciders.distances.decider import DistanceDecider, RelationsDecider
from pqd.deciders.distances.relations import Relations
from pqd.deciders.noise import check_scale
from pqd.deciders.note import note
from pqd.deciders.numbers import plain
from pqd.marginals.bound_distances import BoundDistance
from pqd.marginals.measurements import ClaimMeasurement
from pqd.planning.planned_verdict import MarginRule, PlannedVerdict
from pqd.reports.models.query import CandidateFacts

_DECIDER, _OF_RELATIONS = DistanceDecider(), RelationsDecider()


# Without slots, so that the decider is evaluated once.
@dataclass(frozen=True, eq=False, kw_only=True)
class PlannedDistanceVerdict(PlannedVerdict):
    """Planned verdict on the distance ``bound``."""

    bound: BoundDistance
    measurement: ClaimMeasurement

    @property
    def check(self) -> str:
        """Name of the check."""
        return self.bound.request.id

    @cached_property
    def taken(self) -> CandidateFacts:
        """Decider, evaluated for a private table with as many rows as the copy."""
        rows, tau = self._rows, self.bound.tau
        epsilon, alpha = self.measurement.epsilon, self.criteria.alpha
        decider = _decider(self.bound)
        rates = decider.error_rates(rows, tau, epsilon)
        return CandidateFacts(
            decider.id,
            tau_min=decider.tau_min(rows, epsilon, alpha).tau,
            tau_min_exact=True,
            false_no=rates.false_no,
            false_yes=rates.false_yes,
            decision_chance=decider.decision_chance(rows, tau, epsilon, alpha),
            epsilon_needed=decider.needed_epsilon(rows, tau, alpha),
        )

    @property
    def _rows(self) -> int:
        """Number of rows of which the tolerance is a share: the copy's, or of its relations."""
        bound = self.bound
        if not isinstance(bound.distance, Relations):
            return bound.profile.copy_rows
        return math.floor(bound.distance.own_product * bound.profile.copy_rows)

    @property
    def _are_rows_stated(self) -> bool:
        """Whether the number of private rows is stated, and rows are what a margin counts."""
        return self.criteria.private_rows is not None and self.bound.profile.unit is None

    @property
    def _distance_rows(self) -> int | None:
        """Rows of which a distance is a share: the private ones if stated, or else the copy's."""
        if isinstance(self.bound.distance, Relations):
            return None
        stated = self.criteria.private_rows if self._are_rows_stated else None
        return stated or self.bound.profile.copy_rows

    @property
    def candidates(self) -> tuple[CandidateFacts, ...]:
        """Candidates: a single decider, since distances have only one."""
        return (self.taken,)

    def facts(self) -> dict[str, Any]:
        """Fields of ``pqd.reports.models.audit.QueryFacts``, except the candidates."""
        bound = self.bound
        return {
            "id": bound.request.id,
            "sql": bound.request.text,
            "aggregate": bound.aggregate,
            "attribute": bound.attribute,
            "p": None,
            "where": None,
            "q_synthetic": 0,
            "tau": plain(self.bound.tau),
            "alpha": self.criteria.alpha,
            "decider": _decider(bound).id,
            "reason": str(note("rows-to-change")),
            "distance_rows": self._distance_rows,
            "rows_stated": self._are_rows_stated,
            "counted": self.measurement.counted_noun,
            "max_rows": self.measurement.unit.max_rows if self.measurement.unit else None,
            "tolerance": self.criteria.tolerance.text,
        }


def _decider(bound: BoundDistance) -> DistanceDecider:
    """Decider of a distance, or of relations kept."""
    return _OF_RELATIONS if isinstance(bound.distance, Relations) else _DECIDER


def distance_verdict(bound: BoundDistance, epsilon: Fraction) -> PlannedDistanceVerdict:
    """Planned verdict on a distance, at ``epsilon`` for each row of a person that counts.

    Raises
    ------
    PqdError
        If the tolerance is not a share below 1, or the sampler cannot draw the noise.
    """
    check_scale(_DECIDER.largest_scale(epsilon))
    profile, criteria = bound.profile, bound.request.criteria
    names = bound.row_maps.columns if not isinstance(bound.row_maps, tuple) else None
    measurement = ClaimMeasurement(
        kinds=profile.kinds if names is None else profile.kinds_of(names),
        unit=profile.unit,
        epsilon=epsilon,
        name=bound.request.id,
        row_maps=bound.row_maps,
        claim=bound.claim,
    )
    return PlannedDistanceVerdict(
        criteria=criteria,
        # The answer is a share of the rows; the copy's distance from itself is 0.
        scale=Fraction(1),
        answer=Fraction(0),
        interval=Interval.around(0, bound.tau),
        measurement=measurement,
        rule=MarginRule(epsilon, criteria.alpha),
        bound=bound,
    )
