"""Options of a batch mechanism as fields of the mechanism, and the options that a mechanism has.

An option has the name of its paper (Wu 2019, Qiu 2022), and a field has a name of its own.  Amounts
are options in the unit of the queries, and fields in units of the lattice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from pqd.batches.mechanisms import RANGES, linear_mechanism
from pqd.deciders.batch.linear.multiplicative_weights import MultiplicativeWeights
from pqd.deciders.batch.linear.radius import RADIUS_SHARE, RadiusFirst
from pqd.deciders.errors import ParameterError
from pqd.deciders.exact import exact
from pqd.stated.mechanism_options import MechanismOptions, fitting_truncations

if TYPE_CHECKING:
    from pqd.deciders.batch.linear.mechanism import LinearMechanism
    from pqd.deciders.batch.linear.queries import NumericalQueries
    from pqd.deciders.batch.range_sums.mechanisms import RangeSumMechanism
    from pqd.deciders.batch.range_sums.select import Stated
    from pqd.deciders.batch.range_sums.truncation import Truncation

# Options and their values, as a report shows them.
OptionValues = tuple[tuple[str, Fraction | str], ...]
# Field of each option of a truncation, by the id of the truncation.
_TRUNCATION_FIELDS: Mapping[str, Mapping[str, str]] = {
    "none": {},
    "svt": {"s": "start", "c": "growth", "r": "kept", "rho": "share"},
    "recursive": {"theta": "start", "mu": "offset", "beta_rate": "rate", "rho": "share"},
}
_AMOUNTS = ("s", "theta")
_SHARES = ("size_share", "alpha_share", "radius_share")
_OF_WEIGHTS = ("rounds", "replays")


# Numerical queries (Qiu 2022)


def base_units(options: MechanismOptions, unit: Fraction, top: int) -> int:
    """Lowest threshold ``b`` in units; 1 if it is not stated.  ``top`` is the largest value.

    Raises
    ------
    ParameterError
        If b is no whole number of units, or exceeds the largest value.
    """
    stated = Fraction(options.get("b", unit))
    base = stated / unit
    if base.denominator != 1 or base > top:
        raise ParameterError(
            f"b is {_text(stated)}, but values here are multiples of {_text(unit)} up to "
            f"{_text(top * unit)}; state such a multiple, or leave b out"
        )
    return int(base)


def linear_with(
    name: str,
    queries: NumericalQueries,
    options: MechanismOptions,
    base: int,
    importance: tuple[Fraction, ...],
) -> LinearMechanism:
    """Mechanism of numerical queries with the stated ``options``.

    ``importance`` is that of ``MultiplicativeWeights``; other mechanisms have no use for it.

    Raises
    ------
    ParameterError
        If the shares leave nothing for the rounds.
    """
    kind = linear_mechanism(name)
    names = kind.__dataclass_fields__
    fields: dict[str, Any] = {key: options[key] for key in _SHARES if key in options}
    fields = {key: value for key, value in fields.items() if key in names}
    if "base" in names:
        fields["base"] = base
    if "weights" in names:
        own = {key: int(options[key]) for key in _OF_WEIGHTS if key in options}
        fields["weights"] = MultiplicativeWeights(**own, importance=importance)
    mechanism: Any = kind(queries=queries, **fields)
    if sum(getattr(mechanism, key, 0) for key in _SHARES[:2]) >= 1:
        raise ParameterError(
            f"size_share and alpha_share of {name} are {_text(mechanism.size_share)} and "
            f"{_text(mechanism.alpha_share)} of epsilon; state shares that add up to less than 1"
        )
    if options.get("radius") == "private":
        share = Fraction(options.get("radius_share", RADIUS_SHARE))
        mechanism = RadiusFirst(inner=mechanism, base=base, radius_share=share)
    checked: LinearMechanism = mechanism
    return checked


def options_of_linear(
    mechanism: Any,  # noqa: ANN401 - any of the mechanisms
    unit: Fraction,
) -> Iterator[tuple[str, Fraction | str]]:
    """Options of a mechanism of numerical queries, stated or not, except delta."""
    inner = getattr(mechanism, "inner", mechanism)
    weights = getattr(inner, "weights", None)
    if weights is not None:
        yield from ((key, Fraction(getattr(weights, key))) for key in _OF_WEIGHTS)
    if hasattr(inner, "base"):
        yield "b", inner.base * unit
    for key in _SHARES[:2]:
        if hasattr(inner, key):
            yield key, exact(getattr(inner, key))
    if hasattr(inner, "alpha_share"):
        yield "radius", "private" if isinstance(mechanism, RadiusFirst) else "public"
    if hasattr(mechanism, "radius_share"):
        yield "radius_share", exact(mechanism.radius_share)


# Range sums (Wu 2019)


def strategies(name: str, options: MechanismOptions) -> tuple[str, ...] | None:
    """Ids of the mechanisms of range sums that a named mechanism admits; None for all."""
    if name != RANGES:
        return (name,)
    stated = options.get("strategy")
    return None if stated is None else (str(stated),)


def stated_truncations(options: MechanismOptions, unit: Fraction, top: int) -> Stated:
    """Truncations that have all stated options, with these as their fields, in units.

    Raises
    ------
    ParameterError
        If a threshold starts below one unit, or at or above the largest value ``top``.
    """
    for key in _AMOUNTS:
        stated = Fraction(options.get(key, unit))
        if key in options and stated / unit >= top:
            raise ParameterError(
                f"{key} is {_text(stated)}, and no value exceeds {_text(top * unit)}, so nothing "
                "would be truncated; state less, or truncation=none, which spends nothing on a "
                "threshold"
            )
        if stated < unit:
            raise ParameterError(
                f"{key} is {_text(stated)}, but values here are multiples of {_text(unit)}; state "
                "at least this"
            )
    return {
        name: {
            field: Fraction(options[key]) / (unit if key in _AMOUNTS else 1)
            for key, field in _TRUNCATION_FIELDS[name].items()
            if key in options
        }
        for name in fitting_truncations(options)
    }


def options_of_ranges(
    mechanism: RangeSumMechanism, unit: Fraction
) -> Iterator[tuple[str, Fraction | str]]:
    """Options of a mechanism of range sums, stated or not."""
    truncation: Truncation = mechanism.truncation
    yield "truncation", truncation.id
    for key, field in _TRUNCATION_FIELDS[truncation.id].items():
        yield key, exact(getattr(truncation, field)) * (unit if key in _AMOUNTS else 1)


def _text(number: Fraction) -> str:
    return f"{float(number):,.10g}"
