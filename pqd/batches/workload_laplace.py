"""``workload``: each query of a batch counted by itself, in one scan, with noise for all of them.

A row counts by the queries that it meets alone, so any predicate fits: the noise depends only on
the most queries that one row can meet.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pqd.accounting.cache_keys import parameters_of
from pqd.batches.batch_plan import MOST_DRAWN
from pqd.batches.workload_sensitivity import workload_sensitivity
from pqd.deciders.batch.linear.laplace import NoisyAnswers
from pqd.deciders.batch.linear.universe import check_upper
from pqd.deciders.noise import check_scale
from pqd.engine.contingency import selections

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pqd.deciders import Lattice, Noise
    from pqd.deciders.batch.base import BatchOutput, NoiseLaw
    from pqd.engine.contingency import ContingencyTable, Integers
    from pqd.engine.scan_plan import ScanPlan


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
