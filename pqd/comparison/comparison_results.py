"""Results of a comparison: verdicts on each candidate from one estimate, by post-processing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from pqd.comparison.leaderboard import Evidence
from pqd.deciders.estimators import Estimator, EstimatorOutput, inside, outside, within
from pqd.deciders.estimators.base import Span, outcome_p_value, outside_span
from pqd.deciders.numbers import plain
from pqd.deciders.single.base import Decision, estimate_of
from pqd.deciders.single.split_margins import SplitMargins
from pqd.planning.lattices import condition_of
from pqd.planning.planned_comparison import PlannedComparison
from pqd.reports.models.compare import Cell, ComparedQuery
from pqd.reports.models.query import PER_ROW
from pqd.run.execution import Outputs

if TYPE_CHECKING:
    from pqd.deciders import Interval, Noise

# Decision on a candidate that is outside its tolerance for every private table; nothing is drawn.
_NEVER = Decision(outcome=False, p_value=0.0)


def outcome_of(
    comparison: PlannedComparison,
    outputs: Outputs,
    candidates: Sequence[str],
    weight: Fraction,
    noise: Noise,
) -> tuple[ComparedQuery, Evidence]:
    """Query of the report, and its evidence for the leaderboard."""
    released = outputs[comparison.measurement]
    estimator = comparison.measurement.estimator
    estimate = low = high = None
    if isinstance(estimator, SplitMargins):
        epsilon = comparison.parameters.epsilon
        decisions = [
            estimator.decision(released, interval, epsilon) if interval else _NEVER
            for interval in comparison.intervals
        ]
        cells = tuple(
            _cell(comparison, number, name, d.outcome, d.p_value, margin=d.margin)
            for number, (name, d) in enumerate(zip(candidates, decisions, strict=True))
        )
        evidence = _split_evidence(comparison, decisions, weight)
    else:
        outcome = _EstimateOutcome(comparison, estimator, released, candidates)
        cells, evidence = outcome.cells(), outcome.evidence(weight)
        estimate, (low, high) = outcome.estimate, outcome.ends
    compared = _compared_query(comparison, cells, weight, outputs, noise)
    return replace(
        compared,
        estimate=_shown(estimate, comparison.scale),
        low=_shown(low, comparison.scale),
        high=_shown(high, comparison.scale),
    ), evidence


def _compared_query(
    comparison: PlannedComparison,
    cells: tuple[Cell, ...],
    weight: Fraction,
    outputs: Outputs,
    noise: Noise,
) -> ComparedQuery:
    """Query of the report; the estimate is added later."""
    query = comparison.query
    return ComparedQuery(
        id=query.id or "",
        sql=query.sql,
        aggregate=PER_ROW.get(query.written if query.per_row else "", query.aggregate),
        attribute=query.attribute,
        p=None if query.p is None else float(query.p),
        where=query.where,
        weight=plain(weight),
        tolerance=comparison.parameters.tolerance.text,
        estimator=comparison.taken,
        reason=str(comparison.reason),
        estimators=comparison.facts,
        epsilon=comparison.measurement.cost,
        tau_min=comparison.tau_min,
        cells=cells,
        closest=_closest(cells),
        decidable=comparison.decidable,
        block=query.block,
        group=query.group,
        block_sql=query.block_sql,
        counted=comparison.measurement.counted_noun,
        max_rows=comparison.measurement.unit.max_rows if comparison.measurement.unit else None,
        replayed=outputs.replayed(comparison.measurement),
        simulated=noise.simulated,
    )


class _EstimateOutcome:
    """Outcome of one estimate for every candidate."""

    def __init__(
        self,
        comparison: PlannedComparison,
        estimator: Estimator,
        released: EstimatorOutput,
        candidates: Sequence[str],
    ) -> None:
        self._comparison, self._names = comparison, candidates
        self._estimator, self._released = estimator, released
        self._epsilon = comparison.measurement.drawn_epsilon
        alpha = comparison.parameters.alpha
        estimate = estimate_of(estimator, released, self._epsilon, alpha)
        self.estimate = estimate.value
        self.ends = comparison.ends((estimate.low, estimate.high))
        estimated = self._estimator, released
        self._within = [
            within(*estimated, i, self._epsilon) if i else 1.0 for i in comparison.intervals
        ]
        self._outside = [
            outside(*estimated, i, self._epsilon) if i else 0.0 for i in comparison.intervals
        ]

    def cells(self) -> tuple[Cell, ...]:
        return tuple(self._judged(number) for number in range(len(self._names)))

    def _judged(self, number: int) -> Cell:
        comparison = self._comparison
        interval, centre = comparison.intervals[number], comparison.answers[number]
        yes = interval is not None and inside(self._estimator, self._released, interval)
        p_value = 0.0 if interval is None else self._claimed(interval, outcome=yes)
        gaps = [
            None if value is None or centre is None else plain(value * comparison.scale - centre)
            for value in (self.estimate, *self.ends)
        ]
        return _cell(comparison, number, self._names[number], yes, p_value, gaps=gaps)

    def _claimed(self, interval: Interval, *, outcome: bool) -> float | None:
        return outcome_p_value(
            self._estimator, self._released, interval, self._epsilon, outcome=outcome
        )

    def evidence(self, weight: Fraction) -> Evidence:
        return Evidence(weight, tuple(self._within), tuple(self._outside), self._never)

    def _never(self, a: int, b: int) -> float:
        """P-value of the claim: if b's interval contains the answer, a's interval does too."""
        first, second = self._comparison.intervals[a], self._comparison.intervals[b]
        if second is None:
            return 0.0
        if first is None:
            return self._outside[b]
        spans = self._estimator.span(first), self._estimator.span(second)
        return max(
            (
                outside_span(self._estimator, self._released, part, self._epsilon)
                for part in _beyond(*spans)
            ),
            default=0.0,
        )


def _beyond(first: Span, second: Span) -> list[Span]:
    """Parts of ``second`` that lie outside ``first``."""
    (low, high), (start, stop) = first, second
    if high <= start or stop <= low:
        return [second]
    parts = [(start, low), (high, stop)]
    return [(x, y) for x, y in parts if x < y]


def _split_evidence(
    comparison: PlannedComparison, decisions: Sequence[Decision], weight: Fraction
) -> Evidence:
    """Evidence of decisions that were drawn separately, one for each candidate."""
    chances = [1.0 if d.p_value is None else d.p_value for d in decisions]
    claimed_within = [p if d.outcome else 1.0 for d, p in zip(decisions, chances, strict=True)]
    claimed_outside = [1.0 if d.outcome else p for d, p in zip(decisions, chances, strict=True)]

    def never(a: int, b: int) -> float:
        """P-value of the claim that a is within its tolerance or b is outside its tolerance."""
        first, second = comparison.intervals[a], comparison.intervals[b]
        if first and second and first.lower <= second.lower and second.upper <= first.upper:
            return 0.0
        return min(1.0, 2 * min(claimed_within[a], claimed_outside[b]))

    return Evidence(weight, tuple(claimed_within), tuple(claimed_outside), never)


def _cell(
    comparison: PlannedComparison,
    number: int,
    name: str,
    yes: bool,  # noqa: FBT001 - what the cell says
    p_value: float | None,
    *,
    margin: int | None = None,
    gaps: Sequence[int | float | None] = (None, None, None),
) -> Cell:
    interval, centre, scale = (
        comparison.intervals[number],
        comparison.answers[number],
        comparison.scale,
    )
    gap, low, high = gaps
    return Cell(
        candidate=name,
        q_synthetic=None if centre is None else plain(centre),
        tau=plain(comparison.taus[number]),
        lower=plain(interval.lower * scale) if interval else None,
        upper=plain(interval.upper * scale) if interval else None,
        outcome="yes" if yes else "no",
        error=comparison.errors[number],
        alpha=comparison.parameters.alpha,
        condition=condition_of(comparison.query, comparison.measurement.statistic),
        p_value=p_value,
        margin=margin,
        gap=gap,
        gap_low=low,
        gap_high=high,
    )


def _closest(cells: Sequence[Cell]) -> tuple[str, ...]:
    """Candidates nearest to the estimate, or with the largest margin; empty if unknown."""
    nearness = [-abs(cell.gap) if cell.gap is not None else cell.margin for cell in cells]
    known = [near for near in nearness if near is not None]
    if not known:
        return ()
    return tuple(c.candidate for c, near in zip(cells, nearness, strict=True) if near == max(known))


def _shown(value: Fraction | None, scale: Fraction) -> int | float | None:
    return None if value is None else plain(value * scale)
