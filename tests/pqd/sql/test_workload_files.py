"""Workloads: files of queries, lists of queries, their ids."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pqd
from pqd.engine.tables import open_table
from pqd.errors import NothingSelectedError, QueryError
from pqd.sql import workload_files
from pqd.sql.workload_files import as_queries, read_queries
from tests.support.drawing import examples

COUNT = "SELECT COUNT(*) FROM D"


def written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


SQL = """-- A workload; of three queries.

-- id: first
SELECT COUNT(*) FROM D WHERE name = 'a;b' AND age > 1; -- id: not-this-one
/* ; a comment */
-- id: wrong
--id:second
SELECT SUM(age)
FROM D -- in the middle; of it
WHERE name <> '--' ;;
;
SELECT COUNT(*) FROM D WHERE name = 'it''s; done' OR name = ';'
"""


def test_statements_end_at_semicolons_outside_of_text_and_comments(tmp_path: Path) -> None:
    found = read_queries(written(tmp_path / "w.sql", SQL))
    assert [query.where for query in found] == [
        "name = 'a;b' AND age > 1",
        "name <> '--'",
        "name = 'it''s; done' OR name = ';'",
    ]
    assert [query.aggregate for query in found] == ["COUNT", "SUM", "COUNT"]
    assert [query.id for query in as_queries(found)] == ["first", "second", "q1"]


@pytest.mark.parametrize(
    "text", [f"{COUNT}", f"{COUNT};", f"\ufeff-- id: q1\n{COUNT}\n;\n\n", f"\r\n{COUNT};\r\n"]
)
def test_one_statement_however_it_ends(text: str, tmp_path: Path) -> None:
    (query,) = as_queries(read_queries(written(tmp_path / "w.sql", text)))
    assert query == pqd.Query(COUNT, "q1")


@pytest.mark.parametrize("text", ["", "\n", ";;;", "-- nothing\n", "/* nothing */"])
def test_a_file_without_statements_selects_nothing(text: str, tmp_path: Path) -> None:
    assert read_queries(written(tmp_path / "w.sql", text)) == ()
    with pytest.raises(NothingSelectedError, match="no query"):
        as_queries(read_queries(tmp_path / "w.sql"))


LIST = """id,aggregate,attribute,where_sql
a,COUNT,*,age > 1
b,SUM,capital-gain,"name = 'x, y' AND ""capital-gain"" > 0"
c,MEDIAN,age,
,count,,
"""


PIECES = ["SELECT 1 FROM D", "a", "'b;'", "'it''s'", '"c;"', '"d""e"', ";", ";", " ", "\n", "\r"]
PIECES += ["-- id: x\n", "--;\r", "-- end", "- -", "/* ; */", "/*", "E'\\'", "'", '"', "$$;$$", "é"]
PIECES += ["{", "1.", ".5", "(", "::", "\xa0", "\0"]


@examples(400)
@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_statements_are_those_of_the_parser(text: str) -> None:
    def found() -> list[tuple[str | None, str]] | str:
        try:
            return list(workload_files._statements(text, Path("queries.sql")))
        except QueryError as error:
            return str(error)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workload_files, "tokens", lambda _: None)
        expected = found()
    assert found() == expected


def test_a_list_of_queries(tmp_path: Path) -> None:
    found = as_queries(read_queries(written(tmp_path / "w.csv", LIST)))
    assert [(q.id, q.aggregate, q.attribute, q.where) for q in found] == [
        ("a", "COUNT", None, "age > 1"),
        ("b", "SUM", '"capital-gain"', "name = 'x, y' AND \"capital-gain\" > 0"),
        ("c", "MEDIAN", "age", None),
        ("q1", "COUNT", None, None),
    ]


def test_more_columns_of_a_list_are_passed_over(tmp_path: Path) -> None:
    text = "gap,where_sql,aggregate\n7,age > 1,COUNT\n"
    (query,) = read_queries(written(tmp_path / "w.CSV", text))
    assert (query.aggregate, query.where) == ("COUNT", "age > 1")


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("w.csv", "id,aggregate\na,COUNT\n", "columns id, aggregate, attribute, where_sql"),
        ("w.csv", "", "columns id, aggregate, attribute, where_sql"),
        ("w.csv", "id,aggregate,where_sql\nme,MAX,\n", "query me"),
        ("w.csv", "aggregate,where_sql\nCOUNT\nCOUNT,age >\n", "query q2"),
        ("w.csv", "aggregate,where_sql\n,\n", "no aggregate"),
        ("w.sql", f"-- id: mine\n{COUNT} LIMIT 1;", "query mine"),
        ("w.sql", f"{COUNT}; SELECT 'open", "quotes"),
        ("w.sql", f"{COUNT};\nSELECT nonsense FROM D;", "query q2"),
        ("w.sql", b"\xff\xfe\0", "cannot be read as text"),
    ],
)
def test_a_bad_file_is_refused_with_the_place(
    name: str, text: str | bytes, words: str, tmp_path: Path
) -> None:
    with pytest.raises(QueryError, match=words):
        read_queries(written(tmp_path / name, text))


def test_a_file_that_is_not_there_or_no_file(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere.sql", tmp_path):
        with pytest.raises(QueryError, match="cannot be read"):
            read_queries(path)


def test_a_refused_query_of_a_file_is_marked(tmp_path: Path) -> None:
    path = written(tmp_path / "w.sql", f"{COUNT};\n-- id: two\nSELECT COUNT(*)\nFROM D LIMIT 7;")
    with pytest.raises(QueryError) as caught:
        read_queries(path)
    shown, carets = str(caught.value).splitlines()[-2:]
    assert shown[carets.index("^") :] == "7"


def test_queries_without_a_name_are_numbered() -> None:
    found = as_queries([COUNT, pqd.Query(COUNT, "mine"), pqd.Query(COUNT)])
    assert [query.id for query in found] == ["q1", "mine", "q2"]
    assert as_queries(COUNT)[0].id == "q1"
    assert as_queries(pqd.Query(COUNT, "x"))[0].id == "x"
    assert [query.id for query in as_queries(iter([COUNT, COUNT]))] == ["q1", "q2"]


def test_a_number_that_is_a_name_is_not_given_twice() -> None:
    found = as_queries([COUNT, pqd.Query(COUNT, "q1"), COUNT, pqd.Query(COUNT, "q3")])
    assert [query.id for query in found] == ["q2", "q1", "q4", "q3"]


def test_two_queries_of_one_id_are_refused() -> None:
    with pytest.raises(QueryError, match="the id a, b;"):
        as_queries([pqd.Query(COUNT, name) for name in ("a", "b", "a", "b", "c")])


@pytest.mark.parametrize("queries", [[3], [None], [b"SELECT 1"]])
def test_what_is_no_query_is_refused(queries: list[object]) -> None:
    with pytest.raises(QueryError, match="query 1 is a"):
        as_queries(queries)  # type: ignore[arg-type]


@pytest.mark.parametrize("queries", [[], (), iter(())])
def test_no_queries(queries: list[str]) -> None:
    with pytest.raises(NothingSelectedError) as caught:
        as_queries(queries)
    assert caught.value.exit_code == 5


# A private table given as a file of queries ------------------------------------------------------

CANARY = "zebra-canary"
ROWS = f"name,age\n{CANARY},30\n{CANARY} -- id: {CANARY},31\n"
PRIVATE: dict[str, str] = {
    "t.tsv": ROWS.replace(",", "\t"),
    "t.txt": f"SELECT COUNT(*) FROM D WHERE {CANARY};",
    "t": ROWS,
    "t.csv": ROWS,
    "t.sql": ROWS,
    "keyword.sql": f"select,name\n1,{CANARY}\n",
    "named.sql": f"-- id: {CANARY}\n{CANARY},1\n",
    "quotes.sql": f"name\n'{CANARY}\n",
    "dump.sql": f"{COUNT};\nINSERT INTO people VALUES ('{CANARY}');\n",
    "dump-first.sql": f"SELECT set_config('{CANARY}');\n{COUNT} WHERE {CANARY};",
    "headless.csv": f"{CANARY},COUNT,*,age > 1\n",
    "quotes.csv": f'name,age\n"{CANARY},3\n',
}


@pytest.mark.parametrize("name", PRIVATE)
def test_nothing_is_quoted_of_a_file_that_is_none_of_queries(name: str, tmp_path: Path) -> None:
    with pytest.raises(QueryError) as caught:
        read_queries(written(tmp_path / name, PRIVATE[name]))
    assert CANARY not in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("name", ["link.sql", "link.csv", "link"])
def test_a_link_is_what_it_leads_to(name: str, tmp_path: Path) -> None:
    """The name that is given says nothing: it may lead to any file of the machine."""
    link = tmp_path / name
    for target in ("/proc/self/environ", written(tmp_path / "t.txt", f"{COUNT};"), tmp_path):
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        with pytest.raises(QueryError, match=r"must be, or link to, a file whose name ends in"):
            read_queries(link)
    link.unlink()
    link.symlink_to(written(tmp_path / "w.sql", COUNT))
    assert read_queries(link)[0].sql == COUNT


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "w.sql")
    with pytest.raises(QueryError, match="must be, or link to"):
        read_queries(tmp_path / "w.sql")


def test_a_path_that_no_system_can_follow() -> None:
    with pytest.raises(QueryError, match="cannot be read"):
        read_queries("\0.sql")


def test_a_table_of_the_run_is_no_file_of_queries(tmp_path: Path) -> None:
    """Whatever it holds, and whatever it is called: a log of queries may be private too."""
    table = written(tmp_path / "t.csv", f"id,aggregate,attribute,where_sql\n1,COUNT,*,{CANARY} >\n")
    (tmp_path / "link.csv").symlink_to(table)
    os.link(table, tmp_path / "other.csv")
    opened = open_table(table, "private")
    for name in ("t.csv", "link.csv", "other.csv"):
        for tables in ([str(table)], ["nowhere.csv", table], [object(), opened]):
            with pytest.raises(QueryError, match="is a table of this run") as caught:
                read_queries(tmp_path / name, tables)
            assert CANARY not in str(caught.value)


def test_no_queries_at_all_are_called_so() -> None:
    with pytest.raises(QueryError, match=r"the queries are a NoneType; give SQL, a pqd\.Query"):
        as_queries(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("w.sql", "SELECT COUNT(*) FROM D; DROP TABLE D"),
        ("w.sql", "SELECT COUNT(*) FROM D WHERE s = 'a"),
        ("w.csv", "name,diagnosis\n"),
    ],
)
def test_a_refused_file_is_named(name: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(QueryError, match=rf"the query file \S*{name} "):
        read_queries(written(tmp_path / name, text))


def test_a_text_in_double_quotes_is_told_apart(tmp_path: Path) -> None:
    """Near a column's name or not: many write texts so."""
    copy = written(tmp_path / "copy.csv", "sex,relate\nFemale,Spouse\n")
    for text in ("Female", "Relates"):
        with pytest.raises(QueryError, match=f"a value takes single quotes: '{text}'"):
            pqd.plan(copy, f'SELECT COUNT(*) FROM D WHERE sex = "{text}"', tau=5)
