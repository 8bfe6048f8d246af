"""Look-ups in the table of errors, and phrases for claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from benchmarks.paper.patwa.errors import EPSILON, EPSILONS, TAU, TAUS
from pqd.deciders.distributions import Floats

# Differences of exact errors below this are ties: they are no larger than rounding in a CSV file.
TIE = 1e-6


@dataclass(frozen=True)
class Errors:
    """Exact errors of one kind of answers, by query, decider, tau and epsilon."""

    frame: pd.DataFrame

    @classmethod
    def of(cls, frame: pd.DataFrame, answers: str = "printed") -> Errors:
        """Errors on the printed answers, or on those of another table."""
        rows = frame[frame["answers"] == answers]
        return cls(rows.set_index(["query", "decider", "tau", "epsilon"]).sort_index())

    def at(
        self, query: str, decider: str, *, tau: str = TAU, epsilon: str = EPSILON
    ) -> float:
        """Error at one tau and one epsilon."""
        return float(self.frame.loc[(query, decider, float(tau), float(epsilon)), "error"])

    def along_tau(self, query: str, decider: str, epsilon: str = EPSILON) -> list[float]:
        """Errors at the five tau."""
        return [self.at(query, decider, tau=tau, epsilon=epsilon) for tau in TAUS]

    def along_epsilon(self, query: str, decider: str, tau: str = TAU) -> list[float]:
        """Errors at the five epsilon."""
        return [self.at(query, decider, tau=tau, epsilon=epsilon) for epsilon in EPSILONS]

    def inside(self, query: str, tau: str = TAU) -> bool:
        """Whether ``q(D)`` lies in the interval."""
        rows = self.frame.xs((query, float(tau)), level=("query", "tau"))
        return bool(rows["inside"].iloc[0])

    def pairs(self, one: str, other: str) -> pd.DataFrame:
        """Errors of two deciders side by side, for each query, tau and epsilon."""
        wide = self.frame.reset_index().pivot_table(
            index=["query", "tau", "epsilon", "inside", "private", "synthetic"],
            columns="decider",
            values="error",
        )
        return wide[[one, other]].reset_index()


def falling(values: Sequence[float]) -> bool:
    """Whether no value is above the one before it."""
    return all(later <= earlier + TIE for earlier, later in zip(values, values[1:], strict=False))


def told(values: Sequence[float] | Floats) -> str:
    """Errors with three digits, such as ``.438 .438 .119``; 0 and 1 are exact to six digits."""
    return " ".join(short(value) for value in values)


def short(value: float) -> str:
    """One error with three digits."""
    if value <= TIE:
        return "0"
    if value >= 1 - TIE:
        return "1"
    return f"{value:.3f}".removeprefix("0") if value >= 0.0005 else "<.001"
