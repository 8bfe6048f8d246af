"""Table of Spark as a source; the rows of a private table stay in Spark."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from pqd.deciders.names import near_hint, nearest_tables
from pqd.engine.sources.source import Place, TypedSource, UnreadableError, checked_names
from pqd.engine.sources.spark_address import Address, parsed_address
from pqd.engine.spark.failures import UNKNOWN_TABLE, advice_on, refusal_of
from pqd.engine.spark.jobs import counted, rows_of
from pqd.engine.spark.sessions import LOST, Quiet, is_lost, session
from pqd.errors import TableError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from pqd.engine.counting.tally import Counts
    from pqd.engine.reading.csv_files import Odd
    from pqd.engine.sources.source import Role
    from pqd.engine.spark.partial_counts import Counting

# Used for paths alone: Spark would find the type of a column of folder names from all folders.
_PARTITION_TYPES = "spark.sql.sources.partitionColumnTypeInference.enabled"


@dataclass(frozen=True)
class SparkTable(TypedSource):
    """DataFrame of Spark; ``known`` keeps, under ``key``, the hashes of its content.

    A later hash tells whether the rows have changed; a DataFrame has no version.
    """

    role: Role
    label: str
    columns: tuple[str, ...] = field(repr=False)
    frame: DataFrame = field(repr=False)
    places: tuple[Place, ...] = field(default=(), repr=False)
    key: bytes = field(default_factory=lambda: os.urandom(32), repr=False, compare=False)
    known: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)
    lock: RLock = field(default_factory=RLock, repr=False, compare=False)

    def batches(self, wanted: Sequence[str], odd: Odd) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """Cells of the ``wanted`` columns of a public table."""
        if self.role != "synthetic":
            raise UnreadableError("its rows are not read outside of Spark")
        return self._rows(wanted)

    def _rows(self, wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        advice = ""
        try:
            yield from rows_of(self.frame, wanted, _version())
        except Exception as error:  # noqa: BLE001 - errors of Spark are of many types
            advice = self._advice(error)
        if advice:
            raise UnreadableError(advice)

    def counted(self, work: Counting) -> Counts:
        """Counts of all rows, added up by Spark.

        Raises
        ------
        UnreadableError
            If Spark, or one of its workers, fails.
        """
        try:
            return counted(self.frame, work, _version())
        except Exception as error:  # noqa: BLE001 - errors of Spark are of many types
            advice = self._advice(error)
        # Raised outside the handler, since Spark's own error may quote a cell.
        raise UnreadableError(advice)

    def _advice(self, error: Exception) -> str:
        return LOST if is_lost(self.frame.sparkSession) else advice_on(error)


def _version() -> str:
    return str(sys.modules["pqd"].__version__)


def open_spark(given: object, role: Role) -> SparkTable:
    """Table at an address of Spark, or from a DataFrame; only names and types are read.

    Raises
    ------
    TableError
        If the table is missing, unreadable or of Spark Connect, or its names are unusable.
    ParameterError
        If pyspark is not installed.
    """
    return _at_address(given, role) if isinstance(given, str) else _of_frame(given, role)


def _at_address(given: str, role: Role) -> SparkTable:
    address = parsed_address(given)
    spark = session()
    what = f"the {role} table {address.label}"
    refusal, near = "", []
    with Quiet(spark):
        try:
            frame = _opened(spark, address)
            names = frame.columns
        except Exception as error:  # noqa: BLE001 - errors of Spark are of many types
            refusal = _refusal(spark, error)
            near = _nearest(spark, address) if refusal_of(error) == UNKNOWN_TABLE else []
    if refusal:
        raise TableError(f"{what} {refusal}{near_hint(near)}")
    own = f"spark://{address.path or address.name}"
    place = Place(table=own, address=own)
    places = (place, *_files(frame))
    return SparkTable(role, address.label, checked_names(what, names), frame, places)


def _of_frame(given: Any, role: Role) -> SparkTable:  # noqa: ANN401 - a DataFrame
    what = f"the {role} frame"
    if type(given).__module__.startswith("pyspark.sql.connect"):
        raise TableError(
            f"{what} is of Spark Connect, of which neither the log nor the workers can be kept "
            "silent from here; run pqd in the driver of a session (spark-submit, pyspark)"
        )
    names = None
    with Quiet(given.sparkSession):
        try:
            if given.isStreaming:
                refusal = "is a stream, which has no end; give what was read of it, as a table"
            else:
                names = [str(name) for name in given.columns]
        except Exception as error:  # noqa: BLE001 - errors of Spark are of many types
            refusal = _refusal(given.sparkSession, error)
    if names is None:
        raise TableError(f"{what} {refusal}")
    return SparkTable(role, f"{role} frame", checked_names(what, names), given, _files(given))


def _nearest(spark: SparkSession, address: Address) -> list[str]:
    """Tables of the same schema with similar names, which the catalogue lists; no row is read."""
    schema, _, name = (address.name or "").rpartition(".")
    known = {}
    with suppress(Exception):
        tables = spark.catalog.listTables(schema) if schema else spark.catalog.listTables()
        known = {f"{schema}.{each.name}" if schema else each.name: each.name for each in tables}
    return nearest_tables(name, known)


def _refusal(spark: SparkSession, error: Exception) -> str:
    return f"cannot be opened; {LOST}" if is_lost(spark) else refusal_of(error)


def _files(frame: DataFrame) -> tuple[Place, ...]:
    """Files that a DataFrame reads, as far as Spark tells; a view has the files of its table."""
    found: list[str] = []
    with Quiet(frame.sparkSession), suppress(Exception):
        found = frame.inputFiles()
    every = []
    for uri in sorted(found):
        parts = urlsplit(uri)
        local = parts.scheme == "file" and not parts.netloc
        every.append(Place(Path(unquote(parts.path))) if local else Place(table=uri))
    return tuple(every)


def _opened(spark: SparkSession, address: Address) -> DataFrame:
    if address.name:
        return spark.table(address.name)
    before = spark.conf.get(_PARTITION_TYPES) or "true"
    spark.conf.set(_PARTITION_TYPES, "false")
    try:
        return spark.read.format(address.format).load(address.path)
    finally:
        spark.conf.set(_PARTITION_TYPES, before)
