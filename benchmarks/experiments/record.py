"""Topics, studies and claims of the pages of experiments."""

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from benchmarks.paper.record import Claim, Item, judged


@dataclass(frozen=True, slots=True)
class Study(Item):
    """One experiment of our own, made from the CSV files ``tables``.

    ``command`` writes these files, in one or more lines.  The first claim of a study
    stands in the summary of all pages.  ``shown`` gives a short table for the page, whose
    cells are texts.
    """

    command: str = ""
    shown: Callable[..., pd.DataFrame] | None = None


@dataclass(frozen=True, slots=True)
class Topic:
    """One page: ``key`` is the name of its file, and begins the names of its pictures."""

    key: str
    title: str
    items: tuple[Study, ...]


def claim(text: str, ours: str, *, holds: bool, partly: bool = False, why: str = "") -> Claim:
    """Claim of our own, judged by numbers; ``why`` is shown where it does not hold."""
    return Claim("", text, ours, judged(holds=holds, partly=partly), why)


def number(frame: pd.DataFrame, row: object, column: str) -> float:
    """Number in a cell of a table, by the label of its row."""
    return float(frame.loc[row, column])  # type: ignore[arg-type, index]  # any label


def per_cent(share: float, digits: int = 1) -> str:
    """Text of a share, such as ``4.6 %`` for 0.046."""
    return f"{100 * share:.{digits}f} %"
