"""Registry of batch mechanisms, the ways to share a budget, and the budget of a run.

A mechanism is imported when it is used, so a run loads only the mechanisms that it uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from importlib import import_module
from typing import Any

from pqd.deciders.errors import ParameterError
from pqd.deciders.exact import Number
from pqd.deciders.options import option
from pqd.stated.budgets import AUTO, EPSILON, TOTAL_EPSILON, stated_budget, total_budget
from pqd.stated.mechanism_options import MechanismOptions

ALONE, JOINT, RANGES, WORKLOAD = "alone", "joint", "ranges", "workload"
# Mechanisms of range sums (Wu 2019) that experts name; ``ranges`` takes the best.
RANGE_SUMS = (RANGES, "sqm", "timm", "tamm")
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
# Mechanisms that answer query by query: any conditions fit, and with a unit they count persons.
BY_QUERY = (WORKLOAD, JOINT)
# Mechanisms that can answer several measures with one noise vector (pqd/batches/common_mass.py).
SEVERAL_MEASURES = (*BY_QUERY, "identity")
# All mechanisms of batches, the mechanisms with known noise, and all ways to share a budget.
TOGETHER = (*BY_QUERY, *LINEAR, RANGES)
NOISE_KNOWN = (*BY_QUERY, "identity")
# All mechanisms that a release can be told to take.
RELEASING = (*TOGETHER, *RANGE_SUMS[1:])
SHARINGS = (AUTO, ALONE, *TOGETHER)


def linear_mechanism(name: str) -> Any:  # noqa: ANN401 - a class of mechanisms
    """Class of a mechanism with row classes, by its id."""
    module, _, kind = LINEAR[name].partition(":")
    return getattr(import_module(f"pqd.deciders.batch.linear.{module}"), kind)


@dataclass(frozen=True, slots=True)
class BatchTerms:
    """Public terms of a batch, besides its queries and its epsilon.

    ``options`` are those of the named mechanism.  ``delta`` is the share of this batch.
    ``weights`` says how much the error of each query matters; empty if all matter alike.
    """

    options: MechanismOptions = field(default_factory=dict)
    delta: Fraction = Fraction(0)
    weights: tuple[Fraction, ...] = ()

    @property
    def importance(self) -> tuple[Fraction, ...]:
        """Weights relative to the largest weight; empty if all are equal."""
        if len(set(self.weights)) < 2:
            return ()
        return tuple(weight / max(self.weights) for weight in self.weights)


NO_TERMS = BatchTerms()


@dataclass(frozen=True, slots=True)
class RunBudget:
    """Budget of a run, as a caller states it.

    Without ``sharing``, ``epsilon`` is the budget of each query.  With ``sharing``, ``epsilon`` is
    the total of all queries, and ``sharing`` says how they share it: ``"auto"``, ``"alone"``, or
    the id of a batch mechanism.
    """

    epsilon: Fraction
    sharing: str | None

    def __post_init__(self) -> None:
        """Raise ParameterError if ``sharing`` is not a known way to share."""
        if self.sharing not in {None, *SHARINGS}:
            raise ParameterError(f"sharing is {self.sharing!r}; use one of {', '.join(SHARINGS)}")

    @classmethod
    def parse(
        cls, epsilon: Number | None, total_epsilon: Number | None, sharing: str | None
    ) -> RunBudget:
        """Budget of a run; ParameterError unless exactly one of the two epsilons is stated."""
        if epsilon is not None and total_epsilon is not None:
            raise ParameterError(
                f"{option(EPSILON)} and {option(TOTAL_EPSILON)} are both given; the first is what "
                "each query costs, the second what all cost together: give one of them"
            )
        if total_epsilon is not None:
            return cls(total_budget(total_epsilon), AUTO if sharing is None else sharing)
        if epsilon is None:
            raise ParameterError(
                f"{option(EPSILON)} is missing; say what each query may cost, such as 0.25, or give"
                f" {option(TOTAL_EPSILON)}, what all may cost together (a plan tells what each "
                "query needs, and costs nothing)"
            )
        if sharing is not None:
            raise ParameterError(
                f"{option('--sharing')} is {sharing!r}, but {option(EPSILON)} is what each query "
                f"costs: nothing is shared; give {option(TOTAL_EPSILON)} instead, or leave it out"
            )
        return cls(stated_budget(epsilon), None)
