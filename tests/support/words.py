"""Words of a document: every text that a reader may see, for no format, in its order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass

from pqd.reports.blocks import Cell, Document, HeatCell, Line, plain

# What sorts, filters and places rows is no word.
_SILENT = frozenset({"sort", "tone", "fate", "style", "kind", "names", "aliases", "links", "shade"})


def words_text(document: Document) -> str:
    """Texts of a document, a line each, set in below what they are part of."""
    return "\n".join(_lines(document, "document")) + "\n"


def _lines(value: object, label: str) -> Iterator[str]:
    if isinstance(value, Line):
        yield from [f"{label} ({value.role}): {plain(value.text)}"] if value.text else []
    elif isinstance(value, str):
        yield from [f"{label}: {value}"] if value else []
    elif isinstance(value, Cell | HeatCell):
        told = " ".join(_texts(value))
        yield from [f"{label}: {told}"] if told else []
    elif label in {"step", "remark"} and isinstance(value, tuple):
        yield from [f"{label}: {plain(value)}"] if value else []
    elif callable(value):
        yield from _lines(list(value()), label)
    elif is_dataclass(value) or hasattr(value, "_fields"):
        yield from _parts(value, label)
    elif isinstance(value, Sequence):
        for each in value:
            yield from _lines(each, label)


def _parts(value: object, label: str) -> Iterator[str]:
    names = [f.name for f in fields(value)] if is_dataclass(value) else value._fields  # type: ignore[attr-defined]
    lines = [
        line for name in names if name not in _SILENT for line in _lines(getattr(value, name), name)
    ]
    if lines:
        yield f"{label}: {type(value).__name__}"
        yield from (f"  {line}" for line in lines)


def _texts(cell: Cell | HeatCell) -> Iterator[str]:
    if isinstance(cell, HeatCell):
        yield from filter(None, (cell.sign, cell.text, cell.told and f"({cell.told})"))
        return
    yield from filter(None, (cell.text, cell.badge.text if cell.badge else "", cell.under))
    if cell.picture and cell.picture.label:
        yield f"[{cell.picture.label}]"
