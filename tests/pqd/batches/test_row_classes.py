"""Which conditions can hold together is checked against DuckDB, on values around the constants.

The same check must convict twins that know fewer combinations.
"""

import math
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import cache
from itertools import combinations as pairs
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pqd.batches import row_classes
from pqd.batches.row_classes import joint_truths
from pqd.sql.predicate import Atom, atoms
from pqd.sql.query import Query
from pqd.sql.regions import exactly
from pqd.sql.schema import Kind
from pqd.sql.value_sets import ValueSet
from tests.support.typed_sql import typed_sql

SCHEMA = {"age": Kind.NUMBER, "born": Kind.TIME, "flag": Kind.BOOLEAN, "name": Kind.TEXT}
# Constants as SQL says them; several say the same, and some are neighbours.
NUMBERS = [
    *("-5", "-0.0", "0", "0.1", "0.3", "0.30000000000000001", "0.30000000000000004", "2.5"),
    *("5", "5.0", "- -5", "7", "-7e-3", "1e300", "-1e300", "9007199254740993"),
]
TEXTS = ["", "a", "A", "a ", "ab", "it''s", "é", "e\u0301", "NULL", "zz"]
TIMES = [
    *("1990-05-05", "2022-01-01", "2022-01-01 00:00:00.000001", "2022-01-31 13:45:00.25"),
    *("2022-02-01", "2022-02-01 00:00"),
]
COMPARED = ("=", "<>", "!=", "<", "<=", ">", ">=")


def cells() -> dict[str, list[str | None]]:
    """The constants, their neighbours, what lies far out, and what is NULL or becomes it."""
    numbers = [float(text.replace("- -", "")) for text in NUMBERS]
    near = {math.nextafter(x, way) for x in numbers for way in (math.inf, -math.inf)}
    moments = [datetime.fromisoformat(text) for text in TIMES]
    ticks = {str(moment + timedelta(microseconds=k)) for moment in moments for k in (-1, 0, 1)}
    return {
        "age": [*map(repr, (*numbers, *near, 1.0, 50.0)), "inf", "-inf", "nan", "many", "", None],
        "born": [*ticks, "2022-01-15", "infinity", "-infinity", "soon", None],
        "flag": ["true", "false", "perhaps", None],
        "name": [*(text.replace("''", "'") for text in TEXTS), "b", "a\\", "a%", "other", None],
    }


@cache
def database() -> duckdb.DuckDBPyConnection:
    """A table per column, typed as the engine types a private one."""
    connection = duckdb.connect(config={"threads": 1})
    for name, values in cells().items():
        connection.execute(f"CREATE TABLE raw_{name} (c VARCHAR)")
        connection.executemany(f"INSERT INTO raw_{name} VALUES (?)", [[v] for v in values])
        typed = typed_sql(f"raw_{name}", {name: SCHEMA[name]}, {name: "c"})
        connection.execute(f"CREATE TABLE grid_{name} AS SELECT * FROM {typed}")
    return connection


def read(where: str) -> Atom:
    predicate = Query(f"SELECT COUNT(*) FROM D WHERE {where}").resolve(SCHEMA).predicate
    assert predicate is not None
    (atom,) = atoms(predicate)
    return atom


Vectors = set[tuple[bool, ...]]


def seen(column: str, conditions: Sequence[Atom]) -> Vectors:
    """Combinations that rows of the engine have; unknown counts as false."""
    shown = ", ".join(f"({atom.sql}) IS TRUE" for atom in conditions)
    return set(database().execute(f"SELECT DISTINCT {shown} FROM grid_{column}").fetchall())


def known(conditions: Sequence[Atom]) -> Vectors:
    found = joint_truths(conditions)
    assert found is not None
    assert found.dtype == np.bool_
    vectors = [tuple(map(bool, line)) for line in found]
    assert len(set(vectors)) == len(vectors)
    return set(vectors)


# Random conditions --------------------------------------------------------------------------------


def ordered(column: str, constants: Sequence[str]) -> st.SearchStrategy[str]:
    one = st.sampled_from(constants)
    within = st.sampled_from(("BETWEEN", "NOT BETWEEN"))
    return st.one_of(
        st.builds(lambda how, c: f"{column} {how} {c}", st.sampled_from(COMPARED), one),
        st.builds(lambda how, c: f"{c} {how} {column}", st.sampled_from(COMPARED), one),
        st.builds(lambda how, a, b: f"{column} {how} {a} AND {b}", within, one, one),
        equal(column, constants),
    )


def equal(column: str, constants: Sequence[str]) -> st.SearchStrategy[str]:
    """Conditions that ask whether a column is this or that."""
    one, some = st.sampled_from(constants), st.sampled_from([*constants, "NULL"])
    within = st.sampled_from(("IN", "NOT IN"))
    several = st.lists(some, min_size=1, max_size=4)
    distinct = st.sampled_from(("IS DISTINCT FROM", "IS NOT DISTINCT FROM"))
    plain = st.one_of(
        st.builds(lambda how, c: f"{column} {how} {c}", st.sampled_from(COMPARED[:3]), one),
        st.builds(lambda how, c: f"{c} {how} {column}", st.sampled_from(COMPARED[:3]), one),
        st.builds(lambda how, cs: f"{column} {how} ({', '.join(cs)})", within, several),
        st.builds(lambda how, c: f"{column} {how} {c}", distinct, some),
        st.sampled_from((f"{column} IS NULL", f"{column} IS NOT NULL", f"{column} = NULL")),
    )
    return st.one_of(plain, plain.map(lambda where: f"NOT ({where})"))


QUOTED = {"name": [f"'{text}'" for text in TEXTS], "born": [f"'{text}'" for text in TIMES]}
FLAGS = [
    "flag",
    "NOT flag",
    "flag IS TRUE",
    "flag IS NOT TRUE",
    "flag IS FALSE",
    "NOT flag IS TRUE",
]
CONDITIONS: dict[str, st.SearchStrategy[str]] = {
    "age": ordered("age", NUMBERS),
    "born": ordered("born", QUOTED["born"]),
    "flag": st.one_of(equal("flag", ["TRUE", "FALSE"]), st.sampled_from(FLAGS)),
    "name": st.one_of(
        equal("name", QUOTED["name"]),
        st.builds(
            lambda how, c: f"name {how} {c}",
            st.sampled_from(("LIKE", "NOT LIKE")),
            st.sampled_from(QUOTED["name"]),
        ),
    ),
}


@pytest.mark.parametrize("column", SCHEMA)
@settings(max_examples=80)
@given(data=st.data())
def test_no_row_has_a_combination_that_is_not_known(column: str, data: st.DataObject) -> None:
    wheres = data.draw(st.lists(CONDITIONS[column], min_size=1, max_size=6))
    conditions = list(dict.fromkeys(map(read, wheres)))
    assert seen(column, conditions) <= known(conditions)


APART = {
    "age": ["-5", "0", "0.1", "2.5", "5", "5.0", "7", "1e300"],
    "born": ["'1990-05-05'", "'2022-01-01'", "'2022-02-01'"],
    "name": QUOTED["name"],
}


@pytest.mark.parametrize("column", APART)
@settings(max_examples=30)
@given(data=st.data())
def test_every_combination_that_is_known_has_a_row(column: str, data: st.DataObject) -> None:
    """Where no two constants are neighbours: then something lies between any two."""
    make = equal if column == "name" else ordered
    wheres = data.draw(st.lists(make(column, APART[column]), min_size=1, max_size=5))
    conditions = list(dict.fromkeys(map(read, wheres)))
    assert known(conditions) == seen(column, conditions)


@pytest.mark.parametrize("column", ["age", "born"])
@settings(max_examples=30)
@given(data=st.data())
def test_combinations_come_in_the_order_of_the_values(column: str, data: st.DataObject) -> None:
    wheres = data.draw(st.lists(ordered(column, APART[column]), min_size=1, max_size=5))
    conditions = list(dict.fromkeys(map(read, wheres)))
    found = joint_truths(conditions)
    assert found is not None
    shown = ", ".join(f"({atom.sql}) IS TRUE" for atom in conditions)
    sql = f"SELECT {shown} FROM grid_{column} ORDER BY {column} NULLS LAST"
    rows = database().execute(sql).fetchall()
    assert [tuple(map(bool, line)) for line in found] == list(dict.fromkeys(rows))


def test_constants_that_are_one_value_hold_together() -> None:
    ones = [read(f"age = {text}") for text in ("0.3", "0.30000000000000001", "- -5", "5", "5.0")]
    zeros = [read("age >= 0"), read("age = -0.0"), read("age <= 0")]
    assert known(ones) == {(True, True, False, False, False), (False, False, True, True, True)} | {
        (False,) * 5
    }
    assert known(zeros) == {(True, False, False), (True, True, True), (False, False, True)} | {
        (False,) * 3
    }


def test_many_constants_make_few_combinations() -> None:
    found = joint_truths([read(f"age > {number}") for number in range(300)])
    assert found is not None
    assert found.shape == (301, 300)
    assert sorted(found.sum(axis=1).tolist()) == list(range(301))


# What is not known --------------------------------------------------------------------------------

UNKNOWN = [
    "name LIKE 'a%'",
    "name NOT LIKE '_'",
    "name ILIKE 'a'",
    "name < 'a'",
    "name BETWEEN 'a' AND 'b'",
    "flag < TRUE",
    "age = 2 + 3",
    "age + 1 = 5",
    "ABS(age) = 5",
    "-age = 5",
    "age = age",
    "age IN (5, age)",
    "LOWER(name) = 'a'",
    "'a' LIKE name",
    "YEAR(born) = 2022",
    "(age = 5) IS NOT TRUE",
    "flag = (age = 5)",
    "1 = 1",
    "TRUE",
]


@pytest.mark.parametrize("where", UNKNOWN)
def test_what_is_no_comparison_with_a_constant_is_not_known(where: str) -> None:
    for condition in (where, f"NOT ({where})"):
        assert joint_truths([read(condition)]) is None
        assert joint_truths([read("age = 5"), read(condition)]) is None
        assert joint_truths([read(condition), read("name = 'a'")]) is None


def test_conditions_on_two_columns_are_not_known_together() -> None:
    several = [read(where) for where in ("age = 5", "name = 'a'", "flag", "born = '2022-01-01'")]
    for first, second in pairs(several, 2):
        assert joint_truths([first]) is not None
        assert joint_truths([first, second]) is None


def test_constants_of_two_types_are_not_known_together() -> None:
    number, text, moment = Atom('"x" = 5e0'), Atom("\"x\" = 'a'"), Atom('"x" IS TRUE')
    for first, second in pairs((number, text, moment), 2):
        assert joint_truths([first, second]) is None
    # NULL is of every type.
    for one in (number, text, moment):
        assert known([one, Atom('"x" IS NULL')]) == {(True, False), (False, True), (False, False)}


# Wrong programs -----------------------------------------------------------------------------------

Reader = Callable[[Atom], tuple[str, ValueSet] | None]


def twin(change: Callable[[ValueSet], ValueSet]) -> Reader:
    def wrong(atom: Atom) -> tuple[str, ValueSet] | None:
        found = exactly(atom)
        return found and (found[0], change(found[1]))

    return wrong


TWINS: dict[str, Reader] = {
    "NULL meets what it does not": twin(lambda v: ValueSet(not v.null, v.start, v.cuts)),
    "ends are outside": twin(
        lambda v: ValueSet(v.null, v.start, tuple(dict.fromkeys((c, False) for c, _ in v.cuts)))
    ),
    "complements": twin(lambda v: ValueSet(v.null, not v.start, v.cuts)),
    "the first cut alone": twin(lambda v: ValueSet(v.null, v.start, v.cuts[:1])),
}
TOLD_APART: dict[str, list[str]] = {
    "age": ["age <= 5", "age >= 5", "age > 7", "age IS NULL", "age IN (0, 2.5)"],
    "name": ["name = 'a'", "name NOT IN ('a', 'ab')", "name IS NOT NULL"],
}


@pytest.mark.parametrize("column", TOLD_APART)
@pytest.mark.parametrize("name", TWINS)
def test_wrong_readings_are_caught(name: str, column: str, monkeypatch: pytest.MonkeyPatch) -> None:
    conditions = [read(where) for where in TOLD_APART[column]]
    assert seen(column, conditions) <= known(conditions)
    monkeypatch.setattr(row_classes, "exactly", TWINS[name])
    assert not seen(column, conditions) <= known(conditions)


def test_the_values_of_the_check_are_those_of_a_private_table() -> None:
    """Text that is no number, and NaN, are NULL; else these tests would be about less."""
    for name, column in cells().items():
        found: list[tuple[Any]] = database().execute(f"SELECT {name} FROM grid_{name}").fetchall()
        assert len(found) == len(column)
        nulls = {"age": 4, "born": 2, "flag": 2, "name": 1}[name]
        assert sum(value is None for (value,) in found) == nulls
