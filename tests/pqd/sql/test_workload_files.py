"""Workloads: files of queries, lists of queries, their ids."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pqd
from pqd.engine.tables import open_table
from pqd.errors import NothingSelectedError, ParameterError, QueryError
from pqd.sql import file_statements
from pqd.sql.file_statements import Statement
from pqd.sql.query import Query
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
PIECES += ["-- tau: 5%\n", "SELECT"]
PIECES += ["{", "1.", ".5", "(", "::", "\xa0", "\0"]


@examples(400)
@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_statements_are_those_of_the_parser(text: str) -> None:
    def found() -> list[Statement] | str:
        try:
            closed, quotes = file_statements._closed(text, Path("queries.sql"))
        except QueryError as error:
            return str(error)
        reader = file_statements._SqlReader(closed, quotes)
        reader.split(file_statements._tokens(closed) or ())
        return reader.statements

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_statements, "tokens", lambda _: None)
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
        (
            "w.csv",
            "id,aggregate\na,COUNT\n",
            "columns id, sql or id, aggregate, attribute, where_sql",
        ),
        ("w.csv", "sql,wieght\nSELECT COUNT(*) FROM D,3\n", "did you mean weight"),
        ("w.csv", "aggregate,where_sql,atribute\nSUM,,age\n", "did you mean attribute"),
        ("w.csv", "", "columns id, sql or id, aggregate, attribute, where_sql"),
        ("w.csv", "id,aggregate,where_sql\nme,MAX,\n", "query me"),
        ("w.csv", "aggregate,where_sql\nCOUNT\nCOUNT,age >\n", "query q2"),
        ("w.csv", "aggregate,where_sql\n,\n", "no aggregate"),
        ("w.sql", f"-- id: mine\n{COUNT} LIMIT 1;", "query mine"),
        ("w.sql", f"{COUNT}; SELECT 'open", "line 1, query q2: this line has a quote"),
        ("w.sql", f"{COUNT};\nSELECT nonsense FROM D;", "query q2"),
        ("w.sql", b"\xff\xfe\0", "is not text in UTF-8"),
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
    "list.csv": f"id,sql\n1,{CANARY}\n",
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
        paths: list[list[str | Path]] = [[str(table)], ["nowhere.csv", table], [*opened.files]]
        for tables in paths:
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


def test_typographic_quotes_are_named(tmp_path: Path) -> None:
    copy = written(tmp_path / "copy.csv", "heating\noil\ngas\n")
    for text in ("\u2018oil\u2019", "\u201coil\u201d"):
        with pytest.raises(QueryError, match=r"typographic quotes; .* straight ones: 'oil'"):
            pqd.plan(copy, f"SELECT COUNT(*) FROM D WHERE heating = {text}", tau=5)


# Tolerances and bins beside a query -----------------------------------------------------------

STATED = """-- id: total
-- tau: 1%
SELECT COUNT(*) FROM D;
-- TAU:  30
-- bins: age=0:100:50
--id: ages
SELECT COUNT(*) FROM D;
SELECT SUM(age) FROM D;
"""
STATED_LIST = """id,SQL, tau ,bins
total,SELECT COUNT(*) FROM D,1%,
ages,SELECT COUNT(*) FROM D;,30,age=0:100:50
,SELECT SUM(age) FROM D,,
"""
STATED_PARTS = """id,aggregate,attribute,where_sql,tau,bins
total,COUNT,*,,1%,
ages,COUNT,,,30,age=0:100:50
,SUM,age,
"""


@pytest.mark.parametrize(
    ("name", "text"), [("w.sql", STATED), ("w.csv", STATED_LIST), ("parts.csv", STATED_PARTS)]
)
def test_tolerances_and_bins_are_read_beside_a_query(name: str, text: str, tmp_path: Path) -> None:
    found = read_queries(written(tmp_path / name, text))
    assert [query.tau for query in found] == ["1%", "30", None]
    asked = as_queries(found)
    assert [(query.id, query.tau, query.bins) for query in asked] == [
        ("total", "1%", None),
        ("ages[age in [0, 50)]", "30", None),
        ("ages[age in [50, 100]]", "30", None),
        ("q1", None, None),
    ]


def test_bins_of_the_run_are_those_of_queries_that_state_none() -> None:
    queries: list[str | pqd.Query] = [COUNT, pqd.Query(COUNT, "own", bins="age=0:20:20")]
    asked = as_queries(queries, "age=0:100:50")
    assert [query.id for query in asked] == [
        "q1[age in [0, 50)]",
        "q1[age in [50, 100]]",
        "own[age in [0, 20]]",
    ]


def test_a_tolerance_of_a_query_is_checked_where_it_is_stated() -> None:
    with pytest.raises(ParameterError, match="tau"):
        pqd.Query(COUNT, tau="much")


MISTAKES = """-- id: total
-- tau: five
SELECT COUNT(*) FROM D;
-- id: women
SELECT COUNT(*) FROM D WHERE sex = 'Female'
-- id: ages
SELECT COUNT(*) FROM D;
-- id: total
SELECT COUNT(*) FROM D
-- tau: 3%
WHERE age > 3; -- tau: 9%
-- bins: age=0:100:3
-- tau:
SELECT MAX(x) FROM D;
-- tau: 2%
-- tau: 3%
-- bins: age=0:10:5
SELECT COUNT(*) FROM D GROUP BY sex;
-- tau: 3%
"""


def test_all_mistakes_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(QueryError) as caught:
        read_queries(written(tmp_path / "w.sql", MISTAKES))
    text = str(caught.value)
    for words in (
        "w.sql, line 3, query total: tau is 'five'",
        "w.sql, line 5, query women: a second SELECT begins before this statement has ended",
        "statements end in ;",
        "w.sql, line 10, query total: '-- tau: ...' stands inside a statement",
        "w.sql, line 9, query total: line 3 has that id; ids must differ",
        "w.sql, line 11, query q5: '-- tau: ...' stands after a statement",
        "w.sql, line 13, query q5: tau is empty; write -- tau: 5%",
        "w.sql, line 14, query q5: bins 'age=0:100:3' do not cut the range",
        "w.sql, line 14, query q5: MAX",
        "w.sql, line 16, query q6: tau is stated twice for one query",
        "w.sql, line 18, query q6: bins and GROUP BY do not go together",
        "w.sql, line 19, query q6: '-- tau: ...' stands after the last statement",
    ):
        assert words in text
    assert "-- id" not in text


BROKEN = """-- id: a
SELECT COUNT(*) FROM D WHERE city = 'Rome;
-- id: b
SELECT COUNT(*) FROM D WHERE age => 3
SELECT COUNT(*) FROM D WHERE city = 'Paris' AND sex = 'F
-- id: c
SELECT AVG(age) D;
COUNT(*) FROM D;
SELECT MAX(age) FROM D
"""


def test_a_broken_statement_hides_no_other(tmp_path: Path) -> None:
    with pytest.raises(QueryError) as caught:
        read_queries(written(tmp_path / "w.sql", BROKEN))
    text = str(caught.value)
    for words in (
        "w.sql, line 2, query a: this line has a quote that is not closed",
        "w.sql, line 4, query b: a second SELECT begins before this statement has ended",
        "w.sql, line 4, query b: malformed SQL: => is no comparison; write >=",
        "w.sql, line 5, query q3: this line has a quote that is not closed",
        "w.sql, line 5, query q3: a second SELECT begins",
        "w.sql, line 7, query c: there is no FROM D; write SELECT AVG(age) FROM D",
        "w.sql, line 8, query q5: malformed SQL: SELECT is missing",
        "w.sql, line 9, query q6: MAX(age) is not understood",
    ):
        assert words in text
    assert len(caught.value.understood) == 0


def test_a_row_without_from_hides_no_other(tmp_path: Path) -> None:
    text = f"id,sql\na,{COUNT}\nb,SELECT COUNT(*)\nc,SELECT MAX(x) FROM D\n"
    with pytest.raises(QueryError) as caught:
        read_queries(written(tmp_path / "w.csv", text))
    assert "w.csv, line 3, query b: there is no FROM D" in str(caught.value)
    assert "w.csv, line 4, query c: MAX(x) is not understood" in str(caught.value)


def test_statements_that_are_no_queries_are_told_by_number_and_line(tmp_path: Path) -> None:
    file = written(tmp_path / "w.sql", f"{COUNT};\n" + "DROP TABLE D;\n" * 5)
    words = "its statement 2 (line 2), statement 3 (line 3), statement 4 (line 4) and 2 others are"
    with pytest.raises(QueryError, match=re.escape(words)):
        read_queries(file)


@pytest.mark.parametrize("line", ["-- id: women over 40", "-- id: women tau: 3%"])
def test_an_id_of_two_words_is_no_id_of_one(line: str, tmp_path: Path) -> None:
    """The rest of the line was dropped, a tolerance with it."""
    with pytest.raises(QueryError, match=r"w\.sql, line 1, query women: id is more than one word"):
        read_queries(written(tmp_path / "w.sql", f"{line}\n{COUNT};"))


def test_blanks_before_a_colon_hide_nothing(tmp_path: Path) -> None:
    found = read_queries(written(tmp_path / "w.sql", f"-- id : women\n--tau\t: 3%\n{COUNT};"))
    assert [(query.id, query.tau) for query in found] == [("women", "3%")]


@pytest.mark.parametrize("line", ["-- tau 3%", "--TAU = 0.5", "-- bins age=0:100:10\r"])
def test_what_lacks_its_colon_is_no_plain_comment(line: str, tmp_path: Path) -> None:
    """It was passed over, and another tolerance taken."""
    with pytest.raises(QueryError, match=r"line 2, query q: (tau|bins) has no colon; write"):
        read_queries(written(tmp_path / "w.sql", f"-- id: q\n{line}\n{COUNT};"))
    for plain in ("-- tau is ours to choose", "-- tau 3% of the copy", "-- bins of ten years"):
        read_queries(written(tmp_path / "w.sql", f"{plain}\n{COUNT};"))


def test_at_most_twenty_mistakes_are_listed(tmp_path: Path) -> None:
    text = "id,sql,tau\n" + "".join(f"a{n},{COUNT},0\n" for n in range(23))
    with pytest.raises(QueryError) as caught:
        read_queries(written(tmp_path / "w.csv", text))
    lines = str(caught.value).splitlines()
    assert len(lines) == 21
    assert lines[0].startswith("w.csv, line 2, query a0: tau is 0; it must be greater than 0")
    assert lines[-1] == "w.csv: and 3 more mistakes"


def test_a_row_that_is_cut_by_a_comma_is_no_other_query(tmp_path: Path) -> None:
    text = f'id,sql\na,{COUNT} WHERE f IN (1, 2)\nb,"{COUNT} WHERE f IN (1, 2)"\n'
    with pytest.raises(QueryError, match="line 2, query a: the row has more cells"):
        read_queries(written(tmp_path / "w.csv", text))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM (SELECT * FROM D)",
        "SELECT COUNT(*) FROM D WHERE a IN (SELECT b FROM E) LIMIT 3",
        "SELECT COUNT(*) FROM D UNION ALL SELECT COUNT(*) FROM D",
    ],
)
def test_no_semicolon_is_missed_before_a_subquery(sql: str, tmp_path: Path) -> None:
    with pytest.raises(QueryError) as caught:
        read_queries(written(tmp_path / "w.sql", sql))
    assert "statements end in ;" not in str(caught.value)


def test_a_file_that_may_not_be_read_is_a_matter_of_permission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "w.sql"
    path.write_text(f"{COUNT};\n")

    def closed(*_: object, **__: object) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", closed)
    with pytest.raises(QueryError, match=r"w\.sql may not be read: permission denied; ask"):
        read_queries(path)


def test_queries_of_a_file_with_a_mistake_have_names_too(tmp_path: Path) -> None:
    path = written(tmp_path / "q.sql", f"{COUNT}; {COUNT} WHERE; {COUNT};")
    with pytest.raises(QueryError, match="query q2") as found:
        read_queries(path)
    assert [query.id for query in found.value.understood if isinstance(query, Query)] == [
        "q1",
        "q3",
    ]
