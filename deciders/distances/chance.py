"""Distances that chance alone gives: of two independent samples, and of a drawing from one table.

Everything here is public: it is a function of the copy's counts and of two numbers of rows.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pqd.deciders.distributions import Floats
from pqd.deciders.errors import ParameterError

# From this mean of the rarer part on, the mean deviation is taken as that of a normal law: it is
# then off by less than half a per cent.
_NORMAL = 20.0
# Of so many rows half is taken as exactly half.
_HALVED = 200
# Ratios of two numbers of rows beyond this one change no distance that anybody could tell.
_MOST_RATIO = 2_000


def drawn_distance(copy: ArrayLike, rows: int) -> float:
    """Expected total variation between the copy and ``rows`` rows drawn from it, as a share.

    It is exact, without simulation.  The rows of a cell are binomial, and the distance is half the
    sum of their mean deviations, divided by ``rows``.

    Raises
    ------
    ParameterError
        If the copy has no rows, or ``rows`` is below 1.
    """
    sizes, cells, whole = _sizes(copy, rows)
    pairs = zip(sizes.tolist(), cells.tolist(), strict=True)
    total = math.fsum(number * _mean_deviation(rows, size, whole) for size, number in pairs)
    return total / (2 * rows)


def independent_distance(copy: ArrayLike, rows: int) -> float:
    """Expected total variation of two independent samples, of ``rows`` and of the copy's rows.

    A copy that is as good as real rows is a second sample of them.  So this is the distance that
    such a copy has from a private table of ``rows`` rows, on average.

    Let the copy have s of its m rows in a cell, and let ``q = rows / (rows + m)``.  If the copy is
    parted at random, a row going to the first part with probability q, the shares of the cell in
    the two parts differ by ``|B - s q| / (m q (1 - q))`` on average, B binomial of s and q.  The
    parts are independent samples whatever the law of the rows is.  (Samples drawn from the copy's
    shares would be too near each other, since these lack the cells that the copy lacks.)

    The parts are ``c = (rows + m) / m`` times smaller than the two samples.  Were the rows of a
    cell Poisson of mean s, the mean of ``|B - s q|`` would be g(s) in the parts and g(c s) in the
    samples.  The sum over the cells is taken on in this ratio, which is the square root of c where
    the cells have many rows.  From half of the copy to the copy the true growth is known, too;
    where it differs from that of g, it is taken to differ alike at each doubling.  The factor
    ``sqrt(1 - s / m)`` is that of a fixed number of rows.

    Raises
    ------
    ParameterError
        If the copy has no rows, or ``rows`` is below 1.
    """
    sizes, cells, whole = _sizes(copy, rows)
    part = min(max(rows, -(-whole // _MOST_RATIO)), whole * _MOST_RATIO)
    weights = cells * np.sqrt(1 - sizes / whole)
    more = (part + whole) / whole
    share = part, part + whole

    def over_cells(deviation: Callable[[int], float]) -> float:
        return float(weights @ np.array([deviation(size) for size in sizes.tolist()]))

    parts = over_cells(lambda size: _deviation_at(*share, size))
    if not parts:
        return 0.0
    halves = over_cells(lambda size: _halved_deviation(*share, size))

    def growth(of: float, to: float) -> float:
        first, last = (
            over_cells(lambda size, by=by: _poisson_deviation(*share, by * size))  # type: ignore[misc]
            for by in (of, to)
        )
        return last / first

    apart = parts / halves / growth(0.5, 1)
    grown = parts * growth(1, more) * apart ** math.log2(more)
    return float(min(1.0, grown * (part + whole) / (2 * part * whole)))


def _sizes(copy: ArrayLike, rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Distinct counts of the cells that have rows, the number of cells with each, and all rows."""
    counts = np.asarray(copy, dtype=np.int64).ravel()
    sizes, cells = np.unique(counts[counts != 0], return_counts=True)
    whole = int(sizes @ cells)
    if rows < 1 or whole < 1 or sizes[0] < 0:
        raise ParameterError("chance needs rows to draw, and a copy that has some")
    return sizes, cells, whole


@lru_cache(maxsize=8)
def _mean_deviations(part: int, whole: int) -> Floats:
    """Mean of ``|B - s q|`` for s from 0 on, with ``q = part / whole``, until a law is normal."""
    rarer = min(part, whole - part) / whole
    most = math.ceil(2 * _NORMAL / rarer) + 200
    return np.array([_mean_deviation(size, part, whole) if size else 0.0 for size in range(most)])


def _deviation_at(part: int, whole: int, size: int) -> float:
    """Mean deviation of a binomial of ``size`` and ``q = part / whole``."""
    known = _mean_deviations(part, whole)
    if size < known.size:
        return float(known[size])
    q = part / whole
    return math.sqrt(2 * size * q * (1 - q) / math.pi)


# Counts repeat in the marginals of a table, and a gate and a profile need them more than once.
@lru_cache(maxsize=2**14)
def _halved_deviation(part: int, whole: int, size: int) -> float:
    """Mean deviation where each of ``size`` rows is kept with probability one half."""
    if size >= _HALVED:
        return math.sqrt(0.5) * _deviation_at(part, whole, size)
    chances = [math.comb(size, kept) / 2**size for kept in range(size + 1)]
    return float(np.array(chances) @ _mean_deviations(part, whole)[: size + 1])


@lru_cache(maxsize=2**14)
def _poisson_deviation(part: int, whole: int, mean: float) -> float:
    """Mean deviation of a binomial whose size is Poisson of ``mean``."""
    q, known = part / whole, _mean_deviations(part, whole)
    reach = 8 * math.sqrt(mean) + 20
    first, last = max(0, math.floor(mean - reach)), math.ceil(mean + reach)
    if mean * min(q, 1 - q) > _NORMAL or last >= known.size:
        return math.sqrt(2 * mean * q * (1 - q) / math.pi)
    sizes = range(first, last + 1)
    logs = np.array([size * math.log(mean) - mean - math.lgamma(size + 1) for size in sizes])
    return float(np.exp(logs) @ known[first : last + 1])


def _mean_deviation(n: int, size: int, whole: int) -> float:
    """Mean of ``|B - n p|``, B binomial of n and ``p = size / whole``.

    It is ``2 v C(n, v) p^v (1 - p)^(n - v + 1)`` with ``v = floor(n p) + 1`` (de Moivre 1730;
    Diaconis and Zabell 1991).
    """
    if size in {0, whole}:
        return 0.0
    v = n * size // whole + 1
    log = (
        math.lgamma(n + 1)
        - math.lgamma(v + 1)
        - math.lgamma(n - v + 1)
        + v * math.log(size / whole)
        + (n - v + 1) * math.log1p(-size / whole)
    )
    return 2 * v * math.exp(log)


class JointChance(NamedTuple):
    """Marginal distances of simulated tables, an array (tables, K): their means and deviations.

    ``means`` has shape (K,), ``deviations`` shape (tables, K), at the sizes of the tables that
    were asked for.  All distances of one row are of the same table, so sums, means and the largest
    of many have their joint law.
    """

    means: Floats
    deviations: Floats

    def quantile(self, share: float, weights: Sequence[float]) -> float:
        """Quantile of the weighted mean of the distances."""
        own = np.asarray(weights, dtype=np.float64)
        return float(self.means @ own) + _quantile(self.deviations @ own, share)

    def at_once(self, alpha: float, weights: ArrayLike) -> Floats:
        """Values that no weighted mean exceeds, all at once with probability 1 - alpha, (J,).

        ``weights``, of shape (K, J), has a column for each of J means; the mean of one marginal is
        a column of zeros with a single 1.  Each value is as many of its own deviations above its
        mean as the largest of all J reaches.
        """
        own = np.asarray(weights, dtype=np.float64)
        deviations: Floats = self.deviations @ own
        spread = deviations.std(axis=0)
        units = np.where(spread > 0, spread, 1.0)
        most = _quantile((deviations / units).max(axis=1), 1 - alpha)
        marks: Floats = self.means @ own + max(0.0, most) * spread
        return marks


def _quantile(simulated: Floats, share: float) -> float:
    """Quantile of a law of which N values were simulated; rounded away from the middle.

    One more value of the same law exceeds the k-th smallest with probability ``1 - k/(N + 1)``.
    """
    number = simulated.size
    place = share * (number + 1)
    k = math.ceil(place) if 2 * share >= 1 else math.floor(place)
    return float(np.sort(simulated)[min(max(k, 1), number) - 1])


def simulated_deviations(
    cells: Sequence[NDArray[np.int64]],
    draws: NDArray[Any],
    weights: Floats,
    size: Floats,
    rest: Floats,
) -> Floats:
    """Total variations of simulated tables less their means, an array (tables, K).

    ``cells`` has the cell of each row in each of K marginals, ``weights`` (rows,) the row's weight.
    ``draws``, of shape (rows, tables), says how often a table has a row, times its weight; ``size``
    is the weight of the table's rows.  Each table is compared with the rows that it lacks, which
    weigh ``rest``, or where this is 0 with all rows.
    """
    whole = weights.sum()
    factor = 1 / size + np.divide(1, rest, out=np.zeros_like(rest), where=rest > 0)
    others = 1 / np.where(rest > 0, rest, whole)
    distances = np.empty((draws.shape[1], len(cells)))
    for place, codes in enumerate(cells):
        order = np.argsort(codes, kind="stable")
        starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
        counts = np.add.reduceat(draws[order], starts, axis=0)
        rows = np.add.reduceat(weights[order], starts)
        gaps = counts * factor - rows[:, None] * others
        distances[:, place] = np.abs(gaps, out=gaps).sum(axis=0) / 2
    deviations: Floats = distances - distances.mean(axis=0)
    return deviations
