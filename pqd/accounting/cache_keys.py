"""Cache keys: the hash under which a ledger keeps the answer of a measurement.

Two measurements with one key would be given one answer, and one measurement with two keys would be
paid for twice.  So a key is made of names and exact values alone, all of them listed here and in
``Measurement.cache_key``: no class, no order of fields and no printed form takes part, and one that
is renamed changes no key.  A mechanism that is changed so that it answers otherwise needs a new id.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from deciders import Interval, Lattice
from deciders.exact import exact

if TYPE_CHECKING:
    from deciders import Decider
    from deciders.batch.linear.mechanism import LinearMechanism
    from deciders.batch.linear.universe import Universe
    from deciders.batch.range_sums.mechanisms import RangeSumMechanism
    from deciders.estimators import Estimator
    from deciders.single.split_margins import SplitMargins

Names = tuple[str, ...]

_LATTICE: Names = ("lower", "upper", "step")
# By id, the fields that an answer is a function of.
DECIDERS: Mapping[str, Names] = {
    "lm_count": (),
    "em_count": (),
    "em_count_naive": (),
    "inv_count": (),
    "inv_distinct": (),
    "lm_sum": _LATTICE,
    "r2t_sum": (*_LATTICE, "beta"),
    "svt_sum": (*_LATTICE, "theta"),
    "svt_sum_plain": _LATTICE,
    "inv_sum": _LATTICE,
    "inv_mean": _LATTICE,
    "em_median": _LATTICE,
    "hist_median": _LATTICE,
    "inv_median": (*_LATTICE, "p"),
    "inv_quantile": (*_LATTICE, "p"),
}
ESTIMATORS: Mapping[str, Names] = {
    "laplace": ("aggregate", *_LATTICE, "fineness"),
    "race_to_the_top": (*_LATTICE, "beta"),
    "sum_and_count": (*_LATTICE, "centre"),
    "rank_counts": ("aggregate", *_LATTICE, "p", "cuts"),
    "exponential": ("aggregate", *_LATTICE, "p"),
    "split": ("intervals",),
}
# Besides the queries of the batch, which the key holds as selections of rows.
BATCHES: Mapping[str, Names] = {
    "workload": ("most", "top"),
    "identity": (),
    "dyadic": ("base",),
    "clipped_composition": ("base",),
    "numerical": ("base", "size_share", "alpha_share"),
    "numerical_two": ("base", "size_share", "alpha_share"),
    "normalization": ("size_share",),
    "global_truncation": ("base", "size_share", "radius_share"),
}
# Of the multiplicative weights that some of them use.
WEIGHTS: Names = ("rounds", "replays")
RANGE_SUMS: Names = ("sqm", "identity", "workload", "timm", "tamm")
TRUNCATIONS: Mapping[str, Names] = {
    "none": (),
    "svt": ("start", "growth", "kept", "share"),
    "recursive": ("start", "rate", "offset", "share"),
}


def digest(facts: Mapping[str, Any]) -> str:
    """SHA-256, in hexadecimal, of facts made of numbers, texts, lists and mappings of these."""
    text = json.dumps(
        canonical_value(facts), sort_keys=True, separators=(",", ":"), allow_nan=False
    )
    return hashlib.sha256(text.encode()).hexdigest()


def canonical_value(value: object) -> Any:  # noqa: ANN401 - JSON
    """Value as a key holds it, exact and never by its printed form; TypeError for another type."""
    match value:
        case None | bool() | int() | str():
            return value
        case float() | Fraction() | Decimal():
            return str(exact(value))
        case Interval():
            return [str(value.lower), str(value.upper)]
        case Lattice():
            return [str(value.lower), str(value.upper), str(value.step)]
        case tuple() | list():
            return [canonical_value(part) for part in value]
        case Mapping():
            return {str(name): canonical_value(part) for name, part in value.items()}
        case _:
            raise TypeError(type(value).__name__)


def of_decider(decider: Decider) -> dict[str, Any]:
    """Parameters of a decision, besides table, interval and epsilon."""
    return _named(decider, DECIDERS)


def of_estimator(estimator: Estimator | SplitMargins) -> dict[str, Any]:
    """Parameters of an estimate, besides table and epsilon."""
    parameters = _named(estimator, ESTIMATORS)
    decider = getattr(estimator, "decider", None)
    return parameters if decider is None else {**parameters, "decider": of_decider(decider)}


def of_direct(plan: object) -> dict[str, Any]:
    """Parameters of answers that are counted query by query, besides epsilon."""
    return _named(plan, BATCHES)


def of_batch(mechanism: LinearMechanism, universe: Universe) -> dict[str, Any]:
    """Parameters of the answers to a batch, besides its queries and epsilon."""
    parameters = {**_named(mechanism, BATCHES), "universe": universe.id}
    weights = getattr(mechanism, "weights", None)
    return parameters if weights is None else {**parameters, "weights": _fields(weights, WEIGHTS)}


def of_range_sums(mechanism: RangeSumMechanism) -> dict[str, Any]:
    """Parameters of the answers to range sums, besides the lattice and epsilon."""
    workload = mechanism.workload
    return {
        **_named(mechanism, dict.fromkeys(RANGE_SUMS, ())),
        "truncation": _named(mechanism.truncation, TRUNCATIONS),
        "ends": workload.buckets.ends,
        "ranges": workload.ranges,
    }


def _named(mechanism: Any, known: Mapping[str, Names]) -> dict[str, Any]:  # noqa: ANN401 - by id
    return {"id": mechanism.id, **_fields(mechanism, known[mechanism.id])}


def _fields(mechanism: object, names: Names) -> dict[str, Any]:
    return {name: canonical_value(getattr(mechanism, name)) for name in names}
