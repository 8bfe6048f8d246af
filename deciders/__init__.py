"""The mathematics of pqd: deciders as functions of a histogram, an interval and a budget.

No files, no SQL, no printing.  All values are whole multiples of the lattice's unit.
"""

from deciders.decider import Decider, Decision, Threshold
from deciders.errors import DeciderError, ParameterError, PqdError
from deciders.histogram import Histogram
from deciders.interval import Interval
from deciders.lattice import Lattice
from deciders.noise import Noise, SecureNoise, SimulatedNoise
from deciders.registry import DECIDERS, applicable, for_lattice

__all__ = [
    "DECIDERS",
    "Decider",
    "DeciderError",
    "Decision",
    "Histogram",
    "Interval",
    "Lattice",
    "Noise",
    "ParameterError",
    "PqdError",
    "SecureNoise",
    "SimulatedNoise",
    "Threshold",
    "applicable",
    "for_lattice",
]
