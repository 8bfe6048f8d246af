"""Real tables with copies that are made of them, and queries that a seeded rule draws.

Everything here reads private rows as it likes, so use public tables only.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

# Fewer selected rows make no query.
LEAST_ROWS = 30
_CENTS = ["trip_distance", "fare_amount", "tip_amount", "total_amount"]
_MOST_ROWS = 60_000
_ADULT_COPIES = ("privbayes_eps1", "gcopula")
# A number has more distinct values than this, and a category at most so many.
_LEAST_NUMBERS, _MOST_CATEGORIES = 12, 20

Pair = tuple[str, pd.DataFrame, pd.DataFrame]


def pairs(folder: Path, seeds: int) -> Iterator[Pair]:
    """Yield names, real tables and copies: two copies of Adult, and three kinds made of others."""
    yield from adult_pairs(folder)
    for name in ("bank", "cps", "taxi"):
        table = real_table(folder, name)
        for seed in range(seeds):
            yield from made_pairs(name, table, seed)


def adult_pairs(folder: Path) -> Iterator[Pair]:
    """Yield Adult with the copies of two generators."""
    adult = pd.read_parquet(folder / "adult_private.parquet")
    for name in _ADULT_COPIES:
        yield f"adult/{name}", adult, pd.read_parquet(folder / f"adult_{name}.parquet")


def real_table(folder: Path, name: str) -> pd.DataFrame:
    """Complete rows of a real table, at most 60,000; numbers of money and miles are in cents."""
    table = pd.read_parquet(folder / f"{name}_private.parquet")
    for column in table.columns.intersection(_CENTS):
        table[column] = (table[column] * 100).round().astype("int64")
    return whole_numbers(table).head(_MOST_ROWS).reset_index(drop=True)


def whole_numbers(table: pd.DataFrame) -> pd.DataFrame:
    """Columns without fractions, and their rows without missing values."""
    return table.select_dtypes(exclude="float").dropna()


def made_pairs(name: str, table: pd.DataFrame, seed: int) -> Iterator[Pair]:
    """Yield a table with independent columns and with a bootstrap, and one half with the other."""
    rng = np.random.default_rng(seed)
    alone = {c: table[c].sample(frac=1, random_state=rng).to_numpy() for c in table}
    yield f"{name}/marginals", table, pd.DataFrame(alone)
    yield f"{name}/bootstrap", table, table.sample(frac=1, replace=True, random_state=rng)
    half = rng.permutation(len(table)) < len(table) // 2
    yield f"{name}/halves", table[half], table[~half]


class Selection(NamedTuple):
    """Number that a query aggregates, over the rows where a category has one value."""

    column: str
    by: str
    value: object

    def of(self, table: pd.DataFrame) -> NDArray[np.int64]:
        """Numbers of the selected rows."""
        return table.loc[table[self.by] == self.value, self.column].to_numpy(np.int64)


def numeric_columns(copy: pd.DataFrame) -> list[str]:
    """Columns of whole numbers with more than 12 distinct values."""
    numbers = [str(c) for c in copy if copy[c].dtype.kind in "iu"]
    return [c for c in numbers if copy[c].nunique() > _LEAST_NUMBERS]


def selections(
    copy: pd.DataFrame, number: int, rng: np.random.Generator, numeric: Sequence[str] | None = None
) -> Iterator[Selection]:
    """Yield selections, drawn of the copy alone, for up to ``number`` queries.

    There are 50 times as many, since a caller leaves some out.
    """
    numeric = numeric_columns(copy) if numeric is None else numeric
    classes = [str(c) for c in copy if copy[c].nunique() <= _MOST_CATEGORIES]
    for _ in range(50 * number):
        column, by = rng.choice(numeric), rng.choice(classes)
        yield Selection(str(column), str(by), rng.choice(copy[by].unique()))
