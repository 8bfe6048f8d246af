"""Blocks that several terminal renderings share: a grouped query, a chart, refused queries."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from rich.text import Text

from pqd.deciders.errors import ParameterError
from pqd.reports.documents.queries import omitted_queries
from pqd.reports.terminal.frame import Questions
from pqd.reports.text.escape import visible
from pqd.reports.text.notes import refused_lines, refused_sentence
from pqd.reports.text.query import query_text
from pqd.reports.text.words import first_of
from pqd.reports.writers.terminal.layout import Extent

if TYPE_CHECKING:
    from pqd.reports.models.refusals import QueryRefusal
    from pqd.reports.writers.terminal.layout import Screen

_NUMBERED = re.compile(r"q\d+")
_Entry = TypeVar("_Entry", bound="InBlock")
_Named = TypeVar("_Named", bound="Named")
BADGES = {"yes": "bold green", "NO": "bold red", "?": "bold yellow"}


class Named(Protocol):
    """What is told of one query."""

    @property
    def id(self) -> str:
        """Its id."""
        ...

    @property
    def block(self) -> str | None:
        """Id of the query that it is a group of."""
        ...


class InBlock(Named, Protocol):
    """An entry of a table that may be a group of a query."""

    @property
    def group(self) -> str | None:
        """The group in words."""
        ...

    @property
    def aggregate(self) -> str:
        """Aggregate of the query."""
        ...

    @property
    def attribute(self) -> str | None:
        """What is aggregated."""
        ...


class WithPredicate(InBlock, Protocol):
    """An entry of a table that has a predicate of its own."""

    @property
    def where(self) -> str | None:
        """Condition of the query."""
        ...


class Blocks(Generic[_Entry]):
    """Entries of a table that fared alike: the groups of one query stand together, under its name.

    A group that stands alone keeps its whole id.
    """

    def __init__(self, entries: Sequence[_Entry]) -> None:
        """Order the entries by the first of their block."""
        first: dict[str, int] = {}
        for place, entry in enumerate(entries):
            first.setdefault(entry.block or entry.id, place)
        self.entries = sorted(entries, key=lambda entry: first[entry.block or entry.id])
        sizes = Counter(entry.block for entry in entries if entry.block)
        self._several = {block for block, size in sizes.items() if size > 1}
        self._heads = {entries[first[block]].id for block in self._several}

    def name(self, entry: _Entry) -> Text:
        """Name of an entry within its block."""
        if entry.block in self._several:
            return Text(f"  {visible(entry.group or entry.id)}")
        return Text(visible(entry.id))

    def head(self, entry: _Entry, lead: int) -> Iterator[Text]:
        """Line above the first entry of a block, ``lead`` cells to the right."""
        if entry.id in self._heads:
            p = getattr(entry, "p", None)
            text = query_text(entry.aggregate, entry.attribute, p, None)
            yield Text(f"{' ' * lead}{visible(entry.block or '')}   {text} per group", style="dim")


def questions_of(entries: Iterable[WithPredicate]) -> Questions:
    """What entries ask whose names are numbers alone, such as q1, which they have by default."""
    numbered = {each.id: each for each in entries if _NUMBERED.fullmatch(each.id)}

    def question(name: str) -> str | None:
        each = numbered.get(name)
        if each is None:
            return None
        return query_text(each.aggregate, each.attribute, getattr(each, "p", None), each.where)

    return question


def of_name(
    entries: Sequence[_Named], refused: Sequence[QueryRefusal], name: str
) -> tuple[list[_Named], list[QueryRefusal]]:
    """Entries and refusals of one query, or of all groups of one.

    Raises
    ------
    ParameterError
        There is neither.
    """
    found = [each for each in entries if name in {each.id, each.block}]
    left = [each for each in refused if name in {each.id, each.block}]
    if not found and not left:
        raise ParameterError(f"there is no query {name!r}; its id stands in the report's lines")
    return found, left


def left_out(refused: Sequence[QueryRefusal], screen: Screen, extent: Extent) -> Iterator[Text]:
    """Queries that were refused, by name, those of one reason together; of many the first."""
    if not refused or extent is Extent.QUIET:
        return
    yield from screen.wrapped(f"{refused_sentence(refused)}:", "bold yellow")
    told = (
        first_of(omitted_queries(refused).alike)
        if extent is Extent.BRIEF
        else refused_lines(refused)
    )
    yield from screen.paragraphs(map(visible, told))
    yield Text()
