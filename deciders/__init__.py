"""The mathematics of pqd: deciders as functions of a histogram, an interval and a budget.

The package reads no files and no SQL, and prints nothing.  Values are whole multiples of the
lattice's unit.  ``pqd/deciders`` is a link to this folder, so its name is ``pqd.deciders``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if __name__ != "pqd.deciders":
    raise ImportError("the package is pqd.deciders: write `from pqd.deciders import ...`")

if TYPE_CHECKING:
    from pqd.deciders.errors import DeciderError, ParameterError, PqdError, UnanswerableError
    from pqd.deciders.evaluation.effectiveness import (
        ErrorRates,
        Threshold,
        error_rates,
        operating_characteristic,
    )
    from pqd.deciders.evaluation.needed_budget import decision_chance, needed_epsilon
    from pqd.deciders.histogram import Histogram, answer
    from pqd.deciders.interval import Interval
    from pqd.deciders.lattice import Lattice
    from pqd.deciders.noise import Noise, SecureNoise, SimulatedNoise
    from pqd.deciders.single.base import Decider, Decision
    from pqd.deciders.single.published import published_tau
    from pqd.deciders.single.registry import DECIDERS, applicable, for_lattice, with_options

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
    "decision_chance",
    "error_rates",
    "for_lattice",
    "needed_epsilon",
    "operating_characteristic",
    "published_tau",
    "with_options",
]

# Module of each public name.  A module, and with it numpy, is imported on first use.
_HOMES = {
    "answer": "pqd.deciders.histogram",
    "applicable": "pqd.deciders.single.registry",
    "Decider": "pqd.deciders.single.base",
    "DeciderError": "pqd.deciders.errors",
    "DECIDERS": "pqd.deciders.single.registry",
    "Decision": "pqd.deciders.single.base",
    "error_rates": "pqd.deciders.evaluation.effectiveness",
    "ErrorRates": "pqd.deciders.evaluation.effectiveness",
    "for_lattice": "pqd.deciders.single.registry",
    "Histogram": "pqd.deciders.histogram",
    "Interval": "pqd.deciders.interval",
    "Lattice": "pqd.deciders.lattice",
    "decision_chance": "pqd.deciders.evaluation.needed_budget",
    "needed_epsilon": "pqd.deciders.evaluation.needed_budget",
    "Noise": "pqd.deciders.noise",
    "operating_characteristic": "pqd.deciders.evaluation.effectiveness",
    "ParameterError": "pqd.deciders.errors",
    "PqdError": "pqd.deciders.errors",
    "published_tau": "pqd.deciders.single.published",
    "SecureNoise": "pqd.deciders.noise",
    "SimulatedNoise": "pqd.deciders.noise",
    "Threshold": "pqd.deciders.evaluation.effectiveness",
    "UnanswerableError": "pqd.deciders.errors",
    "with_options": "pqd.deciders.single.registry",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'pqd.deciders' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
