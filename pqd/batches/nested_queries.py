"""Nested queries: each selects all rows of the one before, so that exact answers do not decrease.

Isotonic regression makes released answers agree with this order (Hay et al. 2010; Wu 2019, section
4).  It is post-processing, so it costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pqd.batches.batch_measurement import BatchMeasurement
from pqd.batches.row_classes import RowClasses, column_groups, columns_of, joint_truths, pack
from pqd.deciders.errors import ParameterError
from pqd.engine.scan_plan import Measure, ScanPlan, Statistic
from pqd.sql.predicate import Atom, atoms

if TYPE_CHECKING:
    from pqd.batches.row_classes import Words
    from pqd.deciders.batch.base import BatchOutput
    from pqd.deciders.distributions import Floats

# Conditions of one factor whose truths are tried in every combination.
_MOST_OPEN = 12


@dataclass(frozen=True, slots=True)
class NestedQueries:
    """Chains of the places of a batch's queries: the exact answers do not decrease along a chain.

    Each chain has at least two places, and no place is in two chains.
    """

    chains: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, batch: BatchMeasurement) -> NestedQueries:
        """Chains of the queries of a batch; everything is public.

        Guarantee: of two queries that follow each other in a chain, the second selects each row
        that the first selects, in every table.  Both count, or both sum up one measure whose values
        are >= 0.  So the second exact answer is at least the first.  This holds for persons too:
        whoever has a row of the first selection has one of the second.  Sums of persons' totals
        are in no chain, because the single rows of a person may be negative.
        """
        places: dict[Measure | None, list[int]] = {}
        for place, statistic in enumerate(batch.statistics):
            if _grows(statistic.measure, persons=batch.unit is not None) and _has_columns(
                statistic
            ):
                places.setdefault(statistic.measure, []).append(place)
        return cls(
            tuple(
                tuple(own[number] for number in chain)
                for own in places.values()
                for chain in _chains([batch.statistics[place] for place in own])
            )
        )

    def adjusted(self, output: BatchOutput) -> Floats:
        """Answers that do not decrease along the chains and are nearest to the released answers.

        Squared distances are weighted by the inverse variances of the noise, if they are known.
        Answers in no chain stay as they are.
        """
        # The import is slow, and few runs need it.
        from scipy.optimize import isotonic_regression  # noqa: PLC0415

        answers = np.array(output.answers, np.float64)
        for chain in map(list, self.chains):
            weights = None
            if output.deviations is not None:
                deviations = np.array(output.deviations)[chain]
                if (deviations > 0).all():
                    weights = (deviations.min() / deviations) ** 2
            answers[chain] = isotonic_regression(answers[chain], weights=weights).x
        return answers


def _grows(measure: Measure | None, *, persons: bool) -> bool:
    """Whether an exact answer cannot fall where more rows are selected."""
    if measure is None:
        return True
    return not persons and measure.lattice is not None and measure.lattice.lower >= 0


def _has_columns(statistic: Statistic) -> bool:
    """Whether each condition of a statistic is about a column."""
    return statistic.predicate is None or all(map(columns_of, atoms(statistic.predicate)))


def _chains(statistics: Sequence[Statistic]) -> Iterator[list[int]]:
    """Chains of at least two places, found by first fit from small selections to large ones.

    Each combination of truths that a row can have is tried; conditions whose joint truths are not
    known are taken to be independent.  So a row of any table has one of these combinations.
    """
    plan = ScanPlan(tuple(statistics))
    try:
        selected = RowClasses.of(plan, _every_truth(plan.atoms)).matrix
    except ParameterError:
        return
    packed, sizes = np.packbits(selected, axis=1), np.count_nonzero(selected, axis=1)
    chains: list[list[int]] = []
    for place in np.argsort(sizes, kind="stable").tolist():
        last = [chain[-1] for chain in chains]
        within = ~np.any(packed[last] & ~packed[place], axis=1)
        if within.any():
            # The nearest of the selections that lie within this one.
            chains[int(np.where(within, sizes[last], -1).argmax())].append(place)
        else:
            chains.append([place])
    yield from (chain for chain in chains if len(chain) > 1)


def _every_truth(conditions: Sequence[Atom]) -> Words:
    """Truths of all conditions whose joint truths are not known, in every combination per factor.

    Raises
    ------
    ParameterError
        If a factor has too many such conditions.
    """
    factors = column_groups(conditions)
    unknown = [bits for bits in factors if joint_truths([conditions[b] for b in bits]) is None]
    most = max(map(len, unknown), default=0)
    if most > _MOST_OPEN:
        raise ParameterError(f"{most} conditions about one column are too many")
    numbers = np.arange(2**most)
    truths = np.zeros((numbers.size, len(conditions)), np.bool_)
    for bits in unknown:
        for place, bit in enumerate(bits):
            truths[:, bit] = numbers >> place & 1
    return pack(truths)
