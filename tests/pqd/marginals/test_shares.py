"""Shares of a profile: they add up exactly; the number of marginals must be a number."""

from fractions import Fraction

import pytest

from pqd.engine.scan_plan import PrivacyUnit
from pqd.errors import ParameterError
from pqd.marginals.profile_parameters import MOST_ZOOM, check_zoom
from pqd.marginals.profile_plan import ProfileShares


@pytest.mark.parametrize("zoom", [0, 1, 5, 7, MOST_ZOOM])
@pytest.mark.parametrize("target", [False, True])
@pytest.mark.parametrize("relations", [False, True])
@pytest.mark.parametrize("rows", [None, 1, 3])
def test_parts_times_the_rows_of_a_person_are_the_total(
    zoom: int, target: bool, relations: bool, rows: int | None
) -> None:
    total = Fraction(7, 10)
    unit = None if rows is None else PrivacyUnit("who", rows)
    shares = ProfileShares.of(total, unit, zoom, target=target, relations=relations)
    kept = shares.relations or 0
    parts = [shares.distances, shares.values, kept, zoom * (shares.cells or 0), shares.target or 0]
    assert (rows or 1) * sum(parts) == total
    assert (shares.cells is None) == (zoom == 0)
    assert (shares.target is None) == (not target)
    assert (shares.relations is None) == (not relations)
    rest = shares.distances + shares.values + kept
    assert shares.values == rest / 5
    assert shares.distances >= Fraction(49, 100) * total / (rows or 1)


def test_shares_are_as_documented() -> None:
    shares = ProfileShares.of(Fraction(1), None, 4, target=True, relations=False)
    assert shares == (Fraction(14, 25), Fraction(7, 50), Fraction(1, 20), Fraction(1, 10), None)
    shares = ProfileShares.of(Fraction(1), None, 0, target=False, relations=True)
    assert shares == (Fraction(7, 10), Fraction(1, 5), None, None, Fraction(1, 10))


def test_a_zoom_for_a_fifth_more_replays_all_else() -> None:
    first = ProfileShares.of(Fraction(1), None, 0, target=False, relations=True)
    later = ProfileShares.of(Fraction(5, 4), None, 5, target=False, relations=True)
    for each in ("distances", "relations", "values"):
        assert getattr(first, each) == getattr(later, each)


@pytest.mark.parametrize("zoom", [-1, "1/2", MOST_ZOOM + 1, "many", True])
def test_zoom_is_a_number_of_marginals(zoom: object) -> None:
    with pytest.raises(ParameterError, match="zoom"):
        check_zoom(zoom)  # type: ignore[arg-type]
