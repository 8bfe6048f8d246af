"""Look-ups in the numbers of all seeds, and verdicts on them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.paper.record import Claim, Verdict
from benchmarks.standard_errors import NO, YES, Estimate
from pqd.deciders.distributions import Floats

_KEY = ("statistic", "mechanism", "truncation", "workload", "isotonic")


def rows_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows of a table."""
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def lookup(frame: pd.DataFrame, value: str, *keys: str) -> dict[tuple[Any, ...], float]:
    """Numbers of a column by the values of other columns, in the order of the rows."""
    return {tuple(row[key] for key in keys): float(row[value]) for row in rows_of(frame)}


# Without slots, because the numbers are cached.
@dataclass(frozen=True, eq=False)
class BySeed:
    """Numbers of each configuration: a value for each seed, always in the same order."""

    frame: pd.DataFrame

    @cached_property
    def _values(self) -> dict[tuple[Any, ...], Floats]:
        ordered = self.frame.sort_values("seed", kind="stable")
        groups = ordered.groupby(list(_KEY), sort=False)["value"]
        return {tuple(key): values.to_numpy(np.float64) for key, values in groups}

    def of(
        self,
        statistic: str,
        mechanism: str,
        truncation: str = "svt",
        workload: str = "Q1",
        isotonic: int = 1,
    ) -> Floats:
        """Values of a statistic, by seed; by default on Q1 with SVT and isotonic regression."""
        return self._values[statistic, mechanism, truncation, workload, isotonic]


def verdict(margin: Iterable[float]) -> Verdict:
    """Verdict on a claim that holds where the margin is positive, from the margin of each seed."""
    found = Estimate.of(margin).positive
    if found == YES:
        return "reproduces"
    return "does not" if found == NO else "undecided"


def combined(verdicts: Sequence[Verdict]) -> Verdict:
    """Verdict on several comparisons: all must agree, and some that do not hold make a part."""
    if len(set(verdicts)) == 1:
        return verdicts[0]
    return "in part" if "does not" in verdicts else "undecided"


def counted(verdicts: Sequence[Verdict]) -> str:
    """Numbers of verdicts, such as ``4 of 6 hold, 1 does not, 1 is undecided``."""
    held = f"{verdicts.count('reproduces')} of {len(verdicts)} hold"
    others = [
        f"{verdicts.count(each)} {word}"
        for each, word in (("does not", "not"), ("undecided", "undecided"))
        if each in verdicts
    ]
    return ", ".join([held, *others])


def told(*values: Iterable[float]) -> str:
    """Means over the seeds with their standard errors."""
    return ", ".join(str(Estimate.of(each)) for each in values)


def judged_by_seed(
    place: str, text: str, ours: str, margin: Iterable[float], why: str = ""
) -> Claim:
    """Claim that holds where the margin is positive; an undecided one says how near it was."""
    numbers = list(margin)
    found = verdict(numbers)
    near = f"the margin {Estimate.of(numbers)} is within Student's t at 95 % over the seeds"
    reason = "; ".join(filter(None, (near if found == "undecided" else "", why)))
    return Claim(place, text, ours, found, reason)
