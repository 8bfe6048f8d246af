"""SQL that the engine evaluates beside atoms: lattice places, predicates, hashes of rows."""

from pqd.engine.kernel.typed_sql import finite_sql
from pqd.engine.scan_plan import Measure
from pqd.sql.predicate import Atom, Predicate


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
