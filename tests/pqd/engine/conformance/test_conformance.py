"""Every engine and source counts the grid alike; engines that are wrong in one way are caught."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pqd.engine.counting.arrow_sql import ArrowSQL
from pqd.engine.sources.lazy_sources import LazySource
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import Table, open_table, table_of
from pqd.errors import TableError
from pqd.planning.binding import bind
from pqd.sql.schema import Schema
from pqd.stated.column_facts import parse_columns
from tests.pqd.engine.conformance.engines import ENGINES, SMALL, Engine
from tests.pqd.engine.conformance.grid import (
    COPY,
    FACTS,
    QUERIES,
    Found,
    counted,
    differences,
    grid,
    requests_of,
    sections,
)
from tests.support.golden import matches_golden

HASHED = "fingerprint"
EXPECTED = Path(__file__).with_name("expected.json")
EVERY = [pytest.param(each, marks=each.marks, id=each.name) for each in ENGINES]


def expected(*, with_empty: bool = True) -> Found:
    recorded: dict[str, Found] = json.loads(EXPECTED.read_text("utf-8"))
    return recorded["whole" if with_empty else "without the empty text"]


@pytest.mark.golden
def test_what_is_recorded_is_what_a_table_in_memory_gives() -> None:
    """Read the labels of the rows: they are what plain SQL says, row by row."""
    tables = {"whole": grid(), "without the empty text": grid(with_empty=False)}
    recorded = {name: dict(sections(table)) for name, table in tables.items()}
    text = json.dumps(recorded, indent=1, ensure_ascii=False) + "\n"
    assert matches_golden(EXPECTED, text)


def server(engine: Engine, request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(engine.server) if engine.server else None


@pytest.mark.parametrize("engine", EVERY)
def test_an_engine_conforms(engine: Engine, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    table = grid(with_empty=engine.hold_empty)
    result = sections(engine.make(table, tmp_path, server(engine, request)))
    wanted = expected(with_empty=engine.hold_empty)
    if not engine.same_types:
        # Rows of a person are ranked by what is hashed, too.
        result = ((name, of) for name, of in result if "person" not in name and name != HASHED)
    assert list(differences(wanted, result)) == []


@cache
def of_copy(*, with_empty: bool) -> tuple[Schema, list[tuple[str, list[tuple[int, int]]]]]:
    """Kinds and answers of the copy in memory."""
    return answers(COPY if with_empty else COPY.filter(pc.field("text") != ""))


def answers(copy: object) -> tuple[Schema, list[tuple[str, list[tuple[int, int]]]]]:
    tables = SyntheticTables([open_table(copy, "synthetic")])
    bound = bind(tables, requests_of(QUERIES), parse_columns(FACTS))
    return bound.schema, [(each.query.sql, counted(each.synthetic[0])) for each in bound.queries]


@pytest.mark.parametrize("engine", EVERY)
def test_a_copy_may_be_on_any_engine(
    engine: Engine, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Kinds, bounds, groups and exact answers are the same."""
    table = COPY if engine.hold_empty else COPY.filter(pc.field("text") != "")
    copy = engine.make(table, tmp_path, server(engine, request))
    assert answers(copy) == of_copy(with_empty=engine.hold_empty)


Change = Callable[[pa.Table], pa.Table]


def column(name: str, change: Callable[[pa.ChunkedArray], pa.ChunkedArray]) -> Change:
    def changed(table: pa.Table) -> pa.Table:
        cells = change(table[name])
        return table.set_column(table.column_names.index(name), name, cells)

    return changed


def of_texts(change: Callable[[str], str]) -> Callable[[pa.ChunkedArray], pa.ChunkedArray]:
    return lambda cells: pa.chunked_array(
        [[None if cell is None else change(cell) for cell in cells.to_pylist()]], cells.type
    )


def turned(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    return pa.chunked_array([*cells.slice(1).chunks, *cells.slice(0, 1).chunks])


# What a source might do to rows on their way.
SOURCE_MUTANTS: dict[str, Change] = {
    "one partition is lost": lambda table: table.slice(SMALL),
    "the last partition is lost": lambda table: table.slice(0, len(table) - len(table) % SMALL),
    "one partition comes twice": lambda table: pa.concat_tables([table, table.slice(0, SMALL)]),
    "rows that are alike are one": lambda table: table.group_by(table.column_names).aggregate([]),
    "NULL is an empty text": column("text", lambda cells: cells.fill_null("")),
    "an empty text is NULL": column(
        "text", lambda cells: pc.if_else(pc.equal(cells, ""), pa.scalar(None, cells.type), cells)
    ),
    "NULL is zero": column("number", lambda cells: cells.fill_null(0.0)),
    "NULL is false": column("flag", lambda cells: cells.fill_null(False)),
    "texts lose their case": column("text", of_texts(str.lower)),
    "texts lose their blanks": column("text", of_texts(str.strip)),
    "texts are composed": column("text", lambda cells: pc.utf8_normalize(cells, "NFC")),
    "texts are of 16 bits": column(
        "text", of_texts(lambda text: text.encode("ascii", "replace").decode())
    ),
    "persons lose their case": column("person", of_texts(str.lower)),
    "rows without a person are left out": lambda table: table.filter(pc.is_valid(table["person"])),
    "numbers are of 32 bits": column("number", lambda cells: cells.cast(pa.float32())),
    "not a number is a number": column(
        "number", lambda cells: pc.if_else(pc.is_nan(cells), 0.0, cells)
    ),
    "times lose their fractions": column(
        "day", lambda cells: pc.floor_temporal(cells, unit="second")
    ),
    "times are elsewhere": column(
        "day", lambda cells: pc.add(cells, pa.scalar(3_600_000_000, pa.duration("us")))
    ),
    "columns are out of step": column("number", turned),
    "numbers in texts may have no blanks": column(
        "mixed", lambda cells: pc.replace_substring(cells, " 2 ", "x")
    ),
    "numbers in texts have thousands": column(
        "mixed", lambda cells: pc.replace_substring(cells, ",", "")
    ),
    "quoted names are not": lambda table: table.rename_columns(
        ["odd_name" if name == "Odd name" else name for name in table.column_names]
    ),
}


def test_a_source_that_changes_nothing_conforms() -> None:
    assert list(differences(expected(), sections(source_of(grid())))) == []


def test_whole_numbers_may_be_stored_as_doubles() -> None:
    """Pandas does so where one is missing; the table is another one to the ledger."""
    table = grid()
    for name in ("id", "whole", "code"):
        table = column(name, lambda cells: cells.cast(pa.float64(), safe=False))(table)
    unlike = differences(expected(), sections(source_of(table)))
    assert not [each for each in unlike if not each.startswith(HASHED)]


def source_of(table: pa.Table) -> Table:
    """Table whose source gives these rows."""
    names = tuple(table.column_names)
    scan = table.select
    lazy = LazySource("mutant", names, table.schema, lambda wanted: scan(wanted).to_batches())
    return table_of(lazy, "private")


@pytest.mark.parametrize("mutant", SOURCE_MUTANTS)
def test_a_source_that_changes_rows_is_caught(mutant: str) -> None:
    table = grid()
    changed = SOURCE_MUTANTS[mutant](table)
    assert changed.schema.names != table.schema.names or changed != table
    try:
        unlike = next(differences(expected(), sections(source_of(changed))), HASHED)
    except TableError as error:
        unlike = str(error)
    # Not by its fingerprint, which comes last: what is counted shows it.
    assert not unlike.startswith(HASHED)


# What an engine might make of SQL.
ENGINE_MUTANTS: dict[str, Callable[[str], str]] = {
    "LIKE passes over case": lambda sql: sql.replace(" LIKE ", " ILIKE "),
    "ILIKE heeds case": lambda sql: sql.replace(" ILIKE ", " LIKE "),
    "what is unknown is true": lambda sql: sql.replace(", FALSE)", ", TRUE)"),
    "NOT is the complement": lambda sql: sql.replace("COALESCE(NOT ", "NOT COALESCE("),
    "lengths are of bytes": lambda sql: sql.replace("LENGTH(", "STRLEN("),
    "bounds are open": lambda sql: sql.replace(" BETWEEN 0", " BETWEEN 1"),
    "not a number counts": lambda sql: sql.replace("isnan(", "isinf("),
    "casts are bolder": lambda sql: sql.replace(
        'TRY_CAST("value" AS DOUBLE)',
        "TRY_CAST(replace(CAST(\"value\" AS VARCHAR), ',', '') AS DOUBLE)",
    ),
    "numbers are rounded down": lambda sql: sql.replace("round(", "floor("),
}


@pytest.mark.parametrize("mutant", ENGINE_MUTANTS)
def test_an_engine_that_reads_sql_otherwise_is_caught(
    mutant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    change, selected = ENGINE_MUTANTS[mutant], ArrowSQL._selected
    changed: set[str] = set()

    def mutated(sql: ArrowSQL, table: pa.Table, expressions: list[str]) -> list[pa.ChunkedArray]:
        others = [change(each) for each in expressions]
        changed.update(set(others) - set(expressions))
        return selected(sql, table, others)

    monkeypatch.setattr(ArrowSQL, "_selected", mutated)
    assert next(differences(expected(), sections(grid())), None) is not None
    assert changed
