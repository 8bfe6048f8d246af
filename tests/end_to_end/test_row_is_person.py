"""A key of persons that repeats in a copy stops each run that could spend, until one word tells."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import pqd
from pqd.cli import command_line
from pqd.deciders.options import for_shell
from pqd.errors import ParameterError
from pqd.pytest_plugin import Trust

STAYS, PERSONS = 6_000, 2_500
ALL = "SELECT COUNT(*) FROM D WHERE age > 40"
PRICE = ["--total-epsilon", "1"]


def stays(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "Patient ID": rng.integers(0, PERSONS, STAYS),
            "age": rng.integers(20, 90, STAYS),
            "sex": rng.choice(["f", "m"], STAYS),
        }
    )


PRIVATE, COPY = stays(1), stays(2)
# The key of the private table is never looked at: here each of its rows has a value of its own.
UNIQUE = PRIVATE.assign(**{"Patient ID": range(STAYS)})
LIBRARY: dict[str, Callable[..., Any]] = {
    "audit": partial(pqd.audit, PRIVATE, COPY, ALL, tau=50, epsilon=1),
    "shared": partial(pqd.audit, PRIVATE, COPY, ALL, tau=50, total_epsilon=1),
    "unique in private": partial(pqd.audit, UNIQUE, COPY, ALL, tau=50, epsilon=1),
    "profile": partial(pqd.profile, PRIVATE, COPY, anyway=True),
    "dry run": partial(pqd.profile, PRIVATE, COPY, dry_run=True),
    "gate": partial(pqd.gate, PRIVATE, COPY, ALL, tau=50, epsilon=1),
    "table gate": partial(pqd.gate, PRIVATE, COPY, epsilon=50, tau="40%"),
    "compare": partial(
        pqd.compare, PRIVATE, {"a": COPY.assign(**{"Patient ID": range(STAYS)}), "b": COPY}, ALL,
        tau=50, epsilon=1,
    ),
    "rank": partial(pqd.compare, PRIVATE, {"a": COPY}, total_epsilon=1),
    "release": partial(pqd.release, PRIVATE, COPY, ALL, total_epsilon=1),
}  # fmt: skip
COMMANDS = {
    "audit": ["audit", "private.csv", "copy.csv", "-q", ALL, "--tau", "50", "--epsilon", "1"],
    "gated": ["audit", "private.csv", "copy.csv", "-q", ALL, "--tau", "50", "--gate", "1"],
    "profile": ["profile", "private.csv", "copy.csv", "--anyway"],
    "table gate": ["profile", "private.csv", "copy.csv", "--gate", "50", "--tau", "40%"],
    "compare": ["compare", "private.csv", "a=copy.csv", "-q", ALL, "--tau", "9", "--epsilon", "1"],
    "rank": ["compare", "private.csv", "a=copy.csv", *PRICE],
    "release": ["release", "private.csv", "copy.csv", "-q", ALL, *PRICE],
}
SPEC = f"""
[private]
path = "private.csv"
[synthetic.copy]
path = "copy.csv"
[[check]]
id = "old"
sql = "{ALL}"
tau = 50
epsilon = 1
[release]
total_epsilon = 1
queries = "queries.sql"
"""
WORDS = ['"Patient ID" looks like', '--unit "Patient ID" ', "--row-is-person", "no run spends"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    PRIVATE.to_csv(tmp_path / "private.csv", index=False)
    COPY.to_csv(tmp_path / "copy.csv", index=False)
    (tmp_path / "audit.toml").write_text(SPEC)
    (tmp_path / "queries.sql").write_text(f"{ALL};")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PQD_LEDGER", raising=False)
    return tmp_path


def ledgers(folder: Path) -> list[Path]:
    return list(folder.rglob("*.sqlite*"))


@pytest.mark.parametrize("name", LIBRARY)
def test_the_library_stops_and_goes_on_with_one_word(name: str, folder: Path) -> None:
    run = LIBRARY[name]
    with for_shell(), pytest.raises(ParameterError) as refusal:
        run()
    assert all(word in str(refusal.value) for word in WORDS)
    assert not ledgers(folder)
    report = run(row_is_person=True)
    assert "person-key" not in [each.code for each in report.notes]
    if name != "dry run":
        assert report.cost.row_is_person
        assert "Each row is one person, as was stated (row_is_person=True)." in report.to_markdown()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_stops_and_goes_on_with_one_word(name: str, folder: Path) -> None:
    run = partial(CliRunner().invoke, command_line())
    stopped = run(COMMANDS[name])
    assert isinstance(stopped.exception, ParameterError)
    assert all(word in str(stopped.exception) for word in WORDS)
    assert not ledgers(folder)
    told = run([*COMMANDS[name], "--row-is-person"])
    assert told.exit_code in {0, 1}, told.output
    assert ledgers(folder)


@pytest.mark.usefixtures("folder")
def test_the_message_can_be_pasted_and_the_exit_code_is_that_of_usage(
    command: Callable[..., tuple[int, str, str]],
) -> None:
    code, _, err = command(*COMMANDS["audit"])
    assert code == 2
    assert '--unit "Patient ID"' in " ".join(err.split())
    code, out, _ = command(*COMMANDS["audit"], "--unit", "Patient ID")
    assert code == 0
    assert "1 spent" in " ".join(out.split())


def test_a_spec_states_it_once_for_checks_release_and_pytest(folder: Path) -> None:
    path = folder / "audit.toml"
    for run in (
        lambda: pqd.check(path),
        lambda: pqd.check(path, dry_run=True),
        lambda: Trust(path).assert_trusted("old"),
        lambda: Trust(path).assert_trusted(ALL, tau=50, epsilon=1),
    ):
        with pytest.raises(ParameterError, match="unit = "):
            run()
    release = CliRunner().invoke(command_line(), ["release", "audit.toml"])
    assert isinstance(release.exception, ParameterError)
    assert not ledgers(folder)
    path.write_text(SPEC + "[privacy]\nrow_is_person = true\n")
    assert pqd.check(path).cost.row_is_person
    Trust(path).assert_trusted("old")
    assert CliRunner().invoke(command_line(), ["release", "audit.toml"]).exit_code == 0


def test_init_writes_the_unit_and_its_spec_runs(folder: Path) -> None:
    (folder / "audit.toml").unlink()
    assert CliRunner().invoke(command_line(), ["init", "private.csv", "copy.csv"]).exit_code == 0
    text = (folder / "audit.toml").read_text()
    assert 'unit = "Patient ID"  ' in text
    report = pqd.check(folder / "audit.toml")
    assert report.cost.unit == "Patient ID"
    assert f"of {COPY['Patient ID'].nunique():,} and" in text


def test_charges_record_the_statement_and_answers_are_replayed(folder: Path) -> None:
    one = pqd.audit("private.csv", "copy.csv", ALL, tau=50, epsilon=1, row_is_person=True)
    again = pqd.audit("private.csv", "copy.csv", ALL, tau=50, epsilon=1, row_is_person=True)
    assert [one.spent, again.spent] == [1, 0]
    with sqlite3.connect(folder / "pqd-ledger.sqlite") as ledger:
        texts = [str(row) for row in ledger.execute("SELECT * FROM entries")]
    assert any('"row_is_person":true' in text.replace(" ", "") for text in texts)


def test_statements_that_contradict_each_other() -> None:
    with pytest.raises(ParameterError, match="state one of them"):
        pqd.plan(COPY, ALL, tau=5, unit="Patient ID", row_is_person=True)
    with pytest.raises(ParameterError, match="use True or False"):
        pqd.plan(COPY, ALL, tau=5, row_is_person="yes")  # type: ignore[arg-type]


UNIT: dict[str, Any] = {"unit": "Patient ID"}
ASKED = [ALL, "SELECT SUM(age) FROM D", "SELECT AVG(age) FROM D", f"{ALL} GROUP BY sex"]
FACTS = {"age": {"bounds": (0, 900)}}


def test_every_format_says_of_whom_beside_the_query(tmp_path: Path) -> None:
    report = pqd.audit(
        PRIVATE, COPY, ASKED, tau="9%", epsilon=1, columns=FACTS, ledger=tmp_path / "l", **UNIT
    )
    answers = {each.id: each.q_synthetic for each in report.verdicts}
    older = COPY[COPY.age > 40]
    assert answers["q1"] == older["Patient ID"].nunique()
    assert answers["q2"] == COPY.age.sum()
    terminal = report.to_markdown()
    for words in (
        "of persons where age",
        "SUM(age) of persons' totals",
        "AVG(age), each person counted once",
        "GROUP BY sex (of persons)",
    ):
        assert words in terminal
    page = report.to_html()
    assert "of persons where age" in page
    assert "AVG(age), each person counted once" in page
    assert "COUNT is of persons, SUM of persons&#39; totals" in report._repr_html_()
    assert '"max_rows":1' in report.to_json().replace(" ", "")


def test_a_profile_and_a_gate_say_that_persons_count(tmp_path: Path) -> None:
    profile = pqd.profile(PRIVATE, COPY, anyway=True, ledger=tmp_path / "a", **UNIT)
    assert "persons (" in profile.to_markdown()
    assert "each person counts once, since its rows share one weight" in profile.to_markdown()
    three = pqd.profile(PRIVATE, COPY, anyway=True, ledger=tmp_path / "b", max_rows=3, **UNIT)
    assert "a person counts as at most 3 rows, which all of its rows share" in three.to_markdown()
    gate = pqd.gate(PRIVATE, COPY, ALL, tau=900, epsilon=1, ledger=tmp_path / "c", **UNIT)
    assert "is of persons" in gate.to_markdown() or "one person" in gate.to_markdown()
    ranked = pqd.compare(PRIVATE, {"a": COPY}, total_epsilon=1, ledger=tmp_path / "d", **UNIT)
    assert "each person counted once" in ranked.to_html()
    compared = pqd.compare(
        PRIVATE, {"a": COPY}, ALL, tau=9, epsilon=1, ledger=tmp_path / "e", **UNIT
    )
    assert "of persons where age" in compared.to_markdown()
    released = pqd.release(PRIVATE, COPY, ALL, total_epsilon=1, ledger=tmp_path / "f", **UNIT)
    assert "of persons where age" in released.to_markdown()
    plan = pqd.plan(COPY, ALL, tau=9, **UNIT)
    assert "of persons where age" in plan.to_markdown()
