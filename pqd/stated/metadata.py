"""Metadata of a table: its columns and keys, as SDV or a schema of Frictionless states them.

All of it is public.  Facts that are not read, such as patterns of texts, are named in
``Metadata.unread``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pqd.deciders import ParameterError
from pqd.deciders.exact import as_float
from pqd.sql.schema import Kind, fold_case
from pqd.stated.column_facts import ColumnFacts, Facts, check_lattice
from pqd.stated.joined_formats import DAYS, joined_format
from pqd.stated.json_document import Node, shown, written_key
from pqd.stated.stated_column import StatedColumn, ranged_column
from pqd.stated.text_formats import FileFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """Stated facts of a table: its columns and keys.

    ``complete`` says that the table has no other column.  ``unread`` names facts that were not
    read, such as ``the pattern of zip``.  ``missing`` are all texts that stand for no value, and
    None if they are not stated.  ``persons`` are columns whose values may be persons: keys and
    identifiers.  ``ranged`` says that SDV may have taken ranges and values from a table that it has
    seen.  ``label`` is the name of the file.
    """

    columns: Mapping[str, StatedColumn] = field(default_factory=dict)
    keys: tuple[tuple[str, ...], ...] = ()
    complete: bool = False
    unread: tuple[str, ...] = ()
    missing: tuple[str, ...] | None = None
    persons: tuple[str, ...] = ()
    ranged: bool = False
    label: str = field(default="", compare=False)

    @property
    def without_values(self) -> Metadata:
        """Metadata of the form of cells alone: kinds, formats, keys and missing values."""
        columns = {name: column.without_values for name, column in self.columns.items()}
        return replace(self, columns=columns, ranged=False)

    def with_facts(self, facts: Facts, keys: Sequence[Sequence[str]] = ()) -> Metadata:
        """Metadata, in which kinds and bounds of ``facts`` go before those of the file."""
        names = {fold_case(name): name for name in self.columns}
        columns = dict(self.columns)
        for name, fact in facts.items():
            own = names.get(fold_case(name), name)
            stated = columns.get(own, StatedColumn())
            if fact.kind is not None:
                stated = replace(stated, kind=fact.kind)
            if fact.bounds is not None:
                low, high = fact.bounds
                stated = ranged_column(
                    stated, *(None if e is None else as_float(e) for e in (low, high))
                )
            columns[own] = stated
        every = dict.fromkeys((*self.keys, *map(tuple, keys)))
        return replace(self, columns=columns, keys=tuple(every))

    @property
    def text_format(self) -> FileFormat:
        """Format of cells that the columns state together, and where they contradict each other."""
        columns = self.columns.values()
        return joined_format(
            [(each.decimal, each.place) for each in columns],
            [(each.thousands, each.place) for each in columns],
            [(each.dates or DAYS, each.place) for each in columns if each.kind is Kind.TIME],
            self.missing,
            self.label,
        )

    @property
    def facts(self) -> dict[str, ColumnFacts]:
        """Facts by column that serve a run; each says where it is stated.

        Raises
        ------
        ParameterError
            If bounds are too far apart.
        """
        facts = {}
        for name, column in self.columns.items():
            source = f"metadata {self.label}, {column.place}"
            try:
                facts[name] = replace(column.facts, source=source)
                check_lattice(facts[name])
            except ParameterError as error:
                raise ParameterError(f"{source}: {error}") from None
        return facts


def check_names(nodes: Mapping[str, Node]) -> None:
    """Refuse columns whose names differ by case alone, which no table can tell apart."""
    known: dict[str, str] = {}
    for name, node in nodes.items():
        if (other := known.setdefault(fold_case(name), name)) != name:
            raise node.error(
                f"differs from the column {written_key(other)} by case alone; leave one of the "
                "two out"
            )


def person_columns(
    keys: Sequence[tuple[str, ...]], columns: Mapping[str, StatedColumn]
) -> tuple[str, ...]:
    """Columns whose values may be persons: keys of one column, then identifiers."""
    single = [key[0] for key in keys if len(key) == 1]
    ids = [name for name, column in columns.items() if column.identifier and column.unique]
    return tuple(dict.fromkeys((*single, *ids)))


def key_columns(node: Node, columns: Mapping[str, StatedColumn]) -> tuple[str, ...]:
    """Columns of a key, which is a name or a list of names."""
    if not isinstance(node.value, (str, list, tuple)):
        raise node.wrong("write a name or a list of names")
    items = [node] if isinstance(node.value, str) else node.listed()
    for each in items:
        if not isinstance(each.value, str):
            raise each.wrong("a key is the name of a column, or a list of names")
        if each.value not in columns:
            raise each.error(f"names the column {shown(each.value)}, which is not described")
    return tuple(each.value for each in items)
