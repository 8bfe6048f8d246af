"""All deciders by public id, and the deciders that fit a query."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import Any, cast

from pqd.deciders.errors import DeciderError
from pqd.deciders.lattice import Lattice
from pqd.deciders.single.base import Decider
from pqd.deciders.single.count import ExponentialCount, LaplaceCount, NaiveExponentialCount
from pqd.deciders.single.inverse_sensitivity import (
    InverseCount,
    InverseDistinct,
    InverseMean,
    InverseMedian,
    InverseQuantile,
    InverseSum,
)
from pqd.deciders.single.mean import LaplaceMean
from pqd.deciders.single.median import (
    CorrectedExponentialMedian,
    ExponentialMedian,
    ExponentialQuantileRank,
    HistogramMedian,
    HistogramQuantile,
)
from pqd.deciders.single.noisy_answer import NoisyCount, NoisyDistinct, NoisySum
from pqd.deciders.single.sum import (
    LaplaceSum,
    PlainSparseVectorSum,
    RaceToTheTopSum,
    SparseVectorSum,
    TightRaceToTheTopSum,
)

_CLASSES: tuple[Any, ...] = (
    InverseCount,
    NoisyCount,
    LaplaceCount,
    ExponentialCount,
    NaiveExponentialCount,
    InverseSum,
    NoisySum,
    LaplaceSum,
    RaceToTheTopSum,
    TightRaceToTheTopSum,
    SparseVectorSum,
    PlainSparseVectorSum,
    InverseMean,
    LaplaceMean,
    InverseMedian,
    HistogramMedian,
    ExponentialMedian,
    CorrectedExponentialMedian,
    InverseQuantile,
    HistogramQuantile,
    ExponentialQuantileRank,
    InverseDistinct,
    NoisyDistinct,
)

DECIDERS: Mapping[str, Any] = MappingProxyType({each.id: each for each in _CLASSES})
"""Decider classes by id; their fields are keywords, with the papers' defaults."""


def for_lattice(
    decider_id: str,
    aggregate: str,
    lattice: Lattice,
    **parameters: Any,  # noqa: ANN401 - each decider has its own
) -> Decider:
    """Decider ``decider_id`` for an ``aggregate`` of an attribute on ``lattice``.

    ``parameters`` belong to the aggregate, for example ``p`` for a quantile.

    Raises
    ------
    DeciderError
        If the id is unknown, if the decider is for another aggregate, or if the decider needs
        values >= 0.
    """
    decider_class = DECIDERS.get(decider_id)
    if decider_class is None:
        raise DeciderError(
            f"there is no decider {decider_id!r}; use auto or one of {', '.join(DECIDERS)}"
        )
    if decider_class.aggregate != aggregate:
        fitting = [name for name, other in DECIDERS.items() if other.aggregate == aggregate]
        raise DeciderError(
            f"{decider_id} decides {decider_class.aggregate}, not {aggregate}; "
            f"use auto or {', '.join(fitting)}"
        )
    try:
        decider: Decider = decider_class.on(lattice, **parameters)
    except DeciderError as error:
        raise DeciderError(f"{decider_id} does not fit: {error}") from None
    return decider


def with_options(decider: Decider, stated: Iterable[tuple[str, Fraction]]) -> Decider:
    """``decider`` with the fields of ``stated``, each of which must be one of its ``options``.

    A value takes the type of the field, so a stated default makes the same decider.

    Raises
    ------
    ParameterError
        If a value is not between 0 and 1, also after it is rounded to a double.
    """
    fields = {name: type(getattr(decider, name))(value) for name, value in stated}
    made: Decider = replace(cast("Any", decider), **fields)
    return made


# The cache is shared by the queries of one column.
@lru_cache(maxsize=1024)
def applicable(
    aggregate: str,
    lattice: Lattice,
    **parameters: Any,  # noqa: ANN401 - each decider has its own
) -> tuple[Decider, ...]:
    """Every decider of ``aggregate`` that fits an attribute on ``lattice``."""
    fitting = []
    for decider_class in DECIDERS.values():
        if decider_class.aggregate == aggregate:
            try:
                fitting.append(decider_class.on(lattice, **parameters))
            except DeciderError:
                continue
    return tuple(fitting)
