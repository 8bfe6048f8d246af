"""The exact answer of each aggregate on a histogram, in lattice units."""

from fractions import Fraction

from pqd.deciders.errors import ParameterError
from pqd.deciders.histogram import Histogram

HALF = Fraction(1, 2)


def answer(aggregate: str, histogram: Histogram, p: Fraction = HALF) -> Fraction | None:
    """Answer, or None if there is none (a mean or quantile of no rows).

    For COUNT DISTINCT, ``histogram`` is that of the multiplicities (``Histogram.multiplicities``).
    ``p`` belongs to QUANTILE and MEDIAN: the ``p``-quantile is the ``ceil(p n)``-th smallest
    value, and the (lower) median is the quantile at one half.
    """
    if aggregate in {"COUNT", "COUNT DISTINCT"}:
        return Fraction(histogram.mass)
    if aggregate == "SUM":
        return Fraction(histogram.total)
    if aggregate not in {"AVG", "MEDIAN", "QUANTILE"}:
        raise ParameterError(f"there is no aggregate {aggregate!r}")
    if not histogram.mass:
        return None
    if aggregate == "AVG":
        return Fraction(histogram.total, histogram.mass)
    return Fraction(histogram.quantile(p))
