"""Planned comparison: one estimate per query, compared with the answers of all candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from pqd.accounting.cache_keys import parameters_of
from pqd.deciders import Histogram, Interval, answer
from pqd.deciders.estimators import Estimator, EstimatorOutput, ExponentialQuantile
from pqd.deciders.histogram import HALF
from pqd.deciders.note import Note, note
from pqd.deciders.single.split_margins import SplitMargins
from pqd.engine.cut_points import ORDERED, fineness
from pqd.errors import DeciderError
from pqd.parameters import Parameters
from pqd.planning.bound_workload import BoundQuery, BoundWorkload
from pqd.planning.choose_estimator import EstimatorChoice, choose_estimator
from pqd.planning.lattices import (
    lattice_of,
    on_cut_points,
    synthetic_answer,
    tolerances,
    with_wider_lattice,
)
from pqd.reports.models.compare import EstimatorFacts
from pqd.run.measurement import MeasurementSet, QueryMeasurement, law_of_rows
from pqd.sql.query import Query
from pqd.stated.budgets import AUTO

if TYPE_CHECKING:
    from pqd.deciders import Noise
    from pqd.deciders.distances.noise_laws import NoiseLaw


@dataclass(frozen=True, kw_only=True)
class EstimatorMeasurement(QueryMeasurement[EstimatorOutput]):
    """Measurement of one query by an estimator that serves every candidate.

    ``finer`` units of the estimator are one unit of the lattice.
    """

    estimator: Estimator | SplitMargins
    finer: int = 1
    kind = "release"

    @property
    def is_constant(self) -> bool:
        """Whether the verdict on each candidate is the same for every private table."""
        return isinstance(self.estimator, SplitMargins) and not self.estimator.intervals

    @property
    def rows_law(self) -> NoiseLaw | None:
        """Law of the noise of the answer, if it is the number of private rows."""
        return law_of_rows(self.query, self.estimator, self.epsilon)

    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the estimator."""
        return {"kind": self.kind, **parameters_of(self.estimator)}

    def run(self, counts: Histogram, noise: Noise) -> EstimatorOutput:
        """Output of the estimator."""
        counts = _finer(counts, self.finer)
        if not isinstance(self.estimator, SplitMargins):
            counts = counts.in_parts(1)
        return self.estimator.release(counts, self.drawn_epsilon, noise)

    @property
    def drawn_epsilon(self) -> Fraction:
        """Budget of the estimator: for each row, or for each part of a row.

        A person changes ``rows`` times ``parts`` parts of rows, so the estimate costs the same
        (group privacy).  A margin is one of rows in any case.
        """
        return self.epsilon / (1 if isinstance(self.estimator, SplitMargins) else self.parts)


@dataclass(frozen=True)
class PlannedComparison:
    """Plan of the comparison on one query; everything in it is public.

    ``answers``, ``taus`` and ``intervals`` have one item per candidate.  Answers and taus are in
    the query's unit; intervals are in units of ``scale``.  A candidate without an answer has no
    interval, since it cannot be within its tolerance.
    """

    query: Query
    parameters: Parameters
    scale: Fraction
    answers: tuple[Fraction | None, ...]
    taus: tuple[Fraction, ...]
    intervals: tuple[Interval | None, ...]
    errors: tuple[float, ...]
    facts: tuple[EstimatorFacts, ...]
    taken: str
    reason: Note
    tau_min: float | None
    measurement: EstimatorMeasurement

    @property
    def decidable(self) -> bool:
        """Whether the query can be decided on some candidate at this epsilon, from public data.

        The estimator errs with at most alpha on a candidate's stand-ins, or the candidate has no
        answer and is outside whatever the private table holds.
        """
        return min(self.errors) <= self.parameters.alpha

    def ends(self, bounds: tuple[Fraction | None, Fraction | None]) -> tuple[Fraction | None, ...]:
        """Ends that enclose the answer; if there are cut points, each end moves outwards to one."""
        measure = self.measurement.statistic.measure
        if measure is None or measure.cut_points is None:
            return bounds
        return tuple(end and end / self.scale for end in measure.cut_points.reached(*bounds))


@dataclass(frozen=True, slots=True)
class ComparisonPlan:
    """Comparisons on all queries of one run."""

    bound: BoundWorkload
    comparisons: tuple[PlannedComparison, ...]

    @property
    def measurements(self) -> MeasurementSet:
        """Measurements of the run: one estimate per query."""
        return self.bound.measurement_set([each.measurement for each in self.comparisons])


def select_estimators(bound: BoundWorkload) -> ComparisonPlan:
    """Plan of a comparison for every query."""
    return ComparisonPlan(*bound.select(planned_comparison))


def with_fit_note(plan: ComparisonPlan, estimator: str) -> ComparisonPlan:
    """Plan with a warning that names the queries that the stated ``estimator`` does not fit.

    Raises
    ------
    DeciderError
        If the estimator fits no query.
    """
    every = plan.comparisons
    others = [each for each in every if each.taken != estimator]
    if estimator == AUTO or not others:
        return plan
    if len(others) == len(every):
        fitting = dict.fromkeys(facts.estimator for each in every for facts in each.facts)
        raise DeciderError(
            f"estimator {estimator} fits no query; use {AUTO} or {', '.join(fitting)}"
        )
    names = dict.fromkeys(each.query.block or each.query.id or "" for each in others)
    unfit = note("estimator-unfit", estimator=estimator, queries=tuple(names))
    return replace(plan, bound=replace(plan.bound, notes=(*plan.bound.notes, unfit)))


def planned_comparison(bound: BoundQuery) -> PlannedComparison:
    """Plan of the comparison on one query, given the histogram of each candidate.

    Raises
    ------
    PqdError
        If no candidate has an answer, or no estimator fits.
    """
    query, parameters, synthetic = bound.query, bound.parameters, bound.synthetic
    scale = lattice_of(query, bound.statistic)[1]
    centres = [answer(query.aggregate, histogram, query.p or HALF) for histogram in synthetic]
    pairs = tolerances(query, parameters.tolerance, bound.statistic, synthetic, bound.rows)
    taus = tuple(pair[0] if pair else Fraction(0) for pair in pairs)
    intervals = tuple(pair and pair[1] for pair in pairs)
    if not any(intervals):
        # Raise the same error as an audit of the first candidate.
        synthetic_answer(query, synthetic[0])
    answers = tuple(None if centre is None else centre * scale for centre in centres)
    statistic = with_wider_lattice(query, bound.statistic, _present(intervals))
    lattice, times = lattice_of(query, statistic)[0], 1
    if query.aggregate in ORDERED:
        # Choose a unit so fine that each end of each interval has a cut of its own.
        times = fineness(lattice, _present(intervals))
        intervals = tuple(
            interval and Interval(interval.lower * times, interval.upper * times)
            for interval in intervals
        )
        synthetic = tuple(_finer(histogram, times) for histogram in synthetic)
        scale /= times
    choice = EstimatorChoice(
        query,
        parameters,
        lattice,
        intervals,
        tuple(histogram.in_rows for histogram in synthetic),
        times,
        synthetic[0].row_parts,
    )
    options = choice.options(centres)
    option, reason = choose_estimator(options, parameters, len(synthetic))
    if query.aggregate in ORDERED and not isinstance(option.estimator, ExponentialQuantile):
        statistic, times = on_cut_points(statistic, _present(intervals), scale), 1
    return PlannedComparison(
        query=query,
        parameters=parameters,
        scale=scale,
        answers=answers,
        taus=taus,
        intervals=intervals,
        errors=option.errors,
        facts=tuple(EstimatorFacts(o.name, o.worst, o.exact) for o in options),
        taken=option.name,
        reason=reason,
        tau_min=option.threshold() * float(scale),
        measurement=EstimatorMeasurement(
            query=query,
            statistic=statistic,
            kinds=bound.kinds,
            unit=bound.unit,
            epsilon=parameters.epsilon,
            estimator=option.estimator,
            finer=times,
        ),
    )


def _present(intervals: Sequence[Interval | None]) -> list[Interval]:
    return [interval for interval in intervals if interval]


def _finer(histogram: Histogram, times: int) -> Histogram:
    """Histogram in finer units: ``times`` finer units are one old unit."""
    if times == 1:
        return histogram
    return Histogram(histogram.values * times, histogram.counts).in_parts(histogram.row_parts)
