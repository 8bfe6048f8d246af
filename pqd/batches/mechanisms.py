"""Names of mechanisms and of ways to share one budget; no mechanism is imported here.

So a spec or an option that names one does not load a mechanism that the run does not use.
"""

from deciders.errors import ParameterError
from pqd.planning.choose_decider import AUTO

ALONE, RANGES, WORKLOAD = "alone", "ranges", "workload"
# Mechanisms with row classes (pqd/batches/linear_workload.py).
LINEAR = (
    "identity",
    "numerical",
    "normalization",
    "global_truncation",
    "clipped_composition",
    "numerical_two",
    "dyadic",
)
# Mechanisms of batches, and all ways to share a budget.
TOGETHER = (WORKLOAD, *LINEAR, RANGES)
SHARINGS = (AUTO, ALONE, *TOGETHER)


def check_sharing(sharing: str) -> str:
    """Name of a way to share a budget; ParameterError if there is no such way."""
    if sharing not in SHARINGS:
        raise ParameterError(f"sharing is {sharing!r}; use one of {', '.join(SHARINGS)}")
    return sharing
