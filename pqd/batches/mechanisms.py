"""Names of the ways to share one budget among queries; no mechanism is imported here.

What reads them, a spec or an option, need not load a mechanism that the run has no use for.
"""

from deciders.errors import ParameterError
from pqd.planning.choose_decider import AUTO

ALONE, RANGES, WORKLOAD = "alone", "ranges", "workload"
# Mechanisms that tell classes of rows apart (pqd/batches/linear_workload.py).
LINEAR = (
    "identity",
    "numerical",
    "normalization",
    "global_truncation",
    "clipped_composition",
    "numerical_two",
    "dyadic",
)
# Mechanisms that answer queries together, and how else they may share a budget.
TOGETHER = (WORKLOAD, *LINEAR, RANGES)
SHARINGS = (AUTO, ALONE, *TOGETHER)


def check_sharing(sharing: str) -> str:
    """Name of a way to share a budget; ParameterError if there is no such way."""
    if sharing not in SHARINGS:
        raise ParameterError(f"sharing is {sharing!r}; use one of {', '.join(SHARINGS)}")
    return sharing
