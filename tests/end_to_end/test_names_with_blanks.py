"""Names with blanks: they survive in every option, messages show them, and hints can be pasted."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pqd
from pqd.deciders.names import pasted
from pqd.errors import NothingSelectedError, ParameterError, TableError
from pqd.sql.schema import differs_by_blanks, listed_names, unquoted

KEY, STATION = " Patient ID ", " Station "
ALL = "SELECT COUNT(*) FROM D"


def stays(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            KEY: rng.integers(0, 900, 2_000),
            STATION: rng.choice(["a", "b"], 2_000),
            "age": rng.integers(20, 90, 2_000),
        }
    )


PRIVATE, COPY = stays(1), stays(2)
BARE = COPY.rename(columns=str.strip)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    PRIVATE.to_csv(tmp_path / "private.csv", index=False)
    COPY.to_csv(tmp_path / "copy.csv", index=False)
    BARE.to_csv(tmp_path / "bare.csv", index=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PQD_LEDGER", raising=False)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_the_stop_names_a_column_that_can_be_pasted(
    command: Callable[..., tuple[int, str, str]],
) -> None:
    audit = ["audit", "private.csv", "copy.csv", "-q", ALL, "--tau", "900", "--epsilon", "1"]
    code, _, err = command(*audit)
    assert code == 2
    hint = f'--unit "{KEY}"'
    assert hint in err.replace("\n", " ")
    code, _, err = command(*audit, *shlex.split(hint))
    assert (code, err) == (0, "")
    report = pqd.audit("private.csv", "copy.csv", ALL, tau=900, epsilon=1, unit=KEY)
    assert (report.cost.unit, report.spent) == (KEY, Fraction(0))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("columns", [[STATION], [f'"{STATION}",age']])
def test_columns_keep_their_blanks(
    columns: list[str], command: Callable[..., tuple[int, str, str]]
) -> None:
    options = [word for each in columns for word in ("--columns", each)]
    code, out, _ = command(
        "profile", "private.csv", "copy.csv", "--unit", KEY, "--anyway", "--all", *options
    )
    assert code == 0
    assert "Station" in out


def test_a_spec_keeps_them(folder: Path) -> None:
    (folder / "audit.toml").write_text(
        f"""
        [private]
        path = "private.csv"
        [synthetic.copy]
        path = "copy.csv"
        [privacy]
        unit = "{KEY}"
        [[check]]
        id = "all"
        sql = "{ALL}"
        tau = 900
        epsilon = 1
        """
    )
    assert pqd.check(folder / "audit.toml").cost.unit == KEY


def test_messages_show_blanks_and_say_that_names_differ_only_by_them() -> None:
    with pytest.raises(ParameterError) as wrong:
        pqd.audit(PRIVATE, COPY, ALL, tau=9, epsilon=1, unit="Patient ID")
    assert f'no column "Patient ID", but "{KEY}": the names differ only by blanks' in str(wrong)
    with pytest.raises(ParameterError) as wrong:
        pqd.audit(PRIVATE, BARE, ALL, tau=9, epsilon=1, unit=KEY)
    assert f'no column "{KEY}", but "Patient ID": the names differ only by blanks' in str(wrong)
    with pytest.raises(ParameterError) as wrong:
        pqd.plan(COPY, ALL, tau=9, columns={"Stations": {"type": "text"}})
    assert f'the nearest is "{STATION}"' in str(wrong)
    sql = f"{ALL} WHERE Station = 'a'"
    with pytest.raises(TableError, match="the names differ only by blanks; both"):
        pqd.audit(PRIVATE, BARE, sql, tau=9, epsilon=1, row_is_person=True)
    left = BARE.drop(columns="age")
    with pytest.raises(NothingSelectedError) as nothing:
        pqd.profile(PRIVATE, left, row_is_person=True)
    assert "no such column; the names differ only by blanks" in str(nothing)
    assert "give the columns of both tables the same names" in str(nothing)
    report = pqd.profile(PRIVATE, BARE, row_is_person=True, dry_run=True)
    reasons = [each.reason for each in report.left_out if each.columns == ("Station",)]
    assert reasons == ["the private table has no such column; the names differ only by blanks"]


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("person_id", "person_id"),
        ("Patient ID", '"Patient ID"'),
        (KEY, f'"{KEY}"'),
        ("it's", '"it\'s"'),
        ('a"b', "'a\"b'"),
        ("$HOME", "'$HOME'"),
        ("a`b`", "'a`b`'"),
        ("wow!", "'wow!'"),
    ],
)
def test_a_pasted_name_is_one_word_of_the_shell(name: str, word: str) -> None:
    assert pasted(name) == word
    assert shlex.split(word) == [name]


def test_names_of_options() -> None:
    assert pasted("pay", "=0:9") == "pay=0:9"
    assert shlex.split(pasted(" pay ", "=0:9")) == ['" pay "=0:9']
    assert listed_names(["age, sex", " Station ", '" Station ",age']) == [
        *("age", "sex", " Station "),
        *(" Station ", "age"),
    ]
    assert (unquoted('" a "'), unquoted(" a "), unquoted('"')) == (" a ", " a ", '"')
    assert differs_by_blanks("Patient  id", ["age", "PatientID "]) == "PatientID "
    assert differs_by_blanks("age", ["aged"]) is None
