"""A proof of disjointness is checked against DuckDB itself, on a grid of rows around the constants.

The same check must convict twins of ``region`` that claim too much.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import combinations, product
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pqd.sql import regions, value_sets
from pqd.sql.predicate import Atom, Combined, Predicate
from pqd.sql.query import Query
from pqd.sql.regions import Region, describe, region, separating
from pqd.sql.schema import Kind
from pqd.sql.value_sets import ValueSet
from tests.support.typed_sql import typed_sql

SCHEMA = {
    "age": Kind.NUMBER,
    "born": Kind.TIME,
    "Flag": Kind.BOOLEAN,
    'na"me': Kind.TEXT,
}
# As a private file would hold them; what does not convert, and NaN, is NULL.
CELLS = {
    "age": [
        *("-inf", "-5", "-5e-324", "-0.0", "0", "5e-324", "0.1", "0.3", "0.30000000000000004"),
        *("4.999999999999999", "5", "7", "inf", "nan", "many"),
    ],
    "born": [
        *("-infinity", "2021-12-31 23:59:59.999999", "2022-01-01", "2022-01-01 00:00:00.000001"),
        *("2022-01-31 13:45:00.25", "2022-02-01", "infinity", "soon"),
    ],
    "Flag": ["true", "false", "perhaps"],
    'na"me': ["", "a", "A", "a ", "ab", "a\\", "a%", "it's", "é", "e\u0301"],
}
NAME = '"na""me"'
# Conditions on one column whose meaning is known exactly, and how they are shown.
RECOGNISED = {
    "AGE = 5": '"age" = 5',
    "5 = age": '"age" = 5',
    "(age) = (5)": '"age" = 5',
    "age = -5": '"age" = -5',
    "- -5 = age": '"age" = 5',
    "age = 0.30000000000000001": '"age" = 0.3',
    "age = 1e-400": '"age" = 0',
    "age = -0.0": '"age" = -0',
    "age <> 5": '"age" <> 5',
    "age < 5": '"age" in (-inf, 5)',
    "5 > age": '"age" in (-inf, 5)',
    "age <= 5": '"age" in (-inf, 5]',
    "5 >= age": '"age" in (-inf, 5]',
    "age > -5": '"age" in (-5, inf)',
    "-5 < age": '"age" in (-5, inf)',
    "age >= 5": '"age" in [5, inf)',
    "5 <= age": '"age" in [5, inf)',
    "NOT age < 5": '"age" in [5, inf)',
    "NOT (age >= 5 OR age < 0)": '"age" in [0, 5)',
    "age BETWEEN 0 AND 5": '"age" in [0, 5]',
    "age BETWEEN 5 AND 5": '"age" = 5',
    "age BETWEEN 5 AND 0": '"age" admits no value',
    "age BETWEEN NULL AND 5": '"age" admits no value',
    "age NOT BETWEEN 0 AND 5": '"age" in (-inf, 0) or (5, inf)',
    "age NOT BETWEEN NULL AND 5": '"age" in (5, inf)',
    "age IN (5, 0, NULL)": '"age" in (0, 5)',
    "age IN (1, 2, 3, 4, 5)": '"age" in (1, 2, 3, ... (5 in all))',
    "age NOT IN (0, 5)": '"age" not in (0, 5)',
    "age NOT IN (0, NULL)": '"age" admits no value',
    "age IN (NULL)": '"age" admits no value',
    "age = NULL": '"age" admits no value',
    "age <> NULL": '"age" admits no value',
    "age IS NULL": '"age" is NULL',
    "age IS NOT NULL": '"age" is not NULL',
    "NOT (age IS NULL)": '"age" is not NULL',
    "age IS NOT DISTINCT FROM 5": '"age" = 5',
    "5 IS DISTINCT FROM age": '"age" <> 5 or NULL',
    "NOT age IS DISTINCT FROM 5": '"age" = 5',
    "age IS NOT DISTINCT FROM NULL": '"age" is NULL',
    "age IS DISTINCT FROM NULL": '"age" is not NULL',
    "age < 0 OR age = 7 OR age IS NULL": '"age" in (-inf, 0) or [7, 7] or NULL',
    "age < 5 OR age >= 5 OR age IS NULL": '"age" is anything',
    f"{NAME} = 'a'": f"{NAME} = 'a'",
    f"'it''s' = {NAME}": f"{NAME} = 'it''s'",
    f"{NAME} <> 'a'": f"{NAME} <> 'a'",
    f"{NAME} IN ('a', 'b')": f"{NAME} in ('a', 'b')",
    f"NOT {NAME} IN ('a', 'b')": f"{NAME} not in ('a', 'b')",
    f"{NAME} LIKE 'a'": f"{NAME} = 'a'",
    f"{NAME} LIKE 'a '": f"{NAME} = 'a '",
    f"{NAME} LIKE 'a\\'": f"{NAME} = 'a\\'",
    f"{NAME} LIKE ''": f"{NAME} = ''",
    f"{NAME} NOT LIKE 'a'": f"{NAME} <> 'a'",
    f"{NAME} LIKE NULL": f"{NAME} admits no value",
    f"{NAME} = 'é'": f"{NAME} = 'é'",
    f"{NAME} = '{'x' * 50}'": f"{NAME} = '{'x' * 37}...'",
    "flag": '"Flag" = TRUE',
    "NOT flag": '"Flag" = FALSE',
    "flag = FALSE": '"Flag" = FALSE',
    "flag <> TRUE": '"Flag" = FALSE',
    "TRUE = flag": '"Flag" = TRUE',
    "flag IN (TRUE, NULL)": '"Flag" = TRUE',
    "flag IS TRUE": '"Flag" = TRUE',
    "flag IS FALSE": '"Flag" = FALSE',
    "flag IS NOT TRUE": '"Flag" = FALSE or NULL',
    "flag OR NOT flag": '"Flag" is not NULL',
    "flag IS NULL": '"Flag" is NULL',
    "born = '2022-01-01'": "\"born\" = '2022-01-01'",
    "born = DATE '2022-01-01'": "\"born\" = '2022-01-01'",
    "born >= TIMESTAMP '2022-01-31 13:45:00.25'": "\"born\" in ['2022-01-31 13:45:00.250000', inf)",
    "born < '2022-01-01'": "\"born\" in (-inf, '2022-01-01')",
    "born BETWEEN '2022-01-01' AND '2022-02-01'": "\"born\" in ['2022-01-01', '2022-02-01']",
    "born IN ('2022-01-01', DATE '2022-02-01')": "\"born\" in ('2022-01-01', '2022-02-01')",
    "born IS NOT DISTINCT FROM '2022-01-01'": "\"born\" = '2022-01-01'",
}
# Conditions that are never TRUE on NULL, but whose values are not read.
PRESENT = {
    f"{NAME} LIKE 'a%'": NAME,
    f"{NAME} NOT LIKE '_'": NAME,
    f"{NAME} ILIKE 'a'": NAME,
    f"{NAME} > 'a'": NAME,
    f"{NAME} BETWEEN 'a' AND 'b'": NAME,
    "flag < TRUE": '"Flag"',
}
UNRECOGNISED = [
    f"{NAME} LIKE 'a' ESCAPE '!'",
    f"{NAME} NOT LIKE 'a!%' ESCAPE '!'",
    f"'a' LIKE {NAME}",
    f"LOWER({NAME}) = 'a'",
    f"COALESCE({NAME}, 'a') = 'a'",
    "age = age",
    "age + 0 = 5",
    "-age = 5",
    "age = 2 + 3",
    "age IN (5, age)",
    "5 IN (age)",
    "5 BETWEEN age AND 7",
    "age BETWEEN 0 AND age",
    "CASE WHEN flag THEN 5 ELSE age END = 5",
    "COALESCE(age, 5) = 5",
    "flag = (age = 5)",
    "(age = 5) IS NOT TRUE",
    "(age = 5) IS NULL",
    "YEAR(born) = 2022",
    "TRUE",
    "NULL",
    "1 = 2",
]
TOGETHER = [
    "age >= 0 AND age < 5",
    "age >= 5 AND flag",
    "age = 5 OR flag",
    "age = 5 OR age = 7 AND flag",
    "NOT (age = 5 AND flag)",
    f"age = 0 AND ({NAME} = 'a' OR {NAME} = 'A' AND NOT flag)",
    "born < '2022-01-01' OR born IS NULL",
    "age > 5 AND age < 5",
]
EVERYTHING = [*RECOGNISED, *PRESENT, *UNRECOGNISED, *TOGETHER]
Regions = Callable[[Predicate | None], Region]


@cache
def read(where: str) -> Predicate:
    predicate = Query(f"SELECT COUNT(*) FROM D WHERE {where}").resolve(SCHEMA).predicate
    assert predicate is not None
    return predicate


@cache
def database() -> duckdb.DuckDBPyConnection:
    """Every combination of the cells, typed as the engine types a private table."""
    connection = duckdb.connect(config={"threads": 1})
    columns = ", ".join(f"c{number} VARCHAR" for number in range(len(CELLS)))
    connection.execute(f"CREATE TABLE cells ({columns})")
    connection.executemany("INSERT INTO cells VALUES (?, ?, ?, ?)", list(product(*CELLS.values())))
    typed = typed_sql("cells", SCHEMA, {name: f"c{place}" for place, name in enumerate(CELLS)})
    connection.execute(f"CREATE TABLE grid AS SELECT row_number() OVER () AS row, * FROM {typed}")
    return connection


@cache
def true_of(atom: str | None) -> frozenset[int]:
    found = database().execute(f"SELECT row FROM grid WHERE {atom or 'TRUE'}").fetchall()
    return frozenset(row for (row,) in found)


def matching(predicate: Predicate) -> frozenset[int]:
    if isinstance(predicate, Atom):
        return true_of(predicate.sql)
    parts = [matching(part) for part in predicate.parts]
    return frozenset.intersection(*parts) if predicate.how == "and" else frozenset().union(*parts)


def values(column: str, rows: frozenset[int]) -> set[Any]:
    quoted = '"' + column.replace('"', '""') + '"'
    found = database().execute(
        f"SELECT DISTINCT {quoted} FROM grid WHERE row IN (SELECT unnest(?))", [list(rows)]
    )
    return {value for (value,) in found.fetchall()}


def only(value: Any) -> ValueSet:
    return ValueSet(null=True, start=False) if value is None else regions._constants_only(value)


def wrong_proofs(regions: Regions, conditions: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yield every pair that is claimed to be disjoint although one row matches both."""
    for first, second in combinations(conditions, 2):
        column = separating(regions(read(first)), regions(read(second)))
        if column is not None and matching(read(first)) & matching(read(second)):
            yield first, second, column


@pytest.mark.parametrize(("where", "shown"), RECOGNISED.items())
def test_a_recognised_condition_admits_just_what_the_engine_matches(where: str, shown: str) -> None:
    found = region(read(where))
    (column,) = found
    assert describe(column, found) == shown
    every = values(column, true_of(None))
    assert len(every) > 2
    admitted = {v for v in every if separating(found, {column: only(v)}) is None}
    assert admitted == values(column, matching(read(where)))


@pytest.mark.parametrize(("where", "column"), PRESENT.items())
def test_a_comparison_with_a_constant_excludes_null(where: str, column: str) -> None:
    found = region(read(where))
    assert [describe(name, found) for name in found] == [f"{column} is not NULL"]


@pytest.mark.parametrize("number", ["0e0", "3.5e0", "1e+300", "(-2.0e0)", "(-0.0e0)"])
@pytest.mark.parametrize("sign", ["=", "<>", "<", "<=", ">", ">=", "BETWEEN (-7.0e0) AND"])
def test_a_plain_comparison_is_read_as_its_tree_is(sign: str, number: str) -> None:
    """In parentheses it is none that is known at sight."""
    sql = f'"a ""b" {sign} {number}'
    found = region(Atom(sql))
    assert list(found) == ['a "b']
    assert found == region(Atom(f"({sql})"))


@pytest.mark.parametrize("text", ["", "a", "it''s", "%", "a_", "\\", "1.0e0", "é", "2020-01-01"])
@pytest.mark.parametrize("sign", ["=", "<>", "LIKE"])
def test_a_comparison_with_a_text_is_read_as_its_tree_is(sign: str, text: str) -> None:
    sql = f"\"x\" {sign} '{text}'"
    found = region(Atom(sql))
    assert list(found) == ["x"]
    assert found == region(Atom(f"({sql})"))


@pytest.mark.parametrize("where", UNRECOGNISED)
def test_what_is_not_recognised_restricts_nothing(where: str) -> None:
    assert region(read(where)) == {}


def test_without_a_predicate_every_row_matches() -> None:
    assert region(None) == {}
    assert describe("age", {}) == '"age" is anything'
    assert separating({}, region(read("age = 5"))) is None


def test_a_conjunction_narrows_and_a_disjunction_widens_what_every_branch_names() -> None:
    found = region(read(f"{NAME} IN ('a', 'b') AND (age = 3 OR age = 4 AND flag)"))
    assert {name: describe(name, found) for name in found} == {
        'na"me': f"{NAME} in ('a', 'b')",
        "age": '"age" in (3, 4)',
    }
    assert region(read("age = 5 OR flag")) == {}


def test_a_row_that_cannot_be_is_disjoint_from_every_row() -> None:
    assert separating(region(read("age > 5 AND age < 5")), region(None)) == "age"
    assert separating(region(None), region(read("flag AND NOT flag"))) == "Flag"


def test_the_alphabetically_first_column_is_named() -> None:
    first, second = region(read("born = '2022-01-01' AND age = 1")), region(read("age = 2"))
    assert separating(first, second) == separating(second, first) == "age"
    third = region(read("age = 2 AND born = '2022-01-02'"))
    assert separating(first, third) == "age"
    assert separating(third, region(read("age = 2 AND NOT born = '2022-01-02'"))) == "born"


GROUPS = [f"{NAME} = '{text}'" for text in ("HS", "hs", "HS ", "it''s", "%")] + [f"{NAME} IS NULL"]
BINS = [f"age >= {edge / 10} AND age < {(edge + 1) / 10}" for edge in range(-3, 6)]
MONTHS = [f"born >= '2022-0{m}-01' AND born < '2022-0{m + 1}-01'" for m in range(1, 6)]
LISTS = [f"{NAME} IN ('a', 'b')", f"'c' = {NAME}", f"{NAME} NOT IN ('a', 'b', 'c')"]
CROSSED = [f"({a}) AND {b}" for a in BINS[:4] for b in ("flag", "NOT flag", "flag IS NULL")]
CLOSED = ["age < 0", "age BETWEEN 0 AND 5", "age > 5", "age IS NULL"]


@pytest.mark.parametrize("family", [GROUPS, BINS, MONTHS, LISTS, CROSSED, CLOSED])
def test_the_parts_of_a_partition_are_pairwise_disjoint(family: list[str]) -> None:
    regions = [region(read(where)) for where in family]
    assert all(separating(*pair) for pair in combinations(regions, 2))
    assert all(separating(one, one) is None for one in regions)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("age <= 5", "age >= 5"),
        ("age = 0.0", "age = -0.0"),
        ("age = 0.3", "age = 0.29999999999999999"),
        ("age = 9007199254740993", "age = 9007199254740992"),
        ("age IS NULL", "age IS DISTINCT FROM 5"),
        ("born <= '2022-01-01'", "born >= DATE '2022-01-01'"),
        (f"{NAME} = 'a'", "age = 5"),
    ],
)
def test_what_meets_is_not_disjoint(first: str, second: str) -> None:
    assert separating(region(read(first)), region(read(second))) is None


def test_types_that_mix_on_a_column_prove_nothing() -> None:
    number, text = Atom('"x" = 5e0'), Atom("\"x\" = 'a'")
    moment, truth = Atom("\"x\" = CAST('2022-01-01' AS TIMESTAMP)"), Atom('"x"')
    for first, second in combinations((number, text, moment, truth), 2):
        assert separating(region(first), region(second)) is None
        for how in ("and", "or"):
            mixed = region(Combined(how, (first, second)))
            assert separating(mixed, region(number)) is None


def test_a_time_with_a_zone_is_not_read() -> None:
    assert region(Atom("\"x\" = CAST('2022-01-01 00:00:00+01:00' AS TIMESTAMP)")) == {}


@pytest.mark.parametrize(
    "sql", ['"x" = ', '"x" = 5 garbage', '"t"."x" = 5', "'", "(" * 3000 + '"x"' + ")" * 3000]
)
def test_text_that_cannot_be_read_again_restricts_nothing(sql: str) -> None:
    assert region(Atom(sql)) == {}


def test_long_conditions_are_read() -> None:
    assert region(read("age" + " + 1" * 120 + " = 3")) == {}
    several = region(read(" OR ".join(f"age = {number}" for number in range(2000))))
    others = region(read(" AND ".join(f"age <> {number}" for number in range(2000))))
    assert separating(several, others) == "age"
    deep = "age = 0"
    for number in range(1, 15):
        deep = f"(flag OR age = {number} AND ({deep}))"
    assert region(read(deep)) == {}


def test_a_caller_cannot_change_what_is_remembered() -> None:
    found = region(read("age = 5"))
    assert isinstance(found, dict)
    found.clear()
    assert region(read("age = 5"))


def test_no_proof_about_any_two_of_the_conditions_is_wrong() -> None:
    assert list(wrong_proofs(region, EVERYTHING)) == []


conditions = st.recursive(
    st.sampled_from(EVERYTHING)
    | st.builds(
        "{} {} {}".format,
        st.just("age"),
        st.sampled_from(["=", "<>", "<", "<=", ">", ">="]),
        st.sampled_from(["-5", "-0.0", "0", "5e-324", "0.1", "0.3", "0.30000000000000004", "5"]),
    ),
    lambda inner: (
        st.builds("({}) AND ({})".format, inner, inner)
        | st.builds("({}) OR ({})".format, inner, inner)
        | st.builds("NOT ({})".format, inner)
    ),
    max_leaves=6,
)


@settings(max_examples=200)
@given(conditions, conditions)
def test_no_row_matches_two_conditions_that_are_claimed_disjoint(first: str, second: str) -> None:
    found, rows = region(read(first)), matching(read(first))
    for column in found:
        for value in values(column, rows):
            assert separating(found, {column: only(value)}) is None
    pairs = [first, second, f"NOT ({first})", f"({first}) AND ({second})"]
    assert list(wrong_proofs(region, pairs)) == []


def changed(predicate: Predicate | None, change: Callable[[ValueSet], ValueSet]) -> Region:
    return {column: change(admitted) for column, admitted in region(predicate).items()}


def ends_open(predicate: Predicate | None) -> Region:
    """Closed ends taken as open: [a, b] as (a, b), and a constant as nothing."""

    def opened(admitted: ValueSet) -> ValueSet:
        cuts = [
            (value, (turn % 2 == 0) != admitted.start)
            for turn, (value, _) in enumerate(admitted.cuts)
        ]
        return replace(admitted, cuts=tuple(cuts) if cuts == sorted(cuts) else ())

    return changed(predicate, opened)


def null_forgotten(predicate: Predicate | None) -> Region:
    return changed(predicate, lambda admitted: replace(admitted, null=False))


def not_dropped(predicate: Predicate | None) -> Region:
    if isinstance(predicate, Atom):
        predicate = Atom(predicate.sql.removeprefix("NOT "))
    return region(predicate)


def or_as_and(predicate: Predicate | None) -> Region:
    if isinstance(predicate, Combined) and predicate.how == "or":
        predicate = Combined("and", predicate.parts)
    return region(predicate)


def or_of_any_branch(predicate: Predicate | None) -> Region:
    """A column is held to the branches that name it, though another branch leaves it free."""
    if not isinstance(predicate, Combined):
        return region(predicate)
    parts = [or_of_any_branch(part) for part in predicate.parts]
    return {
        column: value_sets.combination(
            predicate.how, [part[column] for part in parts if column in part]
        )
        for column in set().union(*parts)
    }


@pytest.mark.parametrize(
    "twin", [ends_open, null_forgotten, not_dropped, or_as_and, or_of_any_branch]
)
def test_a_twin_that_claims_too_much_is_caught(twin: Regions) -> None:
    assert next(wrong_proofs(twin, EVERYTHING), None) is not None
