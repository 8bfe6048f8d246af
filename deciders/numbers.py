"""Numbers and budgets as people write them: in messages, names, files and reports."""

import math
from fractions import Fraction

Figure = int | float | Fraction
# From this epsilon on, the factor exp(epsilon) is not written as a number.
_LARGE = 20


def plain(number: Fraction) -> int | float:
    """Exact number as a JSON number; an int if it is whole."""
    return plain_ratio(number.numerator, number.denominator)


def plain_ratio(numerator: int, denominator: int) -> int | float:
    """``plain`` of a quotient by a whole number > 0, without a Fraction."""
    whole, rest = divmod(numerator, denominator)
    return numerator / denominator if rest else whole


def number_text(number: Figure, digits: int = 6) -> str:
    """Number with thousands separators, to ``digits`` significant digits.

    A whole number is shown with all its digits.
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


def rounded_up(number: Fraction) -> Fraction:
    """Positive number, rounded up to three significant digits."""
    digits = 2 - math.floor(math.log10(number))
    up, down = 10 ** max(digits, 0), 10 ** max(-digits, 0)
    numerator, denominator = number.as_integer_ratio()
    return Fraction(-(-numerator * up // (denominator * down)) * down, up)


def epsilon_option(epsilon: Fraction | float) -> str:
    """Budget in the form that an option takes: a short decimal, or else a fraction."""
    exact = Fraction(epsilon)
    text = f"{float(exact):.6g}"
    return text if Fraction(text) == exact or not isinstance(epsilon, Fraction) else str(exact)


def limit_text(epsilon: Fraction) -> str:
    """Limit that covers a budget, in the form that an option takes: rounded up to three digits."""
    return epsilon_option(rounded_up(epsilon)) if epsilon else "0"


def epsilon_text(epsilon: Fraction | float) -> str:
    """Budget for a reader: the form that an option takes, and for a fraction also its decimal.

    The decimal is rounded down, so a budget that is typed from it costs no more.  For example:
    ``1/67 (0.0149)``.
    """
    text = epsilon_option(epsilon)
    if "/" not in text:
        return text
    exact = Fraction(epsilon)
    scale = Fraction(10) ** max(0, 2 - math.floor(math.log10(exact)))
    least = Fraction(math.floor(exact * scale)) / scale
    return f"{text} ({int(least) if scale == 1 else f'{float(least):.3g}'})"


def bound_text(number: Figure, *, up: bool, digits: int = 2) -> str:
    """Positive bound with a few digits, rounded up or down."""
    value = float(number)
    step = 10.0 ** (math.floor(math.log10(value)) + 1 - digits) if value > 0 else 1.0
    # A rounding error of the number itself must not move it by a whole digit.
    steps = math.ceil(value / step - 1e-9) if up else math.floor(value / step + 1e-9)
    return number_text(steps * step, digits) if step < 1 else number_text(round(steps * step))


def guess_text(epsilon: Fraction) -> str:
    """Sentence on the most that an epsilon tells of whether a person is in the table.

    A guess of a value of a person in the table is bounded by twice epsilon: one row goes and one
    comes.
    """
    most = Fraction(math.ceil(1000 / (1 + math.exp(-min(float(epsilon), _LARGE)))), 10)
    return f"a guess of 50 % that a person is in the table becomes at most {float(most):.1f} %"


def factor_text(epsilon: Fraction) -> str:
    """Factor exp(epsilon), rounded up to three digits; beyond epsilon 20 it is left as exp."""
    if epsilon > _LARGE:
        return f"exp({epsilon_option(epsilon)})"
    return bound_text(math.exp(float(epsilon)), up=True, digits=3)
