"""Tables as half of Europe writes them give what their clean versions give; else a run stops."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import json
import random
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import pqd
from pqd.accounting.accountant import Accountant
from pqd.accounting.accounts import Budget
from pqd.cli import command_line
from pqd.commands.audit import run_audit
from pqd.commands.compare import run_compare
from pqd.commands.profile import run_profile
from pqd.commands.release import run_release
from pqd.comparison.comparison_parameters import ComparisonParameters
from pqd.deciders import SimulatedNoise
from pqd.deciders.options import for_shell
from pqd.engine.scan_plan import PrivacyUnit
from pqd.errors import BudgetError, ParameterError
from pqd.marginals.profile_parameters import ProfileParameters
from pqd.parameters import Parameters
from pqd.sql.workload_files import as_queries
from pqd.stated.text_formats import FileFormat, text_formats

ROWS = 400
NAMES = ("Age", " Cost ", "Born", "Admitted", "Ward")
BEGIN = dt.datetime.fromisoformat("2023-01-01")
GERMAN = pqd.TextFormat(",", ".", ("%d.%m.%Y", "%d.%m.%Y %H:%M"), ("k.A.",))
OPTIONS = [
    *("--decimal", ",", "--thousands", ".", "--missing", "k.A."),
    *("--dates", "%d.%m.%Y", "--dates", "%d.%m.%Y %H:%M"),
]
QUERIES = (
    'SELECT AVG(" Cost ") FROM D WHERE "Age" > 30',
    "SELECT COUNT(*) FROM D WHERE \"Born\" < DATE '1970-01-01' AND \"Ward\" = 'ENT'",
    'SELECT COUNT("Ward") FROM D WHERE YEAR("Admitted") = 2024',
    'SELECT MEDIAN("Age") FROM D',
)


class Stay(NamedTuple):
    """Stay of a patient; None is a missing cell."""

    age: int | None
    cost: float
    born: dt.date
    admitted: dt.datetime
    ward: str | None


def stays(seed: int, number: int = ROWS) -> list[Stay]:
    drawn = random.Random(seed)  # noqa: S311 - no secret
    return [
        Stay(
            drawn.choice([None, *range(18, 95)]),
            round(drawn.expovariate(1 / 900) + 20, 2),
            dt.date(1930, 1, 1) + dt.timedelta(drawn.randrange(30_000)),
            BEGIN + dt.timedelta(minutes=drawn.randrange(10**6)),
            drawn.choice([None, "ENT", "Eyes", "Surgery"]),
        )
        for _ in range(number)
    ]


def german(rows: Iterable[Stay], path: Path) -> Path:
    """File as a German spreadsheet writes it: byte order mark, semicolons, NA in numbers."""

    def texts(stay: Stay) -> list[str]:
        cost = f"{stay.cost:,.2f}".translate(str.maketrans(",.", ".,"))
        moment = stay.admitted.strftime("%d.%m.%Y %H:%M")
        ward = "k.A." if stay.ward is None else stay.ward
        age = "NA" if stay.age is None else str(stay.age)
        return [age, cost, stay.born.strftime("%d.%m.%Y"), moment, ward]

    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, delimiter=";", lineterminator="\r\n")
        writer.writerow(NAMES)
        writer.writerows(map(texts, rows))
    return path


def iso(rows: Iterable[Stay], path: Path) -> Path:
    with gzip.open(path, "wt", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(NAMES)
        writer.writerows(["" if cell is None else str(cell) for cell in stay] for stay in rows)
    return path


def parquet(rows: Iterable[Stay], path: Path) -> Path:
    columns = list(zip(*rows, strict=True))
    table = pa.table(dict(zip(NAMES, map(pa.array, columns), strict=True)))
    pq.write_table(table, path)
    return path


def json_lines(rows: Iterable[Stay], path: Path) -> Path:
    """JSON lines without the keys of missing cells, as some databases write them."""

    def line(stay: Stay) -> str:
        pairs = zip(NAMES, stay, strict=True)
        return json.dumps({name: cell for name, cell in pairs if cell is not None}, default=str)

    path.write_text("".join(f"{line(stay)}\n" for stay in rows), encoding="utf-8")
    return path


WRITERS = {
    "german": (german, "csv"),
    "iso": (iso, "csv.gz"),
    "parquet": (parquet, "parquet"),
    "json": (json_lines, "jsonl"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for seed, role in enumerate(("private", "copy")):
        for name, (write, ending) in WRITERS.items():
            write(stays(seed), tmp_path / f"{role}-{name}.{ending}")
    return tmp_path


def tables(folder: Path, private: str, copy: str) -> tuple[object, object]:
    """Tables in one format, but clean CSV in the usual one."""
    paths = (
        folder / f"{role}-{name}.{WRITERS[name][1]}"
        for role, name in (("private", private), ("copy", copy))
    )
    formats = {
        role: pqd.TextFormat() if name == "iso" else GERMAN
        for role, name in (("private", private), ("synthetic", copy))
    }
    return text_formats(formats, FileFormat()).both(*paths)


WRITTEN = [
    *(("german", "german"), ("german", "parquet"), ("parquet", "german"), ("iso", "german")),
    *(("json", "json"), ("json", "german"), ("german", "json")),
]


@pytest.mark.parametrize(("private", "copy"), WRITTEN)
def test_a_german_file_gives_the_profile_of_its_clean_versions(
    private: str, copy: str, folder: Path
) -> None:
    """By one recorded noise; one statement is enough, whichever table is the German one."""
    parameters = ProfileParameters.parse(total_epsilon=1, anyway=True)

    def profile(private: str, copy: str) -> dict[str, Any]:
        given = tables(folder, private, copy)
        report = run_profile(*given, parameters, SimulatedNoise(7))
        marginals = [
            (each.columns, each.cells, each.estimate, each.low, each.high, each.outcome)
            for each in report.marginals
        ]
        return {"marginals": marginals, "overall": report.overall, "values": report.values}  # noqa: PD011 - no pandas

    clean = profile("parquet", "parquet")
    assert {columns for columns, *_ in clean["marginals"]} >= {(name,) for name in NAMES}
    assert profile(private, copy) == clean


@pytest.mark.parametrize(("private", "copy"), [*WRITTEN, ("iso", "iso")])
def test_a_german_file_gives_the_answers_of_its_clean_versions(
    private: str, copy: str, folder: Path
) -> None:
    terms = Parameters.parse(tau="5%", epsilon=1, alpha="0.05")

    def audit(private: str, copy: str) -> object:
        given = tables(folder, private, copy)
        report = run_audit(*given, as_queries(QUERIES), terms, SimulatedNoise(7))
        return [replace(each, synthetic="") for each in report.verdicts]

    assert audit(private, copy) == audit("parquet", "parquet")


COUNTS = (
    'SELECT COUNT(*) FROM D WHERE " Cost " > 900',
    "SELECT COUNT(*) FROM D WHERE \"Admitted\" < DATE '2023-06-01'",
)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_corrected_copy_of_a_german_file_is_that_of_its_clean_version(
    ending: str, folder: Path
) -> None:
    def corrected(name: str) -> pd.DataFrame:
        target = folder / f"corrected-{name}.{ending}"
        terms = Parameters.parse(tau=1, epsilon=1, alpha="0.05")
        given = tables(folder, name, name)
        run_release(*given, as_queries(COUNTS), terms, SimulatedNoise(7), table=target)
        return pd.read_parquet(target) if ending == "parquet" else pd.read_csv(target)

    clean, made = corrected("parquet"), corrected("german")
    if ending == "parquet":
        for name in ("Born", "Admitted"):
            clean[name] = clean[name].astype(made[name].dtype)
    pd.testing.assert_frame_equal(made, clean, check_dtype=False)


def test_thousands_and_codes_of_a_corrected_copy_are_what_they_were(tmp_path: Path) -> None:
    """The text 1.234 is 1234, 06680 is a code, and 1.5 in a column of texts is a text."""
    copy = tmp_path / "copy.csv"
    lines = [f"1.{n};0{n};1.5" for n in range(200, 300)]
    copy.write_text("\n".join(["pay;zip;house", *lines, ""]), encoding="utf-8")
    private = written(tmp_path / "private.csv", "pay", ("1.250" for _ in range(90)))
    target = tmp_path / "corrected.parquet"
    terms = Parameters.parse(tau=1, epsilon=1, alpha="0.05")
    given = text_formats(pqd.TextFormat(",", "."), FileFormat()).both(private, copy)
    query = as_queries("SELECT COUNT(*) FROM D WHERE pay > 1000")
    run_release(*given, query, terms, SimulatedNoise(7), table=target)
    made = pd.read_parquet(target)
    assert made["pay"].between(1200, 1299).all()
    assert set(made["zip"]) <= {f"0{n}" for n in range(200, 300)}
    assert set(made["house"]) == {"1.5"}


@pytest.mark.parametrize("copy", ["german", "iso"])
def test_references_of_a_german_file_are_those_of_its_clean_version(
    copy: str, folder: Path
) -> None:
    parameters = Parameters.parse(tau="5%", epsilon=1, alpha="0.05", mechanism="auto")
    terms = ComparisonParameters.parse(parameters, references=1)
    query = as_queries(COUNTS[0])

    def compared(name: str) -> object:
        private, first = tables(folder, name, name)
        report = run_compare(private, {"a": first}, query, terms, SimulatedNoise(7))
        assert report.cost.epsilon == 2
        return report.queries

    assert compared(copy) == compared("parquet")


def run(*arguments: object) -> tuple[int, str]:
    """Exit code and output; 2 and the message for an error of usage."""
    result = CliRunner().invoke(command_line(), list(map(str, arguments)))
    if isinstance(result.exception, pqd.PqdError):
        return result.exception.exit_code, str(result.exception)
    return result.exit_code, result.output


STOPPED = {
    "audit": ["-q", QUERIES[0], "--tau", "5%", "--epsilon", "1"],
    "profile": ["--anyway"],
    "release": ["-q", 'SELECT COUNT(*) FROM D WHERE " Cost " > 100', "--total-epsilon", "1"],
    "compare": ["--total-epsilon", "1"],
    "init": [],
}


@pytest.mark.parametrize("command", STOPPED)
def test_a_run_stops_before_it_spends_and_names_the_options(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    copy = "a=copy-german.csv" if command == "compare" else "copy-german.csv"
    code, told = run(command, "private-german.csv", copy, *STOPPED[command])
    assert code == 2
    table = "a" if command == "compare" else "copy-german.csv"
    assert f'" Cost " is text in {table}' in told
    assert "state --decimal , --thousands . or --type" in told
    assert "Nothing was spent" in told
    assert not list(folder.glob("pqd-ledger*"))
    assert not (folder / "audit.toml").exists()
    code, told = run(command, "private-german.csv", copy, *STOPPED[command], *OPTIONS)
    assert code in (0, 1), told
    assert "is text in" not in told


def test_a_spec_states_the_format_and_stops_without_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert run("init", "private-german.csv", "copy-german.csv", *OPTIONS)[0] == 0
    spec = folder / "audit.toml"
    assert run("check", "audit.toml", "--dry-run")[0] == 0
    text = spec.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith(("decimal", "dates"))]
    bare = "\n".join(line for line in lines if not line.startswith(("thousands", "missing")))
    spec.write_text(bare, encoding="utf-8")
    code, told = run("check", "audit.toml")
    assert code == 2
    assert 'dates = ["%d.%m.%Y"] in [text]' in told
    common = '[text]\ndecimal = ","\nthousands = "."\nmissing = ["k.A."]\n'
    dates = 'dates = ["%d.%m.%Y", "%d.%m.%Y %H:%M"]\n'
    spec.write_text(f"{common}{dates}\n{bare}", encoding="utf-8")
    assert run("check", "audit.toml", "--dry-run")[0] == 0
    spec.write_text(f'[text]\ndecimal = ","\nthousands = ","\n{bare}', encoding="utf-8")
    code, told = run("check", "audit.toml")
    assert code == 2
    assert "line 1: [text]: ',' cannot stand both before decimals and between thousands" in told


def test_columns_that_are_not_used_or_that_are_stated_as_text_stop_nothing(folder: Path) -> None:
    private, copy, ledger = (
        folder / name for name in ("private-german.csv", "copy-german.csv", "ledger.sqlite")
    )
    ward = "SELECT COUNT(*) FROM D WHERE \"Ward\" = 'ENT'"
    pqd.audit(private, copy, ward, tau="50%", epsilon=1, ledger=ledger)
    born = "SELECT COUNT(*) FROM D WHERE \"Born\" LIKE '%1940'"
    text = {"Born": {"type": "text"}}
    pqd.audit(private, copy, born, tau="50%", epsilon=1, columns=text, ledger=ledger)
    with pytest.raises(ParameterError, match=r"dates=\[.%d\.%m\.%Y.\]\) or .*Born"):
        pqd.audit(private, copy, born, tau="50%", epsilon=1, ledger=ledger)
    notes = map(str, pqd.plan(copy, born, tau="50%").notes)
    assert any("Born" in note and 'dates=["%d.%m.%Y"]' in note for note in notes)
    assert "text-not-read" in {each.note.code for each in pqd.lint(copy).findings}


def written(path: Path, name: str, texts: Iterable[str]) -> Path:
    path.write_text("\n".join([name, *(f'"{text}"' for text in texts), ""]), encoding="utf-8")
    return path


STYLES = {
    "decimal comma": ((f"{n},{n % 10}" for n in range(60)), "--decimal ,"),
    "thousands": ((f"{n + 1},357" for n in range(60)), "--thousands , or --decimal ,"),
    "apostrophe": ((f"{n + 1}'357.5" for n in range(60)), '--thousands "\'"'),
    "months first": ((f"{n % 12 + 1}/{n % 28 + 1}/1980" for n in range(60)), "--dates %m/%d/%Y"),
    "either first": ((f"{n % 12 + 1}/1/1980" for n in range(60)), "--dates %d/%m/%Y or --dates"),
    "short years": ((f"24.12.{n + 10}" for n in range(60)), "--dates %d.%m.%y"),
    "per cent": ((f"{n} %" for n in range(60)), "its numbers have a sign, such as '0 %'; leave"),
    "currency": ((f"€ {n},50" for n in range(60)), "its numbers have a sign"),
    "odd texts": ((*map(str, range(60)), "k.A."), "--missing k.A. or --type x=text"),
}


@pytest.mark.parametrize("style", STYLES)
def test_a_style_is_named_with_what_reads_it(style: str, tmp_path: Path) -> None:
    texts, words = STYLES[style]
    copy = written(tmp_path / "copy.csv", "x", texts)
    private = written(tmp_path / "private.csv", "x", ["0"] * 9)
    with for_shell(), pytest.raises(ParameterError, match="is text in") as caught:
        pqd.profile(private, copy, ledger=tmp_path / "ledger.sqlite")
    assert words in str(caught.value)
    assert not (tmp_path / "ledger.sqlite").exists()


NO_STYLES = {
    "codes": [f"0{n}" for n in range(60)],
    "house numbers": [*map(str, range(60)), "12a", "7b"],
    "few numbers": ["1", "2", "3", "unknown"] * 20,
    "versions": [f"1.{n}.3" for n in range(60)],
    "sort codes": [f"12-{n + 30}-56" for n in range(60)],
    "times": [f"12:{n}" for n in range(10, 60)],
    "words": ["a", "b"] * 30,
}


@pytest.mark.parametrize("style", NO_STYLES)
def test_other_texts_are_texts(style: str, tmp_path: Path) -> None:
    copy = written(tmp_path / "copy.csv", "x", NO_STYLES[style])
    report = pqd.plan(copy, "SELECT COUNT(*) FROM D WHERE x = 'a'", tau=1)
    assert not [note for note in map(str, report.notes) if "is text in" in note]


def test_the_usual_texts_are_missing_in_both_tables_and_the_report_lists_the_copys(
    tmp_path: Path,
) -> None:
    private = written(tmp_path / "private.csv", "x", ["1", "NULL", "None", "n/a", "3"] * 20)
    copy = written(tmp_path / "copy.csv", "x", ["1", "NA", "-", " NA ", "2"] * 20)
    terms = Parameters.parse(tau=5, epsilon=50, alpha="0.05")

    def audit(private: Path) -> Any:
        query = as_queries("SELECT COUNT(x) FROM D")
        return run_audit(private, copy, query, terms, SimulatedNoise(1))

    report = audit(private)
    assert report.verdicts[0].q_synthetic == 40
    assert report.verdicts[0].outcome == "yes"
    (told,) = [each for each in report.notes if each.code == "cells-missing"]
    assert dict(told.facts)["cells"] == (("NA", 40), ("-", 20))
    # A private table without such cells gives the same report.
    clean = audit(written(tmp_path / "private.csv", "x", ["1", "", "", "", "3"] * 20))
    assert replace(report, verdicts=()) == replace(clean, verdicts=())
    usual = pqd.TextFormat(missing=("",))
    plan = pqd.plan(copy, "SELECT COUNT(x) FROM D", tau=5, text_format=usual)
    assert plan.queries[0].q_synthetic == 100


def test_another_reading_asks_anew_of_the_same_data_set(tmp_path: Path) -> None:
    """Its numbers are other numbers, so no answer is replayed; its account is the same one."""
    private = written(tmp_path / "private.csv", "x", [f"{n},5" for n in range(90)])
    copy = written(tmp_path / "copy.csv", "x", [f"{n}.5" for n in range(0, 180, 2)])
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    moved = elsewhere / "other.csv"
    moved.write_bytes(private.read_bytes())
    ledger, query = tmp_path / "ledger.sqlite", as_queries("SELECT COUNT(*) FROM D WHERE x > 5")
    terms = Parameters.parse(tau=5, epsilon=1, alpha="0.05", columns={"x": {"type": "number"}})

    def audit(private: Path, stated: pqd.TextFormat | None, limit: int = 2) -> Any:
        accountant = Accountant(ledger, Budget(Fraction(limit)))
        given = text_formats({"private": stated} if stated else None, FileFormat()).both(
            private, copy
        )
        return run_audit(*given, query, terms, SimulatedNoise(1), accountant=accountant)

    german = pqd.TextFormat(",")
    first = audit(private, german)
    assert not first.verdicts[0].replayed
    assert audit(private, german).verdicts[0].replayed
    # The sign of thousands makes no difference to these cells, but it is another reading.
    second = audit(moved, pqd.TextFormat(",", "."))
    assert not second.verdicts[0].replayed
    with pytest.raises(BudgetError):
        audit(private, None)
    with pytest.raises(BudgetError):
        audit(moved, pqd.TextFormat(thousands=","))
    with pytest.raises(BudgetError):
        audit(private, pqd.TextFormat(missing=("x",)))
    data_sets = Accountant(ledger).ledger.data_sets
    assert [float(each.spent.epsilon) for each in data_sets] == [2]
    # A question on no column that is read otherwise is replayed.
    assert audit(private, pqd.TextFormat(",", dates=("%d.%m.%Y",))).verdicts[0].replayed


def test_an_answer_on_texts_of_a_csv_is_not_that_of_its_parquet_file(tmp_path: Path) -> None:
    """NA is a missing cell in CSV and a value in Parquet: one account, two answers."""
    cells = pa.table({"t": ["NA", "x", "y"] * 100, "k": list(range(300))})
    pq.write_table(cells, tmp_path / "private.parquet")
    rows = zip(*cells.to_pydict().values(), strict=True)
    written = "".join(f"{text},{number}\n" for text, number in rows)
    (tmp_path / "private.csv").write_text(f"t,k\n{written}", encoding="utf-8")
    copy = pa.table({"t": ["x", "y"] * 150, "k": list(range(1, 301))})
    ledger = tmp_path / "ledger.sqlite"

    def audit(suffix: str, query: str) -> pqd.AuditReport:
        private = tmp_path / f"private.{suffix}"
        return pqd.audit(private, copy, query, tau=20, epsilon=1, ledger=ledger)

    query = "SELECT COUNT(*) FROM D WHERE t IS NULL"
    assert not audit("csv", query).verdicts[0].replayed
    assert not audit("parquet", query).verdicts[0].replayed
    query = "SELECT COUNT(*) FROM D WHERE k > 100"
    audit("csv", query)
    assert audit("parquet", query).verdicts[0].replayed
    assert [float(each.spent.epsilon) for each in Accountant(ledger).ledger.data_sets] == [3]


def test_a_copy_that_is_the_private_table_in_another_form_is_refused(folder: Path) -> None:
    private, copy = tables(folder, "german", "german")
    assert private
    same = parquet(stays(0), folder / "same.parquet")
    with pytest.raises(pqd.PqdError, match="holds the same rows as the private table"):
        pqd.profile(private, same, ledger=folder / "ledger.sqlite")
    assert copy


def test_json_lines_are_one_data_set_whatever_the_copy_and_the_order_of_keys(
    tmp_path: Path,
) -> None:
    """The columns come from the copy, and yet the content does not depend on the copy."""
    lines = [{"age": n, "sex": None if n % 3 else "f", "own": n} for n in range(50)]

    def written(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        return path

    private = written(tmp_path / "private.jsonl", lines)
    folder = tmp_path / "moved"
    folder.mkdir()
    moved = written(
        folder / "other.ndjson",
        ({name: row[name] for name in sorted(row)[::-1] if row[name] is not None} for row in lines),
    )
    narrow = written(tmp_path / "narrow.jsonl", [{"AGE": n + 2} for n in range(50)])
    wide = written(tmp_path / "wide.jsonl", [{"age": n + 1, "sex": "m"} for n in range(50)])
    ledger = tmp_path / "ledger.sqlite"
    query = "SELECT COUNT(*) FROM D WHERE age > 30"
    pqd.audit(private, narrow, query, tau=50, epsilon=1, ledger=ledger)
    pqd.audit(moved, wide, f"{query} AND sex = 'f'", tau=50, epsilon=1, ledger=ledger)
    assert pqd.audit(moved, narrow, query, tau=50, epsilon=1, ledger=ledger).verdicts[0].replayed
    table = folder / "other.csv"
    rows = [f"{row['own']},{row['sex'] or ''},{row['age']}\n" for row in lines[::-1]]
    table.write_text("".join(["OWN,sex,age\n", *rows]), encoding="utf-8")
    assert pqd.audit(table, narrow, query, tau=50, epsilon=1, ledger=ledger).verdicts[0].replayed
    (data_set,) = Accountant(ledger).ledger.data_sets
    assert len(data_set.versions) == 1
    with pytest.raises(pqd.PqdError, match="private table"):
        pqd.plan(moved, query, tau=50)
    with pytest.raises(pqd.PqdError, match="private table"):
        pqd.audit(wide, moved, query, tau=50, epsilon=1, ledger=ledger)


def test_a_private_line_of_json_changes_no_message(tmp_path: Path) -> None:
    """A key, a line that is no object and a missing column are told by no error and no list."""
    copy = tmp_path / "copy.jsonl"
    copy.write_text(
        "".join(f'{{"age": {n}, "id": {n % 9}}}\n' for n in range(90)), encoding="utf-8"
    )
    terms = Parameters.parse(tau=90, epsilon=1, alpha="0.05")
    told = []
    for content in (
        '{"age": 3}\n',
        '{"secret": 1}\n',
        "[]\n",
        "x\n",
        '{"age": "y", "Age": null}\n',
    ):
        private = tmp_path / "private.jsonl"
        private.write_text(content * 40, encoding="utf-8")
        queries = as_queries(["SELECT COUNT(*) FROM D", "SELECT COUNT(*) FROM D WHERE id < 3"])
        report = run_audit(private, copy, queries, terms, SimulatedNoise(1))
        parameters = ProfileParameters.parse(total_epsilon=1, anyway=True)
        profile = run_profile(private, copy, parameters, SimulatedNoise(1))
        told.append((report.notes, profile.notes, profile.left_out, profile.marginals[0].cells))
    assert all(each == told[0] for each in told)


def test_a_person_of_json_lines_may_be_missing_in_the_copy(tmp_path: Path) -> None:
    private, copy = tmp_path / "private.jsonl", tmp_path / "copy.jsonl"
    rows = "".join(f'{{"age": {n}, "patient": {n // 3}}}\n' for n in range(90))
    private.write_text(rows, encoding="utf-8")
    copy.write_text("".join(f'{{"age": {n}}}\n' for n in range(30)), encoding="utf-8")
    terms = Parameters.parse(tau=5, epsilon=50, alpha="0.05")
    report = run_audit(
        private,
        copy,
        as_queries("SELECT COUNT(*) FROM D"),
        terms,
        SimulatedNoise(1),
        unit=PrivacyUnit("patient"),
    )
    assert report.verdicts[0].outcome == "yes"
