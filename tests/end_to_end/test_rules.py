"""Rules of a row: in a spec, on the command line, in Python; with a tolerance in rows."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import pqd
from pqd.commands.check import run_check
from pqd.spec import read_spec
from pqd.spec.problems import SpecError
from tests.support.noises import Absent

Command = Callable[..., tuple[int, str, str]]

HEAD = """\
[private]
path = "private.csv"
[synthetic.copy]
path = "copy.csv"
[ledger]
path = "ledger.sqlite"
"""
RULE = """\
[[rule]]
id = "amounts"
must = "NOT loan OR amount IS NOT NULL"
"""
# Of 4,000 rows the private table has 2 that violate the rule, and the copy one, or 400.
TOLERANCE = 4


def table(violations: int, unknown: int = 0) -> pd.DataFrame:
    """4,000 rows, of which some violate the rule, and some make it NULL."""
    rows = 4_000
    return pd.DataFrame(
        {
            "loan": ["true"] * (rows // 2 - unknown) + [None] * unknown + ["false"] * (rows // 2),
            "amount": [None] * violations + [str(100 + i % 900) for i in range(rows - violations)],
        }
    )


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a private table and a copy."""
    table(2).to_csv(tmp_path / "private.csv", index=False)
    table(1).to_csv(tmp_path / "copy.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def spec(text: str, more: str = "[defaults]\nepsilon = 1\n") -> str:
    """Path of a spec in the folder."""
    Path("audit.toml").write_text(HEAD + more + text, encoding="utf-8")
    return "audit.toml"


def test_a_rule_is_a_count_of_violations_within_a_share_of_the_rows() -> None:
    (check,) = run_check(read_spec(spec(RULE)), Absent()).checks
    (verdict,) = check.verdicts
    assert (check.id, check.status) == ("amounts", "as expected")
    assert (verdict.q_synthetic, verdict.tau, verdict.outcome) == (1, TOLERANCE, "yes")
    assert verdict.sql == "SELECT COUNT(*) FROM D WHERE NOT (NOT loan OR amount IS NOT NULL)"
    table(400).to_csv("copy.csv", index=False)
    (check,) = run_check(read_spec(spec(RULE)), Absent()).checks
    assert check.status == "not as expected"
    wider = RULE + 'tau = "15% of rows"\n'
    assert run_check(read_spec(spec(wider)), Absent()).exit_code == 0


def test_a_rule_that_is_null_is_not_violated() -> None:
    table(400, unknown=2_000).to_csv("copy.csv", index=False)
    (check,) = run_check(read_spec(spec(RULE)), Absent()).checks
    assert check.verdicts[0].q_synthetic == 0


def test_rules_are_conditions_of_a_gate() -> None:
    path = spec(RULE, more="[budget]\ngate = 5\n")
    report = pqd.check(path)
    assert report.gate is not None
    assert (report.exit_code, report.gate.conditions) == (0, 1)


@pytest.mark.parametrize(
    ("text", "more", "found"),
    [
        (RULE, "", '[[rule]] "amounts" has no epsilon'),
        (RULE + RULE, "[defaults]\nepsilon = 1\n", "ids must differ"),
        ('[[rule]]\nid = "a"\nmust = "loan) OR (loan"\n', "", "a ( that it does not open"),
        ('[[rule]]\nid = "a"\n', "[defaults]\nepsilon = 1\n", "has no must"),
        (RULE + "epsilon = 1\n", "[budget]\ngate = 1\n", "has epsilon, but [budget] has a gate"),
    ],
)
def test_mistakes_are_told_with_their_line(text: str, more: str, found: str) -> None:
    with pytest.raises(SpecError) as error:
        read_spec(spec(text, more))
    assert found in str(error.value)


@pytest.mark.parametrize(
    "must",
    [
        "a > 1 /* ' */ ) OR (a = 2 /* ' */",
        "a > 1 -- '\n) OR (a = 2 -- '\n",
        "b = E'\\'' ) OR (b = E'\\''",
    ],
)
def test_no_quote_hides_the_end_of_a_condition(must: str) -> None:
    with pytest.raises(pqd.PqdError, match=r"a \( that it does not open"):
        pqd.Query.rule(must)


def test_a_rule_that_is_no_condition_is_an_error_of_its_check(command: Command) -> None:
    code, out, _ = command("check", spec(RULE.replace("loan OR", "loaan OR")))
    assert code == 2
    assert "loaan" in out


def test_rules_on_the_command_line_and_in_python(command: Command) -> None:
    rule = "NOT loan OR amount IS NOT NULL"
    code, out, _ = command("audit", "private.csv", "copy.csv", "--rule", rule, "--epsilon", "5")
    assert code == 0
    assert "rule1" in out
    report = pqd.audit("private.csv", "copy.csv", pqd.Query.rule(rule, "loans"), epsilon=5)
    (verdict,) = report.verdicts
    assert (verdict.id, verdict.tau, verdict.q_synthetic) == ("loans", TOLERANCE, 1)
