"""Mistakes of first-time users, each with its grade and what is printed.

A: the message names the cause and the remedy.  B: it names the cause, or it warns before it spends
what was probably not meant.  None is a C, which misleads or spends without a word.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import pytest

import pqd
from pqd.accounting.ledger import Ledger
from pqd.errors import QueryError

Ran = tuple[int, str, str]

OLD = "SELECT COUNT(*) FROM D WHERE age > 40"
TERMS = ("--tau", "5%", "--epsilon", "0.1")
TABLES = ("private.csv", "copy.csv")
GERMAN = ("german.csv", "kopie.csv")


def audit(sql: str, *terms: str, tables: tuple[str, str] = TABLES) -> tuple[str, ...]:
    return ("audit", *tables, "-q", sql, *(terms or TERMS))


def where(condition: str) -> tuple[str, ...]:
    return audit(f"SELECT COUNT(*) FROM D WHERE {condition}")


def german(sql: str, *more: str) -> tuple[str, ...]:
    return audit(sql, *TERMS, *more, tables=GERMAN)


# Arguments, grade, and parts of what is printed.  All but the warned end with exit code 2.
MISTAKES: dict[str, tuple[tuple[str, ...], Literal["A", "B"], tuple[str, ...]]] = {
    "no copy": (("audit", "private.csv"), "A", ("synthetic copy too: pqd audit private.csv COPY",)),
    "no copy for a spec": (("init", "private.csv"), "A", ("pqd init private.csv COPY",)),
    "query without -q": (("audit", *TABLES, OLD), "A", ("given by -q: -q", OLD)),
    "no query": (("audit", *TABLES), "A", ("there is no query", "pqd profile private.csv copy")),
    "no epsilon": (audit(OLD, "--tau", "5%"), "A", ("--epsilon is missing", "0.25")),
    "no tau": (audit(OLD, "--epsilon", "1"), "A", ("--tau is missing", "10 or 3.2%")),
    "tau an amount": (
        audit(OLD, "--tau", "5", "--epsilon", "0.1"),
        "B",
        ("Warning: tau 5 is an amount", "for a share of the answer write 5%"),
    ),
    "tau a share": (
        audit(OLD, "--tau", "0.05", "--epsilon", "0.1"),
        "A",
        ("tau is 0.05 for the COUNT of q1: only the very same number", "write 5% for a share"),
    ),
    "tau a share, in a plan": (
        ("plan", "copy.csv", "-q", OLD, "--tau", "0.05"),
        "A",
        ("tau is 0.05 for the COUNT of q1", "an amount of 1 or more"),
    ),
    "tau a share, in a spec": (
        ("check", "narrow.toml"),
        "A",
        ("ERROR a tau is 0.05 for the COUNT of a", "write 5% for a share"),
    ),
    "comma": (audit(OLD, "--tau", "0,5", "--epsilon", "1"), "A", ("decimal point: 0.5",)),
    "comma and sign": (audit(OLD, "--tau", "5,5%", "--epsilon", "1"), "A", ("point: 5.5%",)),
    "pct": (audit(OLD, "--tau", "5pct", "--epsilon", "1"), "A", ("as a sign: 5%",)),
    "five": (audit(OLD, "--tau", "five", "--epsilon", "1"), "A", ("such as 10, or 5% of the",)),
    "alpha 5": (audit(OLD, *TERMS, "--alpha", "5"), "A", ("write 0.05 for 5 %",)),
    "alpha in per cent": (audit(OLD, *TERMS, "--alpha", "5%"), "A", ("write 0.05 for 5 %",)),
    "alpha for sure": (
        audit(OLD, *TERMS, "--alpha", "95%"),
        "A",
        ("write 0.05 for verdicts that are right with 95 %",),
    ),
    "gate in per cent": (
        ("init", *TABLES, "--gate", "25%"),
        "A",
        ("--gate is '25%'; no budget is in per cent: write 0.25",),
    ),
    "names with a comma": (
        ("init", *TABLES, "--names", "0,5"),
        "A",
        ("--names is '0,5'; write a decimal point: 0.5",),
    ),
    "gate 1000": (
        ("profile", *TABLES, "--gate", "1000"),
        "A",
        ("the epsilon of a gate is 1000; at most 100",),
    ),
    "risk without a ranking": (
        ("compare", "private.csv", "copy.csv", "b=copy.parquet", "--risk", "1"),
        "A",
        (
            "--risk is of a ranking by overall quality, which has a budget",
            "add --total-epsilon 1",
            "write it as copy=copy.csv",
        ),
    ),
    "risk and the budget of queries": (
        ("compare", "private.csv", "a=copy.csv", "--risk", "1", "--epsilon", "1"),
        "A",
        ("add --total-epsilon 1, and leave --epsilon out",),
    ),
    "epsilon 0": (audit(OLD, "--tau", "5%", "--epsilon", "0"), "A", ("must be greater than 0",)),
    "epsilon 50": (audit(OLD, "--tau", "5%", "--epsilon", "50"), "B", ("1 or less is usual",)),
    "decider typo": (
        audit(OLD, *TERMS, "--decider", "inv_cont"),
        "A",
        ("no decider 'inv_cont'; did you mean inv_count? Or use auto, paper",),
    ),
    "decider of a SUM": (
        audit(OLD, *TERMS, "--decider", "inv_sum"),
        "A",
        ("inv_sum decides SUM, not COUNT; use auto",),
    ),
    "query of a profile": (
        ("profile", *TABLES, "-q", OLD),
        "A",
        ("No such option: -q", "-q is an option of pqd audit, pqd plan"),
    ),
    "secret of a profile": (
        ("profile", *TABLES, "--secret", "sex"),
        "A",
        ("--secret is an option of pqd risk.",),
    ),
    "columns of lint": (
        ("lint", "copy.csv", "--columns", "age"),
        "A",
        ("pqd lint looks at all columns; --bounds and --type",),
    ),
    "dry run of an audit": (audit(OLD, *TERMS, "--dry-run"), "A", ("pqd plan says from the copy",)),
    "dry run of a release": (
        ("release", *TABLES, "-q", OLD, "--total-epsilon", "1", "--dry-run"),
        "A",
        ("pqd plan says from the copy alone",),
    ),
    "whole help of a short command": (
        ("ledger", "limit", "--help-all"),
        "A",
        ("--help shows all there is.",),
    ),
    "explain": (("explain", "q1"), "A", ("add --explain q1 to the command that asked",)),
    "help of a typo": (("help", "adit"), "A", ("no command 'adit'; did you mean audit?",)),
    "limit without an epsilon": (
        ("ledger", "limit", "private.csv"),
        "A",
        ("Missing argument 'epsilon'", "Example: pqd ledger limit private.csv 10"),
    ),
    "file of queries": (
        ("audit", *TABLES, "--queries", "many.sqll", *TERMS),
        "A",
        ("there is no such file; the nearest is many.sql",),
    ),
    "no held-out table": (
        ("risk", *TABLES, "--held-out", "others.csv"),
        "A",
        ("the held-out table others.csv does not exist",),
    ),
    "held-out table of a profile": (
        ("profile", *TABLES, "--risk", "1", "--held-out", "narrow.toml"),
        "A",
        ("the held-out table narrow.toml ends in none of .csv",),
    ),
    "columns by semicolons": (
        ("profile", *TABLES, "--columns", "age;sex"),
        "A",
        ("separate names by commas: age,sex",),
    ),
    "unit": (audit(OLD, *TERMS, "--unit", "zzz"), "A", ("there are age, sex, income, is_active",)),
    "secret": (
        ("risk", *TABLES, "--secret", "salary"),
        "A",
        ('no column "salary"; there are age, sex, income, is_active',),
    ),
    "columns of a check": (
        ("check", "columns.toml"),
        "A",
        ('pqd: columns.toml, line 11: [[check]] "a" has the unknown key "columns"; did you mean',),
    ),
    "option of another program, for a spec": (
        ("init", *TABLES, "-o", "audit.toml"),
        "A",
        ("The spec goes where --file says: --file FILE.",),
    ),
    "format as an option": (
        ("check", "narrow.toml", "--junit", "pqd.xml"),
        "A",
        ("The form is --output junit=FILE.",),
    ),
    "zoom in per cent": (
        ("profile", *TABLES, "--total-epsilon", "1", "--zoom", "5%"),
        "A",
        ("--zoom is '5%'; a finite number is needed, such as 5 (a number of marginals",),
    ),
    "table of a server": (
        ("profile", "postgresql://u@localhost/db?tabel=x", "copy.csv"),
        "A",
        ("names no table (is tabel= meant as table=?)",),
    ),
    "option typo": (("audit", *TABLES, "--tua", "5%"), "A", ("No such option: --tua", "--tau")),
    "command typo": (("audti", *TABLES), "A", ("Did you mean 'audit'?",)),
    "epsilon of a profile": (
        ("profile", *TABLES, "--epsilon", "1"),
        "A",
        ("The budget of the whole run is --total-epsilon.",),
    ),
    "open parenthesis": (audit("SELECT COUNT(* FROM D"), "A", ("a parenthesis is not closed",)),
    "FORM": (audit("SELECT COUNT(*) FORM D"), "A", ("FROM is expected where FORM stands",)),
    "no condition": (where(""), "A", ("something is missing here",)),
    "value without quotes": (where("sex = Female"), "A", ("takes single quotes: 'Female'",)),
    "value in double quotes": (where('sex = "Female"'), "A", ("takes single quotes: 'Female'",)),
    "case of a value": (where("sex = 'female'"), "A", ("nearest that it holds is 'Female'",)),
    "value like a column": (where("sex = Sax"), "A", ("takes single quotes: 'Sax'; the nearest",)),
    "two mistakes in one query": (
        where("agee > 40 AND sex = Female"),
        "A",
        ('there is no column "agee"', "takes single quotes: 'Female'"),
    ),
    "two aggregates": (
        audit("SELECT COUNT(*), AVG(age) FROM D"),
        "A",
        ("write SELECT COUNT(*) FROM D; and SELECT AVG(age) FROM D",),
    ),
    "number of Germany": (where("income > 1.000,50"), "A", ("between thousands; write 1000.50",)),
    "arrow": (where("age => 20"), "A", ("=> is no comparison; write >=",)),
    "one end": (where("age BETWEEN 20"), "A", ("such as BETWEEN 20 AND 40",)),
    "no SELECT": (audit("COUNT(*) FROM D"), "A", ("a query is SELECT COUNT(...) FROM D",)),
    "no FROM": (audit("SELECT COUNT(*) D"), "A", ("no FROM D; write SELECT COUNT(*) FROM D",)),
    "division": (
        audit("SELECT AVG(income/age) FROM D"),
        "A",
        ("there is no division", "add the quotient as a column to both tables"),
    ),
    "column typo": (where("agee > 40"), "A", ('there is no column "agee"; the nearest is "age"',)),
    "MAX": (audit("SELECT MAX(age) FROM D"), "A", ("QUANTILE(age, 0.99)",)),
    "join": (
        audit("SELECT COUNT(*) FROM D, E"),
        "A",
        ("JOIN is not understood; a query reads one table",),
    ),
    "no aggregate": (audit("SELECT age FROM D"), "A", ("age is not understood; use COUNT(*)",)),
    "boolean as text": (where("is_active = 'true'"), "A", ("write is_active = TRUE",)),
    "LIKE on a number": (where("income LIKE '06%'"), "A", ("--type income=text",)),
    "word of SQL": (
        german("SELECT COUNT(*) FROM D WHERE Alter > 70"),
        "A",
        ('Alter is a word of SQL; a column of this name takes double quotes: "Alter"',),
    ),
    "blank in a column": (
        german("SELECT COUNT(*) FROM D WHERE Aufnahme Tag > 7"),
        "A",
        ('double quotes, such as "Aufnahme Tag"',),
    ),
    "person's key": (
        german('SELECT COUNT(*) FROM D WHERE "Alter" > 70'),
        "A",
        ('--unit " Patient ID "', "--row-is-person", "no run spends anything"),
    ),
    "blanks around the unit": (
        german("SELECT COUNT(*) FROM D", "--unit", "Patient ID"),
        "A",
        ('"Patient ID", but " Patient ID ": the names differ only by blanks',),
    ),
    "unit without quotes": (
        german("SELECT COUNT(*) FROM D", "--unit", "Patient", "ID"),
        "A",
        ('--unit "Patient ID"',),
    ),
    "columns apart": (
        ("profile", *TABLES, "--columns", "age", "sex"),
        "A",
        ("by commas: --columns age,sex",),
    ),
    "no such file": (audit(OLD, tables=("private.csv", "c.cvs")), "A", ("c.cvs does not exist",)),
    "one file twice": (
        audit(OLD, tables=("private.csv", "private.csv")),
        "A",
        ("is the private table itself; give the synthetic copy",),
    ),
    "one name twice": (
        audit(OLD, tables=("private.csv", "twice.csv")),
        "A",
        ("columns of the same name, capitals aside: columns 1 and 3; rename all but one",),
    ),
    "table as spec": (("check", "copy.csv"), "A", ("it is a table, not a spec", "pqd init")),
    "Parquet as spec": (("check", "copy.parquet"), "A", ("it is a table, not a spec",)),
    "no spec": (("check", "no.toml"), "A", ("there is no such file; `pqd init",)),
    "a slip in a spec's name": (
        ("check", "narow.tml"),
        "A",
        ("there is no such file; the nearest is narrow.toml",),
    ),
    "table as queries": (
        ("audit", *TABLES, "--queries", "private.csv", *TERMS),
        "A",
        ("is a table of this run; name a file of queries",),
    ),
    "file as query": (audit("demo.sql"), "A", ("looks like a file; write --queries demo.sql",)),
    "release of AVG": (
        ("release", *TABLES, "-q", "SELECT AVG(age) FROM D", "--total-epsilon", "1"),
        "A",
        ("for a mean ask its SUM and COUNT",),
    ),
    "copies without names": (
        ("compare", "private.csv", "copy.csv", "twice.csv", "--total-epsilon", "1"),
        "A",
        ("write it as copy=copy.csv", "write it as twice=twice.csv"),
    ),
    "report as PDF": (audit(OLD, *TERMS, "--html", "r.pdf"), "A", ("name it .html",)),
    "ways": (("profile", *TABLES, "--ways", "3x"), "A", ("such as 1, 2 or 3",)),
}
NARROW = """
[private]
path = "private.csv"
[synthetic.copy]
path = "copy.csv"
[defaults]
tau = 0.05
epsilon = 0.1
[[check]]
id = "a"
sql = "SELECT COUNT(*) FROM D"
"""
WARNED = {name for name, (_, grade, _) in MISTAKES.items() if grade == "B"}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a private table, its copy, and two of a hospital."""
    folder, rng = tmp_path_factory.mktemp("mistakes"), np.random.default_rng(1)
    for name in ("private", "copy"):
        table = pd.DataFrame(
            {
                "age": rng.integers(18, 80, 2_000),
                "sex": rng.choice(["Female", "Male"], 2_000),
                "income": rng.integers(0, 60_000, 2_000),
                "is_active": rng.choice([True, False], 2_000),
            }
        )
        table.to_csv(folder / f"{name}.csv", index=False)
    table.to_parquet(folder / "copy.parquet")
    stays = table.assign(Alter=table.age)
    stays[" Patient ID "], stays["Aufnahme Tag"] = np.arange(len(stays)) // 2, 1
    stays.to_csv(folder / "german.csv", index=False)
    stays.iloc[:1_000].to_csv(folder / "kopie.csv", index=False)
    (folder / "narrow.toml").write_text(NARROW, encoding="utf-8")
    (folder / "columns.toml").write_text(
        NARROW.replace('sql = "SELECT COUNT(*) FROM D"', 'columns = ["age"]'), encoding="utf-8"
    )
    (folder / "many.sql").write_text(OLD, encoding="utf-8")
    (folder / "twice.csv").write_text("age,sex,AGE\n1,a,3\n4,b,6\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_with_its_remedy(
    name: str,
    tables: Path,
    tmp_path: Path,
    command: Callable[..., Ran],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arguments, _, parts = MISTAKES[name]
    monkeypatch.chdir(tables)
    monkeypatch.setenv("PQD_LEDGER", str(tmp_path / "ledger.sqlite"))
    code, out, err = command(*arguments)
    # The panel of a wrong option folds the message between two lines.
    said = " ".join(f"{out} {err}".replace("│", " ").split())
    for part in parts:
        assert part in said
    assert code == (0 if name in WARNED else 2)
    if name in WARNED:
        # The warning comes first, on standard error, before the report.
        assert err.startswith("pqd: Warning: ")
        return
    assert "Traceback" not in said
    ledger = tmp_path / "ledger.sqlite"
    assert not ledger.exists() or not Ledger(ledger).accounts


SPEC_OF_ALL_KINDS = """
budgett = 3
[private]
path = "private.csv"
[synthetic.copy]
path = "copy.csv"
[defaults]
tau = "5%"
epsilon = 0.1
[[check]]
id = "a"
sql = "SELECT COUNT(*) FROM D WHERE agee > 3"
[[check]]
id = "b"
sql = "SELECT COUNT(*) FROM D WHERE (age > 3"
tau = "6 percents"
[[check]]
id = "c"
marginal = ["age", "sexx"]
severityy = "warn"
[[check]]
id = "d"
column = "agee"
"""
SPEC_OF_FACTS = """
[private]
path = "private.csv"
[synthetic.copy]
path = "copy.csv"
[defaults]
tau = "5%"
epsilon = 0.1
[columns.incom]
bounds = [0, 5]
[[check]]
id = "a"
sql = "SELECT COUNT(*) FROM D WHERE agee > 3"
[[check]]
id = "b"
sql = "SELECT COUNT(*) FROM D"
"""
MANY = {
    "malformed and unknown": (
        ("plan", "copy.csv", "--queries", "mixed.sql", "--tau", "5%"),
        (
            "line 1, query q1: malformed SQL",
            "query c: tau is 'x'",
            'query q2: there is no column "inc"',
            "query c: sex is",
            'GROUP BY: there is no column "sexx"; the nearest is "sex"',
        ),
    ),
    "malformed and unknown, of a run": (
        ("audit", *TABLES, "--queries", "mixed.sql", *TERMS),
        ("line 1, query q1: malformed SQL", 'query q2: there is no column "inc"'),
    ),
    "malformed and unknown, of a comparison": (
        ("compare", TABLES[0], "a=copy.csv", "--queries", "mixed.sql", *TERMS),
        ("line 1, query q1: malformed SQL", 'query q2: there is no column "inc"'),
    ),
    "malformed and unknown, of a release": (
        ("release", *TABLES, "--queries", "mixed.sql", "--total-epsilon", "1"),
        ("line 1, query q1: malformed SQL", 'query q2: there is no column "inc"'),
    ),
    "a spec": (
        ("check", "mixed.toml"),
        (
            'the key "budgett" is unknown',
            'line 12: [[check]] "a": sql: there is no column "agee"; the nearest is "age"',
            'line 15: [[check]] "b": malformed SQL',
            "line 16: [[check]] \"b\": tau is '6 percents'",
            'line 19: [[check]] "c": marginal: there is no column "sexx"; the nearest is "sex"',
            'line 20: [[check]] "c" has the unknown key "severityy"',
            'line 23: [[check]] "d": column: there is no column "agee"',
        ),
    ),
    "queries of a file": (
        ("plan", "copy.csv", "--queries", "bad.sql", "--tau", "5%"),
        ('query a: there is no column "agee"', 'query b: there is no column "inc"', "query c: sex"),
    ),
    "broken statements": (
        ("audit", *TABLES, "--queries", "broken.sql", *TERMS),
        (
            'query q1: there is no column "agee"',
            "line 3, query b: there is no FROM D",
            "line 4, query q3: this line has a quote that is not closed",
            "line 5, query q4: a second SELECT begins before this statement has ended",
            'query q5: there is no column "inc"',
        ),
    ),
    "queries of a list": (
        ("audit", *TABLES, "--queries", "bad.csv", *TERMS),
        ('query a: there is no column "agee"', 'query b: there is no column "inc"'),
    ),
    "queries of a gate": (
        ("audit", *TABLES, "--queries", "bad.csv", "--tau", "5%", "--gate", "0.1"),
        ('query a: there is no column "agee"', 'query b: there is no column "inc"'),
    ),
    "queries of a release": (
        ("release", *TABLES, "--queries", "bad.csv", "--total-epsilon", "1"),
        ('query a: there is no column "agee"', 'query b: there is no column "inc"'),
    ),
    "queries": (
        ("plan", "copy.csv", "-q", "SELECT MAX(age) FROM D", "-q", "SELECT COUNT(* FROM D"),
        ("query q1: MAX(age) is not understood", "query q2: malformed SQL"),
    ),
    "bounds": (
        (*audit(OLD), "--bounds", "agee=1:2", "--bounds", "incom=0:1"),
        ('no column "agee"', 'no column "incom"'),
    ),
    "texts of bounds": (
        (*audit(OLD), "--bounds", "age", "--type", "sex"),
        ("bounds 'age' are not understood", "type 'sex' is not understood"),
    ),
    "columns": (("profile", *TABLES, "--columns", "agee,sexx"), ('"agee"', '"sexx"')),
    "cells": (("profile", *TABLES, "--cells", "a=1", "--cells", "b=2"), ('"a"', '"b"')),
    "texts of cells": (("profile", *TABLES, "--cells", "age=x", "--cells", "b"), ("'x'", "'b'")),
}


@pytest.mark.parametrize("name", MANY)
def test_all_mistakes_are_told_at_once(
    name: str,
    tables: Path,
    tmp_path: Path,
    command: Callable[..., Ran],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arguments, parts = MANY[name]
    monkeypatch.chdir(tables)
    monkeypatch.setenv("PQD_LEDGER", str(tmp_path / "ledger.sqlite"))
    Path("bad.sql").write_text(
        "-- id: a\nSELECT COUNT(*) FROM D WHERE agee > 3;\n-- id: b\nSELECT SUM(inc) FROM D;\n"
        "-- id: c\nSELECT SUM(sex) FROM D;\n",
        encoding="utf-8",
    )
    Path("bad.csv").write_text(
        "id,sql\na,SELECT COUNT(*) FROM D WHERE agee > 3\nb,SELECT SUM(inc) FROM D\n",
        encoding="utf-8",
    )
    Path("mixed.sql").write_text(
        "SELECT COUNT(*) FROM D WHERE (age > 3;\nSELECT SUM(inc) FROM D;\n"
        "-- id: c\n-- tau: x\nSELECT SUM(sex) FROM D;\nSELECT COUNT(*) FROM D GROUP BY sexx;\n",
        encoding="utf-8",
    )
    Path("broken.sql").write_text(
        "SELECT COUNT(*) FROM D WHERE agee > 3;\n-- id: b\nSELECT AVG(age) D;\n"
        "SELECT COUNT(*) FROM D WHERE sex = 'Male;\nSELECT COUNT(*) FROM D\nSELECT SUM(inc) FROM D",
        encoding="utf-8",
    )
    Path("mixed.toml").write_text(SPEC_OF_ALL_KINDS, encoding="utf-8")
    Path("facts.toml").write_text(SPEC_OF_FACTS, encoding="utf-8")
    code, _, err = command(*arguments)
    assert code == 2
    assert all(part in err for part in parts), err


PYTHON: dict[str, Callable[[str, list[str]], object]] = {
    "plan": lambda copy, queries: pqd.plan(copy, queries, tau="5%"),
    "audit": lambda copy, queries: pqd.audit("private.csv", copy, queries, tau="5%", epsilon=1),
    "gate": lambda copy, queries: pqd.gate("private.csv", copy, queries, tau="5%", epsilon=1),
    "release": lambda copy, queries: pqd.release("private.csv", copy, queries, total_epsilon=1),
    "compare": lambda copy, queries: pqd.compare(
        "private.csv", {"a": copy}, queries, tau="5%", epsilon=1
    ),
}
MALFORMED_AND_UNKNOWN = ["SELECT COUNT(*) FROM D WHERE (age > 3", "SELECT SUM(inc) FROM D"]


@pytest.mark.parametrize("name", PYTHON)
def test_python_tells_malformed_queries_and_unknown_columns_at_once(
    name: str, tables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tables)
    with pytest.raises(QueryError) as refused:
        PYTHON[name]("copy.csv", MALFORMED_AND_UNKNOWN)
    assert "query q1: malformed SQL" in str(refused.value)
    assert 'query q2: there is no column "inc"' in str(refused.value)


@pytest.mark.parametrize("name", ["audit", "gate", "release", "compare"])
def test_nothing_is_said_of_the_columns_of_a_copy_that_is_private(
    name: str, tables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tables)
    with pytest.raises(QueryError) as refused:
        PYTHON[name]("private.csv", MALFORMED_AND_UNKNOWN)
    assert "query q1: malformed SQL" in str(refused.value)
    assert "inc" not in str(refused.value)


def test_a_wrong_fact_of_a_spec_hides_no_mistake_of_a_check(
    tables: Path, tmp_path: Path, command: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tables)
    monkeypatch.setenv("PQD_LEDGER", str(tmp_path / "ledger.sqlite"))
    Path("facts.toml").write_text(SPEC_OF_FACTS, encoding="utf-8")
    code, out, _ = command("check", "facts.toml")
    assert code == 2
    assert 'ERROR a   there is no column "agee"' in out
    assert 'ERROR b   bounds or type: there is no column "incom"' in out


def test_a_check_that_can_never_count_hides_no_mistake_of_another(
    tables: Path, tmp_path: Path, command: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tables)
    monkeypatch.setenv("PQD_LEDGER", str(tmp_path / "ledger.sqlite"))
    text = SPEC_OF_FACTS.replace("[columns.incom]\nbounds = [0, 5]\n", "")
    text = text.replace('"SELECT COUNT(*) FROM D"', '"SELECT SUM(income) FROM D"')
    Path("never.toml").write_text(text, encoding="utf-8")
    code, _, err = command("check", "never.toml")
    assert code == 2
    assert ': a: there is no column "agee"; the nearest is "age"\n' in err
    assert ": b: NOT taken by a check" in err
