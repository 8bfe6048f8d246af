"""Facts of the columns of a synthetic table: lattices, values, groups, cells; all of it public."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from pqd.deciders import Lattice
from pqd.engine.contingency import ContingencyCounter
from pqd.engine.counting.arrow_sql import SOURCE
from pqd.engine.counting.batch import JOINED
from pqd.engine.counting.combinations import Combinations, at_codes, combined
from pqd.engine.counting.persons import person_codes
from pqd.engine.marginals import CellFacts, ValueCounts
from pqd.engine.partitions import number_sql
from pqd.engine.reading.buffers import numpy_of
from pqd.engine.scan_plan import predicate_sql
from pqd.sql.schema import quote_identifier

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pqd.engine.contingency import ContingencyTable
    from pqd.engine.counting.batch import Batch, Names
    from pqd.engine.counting.facts import TypedSQL
    from pqd.engine.partitions import Partition
    from pqd.engine.scan_plan import ScanPlan
    from pqd.sql.select import BoundExpression

_DECIMALS = 6
_FINEST = 2.0**50
# More than the rounding error of a sum of weights.
_ROUNDING = 1e-6


class ColumnFacts:
    """Facts of the loaded columns of a synthetic table; ``batch`` has all its rows.

    ``stored`` maps the public names of columns to their stored names.
    """

    def __init__(self, sql: TypedSQL, batch: Batch, stored: Mapping[str, str]) -> None:
        """Nothing is computed yet."""
        self._sql, self._batch = sql, batch.named(stored)
        self._value_counts: dict[str, ValueCounts] = {}

    def __repr__(self) -> str:
        """Name of the type alone."""
        return "ColumnFacts(...)"

    def lattice(self, value: str, person: str | None) -> Lattice | None:
        """Lattice that holds ``value`` (SQL) on all rows; None if no row has a value.

        With the stored column ``person`` the lattice also holds the total of each person's rows.

        The step is the coarsest of 1, 0.1, ... 0.000001 that fits all values but for rounding.  It
        is coarser for numbers so large that a double cannot tell these steps apart.
        """
        names = self._sql.names(value)
        combinations = self._all_rows(names) if person else self._occupied(names)
        steps = [_whole_sql(value, step) for step in range(_DECIMALS + 1)]
        values, whole = self._evaluated(names, combinations, [f"CAST({value} AS DOUBLE)", steps[0]])
        finite = np.isfinite(values)
        if not finite.any():
            return None
        low, high = float(values[finite].min()), float(values[finite].max())
        if person:
            totals = self._totals(values, combinations, person)
            low, high = min(low, float(totals.min())), max(high, float(totals.max()))
        decimals = 0
        if not whole[finite].all():
            # The finer steps are tried only if some value is not whole.
            fits = self._evaluated(names, combinations, steps[1:])
            fitting = (step for step, fit in enumerate(fits, 1) if fit[finite].all())
            decimals = next(fitting, _DECIMALS)
        while max(abs(low), abs(high)) * 10.0**decimals > _FINEST:
            decimals -= 1
        step = Fraction(10) ** -decimals
        lower, upper = Fraction(low) / step, Fraction(high) / step
        return Lattice(round(lower) * step, round(upper) * step, step)

    def _totals(
        self, values: NDArray[np.float64], combinations: Combinations, person: str
    ) -> NDArray[np.float64]:
        """Total of each person with a finite value; ``values`` has a value for each combination."""
        persons = person_codes(self._batch.columns[person])
        rows = at_codes(np.isfinite(values), combinations.codes)
        codes = persons.codes[rows]
        sums = np.bincount(codes, values[combinations.codes[rows]], persons.size)
        totals: NDArray[Any] = sums[np.bincount(codes, minlength=persons.size) > 0]
        return totals

    def groups(
        self, columns: Sequence[str], resolved: BoundExpression, most: int
    ) -> list[tuple[Any, ...]]:
        """At most ``most`` distinct combinations of ``columns`` on matching rows.

        They ascend, NULL last.
        """
        every = tuple(sorted({*columns, *resolved.columns}))
        outputs = ", ".join(map(quote_identifier, columns))
        where = predicate_sql(resolved.where) if resolved.where else "TRUE"
        return self._sql.sql.fetched(
            self._sql.table(self._batch, every, self._occupied(every)),
            f"SELECT DISTINCT {outputs} FROM {SOURCE} WHERE {where} ORDER BY ALL LIMIT {most}",
        )

    def distinct_values(self, column: str, most: int) -> set[Any] | None:
        """Values of a column but NULL; None if there are more than ``most``."""
        values = self._batch.columns[column].values
        distinct = self._sql.typed(column, values).drop_null().unique()
        return {*distinct.to_pylist()} if len(distinct) <= most else None

    def value_counts(self, column: str) -> ValueCounts:
        """Distinct values of a column, ascending, and the rows of each value; -0 counts as 0."""
        if column not in self._value_counts:
            self._value_counts[column] = self._counted(column)
        return self._value_counts[column]

    def _counted(self, column: str) -> ValueCounts:
        values, places = self._distinct(column)
        counts = np.zeros(values.size + 1, np.int64)
        np.add.at(counts, places, self._batch.columns[column].counts())
        return ValueCounts(values, counts[:-1], values.size, int(counts[-1]), self._batch.rows)

    def _distinct(self, column: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Ascending distinct values, and the place of each stored value; NULL has the place after.

        -0 counts as 0.
        """
        expression = number_sql(column, self._sql.schema[column])
        (values,) = self._evaluated((column,), self._occupied((column,)), [expression])
        held = (
            ~np.isnan(values)
            if values.dtype.kind == "f"
            else np.array([value is not None for value in values], np.bool_)
        )
        distinct, own = np.unique(values[held], return_inverse=True)
        places = np.full(values.size, distinct.size)
        places[held] = own
        return distinct, places

    def singles(self, column: str, person: str | None, most: int) -> int:
        """Number of values that exactly one row has.

        With the stored column ``person``: rows of the values that exactly one person has, where the
        rows of a person share the weight of at most ``most`` rows; it is rounded up.
        """
        if person is None:
            return int((self.value_counts(column).counts == 1).sum())
        values, places = self._distinct(column)
        value = places[self._batch.columns[column].codes]
        persons = person_codes(self._batch.columns[person])
        codes = persons.codes.astype(np.int64)
        rows = np.bincount(codes, minlength=persons.size)
        held = np.unique(value * persons.size + codes)
        single = np.bincount(held // persons.size, minlength=values.size + 1) == 1
        single[-1] = False
        own = codes[single[value]]
        return math.ceil(float((np.minimum(rows[own], most) / rows[own]).sum()) - _ROUNDING)

    def codes(self, partitions: Sequence[Partition]) -> NDArray[np.int64]:
        """Cell of each row in each of ``partitions``, in the rows' order: (rows, partitions)."""
        codes = CellFacts(self._sql, partitions).of(self._batch)
        return np.column_stack([codes[each].astype(np.int64) for each in partitions])

    def by_row(self, workload: ScanPlan) -> ContingencyTable:
        """Atoms and lattice place of each row, in the rows' order."""
        return ContingencyCounter(self._sql, workload).by_row(self._batch)

    def _all_rows(self, names: Names) -> Combinations:
        return self._batch.combinations(names)

    def _occupied(self, names: Names) -> Combinations:
        """Combinations of cells that rows hold, in any order, without the codes of rows."""
        sizes = [len(self._batch.columns[name].values) for name in names]
        if len(names) == 1:
            return Combinations(np.empty(0, np.uint8), sizes[0], (np.arange(sizes[0]),))
        parts = [part.combinations(names) for part in self._batch.slices(JOINED)]
        if len(parts) == 1:
            return parts[0]
        digits = map(np.concatenate, zip(*(each.digits for each in parts), strict=True))
        pairs = list(zip(digits, sizes, strict=True))
        return combined(pairs, sum(each.size for each in parts))

    def _evaluated(
        self, names: Names, combinations: Combinations, expressions: Sequence[str]
    ) -> list[NDArray[Any]]:
        """Values of ``expressions`` on ``combinations``, in their order."""
        table = self._sql.table(self._batch, names, combinations)
        chunks = self._sql.sql.evaluated(table, expressions)
        return [
            np.concatenate([numpy_of(part) for part in output])
            for output in zip(*chunks, strict=True)
        ]


def _whole_sql(value: str, decimals: int) -> str:
    """SQL that is true where ``value`` has at most ``decimals`` decimals.

    Doubles in products and sums of cents are a little off, such as 0.1 + 0.2, so they need not be
    equal but to some units in the last place.
    """
    steps = f"(({value}) * 1e{decimals})"
    return f"COALESCE(abs(round({steps}) - {steps}) <= 1e-9 + 1e-15 * abs({steps}), FALSE)"
