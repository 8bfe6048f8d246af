"""Recognition of tables as earlier versions did it: accounts of theirs are found by it.

A file was known by a hash of its bytes and of the SQL that read it; a table by the sum of SHA-256
hashes of its rows, in two halves of 64 bits.  Nothing new is recorded under either.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from typing import TYPE_CHECKING

import pyarrow as pa

from pqd.engine.kernel.arrow_sql import SOURCE
from pqd.engine.reading.csv_files import is_packed
from pqd.engine.sources.files import DelimitedFile, ParquetFile, file_digest
from pqd.sql.schema import fold_case, quote_identifier, quote_literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from pqd.engine.kernel.arrow_sql import ArrowSQL
    from pqd.engine.tables import Table

_BLOCK = 1 << 24
_PARQUET = "read_parquet(, hive_partitioning = false)"
_NO_CELL = "\ufffe\uffff"


def earlier_digest(table: Table) -> bytes | None:
    """Hash of the file and of how it was read; None for a frame or if unreadable."""
    source = table.source
    if not isinstance(source, DelimitedFile | ParquetFile):
        return None
    try:
        content = file_digest(source.path).hex()
        reading = _PARQUET
        if isinstance(source, DelimitedFile):
            reading = _delimited(source.path, source.columns, source.dialect.delimiter)
    except (OSError, EOFError, zlib.error):
        return None
    return hashlib.sha256(f"{content}\n{reading}".encode()).digest()


def _delimited(path: Path, names: Sequence[str], delimiter: str) -> str:
    """SQL that read delimited text, without the file's name."""
    columns = ", ".join(f"{quote_literal(name)}: 'VARCHAR'" for name in names)
    quoted = map(quote_identifier, names)
    cells = ", ".join(f"NULLIF({name}, '') AS {name}" for name in quoted)
    packed = "gzip" if is_packed(path) else "none"
    buffer = max(_BLOCK, _length(path) + 1)
    return (
        f"(SELECT {cells} FROM read_csv(, auto_detect = false, "
        f"columns = {{{columns}}}, header = true, skip = 0, "
        f"delim = {quote_literal(delimiter)}, "
        f"quote = '\"', escape = '\"', comment = '', nullstr = {quote_literal(_NO_CELL)}, "
        f"encoding = 'utf-8', compression = '{packed}', hive_partitioning = false, "
        "null_padding = false, new_line = '\\n', strict_mode = false, ignore_errors = true, "
        f"parallel = false, buffer_size = {buffer}, max_line_size = {buffer}))"
    )


def _length(path: Path) -> int:
    """Number of bytes of the text."""
    if not is_packed(path):
        return path.stat().st_size
    with gzip.open(path, "rb") as file:
        return sum(map(len, iter(lambda: file.read(_BLOCK), b"")))


def earlier_content(
    sql: ArrowSQL,
    names: Sequence[str],
    key: bytes,
    blocks: Iterable[Mapping[str, pa.Array]],
) -> str:
    """Keyed hash of the columns ``names`` of a table that comes in ``blocks``."""
    ordered = sorted(names, key=fold_case)
    statement = _content_sql(ordered, key)
    rows, halves = 0, [0, 0]
    for block in blocks:
        table = pa.table({name: block[name] for name in ordered})
        ((more, *sums),) = sql.fetched(table, statement)
        rows += more
        halves = [old + int(new or 0) for old, new in zip(halves, sums, strict=True)]
    every: list[int | None] = [rows, *(halves if rows else [None, None])]
    return json.dumps([[fold_case(name) for name in ordered], *map(str, every)])


def _content_sql(names: Sequence[str], key: bytes) -> str:
    """SQL of the number of rows and the sums of both halves of their hashes."""
    cells = [f"CAST({quote_identifier(name)} AS VARCHAR)" for name in names]
    texts = " || ".join(f"COALESCE(length({cell}) || ':' || {cell}, '-')" for cell in cells)
    halves = ", ".join(
        f"sum(CAST(CAST('0x' || h[{a}:{a + 15}] AS UBIGINT) AS HUGEINT))" for a in (1, 17)
    )
    hashes = f"SELECT sha256('{key.hex()}' || {texts}) AS h FROM {SOURCE}"
    return f"SELECT count(*), {halves} FROM ({hashes})"
