"""Warnings about queries that are allowed but are often a mistake, shown before budget is spent.

The report shows the warnings too.  One mistake stops a run that would spend: a column of a copy has
the name of a person's key, such as ``patient_id``, and its values repeat, but nobody says whether a
row is a person, or several rows are.  Nothing here reads the private table.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from pqd.accounting.accounts import ReleasedRows
from pqd.deciders import answer
from pqd.deciders.note import Note, note
from pqd.engine.counting.batch import Column
from pqd.engine.reading.buffers import numpy_of
from pqd.engine.scan import first_rows
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.errors import ParameterError
from pqd.exception_barrier import sealed
from pqd.parameters import Criteria, Parameters
from pqd.planning.lattices import lattice_of
from pqd.sql.predicate import Predicate
from pqd.sql.schema import Kind, Schema, fold_case, like_values
from pqd.sql.shapes import constants
from pqd.stated.budgets import MUCH_EPSILON
from pqd.stated.column_facts import Facts, FileFacts

if TYPE_CHECKING:
    from pqd.accounting.accountant import Accountant
    from pqd.engine.scan_plan import PrivacyUnit
    from pqd.engine.tables import Table
    from pqd.planning.bound_workload import BoundQuery, BoundWorkload
    from pqd.sql.tolerance import Tolerance

# A column with more distinct values than this is not searched for constants.
_MOST_VALUES = 10_000
# The most constants that one warning names.
_MOST_NAMED = 3
_KINDS = {str: Kind.TEXT, float: Kind.NUMBER}


def warnings_of(criteria: Criteria) -> Iterator[Note]:
    """Yield warnings about the criteria of a verdict."""
    tolerance = criteria.tolerance
    if tolerance.relative and tolerance.amount >= 1:
        yield note("tau-wide", tolerance=tolerance.text)
    if criteria.alpha > Fraction(1, 2):
        yield note("alpha-wide", alpha=criteria.alpha)
    if isinstance(criteria, Parameters):
        yield from budget_warnings(criteria.epsilon)


def budget_warnings(epsilon: Fraction) -> Iterator[Note]:
    """Yield warnings about a budget."""
    if epsilon > MUCH_EPSILON:
        yield note("epsilon-large", epsilon=epsilon)


# An amount up to the first number, in an answer that many times as large, was probably meant in per
# cent.  A release states the tolerance 1, which it does not use.
_MOST_PER_CENT, _TIMES = 100, 200


def amount_warnings(queries: Sequence[BoundQuery]) -> Iterator[Note]:
    """Yield a warning on each tolerance that is an amount and was probably meant in per cent.

    An example is ``--tau 5`` on counts of some thousands.  All COUNT and SUM of this tolerance must
    have answers of that size, on every synthetic table.
    """
    answers: dict[Tolerance, list[Fraction]] = {}
    for bound in queries:
        tolerance, query = bound.criteria.tolerance, bound.query
        absolute = not (tolerance.relative or tolerance.of_rows)
        if absolute and query.scale is None and query.aggregate in {"COUNT", "SUM"}:
            scale = lattice_of(query, bound.statistic)[1]
            found = (answer(query.aggregate, histogram) or 0 for histogram in bound.synthetic)
            answers.setdefault(tolerance, []).extend(abs(each * scale) for each in found)
    for tolerance, sizes in answers.items():
        amount = tolerance.amount
        if 1 < amount <= _MOST_PER_CENT and min(sizes, default=0) >= _TIMES * amount:
            yield note("tau-amount", tolerance=tolerance.text, least=min(sizes))


class Constants:
    """Constants that conditions compare with columns, looked up in the synthetic tables."""

    def __init__(self, tables: SyntheticTables, schema: Schema) -> None:
        """Read no table yet."""
        self._tables, self._schema = tables, schema
        self._known: dict[str, Mapping[Any, None] | None] = {}
        self._absent: dict[str, dict[str | float, None]] = {}
        self._labels = ", ".join(table.label for table in tables.tables[:3])

    def look_up(self, predicate: Predicate | None) -> None:
        """Record each constant that does not occur in its column in any synthetic table."""
        for column, constant in constants(predicate):
            kind = self._schema.get(column)
            known = self._values_of(column) if kind is _KINDS[type(constant)] else None
            if known and constant not in known:
                self._absent.setdefault(column, {})[constant] = None

    def warnings(self) -> Iterator[Note]:
        """Yield warnings about the recorded constants; many of one column share one warning."""
        for column, absent in self._absent.items():
            known = self._values_of(column) or {}
            yield from absent_notes(column, list(absent), list(known), self._labels)

    def _values_of(self, column: str) -> Mapping[Any, None] | None:
        """Values of a column, ascending within each table; None if the column has too many."""
        if column not in self._known:
            self._known[column] = self._tables.distinct_values(self._schema, column, _MOST_VALUES)
        return self._known[column]


def absent_notes(
    column: str, absent: Sequence[str | float], known: Sequence[Any], tables: str
) -> Iterator[Note]:
    """Yield warnings on constants that are no value of a column; many share one warning."""
    if len(absent) > _MOST_NAMED:
        first, others = tuple(absent[:_MOST_NAMED]), len(absent) - _MOST_NAMED
        yield note("texts-unknown", column=column, first=first, others=others, tables=tables)
        return
    for constant in absent:
        nearest = _nearest(constant, known)
        yield note("text-unknown", column=column, constant=constant, tables=tables, nearest=nearest)


def _nearest(constant: str | float, known: Sequence[Any]) -> str | float:
    """Value in ``known`` that is nearest to a constant of the same kind."""
    if isinstance(constant, str):
        return _nearest_text(constant, known)
    nearest: float = min(known, key=lambda value: abs(value - constant))
    return nearest


def _nearest_text(text: str, known: Sequence[str]) -> str:
    """Text in ``known`` most similar to ``text``; a text that differs only in case comes first."""
    near = difflib.get_close_matches(text, known, n=1, cutoff=0.4)
    folded = next((each for each in known if each.lower() == text.lower()), None)
    return folded or next(iter(near), known[0])


# Names of keys of persons.  "num" is not among the endings, since employee_num may be a number of
# employees; subject_code is one of a school subject.
_KEY = re.compile(
    r"(?!subject.?(code|no|nr|number)$)"
    r"((person|patient|patienten|client|customer|kunden|user|member|student|pupil|employee|worker"
    r"|resident|household|card|account|subject|respondent|participant|insured|beneficiary|taxpayer|(policy|card)?holder)"
    r"[ _.-]?(id|identifier|no|nr|number|nummer|key|code|uuid)"
    r"|person|patient|client|customer|kunde|user|member|student|pupil|employee|respondent|participant"
    r"|ssn|pid|uid|uuid)",
    re.IGNORECASE,
)
# A column with fewer values is probably a code, not a key.
_LEAST_VALUES = 20
# If one value alone repeats, it may stand for a missing key, as "unknown" does.
_LEAST_REPEATED = 2


def person_key(table: Table) -> str | None:
    """Name of the first column that is named like a person's key and repeats; None without one.

    The first rows of the table decide, up to two million.
    """
    for name in table.columns:
        if not _KEY.fullmatch(name.strip()):
            continue
        column = first_rows(table, [name], many=True).columns[name]
        counts = column.counts()[numpy_of(column.values.is_valid())]
        if len(counts) >= _LEAST_VALUES and (counts > 1).sum() >= _LEAST_REPEATED:
            return name
    return None


def person_notes(tables: SyntheticTables, unit: PrivacyUnit | None) -> Iterator[Note]:
    """Yield a note on the first table with a repeated key of persons; none with a unit."""
    for table in () if unit else tables.tables:
        if name := person_key(table):
            yield note("person-key", column=name, table=table.label)
            return


def key_notes(tables: SyntheticTables, facts: Facts, unit: PrivacyUnit | None) -> Iterator[Note]:
    """Yield a note on the first stated key that repeats in a synthetic table; none with a unit.

    The first rows of the table decide, up to two million.
    """
    persons = facts.persons if isinstance(facts, FileFacts) and unit is None else ()
    for name in persons:
        for table in tables.tables:
            own = next((each for each in table.columns if fold_case(each) == fold_case(name)), None)
            if own is None:
                continue
            column = first_rows(table, [own], many=True).columns[own]
            counts = column.counts()[numpy_of(column.values.is_valid())]
            if (counts > 1).sum() >= _LEAST_REPEATED:
                yield note("metadata-key-repeats", column=own, table=table.label)
                return


def check_persons(
    tables: SyntheticTables, unit: PrivacyUnit | None, accountant: Accountant | None
) -> None:
    """Stop a run that must say who is a person: a key of persons repeats in a synthetic table.

    Raises
    ------
    ParameterError
        If the run has an account, and neither a unit nor that a row is a person was stated.
    """
    if accountant is None or accountant.row_is_person:
        return
    for each in person_notes(tables, unit):
        raise ParameterError(each.sentence)


# The most column names that the warning of a missing header shows.
_EXAMPLES = 3


def header_warnings(tables: SyntheticTables, names: Collection[str] = ()) -> Iterator[Note]:
    """Yield warnings about tables without a header, found by names that also occur as cells.

    A table is suspicious if at least half of its columns hold their own name as a cell.  ``names``
    are columns of the first table that are in memory.  Without ``names`` the first rows of all
    columns are read, but only if some column name looks like a number or a day.
    """
    for table in tables.tables:
        if names:
            known = table.memory.columns
            columns: Mapping[str, Column] = {n: known[n] for n in names if n in known}
        elif like_values(table.columns):
            columns = first_rows(table, table.columns).columns
        else:
            continue
        values = {name: column.values.drop_null() for name, column in columns.items()}
        named = [name for name, distinct in values.items() if _holds(distinct, name)]
        if named and 2 * len(named) >= len(values):
            yield note("header-missing", table=table.label, names=tuple(named[:_EXAMPLES]))


def _holds(values: pa.Array, name: str) -> bool:
    """Whether a column of texts or numbers has its own name as a value."""
    if pa.types.is_boolean(values.type):
        return False
    try:
        cell = pa.scalar(name).cast(values.type)
        return bool(pc.any(pc.equal(values, cell)).as_py())
    except pa.ArrowException:
        return False


# Sizes that differ by a smaller share of the copy's rows count as equal.
LEAST_DIFFERENCE = Fraction(1, 100)


def with_sizes(
    bound: BoundWorkload,
    accountant: Accountant | None = None,
    candidates: Collection[str] | None = None,
) -> BoundWorkload:
    """Workload with a warning on each copy of another size, if a query grows with the rows.

    ``candidates`` are the labels of the copies that a user gave; None for all tables.
    """
    growing = [each.query for each in bound.queries if each.query.grows]
    if not growing:
        return bound
    names = tuple(dict.fromkeys(query.block or query.id or "" for query in growing))
    rows = known_rows(bound.tables, bound.queries[0].criteria.private_rows, accountant)
    notes = [
        note("other-size", **dict(each.facts), queries=names)
        for each in size_notes(bound.tables, rows)
        if candidates is None or dict(each.facts)["table"] in candidates
    ]
    return replace(bound, notes=(*bound.notes, *notes))


def known_rows(
    tables: SyntheticTables, stated: int | None, accountant: Accountant | None
) -> ReleasedRows | None:
    """Number of private rows that is public; None if nobody stated or released it.

    Raises
    ------
    LedgerError, RunError
        If the ledger or the private table cannot be read.
    """
    if stated is not None:
        return ReleasedRows(stated, 0)
    private = tables.private
    if accountant is None or private is None or not accountant.exists():
        return None
    ledger = accountant.ledger
    if not any(account.row_counts for account in ledger.accounts):
        return None
    account = ledger.account(
        sealed(lambda: accountant.recognise(tables.engine, private)).fingerprint
    )
    return account.released_rows if account else None


def size_notes(tables: SyntheticTables, known: ReleasedRows | None) -> Iterator[Note]:
    """Yield a note on each copy of another size; its distances, which are of shares, are right."""
    if known is None:
        return
    for engine, table in tables.copies:
        rows = engine.rows()
        if abs(known.rows - rows) > known.within + LEAST_DIFFERENCE * rows:
            yield note(
                "other-size-of-shares",
                table=table.label,
                rows=rows,
                private=known.rows,
                within=known.within,
            )
