"""Jobs of Spark: workers count each partition, Spark adds the counts up, the driver gets the sums.

No row of a private table comes to the driver.  The driver gets a count for each distinct place that
rows have: on public lattices, between public marks, or in public cells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from pqd.engine.reading.values import at_least_one
from pqd.engine.spark.partial_counts import FIELDS, PERSON_FIELD, counts_in
from pqd.engine.spark.sessions import Quiet, mapped
from pqd.engine.spark.workers import (
    FAILED,
    Reading,
    count_mapper,
    person_mapper,
    piece_mapper,
    unpacked,
)
from pqd.interrupts import heed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

    from pqd.engine.counting.tally import Counts
    from pqd.engine.spark.partial_counts import Counting

# Types whose cells Arrow cannot hold, or holds differently from version to version of Spark.
_AS_TEXT = {"variant", "interval", "udt", "geometry", "geography", "void"}
_COUNTS = "part int, word binary, rows bigint"


class WorkerError(Exception):
    """Failure of a worker; ``reason`` is BROKEN or OTHER_VERSION."""

    def __init__(self, reason: int) -> None:
        """Keep the reason."""
        super().__init__("a worker failed")
        self.reason = reason


def counted(frame: DataFrame, work: Counting, version: str) -> Counts:
    """Counts of all rows of ``frame``, added up by Spark.

    Raises
    ------
    WorkerError
        If a worker failed.
    Exception
        If Spark fails; its message may quote a cell.
    """
    with Quiet(frame.sparkSession):
        partial = _partial_counts(frame, work, version)
        added = _added(partial)
        if work.distinct:
            from pyspark.sql import functions as f  # noqa: PLC0415 - an extra, and a heavy import

            # For a distinct statistic, a value's number of rows becomes a key, which counts once.
            valued = f.col("part").isin(sorted(work.distinct))
            number = f.unhex(f.lpad(f.hex("rows"), 16, "0"))
            word = f.when(valued, number).otherwise(f.col("word"))
            rows = f.when(valued, f.lit(1).cast("bigint")).otherwise(f.col("rows"))
            added = _added(added.select("part", word.alias("word"), rows.alias("rows")))
        counts = counts_in(_pieces(added, Reading(FIELDS, version)))
    failures = counts[FAILED].keys
    if failures.size:
        raise WorkerError(int(failures[-1]))
    return counts


def rows_of(frame: DataFrame, wanted: Sequence[str], version: str) -> Iterator[pa.RecordBatch]:
    """Rows of a public table in one or more batches, of the columns ``wanted``.

    Raises
    ------
    Exception
        If Spark fails.
    """
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415 - an extra

    with Quiet(frame.sparkSession):
        selected = _selected(frame, wanted)
        types = to_arrow_schema(selected.schema, timezone="UTC").types
        schema = pa.schema(list(zip(wanted, types, strict=True)))
        yield from at_least_one(_pieces(selected, Reading(tuple(wanted), version)), schema, wanted)


def _partial_counts(frame: DataFrame, work: Counting, version: str) -> DataFrame:
    """Partial counts of each partition."""
    names = tuple(work.columns)
    if work.persons is None:
        function = count_mapper(work, Reading(names, version))
        return mapped(_selected(frame, names), function, _COUNTS)
    from pyspark.sql.types import LongType, StructField, StructType  # noqa: PLC0415 - an extra

    selected = _selected(frame, names)
    row_type = StructType([*selected.schema.fields, StructField(PERSON_FIELD, LongType())])
    function = person_mapper(work.persons, Reading(names, version))
    by_person = mapped(selected, function, row_type).repartition("person")
    sorted_rows = by_person.sortWithinPartitions("person")
    reading = Reading(names, version, persons=True)
    return mapped(sorted_rows, count_mapper(work, reading), _COUNTS)


def _selected(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """Columns ``names``, renamed by place: Spark could misread a sign in a name."""
    from pyspark.sql import functions as f  # noqa: PLC0415 - an extra, and a heavy import

    columns = []
    for place, name in enumerate(names):
        column = f.col(f"`{name.replace('`', '``')}`")
        if not _has_cells_in_arrow(frame.schema[name].dataType):
            column = column.cast("string")
        columns.append(column.alias(f"c{place}"))
    return frame.select(columns)


def _has_cells_in_arrow(kind: DataType) -> bool:
    """Whether a worker gets cells of this type as they are; cells of other types become text."""
    inner = [
        *(each.dataType for each in getattr(kind, "fields", ())),
        *(
            getattr(kind, part)
            for part in ("elementType", "keyType", "valueType")
            if hasattr(kind, part)
        ),
    ]
    return kind.typeName() not in _AS_TEXT and all(map(_has_cells_in_arrow, inner))


def _added(counts: DataFrame) -> DataFrame:
    """Sums of partial counts, by statistic and key."""
    from pyspark.sql import functions as f  # noqa: PLC0415 - an extra, and a heavy import

    keys = FIELDS[:-1]
    return counts.groupBy(*keys).agg(f.sum("rows").alias("rows")).select(*FIELDS)


def _pieces(frame: DataFrame, reading: Reading) -> Iterator[pa.RecordBatch]:
    """Rows of ``frame``, partition by partition, each in a few pieces."""
    pieces = mapped(frame, piece_mapper(reading), "piece binary")
    for (piece,) in pieces.toLocalIterator():
        heed()
        yield from unpacked(bytes(piece))
