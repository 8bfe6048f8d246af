"""Every wrong input is one message and an exit code; none tells anything of the private table."""

import gzip
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import pqd
from pqd.errors import ParameterError

Ran = tuple[int, str, str]

CANARIES = ("987654321", "zebra-canary")
PRIVATE = f"name,age,capital-gain,only-private\n{CANARIES[1]},{CANARIES[0]},5,1\nab,30,0,1\n"
SYNTHETIC = "name,age,capital-gain,only-synthetic\nab,31,0,1\nc,40,10,1\n"
BINARY = b"\x89PNG\r\n\xff\xfe\0 zebra-canary \0\1\2 987654321"
COUNT = "SELECT COUNT(*) FROM D WHERE age > 35"
TERMS = ("--tau", "5", "--epsilon", "1")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with good and bad tables; the private ones hold the canaries."""
    files: dict[str, str | bytes] = {
        "private.csv": PRIVATE,
        "synthetic.csv": SYNTHETIC,
        "empty.csv": "",
        "header.csv": SYNTHETIC.splitlines()[0] + "\n",
        "binary.csv": BINARY,
        "binary.parquet": BINARY,
        "table.xlsx": BINARY,
        "twice.csv": f"age,name,AGE\n1,{CANARIES[1]},2\n",
        "ragged.csv": f"name,age\nab,1\n{CANARIES[1]}\n",
        "cut.csv.gz": gzip.compress(PRIVATE.encode() * 20_000)[:-40],
        "bare.csv": f"{CANARIES[1]},{CANARIES[0]},5,1\nab,30,0,1\n",
        "bare2.csv": f"{CANARIES[1]},{CANARIES[0]},5,{CANARIES[0]}\nab,30,0,1\n",
        "headless.csv": "31,ab,0\n30,cd,1\n",
        "windows.csv": "age,näme\n30,cd\n".encode("cp1252"),
        "sixteen.csv": "age,name\n30,cd\n".encode("utf-16"),
        "sixteen-big.csv": b"\xfe\xff" + "age,name\n30,cd\n".encode("utf-16-be"),
        "thirtytwo.csv": "age,name\n30,cd\n".encode("utf-32"),
        "none.sql": "-- nothing yet\n",
        "bad.sql": f"-- id: fine\n{COUNT};\n-- id: broken\nSELECT COUNT(*) FROM D WHERE age >;\n",
        "same.sql": f"-- id: a\n{COUNT};\n-- id: a\n{COUNT};\n",
        "list.csv": "id,aggregate\na,COUNT\n",
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    (tmp_path / "folder.csv").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def on(private: str, synthetic: str, *rest: str, sql: str = COUNT) -> list[str]:
    return [private, synthetic, "-q", sql, *TERMS, *rest]


def with_query(sql: str, *rest: str) -> list[str]:
    return on("private.csv", "synthetic.csv", *rest, sql=sql)


def with_terms(*terms: str, sql: str = COUNT) -> list[str]:
    return ["private.csv", "synthetic.csv", "-q", sql, *terms]


SUM = "SELECT SUM(age) FROM D"

# Per label: the arguments of `pqd audit`, and words that the message must have.
CASES: dict[str, tuple[list[str], str]] = {
    "missing private file": (on("privat.csv", "synthetic.csv"), "privat.csv does not exist"),
    "missing synthetic file": (on("private.csv", "nowhere.csv"), "nowhere.csv does not exist"),
    "folder": (on("folder.csv", "synthetic.csv"), "has no part: no file is there"),
    "a DuckDB file with one colon": (
        on("store.duckdb:people", "synthetic.csv"),
        "folder you are in, or write store.duckdb::people for a table of a DuckDB file",
    ),
    "a CSV with the name of a table": (
        on("private.csv::people", "synthetic.csv"),
        "is no table of a DuckDB file, and no other is written with ::; write private.csv",
    ),
    "a scheme that is not known": (
        on(f"postgresq://me:{CANARIES[0]}@host/db?table=people", "synthetic.csv"),
        "that begins with 'postgresq:'; write the path of a file on this machine, postgresql://u",
    ),
    "a URL without a table": (
        on(f"postgresql://me:{CANARIES[0]}@host/db", "synthetic.csv"),
        "write postgresql://user@host:port/database?table=schema.name, with a name",
    ),
    "a pattern without quotes": (
        on("a.csv", "b.csv", "synthetic.csv"),
        "is given too many tables; a pattern of parts stands in quotes",
    ),
    "an option without its value": (
        [*on("private.csv", "synthetic.csv"), "--unit", "--metadata", "c.csv"],
        "--unit needs a value, and --metadata follows it",
    ),
    "a pattern without quotes, of two parts": (
        on("parts/part-1.csv", "parts/part-2.csv"),
        "parts/part-1.csv and parts/part-2.csv differ in a number alone, as the parts of one table",
    ),
    "unknown format": (on("table.xlsx", "synthetic.csv"), "save the sheet as CSV UTF-8"),
    "binary private file": (on("binary.csv", "synthetic.csv"), "is it a CSV"),
    "binary synthetic file": (on("private.csv", "binary.csv"), "is it a CSV"),
    "binary private Parquet": (on("binary.parquet", "synthetic.csv"), "is not Parquet, or broken"),
    "binary synthetic Parquet": (on("private.csv", "binary.parquet"), "is not Parquet, or broken"),
    "empty private file": (on("empty.csv", "synthetic.csv"), "private table empty.csv is empty"),
    "empty synthetic file": (on("private.csv", "empty.csv"), "synthetic table empty.csv is empty"),
    "no synthetic rows": (on("private.csv", "header.csv"), "header.csv has no rows"),
    "ragged synthetic file": (on("private.csv", "ragged.csv"), "ragged.csv cannot be read"),
    "column twice": (on("twice.csv", "synthetic.csv"), "capitals aside: columns 1 and 3"),
    "no private header": (on("bare.csv", "synthetic.csv"), "its first line must name the columns"),
    "no private header, unit": (
        on("bare.csv", "synthetic.csv", "--unit", CANARIES[1][:-1]),
        "unit of bare.csv: there is no column",
    ),
    "no private header, a value twice": (on("bare2.csv", "synthetic.csv"), "columns 2 and 4"),
    "no synthetic header": (
        on("private.csv", "headless.csv"),
        "some of these names look like values: does the file lack a header?",
    ),
    "written by Windows": (on("private.csv", "windows.csv"), "iconv -f WINDOWS-1252 -t UTF-8"),
    "text in UTF-16": (
        on("private.csv", "sixteen.csv"),
        "text in UTF-16; save it as UTF-8 (in a spreadsheet: CSV UTF-8), or convert it: iconv -f U",
    ),
    "text in UTF-16, big end first": (on("private.csv", "sixteen-big.csv"), "is text in UTF-16;"),
    "text in UTF-16, private": (on("sixteen.csv", "synthetic.csv"), "iconv -f UTF-16 -t UTF-8"),
    "text in UTF-32": (on("private.csv", "thirtytwo.csv"), "iconv -f UTF-32 -t UTF-8"),
    "written by Windows, private": (on("windows.csv", "synthetic.csv"), "save it as UTF-8"),
    "largest": (with_query("SELECT MAX(age) FROM D"), "QUANTILE(age, 0.99)"),
    "smallest": (with_query("SELECT MIN(age + 1) FROM D"), "QUANTILE(age + 1, 0.01)"),
    "name with spaces": (
        with_query("SELECT COUNT(*) FROM D WHERE hours per week > 5"),
        "takes double quotes",
    ),
    "unknown column": (with_query("SELECT COUNT(*) FROM D WHERE ag > 1"), 'nearest is "age"'),
    "unquoted hyphen": (with_query("SELECT SUM(capital-gain) FROM D"), '"capital-gain"'),
    "column of the private table": (
        with_query('SELECT SUM("only-private") FROM D'),
        "only-synthetic",
    ),
    "column of the synthetic table": (
        with_query('SELECT SUM("only-synthetic") FROM D'),
        "not in the private one (private.csv)",
    ),
    "sum over text": (with_query("SELECT SUM(name) FROM D"), "SUM needs a number"),
    "median over no rows": (
        with_query("SELECT MEDIAN(age) FROM D WHERE age > 99"),
        "no synthetic row",
    ),
    "mean over no rows": (with_query("SELECT AVG(age) FROM D WHERE age > 99"), "no synthetic row"),
    "tau 0": (with_terms("--tau", "0", "--epsilon", "1"), "greater than 0"),
    "tau negative": (with_terms("--tau=-1", "--epsilon", "1"), "greater than 0"),
    "tau 0 %": (with_terms("--tau", "0%", "--epsilon", "1"), "greater than 0"),
    "tau no number": (
        with_terms("--tau", "much", "--epsilon", "1"),
        "a finite number is needed, such as 10, or 5% of the answer",
    ),
    "tau odd digits": (with_terms("--tau", "1e²", "--epsilon", "1"), "tau is"),
    "tau infinite": (with_terms("--tau", "inf", "--epsilon", "1"), "finite number"),
    "tau missing": (with_terms("--epsilon", "1"), "--tau is missing"),
    "epsilon 0": (with_terms("--tau", "5", "--epsilon", "0"), "greater than 0"),
    "epsilon negative": (with_terms("--tau", "5", "--epsilon=-0.1"), "greater than 0"),
    "epsilon nan": (with_terms("--tau", "5", "--epsilon", "nan"), "finite number"),
    "epsilon infinite": (with_terms("--tau", "5", "--epsilon", "inf"), "finite number"),
    "epsilon missing": (with_terms("--tau", "5"), "--epsilon is missing"),
    "alpha 0": (with_query(COUNT, "--alpha", "0"), "strictly between 0 and 1"),
    "alpha 1": (with_query(COUNT, "--alpha", "1"), "strictly between 0 and 1"),
    "share of a count of 0": (
        with_terms("--tau", "5%", "--epsilon", "1", sql=f"{COUNT} AND age > 99"),
        "which is 0",
    ),
    "share of a sum of 0": (
        with_terms("--tau", "5%", "--epsilon", "1", sql=f"{SUM} WHERE age > 99"),
        "which is 0",
    ),
    "malformed SQL": (with_query("SELECT COUNT(*) FROM D WHERE (age > 1"), "malformed SQL"),
    "no SQL": (with_query("how many are older than 35?"), "SQL"),
    "empty SQL": (with_query(""), "the query is empty"),
    "join": (with_query("SELECT COUNT(*) FROM D JOIN E ON D.age = E.age"), "JOIN"),
    "file function": (with_query("SELECT COUNT(*) FROM read_csv('private.csv')"), "FROM takes"),
    "division": (with_query("SELECT COUNT(*) FROM D WHERE age / 2 > 1"), "not admitted"),
    "another statement": (with_query("DROP TABLE D"), "DROP"),
    "sum of nothing": (with_query("SELECT SUM(NULL) FROM D"), "query q1"),
    "odd escape": (with_query("SELECT COUNT(*) FROM D WHERE name LIKE 'a' ESCAPE 'é'"), "query q1"),
    "escape in another case": (
        with_query("SELECT COUNT(*) FROM D WHERE name ILIKE 'aB' ESCAPE 'b'"),
        "query q1",
    ),
    "two of one fact": (
        with_query(SUM, "--bounds", "age=0:9", "--bounds", "age=0:8"),
        "given twice",
    ),
    "bounds without numbers": (with_query(SUM, "--bounds", "age"), "column=lower:upper"),
    "bounds of text": (with_query(SUM, "--bounds", "age=a:b"), "lower bound is 'a'"),
    "bounds reversed": (with_query(SUM, "--bounds", "age=9:1"), "reversed"),
    "bounds off the step": (with_query(SUM, "--bounds", "age=0:10:3"), "upper bound of 9"),
    "bounds of no column": (with_query(SUM, "--bounds", "aeg=0:10"), 'nearest are "age"'),
    "type unknown": (with_query(SUM, "--type", "age=integer"), "use number, text"),
    "type of no column": (with_query(SUM, "--type", "aeg=text"), 'nearest are "age"'),
    "unknown decider": (with_query(COUNT, "--decider", "best"), "no decider 'best'"),
    "decider of sums": (with_query(COUNT, "--decider", "lm_sum"), "decides SUM, not COUNT"),
    "negative bounds": (
        with_query(SUM, "--decider", "svt_sum", "--bounds", "age=-5:99"),
        "values >= 0",
    ),
    "epsilon too small": (with_terms("--tau", "5", "--epsilon", "1e-300"), "epsilon"),
    "epsilon too large": (with_terms("--tau", "5", "--epsilon", "1e400"), "epsilon"),
    "missing query file": (with_terms(*TERMS, "--queries", "nowhere.sql"), "cannot be read"),
    "binary query file": (with_terms(*TERMS, "--queries", "binary.csv"), "not text in UTF-8"),
    "bad query file": (with_terms(*TERMS, "--queries", "bad.sql"), "query broken"),
    "incomplete list": (with_terms(*TERMS, "--queries", "list.csv"), "columns id, sql or id"),
    "one id twice": (with_terms(*TERMS, "--queries", "same.sql"), "ids must differ"),
    "JSON into no folder": (with_query(COUNT, "--json", "no/where.json"), "cannot be written"),
    "JSON into a folder": (with_query(COUNT, "--json", "folder.csv"), "cannot be written"),
}


def check_one_message(ran: Ran, code: int) -> None:
    found, out, err = ran
    assert found == code, err
    assert out == ""
    first, *more = err.splitlines()
    assert first.startswith("pqd: ")
    assert "internal error" not in first
    assert all(line.startswith("  ") for line in more), "a second message"
    assert "Traceback" not in err
    assert not any(canary in err for canary in CANARIES)


@pytest.mark.usefixtures("folder")
def test_a_plan_of_both_tables_is_told_that_it_reads_the_copy(command: Callable[..., Ran]) -> None:
    ran = command("plan", "private.csv", "synthetic.csv", "--total-epsilon", "1")
    check_one_message(ran, 2)
    assert "pqd plan reads the copy alone; name this one table" in " ".join(ran[2].split())


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("label", CASES)
def test_bad_input_is_one_message_and_exit_code_2(label: str, command: Callable[..., Ran]) -> None:
    arguments, words = CASES[label]
    ran = command("audit", *arguments)
    check_one_message(ran, 2)
    assert words in ran[2]


@pytest.mark.usefixtures("folder")
def test_nothing_selected_is_exit_code_5(command: Callable[..., Ran]) -> None:
    files = ["private.csv", "synthetic.csv", "--queries", "none.sql"]
    check_one_message(command("audit", *files, *TERMS), 5)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("rest", [(), TERMS, ("--bins", "age=0:100:10"), ("--unit", "name")])
def test_an_audit_without_a_query_offers_a_profile(
    rest: tuple[str, ...], command: Callable[..., Ran]
) -> None:
    """One message in place of three in a row; no table is opened, so none need be there."""
    for copy, written in (("synthetic.csv", "synthetic.csv"), ("no where.csv", "'no where.csv'")):
        ran = command("audit", "private.csv", copy, *rest)
        check_one_message(ran, 2)
        assert '--query "SELECT COUNT(*) FROM D"' in ran[2]
        assert "(--queries), with --tau 5% and --epsilon 0.25" in ran[2]
        assert f"query: pqd profile private.csv {written}. No table was opened" in ran[2]
    assert not list(Path().glob("*ledger*"))


def test_the_library_offers_a_profile_too() -> None:
    with pytest.raises(ParameterError, match=r"pqd\.profile\(private, synthetic\)"):
        pqd.audit("private.csv", "synthetic.csv")
    with pytest.raises(ParameterError, match="tau is missing"):
        pqd.audit("private.csv", "synthetic.csv", COUNT, epsilon=1)


@pytest.mark.usefixtures("folder")
def test_a_run_that_breaks_is_exit_code_3(command: Callable[..., Ran]) -> None:
    ran = command("audit", *on("cut.csv.gz", "synthetic.csv"))
    check_one_message(ran, 3)
    assert "private table cut.csv.gz" in ran[2]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("sql", [f"{COUNT} AND age > 99", f"{SUM} WHERE age > 99"])
def test_an_answer_of_0_is_an_answer(sql: str, command: Callable[..., Ran]) -> None:
    code, out, err = command("audit", *with_query(sql))
    assert (code, err) == (0, "")
    assert re.search(r" q1 .* 0 +±5 ", out)


@pytest.mark.parametrize(
    "arguments",
    [
        ["audit", "private.csv", "synthetic.csv", "--nonsense"],
        ["audit", "private.csv"],
        ["audit", *with_query(COUNT), "one too many"],
        ["nonsense"],
        ["audit", *with_query(COUNT), "--tau"],
    ],
)
@pytest.mark.usefixtures("folder")
def test_wrong_usage_is_told_by_the_command_line(
    arguments: list[str], command: Callable[..., Ran]
) -> None:
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert "Error" in err
    assert "Traceback" not in err
    assert "pqd: " not in err


@pytest.mark.usefixtures("folder")
def test_a_report_that_cannot_be_written_is_no_success(command: Callable[..., Ran]) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full to fail on")
    code, _, err = command("audit", *with_query(COUNT, "--json", "/dev/full"))
    assert "/dev/full was not written" in err
    assert code != 0


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (with_query("EXPLAIN SELECT COUNT(*) FROM D"), 2),
        (on("binary.csv", "synthetic.csv"), 2),
        (["private.csv", "synthetic.csv", "--queries", "none.sql", *TERMS], 5),
        (on("cut.csv.gz", "synthetic.csv"), 3),
    ],
)
def test_a_process_of_its_own_ends_the_same_way(
    arguments: list[str], code: int, folder: Path, process: Callable[..., Ran]
) -> None:
    check_one_message(process("-m", "pqd", "audit", *arguments, cwd=folder), code)


def test_a_terminal_without_unicode_gets_the_whole_report(
    folder: Path, process: Callable[..., Ran]
) -> None:
    arguments = with_query("SELECT COUNT(*) FROM D WHERE name <> 'Zoë'")
    code, out, err = process("-m", "pqd", "audit", *arguments, cwd=folder, PYTHONIOENCODING="ascii")
    assert code == 0
    # The copy has no such name, which is told.
    assert [line.isascii() and "Zo\\xeb" in line for line in err.splitlines()] == [True]
    assert "epsilon 1 spent" in out
