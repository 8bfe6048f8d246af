"""Columns of a synthetic table that look like the key of a person, while no unit is stated.

Where they repeat, a person may have several rows, and would be protected as several people.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from pqd.engine.table_reader import in_one_pass
from reports.text.notes import WARNING, person_key

if TYPE_CHECKING:
    from pqd.engine.scan_plan import PrivacyUnit
    from pqd.engine.synthetic_tables import SyntheticTables
    from pqd.engine.table_reader import Blocks

_KEY = re.compile(
    r"(person|patient|client|customer|user|member|student|pupil|employee|worker|resident|subject"
    r"|respondent|participant|insured|taxpayer|holder)[ _.-]?(id|no|nr|num|number|key|code|uuid)"
    r"|ssn|pid|uid|uuid",
    re.IGNORECASE,
)
# Of fewer values it is rather a code than a key.
_LEAST_VALUES = 20


def key_warnings(tables: SyntheticTables, unit: PrivacyUnit | None) -> Iterator[str]:
    """Warnings of keys that repeat in the first rows of the first table, none with a unit."""
    table = tables.tables[0]
    for name in table.columns if unit is None else ():
        if not _KEY.fullmatch(name):
            continue
        rows, values = in_one_pass(table, [name], partial(_first, name))
        if _LEAST_VALUES <= values < rows:
            yield f"{WARNING}{person_key(name, table.label)}"


def _first(name: str, blocks: Blocks) -> tuple[int, int]:
    """Number of cells that are not NULL in the first block, and of different values."""
    for block in blocks:
        cells = block[name]
        return len(cells) - cells.null_count, len(cells.dictionary.drop_null())
    return 0, 0
