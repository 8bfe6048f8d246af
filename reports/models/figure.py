"""Estimated numbers of a profile, each with its interval."""

from __future__ import annotations

from typing import NamedTuple


class Figure(NamedTuple):
    """Estimate; with probability 1 - alpha the true number lies between ``low`` and ``high``.

    The number is a share between 0 and 1.  Only a report's ``rows`` is a number of rows.
    """

    value: float
    low: float
    high: float


class Estimated:
    """Mix-in that gives the parts of ``estimate`` as properties, which are None in a plan."""

    __slots__ = ()
    estimate: Figure | None

    @property
    def value(self) -> float | None:
        """Estimated share."""
        return None if self.estimate is None else self.estimate.value

    @property
    def low(self) -> float | None:
        """Lower end of the interval."""
        return None if self.estimate is None else self.estimate.low

    @property
    def high(self) -> float | None:
        """Upper end of the interval."""
        return None if self.estimate is None else self.estimate.high
