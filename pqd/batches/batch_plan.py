"""Plan of a batch: a mechanism, and the form in which it reads rows; everything is public."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from pqd.accounting.cache_keys import parameters_on
from pqd.batches.linear_workload import LinearWorkload
from pqd.batches.mechanism_fields import (
    OptionValues,
    base_units,
    linear_with,
    options_of_linear,
)
from pqd.batches.mechanisms import NO_TERMS, BatchTerms, linear_mechanism
from pqd.batches.row_classes import RowClasses
from pqd.deciders.batch.base import BatchOutput, NoiseLaw
from pqd.deciders.batch.linear.clipped_composition import ClippedComposition
from pqd.deciders.batch.linear.dyadic import DyadicMechanism
from pqd.deciders.batch.linear.laplace import NoisyClasses
from pqd.deciders.batch.linear.mechanism import DistributionMechanism, LinearMechanism
from pqd.deciders.batch.linear.numerical import NumericalInTwoSteps
from pqd.deciders.batch.linear.queries import NumericalQueries
from pqd.deciders.batch.linear.signed import SignedMechanism
from pqd.deciders.batch.linear.universe import Rows, Universe
from pqd.deciders.errors import ParameterError
from pqd.deciders.noise import check_scale
from pqd.deciders.note import Note
from pqd.engine.contingency import ContingencyTable

if TYPE_CHECKING:
    from pqd.deciders import Noise

# ``auto`` takes clipped composition for at most ``_MOST_COMPOSED`` queries, and the other
# mechanisms for at most ``MOST_DRAWN`` draws.
_MOST_COMPOSED, MOST_DRAWN = 300, 10_000
# Multiplicative weights allow a rounding error of 1/1024.  Doubles round by less than 1/1024 while
# the noisy size is below 2^42, which holds from this part of epsilon for the size on.
_LEAST_IN_DOUBLES = Fraction(1, 20 * 2**26)


class BatchPlan(Protocol):
    """Plan of a batch; everything is public.  Conformers: WorkloadPlan, LinearPlan, RangePlan."""

    @property
    def id(self) -> str:
        """Name of the mechanism."""
        ...

    @property
    def classes(self) -> RowClasses | None:
        """Row classes of the mechanism; None for a mechanism without row classes."""
        ...

    @property
    def quick(self) -> bool:
        """Whether the mechanism is quick enough for ``auto``."""
        ...

    @property
    def delta(self) -> Fraction:
        """Delta of the answers; 0 if they are pure epsilon-DP."""
        ...

    @property
    def options(self) -> OptionValues:
        """Options of the mechanism, stated or not, except delta; amounts in the queries' unit."""
        ...

    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the answers by name, except row classes, lattice and epsilon."""
        ...

    @property
    def simulation_runs(self) -> int:
        """Number of simulation runs."""
        ...

    @property
    def note(self) -> Note | None:
        """Public note for the reader; None if there is no note."""
        ...

    def noise(self, epsilon: Fraction) -> NoiseLaw | None:
        """Noise law of each answer; None if the error depends on the rows."""
        ...

    def read(self, counts: Any) -> Any:  # noqa: ANN401 - a contingency table; rows, or a histogram
        """Rows in the form that the mechanism reads; each row stays one row or is left out."""
        ...

    def release(self, rows: Any, epsilon: Fraction, noise: Noise) -> BatchOutput:  # noqa: ANN401
        """Answers that are (epsilon, ``delta``)-DP in ``rows``."""
        ...


class PurePlan:
    """Mix-in of the plans of mechanisms that are pure epsilon-DP and have no options."""

    @property
    def delta(self) -> Fraction:
        """Zero, because the answers are pure epsilon-DP."""
        return Fraction(0)

    @property
    def options(self) -> tuple[()]:
        """Nothing, because the mechanism has no options."""
        return ()


@dataclass(frozen=True, eq=False)
class LinearPlan:
    """Plan of a mechanism for numerical queries; ``sides`` has one item per sign of the values."""

    workload: LinearWorkload
    sides: tuple[LinearMechanism, ...]
    delta: Fraction = Fraction(0)

    @classmethod
    def of(
        cls, name: str, workload: LinearWorkload, epsilon: Fraction, terms: BatchTerms = NO_TERMS
    ) -> LinearPlan:
        """Plan of a mechanism by its id, with the options and the delta of ``terms``.

        Raises
        ------
        ParameterError
            If the workload or an option does not fit, or epsilon is too small for any noise.
        """
        kind = linear_mechanism(name)
        queries = workload.ranges if issubclass(kind, DyadicMechanism) else workload.queries
        signs = (1, -1) if workload.signed else (1,)
        base = base_units(terms.options, workload.unit, workload.top)
        sides = tuple(
            linear_with(name, queries(sign), terms.options, base, terms.importance)
            for sign in signs
        )
        plan = cls(workload, sides, terms.delta)
        fitting: Any = sides[0] if issubclass(kind, DistributionMechanism) else None
        if fitting and fitting.size_budget(epsilon) < _LEAST_IN_DOUBLES:
            raise ParameterError(
                f"{name} compares numbers in doubles, which at epsilon {float(epsilon):.1e} are "
                "too coarse; use a larger epsilon or size_share, or workload or identity"
            )
        # Check the largest scale here, on public data.  A draw must not be refused later, because
        # the scale of a draw may depend on the private table.
        check_scale(plan.mechanism.largest_scale(epsilon))
        return plan

    @cached_property
    def mechanism(self) -> LinearMechanism:
        """Mechanism for both signs, or for the single sign."""
        if len(self.sides) == 1:
            return self.sides[0]
        positive, negative = self.sides
        return SignedMechanism(positive=positive, negative=negative)

    @property
    def classes(self) -> RowClasses:
        """Row classes of the workload."""
        return self.workload.classes

    @property
    def simulation_runs(self) -> int:
        """Number of simulation runs, larger for few queries and for fast mechanisms.

        The mean error of three runs may be small by chance alone, and ``auto`` takes the least.
        """
        of_few = 64 // len(self.workload.classes.matrix)
        least = {NoisyClasses.id: 8, ClippedComposition.id: 8, DyadicMechanism.id: 3}.get(self.id)
        return max(least, of_few) if least else 3

    @property
    def quick(self) -> bool:
        """Whether the mechanism is quick enough for ``auto``.

        ``auto`` never takes two steps of multiplicative weights: they take longer than one step,
        and erred less on one of three workloads alone (docs/experiments/batches.md).
        """
        queries, classes = self.workload.classes.matrix.shape
        dyadic = 4 * classes * self.workload.top.bit_length()
        draws = {NoisyClasses.id: classes, DyadicMechanism.id: dyadic}.get(self.id, 0)
        too_many = self.id == ClippedComposition.id and queries > _MOST_COMPOSED
        return draws <= MOST_DRAWN and not too_many and self.id != NumericalInTwoSteps.id

    @property
    def id(self) -> str:
        """Name of the mechanism, which is the same for both signs."""
        return self.mechanism.id

    def parameters(self) -> Mapping[str, Any]:
        """Id of the mechanism, and its parameters for each sign."""
        sides = [parameters_on(side, _universe_of(side)) for side in self.sides]
        delta = {"delta": self.delta} if self.delta else {}
        return {"id": self.id, "sides": sides, **delta}

    @property
    def options(self) -> OptionValues:
        """Options of the mechanism, which are the same for both signs."""
        return tuple(options_of_linear(self.sides[0], self.workload.unit))

    @property
    def note(self) -> None:
        """None."""
        return

    def noise(self, epsilon: Fraction) -> NoiseLaw | None:
        """Noise law of each answer; None if noise is not the only error."""
        return self.mechanism.noise_law(epsilon)

    def read(self, contingency: ContingencyTable) -> Rows:
        """Class and level of each row of ``contingency``; a row without a value is left out."""
        return self.workload.rows(contingency)

    def release(self, rows: Rows, epsilon: Fraction, noise: Noise) -> BatchOutput:
        """Answers that are (epsilon, ``delta``)-DP in ``rows``."""
        return self.mechanism.release(rows, epsilon, noise, self.delta)


def _universe_of(mechanism: Any) -> Universe:  # noqa: ANN401 - any of the mechanisms
    """Universe of the queries of a mechanism."""
    queries: NumericalQueries = mechanism.queries
    return queries.universe
