"""``workload``: each query of a batch counted by itself, in one scan, with noise for all of them.

Nothing is told apart but which queries a row meets, so any predicate will do: the noise needs only
how many of them one row can meet at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from deciders.batch.linear.laplace import NoisyAnswers
from deciders.batch.linear.universe import check_upper
from deciders.noise import check_scale
from pqd.accounting.cache_keys import of_direct
from pqd.batches.batch_plan import MOST_DRAWN
from pqd.batches.workload_sensitivity import workload_sensitivity
from pqd.engine.bitmaps import selections

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deciders import Lattice, Noise
    from deciders.batch.base import BatchOutput, NoiseLaw
    from pqd.engine.contingency import ContingencyTable
    from pqd.engine.histograms import Integers
    from pqd.engine.scan_plan import ScanPlan


def exact_answers(
    workload: ScanPlan, contingency: ContingencyTable, most: int | None = None
) -> Integers:
    """Return what each query adds up over the rows of ``contingency``, in units: not private.

    A row without a value adds nothing.  It counts in at most the first ``most`` of the queries that
    it meets, in their order; without, in all of them.
    """
    worth, size = _worth(workload, contingency), contingency.counts.size
    met = np.zeros(size, np.int64)
    found = np.zeros(len(workload.statistics), np.int64)
    for place, selected in enumerate(selections(workload, list(contingency.words.T), size)):
        counted = selected if most is None else selected & (met < most)
        met += counted
        found[place] = worth[counted].sum()
    return found


def _worth(workload: ScanPlan, contingency: ContingencyTable) -> Integers:
    """Return what all rows of each cell add up to."""
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

    workload: ScanPlan
    most: int
    top: int

    @classmethod
    def of(cls, workload: ScanPlan, epsilon: Fraction) -> WorkloadPlan:
        """Return the plan of a batch.

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
        """The name of the mechanism."""
        return NoisyAnswers.id

    @property
    def _mechanism(self) -> NoisyAnswers:
        return NoisyAnswers(len(self.workload.statistics), self.most * self.top)

    @property
    def quick(self) -> bool:
        """Whether it draws so little that ``auto`` may take it."""
        return len(self.workload.statistics) <= MOST_DRAWN

    @property
    def runs(self) -> int:
        """How often it is rehearsed: more often for few queries."""
        return max(8, 64 // len(self.workload.statistics))

    def parameters(self) -> Mapping[str, Any]:
        """Return what one row may change."""
        return of_direct(self)

    @property
    def note(self) -> None:
        """Nothing."""
        return

    @property
    def classes(self) -> None:
        """It tells no classes of rows apart."""
        return

    def noise(self, epsilon: Fraction) -> NoiseLaw:
        """Return the noise of each answer: all that is wrong with it."""
        return self._mechanism.noise_law(epsilon)

    def read(self, contingency: ContingencyTable) -> Integers:
        """Return the exact answers: not private."""
        return exact_answers(self.workload, contingency, self.most)

    def release(self, rows: Integers, epsilon: Fraction, noise: Noise) -> BatchOutput:
        """Return epsilon-DP answers."""
        return self._mechanism.release(rows.tolist(), epsilon, noise)
