"""Linear workload: a batch of COUNT or SUM queries as numerical queries (Qiu et al. 2022).

All queries of a batch add up the same number ``g`` of each row: 1 for COUNT, else a value on a
public lattice.  The queries select different row classes (pqd/batches/row_classes.py), so they are
decomposable queries.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from pqd.batches.row_classes import RowClasses
from pqd.deciders.batch.linear.conditions import Ranges, Subsets
from pqd.deciders.batch.linear.queries import NumericalQueries
from pqd.deciders.batch.linear.universe import DigitUniverse, LevelUniverse, Rows, Universe
from pqd.deciders.errors import ParameterError
from pqd.deciders.exact_sums import LARGEST_IN_64_BITS
from pqd.deciders.options import option

if TYPE_CHECKING:
    from pqd.deciders import Lattice
    from pqd.engine.contingency import ContingencyTable, Integers

# The most cells of a universe of all levels, and of a universe of digits, in 64 bits or beyond.
_LARGEST_WHOLE, _LARGEST_BITS, _LARGEST_BEYOND = 2**18, 2**22, 2**20
_ONE = LevelUniverse(1, np.ones((1, 1), np.int64))


@dataclass(frozen=True, eq=False)
class LinearWorkload:
    """Queries of a batch as numerical queries, for each sign of the lattice values."""

    classes: RowClasses
    lattice: Lattice | None

    @property
    def signed(self) -> bool:
        """Whether values may be negative."""
        return self.lattice is not None and self.lattice.lower < 0

    @property
    def unit(self) -> Fraction:
        """Size of one unit of the answers."""
        return Fraction(1) if self.lattice is None else self.lattice.unit

    @property
    def top(self) -> int:
        """Largest amount that a row adds to an answer, in units."""
        if self.lattice is None:
            return 1
        return max(abs(self.lattice.lower_units), abs(self.lattice.upper_units), 1)

    def queries(self, sign: int = 1) -> NumericalQueries:
        """Queries about the positive values of ``g``, or for sign -1 the positive values of ``-g``.

        Raises
        ------
        ParameterError
            If the universe would be too large.
        """
        return NumericalQueries(Subsets(self.classes.matrix), self._universe(sign))

    def ranges(self, sign: int = 1) -> NumericalQueries:
        """Queries as intervals of one column.

        Raises
        ------
        ParameterError
            If a query is no interval, or the universe would be too large.
        """
        intervals = self.classes.intervals
        if intervals is None:
            raise ParameterError(
                "the mechanism dyadic is for queries that each select one range of one and the "
                "same column, compared with constants; name another one, or auto"
            )
        return NumericalQueries(Ranges((intervals,)), self._universe(sign))

    def _universe(self, sign: int) -> Universe:
        classes, lattice = self.classes.size, self.lattice
        if lattice is None:
            return LevelUniverse(classes, _ONE.weights)
        if self.signed:
            upper = max(1, lattice.upper_units if sign > 0 else -lattice.lower_units)
            if classes * (upper + 1) <= _LARGEST_WHOLE:
                return LevelUniverse.up_to(classes, upper)
        else:
            upper = lattice.upper_units
            if classes * lattice.points <= _LARGEST_WHOLE:
                return LevelUniverse(classes, self._values(np.arange(lattice.points))[None])
        digits = DigitUniverse(classes, upper)
        cells = classes * upper.bit_length()
        most = _LARGEST_BITS if upper <= LARGEST_IN_64_BITS else _LARGEST_BEYOND
        if cells > most:
            raise ParameterError(
                f"these queries have {classes:,} row classes, and with the digits of up "
                f"to {upper:,} units that makes {cells:,} cells; at most {most:,} fit: "
                "use fewer queries at once, or give tighter bounds or a wider step "
                f"({option('--bounds')})"
            )
        return digits

    def _values(self, places: Integers) -> Integers:
        """Values of ``g``, in units, at the given places on the lattice."""
        return places + 1 if self.lattice is None else self.lattice.units_at(places)

    def rows(self, contingency: ContingencyTable) -> Rows:
        """Class and level of every row; a row without a value is left out."""
        # A row counts as at the first place if nothing is measured.
        places = contingency.places[:, 0] if self.lattice else np.zeros_like(contingency.counts)
        has_value = places >= 0
        classes, places = self.classes.of_words(contingency.words[has_value]), places[has_value]
        dense = not self.signed and isinstance(self._universe(1), LevelUniverse)
        levels = places if dense else self._values(places)
        counts = contingency.counts[has_value]
        return Rows(np.repeat(classes, counts), np.repeat(levels, counts))
