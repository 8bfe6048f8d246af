"""Relations of a copy: its pairs beside the product of its columns, and what chance gives.

All but the estimates is public: made of the copy's counts, and of a number of private rows that was
stated or released.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist, fmean
from typing import TYPE_CHECKING

import numpy as np

from pqd.deciders.distances.relations import (
    NUMBERS,
    Relations,
    RelationsEstimates,
    half_width,
)
from pqd.deciders.note import Note, note
from pqd.engine.marginals import RowMap
from pqd.engine.scan_plan import rows_per_person
from pqd.marginals.bound_profile import BoundMarginal, BoundProfile
from pqd.marginals.chance import CopyChance
from pqd.marginals.measurements import RelationsMeasurement
from pqd.reports.models.figure import Figure
from pqd.reports.models.relations import Independence, RelationsFacts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pqd.deciders.distributions import Floats

# Simulated tables of each pair, cells of all of them together, and the seed.
_TABLES, _MOST_CELLS, _SEED = 10, 400_000, 17
# A part of the copy holds at least one row in so many.
_LEAST_PART = 20
# Fewest pairs that tell of a copy whose columns were shuffled.
_FEWEST_PAIRS = 3
# Excess over chance, as a share of the rows, below which relations are negligible: in the mean over
# the pairs, and of the strongest pair.
_NEGLIGIBLE, _NEGLIGIBLE_STRONGEST = 0.005, 0.02


class CopyRelations:
    """Relations of the copy of a bound profile."""

    def __init__(self, bound: BoundProfile) -> None:
        """Nothing is computed yet."""
        self._bound, self._copy_rows = bound, bound.copy_rows

    @cached_property
    def pairs(self) -> tuple[BoundMarginal, ...]:
        """Pairs of the profile, which may be none."""
        return tuple(each for each in self._bound.marginals if each.ways == 2)

    @property
    def row_maps(self) -> tuple[RowMap, ...]:
        """Maps of rows to the cells of each pair."""
        return tuple(each.marginal for each in self.pairs)

    @cached_property
    def relations(self) -> Relations:
        """Scores of the pairs."""
        return relations_of(self.pairs)

    @cached_property
    def independence(self) -> Independence:
        """Distance of the copy's pairs from the product of its columns, beside shuffled columns'.

        Columns are shuffled by drawing as many rows as the copy has from the product.
        """
        own = np.array([_apart(each[None])[0] for each in self._counts])
        simulated = np.array(
            [_apart(self._drawn(each, self._copy_rows, rng)) for each, rng in self._each()]
        )
        chance = simulated.mean(axis=1)
        excess, by_chance = own - chance, simulated - chance[:, None]
        strongest = int(np.argmax(excess))
        return Independence(
            mean=float(own.mean()),
            chance=float(chance.mean()),
            strongest=float(own[strongest]),
            strongest_chance=float(chance[strongest]),
            columns=self.pairs[strongest].columns,
            is_near=bool(
                excess.mean() <= max(_NEGLIGIBLE, by_chance.mean(axis=0).max())
                and excess.max() <= max(_NEGLIGIBLE_STRONGEST, by_chance.max())
            ),
        )

    def mark(self, rows: int, alpha: float) -> float:
        """``T0 - M``, a share of the rows, that chance gives if private columns are independent.

        Both tables are drawn from the product of the copy's columns.  The quantile at 1 - alpha/2
        takes all pairs as moving together, which makes it too large rather than too small.
        """
        spread = NormalDist().inv_cdf(1 - alpha / 2)
        marks = []
        for each, rng in self._each():
            private = self._drawn(each, rows, rng)
            copy = self._drawn(each, self._copy_rows, rng)
            gaps = _variation(_shares(private), _product(copy)) - _columns(private, copy)
            marks.append(float(gaps.mean() + spread * gaps.std()))
        return max(0.0, fmean(marks))

    def lost_by_chance(self, chance: CopyChance) -> float:
        """``T - M`` of an independent real sample, a share of the rows.

        T is the closed form of two independent samples.  M is that of two disjoint parts of the
        copy, in proportion to both tables, scaled by the square root of the rows.
        """
        rows = chance.rows
        share = rows / (rows + self._copy_rows)
        share = min(max(share, 1 / _LEAST_PART), 1 - 1 / _LEAST_PART)
        part, rest = share * self._copy_rows, (1 - share) * self._copy_rows
        smaller, larger = 1 / rows + 1 / self._copy_rows, 1 / part + 1 / rest
        scale = math.sqrt(smaller / larger)
        known = zip(self._bound.marginals, chance.references, strict=True)
        pairs = fmean(distance for each, distance in known if each.ways == 2)
        columns = []
        for each, rng in self._each():
            first = rng.binomial(each, share, size=(self._tables, *each.shape))
            columns.append(float(_columns(first, each - first).mean()))
        spreads = zip(self._bound.marginals, chance.spreads, strict=True)
        size = fmean([spread.size for each, spread in spreads if each.ways == 1] or [1.0])
        return max(0.0, pairs - math.sqrt(size) * scale * fmean(columns))

    def spread_by_chance(self, chance: CopyChance) -> float:
        """Standard deviation of ``T - M`` of independent real samples, a share of the rows."""
        return float(excess_by_chance(self._bound, self.pairs, chance)[0].mean(axis=0).std())

    @property
    def _counts(self) -> Iterator[NDArray[np.int64]]:
        """Copy's rows in the cells of each pair, arrays (cells, cells)."""
        for each in self.pairs:
            yield each.copy.reshape(each.marginal.shape)

    def _each(self) -> Iterator[tuple[NDArray[np.int64], np.random.Generator]]:
        """Counts of each pair, with public randomness that is the same in every run."""
        rng = np.random.default_rng(_SEED)
        for each in self._counts:
            yield each, rng

    def _drawn(
        self, copy: NDArray[np.int64], rows: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Tables from the product of the copy's columns, (tables, cells, cells).

        They have ``rows`` rows, or of persons who count as k rows a k-th of them: rows of a person
        may be alike, and then tell no more than a single one.
        """
        independent = max(1, rows // rows_per_person(self._bound.unit))
        shares = _product(copy[None])[0].ravel()
        drawn = rng.multinomial(independent, shares / shares.sum(), size=self._tables)
        return drawn.reshape(self._tables, *copy.shape)

    @cached_property
    def _tables(self) -> int:
        """Number of simulated tables of each pair; fewer if there are very many cells."""
        cells = sum(each.marginal.size for each in self.pairs)
        return min(_TABLES, max(2, _MOST_CELLS // cells))


def relations_of(pairs: Sequence[BoundMarginal]) -> Relations:
    """Scores of some pairs of a copy."""
    return Relations(tuple(each.weights.reshape(each.marginal.shape) for each in pairs))


def excess_by_chance(
    bound: BoundProfile, pairs: Sequence[BoundMarginal], chance: CopyChance
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Excess of each pair over its columns, and the distance of these: (pairs, samples).

    The larger distance of the two columns counts.  The samples are independent.
    """
    places = {each.columns: place for place, each in enumerate(bound.marginals)}
    distances = (chance.independent.means + chance.independent.deviations).T
    own = np.array([distances[places[each.columns]] for each in pairs])
    first, second = (
        np.array([distances[places[each.columns[place],]] for each in pairs]) for place in (0, 1)
    )
    columns = np.maximum(first, second)
    return own - columns, columns


def nearly_independent(relations: CopyRelations) -> Independence | None:
    """Independence of a copy's columns, if they are nearly independent; else None.

    It is a public warning at no cost: a copy whose columns were shuffled, or drawn one by one, has
    every column right and no relation.  ``lint``, ``init``, ``profile``, ``compare`` and ``check``
    give it; ``pqd.reports.text.relations.independence_sentence`` has its words.  None also where
    the profile has fewer than three pairs: two columns of a good copy may well be unrelated.
    """
    if len(relations.pairs) < _FEWEST_PAIRS:
        return None
    independence = relations.independence
    return independence if independence.is_near else None


def independence_notes(relations: CopyRelations, name: str = "the copy") -> tuple[Note, ...]:
    """Note that the columns of the copy ``name`` are nearly independent; empty if they are not."""
    found = nearly_independent(relations)
    if found is None:
        return ()
    return (
        note(
            "nearly-independent",
            copy=name,
            mean=found.mean,
            chance=found.chance,
            strongest=found.strongest,
            strongest_chance=found.strongest_chance,
            columns=found.columns,
        ),
    )


def relations_measurement(
    bound: BoundProfile, copies: Sequence[CopyRelations], epsilon: Fraction | None
) -> RelationsMeasurement | None:
    """Measurement of the relations of all copies that have pairs, in one release; None without.

    ``bound`` has the kinds of all copies.  ``epsilon`` is for each row, and is stated with pairs.
    """
    judged = [copy for copy in copies if copy.pairs]
    if not judged or epsilon is None:
        return None
    number, what = len(judged), "copies"
    if number == 1:
        number = len(judged[0].pairs)
        what = "pair" if number == 1 else "pairs"
    return RelationsMeasurement(
        kinds=bound.kinds,
        unit=bound.unit,
        epsilon=epsilon,
        name=f"relations of {number:,} {what}",
        relations=tuple((copy.row_maps, copy.relations) for copy in judged),
    )


def relations_facts(
    copy: CopyRelations,
    measurement: RelationsMeasurement,
    bar: Fraction,
    alpha: Fraction,
    chance: CopyChance,
    estimates: RelationsEstimates | None = None,
) -> RelationsFacts:
    """Facts of one copy's relations: a plan, or with ``estimates`` the figures.

    What is said of all copies of the measurement holds at once: each interval and mark is at its
    part of ``alpha``, and each p-value is multiplied by the number of copies (Theorem D12).
    ``chance`` holds the number of private rows: released, stated, or that of the copy.  What an
    independent real sample would keep is ``1 - (T - M)/(T0 - M)``: T and M are those of chance,
    and ``T0 - M`` is the released one, in a plan the copy's own if it has relations.
    """
    number, independence = len(measurement.relations), copy.independence
    level = float(alpha) / number
    n = chance.rows
    lost, mark = copy.lost_by_chance(chance), copy.mark(n, level)
    there = 0.0 if independence.is_near else independence.mean
    relations = estimate = None
    outcome = p_value = least = None
    if estimates:
        found = [min(rows / n, 1.0) for rows in estimates.relations]
        relations = Figure(*found)
        there = relations.value
        if relations.low > mark:
            # A share: what is worse than shuffled columns has kept nothing.
            estimate = Figure(*(max(0.0, end) for end in estimates.kept))
            outcome, alone = estimates.verdict(bar)
            p_value = min(1.0, number * alone)
            seldom = lost + NormalDist().inv_cdf(1 - level / 2) * copy.spread_by_chance(chance)
            least = max(0.0, 1 - seldom / relations.low)
    reference = min(max(1 - lost / there, 0.0), 1.0) if there > mark else None
    return RelationsFacts(
        pairs=len(copy.pairs),
        bar=float(bar),
        alpha=alpha,
        reference=reference,
        mark=mark,
        negligible=mark + _NEGLIGIBLE,
        half_width=half_width(measurement.law, there * n, float(bar), level),
        independence=independence,
        relations=relations,
        estimate=estimate,
        least=least,
        outcome=None if outcome is None else "yes" if outcome else "no",
        p_value=p_value,
        conclusive=p_value is not None and p_value <= alpha,
    )


def copies_estimates(
    numbers: Sequence[int], measurement: RelationsMeasurement, alpha: Fraction
) -> tuple[RelationsEstimates, ...]:
    """Estimates of each copy of one release, whose intervals hold at once (Theorem D12)."""
    level = float(alpha) / len(measurement.relations)
    starts = range(0, len(numbers), NUMBERS)
    each = (numbers[start : start + NUMBERS] for start in starts)
    law = measurement.law
    return tuple(RelationsEstimates((a, b, c), law, level) for a, b, c in each)


def _product(counts: NDArray[np.int64]) -> Floats:
    """Product of the columns' shares of each table."""
    rows = np.maximum(counts.sum(axis=(1, 2)), 1)[:, None]
    first, second = counts.sum(axis=2) / rows, counts.sum(axis=1) / rows
    product: Floats = first[:, :, None] * second[:, None, :]
    return product


def _shares(counts: NDArray[np.int64]) -> Floats:
    """Shares of each table's rows."""
    shares: Floats = counts / np.maximum(counts.sum(axis=(1, 2)), 1)[:, None, None]
    return shares


def _apart(counts: NDArray[np.int64]) -> Floats:
    """Total variation between each table and the product of its own columns."""
    return _variation(_shares(counts), _product(counts))


def _variation(first: Floats, second: Floats) -> Floats:
    distances: Floats = np.abs(first - second).sum(axis=(1, 2)) / 2
    return distances


def _columns(first: NDArray[np.int64], second: NDArray[np.int64]) -> Floats:
    """Larger total variation of the two columns, for each pair of tables."""
    sizes = [np.maximum(each.sum(axis=(1, 2)), 1)[:, None] for each in (first, second)]
    apart = [
        np.abs(first.sum(axis=axis) / sizes[0] - second.sum(axis=axis) / sizes[1]).sum(axis=1) / 2
        for axis in (1, 2)
    ]
    largest: Floats = np.maximum(*apart)
    return largest
