"""Verdicts on what Qiu et al. (KDD 2022) say of errors: ratios of seeded runs, by Student's t."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from benchmarks.paper.record import Claim, Verdict, judged
from benchmarks.standard_errors import NO, STUDENT, UNDECIDED, YES, Estimate

# Errors are compared by their ratios; an error of 0 counts as this.
LEAST = 1e-9
_SAID = {YES: "holds", UNDECIDED: "undecided", NO: "fails"}

# Number of a mechanism and a column, in one run.
Of = Callable[..., float]
RatioOf = Callable[[Of], float]
# Ratios of all seeds, by a label such as the epsilon.
Ratios = Mapping[str, Sequence[float]]


class Bar(NamedTuple):
    """Ends between which a claim says that a ratio lies."""

    low: float = 0.0
    high: float = math.inf

    def distance(self, ratio: float) -> float:
        """Logarithm of the distance from the nearer end, negative outside."""
        above = math.log(ratio / self.low) if self.low else math.inf
        return min(above, math.log(self.high / ratio) if self.high < math.inf else math.inf)


ABOVE, BELOW, HALF = Bar(low=1.0), Bar(high=1.0), Bar(high=0.5)


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows of a frame."""
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def over(more: float, less: float) -> float:
    """Ratio of two errors."""
    return max(more, LEAST) / max(less, LEAST)


def ratio_of(more: str, less: str, column: str = "median") -> RatioOf:
    """Ratio of the errors of two mechanisms in one run."""
    return lambda of: over(of(more, column), of(less, column))


class Runs:
    """Runs of one CSV file, by label (a value of the column ``key``), seed and mechanism."""

    def __init__(self, frame: pd.DataFrame, key: str = "epsilon") -> None:
        """Read the rows of a file."""
        self._rows = {
            (_label(row[key]), int(row["seed"]), str(row["mechanism"])): row
            for row in records(frame)
        }
        self.labels = list(dict.fromkeys(label for label, _, _ in self._rows))
        self.seeds = list(dict.fromkeys(seed for _, seed, _ in self._rows))

    def of(self, label: str, seed: int) -> Of:
        """Function from a mechanism and a column (by default the median) to its number."""

        def number(mechanism: str, column: str = "median") -> float:
            return float(self._rows[label, seed, mechanism][column])

        return number

    def numbers(self, mechanism: str, column: str) -> list[float]:
        """Numbers of a mechanism in all runs."""
        return [
            self.of(label, seed)(mechanism, column) for label in self.labels for seed in self.seeds
        ]

    def ratios(self, ratio: RatioOf) -> Ratios:
        """Ratio of each label and seed."""
        return {
            label: [ratio(self.of(label, seed)) for seed in self.seeds] for label in self.labels
        }

    def across(self, other: "Runs", ratio: Callable[[Of, Of], float]) -> Ratios:
        """Ratio of each label and seed, from these runs and from those of another file."""
        return {
            label: [ratio(self.of(label, seed), other.of(label, seed)) for seed in self.seeds]
            for label in self.labels
            if label in other.labels
        }

    def growth(self, first: str, last: str, mechanism: str, column: str = "median") -> list[float]:
        """Error of each seed at the label ``last``, over that at ``first``."""
        return [
            over(self.of(last, seed)(mechanism, column), self.of(first, seed)(mechanism, column))
            for seed in self.seeds
        ]


def _label(value: object) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def compared(
    place: str,
    text: str,
    number: str,
    ratios: Ratios,
    bar: Bar,
    *,
    at: str = "at epsilon",
    why: str = "",
) -> Claim:
    """Claim that a ratio lies within ``bar``, where ``number`` says what the ratio is.

    At each label it holds or fails if the mean over the seeds of ``Bar.distance`` is clearly on
    one side of 0 (``Estimate.positive``), and is undecided otherwise.  ``at`` stands before the
    labels in the texts.
    """
    outcomes = {
        label: Estimate.of(map(bar.distance, values)).positive for label, values in ratios.items()
    }
    verdict = together(outcomes.values())
    shown = ", ".join(interval(values) for values in ratios.values())
    ours = f"{number}: {shown} {at} {', '.join(ratios)}"
    return Claim(place, text, ours, verdict, _reason(outcomes, at, why))


def _reason(outcomes: Mapping[str, str], at: str, why: str) -> str:
    """Where the claim holds and fails if that differs, and why."""
    if len(set(outcomes.values())) == 1:
        undecided = UNDECIDED in outcomes.values()
        return why or ("the intervals contain the bar" if undecided else f"{at} each of them")
    told = "; ".join(
        f"{_SAID[outcome]} {at} {', '.join(labels)}"
        for outcome in (YES, UNDECIDED, NO)
        if (labels := [label for label, one in outcomes.items() if one == outcome])
    )
    return f"{told}; {why}" if why else told


def together(outcomes: Iterable[str]) -> Verdict:
    """Verdict on a claim from its outcomes at all labels."""
    found = set(outcomes)
    if found == {UNDECIDED}:
        return "undecided"
    return judged(holds=found == {YES}, partly=YES in found)


def interval(ratios: Sequence[float]) -> str:
    """Geometric mean of ratios, with its 95 % interval by Student's t."""
    logs = [math.log(ratio) for ratio in ratios]
    mean, error, size = Estimate.of(logs)
    if len(logs) == 1 or max(logs) - min(logs) < LEAST:
        return spelled(math.exp(mean))
    reach = STUDENT[min(size, max(STUDENT))] * error
    middle, low, high = (spelled(math.exp(min(mean + step, 700))) for step in (0, -reach, reach))
    return middle if low == middle == high else f"{middle} [{low} to {high}]"


def spelled(number: float) -> str:
    """Number with three digits, without exponents."""
    if number < 0.001:
        return "below 0.001"
    if number > 1e6:
        return "above 1,000,000"
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def exact(place: str, text: str, ours: str, *, holds: bool, why: str = "") -> Claim:
    """Claim on exact numbers."""
    return Claim(place, text, ours, judged(holds=holds), why or "the numbers differ")
