"""Hints on SQL that is not read: each says what to write in its place."""

import pytest

from pqd.errors import QueryError
from pqd.sql.query import Query
from pqd.sql.schema import Kind

SCHEMA = {
    "age": Kind.NUMBER,
    "income": Kind.NUMBER,
    "sex": Kind.TEXT,
    "note": Kind.TEXT,
    "active": Kind.BOOLEAN,
}
# Condition after WHERE, and the words of the hint.
CONDITIONS: dict[str, str] = {
    "income > 1.000,50": "write 1000.50",
    "income > 1,000.50": "write 1000.50",
    "income > 1,5": "write 1.5",
    "income > 1,000": "write 1000 or 1.000",
    "income > 1,000,000": "write 1000000",
    "income > 1.000.000": "write 1000000",
    "income BETWEEN 1,5 AND 2,5": "write 1.5",
    "age => 20": "write >=",
    "age =< 20": "write <=",
    "age \u2264 20": "write <=",
    "age >< 20": "write <>",
    "age > 20 && sex = 'F'": "write AND",
    "age > 20 & sex = 'F'": "write AND",
    "age > 20 und sex = 'F'": "write AND",
    "age > 20 ADN sex = 'F'": "write AND",
    "age > 20 WHERE sex = 'F'": "WHERE stands twice; write AND here",
    "age > 20, sex = 'F'": "AND or OR joins conditions, not a comma",
    "age BETWEEN 20": "such as BETWEEN 20 AND 40",
    "age BETWEEN 20, 40": "write BETWEEN 20 AND 40",
    "age BETWEEN 20 TO 40": "write BETWEEN 20 AND 40",
    "age IN 20, 30": "IN takes parentheses",
    "age > 20)": "no parenthesis is open here",
    "age > 20 # adults": "a comment begins with --",
    "note CONTAINS 'call'": "CONTAINS is not read; write LIKE, with % for any text",
    "sex = `F`": "a backtick is not read",
    "sex = F": "a value takes single quotes: 'F'",
    "sex = Nota": "a value takes single quotes: 'Nota'; the nearest is \"note\"",
    "sex IN (Nota, 'F')": "a value takes single quotes: 'Nota'",
    "nota = 'F'": 'there is no column "nota"; the nearest is "note"\n',
    "sex = 'a => b, c' AND": "something is missing here",
    "income / 12 > 100": "there is no division",
    "age % 2 = 0": "there is no division",
    "20 < age < 40": "such as 20 < age AND age < 40",
    "age = 20 OR 30": "write a whole condition",
    "active = 'ja'": "write active = TRUE or = FALSE",
    "active = 1": "write active = TRUE or = FALSE",
    "age IS 20": "else write =",
    "age > AVG(age)": "ask it as a query of its own",
    "age > (SELECT AVG(age) FROM D)": "ask it as a query of its own",
}
QUERIES = {
    **{f"SELECT COUNT(*) FROM D WHERE {condition}": hint for condition, hint in CONDITIONS.items()},
    "SELECT COUNT(*), AVG(age) FROM D": "write SELECT COUNT(*) FROM D; and SELECT AVG(age) FROM D",
    "SELECT sex, COUNT(*), AVG(age) FROM D GROUP BY sex": (
        "write SELECT sex, COUNT(*) FROM D GROUP BY sex; and SELECT sex, AVG(age) FROM D GROUP BY"
    ),
    "SELECT sex, COUNT(*) FROM D": "add GROUP BY sex, or leave it out",
    "COUNT(*) FROM D": "a query is SELECT COUNT(...) FROM D",
    "AVG(age)": "a query is SELECT AVG(...) FROM D",
    "age > 40": "SELECT COUNT(*) FROM D WHERE age > 40",
    "SELECT COUNT(*) WHERE age > 4": "no FROM D; write SELECT COUNT(*) FROM D WHERE age > 4",
    "SELECT COUNT(*) D WHERE age > 4": "no FROM D; write SELECT COUNT(*) FROM D WHERE age > 4",
    "SELECT COUNT(*) FROM D AND age > 4": "write WHERE",
    "SELECT COUNT(*) FROM D GROUP sex": "write GROUP BY",
    "SELECT COUNT DISTINCT sex FROM D": "write COUNT(DISTINCT sex)",
    "SELECT COUNT * FROM D": "write COUNT(*)",
    "SELECT DISTINCT sex FROM D": "write COUNT(DISTINCT column)",
    "SELECT * FROM D": "for the number of rows write COUNT(*)",
    "SELECT TOP 10 COUNT(*) FROM D": "leave TOP out",
    "SELECT COUNT(*) FROM D LIMIT 10": "leave LIMIT out",
    "SELECT COUNT(*) FROM D ORDER BY age": "leave ORDER BY out",
    "SELECT COUNT(*) FROM D HAVING COUNT(*) > 5": "leave HAVING out",
    "SELECT MITTELWERT(age) FROM D": "write AVG(age)",
    "SELECT ANZAHL(*) FROM D": "write COUNT(*)",
    "SELECT COUNTT(*) FROM D": "write COUNT(*)",
    "SELECT SUM(age, income) FROM D": "write a query for each column",
    "SELECT COUNT(*) FILTER (WHERE age > 20) FROM D": "write the condition after WHERE",
    "SELECT COUNTIF(age > 20) FROM D": "write the condition after WHERE",
    "SELECT STDDEV(age) FROM D": "QUANTILE(age, 0.25) and QUANTILE(age, 0.75)",
    "SELECT ROUND(AVG(age)) FROM D": "ask AVG(age) alone",
    "SELECT SUM(age) / COUNT(*) FROM D": "ask SUM(age) and COUNT(*), a query for each",
    "SELECT AVG(income / age) FROM D": "add the quotient as a column to both tables",
}


@pytest.mark.parametrize("sql", QUERIES)
def test_sql_that_is_not_read_is_told_with_what_to_write(sql: str) -> None:
    with pytest.raises(QueryError) as refused:
        Query(sql).resolve(SCHEMA)
    assert QUERIES[sql] in str(refused.value)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM D WHERE sex = '1,5 => BETWEEN 20 # `x`' AND age = 1",
        "SELECT COUNT(*) AS n FROM D d WHERE d.age == 1; -- 1,5 => 3",
        "SELECT count(distinct sex) FROM D WHERE sex != 'F' AND age <> 3",
        "SELECT COUNT(CASE WHEN age > 20 THEN 1 END) FROM D",
        "SELECT COUNT(*) FROM D WHERE sex = note",
    ],
)
def test_sql_that_is_read_has_no_hint(sql: str) -> None:
    Query(sql).resolve(SCHEMA)


def test_both_conditions_of_a_query_are_told() -> None:
    with pytest.raises(QueryError) as refused:
        Query("SELECT COUNT(*) FROM D WHERE agee > 3 AND (sex = F OR incom = 1)").resolve(SCHEMA)
    for name in ("agee", "F", "incom"):
        assert f'there is no column "{name}"' in str(refused.value)
