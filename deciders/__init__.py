"""The mathematics of pqd: deciders as functions of a histogram, an interval and a budget.

No files, no SQL, no printing.  All values are whole multiples of the lattice's unit.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deciders.aggregates import answer
    from deciders.errors import DeciderError, ParameterError, PqdError, UnanswerableError
    from deciders.evaluation.effectiveness import (
        ErrorRates,
        Threshold,
        error_rates,
        operating_characteristic,
    )
    from deciders.evaluation.needed_budget import needed_epsilon
    from deciders.histogram import Histogram
    from deciders.interval import Interval
    from deciders.lattice import Lattice
    from deciders.noise import Noise, SecureNoise, SimulatedNoise
    from deciders.single.base import Decider, Decision
    from deciders.single.published import published_tau
    from deciders.single.registry import DECIDERS, applicable, for_lattice

__all__ = [
    "DECIDERS",
    "Decider",
    "DeciderError",
    "Decision",
    "ErrorRates",
    "Histogram",
    "Interval",
    "Lattice",
    "Noise",
    "ParameterError",
    "PqdError",
    "SecureNoise",
    "SimulatedNoise",
    "Threshold",
    "UnanswerableError",
    "answer",
    "applicable",
    "error_rates",
    "for_lattice",
    "needed_epsilon",
    "operating_characteristic",
    "published_tau",
]

# Where each public name lives; numpy is not imported before it is used.
_HOMES = {
    "answer": "deciders.aggregates",
    "applicable": "deciders.single.registry",
    "Decider": "deciders.single.base",
    "DeciderError": "deciders.errors",
    "DECIDERS": "deciders.single.registry",
    "Decision": "deciders.single.base",
    "error_rates": "deciders.evaluation.effectiveness",
    "ErrorRates": "deciders.evaluation.effectiveness",
    "for_lattice": "deciders.single.registry",
    "Histogram": "deciders.histogram",
    "Interval": "deciders.interval",
    "Lattice": "deciders.lattice",
    "needed_epsilon": "deciders.evaluation.needed_budget",
    "Noise": "deciders.noise",
    "operating_characteristic": "deciders.evaluation.effectiveness",
    "ParameterError": "deciders.errors",
    "PqdError": "deciders.errors",
    "published_tau": "deciders.single.published",
    "SecureNoise": "deciders.noise",
    "SimulatedNoise": "deciders.noise",
    "Threshold": "deciders.evaluation.effectiveness",
    "UnanswerableError": "deciders.errors",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'deciders' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
