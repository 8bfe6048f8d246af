"""Budget of a profile: what its distances, its cells and its target cost, in exact shares."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from pqd.deciders.exact import Number, exact
from pqd.engine.scan_plan import PrivacyUnit, rows_per_person
from pqd.errors import ParameterError

# Shares of the total: of the cells of the worst marginals, and of the target.
ZOOM_SHARE, TARGET_SHARE = Fraction(1, 5), Fraction(1, 10)
# The most marginals whose cells are released: beyond that each has next to no budget.
MOST_ZOOM = 100


class ProfileBudget(NamedTuple):
    """Budget of each measurement, per row of a person that counts; the parts add up to the total.

    ``distances`` is that of the distances with the number of rows, ``cells`` that of each marginal
    whose cells are released, ``target`` that of the confusion matrix; None where there is none.
    """

    distances: Fraction
    cells: Fraction | None
    target: Fraction | None


def check_zoom(zoom: Number) -> int:
    """Number of marginals whose cells are measured; ParameterError for no such number."""
    stated = exact(zoom, "zoom")
    if stated.denominator != 1 or not 0 <= stated <= MOST_ZOOM:
        raise ParameterError(
            f"zoom (--zoom) is {zoom}; it is the number of marginals whose cells are measured, "
            f"from 0 to {MOST_ZOOM}, such as 5"
        )
    return int(stated)


def split_budget(
    total: Fraction, unit: PrivacyUnit | None, zoom: int, *, target: bool
) -> ProfileBudget:
    """Shares of ``total``: a fifth for the cells, a tenth for the target, the rest for distances.

    The ``zoom`` marginals share their fifth equally.  Where a person has up to ``max_rows`` rows
    every measurement runs at that part of its share, since a person costs so many times that.
    """
    per_row = total / rows_per_person(unit)
    cells, confusion = ZOOM_SHARE if zoom else Fraction(0), TARGET_SHARE if target else Fraction(0)
    return ProfileBudget(
        per_row * (1 - cells - confusion),
        per_row * cells / zoom if zoom else None,
        per_row * confusion if target else None,
    )
