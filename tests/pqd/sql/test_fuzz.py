"""Any text is a query that runs, or is refused by a QueryError; nothing else may come out."""

from collections.abc import Callable
from typing import Any

import pandas as pd
from hypothesis import example, given
from hypothesis import strategies as st

import pqd
from pqd.errors import QueryError
from pqd.sql.schema import Kind
from tests.support.drawing import examples

SCHEMA = {
    "age": Kind.NUMBER,
    "capital-gain": Kind.NUMBER,
    "name": Kind.TEXT,
    "flag": Kind.BOOLEAN,
    "born": Kind.TIME,
}
TABLE = pd.DataFrame(
    {
        "age": [1.0, None, -3.5],
        "capital-gain": [0, 7, 99_999],
        "name": pd.Series(["a", None, "it's 100%"], dtype=object),
        "flag": pd.array([True, None, False], dtype="boolean"),
        "born": pd.Series(["2020-02-29", None, "1999-12-31"], dtype="datetime64[us]"),
    }
)
VALID = [
    "SELECT COUNT(*) FROM D WHERE age > 1 AND name LIKE 'a%'",
    "SELECT SUM(\"capital-gain\") FROM D AS t WHERE t.name NOT IN ('x', 'it''s') OR NOT flag;",
    "SELECT MEDIAN(age * 2 - 1) FROM D WHERE born BETWEEN '2020-01-01' AND DATE '2021-01-01'",
    "SELECT COUNT(name) FROM D WHERE CASE WHEN flag THEN 1 ELSE age END <> 0 -- why",
    "SELECT COUNT(DISTINCT name) FROM D WHERE COALESCE(name, '') || 'b' = LOWER(TRIM(name))",
    "SELECT QUANTILE(ABS(-age), 0.25) FROM D WHERE name ILIKE '%!%' ESCAPE '!' IS NOT NULL",
    "SELECT AVG(LENGTH(SUBSTRING(name, 1, 2))) FROM D WHERE age IS NOT DISTINCT FROM NULL",
    "SELECT COUNT(*) FROM D WHERE YEAR(born) IN (2020, 1999) /* or */ OR (flag IS TRUE) = FALSE",
]
TOKENS = [
    *("SELECT", "FROM", "WHERE", "COUNT", "SUM", "MEDIAN", "DISTINCT", "AND", "OR", "NOT", "NULL"),
    *("IN", "BETWEEN", "LIKE", "ILIKE", "ESCAPE", "IS", "CASE", "WHEN", "THEN", "ELSE", "END"),
    *("age", '"capital-gain"', "name", "flag", "born", "D", "t", "'a'", "''", "1", "-2.5", "1e999"),
    *("(", ")", ",", ".", ";", "*", "+", "-", "/", "%", "=", "<>", "<", ">=", "||", "::", "--"),
    *("[", "]", "{", "}", "?", "$1", ":x", "@", "#", "\\", "'", '"', "/*", "*/", "$$", "\0", "🦓"),
    *("DATE", "INTERVAL", "CAST", "AS", "OVER", "GROUP BY", "UNION", "LIMIT", "WITH", "VALUES"),
    *("COALESCE", "TRIM", "LENGTH", "YEAR", "SUBSTRING", "random()", "now()", "DISTINCT FROM"),
]
tokens = st.lists(st.sampled_from(TOKENS), max_size=25).map(" ".join)


@st.composite
def mutated(draw: Callable[..., Any]) -> str:
    """A valid query with pieces cut out, doubled, replaced by a token, or moved."""
    sql: str = draw(st.sampled_from(VALID))
    for _ in range(draw(st.integers(1, 4))):
        cuts = st.integers(0, len(sql))
        first, second = sorted((draw(cuts), draw(cuts)))
        piece = sql[first:second]
        replacement = draw(
            st.sampled_from(["", piece * 2, f"({piece})", piece[::-1], piece.upper()])
            | st.sampled_from(TOKENS).map(" {} ".format)
            | st.text(max_size=3)
        )
        sql = sql[:first] + replacement + sql[second:]
    return sql


texts = mutated() | tokens | tokens.map("SELECT COUNT(*) FROM D WHERE {}".format) | st.text()


@examples(500)
@given(texts)
@example("SELECT SUM(" + "- " * 400 + "age) FROM D")
@example("SELECT COUNT(*) FROM D WHERE " + "(" * 300 + "flag" + ")" * 300)
# What random runs found.
@example("SELECT FROM D")
@example("SELECT ALL FROM D GROUP BY age")
@example("CALL RING(XOR, 1, 2))) FROM D WH DATERANGE NOT DIST  ")
@example("SELECT SUM(STRUCT_EXTRACT( WITH) FROM D")
@example("SELECT COUNT(*) FROM D WHERE YEAR(born) IN J_S_O_N_OBJECT( g IS TRUE) = FALSE")
def test_text_is_a_query_or_is_refused(sql: str) -> None:
    try:
        found = pqd.Query(sql).resolve(SCHEMA)
    except QueryError as error:
        refusal = error
    else:
        assert found.columns <= set(SCHEMA)
        return
    assert str(refusal)
    if refusal.start is not None and refusal.stop is not None:
        assert 0 <= refusal.start < refusal.stop <= len(sql)


@examples(150)
@given(mutated())
@example("SELECT COUNT(*) FROM D WHERE age = 1 = flag")
@example("SELECT COUNT(*) FROM D WHERE YEAR(NULL) = 2020")
@example("SELECT SUM(YEAR(NULL)) FROM D")
@example("SELECT COUNT(*) FROM D WHERE name LIKE 'a' ESCAPE 'é'")
@example("SELECT COUNT(*) FROM D WHERE name ILIKE 'aX' ESCAPE 'x'")
def test_a_query_that_is_admitted_can_be_run(scan: Callable[..., list[Any]], sql: str) -> None:
    try:
        (found,) = scan(TABLE, TABLE, sql)
    except QueryError:
        return
    rows = found if isinstance(found, int) else len(found)
    assert 0 <= rows <= len(TABLE)
