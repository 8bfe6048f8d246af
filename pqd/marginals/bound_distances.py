"""Bound distances: single distances between the private table and one synthetic table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pqd.deciders import ParameterError
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
from pqd.marginals.profile_parameters import ProfileRequest
from pqd.parameters import Criteria
from pqd.reports.models.profile import DistanceId
from pqd.reports.models.query import DISTANCE_AGGREGATES, MEAN_DISTANCE
from pqd.sql.schema import fold_case
from pqd.stated.column_facts import Facts

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
        The row map, or the row maps, that the distance is taken of; and the distance.
    aggregate, attribute
        Its names in a report.
    """

    request: DistanceRequest
    profile: BoundProfile
    of: RowMap | tuple[RowMap, ...]
    distance: Distance
    aggregate: str
    attribute: str


class BoundDistances(NamedTuple):
    """Distances that are bound, in the order of their requests, and the errors of others by id."""

    distances: tuple[BoundDistance, ...]
    errors: dict[str, PqdError]


def bind_distances(
    opened: Callable[[], SyntheticTables],
    requests: Sequence[DistanceRequest],
    facts: Facts,
    unit: PrivacyUnit | None,
) -> BoundDistances:
    """Distances of ``requests``, each of which is refused by itself; ``opened`` opens the tables.

    All marginals that are named take one reading of the synthetic table, and each mean another.
    """
    bound: dict[str, BoundDistance] = {}
    errors: dict[str, PqdError] = {}

    def bind(several: Sequence[DistanceRequest]) -> None:
        try:
            profile = bind_profile(opened(), _wanted(several, facts), unit)
        except PqdError as error:
            if len(several) == 1:
                errors[several[0].id] = error
                return
            # One is wrong; which, only each by itself can tell.
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
    """Requests that one reading serves together."""
    named = [each for each in requests if each.columns is not None]
    if named:
        yield named
    means = [each for each in requests if each.columns is None]
    for ways in sorted({each.ways for each in means}):
        yield [each for each in means if each.ways == ways]


def _wanted(requests: Sequence[DistanceRequest], facts: Facts) -> ProfileRequest:
    """Marginals and distances of ``requests``, which are all named or all means."""
    cells = {name: each.cells for name, each in facts.items() if each.cells is not None}
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
        distance=DISTANCES[request.distance](marginal.copies[0]),
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
