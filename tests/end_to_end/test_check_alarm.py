"""An alarm in a spec: a copy that is nearer than rows drawn from the private table fails."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pqd
from pqd.commands.check import run_check
from pqd.deciders import SimulatedNoise
from pqd.reports.github import github_text
from pqd.reports.junit import junit_text
from pqd.reports.models.check import CheckReport
from pqd.reports.models.standings import Standing
from pqd.spec import SpecError, read_spec
from tests.support.noises import Absent

Command = Callable[..., tuple[int, str, str]]
ERROR = "copy.csv is closer to the private table than rows drawn from the private table itself"
NOTE = "copy.csv is closer to the private table than an independent real sample of this size"
SPEC = """[private]
path = "private.csv"

[synthetic.copy]
path = "copy.csv"
{facts}
[defaults]
epsilon = 1
severity = "warn"

[[check]]
id = "near"
alarm = "overall"
{more}"""


def people(seed: int, rows: int = 3_000) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 60, rows)
    return pd.DataFrame({"age": age, "old": age // 15, "job": rng.choice([*"abcde"], rows)})


SECRET = people(1)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    SECRET.to_csv("private.csv", index=False)
    SECRET.iloc[1:].to_csv("copy.csv", index=False)
    return tmp_path


def written(facts: str = "", more: str = "") -> Path:
    path = Path("audit.toml")
    path.write_text(SPEC.format(facts=facts, more=more), encoding="utf-8")
    return path


def checked(facts: str = "", *, dry_run: bool = False) -> CheckReport:
    return run_check(read_spec(written(facts), {}), Absent(), dry_run=dry_run, fresh=not dry_run)


def headed(report: CheckReport, sentence: str) -> None:
    """Every rendering begins with the sentence, or has it before the rows where it has a frame."""
    assert " ".join(str(report).split()).find(sentence) in range(10)
    assert sentence in report.to_markdown().split("\n")[0]
    page = " ".join(report.to_html().split())
    assert 0 < page.index(sentence) < page.index("<table")
    suite = ET.fromstring(junit_text(report))  # noqa: S314 - made by pqd
    told = suite.findtext("testsuite/system-out")
    assert told
    assert sentence in told.splitlines()[0]
    summary = github_text(report, "audit.toml").splitlines()[-1]
    assert sentence in summary.partition("title=pqd check::")[2][:200]


@pytest.mark.usefixtures("folder")
def test_the_table_less_one_row_is_an_error_that_fails_whatever_the_defaults_say() -> None:
    report = checked()
    (entry,) = report.checks
    assert (entry.gate, report.exit_code) == ("fail", 1)
    assert entry.alarm
    assert entry.alarm.standing is Standing.DRAWN
    assert entry.message.startswith(f"ERROR: {ERROR}")
    headed(report, ERROR)
    found = json.loads(report.to_json())["checks"][0]["alarm"]
    assert found["standing"] == "closer than drawn"
    assert found["copy_epsilon"] is None


@pytest.mark.usefixtures("folder")
def test_the_epsilon_of_the_copy_makes_it_a_note() -> None:
    report = checked("copy_epsilon = 0.5")
    (entry,) = report.checks
    assert (entry.gate, report.exit_code) == ("warn", 0)
    assert entry.alarm
    assert entry.alarm.standing is Standing.INDEPENDENT
    headed(report, NOTE)
    assert "It is said to be made under epsilon 0.5" in entry.message
    assert json.loads(report.to_json())["checks"][0]["alarm"]["copy_epsilon"] == 0.5


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("facts", ["", "copy_epsilon = 0.5"])
@pytest.mark.parametrize("rows", [1_000, 3_000])
def test_an_independent_copy_raises_none(facts: str, rows: int) -> None:
    people(2, rows).to_csv("copy.csv", index=False)
    report = checked(facts)
    (entry,) = report.checks
    assert (entry.gate, report.exit_code) == ("pass", 0)
    assert entry.alarm
    assert entry.alarm.standing is None
    assert "no alarm: farther than rows drawn" in entry.message
    assert "silence is no safety" in entry.message
    assert "closer to the private table" not in str(report)


@pytest.mark.usefixtures("folder")
def test_what_is_not_proven_is_no_alarm() -> None:
    spec = read_spec(written(more="epsilon = 0.001"), {})
    (entry,) = run_check(spec, SimulatedNoise(1), fresh=True).checks
    assert entry.gate == "pass"
    assert "no alarm: not proven to be closer" in entry.message


@pytest.mark.usefixtures("folder")
def test_the_mark_is_public() -> None:
    """Neither the plan nor the price nor the tolerance depends on the private table."""

    plans, marks = set(), set()
    privates = [SECRET, SECRET.iloc[2:], people(5, 40), SECRET.assign(job="zzz")]
    for private in privates:
        private.to_csv("private.csv", index=False)
        plan = checked(dry_run=True)
        plans.add((plan.to_json(), str(plan)))
    for private in privates:
        private.to_csv("private.csv", index=False)
        marks.add(checked().checks[0].tolerance)
    assert (len(plans), len(marks)) == (1, 1)


@pytest.mark.usefixtures("folder")
def test_profile_and_check_agree_on_the_mark_and_the_words() -> None:
    profile = pqd.profile("private.csv", "copy.csv", total_epsilon=20)
    assert profile.alarm
    (entry,) = checked().checks
    assert entry.alarm
    assert entry.alarm.drawn == pytest.approx(profile.alarm.drawn, abs=2e-6)
    ending = "It seems to repeat rows of real people"
    assert f"{ending}: do not publish it." in entry.message
    assert f"{ending}." in " ".join(str(profile).split())


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("key", ['tau = "5%"', 'expect = "close"', 'on_undecided = "fail"'])
def test_an_alarm_has_no_terms_of_its_own(key: str) -> None:
    with pytest.raises(SpecError, match="but an alarm has none; leave it out"):
        read_spec(written(more=key), {})


@pytest.mark.usefixtures("folder")
def test_the_spec_of_init_has_no_alarm_that_an_honest_copy_may_ring(command: Command) -> None:
    assert command("init", "private.csv", "copy.csv", "--gate", "4")[0] == 0
    text = Path("audit.toml").read_text(encoding="utf-8")
    assert "whether the copy is nearly all private rows, the alarm (" in " ".join(
        text.replace("#", "").split()
    )
    assert 'alarm = "overall"' not in text


@pytest.mark.usefixtures("folder")
def test_a_copy_without_a_mark_is_refused() -> None:
    pd.DataFrame({"job": ["a"] * 50}).to_csv("copy.csv", index=False)
    (entry,) = checked().checks
    assert (entry.status, entry.gate) == ("broken", "error")
    assert "an alarm has no mark here" in entry.message
