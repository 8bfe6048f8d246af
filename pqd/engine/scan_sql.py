"""The SQL of the scan: typed columns, atoms packed into words, numbers as places on a lattice."""

from collections.abc import Iterable, Mapping, Sequence

from pqd.engine.bitmaps import WORD
from pqd.engine.scan_plan import Measure, ScanPlan
from pqd.sql.predicate import Atom, Predicate
from pqd.sql.schema import Kind, Schema, quote_identifier, quote_literal

PERSON, KEPT = "person", "kept"

_TYPES = {
    Kind.NUMBER: "DOUBLE",
    Kind.TEXT: "VARCHAR",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.TIME: "TIMESTAMP",
}


def scan_sql(source: str, workload: ScanPlan) -> str:
    """SQL of the scan: atoms packed into words, numbers as places on their lattice.

    With a privacy unit, ``source`` is ``people_sql``, and each row's person and rank come along.
    """
    outputs = []
    every = workload.atoms
    for first in range(0, len(every), WORD):
        packed = " | ".join(
            f"(COALESCE({atom.sql}, FALSE)::UBIGINT << {bit})"
            for bit, atom in enumerate(every[first : first + WORD])
        )
        outputs.append(f"{packed} AS b{first // WORD}")
    for number, measure in enumerate(workload.measures):
        outputs.append(f"{_place(measure)} AS v{number}")
    if workload.unit:
        mark = mark_of(workload.columns)
        outputs.append(f"{mark}p AS {PERSON}")
        outputs.append(f"{mark}r <= {workload.unit.max_rows} AS {KEPT}")
    return f"SELECT {', '.join(outputs) or '1 AS one'} FROM {source}"


def _place(measure: Measure) -> str:
    """SQL of the lattice place of a number: snapped, clamped, -1 for NULL.

    Between cut points it is the number itself, NULL or not.
    Without a lattice it is a hash: a map of each row by itself, so that it cannot hurt privacy;
    two of a million distinct values meet with a chance of about 10^-7.
    """
    lattice = measure.lattice
    if measure.cut_points:
        return f"CAST({_finite(measure.sql)} AS DOUBLE)"
    if lattice is None:
        hashed = f"CAST(hash({measure.sql}) >> 1 AS BIGINT)"
        return f"CASE WHEN ({measure.sql}) IS NULL THEN -1 ELSE {hashed} END"
    lower, step = (f"{float(x)!r}::DOUBLE" for x in (lattice.lower, lattice.step))
    number = _finite(measure.sql)
    place = f"LEAST(GREATEST(round(({number} - {lower}) / {step}), 0e0), {lattice.points - 1}e0)"
    # GREATEST and LEAST pass over NULL, so it is asked for before.
    return f"CASE WHEN ({number}) IS NULL THEN -1 ELSE CAST({place} AS BIGINT) END"


def _finite(value: str) -> str:
    """SQL that is NULL where ``value`` is not a number (NaN), infinities kept."""
    return f"CASE WHEN isnan({value}) THEN NULL ELSE {value} END"


def typed_sql(
    source: str, schema: Schema, columns: Mapping[str, str], beside: Sequence[str] = ()
) -> str:
    """SQL of ``source`` with columns cast to their public kinds; no cast can raise.

    ``columns`` gives, for each public name, the name that ``source`` stores it under; ``beside``
    are further outputs.
    """
    casts = list(beside)
    for name, stored in columns.items():
        cast = f"TRY_CAST({quote_identifier(stored)} AS {_TYPES[schema[name]]})"
        value = _finite(cast) if schema[name] is Kind.NUMBER else cast
        casts.append(f"{value} AS {quote_identifier(name)}")
    return f"(SELECT {', '.join(casts) or '1 AS one'} FROM {source})"


def people_sql(
    source: str,
    schema: Schema,
    columns: Mapping[str, str],
    unit: str | None,
    content: str,
) -> str:
    """``typed_sql`` with each row's person, numbered, and its rank among that person's rows.

    ``unit`` is the stored name of the unit's column, None where each row is a person of its own.
    Rows rank by ``content``, a keyed hash of the whole row, so a person's rank order depends on
    that person's rows alone: without another person it is the same.
    """
    mark = mark_of(columns)
    person = "row_number() OVER ()" if unit is None else quote_identifier(unit)
    beside = (f"CAST({person} AS VARCHAR) AS {mark}u", f"{content} AS {mark}h")
    typed = typed_sql(source, schema, columns, beside)
    rank = f"row_number() OVER (PARTITION BY t.{mark}u ORDER BY t.{mark}h)"
    return (
        f"(WITH {mark}t AS {typed} SELECT t.*, n.{mark}p, {rank} AS {mark}r FROM {mark}t AS t JOIN "
        f"(SELECT {mark}u, row_number() OVER () - 1 AS {mark}p FROM "
        f"(SELECT DISTINCT {mark}u FROM {mark}t)) AS n ON t.{mark}u IS NOT DISTINCT FROM n.{mark}u)"
    )


def mark_of(columns: Iterable[str]) -> str:
    """Prefix of a name that no column has: longer than any."""
    return "_" * (1 + max(map(len, columns), default=0))


def predicate_sql(predicate: Predicate) -> str:
    """Predicate as SQL, true exactly on the rows that match."""
    if isinstance(predicate, Atom):
        return f"COALESCE({predicate.sql}, FALSE)"
    return f"({f' {predicate.how.upper()} '.join(map(predicate_sql, predicate.parts))})"


def content_hash(columns: Sequence[str], key: bytes, *, loosely: bool = False) -> str:
    """SQL of a keyed hash of the whole row, as 64 hexadecimal digits.

    The order of ``columns`` matters; a cell is told from its neighbours by its length.
    """
    cells = [f"CAST({quote_identifier(name)} AS VARCHAR)" for name in columns]
    if loosely:
        cells = [_loose(cell) for cell in cells]
    texts = " || ".join(f"COALESCE(length({cell}) || ':' || {cell}, '-')" for cell in cells)
    return f"sha256('{key.hex()}' || {texts or quote_literal('')})"


def _loose(text: str) -> str:
    """SQL of a cell's text, alike for cells that say the same in another type.

    ``1``, ``1.0`` and ``01`` are one number, a date is its midnight, TRUE is true; what is empty or
    no number (NaN) is NULL.
    """
    number = f"TRY_CAST({text} AS DOUBLE)"
    # 0 is added since there is a negative zero.
    plain = f"CASE WHEN isnan({number}) THEN NULL ELSE CAST({number} + 0e0 AS VARCHAR) END"
    other = f"COALESCE(CAST(TRY_CAST({text} AS TIMESTAMP) AS VARCHAR), lower({text}))"
    return f"NULLIF(CASE WHEN {number} IS NULL THEN {other} ELSE {plain} END, '')"


def content_sql(source: str, columns: Sequence[str], key: bytes, *, loosely: bool = False) -> str:
    """SQL of a keyed hash of the table as a multiset of rows (MSet-Add-Hash).

    Clarke et al., ASIACRYPT 2003: the sum of keyed hashes of the rows, here two of 64 bits, with
    the number of rows.  The order of the rows does not matter.
    """
    halves = ", ".join(
        f"sum(n * CAST(CAST('0x' || h[{a}:{a + 15}] AS UBIGINT) AS HUGEINT))" for a in (1, 17)
    )
    hashed = content_hash(columns, key, loosely=loosely)
    rows, number = source, "1"
    if len(columns) == 1:
        # What rows share is hashed once: the same text, not the same value (0 and -0 are two).
        name, number = quote_identifier(columns[0]), f"{mark_of(columns)}n"
        text = f"CAST({name} AS VARCHAR)"
        rows = f"(SELECT {text} AS {name}, count(*) AS {number} FROM {source} GROUP BY {text})"
    hashes = f"SELECT {hashed} AS h, {number} AS n FROM {rows}"
    return f"SELECT COALESCE(sum(n), 0), {halves} FROM ({hashes})"
