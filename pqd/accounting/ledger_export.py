"""Ledger export: the entries of a hash chain as JSON lines with their hashes, without a secret."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from pqd.accounting.hash_chain import Entry, entry_hash
from pqd.errors import LedgerError

_NO_HASH = ""


def export_text(start: str, entries: Iterable[Entry]) -> str:
    """Export of a chain: a JSON line for the ``start`` hash, and for each entry."""
    lines = [{"hash": start}, *({"hash": entry.hash, "entry": entry.text} for entry in entries)]
    return "".join(json.dumps(line) + "\n" for line in lines)


def export_hashes(export: Path) -> list[str]:
    """Hashes of an export, after a check that they fit its entries.

    Raises
    ------
    LedgerError
        If the file cannot be read, or is no complete export.
    """
    try:
        first, *rest = (json.loads(line) for line in export.read_text("utf-8").splitlines())
        hashes = [str(first["hash"]) if len(first) == 1 else _NO_HASH]
        for line in rest:
            matches = entry_hash(hashes[-1], line["entry"]) == line["hash"]
            hashes.append(line["hash"] if matches else _NO_HASH)
    except OSError as error:
        raise LedgerError(f"the export {export} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        hashes = [_NO_HASH]
    if _NO_HASH in hashes:
        raise LedgerError(f"{export} is no whole export of a ledger")
    return hashes
