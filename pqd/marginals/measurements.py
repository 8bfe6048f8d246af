"""Measurements of marginals: of many distances, of one distance, or of the cells of a marginal."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from pqd.accounting.cache_keys import digest, parameters_of
from pqd.accounting.disjoint_groups import MeasurementCost
from pqd.accounting.zcdp import rho_of
from pqd.deciders.distances.cells import LAPLACE_CELLS, release_cells
from pqd.deciders.distances.claims import Claim
from pqd.deciders.distances.cube_law import CubeLaw
from pqd.deciders.distances.noise_laws import LaplaceLaw, NoiseLaw
from pqd.deciders.distances.relations import (
    CUBE_RELATIONS,
    NUMBERS,
    RelationRows,
    Relations,
    release_relations,
)
from pqd.deciders.distances.statistics import Distance, whole_rows
from pqd.deciders.distances.vector import CubeVector, GaussianVector, VectorLaw
from pqd.deciders.estimators import EstimatorOutput
from pqd.deciders.exact import budget_of
from pqd.deciders.noise import check_cube, check_scale
from pqd.deciders.single.base import Decision
from pqd.deciders.single.inverse_sensitivity import verdict_of
from pqd.engine.counting.persons import parts_per_row
from pqd.engine.marginals import EveryRow, MarginalCounts, RowMap
from pqd.engine.scan_plan import rows_per_person
from pqd.run.gate import ROWS_SHARE
from pqd.run.measurement import Measurement, Output
from pqd.sql.schema import fold_case

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pqd.deciders import Noise


# The map of one marginal, or, for a mean of distances, the maps of all its marginals.
RowMaps = RowMap | tuple[RowMap, ...]


@dataclass(frozen=True, eq=False)
class UnseenRows:
    """Number of rows in the last cell, which hold a value that the copy lacks.

    Guarantee: one row is in one cell, so it moves the number by at most 1.
    """

    id: ClassVar[str] = "unseen_rows"

    def rows(self, counts: NDArray[np.int64]) -> Fraction:
        """Number of rows in the last cell."""
        return Fraction(int(counts[-1]))

    def facts(self) -> list[str]:
        """Facts for a cache key: the id alone, since the facts of the cells describe the copy."""
        return [self.id]


# Without slots, so that the cache key is computed once.
@dataclass(frozen=True, eq=False, kw_only=True)
class MarginalMeasurement(Measurement[Output]):
    """Measurement of the counts of marginals; a person has up to ``max_rows`` rows.

    Attributes
    ----------
    name
        The name in reports and in the ledger.
    """

    name: str

    def __post_init__(self) -> None:
        """Raise ParameterError if no noise can be drawn at this epsilon."""
        budget_of(self.epsilon, "epsilon of each measurement, per row of a person,")

    @property
    def id(self) -> str:
        """Name in reports and in the ledger."""
        return self.name

    @property
    def rows(self) -> int:
        """Number of counted rows that one person may change."""
        return rows_per_person(self.unit)

    @property
    def parts(self) -> int:
        """Parts of a row in which rows are counted; 1 where each row is a person."""
        return parts_per_row(self.unit)

    def in_rows(self, counted: Fraction | int) -> Fraction:
        """Rows, of a number in the parts in which rows are counted; private.

        A person who counts as at most k rows changes at most ``k parts`` of them.  What each of
        them moves by at most 1 is moved by at most k rows (docs/theory.md, Theorem U1).
        """
        return Fraction(counted) / self.parts

    @property
    def composition_cost(self) -> MeasurementCost:
        """Cost to be composed; the measurement reads every row and so overlaps with any other."""
        return MeasurementCost(self.id, self.cost, None)

    @cached_property
    def cache_key(self) -> str:
        """Ledger cache key: a hash of the cells, copy, kinds, unit, epsilon and mechanism."""
        unit = self.unit
        return digest(
            {
                "marginals": self._key_facts(),
                "unit": (fold_case(unit.column), self.rows) if unit else None,
                "kinds": self.kinds,
                "epsilon": self.epsilon,
                "mechanism": self.parameters(),
            }
        )

    @abstractmethod
    def _key_facts(self) -> Any:  # noqa: ANN401 - JSON values
        """Facts for a cache key: the row maps and the distances."""


@dataclass(frozen=True, eq=False, kw_only=True)
class DistancesMeasurement(MarginalMeasurement[EstimatorOutput]):
    """Measurement of many distances and the number of rows, in one release.

    Guarantee: each distance and the number of rows have sensitivity 1 in rows.  With cube noise
    the release is ``epsilon``-DP for one row, and ``rows`` times ``epsilon``-DP for one person.
    With Gaussian noise it is (``epsilon``, ``delta``)-DP for one person, since the mechanism takes
    the number of rows of a person into account.  Proofs: deciders/distances/vector.py,
    docs/theory.md.

    Attributes
    ----------
    distances
        Pairs of row maps and a distance between their counts.  The released numbers are in this
        order, after the number of rows.
    mechanism
        The mechanism of the vector.
    delta
        The delta of Gaussian noise; None with cube noise.
    """

    distances: tuple[tuple[RowMaps, Distance], ...]
    mechanism: CubeVector | GaussianVector
    delta: Fraction | None = None

    def __post_init__(self) -> None:
        """Raise ParameterError, or UnanswerableError if the sampler cannot draw the noise."""
        super().__post_init__()
        check_scale(self.mechanism.largest_scale(self.budget))

    @property
    def marginals(self) -> tuple[RowMap, ...]:
        """Marginals whose cells are counted."""
        return tuple(dict.fromkeys(m for maps, _ in self.distances for m in _maps_of(maps)))

    @cached_property
    def budget(self) -> Fraction:
        """Budget of the mechanism: epsilon, or the rho that implies (epsilon, delta)."""
        return self.epsilon if self.delta is None else rho_of(self.epsilon, self.delta)

    @cached_property
    def law(self) -> VectorLaw:
        """Law of the noise."""
        return self.mechanism.law(self.budget)

    @property
    def rows_law(self) -> NoiseLaw:
        """Law of the noise of the number of rows."""
        return self.law.rows

    @cached_property
    def cost(self) -> Fraction:
        """Cost by itself; with Gaussian noise ``epsilon`` is already the cost for a person."""
        return self.rows * self.epsilon if self.delta is None else self.epsilon

    @property
    def composition_cost(self) -> MeasurementCost:
        """Cost to be composed; with Gaussian noise it states a rho, which adds to other rhos."""
        if self.delta is None:
            return super().composition_cost
        return MeasurementCost(self.id, self.cost, None, rho=self.budget, delta=self.delta)

    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the mechanism, and the delta if there is one."""
        delta = {} if self.delta is None else {"delta": str(self.delta)}
        return {"kind": "distances", **parameters_of(self.mechanism), **delta}

    def run(self, counts: MarginalCounts, noise: Noise) -> EstimatorOutput:
        """Noisy number of rows, then every noisy distance."""
        rows = [
            self.in_rows(distance.rows(_counts(counts, maps))) for maps, distance in self.distances
        ]
        n = whole_rows(self.in_rows(int(counts[self.marginals[0]].sum())))
        return EstimatorOutput(self.mechanism.release(rows, n, self.budget, noise))

    def _key_facts(self) -> Any:  # noqa: ANN401 - JSON values
        return [[_facts(maps), distance.facts()] for maps, distance in self.distances]


@dataclass(frozen=True, eq=False, kw_only=True)
class ClaimMeasurement(MarginalMeasurement[Decision]):
    """Measurement of one claim about the counts of marginals: its noisy margin.

    Guarantee: ``epsilon``-DP for one row.  The margin has sensitivity 1 (claims.py).  If the claim
    needs the number of private rows and nobody stated it, a twentieth of epsilon pays for that
    number, and the margin has the rest.

    Attributes
    ----------
    row_maps
        The map of rows to cells; for a claim about several marginals all maps.
    claim
        The claim.
    stated_rows
        The number of private rows, if it is stated.
    """

    row_maps: RowMaps
    claim: Claim
    stated_rows: int | None = None

    @property
    def marginals(self) -> tuple[RowMap, ...]:
        """Marginals whose cells are counted."""
        return tuple(dict.fromkeys(_maps_of(self.row_maps)))

    @property
    def rows_epsilon(self) -> Fraction:
        """Part of epsilon that pays for the number of private rows; 0 if it is not released."""
        needed = self.needs_rows and self.stated_rows is None
        return self.epsilon * ROWS_SHARE if needed else Fraction(0)

    @property
    def rows_law(self) -> LaplaceLaw | None:
        """Law of the noise of the number of rows, if it is released."""
        return LaplaceLaw(1 / self.rows_epsilon) if self.rows_epsilon else None

    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the mechanism, and the number of rows that it takes as known."""
        stated = {"rows": self.stated_rows} if self.claim.needs_rows else {}
        return {"kind": "claim", "id": f"inv_{self.claim.id}", **stated}

    @property
    def needs_rows(self) -> bool:
        """Whether the claim depends on the number of private rows."""
        return self.claim.needs_rows

    def private_rows(self, counts: MarginalCounts) -> int:
        """Exact number of private rows; private."""
        return whole_rows(self.in_rows(int(counts[self.marginals[0]].sum())))

    def margin(self, counts: MarginalCounts, rows: int, *, expected: bool = True) -> int:
        """Exact margin of the claim, or of its opposite; private.

        ``rows`` is the number of private rows as it was stated or released.
        """
        of_parts = self.claim.margin(_counts(counts, self.row_maps), rows, self.parts)
        margin = math.ceil(self.in_rows(of_parts))
        return margin if expected else 1 - margin

    def run(self, counts: MarginalCounts, noise: Noise) -> Decision:
        """Verdict whether the claim holds."""
        rows, share = self.stated_rows or 0, self.rows_epsilon
        if share:
            rows = max(1, noise.laplace(self.private_rows(counts), 1 / share))
        budget = self.epsilon - share
        decision = verdict_of(noise.laplace(self.margin(counts, rows), 1 / budget), budget)
        return replace(decision, released=(rows,)) if share else decision

    def _key_facts(self) -> Any:  # noqa: ANN401 - JSON values
        return [_facts(self.row_maps), self.claim.facts()]

    @cached_property
    def question(self) -> str:
        """Hash of the claim."""
        return digest({"marginals": self._key_facts(), "kinds": self.kinds})

    def ledger_facts(self) -> dict[str, Any]:
        """Public facts that the ledger keeps of the charge."""
        return {**super().ledger_facts(), "question": self.question}


@dataclass(frozen=True, eq=False, kw_only=True)
class RelationsMeasurement(MarginalMeasurement[EstimatorOutput]):
    """Measurement of the relations of several copies, three scores each, in one release.

    Guarantee: each score has sensitivity 1 in rows, so cube noise is ``epsilon``-DP for one row
    (Theorem D11), whatever noise the distances have, and however many copies there are.

    Attributes
    ----------
    relations
        Of each copy: the maps of rows to the cells of its pairs, and the scores of the pairs.
    """

    relations: tuple[tuple[tuple[RowMap, ...], Relations], ...]

    def __post_init__(self) -> None:
        """Raise ParameterError, or UnanswerableError if the sampler cannot draw the noise."""
        super().__post_init__()
        check_cube(self.law.numbers, self.law.scale)

    @property
    def marginals(self) -> tuple[RowMap, ...]:
        """Pairs whose cells are counted."""
        return tuple(dict.fromkeys(each for maps, _ in self.relations for each in maps))

    @property
    def law(self) -> CubeLaw:
        """Law of the noise of each score."""
        return CubeLaw(NUMBERS * len(self.relations), 1 / budget_of(self.epsilon))

    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the mechanism."""
        return {"kind": "relations", "id": CUBE_RELATIONS}

    def run(self, counts: MarginalCounts, noise: Noise) -> EstimatorOutput:
        """Three noisy scores of each copy."""
        scores = [
            RelationRows(*map(self.in_rows, each.rows([counts[one] for one in maps])))
            for maps, each in self.relations
        ]
        return EstimatorOutput(release_relations(scores, self.epsilon, noise))

    def _key_facts(self) -> Any:  # noqa: ANN401 - JSON values
        return [[_facts(maps), each.facts()] for maps, each in self.relations]


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

    @property
    def rows_law(self) -> LaplaceLaw | None:
        """Law of the noise of the number of rows, if one cell has all rows."""
        return LaplaceLaw(1 / self.epsilon) if isinstance(self.marginal, EveryRow) else None

    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the mechanism."""
        return {"kind": "cells", "id": LAPLACE_CELLS}

    def run(self, counts: MarginalCounts, noise: Noise) -> EstimatorOutput:
        """Rows of each cell, with noise."""
        own = counts[self.marginal]
        return EstimatorOutput(release_cells(own, self.epsilon, noise, self.parts))

    def _key_facts(self) -> Any:  # noqa: ANN401 - JSON values
        return self.marginal.facts()


@dataclass(frozen=True, eq=False, kw_only=True)
class HistogramsMeasurement(MarginalMeasurement[EstimatorOutput]):
    """Measurement of the cells of several marginals, all in one release.

    Guarantee: one row is in one cell of each of K marginals.  Each marginal is released at a K-th
    of epsilon, so all of them together are ``epsilon``-DP in the rows (Theorem V6).

    Attributes
    ----------
    row_maps
        The marginals, at least one, in the order of the released numbers.
    """

    row_maps: tuple[RowMap, ...]

    def __post_init__(self) -> None:
        """Raise ParameterError if no noise can be drawn at a K-th of this epsilon."""
        super().__post_init__()
        budget_of(self.each, "epsilon of the values of each column, per row of a person,")

    @property
    def each(self) -> Fraction:
        """Epsilon of one marginal."""
        return self.epsilon / len(self.row_maps)

    @property
    def marginals(self) -> tuple[RowMap, ...]:
        """Marginals whose cells are counted."""
        return self.row_maps

    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the mechanism."""
        return {"kind": "histograms", "id": LAPLACE_CELLS}

    def run(self, counts: MarginalCounts, noise: Noise) -> EstimatorOutput:
        """Rows of each cell of each marginal, with noise."""
        noisy = (
            release_cells(counts[each], self.each, noise, self.parts) for each in self.row_maps
        )
        return EstimatorOutput(tuple(number for cells in noisy for number in cells))

    def of_each(self, numbers: Sequence[int]) -> list[Sequence[int]]:
        """Released numbers of each marginal."""
        ends = [0, *accumulate(each.size for each in self.row_maps)]
        return [numbers[start:end] for start, end in pairwise(ends)]

    def _key_facts(self) -> Any:  # noqa: ANN401 - JSON values
        return [each.facts() for each in self.row_maps]


@dataclass(frozen=True, eq=False, kw_only=True)
class UnchosenCells(CellsMeasurement):
    """Measurement of the cells of a marginal that is not chosen yet; it is only quoted."""

    @cached_property
    def cache_key(self) -> str:
        """Cache key that differs from the key of every drawn measurement."""
        return digest({"unchosen": self.name, "epsilon": self.epsilon})

    def run(self, counts: MarginalCounts, noise: Noise) -> EstimatorOutput:
        """Raise TypeError: there is nothing to draw."""
        del counts, noise
        raise TypeError(self.name)


def _maps_of(maps: RowMaps) -> tuple[RowMap, ...]:
    return maps if isinstance(maps, tuple) else (maps,)


def _counts(counts: MarginalCounts, maps: RowMaps) -> Any:  # noqa: ANN401 - an array, or a list
    return [counts[each] for each in maps] if isinstance(maps, tuple) else counts[maps]


def _facts(maps: RowMaps) -> Any:  # noqa: ANN401 - JSON values
    return [each.facts() for each in maps] if isinstance(maps, tuple) else maps.facts()
