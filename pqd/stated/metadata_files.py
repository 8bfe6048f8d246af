"""Files of metadata: the one that a caller names, or the one beside the copy, and their facts.

The file beside the copy is found by the path of the copy, whatever either table holds.  A file
beside the private table may have been made from that table, so it is read only if it is named.
For the same reason ranges and lists of values serve only in a named file: SDV writes those of the
rows that it has seen, and whoever names the file says that they are public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from pqd.deciders.note import Note, note
from pqd.engine.sources.locations import OF_TABLE, is_address, location_of
from pqd.engine.tables import Table, open_table
from pqd.errors import ParameterError, PqdError
from pqd.sql.schema import fold_case
from pqd.stated.column_facts import (
    ColumnFacts,
    Facts,
    FileFacts,
    StatedColumns,
    parse_columns,
)
from pqd.stated.json_document import FORMS, Node, read_json
from pqd.stated.metadata import Metadata
from pqd.stated.sdv_metadata import sdv_metadata
from pqd.stated.table_schema import schema_metadata

# Path of a file of metadata, or its content.
MetadataFile: TypeAlias = str | Path | Mapping[str, Any]
# End of the name of the file beside a copy: adult.metadata.json belongs to adult.csv.
SUFFIX = ".metadata.json"
# Calls of SDV and of Frictionless that write the metadata of one table among several.
_OF_SDV = 'metadata.get_table_metadata("NAME").save_to_json("NAME.json")'
_OF_PACKAGE = 'package.get_resource("NAME").schema.to_json("NAME.json")'


class TableMetadata(NamedTuple):
    """Metadata of a table, and notes on its file; without a file both are empty."""

    metadata: Metadata = Metadata()
    notes: tuple[Note, ...] = ()


def read_metadata(path: str | Path, name: str | None = None) -> Metadata:
    """Metadata of a JSON file, which messages call by its path or by ``name``.

    Raises
    ------
    ParameterError
        If there is no such file, if it holds no metadata that is understood, or if it holds the
        metadata of several tables.  The message says at which place of the file.
    """
    stated = read_json(path, name)
    path = path if name is None else name
    try:
        return replace(parse_metadata(stated), label=Path(path).name)
    except ParameterError as error:
        raise ParameterError(f"metadata {path}: {error}") from None


def parse_metadata(stated: object) -> Metadata:
    """Metadata of the content of a JSON file; errors as ``read_metadata``."""
    node = Node(stated, "")
    if not isinstance(stated, Mapping):
        raise ParameterError(f"it is no JSON object; {FORMS}")
    if "tables" in stated:
        node = _only(node["tables"], _OF_SDV)
    elif "resources" in stated:
        node = _only(node["resources"], _OF_PACKAGE)
        node.named()
        node = node["schema"]
    if "schema" in node.named() and not {"columns", "fields"} & node.named().keys():
        node = node["schema"]
    node.named()
    if "columns" in node.value:
        return sdv_metadata(node)
    if "fields" in node.value:
        return schema_metadata(node)
    raise ParameterError(FORMS)


def _only(tables: Node, call: str) -> Node:
    """Only table that a file describes; of several tables ``call`` writes the metadata of one."""
    every = tables.named().values() if isinstance(tables.value, Mapping) else tables.listed()
    if len(every) != 1:
        raise tables.error(
            f"describes {len(every)} tables; give the metadata of one, as {call} writes it"
        )
    return next(iter(every))


def stated_facts(
    columns: StatedColumns | None,
    metadata: MetadataFile | None,
    private: object,
    copies: Sequence[object],
    *,
    asks_unit: bool = False,
    name: str | None = None,
) -> Facts:
    """Facts of columns that a caller states, joined with those of a file of metadata.

    ``asks_unit``: nobody has said who is a person, so a key that repeats is worth a note.  ``name``
    is what messages and notes call the named file.

    Raises
    ------
    ParameterError
        If the stated facts, or the named file, are not understood.
    """
    own = parse_columns(columns)
    metadata_, notes = table_metadata(metadata, private, copies, name)
    if not notes:
        return own
    persons = metadata_.persons if asks_unit else ()
    return FileFacts(own, metadata_.facts, notes, persons, metadata_.text_format)


def table_metadata(
    metadata: MetadataFile | None,
    private: object,
    copies: Sequence[object],
    name: str | None = None,
) -> TableMetadata:
    """Metadata that the caller names, or else that lies beside the one copy.

    Raises
    ------
    ParameterError
        If the named file is not understood, or is the private table.
    """
    if metadata is None:
        return _found(private, copies[0]) if len(copies) == 1 else TableMetadata()
    if isinstance(metadata, Mapping):
        known = replace(parse_metadata(metadata), label="the metadata")
        return TableMetadata(known, _used(known, found=False))
    if not isinstance(metadata, (str, Path)):
        raise ParameterError(
            f"metadata is a {type(metadata).__name__}; give the path of a JSON file, or its "
            "content as a dict"
        )
    _check_is_no_table(Path(metadata), private)
    known = read_metadata(metadata, name)
    notes = _used(known, found=False)
    if _lies_beside(Path(metadata), private):
        notes = (*notes, note("metadata-of-private", file=known.label))
    return TableMetadata(known, notes)


def _used(metadata: Metadata, *, found: bool, valued: bool = False) -> tuple[Note, ...]:
    """Notes on metadata that is used: from where, of how many columns, and what is not read.

    ``valued``: the found file has ranges or lists of values, which do not serve.
    """
    number = sum(each != ColumnFacts() for each in metadata.facts.values())
    used = note(
        "metadata-used",
        file=metadata.label,
        columns=number,
        found=found,
        ranged=metadata.ranged or valued,
    )
    unread = metadata.unread
    return (used, note("metadata-unread", facts=unread)) if unread else (used,)


def _found(private: object, copy: object) -> TableMetadata:
    """Metadata beside the copy, if it describes no column that the copy lacks."""
    file = file_beside(copy)
    if file is None:
        return TableMetadata()
    if _lies_beside(file, private):
        return TableMetadata(notes=(note("metadata-beside-both", file=file.name),))
    try:
        known = read_metadata(file, file.name)
        _check_described(known, copy)
    except ParameterError as error:
        unused = note("metadata-not-used", file=file.name, reason=str(error))
        return TableMetadata(notes=(unused,))
    form = known.without_values
    return TableMetadata(form, _used(form, found=True, valued=form.columns != known.columns))


def _check_described(metadata: Metadata, copy: object) -> None:
    """Refuse metadata of a column that the copy lacks: it is of another table."""
    try:
        columns = open_table(copy, "synthetic").columns
    except PqdError:
        # The run opens the copy again, and tells why it cannot.
        return
    known = set(map(fold_case, columns))
    for name, column in metadata.columns.items():
        if fold_case(name) not in known and not column.identifier:
            raise ParameterError(f"{column.place}: the copy has no such column")


def file_beside(copy: object) -> Path | None:
    """File of metadata beside a copy that is a file or a folder of parts; None if there is none."""
    if not isinstance(copy, (str, Path)) or is_address(copy) or OF_TABLE in str(copy):
        return None
    with suppress(OSError, ValueError, PqdError):
        path = location_of(copy).path
        name = path.name.removesuffix(".gz")
        stem = name if path.is_dir() else Path(name).stem
        file = path.with_name(f"{stem}{SUFFIX}")
        if file.is_file():
            return file
    return None


def _lies_beside(file: Path, private: object) -> bool:
    """Whether a file lies in the folder of the private table, or is a link into that folder."""
    folders = set[Path]()
    for place in _places(private):
        folders |= {place.absolute().parent, place.resolve().parent}
        if place.is_dir():
            folders |= {place.absolute(), place.resolve()}
    return bool(folders & {file.absolute().parent, file.resolve().parent})


def _check_is_no_table(file: Path, private: object) -> None:
    """Refuse the private table as a file of metadata."""
    given = private.given if isinstance(private, Table) else private
    files = location_of(given).files if isinstance(given, (str, Path)) else ()
    own = {each.resolve() for each in files}
    with suppress(OSError, RuntimeError):
        if file.resolve() in own:
            raise ParameterError(
                f"metadata: {file.name} is the private table; name a file of metadata, such as one "
                "that pqd init writes from the copy. Nothing was spent"
            )


def _places(private: object) -> list[Path]:
    """File or folder of the private table; none of a frame, or of a table on a server."""
    given = private.given if isinstance(private, Table) else private
    if not isinstance(given, (str, Path)) or is_address(given):
        return []
    with suppress(PqdError, OSError, ValueError):
        return [location_of(given).path]
    return []
