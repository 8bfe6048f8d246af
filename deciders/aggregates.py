"""The exact answer of each aggregate on a histogram, in lattice units."""

from fractions import Fraction

from pqd.deciders.errors import ParameterError
from pqd.deciders.histogram import Histogram

HALF = Fraction(1, 2)


def answer(aggregate: str, histogram: Histogram, p: Fraction = HALF) -> Fraction | None:
    """Answer, None where there is none (a mean or quantile of no rows).

    For COUNT DISTINCT the histogram is that of the multiplicities (``Histogram.multiplicities``).
    ``p`` is the quantile's; the ``p``-quantile is the ``ceil(p n)``-th smallest value, the median
    is the one at one half (the lower median).
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
