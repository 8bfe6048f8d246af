"""SQL that the engine evaluates beside atoms: lattice places, predicates, hashes of rows."""

from collections.abc import Sequence

from pqd.engine.kernel.typed_sql import finite_sql, mark_of
from pqd.engine.scan_plan import Measure
from pqd.sql.predicate import Atom, Predicate
from pqd.sql.schema import quote_identifier, quote_literal


def place_sql(measure: Measure) -> str:
    """SQL of the lattice place of a number: snapped and clamped, NULL stays NULL.

    Between cut points it is the number itself, without a lattice the value as it is.
    """
    lattice = measure.lattice
    if measure.cut_points:
        return f"CAST({finite_sql(measure.sql)} AS DOUBLE)"
    if lattice is None:
        return measure.sql
    lower, step = (f"{float(x)!r}::DOUBLE" for x in (lattice.lower, lattice.step))
    number = finite_sql(measure.sql)
    place = f"LEAST(GREATEST(round(({number} - {lower}) / {step}), 0e0), {lattice.points - 1}e0)"
    # GREATEST and LEAST pass over NULL, so it is asked for before.
    return f"CASE WHEN ({number}) IS NULL THEN NULL ELSE CAST({place} AS BIGINT) END"


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
