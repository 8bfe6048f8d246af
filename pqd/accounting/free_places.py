"""Free places for files that a run writes: paths of neither a ledger nor an input of the run."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from pqd.accounting.hash_chain import is_ledger
from pqd.engine.sources.locations import LEDGER_NAME, location_of
from pqd.errors import ParameterError
from pqd.paths import usable

LEDGER_VARIABLE = "PQD_LEDGER"
# Endings of the files that SQLite keeps beside a ledger: when SQLite opens the ledger, it may read
# such a file into the ledger.  A draft of a ledger (HashChain) has a name like ``_DRAFT``.
_BESIDE = ("-journal", "-wal", "-shm")
_DRAFT = re.compile(r"\.(.+)\.[0-9]+\.[0-9a-f]{8}")


def check_free(
    place: str | Path, inputs: Iterable[object] = (), ledger: str | Path | None = None
) -> None:
    """Refuse a place where a file would replace a ledger or an input of the run.

    The place is refused even if the ledger does not exist yet: if the caller or PQD_LEDGER states
    the place as the ledger, or if the place has the default name of ledgers.  Call this before
    anything is spent, and again just before the file is written.

    Parameters
    ----------
    place
        Path of the file to be written; links are followed.
    inputs
        Paths of tables, parts, specs and files of queries; other objects are ignored.
    ledger
        Ledger of the run, if it is stated.

    Raises
    ------
    ParameterError
        If the place is not free; the message names it.
    """
    path = usable(place)
    located = [location_of(each) for each in inputs if isinstance(each, (str, Path)) and each]
    read = [file for location in located for file in location.files]
    # DuckDB first writes rows to this file, and merges them into its main file later.
    read += [file.with_name(f"{file.name}.wal") for file in read]
    if _is_read(path, read) or _is_ledgers(path.resolve(), ledger):
        raise ParameterError(f"{place} is an input of this run, or a ledger; write elsewhere")
    for location in located:
        if location.takes(path):
            raise ParameterError(
                f"{place} would be a part of {location.text}, a table of this run; name a file in "
                "another folder"
            )


def _is_read(path: Path, files: Iterable[Path]) -> bool:
    """Whether a path leads to one of ``files``, perhaps by another name of the same file."""
    if not path.exists():
        return path.resolve() in {usable(file).resolve() for file in files}
    own = path.stat()
    return any(os.path.samestat(own, file.stat()) for file in files if usable(file).exists())


def _is_ledgers(path: Path, stated: str | Path | None) -> bool:
    """Whether a resolved path is a ledger, or a file that belongs to a ledger."""
    variable = os.environ.get(LEDGER_VARIABLE, "").strip()
    known = [usable(each).resolve() for each in (stated, variable) if each]
    return any(own.name == LEDGER_NAME or own in known or is_ledger(own) for own in _owners(path))


def _owners(path: Path) -> Iterator[Path]:
    """Yield the paths of ledgers that this file may belong to; the first is its own path."""
    names = [path.name, *(path.name.removesuffix(end) for end in _BESIDE)]
    for name in dict.fromkeys(filter(None, names)):
        yield path.with_name(name)
        if draft := _DRAFT.fullmatch(name):
            yield path.with_name(draft[1])
