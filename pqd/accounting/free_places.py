"""Free places for files that a run writes: no ledger, no file of one, nothing that it reads."""

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
# Files that SQLite keeps beside a ledger, and drafts of one (HashChain): what lies there when it is
# opened may become a part of it.
_BESIDE = ("-journal", "-wal", "-shm")
_DRAFT = re.compile(r"\.(.+)\.[0-9]+\.[0-9a-f]{8}")


def check_free(
    place: str | Path, inputs: Iterable[object] = (), ledger: str | Path | None = None
) -> None:
    """Refuse a place where a file would replace a ledger, or what the run reads.

    The ledger need not be there yet: it is that which is stated, by the caller or by PQD_LEDGER, or
    has the name that ledgers have by default.  To be asked before anything is spent, and again just
    before the file is written.

    Parameters
    ----------
    place
        Where the file is to be written; through whatever folders and links it is named.
    inputs
        Tables, parts, specs and files of queries by their paths; what has no path is passed over.
    ledger
        The ledger of the run, where it is stated.

    Raises
    ------
    ParameterError
        Naming the place.
    """
    path = usable(place)
    located = [location_of(each) for each in inputs if isinstance(each, (str, Path)) and each]
    read = [file for location in located for file in location.files]
    # Rows that DuckDB has written lie there until they are a part of its file.
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
    """Whether a path leads to one of ``files``, each of which may have several names."""
    if not path.exists():
        return path.resolve() in {usable(file).resolve() for file in files}
    own = path.stat()
    return any(os.path.samestat(own, file.stat()) for file in files if usable(file).exists())


def _is_ledgers(path: Path, stated: str | Path | None) -> bool:
    """Whether a resolved path is that of a ledger, or of a file that belongs to one."""
    variable = os.environ.get(LEDGER_VARIABLE, "").strip()
    known = [usable(each).resolve() for each in (stated, variable) if each]
    return any(own.name == LEDGER_NAME or own in known or is_ledger(own) for own in _owners(path))


def _owners(path: Path) -> Iterator[Path]:
    """Yield the files that a file belongs to if they are ledgers: itself is one of them."""
    names = [path.name, *(path.name.removesuffix(end) for end in _BESIDE)]
    for name in dict.fromkeys(filter(None, names)):
        yield path.with_name(name)
        if draft := _DRAFT.fullmatch(name):
            yield path.with_name(draft[1])
