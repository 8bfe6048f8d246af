"""Writers on documents made by hand: every block, no row and thousands, names of any kind."""

from __future__ import annotations

import io
from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from pqd.reports.blocks import (
    Badge,
    Bars,
    Cell,
    Closing,
    Code,
    Column,
    Curves,
    Definitions,
    Document,
    Group,
    Heat,
    HeatCell,
    Interval,
    Key,
    Line,
    Lines,
    Omission,
    Omitted,
    Picture,
    Row,
    Section,
    Shares,
    Table,
)
from pqd.reports.writers.html import page_text
from pqd.reports.writers.markdown import LIMIT, document_text
from pqd.reports.writers.notebook import summary_of
from pqd.reports.writers.terminal.document import explained_lines, lines_of
from pqd.reports.writers.terminal.layout import Extent, Screen
from tests.support.drawing import examples

if TYPE_CHECKING:
    from collections.abc import Callable

    from pqd.reports.blocks import Block

NAMES = (
    "age",
    "<script>alert(1)</script> | `x` @all",
    "\x1b[31mred\u202e\n::error::no",
    "Größe 年齢 " * 9,
)
SIZES = (0, 1, 51, 400)


def table(name: str, rows: int) -> Table:
    drawn = Picture((0, 1), 0.4, 0.3, 0.5, limit=0.6, mark=0.1, label=f"{name} at 0.4")
    listed = [
        Row(
            id=f"{name} {place}",
            cells=(Cell(badge=Badge("NO", "no")), Cell(name), Cell("1", 1.0), Cell(picture=drawn)),
            asks=f"what {name} asks",
            said=Badge("outside", "no"),
            remark=f"about {name}",
            details=lambda: every_block(name),
        )
        for place in range(rows)
    ]
    columns = (
        Column("verdict", "badge"),
        Column("query", "name", fold=14),
        Column("number", "number", drop=1),
        Column("drawn", "picture", drop=9),
    )
    badge = Badge("NO", "no")
    return Table(
        columns=columns,
        groups=[Group(rows=listed, badge=badge, fate="failed")],
        find="a name",
        in_full=True,
        empty="No row.",
    )


def every_block(name: str) -> list[Block]:
    """One of each kind of block but a table, with ``name`` wherever a text may stand."""
    key = Key([("full", "")], name)
    cell = HeatCell("t1", "1", name, "?", name)
    return [
        Lines([Line(name), Line(name, "detail"), Line("")]),
        Definitions([(name, name)]),
        Code(name, name, ["^"]),
        Shares([(name, 1.0, "yes")], [Line(name)]),
        Interval(10, 9, 11, 0.5, "yes", name),
        Curves([(name[:16], [0.0, None, 1.0])], name),
        Heat([name], [(name, [cell])], name, name, [key], name),
        Bars([(name, Picture((0, 1), 0.5, style="pair", label=name))], [key], [Line(name)]),
    ]


def made(name: str, rows: int) -> Document:
    folded = Section(title=name, blocks=every_block(name), folded=True)
    return Document(
        kind="audit",
        title=name,
        lead=name,
        subject=name,
        spent="epsilon 1",
        banner=[Line(name, "warning")],
        body=[table(name, rows), folded],
        omitted=Omitted("1 left out", [Omission(name, (name,))], [name]),
        notes=[Line(name)],
        account=[Line(name)],
        cost=[Lines([Line(name)])],
        reading=[Definitions([(name, name)])],
        closing=Closing(failed=name, counts=name, step=name, budget=name),
    )


def terminal(document: Document, width: int, extent: Extent) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    screen = Screen.of(console, console.options)
    return [line.plain for line in lines_of(document, screen, extent)]


DOCUMENTS = {
    f"{place}-{size}": made(NAMES[place], size)
    for place, size in (*product(range(4), SIZES), (0, 3_000))
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_writer_shows_every_document(name: str) -> None:
    document = DOCUMENTS[name]
    for width, extent in product((60, 80, 120), (Extent.QUIET, Extent.BRIEF)):
        lines = terminal(document, width, extent)
        assert lines
        assert max(map(cell_len, lines)) <= width or "Größe" in document.title
    written = "\n".join(terminal(document, 80, Extent.BRIEF))
    page, comment = page_text(document), document_text(document)
    summary = summary_of(document)
    for text in (written, page, comment, summary.title, summary.lead, *summary.lines):
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert "<script>alert(1)" not in page
    assert "<script>alert(1)" not in comment
    assert len(comment) <= LIMIT
    size = sum(each.size for each in document.tables)
    if not size:
        assert "No row." in comment
    for shown in summary.tables:
        assert len(shown.rows) <= 60


def test_rows_are_explained_by_their_id_alone() -> None:
    console = Console(file=io.StringIO(), width=80)
    screen = Screen.of(console, console.options)
    text = "\n".join(line.plain for line in explained_lines(made("age", 51), "age 7", screen))
    assert text.count("outside") == 1


names = st.text(st.characters(codec="utf-8"), max_size=2_000)
# Long names in few rows, and shorter ones in many: either is more than a comment holds.
sizes = st.tuples(st.sampled_from([0, 1]), st.integers(1, 40)) | st.tuples(
    st.sampled_from([60, 400]), st.integers(1, 3)
)


@examples(40)
@given(names, sizes)
def test_no_comment_is_too_long(name: str, size: tuple[int, int]) -> None:
    rows, times = size
    assert len(document_text(made(name * times, rows))) <= LIMIT


@pytest.mark.parametrize("write", [page_text, document_text, summary_of])
def test_a_writer_changes_no_document(write: Callable[[Document], object]) -> None:
    document = made("age", 3)
    assert str(write(document)) == str(write(document))
