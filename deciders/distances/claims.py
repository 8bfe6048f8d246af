"""Claims: statements about the private counts of marginals, each with a margin in rows.

A claim is true or false of every private table.  Its margin is a whole number that one row, added
or removed, moves by at most 1, and it is at least 1 exactly if the claim is true.  So a noisy
margin is a verdict with a p-value (section 3 of docs/theory.md), and the least margin of many
claims is the margin of "all are true" (Theorem G1).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from pqd.deciders.distances.decider import DistanceDecider
from pqd.deciders.distances.statistics import Distance
from pqd.deciders.exact import probability


class Claim(Protocol):
    """Claim about the counts of one marginal, or of several, as a frozen value.

    Conformers: DistanceBelow; FilledBelow, CountKept, FewLost and AllHold (value_claims.py);
    RelationsKept (relations.py).
    """

    id: ClassVar[str]

    @property
    def needs_rows(self) -> bool:
        """Whether the claim depends on the number of private rows, stated or released."""
        ...

    def margin(self, counts: Any, rows: int, parts: int = 1) -> int:  # noqa: ANN401 - the counts of the claim
        """Exact margin of private ``counts``; private.

        ``rows`` is the number of private rows as it was stated or released, which is public.  A
        claim that does not need it ignores it.  ``counts`` and the margin are in so many ``parts``
        of a row, each of which moves the margin by at most 1.
        """
        ...

    def facts(self) -> Any:  # noqa: ANN401 - JSON values
        """Facts for a cache key: everything that the margin depends on, except the counts."""
        ...


@dataclass(frozen=True, slots=True)
class DistanceBelow:
    """Claim that a distance is below ``tau``, a share of the rows in 0 .. 1 (Theorem D4)."""

    distance: Distance
    tau: Fraction

    id: ClassVar[str] = "distance"

    def __post_init__(self) -> None:
        """Raise ParameterError unless the tolerance is a share."""
        probability(self.tau, "tau")

    @property
    def needs_rows(self) -> bool:
        """False: the tolerance is a share of the rows that are counted."""
        return False

    def margin(self, counts: Any, rows: int, parts: int = 1) -> int:  # noqa: ANN401 - as above
        """Margin ``ceil((tau n - T) / (1 + tau))``, n the number of private rows."""
        del rows, parts
        return DistanceDecider().margin(self.distance.rows(counts), counted(counts), self.tau)

    def facts(self) -> list[Any]:
        """Id, tolerance, and the facts of the distance."""
        return [self.id, str(self.tau), self.distance.facts()]


def counted(counts: ArrayLike | Sequence[ArrayLike]) -> int:
    """Number of rows in ``counts`` of one marginal, or in the first of several; private."""
    first = counts[0] if isinstance(counts, list | tuple) else counts
    return int(np.asarray(first).sum())


@dataclass(frozen=True, eq=False)
class AnyHolds:
    """Claim that at least one of several claims about the same counts holds.

    Guarantee: the largest of margins that move by at most 1 moves by at most 1, and it is at least
    1 exactly if one of them is (Theorem G1).
    """

    claims: tuple[Claim, ...]

    id: ClassVar[str] = "any_holds"

    @property
    def needs_rows(self) -> bool:
        """Whether one of the claims needs the number of rows."""
        return any(claim.needs_rows for claim in self.claims)

    def margin(self, counts: Any, rows: int, parts: int = 1) -> int:  # noqa: ANN401 - as above
        """Largest margin."""
        return max(claim.margin(counts, rows, parts) for claim in self.claims)

    def facts(self) -> list[Any]:
        """Facts for a cache key."""
        return [self.id, [claim.facts() for claim in self.claims]]
