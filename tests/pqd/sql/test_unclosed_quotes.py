"""A quote that is not closed is told with its place."""

from pathlib import Path

import pytest

from pqd.errors import QueryError
from pqd.sql.hints import unclosed_quote
from pqd.sql.query import Query
from pqd.sql.workload_files import read_queries


@pytest.mark.parametrize(
    ("sql", "place"),
    [
        ("SELECT COUNT(*) FROM D WHERE a = 'x", 33),
        ('SELECT COUNT(*) FROM D WHERE "a = 1', 29),
        ("SELECT COUNT(*) FROM D WHERE a = 'it''s' AND b = 'x", 49),
        ("-- it's a remark\nSELECT COUNT(*) FROM D /* don't */ WHERE a = 'x'", None),
        ("SELECT COUNT(*) FROM D WHERE a = 'x;\nSELECT COUNT(*) FROM D WHERE a = 'y'", 33),
    ],
)
def test_the_first_open_quote_is_found(sql: str, place: int | None) -> None:
    assert unclosed_quote(sql) == place


def test_a_query_marks_the_quote() -> None:
    with pytest.raises(QueryError, match="this quote is not closed") as refused:
        Query("SELECT COUNT(*) FROM D WHERE a = 'x")
    assert str(refused.value).splitlines()[-1].index("^") == 2 + 33


def test_a_file_names_the_line(tmp_path: Path) -> None:
    file = tmp_path / "q.sql"
    file.write_text("-- id: a\nSELECT COUNT(*) FROM D;\nSELECT COUNT(*) FROM D WHERE a = 'x;\n")
    with pytest.raises(QueryError, match="line 3, query q2: this line has a quote that is not"):
        read_queries(file)
    # What is no file of queries may be a private table: nothing of it is told.
    file.write_text("name\nO'Brien\n")
    with pytest.raises(QueryError, match=r"is not SQL; check its quotes$"):
        read_queries(file)
