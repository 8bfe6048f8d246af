"""Figures of a profile: distances, scores and cells.

They are computed from released numbers and public counts: post-processing of the release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pqd.deciders.distances.cells import cell_shares
from pqd.deciders.distances.estimates import (
    DistanceEstimates,
    bonferroni,
    half_width,
    mean_half_width,
    vector_tau_decided,
    vector_tau_min,
)
from pqd.deciders.distances.noise_laws import LaplaceLaw
from pqd.deciders.distances.vector import rows_share
from pqd.engine.scan_plan import rows_per_person
from pqd.marginals.bound_profile import BoundMarginal, mean_weights
from pqd.marginals.chance import CopyChance
from pqd.marginals.measurements import DistancesMeasurement, RelationsMeasurement
from pqd.marginals.profile_plan import ProfilePlan
from pqd.marginals.relations import CopyRelations, copies_estimates, relations_facts
from pqd.reports.models.figure import Figure
from pqd.reports.models.profile import (
    Alarm,
    BudgetPart,
    CellFacts,
    DistanceFacts,
    Score,
    ZoomedMarginal,
)
from pqd.reports.models.relations import RelationsFacts

# Rows from which on the marks of single marginals have their level, as measured.
_LEAST_ROWS = 2_000


class ProfileFigures:
    """Figures of a plan and its released distances.

    A dry run has no ``estimates``, so all its figures are public.
    """

    def __init__(
        self,
        plan: ProfilePlan,
        estimates: DistanceEstimates | None,
        relations: Sequence[int] | None = None,
    ) -> None:
        """Keep the released distances, and the three scores of relations; compute nothing yet."""
        self._relations = relations
        self._plan, self._estimates, self._bound = plan, estimates, plan.bound
        self._parameters = plan.parameters
        self._alpha = float(plan.parameters.alpha)
        self._copy_rows, self._expected_rows = plan.bound.copy_rows, plan.expected_rows

    @cached_property
    def rows(self) -> Figure | None:
        """Number of private rows."""
        return None if self._estimates is None else Figure(*map(float, self._estimates.rows))

    @property
    def unseen(self) -> Figure | None:
        """Share of the private rows that hold a value which the copy lacks."""
        return self._distance(len(self._plan.terms))

    def _distance(self, place: int) -> Figure | None:
        if self._estimates is None:
            return None
        return Figure(*map(float, self._estimates.distances[place]))

    @cached_property
    def chance(self) -> CopyChance:
        """Chance at the released number of private rows; in a dry run at the expected one."""
        rows = self._expected_rows if self.rows is None else round(self.rows.value)
        return CopyChance(self._bound, rows)

    @cached_property
    def relations(self) -> RelationsFacts | None:
        """Relations kept; None without pairs."""
        measurement, parameters = self._plan.relations, self._parameters
        if measurement is None:
            return None
        estimates = None
        if self._relations is not None:
            estimates = copies_estimates(self._relations, measurement, parameters.alpha)[0]
        copy = CopyRelations(self._bound)
        bar, alpha = parameters.bar, parameters.alpha
        return relations_facts(copy, measurement, bar, alpha, self.chance, estimates)

    @cached_property
    def _marks(self) -> tuple[Sequence[float | None], Mapping[int | None, float]]:
        """Distances that chance does not exceed, all at once: of each marginal, and of each score.

        The score of ``ways`` columns has the key ``ways``, the overall score the key None.  There
        are no marks in a dry run.  Of a small copy only the scores have marks, since its cells
        have too few rows for those of single marginals (docs/experiments/chance.md); where a person
        counts as up to k rows, a k-th of the rows may be all that is independent.
        """
        marginals = self._bound.marginals
        if self._estimates is None:
            return [None] * len(marginals), {}
        scores = [None, *self._sizes]
        weights = [[*map(float, mean_weights(marginals, ways))] for ways in scores]
        if self._copy_rows < _LEAST_ROWS * rows_per_person(self._bound.unit):
            means = self.chance.independent.at_once(self._alpha / 2, np.array(weights).T)
            return [None] * len(marginals), dict(zip(scores, means.tolist(), strict=True))
        both = np.concatenate([np.eye(len(marginals)), np.array(weights).T], axis=1)
        marks = self.chance.independent.at_once(self._alpha / 2, both).tolist()
        return marks[: len(marginals)], dict(zip(scores, marks[len(marginals) :], strict=True))

    @cached_property
    def _sizes(self) -> list[int]:
        """Numbers of columns that marginals have, in ascending order."""
        return sorted({each.ways for each in self._bound.marginals})

    @cached_property
    def _simultaneous(self) -> DistanceEstimates | None:
        """Estimates whose intervals of all distances and all scores hold at once (Bonferroni).

        Whoever lists the largest distances first sees those that the noise has raised, and a report
        tells beside each distance and each score whether it is beyond chance.
        """
        if self._estimates is None:
            return None
        number = len(self._estimates.released) - 1 + 1 + len(self._sizes)
        return replace(self._estimates, alpha=self._alpha / number)

    @property
    def alarm(self) -> Alarm | None:
        """Whether the copy is nearer than an independent sample, or than a drawing would be."""
        if self._estimates is None:
            return None
        return self.chance.alarm(self.overall, self._alpha, self._parameters.copy_epsilon)

    def _listed(self, place: int) -> Figure | None:
        """Distance in a list, which the noise has sorted: all its intervals hold at once."""
        if self._simultaneous is None:
            return None
        return Figure(*map(float, self._simultaneous.distances[place]))

    @cached_property
    def distances(self) -> tuple[DistanceFacts, ...]:
        """All distances: of columns, then pairs, then triples; in each part the largest first.

        In a dry run the distances of one size are in the order of the plan.
        """
        plan, parameters = self._plan, self._parameters
        numbers = len(plan.terms)
        tau_min = float(vector_tau_min(plan.law, self._expected_rows, self._alpha))
        tau_decided = float(vector_tau_decided(plan.law, self._expected_rows, self._alpha))
        width = float(half_width(plan.law, self._expected_rows, self._alpha))
        outcomes: Sequence[bool | None] = [None] * numbers
        p_values: Sequence[float | None] = [None] * numbers
        at_once: Sequence[bool] = [False] * numbers
        if self._estimates is not None:
            yes, p = self._estimates.verdicts(parameters.tau)
            yes, p = yes[:numbers], p[:numbers]
            outcomes, p_values = yes.tolist(), p.tolist()
            at_once = (bonferroni(p) <= self._alpha).tolist()
        facts = []
        for place, (distance, marginal) in enumerate(plan.terms):
            outcome, p_value = outcomes[place], p_values[place]
            facts.append(
                DistanceFacts(
                    columns=marginal.columns,
                    distance=distance,
                    cells=marginal.marginal.size,
                    alpha=parameters.alpha,
                    tau=float(parameters.tau),
                    reference=self.chance.references[place] if distance == "tv" else None,
                    mark=self._marks[0][place] if distance == "tv" else None,
                    tau_min=tau_min,
                    tau_decided=tau_decided,
                    half_width=width,
                    estimate=self._listed(place),
                    outcome=None if outcome is None else "yes" if outcome else "no",
                    p_value=p_value,
                    conclusive=p_value is not None and p_value <= parameters.alpha,
                    at_once=at_once[place],
                )
            )
        return tuple(sorted(facts, key=lambda each: (len(each.columns), -(each.value or 0.0))))

    @cached_property
    def scores(self) -> tuple[Score, ...]:
        """Quality of the columns, of the pairs, and of the triples."""
        return tuple(self._score(ways) for ways in self._sizes)

    @property
    def overall(self) -> Score:
        """Quality of all marginals: the mean of ``scores``."""
        return self._score(None)

    def _weights(self, ways: int | None) -> list[Fraction]:
        """Weight of each measured distance in the mean over the marginals of ``ways`` columns.

        If ``ways`` is None, the mean is over all marginals.
        """
        marginals = mean_weights(self._bound.marginals, ways)
        return [*marginals, *[Fraction(0)] * (len(self._plan.terms) + 1 - len(marginals))]

    def _score(self, ways: int | None) -> Score:
        """Quality of all marginals, or of the marginals of ``ways`` columns."""
        marginals = mean_weights(self._bound.marginals, ways)
        weights = self._weights(ways)
        pairs = zip(marginals, self.chance.references, strict=True)
        width = mean_half_width(self._plan.law, weights, self._expected_rows, self._alpha)
        mark = self._marks[1].get(ways)
        parts = [self._weights(size) for size in (self._sizes if ways is None else [ways])]
        return Score(
            ways=ways,
            marginals=sum(1 for each in marginals if each),
            reference=1 - sum(float(weight) * distance for weight, distance in pairs),
            mark=None if mark is None else 1 - mark,
            half_width=float(width),
            estimate=quality_of(self._estimates, parts),
            simultaneous=quality_of(self._simultaneous, parts),
        )

    def zoomed(self, marginal: BoundMarginal, noisy: Sequence[int]) -> ZoomedMarginal:
        """Cells of a marginal, in descending order of the difference between the shares."""
        epsilon = self._plan.shares.cells
        if epsilon is None or self._estimates is None:
            raise TypeError("no cells were measured")
        partitions, counts = marginal.marginal.partitions, marginal.copy
        shares = cell_shares(
            noisy, epsilon, self._estimates, self._alpha, rounded=self._bound.unit is not None
        )
        copy = counts / counts.sum()
        places = np.unravel_index(np.arange(counts.size), marginal.marginal.shape)
        order = np.argsort(-np.abs(shares[:, 0] - copy), kind="stable")
        labels = [partition.labels for partition in partitions]
        return ZoomedMarginal(
            columns=marginal.columns,
            axes=tuple(labels),
            cells=tuple(
                CellFacts(
                    labels=tuple(
                        names[place[cell]] for names, place in zip(labels, places, strict=True)
                    ),
                    copy=float(copy[cell]),
                    private=Figure(*map(float, shares[cell])),
                    difference=_difference(shares[cell], copy[cell]),
                    unseen=any(
                        place[cell] == partition.unseen
                        for partition, place in zip(partitions, places, strict=True)
                    ),
                )
                for cell in order
            ),
            epsilon=self._plan.cost_of(epsilon),
        )


def quality_of(
    estimates: DistanceEstimates | None, parts: Sequence[Sequence[Fraction]]
) -> Figure | None:
    """Quality, with its interval: 1 minus the average of the means of ``parts``."""
    if estimates is None:
        return None
    value, low, high = map(float, estimates.mean_of(parts))
    return Figure(1 - value, 1 - high, 1 - low)


def _difference(share: NDArray[np.float64], copy: float) -> Figure:
    """Private share minus the copy's."""
    value, low, high = (float(end - copy) for end in share)
    return Figure(value, low, high)


def budget_parts(plan: ProfilePlan) -> tuple[BudgetPart, ...]:
    """Parts of the budget, each with its charge and the noise of one released number.

    Gaussian parts share one rho.  The epsilon that rho implies is divided in the same ratio.
    """
    parts, zoom = list(vector_parts(plan.distances)), plan.zoom
    if plan.relations is not None:
        parts.append(relations_part(plan.relations))
    histograms = plan.histograms
    parts.append(
        BudgetPart(
            part="values",
            epsilon=histograms.cost,
            numbers=sum(each.size for each in histograms.row_maps),
            scale=LaplaceLaw(1 / histograms.each).deviation,
        )
    )
    if plan.shares.cells is not None:
        parts.append(
            BudgetPart(
                part="cells",
                epsilon=zoom * plan.cost_of(plan.shares.cells),
                numbers=zoom,
                scale=LaplaceLaw(1 / plan.shares.cells).deviation,
            )
        )
    if plan.confusion is not None:
        parts.append(
            BudgetPart(
                part="target",
                epsilon=plan.confusion.cost,
                numbers=plan.confusion.marginal.size,
                scale=LaplaceLaw(1 / plan.confusion.epsilon).deviation,
            )
        )
    return tuple(parts)


def relations_part(relations: RelationsMeasurement) -> BudgetPart:
    """Part of the budget for the scores of relations."""
    law = relations.law
    return BudgetPart(
        part="relations",
        epsilon=relations.cost,
        numbers=law.numbers,
        scale=law.deviation,
        noise="cube",
    )


def vector_parts(distances: DistancesMeasurement) -> tuple[BudgetPart, BudgetPart]:
    """Two parts of the budget of the released vector: its distances, and the number of rows."""
    charged, law = distances.cost, distances.law
    pure, share = distances.delta is None, rows_share(len(distances.distances))
    return (
        BudgetPart(
            part="distances",
            epsilon=charged * (1 - share),
            numbers=len(distances.distances),
            scale=law.distance.deviation,
            noise="cube" if pure else "gaussian",
        ),
        BudgetPart(
            part="rows",
            epsilon=charged * share,
            numbers=1,
            scale=law.rows.deviation,
            noise="laplace" if pure else "gaussian",
        ),
    )
