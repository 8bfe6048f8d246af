"""Conditions of a gate over a whole table: marginals, values of columns, relations, the alarm."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pqd.deciders.distances.claims import AnyHolds, Claim, DistanceBelow
from pqd.deciders.distances.relations import Relations, RelationsKept, RelationsNear
from pqd.deciders.distances.value_claims import spare_rows
from pqd.deciders.errors import UnanswerableError
from pqd.deciders.single.inverse_sensitivity import least_margin
from pqd.engine.marginals import EveryRow
from pqd.engine.scan_plan import rows_per_person
from pqd.marginals.bound_distances import mean_distance
from pqd.marginals.bound_profile import BoundMarginal, BoundProfile
from pqd.marginals.chance import CopyChance
from pqd.marginals.measurements import CellsMeasurement, ClaimMeasurement, RowMaps
from pqd.marginals.relations import excess_by_chance, relations_of
from pqd.marginals.table_claims import (
    NamedClaim,
    NotJudged,
    TableClaims,
    column_claims,
    table_claims,
)
from pqd.planning.gate import GateInput
from pqd.run.gate import ROWS_SHARE
from pqd.sql.schema import fold_case

# Names of requirements, and of conditions about the whole table.
WITHIN, THRICE, OTHERS = "within", "three times", ""
RELATIONS, ALARM = "relations", "alarm"
# Of the marginals so many may be beyond their tolerance.
MISSES = Fraction(1, 20)
# Share of the relations that must be kept, unless the pairs are nearly as near as their columns:
# within what chance explains (so many deviations), and this much more.
KEPT, NEAR, DEVIATIONS = Fraction(1, 2), Fraction(1, 200), 3.5
# Where chance and noise explain so much of the pairs, relations are not judged.
MOST_NEAR = Fraction(3, 20)
# Rows of a copy from which on the relation of each pair is judged by itself.
LEAST_ROWS = 1_000
# A gate that judges a smaller share of the marginals is refused.
LEAST_JUDGED = Fraction(1, 2)
_PARTS = 10_000


class ColumnConditions(NamedTuple):
    """Conditions on the values of one ``column`` of the copy, and what is not judged of them."""

    column: str
    inputs: tuple[GateInput, ...]
    left_out: tuple[NotJudged, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class TableGate:
    """Gate over a whole table, for one copy and a number of private rows; all of it public.

    Attributes
    ----------
    bound
        The marginals with the copy's counts.
    rows
        The number of private rows, stated or released.
    tau
        The tolerance of each distance, before chance and noise are added.
    epsilon
        The budget of the one margin, for a person.
    alpha
        The level of the alarm.
    is_private_copy
        Whether the copy was made under differential privacy, so that there is no alarm.
    rows_epsilon
        The budget of the number of private rows, for a person; None if it is stated.
    """

    bound: BoundProfile
    rows: int
    tau: Fraction
    epsilon: Fraction
    alpha: Fraction
    is_private_copy: bool = False
    rows_epsilon: Fraction | None = None

    @cached_property
    def claims(self) -> TableClaims:
        """Claims about the marginals and about the values of the columns."""
        return table_claims(self.bound, self.rows, self.tau, self._per_row, off=self._off)

    def of_column(self, column: str) -> ColumnConditions:
        """Conditions on the values of one column, the same that are among ``inputs``.

        Raises
        ------
        UnanswerableError
            If the values of the column are not judged; the message gives the reason.
        """
        names = {fold_case(each.name): each.name for each in self.bound.columns}
        name = names.get(fold_case(column), column)
        claims = column_claims(self.bound, name, self.rows, self.tau, self._per_row, off=self._off)
        if not claims.columns:
            raise UnanswerableError(f"the values of {column} cannot be judged: {self._why(name)}")
        inputs = tuple(self._input(each, OTHERS) for each in claims.columns)
        return ColumnConditions(name, inputs, claims.left_out)

    def _why(self, column: str) -> str:
        """Why the values of a column are not judged."""
        reasons = [(each.columns, each.reason) for each in self.bound.left_out]
        reasons += [(each.columns, each.reason) for each in self.claims.left_out]
        own = [why for names, why in reasons if [*map(fold_case, names)] == [fold_case(column)]]
        return next(iter(own), "the copy has no such column")

    @property
    def _per_row(self) -> Fraction:
        """Budget for one row: a margin in persons is as sharp as one in rows at this budget."""
        return self._of_row(self.epsilon)

    def _of_row(self, epsilon: Fraction) -> Fraction:
        return epsilon / rows_per_person(self.bound.unit)

    @property
    def _off(self) -> int:
        """Rows by which a released number of rows is off in one run of twenty at most."""
        if self.rows_epsilon is None:
            return 0
        return least_margin(self._of_row(self.rows_epsilon), Fraction(1, 40))

    @property
    def misses(self) -> Mapping[str, int]:
        """Number of conditions that need not hold, by requirement."""
        return {WITHIN: math.floor(MISSES * len(self.claims.within))}

    @property
    def judged(self) -> Fraction:
        """Share of the marginals that are judged."""
        return Fraction(len(self.claims.within), len(self.bound.marginals))

    @cached_property
    def inputs(self) -> tuple[GateInput, ...]:
        """All conditions; none if too little is judged, so that nothing is shown."""
        if self.judged < LEAST_JUDGED:
            return ()
        inputs = [self._input(each, WITHIN) for each in self.claims.within]
        inputs += [self._input(each, THRICE) for each in self.claims.thrice]
        inputs += [self._input(each, OTHERS) for each in self.claims.columns]
        inputs += self._kept_pairs
        if self._relations:
            inputs.append(self._whole(RELATIONS, *self._relations))
        if self._alarm:
            inputs.append(self._whole(ALARM, *self._alarm, expected=False))
        return tuple(inputs)

    @cached_property
    def left_out(self) -> tuple[NotJudged, ...]:
        """What is not judged, with the reasons."""
        left_out = list(self.claims.left_out)
        chance = "chance and noise alone would explain it"
        if self._pairs and not self._relations:
            left_out.append(NotJudged(RELATIONS, (), chance))
        if not self._alarm and not self.is_private_copy:
            left_out.append(NotJudged(ALARM, (), chance))
        return tuple(left_out)

    def _input(self, claim: NamedClaim, requirement: str) -> GateInput:
        measurement = self._measurement(claim.name, claim.row_map, claim.claim)
        return GateInput(self.bound, claim.name, measurement, requirement=requirement)

    def _whole(
        self, name: str, row_maps: RowMaps, claim: Claim, *, expected: bool = True
    ) -> GateInput:
        return GateInput(self.bound, name, self._measurement(name, row_maps, claim), expected)

    def _measurement(self, name: str, row_maps: RowMaps, claim: Claim) -> ClaimMeasurement:
        return ClaimMeasurement(
            kinds=self.bound.kinds,
            unit=self.bound.unit,
            epsilon=self._per_row,
            name=name,
            row_maps=row_maps,
            claim=claim,
            stated_rows=self.rows,
        )

    @cached_property
    def _pairs(self) -> tuple[BoundMarginal, ...]:
        return tuple(each for each in self.bound.marginals if each.ways == 2)

    @cached_property
    def _chance(self) -> CopyChance:
        return CopyChance(self.bound, self.rows)

    @cached_property
    def _relations(self) -> tuple[RowMaps, Claim] | None:
        """Claim that more than half of the relations are kept, or that hardly anything is lost.

        The second part holds for an honest copy of a table without relations.
        """
        pairs = self._pairs
        if not pairs:
            return None
        tau = self._excess_by_chance + NEAR + self._spare
        if tau > MOST_NEAR:
            return None
        claim = AnyHolds((RelationsKept(self._scores, KEPT), RelationsNear(self._scores, tau)))
        return tuple(each.marginal for each in pairs), claim

    @property
    def _kept_pairs(self) -> Iterator[GateInput]:
        """Claims about pairs: half of the relation is kept, or what is lost is within tolerance.

        A pair that lost its relation may be within three tolerances.  In a small copy the chance of
        a single pair is not known well enough.
        """
        if self.bound.copy_rows < LEAST_ROWS * rows_per_person(self.bound.unit):
            return
        for pair, excess in zip(self._pairs, self._pairs_by_chance[0], strict=True):
            own = relations_of([pair])
            by_chance = _seldom_exceeded(excess) + self._spare
            if by_chance <= MOST_NEAR:
                near = RelationsNear(own, self.tau + by_chance)
                claim = AnyHolds((RelationsKept(own, KEPT), near))
                yield self._whole(_relation(pair.columns), (pair.marginal,), claim)

    @property
    def keeps_relations(self) -> bool:
        """Whether an independent sample is found to keep more than half of the relations.

        Its pairs are about as far from the product of the copy's columns as the copy's own are.
        """
        return self.relations_epsilon((self.epsilon,)) is not None

    def relations_epsilon(self, choices: Sequence[Fraction]) -> Fraction | None:
        """First of several budgets at which ``keeps_relations`` would be true; None if none is."""
        if not self._pairs:
            return None
        columns = Fraction(float(self._by_chance[1].mean()))
        room = (1 - KEPT) * (self._scores.own_product - columns) - self._excess_by_chance
        return next((each for each in choices if room >= self._spare_of(each)), None)

    @cached_property
    def _scores(self) -> Relations:
        return relations_of(self._pairs)

    @property
    def _spare(self) -> Fraction:
        """Share of the rows by which noise moves a claim about relations."""
        return self._spare_of(self.epsilon)

    def _spare_of(self, epsilon: Fraction) -> Fraction:
        """The same share at another budget."""
        return Fraction(2 * spare_rows(self._of_row(epsilon)), self.rows)

    @cached_property
    def _excess_by_chance(self) -> Fraction:
        """Mean excess of the pairs over their columns that independent samples seldom exceed."""
        return _seldom_exceeded(self._by_chance[0])

    @cached_property
    def _by_chance(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Means over the pairs of ``_pairs_by_chance``."""
        excess, columns = self._pairs_by_chance
        return excess.mean(axis=0), columns.mean(axis=0)

    @cached_property
    def _pairs_by_chance(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Excess of each pair over its columns, and the distance of these: (pairs, samples)."""
        return excess_by_chance(self.bound, self._pairs, self._chance)

    @cached_property
    def _alarm(self) -> tuple[RowMaps, Claim] | None:
        """Claim that the copy is nearer than rows drawn from the private table itself.

        None if there is no such mark, or if an independent sample is too little farther than it.
        """
        if self.is_private_copy or self.alarm_epsilon((self.epsilon,)) is None:
            return None
        row_maps, mean = mean_distance(self.bound.marginals)
        return row_maps, DistanceBelow(mean, self._mark)

    def alarm_epsilon(self, choices: Sequence[Fraction]) -> Fraction | None:
        """First of several budgets at which an independent sample raises no alarm; None if none.

        A mark of 0 is none.
        """
        if not self._mark:
            return None
        _, mean = mean_distance(self.bound.marginals)
        weights = np.array([float(weight) for weight, _ in mean.parts])
        distances = (self._chance.independent.means + self._chance.independent.deviations) @ weights
        least = float(distances.mean() - DEVIATIONS * distances.std())
        room, least_room = (least - float(self._mark)) * self.rows, 1 + float(self._mark)
        spare = ((each, spare_rows(self._of_row(each))) for each in choices)
        return next((each for each, rows in spare if room >= least_room * rows), None)

    @cached_property
    def _mark(self) -> Fraction:
        """Distance that rows drawn from the private table itself seldom undercut."""
        return self._chance.nearest_drawn(self.alpha)


def _relation(columns: Sequence[str]) -> str:
    """Name of the condition that the relation of a pair is kept."""
    return f"{' by '.join(columns)}: relation"


def _seldom_exceeded(excess: NDArray[np.float64]) -> Fraction:
    """Share of the rows that the excess of independent samples seldom exceeds, at least 0."""
    mark = float(excess.mean() + DEVIATIONS * excess.std())
    return Fraction(math.ceil(max(0.0, mark) * _PARTS), _PARTS)


def rows_measurement(bound: BoundProfile, epsilon: Fraction) -> CellsMeasurement:
    """Measurement of the number of private rows, for ``ROWS_SHARE`` of a gate's ``epsilon``."""
    return CellsMeasurement(
        kinds=bound.kinds,
        unit=bound.unit,
        epsilon=ROWS_SHARE * epsilon / rows_per_person(bound.unit),
        name="number of rows",
        marginal=EveryRow(bound.partitions[:1]),
    )
