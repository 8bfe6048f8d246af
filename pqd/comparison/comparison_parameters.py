"""Parameters of a comparison: the parameters of its queries, weights, references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from pqd.deciders.exact import Number, positive
from pqd.deciders.options import option
from pqd.errors import DeciderError, ParameterError
from pqd.parameters import Parameters
from pqd.planning.bound_workload import QueryRequest
from pqd.planning.choose_estimator import ESTIMATORS
from pqd.sql.query import Query
from pqd.stated.budgets import AUTO, stated_budget

# Name of the parameter in messages: the argument, then the option of the command line.
REFERENCE_EPSILON = "--reference-epsilon"


@dataclass(frozen=True, slots=True)
class ComparisonParameters:
    """Parameters of all queries of a comparison, and the weight of each query.

    ``weights`` maps query ids to weights.  ``references`` is the budget of the independent
    marginals; None without references.
    """

    parameters: Parameters
    weights: Mapping[str, Fraction] = field(default_factory=dict)
    references: Fraction | None = None

    @classmethod
    def parse(
        cls,
        parameters: Parameters,
        weights: Mapping[str, Number] | None = None,
        references: Number | None = None,
    ) -> ComparisonParameters:
        """Parameters that a caller states; PqdError names the mistake."""
        if parameters.mechanism not in {AUTO, *ESTIMATORS}:
            raise DeciderError(
                f"there is no estimator {parameters.mechanism!r}; "
                f"use {AUTO} or {', '.join(ESTIMATORS)}"
            )
        return cls(
            parameters,
            {name: positive(value, f"weight of {name}") for name, value in (weights or {}).items()},
            None if references is None else stated_budget(references, option(REFERENCE_EPSILON)),
        )

    def weight(self, query: Query) -> Fraction:
        """Weight of a query in the leaderboard."""
        names = (name for name in (query.id, query.block) if name in self.weights)
        return next((self.weights[name] for name in names if name), Fraction(1))

    def request(self, query: Query) -> QueryRequest:
        """Request of a query; the query's own tolerance, if stated, replaces the common one."""
        return QueryRequest.of(query, self.parameters)

    def check(self, queries: Sequence[Query]) -> None:
        """Refuse a weight that has the id of no query."""
        known = {query.id for query in queries} | {query.block for query in queries}
        for name in self.weights:
            if name not in known:
                raise ParameterError(f"a weight is given for {name!r}, but there is no such query")
