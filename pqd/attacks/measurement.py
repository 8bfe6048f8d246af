"""Measurement of the success counts of all attacks, and of the number of rows, in one release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pqd.attacks.outcomes import Attacks
from pqd.deciders.distances.cube_law import CubeLaw
from pqd.deciders.estimators import EstimatorOutput
from pqd.deciders.noise import check_cube
from pqd.deciders.risk.successes import (
    CUBE_SUCCESSES,
    Successes,
    law_of,
    release_successes,
)
from pqd.marginals.measurements import MarginalMeasurement

if TYPE_CHECKING:
    from pqd.deciders import Noise
    from pqd.engine.marginals import MarginalCounts, RowMap


@dataclass(frozen=True, eq=False, kw_only=True)
class AttacksMeasurement(MarginalMeasurement[EstimatorOutput]):
    """Measurement of the success counts of all attacks, and of the number of rows.

    Guarantee: ``epsilon``-DP.  One row has one joint outcome, so it moves each number by at most 1
    (Theorem R1).  With a unit the weights of a person's rows add up to at most one row.

    Attributes
    ----------
    attacks
        The map of each row to its joint outcome.
    """

    attacks: Attacks

    def __post_init__(self) -> None:
        """Raise ParameterError, or UnanswerableError if the sampler cannot draw the noise."""
        super().__post_init__()
        check_cube(self.law.numbers, self.law.scale)

    @property
    def marginals(self) -> tuple[RowMap, ...]:
        """Map whose cells are counted."""
        return (self.attacks,)

    @property
    def law(self) -> CubeLaw:
        """Law of the noise of each number."""
        return law_of(len(self.attacks.counted), self.epsilon)

    @property
    def rounding(self) -> float:
        """Most by which a number is rounded to whole rows before the noise."""
        return 0.5 if self.parts > 1 else 0.0

    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the mechanism."""
        return {"kind": "attacks", "id": CUBE_SUCCESSES}

    def run(self, counts: MarginalCounts, noise: Noise) -> EstimatorOutput:
        """Noisy number of rows, then the noisy balance of each set of outcomes."""
        own = counts[self.attacks]
        rows = self.in_rows(int(own.sum()))
        successes = [self.in_rows(int(own[each].sum())) for each in self.attacks.counted]
        return EstimatorOutput(release_successes(rows, successes, self.epsilon, noise))

    def released(self, numbers: Sequence[int]) -> tuple[Successes, ...]:
        """Released number of rows in each set of outcomes, with all rows and the noise."""
        rows, *balances = numbers
        return tuple(Successes.of(rows, each, self.law, self.rounding) for each in balances)

    def _key_facts(self) -> Any:  # noqa: ANN401 - JSON values
        return self.attacks.facts()
