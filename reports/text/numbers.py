"""Numbers as a reader sees them."""

import math
from fractions import Fraction

Figure = int | float | Fraction


def plain(number: Fraction) -> int | float:
    """Return an exact number as a JSON number: an int where it is whole."""
    return number.numerator if number.denominator == 1 else float(number)


def number_text(number: Figure, digits: int = 6) -> str:
    """Return ``number`` with thousands marks, to ``digits`` significant digits beyond the point.

    Whole numbers are shown whole, however many digits they have.
    """
    if isinstance(number, Fraction):
        number = plain(number)
    if isinstance(number, int):
        return f"{number:,}"
    if not math.isfinite(number):
        return "infinite" if number > 0 else "-infinite"
    size = abs(number)
    if number == int(number) and size < 2**53:
        return f"{int(number):,}"
    if size < 1e-3 or size >= 2**53:
        return f"{number:.{digits}g}"
    text = f"{number:,.{max(0, digits - 1 - math.floor(math.log10(size)))}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def epsilon_text(epsilon: Fraction | float) -> str:
    """Return a budget as written: a short decimal, else a fraction."""
    exact = Fraction(epsilon)
    text = f"{float(exact):.6g}"
    return text if Fraction(text) == exact or not isinstance(epsilon, Fraction) else str(exact)
