"""The SQL of the scan: typed columns, atoms packed into words, numbers as places on a lattice."""

from collections.abc import Mapping

from pqd.engines.bitmaps import WORD
from pqd.expressions import Kind, Schema
from pqd.tables import identifier
from pqd.workload import Measured, Workload

_TYPES = {
    Kind.NUMBER: "DOUBLE",
    Kind.TEXT: "VARCHAR",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.TIME: "TIMESTAMP",
}


def scan_sql(source: str, workload: Workload) -> str:
    """Return the SQL of the scan: atoms packed into words, numbers as places on their lattice."""
    outputs = []
    every = workload.atoms
    for first in range(0, len(every), WORD):
        packed = " | ".join(
            f"(COALESCE({atom.sql}, FALSE)::UBIGINT << {bit})"
            for bit, atom in enumerate(every[first : first + WORD])
        )
        outputs.append(f"{packed} AS b{first // WORD}")
    for number, measured in enumerate(workload.measured):
        outputs.append(f"{_place(measured)} AS v{number}")
    return f"SELECT {', '.join(outputs) or '1 AS one'} FROM {source}"


def _place(measured: Measured) -> str:
    """Return the SQL of the lattice place of a number: snapped, clamped, -1 for NULL.

    Without a lattice it is a hash: a map of each row by itself, so that it cannot hurt privacy;
    two of a million distinct values meet with a chance of about 10^-7.
    """
    lattice = measured.lattice
    if lattice is None:
        hashed = f"CAST(hash({measured.sql}) >> 1 AS BIGINT)"
        return f"CASE WHEN ({measured.sql}) IS NULL THEN -1 ELSE {hashed} END"
    lower, step = (f"{float(x)!r}::DOUBLE" for x in (lattice.lower, lattice.step))
    number = _finite(measured.sql)
    place = f"LEAST(GREATEST(round(({number} - {lower}) / {step}), 0e0), {lattice.points - 1}e0)"
    # GREATEST and LEAST pass over NULL, so it is asked for before.
    return f"CASE WHEN ({number}) IS NULL THEN -1 ELSE CAST({place} AS BIGINT) END"


def _finite(value: str) -> str:
    """Return SQL that is NULL where ``value`` is not a number (NaN), infinities kept."""
    return f"CASE WHEN isnan({value}) THEN NULL ELSE {value} END"


def typed_sql(source: str, schema: Schema, columns: Mapping[str, str]) -> str:
    """Return SQL of ``source`` with columns cast to their public kinds; no cast can raise.

    ``columns`` gives, for each public name, the name that ``source`` stores it under.
    """
    casts = []
    for name, stored in columns.items():
        cast = f"TRY_CAST({identifier(stored)} AS {_TYPES[schema[name]]})"
        value = _finite(cast) if schema[name] is Kind.NUMBER else cast
        casts.append(f"{value} AS {identifier(name)}")
    return f"(SELECT {', '.join(casts) or '1 AS one'} FROM {source})"
