"""Options of a decider that a caller states, such as the beta of ``r2t_sum``."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from pqd.deciders import DECIDERS
from pqd.deciders.errors import ParameterError
from pqd.deciders.exact import Number, probability
from pqd.deciders.options import option

Options = tuple[tuple[str, Fraction], ...]
# Option, as a shell writes it.
DECIDER_OPTIONS = "--decider-option"


def read_options(decider: str, stated: Mapping[str, Number] | None) -> Options:
    """Options of ``decider`` in the order of their names; every value lies between 0 and 1.

    Raises
    ------
    ParameterError
        If no decider is named, if the decider has no such option, or if a value is out of range.
    """
    if not stated:
        return ()
    made = DECIDERS.get(decider)
    if made is None:
        offered = ", ".join(
            f"{name} ({', '.join(each.options)})" for name, each in DECIDERS.items() if each.options
        )
        raise ParameterError(
            f"{option(DECIDER_OPTIONS)} are of one decider, but the decider is {decider!r}; name "
            f"one that has options: {offered}"
        )
    for name in stated:
        if not made.options:
            raise ParameterError(f"{decider} has no options, so not {name!r} either; leave it out")
        if name not in made.options:
            allowed = ", ".join(made.options)
            raise ParameterError(f"{decider} has no option {name!r}; use {allowed}")
    values = {name: probability(value, f"{name} of {decider}") for name, value in stated.items()}
    for name, value in values.items():
        # A decider computes with doubles.
        probability(float(value), f"{name} of {decider}, as a double,")
    return tuple(sorted(values.items()))
