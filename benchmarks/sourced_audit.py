"""One run of benchmarks/table_sources.py: store tables, audit them, or hash their histograms."""

import hashlib
import sys
from importlib import import_module
from pathlib import Path

import duckdb
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


def store(folder: str, private: str, synthetic: str) -> None:
    """Store both tables, of Parquet, in every way."""
    with duckdb.connect(f"{folder}/store.duckdb") as database:
        for role, path in (("private", private), ("synthetic", synthetic)):
            table = pq.read_table(path)
            part = -(-len(table) // PARTS)
            Path(folder, role).mkdir()
            pq.write_table(table, f"{folder}/{role}.parquet")
            pcsv.write_csv(table, f"{folder}/{role}.csv")
            for number in range(PARTS):
                rows = table.slice(number * part, part)
                pq.write_table(rows, f"{folder}/{role}/{number}.parquet")
                pcsv.write_csv(rows, f"{folder}/{role}/{number}.csv")
            database.register("stored", table)
            database.execute(f"CREATE TABLE {role} AS SELECT * FROM stored")


def given(place: str) -> object:
    """Table at a place, or the frame that a function makes of it."""
    path, sign, function = place.partition(" ")
    if not sign:
        return place
    module, _, name = function.rpartition(".")
    frame: object = getattr(import_module(module), name)(path)
    return frame


def audit(queries: str, private: str, synthetic: str) -> None:
    """Audit at the parameters of the other benchmarks."""
    read = read_queries(queries)
    pqd.audit(given(private), given(synthetic), read, tau="3.2%", epsilon=0.25)


def histograms(queries: str, private: str, synthetic: str) -> None:
    """Print a hash of all histograms of the private table."""
    secret = open_table(given(private), "private")
    tables = SyntheticTables([open_table(given(synthetic), "synthetic")], secret)
    criteria = Criteria.of(tau=1, alpha="0.05")
    bound = bind(tables, [QueryRequest(query, criteria) for query in read_queries(queries)], {})
    plan = ScanPlan(tuple(each.statistic for each in bound.queries))
    digest = hashlib.sha256()
    for each in tables.engine.histograms(secret, bound.schema, plan):
        digest.update(repr(list(zip(each.values.tolist(), each.counts.tolist()))).encode())  # noqa: B905
    print(digest.hexdigest())


if __name__ == "__main__":
    {"store": store, "audit": audit, "histograms": histograms}[sys.argv[1]](*sys.argv[2:])
