"""Ranking of copies by overall quality: one release, and results computed from the release."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from pqd.deciders.distances.estimates import DistanceEstimates, holm, mean_half_width
from pqd.deciders.distances.relations import USUAL_BAR
from pqd.deciders.distances.statistics import Distance, TotalVariation
from pqd.deciders.distances.vector import CubeVector
from pqd.deciders.exact import Number, positive
from pqd.deciders.names import suggestion
from pqd.deciders.note import Note
from pqd.deciders.options import option
from pqd.engine.marginals import RowMap
from pqd.engine.scan_plan import rows_per_person
from pqd.errors import ParameterError
from pqd.marginals.bound_distances import mean_distance
from pqd.marginals.bound_profile import BoundMarginal, BoundProfile, mean_weights
from pqd.marginals.chance import CopyChance
from pqd.marginals.figures import quality_of
from pqd.marginals.measurements import DistancesMeasurement, RelationsMeasurement
from pqd.marginals.profile_parameters import ProfileParameters, ProfileRequest
from pqd.marginals.profile_plan import RELATIONS_SHARE
from pqd.marginals.relations import (
    CopyRelations,
    copies_estimates,
    independence_notes,
    relations_facts,
    relations_measurement,
)
from pqd.reports.models.figure import Figure
from pqd.reports.models.profile import Alarm, Score
from pqd.reports.models.ranking import RankedCopy, RankedMarginal
from pqd.reports.models.relations import RelationsFacts
from pqd.run.measurement import MeasurementSet
from pqd.stated.column_facts import StatedColumns

if TYPE_CHECKING:
    Distances = tuple[tuple[RowMap | tuple[RowMap, ...], Distance], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingParameters:
    """Parameters of a ranking; all of them are public.

    Attributes
    ----------
    request
        Marginals and their cells.
    total_epsilon
        Budget of the whole run.
    alpha
        Error probability that the caller accepts.
    marginals
        Whether the distance of each marginal is measured; these distances then share the budget.
    copy_epsilon
        The epsilon under which a copy was made, by the name of the copy, where the caller states
        it.  A copy that is very near is then no error but a note.
    warnings
        Warnings of parameters that are allowed, but are often a mistake.
    bar
        The share of the relations that a copy must keep.
    """

    request: ProfileRequest
    total_epsilon: Fraction
    alpha: Fraction
    marginals: bool
    copy_epsilon: Mapping[str, Fraction] = field(default_factory=dict)
    warnings: tuple[Note, ...] = ()
    bar: Fraction = USUAL_BAR

    @classmethod
    def parse(  # noqa: PLR0913 - the facts of a ranking
        cls,
        *,
        total_epsilon: Number,
        alpha: Number = "0.05",
        ways: Number = 2,
        columns: Sequence[str] | None = None,
        cells: Mapping[str, Any] | None = None,
        marginals: bool = False,
        copy_epsilon: Mapping[str, Number] | None = None,
        facts: StatedColumns | None = None,
        private_rows: Number | None = None,
        cells_from: object | None = None,
        relations: Number = USUAL_BAR,
    ) -> RankingParameters:
        """Parameters that a caller states; ParameterError names the mistake and allowed values."""
        profile = ProfileParameters.parse(
            total_epsilon=total_epsilon,
            ways=ways,
            columns=columns,
            cells=cells,
            distances=("tv",),
            alpha=alpha,
            facts=facts,
            private_rows=private_rows,
            cells_from=cells_from,
            relations=relations,
        )
        return cls(
            request=profile.request,
            total_epsilon=profile.total_epsilon,
            alpha=profile.alpha,
            marginals=marginals,
            copy_epsilon=_copy_epsilon({} if copy_epsilon is None else copy_epsilon),
            warnings=tuple(profile.warnings()),
            bar=profile.bar,
        )

    def check(self, copies: Collection[str]) -> None:
        """Raise ParameterError if an epsilon is stated for none of the ``copies``."""
        for name in self.copy_epsilon:
            if name not in copies:
                raise ParameterError(
                    f"{option('--copy-epsilon')} names {name!r}; {suggestion(name, copies)}"
                )


def _copy_epsilon(stated: Mapping[str, Number]) -> dict[str, Fraction]:
    """Epsilon of each copy; ParameterError unless each is above 0."""
    if not isinstance(stated, Mapping):
        raise ParameterError(
            f"the epsilon of a copy is by its name, such as {option('--copy-epsilon boot=1')}"
        )
    return {str(name): positive(value, option("--copy-epsilon")) for name, value in stated.items()}


# Without slots, since ``cached_property`` needs a ``__dict__``.
@dataclass(frozen=True, eq=False, kw_only=True)
class RankingPlan:
    """Planned ranking: its measurements, and the weights that turn distances into qualities.

    Attributes
    ----------
    profiles
        The marginals of each copy, as ``pqd profile`` binds them.
    names
        The names of the copies, in the order of their tables.
    measurement
        The number of rows, with either the mean distance or all distances of each copy.
    each
        Whether the measurement has all distances.
    pairs
        The relations of each copy, which may have no pairs.
    relations
        The measurement of the relations of all copies that have pairs; None if no copy has.
    bar
        The share of the relations that a copy must keep.
    copy_epsilon
        The epsilon under which a copy was made, by its name, where it is stated.
    """

    profiles: tuple[BoundProfile, ...]
    names: tuple[str, ...]
    measurement: DistancesMeasurement
    each: bool
    pairs: tuple[CopyRelations, ...]
    relations: RelationsMeasurement | None
    bar: Fraction
    copy_epsilon: Mapping[str, Fraction] = field(default_factory=dict)

    @property
    def measurements(self) -> MeasurementSet:
        """Set of the one or two measurements."""
        every = [self.measurement, *([self.relations] if self.relations else [])]
        return self.profiles[0].measurement_set(every)

    def weights(self, copy: int, ways: int | None = None) -> tuple[Fraction, ...]:
        """Weight of each measured number in a copy's mean distance.

        With ``ways`` the mean is over the marginals of ``ways`` columns; this needs a measurement
        of all distances.
        """
        nothing = Fraction(0)
        if not self.each:
            return tuple(Fraction(other == copy) for other in range(len(self.names)))
        return tuple(
            weight if other == copy else nothing
            for other, profile in enumerate(self.profiles)
            for weight in mean_weights(profile.marginals, ways)
        )

    def places(self, copy: int) -> range:
        """Places of a copy's distances among the measured numbers, if all are measured."""
        sizes = [len(profile.marginals) for profile in self.profiles]
        return range(sum(sizes[:copy]), sum(sizes[: copy + 1]))


def plan_ranking(
    profiles: Sequence[BoundProfile], names: Sequence[str], parameters: RankingParameters
) -> RankingPlan:
    """Plan of a ranking of the copies whose ``profiles`` are given, each with cells of its own.

    Guarantee: one row moves each distance by at most 1, whatever the cells are.  So it moves the
    mean of each copy by at most 1, and the vector of all means has the law of ``CubeVector``.  If
    any copy has pairs, a tenth of the budget pays for the relations of all copies (Theorem D12).

    A person with k rows changes each number by up to k, so the epsilon for one row is the budget
    divided by k.
    """
    pairs = tuple(map(CopyRelations, profiles))
    found = (independence_notes(pair, name) for pair, name in zip(pairs, names, strict=True))
    notes = (*profiles[0].notes, *(each for own in found for each in own))
    bound, *_ = profiles = [replace(profile, notes=notes) for profile in profiles]
    per_row = parameters.total_epsilon / rows_per_person(bound.unit)
    relations = relations_measurement(bound, pairs, per_row * RELATIONS_SHARE)
    distances: Distances
    if parameters.marginals:
        distances = tuple(pair for profile in profiles for pair in _each(profile.marginals))
    else:
        distances = tuple(mean_distance(profile.marginals) for profile in profiles)
    measurement = DistancesMeasurement(
        kinds=bound.kinds,
        unit=bound.unit,
        epsilon=per_row if relations is None else per_row * (1 - RELATIONS_SHARE),
        name=f"ranking of {len(names)} {'copy' if len(names) == 1 else 'copies'}",
        distances=distances,
        mechanism=CubeVector(len(distances)),
    )
    return RankingPlan(
        profiles=tuple(profiles),
        names=tuple(names),
        measurement=measurement,
        each=parameters.marginals,
        pairs=pairs,
        relations=relations,
        bar=parameters.bar,
        copy_epsilon=parameters.copy_epsilon,
    )


def _each(marginals: Sequence[BoundMarginal]) -> Distances:
    return tuple((each.marginal, TotalVariation(each.weights)) for each in marginals)


class Ranking:
    """Ranking that is computed from the released numbers by post-processing."""

    def __init__(
        self,
        plan: RankingPlan,
        released: Sequence[int],
        alpha: Fraction,
        relations: Sequence[int] = (),
    ) -> None:
        """Store the released numbers, those of ``relations`` too, and compute nothing yet."""
        self._plan, self._profiles, self._alpha = plan, plan.profiles, float(alpha)
        self._kept, self._level = relations, alpha
        law = plan.measurement.law
        self._estimates = DistanceEstimates(tuple(released), law, self._alpha)

    @cached_property
    def rows(self) -> Figure:
        """Number of private rows."""
        return Figure(*map(float, self._estimates.rows))

    @cached_property
    def better(self) -> tuple[tuple[int, int], ...]:
        """Pairs (better, worse) of copies; with probability 1 - alpha all pairs are right."""
        pairs = list(permutations(range(len(self._plan.names)), 2))
        weights = [self._plan.weights(copy) for copy in range(len(self._plan.names))]
        p_values = [self._estimates.difference(weights[a], weights[b]).p_value for a, b in pairs]
        adjusted = holm(p_values)
        return tuple(pair for pair, p in zip(pairs, adjusted, strict=True) if p <= self._alpha)

    @cached_property
    def _scores(self) -> tuple[Score, ...]:
        return tuple(self._score(copy) for copy in range(len(self._plan.names)))

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Places of the copies, the best first."""
        places = range(len(self._plan.names))
        return tuple(sorted(places, key=lambda copy: -(self._scores[copy].value or 0.0)))

    def copies(self, files: Mapping[str, str]) -> tuple[RankedCopy, ...]:
        """Copies, the best first, each with the range of its possible ranks."""
        number = len(self._plan.names)
        return tuple(
            RankedCopy(
                candidate=self._plan.names[copy],
                file=files[self._plan.names[copy]],
                overall=self._scores[copy],
                relations=self._relations[copy],
                best_rank=1 + sum(worse == copy for _, worse in self.better),
                worst_rank=number - sum(better == copy for better, _ in self.better),
                scores=tuple(self._score(copy, ways) for ways in self._sizes),
                alarm=self._alarm(copy),
                columns=self._profiles[copy].columns,
                flaws=self._profiles[copy].flaws,
            )
            for copy in self.order
        )

    @cached_property
    def _relations(self) -> tuple[RelationsFacts | None, ...]:
        """Relations kept by each copy; None for a copy without pairs, or without a release."""
        measurement, bar = self._plan.relations, self._plan.bar
        if measurement is None or not self._kept:
            return tuple(None for _ in self._plan.names)
        estimates = iter(copies_estimates(self._kept, measurement, self._level))
        every = zip(self._plan.pairs, self._chances, strict=True)
        return tuple(
            relations_facts(copy, measurement, bar, self._level, chance, next(estimates))
            if copy.pairs
            else None
            for copy, chance in every
        )

    def _alarm(self, copy: int) -> Alarm:
        """Alarm of a copy; an error becomes a note if the copy's own epsilon is stated."""
        stated = self._plan.copy_epsilon.get(self._plan.names[copy])
        return self._chances[copy].alarm(self._scores[copy], self._alpha, stated)

    def marginals(self) -> tuple[RankedMarginal, ...]:
        """Distances of each marginal for each copy, the largest first; empty if not measured."""
        if not self._plan.each:
            return ()
        known: dict[tuple[str, ...], dict[int, Figure]] = {}
        for copy, profile in enumerate(self._profiles):
            for place, each in zip(self._plan.places(copy), profile.marginals, strict=True):
                known.setdefault(each.columns, {})[copy] = self._distance(place)
        rows = [
            RankedMarginal(columns=columns, estimates=tuple(map(figures.get, self.order)))
            for columns, figures in known.items()
        ]
        return tuple(sorted(rows, key=lambda each: -each.worst))

    @cached_property
    def _sizes(self) -> list[int]:
        """Numbers of columns whose scores are known apart, in ascending order."""
        if not self._plan.each:
            return []
        return sorted({each.ways for bound in self._profiles for each in bound.marginals})

    def _parts(self, copy: int, ways: int | None) -> list[tuple[Fraction, ...]]:
        """Weights of the means whose average is the mean distance over marginals of ``ways``.

        If all distances are measured, the mean over all marginals is the mean of the means of
        columns, pairs and triples.
        """
        sizes: list[int | None] = [*self._sizes] if ways is None else [ways]
        sizes = sizes or [None]
        return [self._plan.weights(copy, size) for size in sizes]

    @cached_property
    def _simultaneous(self) -> DistanceEstimates:
        """Estimates whose intervals of all scores of all copies hold at once (Bonferroni)."""
        number = len(self._plan.names) * (1 + len(self._sizes))
        return replace(self._estimates, alpha=self._alpha / number)

    @cached_property
    def _marks(self) -> tuple[dict[int | None, float], ...]:
        """Mean distance that chance does not exceed, for each copy by the ways of its scores.

        They hold for all scores of all copies at once, each copy at its part of alpha.
        """
        scores: list[int | None] = [None, *self._sizes]
        alpha = self._alpha / (2 * len(self._plan.names))
        marks = []
        for bound, chance in zip(self._profiles, self._chances, strict=True):
            own = [[*map(float, mean_weights(bound.marginals, ways))] for ways in scores]
            at_once = chance.independent.at_once(alpha, np.array(own).T)
            marks.append(dict(zip(scores, at_once.tolist(), strict=True)))
        return tuple(marks)

    @cached_property
    def _chances(self) -> tuple[CopyChance, ...]:
        """Chance for each copy, at the released number of private rows."""
        rows = round(self.rows.value)
        return tuple(CopyChance(profile, rows) for profile in self._profiles)

    def _distance(self, place: int) -> Figure:
        return Figure(*map(float, self._estimates.at_once[place]))

    def _score(self, copy: int, ways: int | None = None) -> Score:
        """Quality of a copy, from all its marginals or from the marginals of ``ways`` columns."""
        parts, mark = self._parts(copy, ways), self._marks[copy].get(ways)
        planned = _planned_score(self._plan, copy, ways, self._chances[copy], self._alpha)
        return replace(
            planned,
            mark=None if mark is None else 1 - mark,
            estimate=quality_of(self._estimates, parts),
            simultaneous=quality_of(self._simultaneous, parts),
        )


def planned_copies(
    plan: RankingPlan, files: Mapping[str, str], rows: int | None, alpha: Fraction
) -> tuple[RankedCopy, ...]:
    """Copies of a plan, in its order, for a private table of ``rows`` rows, else of the copy's."""
    return tuple(
        RankedCopy(
            candidate=name,
            file=files[name],
            overall=_planned_score(
                plan, copy, None, CopyChance(profile, rows or profile.copy_rows), float(alpha)
            ),
            best_rank=1,
            worst_rank=len(plan.names),
            columns=profile.columns,
            flaws=profile.flaws,
        )
        for copy, (name, profile) in enumerate(zip(plan.names, plan.profiles, strict=True))
    )


def _planned_score(
    plan: RankingPlan, copy: int, ways: int | None, chance: CopyChance, alpha: float
) -> Score:
    """Public part of a score: how sure it is, and that of an independent real sample."""
    own = mean_weights(plan.profiles[copy].marginals, ways)
    pairs = zip(map(float, own), chance.references, strict=True)
    law, copy_rows = plan.measurement.law, plan.profiles[copy].copy_rows
    return Score(
        ways=ways,
        marginals=sum(weight > 0 for weight in own),
        reference=1 - sum(weight * distance for weight, distance in pairs),
        half_width=float(mean_half_width(law, plan.weights(copy, ways), copy_rows, alpha)),
    )
