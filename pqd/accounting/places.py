"""Lasting places of a table: names under which a later version of the same rows would be found.

A lasting place is a path of a file, a table in a file, a folder with a pattern of parts, or the
address of a table on a server.  A ledger keeps keyed hashes of places (``KeyedPlaces``), so nobody
can read a path in the ledger or in an export.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from pqd.engine.sources.locations import OF_TABLE, Location, fits_pattern, is_address, location_of
from pqd.engine.sources.source import Place
from pqd.engine.tables import Table

# Hexadecimal digits of a keyed hash: 128 bits.
_DIGITS = 32
# Pattern of the files that Spark may read in a folder.
_ANY_FILE = "**/*"


class KeptPlace(NamedTuple):
    """Place as a ledger keeps it: keyed hash of its name, and the pattern of parts of a folder."""

    name: str
    pattern: str = ""


@dataclass(frozen=True, slots=True)
class KeyedPlaces:
    """Places of a table under the key of a ledger.

    ``kept`` are the places that the ledger keeps.  ``files`` are keyed hashes of all files, and of
    tables in files.  ``below`` maps the keyed hash of each folder above them to the paths of these
    files below the folder.
    """

    kept: frozenset[KeptPlace] = frozenset()
    files: frozenset[str] = frozenset()
    below: Mapping[str, frozenset[tuple[str, ...]]] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Table, key: bytes) -> KeyedPlaces:
        """Places of ``table``; none for rows in memory."""
        location = _location(table)
        addressed = any(place.address for place in table.source.places)
        hashes = _Hashes(key)
        kept: set[KeptPlace] = set()
        files: set[str] = set()
        below: dict[str, set[tuple[str, ...]]] = {}
        if location and location.pattern:
            kept |= {KeptPlace(hashes[n], location.pattern) for n in _names(location.path)}
        for place in table.source.places:
            names = {hashes[name] for name in _place_names(place, location)}
            files |= names
            taken = place.file and location and location.takes(place.file)
            if place.address or not (addressed or taken):
                kept |= {KeptPlace(name) for name in names}
            if place.file:
                for above in place.file.parents:
                    path = place.file.relative_to(above).parts
                    below.setdefault(hashes[str(above)], set()).add(path)
        kept |= {KeptPlace(hashes[name], _ANY_FILE) for name in _spark_folders(table)}
        return cls(
            frozenset(kept), frozenset(files), {name: frozenset(below[name]) for name in below}
        )

    def overlap(self, kept: frozenset[KeptPlace] | set[KeptPlace]) -> bool:
        """Whether the table shares a place with a data set that has the places ``kept``."""
        if not self.kept.isdisjoint(kept):
            return True
        return any(
            place.name in self.files
            if not place.pattern
            else any(fits_pattern(place.pattern, path) for path in self.below.get(place.name, ()))
            for place in kept
        )


class _Hashes(dict[str, str]):
    """Keyed hashes of names, each computed once."""

    def __init__(self, key: bytes) -> None:
        super().__init__()
        self._key = key

    def __missing__(self, name: str) -> str:
        text = name.encode(errors="surrogateescape")
        self[name] = found = hmac.new(self._key, text, "sha256").hexdigest()[:_DIGITS]
        return found


def _location(table: Table) -> Location | None:
    """Location that the user wrote; None for a server or a frame."""
    given = table.given
    if not isinstance(given, (str, Path)) or is_address(given):
        return None
    return location_of(given)


def _place_names(place: Place, location: Location | None) -> Iterator[str]:
    """Names of one place: its address, or the paths that lead to its file."""
    if place.file is None:
        yield place.address or place.table
        return
    paths = {str(place.file)}
    if location and not location.pattern and location.path.resolve() == place.file:
        paths |= _names(location.path)
    for path in paths:
        yield f"{path}{OF_TABLE}{place.table}" if place.table else path


def _names(path: Path) -> set[str]:
    """Names of a path: as written, with the links of its folder followed, with all followed.

    A link may lead to another file tomorrow, and its own name then still finds the data set.
    """
    written = path.absolute()
    return {str(written), str(written.parent.resolve() / written.name), str(path.resolve())}


def _spark_folders(table: Table) -> Iterator[str]:
    """Local folder that the address of a table of Spark names."""
    local = any(place.file for place in table.source.places)
    for place in table.source.places:
        if local and place.address.startswith("spark:///"):
            with suppress(OSError, RuntimeError, ValueError):
                yield str(Path(place.address.removeprefix("spark://")).resolve())
