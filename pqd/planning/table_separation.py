"""Separation of tables: a private table that is given as public is refused, before any output.

A report shows exact answers of the synthetic table.  If that is the private table by mistake (a
link to it, a copy of it, arguments swapped), they are exact answers of the private one, for free.
The refusal says that two tables are the same, and nothing else (docs/limitations.md).  So whole
tables are compared by what they hold, parts by their places alone: a part may be a single row.
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
from pqd.sql.query import Query

_ITSELF = "is the private table itself; give the synthetic copy"
_A_PART = "shares a part with the private table; give the synthetic copy alone"
_ALIKE = "holds the same rows as the private table; give the synthetic copy"


def separate_tables(
    private: object,
    *synthetic: object,
    accountant: Accountant | None = None,
    names: Collection[str] | None = (),
) -> SyntheticTables:
    """Tables of a run, opened, after a check that none of the public ones is private.

    The columns ``names``, all for None, are read for it, which the run will need.

    Raises
    ------
    PqdError
        If one cannot be opened, and as ``check_separation``.
    """
    secret = open_table(private, "private")
    tables = SyntheticTables([open_table(source, "synthetic") for source in synthetic], secret)
    check_separation(tables, accountant, names)
    return tables


def column_names(queries: Iterable[Query], unit: PrivacyUnit | None = None) -> set[str]:
    """Names of the columns that a run over ``queries`` reads."""
    return {name for query in queries for name in query.mentioned} | (
        {unit.column} if unit else set()
    )


def public_tables(*synthetic: object, names: Collection[str] | None = ()) -> SyntheticTables:
    """Tables of a plan, opened, after a check that no ledger knows one as private.

    The columns ``names``, all for None, are read for it, which the plan will need.

    Raises
    ------
    PqdError
        As ``separate_tables``.
    """
    tables = SyntheticTables([open_table(source, "synthetic") for source in synthetic])
    check_separation(tables, names=names)
    return tables


def check_separation(
    tables: SyntheticTables,
    accountant: Accountant | None = None,
    names: Collection[str] | None = (),
) -> None:
    """Refuse tables of which a public one is private, and a ledger that evades a limit.

    Every run begins with it.  One that only plans has no private table and no accountant.
    The columns ``names`` (all for None) of all tables are read at once, and compared first.

    Raises
    ------
    NotPublicError
        If a public table is the private one, holds the same rows, or is known to a ledger (the
        run's, PQD_LEDGER's, one beside a table) as a private table.
    TableError
        If a public table cannot be read.
    ParameterError, LedgerError
        As ``check_governing_ledger``.
    RunError
        If the private table cannot be read.
    """
    private = tables.private
    for public in tables.tables:
        if private and not public.source.places and public.given is private.given:
            raise _refusal(public, _ITSELF)
        if private:
            check_other_places(private.source.places, public)
    if private and accountant:
        check_governing_ledger(private, accountant)
    ledgers = [
        ledger
        for ledger in ledgers_of([*tables.tables, *([private] if private else [])], accountant)
        if ledger.accounts
    ]
    if ledgers:
        # Before the tables are read: of a file that a ledger knows no row is hashed.
        tables.take_digests()
    doubtful = [ledger for ledger in ledgers if _holds_others(ledger, private)]
    wanted = tables.columns if names is None else names
    sealed(lambda: tables.read(wanted, _content_keys(tables, accountant, doubtful)))
    for ledger in ledgers:
        _check_unknown(ledger, tables, by_rows=ledger in doubtful)
    if private:
        _check_other_rows(tables, private, wanted)


def _holds_others(ledger: Ledger, private: Table | None) -> bool:
    """Whether a ledger has accounts of other tables than the private one, as its file is known.

    Where it has none, a public table that it knows holds the private table's rows: those are
    compared in any case.
    """
    own = private and ledger.fingerprint_by_file(private)
    return any(account.fingerprint != own for account in ledger.accounts)


def _content_keys(
    tables: SyntheticTables, accountant: Accountant | None, ledgers: Sequence[Ledger]
) -> dict[int, list[bytes]]:
    """Keys under which the content of each table is asked for, by the table's place in ``every``.

    What a ledger knows by its file is not asked for.
    """
    asked = {
        place: [ledger.key(ROWS) for ledger in ledgers if not ledger.fingerprint_by_file(table)]
        for place, table in enumerate(tables.tables)
    }
    if tables.private and accountant:
        known = accountant.exists() and accountant.ledger.fingerprint_by_file(tables.private)
        asked[len(tables.tables)] = [] if known else [accountant.row_key]
    return asked


def _check_unknown(ledger: Ledger, tables: SyntheticTables, *, by_rows: bool) -> None:
    """Refuse a public table that a ledger has an account of: by its file, else by its rows."""
    for engine, public in zip(tables.engines, tables.tables, strict=True):
        if by_rows:
            fingerprint: str | None = ledger.fingerprint_of(engine, public)
        else:
            fingerprint = ledger.fingerprint_by_file(public)
        account = ledger.account(fingerprint) if fingerprint else None
        if account:
            raise _refusal(
                public,
                f"is known to the ledger {ledger.path.name} as a private table (number "
                f"{account.number} there); are the two tables swapped? If it was public all along, "
                "move that ledger away",
            )


def _check_other_rows(tables: SyntheticTables, private: Table, names: Collection[str]) -> None:
    """Refuse a public table that holds the private table's rows, however its cells are written."""
    for public in tables.tables:
        if sealed(partial(tables.engine.same_rows, private, public, names)):
            raise _refusal(public, _ALIKE)


def check_other_places(private: Sequence[Place], public: Table) -> None:
    """Refuse a public table of which a place is the private table's, under whatever name.

    The private table need not exist.
    """
    others = public.source.places
    own = set(map(place_key, private))
    shared = [place_key(other) in own for other in others]
    if any(shared):
        raise _refusal(public, _ITSELF if all(shared) and len(private) == len(others) else _A_PART)


def _refusal(public: Table, what: str) -> NotPublicError:
    return NotPublicError(f"the {public.title} {what}. Nothing was spent")
