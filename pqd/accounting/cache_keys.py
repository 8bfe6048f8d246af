"""Cache keys: the hash under which a ledger keeps the answer of a measurement.

``Accountant`` replays an answer if its key is in the ledger.  So two different measurements must
never share a key, and one measurement must never have two keys, or it would be paid for twice.
A key therefore consists only of names and exact values: the ``id`` and the ``key_fields`` of a
mechanism, and the facts that ``Measurement.cache_key`` adds.  Class names, the order of fields and
printed forms may change, since a key does not contain them.  A mechanism needs a new id if its code
is changed so that its answers differ.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from pqd.deciders import Interval, Lattice
from pqd.deciders.exact import exact

# Only for type checkers: a run without a batch must not load the mechanisms of batches.
if TYPE_CHECKING:
    from pqd.deciders.batch.linear.mechanism import LinearMechanism
    from pqd.deciders.batch.linear.universe import Universe
    from pqd.deciders.batch.range_sums.mechanisms import RangeSumMechanism


_JSON = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(facts: Mapping[str, Any]) -> str:
    """SHA-256, in hexadecimal, of facts: numbers and texts, also in lists and mappings."""
    return hashlib.sha256(_JSON.encode(canonical_value(facts)).encode()).hexdigest()


def canonical_value(value: object) -> Any:  # noqa: ANN401 - JSON
    """Value as a key holds it: exact, independent of printed forms; TypeError for other types."""
    if value is None or isinstance(value, (str, int)):
        return value
    match value:
        case float() | Fraction() | Decimal():
            return str(exact(value))
        case Interval():
            return [str(value.lower), str(value.upper)]
        case Lattice():
            return [str(value.lower), str(value.upper), str(value.step)]
        case tuple() | list():
            return [canonical_value(part) for part in value]
        # ``dict()`` comes first because most values are dicts.
        case dict() | Mapping():
            return {str(name): canonical_value(part) for name, part in value.items()}
        case _:
            raise TypeError(type(value).__name__)


def parameters_of(mechanism: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever has key fields
    """Parameters of a mechanism by name: its id, and the fields that its output depends on.

    These are not all that the output depends on.  The measurement states the rest: rows, epsilon,
    interval and queries.  If the mechanism holds a decider, an inner mechanism or multiplicative
    weights, their parameters are included; the importance of queries only where it is stated, so
    that other keys stay as they are.
    """
    parameters = {"id": mechanism.id, **_fields(mechanism)}
    for name in ("decider", "inner"):
        held = getattr(mechanism, name, None)
        if held is not None:
            parameters[name] = parameters_of(held)
    weights = getattr(mechanism, "weights", None)
    if weights is not None:
        parameters["weights"] = _fields(weights)
        if weights.importance:
            parameters["importance"] = canonical_value(weights.importance)
    return parameters


def parameters_on(mechanism: LinearMechanism, universe: Universe) -> dict[str, Any]:
    """Parameters of a mechanism of numerical queries, with their universe."""
    return {**parameters_of(mechanism), "universe": universe.id}


def parameters_of_range_sums(mechanism: RangeSumMechanism) -> dict[str, Any]:
    """Parameters of a mechanism of range sums, with its buckets, ranges and truncation."""
    workload = mechanism.workload
    return {
        **parameters_of(mechanism),
        "truncation": parameters_of(mechanism.truncation),
        "ends": workload.buckets.ends,
        "ranges": workload.ranges,
    }


def _fields(mechanism: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever has key fields
    return {name: canonical_value(getattr(mechanism, name)) for name in mechanism.key_fields}
