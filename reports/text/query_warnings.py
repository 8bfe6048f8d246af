"""Warnings of what is allowed and seldom meant; shown before anything is spent."""

from __future__ import annotations

from fractions import Fraction

from reports.text.numbers import epsilon_text, number_text

# What such a note begins with.
WARNING = "Warning: "


def wide_tolerance(tolerance: str) -> str:
    """Warning of a tolerance of 100 % or more."""
    return (
        f"tau {tolerance} admits an answer of 0 as well as one twice as large; most want a few "
        "per cent."
    )


def narrow_tolerance(tolerance: str) -> str:
    """Warning of a tolerance of less than one row of a count."""
    return (
        f"tau {tolerance} is less than one row of a count, so that only the very same count is "
        "within; for a share of the answer write it in per cent, such as 5%."
    )


def wide_alpha(alpha: Fraction) -> str:
    """Warning of an error probability above one half."""
    return (
        f"alpha {number_text(alpha)} accepts a verdict that is more often wrong than "
        "right; 0.05 is usual."
    )


def large_budget(epsilon: Fraction) -> str:
    """Warning of a budget that protects hardly anybody."""
    return (
        f"epsilon {epsilon_text(epsilon)} protects hardly anybody: odds about a person may "
        "change by a factor of more than 22,000; 1 or less is usual."
    )


def unknown_text(column: str, text: str, tables: str, nearest: str | None) -> str:
    """Warning of a text that a column never holds; ``text`` and ``nearest`` are quoted."""
    hint = f"; the nearest that it holds is {nearest}" if nearest else ""
    return f'"{column}" is never {text} in {tables}{hint}.'
