"""Private multiplicative weights: a distribution over the universe that answers linear queries."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from pqd.deciders.batch.budget import PrivacyBudget
from pqd.deciders.batch.linear.grouped_weights import GroupedWeights
from pqd.deciders.batch.linear.queries import Tails
from pqd.deciders.batch.linear.unit_queries import LinearQueries
from pqd.deciders.distributions import Floats
from pqd.deciders.exact import as_float
from pqd.deciders.exponential_mechanism import exponential_choice
from pqd.deciders.histogram import Integers
from pqd.deciders.noise import Noise, noisy_value

# True answers are sums of whole numbers, rounded once or twice (each time by 2^-53 of at most 2^31
# rows); estimates are the same doubles on neighbouring tables.  ``SLACK`` is added to
# sensitivities for this rounding.
SLACK = Fraction(1, 1024)
_STEPS = SLACK.denominator


def noisy_size(counts: Integers, group: int, epsilon: Fraction, noise: Noise) -> int:
    """Number of cells that the table holds, at least 1: epsilon-DP.

    The paper takes n as public, since replacing a row does not change it.  Adding or removing a
    row changes n by at most ``group`` (ours).
    """
    return max(1, noise.laplace(int(counts.sum()), group / epsilon))


def noisy_error(
    queries: LinearQueries, tails: Tails, weights: GroupedWeights, epsilon: Fraction, noise: Noise
) -> float:
    """Largest error of ``weights`` over all queries, at least 0: epsilon-DP.

    ``tails`` are those of the table.  For fixed ``weights`` each error, and so their maximum,
    moves by at most the sensitivity s if a row is added or removed.  Section 6 states s = 1 for
    a replaced row; s = 1 holds here too, except in universes where a row is several cells (ours).
    The release is a whole multiple of 1/1024; in these units the maximum, computed in doubles,
    has sensitivity ``1024 s + 1``.
    """
    error = float(np.abs(queries.answers(tails) - weights.answers).max())
    scale = error_scale(queries.sensitivity, epsilon)
    return max(0, noise.laplace(math.floor(error * _STEPS), scale)) / _STEPS


def error_scale(sensitivity: int, epsilon: Fraction) -> Fraction:
    """Noise scale of ``noisy_error``, in steps of 1/1024."""
    return (_STEPS * sensitivity + 1) / epsilon


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiplicativeWeights:
    """MWEM (Hardt, Ligett and McSherry 2012), the variant of PMW that the paper runs.

    It begins with the uniform distribution of mass n.  Each of ``rounds`` selects the query with
    the largest error by the exponential mechanism, measures it with Laplace noise, and multiplies
    every cell x by ``exp(q(x) (measured - estimated) / (2 n))``.  Then each round applies all
    measurements so far ``replays`` times more in the same way.  The last distribution is
    returned.  MWEM's theorem is about the average over the rounds, without replays.  Its authors
    replay too, and the average would include distributions of rounds that knew less.

    Guarantee: (epsilon, delta)-DP, as the adaptive composition of ``2 rounds`` mechanisms of one
    share each (``PrivacyBudget.share``).  A selection uses an error of sensitivity s, and a
    measurement an exact rational answer of sensitivity s, where s is ``queries.sensitivity``
    (ours: given all earlier releases, both change by at most s if one row is added or removed).
    The rest is post-processing; n is noisy or public.  The selection's weights are doubles; to
    make up for their rounding its sensitivity is taken as ``s + 1/1024``.
    """

    key_fields: ClassVar[tuple[str, ...]] = ("rounds", "replays")

    rounds: int = 10
    replays: int = 10

    def largest_scale(self, sensitivity: int, epsilon: Fraction) -> Fraction:
        """Bound on the scale of the measurements, at any delta."""
        return 2 * self.rounds * sensitivity / epsilon

    def fit(
        self,
        queries: LinearQueries,
        tails: Tails,
        size: int,
        budget: PrivacyBudget,
        noise: Noise,
    ) -> GroupedWeights:
        """Weights of all cells, of total ``size``, fitted to a table with the given ``tails``."""
        share = budget.share(2 * self.rounds)
        sensitivity, truth = queries.sensitivity, queries.answers(tails)
        weights, measured = GroupedWeights(queries, size), list[float]()
        for _ in range(self.rounds):
            errors = np.abs(truth - weights.answers)
            query = queries.query(_select(errors, sensitivity, share, noise))
            noisy = as_float(noisy_value(query.exact(tails), sensitivity / share, noise))
            # Every answer lies in 0 .. n; the cut also keeps an update from overflow.
            measured.append(min(max(noisy, 0.0), float(size)))
            weights.divide(query)
            weights.pull(measured, self.replays)
        return weights


def _select(errors: Floats, sensitivity: int, share: Fraction, noise: Noise) -> int:
    """Query chosen by the exponential mechanism, ``exp(share error / (2 s))``."""
    rate = as_float(share / (2 * (sensitivity + SLACK)))
    return exponential_choice(errors * rate, noise)
