"""A gate from the command line and from Python: green, red, named, refused, replayed, planned."""

import html
import json
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from unittest.mock import MagicMock

import numpy as np
import pandas as pd
import pytest

import pqd
from pqd.accounting.accountant import Accountant
from pqd.accounting.accounts import Budget
from pqd.accounting.ledger import Ledger
from pqd.commands.check import run_check
from pqd.commands.gate import gate_terms, run_table_gate
from pqd.deciders import SimulatedNoise
from pqd.deciders.errors import UnanswerableError
from pqd.errors import BudgetError, PqdError
from pqd.marginals.profile_parameters import ProfileParameters
from pqd.planning.gate import GateInput, plan_gate
from pqd.reports.models.check import CheckReport
from pqd.reports.text.check import advice
from pqd.spec import read_spec
from pqd.spec.problems import SpecError
from tests.support.noises import Absent, Recorded

Command = Callable[..., tuple[int, str, str]]

HEAD = """\
[private]
path = "private.parquet"
[synthetic.copy]
path = "copy.parquet"
[ledger]
path = "ledger.sqlite"
[budget]
gate = 0.25
{budget}
[defaults]
tau = "10%"
{more}
"""
ROWS = '[[check]]\nid = "rows"\nsql = "SELECT COUNT(*) FROM D"\n'
JOBS = '[[check]]\nid = "jobs"\nsql = "SELECT job, COUNT(*) FROM D GROUP BY job"\n'
AGE = '[[check]]\nid = "age"\nsql = "SELECT AVG(age) FROM D"\n'
BOUNDS = "[columns.age]\nbounds = [0, 120]\nstep = 1\n"
PAIR = '[[check]]\nid = "pair"\nmarginal = ["sex", "job"]\n'
SCORE = '[[check]]\nid = "score"\nscore = "overall"\nat_least = "90%"\n'
FEW = '[[check]]\nid = "few"\nsql = "SELECT COUNT(*) FROM D WHERE sex = \'f\'"\nexpect = "far"\n'


def people(rows: int, seed: int, share: float = 0.5) -> pd.DataFrame:
    """Ages, jobs and sexes; a ``share`` of the rows is of women."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "sex": np.where(rng.random(rows) < share, "f", "m"),
            "job": rng.choice(["cook", "smith", "nurse"], rows, p=[0.6, 0.3, 0.1]),
            "age": rng.integers(18, 80, rows),
        }
    )


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a private table and an honest copy."""
    people(4_000, 1).to_parquet(tmp_path / "private.parquet")
    people(4_000, 2).to_parquet(tmp_path / "copy.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def spec(*checks: str, budget: str = "", more: str = "") -> str:
    """Path of a spec in the folder, with these checks."""
    text = HEAD.format(budget=budget, more=more) + "".join(checks)
    Path("audit.toml").write_text(text, encoding="utf-8")
    return "audit.toml"


def exact(path: str) -> CheckReport:
    """Report without noise."""
    return run_check(read_spec(path), Absent(), fresh=True)


def test_all_hold_for_one_epsilon(command: Command) -> None:
    path = spec(ROWS, JOBS, AGE, PAIR, SCORE, more=BOUNDS)
    report = pqd.check(path)
    assert report.gate is not None
    assert (report.exit_code, report.gate.outcome, report.gate.conditions) == (0, "holds", 7)
    assert report.gate.p_value is not None
    assert report.gate.p_value <= 0.05
    assert report.cost.epsilon == Fraction(1, 4)
    assert [check.status for check in report.checks] == ["as expected"] * 6
    code, out, _ = command("check", path)
    assert code == 0
    assert "all 7 conditions hold" in " ".join(out.split())
    assert "nothing spent" in out
    (account,) = Ledger("ledger.sqlite").accounts
    assert account.epsilon == Fraction(1, 4)


def values(column: str) -> str:
    """Check of the values of a column."""
    return f'[[check]]\nid = "{column}-values"\ncolumn = "{column}"\n'


def test_a_released_number_of_rows_is_at_least_one() -> None:
    """Noise may put the number of rows below 1; the gate still answers for what it charged."""
    report = run_check(read_spec(spec(values("job"))), Recorded([-5], answer=True), fresh=True)
    assert report.gate is not None
    assert (report.gate.rows, report.gate.outcome, report.exit_code) == (1, "undecided", 1)


def test_values_of_a_column_are_conditions_and_the_worst_is_named(command: Command) -> None:
    """A rare value is lost: the distance of the column does not see it, its values do."""
    private = people(4_000, 1)
    private.loc[private.index[:150], "job"] = "clown"
    private.to_parquet("private.parquet")
    copy = people(4_000, 2).assign(sex=lambda table: table["sex"].where(table.index > 400))
    copy.to_parquet("copy.parquet")
    path = spec(ROWS, values("JOB"), values("sex"), budget="names = 4\ngate = 2")
    Path(path).write_text(Path(path).read_text().replace("gate = 0.25\n", ""), "utf-8")
    report = run_check(read_spec(path), Absent(), fresh=True)
    assert report.gate is not None
    assert report.gate.worst is not None
    assert report.gate.worst.name == "sex-values: empty rows"
    statuses = {check.id: (check.status, check.sql) for check in report.checks[1:]}
    assert statuses["sex-values"] == ("not as expected", "VALUES(sex)")
    assert statuses["JOB-values"] == ("not told", "VALUES(JOB)")
    message = report["sex-values"].message
    assert re.search(r"the copy has 401, the private table fewer than \d+ or more than", message)
    (step,) = advice(report["sex-values"], report.gate)
    assert "take this check out" in step
    assert "Next: sex-values: make the copy better there" in " ".join(str(report).split())
    private.assign(sex=people(4_000, 1)["sex"].where(private.index > 400)).to_parquet(
        "private.parquet"
    )
    report = run_check(read_spec(path), Absent(), fresh=True)
    assert report.gate is not None
    assert report.gate.worst is not None
    assert report.gate.worst.name == "JOB-values: lost values"
    private["job"] = people(4_000, 1)["job"]
    private.assign(sex=people(4_000, 1)["sex"].where(private.index > 400)).to_parquet(
        "private.parquet"
    )
    code, out, _ = command("check", path)
    assert code == 0
    assert "conditions on the values of JOB" in " ".join(out.split())


def test_values_of_a_column_have_the_same_conditions_beside_others(command: Command) -> None:
    """What a check asks depends on the copy and the gate, not on the other checks."""
    own = pqd.check(spec(values("job"), budget="epsilon = 1"), dry_run=True)
    beside = pqd.check(spec(ROWS, SCORE, values("job")), dry_run=True, only="job-values")
    assert own.gate is not None
    assert beside.gate is not None
    assert own.gate.conditions == beside.gate.conditions == 4
    whole = pqd.gate("private.parquet", "copy.parquet", epsilon="0.25", dry_run=True)
    words = next(check.message for check in whole.checks if check.id == "job")
    assert f"{own.gate.conditions} conditions on its values" in words
    assert own.checks[1].message == f"{own.gate.conditions} conditions on the values of job"
    code, out, _ = command("check", "audit.toml", "--gate", "0.007", "--dry-run")
    assert code == 0
    assert "not judged, since chance and noise alone may explain it" in " ".join(out.split())


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("colour", "the values of colour cannot be judged: the copy has no such column"),
        ("id", "the values of id cannot be judged: looks like an identifier in the copy"),
    ],
)
def test_values_that_cannot_be_judged_break_their_check_and_spend_nothing(
    column: str, words: str
) -> None:
    for seed, name in enumerate(["private", "copy"]):
        people(4_000, seed).assign(id=range(4_000)).to_parquet(f"{name}.parquet")
    report = pqd.check(spec(ROWS, values(column)))
    assert (report.checks[-1].status, report.checks[-1].gate) == ("broken", "error")
    assert words in report.checks[-1].message
    assert report.gate is None
    assert report.cost.epsilon == 0


def test_identifiers_of_a_copy_of_a_tenth_are_not_counted() -> None:
    """Their number grows with the rows; a copy of the same size must have as many."""
    rows = 4_000
    people(rows, 1).assign(id=range(rows)).to_parquet("private.parquet")
    stated, terms = ProfileParameters.parse(), gate_terms(1, None, "0.05", rows)
    for size in (rows, rows // 4):
        people(size, 2).assign(id=range(size)).to_parquet("copy.parquet")
        report = run_table_gate("private.parquet", "copy.parquet", stated, terms, Absent())
        assert report.gate is not None
        assert report.gate.outcome == "holds"
        told = "which has another number of rows" in " ".join(map(str, report.notes))
        assert told is (size < rows)
        assert ("id" in {check.id for check in report.checks}) is (size == rows)


@pytest.mark.parametrize("more", ['distance = "ks"', 'expect = "far"', 'scale = "rows"'])
def test_a_check_of_values_has_no_key_of_other_checks(more: str) -> None:
    with pytest.raises(SpecError) as caught:
        pqd.check(spec(values("job") + more + "\n"))
    (problem,) = caught.value.problems
    assert str(problem.code) == "contradiction"


def test_the_margin_is_the_least_of_those_that_the_checks_have_alone() -> None:
    alone = exact(spec(ROWS, JOBS, AGE, PAIR, FEW, more=BOUNDS))
    single = HEAD.replace("gate = 0.25", "").format(budget="", more="epsilon = 0.25\n" + BOUNDS)
    checks = [ROWS, JOBS, AGE, PAIR, FEW]
    named = [each + f'decider = "{d}"\n' for each, d in zip(checks[:3], DECIDERS, strict=True)]
    Path("single.toml").write_text(single + "".join([*named, PAIR, FEW + COUNTED]), "utf-8")
    margins = [
        (v.margin or 0) if check.expect == "close" else 1 - (v.margin or 0)
        for check in exact("single.toml").checks
        for v in check.verdicts
    ]
    assert len(margins) == 7
    assert alone.gate is not None
    assert alone.gate.margin == min(margins)


DECIDERS = ("inv_count", "inv_count", "inv_mean")
COUNTED = 'decider = "inv_count"\n'


def test_a_red_gate_fails_and_names_nothing_without_an_epsilon(command: Command) -> None:
    people(4_000, 2, 0.2).to_parquet("copy.parquet")
    code, out, _ = command("check", spec(ROWS, JOBS, PAIR))
    assert code == 1
    words = " ".join(out.split())
    assert "at least one of 5 conditions fails (p < 0.001)" in words
    step = "names the worst check, for an epsilon of its own; the gate itself is then replayed"
    assert f"Next: names = 0.5 in [budget] {step}" in words
    assert "3 not told" not in words
    for output in ("junit=-", "github"):
        told = html.unescape(command("check", "audit.toml", "--output", output)[1])
        assert f"next: --names 0.5 {step}" in told
    assert step in command("check", "audit.toml", "--output", "markdown=-")[1]
    report = json.loads(command("check", "audit.toml", "--output", "json=-")[1])
    assert [each["status"] for each in report["checks"][1:]] == ["not told"] * 3
    assert report["gate"]["worst"] is None


def test_the_worst_is_named_for_an_epsilon_that_is_spent_only_then(command: Command) -> None:
    path = spec(ROWS, JOBS, PAIR, budget="names = 0.5")
    assert pqd.check(path).cost.epsilon == Fraction(1, 4)
    people(4_000, 2, 0.2).to_parquet("copy.parquet")
    report = pqd.check(path)
    assert report.gate is not None
    assert report.gate.worst is not None
    assert (report.gate.worst.name, report.gate.worst.holds) == ("pair", False)
    assert report.cost.epsilon == Fraction(3, 4)
    statuses = {check.id: check.status for check in report.checks}
    assert statuses == {
        "all checks": "not as expected",
        "pair": "not as expected",
        "rows": "not told",
        "jobs": "not told",
    }
    # The same run again is replayed, its name included.
    code, out, _ = command("check", path)
    assert code == 1
    assert "nothing spent" in out
    words = " ".join(out.split())
    assert "the worst is pair: it fails" in words
    assert "the distance is about 30" in words
    assert "; the condition: tolerance" in words
    junit = command("check", path, "--output", "junit=-")[1]
    assert 'failures="2"' in junit
    assert 'skipped="2"' in junit


def test_a_limit_that_does_not_hold_the_name_leaves_the_gate(command: Command) -> None:
    people(4_000, 2, 0.2).to_parquet("copy.parquet")
    code, out, _ = command("check", spec(ROWS, PAIR, budget="names = 0.5\nepsilon = 0.5"))
    words = " ".join(out.split())
    assert code == 1
    assert "epsilon 0.25 spent" in words
    assert "The worst condition is not named" in words
    code, _, err = command("check", spec(ROWS, PAIR, AGE, more=BOUNDS, budget="epsilon = 0.4"))
    assert code == 4
    assert "needs epsilon 0.25" in err


def test_a_group_of_a_check_is_named() -> None:
    copy = people(4_000, 2)
    copy.loc[copy["job"] == "nurse", "job"] = "cook"
    copy.loc[:50, "job"] = "nurse"
    copy.to_parquet("copy.parquet")
    report = exact(spec(ROWS, JOBS, budget="names = 1"))
    assert report.gate is not None
    assert report.gate.worst is not None
    assert report.gate.worst.name == "jobs: job = nurse"
    # The margin of a COUNT is a number of persons, so it tells how far off the group is.
    true = int((people(4_000, 1)["job"] == "nurse").sum()) - 51
    assert f"off by about {true}" in report.checks[2].message
    (jobs,) = (check for check in report.checks if check.id == "jobs")
    assert (jobs.status, jobs.gate) == ("not as expected", "fail")


@pytest.mark.parametrize("aggregate", ["MEDIAN(age)", "QUANTILE(age, 0.3)"])
def test_a_named_quantile_says_how_far_off_it_is_in_the_unit_of_its_column(aggregate: str) -> None:
    copy = people(4_000, 2)
    copy["age"] += 20
    copy.to_parquet("copy.parquet")
    check = f'[[check]]\nid = "old"\nsql = "SELECT {aggregate} FROM D"\ntau = 5\n'
    report = exact(spec(check, ROWS, budget="names = 1"))
    message = next(each.message for each in report.checks if each.id == "old")
    noun = aggregate.partition("(")[0].lower()
    assert f"the private {noun} is more than 5 away from the copy's" in message


def test_several_copies_are_one_gate() -> None:
    people(4_000, 3, 0.2).to_parquet("bad.parquet")
    more = '[synthetic.bad]\npath = "bad.parquet"\n'
    report = exact(spec(PAIR, ROWS, budget="names = 1", more=more))
    assert report.gate is not None
    assert report.gate.conditions == 4
    assert report.gate.worst is not None
    assert report.gate.worst.name == "pair@bad"


def test_no_build_passes_on_checks_that_are_not_told_alone() -> None:
    people(4_000, 2, 0.2).to_parquet("copy.parquet")
    report = exact(spec(ROWS, PAIR))
    untold = tuple(check for check in report.checks if check.gate == "untold")
    left = replace(report, checks=untold, gate=None)
    assert untold
    assert left.exit_code == 1
    assert "FAILED: 2 not told" in str(left)


ALARM = '[[check]]\nid = "near"\nalarm = "overall"\n'


def test_every_run_and_page_says_that_a_gate_has_no_alarm(command: Command) -> None:
    notes = (
        "Not judged: alarm (whether copy is nearly all private rows",
        "Not judged: whether some rows of copy are private (only attacks tell: pqd risk",
    )
    for more in (["--dry-run"], []):
        _, out, _ = command("check", spec(PAIR, ROWS), *more)
        assert all(each in " ".join(out.split()) for each in notes)
    report = pqd.check("audit.toml")
    assert all(each in report.to_html() for each in notes)
    assert all(each in " ".join(report.to_markdown().split()) for each in notes)
    facts = '[synthetic.other]\npath = "copy.parquet"\n[synthetic.private]\n'
    two = spec(PAIR, more=facts + 'path = "copy.parquet"\ncopy_epsilon = 1\n')
    assert "whether copy, other are nearly all" in " ".join(
        str(pqd.check(two, dry_run=True)).split()
    )


def test_a_gate_with_an_alarm_or_without_need_of_one_says_nothing_of_it() -> None:
    alarmed = " ".join(str(pqd.check(spec(PAIR, ALARM), dry_run=True)).split())
    assert "Not judged: alarm" not in alarmed
    assert "Not judged: whether some rows of copy are private" in alarmed
    made = spec(PAIR)
    text = Path(made).read_text(encoding="utf-8")
    stated = text.replace('"copy.parquet"', '"copy.parquet"\ncopy_epsilon = 1')
    Path(made).write_text(stated, encoding="utf-8")
    assert "Not judged" not in " ".join(str(pqd.check(made, dry_run=True)).split())


def test_an_alarm_without_need_is_no_condition_and_passes() -> None:
    made = spec(ALARM)
    text = Path(made).read_text(encoding="utf-8")
    stated = text.replace('"copy.parquet"', '"copy.parquet"\ncopy_epsilon = 1')
    Path(made).write_text(stated, encoding="utf-8")
    report = pqd.check(made)
    assert (report.exit_code, report.cost.epsilon) == (0, Fraction(0))
    assert [each.gate for each in report.checks] == ["pass"]


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_a_value_that_the_copy_lost_breaks_a_gate(command: Command, more: list[str]) -> None:
    lost = FEW.replace("'f'", "'x'").replace("few", "lost")
    code, out, _ = command("check", spec(ROWS, lost), *more)
    assert code == 2
    assert "ERROR lost" in " ".join(out.split())
    assert "BROKEN: 1 not told, 1 broken" in " ".join(out.split())


def test_a_plan_spends_nothing_and_says_what_is_too_sharp(command: Command) -> None:
    """A check that an honest copy may not pass is never folded, and has the tau that would do."""
    sharp = ROWS.replace('"rows"', '"sharp"') + "tau = 2\n"
    few = JOBS.replace('"jobs"', '"few"') + 'tau = "6%"\n'
    code, out, _ = command("check", spec(ROWS, sharp, few, AGE, more=BOUNDS), "--dry-run")
    words = " ".join(out.split())
    assert code == 0
    assert "nothing spent; a run costs epsilon 0.25" in words
    assert "one test of whether all 6 conditions hold" in words
    # The number of rows is not left to chance; the copy has 375 nurses.
    assert "LOW sharp synthetic answer 4,000, tolerance ±2; NOT decidable: the gate's" in words
    assert "NOT decidable: an honest copy may be 82 off in job = nurse by chance" in words
    assert "PLANNED: 2 not decidable, 3 planned. Next: change what LOW names in audit.toml" in words
    assert not Path("ledger.sqlite").exists()
    wide = few.replace('"6%"', re.findall(r"tau = (\d+) would", words)[-1])
    assert "LOW" not in command("check", spec(ROWS, wide), "--dry-run")[1]


def test_a_run_warns_of_a_check_that_is_not_decidable_before_it_spends(command: Command) -> None:
    sharp = JOBS.replace('"jobs"', '"sharp"') + 'tau = "2%"\n'
    path = spec(ROWS, sharp)
    code, _, err = command("check", path, "--strict")
    assert code == 2
    assert "sharp may keep the gate of an honest copy from passing" in " ".join(err.split())
    assert "nothing was spent" in err
    assert not Path("ledger.sqlite").exists()
    assert "checks-not-decidable" in {each.code for each in exact(path).notes}


def test_a_gate_warns_of_an_epsilon_that_protects_hardly_anybody(command: Command) -> None:
    for gate, warned in (("25", True), ("10", False)):
        code, out, _ = command("check", spec(ROWS), "--gate", gate, "--dry-run")
        assert code == 0
        assert ("protects hardly anybody" in out) is warned
    whole = pqd.gate("private.parquet", "copy.parquet", epsilon=25, dry_run=True)
    assert sum(each.code == "epsilon-large" for each in whole.notes) == 1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (ROWS + "epsilon = 1\n", '"rows" has epsilon, but [budget] has a gate'),
        (ROWS + 'severity = "warn"\n', '"rows" has severity'),
        (ROWS + 'decider = "lm_count"\n', '"rows" has decider'),
        (ROWS + "[shared_budget]\ntotal_epsilon = 1\n", "[shared_budget] is divided among checks"),
    ],
)
def test_a_spec_with_a_gate_refuses_what_is_decided_by_itself(text: str, found: str) -> None:
    with pytest.raises(SpecError) as error:
        read_spec(spec(text))
    assert found in str(error.value)


def test_names_need_a_gate(command: Command) -> None:
    text = spec(ROWS, budget="names = 0.5")
    Path(text).write_text(Path(text).read_text("utf-8").replace("gate = 0.25\n", ""), "utf-8")
    assert command("check", text)[0] == 2
    text = HEAD.replace("gate = 0.25", "").format(budget="", more="epsilon = 1") + ROWS
    Path("audit.toml").write_text(text, "utf-8")
    code, _, err = command("check", "audit.toml", "--names", "0.5")
    assert code == 2
    assert "state a gate too (--gate 0.25)" in err
    # The option makes a gate of a spec without one, and sets its epsilons aside.
    report = pqd.check("audit.toml", gate="0.3")
    assert report.cost.epsilon == Fraction(3, 10)


def test_a_baseline_is_refused(command: Command) -> None:
    for more in ([], ["--update-baseline"]):
        code, _, err = command("check", spec(ROWS), "--baseline", "known.json", *more)
        assert code == 2
        assert "a gate is one test of all" in err
    assert not Path("known.json").exists()


def test_a_broken_check_leaves_the_gate_unspent(command: Command) -> None:
    code, out, _ = command("check", spec(ROWS, PAIR.replace("job", "jib")))
    words = " ".join(out.split())
    assert code == 2
    assert "nothing spent" in words
    assert "and one already fails or is broken" in words


def test_a_sum_without_stated_bounds_is_refused_before_anything_is_spent(command: Command) -> None:
    code, _, err = command("check", spec(AGE, ROWS))
    assert code == 2
    assert "bounds" in err
    assert not Path("ledger.sqlite").exists()
    accepted = '[columns.age]\nbounds = "copy"\n'
    report = exact(spec(AGE, ROWS, more=accepted))
    assert report.exit_code == 0
    assert "age within 18..79, at most 15 rows beyond" in report.checks[0].message


def test_what_no_table_meets_is_refused() -> None:
    measurement = MagicMock(is_constant=True, constant_answer=True)
    terms = gate_terms(1, None, "0.05", None)
    inputs = [GateInput(MagicMock(), "odd", measurement, expected=False)]
    with pytest.raises(UnanswerableError, match="odd can never be as expected"):
        plan_gate(terms, MagicMock(), inputs)
    inputs = [GateInput(MagicMock(), "odd", measurement)]
    assert plan_gate(terms, MagicMock(), inputs).constants == ("odd",)


def test_seeded_noise_is_marked() -> None:
    report = run_check(read_spec(spec(ROWS)), SimulatedNoise(1))
    assert report.simulated
    assert "SIMULATED" in str(report)


# A gate over queries, or over a whole table ------------------------------------------------------


def test_queries_are_one_gate(command: Command) -> None:
    options = ("--tau", "10%", "--gate", "0.25", "--names", "0.5")
    asked = ("-q", "SELECT COUNT(*) FROM D WHERE sex = 'f'", "-q", "SELECT MEDIAN(age) FROM D")
    code, out, _ = command("audit", "private.parquet", "copy.parquet", *asked, *options)
    assert code == 0
    assert "all 2 conditions hold" in out
    assert "epsilon 0.25 spent" in out
    people(4_000, 2, 0.2).to_parquet("copy.parquet")
    code, out, _ = command("audit", "private.parquet", "copy.parquet", *asked, *options)
    assert code == 1
    assert "the worst is q1: it fails" in " ".join(out.split())


@pytest.mark.parametrize(
    ("more", "found"),
    [
        (("--epsilon", "1"), "leave --epsilon"),
        (("--decider", "lm_count"), "leave --decider and --outside out"),
    ],
)
def test_budgets_and_deciders_of_single_queries_are_refused(
    command: Command, more: tuple[str, ...], found: str
) -> None:
    asked = ("-q", "SELECT COUNT(*) FROM D", "--tau", "5%", "--gate", "0.25", *more)
    code, _, err = command("audit", "private.parquet", "copy.parquet", *asked)
    assert code == 2
    assert found in err


def test_a_query_without_stated_bounds_is_refused() -> None:
    with pytest.raises(
        PqdError, match=r"q1: nobody stated both bounds of age.*\"bounds\": \(0, 100\)"
    ):
        pqd.gate("private.parquet", "copy.parquet", "SELECT SUM(age) FROM D", tau="5%", epsilon=1)


def test_a_whole_table_is_one_gate(command: Command) -> None:
    code, out, _ = command("profile", "private.parquet", "copy.parquet", "--gate", "1")
    words = " ".join(out.split())
    assert code == 0
    assert "conditions hold (p < 0.001)" in words
    assert "epsilon 1 spent" in words
    shuffled = people(4_000, 2)
    shuffled["job"] = np.where(shuffled["sex"] == "f", "cook", "smith")
    shuffled.to_parquet("copy.parquet")
    report = pqd.gate("private.parquet", "copy.parquet", epsilon=1, names=1)
    assert report.exit_code == 1
    assert report.gate is not None
    assert report.gate.worst is not None
    assert report.gate.worst.conclusive
    assert "job" in report.gate.worst.name
    # The number of rows was paid for by the first gate.
    assert report.cost.epsilon == 2 - Fraction(1, 20)


def test_stated_rows_cost_nothing() -> None:
    tables = ("private.parquet", "copy.parquet")
    report = pqd.gate(*tables, epsilon=1, private_rows=4_000, ledger="own.sqlite")
    assert report.exit_code == 0
    assert report.gate is not None
    assert report.gate.rows is None
    (account,) = Ledger("own.sqlite").accounts
    assert [facts["id"] for run in account.runs for facts in run.body["questions"]] == ["gate"]


def test_a_table_of_which_too_little_can_be_judged_is_refused() -> None:
    people(40, 2).to_parquet("copy.parquet")
    with pytest.raises(PqdError, match=r"judges \d of 6 columns and pairs.*Nothing was spent"):
        pqd.gate("private.parquet", "copy.parquet", epsilon="0.1", ledger="own.sqlite")
    assert not Ledger("own.sqlite").accounts


def test_a_budget_that_holds_the_rows_alone_refuses_all() -> None:
    """The number of rows is not paid for if the rest of the gate cannot be."""
    account = Accountant(Path("own.sqlite"), Budget(Fraction(1, 2), Fraction(0)))
    stated, terms = ProfileParameters.parse(), gate_terms(1, None, "0.05", None)
    with pytest.raises(BudgetError):
        run_table_gate(
            "private.parquet", "copy.parquet", stated, terms, Absent(), accountant=account
        )
    assert not any(each.epsilon for each in Ledger("own.sqlite").accounts)


def test_a_dry_run_of_a_gate_without_a_spec_names_no_check_of_one(command: Command) -> None:
    tables = ("private.parquet", "copy.parquet")
    code, out, _ = command("profile", *tables, "--gate", "1", "--dry-run")
    assert code == 0
    assert "Next: the same without --dry-run" in " ".join(out.split())


def test_a_column_that_the_copy_lacks_fails_in_public(command: Command) -> None:
    people(4_000, 2).drop(columns="age").to_parquet("copy.parquet")
    tables = ("private.parquet", "copy.parquet")
    code, out, _ = command("profile", *tables, "--gate", "1")
    words = " ".join(out.split())
    assert code == 1
    assert "nothing spent" in words
    assert "1 column fails in public" in words
    assert "missing in the copy" in words
    assert command("profile", *tables, "--gate", "1", "--columns", "sex,job")[0] == 0


def test_identifiers_pass_where_both_tables_have_them(command: Command) -> None:
    """A column that a generator turned into identifiers fails by name, an honest one passes."""
    for name, seed in (("private", 1), ("copy", 2)):
        keys = [f"key {seed} {place}" for place in range(4_000)]
        people(4_000, seed).assign(key=keys).to_parquet(f"{name}.parquet")
    tables = ("private.parquet", "copy.parquet", "--gate", "1", "--names", "1")
    code, out, _ = command("profile", *tables)
    assert code == 0, out
    copy = pd.read_parquet("copy.parquet")
    copy.assign(job=[f"job {place}" for place in range(4_000)]).to_parquet("copy.parquet")
    code, out, _ = command("profile", *tables)
    assert code == 1
    assert "the worst is job: it fails" in " ".join(out.split())


def test_a_pair_without_its_relation_fails_though_three_times_its_tolerance_hold() -> None:
    """Each column is as it was, and the pair is 17 % off: the condition on its relation fails."""
    for name, seed in (("private", 1), ("copy", 2)):
        table = people(4_000, seed)
        rng = np.random.default_rng(10 + seed)
        table["cut"] = np.where(rng.random(4_000) < 0.35, table["sex"], "f")
        # Of 21 columns and pairs one may be beyond its tolerance.
        table["day"], table["hour"] = rng.integers(7, size=4_000), rng.integers(24, size=4_000)
        table.to_parquet(f"{name}.parquet")
    stated, terms = ProfileParameters.parse(), gate_terms("0.25", 1, "0.05", None)
    honest = run_table_gate("private.parquet", "copy.parquet", stated, terms, Absent())
    copy = pd.read_parquet("copy.parquet")
    copy["cut"] = copy["cut"].sample(frac=1, random_state=3).array
    report = run_table_gate("private.parquet", copy, stated, terms, Absent())
    assert honest.gate is not None
    assert honest.gate.outcome == "holds"
    assert report.gate is not None
    assert report.gate.worst is not None
    assert report.gate.worst.name == "sex by cut: relation"
    (pair,) = [each for each in report.checks if each.id == "sex by cut"]
    assert "its relation is kept" in pair.message


@pytest.mark.parametrize("seed", range(5))
def test_a_copy_of_forty_honest_rows_passes(seed: int) -> None:
    """What chance explains of so few rows is not judged, relations among it."""
    rng = np.random.default_rng(seed)
    table = people(440, seed)
    table["cut"] = np.where(rng.random(440) < 0.35, table["sex"], "f")
    stated, terms = ProfileParameters.parse(), gate_terms("0.5", 1, "0.05", 400)
    report = run_table_gate(table[:400], table[400:], stated, terms, Absent())
    assert report.gate is not None
    assert report.gate.outcome == "holds"
