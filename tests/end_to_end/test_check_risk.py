"""Checks of risk in a spec: attacks on each copy, against held-out rows, beside other checks."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pqd.accounting.accounts import Budget
from pqd.accounting.ledger import Ledger
from pqd.attacks.trees import LEARNERS
from pqd.commands.baseline import against, read_baseline, write_baseline
from pqd.commands.check import run_check
from pqd.deciders import Noise, SecureNoise, SimulatedNoise
from pqd.errors import BudgetError, PqdError
from pqd.reports.github import github_text
from pqd.reports.junit import junit_text
from pqd.reports.models.check import CheckReport, CheckResult
from pqd.reports.models.risk import RiskReport
from pqd.reports.models.standings import Standing
from pqd.spec import SpecError, read_spec
from pqd.spec.schema import SECTIONS
from tests.end_to_end.test_risk import CLEAN, HELD_OUT, LEAKED, SECRET, attacked
from tests.support.noises import Absent

Command = Callable[..., tuple[int, str, str]]
TABLES = """[private]
path = "private.csv"
[synthetic.clean]
path = "clean.csv"
[synthetic.leaked]
path = "leaked.csv"
"""
HELD = '[held_out]\npath = "held.csv"\n'
TERMS = "[risk]\ntotal_epsilon = 2\n"
COUNT = '[[check]]\nid = "rows"\nsql = "SELECT COUNT(*) FROM D"\ntau = "9%"\nepsilon = 0.5\n'
COPIED = '[[check]]\nid = "copied"\nrisk = "copied"\n'
GUESSED = '[[check]]\nid = "guessed"\nrisk = "inference"\ntau = "12%"\n'
ALL = '[[check]]\nid = "nobody"\nrisk = "all"\ntau = "8%"\n'
EXACT: Any = Absent()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    tables = {"private": SECRET, "clean": CLEAN, "leaked": LEAKED, "held": HELD_OUT}
    for name, table in tables.items():
        table.to_csv(f"{name}.csv", index=False)
    return tmp_path


def written(*parts: str) -> Path:
    path = Path("audit.toml")
    path.write_text("".join([TABLES, HELD, TERMS, *parts]), encoding="utf-8")
    return path


def checked(*parts: str, noise: Noise = EXACT, **options: Any) -> CheckReport:
    return run_check(read_spec(written(*parts), {}), noise, **options)


def by_id(report: CheckReport) -> dict[str, CheckResult]:
    return {each.id: each for each in report.checks}


def refusals(*parts: str) -> str:
    path = Path("audit.toml")
    path.write_text("".join([TABLES, *parts]), encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        read_spec(path, {})
    return str(caught.value)


def test_a_copy_with_private_rows_fails_and_a_clean_one_passes() -> None:
    report = checked(COUNT, COPIED, GUESSED)
    results = by_id(report)
    gates = {name: each.gate for name, each in results.items()}
    assert gates["copied@leaked"] == "fail"
    assert {gate for name, gate in gates.items() if name != "copied@leaked"} == {"pass"}
    assert report.exit_code == 1
    # Of two copies each costs [risk] total_epsilon, beside the query, which both share.
    assert report.cost.epsilon == 4 + report.checks[0].verdicts[0].epsilon
    assert report.held_out_cost
    assert report.held_out_cost.epsilon == 4
    assert report.held_out == "held.csv"
    assert "more than 1%: copied; excess +" in results["copied@leaked"].message
    assert "of the private rows are rare rows of the copy" in results["copied@leaked"].message
    assert results["guessed@clean"].message == "each gains at most 12% from private rows"


def test_figures_are_those_of_a_risk_report() -> None:
    result = by_id(checked(COPIED, GUESSED))["copied@leaked"]
    alone: RiskReport = attacked(LEAKED, total_epsilon=2, attacks=["copied", "inference"])
    assert result.attacks == (alone["copied"],)


def test_one_check_replays_a_run_of_all() -> None:
    ledger = Path("ledger.sqlite")
    spec = written(COUNT, COPIED, GUESSED)
    whole = run_check(read_spec(spec, {}), SecureNoise(), ledger=ledger)
    one = run_check(read_spec(spec, {}), SecureNoise(), ledger=ledger, only="copied@leaked")
    assert one.cost.epsilon == 0
    assert one.held_out_cost
    assert one.held_out_cost.epsilon == 0
    (result,) = one.checks
    assert result.attacks == by_id(whole)["copied@leaked"].attacks
    assert result.attacked
    assert result.attacked.replayed


def test_nothing_passes_against_held_out_rows_that_stand_in_the_copy() -> None:
    copy = pd.concat([HELD_OUT.iloc[:100], CLEAN.iloc[100:]], ignore_index=True)
    copy.to_csv("clean.csv", index=False)
    report = checked(COPIED, GUESSED)
    # The guesses show nothing, and the copied rows do: no attack of the run is judged.
    for name in ("copied@clean", "guessed@clean"):
        result = by_id(report)[name]
        assert (result.status, result.gate) == ("undecided", "fail")
        assert "The held-out rows are no control: copied succeeds more often" in result.message
        assert "give held-out rows of the same population" in junit_text(report)
    assert by_id(report)["copied@leaked"].gate == "fail"
    (alone,) = checked(COPIED, GUESSED, only="guessed@clean").checks
    assert alone.status == "undecided"


def test_secrets_are_guessed_by_the_learner_of_the_spec() -> None:
    spec = written(GUESSED)
    trees = spec.read_text("utf-8").replace(TERMS, f'{TERMS}learner = "trees"\n')
    spec.write_text(trees, encoding="utf-8")
    report = run_check(read_spec(spec, {}), EXACT, only="guessed@clean")
    alone = attacked(CLEAN, total_epsilon=2, attacks=["inference"], tau="12%", learner="trees")
    assert report.checks[0].attacks == alone.attacks
    assert alone.attacks != attacked(total_epsilon=2, attacks=["inference"], tau="12%").attacks
    assert one_of_learners() == LEARNERS


def one_of_learners() -> tuple[str, ...]:
    """Learners that a spec admits."""
    (section,) = (each for each in SECTIONS if each.name == "risk")
    (key,) = (each for each in section.keys if each.name == "learner")
    return tuple(key.value_type.schema["enum"])


def test_an_attack_is_spelled_as_in_a_report() -> None:
    for name in ("singling out", "singling-out"):
        spec = read_spec(written(f'[[check]]\nid = "one"\nrisk = "{name}"\n'), {})
        assert spec.checks[0].risk == "singling-out"
    assert 'risk is "singling_out"; did you mean' in refusals(
        HELD, TERMS, '[[check]]\nid = "one"\nrisk = "singling_out"\n'
    )


def test_a_dry_run_says_which_table_still_pays() -> None:
    ledger, spec = Path("ledger.sqlite"), written(COPIED)
    only = "copied@clean"
    run_check(read_spec(spec, {}), EXACT, ledger=ledger, only=only)
    HELD_OUT[:2_000].to_csv("held.csv", index=False)
    planned = run_check(read_spec(spec, {}), EXACT, ledger=ledger, only=only, dry_run=True)
    assert planned.checks[0].message.startswith("costs nothing: known already")
    Path("other.csv").write_text(Path("held.csv").read_text("utf-8"), encoding="utf-8")
    spec.write_text(spec.read_text("utf-8").replace("held.csv", "other.csv"), encoding="utf-8")
    planned = run_check(read_spec(spec, {}), EXACT, ledger=ledger, only=only, dry_run=True)
    assert planned.checks[0].message.startswith("epsilon 2 on the held-out table, with all")
    assert "a run costs epsilon 0, and 2 on the held-out table" in " ".join(str(planned).split())
    assert "dataset-asked" not in {each.code for each in planned.notes}
    with closing(Ledger(ledger)) as opened:
        opened.set_limit(Budget(Fraction(10)))
    planned = run_check(read_spec(spec, {}), EXACT, ledger=ledger, only=only, dry_run=True)
    assert "dataset-asked" in {each.code for each in planned.notes}


def test_a_dry_run_prices_new_held_out_rows_under_a_known_name() -> None:
    ledger, spec = Path("ledger.sqlite"), written(COPIED)
    named = spec.read_text("utf-8").replace(HELD, HELD + 'dataset = "others"\n')
    spec.write_text(named, encoding="utf-8")
    run_check(read_spec(spec, {}), EXACT, ledger=ledger)
    HELD_OUT[:2_000].to_csv("other.csv", index=False)
    spec.write_text(named.replace("held.csv", "other.csv"), encoding="utf-8")
    planned = run_check(read_spec(spec, {}), EXACT, ledger=ledger, dry_run=True)
    for each in planned.checks:
        assert each.message.startswith("epsilon 2 on the held-out table, with all")


def test_all_kinds_are_one_measurement() -> None:
    report = checked(COPIED, ALL)
    assert report.cost.epsilon == 4
    nobody = by_id(report)["nobody@leaked"]
    assert len(nobody.attacks) > 5
    assert f" of {len(nobody.attacks)} attacks" in nobody.message
    assert nobody.attacks[0].name in nobody.message


def test_an_undecided_check_fails_unless_the_spec_says_otherwise() -> None:
    tight = COPIED + 'tau = "0.1%"\nsynthetic = ["clean"]\n'
    for more, gate in (("", "fail"), ('on_undecided = "warn"\n', "warn")):
        (result,) = checked(tight + more).checks
        assert (result.status, result.gate) == ("undecided", gate)
        assert "undecided: copied" in result.message
        junit = junit_text(checked(tight + more))
        assert "or fewer kinds of attacks in the spec, decide it" in junit
        assert re.search(r'next: tau = "[0-9.]+%", or fewer kinds', junit)


@pytest.mark.parametrize("noise", [EXACT, SimulatedNoise(3)])
def test_every_rendering_tells_what_failed(noise: Noise) -> None:
    report = checked(COUNT, COPIED, noise=noise)
    told = by_id(report)["copied@leaked"].message
    suite = ET.fromstring(junit_text(report))  # noqa: S314 - made by pqd
    failure = next(each for each in suite.iter("failure"))
    assert told in (failure.text or "")
    assert "spent: epsilon 2 on the private table and again on the held-out table" in str(
        failure.text
    )
    assert "do not hand this copy out" in str(failure.text)
    assert "SIMULATED" in str(failure.text) or not noise.simulated
    assert "copied@leaked" in github_text(report, "audit.toml")
    for text in (str(report), report.to_markdown(), report.to_html()):
        assert "points" in text
        assert "held.csv" in text
        assert ("SIMULATED" in text) == noise.simulated
    assert json.loads(report.to_json())["checks"][3]["attacks"][0]["id"] == "copied"
    frame = report.to_frame().set_index("check")
    assert frame.loc["copied@leaked", "standing"] == "beyond"
    assert bool(frame.loc["copied@leaked", "simulated"]) == noise.simulated
    assert report.simulated == noise.simulated


def test_a_dry_run_prices_both_tables_and_reads_neither() -> None:
    spec = read_spec(written(COUNT, COPIED), {})
    pd.DataFrame(columns=SECRET.columns).to_csv("private.csv", index=False)
    pd.DataFrame(columns=SECRET.columns).to_csv("held.csv", index=False)
    report = run_check(spec, EXACT, dry_run=True)
    planned = by_id(report)["copied@leaked"]
    assert planned.message.startswith("epsilon 2 on each of the two tables")
    assert report.held_out_cost
    assert report.cost.epsilon == Fraction(9, 2)
    assert report.held_out_cost.epsilon == 4
    assert not Path("pqd-ledger.sqlite").exists()
    told = " ".join(junit_text(report).split())
    assert "Would spend epsilon 4 = 2 x 2 on held.csv" in told


def test_a_dry_run_tells_what_a_run_hardly_decides() -> None:
    wide = COPIED.replace('id = "copied"', 'id = "wide"') + 'tau = "50%"\n'
    narrow = COPIED.replace('id = "copied"', 'id = "narrow"') + 'tau = "0.01%"\n'
    report = run_check(read_spec(written(wide, narrow), {}), EXACT, dry_run=True)
    checks = by_id(report)
    assert checks["wide@clean"].standing is Standing.PLANNED
    assert checks["narrow@clean"].standing is Standing.NARROW
    told = " ".join(str(report).split())
    assert re.search(r'hardly decides copied; tau = "[0-9.]+%" would do', told)
    assert "state rows in [private] and rows in [held_out] where that may be published" in told
    assert "Next: change what LOW names" in told


def test_a_dry_run_plans_with_the_rows_that_the_spec_states() -> None:
    tables = TABLES.replace('path = "private.csv"\n', 'path = "private.csv"\nrows = 900\n')
    text = f'{tables}{HELD}rows = {{}}\n{TERMS}{COPIED}tau = "3%"\n'
    standings = []
    for rows in (100_000, 20):
        Path("audit.toml").write_text(text.format(rows), encoding="utf-8")
        report = run_check(read_spec("audit.toml", {}), EXACT, dry_run=True)
        standings.append(by_id(report)["copied@clean"].standing)
        assert "risk-rows-unstated" not in {each.code for each in report.notes}
    assert standings == [Standing.PLANNED, Standing.NARROW]
    ways = r'about [0-9,]+ held-out rows, or tau = "[0-9.]+%" would do'
    assert re.search(f"hardly decides copied; {ways}", by_id(report)["copied@clean"].message)


def test_secrets_are_of_the_copies_whose_checks_guess_them() -> None:
    terms = TERMS + 'secrets = ["job"]\n'
    copied, guessed = (each + 'synthetic = ["{}"]\n' for each in (COPIED, GUESSED))
    text = [TABLES, HELD, terms, copied.format("clean"), guessed.format("leaked")]
    Path("audit.toml").write_text("".join(text), encoding="utf-8")
    report = run_check(read_spec("audit.toml", {}), EXACT)
    assert [each.column for each in by_id(report)["guessed@leaked"].attacks] == ["job"]
    assert [each.id for each in by_id(report)["copied@clean"].attacks] == ["copied"]


def test_nothing_is_spent_if_one_account_cannot_pay() -> None:
    ledger = Path("ledger.sqlite")
    for poor in (HELD + "epsilon = 3\n", HELD):
        parts = [TABLES, poor, TERMS, COPIED]
        parts += [] if poor != HELD else ["[budget]\nepsilon = 3\n"]
        Path("audit.toml").write_text("".join(parts), encoding="utf-8")
        with pytest.raises(BudgetError, match="3"):
            run_check(read_spec("audit.toml", {}), SecureNoise(), ledger=ledger)
        if ledger.exists():
            assert not Ledger(ledger).accounts
    assert checked(COPIED, ledger=ledger).cost.epsilon == 4


def test_a_known_failure_is_known_and_a_new_one_has_odds() -> None:
    report = checked(COPIED)
    write_baseline("base.json", report)
    later = against(report, read_baseline("base.json"), "base.json")
    assert by_id(later)["copied@leaked"].gate == "known"
    Path("base.json").unlink()
    clean = [each for each in checked(COPIED).checks if each.gate == "pass"]
    write_baseline("base.json", CheckReport(
        spec="audit.toml", private="private.csv", checks=tuple(clean), cost=report.cost
    ))  # fmt: skip
    base = Path("base.json").read_text("utf-8").replace("copied@clean", "copied@leaked")
    Path("base.json").write_text(base, encoding="utf-8")
    new = by_id(against(report, read_baseline("base.json"), "base.json"))["copied@leaked"]
    assert new.gate == "fail"
    assert new.flip is not None
    assert new.flip < 0.01


def test_tables_that_lack_a_part_break_the_checks_of_risk_alone() -> None:
    HELD_OUT.drop(columns="pay").to_csv("held.csv", index=False)
    results = by_id(checked(COUNT, COPIED))
    assert results["rows@clean"].gate == "pass"
    assert results["copied@clean"].gate == "error"
    assert 'has no column "pay"' in results["copied@clean"].message
    Path("clean.csv").unlink()
    HELD_OUT.to_csv("held.csv", index=False)
    results = by_id(checked(COPIED))
    assert (results["copied@clean"].gate, results["copied@leaked"].gate) == ("error", "fail")


def test_held_out_rows_that_are_the_private_rows_are_refused() -> None:
    for given in ("private.csv", "twin.csv"):
        SECRET.to_csv("twin.csv", index=False)
        text = TABLES + f'[held_out]\npath = "{given}"\n' + TERMS + COPIED
        Path("audit.toml").write_text(text, encoding="utf-8")
        with pytest.raises(PqdError, match=r"\[held_out\]") as caught:
            run_check(read_spec("audit.toml", {}), SecureNoise())
        assert "Nothing was spent" in str(caught.value)


def test_a_person_of_several_rows_counts_as_one_row_at_most() -> None:
    SECRET.assign(who=range(len(SECRET))).to_csv("private.csv", index=False)
    HELD_OUT.assign(who=range(len(HELD_OUT))).to_csv("held.csv", index=False)
    unit = '[privacy]\nunit = "who"\n'
    assert by_id(checked(unit, COPIED))["copied@leaked"].gate == "fail"
    results = by_id(checked(unit, "max_rows = 2\n", COPIED))
    assert "as one row, so leave it out" in results["copied@leaked"].message


def test_a_wrong_secret_is_told_before_anything_is_spent() -> None:
    text = TABLES + HELD + TERMS + 'secrets = ["jbo"]\n' + GUESSED
    Path("audit.toml").write_text(text, encoding="utf-8")
    ledger = Path("ledger.sqlite")
    report = run_check(read_spec("audit.toml", {}), SecureNoise(), ledger=ledger)
    assert {each.gate for each in report.checks} == {"error"}
    assert '"jbo"' in report.checks[0].message
    assert not ledger.exists()


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ((TERMS, COPIED), "there is no [held_out]; add [held_out] with path"),
        ((HELD, COPIED), "there is no [risk]; add [risk] with total_epsilon = 1"),
        ((HELD, COUNT), "[held_out] is for checks of risk, and this file has none"),
        ((HELD, TERMS, COPIED, "epsilon = 1\n"), "has epsilon, but a risk has none"),
        ((HELD, TERMS, COPIED, 'expect = "far"\n'), "has expect, but a risk has none"),
        (
            (HELD, TERMS, "[budget]\ngate = 1\n", COPIED),
            "put the checks of risk into a spec of their own (docs/pipeline.md, step 4)",
        ),
        ((HELD, TERMS, COPIED, "tau = 5\n"), "so write it in per cent: 5%"),
        ((HELD, TERMS, COPIED, 'tau = "one"\n'), "tau is 'one'; write a share such as \"5%\""),
        ((HELD, TERMS, COPIED, "tau = 0,01\n"), "a number has a decimal point, such as 0.01"),
        (
            (HELD, TERMS, 'secrets = ["job"]\n', COPIED, COPIED.replace('"copied"', '"two"', 1)),
            'line 11: [risk] secrets is for checks of risk = "inference" or "all", and this file',
        ),
        ((HELD, TERMS, 'known = ["age"]\n', COPIED), "[risk] known is for checks of risk"),
        ((HELD, TERMS, 'learner = "trees"\n', COPIED), "[risk] learner is for checks of risk"),
        ((HELD, TERMS, '[[check]]\nid = "a"\nrisk = "copy"\n'), "copied"),
        ((HELD, "[risk]\n", COPIED), "[risk] has no total_epsilon; add total_epsilon = 1"),
    ],
)
def test_a_spec_that_contradicts_itself_is_refused_by_its_place(
    parts: tuple[str, ...], words: str
) -> None:
    assert words in refusals(*parts)


def test_a_table_of_spark_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    text = TABLES + HELD.replace("held.csv", "spark:///catalog.table") + TERMS + COUNT + COPIED
    Path("audit.toml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("PQD_LEDGER", "ledger.sqlite")
    results = by_id(run_check(read_spec("audit.toml", {}), EXACT))
    assert results["rows@clean"].gate == "pass"
    for name in ("copied@clean", "copied@leaked"):
        assert "cannot read a table of Spark" in results[name].message


def test_the_command_exits_with_one_and_explains(command: Command) -> None:
    written(COPIED)
    code, shown, _ = command("check", "audit.toml")
    assert code == 1
    assert "copied@leaked" in shown
    assert "spent on held.csv" in " ".join(shown.split())
    code, one, _ = command("check", "audit.toml", "--explain", "copied@leaked")
    assert code == 0
    assert "rare rows of the copy, of others" in " ".join(one.split())
    code, _, told = command("check", "audit.toml", "--output", "json=held.csv")
    assert code == 2
    assert "held.csv" in told
