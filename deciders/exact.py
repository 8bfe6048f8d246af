"""Exact rational numbers from typed numbers: ``0.1`` means one tenth, not the nearest double."""

import math
import re
import sys
from decimal import Decimal
from fractions import Fraction
from numbers import Rational

from pqd.deciders.errors import ParameterError

Number = int | float | str | Decimal | Fraction
# Numerator and denominator > 0, not reduced, which is exact and cheaper than a Fraction.
Ratio = tuple[int, int]

_NUMBER = re.compile(
    r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?|[+-]?\d+/\d+", re.ASCII | re.IGNORECASE
)
_PER_CENT = re.compile(r"(\d+(?:\.\d+)?) *(?:pct|percent|per cent|pc)\.?", re.ASCII | re.IGNORECASE)
_IN_PER_CENT = re.compile(r"(\d+(?:\.\d+)?) *%", re.ASCII)
_THOUSANDS = re.compile(r"[1-9]\d{0,2}(,\d{3})+(\.\d+)?", re.ASCII)
_WITH_COMMA = re.compile(r"\d+,\d+", re.ASCII)
_LONGEST = 200
_SMALLEST, _LARGEST = Fraction(1, 10**300), Fraction(sys.float_info.max)
# 2^900 is below the largest number, and its reciprocal is above the smallest number.
_USUAL_BITS = 900


# Examples that an error message offers if the input is not a number.
_EXAMPLE = "10 or 0.25"


def exact(value: Number, name: str = "value", example: str = _EXAMPLE) -> Fraction:
    """``value`` as an exact fraction.

    A float stands for the shortest decimal that prints as this float (``0.1`` is 1/10).  A string
    is read as a decimal or as ``a/b``.  An error message offers ``example``.

    Raises
    ------
    ParameterError
        If ``value`` is not a finite number.
    """
    if type(value) is Fraction and _is_usual(*value.as_integer_ratio()):
        return value
    if isinstance(value, bool):
        raise ParameterError(f"{name} is {value!r}; a number is needed")
    if isinstance(value, Rational):
        number = Fraction(int(value.numerator), int(value.denominator))
    else:
        # A numpy float prints like a Python float.
        number = _read(str(value).strip(), name, example)
    if number and not _SMALLEST <= abs(number) <= _LARGEST:
        raise ParameterError(f"{name} is beyond 1e-300 or 1.79e308; no such number is of use here")
    return number


def _is_usual(numerator: int, denominator: int) -> bool:
    """Whether a number is clearly within the bounds, tested without a multiplication."""
    return numerator.bit_length() <= _USUAL_BITS and denominator.bit_length() <= _USUAL_BITS


def _read(text: str, name: str, example: str) -> Fraction:
    if len(text) <= _LONGEST and _NUMBER.fullmatch(text):
        try:
            return Fraction(text)
        except ZeroDivisionError:
            pass
    shown = text if len(text) <= 40 else text[:37] + "..."
    advice = _advice(text) or f"a finite number is needed, such as {example}"
    raise ParameterError(f"{name} is {shown!r}; {advice}")


def _advice(text: str) -> str | None:
    """Advice on a number with commas, or with per cent in letters; None for another text."""
    if found := _PER_CENT.fullmatch(text):
        return f"write per cent as a sign: {found[1]}%"
    if _THOUSANDS.fullmatch(text):
        return f"write it without commas: {text.replace(',', '')}"
    if _WITH_COMMA.fullmatch(text):
        return f"write a decimal point: {text.replace(',', '.')}"
    return None


def positive(value: Number, name: str, example: str = _EXAMPLE) -> Fraction:
    """``value`` as an exact fraction greater than 0; otherwise ParameterError is raised."""
    number = exact(value, name, example)
    if number.numerator <= 0:
        raise ParameterError(f"{name} is {value}; it must be greater than 0")
    return number


_MOST_BUDGET = 10**12


def budget_of(epsilon: Number, name: str = "epsilon") -> Fraction:
    """Privacy budget as an exact fraction from 10^-12 to 10^12; otherwise ParameterError."""
    if type(epsilon) is Fraction and _is_budget(*epsilon.as_integer_ratio()):
        return epsilon
    if share := _share(epsilon):
        raise ParameterError(f"{name} is {epsilon!r}; no budget is in per cent: write {share:g}")
    number = positive(epsilon, name, "1 or 0.25")
    if not _is_budget(*number.as_integer_ratio()):
        raise ParameterError(f"{name} is {epsilon}; it must lie between 1e-12 and 1e12")
    return number


def _is_budget(numerator: int, denominator: int) -> bool:
    """Whether a number is within the bounds of a budget."""
    return denominator <= numerator * _MOST_BUDGET and numerator <= denominator * _MOST_BUDGET


def probability(value: Number, name: str) -> Fraction:
    """``value`` as an exact fraction between 0 and 1, exclusive; otherwise ParameterError."""
    if (stated := _share(value)) and stated < 1:
        raise ParameterError(f"{name} is {value!r}; write {_probability(stated, name)}")
    number = exact(value, name, "0.05")
    if not 0 < number.numerator < number.denominator:
        share = ""
        if "alpha" in name and 1 < number < 100:
            share = f", so write {_probability(as_float(number / 100), name)}"
        raise ParameterError(f"{name} is {value}; it must lie strictly between 0 and 1{share}")
    return number


def _share(value: Number) -> float | None:
    """Share of a text in per cent, such as 0.25 of ``"25%"``; None for another value."""
    found = _IN_PER_CENT.fullmatch(value.strip()) if isinstance(value, str) else None
    return float(found[1]) / 100 if found else None


def _probability(share: float, name: str) -> str:
    """How a share is written; an alpha above one half was meant as how sure verdicts are."""
    if "alpha" in name and share > 0.5:
        return f"{1 - share:.12g} for verdicts that are right with {100 * share:.12g} %"
    return f"{share:.12g} for {100 * share:.12g} %"


def exceeds(number: float, limit: Fraction) -> bool:
    """Whether a finite double is greater than an exact number, tested without a Fraction."""
    part, whole = number.as_integer_ratio()
    return part * limit.denominator > limit.numerator * whole


def as_float(number: Fraction) -> float:
    """Nearest double of ``number``; infinite if it is too large for a double."""
    return ratio(*number.as_integer_ratio())


def ratio(numerator: int, denominator: int) -> float:
    """Nearest double of a quotient, ``denominator`` > 0; infinite if it is too large."""
    try:
        return numerator / denominator
    except OverflowError:
        return math.inf if numerator > 0 else -math.inf
