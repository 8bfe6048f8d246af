"""Rows for tests of cells, the tables that hold them, and the cell of a value by its definition."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st
from numpy.typing import NDArray

from pqd.engine.marginals import MarginalCounts, MarginalPlan, RowMap
from pqd.engine.partitions import Bins, Categories, Ordered, Partition, Points, Steps, TextBins
from pqd.engine.scan_plan import PrivacyUnit
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.sql.schema import Kind, Schema

Row = Mapping[str, Any]

DAYS = tuple(datetime(2020, 1, day, tzinfo=UTC).replace(tzinfo=None) for day in (1, 2, 5, 9))
TEXTS = ("a", "A", "a ", "ab", "it's", "Zoë", "Zoe\u0308", "🦓", "NULL", "b\0c", "b", "%", "1.0")
NUMBERS = (0.0, -0.0, 1.0, 2.0, 2.5, -1.5, 7.0, 1e300, -1e300, math.inf, -math.inf, math.nan)
TYPES = pa.schema(
    [
        ("age", pa.float64()),
        ("job", pa.string()),
        ("flag", pa.bool_()),
        ("born", pa.timestamp("us")),
    ]
)
SCHEMA: Schema = {
    "age": Kind.NUMBER,
    "job": Kind.TEXT,
    "flag": Kind.BOOLEAN,
    "born": Kind.TIME,
}
COPY = pa.table(
    {
        "age": [0.0, 1.0, 2.0, 7.0, None],
        "job": ["a", "it's", "Zoë", "b\0c", None],
        "flag": [True, True, False, None, True],
        "born": [DAYS[0], DAYS[1], DAYS[2], DAYS[2], None],
    },
    schema=TYPES,
)


def seconds(moment: datetime) -> float:
    """Microseconds since 1970, as partitions have them."""
    return float(round(moment.replace(tzinfo=UTC).timestamp() * 1_000_000))


JOBS = Categories("job", Kind.TEXT, ("a", "it's"), ("Zoë", "b\0c"))
OPEN = TextBins("job", Kind.TEXT, (("A", "a"), ("b", "it's"), ("zebra", "zebra")))
CLOSED = TextBins("job", Kind.TEXT, OPEN.bins, frozenset(("A", "a", "b", "it's", "zebra")))
BINS = Bins("age", Kind.NUMBER, (0.0, 1.0, 7.0))
STATED = Bins("age", Kind.NUMBER, (0.0, 2.0, 7.0), stated=True)
POINTS = Points("age", Kind.NUMBER, (0.0, 1.0, 2.0, 7.0))
ORDERED = Ordered("age", Kind.NUMBER, (0.0, 1.0, 2.0, 7.0))
STEPS = Steps("age", Kind.NUMBER, 0.0, 7.0, 8)
FLAGS = Categories("flag", Kind.BOOLEAN, ("false", "true"))
BIRTHS = Points("born", Kind.TIME, tuple(map(seconds, DAYS[:3])))
BORN = Ordered("born", Kind.TIME, tuple(map(seconds, DAYS[:3])))
EVERY: tuple[Partition, ...] = (
    *(JOBS, OPEN, CLOSED, BINS, STATED, POINTS, ORDERED, STEPS, FLAGS, BIRTHS, BORN),
)

rows = st.fixed_dictionaries(
    {
        "age": st.none() | st.sampled_from(NUMBERS) | st.floats(-3, 9),
        "job": st.none() | st.sampled_from(TEXTS) | st.text("aAbZoë '", max_size=3),
        "flag": st.none() | st.booleans(),
        "born": st.none() | st.sampled_from(DAYS),
    }
)


def arrow(table: Iterable[Row]) -> pa.Table:
    """Pyarrow Table of ``rows``."""
    return pa.Table.from_pylist([dict(row) for row in table], schema=TYPES)


def _csv(table: pa.Table, folder: Path) -> Path:
    path = folder / "private.csv"
    frame = table.to_pandas()
    frame["flag"] = [
        None if flag is None else str(flag).lower() for flag in table["flag"].to_pylist()
    ]
    frame.to_csv(path, index=False)
    return path


def _parquet(table: pa.Table, folder: Path) -> Path:
    path = folder / "private.parquet"
    pq.write_table(table, path)
    return path


# A table as each kind of input; a CSV holds no zero byte, and no difference of '' and NULL.
FORMATS: dict[str, Callable[[pa.Table, Path], object]] = {
    "pyarrow": lambda table, _: table,
    "pandas": lambda table, _: table.to_pandas(),
    "pandas objects": lambda table, _: pd.DataFrame(table.to_pylist(), columns=TYPES.names).astype(
        object
    ),
    "parquet": _parquet,
    "csv": _csv,
}


def counted(
    private: object,
    row_maps: Sequence[RowMap],
    unit: PrivacyUnit | None = None,
    copy: object = COPY,
) -> MarginalCounts:
    """Cells of a private table."""
    tables = SyntheticTables([open_table(copy, "synthetic")], open_table(private, "private"))
    assert tables.private is not None
    tables.schema(tables.columns, {})
    plan = MarginalPlan(tuple(row_maps), unit)
    return tables.engine.marginals(tables.private, SCHEMA, plan)


def _text_bin_of(partition: TextBins, value: str) -> int:
    """Bin of a text, or the last cell for one that a closed list of texts lacks."""
    if partition.known and value not in partition.known:
        return partition.size - 1
    before = [last for _, last in partition.bins[:-1] if last < value]
    return 1 + len(before)


def _bin_of(edges: Sequence[float], value: float) -> int:
    """Bin of a number between ascending edges, or the last cell for one outside."""
    for cell in range(1, len(edges)):
        closed = cell == len(edges) - 1 and value == edges[-1]
        if edges[cell - 1] <= value < edges[cell] or closed:
            return cell
    return len(edges)


def cell_of(partition: Partition, value: Any) -> int:  # noqa: PLR0911 - a cell of any kind
    """Cell of a value, by the definition of the partition, one value at a time."""
    if isinstance(value, datetime):
        value = seconds(value)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return 0
    if isinstance(partition, Categories):
        text = str(value).lower() if isinstance(value, bool) else value
        known = partition.values  # noqa: PD011 - no pandas
        if text in known:
            return 1 + known.index(text)
        return 1 + len(known) if text in partition.merged else partition.size - 1
    if isinstance(partition, TextBins):
        return _text_bin_of(partition, value)
    if isinstance(partition, Points):
        found = [cell for cell, known in enumerate(partition.values, 1) if known == value]
        return found[0] if found else partition.size - 1
    if isinstance(partition, Bins):
        return _bin_of(partition.edges, value)
    if isinstance(partition, Ordered):
        points = partition.values  # noqa: PD011 - no pandas
        below: int = sum(known < value for known in points)
        return 2 + 2 * below if value in points else 1 + 2 * below
    assert isinstance(partition, Steps)
    ends = Fraction(partition.lower), Fraction(partition.upper)
    inside = min(max(value, partition.lower), partition.upper)
    # Python rounds half to even, as the partition does.
    share: Fraction = (Fraction(inside) - ends[0]) / (ends[1] - ends[0])
    step: int = round(share * (partition.points - 1))
    return step


def brute_counts(table: Iterable[Row], partitions: Sequence[Partition]) -> NDArray[np.int64]:
    """Counts of the marginal of ``partitions``, row by row."""
    counts = Counter(tuple(cell_of(one, row[one.column]) for one in partitions) for row in table)
    shaped = np.zeros([one.size for one in partitions], np.int64)
    for cells, rows_in in counts.items():
        shaped[cells] = rows_in
    return shaped.ravel()
