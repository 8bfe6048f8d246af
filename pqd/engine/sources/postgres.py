"""Tables of PostgreSQL; each is read in its own transaction, on one snapshot.

Arrow's driver (ADBC) gives the rows as Arrow batches, and the server evaluates no predicate.  The
transaction is REPEATABLE READ and READ ONLY, and stays open as long as the table is used: each pass
sees the same rows, even if others write meanwhile.

No cell may raise an error, in the server or here.  So the server converts only where it must, and
only by functions that never fail.  Days and times come as the bytes that the server stores, since
the driver ignores infinity.  Numbers of any precision come as text.  Other types (JSON, arrays,
ranges, intervals) come as the server's own text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from pqd.deciders.names import near_hint, nearest_tables
from pqd.engine.reading.buffers import numpy_of
from pqd.engine.sources.computed_copies import bounded
from pqd.engine.sources.postgres_address import PostgresAddress, address_of
from pqd.engine.sources.source import (
    Place,
    Role,
    TypedSource,
    UnreadableError,
    checked_names,
)
from pqd.errors import TableError
from pqd.sql.schema import quote_identifier, quote_literal

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pqd.engine.reading.csv_files import Odd
    from pqd.engine.sources.postgres_session import PostgresSession

# Kinds of relations: r table, p partitioned table, v view; m materialized view, f foreign table.
_LOCKED, _UNLOCKED, _VIEW = "rpv", "mf", "v"
# Encodings that the server always sends as UTF-8; with SQL_ASCII it sends the bytes as they are.
_ENCODINGS = ("UTF8", "LATIN1", "SQL_ASCII")
_SET_ENCODING = """
SELECT pg_catalog.set_config('client_encoding', CASE pg_catalog.current_setting('server_encoding')
  WHEN 'SQL_ASCII' THEN 'SQL_ASCII' ELSE 'UTF8' END, false) AS encoding
"""
# Settings of the session, so that texts do not depend on settings of a user or a database.  With
# row_security off, rows that are hidden from the user are an error.
_SETTINGS = {
    "search_path": "",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "xmloption": "content",
    "row_security": "off",
    "idle_in_transaction_session_timeout": "0",
}
_SET = "pg_catalog.set_config({name}, {value}, false) AS s{place}"
_RELATION = """
SELECT n.nspname::pg_catalog.text AS schema, c.relname::pg_catalog.text AS name,
  c.relkind::pg_catalog.text AS kind, pg_catalog.current_setting('server_encoding') AS encoding
FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_class c
  ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
WHERE c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass({name})
"""
# Tables that the user may read, by name; names of the catalogue, and no rows.
_NAMES = """
SELECT c.relname::pg_catalog.text AS name,
  pg_catalog.concat_ws('.', n.nspname, c.relname) AS whole
FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_class c
  ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
WHERE c.relkind OPERATOR(pg_catalog.=) ANY ('{r,p,v,m,f}'::pg_catalog."char"[])
  AND n.nspname OPERATOR(pg_catalog.<>) ALL ('{pg_catalog,information_schema}'::pg_catalog.name[])
  AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
  AND pg_catalog.has_table_privilege(c.oid, 'SELECT')
ORDER BY 2
"""
# Columns with their types; a domain is replaced by the server's own type under it.
_COLUMNS = """
WITH RECURSIVE bases(number, type) AS (
  SELECT attnum, atttypid FROM pg_attribute
  WHERE attrelid = {name}::regclass AND attnum > 0 AND NOT attisdropped
  UNION ALL
  SELECT number, typbasetype FROM bases JOIN pg_type t ON t.oid = type WHERE typtype = 'd'
)
SELECT attname::text AS name, t.oid::int8 AS type
FROM bases JOIN pg_type t ON t.oid = type AND typtype <> 'd'
JOIN pg_attribute ON attrelid = {name}::regclass AND attnum = number ORDER BY number
"""
# The table, its parts, and the relations that a view reads, each with its server and database.
_PLACES = """
WITH RECURSIVE reads(relation) AS (
  SELECT {name}::regclass::oid UNION SELECT other FROM reads, LATERAL (
    SELECT inhrelid FROM pg_inherits WHERE inhparent = relation
    UNION ALL
    SELECT refobjid FROM pg_rewrite r JOIN pg_depend d ON d.objid = r.oid
      AND classid = 'pg_rewrite'::regclass AND refclassid = 'pg_class'::regclass
    WHERE ev_class = relation AND ev_type = '1'
  ) AS others(other)
)
SELECT concat_ws(' ', pg_postmaster_start_time(), d.oid, relation) AS place,
  concat_ws('/', 'postgresql:', {server}, quote_ident(datname), relation::regclass) AS address
FROM reads, pg_database d WHERE datname = current_database() ORDER BY relation
"""
# Lasting name of a server by whatever host it is reached: the identifier of its files, or else, if
# the user may not read the identifier, its own network address.
_MAY_IDENTIFY = "SELECT has_function_privilege('pg_control_system()', 'EXECUTE') AS may"
_SERVER = "(SELECT system_identifier FROM pg_control_system())"
_NETWORK = "concat_ws(':', inet_server_addr(), inet_server_port())"
# Days and microseconds from 1970-01-01 to 2000-01-01, from which the server counts.
_DAYS, _MICROSECONDS = 10_957, 946_684_800_000_000
_MOST_DAYS, _MOST = (1 << 31) - 1, (1 << 63) - 1


def _as_it_is(cells: pa.Array) -> pa.Array:
    return cells


class ColumnType(NamedTuple):
    """Reading of a type: SQL with ``{0}`` for the column, and a conversion of the cells received.

    A ``loose`` column comes as text, but most likely holds numbers.
    """

    sql: str
    made: Callable[[pa.Array], pa.Array] = _as_it_is
    loose: bool = False


def _days(cells: pa.Array) -> pa.Array:
    """Dates from the server's days; infinity becomes the engine's infinity."""
    stored, valid = _stored(cells, 4)
    infinite = np.abs(stored) >= _MOST_DAYS
    days = np.where(infinite, np.sign(stored) * _MOST_DAYS, stored + _DAYS)
    return _arrow_of(days.astype(np.int32), valid, pa.date32())


def _moments(cells: pa.Array, zone: str | None = None) -> pa.Array:
    """Timestamps from the server's times, NULL beyond the engine's range; infinity is kept."""
    stored, valid = _stored(cells, 8)
    infinite = (stored == _MOST) | (stored <= -_MOST)
    beyond = ~infinite & (stored >= _MOST - _MICROSECONDS)
    moments = stored + np.where(infinite | beyond, 0, _MICROSECONDS)
    moments = np.where(stored <= -_MOST, -_MOST, moments)
    return _arrow_of(moments, valid & ~beyond, pa.timestamp("us", zone))


def _stored(cells: pa.Array, width: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Whole number in each cell of ``width`` bytes, 0 for NULL; and whether a cell is not NULL."""
    valid = numpy_of(cells.is_valid())
    numbers = np.zeros(len(cells), np.int64)
    _, places, held = cells.buffers()
    if not valid.any():
        return numbers, valid
    first, last = np.frombuffer(places, np.int32)[[cells.offset, cells.offset + len(cells)]]
    numbers[valid] = np.frombuffer(held or b"", np.uint8)[first:last].view(f">i{width}")
    return numbers, valid


def _arrow_of(numbers: NDArray[Any], valid: NDArray[np.bool_], kind: pa.DataType) -> pa.Array:
    """Numbers as values of a type; NULL where ``valid`` is false."""
    bits = pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(kind, numbers.size, [bits, pa.py_buffer(numbers)])


_PLAIN = ColumnType("{0}")
_TEXT = ColumnType("{0}::pg_catalog.text")
# Keys are PostgreSQL's fixed numbers of types; every other type is read as text.
_TYPES = {
    **dict.fromkeys((16, 17, 20, 21, 23, 25, 700, 701, 1043, 1083), _PLAIN),
    26: ColumnType("{0}::pg_catalog.int8"),
    790: ColumnType("{0}::pg_catalog.numeric::pg_catalog.text", loose=True),
    1082: ColumnType("pg_catalog.date_send({0})", _days),
    1114: ColumnType("pg_catalog.timestamp_send({0})", _moments),
    1184: ColumnType("pg_catalog.timestamptz_send({0})", partial(_moments, zone="UTC")),
    1700: ColumnType("{0}::pg_catalog.text", loose=True),
}


def column_type(oid: int) -> ColumnType:
    """Reading of the type with the number ``oid``."""
    return _TYPES.get(oid, _TEXT)


@dataclass(frozen=True)
class PostgresTable(TypedSource):
    """Table, view or foreign table of a PostgreSQL server; ``types`` are the types of its columns.

    If another session reads the table, the server may begin a scan in the middle, so rows have no
    fixed order.  Within the transaction the rows do not change.  A ``computed_copy`` is a view
    that serves as the synthetic table.
    """

    label: str
    columns: tuple[str, ...] = field(repr=False)
    places: tuple[Place, ...] = field(repr=False)
    identifier: str = field(repr=False)
    types: Mapping[str, ColumnType] = field(repr=False)
    session: PostgresSession = field(repr=False, compare=False)
    computed_copy: bool

    def batches(self, wanted: Sequence[str], odd: Odd) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """Cells of the ``wanted`` columns."""
        batches = self._cells(wanted)
        return bounded(batches) if self.computed_copy else batches

    def _cells(self, wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        kinds = [self.types[name] for name in wanted]
        columns = ", ".join(
            f"{kind.sql.format(quote_identifier(name))} AS c{place}"
            for place, (name, kind) in enumerate(zip(wanted, kinds, strict=True))
        )
        for batch in self.session.batches(f"SELECT {columns} FROM {self.identifier}"):
            cells = [kind.made(each) for kind, each in zip(kinds, batch.columns, strict=True)]
            yield pa.RecordBatch.from_arrays(cells, names=list(wanted))

    def loose(self, names: Sequence[str]) -> Collection[str]:
        """Columns of numbers of any precision, which are read as text."""
        return [name for name in names if self.types[name].loose]


def open_postgres(url: str, role: Role) -> PostgresTable:
    """Table of a server, locked against changes of its columns and against its removal.

    Raises
    ------
    TableError
        If there is no such server or table, or the user may not read it; the URL is not quoted.
    ParameterError
        If the driver is not installed.
    """
    address = address_of(url, role)
    what = f"the {role} table {address.label}"
    try:
        return _opened(address, what, role)
    except UnreadableError as error:
        advice = error.advice
    raise TableError(f"{what} cannot be read from its server: {advice}")


def _opened(address: PostgresAddress, what: str, role: Role) -> PostgresTable:
    from pqd.engine.sources.postgres_session import PostgresSession  # noqa: PLC0415 - the driver

    session = PostgresSession(address.database, address.patience)
    session.run(_SET_ENCODING)
    relation = _relation(session, address, what)
    found = PostgresAddress("", relation["schema"], relation["name"])
    name = quote_literal(found.identifier)
    settings = _SETTINGS | {"lock_timeout": f"{ceil(address.patience * 500)}ms"}
    calls = (
        _SET.format(name=quote_literal(setting), value=quote_literal(value), place=place)
        for place, (setting, value) in enumerate(settings.items())
    )
    session.rows(f"SELECT {', '.join(calls)}")
    session.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    if relation["kind"] in _LOCKED:
        # The lock comes first, since the first query fixes the snapshot of the transaction.
        session.run(f"LOCK TABLE {found.identifier} IN ACCESS SHARE MODE")
    columns = session.rows(_COLUMNS.format(name=name))
    server = _SERVER if session.rows(_MAY_IDENTIFY)[0]["may"] else _NETWORK
    places = session.rows(_PLACES.format(name=name, server=server))
    if relation["kind"] == _VIEW:
        # Functions of a view then look for names as in the user's own sessions.
        session.run("RESET search_path")
    return PostgresTable(
        found.label,
        checked_names(what, [column["name"] for column in columns]),
        tuple(Place(table=place["place"], address=place["address"]) for place in places),
        found.identifier,
        {column["name"]: column_type(column["type"]) for column in columns},
        session,
        computed_copy=role == "synthetic" and relation["kind"] == _VIEW,
    )


def _relation(session: PostgresSession, address: PostgresAddress, what: str) -> dict[str, Any]:
    """Schema, name, kind and encoding of the table that an address names."""
    relations = session.rows(_RELATION.format(name=quote_literal(address.identifier)))
    if not relations:
        # Names of tables are metadata that this user may list; no row is read.
        known = {row["whole"]: row["name"] for row in session.rows(_NAMES)}
        near = nearest_tables(address.table, known)
        raise TableError(
            f"{what} is not in the database{near_hint(near)}; give its name as it is stored, "
            "capitals too, and its schema: ?table=schema.name"
        )
    (relation,) = relations
    if relation["kind"] not in _LOCKED + _UNLOCKED:
        raise TableError(f"{what} is no table and no view, but an index or the like; name a table")
    if relation["encoding"] not in _ENCODINGS:
        raise TableError(
            f"{what} is in a database of the encoding {relation['encoding']}; pqd reads "
            f"{', '.join(_ENCODINGS)}; copy the table to such a database, or write it as Parquet"
        )
    return relation
