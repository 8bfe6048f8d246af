"""Numbers of a profile as they were estimated, with the interval of each."""

from __future__ import annotations

from typing import NamedTuple


class Figure(NamedTuple):
    """Number as estimated; ``low`` and ``high`` hold the true one with probability 1 - alpha.

    A share between 0 and 1; only ``ProfileReport.rows`` is a number of rows.
    """

    value: float
    low: float
    high: float


class Estimated:
    """Mix-in of what has an estimate: its parts by themselves, None in a plan."""

    __slots__ = ()
    estimate: Figure | None

    @property
    def value(self) -> float | None:
        """Share as estimated."""
        return None if self.estimate is None else self.estimate.value

    @property
    def low(self) -> float | None:
        """Lower end of its interval."""
        return None if self.estimate is None else self.estimate.low

    @property
    def high(self) -> float | None:
        """Upper end of its interval."""
        return None if self.estimate is None else self.estimate.high
