"""Privacy budgets as a caller states them: of each query, or of all queries of a run."""

from __future__ import annotations

from fractions import Fraction

from pqd.deciders.errors import ParameterError
from pqd.deciders.exact import Number, budget_of

# What chooses by itself: a decider, an estimator, a mechanism, or how a budget is shared.
AUTO = "auto"
# Beyond the first an answer is warned of.  Beyond the second no command and no spec asks: the odds
# about a person may then change by a factor of 10^43, which is as good as showing the row.
MUCH_EPSILON, MOST_EPSILON = Fraction(10), Fraction(100)
# Names in messages: of the argument, and of the option of the command line.
EPSILON, TOTAL_EPSILON = "epsilon (--epsilon)", "total_epsilon (--total-epsilon)"


def stated_budget(epsilon: Number | None, name: str = "epsilon") -> Fraction:
    """Privacy budget that a caller states under a name, by default for each query.

    Raises
    ------
    ParameterError
        Without one, or beyond what protects anybody.
    """
    if epsilon is None:
        raise ParameterError(
            f"{EPSILON} is missing; say what each query may cost, such as 0.25 "
            "(a plan tells what each query needs, and costs nothing)"
        )
    budget = budget_of(epsilon, name)
    if budget > MOST_EPSILON:
        raise ParameterError(
            f"{name} is {epsilon}; at most {MOST_EPSILON} can be asked for, and above "
            f"{MUCH_EPSILON} hardly anybody is protected: 1 or less is usual"
        )
    return budget


def total_budget(total_epsilon: Number | None) -> Fraction:
    """Privacy budget that all queries of a run share; ParameterError if there is none."""
    if total_epsilon is None:
        raise ParameterError(
            f"{TOTAL_EPSILON} is missing; say what all queries may cost together, such as 1"
        )
    return stated_budget(total_epsilon, "total_epsilon")
