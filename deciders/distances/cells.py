"""Release of all cells of one marginal, and the shares of the private rows in the cells."""

from collections.abc import Iterable, Sequence

from pqd.deciders.distances.combinations import Term
from pqd.deciders.distances.estimates import DistanceEstimates
from pqd.deciders.distances.noise_laws import LaplaceLaw
from pqd.deciders.distances.ratio_intervals import critical_values, share_estimates
from pqd.deciders.distances.vector_law import IndependentNoise
from pqd.deciders.distributions import Floats
from pqd.deciders.exact import Number, budget_of, probability
from pqd.deciders.noise import Noise

# Name of the mechanism in keys and reports.
LAPLACE_CELLS = "laplace_cells"


def release_cells(counts: Iterable[int], epsilon: Number, noise: Noise) -> tuple[int, ...]:
    """Rows in each cell, with discrete Laplace noise of scale ``1 / epsilon``.

    Guarantee: epsilon-DP for all cells together.  A row is in one cell and moves only its count,
    by 1, so the counts have L1 sensitivity 1 (Dwork et al. 2006).
    """
    scale = 1 / budget_of(epsilon)
    return tuple(noise.laplace(int(count), scale) for count in counts)


def cell_shares(
    noisy: Sequence[int], epsilon: Number, estimates: DistanceEstimates, alpha: Number
) -> Floats:
    """Share of the private rows in each cell: value, low and high, an array (cells, 3).

    ``noisy`` are the released cells.  ``estimates`` have the released number of rows, which has
    its own noise.  Each interval accounts for both noises and holds its share with probability at
    least 1 - alpha (docs/theory.md, Theorem D7).
    """
    noise = IndependentNoise((Term(1.0, 1, LaplaceLaw(1 / budget_of(epsilon))),))
    level = float(probability(alpha, "alpha"))
    critical = critical_values(noise, estimates.law.rows, level)
    return share_estimates(noisy, float(estimates.released[0]), critical, slack=0.0)
