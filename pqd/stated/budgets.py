"""Privacy budgets that a caller states: for each query, or for all queries of a run."""

from __future__ import annotations

from fractions import Fraction

from pqd.deciders.errors import ParameterError
from pqd.deciders.exact import Number, budget_of
from pqd.deciders.options import option

# Word for the automatic choice of a decider, an estimator, a mechanism or a way to share a budget.
AUTO = "auto"
# An epsilon above the first number gets a warning.  An epsilon above the second number is refused:
# it could change the odds about a person by a factor of 10^43, which protects nobody.
MUCH_EPSILON, MOST_EPSILON = Fraction(10), Fraction(100)
# A delta above this gets a warning.
LARGE_DELTA = Fraction(1, 10_000)
# Options of the two budgets, as a shell writes them.
EPSILON, TOTAL_EPSILON = "--epsilon", "--total-epsilon"


def stated_budget(epsilon: Number | None, name: str = "epsilon") -> Fraction:
    """Privacy budget that a caller states under a ``name``.

    Raises
    ------
    ParameterError
        If the budget is missing, invalid or above 100.
    """
    if epsilon is None:
        raise ParameterError(
            f"{option(EPSILON)} is missing; say what each query may cost, such as 0.25 "
            "(a plan tells what each query needs, and costs nothing)"
        )
    budget = budget_of(epsilon, name)
    if budget > MOST_EPSILON:
        raise ParameterError(
            f"{name} is {epsilon}; at most {MOST_EPSILON} can be asked for, and above "
            f"{MUCH_EPSILON} hardly anybody is protected: 1 or less is usual"
        )
    return budget


def stated_budgets(
    epsilon: object, total_epsilon: object, sharing: object = None
) -> dict[str, object]:
    """Arguments that state the budget of a run, by their names in messages."""
    stated = {EPSILON: epsilon, TOTAL_EPSILON: total_epsilon, "--sharing": sharing}
    return {option(name): value for name, value in stated.items()}


def total_budget(total_epsilon: Number | None) -> Fraction:
    """Privacy budget that all queries of a run share; ParameterError if it is missing."""
    if total_epsilon is None:
        raise ParameterError(
            f"{option(TOTAL_EPSILON)} is missing; say what all queries may cost together, such as 1"
        )
    return stated_budget(total_epsilon, option(TOTAL_EPSILON))
