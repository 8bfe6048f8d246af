"""Radius of cube noise: whole numbers Z with ``Pr[Z = z] proportional to exp(-max|z_j| / scale)``.

This is the K-norm mechanism (Hardt and Talwar, STOC 2010) for the largest coordinate, on whole
numbers.  Its law is a mixture of uniform laws on cubes.  The radius R has
``Pr[R = r] proportional to exp(-r / scale) (2 r + 1)^K``.  Given R, Z is uniform on the
``(2 R + 1)^K`` points with coordinates in ``-R .. R``.  Then the sum over ``r >= max|z_j|`` is
geometric (docs/theory.md, Lemma D5a).

The radius is drawn exactly, by rejection of draws from a discrete Laplace law around its mode.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property, lru_cache

# Digits of a chance that are compared at a time, and digits that its computation may lose.
_DIGITS, _SPARE = 60, 80
# Amount by which the envelope is raised; it is far larger than the error of the computation.
_MARGIN = Decimal("1e-50")


# Without slots, because its numbers are cached.
@dataclass(frozen=True)
class CubeRadius:
    """Law of the radius for K = ``numbers`` coordinates, as a rejection sampler."""

    numbers: int
    scale: Fraction

    @cached_property
    def mode(self) -> int:
        """Centre of the proposals, near the most likely radius."""
        return math.floor(self.numbers * self.scale)

    @cached_property
    def spread(self) -> Fraction:
        """Scale of the discrete Laplace proposal, a whole number that makes its tails heavier."""
        width = math.isqrt((self.mode + 1) ** 2 // self.numbers)
        return Fraction(width + 1 + math.ceil(2 * self.scale))

    def accepts(self, radius: int, draw: Callable[[int], int]) -> bool:
        """Whether a proposed radius is accepted; ``draw(n)`` is uniform on ``0 .. n - 1``.

        A uniform number between 0 and 1 is compared with the chance, one block of digits at a time,
        until the two differ.  So the radius is accepted with exactly this chance.
        """
        if radius < 0:
            return False
        drawn, digits = 0, 0
        while True:
            drawn, digits = drawn * 10**_DIGITS + draw(10**_DIGITS), digits + _DIGITS
            low, high = self._bounds(radius, digits)
            if drawn < low:
                return True
            if drawn >= high:
                return False

    @lru_cache(maxsize=4096)  # noqa: B019 - of a few laws, which are kept anyway
    def _bounds(self, radius: int, digits: int) -> tuple[int, int]:
        """Lower and upper bounds, in whole numbers, on ``chance * 10^digits``."""
        with localcontext() as context:
            context.prec = digits + _SPARE
            log = self._log_ratio(Decimal(radius)) - self._envelope
            scaled = log.exp().scaleb(digits)
            return math.floor(scaled - _MARGIN), math.ceil(scaled + _MARGIN)

    def chance(self, radius: int) -> float:
        """Chance that a proposed radius is accepted, as a double."""
        return 0.0 if radius < 0 else self._bounds(radius, _DIGITS)[1] / 10**_DIGITS

    @cached_property
    def _envelope(self) -> Decimal:
        """Upper bound on the logarithm of target over proposal, slightly above its maximum.

        On each side of the mode the logarithm is concave, and its maximum is where its slope is 0.
        """
        rate, tops = 1 / self.scale, [Decimal(0)]
        with localcontext() as context:
            context.prec = _DIGITS + _SPARE
            for side in (1, -1):
                top = (2 * self.numbers / (rate - side / self.spread) - 1) / 2
                if (top - self.mode) * side > 0 and top > 0:
                    tops.append(self._log_ratio(_decimal(top)))
            return max(tops) + _MARGIN

    def _log_ratio(self, radius: Decimal) -> Decimal:
        """Logarithm of target over proposal, where both are scaled to 1 at the mode."""
        steps = radius - self.mode
        volume = self.numbers * ((2 * radius + 1) / (2 * self.mode + 1)).ln()
        return volume - steps / _decimal(self.scale) + abs(steps) / _decimal(self.spread)


@lru_cache(maxsize=16)
def cube_radius(numbers: int, scale: Fraction) -> CubeRadius:
    """Law of the radius, cached by its parameters."""
    return CubeRadius(numbers, scale)


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)
