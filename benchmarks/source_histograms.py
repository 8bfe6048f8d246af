"""Digest of the histograms of a private table: `source_histograms.py PRIVATE COPY QUERIES`.

Only a benchmark on public tables may print it.
"""

import hashlib
import sys
from pathlib import Path

from pqd.engine.scan_plan import ScanPlan
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.parameters import Parameters
from pqd.planning.binding import bind
from pqd.planning.bound_workload import QueryRequest
from pqd.sql.workload_files import read_queries


def digest(private: str, copy: str, queries: str) -> str:
    """Digest of values and counts, query by query."""
    tables = SyntheticTables([open_table(copy, "synthetic")], open_table(private, "private"))
    criteria = Parameters.parse(tau="3.2%", epsilon="0.25", alpha="0.05")
    requests = [QueryRequest.of(query, criteria) for query in read_queries(Path(queries))]
    bound = bind(tables, requests, criteria.columns)
    plan = ScanPlan(tuple(each.statistic for each in bound.queries))
    found = hashlib.sha256()
    for histogram in tables.engine.histograms(bound.private, bound.schema, plan):
        found.update(repr((histogram.values.tolist(), histogram.counts.tolist())).encode())
    return found.hexdigest()


if __name__ == "__main__":
    print(digest(*sys.argv[1:]))
