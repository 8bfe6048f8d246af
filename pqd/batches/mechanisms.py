"""The names of the ways to share one budget among queries."""

from deciders.batch.linear.laplace import NoisyAnswers
from deciders.errors import ParameterError
from pqd.batches.linear_workload import MECHANISMS
from pqd.planning.choose_decider import AUTO

ALONE, RANGES, WORKLOAD = "alone", "ranges", NoisyAnswers.id
# What answers queries together, and how else they may share a budget.
TOGETHER = (WORKLOAD, *MECHANISMS, RANGES)
SHARINGS = (AUTO, ALONE, *TOGETHER)


def check_sharing(sharing: str) -> str:
    """Name of a way to share a budget; ParameterError if there is no such way."""
    if sharing not in SHARINGS:
        raise ParameterError(f"sharing is {sharing!r}; use one of {', '.join(SHARINGS)}")
    return sharing
