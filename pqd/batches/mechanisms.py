"""Registry of mechanisms, and ways to share one budget; a mechanism is imported when it is used.

So a spec or an option that names one does not load a mechanism that the run does not use.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from pqd.deciders.errors import ParameterError
from pqd.stated.budgets import AUTO

ALONE, RANGES, WORKLOAD = "alone", "ranges", "workload"
# Mechanisms with row classes (pqd/batches/linear_workload.py), in the order of trial.
LINEAR: Mapping[str, str] = {
    "identity": "laplace:NoisyClasses",
    "numerical": "numerical:Numerical",
    "normalization": "normalization:Normalization",
    "global_truncation": "normalization:GlobalTruncation",
    "clipped_composition": "clipped_composition:ClippedComposition",
    "numerical_two": "numerical:NumericalInTwoSteps",
    "dyadic": "dyadic:DyadicMechanism",
}
# Mechanisms of batches, those of them whose noise is known, and all ways to share a budget.
TOGETHER = (WORKLOAD, *LINEAR, RANGES)
NOISE_KNOWN = (WORKLOAD, "identity")
SHARINGS = (AUTO, ALONE, *TOGETHER)


def linear_mechanism(name: str) -> Any:  # noqa: ANN401 - a class of mechanisms
    """Class of a mechanism with row classes, by its id."""
    module, _, kind = LINEAR[name].partition(":")
    return getattr(import_module(f"pqd.deciders.batch.linear.{module}"), kind)


def check_sharing(sharing: str) -> str:
    """Name of a way to share a budget; ParameterError if there is no such way."""
    if sharing not in SHARINGS:
        raise ParameterError(f"sharing is {sharing!r}; use one of {', '.join(SHARINGS)}")
    return sharing
