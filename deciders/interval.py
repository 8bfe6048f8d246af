"""The open interval in which the private answer must lie for a yes."""

from dataclasses import dataclass
from fractions import Fraction

from pqd.deciders.errors import ParameterError
from pqd.deciders.exact import Number, exact, positive


@dataclass(frozen=True, slots=True, init=False)
class Interval:
    """Open interval ``(lower, upper)`` = ``(q(Ds) - tau, q(Ds) + tau)`` with exact ends.

    ``tau`` is in the unit of the query; ``centre`` is the synthetic answer.  A private answer at an
    end lies outside the interval (Patwa 2023, Def. 3.1: ``|q(D) - q(Ds)| < tau``).
    """

    lower: Fraction
    upper: Fraction

    def __init__(self, lower: Number, upper: Number) -> None:
        """Raise ParameterError unless ``lower < upper`` and both are finite."""
        low, high = exact(lower, "lower end"), exact(upper, "upper end")
        if low.numerator * high.denominator >= high.numerator * low.denominator:
            raise ParameterError(f"interval ({lower}, {upper}) is empty; lower must be below upper")
        object.__setattr__(self, "lower", low)
        object.__setattr__(self, "upper", high)

    @classmethod
    def around(cls, centre: Number, tau: Number) -> "Interval":
        """``(centre - tau, centre + tau)``; ``tau`` must be greater than 0."""
        middle, half = exact(centre, "centre"), positive(tau, "tau")
        return cls(middle - half, middle + half)

    @property
    def centre(self) -> Fraction:
        """Middle of the interval, q(Ds)."""
        return (self.lower + self.upper) / 2

    @property
    def tau(self) -> Fraction:
        """Half the width: the tolerance."""
        return (self.upper - self.lower) / 2

    def contains(self, value: Number) -> bool:
        """Whether ``value`` lies strictly inside the interval."""
        return self.lower < exact(value) < self.upper
