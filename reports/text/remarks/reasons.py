"""Reasons of choices that are made on public data: of deciders, estimators and mechanisms."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from pqd.reports.text.numbers import number_text

NAMED = "named by the caller"
SETTLED = "no table within the bounds can answer otherwise"
# Of a decider.
MOST_RIGHT = "most often right of those with p-values"
SMALLEST_BUDGET = "needs the smallest budget of those with p-values"
TABLE_FOUR = {
    "lm_count": "Table 4: the better choice unless q(D) = q(Ds)",
    "hist_median": "Table 4: empirically smaller error",
    "r2t_sum": "Table 4: the largest synthetic value is far below the column's bound",
    "lm_sum": "Table 4: the largest synthetic value is not far below the column's bound",
}
DISTANCE = "counts the rows that would have to change for another answer"
IN_BATCH = "answered in one batch, the way that is most often right"
# Of an estimator.
ONE_FOR_ALL = "one estimate for all candidates, which also bounds their gaps"
EACH_MOST_RIGHT = "most often right on test tables made from the copies"
SPLIT_MOST_RIGHT = f"each candidate by itself at its share of epsilon: {EACH_MOST_RIGHT}"
UNDECIDED_ONE_FOR_ALL = f"nothing decides every candidate at this epsilon; {ONE_FOR_ALL}"
UNDECIDED = "nothing decides at this epsilon; this is most often right"


def shows_the_answer(sharpest: str) -> str:
    """Reason of a decider that is taken for the noisy answer that it releases."""
    return f"tells how far off the copy is, and is nearly as often right as {sharpest}"


def named_mechanism(error: float, unit: Fraction) -> str:
    """Reason of a mechanism that is named, with its simulated error in units."""
    return f"{NAMED}; simulated error {_on_average(error, unit)}"


def least_simulated_error(error: float, others: Sequence[tuple[str, float]], unit: Fraction) -> str:
    """Reason of the mechanism with the least simulated error, against the ``others``."""
    against = ", ".join(f"{name} {_short(other, unit)}" for name, other in others)
    rivals = f", against {against}" if against else ""
    return f"smallest simulated error: {_on_average(error, unit)}{rivals}"


def _short(error: float, unit: Fraction) -> str:
    return number_text(error * float(unit), 3)


def _on_average(error: float, unit: Fraction) -> str:
    return f"{_short(error, unit)} on average"
