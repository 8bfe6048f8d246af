"""Look-ups in the table of errors, and phrases for claims."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import pandas as pd

from benchmarks.paper.patwa.errors import EPSILON, EPSILONS, TAU, TAUS
from pqd.deciders.distributions import Floats

# Differences of exact errors below this are ties: they are no larger than rounding in a CSV file.
TIE = 1e-6
_KEY = ("query", "decider", "tau", "epsilon")


# Without slots, because the errors are cached.
@dataclass(frozen=True, eq=False)
class Errors:
    """Exact errors of one kind of answers: a row for each query, decider, tau and epsilon.

    The column ``gap`` of ``where`` is ``|q(D) - q(Ds)|`` in multiples of tau.
    """

    frame: pd.DataFrame

    @classmethod
    def of(cls, frame: pd.DataFrame, answers: str = "printed") -> "Errors":
        """Errors on the printed answers, or on those of another table."""
        rows = frame[frame["answers"] == answers]
        shares = 100 * (rows["private"] - rows["synthetic"]).abs() / rows["synthetic"]
        return cls(rows.assign(gap=shares / rows["tau"]))

    @cached_property
    def _errors(self) -> dict[tuple[str, str, float, float], float]:
        columns = (self.frame[name] for name in (*_KEY, "error"))
        return {tuple(key): error for *key, error in zip(*columns, strict=True)}

    @property
    def queries(self) -> list[str]:
        """Ids of the queries."""
        return list(dict.fromkeys(self.frame["query"]))

    def at(self, query: str, decider: str, *, tau: str = TAU, epsilon: str = EPSILON) -> float:
        """Error at one tau and one epsilon."""
        return self._errors[query, decider, float(tau), float(epsilon)]

    def along_tau(self, query: str, decider: str, epsilon: str = EPSILON) -> list[float]:
        """Errors at the five tau."""
        return [self.at(query, decider, tau=tau, epsilon=epsilon) for tau in TAUS]

    def along_epsilon(self, query: str, decider: str, tau: str = TAU) -> list[float]:
        """Errors at the five epsilon."""
        return [self.at(query, decider, tau=tau, epsilon=epsilon) for epsilon in EPSILONS]

    def inside(self, query: str, tau: str = TAU) -> bool:
        """Whether ``q(D)`` lies in the interval."""
        rows = self.frame[(self.frame["query"] == query) & (self.frame["tau"] == float(tau))]
        return bool(rows["inside"].iloc[0])

    def where(self, condition: str) -> "Errors":
        """Errors where a condition on the columns holds, as in ``DataFrame.query``."""
        return Errors(self.frame.query(condition))

    @property
    def means(self) -> dict[str, float]:
        """Mean error of each decider."""
        groups = self.frame.groupby("decider")["error"]
        return {str(name): float(errors.mean()) for name, errors in groups}

    def of_decider(self, decider: str) -> Floats:
        """Errors of a decider in all settings, always in the same order."""
        rows = self.frame[self.frame["decider"] == decider].sort_values(["query", "tau", "epsilon"])
        return rows["error"].to_numpy(np.float64)


def falling(values: Sequence[float]) -> bool:
    """Whether no value is above the one before it."""
    return all(later <= earlier + TIE for earlier, later in pairwise(values))


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
