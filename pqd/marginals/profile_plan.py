"""Plan of a profile: its measurements, and the choice of marginals whose cells are measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

from pqd.accounting.zcdp import rho_of
from pqd.deciders.distances.estimates import DistanceEstimates
from pqd.deciders.distances.statistics import Distance
from pqd.deciders.distances.vector import CubeVector, GaussianVector, VectorLaw
from pqd.deciders.estimators import EstimatorOutput
from pqd.engine.marginals import RowMap
from pqd.engine.scan_plan import PrivacyUnit, rows_per_person
from pqd.marginals.bound_distances import DISTANCES
from pqd.marginals.bound_profile import BoundMarginal, BoundProfile
from pqd.marginals.chance import CopyChance
from pqd.marginals.measurements import (
    CellsMeasurement,
    DistancesMeasurement,
    HistogramsMeasurement,
    MarginalMeasurement,
    RelationsMeasurement,
    UnchosenCells,
    UnseenRows,
)
from pqd.marginals.profile_parameters import ProfileParameters
from pqd.marginals.relations import CopyRelations, relations_measurement
from pqd.marginals.target import TargetPlan, plan_target
from pqd.reports.models.profile import DistanceId
from pqd.run.measurement import MeasurementSet

# Shares of the total epsilon: for the cells of the worst marginals, and for the target.
ZOOM_SHARE, TARGET_SHARE = Fraction(1, 5), Fraction(1, 10)
# Share of the rest for the three scores of relations.  A tenth raises the noise of the distances by
# a ninth and gives each score noise of 18 rows at epsilon 1, so that the interval of what is kept
# is about 75 rows wide to both sides together: 4 % of Adult's 1,750 rows of relations (a half of
# the table), but half the scale at 150 rows of relations (2,000 rows).  At a twentieth it is twice
# as wide, and a table of 2,000 rows could not be judged; a fifth takes a quarter from distances.
RELATIONS_SHARE = Fraction(1, 10)
# Share of the rest for the values of the columns.  A fifth gives each cell of 15 columns noise of
# scale 75 rows at epsilon 1, and raises the noise of the distances by two sevenths; at a tenth no
# lost value of fewer than 1,000 rows would show.
VALUES_SHARE = Fraction(1, 5)


class ProfileShares(NamedTuple):
    """Shares of the total epsilon, for each counted row of a person.

    ``distances`` is the share of the distances together with the number of rows.  ``cells`` is the
    share of each marginal whose cells are measured.  ``target`` is the share of the confusion
    matrix.  ``relations`` is the share of the relations, ``values`` that of the histograms of all
    columns together.  The share of a part that is not measured is None.
    """

    distances: Fraction
    values: Fraction
    cells: Fraction | None
    target: Fraction | None
    relations: Fraction | None

    @classmethod
    def of(
        cls, total: Fraction, unit: PrivacyUnit | None, zoom: int, *, target: bool, relations: bool
    ) -> ProfileShares:
        """Shares: a fifth of ``total`` for cells, a tenth for the target.

        Of the rest a fifth is for the values of the columns, a tenth for relations, and all else
        for distances.  So a later run with a ``zoom`` and a larger total can replay all three.  The
        ``zoom`` marginals divide their fifth equally.  If a person has up to ``max_rows`` rows, a
        measurement costs ``max_rows`` times its epsilon.  So its epsilon is its share of the total,
        divided by ``max_rows``.
        """
        per_row = total / rows_per_person(unit)
        cells = ZOOM_SHARE if zoom else Fraction(0)
        confusion = TARGET_SHARE if target else Fraction(0)
        rest = per_row * (1 - cells - confusion)
        kept = RELATIONS_SHARE if relations else Fraction(0)
        return cls(
            rest * (1 - kept - VALUES_SHARE),
            rest * VALUES_SHARE,
            per_row * cells / zoom if zoom else None,
            per_row * confusion if target else None,
            rest * kept if relations else None,
        )


class Term(NamedTuple):
    """Term of the vector of distances: the kind of the distance, and its marginal."""

    distance: DistanceId
    marginal: BoundMarginal


# Without slots, since ``cached_property`` needs a ``__dict__``.
@dataclass(frozen=True, eq=False, kw_only=True)
class ProfilePlan:
    """Plan of the measurements of a profile; all of it public.

    Attributes
    ----------
    bound
        The marginals with the copy's counts.
    parameters
        The parameters of the caller.
    zoom
        The number of marginals whose cells are measured.
    shares
        The share of each measurement.
    terms
        The distances in the order of the vector; the number of unseen rows follows them.
    distances
        The measurement of the vector.
    histograms
        The measurement of the values of all columns.
    target
        The classifier and the map of rows to its confusion matrix; None without a classifier.
    relations
        The measurement of the relations; None without pairs.
    """

    bound: BoundProfile
    parameters: ProfileParameters
    zoom: int
    shares: ProfileShares
    terms: tuple[Term, ...]
    distances: DistancesMeasurement
    histograms: HistogramsMeasurement
    target: TargetPlan | None
    relations: RelationsMeasurement | None

    @property
    def expected_rows(self) -> int:
        """Number of private rows before it is released: the stated one, or that of the copy."""
        return self.parameters.request.private_rows or self.bound.copy_rows

    @cached_property
    def confusion(self) -> CellsMeasurement | None:
        """Measurement of the target's confusion matrix; None without a target."""
        if self.target is None or self.shares.target is None:
            return None
        name = f"target {self.target.column}"
        return self._cells(name, self.target.marginal, self.shares.target)

    @property
    def first(self) -> tuple[MarginalMeasurement[EstimatorOutput], ...]:
        """Measurements of the first step; the second step measures cells of the worst marginals."""
        every = (self.distances, self.relations, self.histograms, self.confusion)
        return tuple(each for each in every if each is not None)

    @property
    def measurements(self) -> MeasurementSet:
        """Set of the measurements of the first step."""
        return self.bound.measurement_set(self.first)

    @property
    def law(self) -> VectorLaw:
        """Law of the noise of the vector."""
        return self.distances.law

    def estimates(self, released: Sequence[int]) -> DistanceEstimates:
        """Estimates from the released vector."""
        return DistanceEstimates(tuple(released), self.law, float(self.parameters.alpha))

    def cost_of(self, epsilon: Fraction) -> Fraction:
        """Cost for one person of a measurement with ``epsilon`` for each row."""
        return epsilon * rows_per_person(self.bound.unit)

    def worst(self, released: Sequence[int]) -> tuple[BoundMarginal, ...]:
        """Marginals whose cells are measured, chosen by the released distances alone.

        Neither the tolerance nor alpha chooses, so that a replay at others chooses the same.
        What counts of a distance is what an independent real sample would not have on average.
        A marginal's rank is by its distance minus the largest distance of a marginal of fewer of
        its columns.  The reason: the distance of a pair is at least the distance of each of its
        columns.  So a pair may have a large distance only because one column has.
        """
        marginals = self.bound.marginals
        chance = CopyChance(self.bound, released[0])
        shares = zip(released[1:], chance.references, strict=False)
        rows = [own - share * chance.rows for own, share in shares]
        known = {frozenset(each.columns): own for each, own in zip(marginals, rows, strict=True)}

        def excess(place: int) -> float:
            columns = marginals[place].columns
            smaller = (
                known.get(frozenset(part), 0.0)
                for size in range(1, len(columns))
                for part in combinations(columns, size)
            )
            return rows[place] - max(smaller, default=0.0)

        ranked = sorted(range(len(marginals)), key=excess, reverse=True)
        # The cells of a column that the copy lacks would tell nothing.
        known_of = [place for place in ranked if not marginals[place].lacks_column]
        return tuple(marginals[place] for place in known_of[: self.zoom])

    def cells(self, released: Sequence[int]) -> tuple[CellsMeasurement, ...]:
        """Measurements of the cells of the worst marginals; empty without a zoom."""
        if self.shares.cells is None:
            return ()
        return tuple(
            self._cells(f"cells of {' by '.join(each.columns)}", each.marginal, self.shares.cells)
            for each in self.worst(released)
        )

    @property
    def unchosen_cells(self) -> tuple[CellsMeasurement, ...]:
        """Measurements as many and as costly as ``cells``, for a quote before the choice."""
        epsilon = self.shares.cells
        if epsilon is None:
            return ()
        return tuple(
            UnchosenCells(
                kinds=(),
                unit=self.bound.unit,
                epsilon=epsilon,
                name=f"cells {number}",
                marginal=self.bound.unseen,
            )
            for number in range(self.zoom)
        )

    def _cells(self, name: str, marginal: RowMap, epsilon: Fraction) -> CellsMeasurement:
        return CellsMeasurement(
            kinds=self.bound.kinds_of(marginal.columns),
            unit=self.bound.unit,
            epsilon=epsilon,
            name=name,
            marginal=marginal,
        )


def plan_profile(bound: BoundProfile, parameters: ProfileParameters) -> ProfilePlan:
    """Plan of a profile of one copy.

    Raises
    ------
    PqdError
        If no classifier can be trained for the target.
    """
    target = None
    if parameters.target is not None:
        target = plan_target(bound, parameters.target)
    zoom = min(parameters.zoom, sum(not each.lacks_column for each in bound.marginals))
    shares = ProfileShares.of(
        parameters.total_epsilon,
        bound.unit,
        zoom,
        target=target is not None,
        relations=any(each.ways == 2 for each in bound.marginals),
    )
    terms = (
        *(Term("tv", each) for each in bound.marginals),
        *(Term("ks", each) for each in bound.ordered),
        *(Term("emd", each) for each in bound.steps),
    )
    return ProfilePlan(
        bound=bound,
        parameters=parameters,
        zoom=zoom,
        shares=shares,
        terms=terms,
        distances=distances_measurement(bound, terms, shares.distances, parameters.delta),
        histograms=HistogramsMeasurement(
            kinds=bound.kinds,
            unit=bound.unit,
            epsilon=shares.values,
            name=f"values of {_columns_text(bound)}",
            row_maps=tuple(each.histogram.marginal for each in bound.column_values),
        ),
        target=target,
        relations=relations_measurement(bound, [CopyRelations(bound)], shares.relations),
    )


def distances_measurement(
    bound: BoundProfile, terms: Sequence[Term], epsilon: Fraction, delta: Fraction | None
) -> DistancesMeasurement:
    """Measurement of ``terms`` for the copy, and of the number of unseen rows.

    A row is unseen if it has a value that the table of the cells never has.  ``epsilon`` is for
    each row of a person.  With a ``delta`` the noise is Gaussian.
    """
    distances: tuple[tuple[RowMap, Distance], ...] = (
        *((each.marginal, DISTANCES[kind](each.weights)) for kind, each in terms),
        (bound.unseen, UnseenRows()),
    )
    return DistancesMeasurement(
        kinds=bound.kinds,
        unit=bound.unit,
        epsilon=epsilon if delta is None else epsilon * rows_per_person(bound.unit),
        delta=delta,
        name=f"profile of {_columns_text(bound)}",
        distances=distances,
        mechanism=_mechanism(len(terms) + 1, bound.unit, delta),
    )


def _columns_text(bound: BoundProfile) -> str:
    return f"{len(bound.columns):,} column{'' if len(bound.columns) == 1 else 's'}"


def vector_law(
    numbers: int, epsilon: Fraction, unit: PrivacyUnit | None, delta: Fraction | None
) -> VectorLaw:
    """Law of the noise of ``numbers`` distances, at ``epsilon`` for each row of a person."""
    budget = epsilon if delta is None else rho_of(epsilon * rows_per_person(unit), delta)
    return _mechanism(numbers, unit, delta).law(budget)


def _mechanism(
    numbers: int, unit: PrivacyUnit | None, delta: Fraction | None
) -> CubeVector | GaussianVector:
    if delta is None:
        return CubeVector(numbers)
    return GaussianVector(numbers, rows_per_person(unit))
