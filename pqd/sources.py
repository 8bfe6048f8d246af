"""The files that a spec names: opened under the names that it gives them, kept out of messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pqd.auditor import ledger_path
from pqd.errors import PqdError
from pqd.tables import Role, Table, open_table

if TYPE_CHECKING:
    from pqd.spec import Source, Spec


def place_of_ledger(spec: Spec, stated: str | Path | None = None) -> Path:
    """Return where the ledger lies: as stated, as PQD_LEDGER or the spec says, or by the table.

    The variable comes before the spec: who may change the spec may not choose the account.
    """
    return ledger_path(spec.private.path, stated, spec.ledger.path if spec.ledger else None)


@contextmanager
def unexpanded(spec: Spec) -> Iterator[None]:
    """Keep what ``${NAME}`` stands for out of messages: a path is shown as it is written."""
    try:
        yield
    except PqdError as error:
        text = str(error)
        sources = [spec.private, *spec.synthetic.values()]
        sources += [spec.ledger] if spec.ledger else []
        sources += [spec.release.queries] if spec.release else []
        for source in sources:
            for path in _spellings(source.path):
                text = text.replace(path, source.written)
        error.args = (text,)
        raise


def _spellings(path: Path) -> list[str]:
    """Return how messages may name a path, longest first."""
    found = {str(path), str(path.absolute())}
    with suppress(OSError, RuntimeError, ValueError):
        found.add(str(path.resolve()))
    return sorted(found, key=len, reverse=True)


def opened(source: Source, role: Role) -> Table:
    """Open a table; it is called by the name that the spec gives it."""
    return replace(open_table(source.path, role), label=label_of(source))


def label_of(source: Source) -> str:
    """Return what reports call a table: its name in the spec, not what stands for a variable."""
    return Path(source.written).name
