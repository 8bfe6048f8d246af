"""Blocks: what holds of every document, whichever writer shows it."""

import ast
import dataclasses
import inspect
from pathlib import Path

import pytest

from pqd.reports import blocks
from pqd.reports.blocks import (
    PAGE,
    Cell,
    Column,
    Document,
    Group,
    Grouping,
    Lines,
    Option,
    Row,
    Section,
    Table,
    plain,
    tables,
)

NAMES = (Column("verdict", "badge"), Column("query", "name"), Column("drawn", "picture", drop=PAGE))


def row(name: str) -> Row:
    return Row(id=name, cells=(Cell("yes"), Cell(name), Cell()))


def test_a_row_has_a_cell_per_column() -> None:
    with pytest.raises(ValueError, match="one cell per column"):
        Table(columns=NAMES[:2], groups=[Group(rows=[row("a")])])


def test_rows_stand_in_the_order_of_their_groups() -> None:
    table = Table(columns=NAMES, groups=[Group(rows=[row("a"), row("b")]), Group(rows=[row("c")])])
    assert [each.id for each in table.rows] == ["a", "b", "c"]
    assert table.size == 3
    assert table.places() == [0, 1]


def test_a_row_is_called_by_its_id_and_its_query() -> None:
    grouping = Grouping("by-sex", "COUNT per group", "SELECT 1", "SELECT\n1")
    assert row("a").called == {"a"}
    member = Row(id="by-sex[F]", cells=(), grouping=grouping)
    assert member.called == {"by-sex[F]", "by-sex"}


def test_tables_are_found_in_sections() -> None:
    first, second = (Table(columns=NAMES, groups=[], label=name) for name in "ab")
    inner = Section(title="inner", blocks=[Lines([]), second])
    body: list[blocks.Block] = [first, Section(title="outer", blocks=[inner])]
    assert [table.label for table in tables(body)] == ["a", "b"]
    assert list(Document(kind="audit", title="", lead="", body=body).tables) == [first, second]


def test_an_option_is_spelled_for_a_shell() -> None:
    assert plain(("Use ", Option("zoom", "5"), ".")) == "Use --zoom 5."
    assert plain((Option("explain", "a b"),)) == "--explain 'a b'"
    assert plain((Option("marginals"), " shows them")) == "--marginals shows them"
    assert plain("as it is") == "as it is"


def test_details_are_made_when_they_are_asked_for() -> None:
    def details() -> list[blocks.Block]:
        raise AssertionError("nobody asked")

    table = Table(columns=(), groups=[Group(rows=[Row(id="a", cells=(), details=details)])])
    assert next(table.rows).id == "a"


def test_blocks_are_frozen_and_know_nothing_of_formats() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        row("a").id = "b"  # type: ignore[misc]  # what is tried here
    tree = ast.parse(Path(inspect.getfile(blocks)).read_text("utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert modules <= {
        "__future__",
        "collections.abc",
        "dataclasses",
        "typing",
    }
