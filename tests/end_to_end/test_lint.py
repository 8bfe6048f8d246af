"""``pqd lint``: findings in a copy alone, from the command line and Python."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import pqd
from pqd.cli import command_line
from pqd.reports.models.standings import Standing

ROWS = 300


def clean() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    age = rng.integers(0, 100, ROWS)
    pay = (age + rng.normal(size=ROWS)).round(6)
    return pd.DataFrame({
        "id": np.arange(ROWS),
        "age": age,
        "sex": np.where(pay > 60, "f", "m"),
        "since": np.where(age > 40, "2020-01-01", "2021-02-03"),
        "pay": pay,
    })  # fmt: skip


def found(frame: pd.DataFrame, folder: Path, **stated: Any) -> dict[str, tuple[str, ...]]:
    """Columns of each code that is found, apart from that of the identifier."""
    path = folder / "copy.csv"
    frame.to_csv(path, index=False)
    stated = {"keys": ["id"], **stated}
    return {each.note.code: each.columns for each in pqd.lint(path, **stated).findings}


def test_a_copy_without_findings(tmp_path: Path) -> None:
    assert found(clean(), tmp_path) == {}
    assert found(clean(), tmp_path, keys=()) == {"identifier-like": ("id",)}


DAMAGES: dict[str, tuple[Callable[[pd.DataFrame], pd.DataFrame], str, tuple[str, ...]]] = {
    "empty": (lambda f: f.assign(sex=None), "column-empty", ("sex",)),
    "constant": (lambda f: f.assign(sex="f"), "column-constant", ("sex",)),
    "codes": (lambda f: f.assign(sex="0668"), "column-constant", ("sex",)),
    "zip": (
        lambda f: f.assign(sex=f.sex.map({"f": "06680", "m": "13055"})),
        "codes-as-text",
        ("sex",),
    ),
    "nearly numbers": (
        lambda f: f.assign(age=f.age.astype(str).where(f.index > 3, "?")),
        "text-not-read",
        ("age",),
    ),
    "nearly days": (
        lambda f: f.assign(since=f.since.where(f.index > 3, "soon")),
        "kind-nearly",
        ("since",),
    ),
    "identifier": (
        lambda f: f.assign(sex=[f"x{n}" for n in range(len(f))]),
        "identifier-like",
        ("sex",),
    ),
    "nearly a key": (
        lambda f: f.assign(age=[0, 0, *range(2, len(f))]),
        "key-nearly",
        ("age",),
    ),
    "amounts of Germany": (
        lambda f: f.assign(age=[f"{max(n, 1)}.{n:03},5" for n in range(len(f))]),
        "text-not-read",
        ("age",),
    ),
    "amounts of Germany, nearly all different": (
        lambda f: f.assign(age=[f"{max(n, 2)}.000,5" for n in range(len(f))]),
        "text-not-read",
        ("age",),
    ),
    "free text": (
        lambda f: f.assign(sex=[f"{n % 280} or so" for n in range(len(f))]),
        "text-free",
        ("sex",),
    ),
    "free text in few rows": (
        lambda f: f.assign(sex=[f"word {n}" if n < 120 else "" for n in range(len(f))]),
        "text-free",
        ("sex",),
    ),
    "days as numbers": (
        lambda f: f.assign(since=f.since.str.replace("-", "")),
        "days-as-numbers",
        ("since",),
    ),
    "days far away": (
        lambda f: f.assign(since=f.since.where(f.index > 3, "9999-12-31")),
        "days-unusual",
        ("since",),
    ),
    "day first": (lambda f: f.assign(since="01.02.2020"), "column-constant", ("since",)),
    "days first": (
        lambda f: f.assign(since=f.since.map(lambda day: "-".join(day.split("-")[::-1]))),
        "text-not-read",
        ("since",),
    ),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damage_is_named(damage: str, tmp_path: Path) -> None:
    change, code, columns = DAMAGES[damage]
    assert found(change(clean()), tmp_path) == {code: columns}


def test_rows_that_were_duplicated(tmp_path: Path) -> None:
    tall = clean().drop(columns="id").assign(height=np.random.default_rng(2).normal(size=ROWS))
    twice = pd.concat([tall, tall[:30]])
    codes = found(twice, tmp_path, keys=())
    assert codes == {"rows-repeat": ()}
    (finding,) = pqd.lint(tmp_path / "copy.csv").findings
    assert finding.fault
    assert "60 of 330 rows (18 %)" in str(finding.note)
    # Rows of few values repeat in any table.
    few = clean()[["sex", "since"]]
    (finding,) = pqd.lint(few).findings
    assert not finding.fault


def test_a_header_that_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "copy.csv"
    path.write_text("f,m\nf,m\nm,f\nm,m\n")
    assert "header-missing" in {each.note.code for each in pqd.lint(path).faults}


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ({"columns": {"age": {"bounds": (10, None)}}}, {"cells-outside": ("age",)}),
        ({"columns": {"age": {"bounds": (0, 120)}}}, {}),
        ({"columns": {"pay": {"type": "time"}}}, {"cells-misfit": ("pay",)}),
        ({"keys": ["id", ["age", "sex"]]}, {"key-repeats": ("age", "sex")}),
        ({"keys": [["id", "sex"]]}, {}),
    ],
)
def test_stated_facts(
    stated: dict[str, Any], expected: dict[str, tuple[str, ...]], tmp_path: Path
) -> None:
    assert found(clean(), tmp_path, **stated) == expected


def test_rules_that_rows_of_the_copy_violate(tmp_path: Path) -> None:
    frame = clean()
    frame.loc[:4, "age"] = None
    path = tmp_path / "copy.csv"
    frame.to_csv(path, index=False)
    young = int((frame["age"] < 18).sum())
    # A row for which the rule is NULL does not violate it.
    rules = ["age >= 18", "sex = 'f' OR pay <= 60", "age IS NOT NULL"]
    report = pqd.lint(path, keys=["id"], rules=rules)
    assert [str(each.note) for each in report.faults] == [
        f"{young} of 300 rows violate the stated rule: age >= 18.",
        "5 of 300 rows violate the stated rule: age IS NOT NULL.",
    ]
    code, out = run(str(path), "--key", "id", "--rule", "age >= 18", "--strict")
    assert code == 1
    assert "violate the stated rule: age >= 18" in " ".join(out.split())
    with pytest.raises(pqd.errors.PqdError, match="agee"):
        pqd.lint(path, rules=["agee >= 18"])
    with pytest.raises(pqd.errors.ParameterError, match="rules are a list"):
        pqd.lint(path, rules="age >= 18")


def test_facts_of_metadata() -> None:
    fields = [
        {"name": "id", "constraints": {"unique": True}},
        {"name": "age", "type": "integer", "constraints": {"maximum": 50, "required": True}},
        {"name": "sex", "constraints": {"enum": ["f"]}},
        {"name": "since", "type": "date", "constraints": {"minimum": "2020-06-01"}},
        {"name": "income"},
    ]
    frame = clean()
    frame.loc[3, "age"] = None
    frame.loc[4, "id"] = 3
    report = pqd.lint(frame, metadata={"fields": fields})
    assert [(each.note.code, each.columns) for each in report.faults] == [
        ("columns-missing", ("income",)),
        ("columns-unlisted", ("pay",)),
        ("key-repeats", ("id",)),
        ("cells-required", ("age",)),
        ("cells-outside", ("age",)),
        ("values-unlisted", ("sex",)),
        ("cells-outside", ("since",)),
    ]
    assert report.to_frame()["standing"].unique().tolist() == ["fault"]


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(command_line(), ["lint", *arguments])
    return result.exit_code, result.output


def test_exit_codes_of_the_command(tmp_path: Path) -> None:
    path = tmp_path / "copy.csv"
    clean().to_csv(path, index=False)
    code, text = run(str(path), "--strict")
    assert code == 0
    assert "1 worth a look" in text
    code, text = run(str(path), "--bounds", "age=0:10", "--key", "age, sex")
    assert code == 0
    assert "2 faults" in text
    code, text = run(str(path), "--bounds", "age=0:10", "--strict", "--json", "-")
    assert code == 1
    values = json.loads(text)
    assert values["faults"] == 1
    assert values["findings"][0]["code"] == "cells-outside"


@pytest.mark.parametrize(
    "options",
    [
        ("--bounds", "agee=0:10"),
        ("--key", "ides"),
        ("--metadata", "nowhere.json"),
        ("--type", "age=dates"),
    ],
)
def test_what_is_refused(options: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "copy.csv"
    clean().to_csv(path, index=False)
    result = CliRunner().invoke(command_line(), ["lint", str(path), *options])
    assert isinstance(result.exception, pqd.PqdError)


def test_a_copy_without_rows_and_a_known_private_table(tmp_path: Path) -> None:
    path = tmp_path / "copy.csv"
    path.write_text("a,b\n")
    with pytest.raises(pqd.PqdError, match="has no rows"):
        pqd.lint(path)
    private, copy = tmp_path / "private.parquet", tmp_path / "copy.parquet"
    clean().to_parquet(private)
    clean()[::-1].assign(age=3).to_parquet(copy)
    pqd.audit(private, copy, "SELECT COUNT(*) FROM D", tau="5%", epsilon=1)
    with pytest.raises(pqd.PqdError, match="as a private table"):
        pqd.lint(private)


def test_keys_are_a_list() -> None:
    with pytest.raises(pqd.PqdError, match="keys are a list"):
        pqd.lint(clean(), keys="id")


def test_standings_and_renderings() -> None:
    report = pqd.lint(clean().assign(sex=None))
    assert [each.standing for each in report.findings] == [Standing.FAULT, Standing.LOOK]
    assert report.exit_code == 1
    for text in (str(report), report.to_markdown(), report.to_html(), report._repr_html_()):
        assert "is empty in every row" in text


def test_a_profile_shows_what_costs_nothing_on_top(tmp_path: Path) -> None:
    private, copy = tmp_path / "private.csv", tmp_path / "copy.csv"
    clean().to_csv(private, index=False)
    # The person's column and columns of the copy alone are no part of the profile.
    clean().assign(sex="f", more="x", id=0).to_csv(copy, index=False)
    report = pqd.profile(private, copy, unit="id", dry_run=True)
    assert [each.columns for each in report.findings] == [("sex",)]
    text = str(report)
    assert "\"sex\" is 'f' in every row." in text
    assert not pqd.profile(private, clean()[::2], columns=["sex", "age"], dry_run=True).findings


def test_columns_that_were_shuffled(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    shuffled = clean().apply(lambda column: rng.permutation(column.to_numpy()))
    assert found(shuffled, tmp_path) == {"columns-independent": ()}
    assert pqd.lint(tmp_path / "copy.csv", keys=["id"]).faults
