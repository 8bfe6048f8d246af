"""Shapes: a query read by its shapes is the query read as a whole, errors and places too."""

from dataclasses import fields

import pytest
import sqlglot
from hypothesis import example, given
from hypothesis import strategies as st

from pqd.errors import QueryError
from pqd.sql import query as module
from pqd.sql.query import Query
from pqd.sql.schema import Kind
from pqd.sql.shapes import condition_tree, tokens
from tests.support.drawing import examples

SCHEMA = {
    "age": Kind.NUMBER,
    "capital-gain": Kind.NUMBER,
    "name": Kind.TEXT,
    "flag": Kind.BOOLEAN,
    "born": Kind.TIME,
}
NUMBERS = ["0", "1", "007", "2.50", "1e3", "1E-2", "9e999", "-4", "- 4", "738150294000", ".5", "5."]
TEXTS = ["''", "'a'", "'O''Brien'", "'a%'", "'é'", "'--'", "'/*'", "';'", "'\n'", "'\ue0000\ue001'"]
TEXTS += ["'AND'", "'2020-01-01'", "'\\'", "'$$'", "E'a'", "'a' 'b'", "'\ud800'", "'(' "]
COLUMNS = ["age", "Age", '"capital-gain"', "D.age", "d.name", "name", "flag", "born", "x.age", "no"]
OPERATORS = ["=", "<>", "!=", "<", "<=", ">", ">=", "LIKE", "NOT LIKE", "ILIKE", "IS"]
OPERATORS += ["IS DISTINCT FROM", "IS NOT DISTINCT FROM", "+"]
HEADS = ["COUNT(*)", "count(age)", "COUNT(DISTINCT name)", "SUM(age)", "SUM(age + 738150294000)"]
HEADS += ["QUANTILE(age, 0.9)", "MEDIAN(name)", "COUNT(*) AS n", "name, COUNT(*)", "AVG(no)"]

literals = st.sampled_from(NUMBERS + TEXTS) | st.sampled_from(["0", "1", "'a'"])
columns = st.sampled_from(COLUMNS) | st.sampled_from(["age", "name"])
operands = st.one_of(
    columns,
    literals,
    st.builds("ABS({} - {})".format, columns, literals),
    st.builds("SUBSTRING({}, 1, 2)".format, columns),
    st.builds("CASE WHEN {} = {} AND flag THEN {} ELSE {} END".format, *[columns, *[literals] * 3]),
)
conditions = st.one_of(
    st.builds("{} {} {}".format, columns, st.sampled_from(OPERATORS), literals),
    st.builds("{} {} {}".format, operands, st.sampled_from(OPERATORS), operands),
    st.builds("{} BETWEEN {} AND {}".format, operands, literals, literals),
    st.builds("{} NOT BETWEEN {} and {}".format, columns, literals, literals),
    st.builds("{} IN ({}, {})".format, columns, literals, literals),
    st.builds("{} NOT IN ({})".format, columns, literals),
    st.builds("{} IS NULL".format, columns),
    st.builds("{} LIKE {} ESCAPE '!'".format, columns, literals),
    st.builds("{} = DATE {}".format, columns, literals),
    st.sampled_from(
        ["flag", "NOT flag", "TRUE", "NULL", "age", "", "(flag", "flag)", "/* a */ flag"]
    ),
)
numbers, texts = st.sampled_from(NUMBERS[:10]), st.sampled_from(TEXTS[:12])
numeric = st.sampled_from(["age", "Age", '"capital-gain"', "D.age"])
proper = st.one_of(
    st.builds("{} {} {}".format, numeric, st.sampled_from(OPERATORS[:7]), numbers),
    st.builds("{} BETWEEN {} AND {}".format, numeric, numbers, numbers),
    st.builds("({} < {} OR {} = ABS({}))".format, numeric, numbers, numbers, numeric),
    st.builds("name {} {}".format, st.sampled_from(OPERATORS[:10]), texts),
    st.builds("NOT name IN ({}, {})".format, texts, texts),
    st.builds("({} OR {} AND {})".format, *[st.sampled_from(["age = 1", "age = 2", "flag"])] * 3),
)
joins = st.sampled_from([" AND ", " and\n", " OR ", " AND NOT ", " AND(", ") AND ", "\tAND ("])
nested = st.recursive(
    conditions,
    lambda inner: st.one_of(
        st.builds("({} OR {})".format, inner, inner),
        st.builds("({} AND {})".format, inner, inner),
        st.builds("NOT ({})".format, inner),
    ),
    max_leaves=3,
)
wheres = st.builds("{}{}{}{}{}".format, *[nested, joins, nested, joins, nested]) | nested
wheres |= st.lists(proper, min_size=1, max_size=4).map(" AND ".join)
tails = st.sampled_from([*[""] * 9, " ", ";", " -- id", " GROUP BY name", " LIMIT 5"])
queries = st.builds(
    "SELECT {} FROM {} WHERE {}{}".format,
    st.sampled_from(HEADS[:4]) | st.sampled_from(HEADS),
    st.sampled_from(["D", "D", "D AS d", "'D'", "d GROUP BY name"]),
    wheres,
    tails,
)


def read(sql: str) -> list[object]:
    """All that a query says, or its error with the place."""
    found: list[object] = []
    try:
        query = Query(sql)
        found = [getattr(query, f.name) for f in fields(Query) if f.compare]
        found += [query.mentioned, query.tables, query.resolve(SCHEMA)]
    except QueryError as error:
        found.append(error.args)
    return found


def whole(sql: str) -> list[object]:
    """What ``read`` gives where no query is a conjunction."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "conjunction", lambda _: None)
        return read(sql)


@examples(400)
@given(queries)
@example("SELECT COUNT(*) FROM D WHERE (age = 1 OR age = 1) AND age = 1")
@example("SELECT COUNT(*) FROM D WHERE (flag AND age = 1 OR flag AND age = 1.0) AND name = 'a'")
@example("SELECT COUNT(*) FROM D WHERE age = 738150294000 AND name = '\ue0000\ue001'")
@example('SELECT COUNT(*) FROM D WHERE "738150294000" = 5')
@example("SELECT COUNT(*) FROM D WHERE born > '2020-01-01' AND age = 1")
def test_a_query_read_by_its_conditions_is_the_query_read_as_a_whole(sql: str) -> None:
    assert read(sql) == whole(sql)


PIECES = [*NUMBERS, *TEXTS, *COLUMNS, *OPERATORS, "AND", "OR", "NOT", "(", ")", "BETWEEN", "IN"]
PIECES += [
    "CASE WHEN",
    "THEN",
    "END",
    ",",
    "--",
    "/*",
    "*/",
    "$1",
    "?",
    "::",
    "[",
    "]",
    "->",
    "WHERE",
]


@examples(200)
@given(st.lists(st.sampled_from(PIECES), max_size=9))
def test_pieces_in_any_order_are_read_as_a_whole_reads_them(pieces: list[str]) -> None:
    sql = f"SELECT COUNT(*) FROM D WHERE {' '.join(pieces)}"
    assert read(sql) == whole(sql)


def test_each_shape_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    Query("SELECT SUM(age) FROM D WHERE age < 5 AND name = 'a' AND age > 2")
    monkeypatch.setattr("pqd.sql.select.sqlglot.parse", None)
    query = Query("SELECT SUM(age) FROM D WHERE age < 6.5 AND name = 'b' AND name = 'c'")
    assert query.where == "age < 6.5 AND name = 'b' AND name = 'c'"
    assert query.mentioned == {"age", "name"}


WRITTEN = ["0.0e0", "6.9e1", "1e+16", "'a'", "'O''Brien'", "''", "'%'", "738150294001.0e0"]
written = st.sampled_from(WRITTEN)
atoms = st.one_of(
    st.builds('("age" >= {})'.format, written),
    st.builds('(NOT ("age" BETWEEN {} AND (-{})))'.format, written, written),
    st.builds('("name" IN ({}, {}, {}))'.format, written, written, written),
    st.builds('("born" < CAST({} AS TIMESTAMP))'.format, written),
    st.builds('(SUBSTRING("name", 1, 2) = {})'.format, written),
    st.builds('("na""me" LIKE {} ESCAPE \'!\')'.format, written),
)


@examples(200)
@given(atoms)
@example('"738150294000" = 5')
@example("a = 'half' 'done'")
@example("TRUE")
def test_a_tree_made_from_a_shape_is_that_of_the_text(sql: str) -> None:
    assert condition_tree(sql) == sqlglot.condition(sql, dialect="duckdb")


def test_trees_of_one_shape_are_several() -> None:
    first, second = condition_tree('("age" >= 1.0e0)'), condition_tree('("age" >= 2.0e0)')
    assert "1.0" in first.sql()
    assert "2.0" in second.sql()


def test_what_is_not_plain_has_no_tokens() -> None:
    unusual = ["a ? b", "/* a */ b", "E'a'", "'a''", "'a'b", "5a", ".5", "5.", "1_000", "$1", "é"]
    assert [tokens(sql) for sql in [*unusual, "'\ud800'"]] == [None] * 12
