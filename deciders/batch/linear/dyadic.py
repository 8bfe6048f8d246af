"""Ranges over one ordered attribute, by dyadic intervals of each level set, with no universe."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from pqd.deciders.batch.base import BatchOutput, PrivacyBudget
from pqd.deciders.batch.linear.conditions import Intervals, Numbers, Ranges
from pqd.deciders.batch.linear.numerical import first_few
from pqd.deciders.batch.linear.queries import NumericalQueries, doubling
from pqd.deciders.batch.linear.universe import Rows, level_sets
from pqd.deciders.distributions import Floats
from pqd.deciders.errors import ParameterError
from pqd.deciders.exact import Number, as_float, budget_of
from pqd.deciders.histogram import Integers, Sums
from pqd.deciders.noise import Noise, noisy_value

Layers = list[Floats]
# Probability that some noisy count is off by more than its alpha.
_FAILURE = 0.05


@dataclass(frozen=True, slots=True)
class _Node:
    """Dyadic interval: ``place`` within the layer of intervals of ``2^layer`` classes."""

    layer: int
    place: int


def dyadic_cover(first: int, last: int) -> list[_Node]:
    """Smallest set of dyadic intervals whose disjoint union is ``first .. last``."""
    nodes, layer, low, high = [], 0, first, last + 1
    while low < high:
        if low % 2:
            nodes.append(_Node(layer, low))
            low += 1
        if high % 2:
            high -= 1
            nodes.append(_Node(layer, high))
        layer, low, high = layer + 1, low // 2, high // 2
    return nodes


def dyadic_sums(leaves: Sums) -> list[Sums]:
    """Sums of all dyadic intervals: of single leaves, of pairs, ..., of all leaves."""
    layers: list[Sums] = [leaves]
    while layers[-1].shape[0] > 1:
        below: Numbers = layers[-1]
        if below.shape[0] % 2:
            below = np.concatenate((below, np.zeros_like(below[:1])))
        layers.append(below[0::2] + below[1::2])
    return layers


@dataclass(frozen=True, slots=True, kw_only=True)
class DyadicMechanism:
    """Section 4.2 (Qiu 2022) for intervals of one attribute.

    Rows with ``g > 0`` that some query selects fall into level sets ``D_i``, with
    ``tau_(i-1) < g <= tau_i``.  All other rows are left out, because a class that no query selects
    may have ``g`` above every threshold.  For each level set all dyadic intervals are released
    twice: their number of rows, and their sum of ``g / tau_i`` (Chan, Shi and Song 2011; Dwork et
    al. 2010).  Then ``c_{w,tau}`` and ``l_{w,tau}`` of any interval are sums over its dyadic
    intervals and the level sets, and Algorithm 2's search applies.  The search has one alpha for
    each query and threshold.  With probability 0.95 these alphas bound the noise of all of them at
    once.  The alphas are public and cost no budget.

    Guarantee: (epsilon, delta)-DP, for delta = 0 Theorem 4.4.  A row lies in one level set, so
    level sets compose in parallel, and no size is needed (ours, for added and removed rows).  In
    its level set the row lies in ``layers`` dyadic intervals, and counts for at most 1 in each.
    Two passes make ``2 layers`` mechanisms, each with a share of ``PrivacyBudget.share``.
    """

    queries: NumericalQueries
    base: int = 1

    id: ClassVar[str] = "dyadic"
    key_fields: ClassVar[tuple[str, ...]] = ("base",)

    def __post_init__(self) -> None:
        """Raise ParameterError unless the conditions are intervals of one attribute."""
        self._axis()

    def _axis(self) -> Intervals:
        conditions = self.queries.conditions
        if not isinstance(conditions, Ranges) or len(conditions.axes) != 1:
            raise ParameterError("the range mechanism needs intervals of one attribute; use Ranges")
        return conditions.axes[0]

    def release(self, rows: Rows, epsilon: Number, noise: Noise, delta: Number = 0) -> BatchOutput:
        """Answers and thresholds."""
        axis = self._axis()
        thresholds = doubling(self.base, int(self.queries.limits.max()))
        counts, totals = map(dyadic_sums, self._levels(rows, thresholds))
        scale = 1 / PrivacyBudget.of(epsilon, delta).share(2 * len(counts))
        ones = np.ones(thresholds.size - 1, np.int64)
        noisy_counts = _noisy(counts, ones, scale, noise)
        noisy_totals = _noisy(totals, thresholds[1:], scale, noise)
        cover = [
            dyadic_cover(*span)
            for span in zip(axis.first.tolist(), axis.last.tolist(), strict=True)
        ]
        masses = np.array([_collected(noisy_counts, nodes) for nodes in cover])
        sums = np.array([_collected(noisy_totals, nodes) for nodes in cover])
        above = np.zeros((len(cover), thresholds.size))
        above[:, :-1] = masses[:, ::-1].cumsum(axis=1)[:, ::-1]
        capped = above * thresholds
        capped[:, 1:] += sums.cumsum(axis=1)
        alpha = self._alpha(np.array([len(nodes) for nodes in cover]), thresholds.size, scale)
        places = first_few(above, alpha)
        answers = capped[np.arange(places.size), places]
        return BatchOutput.of(answers, np.minimum(thresholds[places], self.queries.limits))

    def noise_law(self, epsilon: Number) -> None:
        """None, because thresholds cut off rows."""
        return

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Bound on the scale of the sums of the highest level set."""
        layers = (self._axis().length - 1).bit_length() + 1
        top = int(doubling(self.base, int(self.queries.limits.max()))[-1])
        return 2 * layers * top / budget_of(epsilon)

    def _levels(self, rows: Rows, thresholds: Integers) -> tuple[Integers, Sums]:
        """Rows and sums by class and level set, for the classes that some query selects."""
        covered = self.queries.conditions.covered[:, None]
        counts, totals = level_sets(rows, self.queries.universe, thresholds)
        return np.where(covered, counts[:, 1:], 0), np.where(covered, totals[:, 1:], 0)

    def _alpha(self, nodes: Integers, width: int, scale: Fraction) -> Floats:
        """Bounds on the noise of each count; all bounds hold together except with ``_FAILURE``."""
        terms = nodes[:, None] * np.arange(width - 1, -1, -1)
        bound: Floats = noise_bound(terms, _FAILURE / terms.size) * as_float(scale)
        return bound


def noise_bound(terms: Integers, failure: float) -> Floats:
    """Bound x with ``Pr[|sum of terms Laplace(1) draws| > x] <= failure``, by Chernoff's bound.

    ``E exp(t Z) = 1 / (1 - t^2)``, so every t in (0, 1) gives the bound
    ``x = (ln(2 / failure) - terms ln(1 - t^2)) / t``.  Discrete Laplace noise has smaller moments,
    since ``(cosh t - 1) / t^2`` increases.
    """
    tilts = np.linspace(0.005, 0.995, 199)
    spread = -np.log1p(-(tilts**2))
    bounds: Floats = (math.log(2 / failure) + terms[..., None] * spread) / tilts
    least: Floats = bounds.min(axis=-1)
    return least


def _noisy(layers: list[Sums], weights: Integers, scale: Fraction, noise: Noise) -> Layers:
    """Every sum with noise, whose scale is ``scale`` times the weight of its level set."""
    return [
        np.array(
            [
                [
                    as_float(noisy_value(int(total), scale * int(weight), noise))
                    for total, weight in zip(line, weights, strict=True)
                ]
                for line in layer
            ]
        )
        for layer in layers
    ]


def _collected(layers: Layers, nodes: list[_Node]) -> Floats:
    """Sums of the level sets over the dyadic intervals of one query."""
    sums: Floats = np.sum([layers[node.layer][node.place] for node in nodes], axis=0)
    return sums
