"""Privacy budgets as a caller states them: of each query, or of all queries of a run."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

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


class RunBudget(NamedTuple):
    """Privacy budget of an audit: ``epsilon`` of each query, or of all if ``sharing`` says how.

    ``sharing`` is ``"auto"``, ``"alone"``, the id of a batch mechanism, or None.
    """

    epsilon: Fraction
    sharing: str | None

    @classmethod
    def parse(
        cls, epsilon: Number | None, total_epsilon: Number | None, sharing: str | None
    ) -> RunBudget:
        """Budget that a caller states; ParameterError unless it is exactly one of the two."""
        if epsilon is not None and total_epsilon is not None:
            raise ParameterError(
                f"{EPSILON} and {TOTAL_EPSILON} are both given; the first is what each query "
                "costs, the second what all cost together: give one of them"
            )
        if total_epsilon is not None:
            return cls(total_budget(total_epsilon), AUTO if sharing is None else sharing)
        if epsilon is None:
            raise ParameterError(
                f"{EPSILON} is missing; say what each query may cost, such as 0.25, or give "
                f"{TOTAL_EPSILON}, what all may cost together "
                "(a plan tells what each query needs, and costs nothing)"
            )
        if sharing is not None:
            raise ParameterError(
                f"sharing (--sharing) is {sharing!r}, but {EPSILON} is what each query costs: "
                f"nothing is shared; give {TOTAL_EPSILON} instead, or leave sharing out"
            )
        return cls(stated_budget(epsilon), None)


def total_budget(total_epsilon: Number | None) -> Fraction:
    """Privacy budget that all queries of a run share; ParameterError if there is none."""
    if total_epsilon is None:
        raise ParameterError(
            f"{TOTAL_EPSILON} is missing; say what all queries may cost together, such as 1"
        )
    return stated_budget(total_epsilon, "total_epsilon")
