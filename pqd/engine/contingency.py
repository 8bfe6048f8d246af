"""Contingency table: how many rows have each combination of atoms and each place on one lattice."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pqd.engine.bitmaps import WORD
from pqd.engine.histograms import Integers

if TYPE_CHECKING:
    import pandas as pd

    from pqd.engine.scan_plan import ScanPlan

_ROWS = "cell_rows"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ContingencyTable:
    """Distinct combinations that rows have, and how many rows have each; a row is one cell.

    ``words`` (cells, words) packs the atoms as the workload numbers them.  ``places`` are those on
    the lattice of what is measured: -1 is NULL, and all are 0 where nothing is measured.
    """

    words: NDArray[np.uint64]
    places: Integers
    counts: Integers

    def __repr__(self) -> str:
        """Name of the type alone: what it counts may be private, and a traceback may show this."""
        return "ContingencyTable(...)"


def keys_of(workload: "ScanPlan") -> list[str]:
    """Outputs of the scan that make a cell.

    Raises
    ------
    ValueError
        If more than one thing is measured, or persons are to be told apart.
    """
    if len(workload.measures) > 1 or workload.unit:
        raise ValueError("cells hold the rows of one measured number")
    words = [f"b{number}" for number in range(-(-len(workload.atoms) // WORD))]
    return words + ["v0"] * len(workload.measures)


def contingency_sql(scan: str, keys: Sequence[str]) -> str:
    """SQL that counts the rows of each cell of a scan."""
    if not keys:
        return f"SELECT count(*) AS {_ROWS} FROM ({scan})"
    names = ", ".join(keys)
    return f"SELECT {names}, count(*) AS {_ROWS} FROM ({scan}) GROUP BY {names}"


def joined(chunks: Sequence["pd.DataFrame"], keys: Sequence[str]) -> ContingencyTable:
    """Cells of all chunks, in ascending order: the engine's order is by chance."""

    def column(name: str) -> NDArray[Any]:
        return np.concatenate([chunk[name].to_numpy() for chunk in chunks] or [np.empty(0)])

    counts = column(_ROWS).astype(np.int64)
    words = [column(name).astype(np.uint64) for name in keys if name != "v0"]
    places = column("v0").astype(np.int64) if "v0" in keys else np.zeros(counts.size, np.int64)
    order = np.lexsort((places, *words))
    packed = np.stack(words, axis=1) if words else np.empty((counts.size, 0), np.uint64)
    return ContingencyTable(packed[order], places[order], counts[order])


def listed(rows: "pd.DataFrame", keys: Sequence[str]) -> ContingencyTable:
    """Table with a cell for every row, in the order of ``rows``."""
    words = [rows[name].to_numpy().astype(np.uint64) for name in keys if name != "v0"]
    places = np.zeros(len(rows), np.int64)
    if "v0" in keys:
        places = rows["v0"].to_numpy().astype(np.int64)
    packed = np.stack(words, axis=1) if words else np.empty((len(rows), 0), np.uint64)
    return ContingencyTable(packed, places, np.ones(len(rows), np.int64))
