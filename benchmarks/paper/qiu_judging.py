"""Verdicts on what Qiu et al. (KDD 2022) say of errors: ratios of seeded runs, by Student's t."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from benchmarks.paper.record import Claim, Verdict
from benchmarks.standard_errors import NO, STUDENT, UNDECIDED, YES, Estimate

# Errors are compared by their ratios; an error of 0 counts as this.
LEAST = 1e-9
_SAID = {YES: "holds", UNDECIDED: "undecided", NO: "fails"}

# Number of a mechanism and a column, in one run.
Of = Callable[..., float]
RatioOf = Callable[[Of], float]
# Ratios of all seeds, by a label such as the epsilon.
Ratios = Mapping[str, Sequence[float]]


class Runs:
    """Runs of one CSV file, by label (a value of the column ``key``), seed and mechanism."""

    def __init__(self, frame: pd.DataFrame, key: str = "epsilon") -> None:
        """Read the rows of a file."""
        self._rows: dict[tuple[str, int, str], Any] = {
            (_label(line[key]), int(line["seed"]), str(line["mechanism"])): line
            for line in frame.to_dict("records")
        }
        self.labels = list(dict.fromkeys(label for label, _, _ in self._rows))
        self.seeds = list(dict.fromkeys(seed for _, seed, _ in self._rows))

    def of(self, label: str, seed: int) -> Of:
        """Function from a mechanism and a column (by default the median) to its number."""

        def number(mechanism: str, column: str = "median") -> float:
            return float(self._rows[label, seed, mechanism][column])

        return number

    @property
    def all(self) -> list[tuple[str, int]]:
        """All labels and seeds."""
        return [(label, seed) for label in self.labels for seed in self.seeds]

    def ratios(self, ratio: RatioOf) -> Ratios:
        """Ratio of each label and seed."""
        return {
            label: [ratio(self.of(label, seed)) for seed in self.seeds] for label in self.labels
        }

    def across(self, other: Runs, ratio: Callable[[Of, Of], float]) -> Ratios:
        """Ratio of each label and seed, from these runs and from those of another file."""
        return {
            label: [ratio(self.of(label, seed), other.of(label, seed)) for seed in self.seeds]
            for label in self.labels
            if label in other.labels
        }

    def between(self, first: str, last: str, ratio: Callable[[Of, Of], float]) -> list[float]:
        """Ratio of each seed, from the runs of two labels."""
        return [ratio(self.of(first, seed), self.of(last, seed)) for seed in self.seeds]


def _label(value: object) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def over(more: float, less: float) -> float:
    """Ratio of two errors."""
    return max(more, LEAST) / max(less, LEAST)


def compared(
    place: str,
    text: str,
    number: str,
    ratios: Ratios,
    *,
    low: float = 0.0,
    high: float = math.inf,
    at: str = "at epsilon",
    why: str = "",
) -> Claim:
    """Claim that a ratio lies in ``low .. high``, where ``number`` says what the ratio is.

    At each label it holds or fails if the mean over the seeds of the logarithm's distance from the
    nearer end is clearly on one side of 0 (``Estimate.positive``), and is undecided otherwise.
    ``at`` stands before the labels in the texts.
    """
    outcomes = {label: _outcome(values, low, high) for label, values in ratios.items()}
    verdict = together(outcomes.values())
    shown = ", ".join(interval(values) for values in ratios.values())
    ours = f"{number}: {shown} {at} {', '.join(ratios)}"
    if verdict == "reproduces":
        return Claim(place, text, ours, verdict)
    told = "; ".join(
        f"{_SAID[outcome]} {at} {', '.join(labels)}"
        for outcome in (YES, UNDECIDED, NO)
        if (labels := [label for label, one in outcomes.items() if one == outcome])
    )
    return Claim(place, text, ours, verdict, f"{told}; {why}" if why else told)


def _outcome(ratios: Sequence[float], low: float, high: float) -> str:
    logs = [math.log(ratio) for ratio in ratios]
    return Estimate.of(
        min(
            math.inf if high == math.inf else math.log(high) - log,
            math.inf if not low else log - math.log(low),
        )
        for log in logs
    ).positive


def together(outcomes: Iterable[str]) -> Verdict:
    """Verdict on a claim from its outcomes at all labels."""
    found = set(outcomes)
    if found == {YES}:
        return "reproduces"
    if YES in found:
        return "in part"
    return "does not" if NO in found else "undecided"


def interval(ratios: Sequence[float]) -> str:
    """Geometric mean of ratios, with its 95 % interval by Student's t."""
    logs = [math.log(ratio) for ratio in ratios]
    mean, error, size = Estimate.of(logs)
    if len(logs) == 1 or max(logs) - min(logs) < LEAST:
        return spelled(math.exp(mean))
    reach = STUDENT[min(max(size, 2), max(STUDENT))] * error
    middle, low, high = (spelled(math.exp(min(mean + step, 700))) for step in (0, -reach, reach))
    return middle if low == middle == high else f"{middle} [{low} to {high}]"


def spelled(number: float) -> str:
    """Number with two or more digits, without exponents."""
    if number < 0.001:
        return "below 0.001"
    if number > 1e6:
        return "above 1,000,000"
    return f"{number:,.0f}" if number >= 100 else f"{number:.2g}"


def exact(place: str, text: str, ours: str, *, holds: bool, why: str = "") -> Claim:
    """Claim on exact numbers."""
    if holds:
        return Claim(place, text, ours, "reproduces")
    return Claim(place, text, ours, "does not", why or "the numbers differ")
