"""``workload``: each query of a batch is counted separately, in one scan, with noise for all.

Any predicate fits, because the noise depends only on the largest number of queries that one row
can match.  With a privacy unit the noise is that of all queries: a person may have rows that match
any of them.
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
from pqd.batches.batch_plan import MOST_DRAWN, PurePlan
from pqd.deciders.batch.base import BatchOutput, NoiseLaw
from pqd.deciders.batch.joint import JointAnswers
from pqd.deciders.batch.linear.laplace import NoisyAnswers
from pqd.deciders.batch.linear.universe import check_upper
from pqd.deciders.exact_sums import LARGEST_IN_64_BITS, exact_sum
from pqd.deciders.histogram import Sums
from pqd.deciders.noise import check_scale
from pqd.engine.contingency import ContingencyTable, selections
from pqd.engine.scan_plan import Measure, PrivacyUnit, ScanPlan, Statistic
from pqd.sql.predicate import Predicate
from pqd.sql.regions import Region, region

if TYPE_CHECKING:
    from pqd.deciders import Histogram, Lattice, Noise
    from pqd.engine.contingency import Integers


# What a batch reads: a contingency table of rows, or with a unit a histogram of persons per query.
BatchCounts = ContingencyTable | Sequence["Histogram"]
# Set of queries as bits; the first query is the lowest bit.
QuerySet = int
# After this number of steps the search stops and gives an upper bound.
_MOST_STEPS = 400_000


def workload_sensitivity(predicates: Sequence[Predicate | None]) -> int:
    """Upper bound, at least 1, on the number of ``predicates`` that one row can match.

    **Guarantee**: the bound is sound, because a matching row lies in the ``region`` of its
    predicate.  The bound is exact for conjunctions of comparisons of one column with constants,
    unless the search is cut short.
    """
    regions = [region(predicate) for predicate in predicates]
    columns = sorted({name for each in regions for name in each})
    sets = [_query_sets(regions, column) for column in columns]
    most, exact = _most_queries((1 << len(regions)) - 1, sets)
    if not exact:
        # A row matches at most one query of each group of disjoint queries.
        costs = [
            MeasurementCost(str(number), Fraction(1), each) for number, each in enumerate(regions)
        ]
        most = min(most, len(composition_groups(costs)))
    return max(1, most)


def _query_sets(regions: Sequence[Region], column: str) -> list[QuerySet]:
    """Set of queries that each value of ``column`` can match; empty if every value matches all.

    A set that is contained in another set is left out.
    """
    values_of = {n: each[column] for n, each in enumerate(regions) if column in each}
    distinct = {cut for values in values_of.values() for cut in values.cuts}
    if len({type(value) for value, _ in distinct}) > 1:
        # Values of two types cannot be ordered.
        return []
    cuts = sorted(distinct)
    free = sum(1 << n for n in range(len(regions)) if n not in values_of)
    place = {cut: number for number, cut in enumerate(cuts, start=1)}
    # Queries that begin or end at each cut (first, below every cut), and the queries of NULL.
    turns, null = [0] * (len(cuts) + 1), free
    for n, values in values_of.items():
        turns[0] ^= values.start << n
        for cut in values.cuts:
            turns[place[cut]] ^= 1 << n
        null |= values.null << n
    masks, mask = [null], free
    for turn in turns:
        mask ^= turn
        masks.append(mask)
    return _largest(masks)


def _largest(masks: Iterable[QuerySet]) -> list[QuerySet]:
    """Sets that are not contained in another set, the largest first."""
    largest: list[QuerySet] = []
    for mask in sorted(set(masks), key=lambda mask: (-mask.bit_count(), mask)):
        if not any(mask & other == mask for other in largest):
            largest.append(mask)
    return largest


def _most_queries(every: QuerySet, columns: Sequence[Collection[QuerySet]]) -> tuple[int, bool]:
    """Most queries that one value of each column can match, and True; or an upper bound and False.

    The search is a best-first search (branch and bound) over the values of one column after the
    other.  The state with the largest upper bound is examined first.  If a state has no open
    columns, its bound equals its size.  So the first such state has the most queries.
    """
    serial = count()
    start = tuple(number for number, sets in enumerate(columns) if sets)
    # State: negative upper bound, age, queries that can still match, columns that are still open.
    heap = [(-every.bit_count(), next(serial), every, start)]
    for _ in range(_MOST_STEPS // max(1, sum(map(len, columns)))):
        priority, _, queries, open_columns = heapq.heappop(heap)
        tops = {n: max((queries & mask).bit_count() for mask in columns[n]) for n in open_columns}
        size = queries.bit_count()
        # A column excludes no query if one of its values matches all these queries.
        open_columns = tuple(n for n in open_columns if tops[n] < size)
        tightest = min(open_columns, key=lambda n: (tops[n], n), default=None)
        bound = size if tightest is None else tops[tightest]
        if bound < -priority:
            heapq.heappush(heap, (-bound, next(serial), queries, open_columns))
        elif tightest is None:
            return size, True
        else:
            others = tuple(n for n in open_columns if n != tightest)
            for subset in _largest(queries & mask for mask in columns[tightest]):
                most = min(bound, subset.bit_count())
                heapq.heappush(heap, (-most, next(serial), subset, others))
    return -heap[0][0], False


def exact_answers(workload: ScanPlan, counts: BatchCounts, most: int | None = None) -> Sums:
    """Exact answer of each query over the rows or persons of ``counts``, in units; not private.

    Without ``most``, a row counts in all queries that it matches.  With ``most``, it counts only in
    the first ``most`` of them.  A row without a value adds nothing.  A person counts in each query
    that one of the person's rows matches.  If one row or person may add more than 2^32 units, the
    answers are Python integers.
    """
    if isinstance(counts, ContingencyTable):
        answers = _answers_of_rows(workload, counts, most)
    else:
        pairs = zip(workload.statistics, counts, strict=True)
        answers = [each.total if one.measure else each.mass for one, each in pairs]
    largest = max(largest_amount(one, workload.unit) for one in workload.statistics)
    return np.array(answers, np.int64 if largest <= LARGEST_IN_64_BITS else object)


def _answers_of_rows(
    workload: ScanPlan, contingency: ContingencyTable, most: int | None
) -> list[int]:
    size = contingency.counts.size
    amounts = amounts_of_cells(workload, contingency)
    matches = np.zeros(size, np.int64)
    answers = []
    masks = selections(workload, list(contingency.words.T), size)
    for statistic, selected in zip(workload.statistics, masks, strict=True):
        counted = selected if most is None else selected & (matches < most)
        matches += counted
        values = amounts[statistic.measure][counted]
        answers.append(exact_sum(values, contingency.counts[counted]))
    return answers


def amounts_of_cells(
    workload: ScanPlan, contingency: ContingencyTable
) -> dict[Measure | None, Integers]:
    """What one row of each cell adds to a sum of each measure, in units, and to a count (None)."""
    amounts: dict[Measure | None, Integers] = {None: np.ones_like(contingency.counts)}
    for measure, places in zip(workload.measures, contingency.places.T, strict=True):
        if measure.lattice:
            amounts[measure] = np.where(places < 0, 0, measure.lattice.units_at(places))
    return amounts


def lattice_of_amounts(statistic: Statistic, unit: PrivacyUnit | None) -> Lattice | None:
    """Lattice of what a row, or with a ``unit`` a person, adds to an answer; None for counts."""
    measure = statistic.measure
    if measure is None:
        return None
    return measure.total if unit else measure.lattice


def largest_amount(statistic: Statistic, unit: PrivacyUnit | None) -> int:
    """Most that a row or person adds to an answer, in units, at least 1.

    Raises
    ------
    ParameterError
        If it is too large.
    """
    lattice = lattice_of_amounts(statistic, unit)
    if lattice is None:
        return 1
    top = max(abs(lattice.lower_units), abs(lattice.upper_units), 1)
    check_upper(top)
    return top


@dataclass(frozen=True, eq=False)
class WorkloadPlan(PurePlan):
    """Plan of WORKLOAD (Wu 2019, Algorithm 6), or of joint noise, for any predicates.

    Guarantee: epsilon-DP.  Adding a row increases the count of one cell by one.  The row counts in
    at most ``most`` answers, which ``exact_answers`` ensures for every row.  To each of these
    answers it adds a whole number of units, of size at most ``top``.  ``top`` is the largest
    absolute value of the public lattice, or 1 for a count.  So one row moves the answers by at most
    ``norm = most * top`` in total, and ``NoisyAnswers`` at that norm is epsilon-DP.  ``most`` and
    ``top`` are public: they come from the SQL and the lattice.

    The answers are complete, because no row matches more than ``workload_sensitivity`` queries.
    The guarantee does not depend on this fact.

    If ``joint``, the noise is that of ``JointAnswers``, which is epsilon-DP since one row moves
    each answer by at most ``top``.  ``most`` is then the number of queries: no row is left out.

    With a privacy unit, ``most`` is the number of queries.  A person adds to each answer at most 1,
    or one total on the public lattice of totals, of size at most ``top``, whatever rows the person
    has (``pqd/engine/histograms.py``).  So one person moves the answers by at most ``norm`` too,
    and each by at most ``top``.
    """

    key_fields: ClassVar[tuple[str, ...]] = ("most", "top")

    workload: ScanPlan
    most: int
    top: int
    joint: bool = False

    @classmethod
    def of(cls, workload: ScanPlan, epsilon: Fraction, *, joint: bool = False) -> WorkloadPlan:
        """Plan of a batch.

        Raises
        ------
        ParameterError
            If values are too large, or the sampler cannot draw the noise.
        """
        top = max(largest_amount(statistic, workload.unit) for statistic in workload.statistics)
        predicates = [statistic.predicate for statistic in workload.statistics]
        every = joint or workload.unit
        most = len(predicates) if every else workload_sensitivity(predicates)
        plan = cls(workload, most, top, joint)
        check_scale(plan._mechanism.largest_scale(epsilon))
        return plan

    @property
    def id(self) -> str:
        """Name of the mechanism."""
        return self._mechanism.id

    @property
    def _mechanism(self) -> NoisyAnswers | JointAnswers:
        queries = len(self.workload.statistics)
        if self.joint:
            return JointAnswers(queries, self.top)
        return NoisyAnswers(queries, self.most * self.top)

    @property
    def quick(self) -> bool:
        """Whether ``auto`` tries the mechanism; joint noise on one answer is Laplace noise."""
        return self.joint < len(self.workload.statistics) <= MOST_DRAWN

    @property
    def simulation_runs(self) -> int:
        """Number of simulation runs, which is larger for fewer queries."""
        return max(8, 64 // len(self.workload.statistics))

    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the noise: the most answers and units that one row or person changes."""
        return parameters_of(self)

    @property
    def note(self) -> None:
        """None."""
        return

    @property
    def classes(self) -> None:
        """None, because the mechanism uses no row classes."""
        return

    def noise(self, epsilon: Fraction) -> NoiseLaw:
        """Noise law of each answer; noise is the only error."""
        return self._mechanism.noise_law(epsilon)

    def read(self, counts: BatchCounts) -> Sums:
        """Exact answers; not private."""
        return exact_answers(self.workload, counts, self.most)

    def release(self, rows: Sums, epsilon: Fraction, noise: Noise) -> BatchOutput:
        """Answers that are epsilon-DP."""
        return self._mechanism.release(rows.tolist(), epsilon, noise)
