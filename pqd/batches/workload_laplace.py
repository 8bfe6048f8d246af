"""``workload``: each query of a batch counted by itself, in one scan, with noise for all of them.

A row counts by the queries that it meets alone, so any predicate fits: the noise depends only on
the most queries that one row can meet.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pqd.accounting.cache_keys import parameters_of
from pqd.accounting.disjoint_groups import MeasurementCost, composition_groups
from pqd.batches.batch_plan import MOST_DRAWN
from pqd.deciders.batch.base import BatchOutput, NoiseLaw
from pqd.deciders.batch.linear.laplace import NoisyAnswers
from pqd.deciders.batch.linear.universe import check_upper
from pqd.deciders.noise import check_scale
from pqd.engine.contingency import selections
from pqd.engine.scan_plan import ScanPlan
from pqd.sql.predicate import Predicate
from pqd.sql.regions import Region, region

if TYPE_CHECKING:
    from pqd.deciders import Lattice, Noise
    from pqd.engine.contingency import ContingencyTable, Integers


# Sets of queries, the first of them the lowest bit.
QuerySet = int
# The search ends after so many steps; what it has not searched is then bounded.
_MOST_STEPS = 400_000


def workload_sensitivity(predicates: Sequence[Predicate | None]) -> int:
    """Number of queries, at least 1, such that no row matches more of ``predicates``.

    **Guarantee** (soundness): that of ``region``, which a matching row lies in.  Exact for
    conjunctions of comparisons of one column with constants, unless the search is cut short.
    """
    regions = [region(predicate) for predicate in predicates]
    columns = sorted({name for each in regions for name in each})
    admitted = [_admitted(regions, column) for column in columns]
    most, finished = _deepest((1 << len(regions)) - 1, admitted)
    if not finished:
        # A row meets one at most of each group of disjoint queries.
        costs = [
            MeasurementCost(str(number), Fraction(1), each) for number, each in enumerate(regions)
        ]
        most = min(most, len(composition_groups(costs)))
    return max(1, most)


def _admitted(regions: Sequence[Region], column: str) -> list[QuerySet]:
    """Queries that each place on ``column`` admits; none if all admit everything.

    Places that admit some of what another does are left out.
    """
    named = {n: each[column] for n, each in enumerate(regions) if column in each}
    distinct = {cut for admitted in named.values() for cut in admitted.cuts}
    if len({type(value) for value, _ in distinct}) > 1:
        # Values of two types are in no order.
        return []
    cuts = sorted(distinct)
    free = sum(1 << n for n in range(len(regions)) if n not in named)
    place = {cut: number for number, cut in enumerate(cuts, start=1)}
    # What turns over at each place, from below every cut on; and NULL.
    turns, null = [0] * (len(cuts) + 1), free
    for n, admitted in named.items():
        turns[0] ^= admitted.start << n
        for cut in admitted.cuts:
            turns[place[cut]] ^= 1 << n
        null |= admitted.null << n
    masks, mask = [null], free
    for turn in turns:
        mask ^= turn
        masks.append(mask)
    return _largest(masks)


def _largest(masks: Iterable[QuerySet]) -> list[QuerySet]:
    """Sets that are part of no other, the largest first."""
    largest: list[QuerySet] = []
    for mask in sorted(set(masks), key=lambda mask: (-mask.bit_count(), mask)):
        if not any(mask & other == mask for other in largest):
            largest.append(mask)
    return largest


def _deepest(every: QuerySet, columns: Sequence[Collection[QuerySet]]) -> tuple[int, bool]:
    """Most queries that one place of each column can admit at once, and True; or a bound and False.

    Best first: what is taken up next may have the most of all, by a bound that is at least what it
    has.  So the first that has as many as its bound says has the most.
    """
    serial = count()
    start = tuple(number for number, masks in enumerate(columns) if masks)
    # By what they have at most, then the oldest: queries that are left, columns that are left.
    heap = [(-every.bit_count(), next(serial), every, start)]
    for _ in range(_MOST_STEPS // max(1, sum(map(len, columns)))):
        claimed, _, left, rest = heapq.heappop(heap)
        tops = {n: max((left & mask).bit_count() for mask in columns[n]) for n in rest}
        size = left.bit_count()
        # A place that admits all that is left takes nothing away.
        rest = tuple(n for n in rest if tops[n] < size)
        least = min(rest, key=lambda n: (tops[n], n), default=None)
        bound = size if least is None else tops[least]
        if bound < -claimed:
            heapq.heappush(heap, (-bound, next(serial), left, rest))
        elif least is None:
            return size, True
        else:
            others = tuple(n for n in rest if n != least)
            for part in _largest(left & mask for mask in columns[least]):
                most = min(bound, part.bit_count())
                heapq.heappush(heap, (-most, next(serial), part, others))
    return -heap[0][0], False


def exact_answers(
    workload: ScanPlan, contingency: ContingencyTable, most: int | None = None
) -> Integers:
    """Exact answer of each query over the rows of ``contingency``, in units: not private.

    A row without a value adds nothing.  It counts in at most the first ``most`` of the queries that
    it meets, in their order; without, in all of them.
    """
    totals, size = _cell_totals(workload, contingency), contingency.counts.size
    met = np.zeros(size, np.int64)
    answers = np.zeros(len(workload.statistics), np.int64)
    for place, selected in enumerate(selections(workload, list(contingency.words.T), size)):
        counted = selected if most is None else selected & (met < most)
        met += counted
        answers[place] = totals[counted].sum()
    return answers


def _cell_totals(workload: ScanPlan, contingency: ContingencyTable) -> Integers:
    """Sum over all rows of each cell, in units."""
    lattice = _lattice(workload)
    if lattice is None:
        return contingency.counts
    return (
        np.where(contingency.places < 0, 0, lattice.units_at(contingency.places))
        * contingency.counts
    )


def _lattice(workload: ScanPlan) -> Lattice | None:
    return workload.measures[0].lattice if workload.measures else None


@dataclass(frozen=True, eq=False)
class WorkloadPlan:
    """WORKLOAD (Wu 2019, Algorithm 6) for any predicates.

    Guarantee: epsilon-DP.  One row more, or less, is one more in one cell.  It counts in at most
    ``most`` answers (``exact_answers`` sees to that, whatever the row is), and adds to each a whole
    number of at most ``top`` units, the largest of the public lattice in size, or 1 in a count.  So
    the answers move by at most ``norm = most * top`` in all, and ``NoisyAnswers`` at that norm is
    epsilon-DP.  ``most`` and ``top`` are public: they come from the SQL and the lattice.

    That no row is left out of an answer is not needed for this; it holds as no row meets more than
    ``workload_sensitivity`` queries.
    """

    key_fields: ClassVar[tuple[str, ...]] = ("most", "top")

    workload: ScanPlan
    most: int
    top: int

    @classmethod
    def of(cls, workload: ScanPlan, epsilon: Fraction) -> WorkloadPlan:
        """Plan of a batch.

        Raises
        ------
        ParameterError
            If values are too large, or epsilon is too small for any noise.
        """
        lattice, top = _lattice(workload), 1
        if lattice is not None:
            top = max(abs(lattice.lower_units), abs(lattice.upper_units), 1)
            check_upper(top)
        plan = cls(
            workload,
            workload_sensitivity([statistic.predicate for statistic in workload.statistics]),
            top,
        )
        check_scale(plan._mechanism.largest_scale(epsilon))
        return plan

    @property
    def id(self) -> str:
        """Name of the mechanism."""
        return NoisyAnswers.id

    @property
    def _mechanism(self) -> NoisyAnswers:
        return NoisyAnswers(len(self.workload.statistics), self.most * self.top)

    @property
    def quick(self) -> bool:
        """Whether it draws so little that ``auto`` may take it."""
        return len(self.workload.statistics) <= MOST_DRAWN

    @property
    def simulation_runs(self) -> int:
        """Number of simulation runs: more for few queries."""
        return max(8, 64 // len(self.workload.statistics))

    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the noise: what one row may change."""
        return parameters_of(self)

    @property
    def note(self) -> None:
        """None."""
        return

    @property
    def classes(self) -> None:
        """None: it uses no row classes."""
        return

    def noise(self, epsilon: Fraction) -> NoiseLaw:
        """Noise law of each answer: its only error."""
        return self._mechanism.noise_law(epsilon)

    def read(self, contingency: ContingencyTable) -> Integers:
        """Exact answers: not private."""
        return exact_answers(self.workload, contingency, self.most)

    def release(self, rows: Integers, epsilon: Fraction, noise: Noise) -> BatchOutput:
        """Answers that are epsilon-DP."""
        return self._mechanism.release(rows.tolist(), epsilon, noise)
