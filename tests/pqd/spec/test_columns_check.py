"""Checks of columns: public, free, exact; a column that vanished fails them by its name."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pqd.accounting.accountant import Accountant
from pqd.commands.check import run_check
from pqd.errors import NothingSelectedError
from pqd.reports.models.check import CheckReport
from pqd.spec import read_spec
from pqd.spec.problems import SpecError
from tests.support.noises import Absent

ROWS = 600
SPEC = """
[private]
path = "private.csv"
[synthetic.copy]
path = "copy.csv"
{more}
[[check]]
id = "columns"
schema = "complete"
{severity}
"""
SCORE = """
[[check]]
id = "overall"
score = "overall"
at_least = "10%"
epsilon = 20
"""


def people(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 60, ROWS),
            "city": rng.choice(["Bonn", "Ulm", "Trier"], ROWS),
            "id": np.arange(ROWS) + seed * ROWS,
        }
    )


def checked(
    folder: Path, copy: pd.DataFrame, more: str = "", score: str = "", severity: str = ""
) -> CheckReport:
    """Report of a check of the columns, and perhaps of the score."""
    people(1).to_csv(folder / "private.csv", index=False)
    copy.to_csv(folder / "copy.csv", index=False)
    spec = folder / "audit.toml"
    spec.write_text(SPEC.format(more=more, severity=severity) + score)
    return run_check(read_spec(spec), Absent())


AN_ID = "[columns.id]\njudge = false"


def test_a_whole_copy_passes_and_nothing_is_spent(tmp_path: Path) -> None:
    report = checked(tmp_path, people(2), AN_ID)
    assert (report.exit_code, report.cost.epsilon) == (0, Fraction(0))
    assert "public and exact" in report.checks[0].message
    assert report.checks[0].verdicts == ()
    for text in (report.to_json(), str(report.to_html()), report.to_markdown()):
        assert "columns" in text


@pytest.mark.parametrize(
    ("copy", "told"),
    [
        (people(2), "id is not judged: looks like an identifier in the copy (600 values"),
        (people(2).drop(columns="city"), "city is missing in the copy. This"),
        (people(2).assign(city=[f"x{n}" for n in range(ROWS)]), "city is not judged"),
        (people(2).assign(more=1), "more is only in the copy: the private table has no such"),
    ],
)
@pytest.mark.parametrize("score", ["", SCORE])
def test_a_column_that_vanished_fails_by_name(
    tmp_path: Path, copy: pd.DataFrame, told: str, score: str
) -> None:
    """Also a check of the score, which is then not measured."""
    report = checked(tmp_path, copy, "" if "id is" in told else AN_ID, score)
    assert (report.exit_code, report.cost.epsilon) == (1, Fraction(0))
    for each in report.checks:
        assert told in each.message
        assert (each.status, each.gate) == ("not as expected", "fail")
        assert "no p-value" in each.message


def test_a_spec_says_what_may_be_missing_and_what_is_judged(tmp_path: Path) -> None:
    copy = people(2).drop(columns="city")
    more = f"{AN_ID}\n[columns.city]\njudge = false"
    assert checked(tmp_path, copy, more, SCORE).exit_code == 0
    judged = checked(tmp_path, people(2), "[columns.id]\njudge = true", SCORE)
    assert judged.exit_code == 0
    assert judged.cost.epsilon == 20
    assert checked(tmp_path, copy, AN_ID, severity='severity = "warn"').exit_code == 0


OF_CITY = """
[[check]]
id = "city"
marginal = ["city"]
tau = "20%"
epsilon = 1

[[check]]
id = "city-age"
marginal = ["city", "age"]
tau = "20%"
epsilon = 1
"""


QUERIES = """
[[check]]
id = "ulm"
sql = "SELECT COUNT(*) FROM D WHERE City = 'Ulm' AND id >= 0"
tau = "20%"
epsilon = 1

[[check]]
id = "rows"
sql = "SELECT COUNT(*) FROM D"
tau = "20%"
epsilon = 1
"""


def test_what_the_copy_lacks_fails_once_and_its_checks_follow(tmp_path: Path) -> None:
    """An older spec on such a copy: one failure, exit code 1, and the other checks as ever."""
    copy = people(2).drop(columns=["city", "id"])
    report = checked(tmp_path, copy, "", OF_CITY + QUERIES)
    told = {each.id: (each.status, each.message) for each in report.checks}
    assert report.exit_code == 1
    assert "city and id are missing in the copy." in told["columns"][1]
    assert told["city"] == told["city-age"] == ("not told", "the copy lacks city")
    assert told["ulm"] == ("not told", "the copy lacks city and id")
    assert told["rows"][0] == "as expected"
    assert report.cost.epsilon == 1
    alone = run_check(read_spec(tmp_path / "audit.toml"), Absent(), only="ulm")
    assert (alone.exit_code, alone.checks[0].status) == (1, "not as expected")
    milder = checked(tmp_path, copy, "", OF_CITY + QUERIES, severity='severity = "warn"')
    assert milder.exit_code == 1
    # What neither table has is a mistake of the spec.
    mistaken = checked(tmp_path, copy, "", OF_CITY.replace('["city"]', '["town"]'))
    assert (mistaken.exit_code, mistaken.checks[1].status) == (2, "broken")


VALUES = '[[check]]\nid = "values"\ncolumn = "city"\n'


def test_values_of_a_destroyed_column_are_not_told_where_columns_fails(tmp_path: Path) -> None:
    """A copy with random texts in a column, held to an older spec, fails and is no error."""
    copy = people(2)
    copy["city"] = [f"x{k}" for k in range(len(copy))]
    report = checked(tmp_path, copy, AN_ID, f"{VALUES}[budget]\ngate = 0.25\n")
    told = {each.id: (each.standing.badge.text, each.message) for each in report.checks}
    assert (report.exit_code, report.cost.epsilon) == (1, Fraction(0))
    assert told["values"] == ("not told", "city cannot be judged: see columns")
    shown = " ".join(str(report).split())
    assert shown.index("FAIL columns") < shown.index("not told values")
    # By itself, or where nothing else fails for it, the check says what is wrong.
    alone = run_check(read_spec(tmp_path / "audit.toml"), Absent(), only="values")
    assert (alone.exit_code, alone.checks[0].status) == (2, "broken")


def test_a_gate_of_a_copy_that_lacks_a_column_is_not_run(tmp_path: Path) -> None:
    gated = (OF_CITY + QUERIES).replace("epsilon = 1\n", "") + "[budget]\ngate = 0.25\n"
    report = checked(tmp_path, people(2).drop(columns="city"), AN_ID, f"{gated}{VALUES}")
    told = {each.id: each.message for each in report.checks}
    assert (report.exit_code, report.cost.epsilon) == (1, Fraction(0))
    assert told["values"] == told["city"] == "the copy lacks city"
    assert told["rows"].startswith("not measured (synthetic answer 600")
    assert "The gate was not run and nothing was spent" in " ".join(str(report).split())


def test_checks_of_a_column_that_is_set_aside_are_left_out(tmp_path: Path) -> None:
    more = f"{AN_ID}\n[columns.CITY]\njudge = false"
    report = checked(tmp_path, people(2), more, OF_CITY)
    assert [each.id for each in report.checks] == ["columns"]
    assert (report.exit_code, report.cost.epsilon) == (0, Fraction(0))
    assert "every column but id and CITY (judge = false) is in both" in report.checks[0].message
    assert "2 checks are left out: judge = false is stated for CITY." in report.to_markdown()
    with pytest.raises(NothingSelectedError, match="no check is left: all are of CITY"):
        run_check(read_spec(tmp_path / "audit.toml"), Absent(), only="city")
    assert len(checked(tmp_path, people(2), AN_ID, OF_CITY).checks) == 3


def test_a_dry_run_tells_it_too(tmp_path: Path) -> None:
    checked(tmp_path, people(2), AN_ID)
    ledger = tmp_path / "ledger.sqlite"
    report = run_check(read_spec(tmp_path / "audit.toml"), Absent(), ledger=ledger, dry_run=True)
    assert report.exit_code == 0
    assert not Accountant(ledger).exists()


def test_a_gate_does_not_run_where_a_column_vanished(tmp_path: Path) -> None:
    gate = "[budget]\ngate = 20"
    query = """
[[check]]
id = "rows"
sql = "SELECT COUNT(*) FROM D"
tau = 300
"""
    lacking = checked(tmp_path, people(2).drop(columns="city"), f"{AN_ID}\n{gate}", query)
    assert (lacking.exit_code, lacking.cost.epsilon) == (1, Fraction(0))
    whole = checked(tmp_path, people(2), f"{AN_ID}\n{gate}", query)
    assert (whole.exit_code, whole.cost.epsilon) == (0, Fraction(20))


@pytest.mark.parametrize("key", ['tau = "5%"', "epsilon = 1", 'expect = "far"'])
def test_keys_of_a_measurement_are_refused(tmp_path: Path, key: str) -> None:
    with pytest.raises(SpecError, match="schema"):
        checked(tmp_path, people(2), severity=key)
