"""Forecast of the verdict on an excess: with which tolerance, epsilon and rows most runs decide.

"Decide" means nine runs of ten (deciders/decided.py).  A forecast is made from public or released
numbers, and it is no bound.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist

from pqd.deciders.decided import DECIDED
from pqd.deciders.evaluation.needed_budget import rounded_epsilon
from pqd.deciders.exact import Number, as_float, budget_of
from pqd.deciders.monotone_search import HALF_A_PER_CENT, least
from pqd.deciders.numbers import rounded_up
from pqd.deciders.risk.excess import Excess
from pqd.deciders.risk.successes import Successes, law_of

# Deviations by which one run of ten is off, at least, to one side.
_DRIFT = NormalDist().inv_cdf(as_float(DECIDED))
# The search for an epsilon goes in hundredths of the first one, to so many of them.
_STEPS, _MOST_STEPS = 100, 100 * 2**10
# The most held-out rows that are tried.
_MOST_ROWS = 10**8


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcessForecast:
    """Forecast of runs that release ``numbers`` success counts of each table.

    ``rate`` is the rate on ``held_out_rows`` rows, and ``excess`` what the rate on ``rows`` rows is
    above it.  With ``same_rows`` the runs are on the rows of which ``excess`` was released, so only
    the noise is new; else the rows are drawn anew too.  ``rounding`` is that of ``Successes``.
    """

    rate: float
    rows: int
    held_out_rows: int
    numbers: int
    alpha: Fraction
    excess: float = 0.0
    same_rows: bool = False
    rounding: float = 0.0

    def tau_decided(self, epsilon: Number) -> float:
        """Least tolerance at which a run proves that the excess is at most the tolerance."""
        return min(1.0, self._drawn(epsilon, 1).most(as_float(self.alpha)))

    def decides(self, tau: float, epsilon: Number) -> bool:
        """Whether a run proves on which side of the tolerance the excess is."""
        side = 1 if self.excess <= tau else -1
        drawn = self._drawn(epsilon, side)
        p_value = drawn.p_less(tau) if side > 0 else drawn.p_more(tau)
        return p_value <= drawn.alpha

    def needed_epsilon(self, tau: float, first: Number) -> float | None:
        """Least epsilon, from ``first`` on, at which a run decides; None if none does."""
        unit = budget_of(first) / _STEPS
        steps = _least(lambda steps: self.decides(tau, steps * unit), _MOST_STEPS, _STEPS)
        return None if steps is None else rounded_epsilon(steps * unit)

    def needed_held_out_rows(self, tau: float, epsilon: Number) -> int | None:
        """Least number of held-out rows with which a run decides, to three digits; None if none is.

        The sampling error of the private rows stays, however many are held out.
        """

        def decides(rows: int) -> bool:
            return replace(self, held_out_rows=rows).decides(tau, epsilon)

        rows = _least(decides, _MOST_ROWS, self.held_out_rows)
        return None if rows is None else math.ceil(rounded_up(Fraction(rows)))

    def _drawn(self, epsilon: Number, side: int) -> Excess:
        """Released numbers that are as near to the tolerance as one run of ten has them."""
        there = self._excess(epsilon, self.excess)
        return self._excess(
            epsilon, self.excess + side * _DRIFT * there.deviation(sampling=not self.same_rows)
        )

    def _excess(self, epsilon: Number, excess: float) -> Excess:
        law = law_of(self.numbers, budget_of(epsilon))
        rate = min(max(self.rate + excess, 0.0), 1.0)
        own = Successes(self.rows, rate * self.rows, law, self.rounding)
        other = Successes(self.held_out_rows, self.rate * self.held_out_rows, law, self.rounding)
        return Excess(own, other, as_float(self.alpha))


def _least(holds: Callable[[int], bool], most: int, first: int) -> int | None:
    """Least number at which a claim holds, to half a per cent; the largest is tried first."""
    return least(holds, most, first, parts=HALF_A_PER_CENT) if holds(most) else None
