"""Measurements of distances: a vector of them, one of them, and the cells of one marginal."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from pqd.accounting.cache_keys import digest, parameters_of
from pqd.accounting.disjoint_groups import MeasurementCost
from pqd.accounting.zcdp import rho_of
from pqd.deciders.distances.cells import LAPLACE_CELLS, release_cells
from pqd.deciders.distances.decider import DistanceDecider
from pqd.deciders.distances.statistics import Distance
from pqd.deciders.distances.vector import CubeVector, GaussianVector
from pqd.deciders.distances.vector_law import VectorLaw
from pqd.deciders.estimators import EstimatorOutput
from pqd.deciders.exact import budget_of
from pqd.deciders.noise import check_scale
from pqd.deciders.single.base import Decision
from pqd.engine.marginals import MarginalCounts, RowMap
from pqd.engine.scan_plan import rows_per_person
from pqd.run.measurement import Measurement, Output
from pqd.sql.schema import fold_case

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pqd.deciders import Noise


@dataclass(frozen=True, eq=False)
class UnseenRows:
    """Number of rows in the last cell: those with a value that the copy never has.

    Guarantee: one row is in one cell, so it moves the number by at most 1.
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

    def __post_init__(self) -> None:
        """Raise ParameterError for a budget that no noise is drawn at, before it is spent."""
        budget_of(self.epsilon, "epsilon of each measurement, per row of a person,")

    @property
    def id(self) -> str:
        """Name in reports and in the ledger."""
        return self.name

    @property
    def rows(self) -> int:
        """Rows of what is counted that one person may change."""
        return rows_per_person(self.unit)

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
    def composition_cost(self) -> MeasurementCost:
        """Cost as it is composed: it reads every row, so it is disjoint from nothing."""
        return MeasurementCost(self.id, self.cost, None)

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


@dataclass(frozen=True, eq=False, kw_only=True)
class DistancesMeasurement(MarginalMeasurement[EstimatorOutput]):
    """Measurement of many distances and of the number of rows in one release.

    Guarantee: each distance and the number of rows have sensitivity 1 in rows.  With cube noise
    the release is ``epsilon``-DP in each row, and ``rows`` times that in a person.  With Gaussian
    noise it is (``epsilon``, ``delta``)-DP in a person: the mechanism knows how many rows that is.
    Proofs: deciders/distances/vector.py, docs/theory.md.

    Attributes
    ----------
    distances
        What each distance is taken of, and the distance; the numbers are in this order, after n.
    mechanism
        The mechanism of the vector.
    delta
        The delta of Gaussian noise, None with cube noise.
    """

    distances: tuple[tuple[RowMap | tuple[RowMap, ...], Distance], ...]
    mechanism: CubeVector | GaussianVector
    delta: Fraction | None = None

    def __post_init__(self) -> None:
        """Raise ParameterError, or UnanswerableError for noise beyond the sampler, likewise."""
        super().__post_init__()
        check_scale(self.mechanism.largest_scale(self.budget))

    @property
    def marginals(self) -> tuple[RowMap, ...]:
        """Marginals whose cells are counted."""
        return tuple(dict.fromkeys(one for of, _ in self.distances for one in _several(of)))

    @cached_property
    def budget(self) -> Fraction:
        """Budget that the mechanism runs at: epsilon, or the rho that implies it with delta."""
        return self.epsilon if self.delta is None else rho_of(self.epsilon, self.delta)

    @cached_property
    def law(self) -> VectorLaw:
        """Law of the noise."""
        return self.mechanism.law(self.budget)

    @cached_property
    def cost(self) -> Fraction:
        """Cost by itself: with Gaussian noise ``epsilon`` is that of a person already."""
        return self.rows * self.epsilon if self.delta is None else self.epsilon

    @property
    def composition_cost(self) -> MeasurementCost:
        """Cost as it is composed: with Gaussian noise its rho adds up with others."""
        if self.delta is None:
            return super().composition_cost
        return MeasurementCost(self.id, self.cost, None, rho=self.budget, delta=self.delta)

    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the mechanism, with the delta where there is one."""
        delta = {} if self.delta is None else {"delta": str(self.delta)}
        return {"kind": "distances", **parameters_of(self.mechanism), **delta}

    def run(self, counts: MarginalCounts, noise: Noise) -> EstimatorOutput:
        """Number of rows, then every distance."""
        rows = [distance.rows(_counts(counts, of)) for of, distance in self.distances]
        n = int(counts[self.marginals[0]].sum())
        return EstimatorOutput(self.mechanism.release(rows, n, self.budget, noise))

    def _counted(self) -> Any:  # noqa: ANN401 - JSON values
        return [[_facts(of), distance.facts()] for of, distance in self.distances]


@dataclass(frozen=True, eq=False, kw_only=True)
class DistanceMeasurement(MarginalMeasurement[Decision]):
    """Measurement of one distance against one tolerance.

    Attributes
    ----------
    of, distance
        The row map, or the row maps, that the distance is taken of; and the distance.
    tau
        The tolerance, a share of the rows.
    """

    of: RowMap | tuple[RowMap, ...]
    distance: Distance
    tau: Fraction
    decider = DistanceDecider()

    @property
    def marginals(self) -> tuple[RowMap, ...]:
        """Marginals whose cells are counted."""
        return tuple(dict.fromkeys(_several(self.of)))

    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the decider, with the tolerance."""
        return {"kind": "distance", "tau": str(self.tau), **parameters_of(self.decider)}

    def run(self, counts: MarginalCounts, noise: Noise) -> Decision:
        """Verdict whether the distance is below ``tau``."""
        rows = self.distance.rows(_counts(counts, self.of))
        n = int(counts[self.marginals[0]].sum())
        return self.decider.decide(rows, n, self.tau, self.epsilon, noise)

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
        return {"kind": "cells", "id": LAPLACE_CELLS}

    def run(self, counts: MarginalCounts, noise: Noise) -> EstimatorOutput:
        """Rows of each cell, with noise."""
        return EstimatorOutput(release_cells(counts[self.marginal], self.epsilon, noise))

    def _counted(self) -> Any:  # noqa: ANN401 - JSON values
        return self.marginal.facts()


@dataclass(frozen=True, eq=False, kw_only=True)
class UnchosenCells(CellsMeasurement):
    """Measurement of the cells of a marginal that is not chosen yet: priced, and never drawn."""

    @cached_property
    def cache_key(self) -> str:
        """Ledger cache key that no measurement has which is drawn."""
        return digest({"unchosen": self.name, "epsilon": self.epsilon})

    def run(self, counts: MarginalCounts, noise: Noise) -> EstimatorOutput:
        """TypeError: there is nothing to draw."""
        del counts, noise
        raise TypeError(self.name)


def _several(of: RowMap | tuple[RowMap, ...]) -> tuple[RowMap, ...]:
    return of if isinstance(of, tuple) else (of,)


def _counts(counts: MarginalCounts, of: RowMap | tuple[RowMap, ...]) -> Any:  # noqa: ANN401 - above
    return [counts[one] for one in of] if isinstance(of, tuple) else counts[of]


def _facts(of: RowMap | tuple[RowMap, ...]) -> Any:  # noqa: ANN401 - JSON values
    return [one.facts() for one in of] if isinstance(of, tuple) else of.facts()
