"""Bound distances: requested distances with the marginals of one synthetic table; all public."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from pqd.deciders import ParameterError, UnanswerableError
from pqd.deciders.distances.claims import Claim, DistanceBelow
from pqd.deciders.distances.relations import Relations, RelationsKept
from pqd.deciders.distances.statistics import (
    Distance,
    EarthMovers,
    KolmogorovSmirnov,
    MeanDistance,
    TotalVariation,
)
from pqd.engine.marginals import RowMap
from pqd.engine.scan_plan import PrivacyUnit
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.errors import PqdError
from pqd.marginals.bound_profile import BoundMarginal, BoundProfile, bind_profile, mean_weights
from pqd.marginals.chance import CopyChance
from pqd.marginals.profile_parameters import ProfileRequest
from pqd.marginals.relations import CopyRelations, independence_notes
from pqd.parameters import Criteria
from pqd.reports.models.profile import DistanceId
from pqd.reports.models.query import DISTANCE_AGGREGATES, MEAN_DISTANCE, RELATIONS_KEPT
from pqd.sql.schema import fold_case
from pqd.sql.tolerance import Tolerance
from pqd.stated.column_facts import Facts, cells_of_facts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DISTANCES: dict[DistanceId, Callable[[NDArray[np.int64]], Distance]] = {
    "tv": TotalVariation,
    "ks": KolmogorovSmirnov,
    "emd": EarthMovers,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DistanceRequest:
    """Request of a verdict on a distance, with its criteria; all of it public.

    ``columns`` are the columns of the marginal; None means the mean over all marginals of up to
    ``ways`` columns.  A report shows ``text`` in place of SQL.  The tolerance of an ``alarm`` is
    the mean distance below which rows drawn from the private table itself seldom lie; it is
    computed from the copy when the request is bound.  With ``relations`` the verdict is on the
    relations kept, and its tolerance is the share of them that may be lost.
    """

    id: str
    text: str
    columns: tuple[str, ...] | None
    distance: DistanceId
    ways: int
    criteria: Criteria
    alarm: bool = False
    relations: bool = False


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BoundDistance:
    """Distance between a copy and the private table, with the copy's marginals; all of it public.

    Attributes
    ----------
    request
        The request.
    profile
        The copy's marginals.
    row_maps, distance
        The map of rows to cells (for a mean all maps), and the distance between the counts, or the
        scores of the relations.
    aggregate, attribute
        The names of the distance and of its columns in a report.
    """

    request: DistanceRequest
    profile: BoundProfile
    row_maps: RowMap | tuple[RowMap, ...]
    distance: Distance | Relations
    aggregate: str
    attribute: str

    @property
    def is_of_pairs(self) -> bool:
        """Whether the profile has all columns and pairs of the copy."""
        return self.request.columns is None and self.request.ways == 2

    @property
    def tau(self) -> Fraction:
        """Tolerance, a share of the rows; ParameterError unless it is below 1."""
        return self.request.criteria.tolerance.share

    @property
    def claim(self) -> Claim:
        """Claim of the verdict: the distance is below the tolerance, or no more relations lost."""
        if isinstance(self.distance, Relations):
            return RelationsKept(self.distance, 1 - self.tau)
        return DistanceBelow(self.distance, self.tau)


class BoundDistances(NamedTuple):
    """Bound distances in the order of their requests, and the errors of other requests by id."""

    distances: tuple[BoundDistance, ...]
    errors: dict[str, PqdError]


def bind_distances(
    opened: Callable[[], SyntheticTables],
    requests: Sequence[DistanceRequest],
    facts: Facts,
    unit: PrivacyUnit | None,
) -> BoundDistances:
    """Bound distances of ``requests``; ``opened`` opens the tables.

    A wrong request does not stop the others; its error is part of the result.  The synthetic table
    is read once for all named marginals, and once for each number of columns of a mean.
    """
    bound: dict[str, BoundDistance] = {}
    errors: dict[str, PqdError] = {}

    def bind(several: Sequence[DistanceRequest]) -> None:
        try:
            profile = bind_profile(opened(), _profile_request(several, facts), unit)
            if several[0].columns is None:
                notes = (*profile.notes, *independence_notes(CopyRelations(profile)))
                profile = replace(profile, notes=notes)
        except PqdError as error:
            if len(several) == 1:
                errors[several[0].id] = error
                return
            # Bind each request by itself, to find out which request is wrong.
            for each in several:
                bind([each])
            return
        for each in several:
            _bind_one(each, profile, bound, errors)

    for several in _readings(requests):
        bind(several)
    return BoundDistances(tuple(bound[r.id] for r in requests if r.id in bound), errors)


def _bind_one(
    request: DistanceRequest,
    profile: BoundProfile,
    bound: dict[str, BoundDistance],
    errors: dict[str, PqdError],
) -> None:
    try:
        bound[request.id] = _bound_distance(request, profile)
    except PqdError as error:
        errors[request.id] = error


def _readings(requests: Sequence[DistanceRequest]) -> Iterator[Sequence[DistanceRequest]]:
    """Yield the requests that one reading of the table serves together."""
    named = [each for each in requests if each.columns is not None]
    if named:
        yield named
    means = [each for each in requests if each.columns is None]
    for ways in sorted({each.ways for each in means}):
        yield [each for each in means if each.ways == ways]


def _profile_request(requests: Sequence[DistanceRequest], facts: Facts) -> ProfileRequest:
    """Profile request for ``requests``: either all name marginals, or all are means."""
    cells = cells_of_facts(facts)
    if requests[0].columns is None:
        ways = requests[0].ways
        return ProfileRequest(ways=ways, distances=("tv",), cells=cells, facts=facts)
    marginals = dict.fromkeys(each.columns for each in requests if each.columns is not None)
    named = {name for columns in marginals for name in columns}
    return ProfileRequest(
        marginals=tuple(marginals),
        distances=tuple(dict.fromkeys(each.distance for each in requests)),
        cells={name: stated for name, stated in cells.items() if name in named},
        facts=facts,
    )


def _bound_distance(request: DistanceRequest, profile: BoundProfile) -> BoundDistance:
    """Distance of one request on the first copy of a profile.

    Raises
    ------
    ParameterError
        If the profile lacks the marginal, or the distance does not fit its column.
    """
    if request.alarm:
        request = replace(request, criteria=_of_alarm(request.criteria, profile))
    if request.relations:
        copy = CopyRelations(profile)
        if not copy.pairs:
            raise UnanswerableError("there are no relations to keep: the copy has no pairs")
        return BoundDistance(
            request=request,
            profile=profile,
            row_maps=copy.row_maps,
            distance=copy.relations,
            aggregate=RELATIONS_KEPT,
            attribute=f"{len(copy.pairs)} pairs",
        )
    if request.columns is None:
        row_maps, mean = mean_distance(profile.marginals)
        aggregate, attribute = MEAN_DISTANCE, f"{len(profile.columns)} columns"
        return BoundDistance(
            request=request,
            profile=profile,
            row_maps=row_maps,
            distance=mean,
            aggregate=aggregate,
            attribute=attribute,
        )
    marginal = _marginal_of(request, request.columns, profile)
    return BoundDistance(
        request=request,
        profile=profile,
        row_maps=marginal.marginal,
        distance=DISTANCES[request.distance](marginal.weights),
        aggregate=DISTANCE_AGGREGATES[request.distance],
        attribute=", ".join(marginal.columns),
    )


def _of_alarm(criteria: Criteria, profile: BoundProfile) -> Criteria:
    """Criteria of an alarm: its tolerance is the mark of a drawing, from the copy alone.

    Raises
    ------
    UnanswerableError
        If drawings from the copy come so near that nothing is nearer.
    """
    mark = CopyChance(profile, profile.copy_rows).nearest_drawn(criteria.alpha)
    if not mark:
        raise UnanswerableError(
            "an alarm has no mark here: rows drawn from a table like the copy are as near as can "
            "be; leave the alarm out"
        )
    text = f"{float(100 * mark):.4g}%"
    return replace(criteria, tolerance=Tolerance(mark, relative=True, text=text))


def mean_distance(
    marginals: Sequence[BoundMarginal],
) -> tuple[tuple[RowMap, ...], MeanDistance]:
    """Mean distance of a copy, and the marginals that the mean is over.

    Guarantee: one row moves each distance by at most 1, so it moves the mean by at most 1.
    """
    pairs = zip(mean_weights(marginals), marginals, strict=True)
    mean = MeanDistance(tuple((w, TotalVariation(each.weights)) for w, each in pairs))
    return tuple(each.marginal for each in marginals), mean


def _marginal_of(
    request: DistanceRequest, columns: Sequence[str], profile: BoundProfile
) -> BoundMarginal:
    """Marginal of the columns, in any order and any case; ParameterError if it is missing."""
    sources = {"tv": profile.marginals, "ks": profile.ordered, "emd": profile.steps}
    folded = sorted(map(fold_case, columns))
    for each in sources[request.distance]:
        if sorted(map(fold_case, each.columns)) == folded:
            return each
    name = ", ".join(columns)
    for left_out in profile.left_out:
        if sorted(map(fold_case, left_out.columns)) == folded:
            raise ParameterError(f"{name}: {left_out.reason}")
    raise ParameterError(
        f"{request.distance} is a distance of one column of numbers or times, and {name} is none; "
        "use tv"
    )
