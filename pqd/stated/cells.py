"""Stated cells: cells of a column that a caller writes, and the limit of a marginal's cells."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import pairwise

from pqd.deciders.exact import as_float, exact
from pqd.deciders.options import option
from pqd.engine.marginals import Marginal
from pqd.errors import ParameterError, for_all
from pqd.sql.schema import Kind, fold_case, unquoted
from pqd.stated.column_facts import StatedCells, read_cells

MOST_CELLS = 100_000
# This number of cells is allowed even if the copy has fewer rows.
_FEW_CELLS = 1_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_cells(text: str) -> tuple[str, StatedCells]:
    """Column and cells of a text such as ``age=20``, ``age=0,18,65,120`` or ``job=cook|smith``.

    A name that contains ``=`` needs double quotes.

    Raises
    ------
    ParameterError
        If the text has another form.
    """
    name, stated = _sides(text)
    if not name or not stated:
        raise ParameterError(
            f'cells {text!r} are not understood; write "column=number" such as age=20, '
            '"column=edges" such as age=0,18,65,120, or "column=values" such as "job=cook|smith"'
        )
    if "|" in stated:
        values = [value.strip() for value in stated.split("|")]
        return name, read_cells([value for value in values if value], name)
    edges = [edge.strip() for edge in stated.split(",") if edge.strip()]
    if len(edges) > 1:
        return name, StatedCells(edges=tuple(edges))
    return name, read_cells(_whole(stated, text), name)


def parse_all_cells(texts: Iterable[str]) -> dict[str, StatedCells]:
    """Cells by column, from texts in the form of ``parse_cells``.

    Raises
    ------
    ParameterError
        If a text has another form, or two texts are about the same column.
    """
    cells: dict[str, StatedCells] = {}
    for name, stated in for_all(parse_cells, texts):
        if fold_case(name) in map(fold_case, cells):
            raise ParameterError(f'the cells of "{name}" are given twice; leave one of the two out')
        cells[name] = stated
    return cells


def _sides(text: str) -> tuple[str, str]:
    """Name and cells: the texts before and after the first ``=`` outside quotes."""
    if text.startswith('"') and '"=' in text[1:]:
        name, _, stated = text[1:].partition('"=')
        return name, stated.strip()
    name, _, stated = text.partition("=")
    return unquoted(name.strip()), stated.strip()


def _whole(stated: str, text: str) -> int:
    if not stated.isdecimal():
        raise ParameterError(
            f"cells {text!r} are not understood; {stated!r} is no whole number; separate edges by "
            "commas (age=0,18,65,120) and values by | (job=cook|smith)"
        )
    return int(stated[:10])


def edges_of(cells: StatedCells, column: str, kind: Kind) -> tuple[float, ...]:
    """Stated edges as numbers; times are microseconds since 1970.

    Stated values of a column of numbers or times are read as edges too.

    Raises
    ------
    ParameterError
        If an edge is neither a number nor a time, or if the edges do not ascend.
    """
    texts = cells.edges or cells.values
    edges = tuple(_edge(text, column, kind) for text in texts)
    if len(edges) < 2 or any(low >= high for low, high in pairwise(edges)):
        raise ParameterError(
            f'the edges of "{column}" are {", ".join(texts)}; state two or more, ascending'
        )
    return edges


def _edge(text: str, column: str, kind: Kind) -> float:
    example = "0,18,65,120" if kind is Kind.NUMBER else "2020-01-01,2021-01-01"
    try:
        if kind is Kind.NUMBER:
            return as_float(exact(text))
        moment = datetime.fromisoformat(text)
        aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
        seconds = (aware - _EPOCH).total_seconds()
    except ValueError:
        raise ParameterError(
            f'the column "{column}" holds {kind}s, and the edge {text!r} is none; write '
            f"{column}={example}"
        ) from None
    return float(round(seconds * 1_000_000))


def check_cells(marginal: Marginal, copy_rows: int) -> str | None:
    """Reason why a marginal has too many cells; None if it is within the limit.

    The limit is the number of rows of the copy, but at least 1,000 and at most 100,000.
    """
    if marginal.size > MOST_CELLS:
        return _many_cells(marginal.size, f"{MOST_CELLS:,}")
    if marginal.size > max(_FEW_CELLS, copy_rows):
        return _many_cells(marginal.size, f"the copy has rows ({copy_rows:,})")
    return None


def _many_cells(cells: int, limit: str) -> str:
    """Reason why a marginal with more cells than ``limit`` is left out."""
    fewer = option("--cells COLUMN=5")
    return f"it has {cells:,} cells, more than {limit}; give its columns fewer ({fewer})"
