"""A column that a copy lacks tells nothing of the private table: Theorem D13, exactly.

Every private table of up to three rows of two columns is counted by the partitions of a run.
"""

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest

from pqd.deciders.distances.relations import Relations
from pqd.deciders.distances.statistics import EarthMovers, KolmogorovSmirnov, TotalVariation
from pqd.engine.marginals import Marginal
from pqd.engine.partitions import Lacking, Partition, Points
from pqd.sql.schema import Kind

# Values of the column that the copy lacks, and of a column that it has.
Row = tuple[float, float]
ROWS: list[Row] = list(itertools.product((np.nan, 0.0, 7.0), (np.nan, 1.0, 2.0)))
TABLES = [rows for n in range(4) for rows in itertools.combinations_with_replacement(ROWS, n)]
COPY = [1.0, 1.0, 2.0, np.nan]
LACKED, KNOWN = Lacking("a", Kind.NUMBER), Points("b", Kind.NUMBER, (1.0, 2.0))
SIGMAS = (Fraction(0), Fraction(1, 2), Fraction(9, 10))


class Filled(Lacking):
    """Broken twin: private rows with a value have the copy's cell."""

    def codes(self, values: np.ndarray) -> np.ndarray:
        return np.where(np.isnan(values), 0, 1)


def of_rows(partition: Partition, rows: Sequence[Row]) -> np.ndarray:
    """Counts of the pair of columns: (cells of the lacked column, cells of the known column)."""
    lacked, known = (np.array([row[place] for row in rows], float) for place in (0, 1))
    codes = {partition: partition.codes(lacked), KNOWN: KNOWN.codes(known)}
    pair = Marginal((partition, KNOWN))
    return np.bincount(pair.cells(codes), minlength=pair.size).reshape(pair.shape)


def of_copy() -> np.ndarray:
    """Counts of the copy: all rows in the last cell of the column that it lacks."""
    counts = np.zeros((2, KNOWN.size), np.int64)
    counts[1] = np.bincount(KNOWN.codes(np.array(COPY)), minlength=KNOWN.size)
    return counts


@pytest.mark.parametrize("distance", [TotalVariation, KolmogorovSmirnov, EarthMovers])
def test_every_distance_with_the_column_is_the_number_of_rows(
    distance: Callable[[np.ndarray], TotalVariation],
) -> None:
    alone = distance(of_copy().sum(axis=1))
    pair = TotalVariation(of_copy().ravel())
    for rows in TABLES:
        counts = of_rows(LACKED, rows)
        assert counts.sum() == len(rows)
        assert alone.rows(counts.sum(axis=1)) == len(rows)
        assert pair.rows(counts.ravel()) == len(rows)


def test_a_pair_with_the_column_has_no_relation_to_keep() -> None:
    relations = Relations((of_copy(),))
    for rows in TABLES:
        scores = relations.rows([of_rows(LACKED, rows)])
        assert set(scores) == {len(rows)}
        assert all(scores.excess(sigma) == 0 for sigma in SIGMAS)


def test_cells_that_depend_on_the_values_are_caught() -> None:
    broken = Filled("a", Kind.NUMBER)
    alone = TotalVariation(of_copy().sum(axis=1))
    distances = {alone.rows(of_rows(broken, rows).sum(axis=1)) for rows in TABLES if len(rows) == 3}
    assert distances == {0, 1, 2, 3}
