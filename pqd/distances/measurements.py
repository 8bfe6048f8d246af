"""Measurements of distances: a vector of them, one of them, and the cells of one marginal."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from deciders.estimators import EstimatorOutput
from deciders.single.base import Decision
from pqd.accounting.cache_keys import digest, parameters_of
from pqd.accounting.disjoint_groups import Cost
from pqd.measurement import Measurement, Output
from pqd.sql.schema import fold_case

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from deciders import Noise
    from pqd.engine.marginals import MarginalCounts, RowMap


class Distance(Protocol):
    """Distance in rows between counts and a copy's, of sensitivity 1; see deciders.distances."""

    id: ClassVar[str]

    def rows(self, counts: Any) -> Fraction:  # noqa: ANN401 - counts, or those of several marginals
        """Exact distance in rows."""
        ...

    def facts(self) -> Any:  # noqa: ANN401 - JSON values
        """JSON values for a cache key."""
        ...


@dataclass(frozen=True, eq=False)
class UnseenRows:
    """Number of rows in the last cell: those with a value that the copy never has.

    One row moves it by at most 1.
    """

    id: ClassVar[str] = "unseen_rows"

    def rows(self, counts: NDArray[np.int64]) -> Fraction:
        """Rows in the last cell."""
        return Fraction(int(counts[-1]))

    def facts(self) -> list[str]:
        """Its id: no copy takes part but through the cells."""
        return [self.id]


# Without slots, so that the cache key is computed once.
@dataclass(frozen=True, eq=False, kw_only=True)
class MarginalMeasurement(Measurement[Output]):
    """Measurement of counts of marginals, where a person is up to ``max_rows`` rows.

    Attributes
    ----------
    name
        Its name in reports and in the ledger.
    """

    name: str

    @property
    def id(self) -> str:
        """Name in reports and in the ledger."""
        return self.name

    @property
    def rows(self) -> int:
        """Rows of what is counted that one person may change."""
        return self.unit.max_rows if self.unit else 1

    def ledger_facts(self) -> dict[str, Any]:
        """Public facts that the ledger keeps of the charge."""
        return {
            "id": self.id,
            "sql": "",
            "epsilon": str(self.epsilon),
            "decider": self.parameters()["id"],
            "unit": self.unit.column if self.unit else None,
        }

    @property
    def composition_cost(self) -> Cost:
        """Cost as it is composed: it reads every row, so it is disjoint from nothing."""
        return Cost(self.id, self.cost, None)

    @cached_property
    def cache_key(self) -> str:
        """Ledger cache key: cells, copy, kinds, unit, epsilon and mechanism."""
        unit = self.unit
        return digest(
            {
                "marginals": self._counted(),
                "unit": (fold_case(unit.column), self.rows) if unit else None,
                "kinds": self.kinds,
                "epsilon": self.epsilon,
                "mechanism": self.parameters(),
            }
        )

    @abstractmethod
    def _counted(self) -> Any:  # noqa: ANN401 - JSON values
        """All that the counts, and what is computed of them, are a function of."""


class VectorMechanism(Protocol):
    """Mechanism that releases a number of rows and K distances; see deciders.distances.vector."""

    id: ClassVar[str]
    key_fields: ClassVar[tuple[str, ...]]

    def release(
        self, rows: Sequence[Fraction], n: int, epsilon: Fraction, noise: Noise
    ) -> tuple[int, ...]:
        """Number of rows, then every distance in whole rows."""
        ...


@dataclass(frozen=True, eq=False, kw_only=True)
class DistancesMeasurement(MarginalMeasurement[EstimatorOutput]):
    """Measurement of many distances and of the number of rows in one release.

    Guarantee: each distance and the number of rows have sensitivity 1, so the release is
    ``epsilon``-DP in the rows that are counted (``deciders/distances/vector.py``).

    Attributes
    ----------
    distances
        What each distance is taken of, and the distance; the numbers are in this order, after n.
    mechanism
        The mechanism of the vector.
    """

    distances: tuple[tuple[RowMap | tuple[RowMap, ...], Distance], ...]
    mechanism: VectorMechanism

    @property
    def marginals(self) -> tuple[RowMap, ...]:
        """Marginals whose cells are counted."""
        return tuple(dict.fromkeys(one for of, _ in self.distances for one in _several(of)))

    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the mechanism."""
        return {"kind": "distances", **parameters_of(self.mechanism)}

    def run(self, counts: MarginalCounts, noise: Noise) -> EstimatorOutput:
        """Number of rows, then every distance."""
        rows = [distance.rows(_counts(counts, of)) for of, distance in self.distances]
        n = int(counts[self.marginals[0]].sum())
        return EstimatorOutput(self.mechanism.release(rows, n, self.epsilon, noise))

    def _counted(self) -> Any:  # noqa: ANN401 - JSON values
        return [[_facts(of), distance.facts()] for of, distance in self.distances]


@dataclass(frozen=True, eq=False, kw_only=True)
class DistanceMeasurement(MarginalMeasurement[Decision]):
    """Measurement of one distance against one tolerance.

    Attributes
    ----------
    of, distance
        What the distance is taken of, and the distance.
    tau
        The tolerance, a share of the rows.
    """

    of: RowMap | tuple[RowMap, ...]
    distance: Distance
    tau: Fraction

    @property
    def marginals(self) -> tuple[RowMap, ...]:
        """Marginals whose cells are counted."""
        return tuple(dict.fromkeys(_several(self.of)))

    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the decider."""
        return {"kind": "distance", "id": "inv_distance", "tau": str(self.tau)}

    def run(self, counts: MarginalCounts, noise: Noise) -> Decision:
        """Verdict whether the distance is below ``tau``."""
        raise NotImplementedError

    def _counted(self) -> Any:  # noqa: ANN401 - JSON values
        return [_facts(self.of), self.distance.facts()]


@dataclass(frozen=True, eq=False, kw_only=True)
class CellsMeasurement(MarginalMeasurement[EstimatorOutput]):
    """Measurement of all cells of one marginal.

    Guarantee: one row is in one cell, so all cells together are ``epsilon``-DP in the rows.

    Attributes
    ----------
    marginal
        The marginal, or another map of rows to cells.
    """

    marginal: RowMap

    @property
    def marginals(self) -> tuple[RowMap, ...]:
        """Marginal whose cells are counted."""
        return (self.marginal,)

    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the mechanism."""
        return {"kind": "cells", "id": "laplace_cells"}

    def run(self, counts: MarginalCounts, noise: Noise) -> EstimatorOutput:
        """Rows of each cell, with noise."""
        raise NotImplementedError

    def _counted(self) -> Any:  # noqa: ANN401 - JSON values
        return self.marginal.facts()


def _several(of: RowMap | tuple[RowMap, ...]) -> tuple[RowMap, ...]:
    return of if isinstance(of, tuple) else (of,)


def _counts(counts: MarginalCounts, of: RowMap | tuple[RowMap, ...]) -> Any:  # noqa: ANN401 - above
    return [counts[one] for one in of] if isinstance(of, tuple) else counts[of]


def _facts(of: RowMap | tuple[RowMap, ...]) -> Any:  # noqa: ANN401 - JSON values
    return [one.facts() for one in of] if isinstance(of, tuple) else of.facts()
