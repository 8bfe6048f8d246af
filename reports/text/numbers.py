"""Texts of numbers, counts and lists for a reader."""

import math
import re
from collections.abc import Iterable, Iterator
from fractions import Fraction

from pqd.deciders.exact import exceeds
from pqd.deciders.numbers import (
    Figure,
    bound_text,
    epsilon_option,
    epsilon_text,
    factor_text,
    guess_text,
    limit_text,
    number_text,
    plain,
    plain_ratio,
    rounded_up,
)

# These functions of ``pqd.deciders.numbers`` can be imported from here too.
__all__ = [
    "bound_text",
    "epsilon_option",
    "epsilon_text",
    "factor_text",
    "guess_text",
    "limit_text",
    "number_text",
    "plain",
    "plain_ratio",
    "rounded_up",
]

# Stands for the tolerance of a report if its queries have different tolerances.
EACH_ITS_OWN = "stated for each query"
# Of more verdicts than this, the terminal and Markdown show a summary with the worst of them.
MOST_IN_FULL = 50
LISTED = 20
# Decimals of a p-value.  If they do not tell it from alpha, the text compares the two.
_MOST_DIGITS = 6


def end_text(end: Figure, digits: int = 4, *, up: bool) -> str:
    """End of an interval, written as by ``number_text`` but rounded outwards.

    So the shown interval contains the exact one.
    """
    number = plain(end) if isinstance(end, Fraction) else end
    if isinstance(number, int) or not math.isfinite(number) or number.is_integer():
        return number_text(number, digits)
    places = max(0, digits - 1 - math.floor(math.log10(abs(number))))
    # A rounding error of the number itself must not move it by a whole digit.
    steps = number * 10.0**places
    whole = math.ceil(steps - 1e-9) if up else math.floor(steps + 1e-9)
    return number_text(whole / 10.0**places, digits)


def share_text(probability: float | None) -> str:
    """Probability in per cent, never rounded to 0 or 100 %."""
    if probability is None:
        return "?"
    if probability < 0.001:
        return "< 0.1 %"
    if probability > 0.999:
        return "> 99.9 %"
    return f"{100 * probability:.1f} %"


def share_words(probability: float | None) -> str:
    """Probability within a sentence, such as ``under 0.1 %``."""
    return share_text(probability).replace("< ", "under ").replace("> ", "over ")


def threshold_text(tau: float | None) -> str:
    """Effectiveness threshold; ``none`` if no tolerance is large enough."""
    if tau is None:
        return "?"
    return "none" if math.isinf(tau) else number_text(tau, 4)


def budget_text(epsilon: float | None) -> str:
    """Needed budget; ``none`` if no epsilon is large enough."""
    if epsilon is None:
        return "?"
    return "none" if math.isinf(epsilon) else epsilon_text(epsilon)


def p_value_text(p_value: float | None, alpha: Fraction) -> str:
    """P-value with enough digits to show whether it is above or below alpha.

    If six digits do not tell the p-value from an alpha of 0.05, it reads ``p > 0.05`` or
    ``p < 0.05``.
    """
    if p_value is None:
        return "no p-value"
    if p_value < 0.001 <= alpha:
        return "p < 0.001"
    above = exceeds(p_value, alpha)
    for digits in range(3 if p_value < 0.1 else 2, _MOST_DIGITS + 1):
        text = f"{p_value:.{digits}f}"
        shown = Fraction(text)
        if shown and shown != alpha and (shown > alpha) == above:
            return f"p = {text}"
    if p_value == float(alpha) and not above:
        return f"p = {epsilon_option(alpha)}"
    return f"p {'>' if above else '<'} {epsilon_option(alpha)}"


def p_cell(p_value: float | None, alpha: Fraction) -> str:
    """P-value for a column of p-values, so without ``p =``."""
    text = p_value_text(p_value, alpha).removeprefix("p ").removeprefix("= ")
    return text.replace("no p-value", "none")


def percent(share: float) -> str:
    """Share in whole per cent, never rounded to 0 or 100 %."""
    if 0 < share <= 0.005:
        return "< 1 %"
    if 0.995 <= share < 1:
        return "> 99 %"
    return f"{100 * share:.0f} %"


def percent_range(low: float, high: float, between: str = "to") -> str:
    """Range of shares in whole per cent, rounded outwards; one number if both ends are equal."""
    if low == high:
        return percent(low)
    # A rounding error of the share itself must not move an end by a whole per cent.
    first, last = math.floor(100 * low + 1e-9), math.ceil(100 * high - 1e-9)
    return f"{first} % {between} {last} %"


def share_digits(width: float) -> int:
    """Number of decimals for a share in per cent, given the width of its interval."""
    if width > 0.1:
        return 0
    return 3 if width < 1e-5 else min(3, max(1, math.ceil(-math.log10(100 * width))))


def percent_text(share: float, digits: int) -> str:
    """Share in per cent with ``digits`` decimals, never rounded to 0 or 100 %."""
    text, least = f"{100 * share:.{digits}f}", 10**-digits
    if share > 0 and float(text) == 0:
        return f"< {least:.{digits}f} %"
    if share < 1 and float(text) == 100:
        return f"> {100 - least:.{digits}f} %"
    return f"{text} %"


def interval_text(low: float, high: float, digits: int, between: str = "to") -> str:
    """Ends of an interval of shares in per cent, both rounded outwards."""
    scale = 10**digits
    # A rounding error of the share itself must not move an end by a whole digit.
    first = math.floor(100 * low * scale + 1e-6) / scale
    last = math.ceil(100 * high * scale - 1e-6) / scale
    return f"{first:.{digits}f} {between} {last:.{digits}f}"


def points_text(difference: float, digits: int) -> str:
    """Difference of two shares with its sign, in percentage points."""
    text = f"{100 * difference:+.{digits}f}"
    return text[1:] if float(text) == 0 else text


def to_digits_of(number: Figure, scale: Figure) -> str:
    """Number with as many decimals as ``scale``, the size of its noise or tolerance."""
    if isinstance(number, Fraction):
        number = plain(number)
    text = number_text(scale, 3)
    if isinstance(number, int) or number == int(number) or not scale or "e" in text:
        return number_text(number)
    rounded = f"{number:,.{len(text.partition('.')[2])}f}"
    # A number other than 0 never reads as 0.
    return rounded if float(rounded.replace(",", "")) else number_text(number, 2)


def spaced(tolerance: str) -> str:
    """Tolerance as it is stated, with a blank before its unit: ``5 %`` for ``5%``."""
    return re.sub(r"(?<=\d)%", " %", tolerance)


# Blanks within a number and its unit, such as ``5 %`` and ``p < 0.001``; no line is broken there.
UNITS = re.compile(
    r"(?<=\d) (?=%|M\b)|(?<=\bp) (?=[<>=] )|(?<=\bp [<>=]) (?=\d)"
    r"|(?<=[<>]) (?=[\d.]+ %)|(?<=^[<>]) "
)

# Numbers of this size or more are written in millions, if no digit is lost.
_MANY = 10**9
_MILLIONS = ",000,000"
_WHOLE = re.compile(r"\d[\d,]*(?:\.\d+)?")


def in_millions(text: str) -> str:
    """Text with its numbers in millions, such as ``1,234 M``.

    The text is unchanged unless all its numbers are whole millions and one of them is at least
    1,000 million.  If the text begins with ``about``, such large numbers are first rounded to
    millions.
    """
    if text.startswith("about "):
        text = _WHOLE.sub(_rounded, text)
    numbers: list[str] = _WHOLE.findall(text)
    if not all(number.endswith(_MILLIONS) for number in numbers):
        return text
    if not any(int(number.replace(",", "")) >= _MANY for number in numbers):
        return text
    return _WHOLE.sub(lambda number: f"{number[0].removesuffix(_MILLIONS)} M", text)


def _rounded(number: re.Match[str]) -> str:
    """Number rounded to whole millions if it is at least 1,000 million; else unchanged."""
    value = float(number[0].replace(",", ""))
    return number_text(round(value, -6)) if value >= _MANY else number[0]


def rounded_text(number: Figure, deviation: float) -> str:
    """Noisy number, rounded to the first digit of its standard deviation."""
    place = math.floor(math.log10(deviation)) if deviation > 0 else 0
    return number_text(round(float(number), -place))


def counted(number: int, one: str, several: str | None = None) -> str:
    """Number with its noun: ``1 query`` or ``2 queries``."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def first_of(lines: Iterable[str]) -> Iterator[str]:
    """First lines, the number of omitted lines, and the last line, which may be a warning."""
    every = list(lines)
    if len(every) <= LISTED:
        yield from every
        return
    yield from every[: LISTED - 1]
    yield f"... {len(every) - LISTED:,} more ..."
    yield every[-1]


def listed(names: tuple[str, ...] | list[str]) -> str:
    """Names as a list in a sentence: ``a, b and c``."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def gap_text(gap: float | None) -> str:
    """Estimated gap with its sign."""
    if gap is None:
        return "not released"
    return f"{'+' if gap > 0 else ''}{number_text(gap, 4)}"
