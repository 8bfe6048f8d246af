"""Counts: how often each key occurs, for each statistic of a plan; counts add up."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pqd.engine.counting.batch import Batch

Whole_co = TypeVar("Whole_co", covariant=True)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tally:
    """Ascending distinct ``keys``, and how often each occurs (``counts``, int64).

    Keys are whole numbers of 64 bits, or bytes of one length (numpy's ``V``).  If many tallies
    share their possible keys (``among``), a tally holds a bit for each of these keys, which says
    whether the key occurs, and narrow counts.
    """

    _every: NDArray[Any]
    _rows: NDArray[Any]
    _held: NDArray[np.uint8] | None = None

    @property
    def packed(self) -> bool:
        """Whether the keys are shared; each use then unpacks them, which takes time."""
        return self._held is not None

    @property
    def keys(self) -> NDArray[Any]:
        """Ascending distinct keys."""
        if self._held is None:
            return self._every
        held = np.unpackbits(self._held, count=self._every.size)
        return self._every.take(np.flatnonzero(held.view(np.bool_)))

    @property
    def counts(self) -> NDArray[np.int64]:
        """How often each key occurs."""
        return self._rows.astype(np.int64, copy=False)

    @classmethod
    def among(cls, every: NDArray[np.int64], counts: NDArray[np.int64]) -> Self:
        """Tally of the shared keys ``every``; ``counts`` has the count of each, perhaps 0."""
        held = counts > 0
        rows = counts.take(np.flatnonzero(held))
        return cls(every, rows.astype(np.min_scalar_type(rows.max(initial=0))), np.packbits(held))

    @classmethod
    def of(cls, keys: NDArray[Any], counts: NDArray[np.int64] | None = None) -> Self:
        """Tally of ``keys`` in any order, each once, or as often as ``counts`` says."""
        if counts is None:
            keys = np.sort(keys)
            first = run_starts(keys)
            return cls(_wide(keys[first]), np.diff(first, append=keys.size))
        order = np.argsort(keys, kind="stable")
        keys, counts = keys[order], counts[order]
        first = run_starts(keys)
        return cls(_wide(keys[first]), np.add.reduceat(counts, first) if first.size else counts)

    @classmethod
    def of_cells(cls, counts: NDArray[np.int64]) -> Self:
        """Tally of cells by number; ``counts`` has the count of each cell."""
        keys = np.flatnonzero(counts)
        return cls(keys, counts[keys])

    def __add__(self, other: Self) -> Self:
        """Sum of both tallies."""
        if not self.keys.size or not other.keys.size:
            return self if self.keys.size else other
        keys = np.concatenate((self.keys, other.keys))
        return type(self).of(keys, np.concatenate((self.counts, other.counts)))

    def __repr__(self) -> str:
        """Name of the type alone: a traceback may show the repr, and the counts may be private."""
        return "Tally(...)"


def run_starts(keys: NDArray[Any]) -> NDArray[np.int64]:
    """Place of the first key in each run of equal ``keys``."""
    if not keys.size:
        return np.zeros(0, np.int64)
    return np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))


def _wide(keys: NDArray[Any]) -> NDArray[Any]:
    return keys if keys.dtype.kind == "V" else keys.astype(np.int64, copy=False)


_EMPTY = Tally(np.zeros(0, np.int64), np.zeros(0, np.int64))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Counts:
    """Tally of each statistic of a plan, by number; empty for a number that is missing."""

    tallies: Mapping[int, Tally]

    def __getitem__(self, number: int) -> Tally:
        """Tally of a statistic."""
        return self.tallies.get(number, _EMPTY)

    def __add__(self, other: Self) -> Self:
        """Sum of both counts."""
        numbers = dict.fromkeys((*self.tallies, *other.tallies))
        return type(self)({number: self[number] + other[number] for number in numbers})

    def multiplicities(self, numbers: Collection[int]) -> Self:
        """Counts in which the tallies ``numbers`` say how many keys occur 1, 2, ... times."""
        tallies = self.tallies.items()
        return type(self)({n: Tally.of(t.counts) if n in numbers else t for n, t in tallies})

    def __repr__(self) -> str:
        """Name of the type alone."""
        return "Counts(...)"


def folded(parts: Iterable[Counts]) -> Counts:
    """Sum of counts; two sums of equally many parts are added, so a key is moved log(n) times."""
    ages: list[tuple[int, Counts]] = []
    for counts in parts:
        age, total = 0, counts
        while ages and ages[-1][0] == age:
            age, total = age + 1, ages.pop()[1] + total
        ages.append((age, total))
    _, total = ages.pop()
    while ages:
        total = ages.pop()[1] + total
    return total


class Counter(Protocol[Whole_co]):
    """Counter of the rows of each batch; Spark's workers get a copy of it.

    The counts of a row depend on its own cells alone, the counts of a person on the person's own
    rows alone.  So the counts of batches add up to the counts of the table, wherever it is cut.
    Conformers: HistogramCounter, MarginalCounter, ContingencyCounter, ContentCounter, JointCounter.

    Attributes
    ----------
    distinct
        Statistics for which the scan counts how many keys occur 1, 2, ... times.
    """

    @property
    def distinct(self) -> frozenset[int]: ...  # noqa: D102 - see the class

    def count(self, batch: Batch) -> Counts:
        """Counts of the rows of ``batch``."""
        ...

    def whole(self, counts: Counts) -> Whole_co:
        """Result from the counts of all rows; distinct statistics come as multiplicities."""
        ...


class JointCounter:
    """Several counters as one: statistic ``n`` of counter ``i`` is number ``n * counters + i``."""

    def __init__(self, *counters: Counter[Any]) -> None:
        """Take the counters."""
        self._counters = counters

    @property
    def distinct(self) -> frozenset[int]:
        """Numbers of the distinct statistics of all counters."""
        every = enumerate(self._counters)
        return frozenset(self._number(n, place) for place, one in every for n in one.distinct)

    def count(self, batch: Batch) -> Counts:
        """Counts of each counter."""
        return Counts(
            {
                self._number(number, place): tally
                for place, one in enumerate(self._counters)
                for number, tally in one.count(batch).tallies.items()
            }
        )

    def whole(self, counts: Counts) -> list[Any]:
        """Result of each counter from its own counts."""
        own: list[dict[int, Tally]] = [{} for _ in self._counters]
        for number, tally in counts.tallies.items():
            if number >= 0:
                place, one = number // len(own), number % len(own)
                own[one][place] = tally
        return [
            one.whole(Counts(tallies)) for one, tallies in zip(self._counters, own, strict=True)
        ]

    def _number(self, number: int, place: int) -> int:
        return number * len(self._counters) + place

    def __repr__(self) -> str:
        """Name of the type alone, since counters hold keys."""
        return "JointCounter(...)"
