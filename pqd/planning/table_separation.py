"""Separation of tables: a private table that is given as synthetic is refused before any output.

A report shows exact answers of the synthetic table.  If somebody gives the private table in its
place by mistake (a link, a copy, swapped arguments), the report would show exact private answers.
The refusal tells only that two tables are the same (docs/limitations.md).  For that reason content
is compared for whole tables only.  Parts of a table are compared by their paths, because a part
may be a single row.  A comparison of its content would reveal whether the private table has that
row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import partial

from pqd.accounting.accountant import Accountant
from pqd.accounting.ledger import ROWS, Ledger
from pqd.accounting.ledger_location import check_governing_ledger, ledgers_of
from pqd.engine.scan_plan import PrivacyUnit
from pqd.engine.sources.source import Place, place_key
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import Table, open_table
from pqd.errors import NotPublicError
from pqd.exception_barrier import sealed
from pqd.planning.query_warnings import check_persons, person_notes
from pqd.sql.query import Query

_ITSELF = "is the private table itself; give the synthetic copy"
_A_PART = "shares a part with the private table; give the synthetic copy alone"
_ALIKE = "holds the same rows as the private table; give the synthetic copy"


def separate_tables(
    private: object,
    *synthetic: object,
    accountant: Accountant | None = None,
    names: Collection[str] | None = (),
    unit: PrivacyUnit | None = None,
    cells_from: object | None = None,
) -> SyntheticTables:
    """Open tables of a run, after a check that no synthetic table is private.

    The check reads the columns ``names`` (None: all columns), which the run needs anyway.
    ``cells_from`` is a public table that gives cells; it must not be private either.

    Raises
    ------
    PqdError
        If a table cannot be opened, and the errors of ``check_separation``.
    """
    secret = open_table(private, "private")
    tables = opened_tables(synthetic, secret, cells_from)
    check_separation(tables, accountant, names, unit)
    return tables


def opened_tables(
    synthetic: Iterable[object], private: Table | None = None, cells_from: object | None = None
) -> SyntheticTables:
    """Open synthetic tables, and the public table ``cells_from`` that gives their cells."""
    return SyntheticTables(
        [open_table(source, "synthetic") for source in synthetic],
        private,
        cells_from=None if cells_from is None else open_table(cells_from, "synthetic"),
    )


def column_names(queries: Iterable[Query], unit: PrivacyUnit | None = None) -> set[str]:
    """Names of the columns that a run over ``queries`` reads."""
    return {name for query in queries for name in query.mentioned} | (
        {unit.column} if unit else set()
    )


def public_tables(
    *synthetic: object,
    names: Collection[str] | None = (),
    unit: PrivacyUnit | None = None,
    row_is_person: bool = False,
    cells_from: object | None = None,
) -> SyntheticTables:
    """Open tables of a plan, after a check that no ledger knows a synthetic table as private.

    The check reads the columns ``names`` (None: all columns), which the plan needs anyway.  If a
    run would stop because a key of persons repeats, the tables have a note on it.

    Raises
    ------
    PqdError
        The errors of ``separate_tables``.
    """
    tables = opened_tables(synthetic, cells_from=cells_from)
    check_separation(tables, names=names)
    if not row_is_person:
        tables.notes.update(dict.fromkeys(person_notes(tables, unit)))
    return tables


def check_separation(
    tables: SyntheticTables,
    accountant: Accountant | None = None,
    names: Collection[str] | None = (),
    unit: PrivacyUnit | None = None,
) -> None:
    """Refuse a synthetic table that is private, a ledger that evades a limit, unclear persons.

    Every run begins with this check; a plan has neither a private table nor an accountant.  The
    columns ``names`` (None: all columns) of all tables are read in one pass and compared.  A dry
    run does not read the private table, so it sees by places and by ledgers alone what is private.

    Raises
    ------
    NotPublicError
        If a synthetic table is the private table or holds the same rows.  Also if a ledger knows
        it as private: the ledger of the run, of PQD_LEDGER, or beside a table.
    TableError
        If a synthetic table cannot be read.
    ParameterError, LedgerError
        The errors of ``check_governing_ledger`` and of ``check_persons``.
    RunError
        If the private table cannot be read.
    """
    if tables.private:
        looked_up = [*tables.all_columns, *(names or ()), *([unit.column] if unit else [])]
        tables.private = tables.private.looking_up(looked_up)
    private = tables.private
    for public in tables.tables:
        if private and not public.source.places and public.given is private.given:
            raise _refusal(public, _ITSELF)
        if private:
            check_other_places(private.source.places, public)
    if private and accountant:
        check_governing_ledger(private, accountant)
    check_persons(tables, unit, accountant)
    ledgers = [
        ledger
        for ledger in ledgers_of([*tables.tables, *([private] if private else [])], accountant)
        if ledger.accounts
    ]
    if ledgers:
        # Take digests before the tables are read, since the rows of a known file need no hash.
        tables.take_digests()
    by_rows = [ledger for ledger in ledgers if _has_other_accounts(ledger, private)]
    columns = tables.all_columns if names is None else names
    sealed(lambda: tables.read(columns, _content_keys(tables, accountant, by_rows)))
    for ledger in ledgers:
        _check_unknown(ledger, tables, by_rows=ledger in by_rows)
    if private and not private.dry:
        _check_other_rows(tables, private, columns)


def _has_other_accounts(ledger: Ledger, private: Table | None) -> bool:
    """Whether a ledger has accounts of tables other than the private table, known by its file.

    If the ledger has no other account, a synthetic table that it knows holds the private table's
    rows.  These rows are compared in any case, so the ledger needs no hash of them.
    """
    own = ledger.fingerprint_by_file(private) if private else None
    return any(account.fingerprint != own for account in ledger.accounts)


def _content_keys(
    tables: SyntheticTables, accountant: Accountant | None, ledgers: Sequence[Ledger]
) -> dict[int, list[bytes]]:
    """Keys for hashing the rows of each table, by the position of the table.

    The synthetic tables come first, then the private table.  A ledger that knows the file of a
    table needs no hash of its rows.
    """
    keys = {
        place: [ledger.key(ROWS) for ledger in ledgers if not ledger.fingerprint_by_file(table)]
        for place, table in enumerate(tables.tables)
    }
    if tables.private and not tables.private.dry and accountant:
        known = accountant.exists() and accountant.ledger.fingerprint_by_file(tables.private)
        keys[len(tables.tables)] = [] if known else [accountant.row_key]
    return keys


def _check_unknown(ledger: Ledger, tables: SyntheticTables, *, by_rows: bool) -> None:
    """Refuse a synthetic table that a ledger knows as private, by its file, rows or place."""
    for engine, public in zip(tables.engines, tables.tables, strict=True):
        by_file = (ledger.fingerprint_by_file(public),)
        known = ledger.fingerprints_of(engine, public) if by_rows else by_file
        accounts = [ledger.account(each) for each in known if each]
        for account in (each for each in accounts if each and each.public is None):
            raise _refusal(
                public,
                f"is known to the ledger {ledger.path.name} as a private table (number "
                f"{account.number} there); are the two tables swapped? If it was public all along, "
                f"declare it: pqd ledger forget {ledger.path} --table {account.number} "
                '--because "..."',
            )
        if data_set := ledger.private_data_set_at(public):
            raise _refusal(
                public,
                f"lies where the ledger {ledger.path.name} knows the private data set "
                f"{data_set.number} ({data_set.label}); are the two tables swapped? If a public "
                f"table lies there now: pqd ledger end {ledger.path} --table "
                f'{data_set.versions[0].number} --because "..."',
            )


def _check_other_rows(tables: SyntheticTables, private: Table, names: Collection[str]) -> None:
    """Refuse a synthetic table with the private table's rows, even if cells are written anew."""
    for public in tables.tables:
        if sealed(partial(tables.engine.same_rows, private, public, names)):
            raise _refusal(public, _ALIKE)


def check_other_places(private: Sequence[Place], public: Table) -> None:
    """Refuse a synthetic table that shares a place (a file, a database table) with the private one.

    A link or another name of a file counts as the same place.  The private table need not exist.
    """
    others = public.source.places
    own = set(map(place_key, private))
    shared = [place_key(other) in own for other in others]
    if any(shared):
        raise _refusal(public, _ITSELF if all(shared) and len(private) == len(others) else _A_PART)


def _refusal(public: Table, what: str) -> NotPublicError:
    return NotPublicError(f"the {public.title} {what}. Nothing was spent")
