"""Engines and sources that must agree on the grid; one more is a row of ``ENGINES``."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

# Rows of a part, and of a block, of the small ones.
SMALL = 25
Server = Any


@dataclass(frozen=True)
class Engine:
    """Engine or source under test.

    ``make`` gives the private table of this kind, made of a table in a folder; it is also given
    what the session fixture ``server`` yields, if one is named.  ``marks`` are pytest's, such as an
    xdist group for what shares a server.  An engine to which an empty text is NULL does not
    ``hold_empty``; one that stores cells in other types has a fingerprint and ranks of its own.
    """

    name: str
    make: Callable[[pa.Table, Path, Server], object]
    server: str = ""
    marks: tuple[Any, ...] = ()
    hold_empty: bool = True
    same_types: bool = True


class Capsule:
    """Frame of a library that pqd does not know."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __len__(self) -> int:
        return len(self.table)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


def texts(table: pa.Table) -> list[list[str | None]]:
    """Rows of the texts of cells, as the engine writes them."""
    names = ", ".join(f'CAST("{name}" AS VARCHAR)' for name in table.column_names)
    return [list(row) for row in duckdb.from_arrow(table).project(names).fetchall()]


def delimited(table: pa.Table, path: Path, delimiter: str = ",") -> Path:
    """File of delimited text, compressed if it is called so."""
    text = StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(table.column_names)
    writer.writerows(texts(table))
    content = text.getvalue().encode()
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    return path


def parquet(table: pa.Table, path: Path, rows: int = 1 << 20) -> Path:
    """Parquet file, in groups of so many rows."""
    pq.write_table(table, path, row_group_size=rows)
    return path


def parts(table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """Parts of the table, by number."""
    for number, first in enumerate(range(0, len(table), SMALL)):
        yield number, table.slice(first, SMALL)


def csv_parts(table: pa.Table, folder: Path, _: Server) -> Path:
    for number, part in parts(table):
        delimited(part, folder / f"part-{number}.csv")
    return folder


def parquet_parts(table: pa.Table, folder: Path, _: Server) -> str:
    for number, part in parts(table):
        parquet(part, folder / f"part-{number}.parquet")
    return f"{folder}/part-*.parquet"


def duckdb_table(table: pa.Table, folder: Path, _: Server) -> str:
    with duckdb.connect(folder / "store.duckdb") as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE grid AS SELECT * FROM given")
    return f"{folder}/store.duckdb::grid"


def spark_parts(table: pa.Table, folder: Path, _: Server) -> str:
    parquet_parts(table, folder, _)
    return f"spark://{folder}"


def polars(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


ENGINES = (
    Engine("pyarrow", lambda table, *_: table),
    Engine("pyarrow in chunks", lambda table, *_: pa.concat_tables(p for _, p in parts(table))),
    Engine("record batch", lambda table, *_: table.combine_chunks().to_batches()[0]),
    Engine("dataset", lambda table, folder, _: ds.dataset(parquet(table, folder / "t.parquet"))),
    Engine("capsule", lambda table, *_: Capsule(table)),
    Engine("pandas", lambda table, *_: table.to_pandas(types_mapper=pd.ArrowDtype)),
    Engine(
        "pandas objects",
        lambda table, *_: pd.DataFrame(table.to_pylist(), columns=table.column_names, dtype=object),
        same_types=False,
    ),
    Engine("polars", lambda table, *_: polars(table)),
    Engine("lazy polars", lambda table, *_: polars(table).lazy()),
    Engine("relation", lambda table, *_: duckdb.from_arrow(table)),
    Engine("duckdb file", duckdb_table),
    Engine("parquet", lambda table, folder, _: parquet(table, folder / "t.parquet")),
    Engine("row groups", lambda table, folder, _: parquet(table, folder / "t.parquet", 3)),
    Engine("parquet parts", parquet_parts),
    Engine("postgres", lambda table, _, server: server.store(table), server="postgres_server"),
    Engine("spark parts", spark_parts, "spark", (pytest.mark.xdist_group("spark"),)),
    Engine("csv", lambda table, folder, _: delimited(table, folder / "t.csv"), hold_empty=False),
    Engine(
        "tsv.gz",
        lambda table, folder, _: delimited(table, folder / "t.tsv.gz", "\t"),
        hold_empty=False,
    ),
    Engine("csv parts", csv_parts, hold_empty=False),
)
