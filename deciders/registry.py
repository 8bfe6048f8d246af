"""Every decider by its public id, and how to make one for a lattice."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from deciders.count import ExponentialCount, LaplaceCount, NaiveExponentialCount
from deciders.decider import Decider
from deciders.errors import DeciderError
from deciders.lattice import Lattice
from deciders.median import ExponentialMedian, HistogramMedian
from deciders.sparse_vector import PlainSparseVectorSum, SparseVectorSum
from deciders.sum import LaplaceSum, RaceToTheTopSum, Truncated

_CLASSES = (
    LaplaceCount,
    NaiveExponentialCount,
    ExponentialCount,
    LaplaceSum,
    RaceToTheTopSum,
    SparseVectorSum,
    PlainSparseVectorSum,
    ExponentialMedian,
    HistogramMedian,
)

DECIDERS: Mapping[str, Callable[..., Decider]] = MappingProxyType({c.id: c for c in _CLASSES})
"""Decider classes by id; fields are keywords, the papers' defaults built in."""


def for_lattice(decider_id: str, aggregate: str, lattice: Lattice) -> Decider:
    """Make the decider ``decider_id`` for an ``aggregate`` of an attribute on ``lattice``.

    Raises
    ------
    DeciderError
        If the id is unknown, or decides another aggregate, or needs values >= 0.
    """
    found = next((c for c in _CLASSES if c.id == decider_id), None)
    if found is None:
        raise DeciderError(
            f"there is no decider {decider_id!r}; use auto or one of {', '.join(DECIDERS)}"
        )
    if found.aggregate != aggregate:
        fitting = ", ".join(c.id for c in _CLASSES if c.aggregate == aggregate)
        raise DeciderError(
            f"{decider_id} decides {found.aggregate}, not {aggregate}; use auto or {fitting}"
        )
    low, high = lattice.lower_units, lattice.upper_units
    if found is ExponentialMedian:
        return ExponentialMedian(lower=low, upper=high, step=lattice.step_units)
    if issubclass(found, Truncated) and lattice.lower < 0:
        raise DeciderError(
            f"{decider_id} needs values >= 0 but the lower bound is {lattice.lower}; "
            "use lm_sum, or bounds that start at 0 or above"
        )
    if issubclass(found, (LaplaceSum, Truncated)):
        return found(lower=low, upper=high)
    return found()


def applicable(aggregate: str, lattice: Lattice) -> tuple[Decider, ...]:
    """Return every decider of ``aggregate`` that a lattice admits."""
    return tuple(
        for_lattice(c.id, aggregate, lattice)
        for c in _CLASSES
        if c.aggregate == aggregate and not (issubclass(c, Truncated) and lattice.lower < 0)
    )
