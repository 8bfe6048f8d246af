"""Options of a batch mechanism that a caller states, such as the rounds of ``numerical``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from pqd.deciders.errors import ParameterError
from pqd.deciders.exact import Number, exact, positive, probability
from pqd.deciders.options import option

# Values by name; a word is a text.
MechanismOptions = Mapping[str, Fraction | str]
NO_OPTIONS: MechanismOptions = {}
# Option, as a shell writes it.
MECHANISM_OPTIONS = "--mechanism-option"
# The least delta of which the logarithm of a double is exact enough.
_LEAST_DELTA = Fraction(1, 10**300)
_MOST_ROUNDS = 1000
# The most updates of multiplicative weights, about a minute's.
_MOST_UPDATES = 2_000_000

# Options of each truncation of range sums (Wu 2019), besides its name.
TRUNCATIONS: Mapping[str, tuple[str, ...]] = {
    "none": (),
    "svt": ("s", "c", "r", "rho"),
    "recursive": ("theta", "mu", "beta_rate", "rho"),
}
_RANGES = ("truncation", "s", "c", "r", "theta", "mu", "beta_rate", "rho")
_WEIGHTS = ("rounds", "replays", "delta", "size_share")
_NUMERICAL = (*_WEIGHTS, "b", "alpha_share", "radius", "radius_share")
# Options by mechanism.
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "numerical": _NUMERICAL,
    "numerical_two": _NUMERICAL,
    "normalization": _WEIGHTS,
    "global_truncation": (*_WEIGHTS, "b", "radius_share"),
    "clipped_composition": ("b", "delta"),
    "dyadic": ("b", "delta"),
    "ranges": ("strategy", *_RANGES),
    "sqm": _RANGES,
    "timm": _RANGES,
    "tamm": _RANGES,
}
# Options that have a mechanism of their own instead.
_ELSEWHERE = {
    "strategy": "; the mechanism is the strategy",
    "radius": "; normalization with a private radius is global_truncation",
}


def _word(*words: str) -> Callable[[Any, str], str]:
    def read(value: Any, name: str) -> str:  # noqa: ANN401 - whatever the caller states
        if value not in words:
            raise ParameterError(f"{name} is {value!r}; use {' or '.join(words)}")
        return str(value)

    return read


def _whole(least: int) -> Callable[[Number, str], Fraction]:
    def read(value: Number, name: str) -> Fraction:
        number = exact(value, name, "10")
        if number.denominator != 1 or not least <= number <= _MOST_ROUNDS:
            raise ParameterError(
                f"{name} is {value}; it must be a whole number from {least} to {_MOST_ROUNDS:,}"
            )
        return number

    return read


def _share(value: Number, name: str) -> Fraction:
    share = probability(value, name)
    # Mechanisms compute with doubles beside the noise.
    probability(float(share), f"{name}, as a double,")
    return share


def _delta(value: Number, name: str) -> Fraction:
    delta = _share(value, name)
    if delta < _LEAST_DELTA:
        raise ParameterError(f"{name} is {value}; it must be at least 1e-300")
    return delta


def _growth(value: Number, name: str) -> Fraction:
    growth = exact(value, name, "1.2")
    if float(growth) <= 1:
        raise ParameterError(f"{name} is {value}; it must be greater than 1")
    return growth


def _between(least: Fraction | int, most: int) -> Callable[[Number, str], Fraction]:
    def read(value: Number, name: str) -> Fraction:
        number = exact(value, name, "0.5")
        if not least <= number <= most:
            raise ParameterError(f"{name} is {value}; it must lie between {least} and {most}")
        return number

    return read


_READERS: Mapping[str, Callable[[Any, str], Fraction | str]] = {
    "strategy": _word("identity", "workload"),
    "truncation": _word(*TRUNCATIONS),
    "radius": _word("public", "private"),
    "rounds": _whole(1),
    "replays": _whole(0),
    "b": positive,
    "s": positive,
    "theta": positive,
    "beta_rate": _between(Fraction(1, 1000), 100),
    "c": _growth,
    "mu": _between(0, 100),
    "r": _share,
    "rho": _share,
    "size_share": _share,
    "alpha_share": _share,
    "radius_share": _share,
    "delta": _delta,
}


def read_mechanism_options(
    mechanism: str, stated: Mapping[str, Number | str] | None
) -> MechanismOptions:
    """Options of a batch mechanism, in the order of their names, as exact numbers and words.

    Raises
    ------
    ParameterError
        If no mechanism with options is named, if the mechanism has no such option, if a value is
        out of range, or if two options contradict each other.
    """
    if not stated:
        return NO_OPTIONS
    names = OPTIONS.get(mechanism)
    if names is None:
        raise ParameterError(
            f"{option(MECHANISM_OPTIONS)} are of one mechanism, but the mechanism is {mechanism!r},"
            f" which has none; name one that has options: {', '.join(OPTIONS)}"
        )
    for name in stated:
        if name not in names:
            raise ParameterError(
                f"{mechanism} has no option {name!r}; use {', '.join(names)}"
                f"{_ELSEWHERE.get(name, '')}"
            )
    options = {
        name: _READERS[name](stated[name], f"{name} of {mechanism}") for name in sorted(stated)
    }
    rounds, replays = (Fraction(options.get(name, 10)) for name in ("rounds", "replays"))
    updates = rounds**2 * (replays + 1)
    if updates > _MOST_UPDATES:
        raise ParameterError(
            f"rounds and replays of {mechanism} make about {int(updates):,} updates of the "
            f"weights; at most {_MOST_UPDATES:,} are made: state fewer rounds, or replays=1"
        )
    if "truncation" in names and not fitting_truncations(options):
        known = "; ".join(f"{t} has {', '.join(own) or 'none'}" for t, own in TRUNCATIONS.items())
        raise ParameterError(
            f"options {', '.join(options)} of {mechanism} do not go together, since each is of "
            f"one truncation: {known}"
        )
    if "radius" in names and "radius_share" in options and options.get("radius") != "private":
        raise ParameterError(
            f"radius_share of {mechanism} pays for a private radius, and the radius is public; "
            "state radius=private too, or leave radius_share out"
        )
    return options


def fitting_truncations(options: MechanismOptions) -> tuple[str, ...]:
    """Truncations of range sums that have all of the stated options."""
    own = {name for names in TRUNCATIONS.values() for name in names} & options.keys()
    named = options.get("truncation")
    return tuple(
        name for name, names in TRUNCATIONS.items() if named in {None, name} and own <= {*names}
    )
