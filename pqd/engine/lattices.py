"""Lattice of a number: what its values in the synthetic table lie on."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from deciders import Lattice
from pqd.engine.reading.buffers import numpy_of

if TYPE_CHECKING:
    from pqd.engine.kernel.evaluator import Evaluator
    from pqd.engine.kernel.persons import PersonCodes

_DECIMALS = 6
_FINEST = 2.0**50


def lattice_of(evaluator: Evaluator, value: str, persons: PersonCodes | None) -> Lattice | None:
    """Lattice that ``value`` (SQL) takes on the rows, None without values.

    With ``persons`` it holds each person's total too, over all rows.

    The step is the coarsest of 1, 0.1, ... 0.000001 that all values fit, coarser for numbers so
    large that a double cannot tell such steps apart.
    """
    names = evaluator.names(value)
    combinations = evaluator.combinations(names) if persons else evaluator.occupied(names)
    whole = [f"round(({value}) * 1e{d}) / 1e{d} = ({value})" for d in range(_DECIMALS + 1)]
    outputs = [f"CAST({value} AS DOUBLE)", *(f"COALESCE({one}, FALSE)" for one in whole)]
    parts = list(evaluator.values(names, combinations, outputs))
    values, *fits = (
        np.concatenate([numpy_of(output) for output in each]) for each in zip(*parts, strict=True)
    )
    finite = np.isfinite(values)
    if not finite.any():
        return None
    low, high = float(values[finite].min()), float(values[finite].max())
    if persons:
        rows = finite[combinations.codes]
        codes = persons.codes[rows]
        sums = np.bincount(codes, values[combinations.codes[rows]], persons.size)
        held = sums[np.bincount(codes, minlength=persons.size) > 0]
        low, high = min(low, float(held.min())), max(high, float(held.max()))
    fitting = [bool(fit[finite].all()) for fit in fits]
    decimals = fitting.index(True) if True in fitting else _DECIMALS
    while max(abs(low), abs(high)) * 10.0**decimals > _FINEST:
        decimals -= 1
    step = Fraction(10) ** -decimals
    lower, upper = Fraction(low) / step, Fraction(high) / step
    return Lattice(round(lower) * step, round(upper) * step, step)
