"""One process of benchmarks/source_time.py: store a table, audit it, or hash its histograms."""

import hashlib
import sys
from importlib import import_module
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

import pqd
from pqd.engine.scan_plan import ScanPlan
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.parameters import Criteria
from pqd.planning.binding import bind
from pqd.planning.bound_workload import QueryRequest
from pqd.sql.workload_files import read_queries

PARTS = 8


def store(folder: str, private: str, postgres: str) -> None:
    """Store a Parquet table in each kind of source; in PostgreSQL only if a database is named."""
    table, parts = pq.read_table(private), Path(folder, "parts")
    parts.mkdir()
    pq.write_table(table, f"{folder}/t.parquet")
    pcsv.write_csv(table, f"{folder}/t.csv")
    size = -(-len(table) // PARTS)
    for number in range(PARTS):
        rows = table.slice(number * size, size)
        pq.write_table(rows, parts / f"{number}.parquet")
        pcsv.write_csv(rows, parts / f"{number}.csv")
    with duckdb.connect(f"{folder}/store.duckdb") as database:
        database.register("stored", table)
        database.execute("CREATE TABLE t AS SELECT * FROM stored")
    if postgres:
        _ingest(table, postgres)


def _ingest(table: pa.Table, postgres: str) -> None:
    import adbc_driver_postgresql.dbapi as driver  # noqa: PLC0415 - where there is a server

    with driver.connect(postgres) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("pqd_benchmark", table, mode="replace")
        connection.commit()


def given(place: str) -> object:
    """Path of a table, or the frame that the function after the path makes of it."""
    path, _, function = place.rpartition(" ")
    if not path:
        return place
    module, _, name = function.rpartition(".")
    frame: object = getattr(import_module(module), name)(path)
    return frame


def audit(queries: str, private: str, copy: str) -> None:
    """Run an audit with the parameters of the other benchmarks."""
    pqd.audit(given(private), copy, read_queries(queries), tau="3.2%", epsilon=0.25)


def digest(queries: str, private: str, copy: str) -> str:
    """Hash of all histograms of the private table.

    The hash depends on private rows without noise, so only a benchmark on public tables may show
    it.
    """
    secret = open_table(given(private), "private")
    tables = SyntheticTables([open_table(copy, "synthetic")], secret)
    criteria = Criteria.of(tau=1, alpha="0.05")
    bound = bind(tables, [QueryRequest(query, criteria) for query in read_queries(queries)], {})
    plan = ScanPlan(tuple(each.statistic for each in bound.queries))
    found = hashlib.sha256()
    for each in tables.engine.histograms(secret, bound.schema, plan):
        found.update(repr((each.values.tolist(), each.counts.tolist())).encode())
    return found.hexdigest()


def main(what: str, *arguments: str) -> None:
    """Store a table, run an audit, or print the hash of the histograms."""
    if what == "histograms":
        print(digest(*arguments))
    else:
        {"store": store, "audit": audit}[what](*arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])
