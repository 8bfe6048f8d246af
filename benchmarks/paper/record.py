"""What a paper shows and claims, and how it is computed again.

An ``Experiment`` makes one CSV file.  An ``Item`` is one figure, table or section of a paper: it is
drawn and judged from CSV files alone.  So the page of the documents follows from the files.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pandas as pd
from matplotlib.figure import Figure

Verdict = Literal["reproduces", "in part", "does not", "undecided"]
_OWN_WORDS: dict[Verdict, str] = {"reproduces": "holds", "does not": "does not hold"}
VERDICTS: tuple[Verdict, ...] = ("reproduces", "in part", "does not", "undecided")


@dataclass(frozen=True, slots=True)
class Setting:
    """Size of a run, and the folder of the real tables.

    ``quick`` asks for few seeds and small tables: it shows that everything runs, and its numbers
    are too rough to be quoted.
    """

    data: Path | None = None
    quick: bool = False

    def has(self, names: Iterable[str]) -> bool:
        """Whether the folder has all files of these names."""
        return all(self.data is not None and (self.data / name).is_file() for name in names)

    def path(self, name: str) -> Path:
        """Path of a file of the folder.

        Raises
        ------
        FileNotFoundError
            The run has no folder; ``Experiment.needs`` should have named the file.
        """
        if self.data is None:
            raise FileNotFoundError(f"{name} is needed; name its folder by --data")
        return self.data / name

    def table(self, name: str) -> pd.DataFrame:
        """Real table, read from the folder."""
        return pd.read_parquet(self.path(name))


@dataclass(frozen=True, slots=True)
class Experiment:
    """One CSV file ``<name>.csv``, and the function that makes its rows.

    ``needs`` are files of the folder of real tables.  Where they are missing the experiment is left
    out, and an earlier file stays as it is.  A ``timed`` experiment measures seconds, which differ
    from run to run, so it runs only when seconds are recorded.
    """

    name: str
    run: Callable[[Setting], pd.DataFrame]
    needs: tuple[str, ...] = ()
    timed: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence of a paper that says something about results, and what we found.

    ``ours`` is the number that decides.  ``why`` says why a claim does not reproduce; on the page
    of the documents every claim that does not has a reason.
    """

    place: str
    text: str
    ours: str
    verdict: Verdict
    why: str = ""

    @property
    def own(self) -> bool:
        """Whether the claim is ours, beyond the paper."""
        return "ours" in self.place or "(ours)" in self.text

    @property
    def word(self) -> str:
        """Verdict in words: a claim of ours holds, one of the paper reproduces."""
        return _OWN_WORDS.get(self.verdict, self.verdict) if self.own else self.verdict


def judged(*, holds: bool, partly: bool = False) -> Verdict:
    """Verdict on a claim about exact numbers."""
    if holds:
        return "reproduces"
    return "in part" if partly else "does not"


@dataclass(frozen=True, slots=True)
class Item:
    """One figure, table or section of a paper, made from the CSV files ``tables``.

    ``draw`` and ``claims`` get the tables in this order.  ``note`` says what differs from the
    paper's own setting.
    """

    place: str
    title: str
    tables: tuple[str, ...]
    draw: Callable[..., Figure] | None = None
    claims: Callable[..., Iterable[Claim]] | None = None
    note: str = ""

    def of(self, tables: Mapping[str, pd.DataFrame]) -> list[pd.DataFrame] | None:
        """Tables of this item, or None if one of them was not made."""
        if not all(name in tables for name in self.tables):
            return None
        return [tables[name] for name in self.tables]


@dataclass(frozen=True, slots=True)
class Paper:
    """One paper: ``key`` begins the names of its files."""

    key: str
    title: str
    about: str
    experiments: tuple[Experiment, ...]
    items: tuple[Item, ...]
