"""Reference candidates, so that a share means something: what little, or what luck, would give.

* **Independent marginals**: every column that the workload names, released by itself under
  differential privacy and drawn independently.  What a synthesizer gains over this, it gains by
  knowing how columns go together.
* **Resampled**: rows of the first candidate drawn anew with replacement.  Where it differs from the
  candidate itself, the difference is sampling noise.

Both are drawn with a fixed seed: the first from what was released, the second from public data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np

from deciders.estimates import LaplaceEstimate
from pqd.contest import Release
from pqd.errors import PqdError, QueryError
from pqd.expressions import Kind, folded
from pqd.groups import Bins, grouped
from pqd.query import Query
from pqd.questions import Asked, measured_on
from pqd.tables import identifier, open_table, quoted

if TYPE_CHECKING:
    import pandas as pd

    from deciders import Histogram, Lattice
    from pqd.asking import Answers
    from pqd.expressions import Schema
    from pqd.synthetics import Synthetics
    from pqd.tables import Table
    from pqd.workload import PrivacyUnit, Task

MARGINALS = "independent marginals"
_SEED = 0
_MOST_BINS = 32
_MOST_KEYS = 1000


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the marginals: its cells in groups, and the query that counts each group."""

    name: str
    cells: tuple[tuple[Any, ...], ...]
    queries: tuple[Query, ...]


def columns_of(
    tables: Synthetics, names: Sequence[str], facts: Schema
) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    """Return the columns that can be released, with remarks on those that cannot.

    Keys and bounds come from the synthetic tables.
    """
    schema = tables.schema(names, facts)
    known = {folded(name): name for name in schema}
    made, notes = [], []
    for name in sorted({known[folded(n)] for n in names if folded(n) in known}):
        try:
            made.append(_column(tables, schema, name))
        except PqdError:
            notes.append(f'The independent marginals leave out "{name}": it has too many values.')
    return tuple(made), tuple(notes)


def _column(tables: Synthetics, schema: Schema, name: str) -> Column:
    query = Query(f"SELECT COUNT(*) FROM D GROUP BY {identifier(name)}", f"marginal of {name}")
    if schema[name] is not Kind.NUMBER:
        resolved = query.resolve(schema)
        keys = tables.groups(schema, [name], resolved, _MOST_KEYS + 1)
        return Column(name, tuple(keys), grouped(query, lambda: keys))
    lattice = tables.profile(schema, {name}, identifier(name))
    if lattice is None:
        raise QueryError(f"{name} has no values")
    whole = Query("SELECT COUNT(*) FROM D", f"marginal of {name}")
    width = -(-lattice.points // _MOST_BINS)
    bins = -(-lattice.points // width)
    stop = lattice.lower + bins * width * lattice.step
    cut = Bins(name, lattice.lower, stop, width * lattice.step)
    return Column(name, _cells(lattice, width), cut.of(whole))


def _cells(lattice: Lattice, width: int) -> tuple[tuple[Any, ...], ...]:
    """Return the lattice's values in groups of ``width``; few of each, where there are many."""
    whole = lattice.lower.denominator == lattice.step.denominator == 1
    kind = int if whole else float
    return tuple(
        tuple(
            kind(lattice.lower + place * lattice.step)
            for place in range(
                start, min(start + width, lattice.points), max(1, width // _MOST_KEYS)
            )
        )
        for start in range(0, lattice.points, width)
    )


def counting(
    asked: Asked,
    task: Task,
    columns: tuple[tuple[str, str], ...],
    unit: PrivacyUnit | None,
    _found: tuple[Histogram, ...],
) -> Release:
    """Return the release of one group's count."""
    lattice, _ = measured_on(asked.query, task)
    estimator = LaplaceEstimate.on("COUNT", lattice)
    return Release(asked.query, asked.terms, task, columns, unit, estimator)


def marginals(
    columns: Sequence[Column], releases: Sequence[Release], answers: Answers, rows: int
) -> pd.DataFrame:
    """Return a table of ``rows`` rows, each column drawn by itself from its released counts.

    Guarantee: post-processing of the releases.
    """
    import pandas as pd  # noqa: PLC0415 - a heavy import that only this needs

    rng = np.random.default_rng(_SEED)
    counts = {release.id: answers.released(release).numbers[0] for release in releases}
    drawn = {}
    for column in columns:
        held = np.array([max(0, counts[query.id or ""]) for query in column.queries], float)
        chances = held / held.sum() if held.sum() else np.full(held.size, 1 / held.size)
        groups = rng.choice(held.size, size=rows, p=chances)
        within = rng.random(rows)
        cells = [column.cells[g] for g in groups]
        drawn[column.name] = [
            some[math.floor(share * len(some))] for some, share in zip(cells, within, strict=True)
        ]
    return pd.DataFrame(drawn)


def resampled(table: Table, folder: Path) -> Table:
    """Return the rows of a synthetic table drawn anew, as many, with replacement."""
    target = folder / "resampled.parquet"
    with duckdb.connect(":memory:") as connection:
        connection.execute("SET enable_progress_bar = false")
        if table.frame is not None:
            connection.register(table.relation, table.frame)
        connection.execute(f"CREATE TEMP TABLE held AS SELECT * FROM {table.relation}")
        found = connection.execute("SELECT count(*) FROM held").fetchall()
        rows = int(found[0][0])
        picked = np.random.default_rng(_SEED).integers(0, rows, rows)
        connection.register("picked", {"place": picked})
        connection.execute(
            "COPY (SELECT held.* FROM picked JOIN held ON held.rowid = picked.place) "
            f"TO {quoted(str(target))} (FORMAT parquet)"
        )
    return replace(open_table(target, "synthetic"), label=f"{table.label} resampled")
