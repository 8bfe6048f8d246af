"""The files that a spec names; reports and messages show them as the spec writes them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from pqd.accounting.accountant import Accountant
from pqd.accounting.accounts import Budget
from pqd.accounting.ledger_location import ledger_path
from pqd.engine.sources.locations import address_name
from pqd.engine.tables import Role, Table, open_table
from pqd.errors import PqdError
from pqd.spec.model import Source, Spec
from pqd.stated.column_facts import Facts, format_of_file
from pqd.stated.metadata_files import stated_facts


def ledger_of(spec: Spec, stated: str | Path | None = None) -> Path:
    """Path of the ledger: ``stated``, else PQD_LEDGER, else the spec's, else beside the table.

    The variable takes precedence over the spec: a person who may change the spec must not be able
    to choose another account.
    """
    return ledger_path(spec.private.path, stated, spec.ledger.path if spec.ledger else None)


def accountant_of(
    spec: Spec,
    ledger: str | Path | None,
    *,
    fresh: bool,
    replaying: bool,
    dataset: str | None,
) -> Accountant:
    """Accountant of the spec's ledger, with the spec's limit; see ``Accountant``.

    The stated ``ledger`` and ``dataset`` take precedence over those of the spec.
    """
    return Accountant(
        ledger_of(spec, ledger),
        Budget(spec.epsilon, spec.delta),
        fresh=fresh,
        replaying=replaying,
        row_is_person=spec.row_is_person,
        dataset=spec.dataset if dataset is None else dataset,
    )


def held_out_accountant(
    spec: Spec, ledger: str | Path | None, *, fresh: bool, replaying: bool
) -> Accountant | None:
    """Accountant of the held-out table; None without one.

    The table has an account and a limit of its own.  Its ledger is found as that of the private
    table: ``ledger``, else PQD_LEDGER, else the spec's, else the one beside the held-out table.
    """
    stated = spec.held_out
    if stated is None:
        return None
    path = ledger_path(stated.source.path, ledger, spec.ledger.path if spec.ledger else None)
    return Accountant(
        path,
        Budget(stated.epsilon),
        fresh=fresh,
        replaying=replaying,
        row_is_person=spec.row_is_person,
        dataset=stated.dataset,
    )


@contextmanager
def paths_as_written(spec: Spec) -> Iterator[None]:
    """Context in which error messages show paths as the spec writes them.

    So no message shows the value of a variable ``${NAME}``.
    """
    try:
        yield
    except PqdError as error:
        text = str(error)
        sources = [spec.private, *spec.synthetic.values()]
        sources += [spec.ledger] if spec.ledger else []
        sources += [spec.release.queries] if spec.release else []
        sources += [spec.metadata] if spec.metadata else []
        sources += [spec.held_out.source] if spec.held_out else []
        for source in sources:
            for path, written in _spellings(source):
                text = text.replace(path, written)
        error.args = (text,)
        raise


def facts_of(spec: Spec) -> Facts:
    """Facts of columns that a spec states, joined with those of the file that it names.

    Raises
    ------
    ParameterError
        If the file is not understood.
    """
    file = spec.metadata
    with paths_as_written(spec):
        return stated_facts(
            spec.columns,
            file.path if file else None,
            spec.private.path,
            # A spec names all of its files, so none is looked for.
            (),
            asks_unit=spec.unit is None and not spec.row_is_person,
            name=Path(file.written).name if file else None,
        )


def _spellings(source: Source) -> list[tuple[str, str]]:
    """Pairs of texts: a path in a message, and the text that replaces it.

    The longest paths come first.  If the path holds a variable, the folder of the file is replaced
    too, since a message may name a file beside it, such as a ledger.
    """
    if not isinstance(source.path, Path):
        return [(source.path, source.written)]
    paths = {source.path, source.path.absolute()}
    with suppress(OSError, RuntimeError, ValueError):
        paths.add(source.path.resolve())
    pairs = {str(path): source.written for path in paths}
    if "${" in source.written:
        above = Path(source.written).parent
        folder = str(above) if "${" in str(above) else f"(beside {source.written})"
        hidden = (path.parent for path in paths if path.parent.name)
        pairs |= {f"{path}{os.sep}": f"{folder}{os.sep}" for path in hidden}
    return sorted(pairs.items(), key=lambda pair: len(pair[0]), reverse=True)


def open_source(source: Source, role: Role, facts: Facts) -> Table:
    """Open a table under the name that the spec gives it, in the format of spec and facts."""
    text_format = format_of_file(facts).under(source.text_format)
    return replace(open_table(source.path, role, text_format), label=label_of(source))


def label_of(source: Source) -> str:
    """Name of a table in reports: the name in the spec, never the value of a variable.

    A pattern such as ``*.csv`` is shown with its folder.
    """
    if not isinstance(source.path, Path):
        return address_name(source.written)
    path = Path(source.written)
    return f"{path.parent.name}/{path.name}" if path.name.startswith("*") else path.name
