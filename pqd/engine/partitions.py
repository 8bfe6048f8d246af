"""Partitions: the public cells of one column, and the cell of each value."""

from __future__ import annotations

import hashlib
import json
import math
import sys
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from pqd.engine.cell_labels import (
    LACKING,
    NULL,
    OTHERS,
    UNSEEN,
    between_labels,
    bin_labels,
    number_labels,
    outside_label,
    range_labels,
    text_labels,
    time_labels,
)
from pqd.sql.schema import Kind, fold_case, quote_identifier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# With few edges, a comparison with each edge is faster than a search.
_FEW = 32
# The scan gives cells of texts as whole numbers of 16 bits.
MOST_CATEGORIES = 2**16 - 3
# Steps by whose multiples numbers are heaped; more steps than the second number are not told apart.
HEAPS, _MOST_STEPS = (1, 5, 10, 50, 100, 1_000), 2.0**50


def number_sql(column: str, kind: Kind) -> str:
    """SQL of a column's value: a number as a double, a time as microseconds since 1970, or a text.

    The SQL is over the typed column.  A cell that does not fit its kind is NULL, and so is an
    infinite time.
    """
    name = quote_identifier(column)
    if kind in {Kind.TEXT, Kind.BOOLEAN}:
        return f"CAST({name} AS VARCHAR)"
    return f"CAST({f'epoch_us({name})' if kind is Kind.TIME else name} AS DOUBLE)"


# Compared by identity: each use of a column makes a partition of its own, perhaps of many edges.
@dataclass(frozen=True, eq=False)
class Partition(ABC):
    """Cells of one column; every value, and NULL, has exactly one cell.

    ``column`` is its name in the synthetic table, ``kind`` the public kind of its values.
    """

    column: str
    kind: Kind

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """Text of each cell."""

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.labels)

    @property
    @abstractmethod
    def unseen(self) -> int | None:
        """Cell of values that the copy never has; None if no cell is for these values alone."""

    @property
    def sql(self) -> str:
        """SQL, over the typed column, of the value whose cell is wanted: a number or a text."""
        return number_sql(self.column, self.kind)

    @abstractmethod
    def codes(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Cell of each of the ``values``, ``0 .. size - 1``; it depends on this value alone.

        NULL is NaN among numbers, and None among texts.
        """

    @abstractmethod
    def facts(self) -> Any:  # noqa: ANN401 - JSON values
        """All facts that determine the cell of a value, for a cache key."""

    def _facts(self, name: str, *parameters: object) -> list[Any]:
        return [name, fold_case(self.column), str(self.kind), *parameters]

    def _texts_of(self, numbers: Sequence[float]) -> tuple[str, ...]:
        return time_labels(numbers) if self.kind is Kind.TIME else number_labels(numbers)


@dataclass(frozen=True, eq=False)
class Lacking(Partition):
    """Cells of a column that a copy lacks: all private rows have the first, the copy's the second.

    Every distance with such a column is 1, whatever the private table holds (docs/theory.md,
    Theorem D13).
    """

    @property
    def labels(self) -> tuple[str, ...]:
        """Texts of the two cells."""
        return LACKING

    @property
    def unseen(self) -> None:
        """None: the copy has no values, so every value would be unseen."""
        return None

    def codes(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """The first cell, for every value."""
        return np.zeros(len(values), np.int64)

    def facts(self) -> Any:  # noqa: ANN401 - JSON values
        """The name of the column."""
        return self._facts("lacking")


@dataclass(frozen=True, eq=False)
class Categories(Partition):
    """Cells of a TEXT or BOOLEAN column: NULL, each of ``values``, ``merged`` values, others.

    The ``merged`` values are the other values of the copy; together they have one cell, if there
    are any.  The last cell is for values that the copy never has.  The values of a BOOLEAN are
    ``true``, ``false``.
    """

    values: tuple[str, ...]
    merged: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise ValueError for too many cells, or for a value in two cells, which counts twice."""
        if len({*self.values, *self.merged}) < len(self.values) + len(self.merged):
            raise ValueError("a value has two cells")
        if len(self.values) > MOST_CATEGORIES:
            raise ValueError("too many cells")

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Text of each cell."""
        others = (OTHERS,) if self.merged else ()
        return (NULL, *text_labels(self.values), *others, UNSEEN)

    @property
    def unseen(self) -> int:
        """The last cell."""
        return self.size - 1

    @cached_property
    def _cells(self) -> Mapping[str | None, int]:
        """Cell of each known text; two texts are equal if all their characters are."""
        cells: dict[str | None, int] = {value: cell for cell, value in enumerate(self.values, 1)}
        return {None: 0, **cells, **dict.fromkeys(self.merged, len(self.values) + 1)}

    def codes(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Cell of each text."""
        cells = (self._cells.get(value, self.unseen) for value in values)
        return np.fromiter(cells, np.int64, values.size)

    def facts(self) -> list[Any]:
        """Values in their order; the merged ones by their hash."""
        text = json.dumps(sorted(self.merged))
        return self._facts(
            "categories", list(self.values), hashlib.sha256(text.encode()).hexdigest()
        )


@dataclass(frozen=True, eq=False)
class TextBins(Partition):
    """Cells of a TEXT column in the order of its texts: NULL, each bin, perhaps one for new values.

    ``bins`` has the first and the last text of the copy in each bin, ascending by code points.  A
    bin reaches from behind the bin before up to its own last text; the last bin has no end.  So a
    text that the copy never has lies in a bin, too, unless all texts of the copy are ``known``:
    then the last cell is for the others.

    The order does not depend on how often the copy has a text.  Cells of the copy's most frequent
    texts would be chosen by luck, too, and an independent sample would have fewer rows in them.

    Raises
    ------
    ValueError
        For bins that are none, too many or not ascending.
    """

    bins: tuple[tuple[str, str], ...]
    known: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Check that the bins part the texts."""
        ends = [end for each in self.bins for end in each]
        if not 0 < len(self.bins) <= MOST_CATEGORIES or ends != sorted(ends):
            raise ValueError("bins of texts that do not ascend")

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Text of each cell."""
        return (NULL, *range_labels(self.bins), *((UNSEEN,) if self.known else ()))

    @property
    def unseen(self) -> int | None:
        """The last cell; None if new values lie in the bins."""
        return len(self.bins) + 1 if self.known else None

    def codes(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Cell of each text."""
        ends = [last for _, last in self.bins[:-1]]

        def cell(value: str | None) -> int:
            if value is None:
                return 0
            if self.known and value not in self.known:
                return len(self.bins) + 1
            return 1 + bisect_left(ends, value)

        return np.fromiter(map(cell, values), np.int64, values.size)

    def facts(self) -> list[Any]:
        """Bins, and the known values by their hash."""
        text = json.dumps(sorted(self.known))
        return self._facts("text-bins", self.bins, hashlib.sha256(text.encode()).hexdigest())


@dataclass(frozen=True, eq=False)
class Points(Partition):
    """Cells of a NUMBER or TIME column: NULL, each of few ascending ``values``, others."""

    values: tuple[float, ...]

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Text of each cell."""
        return (NULL, *self._texts_of(self.values), UNSEEN)

    @property
    def unseen(self) -> int:
        """The last cell."""
        return len(self.values) + 1

    def codes(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Cell of each row."""
        return _placed(np.array(self.values), values, self.unseen)

    def facts(self) -> list[Any]:
        """Values, exactly."""
        return self._facts("points", _exact(self.values))


@dataclass(frozen=True, eq=False)
class Bins(Partition):
    """Cells of a NUMBER or TIME column between ascending ``edges``: NULL, each bin, outside.

    A bin holds its lower edge; the last bin also holds its upper edge.  A bin from ``v`` to
    ``beyond(v)`` holds ``v`` alone.  Values outside are not in the copy, unless the user
    ``stated`` the edges.
    """

    edges: tuple[float, ...]
    stated: bool = False

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Text of each cell."""
        edges = self._texts_of(self.edges)
        outside = outside_label(edges[0], edges[-1]) if self.stated else UNSEEN
        single = [beyond(low) == high for low, high in pairwise(self.edges)]
        return (NULL, *bin_labels(edges, single), outside)

    @property
    def unseen(self) -> int | None:
        """The last cell; None if edges are stated."""
        return None if self.stated else len(self.edges)

    def codes(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Cell of each row."""
        outside, last = len(self.edges), self.edges[-1]
        # A value below the first edge has passed no edge.
        passed = _passed(np.array(self.edges[:-1]), values)
        cells = np.where((passed == 0) | (values > last), outside, passed)
        return np.where(np.isnan(values), 0, cells)

    def facts(self) -> list[Any]:
        """Edges, exactly."""
        return self._facts("bins", _exact(self.edges))


@dataclass(frozen=True, eq=False)
class Ordered(Partition):
    """Cells of a NUMBER or TIME column in their order, for the Kolmogorov-Smirnov distance.

    The cells are: NULL, below the first of the ascending ``values``, at this value, between it and
    the next value, and so on, above the last value.  If ``values`` are all values of the copy, the
    cumulative shares differ most at the end of a cell: the copy's share changes only at values, and
    the private share is monotone between two values.
    """

    values: tuple[float, ...]

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Text of each cell."""
        return (NULL, *between_labels(self._texts_of(self.values)))

    @property
    def size(self) -> int:
        """Number of cells: two for each value, and two more."""
        return 2 * len(self.values) + 2

    @property
    def unseen(self) -> None:
        """None: values that the copy never has lie in the order, too."""
        return

    def codes(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Cell of each row."""
        known = np.array(self.values)
        passed = np.searchsorted(known, values, side="right")
        at = np.zeros(values.size, bool)
        if known.size:
            at = known[np.maximum(passed - 1, 0)] == values
        return np.where(np.isnan(values), 0, 2 * passed + 1 - at)

    def facts(self) -> list[Any]:
        """Values, exactly."""
        return self._facts("ordered", _exact(self.values))


@dataclass(frozen=True, eq=False)
class Steps(Partition):
    """Cells of a NUMBER or TIME column on ``points`` equal steps from ``lower`` to ``upper``.

    The cells serve the earth mover's distance: a value counts at the nearest step, a value outside
    at the nearer end, and NULL at ``lower``.
    """

    lower: float
    upper: float
    points: int

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Text of each cell."""
        return self._texts_of([float(step) for step in self._steps])

    @property
    def _steps(self) -> NDArray[np.float64]:
        return np.linspace(self.lower, self.upper, self.points)

    @property
    def size(self) -> int:
        """Number of steps."""
        return self.points

    @property
    def unseen(self) -> None:
        """None: a value that the copy never has counts at the nearest step."""
        return

    def codes(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Cell of each row."""
        inside = np.clip(np.where(np.isnan(values), self.lower, values), self.lower, self.upper)
        # The largest numbers are halved first, since their range is beyond every double.
        scale = 1.0 if math.isfinite(self.upper - self.lower) else 0.5
        lower, upper = scale * self.lower, scale * self.upper
        share = (scale * inside - lower) / (upper - lower)
        return np.rint(share * (self.points - 1)).astype(np.int64)

    def facts(self) -> list[Any]:
        """Range and number of steps, exactly."""
        return self._facts("steps", _exact((self.lower, self.upper)), self.points)


@dataclass(frozen=True, eq=False)
class Heaps(Partition):
    """Cells of a NUMBER column by roundness: the largest of some steps that divides the value.

    A step is ``10^-decimals``.  The cells are: NULL, no whole number of steps, and the largest of
    1, 5, 10, 50, 100 and 1,000 steps that divides the value; 0 is divided by all of them.  A double
    is k steps if it is the double nearest to the decimal ``k 10^-decimals`` (docs/theory.md,
    Theorem V5).
    """

    decimals: int

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Text of each cell."""
        steps = self._texts_of([size / 10.0**self.decimals for size in HEAPS])
        return (NULL, f"finer than {steps[0]}", *(f"multiples of {each}" for each in steps))

    @property
    def unseen(self) -> None:
        """None: a value that the copy never has may be as round as others."""
        return

    def codes(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Cell of each row."""
        scale = 10.0**self.decimals
        with np.errstate(over="ignore", invalid="ignore"):
            steps = np.rint(values * scale)
            whole = (np.abs(steps) < _MOST_STEPS) & (steps / scale == values)
        numbers = np.where(whole, steps, 0.0).astype(np.int64)
        cells = np.full(values.size, 1, np.int64)
        for cell, size in enumerate(HEAPS, 2):
            cells[whole & (numbers % size == 0)] = cell
        return np.where(np.isnan(values), 0, cells)

    def facts(self) -> list[Any]:
        """Decimal places of a step, and the steps."""
        return self._facts("heaps", self.decimals, list(HEAPS))


def beyond(value: float) -> float:
    """Least double above ``value`` that no processor rounds to it; above 0, a normal double."""
    return math.nextafter(value, math.inf) if value else sys.float_info.min


def _exact(numbers: Sequence[float]) -> list[str]:
    """Text of each double; different doubles have different texts, and -0 has the text of 0."""
    return [float.hex(float(number) + 0.0) for number in numbers]


def _passed(edges: NDArray[np.float64], values: NDArray[Any]) -> NDArray[np.int64]:
    """Number of ascending ``edges`` at or below each value; callers replace the result of NaN."""
    if edges.size > _FEW:
        return np.searchsorted(edges, values, side="right")
    passed = np.zeros(values.size, np.int64)
    for edge in edges:
        passed += values >= edge
    return passed


def _placed(known: NDArray[np.float64], values: NDArray[Any], absent: int) -> NDArray[np.int64]:
    """Place, from 1 on, of each value in ascending ``known``; 0 for NaN, ``absent`` for others."""
    passed = _passed(known, values)
    found = (
        known[np.maximum(passed - 1, 0)] == values if known.size else np.zeros(values.size, bool)
    )
    return np.where(np.isnan(values), 0, np.where(found, passed, absent))
