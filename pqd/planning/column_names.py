"""Names of a synthetic table's columns that tell of a slip; the private table's are not looked at.

A column that looks like the key of a person, while no unit is stated: where it repeats, a person
may have several rows, and would be protected as several people.  And names that are cells: the
table lacks its header, so that its first row is lost, and no name is what it seems.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from pqd.engine.reading.dictionaries import distinct_values
from pqd.engine.table_reader import in_one_pass
from pqd.reports.text.notes import WARNING, header_missing, person_key
from pqd.sql.schema import like_values

if TYPE_CHECKING:
    from pqd.engine.scan_plan import PrivacyUnit
    from pqd.engine.sources.source import Blocks
    from pqd.engine.synthetic_tables import SyntheticTables

_KEY = re.compile(
    r"(person|patient|client|customer|user|member|student|pupil|employee|worker|resident|subject"
    r"|respondent|participant|insured|taxpayer|holder)[ _.-]?(id|no|nr|num|number|key|code|uuid)"
    r"|ssn|pid|uid|uuid",
    re.IGNORECASE,
)
# Of fewer values it is rather a code than a key.
_LEAST_VALUES = 20
# So many column names of a copy without a header are shown.
_EXAMPLES = 3


def key_warnings(tables: SyntheticTables, unit: PrivacyUnit | None) -> Iterator[str]:
    """Warnings of keys that repeat in the first rows of the first table, none with a unit."""
    table = tables.tables[0]
    for name in table.columns if unit is None else ():
        if not _KEY.fullmatch(name):
            continue
        cells, values = in_one_pass(table, [name], partial(_first, [name]))[name]
        if _LEAST_VALUES <= len(values) < cells:
            yield f"{WARNING}{person_key(name, table.label)}"


def header_warnings(tables: SyntheticTables, names: Collection[str] = ()) -> Iterator[str]:
    """Warnings of tables without a header: half of the columns have one of their cells as a name.

    ``names`` are columns of the first table that were read.  Without them all are looked at, in the
    first rows, but only of a table of which a name looks like a number or a day.
    """
    for table in tables.tables:
        known = table.memory.columns
        if names:
            values = {name: known[name].values for name in names if name in known}
        elif like_values(table.columns):
            every = list(table.columns)
            first = in_one_pass(table, every, partial(_first, every))
            values = {name: distinct for name, (_, distinct) in first.items()}
        else:
            continue
        named = [name for name, distinct in values.items() if _holds(distinct, name)]
        if named and 2 * len(named) >= len(values):
            yield f"{WARNING}{header_missing(table.label, named[:_EXAMPLES])}"


def _first(names: Collection[str], blocks: Blocks) -> dict[str, tuple[int, pa.Array]]:
    """Number of cells of each column in the first block that are not NULL, and their values."""
    for block in blocks:
        return {
            name: (len(block[name]) - block[name].null_count, distinct_values(block[name]))
            for name in names
        }
    return {name: (0, pa.array([], pa.string())) for name in names}


def _holds(values: pa.Array, name: str) -> bool:
    """Whether a column of texts or numbers has its own name as a value."""
    if pa.types.is_boolean(values.type):
        return False
    try:
        cell = pa.scalar(name).cast(values.type)
        return bool(pc.any(pc.equal(values, cell)).as_py())
    except pa.ArrowException:
        return False
