"""Binding of single distances: those of one synthetic table, in as few readings of it as can be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from pqd.engine.scan_plan import PrivacyUnit
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.errors import PqdError
from pqd.marginals.bound_profile import BoundProfile, bind_profile
from pqd.marginals.decisions import BoundDistance, DistanceRequest, bound_distance
from pqd.marginals.profile_parameters import ProfileRequest
from pqd.stated.column_facts import Facts


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
        bound[request.id] = bound_distance(request, profile)
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
