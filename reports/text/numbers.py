"""Numbers, counts and lists as a reader sees them."""

import math
import re
from collections.abc import Iterable, Iterator
from fractions import Fraction

from pqd.deciders.exact import exceeds
from pqd.deciders.numbers import (
    Figure,
    epsilon_option,
    epsilon_text,
    number_text,
    plain,
    plain_ratio,
)

# Offered here too, beside the numbers that only a reader sees.
__all__ = ["epsilon_option", "epsilon_text", "number_text", "plain", "plain_ratio"]

# Tolerance of a report whose queries have different ones.
EACH_ITS_OWN = "stated for each query"
# A report of more verdicts is a summary with the worst of them, in the terminal and in Markdown.
MOST_IN_FULL = 50
LISTED = 20
# Digits of a p-value beyond the point; what lies nearer to alpha is compared with it.
_MOST_DIGITS = 6


def end_text(end: Figure, digits: int = 4, *, up: bool) -> str:
    """End of an interval as of ``number_text``, rounded outwards: what is shown holds all of it."""
    number = plain(end) if isinstance(end, Fraction) else end
    if isinstance(number, int) or not math.isfinite(number) or number.is_integer():
        return number_text(number, digits)
    places = max(0, digits - 1 - math.floor(math.log10(abs(number))))
    # What is a rounding error of the number itself must not move it by a whole digit.
    steps = number * 10.0**places
    whole = math.ceil(steps - 1e-9) if up else math.floor(steps + 1e-9)
    return number_text(whole / 10.0**places, digits)


def share_text(probability: float | None) -> str:
    """Probability in per cent, never rounded to a certainty."""
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
    """Effectiveness threshold, ``none`` where no tau suffices."""
    if tau is None:
        return "?"
    return "none" if math.isinf(tau) else number_text(tau, 4)


def budget_text(epsilon: float | None) -> str:
    """Budget that is needed, ``none`` where no epsilon suffices."""
    if epsilon is None:
        return "?"
    return "none" if math.isinf(epsilon) else epsilon_text(epsilon)


def p_value_text(p_value: float | None, alpha: Fraction) -> str:
    """P-value as readers expect it, with as many digits as tell on which side of alpha it lies.

    A p-value that six digits do not tell from alpha reads ``p > 0.05`` or ``p < 0.05``.
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
    """P-value as it stands in a column of p-values."""
    text = p_value_text(p_value, alpha).removeprefix("p ").removeprefix("= ")
    return text.replace("no p-value", "none")


def percent(share: float) -> str:
    """Share in whole per cent, never rounded to all or nothing."""
    if 0 < share <= 0.005:
        return "< 1 %"
    if 0.995 <= share < 1:
        return "> 99 %"
    return f"{100 * share:.0f} %"


def percent_range(low: float, high: float, between: str = "to") -> str:
    """Range of shares in whole per cent, rounded outwards; one number of a single share."""
    if low == high:
        return percent(low)
    # What is a rounding error of the share itself must not move an end by a whole per cent.
    first, last = math.floor(100 * low + 1e-9), math.ceil(100 * high - 1e-9)
    return f"{first} % {between} {last} %"


def share_digits(width: float) -> int:
    """Digits beyond the point that a share in per cent deserves, given its interval's width."""
    if width > 0.1:
        return 0
    return 3 if width < 1e-5 else min(3, max(1, math.ceil(-math.log10(100 * width))))


def percent_text(share: float, digits: int) -> str:
    """Share in per cent with as many digits beyond the point, never rounded to all or nothing."""
    text, least = f"{100 * share:.{digits}f}", 10**-digits
    if share > 0 and float(text) == 0:
        return f"< {least:.{digits}f} %"
    if share < 1 and float(text) == 100:
        return f"> {100 - least:.{digits}f} %"
    return f"{text} %"


def interval_text(low: float, high: float, digits: int, between: str = "to") -> str:
    """Ends of an interval of shares in per cent, both rounded outwards."""
    scale = 10**digits
    # What is a rounding error of the share itself must not move an end by a whole digit.
    first = math.floor(100 * low * scale + 1e-6) / scale
    last = math.ceil(100 * high * scale - 1e-6) / scale
    return f"{first:.{digits}f} {between} {last:.{digits}f}"


def points_text(difference: float, digits: int) -> str:
    """Difference of two shares with its sign, in percentage points."""
    text = f"{100 * difference:+.{digits}f}"
    return text[1:] if float(text) == 0 else text


def to_digits_of(number: Figure, scale: Figure) -> str:
    """Number with as many digits beyond the point as ``scale``, which says what they mean."""
    if isinstance(number, Fraction):
        number = plain(number)
    text = number_text(scale, 3)
    if isinstance(number, int) or number == int(number) or not scale or "e" in text:
        return number_text(number)
    rounded = f"{number:,.{len(text.partition('.')[2])}f}"
    # What is not 0 is never rounded as 0.
    return rounded if float(rounded.replace(",", "")) else number_text(number, 2)


# From so many on numbers are told in millions, where none of their digits is lost.
_MANY = 10**9
_MILLIONS = ",000,000"
_WHOLE = re.compile(r"\d[\d,]*(?:\.\d+)?")


def in_millions(text: str) -> str:
    """Text whose numbers are whole millions, and one of them large, with those as ``1,234 M``.

    One that it tells ``about`` is rounded to millions.
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
    """Large whole number in whole millions."""
    value = float(number[0].replace(",", ""))
    return number_text(round(value, -6)) if value >= _MANY else number[0]


def rounded_text(number: Figure, deviation: float) -> str:
    """Noisy number, rounded to the first digit of its deviation."""
    place = math.floor(math.log10(deviation)) if deviation > 0 else 0
    return number_text(round(float(number), -place))


def bound_text(number: Figure, *, up: bool, digits: int = 2) -> str:
    """Positive bound to a few digits, rounded up or down."""
    value = float(number)
    step = 10.0 ** (math.floor(math.log10(value)) + 1 - digits) if value > 0 else 1.0
    # What is a rounding error of the number itself must not move it by a whole digit.
    steps = math.ceil(value / step - 1e-9) if up else math.floor(value / step + 1e-9)
    return number_text(steps * step, digits) if step < 1 else number_text(round(steps * step))


def counted(number: int, one: str, several: str | None = None) -> str:
    """Number with its noun: ``1 query`` or ``2 queries``."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def first_of(lines: Iterable[str]) -> Iterator[str]:
    """First of many lines, how many more there are, and the last, which may be a warning."""
    every = list(lines)
    if len(every) <= LISTED:
        yield from every
        return
    yield from every[: LISTED - 1]
    yield f"... {len(every) - LISTED:,} more ..."
    yield every[-1]


def listed(names: tuple[str, ...] | list[str]) -> str:
    """Names in a row: ``a, b and c``."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def gap_text(gap: float | None) -> str:
    """Estimated gap with its sign."""
    if gap is None:
        return "not released"
    return f"{'+' if gap > 0 else ''}{number_text(gap, 4)}"
