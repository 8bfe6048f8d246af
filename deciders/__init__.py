"""The mathematics of pqd: deciders as functions of a histogram, an interval and a budget.

No files, no SQL, no printing.  All values are whole multiples of the lattice's unit.
"""

from deciders.aggregates import answer
from deciders.errors import DeciderError, ParameterError, PqdError, UnanswerableError
from deciders.evaluation.effectiveness import (
    ErrorRates,
    Threshold,
    error_rates,
    needed_epsilon,
    operating_characteristic,
)
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
