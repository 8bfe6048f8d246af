"""Private multiplicative weights: a distribution over the universe that answers linear queries."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from deciders.batch.budget import PrivacyBudget
from deciders.batch.exponential_mechanism import exponential_choice
from deciders.batch.linear.unit_queries import LinearQueries
from deciders.distributions import Floats
from deciders.exact import as_float
from deciders.histogram import Integers
from deciders.noise import Noise, noisy_value

# True answers are sums of whole numbers, rounded once or twice (2^-53 of at most 2^31 rows each
# time); estimates are the same doubles on neighbouring tables.  Sensitivities are widened by this.
SLACK = Fraction(1, 1024)
_STEPS = SLACK.denominator


def noisy_size(counts: Integers, group: int, epsilon: Fraction, noise: Noise) -> int:
    """Number of cells that the table holds, at least 1: epsilon-DP.

    The paper takes n as public, as replacing a row leaves it alone.  Adding or removing one
    changes it by at most ``group`` (ours).
    """
    return max(1, noise.laplace(int(counts.sum()), group / epsilon))


def noisy_error(
    queries: LinearQueries, counts: Integers, weights: Floats, epsilon: Fraction, noise: Noise
) -> float:
    """Largest error of ``weights`` over all queries, at least 0: epsilon-DP.

    With ``weights`` fixed each error moves by at most the sensitivity s when a row is added or
    removed, and so does their maximum: section 6 states 1 for a replaced row, and s = 1 holds here
    too, but for universes in which a row is several cells (ours).  Released are whole multiples of
    1/1024, in which the maximum of doubles has sensitivity ``1024 s + 1``.
    """
    error = float(np.abs(queries.answers(counts) - queries.answers(weights)).max())
    scale = error_scale(queries.sensitivity, epsilon)
    return max(0, noise.laplace(math.floor(error * _STEPS), scale)) / _STEPS


def error_scale(sensitivity: int, epsilon: Fraction) -> Fraction:
    """Noise scale of ``noisy_error``, in steps of 1/1024."""
    return (_STEPS * sensitivity + 1) / epsilon


@dataclass(frozen=True, slots=True)
class _NoisyAnswer:
    """Query where it is not 0, and its noisy answer."""

    cells: Integers
    values: Floats
    answer: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiplicativeWeights:
    """MWEM (Hardt, Ligett and McSherry 2012), the variant of PMW that the paper runs.

    From the uniform distribution of mass n on, each of ``rounds`` selects the query of the largest
    error by the exponential mechanism, measures it with Laplace noise, and multiplies every
    cell x by ``exp(q(x) (measured - estimated) / (2 n))``; then the measurements of all rounds are
    gone through ``replays`` times more in the same way, and the last distribution is returned.
    MWEM's theorem is about the average of the rounds without replays; its authors replay, and the
    average would keep the distributions of rounds that knew less.

    Guarantee: (epsilon, delta)-DP, as the adaptive composition of ``2 rounds`` mechanisms of one
    share each (``PrivacyBudget.share``): selection, by an error of sensitivity s, and measurement,
    by an exact rational answer of sensitivity s, where s is ``queries.sensitivity`` (ours: both
    change by at most s when one row is added or removed, given all that was released before).
    The rest is post-processing; n is noisy or public.  The selection's weights are doubles, and
    its sensitivity is taken as ``s + 1/1024`` for what they are off by.
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
        counts: Integers,
        size: int,
        budget: PrivacyBudget,
        noise: Noise,
    ) -> Floats:
        """Weights of all cells, of total ``size``."""
        share = budget.share(2 * self.rounds)
        sensitivity, truth = queries.sensitivity, queries.answers(counts)
        weights = np.full(counts.size, size / counts.size)
        measured: list[_NoisyAnswer] = []
        for _ in range(self.rounds):
            errors = np.abs(truth - queries.answers(weights))
            place = _select(errors, sensitivity, share, noise)
            measured.append(_measure(queries.row(place), counts, size, sensitivity / share, noise))
            for one in [measured[-1], *(self.replays * measured)]:
                _pull(weights, one, size)
        return weights


def _select(errors: Floats, sensitivity: int, share: Fraction, noise: Noise) -> int:
    """Query by the exponential mechanism, ``exp(share error / (2 s))``."""
    rate = as_float(share / (2 * (sensitivity + SLACK)))
    return exponential_choice(errors * rate, noise)


def _measure(
    row: tuple[Integers, int], counts: Integers, size: int, scale: Fraction, noise: Noise
) -> _NoisyAnswer:
    """Query and its exact answer with Laplace noise of ``scale``."""
    numerators, denominator = row
    exact = Fraction(int(counts @ numerators), denominator)
    noisy = as_float(noisy_value(exact, scale, noise))
    cells = np.flatnonzero(numerators)
    # No answer lies outside 0 .. n, and an update cannot overflow then.
    return _NoisyAnswer(cells, numerators[cells] / denominator, min(max(noisy, 0.0), float(size)))


def _pull(weights: Floats, measured: _NoisyAnswer, size: int) -> None:
    """Move the weights towards one measurement, in place, and restore their total."""
    before = weights[measured.cells]
    gap = measured.answer - float(measured.values @ before)
    weights[measured.cells] = before * np.exp(measured.values * (gap / (2 * size)))
    weights *= size / weights.sum()
