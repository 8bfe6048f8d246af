"""Numbers as a reader sees them."""

import math
from fractions import Fraction

Figure = int | float | Fraction


def plain(number: Fraction) -> int | float:
    """Return an exact number as a JSON number: an int where it is whole."""
    return number.numerator if number.denominator == 1 else float(number)


def number_text(number: Figure, digits: int = 6) -> str:
    """Return ``number`` with thousands marks and at most ``digits`` significant decimals."""
    if isinstance(number, Fraction):
        number = plain(number)
    if isinstance(number, int):
        return f"{number:,}"
    if not math.isfinite(number):
        return "infinite" if number > 0 else "-infinite"
    if number == int(number) and abs(number) < 1e15:
        return f"{int(number):,}"
    whole = max(1, len(str(abs(int(number)))))
    if abs(number) >= 1e-4:
        return f"{number:,.{max(0, digits - whole)}f}".rstrip("0").rstrip(".")
    return f"{number:.3g}"


def epsilon_text(epsilon: Fraction | float) -> str:
    """Return a budget as written: a short decimal, else a fraction."""
    exact = Fraction(epsilon)
    text = f"{float(exact):.6g}"
    return text if Fraction(text) == exact or not isinstance(epsilon, Fraction) else str(exact)
